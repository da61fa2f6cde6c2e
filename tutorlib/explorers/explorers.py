"""Explorers: of layouts and their algebra, swizzles, tiled copies, arrays in tiles, pipelines.

In Python an explorer is a description, from which the browser builds it, and its first picture.
"""

import re
from base64 import b64encode
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import anywidget
import traitlets
from tensor_layouts import Layout, Swizzle, compose

from tutorlib.draw.banks import access_grid, keeps_vectors
from tutorlib.draw.grid import CellGrid, figure
from tutorlib.draw.layouts import compose_grids, divide_grids, layout_grid, tiled_copy_grid
from tutorlib.draw.palette import EMPTY, category
from tutorlib.draw.tiles import Size, array_grid, space_grid
from tutorlib.layouts.matrix import matrix
from tutorlib.layouts.notation import layout, text, tiler
from tutorlib.layouts.views import compose_view, divide_view, tiled_copy_view

BROWSER = Path(__file__).with_name("browser")  # the explorers themselves
IMPORT = re.compile(r'^import [^;]* from "\./(\w+)\.js";\n', re.MULTILINE)


def one_module(name: str, seen: set[str]) -> str:
    """A module of the browser and, before it, those that it imports and that are not in `seen`, as one module.

    A widget's front end is a single module, so no two of ours may define the same name.
    """
    seen.add(name)
    source = (BROWSER / f"{name}.js").read_text(encoding="utf-8")
    needed = "".join(one_module(other, seen) for other in IMPORT.findall(source) if other not in seen)
    return needed + re.sub(r"^export (?!default)", "", IMPORT.sub("", source), flags=re.MULTILINE)


class Explorer(anywidget.AnyWidget):
    """A picture that responds to clicks and to inputs above it. All of that is computed in the browser.

    description: {"kind": "swizzle", "arguments": {…}, "inputs": […]}. grids: of the first picture.
    """

    _esm = one_module("explorer", set())
    _css = BROWSER / "grid.css"
    description = traitlets.Dict().tag(sync=True)

    def __init__(self, kind: str, inputs: Sequence[dict[str, Any]], grids: Iterable[CellGrid], **arguments: Any):
        super().__init__(description={"kind": kind, "arguments": arguments, "inputs": list(inputs)})
        self.grids = list(grids)

    def _repr_mimebundle_(self, **kwargs: Any) -> Any:
        """The widget, and its first picture for pages without a kernel."""
        data, metadata = super()._repr_mimebundle_(**kwargs) or ({}, {})
        return data | {"image/png": b64encode(figure(self.grids)._repr_png_()).decode()}, metadata


def text_box(name: str, value: Any) -> dict[str, Any]:
    """An input for a layout, a shape or a tiler."""
    return {"kind": "text", "name": name, "value": value if isinstance(value, str) else text(value)}


def layout_box(name: str, source: Any) -> dict[str, Any]:
    """An input for a layout. source: anything that `layouts.notation.layout` takes."""
    return text_box(name, source if isinstance(source, str | Layout) else layout(source))


def slider(name: str, value: float, low: int, high: float, step: float = 1) -> dict[str, Any]:
    """An input for a number from low to high."""
    return {"kind": "range", "name": name, "value": value, "min": low, "max": high, "step": step}


def menu(name: str, value: Any, options: Mapping[str, Any]) -> dict[str, Any]:
    """An input for one of the options, label → value."""
    return {"kind": "select", "name": name, "value": value, "options": [list(option) for option in options.items()]}


# The explorers -----------------------------------------------------------------------------------------------------

WIDTHS = {"1: fp8": 1, "2: bf16": 2, "4: fp32": 4}
ACCESSES = (
    "a row, one element a thread",
    "a column, one element a thread",
    "rows, 16 bytes a thread",
    "a column, 16 bytes a thread",
    "ldmatrix: eight rows of 16 bytes",
)
LARGEST = 40  # rows and columns of an array that a browser shows without scrolling
POWERS = {str(n): n for n in (1, 2, 4, 8, 16)}
BUSY = "#F1F3F5"
LOOPS = {"loads": ("wait", "expect", "load", "next"), "TMA": (), "math": ("wait", "mma", "done", "free", "next")}
STAGE = {"A": "", "B": "", "phase": "0", "arrive": "1", "KiB": "0", "phase ": "0", "arrive ": "1"}  # no tiles yet
FAULTS = (
    "nothing",
    "the consumer does not arrive on empty",
    "the consumer waits for the other phase",
    "the producer begins with phase 0",
    "the producer expects A's bytes alone",
    "the producer does not wait for empty",
    "the consumer frees before it is done",
)


def explore_layout(source: Any = "(4,3):(3,1)") -> Explorer:
    """Type a layout, click a cell: its coordinate, its index, and the sum that gives its offset."""
    return Explorer("layout", [layout_box("layout", source)], [layout_grid(source)])


def explore_compose(a: Any = "(6,2):(8,2)", b: Any = "(4,3):(3,1)") -> Explorer:
    """b, a and a∘b; click a cell of the result: b gives the index into a, a gives the offset."""
    return Explorer("compose", [layout_box("a", a), layout_box("b", b)], compose_grids(compose_view(a, b)))


def explore_divide(source: Any = "(16,8):(8,1)", cut: Any = "(4,4)") -> Explorer:
    """A layout and its zipped divide; click a cell on either side to find it on the other."""
    boxes = [layout_box("layout", source), text_box("tiler", cut if isinstance(cut, str) else tiler(cut))]
    return Explorer("divide", boxes, divide_grids(divide_view(source, cut)))


def explore_swizzle(source: Any = "(8,64):(64,1)", swizzle: tuple[int, int, int] = (3, 3, 3)) -> Explorer:
    """The bank of every cell before and after a swizzle, and the wavefronts of an access; click its first cell."""
    sliders = [slider(name, value, 0, high) for name, value, high in zip("BMS", swizzle, (5, 5, 7), strict=True)]
    menus = menu("bytes", 2, WIDTHS), menu("access", ACCESSES[-1], {name: name for name in ACCESSES})
    both = layout(source), compose(Swizzle(*swizzle), layout(source))
    rows = min(8, len(matrix(source)))
    grids = [
        access_grid(shown, [(row, 0) for row in range(rows)] if keeps_vectors(matrix(shown), 8) else None, 2, vector=8)
        for shown in both
    ]
    return Explorer("swizzle", [layout_box("layout", source), *sliders, *menus], grids)


def explore_tv(threads: Any = "(2,4):(4,1)", values: Any = "(1,4):(4,1)", tile: Any = "(8,16)") -> Explorer:
    """The threads and values of a TiledCopy over a tile; click an element to see all elements of its thread."""
    boxes = [layout_box("threads", threads), layout_box("values", values), text_box("tile", tile)]
    view = tiled_copy_view(layout(threads), layout(values), tiler(tile))
    return Explorer("tv", boxes, [tiled_copy_grid(view)])


def explore_tile_space(array: Size = (10, 20), tile: Size = (4, 8)) -> Explorer:
    """An array of any size in tiles of powers of two; click an element to see its tile, a tile to see its elements."""
    sliders = [slider(name, n, 1, LARGEST) for name, n in zip(("rows", "columns"), array, strict=True)]
    menus = [menu(name, n, POWERS) for name, n in zip(("tile rows", "tile columns"), tile, strict=True)]
    return Explorer("tile_space", [*sliders, *menus], [array_grid(array, tile), space_grid(array, tile)])


def explore_mbarriers(stages: int = 2, fault: str = FAULTS[0]) -> Explorer:
    """A ring of stages: click a row to execute the next instruction of its side, or a transfer to complete it.

    TMA transfers complete in any order. fault: the error to inject, one of FAULTS.
    """
    inputs = slider("stages", stages, 1, 4), menu("break", fault, {name: name for name in FAULTS})
    return Explorer("mbarriers", inputs, ring_grids(stages))


def ring_grids(stages: int) -> tuple[CellGrid, CellGrid]:
    """The loops of both sides, and the stages with their mbarriers, before the first instruction."""
    loops = [[*loop, *[""] * (5 - len(loop))] for loop in LOOPS.values()]
    shades = [[BUSY if name else EMPTY for name in loop] for loop in loops]
    shades[0][0] = shades[2][0] = category(0)
    holds: list[str | None] = [None, None, *[EMPTY] * 5]
    return (
        CellGrid("click a row: its next instruction", loops, shades, list(LOOPS), outlined=frozenset({(0, 0), (2, 0)})),
        CellGrid(
            "stages: tiles · full: phase, pending arrivals and KiB · empty: phase, pending arrivals",
            [list(STAGE.values())] * stages,
            [holds] * stages,
            [f"[{stage}]" for stage in range(stages)],
            [name.strip() for name in STAGE],
            column_breaks={2: 2.0, 5: 2.0},
        ),
    )
