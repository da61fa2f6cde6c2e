"""Repairs what tools and editors commonly break in a notebook's JSON."""

import json
import re
import symtable
import warnings
from typing import Any

import nbformat
from nbformat import NotebookNode

KINDS = ("code", "markdown", "raw", "heading")
MOST_CELLS = 5000
LARGEST_CODE = 2**21  # characters of all its cells
CHECK = re.compile(r"""^check\(\s*["'](\d\d\.\d+)["']\s*,\s*(\w+)\s*\)""", re.MULTILINE)


class NotebookTooLarge(Exception):
    """A notebook too large to be written by hand. Says how large it may be."""


def notebook(data: Any) -> NotebookNode:
    """The notebook that this JSON is.

    Raises NotebookTooLarge and, where it is none, what nbformat raises, or TypeError, ValueError.
    """
    sheets = [data] if "cells" in data else data["worksheets"]  # format 3 had sheets
    for sheet in sheets:
        sheet["cells"] = repaired_cells(sheet["cells"])
    data["metadata"] = data["metadata"] if isinstance(data.get("metadata"), dict) else {}
    if sheets[0] is data:
        read = nbformat.from_dict(data | {"nbformat": 4, "nbformat_minor": 5})
    else:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # it complains of cells without ids
            read = nbformat.reads(json.dumps(data), as_version=4)
    return with_marks(read)


def repaired_cells(cells: list[Any]) -> list[dict[str, Any]]:
    """The cells without what no cell can be, outputs among it.

    Raises ValueError where not one is a cell, NotebookTooLarge where they are too many or too long.
    """
    if len(cells) > MOST_CELLS:
        raise NotebookTooLarge(f"it has {len(cells):,} cells; {MOST_CELLS:,} are read")
    kept = [repaired_cell(cell, n) for n, cell in enumerate(cells) if isinstance(cell, dict) and kind(cell) in KINDS]
    if cells and not kept:
        raise ValueError("no cells")
    if (written := sum(len(one.get("source", "")) + len(one.get("input", "")) for one in kept)) > LARGEST_CODE:
        raise NotebookTooLarge(f"its cells have {written:,} characters; {LARGEST_CODE:,} are read")
    return kept


def kind(cell: dict[str, Any]) -> Any:
    return cell.get("cell_type")


def repaired_cell(cell: dict[str, Any], n: int) -> dict[str, Any]:
    """Text where its source and its id should be text, none of its outputs. n: how many cells stand above it."""
    mended = {key: value for key, value in cell.items() if key not in ("id", "outputs", "execution_count")}
    for key in {"source", "input"} & cell.keys() or {"source"}:
        mended[key] = as_text(cell.get(key))
    mended["metadata"] = cell["metadata"] if isinstance(cell.get("metadata"), dict) else {}
    mended["id"] = as_text(cell["id"]) if isinstance(cell.get("id"), str) else f"unnamed-{n}"
    if kind(cell) != "code":
        return mended
    of_format_3 = {"language": "python", "collapsed": False} if "input" in cell else {}
    return mended | {"outputs": [], "execution_count": None} | of_format_3


def as_text(source: Any) -> str:
    """A cell's text: a string, or a list of lines; "" for anything else. Half a surrogate pair is written as "?"."""
    lines = source if isinstance(source, list) else [source]
    return "".join(line for line in lines if isinstance(line, str)).encode("utf-8", "replace").decode("utf-8")


def with_marks(read: NotebookNode) -> NotebookNode:
    """The notebook; where no cell has a mark of the course any more, with those that its checks tell of.

    Colab and some editors drop ids and metadata. `check("02.5", divide)` is still there, so the answer is the last
    cell up to it that defines `divide`, or else the code cell right above. The cell may be raw text or Markdown now.
    """
    if any("tutorlib" in cell.metadata or cell.get("id", "").startswith("answer-") for cell in read.cells):
        return read
    for n, cell in enumerate(read.cells):
        for exercise, name in CHECK.findall(cell.source) if cell.cell_type == "code" else ():
            defining = [one for one in read.cells[: n + 1] if defines(one, name)]
            above = [one for one in read.cells[:n] if one.cell_type == "code"]
            for one in (defining or above)[-1:]:
                one.metadata["tutorlib"] = {"exercise": exercise, "role": "answer"}
    return read


def defines(cell: NotebookNode, name: str) -> bool:
    """Whether a cell defines this name at its top level; a text that Python cannot read is searched for its `def`."""
    if cell.cell_type == "code":
        try:
            found = symtable.symtable(cell.source, "cell", "exec").lookup(name)
        except KeyError:
            return False
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return re.search(rf"^[ \t]*(def|class)\s+{name}\b|^{name}\s*[:=]", cell.source, re.MULTILINE) is not None
        return found.is_assigned() or found.is_imported()
    return re.search(rf"^(def|class)\s+{name}\b", cell.source, re.MULTILINE) is not None
