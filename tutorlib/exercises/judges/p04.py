"""What the process of an answer needs of page 04's exercises."""

import os
import resource
import signal
from collections.abc import Callable
from mmap import mmap
from typing import Any, NamedTuple

import numpy as np

from tutorlib.checking.part import require_jit
from tutorlib.checking.served import Served
from tutorlib.compiling.dsls import call_host, compile_host

# Calls of a compiled host function on vectors in the CPU's memory, in a fork that may crash.


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


# How much work a function of vectors does for each element.

ELEMENTS = 8


class Work(NamedTuple):
    """The instructions that a thread executes for each element of y."""

    multiplications: float
    stores: float


def work_each(served: Served, lead: Any) -> tuple[float, float]:
    """Work, as plain data, of a @cute.jit function answer(lead, x, y), counted while one thread of it is simulated.

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

    def each(*opcodes: str, of: str = "") -> float:
        return sum(one.warps for one in issued if one.opcode.startswith(opcodes) and of in one.opcode) / ELEMENTS

    return each("mul.", "fma.", of="f"), each("st.global")
