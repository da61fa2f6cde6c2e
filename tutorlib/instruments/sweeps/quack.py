"""The GEMM that chooses by itself, and QuACK's, which is tuned for each shape, both beside cuBLAS.

QuACK (github.com/Dao-AILab/quack, CuTe DSL) is no part of the course; `pip install quack-kernels==0.6.5` brings it.
"""

from importlib.util import find_spec

from torch import Tensor

from tutorlib.instruments.sweeps.hopper import LARGE, self_configuring
from tutorlib.instruments.sweeps.sweep import Candidate, Sweep
from tutorlib.kernels.nvidia_example import NoExample
from tutorlib.machine.features import WGMMA
from tutorlib.measuring.launchers import HostLauncher
from tutorlib.problems.catalogue import gemm


def quack_gemm(a: Tensor, b: Tensor, c: Tensor) -> None:
    """`quack.gemm`, whose first call at a shape tries its configurations."""
    from quack.gemm_interface import gemm

    gemm(a, b.mT, out=c, tuned=True)


def tuned_quack() -> Candidate:
    """Raises NoExample."""
    if find_spec("quack") is None:
        raise NoExample("pip install quack-kernels==0.6.5 einops")
    return Candidate("QuACK 0.6.5, tuned", HostLauncher(quack_gemm), needs=WGMMA)


def gemm_quack() -> Sweep:
    """At the sizes of the ladder's end. Raises NoExample."""
    return Sweep(gemm("bf16"), (self_configuring(), tuned_quack()), LARGE, seconds=90)
