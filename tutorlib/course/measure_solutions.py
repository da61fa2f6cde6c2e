"""Measurements of the solutions on this GPU, and notebooks executed with the same numbers."""

import hashlib
import os
from collections.abc import Iterable
from datetime import date
from pathlib import Path
from unittest import mock

from tutorlib.checking.exercise import Outcome
from tutorlib.checking.kernel import KernelExercise
from tutorlib.course import build
from tutorlib.course.answers import load_answers
from tutorlib.course.source import parse
from tutorlib.exercises import find, of_notebook
from tutorlib.machine import device
from tutorlib.measuring import results
from tutorlib.measuring.results import RECORDED, Result, Results, data_file, read_results
from tutorlib.measuring.timing import Measurement
from tutorlib.paths import SOLUTIONS


def code_sha256(name: str, solutions: Path = SOLUTIONS) -> str:
    """A hash of the solved notebook's code, on which a measurement depends; prose does not count."""
    code = [cell.solved for cell in parse(solutions / f"{name}.py") if cell.kind == "code"]
    lines = [line for text in code for line in text.split("\n") if line.strip()]
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()


def grade_solutions(name: str) -> list[Outcome]:
    """The outcomes of a notebook's exercises in this process, without the notebook around them."""
    answers = load_answers(name)
    return [find(id).grade(answer) for id, answer in answers.items()]


def collect(outcomes: dict[str, list[Outcome]]) -> Results:
    """This GPU's results with these notebooks' outcomes; other notebooks stay as in the GPU's file."""
    machine = device.this_machine()
    file = data_file(machine["gpu"])
    before = read_results(file) if file.exists() else Results(machine, "")
    numbers = {name[:2] for name in outcomes}
    exercises = {id: found for id, found in before.exercises.items() if id[:2] not in numbers}
    exercises |= {outcome.id: result_of(outcome) for notebook in outcomes.values() for outcome in notebook}
    ran = {name: code_sha256(name) for name in outcomes}
    return Results(
        machine,
        date.today().isoformat(),
        dict(sorted({**before.notebooks, **ran}.items())),
        dict(sorted(exercises.items(), key=lambda item: tuple(map(int, item[0].split("."))))),
    )


def result_of(outcome: Outcome) -> Result:
    measured = [Measurement.from_json(outcome.measurement)] if outcome.measurement else []
    kept = tuple(one for one in measured if not one.off)
    return Result(outcome.status, outcome.points, outcome.max_points, kept)


def execute_page(name: str, file: Path) -> None:
    """Execute a solved notebook, whose timed checks show the measurements of a file of results.

    Raises nbclient's CellExecutionError, and leaves the notebook's file unchanged.
    """
    with mock.patch.dict(os.environ, {RECORDED: str(file)}):
        build.run(name)


def timed_exercises(name: str) -> list[KernelExercise]:
    """The exercises of a notebook with graded speed."""
    return [exercise for exercise in of_notebook(name) if isinstance(exercise, KernelExercise) and exercise.tiers]


def usable_ratios(outcomes: Iterable[Outcome]) -> tuple[dict[str, float], list[str]]:
    """The ratios to use as targets, and a reason for each measurement not recorded, or missing where it is graded."""
    ratios, problems = {}, []
    for outcome in outcomes:
        exercise = find(outcome.id)
        measured = outcome.measurement and Measurement.from_json(outcome.measurement)
        if measured and measured.off:
            problems.append(f"{outcome.id} {outcome.title}: not recorded, measure it again: {measured.off}")
        elif not (isinstance(exercise, KernelExercise) and exercise.tiers):
            continue
        elif not measured:
            problems.append(f"{outcome.id} {outcome.title}: not measured: {outcome.message}")
        elif measured.noisy:
            problems.append(f"{outcome.id} {outcome.title}: too noisy, run it again")
        else:
            ratios[outcome.id] = measured.ratio
    return ratios, problems


def save_targets(outcomes: Iterable[Outcome], overwrite: bool) -> list[str]:
    """Make these measurements this architecture's targets. Returns the reasons for missing ones.

    overwrite: also if the architecture was calibrated on another GPU.
    """
    machine = device.this_machine()
    ratios, problems = usable_ratios(outcomes)
    if overwrite or results.load_targets().get(machine["arch"], {}).get("gpu", machine["gpu"]) == machine["gpu"]:
        results.save_targets(machine["arch"], machine, date.today().isoformat(), ratios)
    return problems
