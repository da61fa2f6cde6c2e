"""A GEMM for Blackwell's data-center GPUs: TMA, tcgen05.mma, tensor memory, pairs of blocks."""
