"""The process that pytest is started in."""

import asyncio
import mmap
import os
import sys
import traceback
from contextvars import Context

import pytest
import torch
from jupyter_core.utils import run_sync

from tutorlib.grading.forked import start_pytest
from tutorlib.machine import device

PAGE = "import sys\n\n\ndef test_this_is_a_new_python():\n    assert not hasattr(sys, 'of_the_parent')\n"


@pytest.mark.parametrize("loaded", [True, False])
def test_where_cudas_driver_is_loaded_pytest_starts_in_a_new_python(tmp_path, monkeypatch, loaded):
    library = tmp_path / ("libcuda.so.1" if loaded else "libcudart.so.13")
    library.write_bytes(bytes(mmap.PAGESIZE))
    monkeypatch.setattr(sys, "of_the_parent", True, raising=False)
    (tmp_path / "test_page.py").write_text(PAGE)
    with library.open("rb") as file, mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ):
        code, printed = pytest_in(tmp_path, "test_page.py")
    assert (code == 0) == loaded, printed


def test_a_process_that_is_shown_no_gpu_does_not_load_the_driver(monkeypatch):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: pytest.fail("torch was asked"))
    assert device.gpu.__wrapped__() is None


LOOPS = """
import asyncio
from jupyter_core.utils import run_sync


async def wait():
    await asyncio.sleep(0)


def test_one_waits_as_in_a_new_process():
    run_sync(wait)()
    asyncio.get_event_loop().run_until_complete(wait())
"""


def test_the_parents_event_loop_is_not_the_forks(tmp_path):
    (tmp_path / "test_page.py").write_text(LOOPS)

    async def wait():
        await asyncio.sleep(0)

    def loop_and_fork():
        run_sync(wait)()
        code, printed = pytest_in(tmp_path, "test_page.py")
        asyncio.get_event_loop().close()
        return code, printed

    policy = asyncio.get_event_loop_policy()
    asyncio.set_event_loop_policy(None)
    try:
        code, printed = Context().run(loop_and_fork)
    finally:
        asyncio.set_event_loop_policy(policy)
    assert code == 0, printed


def test_a_fork_with_no_memory_left_does_nothing_of_its_parent(tmp_path, monkeypatch):
    def no_memory(*_):
        raise MemoryError

    monkeypatch.setattr(pytest, "main", no_memory)
    monkeypatch.setattr(traceback, "print_exc", no_memory)
    parent, cleaned = os.getpid(), tmp_path / "cleaned"
    try:
        code, _ = pytest_in(tmp_path)
    finally:
        if os.getpid() != parent:
            cleaned.touch()
            os._exit(2)
    assert code == 1
    assert not cleaned.exists()


def pytest_in(folder, *arguments):
    """The exit code of pytest in a process of its own, and what it printed."""
    (folder / "pytest.ini").touch()
    read, write = os.pipe()
    with (folder / "log").open("wb") as log:
        arguments = ["-c", str(folder / "pytest.ini"), "-p", "no:cacheprovider", *arguments]
        pid = start_pytest(arguments, folder, {"PATH": os.environ["PATH"]}, write, log.fileno())
    for end in (read, write):
        os.close(end)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), (folder / "log").read_text()
