"""Wrong answers to notebook 00."""

import math


def rounds_down(n, tile):
    """Forgets the last, partly filled tile."""
    return n // tile


def one_more(n, tile):
    """One tile too many where the tile divides."""
    return n // tile + 1


def through_floats(n, tile):
    """Right until the quotient needs more than 53 bits."""
    return math.ceil(n / tile)


WRONG = {"00.1": [rounds_down, one_more, through_floats]}
