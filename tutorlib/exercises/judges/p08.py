"""What the process of an answer needs of page 08's exercises."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tutorlib.checking.answer import Served
from tutorlib.checking.evidence import SourceRequest, evidence_of
from tutorlib.checking.exercise import Exercise, Verdict
from tutorlib.checking.randomness import fresh_rng
from tutorlib.exercises.judges.cuda_host import RUNTIME, TIME_LIMIT_S, build_program, run_program
from tutorlib.failure import Difference, Fail, Flaw
from tutorlib.machine import device
from tutorlib.machine.features import MMA_SYNC, Feature
from tutorlib.problems.differences import count

# Exercises whose answer is the host's part of a C++ program: built whole by nvcc, then run.


AGAIN_S = 1  # for each run of a program that did not end before
# A right program loses a point for one of these.
UNASKED = "cudaGetLastError is not called after the launch, so a launch that the GPU refuses goes unnoticed"
LOUD = "it prints to stderr, and no launch has failed"
REFUSED = "where the GPU refuses the launch, the program "
SILENT = "ends as if all went well: it prints nothing to stderr"
UNNAMED = "does not print the error: cudaGetErrorString gives the reason"
LEAKING = "does not free its memory then"
ERRORS = ("no GPU takes the launch", "cudaErrorNoDevice", "100")  # the stand-in's error: in words, by name, as a number
CUT_OFF = "it ends before main writes the sums"


@dataclass(frozen=True, kw_only=True)
class ProgramExercise(Exercise):
    """An exercise whose answer is a function without parameters that returns C++ source: it adds two vectors on a GPU.

    The program first runs with a stand-in for the CUDA runtime library (`cuda_host`): only a launch of the kernel
    brings the results that are right there. Then it runs on the GPU, if there is one.

    program: takes that source, returns the whole program's, which takes a number of elements and a seed as arguments
        and writes the result, an array of float32, to stdout. vectors: what it adds, of the number and the seed.
    numbers: those it is tried with.
    """

    program: Callable[[str], str]
    vectors: Callable[[int, int], tuple[np.ndarray, np.ndarray]]
    numbers: tuple[int, ...]
    needs: Feature = MMA_SYNC

    @property
    def points_anywhere(self) -> float:
        return self.points

    def judge(self, served: Served) -> Verdict:
        """Raises CompileFailed, ToolMissing, WrongKind and the placeholder's error."""
        source = self.program(served.ask(evidence_of, SourceRequest()))
        wrongs = self.faults(build_program(source, "sm_90", RUNTIME), True)
        if not wrongs and not device.why_not(self.needs):
            wrongs = self.faults(build_program(source, device.tile_target()), False)
        if not wrongs and (does := self.when_refused(build_program(source, "sm_90", RUNTIME))):
            return Verdict(self.points - 1, (Flaw(f"right, but {REFUSED}{does}.", Fail.NOTICED),), "partial")
        if not wrongs:
            return Verdict(self.points)
        if {str(wrong) for wrong in wrongs.values()} <= {f"right, but {one}" for one in (UNASKED, LOUD)}:
            return Verdict(self.points - 1, (next(iter(wrongs.values())) + ".",), "partial")
        right = len(self.numbers) - len(wrongs)
        number, what = next(iter(wrongs.items()))
        lines = (f"{right} of {count(len(self.numbers), 'size')} right", f"n = {number}: " + what + ".")
        return Verdict(self.points * right / len(self.numbers), lines)

    def when_refused(self, program: Path) -> str:
        """What it does wrong where there is no GPU to take its launch, as the end of a sentence, or "". One that ends
        with an error frees all.
        """
        run = run_program(program, ("1000", "0"))
        if run.wrong:
            return ""
        if not any(error in run.said for error in ERRORS):
            return UNNAMED if run.said else SILENT
        return LEAKING if run.noticed[1:] else ""

    def faults(self, program: Path, simulated: bool) -> dict[int, str]:
        """The numbers at which the program is wrong, and what is."""
        rng = fresh_rng()
        wrongs, limit_s = {}, TIME_LIMIT_S
        for number in self.numbers:
            seed, key = rng.getrandbits(32), rng.randint(1, 999) if simulated else 0
            a, b = self.vectors(number, seed)
            run = run_program(program, (str(number), str(seed)), key, limit_s)
            limit_s = AGAIN_S if run.endless else limit_s
            noticed = run.noticed[0] if run.noticed else ""
            wanted = a + b + np.float32(key)
            if wrong := run.wrong or wrong_result(run.printed, a + b, wanted):
                wrongs[number] = wrong + f". Noticed: {noticed}" if noticed and noticed != UNASKED else wrong
            elif noticed or run.said:
                wrongs[number] = Flaw(f"right, but {noticed or LOUD}", Fail.NOTICED)
        return wrongs


def wrong_result(printed: bytes, sums: np.ndarray, wanted: np.ndarray) -> str:
    """The fault in the end of what a program printed, as a clause; "" where nothing is.

    sums: of the vectors. wanted: what the GPU at hand makes of them.
    """
    if len(printed) < sums.nbytes:
        return CUT_OFF
    got = np.frombuffer(printed[-sums.nbytes :], sums.dtype)
    off = np.flatnonzero(got != wanted)
    if not off.size:
        return ""
    at = off[0]
    if got[at] == sums[at]:
        return f"c[{at}] is a[{at}] + b[{at}], but no launch of vector_add computed it"
    is_, should = f"{got[at]:g}", f"{sums[at]:g}"
    return Flaw(f"c[{at}] is {is_} and should be {should}", Difference.WRONG(got=is_, want=should))
