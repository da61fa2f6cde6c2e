"""Linux's say in what becomes of a process's children, and of orphans."""

import ctypes
import os
import signal
import sys

PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER = 1, 36  # <linux/prctl.h>


def die_with(parent: int) -> None:
    """The kernel kills this process as soon as `parent`, the process that started it, has ended, however that ends.

    A program that this process becomes by exec keeps that. On other systems than Linux nothing happens.
    """
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        if os.getppid() != parent:  # it ended before the call
            os._exit(1)


def adopt_orphans() -> None:
    """Processes below this one that lose their parent become its children. On other systems nothing happens."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
