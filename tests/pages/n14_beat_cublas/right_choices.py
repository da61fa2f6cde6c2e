"""Unusual right choices of a configuration: what is unusual is the way, not the speed."""

from dataclasses import replace
from functools import partial

import numpy as np

from tests.pages.table import answer
from tutorlib.kernels.hopper.choose import candidates, cost
from tutorlib.kernels.hopper.config import HopperConfig

FASTEST = HopperConfig(cluster=(2, 1), defer_stores=True, raster="m", snake=True, zigzag=True)


def choose(m, n, k):
    """The least by the course's finer model."""
    return min(candidates(), key=lambda config: cost(config, m, n, k))


def of_numpy():
    """NumPy's numbers and truth values, in lists."""
    tile, cluster = np.array([128, 256, 64]), [np.int8(2), np.int64(1)]
    order = {"raster": "m", "snake": np.True_, "zigzag": np.True_}
    return HopperConfig(list(tile), cluster=cluster, defer_stores=bool(np.True_), group=np.int32(8), **order)


class Chooser:
    """Not a function: an object that can be called, and remembers."""

    def __init__(self):
        self.known = {}

    def __call__(self, m, n, k):
        if (m, n, k) not in self.known:
            self.known[m, n, k] = choose(m, n, k)
        return self.known[m, n, k]


chooser = answer("chooser", Chooser.__doc__, Chooser())

RIGHT = {
    "14.11": [
        of_numpy,
        answer("changed", "Made from another one.", lambda: replace(replace(FASTEST, cluster=(1, 1)), cluster=(2, 1))),
        answer("by_default", "Takes a shape, if it gets one.", lambda m=4096, n=4096, k=4096: FASTEST),
    ],
    "14.12": [
        chooser,
        answer("sorted_by_cost", "The course's finer model, without its rule.", lambda m, n, k: sorted(candidates(), key=lambda config: cost(config, m, n, k))[0]),
        answer("with_numpys_sizes", "Its own function on NumPy's numbers.", lambda m, n, k: choose(*map(int, np.array([m, n, k])))),
        answer("in_other_words", "Other names, by keyword.", lambda rows, columns, depth: partial(choose)(rows, columns, depth)),
    ],
}  # fmt: skip
