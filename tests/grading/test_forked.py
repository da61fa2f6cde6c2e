"""The process that pytest is started in."""

import os
import sys
import traceback

import pytest
import torch

from tutorlib.grading.forked import start_pytest

PAGE = "import sys\n\n\ndef test_this_is_a_new_python():\n    assert not hasattr(sys, 'of_the_parent')\n"


def test_where_cuda_was_used_pytest_starts_in_a_new_python(tmp_path, monkeypatch):
    parent = os.getpid()
    monkeypatch.setattr(torch.cuda, "is_initialized", lambda: os.getpid() == parent)  # as torch: a fork never was
    monkeypatch.setattr(sys, "of_the_parent", True, raising=False)
    (tmp_path / "test_page.py").write_text(PAGE)
    code, printed = pytest_in(tmp_path, "test_page.py")
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
