"""What notebook 16 asks besides kernels: weights in another order, gradients, modules, and several GPUs."""
