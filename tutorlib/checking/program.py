"""Exercises whose answer is the host's part of a C++ program: built whole by nvcc, then run."""

import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import numpy as np

from tutorlib.checking.chance import fresh_dice
from tutorlib.checking.cpp import source_of
from tutorlib.checking.exercise import Answer, Exercise, Verdict
from tutorlib.checking.leaning import Elsewhere
from tutorlib.compiling.outside import OVER_DISK, OVER_MEMORY
from tutorlib.compiling.program import build_program
from tutorlib.machine import device
from tutorlib.machine.features import MMA_SYNC, Feature
from tutorlib.problems.wrong import count
from tutorlib.simulate.cuda_host import NOTICED, RUNTIME

TIME_LIMIT_S = 60  # for a run; a right one takes less than one
AGAIN_S = 5  # for each run of a program that did not end before
MOST_PRINTED = 2**22  # bytes
TOO_MUCH = {
    OVER_MEMORY: "it uses more memory than a program may",
    OVER_DISK: "it writes more to disk than a program may",
}
CRASHED = "it crashes: host code can neither read nor write memory of the GPU's"


@dataclass(frozen=True, kw_only=True)
class ProgramExercise(Exercise):
    """An exercise whose answer is a function without parameters that returns C++ source.

    Without a GPU the program is linked with a runtime library that has none (simulate.cuda_host) and that knows one
    kernel alone.

    program: takes that source, gives the whole program's, which is started with a number and prints what it did; its
        exit status is 0 where that was right. numbers: those it is tried with.
    judged: as `program`, for an answer of another process: reads a number, a seed and a noise, and writes an array of
        float32, which must be `sums` (of the number and the seed), and the noise more where there is no GPU.
    """

    program: Callable[[str], str]
    judged: Callable[[str], str]
    sums: Callable[[int, int], np.ndarray]
    numbers: tuple[int, ...]
    needs: Feature = MMA_SYNC

    @property
    def points_anywhere(self) -> float:
        return self.points

    def judge(self, answer: Answer) -> Verdict:
        """Raises CompileFailed, ToolMissing, ModuleNotFoundError, WrongKind and the placeholder's error."""
        far = isinstance(answer, Elsewhere)
        source = (self.judged if far else self.program)(source_of(answer))
        faults = self.faults_judged if far else self.faults
        lacks_gpu = device.why_not(self.needs)
        # The runtime library always looks first: it notices what a GPU keeps to itself.
        wrongs = faults(build_program(source, "sm_90", RUNTIME), True)
        if not wrongs and not lacks_gpu:
            wrongs = faults(build_program(source, device.tile_target()), False)
        if not wrongs:
            return Verdict(self.points)
        right = len(self.numbers) - len(wrongs)
        number, what = next(iter(wrongs.items()))
        lines = (f"{right} of {count(len(self.numbers), 'size')} right", f"n = {number}: {what}.")
        return Verdict(self.points * right / len(self.numbers), lines)

    def faults(self, program: Path, simulated: bool) -> dict[int, str]:
        """The numbers at which the program is wrong, and what is."""
        wrongs, limit_s = {}, TIME_LIMIT_S
        for number in self.numbers:
            run = run_of([str(program), str(number)], limit_s=limit_s)
            limit_s = AGAIN_S if run.endless else limit_s
            if run.wrong:
                wrongs[number] = run.wrong
        return wrongs

    def faults_judged(self, program: Path, simulated: bool) -> dict[int, str]:
        """As `faults`, of what it writes. A GPU that is none adds a noise, so that nothing else's sums are right."""
        dice = fresh_dice()
        wrongs, limit_s = {}, TIME_LIMIT_S
        for number in self.numbers:
            seed, noise = dice.getrandbits(32), dice.randint(1, 1000) * simulated
            with around(program) as command:
                run = run_of(command, f"{number} {seed} {noise}", limit_s)
            limit_s = AGAIN_S if run.endless else limit_s
            sums = self.sums(number, seed) + np.float32(noise)
            got = np.frombuffer(run.printed[-sums.nbytes :].ljust(sums.nbytes), sums.dtype)
            if run.wrong:
                wrongs[number] = run.wrong
            elif (off := np.flatnonzero(got != sums)).size:
                wrongs[number] = f"c[{off[0]}] is {got[off[0]]:g} and should be {sums[off[0]]:g}"
        return wrongs


@dataclass(frozen=True)
class ProgramRun:
    """wrong: what is, as a clause; "" where nothing is. printed: to stdout."""

    wrong: str
    printed: bytes
    endless: bool = False


Around = Callable[[Path], AbstractContextManager[list[str]]]


@contextmanager
def unwalled(program: Path) -> Iterator[list[str]]:
    yield [str(program)]


around: Around = unwalled


def put_behind(wall: Around) -> None:
    """From now on the programs of other processes' answers run where this says.

    wall: takes a program, gives the command that runs it, as long as it is entered.
    """
    global around
    around = wall


def run_of(command: list[str], told: str = "", limit_s: int = TIME_LIMIT_S) -> ProgramRun:
    """A run of the program. told: what it finds on stdin."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as error:
        try:
            done = subprocess.run(command, input=told.encode(), stdout=out, stderr=error, timeout=limit_s, check=False)
        except subprocess.TimeoutExpired:
            return ProgramRun(f"it does not end within {limit_s} s", b"", True)
        printed, said = (read_all(file) for file in (out, error))
    return ProgramRun(wrong_with(done.returncode, printed, said.decode(errors="replace")), printed)


def read_all(file: IO[bytes]) -> bytes:
    file.seek(0)
    return file.read(MOST_PRINTED)


def wrong_with(status: int, printed: bytes, errors: str) -> str:
    """What is wrong with a run that ended so."""
    noticed = [line.removeprefix(NOTICED) for line in errors.splitlines() if line.startswith(NOTICED)]
    if status in TOO_MUCH:
        return TOO_MUCH[status]
    if status < 0 or status > 128:  # of a signal; a wall tells it so
        return noticed[0] if noticed else CRASHED
    if status:
        words = "; ".join(printed.decode(errors="replace").strip().splitlines()) or f"it ends with status {status}"
        return f"{words}. Noticed: {noticed[0]}" if noticed else words
    return f"right, but {noticed[0]}" if noticed else ""
