"""Calls of compiled host functions on vectors in the CPU's memory, and the work of each element: page 04."""

import os
import resource
import signal
from collections.abc import Callable
from mmap import mmap
from typing import Any

import numpy as np

from tutorlib.checking.part import require_jit
from tutorlib.checking.served import Served
from tutorlib.compiling.dsls import call_host, compile_host

COMPUTING_S = 5  # of a call, a hundred times what a right one takes
ELEMENTS = 8
WORK = ("multiplications", "stores")  # that a thread executes for each element of y


def call_on_vectors(served: Served, lead: Any, memory: np.ndarray, margin: int, dynamic: bool) -> np.ndarray | None:
    """The memory after the @cute.jit function answer(lead, x, y), whose vectors are its two rows without the margins.

    The call is a fork's: what it writes elsewhere is lost with it. None where that crashes or does not end.
    dynamic: whether the layouts are. Raises WrongKind, CompileFailed and what the answer raises while it is compiled.
    """
    from cutlass.cute.runtime import from_dlpack

    require_jit(served.answer)
    shared = np.frombuffer(mmap(-1, memory.nbytes), memory.dtype).reshape(memory.shape)
    shared[:] = memory
    views = [from_dlpack(row[margin:-margin]) for row in shared]
    arguments = [view.mark_layout_dynamic() for view in views] if dynamic else views
    compile_host(served.answer, lead, *arguments)
    return shared.copy() if ends_well(lambda: call_host(served.answer, lead, *arguments)) else None


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


def work_each(served: Served, lead: Any) -> list[float]:
    """WORK of a @cute.jit function answer(lead, x, y), counted while one thread of it is simulated.

    Raises CompileFailed and what the answer raises.
    """
    import torch
    from cutlass import cute

    from tutorlib.compiling.spec import TensorSpec
    from tutorlib.simulate.ptx.languages.cute import compile_with_lines, simulate_host

    function = served.answer

    @cute.kernel
    def kernel(x: cute.Tensor, y: cute.Tensor) -> None:
        function(lead, x, y)

    @cute.jit
    def host(x: cute.Tensor, y: cute.Tensor) -> None:
        kernel(x, y).launch(grid=(1, 1, 1), block=(1, 1, 1))

    compiled = compile_with_lines(host, [TensorSpec((ELEMENTS,), dynamic=True)] * 2)
    tensors = {"x": torch.ones(ELEMENTS), "y": torch.ones(ELEMENTS)}
    issued = [one for report in simulate_host(compiled, tensors, dynamic=True) for one in report.issued]
    multiplied = [one for one in issued if one.opcode.startswith(("mul.", "fma.")) and "f" in one.opcode]
    stored = [one for one in issued if one.opcode.startswith("st.global")]
    return [sum(one.warps for one in some) / ELEMENTS for some in (multiplied, stored)]
