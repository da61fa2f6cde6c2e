"""Page 22: answers that are whole functions, and what rows of p22.txt are made of."""

import math

import numpy as np


def tiles(m, tm, tn, keys, *, whole=None, end=None):
    """The solution's numbers with one of them in place."""
    right = min(m * tm + 1, keys) // tn, -(-min((m + 1) * tm, keys) // tn)
    return (right[0] if whole is None else whole), (right[1] if end is None else end)
