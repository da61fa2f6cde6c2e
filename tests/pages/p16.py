"""Page 16: answers that are whole functions, and what rows of p16.txt are made of."""

from dataclasses import replace
from functools import partial
from statistics import median

import numpy as np

from tests.pages.table import solved
from tutorlib.kernels.hopper.choose import candidates, choose
from tutorlib.kernels.hopper.config import HopperConfig
from tutorlib.kernels.hopper.cost import cost

SOLVED = {id: solved(id) for id in ("16.1", "16.2")}


class Chooser:
    """Not a function: an object that can be called, and remembers."""

    def __init__(self):
        self.known = {}

    def __call__(self, m, n, k):
        if (m, n, k) not in self.known:
            self.known[m, n, k] = SOLVED["16.2"](m, n, k)
        return self.known[m, n, k]


def best(m, n, k):
    """What the course's own chooses, found anew."""
    return min(candidates(), key=lambda config: cost(config, m, n, k))
