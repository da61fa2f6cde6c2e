"""Exercises of notebook 07: the ladder of cuTile GEMMs.

Kernels are interpreted on small matrices whose sizes are partly no multiples of the tile; a GPU times them beside
cuBLAS too.
"""

import math
from collections.abc import Callable, Sequence
from functools import cache
from typing import TYPE_CHECKING

from tutorlib.checking.cutile import CutileExercise
from tutorlib.checking.exercise import Answer, Remedy
from tutorlib.checking.host import HostExercise
from tutorlib.checking.interpreting import WrongResult
from tutorlib.checking.leaning import InModule
from tutorlib.checking.values import Case, Mistake, ValueExercise, attempt, equals, law, plain, same, show_call
from tutorlib.compiling.spec import DType
from tutorlib.kernels.cutile.gemm import ACCUMULATORS, SMEM, STAGES, Config, compiled
from tutorlib.machine import device
from tutorlib.machine.features import FP8_MMA
from tutorlib.models.l2 import grouped
from tutorlib.problems.catalogue import gemm, gemm_fp8, gemm_tf32
from tutorlib.problems.problem import Shape, torch_dtype
from tutorlib.problems.split_k import parts_of_gemm
from tutorlib.problems.wrong import Wrong

if TYPE_CHECKING:
    from torch import Tensor

    from tutorlib.simulate.cutile.launching import Launched

WHOLE = ((64, 64, 64), (128, 96, 48))  # multiples of the tile
SMALL = (*WHOLE, (136, 72, 40), (65, 97, 49))  # the last: one more than multiples of the tile
BENCH = (4096, 4096, 4096)
BENCH_FP8 = (320, 32576, 7168)


def tiles(shape: Shape, tm: int, tn: int) -> tuple[int, int]:
    return -(-shape[0] // tm), -(-shape[1] // tn)


def blocks_at_once(shape: Shape, most: int) -> tuple[int]:
    """The grid of a persistent kernel: one block for each SM; for small matrices so few that one of them has more to do
    than the others."""
    gpu = device.gpu()
    return (min(most, gpu.sms) if gpu and shape in (BENCH, BENCH_FP8) else max(1, min(most - 1, 3)),)


# 07.1 and 07.4: the tile of C that a block computes -------------------------------------------------------------------


def plain_tile(shape: Shape) -> tuple[int, int, int]:
    """tm, tn and tk: different sizes, so that one in another's place shows."""
    return (128, 128, 64) if shape == BENCH else (64, 32, STEP)


def group_of(shape: Shape) -> int:
    """Rows of tiles in a strip."""
    return 8 if shape == BENCH else 2


def persistent_blocks(shape: Shape) -> tuple[int]:
    return blocks_at_once(shape, math.prod(tiles(shape, *plain_tile(shape)[:2])))


STEP = 16  # along K
COURSE_GEMMS = {
    name: InModule(f"tutorlib.kernels.cutile.{module}", name)
    for module, names in {
        "gemm": ("plain", "persistent"),
        "fp8": ("tiled", "slabs", "straight_slabs"),
        "split_k": ("partial_products", "add_parts", "added_at_once", "in_two_passes", "by_atomics"),
    }.items()
    for name in names
}
TILE_OF_PRODUCT = {"tile_of_product": InModule("tutorlib.kernels.cutile.gemm", "tile_of_product")}


def cut_short(shape: Shape) -> tuple[WrongResult, ...]:
    """Mistakes of the walk along K."""
    depth = shape[-1]

    def whole_steps(a: "Tensor", b: "Tensor") -> "Tensor | None":
        return a[:, : depth // STEP * STEP] @ b[:, : depth // STEP * STEP].mT if depth % STEP else None

    def last_step(a: "Tensor", b: "Tensor") -> "Tensor | None":
        first = (depth - 1) // STEP * STEP
        return a[:, first:] @ b[:, first:].mT

    def first_step(a: "Tensor", b: "Tensor") -> "Tensor | None":
        return a[:, :STEP] @ b[:, :STEP].mT

    def but_the_first(a: "Tensor", b: "Tensor") -> "Tensor | None":
        return a[:, STEP:] @ b[:, STEP:].mT

    return (
        WrongResult("The last step along K is missing, the one that is only partly filled.", whole_steps),
        WrongResult("That is the last step's product alone: ct.mma adds to the sum that it is given.", last_step),
        WrongResult("That is the first step's product alone.", first_step),
        WrongResult("The first step along K is missing.", but_the_first),
    )


def through(shape: Shape) -> tuple[WrongResult, ...]:
    """Factors in another dtype than tf32; and the mistakes of the walk."""

    def rounded_to(name: DType) -> "Callable[[Tensor, Tensor], Tensor]":
        return lambda a, b: a.to(torch_dtype(name)).double() @ b.to(torch_dtype(name)).double().mT

    return (
        WrongResult("That is what factors in bf16 give; tf32 keeps three bits more.", rounded_to("bf16")),
        WrongResult("Factors in fp16 give that: it has tf32's bits but a range of 65,504 at most.", rounded_to("fp16")),
        *cut_short(shape),
    )


# 07.2 grouped -----------------------------------------------------------------------------------------------------

GRIDS = [(8, 6, 4), (16, 3, 8), (4, 4, 1)]  # rows, columns, group: the group divides the rows
RAGGED_GRIDS = [(10, 6, 4), (7, 5, 3), (3, 9, 8), (1, 1, 8)]


def strip_after_strip(name: str, grids: list[tuple[int, int, int]]) -> Case:
    """A case that is right when consecutive blocks take the tiles of a strip column by column, every tile once.

    In which order the tiles of one column of a strip come is left to the answer.
    """

    def judge(answer: Answer) -> Wrong | None:
        for rows, columns, group in grids:
            order: list[tuple[int, int]] = []
            for block in range(rows * columns):
                args = (block, rows, columns, group)
                got, wrong = attempt(answer, args)
                if wrong is not None:
                    return wrong
                got = plain(got)
                if broken := misplaced(got, order, *args):
                    return Wrong(f"{show_call(answer, args)} gives {got!r}: {broken}.", likely(answer, *args[1:]))
                order.append(got)
        return None

    return Case(name, judge)


def misplaced(got: object, before: list[tuple[int, int]], block: int, rows: int, columns: int, group: int) -> str:
    """What is wrong with the tile of a block, whose predecessors took those `before`; "" where it is right."""
    if not (isinstance(got, tuple) and len(got) == 2 and all(type(n) is int for n in got)):
        return "it should give a tuple of two integers, the row and the column of a tile"
    m, n = got
    if not (0 <= m < rows and 0 <= n < columns):
        return f"C has {rows}×{columns} tiles"
    if got in before:
        return f"block {before.index(got)} has that tile already"
    first, column = block // (group * columns) * group, grouped(block, rows, columns, group)[1]
    last = min(first + group, rows) - 1
    if not first <= m <= last:
        return f"block {block} belongs to the strip of rows {first} to {last}"
    return "" if n == column else f"block {block} belongs to column {column} of its strip"


def row_by_row(block: int, rows: int, columns: int, group: int) -> tuple[int, int]:
    return block // columns, block % columns


def column_by_column(block: int, rows: int, columns: int, group: int) -> tuple[int, int]:
    return block % rows, block // rows


def strips_of_columns(block: int, rows: int, columns: int, group: int) -> tuple[int, int]:
    return grouped(block, columns, rows, group)[::-1]


def along_the_strip(block: int, rows: int, columns: int, group: int) -> tuple[int, int]:
    strip, place = divmod(block, group * columns)
    return strip * group + place // columns, place % columns


def always_full(block: int, rows: int, columns: int, group: int) -> tuple[int, int]:
    strip, place = divmod(block, group * columns)
    return strip * group + place % group, place // group


ORDERS = (
    Mistake("That is row after row. Go down each column of a strip first.", row_by_row),
    Mistake("That is column after column over the whole height, without strips.", column_by_column),
    Mistake("Your strips stand upright. They should have `group` rows and run through all columns.", strips_of_columns),
    Mistake("Inside a strip go down each column first, then on to the next.", along_the_strip),
    Mistake("The last strip may have fewer than `group` rows: count those that are left.", always_full),
)


def likely(answer: Answer, rows: int, columns: int, group: int) -> str:
    """The mistake that gives the same order as the answer does for all blocks, or ""."""
    for mistake in ORDERS:
        try:
            if all(
                answer(n, rows, columns, group) == mistake.answer(n, rows, columns, group)
                for n in range(rows * columns)
            ):
                return mistake.says
        except Exception:  # a wrong answer may fail on a later block
            continue
    return ""


def in_strips(shape: Shape, writers: "Tensor") -> str | None:
    """A tile of 07.4 that another block computed than the order of 07.2 says, as a sentence, or None.

    In which order the tiles of one column of a strip come is left to the answer.
    """
    tm, tn, _ = plain_tile(shape)
    (rows, columns), blocks = tiles(shape, tm, tn), persistent_blocks(shape)[0]
    by_tile = writers[::tm, ::tn].tolist()
    due: dict[tuple[int, int], list[int]] = {}
    for tile in range(rows * columns):
        m, n = grouped(tile, rows, columns, group_of(shape))
        due.setdefault((m // group_of(shape), n), []).append(tile % blocks)
    for (strip, n), wanted in due.items():
        heights = range(strip * group_of(shape), min(rows, (strip + 1) * group_of(shape)))
        got = [by_tile[m][n] for m in heights]
        if sorted(got) != sorted(wanted):
            return (
                f"C has {rows}×{columns} tiles, and in strips of {group_of(shape)} rows the tiles "
                f"{', '.join(str((m, n)) for m in heights)} are for block {' and '.join(map(str, wanted))}; "
                f"yours gives them to block {' and '.join(map(str, got))}"
            )
    return None


# 07.3 hints -------------------------------------------------------------------------------------------------------

DEPTH = 32  # along K; the compiler is fastest here


@cache
def stack_bytes(tm: int, tn: int, num_ctas: int, num_worker_warps: int | None) -> int:
    return compiled(Config(tm, tn, DEPTH, num_ctas=num_ctas, num_worker_warps=num_worker_warps)).stack_bytes


def no_spill(got: object, tm: int, tn: int) -> str | None:
    if not isinstance(got, dict):
        return 'it should give a dict, such as {"num_ctas": 2}'
    if unknown := sorted(set(got) - {"num_ctas", "num_worker_warps"}):
        return f"the hints to choose are num_ctas and num_worker_warps, not {unknown[0]}"
    num_ctas, warps = plain(got.get("num_ctas", 1)), plain(got.get("num_worker_warps"))
    if not any(same(num_ctas, n) for n in (1, 2)) or not any(same(warps, n) for n in (None, 4, 8)):
        return "num_ctas is 1 or 2 here, and num_worker_warps 4 or 8"
    if stack := stack_bytes(tm, tn, num_ctas, warps):
        return f"compiled for sm_90 with tk = {DEPTH}, each thread keeps {stack:,} bytes on its stack"
    threads = num_ctas * (warps or 4) * 32
    if tm * tn <= 128 * ACCUMULATORS and threads > 128:
        return f"{tm}×{tn} needs no hint, and with them each thread has little to do"
    return None


# 07.5 fits --------------------------------------------------------------------------------------------------------


def fits(tm: int, tn: int, tk: int, element_bytes: int, num_ctas: int, warps: int, occupancy: int) -> bool:
    return Config(tm, tn, tk, num_ctas=num_ctas, num_worker_warps=warps, occupancy=occupancy).fits(element_bytes)


def without(part: str) -> Callable[..., bool]:
    """`fits` that leaves one thing out of account."""

    def wrong(tm: int, tn: int, tk: int, element_bytes: int, num_ctas: int, warps: int, occupancy: int) -> bool:
        shared = (tm + tn) * tk * (1 if part == "bytes" else element_bytes) * (1 if part == "stages" else STAGES)
        shared *= 1 if part == "occupancy" else occupancy
        registers = math.ceil(tm * tn / (num_ctas * warps * 32)) * (1 if part == "occupancy" else occupancy)
        return (part == "shared" or shared <= SMEM * (1 if part == "ctas" else num_ctas)) and (
            part == "registers" or registers <= ACCUMULATORS
        )

    return wrong


FITS_MISTAKES = (
    Mistake("Shared memory is counted in bytes: multiply by the size of an element.", without("bytes")),
    Mistake("Each CTA of a pair has shared memory of its own and holds its part of the tiles.", without("ctas")),
    Mistake("Blocks on the same SM share its registers and its shared memory.", without("occupancy")),
    Mistake("One stage is in use while the next one is on its way: two of them need room.", without("stages")),
    Mistake("Do the tiles of A and B fit into shared memory?", without("shared")),
    Mistake("Do the accumulators fit into the registers?", without("registers")),
)

# tm, tn, tk, element_bytes, num_ctas, warps, occupancy; the first of a list tell the mistakes apart
REGISTERS = [(64, 64, 32, 2, 1, 4, 1), (128, 128, 64, 2, 1, 4, 1), (128, 256, 32, 2, 1, 4, 1)]
REGISTERS += [(128, 256, 32, 2, 1, 8, 1), (256, 256, 32, 2, 2, 4, 1), (256, 256, 32, 2, 2, 8, 1)]
SHARED = [(128, 128, 1024, 2, 1, 4, 1), (128, 128, 512, 1, 1, 4, 1), (64, 64, 256, 4, 1, 4, 1)]
SHARED += [(128, 128, 128, 2, 1, 4, 1), (128, 256, 128, 2, 1, 8, 1), (128, 128, 256, 1, 1, 4, 1)]
SHARED += [(64, 256, 128, 4, 1, 8, 1), (256, 64, 128, 4, 1, 8, 1)]  # one side for the other shows
PAIRS = [(256, 256, 128, 2, 2, 8, 1), (128, 256, 128, 2, 2, 8, 1), (128, 128, 256, 2, 2, 4, 1)]
PAIRS += [(256, 256, 128, 4, 2, 8, 1)]
SHARING = [(128, 128, 64, 2, 1, 4, 2), (64, 128, 64, 2, 1, 4, 2), (64, 64, 128, 4, 1, 4, 2), (64, 128, 128, 2, 1, 4, 2)]
SHARING += [(64, 64, 64, 2, 1, 4, 4), (64, 64, 64, 4, 1, 4, 4), (64, 128, 32, 2, 1, 4, 3)]


# 07.9 split_gemm ------------------------------------------------------------------------------------------------


def as_many_as_needed(shape: Shape, launched: "Sequence[Launched]") -> str | None:
    """Whether K is cut where C has too few tiles, and only there."""
    from tutorlib.simulate.cutile.launching import SMS

    m, n, k = shape
    blocks = math.prod(launched[0].grid)
    if math.prod(tiles(shape, 128, 128)) < SMS and blocks < SMS and k >= 128 * SMS:
        return (
            f"the GPU has {SMS} multiprocessors (torch.cuda.get_device_properties says so), "
            f"and the launch has {blocks} blocks"
        )
    shared = [arg.shape for one in launched for arg in one.args if getattr(arg, "ndim", 0) == 3]
    if m * n >= 128 * 128 * SMS and any(parts[0] > 1 for parts in shared):
        return f"C has tiles for all {SMS} multiprocessors already: {shared[0][0]} parts are extra work there"
    if any(parts[0] > tiles((k, 1), 64, 1)[0] for parts in shared):
        return f"{shared[0][0]} parts share {tiles((k, 1), 64, 1)[0]} steps of 64: some have nothing to do"
    return None


# 07.7 fp8 ---------------------------------------------------------------------------------------------------------


def skinny_tile(shape: Shape) -> tuple[int, int]:
    """tn and tk."""
    return (128, 128) if shape == BENCH_FP8 else (32, 16)


# The ladder -------------------------------------------------------------------------------------------------------

EXERCISES = (
    CutileExercise(
        id="07.1",
        title="gemm",
        points=4,
        problem=gemm("bf16"),
        library=COURSE_GEMMS | TILE_OF_PRODUCT,
        shapes=SMALL,
        whole=WHOLE,
        simulated_shapes=SMALL[2:3],
        once=True,
        mistakes=cut_short,
        bench_shape=BENCH,
        grid=lambda shape: tiles(shape, *plain_tile(shape)[:2]),
        constants=plain_tile,
        hints=(
            "Tile (m, n) of C needs row m of A's tiles and row n of B's: which index walks?",
            "How many steps? K is a.shape[1], and the last step may reach beyond it: ct.cdiv, and a padding mode.",
            "ct.mma(x, y, total) wants (tm, tk) and (tk, tn); B's tile comes as (tn, tk), so ct.transpose it.",
            "total is fp32; ct.store wants c's dtype: total.astype(c.dtype).",
        ),
    ),
    ValueExercise(
        id="07.2",
        title="grouped",
        points=3,
        cases=(
            strip_after_strip("whole strips", GRIDS),
            strip_after_strip("a lower last strip", RAGGED_GRIDS),
        ),
        library={"l2.grouped": grouped},
        hints=(
            "A strip of `group` rows has group * columns tiles: so which strip is it, and which place in the strip?",
            "Its first row is strip * group. How many rows has it? group, or what is left of `rows`.",
            "Down first: place % height is the row inside the strip, place // height the column.",
        ),
    ),
    ValueExercise(
        id="07.3",
        title="hints",
        points=3,
        cases=tuple(
            law(f"a tile of {tm}×{tn}", [(tm, tn)], no_spill) for tm, tn in ((128, 128), (128, 256), (256, 256))
        ),
        hints=(
            "How many accumulators has a thread? tm * tn of them, over num_ctas * 32 * num_worker_warps threads.",
            "128 accumulators for each thread are fine. 128×256 needs twice the threads, 256×256 four times.",
            "Double num_worker_warps from 4 to 8, or num_ctas from 1 to 2, or both.",
        ),
    ),
    CutileExercise(
        id="07.4",
        title="persistent gemm",
        points=5,
        problem=gemm("bf16"),
        shapes=SMALL,
        whole=WHOLE,
        simulated_shapes=SMALL[2:3],
        bench_shape=BENCH,
        tiers=(0.7, 0.9),
        once=True,
        mistakes=cut_short,
        placed=in_strips,
        grid=persistent_blocks,
        constants=lambda shape: (*plain_tile(shape), group_of(shape)),
        library=COURSE_GEMMS,
        hints=(
            "Block ct.bid(0) takes tiles ct.bid(0), ct.bid(0) + ct.num_blocks(0), and so on.",
            "for tile in range(ct.bid(0), rows * columns, ct.num_blocks(0)): a range may have a step.",
            "Inside: m, n = grouped(tile, rows, columns, group), then tile_of_product and ct.store.",
        ),
    ),
    ValueExercise(
        id="07.5",
        title="fits",
        points=3,
        cases=(
            equals("registers", REGISTERS, fits, FITS_MISTAKES),
            equals("shared memory", SHARED, fits, FITS_MISTAKES),
            equals("two CTAs", PAIRS, fits, FITS_MISTAKES),
            equals("blocks that share an SM", SHARING, fits, FITS_MISTAKES),
        ),
        library={"Config.fits": Config.fits},
        hints=(
            "Accumulators: tm * tn over num_ctas * warps * 32 threads, at most 128 for each.",
            "A stage is a tile of A and one of B: (tm + tn) * tk elements, shared among the CTAs.",
            "occupancy blocks, each with 2 stages, have 227 * 1024 bytes together.",
        ),
    ),
    CutileExercise(
        id="07.6",
        title="gemm through tf32",
        points=3,
        problem=gemm_tf32(),
        shapes=SMALL,
        whole=WHOLE,
        once=True,
        mistakes=through,
        simulated_shapes=SMALL[2:3],
        bench_shape=BENCH,
        tiers=(0.7,),
        requires=("mma.sync",),
        inspected=SMALL[2],
        grid=persistent_blocks,
        constants=lambda shape: (128, 128, 32, 8) if shape == BENCH else (*plain_tile(shape), 2),
        library=COURSE_GEMMS,
        hints=(
            "dtypes can be compared while the kernel is compiled: a.dtype == ct.float32.",
            "dtype = ct.tfloat32 if a.dtype == ct.float32 else a.dtype, before the loop.",
            "Both operands of ct.mma: ct.load(…).astype(dtype).",
        ),
    ),
    CutileExercise(
        id="07.7",
        title="fp8, 320 rows",
        points=6,
        needs=FP8_MMA,
        problem=gemm_fp8(),
        once=True,
        mistakes=cut_short,
        shapes=((320, 96, 64), (320, 68, 72), (257, 40, 56)),
        bench_shape=BENCH_FP8,
        tiers=(0.7, 0.9),
        requires=("wgmma",),
        arch="90",
        grid=lambda shape: blocks_at_once(shape, -(-shape[1] // skinny_tile(shape)[0])),
        constants=skinny_tile,
        library=COURSE_GEMMS,
        hints=(
            "Two accumulators, (tn, 256) and (tn, 64), one loop: B's tile is loaded once and used twice.",
            "A's rows 256 to 319 are tile 4 of the tiles of 64 rows: ct.load(a, (4, k), (64, tk)).",
            "B's tile is the first operand: ct.mma(slab, ct.transpose(rows), total); total is a tile of Cᵀ.",
            "Without use_fast_acc=True the compiler keeps a second set of accumulators, and there is no room for them.",
            "Slow? Start the sums from `zero`, not from ct.zeros, and store with allow_tma=False.",
        ),
    ),
    CutileExercise(
        id="07.8",
        title="partial_products",
        points=4,
        problem=parts_of_gemm(STEP),
        shapes=((2, 64, 64, 64), (3, 136, 72, 40), (4, 70, 104, 168), (5, 64, 40, 48)),
        simulated_shapes=((3, 136, 72, 40),),
        once=True,
        grid=lambda shape: (*tiles(shape[1:3], 64, 32), shape[0]),
        constants=lambda shape: (64, 32, STEP),
        library=COURSE_GEMMS,
        hints=(
            "parts.shape[0] blocks share a tile of C; ct.bid(2) says which of them this one is.",
            "There are ct.cdiv(a.shape[1], tk) steps, and a part has ct.cdiv(steps, parts.shape[0]) of them.",
            "range(part * run, min(steps, part * run + run)): the last part may have fewer, or none.",
            "A tile of parts has three sizes: ct.reshape(total, (1, tm, tn)) goes to (part, m, n).",
        ),
        remedies=(Remedy("lies outside", "The last part may have fewer steps than the others: where does it stop?"),),
    ),
    HostExercise(
        id="07.9",
        title="split_gemm",
        points=4,
        problem=gemm("bf16"),
        shapes=((128, 128, 512), (100, 72, 700), (384, 256, 128), (120, 90, 40)),
        bench_shape=(512, 512, 16384),
        unlike=as_many_as_needed,
        mistakes=cut_short,
        library=COURSE_GEMMS,
        hints=(
            "How many tiles has C, and how many multiprocessors the GPU? Their ratio is the number of parts.",
            "At least one part, and no more than there are steps: max(1, min(sms // tiles, steps)).",
            "parts = torch.empty(splits, *c.shape, device=a.device): fp32 is torch's default.",
            "Two launches on the same stream: the second begins when the first has ended.",
        ),
        remedies=(
            Remedy("never wrote it", "Does the second kernel's grid cover C?"),
            Remedy("grid", "ct.launch(stream, grid, kernel, arguments): a grid is a tuple of Python integers."),
        ),
    ),
)
