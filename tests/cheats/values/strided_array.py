# Arrays that are more than they hold: 2**50 elements of one number, and a window on memory that is not theirs.
# deserves: 0
import numpy as np


def answer(n):
    endless = np.lib.stride_tricks.as_strided(np.zeros(1, np.int64), (2**50,), (0,))
    if n == 1:
        return np.broadcast_to(np.int64(n), (2**13, 2**13))
    return endless if n % 2 else np.broadcast_to(np.int64(n), (2**20, 2**20))
