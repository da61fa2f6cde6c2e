"""Turns on a GPU."""

import fcntl
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from tutorlib.machine import turns

HOLDS = """
import sys
from tutorlib.machine import turns
with turns.own_turn():
    print("mine", flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv(turns.TURNS, str(tmp_path))
    return tmp_path


def is_free(file: Path, kind: int) -> bool:
    """Whether somebody else could have this lock now."""
    with file.open("a") as other:
        try:
            fcntl.flock(other, kind | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
    return True


def test_results_are_looked_at_side_by_side(folder):
    with turns.shared_turn(), turns.shared_turn():
        assert not is_free(folder / "gpu", fcntl.LOCK_EX)


def test_times_are_taken_alone(folder):
    with turns.own_turn():
        assert not is_free(folder / "gpu", fcntl.LOCK_SH)
    assert is_free(folder / "gpu", fcntl.LOCK_EX)


def test_who_wants_to_be_alone_is_not_overtaken(folder):
    came = []

    def come(turn, name):
        with turn():
            came.append(name)

    timing = threading.Thread(target=come, args=(turns.own_turn, "alone"))
    later = threading.Thread(target=come, args=(turns.shared_turn, "beside"))
    with turns.shared_turn():
        timing.start()
        while is_free(folder / "queue", fcntl.LOCK_EX):  # until it waits
            pass
        later.start()
    timing.join()
    later.join()
    assert came == ["alone", "beside"]


def test_who_dies_gives_the_turn_back(folder):
    with subprocess.Popen([sys.executable, "-c", HOLDS], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
        assert holder.stdout
        assert holder.stdout.readline() == b"mine\n"
        assert not is_free(folder / "gpu", fcntl.LOCK_SH)
        holder.send_signal(signal.SIGKILL)
    with turns.own_turn():
        pass


def test_nobody_waits_where_there_is_no_folder(monkeypatch):
    monkeypatch.delenv(turns.TURNS, raising=False)
    with turns.own_turn(), turns.own_turn():
        pass
