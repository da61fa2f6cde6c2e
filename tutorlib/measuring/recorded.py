"""Measurements taken before, in place of new ones: so a notebook that evidence executes shows what its data holds."""

import os
from pathlib import Path

from tutorlib.measuring.measurement import Measurement
from tutorlib.measuring.results import read_results
from tutorlib.problems.problem import Shape

RECORDED = "TUTORLIB_RECORDED"  # environment variable: a file of results; grading does not pass it on


def recorded(id: str, shape: Shape) -> Measurement | None:
    """The measurement of an exercise at this shape in the file that RECORDED names; None where there is none."""
    if not (path := os.environ.get(RECORDED)):
        return None
    found = read_results(Path(path)).exercises.get(id)
    return next((measured for measured in found.measurements if measured.shape == shape), None) if found else None
