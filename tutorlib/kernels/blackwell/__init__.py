"""A GEMM for Blackwell's data-centre GPUs: TMA, tcgen05.mma, tensor memory, pairs of blocks."""
