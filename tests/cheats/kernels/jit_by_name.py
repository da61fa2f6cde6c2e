# No jitted function: an object that says it is one, and computes on the host, through the memory it is given.
# exercise: 04.1
# deserves: 0
import ctypes

import numpy as np


class Axpy:
    _decorator_kind = "jit"
    __name__ = "axpy"

    def __call__(self, alpha, x, y, **options):
        n = int(x.shape[0])
        memory = [ctypes.cast(v.data_ptr, ctypes.POINTER(ctypes.c_float)) for v in (x, y)]
        xs, ys = (np.ctypeslib.as_array(v, (n,)) for v in memory)
        ys += float(alpha) * xs


axpy = Axpy()
