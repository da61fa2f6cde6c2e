# Numbers that equal what is asked for and are none of its kind: complex ones, minus zero, halves of numbers.
# deserves: 0
import numpy as np


def answer(n):
    return [(complex(n + 1), complex(2 * n)), (n + 1.0, -0.0), (np.float64(n + 1), np.float16(2 * n % 2048))][n % 3]
