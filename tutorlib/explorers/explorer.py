"""What every explorer is in Python: a description of it, from which the browser builds it, and its first picture."""

import re
from base64 import b64encode
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import anywidget
import traitlets
from tensor_layouts import Layout

from tutorlib.draw.grid import CellGrid, figure
from tutorlib.layouts.notation import layout, text

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

    description: {"kind": "timeline", "arguments": {…}, "inputs": […]}. grids: of the first picture.
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
