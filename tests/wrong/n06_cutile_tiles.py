"""Wrong answers to notebook 06. Kernels fail where they are interpreted, so no GPU is needed."""

import itertools

import cuda.tile as ct
import numpy as np
import torch

from tests.wrong.change import derive, swap
from tests.wrong.table import answer, says
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


def joined_at_the_left(x, y):
    """Aligns the shapes at their left ends."""
    pairs = list(itertools.zip_longest(x, y, fillvalue=1))
    return None if any(a != b and 1 not in (a, b) for a, b in pairs) else tuple(map(max, pairs))


def broadcast(x, y, otherwise=None):
    """The right shape."""
    try:
        return (np.empty(x) + np.empty(y)).shape
    except ValueError:
        return otherwise


aligned = np.broadcast_shapes


@says("it calls np.broadcast_shapes")
def by_another_name(x, y):
    """NumPy's, under a name of the reader's."""
    return aligned(x, y)


@says("does what you are asked to write")
def by_its_spelling(x, y):
    """NumPy's, with its name put together."""
    return getattr(np, "_".join(("broadcast", "shapes")))(x, y)


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


RIGHT = load_answers("06_cutile_tiles")
ADD, SCALE, SUMS, SOFTMAX, HOST = (RIGHT[id] for id in ("06.1", "06.3", "06.4", "06.5", "06.6"))


def launching(
    grid=lambda x: (x.shape[0],), tile=lambda n: 1 << (n - 1).bit_length(), args=lambda x, y, tile: (x, y, tile)
):
    """A function like the solution's with something else in one place."""

    def softmax_of(x, y):
        ct.launch(torch.cuda.current_stream(), grid(x), SOFTMAX, args(x, y, tile(x.shape[1])))

    return softmax_of


def calls_the_kernel(x, y):
    """Calls it as a function."""
    SOFTMAX(x, y, 1 << (x.shape[1] - 1).bit_length())


def torch_does_it(x, y):
    """Launches nothing."""
    y.copy_(x.softmax(-1))


def a_launch_for_show(x, y):
    """Launches a kernel that writes to another matrix, and lets torch do the work."""
    ct.launch(torch.cuda.current_stream(), (x.shape[0],), SOFTMAX, (x, torch.empty_like(y), 256))
    y.copy_(x.softmax(-1))


def no_stream(x, y):
    """Leaves the stream out."""
    ct.launch(None, (x.shape[0],), SOFTMAX, (x, y, 256))


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
        says("1 of 3 sizes right")(
            derive(
                ADD, "stores_to_tile_0", "Every block stores to the first tile.", swap("store(c, (i,)", "store(c, (0,)")
            )
        ),
        derive(ADD, "b_from_tile_0", "Loads the first tile of b in every block.", swap("load(b, (i,)", "load(b, (0,)")),
        derive(ADD, "twice_a", "Forgets b.", swap("load(b,", "load(a,")),
        derive(ADD, "difference", "Subtracts.", swap("ta + tb", "ta - tb")),
        derive(ADD, "into_b", "Stores to an input and never to c.", swap("store(c,", "store(b,")),
        derive(
            ADD,
            "tile_of_128",
            "Writes the size that happens to be used, and halves it.",
            swap("(tile,))", "(64,))", times=2),
        ),
        derive(ADD, "one_tile_on", "Stores a tile further on.", swap("store(c, (i,)", "store(c, (i + 1,)")),
        says("not a power of two")(derive(ADD, "tile_of_100", "A tile of 100.", swap("(tile,))", "(100,))", times=2))),
        derive(
            ADD, "a_thread_at_a_time", "Tiles of one element for a grid of tiles.", swap("(tile,))", "(1,))", times=2)
        ),
        says("right, but it does more than it must", "has stored before")(
            derive(
                ADD,
                "twice",
                "Stores a first, then the sum.",
                swap("ct.store(c, (i,), ta + tb)", "ct.store(c, (i,), ta)\n    ct.store(c, (i,), ta + tb)"),
            )
        ),
        says("is not a @ct.kernel function")(
            answer("undecorated", "No kernel, a function.", lambda a, b, c, tile: None)
        ),
    ],
    "06.2": [
        by_another_name,
        by_its_spelling,
        ones_on_the_right,
        never_refuses,
        joined_at_the_left,
        one_or_equal,
        answer("first_shape", "Gives the first shape.", lambda x, y: x),
        answer("sum_of_ranks", "Puts one behind the other.", lambda x, y: x + y),
        answer("as_a_list", "A list, not a tuple.", lambda x, y: broadcast(x, y) and list(broadcast(x, y)), "tuple"),
        answer(
            "raises",
            "Raises where the shapes do not fit.",
            lambda x, y: (np.empty(x) + np.empty(y)).shape,
            "ValueError",
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
        derive(
            SCALE,
            "scales_columns",
            "Right for square tiles only: s is aligned with the columns.",
            swap("(i,), (tm,)", "(i,), (tn,)"),
            swap("scale[:, None]", "scale"),
        ),
        derive(SCALE, "scale_of_the_wrong_tile", "Takes s by the column's block.", swap("s, (i,)", "s, (j,)")),
        derive(
            SCALE,
            "rows_and_blocks_swapped",
            "Takes the block's axes the other way round.",
            swap("ct.bid(0), ct.bid(1)", "ct.bid(1), ct.bid(0)"),
        ),
        derive(SCALE, "unscaled", "Copies.", swap("tile * scale[:, None]", "tile")),
        derive(SCALE, "adds", "Adds the scale.", swap("tile * scale", "tile + scale")),
        derive(SCALE, "divides", "Divides by it.", swap("tile * scale", "tile / scale")),
        derive(SCALE, "first_scale", "Loads the first tile of s in every block.", swap("s, (i,)", "s, (0,)")),
        derive(SCALE, "one_scale", "One element of s for the whole tile.", swap("(i,), (tm,))", "(i,), (1,))")),
        derive(
            SCALE,
            "in_fp16",
            "Loses digits on the way.",
            swap(
                "tile * scale[:, None]",
                "(tile.astype(ct.float16) * scale.astype(ct.float16)[:, None]).astype(ct.float32)",
            ),
        ),
        derive(SCALE, "transposed_place", "Stores to tile (j, i).", swap("store(y, (i, j)", "store(y, (j, i)")),
        derive(
            SCALE,
            "by_elements",
            "Counts elements where an index counts tiles.",
            swap("load(x, (i, j)", "load(x, (i * tm, j * tn)"),
        ),
        says("does not compile")(derive(SCALE, "unaligned", "Aligns tm with tn.", swap("scale[:, None]", "scale"))),
        says("right, but it does more than it must")(
            derive(
                SCALE,
                "whole_row_in_every_block",
                "Every block does a whole row of tiles.",
                swap(
                    "    tile = ct.load(x, (i, j), (tm, tn))\n    scale = ct.load(s, (i,), (tm,))\n    ct.store(y, (i, j), tile * scale[:, None])",
                    "    scale = ct.load(s, (i,), (tm,))\n    for k in range(ct.num_tiles(x, 1, (tm, tn))):\n        ct.store(y, (i, k), ct.load(x, (i, k), (tm, tn)) * scale[:, None])",
                ),
            )
        ),
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
        says("Are they kept in fp32 until the last step?")(
            derive(
                SUMS,
                "in_the_dtype_of_x",
                "Adds up in bf16.",
                swap("ct.float32)\n", "x.dtype)\n"),
                swap("tile.astype(ct.float32)", "tile"),
            )
        ),
        derive(
            SUMS,
            "tiles_summed_in_bf16",
            "Adds the tiles' sums in fp32, which were rounded to bf16 before.",
            swap("tile.astype(ct.float32)", "tile"),
        ),
        derive(
            SUMS,
            "carried_in_bf16",
            "Rounds the sum to bf16 after every tile.",
            swap(
                "total += ct.sum(tile.astype(ct.float32), 1)",
                "total = (total + ct.sum(tile.astype(ct.float32), 1)).astype(x.dtype).astype(ct.float32)",
            ),
        ),
        derive(SUMS, "last_tile_alone", "Keeps the last tile's sum.", swap("total +=", "total =")),
        derive(
            SUMS,
            "columns",
            "Sums along the wrong axis, which has another size.",
            swap(", 1)\n    ct.store", ", 0)\n    ct.store"),
        ),
        derive(SUMS, "everything", "Adds the whole tile up.", swap("ct.float32), 1)", "ct.float32))")),
        derive(SUMS, "maxima", "The largest element.", swap("ct.sum", "ct.max")),
        derive(
            SUMS, "starts_at_one", "Leaves out the first tile.", swap("range(ct.num_tiles", "range(1, ct.num_tiles")
        ),
        derive(
            SUMS,
            "tiles_along_rows",
            "As many steps as there are rows of tiles.",
            swap("ct.num_tiles(x, 1,", "ct.num_tiles(x, 0,"),
        ),
        derive(
            SUMS,
            "first_column_of_tiles",
            "Loads the first tile again and again.",
            swap("(i, j), (tm, tn)", "(i, 0), (tm, tn)"),
        ),
        derive(
            SUMS,
            "padded_with_minus_infinity",
            "The padding for a maximum.",
            swap("PaddingMode.ZERO", "PaddingMode.NEG_INF"),
        ),
        says("right, but it does more than it must", "it has stored before")(
            derive(
                SUMS,
                "stores_in_the_loop",
                "Stores after every tile; the last store is right.",
                swap("\n    ct.store", "\n        ct.store"),
            )
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
        derive(SOFTMAX, "not_divided", "Leaves the sum out.", swap("e / ct.sum(e)", "e")),
        derive(
            SOFTMAX, "divided_by_the_maximum", "Divides by the largest element.", swap("e / ct.sum(e)", "e / ct.max(e)")
        ),
        derive(
            SOFTMAX,
            "minimum",
            "Subtracts the smallest element, which is the padding.",
            swap("ct.max(row)", "ct.min(row)"),
        ),
        derive(SOFTMAX, "sums_the_row", "Divides by the sum of the row itself.", swap("ct.sum(e)", "ct.sum(row)")),
        derive(SOFTMAX, "undetermined", "No padding mode.", swap(", padding_mode=ct.PaddingMode.NEG_INF", "")),
        derive(
            SOFTMAX,
            "in_fp16",
            "Exponentials in fp16.",
            swap("ct.exp(row - ct.max(row))", "ct.exp((row - ct.max(row)).astype(ct.float16)).astype(ct.float32)"),
        ),
        derive(SOFTMAX, "first_row", "Every block does row 0.", swap("ct.bid(0)", "0")),
        derive(SOFTMAX, "a_column", "Takes a column.", swap("load(x, (i, 0), (1, tile)", "load(x, (0, i), (tile, 1)")),
        derive(SOFTMAX, "log", "The logarithm of it.", swap("e / ct.sum(e)", "ct.log(e / ct.sum(e))")),
        derive(
            SOFTMAX,
            "mean_for_maximum",
            "Subtracts the mean, which the padding makes -inf.",
            swap("ct.max(row)", "ct.sum(row) / tile"),
        ),
        says("right, but it does more than it must")(
            derive(
                SOFTMAX,
                "stores_the_exponentials_too",
                "Stores twice.",
                swap("    ct.store(y, (i, 0), e /", "    ct.store(y, (i, 0), e)\n    ct.store(y, (i, 0), e /"),
            )
        ),
    ],
    "06.6": [
        says("which lies outside x")(
            answer("a_block_too_many", "One block more than rows.", launching(grid=lambda x: (x.shape[0] + 1,)))
        ),
        answer(
            "a_block_short",
            "One block less than rows.",
            launching(grid=lambda x: (max(1, x.shape[0] - 1),)),
            "never wrote",
        ),
        answer("blocks_of_columns", "A block for each column.", launching(grid=lambda x: (x.shape[1],))),
        answer("exact_width", "The row's own width for a tile.", launching(tile=lambda n: n), "not a power of two"),
        answer("always_64", "A tile for the first size alone.", launching(tile=lambda n: 64)),
        answer(
            "always_4096",
            "A tile that is large enough for all.",
            launching(tile=lambda n: 4096),
            "smallest power of two",
        ),
        answer(
            "next_power",
            "The power of two above, also where the row is one.",
            launching(tile=lambda n: 1 << n.bit_length()),
            "smallest power of two",
        ),
        answer(
            "input_and_output_swapped",
            "y comes first.",
            launching(args=lambda x, y, tile: (y, x, tile)),
            "changed its input x",
        ),
        answer(
            "no_tile",
            "Leaves out the constant.",
            launching(args=lambda x, y, tile: (x, y)),
            "the kernel takes 3 arguments",
        ),
        answer("grid_is_a_list", "A list.", launching(grid=lambda x: [x.shape[0]]), "the grid should be a tuple"),
        answer("grid_is_a_number", "A number.", launching(grid=lambda x: x.shape[0]), "the grid should be a tuple"),
        says("cannot be called directly")(calls_the_kernel),
        says("no kernel that it launches stores to y")(torch_does_it),
        says("no kernel that it launches stores to y")(a_launch_for_show),
        says("wants a stream first")(no_stream),
        says("that is the kernel")(
            derive(SOFTMAX, "the_kernel", "The kernel itself.", swap("e / ct.sum(e)", "e / ct.sum(e)"))
        ),
    ],
}
