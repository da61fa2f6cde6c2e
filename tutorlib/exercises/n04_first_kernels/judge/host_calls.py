"""Calls of a compiled host function on vectors in the CPU's memory, in a fork that may crash."""

import os
import resource
import signal
from collections.abc import Callable
from mmap import mmap
from typing import Any

import numpy as np

from tutorlib.checking.cute import require_jit
from tutorlib.checking.served import Served
from tutorlib.compiling.cute import call_host, compile_host

BESIDE_X = 77.0  # next to x in memory: reading it changes the result
COMPUTING_S = 5  # of a call, a hundred times what a right one takes


def call_on_vectors(
    served: Served, lead: Any, x: np.ndarray, memory: np.ndarray, margin: int, dynamic: bool
) -> tuple[np.ndarray, np.ndarray] | None:
    """Call the @cute.jit function answer(lead, x, y), where y is `memory` but for a margin at either end.

    Returns x and the memory as they are then.

    The call is a fork's: what it writes elsewhere is lost with it. None where that crashes or does not end.
    dynamic: whether the layouts are. Raises WrongKind, CompileFailed and what the answer raises while it is compiled.
    """
    from cutlass.cute.runtime import from_dlpack

    require_jit(served.answer)
    after, around_x = (np.frombuffer(mmap(-1, memory.nbytes), memory.dtype) for _ in range(2))
    after[:], around_x[:] = memory, BESIDE_X
    around_x[margin:-margin] = x
    views = [from_dlpack(room[margin:-margin]) for room in (around_x, after)]
    arguments = [view.mark_layout_dynamic() for view in views] if dynamic else views
    compile_host(served.answer, lead, *arguments)
    if not ends_well(lambda: call_host(served.answer, lead, *arguments)):
        return None
    return around_x[margin:-margin].copy(), after.copy()


def ends_well(call: Callable[[], None]) -> bool:
    """Whether a call in a fork of this process returns."""
    if not (child := os.fork()):
        try:
            resource.setrlimit(resource.RLIMIT_CPU, (COMPUTING_S, COMPUTING_S))
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
            call()
            os._exit(0)
        finally:
            os._exit(1)
    try:
        return os.waitpid(child, 0)[1] == 0
    except BaseException:  # the reader's interrupt
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        raise
