"""Forks the judge's process from this one, which has already imported what it needs; a new Python takes seconds."""

import asyncio
import gc
import os
import signal
import sys
import tempfile
import traceback
from collections.abc import Mapping
from contextvars import Context
from pathlib import Path

from tutorlib.grading import judge_process
from tutorlib.grading.judge_process import JudgeSettings
from tutorlib.machine.lineage import die_with

FILE = "judge.json"  # where a new Python finds its settings
JUDGE = f"from tutorlib.grading import judge_process as p; p.main(p.JudgeSettings.loads(open({FILE!r}).read()))"


def start_judge(settings: JudgeSettings, folder: Path, environment: Mapping[str, str], log: int) -> int:
    """Start the judge in a folder, with these variables alone; what it prints goes to the file descriptor `log`.

    Of the others it has the settings' pipe alone. Returns the process's id; it is for the caller to wait for.
    """
    new, parent = has_driver(), os.getpid()
    if pid := os.fork():
        return pid
    code = 1
    try:
        try:
            die_with(parent)
            settle(folder, environment, settings.pipe, log)
            if new:
                os.set_inheritable(settings.pipe, True)
                Path(FILE).write_text(settings.dumps())
                os.execv(sys.executable, [sys.executable, "-P", "-c", JUDGE])
            Context().run(judge_process.main, settings)  # jupyter_core keeps an event loop in the parent's
            code = 0
        except BaseException:
            traceback.print_exc()
        sys.stdout.flush()
        sys.stderr.flush()
    finally:  # also where printing failed for want of memory: what the parent does when it ends is not done here
        os._exit(code)


def has_driver() -> bool:
    """Whether CUDA's driver is loaded here, if only to look for a GPU: a fork then crashes in it."""
    maps = Path("/proc/self/maps")
    return maps.exists() and "/libcuda.so" in maps.read_text(errors="replace")


def settle(folder: Path, environment: Mapping[str, str], pipe: int, log: int) -> None:
    """Undo what a fork inherits and a new process would not have."""
    gc.freeze()  # what the parent holds is not collected here, or it would close files whose numbers are others' now
    signal.set_wakeup_fd(-1)  # the parent's event loop listens there
    asyncio.set_event_loop_policy(None)  # nor is its loop this one's: what it waits with is closed below
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    nothing = os.open(os.devnull, os.O_RDONLY)
    for source, target in ((nothing, 0), (log, 1), (log, 2)):
        os.dup2(source, target)
    os.closerange(3, pipe)  # also locks and pipes, which count as the parent's as long as any process has them open
    os.closerange(pipe + 1, os.sysconf("SC_OPEN_MAX"))
    sys.stdout = open(1, "w", closefd=False)  # noqa: SIM115  open until the process ends
    sys.stderr = open(2, "w", closefd=False, buffering=1)  # noqa: SIM115
    sys.path[:] = [os.path.abspath(path) for path in sys.path]  # nothing is imported from the folder
    sys.dont_write_bytecode = True
    os.environ.clear()
    os.environ.update(environment)
    tempfile.tempdir = None  # TMPDIR is another one now
    os.chdir(folder)
