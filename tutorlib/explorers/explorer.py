"""The base of every explorer: inputs above, clickable grids below."""

from base64 import b64encode
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import anywidget
import ipywidgets
import traitlets
from tensor_layouts import Layout, LayoutError, size

from tutorlib.draw.grid import CellGrid, figure, outline
from tutorlib.layouts.matrix import Cell, TooLarge
from tutorlib.layouts.notation import NotationError, layout, text
from tutorlib.layouts.views import NoLayout

BROWSER = Path(__file__).with_name("browser")  # the front end
LARGEST = 64 * 64  # cells that a browser redraws without a pause
Click = tuple[int, Cell]  # grid number, cell
Scene = tuple[Sequence[CellGrid], str]  # grids, and the lines below them


class Grids(anywidget.AnyWidget):
    """Grids as SVG, with `answer` below and `problem` above; a click arrives as a message {grid, row, column}."""

    _esm = BROWSER / "grid.js"
    _css = BROWSER / "grid.css"
    grids: traitlets.List[dict[str, Any]] = traitlets.List().tag(sync=True)
    answer = traitlets.Unicode().tag(sync=True)
    problem = traitlets.Unicode().tag(sync=True)


class Explorer(ipywidgets.VBox):
    """Inputs above, grids below. For an invalid input it shows a message and keeps the last valid picture.

    compute: the inputs' values and the click → a view; the message is the text of an error that `redraw` catches.
    show: the view and the click → the grids and the lines below.
    """

    def __init__(
        self,
        inputs: Sequence[ipywidgets.ValueWidget],
        compute: Callable[..., Any],
        show: Callable[[Any, Click | None], Scene],
    ):
        self.inputs, self.compute, self.show = tuple(inputs), compute, show
        self.grids = Grids()
        self.drawn: Sequence[CellGrid] = ()
        self.click: Click | None = None
        for box in self.inputs:
            box.observe(self.changed, "value")
        self.grids.on_msg(self.clicked)
        self.redraw()
        row = ipywidgets.HBox(self.inputs, layout=ipywidgets.Layout(flex_flow="row wrap"))
        super().__init__([row, self.grids])

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, Any] | tuple[dict[str, Any], dict[str, Any]]:
        """The widget, and its first state as a picture for pages without a kernel."""
        bundle = super()._repr_mimebundle_(**kwargs)
        picture = figure(list(self.drawn))._repr_png_()
        if isinstance(bundle, dict):
            bundle["image/png"] = b64encode(picture).decode()
        return bundle

    def changed(self, change: Any) -> None:
        """Redraw for a new value of an input. A new layout has other cells, so it clears the click."""
        if isinstance(change.owner, ipywidgets.Text):
            self.click = None
        self.redraw()

    def clicked(self, _: Any, message: Mapping[str, int], __: Any) -> None:
        """Redraw for a click in the browser. While a message is shown, the picture is of earlier inputs."""
        if self.grids.problem:
            return
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
            self.grids.grids = [as_message(grid) for grid in self.drawn]
            self.grids.answer = answer


def as_message(grid: CellGrid) -> dict[str, Any]:
    """A grid as the browser receives it."""
    return {
        "title": grid.title,
        "labels": [list(row) for row in grid.labels],
        "colors": [list(row) for row in grid.colors],
        "down": list(grid.down),
        "across": list(grid.across),
        "rowBreaks": list(grid.row_breaks.items()),
        "columnBreaks": list(grid.column_breaks.items()),
        "outline": [[*start, *end] for start, end in outline(grid.outlined)],
    }


def slider(name: str, value: int, high: int) -> ipywidgets.IntSlider:
    """A slider from 0, narrow enough for three in a row."""
    size, style = ipywidgets.Layout(width="170px"), {"description_width": "18px"}
    return ipywidgets.IntSlider(value, 0, high, description=name, layout=size, style=style)


def text_box(name: str, value: str) -> ipywidgets.Text:
    return ipywidgets.Text(value, description=name, layout=ipywidgets.Layout(width="300px"))


def layout_box(name: str, source: Any) -> ipywidgets.Text:
    return text_box(name, source if isinstance(source, str) else text(layout(source)))


def small(typed: str) -> Layout:
    """The typed layout, if it is small enough for a browser."""
    meant = layout(typed)
    if size(meant) > LARGEST:
        raise TooLarge(f"{text(meant)} has {size(meant):,} elements; an explorer shows {LARGEST:,}.")
    return meant


def pointed(grid: CellGrid, cells: set[Cell]) -> CellGrid:
    return replace(grid, outlined=frozenset(cells))


def wide_slider(name: str, value: int, low: int, high: int) -> ipywidgets.IntSlider:
    return ipywidgets.IntSlider(value, low, high, description=name, layout=ipywidgets.Layout(width="250px"))
