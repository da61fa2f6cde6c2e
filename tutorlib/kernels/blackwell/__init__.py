"""A GEMM for Blackwell's data-center GPUs: TMA, tcgen05.mma, tensor memory, pairs of blocks."""

from tutorlib import lazy

__getattr__ = lazy(
    __name__,
    {
        "config": "PAIR BlackwellConfig band",
        "gemm": "SMS Parts course_parts make_blackwell_gemm make_block tma_atoms",
        "parts": "TileSteps issue make_t2r make_umma",
        "tutorlib.dsl.tracing": "fence_before",
        "tutorlib.kernels.hopper.pipeline": "Tma",
    },
)
