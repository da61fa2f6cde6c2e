"""`tutor doctor`: this machine's GPU and packages, what is missing, what it can grade, and the next step."""

from collections.abc import Iterator
from dataclasses import dataclass

from tutorlib.machine import device
from tutorlib.machine.features import MMA_SYNC, TCGEN05, TMA, WGMMA
from tutorlib.notebook.standing import best, course_of, heads

KINDS = {MMA_SYNC: "Ampere kernels", TMA: "kernels with TMA", WGMMA: "Hopper kernels", TCGEN05: "Blackwell kernels"}
INSTALL = 'install the course\'s packages again: pip install -e ".[dev]"'


@dataclass(frozen=True)
class Line:
    """One finding. bad: something to fix."""

    what: str
    says: str
    bad: bool = False


def report() -> list[Line]:
    """Findings, from the GPU to the exercises that can be graded, and the next step."""
    lines = list(findings())
    return [*lines, Line("next", next_step(lines))]


def findings() -> Iterator[Line]:
    found = device.gpu()
    if found:
        driver = f"driver {found.driver or 'unknown'}"
        memory = f"{found.memory / 2**30:.0f} GiB"
        yield Line("GPU", f"{found.name}, sm_{found.arch}, {found.sms} SMs, {memory}, {driver}")
    else:
        yield Line("GPU", device.obstacle(), bad=device.obstacle() != device.NO_GPU)
    versions = device.packages()
    yield Line("packages", ", ".join(f"{name} {version}" for name, version in versions.items() if version))
    for name, version in versions.items():
        if not version:
            yield Line("packages", f"{name} is missing: {INSTALL}", bad=True)
    yield Line("grades", "layouts (00, 01, 03, 04): everything")
    for feature, kernels in KINDS.items():
        reason = device.why_not(feature)
        graded = f"results, in the simulator; not speed ({reason})" if reason else "results and speed"
        yield Line("grades", f"{kernels}: {graded}")


def next_step(lines: list[Line]) -> str:
    """The one thing to do now: repair the first bad line, or go on with the next exercise."""
    if bad := next((line for line in lines if line.bad), None):
        return f"repair the line {bad.what!r} above, then run `tutor doctor` again"
    if (following := course_of(best(), heads()).next) is None:
        return "all that this machine can grade is solved; `tutor grade notebooks` grades the notebooks as they are now"
    notebook, exercise = following
    return f"{exercise.id} {exercise.title} in {notebook.head.title}; `make lab` opens the contents page"
