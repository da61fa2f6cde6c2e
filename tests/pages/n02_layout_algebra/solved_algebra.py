"""Notebook 02's solutions as functions, and what a layout of theirs maps to."""

import tensor_layouts as tl
from tensor_layouts import Layout, cosize, flatten, mode, rank, size

from tutorlib.course.source import parse
from tutorlib.paths import SOLUTIONS


def solved() -> dict:
    """The answer cells of the source, run: name → function."""
    names = {"tl": tl, "Layout": Layout, "cosize": cosize, "flatten": flatten, "mode": mode, "rank": rank, "size": size}
    for cell in parse(SOLUTIONS / "02_layout_algebra.py"):
        if cell.role == "answer":
            exec(cell.solved, names)
    return names


SOLVED = solved()


def answer(name: str, *args) -> Layout | None:
    """The solution's answer; None where it raises ValueError."""
    try:
        return SOLVED[name](*args)
    except ValueError:
        return None


def table(layout: Layout) -> list[int]:
    return [layout(index) for index in range(size(layout))]
