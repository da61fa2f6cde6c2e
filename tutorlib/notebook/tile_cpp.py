"""Tile C++ kernels beside each other in a notebook: what the compiler made of them, and their speed; programs."""

import sys
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, cast

from tutorlib.checking.cpp import INSPECTED, CppExercise
from tutorlib.checking.exercise import is_placeholder
from tutorlib.compiling.compiled import Compiled
from tutorlib.compiling.cpp import compile_cpp
from tutorlib.compiling.program import command
from tutorlib.exercises import find
from tutorlib.kernels.cpp.gemm import Variant
from tutorlib.kernels.cpp.program import program
from tutorlib.machine import device
from tutorlib.notebook.measured import NBSP, show_sweep
from tutorlib.problems.work import Work

if TYPE_CHECKING:
    from pandas import DataFrame


def race(sources: "Mapping[str, str | Variant]", sweep: str, **counters: str) -> "DataFrame":
    """What the compiler made of each source for Hopper, and beside it what a sweep measured of it on each GPU.

    sources: title → source; the sweep's points have these names. counters: as `show_sweep` takes them.
    Where nothing was measured, a line says so. Raises CompileFailed.
    """
    import pandas

    texts = {title: source if isinstance(source, str) else source.source for title, source in sources.items()}
    with ThreadPoolExecutor() as pool:
        compiled = dict(zip(texts, pool.map(lambda text: compile_cpp(text, INSPECTED), texts.values()), strict=True))
    said = pandas.DataFrame.from_dict({title: report(one) for title, one in compiled.items()}, orient="index")
    measured = show_sweep(sweep, **counters)
    both = {f"compiled for {INSPECTED}": said}
    if measured is not None:
        both |= {gpu: measured[gpu] for gpu in dict.fromkeys(measured.columns.get_level_values(0))}
    table = pandas.concat(both, axis="columns").fillna("")
    return table.rename(index=lambda title: title.replace("  ", 2 * NBSP))


def report(compiled: Compiled) -> dict[str, object]:
    return {
        "registers": compiled.registers,
        "stack": f"{compiled.stack_bytes:,}",
        "loads by": "TMA" if "cp.async.bulk.tensor" in compiled.instructions else "threads",
    }


def write_program(name: str, kernel: Callable[[], str], host: Callable[[], str]) -> None:
    """Write vector_add's and add_on_gpu's sources with a main into a file here, and print the line that builds it.

    Where one of them is not written yet, a line says so.
    """
    try:
        source = program(kernel(), host())
    except NotImplementedError as error:
        if not is_placeholder(error):
            raise
        print(f"no {name} yet: {error} is not written")
        return
    Path(name).write_text(source, encoding="utf-8")
    arch = device.tile_target() if device.gpu() else INSPECTED
    stem = Path(name).stem
    print(f"{len(source.splitlines())} lines in {name}. It is built and started with")
    print("   ", " ".join(command(name, stem, arch)))
    print(f"    ./{stem} 1000000")


def launch_each(arguments: Sequence[str]) -> None:
    """Launch sources once each, for a profiler to watch: an exercise's id and a file, and so on in turns."""
    import torch

    for id, file in zip(arguments[::2], arguments[1::2], strict=True):
        exercise = cast(CppExercise, find(id))
        work = Work(exercise.problem, exercise.sizes[-1])
        exercise.launcher(Path(file).read_text(encoding="utf-8")).on(work)()
        torch.cuda.synchronize()


if __name__ == "__main__":
    launch_each(sys.argv[1:])
