"""Wrong answers to notebook 06."""

import cuda.tile as ct

Const = ct.Constant


def kernel(function):
    """@ct.kernel, with the function's name and docstring kept for the test's report."""
    made = ct.kernel(function)
    made.__name__, made.__doc__ = function.__name__, function.__doc__
    return made


@kernel
def index_in_elements(a, b, c, tile: Const[int]):
    """Counts elements where an index counts tiles."""
    i = ct.bid(0) * tile
    ct.store(c, (i,), ct.load(a, (i,), (tile,)) + ct.load(b, (i,), (tile,)))


@kernel
def first_tile_only(a, b, c, tile: Const[int]):
    """Every block works on tile 0."""
    ct.store(c, (0,), ct.load(a, (0,), (tile,)) + ct.load(b, (0,), (tile,)))


@kernel
def adds_in_fp16(a, b, c, tile: Const[int]):
    """Loses digits on the way."""
    i = ct.bid(0)
    x, y = ct.load(a, (i,), (tile,)).astype(ct.float16), ct.load(b, (i,), (tile,)).astype(ct.float16)
    ct.store(c, (i,), (x + y).astype(ct.float32))


@kernel
def writes_an_input(a, b, c, tile: Const[int]):
    """Adds in place, then copies."""
    i = ct.bid(0)
    ct.store(a, (i,), ct.load(a, (i,), (tile,)) + ct.load(b, (i,), (tile,)))
    ct.store(c, (i,), ct.load(a, (i,), (tile,)))


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


@kernel
def scales_columns(x, s, y, tm: Const[int], tn: Const[int]):
    """Right for square tiles only: s is aligned with the columns."""
    i, j = ct.bid(0), ct.bid(1)
    ct.store(y, (i, j), ct.load(x, (i, j), (tm, tn)) * ct.load(s, (i,), (tn,)))


@kernel
def scale_of_the_wrong_tile(x, s, y, tm: Const[int], tn: Const[int]):
    """Takes s by the column's block."""
    i, j = ct.bid(0), ct.bid(1)
    ct.store(y, (i, j), ct.load(x, (i, j), (tm, tn)) * ct.load(s, (j,), (tm,))[:, None])


@kernel
def sums_the_padding(x, sums, tm: Const[int], tn: Const[int]):
    """Leaves the padding undetermined."""
    i = ct.bid(0)
    total = ct.zeros((tm,), ct.float32)
    for j in range(ct.num_tiles(x, 1, (tm, tn))):
        total += ct.sum(ct.load(x, (i, j), (tm, tn)), 1)
    ct.store(sums, (i,), total)


@kernel
def floors_the_number_of_tiles(x, sums, tm: Const[int], tn: Const[int]):
    """Forgets the last, partly filled tile of a row."""
    i = ct.bid(0)
    total = ct.zeros((tm,), ct.float32)
    for j in range(x.shape[1] // tn):
        total += ct.sum(ct.load(x, (i, j), (tm, tn), padding_mode=ct.PaddingMode.ZERO), 1)
    ct.store(sums, (i,), total)


@kernel
def one_tile_too_many(x, sums, tm: Const[int], tn: Const[int]):
    """Reads a tile that does not exist, which happens to be padded."""
    i = ct.bid(0)
    total = ct.zeros((tm,), ct.float32)
    for j in range(ct.num_tiles(x, 1, (tm, tn)) + 1):
        total += ct.sum(ct.load(x, (i, j), (tm, tn), padding_mode=ct.PaddingMode.ZERO), 1)
    ct.store(sums, (i,), total)


@kernel
def padded_with_zeros(x, y, tile: Const[int]):
    """The padding counts as exp(0 - max)."""
    row = ct.load(x, (ct.bid(0), 0), (1, tile), padding_mode=ct.PaddingMode.ZERO)
    e = ct.exp(row - ct.max(row))
    ct.store(y, (ct.bid(0), 0), e / ct.sum(e))


@kernel
def overflows(x, y, tile: Const[int]):
    """Subtracts no maximum, so large rows give inf / inf."""
    row = ct.load(x, (ct.bid(0), 0), (1, tile), padding_mode=ct.PaddingMode.NEG_INF)
    e = ct.exp(row)
    ct.store(y, (ct.bid(0), 0), e / ct.sum(e))


@kernel
def base_two(x, y, tile: Const[int]):
    """exp2 without the factor log2(e)."""
    row = ct.load(x, (ct.bid(0), 0), (1, tile), padding_mode=ct.PaddingMode.NEG_INF)
    e = ct.exp2(row - ct.max(row))
    ct.store(y, (ct.bid(0), 0), e / ct.sum(e))


WRONG = {
    "06.1": [index_in_elements, first_tile_only, adds_in_fp16, writes_an_input, calls_torch],
    "06.2": [ones_on_the_right, never_refuses],
    "06.3": [scales_columns, scale_of_the_wrong_tile],
    "06.4": [sums_the_padding, floors_the_number_of_tiles, one_tile_too_many],
    "06.5": [padded_with_zeros, overflows, base_two],
}
