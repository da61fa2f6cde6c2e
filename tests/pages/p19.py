"""Page 19: answers that are whole functions, and what rows of p19.txt are made of."""

import math

import numpy as np

from tests.pages.table import right


@right("19.3")
def by_counting(m, tm, tn, keys):
    """Looks at each tile."""
    queries, every = range(m * tm, (m + 1) * tm), range(math.ceil(keys / tn))
    whole = [n for n in every if (n + 1) * tn <= keys and (n + 1) * tn - 1 <= queries[0]]
    return len(whole), len([n for n in every if n * tn <= queries[-1]])


def tiles(m, tm, tn, keys, *, whole=None, end=None):
    """The solution's numbers with one of them in place."""
    right = min(m * tm + 1, keys) // tn, -(-min((m + 1) * tm, keys) // tn)
    return (right[0] if whole is None else whole), (right[1] if end is None else end)
