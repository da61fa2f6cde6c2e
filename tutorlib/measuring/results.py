"""Results as files, read back as objects: figures/data/GPU.json, figures/data/sweeps/GPU_NAME.json, targets.json."""

import json
import os
import re
from dataclasses import asdict, dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

from tutorlib.measuring.timing import Measurement, within_noise
from tutorlib.paths import DATA, SWEEPS
from tutorlib.problems.differences import by
from tutorlib.problems.problem import Shape


class NoData(LookupError):
    """No GPU's data has the measurements of a figure. One line."""


@dataclass(frozen=True)
class Result:
    """The grade of one exercise's solution, the exercise's points at the time, and its measurement if it is timed."""

    status: str
    points: float
    max_points: float
    measurements: tuple[Measurement, ...] = ()


@dataclass(frozen=True)
class Results:
    """The solutions' results on one GPU.

    machine: as `machine.device.this_machine` gives it. date: of the last run, ISO. notebooks: name → a hash of the
    code that ran, on which its measurements depend; exercises: by id, in the course's order.
    """

    machine: dict[str, Any]
    date: str
    notebooks: dict[str, str] = field(default_factory=dict)
    exercises: dict[str, Result] = field(default_factory=dict)

    @property
    def gpu(self) -> str:
        """The driver's name for it."""
        return self.machine["gpu"]

    def of_notebook(self, number: str) -> dict[str, Result]:
        """The results of the exercises of a notebook, or of one exercise: "05" → {"05.1": …}."""
        return {id: result for id, result in self.exercises.items() if number in (id, id[:2])}

    def timed(self, *numbers: str) -> dict[str, Measurement]:
        """Exercise id → measurement, of those exercises of these notebooks, or with these ids, that are timed."""
        return {
            id: result.measurements[0]
            for number in numbers
            for id, result in self.of_notebook(number).items()
            if result.measurements
        }

    def write(self) -> Path:
        """To this GPU's own file. Returns its path."""
        data = asdict(self)
        for id, result in self.exercises.items():
            data["exercises"][id]["measurements"] = [measured.as_json() for measured in result.measurements]
        return write_json(data_file(self.gpu), data)


def data_file(gpu: str) -> Path:
    """figures/data/h200.json for "NVIDIA H200"."""
    return DATA / f"{file_stem(gpu)}.json"


def sweep_file(gpu: str, name: str) -> Path:
    """figures/data/sweeps/h200_gemm_rungs.json for "NVIDIA H200" and "gemm_rungs"."""
    return SWEEPS / f"{file_stem(gpu)}_{name}.json"


def file_stem(gpu: str) -> str:
    return re.sub(r"[^a-z0-9]+", "_", gpu.lower().removeprefix("nvidia ")).strip("_")


def write_json(path: Path, data: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(data, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
    return path


def read_results(path: Path) -> Results:
    """Raises FileNotFoundError where nothing ran on that GPU."""
    data = json.loads(path.read_text(encoding="utf-8"))
    return Results(
        data["machine"],
        data["date"],
        data["notebooks"],
        {
            id: Result(
                found["status"],
                found["points"],
                found["max_points"],
                tuple(map(Measurement.from_json, found["measurements"])),
            )
            for id, found in data["exercises"].items()
        },
    )


def all_results() -> list[Results]:
    """The results of every GPU that the solutions ran on, by file name."""
    return [read_results(path) for path in sorted(DATA.glob("*.json"))]


@dataclass(frozen=True)
class Point:
    """One kernel of a sweep at one shape. facts: what else a figure must know of the kernel, as JSON has it."""

    name: str
    measurement: Measurement
    facts: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Failure:
    """A kernel of a sweep that could not be measured at a shape, and why, in one line.

    fatal: this process's CUDA context is broken since.
    """

    name: str
    shape: tuple[int, ...]
    says: str
    fatal: bool = False

    def __str__(self) -> str:
        return f"{by(self.shape)} failed: {self.says}"


@dataclass(frozen=True)
class SweepResults:
    """A sweep's results on one GPU.

    complete: there was time for every kernel that fits, at every shape; some may still have failed: failures.
    counters: name of a kernel, or of the baseline, → name of a counter → what it counted.
    facts: of the sweep as a whole, as JSON has them.
    """

    machine: dict[str, Any]
    date: str
    complete: bool
    points: tuple[Point, ...] = ()
    counters: dict[str, dict[str, float]] = field(default_factory=dict)
    failures: tuple[Failure, ...] = ()
    facts: dict[str, Any] = field(default_factory=dict)

    @property
    def gpu(self) -> str:
        return self.machine["gpu"]

    @property
    def baseline(self) -> str:
        """The baseline that the kernels were timed beside."""
        return self.points[0].measurement.baseline

    @property
    def regime(self) -> str:
        """In which regime its kernels were timed."""
        return self.points[0].measurement.regime

    @property
    def known(self) -> set[tuple[str, tuple[int, ...]]]:
        """(name, shape) of all that was measured or has failed."""
        measured = {(point.name, point.measurement.shape) for point in self.points}
        return measured | {(failure.name, failure.shape) for failure in self.failures}

    def extended(self, found: "Point | Failure") -> "SweepResults":
        """With one more kernel at one more shape."""
        if isinstance(found, Failure):
            return replace(self, failures=(*self.failures, found))
        return replace(self, points=(*self.points, found))

    @property
    def names(self) -> list[str]:
        """The kernels, in the order in which they were measured."""
        return list(dict.fromkeys(point.name for point in self.points))

    @property
    def shapes(self) -> list[tuple[int, ...]]:
        """From the smallest on."""
        return sorted({point.measurement.shape for point in self.points})

    def of_kernel(self, name: str) -> list[Point]:
        """Its points, from the smallest shape on."""
        return sorted((p for p in self.points if p.name == name), key=lambda point: point.measurement.shape)

    def at(self, shape: tuple[int, ...]) -> list[Point]:
        """The points of a shape, in the order in which they were measured."""
        return [point for point in self.points if point.measurement.shape == shape]

    def write(self, name: str) -> Path:
        points = [{"name": p.name, **p.facts, **p.measurement.as_json()} for p in self.points]
        data = {"machine": self.machine, "date": self.date, "complete": self.complete, "counters": self.counters}
        data |= {"facts": self.facts} if self.facts else {}
        data |= {"failures": list(map(asdict, self.failures))} if self.failures else {}
        return write_json(sweep_file(self.gpu, name), {**data, "points": points})


def all_sweep_results(name: str) -> list[SweepResults]:
    """A sweep's results on every GPU that it ran on, by file name. Raises NoData if there is none."""
    if found := known_sweeps(name):
        return found
    raise NoData(f"not measured yet: run `tutor sweep {name}` on a machine with a GPU")


def known_sweeps(name: str) -> list[SweepResults]:
    """The same; [] without a measurement."""
    return [read_sweep(path) for path in sorted(SWEEPS.glob(f"*_{name}.json"))]


def read_sweep(path: Path) -> SweepResults:
    data = json.loads(path.read_text(encoding="utf-8"))
    points = tuple(map(read_point, data["points"]))
    failures = tuple(Failure(**{**failure, "shape": tuple(failure["shape"])}) for failure in data.get("failures", ()))
    facts = data.get("facts", {})
    return SweepResults(data["machine"], data["date"], data["complete"], points, data["counters"], failures, facts)


def read_point(data: dict[str, Any]) -> Point:
    measured = {key: value for key, value in data.items() if key in Measurement.__dataclass_fields__}
    facts = {key: value for key, value in data.items() if key not in measured and key != "name"}
    return Point(data["name"], Measurement.from_json(measured), facts)


# Measurements taken before --------------------------------------------------------------------------------------------

RECORDED = "TUTORLIB_RECORDED"  # environment variable: a file of results; grading does not pass it on

LAUNCHES = "launches"  # the cost of launches: `tutor sweep launches`
TORCH = "torch.add"
LATER, DONE, PAIRS = "later calls", "later calls until done", "pairs"

SANITIZER = "sanitizer"  # compute-sanitizer's reports on notebook 21's kernels
TOOLS = ("memcheck", "racecheck", "synccheck", "initcheck")


def recorded(id: str, shape: Shape) -> Measurement | None:
    """The measurement of an exercise at this shape in the file that RECORDED names; None where there is none.

    So a notebook that evidence executes shows what its data holds.
    """
    if not (path := os.environ.get(RECORDED)):
        return None
    found = read_results(Path(path)).exercises.get(id)
    return next((measured for measured in found.measurements if measured.shape == shape), None) if found else None


def recorded_on(machine: dict[str, Any]) -> list[Measurement]:
    """Every measurement of figures/data that was taken on this GPU, with this driver and torch."""

    def build(machine: dict[str, Any]) -> tuple[str | None, ...]:
        return machine["gpu"], machine["driver"], machine["packages"]["torch"]

    files = [json.loads(path.read_text(encoding="utf-8")) for path in (*DATA.glob("*.json"), *SWEEPS.glob("*.json"))]
    ours = [data for data in files if build(data["machine"]) == build(machine)]
    rows = [row for data in ours for result in data.get("exercises", {}).values() for row in result["measurements"]]
    rows += [row for data in ours for row in data.get("points", ())]
    return [read_point({"name": "", **row}).measurement for row in rows]


def records(name: str) -> list[dict[str, Any]]:
    """What was recorded of LAUNCHES or SANITIZER, a dictionary for each GPU."""
    return [json.loads(path.read_text(encoding="utf-8")) for path in sorted(SWEEPS.glob(f"*_{name}.json"))]


# Levers ---------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Stack:
    """A kernel with some levers pulled; levers: None for another kind of kernel.

    base: the nearest kernel measured before it that has one lever less, or None; added: this lever.
    """

    name: str
    levers: frozenset[str] | None
    measured: dict[Shape, Measurement]
    base: "Stack | None" = None
    added: str = ""

    @property
    def depth(self) -> int:
        """The number of kernels that it is built on."""
        return self.base.depth + 1 if self.base else 0

    @property
    def label(self) -> str:
        """As a row of a tree; dots, since HTML strips leading spaces."""
        return f"{'·' * (self.depth - 1)} + {self.added}".strip() if self.base else self.name

    def gain(self, shape: Shape) -> tuple[float, bool] | None:
        """(gain in speed over its base, 0.02 for 2 %, whether it is within noise); None if not measured.

        By the ratios to the baseline, whose times are from the same seconds as the kernel's.
        """
        if self.base is None or shape not in self.base.measured:
            return None
        before, after = self.base.measured[shape], self.measured[shape]
        gain = after.ratio / before.ratio - 1
        return gain, within_noise(gain, before, after)


def stacks_of(swept: SweepResults) -> list[Stack]:
    """The kernels of a sweep of levers in the order in which they were measured."""
    stacks: list[Stack] = []
    for name in swept.names:
        points = swept.of_kernel(name)
        measured = {point.measurement.shape: point.measurement for point in points}
        levers = points[0].facts.get("levers")
        stack = Stack(name, None if levers is None else frozenset(levers), measured)
        for base in reversed(stacks):
            if stack.levers and base.levers is not None and base.levers < stack.levers:
                added, *others = stack.levers - base.levers
                if not others:
                    stack = replace(stack, base=base, added=added)
                    break
        stacks.append(stack)
    return stacks


# Targets --------------------------------------------------------------------------------------------------------------

TARGETS = Path(__file__).with_name("targets.json")


@cache
def load_targets() -> dict[str, dict[str, Any]]:
    return json.loads(TARGETS.read_text(encoding="utf-8")) if TARGETS.exists() else {}


def target_ratio(arch: str, id: str) -> float | None:
    """The calibrated ratio of an exercise on "sm_90"; None if it was never calibrated."""
    return load_targets().get(arch, {}).get("ratios", {}).get(id)


def save_targets(arch: str, machine: dict[str, Any], date: str, ratios: dict[str, float]) -> None:
    """Write the targets of one architecture; the others stay. Exercises not measured now keep their targets."""
    targets = load_targets()
    kept = targets.get(arch, {}).get("ratios", {})
    entry = {
        "gpu": machine["gpu"],
        "driver": machine["driver"],
        "date": date,
        "ratios": dict(sorted({**kept, **ratios}.items())),
    }
    TARGETS.write_text(json.dumps(dict(sorted({**targets, arch: entry}.items())), indent=2) + "\n", encoding="utf-8")
    load_targets.cache_clear()
