"""The GEMM that chooses by itself, and QuACK's, which is tuned for each shape, both beside cuBLAS.

QuACK (github.com/Dao-AILab/quack, CuTe DSL) is no part of the course; `pip install quack-kernels==0.6.5` brings it.
"""

from importlib.util import find_spec

from tutorlib.instruments.sweeps.hopper import LARGE, self_configuring
from tutorlib.instruments.sweeps.sweep import Candidate, Sweep
from tutorlib.kernels.nvidia_example import NoExample
from tutorlib.machine.features import WGMMA
from tutorlib.problems.catalogue import gemm
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


def tuned_quack() -> Candidate:
    """Raises NoExample."""
    return Candidate("QuACK 0.6.5, tuned", Quack(), needs=WGMMA)


def gemm_quack() -> Sweep:
    """At the sizes of the ladder's end. Raises NoExample."""
    return Sweep(gemm("bf16"), (self_configuring(), tuned_quack()), LARGE, seconds=90)
