# No jitted function: a plain one with the decorator's marks, that computes on the host.
# exercise: 04.1
# deserves: 0
import ctypes

import numpy as np


def axpy(alpha, x, y, **options):
    n = int(x.shape[0])
    memory = [ctypes.cast(v.data_ptr, ctypes.POINTER(ctypes.c_float)) for v in (x, y)]
    xs, ys = (np.ctypeslib.as_array(v, (n,)) for v in memory)
    ys += float(alpha) * xs


axpy._decorator_kind = "jit"
