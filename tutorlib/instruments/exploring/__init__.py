"""Many configurations of the Hopper GEMM timed at many shapes, for kernels.hopper.fit."""
