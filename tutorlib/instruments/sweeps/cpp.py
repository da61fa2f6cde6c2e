"""The sweeps of notebook 08: vector additions in tiles of some sizes; what each promise and each hint is worth."""

from collections.abc import Mapping

from tutorlib.instruments.sweeps.sweep import Candidate, Sweep
from tutorlib.kernels.cpp.gemm import BENCH, PROMISES, WAYS, Variant, blocks_of
from tutorlib.kernels.cpp.program import in_tiles
from tutorlib.measuring.counters import BLOCK_SIZE, STALLED, TENSOR_BUSY
from tutorlib.measuring.launchers import CppLauncher
from tutorlib.problems.catalogue import gemm, vector_add

VECTOR = (2**27,)
VECTOR_TILES = (8, 64, 1024, 8192)
LARGE = (8192, 8192, 8192)


def variants(named: Mapping[str, Variant]) -> tuple[Candidate, ...]:
    return tuple(Candidate(name, CppLauncher(variant.source, variant.grid)) for name, variant in named.items())


def cpp_vectors() -> Sweep:
    """A vector addition in tiles of four sizes."""
    candidates = tuple(Candidate(f"tiles of {t}", CppLauncher(in_tiles(t), blocks_of(t))) for t in VECTOR_TILES)
    return Sweep(vector_add("fp32"), candidates, (VECTOR,))


def cpp_promises() -> Sweep:
    """The first GEMM with more and more promises, and what Nsight Compute counts of each."""
    return Sweep(gemm("bf16"), variants(PROMISES), (BENCH,), (BLOCK_SIZE, TENSOR_BUSY, STALLED))


def cpp_ways() -> Sweep:
    """From the GEMM with all promises to cuBLAS, at two sizes."""
    return Sweep(gemm("bf16"), variants(WAYS), (BENCH, LARGE))
