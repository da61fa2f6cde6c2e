"""The explorers: type a layout, click a cell, see where it comes from."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import anywidget
import ipywidgets
import traitlets
from tensor_layouts import Layout, LayoutError, cosize, size

from tutorlib.banks import WAVEFRONT
from tutorlib.draw.algebra import compose_grids, divide_grids
from tutorlib.draw.banks import bank_grid
from tutorlib.draw.grid import Grid, outline
from tutorlib.draw.layouts import layout_grid
from tutorlib.notation import NotationError, layout, text, tiler
from tutorlib.views import (
    ACCESSES,
    Cell,
    ComposeView,
    DivideView,
    LayoutView,
    NoLayout,
    SwizzleView,
    TooLarge,
    compose_view,
    coordinate,
    divide_view,
    layout_view,
    swizzle_view,
)

HERE = Path(__file__).parent
LARGEST = 64 * 64  # cells that a browser redraws without a pause

Click = tuple[int, Cell]  # which grid, which of its cells
Scene = tuple[Sequence[Grid], str]  # what is shown, and the lines below it


class Grids(anywidget.AnyWidget):
    """Grids as SVG. `answer` stands below them, `problem` above; a click comes as a message {grid, row, column}."""

    _esm = HERE / "grid.js"
    _css = HERE / "grid.css"
    grids = traitlets.List().tag(sync=True)
    answer = traitlets.Unicode().tag(sync=True)
    problem = traitlets.Unicode().tag(sync=True)


class Explorer(ipywidgets.VBox):
    """Inputs above, grids below. An input that is no layout shows a message, and the last good picture stays.

    compute: the inputs' values and the click → a view; what it raises of those named in `redraw` is the message.
    show: the view and the click → what is drawn.
    """

    def __init__(
        self,
        inputs: Sequence[ipywidgets.ValueWidget],
        compute: Callable[..., Any],
        show: Callable[[Any, Click | None], Scene],
    ):
        self.inputs, self.compute, self.show = tuple(inputs), compute, show
        self.grids = Grids()
        self.drawn: Sequence[Grid] = ()
        self.click: Click | None = None
        for box in self.inputs:
            box.observe(self.changed, "value")
        self.grids.on_msg(self.clicked)
        self.redraw()
        row = ipywidgets.HBox(self.inputs, layout=ipywidgets.Layout(flex_flow="row wrap"))
        super().__init__([row, self.grids])

    def changed(self, change: Any) -> None:
        """An input has a new value. Another layout has other cells, so the click is forgotten."""
        if isinstance(change.owner, ipywidgets.Text):
            self.click = None
        self.redraw()

    def clicked(self, _: Any, message: Mapping[str, int], __: Any) -> None:
        """The browser says which cell was clicked."""
        grid = self.drawn[message["grid"]]
        self.click = message["grid"], (message["row"], message["column"] * grid.step)
        self.redraw()

    def redraw(self) -> None:
        try:
            view = self.compute(*(box.value for box in self.inputs), self.click)
        except (NotationError, TooLarge, NoLayout, LayoutError) as error:
            self.grids.problem = str(error).splitlines()[0]
            return
        self.drawn, answer = self.show(view, self.click)
        with self.grids.hold_sync():
            self.grids.problem = ""
            self.grids.grids = [plain(grid) for grid in self.drawn]
            self.grids.answer = answer


def plain(grid: Grid) -> dict[str, Any]:
    """A grid as the browser gets it."""
    return {
        "title": grid.title,
        "labels": [list(row) for row in grid.labels],
        "colours": [list(row) for row in grid.colours],
        "down": list(grid.down),
        "across": list(grid.across),
        "rowBreaks": list(grid.row_breaks.items()),
        "columnBreaks": list(grid.column_breaks.items()),
        "outline": [[*start, *end] for start, end in outline(grid.outlined)],
    }


def explore_layout(source: Any = "(4,3):(3,1)") -> Explorer:
    """Type a layout, click a cell: its coordinate, its index, and how the offset comes about."""
    return Explorer([layout_box("layout", source)], lambda typed, _: layout_view(small(typed)), layout_scene)


def explore_compose(a: Any = "(6,2):(8,2)", b: Any = "(4,3):(3,1)") -> Explorer:
    """b, a and a∘b; click a cell of the result: b says which index of a it takes, a says the offset."""
    boxes = [layout_box("a", a), layout_box("b", b)]
    return Explorer(boxes, lambda a, b, _: compose_view(small(a), small(b)), compose_scene)


def explore_divide(source: Any = "(16,8):(8,1)", cut: Any = "(4,4)") -> Explorer:
    """A layout and its zipped divide; click a cell on either side to find it on the other."""
    boxes = [layout_box("layout", source), text_box("tiler", cut if isinstance(cut, str) else text(tiler(cut)))]
    return Explorer(boxes, lambda source, cut, _: divide_view(small(source), cut), divide_scene)


def explore_swizzle(source: Any = "(8,64):(64,1)", swizzle: tuple[int, int, int] = (3, 3, 3)) -> Explorer:
    """The bank of every cell before and after a swizzle, and the wavefronts of an access; click where it begins."""
    sliders = [slider(name, value, high) for name, value, high in zip("BMS", swizzle, (5, 5, 7), strict=True)]
    width = ipywidgets.Dropdown(options={"1: fp8": 1, "2: bf16": 2, "4: fp32": 4}, value=2, description="bytes")
    access = ipywidgets.Dropdown(options=list(ACCESSES), value=list(ACCESSES)[-1], description="access")

    def compute(typed: str, b: int, m: int, s: int, element_bytes: int, name: str, click: Click | None) -> SwizzleView:
        return swizzle_view((b, m, s), small(typed), element_bytes, name, click[1] if click else (0, 0))

    return Explorer([layout_box("layout", source), *sliders, width, access], compute, swizzle_scene)


def slider(name: str, value: int, high: int) -> ipywidgets.IntSlider:
    """A slider from 0, narrow enough that three stand in a row."""
    size, style = ipywidgets.Layout(width="170px"), {"description_width": "18px"}
    return ipywidgets.IntSlider(value, 0, high, description=name, layout=size, style=style)


def text_box(name: str, value: str) -> ipywidgets.Text:
    return ipywidgets.Text(value, description=name, layout=ipywidgets.Layout(width="300px"))


def layout_box(name: str, source: Any) -> ipywidgets.Text:
    return text_box(name, source if isinstance(source, str) else text(layout(source)))


def small(typed: str) -> Layout:
    """The layout typed, if a browser can show it."""
    meant = layout(typed)
    if size(meant) > LARGEST:
        raise TooLarge(f"{text(meant)} has {size(meant):,} elements; an explorer shows {LARGEST:,}.")
    return meant


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
        return (b, a, composed), "Click a cell of a∘b to see where it comes from, or one of a to see who takes it."
    which, cell = click
    if which == 1:
        takers = view.takers(cell)
        count = f"{len(takers)} cells" if len(takers) != 1 else "one cell"
        said = f"a{coordinate_text(view.a, cell)} is taken by {count} of b."
        return (pointed(b, takers), pointed(a, {cell}), pointed(composed, takers)), said
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
        return (whole, pointed(divided, {cell})), "This part of the tile lies outside the matrix: a kernel masks it."
    places = (cell,) if which == 1 else view.places(cell)
    if not places:
        return divide_grids(view, {source}), "No tile reaches this element."
    inside, tile = places[0]
    said = f"{coordinate_text(view.layout, source)} is element {inside} of tile {tile}"
    return divide_grids(view, {source}), f"{said}\noffset {view.offsets[inside][tile]} on both sides"


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
    """What the access costs: "8 threads × 16 bytes: 8 wavefronts, 1 would do"."""
    threads, each = len(view.access.cells), view.access.vector * view.element_bytes
    access = f"{threads} threads × {each} bytes"
    if cost is None:
        return f"{access}: not possible, the {each} bytes do not lie together"
    best = -(-threads * each // WAVEFRONT)
    return (
        f"{access}: {cost} wavefront{'s' if cost != 1 else ''}, {'the least' if cost == best else f'{best} would do'}"
    )


def coordinate_text(shown: Layout, cell: Cell) -> str:
    """A cell's coordinate in parentheses, "(2,1)", also where the layout has one mode."""
    at = coordinate(shown.shape, cell)
    return text(at) if isinstance(at, tuple) else f"({at})"


def pointed(grid: Grid, cells: set[Cell]) -> Grid:
    return replace(grid, outlined=frozenset(cells))
