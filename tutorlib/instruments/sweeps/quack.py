"""The GEMM that chooses by itself, and QuACK's, which is tuned for each shape, both beside cuBLAS."""

from tutorlib.instruments.sweeps.hopper import LARGE, self_configuring
from tutorlib.instruments.sweeps.sweep import Candidate, Sweep
from tutorlib.kernels.quack_example import Quack
from tutorlib.machine.features import WGMMA
from tutorlib.problems.catalogue import gemm


def gemm_quack() -> Sweep:
    """At the sizes of the ladder's end. Raises NoExample."""
    candidates = (self_configuring(), Candidate("QuACK 0.6.5, tuned", Quack(), needs=WGMMA))
    return Sweep(gemm("bf16"), candidates, LARGE, seconds=90)
