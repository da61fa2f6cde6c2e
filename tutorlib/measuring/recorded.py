"""Measurements taken before: in place of new ones, and those that have a form of their own."""

import json
import os
from pathlib import Path
from typing import Any

from tutorlib.measuring.measurement import Measurement
from tutorlib.measuring.results import read_results
from tutorlib.paths import SWEEPS
from tutorlib.problems.problem import Shape

RECORDED = "TUTORLIB_RECORDED"  # environment variable: a file of results; grading does not pass it on

LAUNCHES = "launches"  # the cost of launches: `tutor sweep launches`
TORCH = "torch.add"
LATER, DONE, READY = "later calls", "later calls until done", "a new process"

SANITIZER = "sanitizer"  # compute-sanitizer's reports on notebook 18's kernels: `tutor sweep sanitizer`
TOOLS = ("memcheck", "racecheck", "synccheck", "initcheck")


def recorded(id: str, shape: Shape) -> Measurement | None:
    """The measurement of an exercise at this shape in the file that RECORDED names; None where there is none.

    So a notebook that evidence executes shows what its data holds.
    """
    if not (path := os.environ.get(RECORDED)):
        return None
    found = read_results(Path(path)).exercises.get(id)
    return next((measured for measured in found.measurements if measured.shape == shape), None) if found else None


def records(name: str) -> list[dict[str, Any]]:
    """What `tutor sweep` recorded of LAUNCHES or SANITIZER, a dictionary for each GPU."""
    return [json.loads(path.read_text(encoding="utf-8")) for path in sorted(SWEEPS.glob(f"*_{name}.json"))]
