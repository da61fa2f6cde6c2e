"""Unusual right answers to notebook 00."""

import numpy as np

from tests.pages.table import answer

RIGHT = {
    "00.1": [
        answer("negated_twice", "rounds down below zero", lambda n, tile: -(-n // tile)),
        answer("by_divmod", "adds a truth value", lambda n, tile: divmod(n, tile)[0] + bool(n % tile)),
        answer("numpy_integers", "counts in int64", lambda n, tile: np.int64(n + tile - 1) // np.int64(tile)),
        answer("counted", "the length of a range", lambda n, tile: len(range(0, n, tile))),
    ]
}
