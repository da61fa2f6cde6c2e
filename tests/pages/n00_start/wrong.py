"""Wrong answers to notebook 00."""

import math

from cuda import tile as ct
from cutlass import cute

from tests.pages.table import answer


def through_floats(n, tile):
    """Right until the quotient needs more than 53 bits."""
    return math.ceil(n / tile)


WRONG = {
    "00.1": [
        answer(
            "one_more_for_tiles_of_1", "n + 1 of them", lambda n, tile: n // tile + (n % tile > 0 or tile == 1), "7, 1"
        ),
        answer("rounds_down", "Forgets the last, partly filled tile.", lambda n, tile: n // tile),
        answer("one_more", "One tile too many where the tile divides.", lambda n, tile: n // tile + 1),
        through_floats,
        answer("a_whole_tile_added", "adds a tile", lambda n, tile: (n + tile) // tile, "One tile too many"),
        answer("a_float", "divides with /", lambda n, tile: n / tile, "it should give"),
        answer("nearest", "rounds to the nearest", lambda n, tile: round(n / tile), "it should give 3"),
        answer("half_up", "rounds half up", lambda n, tile: (n + tile // 2) // tile, "rounds to the nearest"),
        answer("ceil_too_late", "rounds down first", lambda n, tile: math.ceil(n // tile), "// rounds down"),
        answer("the_rest", "the elements left over", lambda n, tile: n % tile, "it should give 2"),
        answer("turned", "divides the tile by n", lambda n, tile: (tile + n - 1) // n if n else 0, "should give 2"),
        answer("one_off", "adds 1 in place of tile - 1", lambda n, tile: (n + 1) // tile, "gives 8: it should give 7"),
        answer(
            "at_least_one",
            "a tile where there is nothing",
            lambda n, tile: max(1, -(-n // tile)),
            "gives 1: it should give 0",
        ),
        answer("minus_lost", "negates once", lambda n, tile: -(-n) // tile, "// rounds down"),
        answer("elements", "how many elements the tiles hold", lambda n, tile: -(-n // tile) * tile, "gives 128"),
        answer("by_cute", "CuTe's own", lambda n, tile: cute.ceil_div(n, tile), "it calls cute.ceil_div"),
        answer("by_cutile", "cuTile's own", lambda n, tile: ct.cdiv(n, tile), "it calls ct.cdiv"),
        answer("nothing", "forgets to return", lambda n, tile: None, "gives None: it should give 2"),
    ]
}
