"""Exercises whose answer is a CUDA Tile C++ kernel, written as a string that a function returns."""

import sys
import tempfile
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from tutorlib import device
from tutorlib.bench import Call
from tutorlib.compile import CompileFailed
from tutorlib.counters import NoCounters, count
from tutorlib.exercise import Answer, Outcome, Unwritten, attempt
from tutorlib.kernel import KernelExercise
from tutorlib.launch import Work
from tutorlib.problem import Problem, Shape
from tutorlib.tile_cpp import CompiledCpp, Grid, ToolMissing, compile_cpp, loaded, target, wrong_parameters

INSPECTED = "sm_90"  # what an answer is compiled for, on every machine, to look at what the compiler made of it


@dataclass(frozen=True, kw_only=True)
class CppExercise(KernelExercise):
    """An exercise whose answer is a function without parameters that returns the source of one tile kernel.

    The kernel takes the problem's tensors, the output last, as pointers, then the problem's sizes as integers.
    Every machine compiles it for Hopper and looks at the code; one with a GPU then runs and times it.

    grid: takes a shape, gives the number of tile blocks along x, y and z.
    tma: whether every load and store of a tile must go by TMA.
    spills: whether the code may use local memory, where registers go that a thread has no room for.
    """

    grid: Callable[[Shape], Grid]
    tma: bool = False
    spills: bool = True

    def grade(self, answer: Answer) -> Outcome:
        """Compile the answer and look at it; run it on every shape and time it, where there is a GPU."""
        if not callable(answer):
            return self.failed(f"{answer!r} is not a function that returns the source.")
        try:
            source, wrong = attempt(answer, ())
            if wrong:
                return self.failed(wrong.what)
            if not isinstance(source, str):
                return self.failed(f"it should return the source, a string; it returns {source!r}.")
            if lacks := self.wrong_code(compile_cpp(source, INSPECTED)):
                return self.failed(lacks)
            if reason := device.why_not(self.needs):
                message = f"– {self.id} {self.title}: compiled for {INSPECTED}; not run: {reason}"
                return self.outcome("not_run", 0, message)
            return self.run(source)
        except Unwritten:
            return self.failed("not written yet")
        except CompileFailed as error:
            return self.failed("it does not compile.", str(error))
        except (ToolMissing, ModuleNotFoundError) as error:
            return self.outcome("not_run", 0, f"– {self.id} {self.title}: not run: {error}")

    def wrong_code(self, compiled: CompiledCpp) -> str | None:
        """What the compiled kernel lacks or has too much of, or None."""
        if misfit := wrong_parameters(compiled, len(self.problem.operands), len(self.problem.dims)):
            return misfit + "."
        if lacks := self.wrong_instructions(compiled.instructions):
            return lacks
        if self.tma and any(remark.text.startswith("Failed to select TMA") for remark in compiled.remarks):
            return (
                f"it compiles, but not every load and store goes by TMA. The compiler's remarks:\n{compiled.remarked}"
            )
        if compiled.stack_bytes and not self.spills:
            return f"it compiles, but a thread keeps {compiled.stack_bytes:,} bytes of its tile in local memory."
        return None

    def launcher(self, source: str) -> "CppLauncher":
        return CppLauncher(compile_cpp(source, target()), self.grid)


@dataclass(frozen=True)
class CppLauncher:
    """A Tile C++ kernel, compiled for the GPU at hand."""

    compiled: CompiledCpp
    grid: Callable[[Shape], Grid]

    def on(self, work: Work) -> Call:
        """A call of the kernel on these tensors."""
        return loaded(self.compiled, self.grid(work.shape), (*work.tensors, *work.shape))


def race(problem: Problem, shape: Shape, sources: dict[str, tuple[str, Callable[[Shape], Grid]]]) -> None:
    """Print what the compiler made of each source for Hopper; with a GPU, also its speed beside the baseline's.

    sources: title → source and grid. Raises CompileFailed, WrongWhenTimed and KernelFault.
    """
    reason = device.why_not("80")
    with ThreadPoolExecutor() as pool:
        list(pool.map(lambda pair: compile_cpp(pair[0], INSPECTED), sources.values()))
    for title, (source, grid) in sources.items():
        compiled = compile_cpp(source, INSPECTED)
        tma = "   TMA" if "cp.async.bulk.tensor" in compiled.instructions else "no TMA"
        line = (
            f"{title:28} {compiled.threads} threads, {compiled.registers:3} registers, "
            f"{compiled.stack_bytes:5,} bytes of stack, {tma}"
        )
        if not reason:
            trial = CppExercise(id="", title=title, points=0, problem=problem, shapes=(), grid=grid)
            measured = trial.measure(trial.launcher(source), shape, device.gpu())
            line += f"  {measured.median_us:8.1f} µs, {measured.ratio:.2f} of {measured.baseline}"
        print(line)
    if reason:
        print(f"their speed: not run: {reason}")


COUNTED = {  # title → metric
    "threads": "launch__block_size",  # of a block
    "µs": "gpu__time_duration.sum",
    "% of peak": "sm__throughput.avg.pct_of_peak_sustained_elapsed",  # of the SMs' busiest part
    "stalled": "smsp__average_warps_issue_stalled_long_scoreboard_per_issue_active.ratio",  # warps that wait for memory
}


def profile(sources: dict[str, tuple[str, str]]) -> None:
    """Print what Nsight Compute counts of each source, launched as an exercise launches its answer to time it.

    sources: title → the exercise's id and the source. Where nothing can be counted, a line says why.
    """
    if reason := device.why_not("80"):
        print(f"not counted: {reason}")
        return
    with tempfile.TemporaryDirectory() as folder:
        pairs = []
        for n, (id, source) in enumerate(sources.values()):
            file = Path(folder) / f"{n}.cu"
            file.write_text(source, encoding="utf-8")
            pairs += [id, str(file)]
        try:
            counted = count([sys.executable, "-m", __name__, *pairs], tuple(COUNTED.values()), "gemm")
        except NoCounters as error:
            print(f"not counted: {error}")
            return
    print(f"{'':28}{''.join(f'{name:>12}' for name in COUNTED)}")
    for title, found in zip(sources, counted, strict=True):
        values = dict(zip(COUNTED, found.values(), strict=True))
        values["µs"] /= 1000
        print(f"{title:28}{''.join(f'{value:12,.1f}' for value in values.values())}")


def launch_each(arguments: Sequence[str]) -> None:
    """Launch sources once each, for a profiler to watch: an exercise's id and a file, and so on in turns."""
    import torch

    from tutorlib.exercises import find

    for id, file in zip(arguments[::2], arguments[1::2], strict=True):
        exercise = find(id)
        work = Work(exercise.problem, exercise.bench_shape)
        compiled = compile_cpp(Path(file).read_text(encoding="utf-8"), target())
        CppLauncher(compiled, exercise.grid).on(work)()
        torch.cuda.synchronize()


if __name__ == "__main__":
    launch_each(sys.argv[1:])
