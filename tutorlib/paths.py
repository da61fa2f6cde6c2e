"""The paths of the course's files, and the names of its notebooks and exercises."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SOLUTIONS = ROOT / "solutions"
NOTEBOOKS = ROOT / "notebooks"
FIGURES = ROOT / "figures"
DATA = FIGURES / "data"  # what solutions reached, a file for each GPU
SWEEPS = DATA / "sweeps"  # what sweeps found, a file for each GPU and sweep

EXERCISE_ID = re.compile(r"\d\d\.\d+", re.ASCII)


def notebook_names() -> tuple[str, ...]:
    """Every notebook of the course in order, e.g. "03_layout_algebra": those that have a source."""
    return tuple(sorted(path.stem for path in SOLUTIONS.glob("[0-9][0-9]_*.py")))
