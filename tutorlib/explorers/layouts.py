"""Explorers of layouts: type a layout, click a cell, see how its offset is computed."""

from typing import Any

import ipywidgets
from tensor_layouts import Layout, cosize, size

from tutorlib.draw.algebra import compose_grids, divide_grids
from tutorlib.draw.banks import bank_grid
from tutorlib.draw.layouts import layout_grid
from tutorlib.explorers.explorer import Click, Explorer, Scene, layout_box, pointed, slider, small, text_box
from tutorlib.layouts.composition import ComposeView, compose_view
from tutorlib.layouts.division import DivideView, divide_view
from tutorlib.layouts.matrix import Cell, LayoutView, coordinate, layout_view
from tutorlib.layouts.notation import text, tiler
from tutorlib.layouts.swizzling import ACCESSES, SwizzleView, swizzle_view
from tutorlib.machine.hardware import WAVEFRONT


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
