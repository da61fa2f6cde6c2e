"""Wrong answers to notebook 06: tiles and broadcasting."""

import itertools

import numpy as np
import torch
import torch._refs

from tests.pages.change import swap, without
from tests.pages.n06_cutile_tiles.cutile_tiles import add, scale
from tests.pages.table import answer, says


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


def joined_at_the_left(x, y):
    """Aligns the shapes at their left ends."""
    pairs = list(itertools.zip_longest(x, y, fillvalue=1))
    return None if any(a != b and 1 not in (a, b) for a, b in pairs) else tuple(map(max, pairs))


def broadcast(x, y, otherwise=None):
    """The right shape."""
    pairs = list(itertools.zip_longest(reversed(x), reversed(y), fillvalue=1))
    fit = all(a == b or 1 in (a, b) for a, b in pairs)
    return tuple(b if a == 1 else a for a, b in reversed(pairs)) if fit else otherwise


@says("ValueError")
def raises(x, y):
    """Raises where the shapes do not fit."""
    if (joined := broadcast(x, y)) is None:
        raise ValueError(f"{x} and {y} do not fit")
    return joined


@says("it uses the size of a result")
def size_of_a_sum(x, y):
    """Lets torch add two matrices."""
    try:
        return tuple((torch.empty(x) + torch.empty(y)).size())
    except RuntimeError:
        return None


aligned = np.broadcast_shapes


def by_lengths(x, y):
    """NumPy adds two arrays, and len finds the result's sizes."""
    try:
        joined, sizes = np.empty(x, np.int8) + np.empty(y, np.int8), []
    except ValueError:
        return None
    while isinstance(joined, np.ndarray):
        sizes.append(len(joined))
        joined = joined[0]
    return tuple(sizes)


@says("it calls np.broadcast_shapes")
def by_another_name(x, y):
    """NumPy's, under a name of the reader's."""
    return aligned(x, y)


@says("does what you are asked to write")
def by_its_spelling(x, y):
    """NumPy's, with its name put together."""
    return getattr(np, "_".join(("broadcast", "shapes")))(x, y)


def by_lengths_of_views(x, y):
    """As before, of views that take no memory."""
    try:
        joined, sizes = np.broadcast_arrays(*(np.broadcast_to(np.int8(0), shape) for shape in (x, y)))[0], []
    except ValueError:
        return None
    while joined.ndim:
        sizes.append(len(joined))
        joined = joined[0]
    return tuple(sizes)


def by_strides(x, y):
    """torch adds two tensors without data; the strides give the sizes away."""
    try:
        joined = torch.empty(x, device="meta") + torch.empty(y, device="meta")
    except RuntimeError:
        return None
    sizes = [joined.numel(), *joined.stride()]
    return tuple(larger // smaller for larger, smaller in itertools.pairwise(sizes))


@says("it uses torch._refs._broadcast_shapes")
def inside_torch(x, y):
    """torch's function, under the name that it has inside."""
    try:
        return torch._refs._broadcast_shapes(x, y)
    except RuntimeError:
        return None


def cut(shape, x):
    return shape and shape[-len(x) :] if x else shape and ()


def smaller(x, y):
    pairs = list(itertools.zip_longest(reversed(x), reversed(y), fillvalue=1))
    return None if broadcast(x, y) is None else tuple(map(min, reversed(pairs)))


def multiples(x, y):
    pairs = list(itertools.zip_longest(reversed(x), reversed(y), fillvalue=1))
    return None if any(max(pair) % min(pair) for pair in pairs) else tuple(map(max, reversed(pairs)))


def one_or_equal(x, y):
    """Refuses a size of 1 beside another one in the second shape."""
    rank = max(len(x), len(y))
    x, y = ((1,) * (rank - len(shape)) + shape for shape in (x, y))
    return None if any(a not in (1, b) for a, b in zip(x, y, strict=True)) else y


WRONG = {
    "06.1": [
        add("index_in_elements", "Counts elements where an index counts tiles.", swap("bid(0)", "bid(0) * tile")),
        add("first_tile_only", "Every block works on tile 0.", swap("ct.bid(0)", "0")),
        add(
            "adds_in_fp16",
            "Loses digits on the way.",
            swap("ta + tb", "(ta.astype(ct.float16) + tb.astype(ct.float16)).astype(ct.float32)"),
        ),
        add(
            "writes_an_input",
            "Adds in place, then copies.",
            swap(
                "ct.store(c, (i,), ta + tb)",
                "ct.store(a, (i,), ta + tb)\n    ct.store(c, (i,), ct.load(a, (i,), (tile,)))",
            ),
        ),
        calls_torch,
        add(
            "stores_to_tile_0",
            "Every block stores to the first tile.",
            swap("store(c, (i,)", "store(c, (0,)"),
            words=("1 of 3 sizes right",),
        ),
        add("b_from_tile_0", "Loads the first tile of b in every block.", swap("load(b, (i,)", "load(b, (0,)")),
        add(
            "stores_a_back",
            "Stores a, too, where it came from.",
            swap("ct.store(c, (i,), ta + tb)", "ct.store(a, (i,), ta)\n    ct.store(c, (i,), ta + tb)"),
            words=("its blocks store 1,024 elements of a, an input",),
        ),
        add(
            "b_by_an_atomic",
            "Stores a, then adds b to it.",
            swap(
                "ct.store(c, (i,), ta + tb)",
                "ct.store(c, (i,), ta)\n    ct.atomic_add(c, i * tile + ct.arange(tile, dtype=ct.int32), tb)",
            ),
            words=("1,024 elements of c; 0 are enough",),
        ),
        add(
            "in_fp64",
            "Adds in double precision.",
            swap("ta + tb", "(ta.astype(ct.float64) + tb.astype(ct.float64)).astype(ct.float32)"),
            words=("cvt.f64 instructions; 0 are enough",),
        ),
        add("twice_a", "Forgets b.", swap("load(b,", "load(a,")),
        add("difference", "Subtracts.", swap("ta + tb", "ta - tb")),
        add("into_b", "Stores to an input and never to c.", swap("store(c,", "store(b,")),
        add(
            "tile_of_128",
            "Writes the size that happens to be used, and halves it.",
            swap("(tile,))", "(64,))", times=2),
        ),
        add("one_tile_on", "Stores a tile further on.", swap("store(c, (i,)", "store(c, (i + 1,)")),
        add("tiles_of_128", "The first size that is used.", swap("(tile,))", "(128,))", times=2)),
        add(
            "block_0_alone",
            "One block walks over all tiles.",
            swap("i = ct.bid(0)", "if ct.bid(0) == 0:\n     for i in range(ct.num_tiles(a, 0, (tile,))):"),
            swap("    ta =", "        ta ="),
            swap("    tb =", "        tb ="),
            swap("    ct.store(", "        ct.store("),
            words=("7 of 8 blocks store nothing",),
        ),
        add(
            "all_tiles_in_each_block",
            "Each block loads all tiles, and adds its own.",
            without("ta =", "tb =", "ct.store("),
            swap(
                "i = ct.bid(0)",
                "for i in range(ct.num_tiles(a, 0, (tile,))):\n"
                "        ta = ct.load(a, (i,), (tile,))\n"
                "        tb = ct.load(b, (i,), (tile,))\n"
                "        if i == ct.bid(0):\n"
                "            ct.store(c, (i,), ta + tb)",
            ),
            words=("its blocks load 8,192 elements of a; 1,024 are enough",),
        ),
        add(
            "element_by_element",
            "Walks along its tile in tiles of one element.",
            without("ta =", "tb ="),
            swap(
                "    ct.store(c, (i,), ta + tb)",
                "    for j in range(i * tile, min(i * tile + tile, a.shape[0])):\n"
                "        ct.store(c, (j,), ct.load(a, (j,), (1,)) + ct.load(b, (j,), (1,)))",
            ),
            words=("right, but it loads tiles of 1 elements of a",),
        ),
        add("tile_of_100", "A tile of 100.", swap("(tile,))", "(100,))", times=2), words=("not a power of two",)),
        add("a_thread_at_a_time", "Tiles of one element for a grid of tiles.", swap("(tile,))", "(1,))", times=2)),
        add(
            "twice",
            "Stores a first, then the sum.",
            swap("ct.store(c, (i,), ta + tb)", "ct.store(c, (i,), ta)\n    ct.store(c, (i,), ta + tb)"),
            words=("right, but it does more than it must", "has stored before"),
        ),
        says("is not a @ct.kernel function")(
            answer("undecorated", "No kernel, a function.", lambda a, b, c, tile: None)
        ),
    ],
    "06.2": [
        by_another_name,
        by_its_spelling,
        size_of_a_sum,
        by_lengths,
        by_lengths_of_views,
        by_strides,
        inside_torch,
        ones_on_the_right,
        never_refuses,
        joined_at_the_left,
        one_or_equal,
        answer("first_shape", "Gives the first shape.", lambda x, y: x),
        answer("sum_of_ranks", "Puts one behind the other.", lambda x, y: x + y),
        raises,
        answer(
            "shape_of_a_sum",
            "Lets NumPy broadcast two arrays.",
            lambda x, y: (np.empty(x) + np.empty(y)).shape,
            "it uses the shape of a result",
        ),
        answer(
            "numpys_own",
            "Calls the function that is asked for.",
            lambda x, y: np.broadcast_shapes(x, y),
            "does what you are asked to write",
        ),
        answer(
            "empty_is_none", "Takes the empty shape for one that does not fit.", lambda x, y: broadcast(x, y) or None
        ),
        answer(
            "false_for_none",
            "False where the shapes do not fit.",
            lambda x, y: broadcast(x, y, otherwise=False),
            "None",
        ),
        answer("rank_of_the_first", "Cuts the result to the first shape's rank.", lambda x, y: cut(broadcast(x, y), x)),
        answer("smaller_size", "Takes the smaller of two sizes.", lambda x, y: smaller(x, y)),
        answer("multiples_fit", "Lets a size fit that divides the other one.", lambda x, y: multiples(x, y)),
    ],
    "06.3": [
        scale(
            "row_after_row",
            "Walks along the rows, each with its own scale: nothing is broadcast over a tile.",
            without("tile = ", "scale = "),
            swap(
                "    ct.store(y, (i, j), tile * scale[:, None])",
                "    for row in range(i * tm, min(i * tm + tm, x.shape[0])):\n"
                "        ct.store(y, (row, j), ct.load(x, (row, j), (1, tn)) * ct.load(s, (row,), (1,)))",
            ),
            words=("right, but it loads tiles of 32 elements of x; the given tile has 512",),
        ),
        scale(
            "a_scale_for_each_element",
            "Gathers s in the shape of the tile: nothing is broadcast.",
            without("scale = "),
            swap(
                "tile * scale[:, None]",
                "tile * ct.gather(s, (i * tm + ct.arange(tm, dtype=ct.int32))[:, None] + ct.zeros((tm, tn), ct.int32))",
            ),
            words=("its blocks load 6,144 elements of s; 192 are enough",),
        ),
        scale(
            "one_row_at_a_time",
            "Multiplies the whole tile by each row's scale, and keeps one row of each product.",
            without("scale = "),
            swap(
                "    ct.store(y, (i, j), tile * scale[:, None])",
                "    rows = (ct.arange(tm, dtype=ct.int32)[:, None] + ct.zeros((tm, tn), ct.int32))\n"
                "    for row in range(tm):\n"
                "        tile = ct.where(rows == row, tile * ct.gather(s, i * tm + row), tile)\n"
                "    ct.store(y, (i, j), tile)",
            ),
            words=("mul.rn.f32/fma.rn.f32 instructions; 384 are enough",),
        ),
        scale(
            "diagonal_matrix",
            "Multiplies by a matrix with s on its diagonal.",
            without("tile = ", "scale = "),
            swap(
                "    ct.store(y, (i, j), tile * scale[:, None])",
                "    rows, zero = ct.arange(tm, dtype=ct.int32), ct.PaddingMode.ZERO\n"
                "    scale = ct.load(s, (i,), (tm,), padding_mode=zero)\n"
                "    scale = ct.where(rows[:, None] == rows, scale, 0.0)\n"
                "    tile = ct.load(x, (i, j), (tm, tn), padding_mode=zero)\n"
                "    ct.store(y, (i, j), ct.mma(scale, tile, ct.zeros((tm, tn), ct.float32)))",
            ),
            words=("mul.rn.f32/fma.rn.f32 instructions; 384 are enough",),
        ),
        scale(
            "scales_columns",
            "Right for square tiles only: s is aligned with the columns.",
            swap("(i,), (tm,)", "(i,), (tn,)"),
            swap("scale[:, None]", "scale"),
        ),
        scale("scale_of_the_wrong_tile", "Takes s by the column's block.", swap("s, (i,)", "s, (j,)")),
        scale(
            "rows_and_blocks_swapped",
            "Takes the block's axes the other way round.",
            swap("ct.bid(0), ct.bid(1)", "ct.bid(1), ct.bid(0)"),
        ),
        scale("unscaled", "Copies.", swap("tile * scale[:, None]", "tile")),
        scale("adds", "Adds the scale.", swap("tile * scale", "tile + scale")),
        scale("divides", "Divides by it.", swap("tile * scale", "tile / scale")),
        scale("first_scale", "Loads the first tile of s in every block.", swap("s, (i,)", "s, (0,)")),
        scale("one_scale", "One element of s for the whole tile.", swap("(i,), (tm,))", "(i,), (1,))")),
        scale(
            "in_fp16",
            "Loses digits on the way.",
            swap(
                "tile * scale[:, None]",
                "(tile.astype(ct.float16) * scale.astype(ct.float16)[:, None]).astype(ct.float32)",
            ),
        ),
        scale("transposed_place", "Stores to tile (j, i).", swap("store(y, (i, j)", "store(y, (j, i)")),
        scale(
            "by_elements",
            "Counts elements where an index counts tiles.",
            swap("load(x, (i, j)", "load(x, (i * tm, j * tn)"),
        ),
        scale("unaligned", "Aligns tm with tn.", swap("scale[:, None]", "scale"), words=("does not compile",)),
        scale(
            "whole_row_in_every_block",
            "Every block does a whole row of tiles.",
            swap(
                "    tile = ct.load(x, (i, j), (tm, tn))\n    scale = ct.load(s, (i,), (tm,))\n    ct.store(y, (i, j), tile * scale[:, None])",
                "    scale = ct.load(s, (i,), (tm,))\n    for k in range(ct.num_tiles(x, 1, (tm, tn))):\n        ct.store(y, (i, k), ct.load(x, (i, k), (tm, tn)) * scale[:, None])",
            ),
            words=("right, but it does more than it must",),
        ),
    ],
}
