"""The process that pytest is started in."""

import os
import sys

import torch

from tutorlib.grading.forked import start_pytest

PAGE = "import sys\n\n\ndef test_this_is_a_new_python():\n    assert not hasattr(sys, 'of_the_parent')\n"


def test_where_cuda_was_used_pytest_starts_in_a_new_python(tmp_path, monkeypatch):
    parent = os.getpid()
    monkeypatch.setattr(torch.cuda, "is_initialized", lambda: os.getpid() == parent)  # as torch: a fork never was
    monkeypatch.setattr(sys, "of_the_parent", True, raising=False)
    (tmp_path / "test_page.py").write_text(PAGE)
    (tmp_path / "pytest.ini").touch()
    read, write = os.pipe()
    with (tmp_path / "log").open("wb") as log:
        arguments = ["-c", str(tmp_path / "pytest.ini"), "-p", "no:cacheprovider", "test_page.py"]
        pid = start_pytest(arguments, tmp_path, {"PATH": os.environ["PATH"]}, write, log.fileno())
    for end in (read, write):
        os.close(end)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0, (tmp_path / "log").read_text()
