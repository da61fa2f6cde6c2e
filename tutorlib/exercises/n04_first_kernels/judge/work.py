"""How much work a function of vectors does for each element."""

from typing import Any, NamedTuple

from tutorlib.checking.served import Served

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
    from tutorlib.simulate.ptx.languages.cute_host import simulate_host
    from tutorlib.simulate.ptx.languages.cute_lines import compile_with_lines

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
