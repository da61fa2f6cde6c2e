"""Running kernels on a machine with no GPU."""
