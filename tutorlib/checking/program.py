"""Exercises whose answer is the host's part of a C++ program: built whole by nvcc, then run."""

import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tutorlib.checking.cpp import source_of
from tutorlib.checking.exercise import Answer, Exercise, Verdict
from tutorlib.compiling.program import build_program
from tutorlib.machine import device
from tutorlib.machine.features import MMA_SYNC, Feature
from tutorlib.problems.wrong import count
from tutorlib.simulate.cuda_host import NOTICED, RUNTIME

TIME_LIMIT_S = 60
CRASHED = "it crashes: host code can neither read nor write memory of the GPU's"


@dataclass(frozen=True, kw_only=True)
class ProgramExercise(Exercise):
    """An exercise whose answer is a function without parameters that returns C++ source.

    Without a GPU the program is linked with a runtime library that has none (simulate.cuda_host) and that knows one
    kernel alone.

    program: takes that source, gives the whole program's, which is started with a number and prints what it did; its
        exit status is 0 where that was right. numbers: those it is tried with.
    """

    program: Callable[[str], str]
    numbers: tuple[int, ...]
    needs: Feature = MMA_SYNC

    @property
    def points_anywhere(self) -> float:
        return self.points

    def judge(self, answer: Answer) -> Verdict:
        """Raises CompileFailed, ToolMissing, ModuleNotFoundError, WrongKind and the placeholder's error."""
        source = self.program(source_of(answer))
        lacks_gpu = device.why_not(self.needs)
        # The runtime library always looks first: it notices what a GPU keeps to itself.
        wrongs = self.faults(build_program(source, "sm_90", RUNTIME))
        if not wrongs and not lacks_gpu:
            wrongs = self.faults(build_program(source, device.tile_target()))
        if not wrongs:
            return Verdict(self.points)
        right = len(self.numbers) - len(wrongs)
        number, what = next(iter(wrongs.items()))
        lines = (f"{right} of {count(len(self.numbers), 'size')} right", f"n = {number}: {what}.")
        return Verdict(self.points * right / len(self.numbers), lines)

    def faults(self, program: Path) -> dict[int, str]:
        """The numbers at which the program is wrong, and what is."""
        return {number: wrong for number in self.numbers if (wrong := fault([str(program), str(number)]))}


def fault(command: list[str]) -> str:
    """What is wrong with a run of the program, as a clause; "" where nothing is."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=TIME_LIMIT_S, check=False)
    except subprocess.TimeoutExpired:
        return f"it does not end within {TIME_LIMIT_S} s"
    noticed = [line.removeprefix(NOTICED) for line in done.stderr.splitlines() if line.startswith(NOTICED)]
    if done.returncode < 0:
        return noticed[0] if noticed else CRASHED
    if done.returncode:
        printed = done.stdout.strip().splitlines()
        said = "; ".join(printed) or f"it ends with status {done.returncode}"
        return f"{said}. Noticed: {noticed[0]}" if noticed else said
    return f"right, but {noticed[0]}" if noticed else ""
