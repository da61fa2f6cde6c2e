"""Kernels in CUDA Tile C++, written by Python: notebook 08's, with its choices as fields."""
