"""How many multiplications a function of vectors takes for each element."""

import re
from typing import Any

from tutorlib.checking.served import Served


def multiplications_each(served: Served, lead: Any) -> float:
    """fp32 multiplications for each element that a @cute.jit function answer(lead, x, y) stores, counted in the PTX of
    a thread that calls it. Raises CompileFailed and what the answer raises.
    """
    from cutlass import cute

    from tutorlib.compiling.cute import compile_cute
    from tutorlib.compiling.ptx import instruction
    from tutorlib.compiling.spec import TensorSpec

    function = served.answer

    @cute.kernel
    def kernel(x: cute.Tensor, y: cute.Tensor) -> None:
        function(lead, x, y)

    @cute.jit
    def host(x: cute.Tensor, y: cute.Tensor) -> None:
        kernel(x, y).launch(grid=(1, 1, 1), block=(1, 1, 1))

    lines = [instruction(line) for line in compile_cute(host, [TensorSpec((8,), dynamic=True)] * 2).ptx.splitlines()]
    stores = sum(bool(re.match(r"st\.global", line)) for line in lines)
    return sum(bool(re.match(r"(mul|fma)\.\S*f32", line)) for line in lines) / max(stores, 1)
