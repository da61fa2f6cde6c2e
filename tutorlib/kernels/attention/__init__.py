"""Attention: the kernels of notebooks 19 and 20, and the operator that torch knows."""
