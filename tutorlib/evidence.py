"""What the solutions reach on the GPU at hand: executed notebooks, figures/data/GPU.json, targets, README's table."""

import hashlib
import json
import os
import re
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

from tutorlib import build, device
from tutorlib.bench import NOISE
from tutorlib.check import RESULTS
from tutorlib.course import ROOT, SOLUTIONS, notebook_names
from tutorlib.exercise import Exercise
from tutorlib.exercises import find, of_notebook
from tutorlib.kernel import KernelExercise

DATA = ROOT / "figures" / "data"
README = ROOT / "README.md"
BEGIN, END = "<!-- begin table -->", "<!-- end table -->"

Data = dict[str, Any]  # what figures/data/GPU.json holds
Record = dict[str, Any]  # an Outcome as `check` records it


class NoData(LookupError):
    """No GPU's data holds what a figure shows. One line."""


@dataclass(frozen=True)
class Run:
    """One notebook executed: how long it took, what its checks recorded, and the error that ended it, or ""."""

    name: str
    seconds: float
    records: tuple[Record, ...]
    error: str = ""


def code_sha256(name: str, solutions: Path = SOLUTIONS) -> str:
    """A hash of the solved notebook's code, which is what a measurement depends on; prose does not count."""
    cells = build.parse(solutions / f"{name}.py")
    return hashlib.sha256("\n".join(cell.solved for cell in cells if cell.kind == "code").encode()).hexdigest()


@contextmanager
def recording() -> Iterator[Callable[[], tuple[Record, ...]]]:
    """While open, every `check` of this process and its children is recorded; yields what was recorded so far."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "results.jsonl"
        before = os.environ.get(RESULTS)
        os.environ[RESULTS] = str(file)
        try:
            yield lambda: tuple(map(json.loads, file.read_text(encoding="utf-8").splitlines())) if file.exists() else ()
        finally:
            os.environ.pop(RESULTS)
            if before is not None:
                os.environ[RESULTS] = before


def run(name: str) -> Run:
    """Execute a solved notebook, and write it where all of its cells ran."""
    from nbclient.exceptions import CellExecutionError

    start, error = time.monotonic(), ""
    with recording() as recorded:
        try:
            build.run(name)
        except CellExecutionError as failure:
            error = f"{failure.ename}: {failure.evalue}"
        return Run(name, round(time.monotonic() - start, 1), recorded(), error)


def rehearse(name: str) -> Run:
    """Execute a solved notebook to its end, whatever its checks say, and write nothing."""
    import nbformat
    from nbclient import NotebookClient

    start = time.monotonic()
    notebook = nbformat.read(SOLUTIONS / f"{name}.ipynb", as_version=4)
    with recording() as recorded:
        resources = {"metadata": {"path": str(SOLUTIONS)}}
        NotebookClient(notebook, timeout=600, allow_errors=True, resources=resources).execute()
        return Run(name, round(time.monotonic() - start, 1), recorded())


def collect(runs: list[Run], before: Data | None = None) -> Data:
    """The data of this GPU with what `runs` brought; notebooks that did not run now stay as `before` has them."""
    data = before or {"notebooks": {}, "exercises": {}}
    exercises = {id: kept for id, kept in data["exercises"].items() if id[:2] not in {run.name[:2] for run in runs}}
    for run in runs:
        exercises |= {record["id"]: entry(record) for record in run.records}
    ran = {run.name: {"code_sha256": code_sha256(run.name), "seconds": run.seconds} for run in runs}
    return {
        "machine": device.this_machine(),
        "date": date.today().isoformat(),
        "notebooks": dict(sorted({**data["notebooks"], **ran}.items())),
        "exercises": dict(sorted(exercises.items())),
    }


def entry(record: Record) -> dict[str, Any]:
    measured = record["measurement"]
    return {
        "status": record["status"],
        "points": record["points"],
        "measurements": [{key: value for key, value in measured.items() if value is not None}] if measured else [],
    }


def file_of(gpu: str) -> Path:
    """figures/data/h200.json for "NVIDIA H200"."""
    return DATA / (re.sub(r"[^a-z0-9]+", "_", gpu.lower().removeprefix("nvidia ")).strip("_") + ".json")


def read(path: Path) -> Data | None:
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else None


def all_data() -> list[Data]:
    """What every GPU's file holds, by file name."""
    return [json.loads(path.read_text(encoding="utf-8")) for path in sorted(DATA.glob("*.json"))]


def write(data: Data) -> Path:
    path = file_of(data["machine"]["gpu"])
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(data, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
    return path


def has_tiers(exercise: Exercise) -> bool:
    return isinstance(exercise, KernelExercise) and bool(exercise.tiers)


def is_timed(name: str) -> bool:
    """Whether a notebook has exercises whose speed is graded."""
    return any(map(has_tiers, of_notebook(name)))


def calibrated(runs: list[Run]) -> tuple[dict[str, float], list[str]]:
    """The ratios to keep as targets, and for each exercise that has tiers and no usable measurement, why."""
    ratios, problems = {}, []
    measured = {record["id"]: record["measurement"] for run in runs for record in run.records}
    for run in runs:
        for exercise in of_notebook(run.name):
            if not has_tiers(exercise):
                continue
            found = measured.get(exercise.id)
            if found is None:
                problems.append(f"{exercise.id} {exercise.title}: not measured")
            elif found["spread"] > NOISE or found["throttled"]:
                problems.append(f"{exercise.id} {exercise.title}: too noisy, run it again")
            else:
                ratios[exercise.id] = found["ratio"]
    return ratios, problems


def table(everything: list[Data]) -> str:
    """README's table: a row for each notebook, a column for each GPU that the solutions ran on."""
    head = ["notebook", "points", "runs on", *(f"{data['machine']['gpu']}, {data['date']}" for data in everything)]
    rows = [head, ["---"] * len(head)]
    for name in notebook_names():
        exercises = of_notebook(name)
        families = sorted(
            {f"sm_{exercise.needs}" for exercise in exercises if exercise.needs != "cpu"}, key=lambda sm: (len(sm), sm)
        )
        row = [f"[{heading(name)}](notebooks/{name}.ipynb)", str(sum(exercise.points for exercise in exercises))]
        row.append(", ".join(families) or "any machine")
        rows.append(row + [cell(name, data) for data in everything])
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def heading(name: str) -> str:
    """The notebook's title: its first line, "# 05 · The copy ladder", without the mark."""
    return build.parse(SOLUTIONS / f"{name}.py")[0].text.splitlines()[0].lstrip("# ")


def cell(name: str, data: Data) -> str:
    """What one GPU's data say of a notebook: points, the fastest kernel beside its baseline, whether that is old."""
    ran = data["notebooks"].get(name)
    if ran is None:
        return "not run"
    results = {id: result for id, result in data["exercises"].items() if id[:2] == name[:2]}
    parts = [f"{sum(result['points'] for result in results.values()):g} points"]
    timed = [(m, id) for id, result in results.items() for m in result["measurements"]]
    if timed:
        best, id = max(timed, key=lambda pair: pair[0]["ratio"])
        rate = f"{best['tflops']:,.0f} TFLOP/s" if "tflops" in best else f"{best['gbps'] / 1000:.2f} TB/s"
        parts.append(f"{find(id).title}: {rate}, {best['ratio']:.2f} of {best['baseline']}")
    if ran["code_sha256"] != code_sha256(name):
        parts.append("*changed since*")
    return "; ".join(parts)


def with_table(readme: str, everything: list[Data]) -> str:
    """README's text with the table between its two markers as it should be."""
    before, rest = readme.split(BEGIN)
    _, after = rest.split(END)
    return f"{before}{BEGIN}\n{table(everything)}\n{END}{after}"


def write_table() -> None:
    README.write_text(with_table(README.read_text(encoding="utf-8"), all_data()), encoding="utf-8")
