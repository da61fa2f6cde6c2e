# A million zeros where two numbers are asked for: whoever tells them one by one, call after call, tells them long.
# deserves: 0
import numpy as np


def answer(n):
    return np.zeros(2**20, np.int64)
