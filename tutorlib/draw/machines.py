"""Pictures of the machine: a GPU's SMs, Hopper's units, Blackwell's tensor memory and pairs of blocks."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from matplotlib.axes import Axes
from matplotlib.patches import FancyArrowPatch, FancyBboxPatch, Rectangle

from tutorlib.draw.grid import DPI, WIDTH, CellGrid, Picture, figure
from tutorlib.draw.palette import CATEGORIES, EMPTY, INK, RAMP, category, mixed
from tutorlib.draw.timelines import PALE, over_time, tick_grid
from tutorlib.machine.features import hardware_of
from tutorlib.models.memory import A100, H100, KIB, SM, Mbarrier, fresh
from tutorlib.models.timelines import EPILOGUE_ROWS, MMA_ROW, TENSOR_CORES, Chart, block_chart

# A GPU ----------------------------------------------------------------------------------------------------------------

SMALL = 15  # pixels of an SM among the others
SMS: dict[str, SM] = {"80": A100, "90": H100}  # by compute capability


def show_machine(gpu: str = "NVIDIA H200") -> Picture:
    """Device memory, L2 and SMs of a GPU, with one SM opened; numbers from its datasheet and CUDA's tables.

    Raises LookupError for a GPU that the tables do not have.
    """
    hardware = hardware_of(gpu)
    if hardware is None or hardware.arch not in SMS:
        raise LookupError(f"no numbers are known for {gpu!r}")
    sm = SMS[hardware.arch]
    picture, axes = canvas(470)
    box(axes, (10, 40, 110, 290), f"device memory\n(HBM)\n\n{hardware.bandwidth / 1e12:.2g} TB/s", YELLOW, middle=True)
    box(axes, (195, 40, 90, 290), f"L2 cache\n\n{hardware.l2 // 2**20} MiB\nfor all", GREEN, middle=True)
    right = small_sms(axes, 350, 62, hardware.sms)
    arrow(axes, [(120, 185), (195, 185)], (157, 180), "sectors of\n32 bytes", both=True)
    arrow(axes, [(285, 185), (345, 185)], (315, 180), "sectors", both=True)

    box(axes, (590, 10, 390, 350), "one SM, opened", EMPTY)
    quarter = sm.registers * 4 // 4 // 1024
    for n in range(4):
        x = 604 + 92 * n
        box(axes, (x, 38, 86, 46), "scheduler:\none warp\na cycle", SKY, middle=True)
        box(axes, (x, 90, 86, 66), f"registers\n{quarter} KiB", BLUE, middle=True)
        box(axes, (x, 162, 86, 40), "arithmetic,\ntensor core", category(7), middle=True)
    says = f"L1 cache and shared memory, {sm.shared // 1024} KiB of it at most"
    box(axes, (604, 262, 362, 82), says, ORANGE)
    for bank in range(32):
        axes.add_patch(Rectangle((617 + 10.5 * bank, 292), 9, 30, facecolor=EMPTY, edgecolor=INK, linewidth=0.6))
    axes.text(785, 334, "32 banks, 4 bytes of each in a cycle", ha="center", va="center", size=7.5, color=INK)
    arrow(axes, [(785, 202), (785, 262)], (850, 240), "loads and stores", both=True)
    axes.plot([right, 590], [62, 10], color=INK, linewidth=0.7)
    axes.plot([right, 590], [62 + SMALL, 360], color=INK, linewidth=0.7)

    mapping = (
        (150, "grid", "all blocks of a launch:\nthe whole GPU"),
        (437, "block", f"stays on one SM, which holds up to\n{sm.blocks} blocks, {sm.threads:,} threads"),
        (690, "warp", "32 threads of a block; a scheduler\nissues their instructions together"),
        (890, "thread", "has registers of its own,\ninvisible to other threads"),
    )
    for x, name, says in mapping:
        axes.text(x, 380, name, ha="center", va="center", size=10, weight="bold", color=INK)
        axes.text(x, 410, says, ha="center", va="center", size=8, color=INK)
    axes.text(10, 20, gpu, ha="left", va="center", size=10, weight="bold", color=INK)
    return picture


def small_sms(axes: Axes, left: int, top: int, count: int) -> int:
    """`count` small squares. Returns the right edge of the one at the upper right, the one that is opened."""
    rows = 12
    columns = -(-count // rows)
    for n in range(count):
        column, row = n % columns, n // columns
        opened = n == columns - 1
        x, y = left + (SMALL + 1) * column, top + (SMALL + 3) * row
        color = category(2) if opened else category(7)
        axes.add_patch(Rectangle((x, y), SMALL - 1, SMALL, facecolor=color, edgecolor=INK, linewidth=0.6))
    axes.text(left + (SMALL + 1) * columns / 2, top - 12, f"{count} SMs", ha="center", va="center", size=9, color=INK)
    return left + (SMALL + 1) * columns - 2


# Hopper ---------------------------------------------------------------------------------------------------------------

BLUE, YELLOW, ORANGE, SKY, GREEN = (category(number) for number in (0, 1, 2, 3, 4))


def canvas(height: int) -> tuple[Picture, Axes]:
    """An empty picture, and axes over all of it that count its pixels from the top left."""
    picture = Picture(figsize=(WIDTH / DPI, height / DPI), dpi=DPI, facecolor="white")
    axes = picture.add_axes((0, 0, 1, 1))
    axes.set(xlim=(0, WIDTH), ylim=(height, 0))
    axes.set_axis_off()
    return picture, axes


def show_sm(stages: int = 4) -> Picture:
    """A block's SM while a GEMM's main loop runs: the numbers follow a K tile from step to step."""
    picture, axes = canvas(470)
    box(axes, (10, 85, 130, 375), "global memory", EMPTY)
    for number, (name, color) in enumerate((("A", BLUE), ("B", SKY), ("C", GREEN))):
        box(axes, (30, 115 + 115 * number, 90, 80), name, color, middle=True)
    box(axes, (200, 10, 782, 450), "one SM, one block of 256 threads", EMPTY)
    box(axes, (220, 130, 110, 190), "TMA unit\n\ncomputes\naddresses,\nmoves boxes,\ncounts bytes", ORANGE, middle=True)
    box(axes, (420, 85, 250, 250), "shared memory: a ring of stages", EMPTY)
    for stage in range(stages):
        y = 112 + 55 * stage
        box(axes, (432, y, 70, 46), "A", BLUE, middle=True)
        box(axes, (506, y, 92, 46), "B", SKY, middle=True)
        box(axes, (604, y, 54, 21), "full", YELLOW, middle=True)
        box(axes, (604, y + 25, 54, 21), "empty", YELLOW, middle=True)
    for group in range(2):
        says = f"warpgroup {group}\n4 warps\n64 × 256\naccumulators\nin registers"
        box(axes, (768 + 98 * group, 85, 94, 105), says, category(7), middle=True)
    box(axes, (768, 240, 192, 95), "tensor cores", category(5), middle=True)
    box(axes, (420, 385, 250, 55), "the tile of C, in boxes of 16 × 64\n(where the stages were)", GREEN, middle=True)

    first = "1  warp 0: arrive with expect-tx, issue the loads of a K tile"
    arrow(axes, [(815, 85), (815, 55), (275, 55), (275, 130)], (545, 51), first)
    arrow(axes, [(140, 225), (220, 225)], (170, 221), "2  boxes")
    arrow(axes, [(330, 225), (420, 225)], (375, 221), "3  tiles,\ncounted\non full")
    arrow(axes, [(670, 137), (768, 137)], (719, 133), "4  wait: full\n6  arrive:\nempty", both=True)
    arrow(axes, [(670, 290), (768, 290)], (719, 286), "5  operands,\nno registers")
    arrow(axes, [(864, 190), (864, 240)], (884, 222), "acc", both=True)
    arrow(axes, [(962, 130), (973, 130), (973, 412), (670, 412)], (820, 408), "7  stmatrix")
    arrow(axes, [(420, 412), (140, 412)], (310, 408), "8  TMA store")
    return picture


def box(axes: Axes, place: tuple[int, int, int, int], says: str, color: str, middle: bool = False) -> None:
    """A rounded box at (x, y, width, height) in pixels, its text at the top or in the middle."""
    x, y, width, height = place
    look: dict[str, Any] = {"boxstyle": "round,pad=0,rounding_size=5", "facecolor": color, "edgecolor": INK}
    axes.add_patch(FancyBboxPatch((x, y), width, height, linewidth=1.0, **look))
    words = x + width / 2, y + (height / 2 if middle else 6)
    axes.text(*words, says, ha="center", va="center" if middle else "top", size=8, color=INK, linespacing=1.2)


def arrow(axes: Axes, points: Sequence[tuple[int, int]], words: tuple[int, int], says: str, both: bool = False) -> None:
    """An arrow through these points; its text ends above (x, y) `words`."""
    for start, end in pairwise(points[:-1]):
        axes.plot(*zip(start, end, strict=True), color=INK, linewidth=1.3, solid_capstyle="projecting")
    style: dict[str, Any] = {"arrowstyle": "<|-|>" if both else "-|>", "mutation_scale": 10, "shrinkA": 0, "shrinkB": 0}
    axes.add_patch(FancyArrowPatch(points[-2], points[-1], color=INK, linewidth=1.3, **style))
    axes.text(*words, says, ha="center", va="bottom", size=8, color=INK, linespacing=1.15)


def show_wgmma(columns: int = 64) -> Picture:
    """A warpgroup's 64 × `columns` accumulators, by thread: in 8 × 8 blocks, and one of these."""
    pieces = columns // 8
    whole = CellGrid(
        f"64 × {columns} in 8 × 8 blocks: warp, registers",
        [[registers(row, n) for n in range(pieces)] for row in range(8)],
        [[category(row // 2)] * pieces for row in range(8)],
        [f"{8 * row}" for row in range(8)],
        [f"{8 * n}" for n in range(pieces)],
        {row: 2.0 for row in (2, 4, 6)},
    )
    block = CellGrid(
        "8 × 8 of them: lane, which of its two registers",
        [[f"T{4 * row + column // 2}\n{column % 2}" for column in range(8)] for row in range(8)],
        [[category(4 * row + column // 2) for column in range(8)] for row in range(8)],
        [str(row) for row in range(8)],
        [str(column) for column in range(8)],
    )
    return figure([whole, block])


def registers(row: int, column: int) -> str:
    """The warp and the two registers that hold the 8 × 8 block at this row and column of blocks."""
    first = 4 * column + 2 * (row % 2)
    return f"W{row // 2}\nR{first},{first + 1}"


def show_mbarrier(count: int, events: Sequence[tuple[str, int]]) -> Picture:
    """A column after initialization and after each event; bytes in KiB. Colored: a wait that returns.

    count: arrivals that a phase takes. events: ("arrive", bytes that it announces) or ("bytes", bytes written), in
    order. Raises ValueError for an event of another name, and for an arrival too many.
    """
    barrier, names = fresh(count), ["init"]
    columns = [state(barrier)]
    for name, size in events:
        if name not in ("arrive", "bytes"):
            raise ValueError(f'an event is ("arrive", bytes) or ("bytes", bytes), not {(name, size)!r}')
        barrier = barrier.arrive(size) if name == "arrive" else barrier.deliver(size)
        columns.append(state(barrier))
        names.append("arrive" if name == "arrive" else f"{size // KIB}K in")
    rows = ["arrivals pending", "KiB pending", "phase", "wait(0)", "wait(1)"]
    labels = [list(row) for row in zip(*columns, strict=True)]
    colors: list[list[str | None]] = [
        [RAMP[0] if number < 2 and label != "0" else CATEGORIES[6] if label == "go" else EMPTY for label in row]
        for number, row in enumerate(labels)
    ]
    flips = {n: 2.5 for n in range(1, len(columns)) if columns[n][2] != columns[n - 1][2]}
    title = "an mbarrier after each event; the thick vertical line ends a phase"
    return figure([CellGrid(title, labels, colors, rows, names, {3: 2.0}, flips)], largest=64)


def state(barrier: Mbarrier) -> list[str]:
    waits = ["go" if barrier.lets_pass(parity) else "wait" for parity in (0, 1)]
    return [str(barrier.missing), f"{barrier.pending / KIB:g}", str(barrier.phase), *waits]


# Blackwell ------------------------------------------------------------------------------------------------------------

RING = {"stages": 4, "parts": 4}
GRAY = category(7)
PINK = category(5)


def show_blackwell(stages: int = 4) -> Picture:
    """A block's SM: the numbers follow a K tile, and then a tile's accumulators, from step to step."""
    picture, axes = canvas(500)
    box(axes, (10, 85, 110, 400), "global memory", EMPTY)
    for number, (name, color) in enumerate((("A", BLUE), ("B", SKY), ("C", GREEN))):
        box(axes, (26, 115 + 125 * number, 78, 90), name, color, middle=True)
    box(axes, (180, 10, 802, 480), "one SM, one block of 192 threads", EMPTY)
    box(axes, (196, 130, 96, 170), "TMA unit", ORANGE, middle=True)
    box(axes, (370, 85, 240, 285), "shared memory: a ring of stages", EMPTY)
    for stage in range(stages):
        y = 114 + 56 * stage
        box(axes, (380, y, 66, 47), "A", BLUE, middle=True)
        box(axes, (450, y, 88, 47), "B", SKY, middle=True)
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


def show_handover(*accumulators: int, tiles: int = 3, k_tiles: int = 4) -> Picture:
    """The MMA warp, the tensor cores and an epilogue warp, for each number of accumulators."""
    timelines = [block_chart(tiles, k_tiles, accumulators=number, **RING) for number in accumulators]
    rows = (MMA_ROW, TENSOR_CORES, EPILOGUE_ROWS[0])

    def shades(tile: int) -> dict[str, str | None]:
        color = category(2 * tile)
        return {"landed": mixed(color, EMPTY, PALE), "": color, "waits": None}

    def grid(timeline: Chart, ticks: int) -> CellGrid:
        spans = [
            (span.row, span.begin, span.end, span.label, shades(span.tile)[span.does])
            for span in timeline.spans
            if span.row in rows
        ]
        cores = [span for span in timeline.spans if span.row == TENSOR_CORES]
        busy = timeline.multiplying / (cores[-1].end - cores[0].begin)
        title = f"{timeline.title}: {timeline.total} ticks; from their first K tile to their last the tensor cores are"
        return tick_grid(f"{title} {busy:.0%} busy", rows, ticks, spans, {})

    meanings = "the epilogue writes a part", "issued, multiplied, or read by the epilogue", "waits at an mbarrier"
    return over_time(timelines, grid, dict(zip(meanings, shades(0).values(), strict=True)))


def show_pair() -> Picture:
    """The rows of a 256 × 256 tile that each block of a pair loads, and the accumulators' places."""
    picture, axes = canvas(470)
    for block in range(2):
        x = 20 + 490 * block
        role = "the leader: its MMA warp multiplies for both" if block == 0 else "its MMA warp is idle"
        box(axes, (x, 20, 460, 430), f"block {block}, one SM: {role}", EMPTY)
        box(axes, (x + 20, 60, 420, 115), "shared memory, a stage", EMPTY)
        rows = f"rows {128 * block} to {128 * block + 127}\n16 KiB"
        a, b = (35, 240) if block == 0 else (240, 35)
        box(axes, (x + a, 88, 180, 72), f"A: {rows}", BLUE, middle=True)
        box(axes, (x + b, 88, 180, 72), f"B: {rows}", SKY, middle=True)
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
