"""Explorers of layouts: one layout, its algebra, swizzles, tiled copies, arrays in tiles."""

from typing import Any, NamedTuple

import ipywidgets
from tensor_layouts import Layout, cosize, size

from tutorlib.draw.banks import bank_grid
from tutorlib.draw.grid import CellGrid
from tutorlib.draw.layouts import compose_grids, divide_grids, layout_grid
from tutorlib.draw.palette import category
from tutorlib.draw.tiles import Size, array_grid, space_grid, tiles_of
from tutorlib.explorers.explorer import Click, Explorer, Scene, layout_box, pointed, slider, small, text_box
from tutorlib.layouts.matrix import Cell, LayoutView, coordinate, layout_view
from tutorlib.layouts.notation import NotationError, text, tiler
from tutorlib.layouts.views import (
    ACCESSES,
    ComposeView,
    DivideView,
    SwizzleView,
    TiledCopyView,
    compose_view,
    divide_view,
    swizzle_view,
    tiled_copy_view,
)
from tutorlib.machine.features import WAVEFRONT
from tutorlib.models.memory import WARP


def explore_layout(source: Any = "(4,3):(3,1)") -> Explorer:
    """Type a layout, click a cell: its coordinate, its index, and the sum that gives its offset."""
    return Explorer([layout_box("layout", source)], lambda typed, _: layout_view(small(typed)), layout_scene)


def explore_compose(a: Any = "(6,2):(8,2)", b: Any = "(4,3):(3,1)") -> Explorer:
    """b, a and a∘b; click a cell of the result: b gives the index into a, a gives the offset."""
    boxes = [layout_box("a", a), layout_box("b", b)]
    return Explorer(boxes, lambda a, b, _: compose_view(small(a), small(b)), compose_scene)


def explore_divide(source: Any = "(16,8):(8,1)", cut: Any = "(4,4)") -> Explorer:
    """A layout and its zipped divide; click a cell on either side to find it on the other."""
    boxes = [layout_box("layout", source), text_box("tiler", cut if isinstance(cut, str) else text(tiler(cut)))]
    return Explorer(boxes, lambda source, cut, _: divide_view(small(source), cut), divide_scene)


def explore_swizzle(source: Any = "(8,64):(64,1)", swizzle: tuple[int, int, int] = (3, 3, 3)) -> Explorer:
    """The bank of every cell before and after a swizzle, and the wavefronts of an access; click its first cell."""
    sliders = [slider(name, value, high) for name, value, high in zip("BMS", swizzle, (5, 5, 7), strict=True)]
    width = ipywidgets.Dropdown(options={"1: fp8": 1, "2: bf16": 2, "4: fp32": 4}, value=2, description="bytes")
    access = ipywidgets.Dropdown(options=list(ACCESSES), value=list(ACCESSES)[-1], description="access")

    def compute(typed: str, b: int, m: int, s: int, element_bytes: int, name: str, click: Click | None) -> SwizzleView:
        return swizzle_view((b, m, s), small(typed), element_bytes, name, click[1] if click else (0, 0))

    return Explorer([layout_box("layout", source), *sliders, width, access], compute, swizzle_scene)


def layout_scene(view: LayoutView, click: Click | None) -> Scene:
    grid = layout_grid(view.layout)
    if not click:
        return [grid], f"size {size(view.layout)}, cosize {cosize(view.layout)}. Click a cell."
    place = view.at(click[1])
    where = f"coordinate {text(place.coordinate)}, index {place.index} of {size(view.layout)}"
    return [pointed(grid, {click[1]})], f"{where}\noffset {place.sum}"


def compose_scene(view: ComposeView, click: Click | None) -> Scene:
    b, a, composed = compose_grids(view)
    if not click:
        return (
            b,
            a,
            composed,
        ), "Click a cell of a∘b to see its origin, or one of a to see the cells of b that select it."
    which, cell = click
    if which == 1:
        takers = view.takers(cell)
        count = f"{len(takers)} cells" if len(takers) != 1 else "one cell"
        caption = f"a{coordinate_text(view.a, cell)} is selected by {count} of b."
        return (pointed(b, takers), pointed(a, {cell}), pointed(composed, takers)), caption
    row, column = cell
    source, index = view.source(cell), view.picked[row][column]
    at = coordinate_text(view.b, cell)
    grids = pointed(b, {cell}), pointed(a, {source} if source else set()), pointed(composed, {cell})
    if source is None:
        return grids, f"b{at} = {index} is no index of a, which has {size(view.a)} elements."
    where = coordinate_text(view.a, source)
    return grids, f"b{at} = {index}, which is a{where}\n(a∘b){at} = a({index}) = {view.offsets[row][column]}"


def divide_scene(view: DivideView, click: Click | None) -> Scene:
    if not click:
        first = {cell for row in view.sources if (cell := row[0])}
        return divide_grids(view, first), "Tile 0 is outlined. Click a cell on either side to find it on the other."
    which, cell = click
    source = view.sources[cell[0]][cell[1]] if which == 1 else cell
    if source is None:
        whole, divided = divide_grids(view, set())
        return (
            whole,
            pointed(divided, {cell}),
        ), "This element of the tile is outside the matrix: a kernel predicates it off."
    places = (cell,) if which == 1 else view.places(cell)
    if not places:
        return divide_grids(view, {source}), "No tile reaches this element."
    inside, tile = places[0]
    caption = f"{coordinate_text(view.layout, source)} is element {inside} of tile {tile}"
    return divide_grids(view, {source}), f"{caption}\noffset {view.offsets[inside][tile]} on both sides"


def swizzle_scene(view: SwizzleView, click: Click | None) -> Scene:
    read = frozenset((row, column + n) for row, column in view.access.cells for n in range(view.access.vector))
    grids = [
        bank_grid(shown, f"{name}: banks of {text(shown)}\n{cost_line(view, cost)}", view.element_bytes, read)
        for name, shown, cost in (("before", view.layout, view.plain_cost), ("after", view.swizzled, view.cost))
    ]
    row, column = click[1] if click else (0, 0)
    before, after = view.plain[row][column], view.offsets[row][column]
    bits = max(map(max, view.plain)).bit_length()
    moved = f"offset {before} → {after}, in bits {before:0{bits}b} → {after:0{bits}b}; bank {view.banks[row][column]}"
    return grids, f"({row},{column}): {moved}\nClick a cell to move the access there."


def cost_line(view: SwizzleView, cost: int | None) -> str:
    """The cost of the access: "8 threads × 16 bytes: 8 wavefronts, 1 would do"."""
    threads, each = len(view.access.cells), view.access.vector * view.element_bytes
    access = f"{threads} threads × {each} bytes"
    if cost is None:
        return f"{access}: impossible, the {each} bytes are not contiguous"
    best = -(-threads * each // WAVEFRONT)
    return (
        f"{access}: {cost} wavefront{'s' if cost != 1 else ''}, {'the least' if cost == best else f'{best} would do'}"
    )


def coordinate_text(shown: Layout, cell: Cell) -> str:
    """A cell's coordinate in parentheses, "(2,1)", also where the layout has one mode."""
    at = coordinate(shown.shape, cell)
    return text(at) if isinstance(at, tuple) else f"({at})"


# Tiled copies ---------------------------------------------------------------------------------------------------------


def explore_tv(threads: Any = "(2,4):(4,1)", values: Any = "(1,4):(4,1)", tile: Any = "(8,16)") -> Explorer:
    """The threads and values of a TiledCopy over a tile; click an element to see all elements of its thread."""
    boxes = [layout_box("threads", threads), layout_box("values", values), text_box("tile", tile_text(tile))]

    def compute(threads: str, values: str, tile: str, _: Click | None) -> TiledCopyView:
        cut = tiler(tile)
        if not isinstance(cut, tuple):
            raise NotationError(f"The tile {tile.strip()} is no matrix; write it as (8,16).")
        small(tile)
        return tiled_copy_view(small(threads), small(values), cut)

    return Explorer(boxes, compute, tiled_scene)


def tile_text(tile: Any) -> str:
    return tile if isinstance(tile, str) else text(tile)


def tiled_scene(view: TiledCopyView, click: Click | None) -> Scene:
    if not click:
        return [tiled_grid(view)], f"One step of all threads covers {text(view.step)} elements. Click one."
    thread, value = view.holder(click[1])
    mine = view.cells(thread)
    caption = (
        f"{text(click[1])} is value {value} of thread {thread}, in warp {thread // WARP}; it holds {len(mine)} values"
    )
    return [tiled_grid(view, mine)], caption


def tiled_grid(view: TiledCopyView, outlined: frozenset[tuple[int, int]] = frozenset()) -> CellGrid:
    """The tile, each cell with its thread and value, "T3 V1", colored by thread; thick lines between steps."""
    rows, columns = view.tile
    held = [[view.holder((row, column)) for column in range(columns)] for row in range(rows)]
    return CellGrid(
        f"threads {text(view.threads)}, values {text(view.values)}: (thread, value) → {text(view.layout)}",
        [[f"T{thread}\nV{value}" for thread, value in row] for row in held],
        [[category(thread) for thread, _ in row] for row in held],
        tuple(map(str, range(rows))),
        tuple(map(str, range(columns))),
        {row: 2.0 for row in range(view.step[0], rows, view.step[0])},
        {column: 2.0 for column in range(view.step[1], columns, view.step[1])},
        outlined,
    )


# Arrays in tiles ------------------------------------------------------------------------------------------------------

LARGEST = 40  # rows and columns that a browser shows without scrolling
POWERS = (1, 2, 4, 8, 16)


class Cut(NamedTuple):
    """An array cut into tiles."""

    array: Size
    tile: Size


def explore_tile_space(array: Size = (10, 20), tile: Size = (4, 8)) -> Explorer:
    """An array of any size in tiles of powers of two; click an element to see its tile, a tile to see its elements."""
    boxes = [
        *(size_slider(name, n) for name, n in zip(("rows", "columns"), array, strict=True)),
        *(power_menu(name, n) for name, n in zip(("tile rows", "tile columns"), tile, strict=True)),
    ]

    def compute(rows: int, columns: int, tm: int, tn: int, _: Click | None) -> Cut:
        return Cut((rows, columns), (tm, tn))

    return Explorer(boxes, compute, scene)


def size_slider(name: str, value: int) -> ipywidgets.IntSlider:
    return ipywidgets.IntSlider(value, 1, LARGEST, description=name)


def power_menu(name: str, value: int) -> ipywidgets.Dropdown:
    return ipywidgets.Dropdown(options=POWERS, value=value, description=name)


def scene(cut: Cut, click: Click | None) -> Scene:
    (tm, tn), (grid, (row, column)) = cut.tile, click or (0, (-1, -1))
    i, j = (row, column) if grid else (row // tm, column // tn)
    down, across = tiles_of(*cut)
    if not (0 <= i < down and 0 <= j < across):  # no click, or one on a tile that no longer exists
        return [array_grid(*cut), space_grid(*cut)], "Click an element of the array, or a tile."
    inside = frozenset((i * tm + r, j * tn + c) for r in range(tm) for c in range(tn))
    shown = [array_grid(*cut, inside), space_grid(*cut, frozenset({(i, j)}))]
    held = sum(r < cut.array[0] and c < cut.array[1] for r, c in inside)
    caption = f"ct.load(x, ({i}, {j}), ({tm}, {tn})): {held} of its {tm * tn} elements exist"
    if grid == 0:
        place = f"element ({row}, {column}) is ({row % tm}, {column % tn}) of tile ({i}, {j})"
        if row >= cut.array[0] or column >= cut.array[1]:
            place = f"({row}, {column}) is outside: a load pads it, a store drops it"
        caption = f"{place}\n{caption}"
    return shown, caption
