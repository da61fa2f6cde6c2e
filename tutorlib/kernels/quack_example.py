"""QuACK's GEMM for Hopper (github.com/Dao-AILab/quack, CuTe DSL), tuned for each shape: the one to stand beside.

It is no part of the course; `pip install quack-kernels==0.6.5` brings it.
"""

from importlib.util import find_spec

from tutorlib.kernels.nvidia_example import NoExample
from tutorlib.problems.work import Call, Work


class Quack:
    """A launcher of `quack.gemm`; the first call at a shape tries its configurations. Raises NoExample."""

    def __init__(self) -> None:
        if find_spec("quack") is None:
            raise NoExample("pip install quack-kernels==0.6.5 einops")

    def on(self, work: Work) -> Call:
        from quack.gemm_interface import gemm

        a, b, c = work.tensors

        def call() -> None:
            gemm(a, b.mT, out=c, tuned=True)

        return call
