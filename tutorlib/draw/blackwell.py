"""Pictures of a Blackwell SM at work, of its tensor memory, of a pair of blocks, and of numbers with shared scales."""

from collections.abc import Sequence
from math import copysign

from tutorlib.draw.grid import CellGrid, Picture, figure
from tutorlib.draw.hopper import BLUE, GREEN, ORANGE, PALE, YELLOW, arrow, box, canvas
from tutorlib.draw.palette import EMPTY, category, mixed
from tutorlib.draw.timeline import ARRIVING, every_fifth, with_legend
from tutorlib.models.block_formats import E2M1, E4M3, MX_BLOCK, NV_BLOCK, quantize_mx, quantize_nv
from tutorlib.models.block_timeline import EPILOGUE_ROWS, MMA_ROW, TENSOR_CORES, BlockTimeline, time_block
from tutorlib.models.tensor_memory import LANES, TMEM_COLUMNS
from tutorlib.problems.wrong import count

QUARTER = LANES // 4
COLUMNS_OF_CELL = 32
TALL, PAIR_TALL = 500, 470
RING = {"stages": 4, "parts": 4}
FADED = 0.62  # how much white is in the color of a tile that waits or is written
GRAY = category(7)
PINK = category(5)


def show_blackwell(stages: int = 4) -> Picture:
    """A block's SM: the numbers follow a K tile, and then a tile's accumulators, from step to step."""
    picture, axes = canvas(TALL)
    box(axes, (10, 85, 110, 400), "global memory", EMPTY)
    for number, (name, color) in enumerate((("A", BLUE), ("B", PALE), ("C", GREEN))):
        box(axes, (26, 115 + 125 * number, 78, 90), name, color, middle=True)
    box(axes, (180, 10, 802, 480), "one SM, one block of 192 threads", EMPTY)
    box(axes, (196, 130, 96, 170), "TMA unit", ORANGE, middle=True)
    box(axes, (370, 85, 240, 285), "shared memory: a ring of stages", EMPTY)
    for stage in range(stages):
        y = 114 + 56 * stage
        box(axes, (380, y, 66, 47), "A", BLUE, middle=True)
        box(axes, (450, y, 88, 47), "B", PALE, middle=True)
        box(axes, (544, y, 56, 22), "full", YELLOW, middle=True)
        box(axes, (544, y + 25, 56, 22), "empty", YELLOW, middle=True)
    box(axes, (720, 40, 110, 66), "warp 5\nTMA", GRAY, middle=True)
    box(axes, (850, 40, 110, 66), "warp 4\nMMA: one thread", GRAY, middle=True)
    box(axes, (720, 165, 240, 60), "tensor cores", PINK, middle=True)
    box(axes, (720, 285, 240, 64), "tensor memory", EMPTY)
    for at in range(2):
        box(axes, (730 + 114 * at, 307, 106, 34), f"accumulator {at}", category(4 + 2 * at), middle=True)
        box(axes, (380 + 112 * at, 340, 54, 22), f"ready {at}", YELLOW, middle=True)
        box(axes, (438 + 112 * at, 340, 50, 22), f"free {at}", YELLOW, middle=True)
    box(axes, (720, 410, 240, 66), "warps 0 to 3: the epilogue\n32 lanes each, into registers", GRAY, middle=True)
    box(axes, (370, 410, 240, 66), "boxes of C, 32 × 64\nfor each warp", GREEN, middle=True)

    arrow(axes, [(720, 62), (244, 62), (244, 130)], (480, 58), "1  wait: empty; expect-tx on full; issue the loads")
    arrow(axes, [(120, 215), (196, 215)], (150, 211), "2  boxes")
    arrow(axes, [(292, 215), (370, 215)], (331, 211), "3  tiles")
    arrow(axes, [(905, 106), (905, 165)], (812, 158), "4  wait: full, and for a\ntile's first one: free;\nmultiply")
    arrow(axes, [(610, 195), (720, 195)], (665, 191), "5  operands")
    arrow(axes, [(720, 215), (610, 215)], (667, 248), "6  commit:\nempty")
    arrow(axes, [(840, 225), (840, 285)], (896, 268), "7  results, then\ncommit: ready")
    arrow(axes, [(840, 349), (840, 410)], (892, 393), "8  tcgen05.ld,\nthen free")
    arrow(axes, [(720, 443), (610, 443)], (665, 439), "9  bf16")
    arrow(axes, [(370, 443), (120, 443)], (245, 439), "10  TMA store")
    return picture


def show_tensor_memory(columns: int = 256, accumulators: int = 2) -> Picture:
    """A block's 128 lanes × 512 columns of 32 bits: the place of each accumulator, and the warp that may read it.

    A cell is 32 lanes × 32 columns. Raises ValueError if the accumulators do not fit.
    """
    if columns * accumulators > TMEM_COLUMNS:
        raise ValueError(f"{accumulators} accumulators of {columns} columns: tensor memory has {TMEM_COLUMNS}")
    cells = range(TMEM_COLUMNS // COLUMNS_OF_CELL)
    owner = [
        cell * COLUMNS_OF_CELL // columns if cell * COLUMNS_OF_CELL < columns * accumulators else -1 for cell in cells
    ]
    breaks = {at: 2.0 for at in cells if at and owner[at] != owner[at - 1]}
    grid = CellGrid(
        f"128 lanes × {TMEM_COLUMNS} columns: a number is the accumulator, a row of cells one warp's lanes",
        [[f"{at}" if at >= 0 else "" for at in owner] for _ in range(4)],
        [[category(4 + 2 * at) if at >= 0 else EMPTY for at in owner] for _ in range(4)],
        [f"warp {warp}: {QUARTER * warp} to {QUARTER * warp + QUARTER - 1}" for warp in range(4)],
        [str(cell * COLUMNS_OF_CELL) for cell in cells],
        {1: 1.0, 2: 1.0, 3: 1.0},
        breaks,
    )
    return figure([grid])


def show_block(tiles: int = 2, k_tiles: int = 5) -> Picture:
    """All six warps of a block, its stages and tensor cores, time from left to right, with two accumulators.

    A color is a tile of C, a number a K tile or, in the epilogue, a part of 64 columns.
    """
    return show_timelines([time_block(tiles, k_tiles, accumulators=2, **RING)])


def show_handover(*accumulators: int, tiles: int = 3, k_tiles: int = 4) -> Picture:
    """The MMA warp, the tensor cores and an epilogue warp, for each number of accumulators."""
    timelines = [time_block(tiles, k_tiles, accumulators=number, **RING) for number in accumulators]
    return show_timelines(timelines, (MMA_ROW, TENSOR_CORES, EPILOGUE_ROWS[0]))


def show_timelines(timelines: Sequence[BlockTimeline], rows: Sequence[str] = ()) -> Picture:
    """Below each other. rows: only these."""
    ticks = max(timeline.total for timeline in timelines)
    tile = tile_color(0)
    shades = {
        "in flight": ARRIVING,
        "landed; in the epilogue: written": mixed(tile, EMPTY, FADED),
        "issued, multiplied, read": tile,
        "waits at an mbarrier": None,
    }
    return with_legend(figure([block_grid(timeline, rows, ticks) for timeline in timelines], stacked=True), shades)


def block_grid(timeline: BlockTimeline, rows: Sequence[str], ticks: int) -> CellGrid:
    rows = rows or timeline.rows
    labels = [[""] * ticks for _ in rows]
    colors: list[list[str | None]] = [[EMPTY] * ticks for _ in rows]
    for span in timeline.spans:
        if span.row not in rows:
            continue
        row, tile = rows.index(span.row), tile_color(span.tile)
        shade = {"works": tile, "landed": mixed(tile, EMPTY, FADED), "in flight": ARRIVING, "waits": None}[span.does]
        for tick in range(span.begin, span.end):
            colors[row][tick], labels[row][tick] = shade, "" if shade is None else str(span.part)
    title = (
        f"{count(timeline.accumulators, 'accumulator')}: {timeline.total} ticks; from their first K tile to their last "
        f"the tensor cores are {timeline.busy:.0%} busy"
    )
    return CellGrid(title, labels, colors, rows, every_fifth(ticks))


def tile_color(tile: int) -> str:
    return category(2 * tile)


def show_pair() -> Picture:
    """The rows of a 256 × 256 tile that each block of a pair loads, and the accumulators' places."""
    picture, axes = canvas(PAIR_TALL)
    for block in range(2):
        x = 20 + 490 * block
        role = "the leader: its MMA warp multiplies for both" if block == 0 else "its MMA warp is idle"
        box(axes, (x, 20, 460, 430), f"block {block}, one SM: {role}", EMPTY)
        box(axes, (x + 20, 60, 420, 115), "shared memory, a stage", EMPTY)
        rows = f"rows {128 * block} to {128 * block + 127}\n16 KiB"
        a, b = (35, 240) if block == 0 else (240, 35)
        box(axes, (x + a, 88, 180, 72), f"A: {rows}", BLUE, middle=True)
        box(axes, (x + b, 88, 180, 72), f"B: {rows}", PALE, middle=True)
        box(axes, (x + 150, 240, 160, 60), "tensor cores", PINK, middle=True)
        box(axes, (x + 20, 350, 420, 85), "tensor memory", EMPTY)
        says = f"C: rows {128 * block} to {128 * block + 127}, all 256 columns"
        box(axes, (x + 35, 378, 390, 44), says, category(4), middle=True)
        left, right = ("own A", "own half of B") if block == 0 else ("own half of B", "own A")
        arrow(axes, [(x + 175, 160), (x + 175, 240)], (x + 120, 205), left)
        arrow(axes, [(x + 285, 160), (x + 285, 240)], (x + 340, 205), right)
        arrow(axes, [(x + 230, 300), (x + 230, 350)], (x + 282, 332), "own rows")
    arrow(axes, [(440, 140), (472, 140), (472, 262), (660, 262)], (585, 257), "the other half of B")
    arrow(axes, [(545, 140), (496, 140), (496, 285), (330, 285)], (415, 304), "the other half of B")
    return picture


def show_scaled(numbers: Sequence[float], tensor_scale: float) -> Picture:
    """The first numbers of a block of 32, the elements of mxfp8 and nvfp4 with their codes, and their values."""
    exponent, mx = quantize_mx(numbers[:MX_BLOCK])
    scale, nv = quantize_nv(numbers[:NV_BLOCK], tensor_scale)
    shown = range(NV_BLOCK)
    rows = (
        ("x", [f"{numbers[at]:.2f}" for at in shown], EMPTY),
        ("e4m3", [f"{mx[at]:g}\n{code_of(mx[at], E4M3, 0x80):#04x}" for at in shown], BLUE),
        ("mxfp8", [f"{mx[at] * 2.0**exponent:.2f}" for at in shown], PALE),
        ("e2m1", [f"{nv[at]:g}\n{code_of(nv[at], E2M1, 0x8):#x}" for at in shown], YELLOW),
        ("nvfp4", [f"{nv[at] * scale * tensor_scale:.2f}" for at in shown], ORANGE),
    )
    grid = CellGrid(
        f"mxfp8: times 2^{exponent} for 32 of them · nvfp4: times {scale:g} for 16, times {tensor_scale:g} for all",
        [row for _, row, _ in rows],
        [[color] * NV_BLOCK for _, _, color in rows],
        [name for name, _, _ in rows],
        [str(at) for at in shown],
        {1: 2.0, 3: 2.0},
    )
    return figure([grid])


def code_of(element: float, magnitudes: Sequence[float], sign: int) -> int:
    """Its bits: the magnitudes are listed in the order of their codes."""
    return magnitudes.index(abs(element)) | (sign if copysign(1, element) < 0 else 0)
