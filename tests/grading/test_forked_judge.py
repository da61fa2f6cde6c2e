"""The process that the judge is started in."""

import asyncio
import mmap
import os
import sys
import traceback
from contextvars import Context

import pytest
import torch
from jupyter_core.utils import run_sync

from tutorlib.grading import judge_process
from tutorlib.grading.judge_process import JudgeSettings, start_judge
from tutorlib.machine import device


@pytest.mark.parametrize("loaded", [True, False])
def test_where_cudas_driver_is_loaded_the_judge_starts_in_a_new_python(tmp_path, monkeypatch, loaded):
    monkeypatch.setattr(judge_process, "main", lambda settings: print("of the parent"))
    library = tmp_path / ("libcuda.so.1" if loaded else "libcudart.so.13")
    library.write_bytes(bytes(mmap.PAGESIZE))
    with library.open("rb") as file, mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ):
        code, printed = judge_in(tmp_path)
    assert (printed == "of the parent\n") is not loaded
    assert (code == 1 and "no-such-program" in printed) is loaded, printed  # what the judge itself says in this folder


def test_a_process_that_is_shown_no_gpu_does_not_load_the_driver(monkeypatch):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: pytest.fail("torch was asked"))
    assert device.gpu.__wrapped__() is None


def test_the_parents_event_loop_is_not_the_forks(tmp_path, monkeypatch):
    async def wait():
        await asyncio.sleep(0)

    def waits_as_in_a_new_process(settings):
        run_sync(wait)()
        asyncio.get_event_loop().run_until_complete(wait())

    def loop_and_fork():
        run_sync(wait)()
        code, printed = judge_in(tmp_path)
        asyncio.get_event_loop().close()
        return code, printed

    monkeypatch.setattr(judge_process, "main", waits_as_in_a_new_process)
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

    monkeypatch.setattr(judge_process, "main", no_memory)
    monkeypatch.setattr(traceback, "print_exc", no_memory)
    parent, cleaned = os.getpid(), tmp_path / "cleaned"
    try:
        code, _ = judge_in(tmp_path)
    finally:
        if os.getpid() != parent:
            cleaned.touch()
            os._exit(2)
    assert code == 1
    assert not cleaned.exists()


def judge_in(folder):
    """The exit code of a judge that has nothing to judge, and what it printed."""
    read, write = os.pipe()
    settings = JudgeSettings([], ["no-such-program"], [], 1.0, 0, 2**33, False, write)
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    with (folder / "log").open("wb") as log:
        pid = start_judge(settings, folder, environment, log.fileno())
    for end in (read, write):
        os.close(end)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), (folder / "log").read_text()
