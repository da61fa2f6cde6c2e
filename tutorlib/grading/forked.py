"""pytest in a process forked from this one, which has imported all that it needs; a new Python takes seconds for it."""

import asyncio
import gc
import os
import signal
import sys
import tempfile
import traceback
from collections.abc import Mapping, Sequence
from contextvars import Context
from pathlib import Path

import pytest

import tutorlib.grading.plugin  # noqa: F401  the plugin that pytest is told to load, as nbval's, which it imports
from tutorlib.machine.lineage import die_with

PYTEST = "import sys, pytest; sys.exit(pytest.main())"


def start_pytest(arguments: Sequence[str], folder: Path, environment: Mapping[str, str], pipe: int, log: int) -> int:
    """Start pytest in a folder, with these variables alone; what it prints goes to the file descriptor `log`.

    pipe: the only other one that it needs. Returns the process's id; it is for the caller to wait for.
    """
    new, parent = has_driver(), os.getpid()
    if pid := os.fork():
        return pid
    code = 1
    try:
        try:
            die_with(parent)
            settle(folder, environment, pipe, log)
            if new:
                os.set_inheritable(pipe, True)
                os.execv(sys.executable, [sys.executable, "-P", "-c", PYTEST, *arguments])
            code = Context().run(pytest.main, list(arguments))  # jupyter_core keeps an event loop in the parent's
        except BaseException:
            traceback.print_exc()
        sys.stdout.flush()
        sys.stderr.flush()
    finally:  # also where printing failed for want of memory: what the parent does when it ends is not done here
        os._exit(code)


def has_driver() -> bool:
    """Whether CUDA's driver was loaded here, if only to look for a GPU: a fork then crashes in it, a new Python not."""
    maps = Path("/proc/self/maps")
    return maps.exists() and "/libcuda.so" in maps.read_text(errors="replace")


def settle(folder: Path, environment: Mapping[str, str], pipe: int, log: int) -> None:
    """Put off what a fork has of its parent and a new process has not."""
    gc.freeze()  # what the parent holds is not collected here, or it would close files whose numbers are others' now
    signal.set_wakeup_fd(-1)  # the parent's event loop listens there
    asyncio.set_event_loop_policy(None)  # nor is its loop this one's: what it waits with is closed below
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    nothing = os.open(os.devnull, os.O_RDONLY)
    for source, target in ((nothing, 0), (log, 1), (log, 2)):
        os.dup2(source, target)
    os.closerange(3, pipe)  # also locks and pipes, which others take for the parent's while anybody has them open
    os.closerange(pipe + 1, os.sysconf("SC_OPEN_MAX"))
    sys.stdout = open(1, "w", closefd=False)  # noqa: SIM115  open until the process ends
    sys.stderr = open(2, "w", closefd=False, buffering=1)  # noqa: SIM115
    sys.path[:] = [os.path.abspath(path) for path in sys.path]  # nothing is imported from the folder
    sys.dont_write_bytecode = True
    os.environ.clear()
    os.environ.update(environment)
    tempfile.tempdir = None  # TMPDIR is another one now
    os.chdir(folder)
