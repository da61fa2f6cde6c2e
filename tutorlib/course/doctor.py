"""`tutor doctor`: this machine's GPU and packages, what is missing, what it can grade, and the next step."""

from dataclasses import dataclass
from typing import Any

from tutorlib.checking.kernel import SIMULATED
from tutorlib.machine import device
from tutorlib.machine.features import MMA_SYNC, TCGEN05, TMA, WGMMA
from tutorlib.measuring import results
from tutorlib.notebook.standing import NoRecord, best, course_of, heads
from tutorlib.problems.work import RESTART

KINDS = {MMA_SYNC: "Ampere kernels", TMA: "kernels with TMA", WGMMA: "Hopper kernels", TCGEN05: "Blackwell kernels"}
SIMULATION = "results, in the simulator; not speed"
INSTALL = 'install the course\'s packages again: pip install -e ".[dev]"'


@dataclass(frozen=True)
class Line:
    """One finding. bad: something to fix."""

    what: str
    says: str
    bad: bool = False


def report() -> list[Line]:
    """Findings, from the GPU to the exercises that can be graded, and the next step."""
    found = device.gpu()
    lines = [gpu_line(found)]
    lines += package_lines(device.packages())
    if found:
        broken = device_answers()
        lines.append(Line("context", broken or "the GPU computes correctly", bool(broken)))
    lines += [Line("grades", text) for text in gradable(found)]
    lines += targets_line(found)
    return [*lines, Line("next", next_step(lines))]


def next_step(lines: list[Line]) -> str:
    """The one thing to do now: repair the first bad line, or go on with the next exercise."""
    if bad := next((line for line in lines if line.bad), None):
        return f"repair the line {bad.what!r} above, then run `tutor doctor` again"
    try:
        following = course_of(best(), heads()).next
    except NoRecord as error:
        return f"repair the record of your points, which cannot be read: {error}"
    if following is None:
        return "all that this machine can grade is solved; `tutor grade notebooks` grades the notebooks as they are now"
    notebook, exercise = following
    return f"{exercise.id} {exercise.title} in {notebook.head.title}; `make lab` opens the contents page"


def gpu_line(found: device.GPU | None) -> Line:
    if found is None:
        obstacle = device.obstacle()
        return Line("GPU", obstacle, bad=obstacle != device.NO_GPU)
    memory = f"{found.memory / 2**30:.0f} GiB"
    driver = f"driver {found.driver}" if found.driver else "driver unknown"
    return Line("GPU", f"{found.name}, sm_{found.arch}, {found.sms} SMs, {memory}, {driver}")


def package_lines(versions: dict[str, str | None]) -> list[Line]:
    there = ", ".join(f"{name} {version}" for name, version in versions.items() if version)
    missing = [
        Line("packages", f"{name} is missing: {INSTALL}", True) for name, version in versions.items() if not version
    ]
    return [Line("packages", there), *missing]


def device_answers() -> str | None:
    """None if the GPU adds two numbers correctly, else the error in one line."""
    import torch

    try:
        if (torch.ones(2, device="cuda") + 1).tolist() == [2.0, 2.0]:
            return None
        return "the GPU gives a wrong result: 1 + 1 is not 2"
    except RuntimeError as error:
        return f"{str(error).splitlines()[0]}. {RESTART}"


def gradable(found: device.GPU | None) -> list[str]:
    """The exercises that can be graded here, by the feature that they need."""
    kinds: dict[str, list[str]] = {}  # what is graded → kinds of kernels, which share a line
    for feature, kernels in KINDS.items():
        reason = device.why_not(feature)
        elsewhere = SIMULATION if feature in SIMULATED else "compiled and inspected; neither results nor speed"
        kinds.setdefault(f"{elsewhere} ({reason})" if reason else "results and speed", []).append(kernels)
    return ["layouts (00 to 03): everything", *(f"{', '.join(kernels)}: {what}" for what, kernels in kinds.items())]


def targets_line(found: device.GPU | None) -> list[Line]:
    if not found:
        return []
    entry: dict[str, Any] | None = results.load_targets().get(f"sm_{found.arch}")
    if entry:
        return [Line("targets", f"sm_{found.arch}: calibrated on {entry['date']} on {entry['gpu']}")]
    return [
        Line("targets", f"sm_{found.arch}: none, so speed is shown but not graded; `tutor calibrate` measures them")
    ]
