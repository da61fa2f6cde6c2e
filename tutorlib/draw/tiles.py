"""Pictures of a matrix in tiles: the order of blocks, the walk along K, arrays in tiles, warps, reductions."""

import math
from collections.abc import Mapping, Sequence
from itertools import count, product
from typing import Any, Literal

from matplotlib.axes import Axes
from matplotlib.patches import Rectangle
from tensor_layouts import mode, size

from tutorlib.draw.grid import DPI, WIDTH, CellGrid, Picture, figure
from tutorlib.draw.palette import EMPTY, FAINT, INK, MARK, category, channels
from tutorlib.draw.timelines import color_of
from tutorlib.layouts.notation import layout
from tutorlib.models.hopper_gemm import Pair, multicast
from tutorlib.models.l2 import Order, TileGrid, coverage, waves

# Blocks ---------------------------------------------------------------------------------------------------------------

WIDEST = 72  # cells in a row of the figure; with more, the grids are stacked
READ = "#8FD3C1"  # a row of A's tiles or a column of B's that the wave reads


def show_block_order(grid: TileGrid, orders: Mapping[str, Order], in_flight: int, wave: int = 0) -> Picture:
    """The tiles of C under their titles, each with the number of its block, colored by wave of `in_flight` blocks.

    On the left and on top, green: the rows of A's tiles and the columns of B's that this wave reads. Hatched is a
    tile that no block computes; a tile that several compute has all of their numbers and a red outline.
    """
    grids = [order_grid(grid, order, in_flight, title, wave) for title, order in orders.items()]
    return figure(grids, stacked=sum(grid.columns for grid in grids) > WIDEST)


def order_grid(grid: TileGrid, order: Order, in_flight: int, title: str, wave: int = 0) -> CellGrid:
    """One order as a grid of (1 + rows) × (1 + columns): B on top, A on the left, C below and right of them."""
    rows, columns = grid
    takers = coverage(grid, order)
    running = waves(grid, order, in_flight)[wave]
    read_a, read_b = {m for m, _ in running}, {n for _, n in running}
    labels = [["", *("B" if n in read_b else "" for n in range(columns))]]
    colors: list[list[str | None]] = [[EMPTY, *(READ if n in read_b else EMPTY for n in range(columns))]]
    for m in range(rows):
        mine = [takers[m, n] for n in range(columns)]
        labels.append(["A" if m in read_a else "", *("\n".join(map(str, blocks)) for blocks in mine)])
        colors.append(
            [READ if m in read_a else EMPTY, *(category(blocks[0] // in_flight) if blocks else None for blocks in mine)]
        )
    twice = frozenset((m + 1, n + 1) for (m, n), blocks in takers.items() if len(blocks) > 1)
    reads = f"reads {len(read_a)} rows of A and {len(read_b)} columns of B"
    return CellGrid(
        f"{title}: wave {wave}, {len(running)} blocks,\n{reads}",
        labels,
        colors,
        ("", *map(str, range(rows))),
        ("", *map(str, range(columns))),
        {1: 2.0},
        {1: 2.0},
        twice,
    )


# The walk along K -----------------------------------------------------------------------------------------------------

STEP = 0.62  # a step along K beside a tile of C, whose side is 1
GAP = 0.45  # between the matrices
OUTSIDE: dict[str, Any] = {"facecolor": EMPTY, "edgecolor": "#C3CAD1", "hatch": "//////", "linewidth": 0.4}


def show_k_loop(
    rows: int = 3, columns: int = 5, steps: int = 6, tile: tuple[int, int] = (1, 3), parts: int = 0
) -> Picture:
    """A left of C and Bᵀ above it, so that tile (m, n) of C is where row m of A and column n of Bᵀ meet.

    A color is a step along K: the two tiles of a color are loaded together and multiplied. Half of the last step lies
    past K and is hatched.
    parts: the number of blocks that share the tile, with equal runs of steps; a color is then a block. 0: one block.
    """
    m, n = tile
    depth = steps * STEP
    width, height = depth + GAP + columns, depth + GAP + rows
    scale = min(62, (WIDTH - 120) / width)
    margin = 46
    picture = Picture(
        figsize=((width * scale + 2 * margin) / DPI, (height * scale + 2 * margin) / DPI), dpi=DPI, facecolor="white"
    )
    axes = picture.add_axes((0, 0, 1, 1))
    axes.set_axis_off()
    axes.set_xlim(-margin / scale, width + margin / scale)
    axes.set_ylim(height + margin / scale, -margin / scale)
    left, top = depth + GAP, depth + GAP  # of C
    cut_matrix(axes, 0, top, [STEP] * (steps - 1) + [STEP / 2], [1] * rows)
    cut_matrix(axes, left, 0, [1] * columns, [STEP] * (steps - 1) + [STEP / 2])
    cut_matrix(axes, left, top, [1] * columns, [1] * rows)
    run = -(-steps // parts) if parts else 1
    for k in range(steps):
        inside = STEP / 2 if k == steps - 1 else STEP
        for x, y, wide, high in ((k * STEP, top + m, inside, 1), (left + n, k * STEP, 1, inside)):
            axes.add_patch(Rectangle((x, y), wide, high, facecolor=color_of(k // run), edgecolor="white"))
            axes.text(x + wide / 2, y + high / 2, str(k), ha="center", va="center", size=9, color=INK)
    over = (steps - 0.5) * STEP
    axes.add_patch(Rectangle((over, top + m), STEP / 2, 1, **OUTSIDE))
    axes.add_patch(Rectangle((left + n, over), 1, STEP / 2, **OUTSIDE))
    axes.add_patch(Rectangle((left + n, top + m), 1, 1, fill=False, edgecolor=MARK, linewidth=2.6, zorder=5))
    axes.text(left + n + 0.5, top + m + 0.5, f"C({m}, {n})", ha="center", va="center", size=9, color=INK)
    note: dict[str, Any] = {"size": 10, "color": INK}
    axes.text(0, top - 0.12, "A  (M, K)", va="bottom", **note)
    axes.text(left, -0.12, "Bᵀ  (K, N)", va="bottom", **note)
    axes.text(left, top - 0.12, "C  (M, N)", va="bottom", **note)
    axes.text(depth / 2, top + rows + 0.12, "K →", ha="center", va="top", size=9, color=FAINT)
    axes.text(left + columns + 0.1, depth / 2, "K ↓", ha="left", va="center", size=9, color=FAINT)
    return picture


def cut_matrix(axes: Axes, left: float, top: float, widths: list[float], heights: list[float]) -> None:
    """A matrix cut into tiles of these widths and heights."""
    thin: dict[str, Any] = {"fill": False, "edgecolor": "#C3CAD1", "linewidth": 0.8}
    y = top
    for high in heights:
        x = left
        for wide in widths:
            axes.add_patch(Rectangle((x, y), wide, high, **thin))
            x += wide
        y += high
    axes.add_patch(Rectangle((left, top), sum(widths), sum(heights), fill=False, edgecolor=INK, linewidth=1.4))


# Arrays in tiles ------------------------------------------------------------------------------------------------------

Size = tuple[int, int]


def tiles_of(array: Size, tile: Size) -> Size:
    """The number of tiles along each mode that cover an array."""
    return -(-array[0] // tile[0]), -(-array[1] // tile[1])


def array_grid(array: Size, tile: Size, outlined: frozenset[tuple[int, int]] = frozenset()) -> CellGrid:
    rows, columns = (n * size for n, size in zip(tiles_of(array, tile), tile, strict=True))
    cells = [[(row, column) for column in range(columns)] for row in range(rows)]

    def exists(row: int, column: int) -> bool:
        return row < array[0] and column < array[1]

    return CellGrid(
        f"an array of {array[0]}×{array[1]} elements\nin tiles of {tile[0]}×{tile[1]}",
        [["" for _ in row] for row in cells],
        [[color(array, tile, cell) if exists(*cell) else None for cell in row] for row in cells],
        down=[str(row) if row % tile[0] == 0 else "" for row in range(rows)],
        across=[str(column) if column % tile[1] == 0 else "" for column in range(columns)],
        row_breaks={row: 2.0 for row in range(tile[0], rows, tile[0])},
        column_breaks={column: 2.0 for column in range(tile[1], columns, tile[1])},
        outlined=outlined,
    )


def space_grid(array: Size, tile: Size, outlined: frozenset[tuple[int, int]] = frozenset()) -> CellGrid:
    down, across = tiles_of(array, tile)
    return CellGrid(
        f"its tile space\n{down}×{across} tiles",
        [[f"{i},{j}" for j in range(across)] for i in range(down)],
        [[color(array, tile, (i * tile[0], j * tile[1])) for j in range(across)] for i in range(down)],
        down=[str(i) for i in range(down)],
        across=[str(j) for j in range(across)],
        outlined=outlined,
    )


def color(array: Size, tile: Size, element: tuple[int, int]) -> str:
    """The color of the tile that holds the element. Neighbors differ, also diagonal ones, and any sixteen in a row."""
    _, across = tiles_of(array, tile)
    i, j = element[0] // tile[0], element[1] // tile[1]
    row = next(n for n in count(across) if 2 <= n % 8 <= 6)  # from one row of tiles to the next, of eight hues
    number = i * row + j
    faded = "".join(f"{(part + 255) // 2:02X}" for part in channels(category(number)))  # the ninth is not the first
    return category(number) if number // 8 % 2 == 0 else f"#{faded}"


# Warps ----------------------------------------------------------------------------------------------------------------

WARP, PIECE = 32, 8  # threads; rows and columns of a piece, two of which make an mma.m16n8k16

Digit = Literal["value", "lane", "warp", "atom"]


def show_warps(source: Any, covers: tuple[int, int], tile: tuple[int, int]) -> Picture:
    """Pieces of 8×8 with the warp that holds them: the extent of a TiledMma once, beside a whole tile.

    source: a layout (thread, value) → column-major index in `covers`. The left grid also names a thread's values.
    """
    holds = layout(source)
    owner = {
        holds(thread, value): (thread // WARP, value)
        for thread in range(size(mode(holds, 0)))
        for value in range(size(mode(holds, 1)))
    }

    def piece(row: int, column: int) -> tuple[int, list[int]]:
        """The warp that holds the piece at this row and column, and its values in a thread."""
        inside = [
            owner[row % covers[0] + down + covers[0] * (column % covers[1] + across)]
            for down, across in product(range(PIECE), repeat=2)
        ]
        return inside[0][0], sorted({value for _, value in inside})

    def grid(title: str, shape: tuple[int, int], values: bool) -> CellGrid:
        down, across = (range(0, extent, PIECE) for extent in shape)
        found = [[piece(row, column) for column in across] for row in down]
        return CellGrid(
            title,
            [[f"warp {warp}\nV{held[0]}-{held[-1]}" if values else f"{warp}" for warp, held in row] for row in found],
            [[category(warp) for warp, _ in row] for row in found],
            [str(row) for row in down],
            [str(column) for column in across],
            {} if values else {row: 2.0 for row in range(covers[0] // PIECE, len(down), covers[0] // PIECE)},
            {} if values else {column: 2.0 for column in range(covers[1] // PIECE, len(across), covers[1] // PIECE)},
        )

    once = grid(f"once: {covers[0]}×{covers[1]}", covers, True)
    return figure([once, grid(f"{tile[0]}×{tile[1]} of C, pieces of 8×8", tile, False)], stacked=False)


def show_columns(*orders: tuple[Digit, ...], warps: tuple[int, int] = (2, 2)) -> Picture:
    """A row of C, two columns to a cell, with the lane (T0 to T3) and the atom (a0 to a3) that hold them.

    orders: modes of the row, fastest first: ("value", "lane", "warp", "atom") as the MMA counts columns.
    warps: down and across, numbered down first.
    """
    extents = {"value": 2, "lane": 4, "warp": warps[1], "atom": 4}

    def grid(order: tuple[Digit, ...]) -> CellGrid:
        cells = []
        for column in range(0, 2 * 4 * warps[1] * 4, 2):
            digit, rest = {}, column
            for name in order:
                rest, digit[name] = divmod(rest, extents[name])
            cells.append(digit)
        return CellGrid(
            "columns by " + ", ".join(order) + ": a cell is two columns of one row",
            [[f"T{cell['lane'] + WARP * warps[0] * cell['warp']}\na{cell['atom']}" for cell in cells]],
            [[category(cell["lane"] + 4 * cell["warp"]) for cell in cells]],
            across=[str(2 * n) for n in range(len(cells))],
            column_breaks={n: 2.0 for n in range(8, len(cells), 8)},
        )

    return figure([grid(order) for order in orders], stacked=True)


def show_gate(*widths: int, columns: int = 32) -> Picture:
    """A row of a Hopper tile where B has `width` rows of gate, then of up, in turn: thread, and column of gate or up.

    The columns that T0 holds are outlined.
    """

    def grid(width: int) -> CellGrid:
        pieces = [divmod(column, width) for column in range(columns)]
        says = [f"T{column % 8 // 2}\n{'gu'[n % 2]}{n // 2 * width + at}" for column, (n, at) in enumerate(pieces)]
        mine = frozenset((0, column) for column in range(columns) if column % 8 < 2)
        title = f"{width} rows of gate, then {width} of up"
        return CellGrid(title, [says], [[category(n % 2) for n, _ in pieces]], outlined=mine)

    return figure([grid(width) for width in widths], stacked=True)


def show_gate_registers() -> Picture:
    """T0's accumulators in notebook 10's kernel, where B has 32 rows of gate, then of up: their registers' numbers."""
    columns = [*range(8), *range(32, 40)]
    steps = [divmod(column, 32) for column in columns]
    says = [
        [f"{'gu'[step]}{at}\n{at % 2 + 2 * low + 4 * (at // 2) + 16 * step}" for step, at in steps] for low in range(2)
    ]
    colors = [[category(step) for step, _ in steps]] * 2
    rows, names = ["row 0", "row 8"], [f"column {column}" if column in (0, 32) else str(column) for column in columns]
    return figure([CellGrid("T0: column of gate or up, and register", says, colors, rows, names, {}, {8: 2.0})])


def show_shards(world: int = 2) -> Picture:
    """An MLP's matrices from x to y, cut over ranks: a cell names the rank that holds it; Σ: the sum over ranks."""

    def grid(title: str, rows: int, columns: int, split: int) -> CellGrid:
        ranks = [[(row, column)[split] * world // 8 for column in range(columns)] for row in range(rows)]
        says = [[str(rank) for rank in row] for row in ranks]
        return CellGrid(title, says, [[category(rank) for rank in row] for row in ranks])

    x, y = (CellGrid(f"{name}\n(tokens, hidden)", [[at] * 4] * 2, [[EMPTY] * 4] * 2) for name, at in ("x ", "yΣ"))
    gate, h = grid("gate, up\n(features, hidden)", 8, 4, 0), grid("silu(gate(x)) · up(x)\n(tokens, features)", 2, 8, 1)
    return figure([x, gate, h, grid("down\n(hidden, features)", 4, 8, 1), y], stacked=False)


# A reduction ----------------------------------------------------------------------------------------------------------


def show_reduction(places: int = 8) -> Picture:
    """A row for each step, with a barrier after each; a cell is an element with the values that it combines.

    places: elements, a power of two. The color is the thread that wrote the element in this step; white: unchanged.
    """
    held = [[n] for n in range(places)]
    labels = [[str(n) for n in range(places)]]
    colors: list[list[str | None]] = [[category(n) for n in range(places)]]
    names = ["each thread writes its element"]
    half = places // 2
    while half:
        held = [held[n] + held[n + half] if n < half else held[n] for n in range(places)]
        labels.append([combined(held[n], places) if n < half else "" for n in range(places)])
        colors.append([category(n) if n < half else EMPTY for n in range(places)])
        names.append(f"threads below {half} read element + {half}")
        half //= 2
    title = "shared memory, step by step; thick lines are barriers"
    barriers = dict.fromkeys(range(1, len(labels)), 2.5)
    return figure([CellGrid(title, labels, colors, names, [str(n) for n in range(places)], barriers)])


def combined(values: list[int], places: int) -> str:
    """The values that an element combines, two in a line."""
    if len(values) == places:
        return "all"
    named = [str(n) for n in sorted(values)]
    return "\n".join(" ".join(named[n : n + 2]) for n in range(0, len(named), 2))


# Clusters -------------------------------------------------------------------------------------------------------------

ROWS = 32  # of a tile in a cell


def show_multicast(cluster: Pair, tile: Pair) -> Picture:
    """A row for each block's stage: the rank of the block that loads each slice of its tile of A, and of B."""
    return figure([slices_grid(cluster, mode, rows) for mode, rows in enumerate(tile)])


def slices_grid(cluster: Pair, mode: int, rows: int) -> CellGrid:
    blocks, cells = range(cluster[0] * cluster[1]), range(rows // ROWS)
    loaders = [[-1] * len(cells) for _ in blocks]
    for loader in blocks:
        first, count, mask = multicast(loader, cluster, rows, mode)
        for block, cell in product(blocks, range(first // ROWS, (first + count) // ROWS)):
            loaders[block][cell] = loader if mask >> block & 1 else loaders[block][cell]
    return CellGrid(
        f"{'AB'[mode]}'s tile, {rows} rows",
        [[str(loader) for loader in row] for row in loaders],
        [[category(loader) for loader in row] for row in loaders],
        [f"block {rank} ({rank % cluster[0]}, {rank // cluster[0]})" for rank in blocks],
        [str(ROWS * cell) for cell in cells],
        {block: 2.0 for block in blocks[1:]},
    )


# A softmax ------------------------------------------------------------------------------------------------------------


def show_rescaling(row: Sequence[float], tile: int) -> Picture:
    """An online softmax of a row, a panel for each tile that has come: bars of exp(x - m), m the largest x so far."""
    ends = range(tile, len(row) + tile, tile)
    picture = Picture(figsize=(WIDTH / DPI, 2.9), dpi=DPI, facecolor="white")
    panels = picture.subplots(1, len(ends), sharey=True)
    for number, (axes, end) in enumerate(zip(panels, ends, strict=True)):
        largest, before = max(row[:end]), max(row[: end - tile], default=0)
        bars = [math.exp(x - largest) for x in row[:end]]
        axes.bar(range(len(bars)), bars, color=[category(n // tile) for n in range(len(bars))], edgecolor="white")
        axes.set(xlim=(-0.7, len(row) - 0.3), ylim=(0, 1.12), xticks=range(len(row)), yticks=(0, 1))
        axes.tick_params(labelsize=8, colors=FAINT)
        for side in ("top", "right"):
            axes.spines[side].set_visible(False)
        shrunk = f"earlier bars × exp({before:g} - {largest:g}) = {math.exp(before - largest):.2f}" if number else ""
        title = f"after tile {number}: m = {largest:g}, sum {sum(bars):.2f}"
        axes.set_title(f"{title}\n{shrunk}", size=9, color=INK)
    picture.tight_layout()
    return picture
