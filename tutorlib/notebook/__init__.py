"""Functions for notebooks: check and hint, explain, tables of measurements, kernels run on a GPU or simulated."""

import ctypes

# A notebook reads C's stdout from a pipe, which C would buffer: cute.printf on the host would not appear in its cell.
ctypes.CDLL(None).setvbuf(ctypes.c_void_p.in_dll(ctypes.CDLL(None), "stdout"), None, 1, 0)  # 1: by line, _IOLBF
