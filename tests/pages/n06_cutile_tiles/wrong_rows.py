"""Wrong answers to notebook 06: sums and softmax of rows, and a launch."""

import cuda.tile as ct
import torch

from tests.pages.change import swap
from tests.pages.n06_cutile_tiles.cutile_tiles import SOFTMAX, long, softmax, sums
from tests.pages.table import answer, says


def launching(
    stream=lambda: torch.cuda.current_stream(),
    grid=lambda x: (x.shape[0],),
    tile=lambda n: 1 << (n - 1).bit_length(),
    args=lambda x, y, tile: (x, y, tile),
):
    """A function like the solution's with something else in one place."""

    def softmax_of(x, y):
        ct.launch(stream(), grid(x), SOFTMAX, args(x, y, tile(x.shape[1])))

    return softmax_of


def launched_twice(x, y):
    launching()(x, y)
    launching()(x, y)


@says("it launches 5 times")
def row_by_row(x, y):
    """A launch for each row."""
    for row in range(len(x)):
        ct.launch(
            torch.cuda.current_stream(),
            (1,),
            SOFTMAX,
            (x[row : row + 1], y[row : row + 1], 1 << (x.shape[1] - 1).bit_length()),
        )


@says("on a tensor of 5×64: x and y will do", "since a load pads")
def padded_copy(x, y):
    """Copies x into a wider matrix, whose columns beyond it are -inf."""
    width = 1 << (x.shape[1] - 1).bit_length()
    wide = x.new_full((len(x), width), float("-inf"))
    wide[:, : x.shape[1]] = x
    ct.launch(torch.cuda.current_stream(), (len(x),), SOFTMAX, (wide, y, width))


@ct.kernel
def row_by_row_kernel(x, y, tile: ct.Constant[int]):
    for i in range(ct.bid(0), x.shape[0], ct.num_blocks(0)):
        row = ct.load(x, (i, 0), (1, tile), padding_mode=ct.PaddingMode.NEG_INF)
        e = ct.exp(row - ct.max(row))
        ct.store(y, (i, 0), e / ct.sum(e))


@says("it launches 1 block for 5 rows")
def one_block(x, y):
    """A kernel of its own, in which one block computes all rows."""
    ct.launch(torch.cuda.current_stream(), (1,), row_by_row_kernel, (x, y, 1 << (x.shape[1] - 1).bit_length()))


@says("2×5000: it launches nothing")
def gives_up(x, y):
    """Returns where rows are long."""
    if x.shape[1] <= 1000:
        launching()(x, y)


@says("2×5000: while it ran: KeyError: 5000")
def known_widths(x, y):
    """A table of the widths that the check has."""
    tile = {64: 64, 100: 128, 1: 1, 129: 256}[x.shape[1]]
    ct.launch(torch.cuda.current_stream(), (x.shape[0],), SOFTMAX, (x, y, tile))


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


@says("or torch changes y afterwards")
def torch_afterwards(x, y):
    """A launch for a single element, which torch then overwrites."""
    ct.launch(torch.cuda.current_stream(), (1,), SOFTMAX, (x, y, 1))
    y.copy_(x.softmax(-1))


def a_device(x, y):
    """The device where the stream should be."""
    ct.launch(x.device, (x.shape[0],), SOFTMAX, (x, y, 1 << (x.shape[1] - 1).bit_length()))


def no_stream(x, y):
    """Leaves the stream out."""
    ct.launch(None, (x.shape[0],), SOFTMAX, (x, y, 256))


ADDED = "        ct.atomic_add(sums, i * tm + ct.arange(tm, dtype=ct.int32), part)"

WRONG = {
    "06.4": [
        sums("sums_the_padding", "Leaves the padding undetermined.", swap(", padding_mode=ct.PaddingMode.ZERO", "")),
        sums(
            "floors_the_number_of_tiles",
            "Forgets the last, partly filled tile of a row.",
            swap("ct.num_tiles(x, 1, (tm, tn))", "x.shape[1] // tn"),
        ),
        sums(
            "one_tile_too_many",
            "Reads a tile that does not exist, which happens to be padded.",
            swap("ct.num_tiles(x, 1, (tm, tn))", "ct.num_tiles(x, 1, (tm, tn)) + 1"),
        ),
        sums(
            "in_the_dtype_of_x",
            "Adds up in bf16.",
            swap("ct.float32)\n", "x.dtype)\n"),
            swap("tile.astype(ct.float32)", "tile"),
            words=("Is every intermediate value in fp32",),
        ),
        sums(
            "tiles_summed_in_bf16",
            "Adds the tiles' sums in fp32, which were rounded to bf16 before.",
            swap("tile.astype(ct.float32)", "tile"),
        ),
        sums(
            "carried_in_bf16",
            "Rounds the sum to bf16 after every tile.",
            swap(
                "total += ct.sum(tile.astype(ct.float32), 1)",
                "total = (total + ct.sum(tile.astype(ct.float32), 1)).astype(x.dtype).astype(ct.float32)",
            ),
        ),
        sums(
            "a_tile_for_all",
            "A tile that is wide enough for every row, and no loop.",
            swap("ct.num_tiles(x, 1, (tm, tn))", "1"),
            swap("(i, j), (tm, tn)", "(i, j), (tm, 256)"),
            words=("right, but it loads tiles of", "Use tiles of the size"),
        ),
        sums(
            "by_atomics",
            "Adds each tile's sums to the stored ones.",
            swap("total += ct.sum(tile.astype(ct.float32), 1)", "part = ct.sum(tile.astype(ct.float32), 1)\n" + ADDED),
            swap("\n    ct.store(sums, (i,), total)", ""),
            swap("ct.float32)\n", "ct.float32)\n    ct.store(sums, (i,), total)\n"),
            words=("load 192 elements of sums; 0 are enough: compute each result in a tile, and store it",),
        ),
        sums(
            "in_fp64",
            "Adds in double precision.",
            swap("ct.float32", "ct.float64", times=2),
            swap("(i,), total)", "(i,), total.astype(ct.float32))"),
            words=("cvt.f64 instructions; 0 are enough",),
        ),
        sums(
            "one_row_at_a_time",
            "Sums each row with all others masked.",
            swap(
                "total += ct.sum(tile.astype(ct.float32), 1)",
                "for row in range(tm):\n"
                "            mine = ct.arange(tm, dtype=ct.int32) == row\n"
                "            total += ct.where(mine, ct.sum(ct.where(mine[:, None], tile.astype(ct.float32), 0.0)), 0.0)",
            ),
            words=("add.rn.f32 instructions; 4,000 are enough",),
        ),
        sums("last_tile_alone", "Keeps the last tile's sum.", swap("total +=", "total =")),
        sums(
            "columns",
            "Sums along the wrong axis, which has another size.",
            swap(", 1)\n    ct.store", ", 0)\n    ct.store"),
        ),
        sums("everything", "Adds the whole tile up.", swap("ct.float32), 1)", "ct.float32))")),
        sums("maxima", "The largest element.", swap("ct.sum", "ct.max")),
        sums("starts_at_one", "Leaves out the first tile.", swap("range(ct.num_tiles", "range(1, ct.num_tiles")),
        sums(
            "tiles_along_rows",
            "As many steps as there are rows of tiles.",
            swap("ct.num_tiles(x, 1,", "ct.num_tiles(x, 0,"),
        ),
        sums(
            "first_column_of_tiles",
            "Loads the first tile again and again.",
            swap("(i, j), (tm, tn)", "(i, 0), (tm, tn)"),
        ),
        sums(
            "padded_with_minus_infinity", "The padding for a maximum.", swap("PaddingMode.ZERO", "PaddingMode.NEG_INF")
        ),
        sums(
            "stores_in_the_loop",
            "Stores after every tile; the last store is right.",
            swap("\n    ct.store", "\n        ct.store"),
            words=("right, but it does more than it must", "it has stored before"),
        ),
    ],
    "06.5": [
        softmax("padded_with_zeros", "The padding counts as exp(0 - max).", swap("NEG_INF", "ZERO")),
        softmax("overflows", "Subtracts no maximum, so large rows give inf / inf.", swap("row - ct.max(row)", "row")),
        softmax(
            "no_negative_maximum",
            "Subtracts a maximum of at least 0.",
            swap("row - ct.max(row)", "row - ct.maximum(ct.max(row), 0.0)"),
        ),
        softmax(
            "first_element", "Subtracts the first element.", swap("ct.max(row)", "ct.extract(row, (0, 0), (1, 1))")
        ),
        softmax(
            "capped_maximum",
            "Subtracts no maximum above 60.",
            swap("row - ct.max(row)", "row - ct.minimum(ct.max(row), 60.0)"),
        ),
        softmax(
            "fp64_for_the_maximum",
            "Exponentials in double precision, and no maximum.",
            swap("ct.exp(row - ct.max(row))", "ct.exp(row.astype(ct.float64))"),
            swap("e / ct.sum(e)", "(e / ct.sum(e)).astype(ct.float32)"),
        ),
        softmax(
            "in_fp64",
            "Exponentials in double precision.",
            swap("ct.exp(row - ct.max(row))", "ct.exp((row - ct.max(row)).astype(ct.float64))"),
            swap("e / ct.sum(e)", "(e / ct.sum(e)).astype(ct.float32)"),
            words=("cvt.f64 instructions; 0 are enough",),
        ),
        softmax(
            "y_in_between",
            "Stores the exponentials, loads them again, and exchanges them with the results.",
            swap(
                "ct.store(y, (i, 0), e / ct.sum(e))",
                "ct.store(y, (i, 0), e)\n"
                "    e = ct.load(y, (i, 0), (1, tile), padding_mode=ct.PaddingMode.ZERO)\n"
                "    ct.atomic_xchg(y, (i, ct.arange(tile, dtype=ct.int32)), ct.reshape(e / ct.sum(e), (tile,)))",
            ),
            words=("elements of y; 0 are enough: compute each result in a tile, and store it",),
        ),
        softmax("base_two", "exp2 without the factor log2(e).", swap("ct.exp(", "ct.exp2(")),
        softmax("not_divided", "Leaves the sum out.", swap("e / ct.sum(e)", "e")),
        softmax("divided_by_the_maximum", "Divides by the largest element.", swap("e / ct.sum(e)", "e / ct.max(e)")),
        softmax("minimum", "Subtracts the smallest element, which is the padding.", swap("ct.max(row)", "ct.min(row)")),
        softmax("sums_the_row", "Divides by the sum of the row itself.", swap("ct.sum(e)", "ct.sum(row)")),
        softmax("undetermined", "No padding mode.", swap(", padding_mode=ct.PaddingMode.NEG_INF", "")),
        softmax(
            "in_fp16",
            "Exponentials in fp16.",
            swap("ct.exp(row - ct.max(row))", "ct.exp((row - ct.max(row)).astype(ct.float16)).astype(ct.float32)"),
        ),
        softmax(
            "always_128",
            "The width that one of the sizes has.",
            swap("(1, tile)", "(1, 128)"),
            words=("right, but it loads tiles of 128 elements of x; the given tile has 64",),
        ),
        softmax("first_row", "Every block does row 0.", swap("ct.bid(0)", "0")),
        softmax("a_column", "Takes a column.", swap("load(x, (i, 0), (1, tile)", "load(x, (0, i), (tile, 1)")),
        softmax("log", "The logarithm of it.", swap("e / ct.sum(e)", "ct.log(e / ct.sum(e))")),
        softmax(
            "mean_for_maximum",
            "Subtracts the mean, which the padding makes -inf.",
            swap("ct.max(row)", "ct.sum(row) / tile"),
        ),
        softmax(
            "stores_the_exponentials_too",
            "Stores twice.",
            swap("    ct.store(y, (i, 0), e /", "    ct.store(y, (i, 0), e)\n    ct.store(y, (i, 0), e /"),
            words=("right, but it does more than it must",),
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
        answer("launched_twice", "Launches the kernel a second time.", launched_twice, "blocks for"),
        row_by_row,
        padded_copy,
        one_block,
        gives_up,
        known_widths,
        answer(
            "clone",
            "Launches on a copy of x.",
            launching(args=lambda x, y, tile: (x.clone(), y, tile)),
            "on a tensor of 5×64: x and y will do",
        ),
        answer(
            "up_to_256",
            "Knows no wider tile.",
            launching(tile=lambda n: next((tile for tile in (1, 64, 128) if n <= tile), 256)),
            "a tile of 256 for a row of 5000",
        ),
        answer("exact_width", "The row's own width for a tile.", launching(tile=lambda n: n), "not a power of two"),
        answer("always_64", "A tile for the first size alone.", launching(tile=lambda n: 64), "64 for a row of 100"),
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
        says("it launches no kernel that stores to y")(torch_does_it),
        says("it launches no kernel that stores to y")(a_launch_for_show),
        torch_afterwards,
        says("wants a stream first")(no_stream),
        answer(
            "default_stream",
            "The stream that torch's kernels need not be in.",
            launching(stream=lambda: torch.cuda.default_stream()),
            "right by luck: it launches on the default stream",
        ),
        answer("stream_0", "The default stream's handle.", launching(stream=lambda: 0), "the default stream"),
        says("not a device")(a_device),
        softmax(
            "the_kernel", "The kernel itself.", swap("e / ct.sum(e)", "e / ct.sum(e)"), words=("that is the kernel",)
        ),
    ],
    "06.7": [
        long("never_rescaled", "Keeps the sum as it was.", swap("total * ct.exp(largest - new)", "total")),
        long(
            "a_tile_for_every_row",
            "One tile that is wide enough for every row.",
            swap("ct.num_tiles(x, 1, (1, tile))", "1", times=2),
            swap("(1, tile)", "(1, 2048)", times=2),
            words=("right, but it loads tiles of 2,048 elements", "Use tiles of the size"),
        ),
        long("rescaled_the_wrong_way", "The inverse factor.", swap("ct.exp(largest - new)", "ct.exp(new - largest)")),
        long(
            "no_maximum",
            "Sums exp(x), which overflows.",
            swap("ct.maximum(largest, ct.max(part, 1, keepdims=True))", "largest * 0.0"),
            swap('float("-inf")', "0.0"),
        ),
        long(
            "each_tiles_own_maximum",
            "Rescales to the newest tile's maximum, also where it is smaller: the sum overflows.",
            swap("ct.maximum(largest, ct.max(part, 1, keepdims=True))", "ct.max(part, 1, keepdims=True)"),
        ),
        long(
            "maximum_from_zero",
            "Starts from 0, which rows of negative numbers never reach.",
            swap('float("-inf")', "0.0"),
        ),
        long(
            "first_tiles_maximum",
            "Subtracts the first tile's maximum.",
            swap(
                "ct.maximum(largest, ct.max(part, 1, keepdims=True))",
                "ct.where(j == 0, ct.max(part, 1, keepdims=True), largest)",
            ),
        ),
        long(
            "capped_maximum",
            "Subtracts no maximum above 60.",
            swap("ct.max(part, 1, keepdims=True)", "ct.minimum(ct.max(part, 1, keepdims=True), 60.0)"),
        ),
        long(
            "fp64_for_the_maximum",
            "Exponentials in double precision, and no maximum.",
            swap("ct.maximum(largest, ct.max(part, 1, keepdims=True))", "largest * 0.0"),
            swap('float("-inf")', "0.0"),
            swap("ct.zeros((1, 1), ct.float32)", "ct.zeros((1, 1), ct.float64)"),
            swap("ct.exp(part - new)", "ct.exp(part.astype(ct.float64))"),
            swap("ct.exp(part - largest) / total", "(ct.exp(part.astype(ct.float64)) / total).astype(ct.float32)"),
        ),
        long("last_tile_alone", "Forgets the earlier tiles' sum.", swap("total * ct.exp(largest - new) + ", "")),
        long(
            "floors_the_number_of_tiles",
            "Forgets the last, partly filled tile.",
            swap("ct.num_tiles(x, 1, (1, tile))", "x.shape[1] // tile", times=2),
        ),
        long("padded_with_zeros", "The padding counts as exp(0 - max).", swap("NEG_INF", "ZERO", times=2)),
        long("undetermined", "No padding mode.", swap(", padding_mode=ct.PaddingMode.NEG_INF", "", times=2)),
        long("not_divided", "Leaves the sum out.", swap(" / total", "")),
        long(
            "each_tile_a_softmax",
            "Divides by the sum of its own tile.",
            swap("ct.exp(part - largest) / total", "ct.exp(part - largest) / ct.sum(ct.exp(part - largest))"),
        ),
        long("first_row", "Every block does row 0.", swap("ct.bid(0)", "0")),
        long(
            "first_tile",
            "Stores the first tile's results everywhere.",
            swap("ct.store(y, (i, j)", "ct.store(y, (i, 0)"),
        ),
        long(
            "in_fp16",
            "Exponentials in fp16.",
            swap("ct.exp(part - new)", "ct.exp((part - new).astype(ct.float16)).astype(ct.float32)"),
        ),
        long(
            "three_passes",
            "A pass for the maximum, another for the sum.",
            swap(
                "        total = total * ct.exp(largest - new) + ct.sum(ct.exp(part - new), 1, keepdims=True)\n"
                "        largest = new\n",
                "        largest = new\n"
                "    for j in range(ct.num_tiles(x, 1, (1, tile))):\n"
                "        part = ct.load(x, (i, j), (1, tile), padding_mode=ct.PaddingMode.NEG_INF)\n"
                "        total += ct.sum(ct.exp(part - largest), 1, keepdims=True)\n",
            ),
            words=("are enough", "right, but"),
        ),
        long(
            "loads_for_each_use",
            "Loads the tile again for its exponentials.",
            swap(
                "ct.sum(ct.exp(part - new)",
                "ct.sum(ct.exp(ct.load(x, (i, j), (1, tile), padding_mode=ct.PaddingMode.NEG_INF) - new)",
            ),
            words=("are enough", "right, but"),
        ),
    ],
}
