"""Wrong answers to notebook 06. Kernels fail where they are interpreted, so no GPU is needed."""

from tests.wrong.change import derive, swap
from tutorlib.course.answers import load_answers


def calls_torch(a, b, c, tile):
    """No kernel at all."""
    c.copy_(a + b)


def ones_on_the_right(x, y):
    """Fills the shorter shape up at the wrong end."""
    rank = max(len(x), len(y))
    x, y = (shape + (1,) * (rank - len(shape)) for shape in (x, y))
    return tuple(map(max, x, y)) if all(a == b or 1 in (a, b) for a, b in zip(x, y, strict=True)) else None


def never_refuses(x, y):
    """Takes the larger size, whatever the other one is."""
    rank = max(len(x), len(y))
    return tuple(map(max, *((1,) * (rank - len(shape)) + shape for shape in (x, y))))


RIGHT = load_answers("06_cutile_tiles")
ADD, SCALE, SUMS, SOFTMAX = (RIGHT[id] for id in ("06.1", "06.3", "06.4", "06.5"))

WRONG = {
    "06.1": [
        derive(
            ADD, "index_in_elements", "Counts elements where an index counts tiles.", swap("bid(0)", "bid(0) * tile")
        ),
        derive(ADD, "first_tile_only", "Every block works on tile 0.", swap("ct.bid(0)", "0")),
        derive(
            ADD,
            "adds_in_fp16",
            "Loses digits on the way.",
            swap("ta + tb", "(ta.astype(ct.float16) + tb.astype(ct.float16)).astype(ct.float32)"),
        ),
        derive(
            ADD,
            "writes_an_input",
            "Adds in place, then copies.",
            swap(
                "ct.store(c, (i,), ta + tb)",
                "ct.store(a, (i,), ta + tb)\n    ct.store(c, (i,), ct.load(a, (i,), (tile,)))",
            ),
        ),
        calls_torch,
    ],
    "06.2": [ones_on_the_right, never_refuses],
    "06.3": [
        derive(
            SCALE,
            "scales_columns",
            "Right for square tiles only: s is aligned with the columns.",
            swap("(i,), (tm,)", "(i,), (tn,)"),
            swap("scale[:, None]", "scale"),
        ),
        derive(SCALE, "scale_of_the_wrong_tile", "Takes s by the column's block.", swap("s, (i,)", "s, (j,)")),
    ],
    "06.4": [
        derive(
            SUMS,
            "sums_the_padding",
            "Leaves the padding undetermined.",
            swap(", padding_mode=ct.PaddingMode.ZERO", ""),
        ),
        derive(
            SUMS,
            "floors_the_number_of_tiles",
            "Forgets the last, partly filled tile of a row.",
            swap("ct.num_tiles(x, 1, (tm, tn))", "x.shape[1] // tn"),
        ),
        derive(
            SUMS,
            "one_tile_too_many",
            "Reads a tile that does not exist, which happens to be padded.",
            swap("ct.num_tiles(x, 1, (tm, tn))", "ct.num_tiles(x, 1, (tm, tn)) + 1"),
        ),
    ],
    "06.5": [
        derive(SOFTMAX, "padded_with_zeros", "The padding counts as exp(0 - max).", swap("NEG_INF", "ZERO")),
        derive(
            SOFTMAX,
            "overflows",
            "Subtracts no maximum, so large rows give inf / inf.",
            swap("row - ct.max(row)", "row"),
        ),
        derive(SOFTMAX, "base_two", "exp2 without the factor log2(e).", swap("ct.exp(", "ct.exp2(")),
    ],
}
