"""What notebook 07 asks besides kernels, and the sizes at which it tries them."""
