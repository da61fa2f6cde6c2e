"""What the process of an answer needs of page 08's exercises."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tutorlib.checking.cuda_host import RUNTIME, program_run
from tutorlib.checking.cuda_host.gpu import AddingGpu
from tutorlib.checking.cuda_host.program import build_program
from tutorlib.checking.evidence import SourceRequest, evidence_of, used
from tutorlib.checking.exercise import Exercise, Verdict
from tutorlib.checking.randomness import fresh_rng
from tutorlib.checking.served import Served
from tutorlib.failure import Difference, Fail, Flaw
from tutorlib.machine import device
from tutorlib.machine.features import MMA_SYNC, Feature
from tutorlib.problems.differences import count

# Exercises whose answer is the host's part of a C++ program: built whole by nvcc, then run.


AGAIN_S = 1  # for each run of a program that did not end before
# A right program loses a point for one of these.
UNASKED = "cudaGetLastError is not called after the launch, so a launch that the GPU refuses goes unnoticed"
MOVED = "cudaMemcpy and cudaMemset "  # more often than needed: the beginning of what is noticed
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

    The program first runs with a stand-in for the CUDA runtime library and a GPU that is another process
    (checking.cuda_host): only a launch of the kernel brings the results that are right there. Then it runs on the GPU,
    if there is one.

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
        source = self.program(used(served.ask(evidence_of, SourceRequest()), str))
        wrongs = self.faults(build_program(source, "sm_90", RUNTIME), True)
        if not wrongs and not device.why_not(self.needs):
            wrongs = self.faults(build_program(source, device.tile_target()), False)
        if not wrongs and (does := self.when_refused(build_program(source, "sm_90", RUNTIME))):
            return Verdict(self.points - 1, (Flaw(f"right, but {REFUSED}{does}.", Fail.NOTICED),), "partial")
        if not wrongs:
            return Verdict(self.points)
        if all(
            wrong.startswith(tuple(f"right, but {one}" for one in (UNASKED, MOVED, LOUD))) for wrong in wrongs.values()
        ):
            return Verdict(self.points - 1, (next(iter(wrongs.values())) + ".",), "partial")
        right = len(self.numbers) - len(wrongs)
        number, what = next(iter(wrongs.items()))
        lines = (f"{right} of {count(len(self.numbers), 'size')} right", f"n = {number}: " + what + ".")
        return Verdict(self.points * right / len(self.numbers), lines)

    def when_refused(self, program: Path) -> str:
        """What it does wrong where there is no GPU to take its launch, as the end of a sentence, or "". One that ends
        with an error frees all.
        """
        with program_run.command_for(program) as command:
            run = program_run.run_of([*command, "1000", "0"], None)
        if run.wrong:
            return ""
        if not any(error in run.said for error in ERRORS):
            return UNNAMED if run.said else SILENT
        return LEAKING if run.later else ""

    def faults(self, program: Path, simulated: bool) -> dict[int, str]:
        """The numbers at which the program is wrong, and what is."""
        rng = fresh_rng()
        wrongs, limit_s = {}, program_run.TIME_LIMIT_S
        for number in self.numbers:
            seed = rng.getrandbits(32)
            a, b = self.vectors(number, seed)
            gpu = AddingGpu(a, b, rng.getrandbits(64)) if simulated else None
            with program_run.command_for(program) as command:
                run = program_run.run_of([*command, str(number), str(seed)], gpu, limit_s)
            limit_s = AGAIN_S if run.endless else limit_s
            if wrong := run.wrong or wrong_result(run.printed, a + b, gpu.add(a, b) if gpu else a + b):
                more = run.noticed and run.noticed != UNASKED
                wrongs[number] = wrong + f". Noticed: {run.noticed}" if more else wrong
            elif noticed := run.noticed or (LOUD if run.said else ""):
                wrongs[number] = Flaw(f"right, but {noticed}", Fail.NOTICED)
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
