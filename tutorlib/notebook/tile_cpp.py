"""Tile C++ kernels in a notebook: resources and speed side by side, and programs of one's own."""

from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

from tutorlib.checking.cpp import INSPECTED
from tutorlib.checking.cuda_host import command
from tutorlib.checking.exercise import is_placeholder
from tutorlib.compiling.compiled import Compiled
from tutorlib.compiling.cpp import compile_cpp
from tutorlib.kernels.cpp import Variant, program
from tutorlib.machine import device
from tutorlib.notebook.measured import NBSP, show_sweep

if TYPE_CHECKING:
    from pandas import DataFrame


def race(sources: "Mapping[str, str | Variant]", sweep: str, **counters: str) -> "DataFrame":
    """Each source compiled for Hopper, and beside it the measurements of a sweep on each GPU.

    sources: title → source; the sweep's points have these names. counters: as `show_sweep` takes them.
    If nothing was measured, it prints a line that says so. Raises CompileFailed.
    """
    import pandas

    texts = {title: source if isinstance(source, str) else source.source for title, source in sources.items()}
    with ThreadPoolExecutor() as pool:
        compiled = dict(zip(texts, pool.map(lambda text: compile_cpp(text, INSPECTED), texts.values()), strict=True))
    said = pandas.DataFrame.from_dict({title: resources_of(one) for title, one in compiled.items()}, orient="index")
    measured = show_sweep(sweep, **counters)
    both = {f"compiled for {INSPECTED}": said}
    if measured is not None:
        both |= {gpu: measured[gpu] for gpu in dict.fromkeys(measured.columns.get_level_values(0))}
    table = pandas.concat(both, axis="columns").fillna("")
    return table.rename(index=lambda title: title.replace("  ", 2 * NBSP))


def resources_of(compiled: Compiled) -> dict[str, str]:
    return {
        "registers": str(compiled.registers),
        "stack": f"{compiled.stack_bytes:,}",
        "loads by": "TMA" if "cp.async.bulk.tensor" in compiled.instructions else "threads",
    }


def write_program(name: str, kernel: Callable[[], str], host: Callable[[], str]) -> None:
    """Write the sources of vector_add and add_on_gpu with a main to a file, and print the command that builds it.

    If one of them is not written yet, a line says so.
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
    print(f"{len(source.splitlines())} lines in {name}. Build and start it with")
    print("   ", " ".join(command(name, stem, arch)))
    print(f"    ./{stem} 1000000")
