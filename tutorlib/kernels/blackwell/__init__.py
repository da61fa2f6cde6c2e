"""A GEMM for Blackwell's data-center GPUs: TMA, tcgen05.mma, tensor memory, pairs of blocks."""

from tutorlib import lazy

__getattr__ = lazy(
    __name__,
    {
        "config": "PAIR BlackwellConfig",
        "gemm": "SMS Parts course_parts make_blackwell_gemm make_block tma_atoms",
        "parts": "TileSteps make_t2r",
        "tutorlib.dsl.tracing": "fence_before",
        "tutorlib.kernels.hopper.pipeline": "Tma",
    },
)
