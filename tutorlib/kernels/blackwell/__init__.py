"""A GEMM for Blackwell's data-center GPUs: TMA, tcgen05.mma, tensor memory, pairs of blocks."""

from tutorlib import lazy

__getattr__ = lazy(
    __name__,
    {
        "tutorlib.dsl.tracing": "fence_before",
        "config": "PAIR BlackwellConfig",
        "gemm": "SMS Block Parts await_empty make_blackwell_gemm make_block make_drain tma_atoms",
        "parts": "TileSteps",
        "tutorlib.kernels.hopper.pipeline": "Tma",
    },
)
