"""The cost of compiling, stage by stage, and of launching: measured on the reader's machine, and as recorded.

Compiling needs no GPU: the stages are the DSL's own.
"""

import os
import re
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import SimpleNamespace
from typing import IO, TYPE_CHECKING, Any
from unittest import mock

from tutorlib.compiling.dsls import with_reader_line
from tutorlib.measuring.results import DONE, LATER, LAUNCHES, PAIRS, READY, TORCH, records

if TYPE_CHECKING:
    from pandas import DataFrame

STAGES = {"trace": "tracing", "lower": "lowering", "machine_code": "machine code", "host_code": "host code"}


def show_stages(name: str, host: Callable[..., None], *args: Any, arch: str = "sm_90a") -> "Stages":
    """Compile a @cute.jit function for a target now, and print the time of each stage."""
    _, stages = compile_in_stages(host, *args, options=f"--gpu-arch {arch}")
    parts = [f"{said} {host_time(getattr(stages, part))}" for part, said in STAGES.items() if getattr(stages, part, 0)]
    print(f"{name}: {', '.join(parts)}")
    return stages


def host_time(us: float) -> str:
    """Microseconds in a readable unit: "242 ms", "7.4 ms", "8.9 µs", "0.12 µs"."""
    if us >= 1e4:
        return f"{us / 1000:,.0f} ms"
    if us >= 100:
        return f"{us / 1000:,.1f} ms"
    return f"{us:.1f} µs" if us >= 1 else f"{us:.2f} µs"


def show_later_calls(gpu: str = "") -> "DataFrame | None":
    """The cost of a launch in each way of keeping the kernel, beside torch's own, for each GPU of this name.

    host: host time; until done: until the GPU is done, in a sequence of many launches.
    """
    import pandas

    tables = {
        name: pandas.DataFrame.from_dict(later_rows(found), orient="index") for name, found in recorded(LATER, gpu)
    }
    return pandas.concat(tables, axis="columns").fillna("") if tables else None


def recorded(part: str, gpu: str = "") -> list[tuple[str, dict[str, Any]]]:
    """(GPU and date, recording of launches) of each that has this part; a line where none has."""
    found = [
        (f"{recording['machine']['gpu']}, {recording['date']}", recording)
        for recording in records(LAUNCHES)
        if part in recording and gpu in recording["machine"]["gpu"]
    ]
    if not found:
        print("Nothing was recorded yet: run `tutor sweep launches` on a machine with a GPU.")
    return found


def later_rows(found: dict[str, Any]) -> dict[str, dict[str, str]]:
    rows = {}
    for way, us in found[LATER].items():
        factor = us / found[LATER][TORCH]
        rows[way] = {"host": host_time(us), f"of {TORCH}": f"×{float(f'{factor:.2g}'):,g}"}
        if us := found.get(DONE, {}).get(way):
            rows[way]["until done"] = host_time(us)
    return rows


def show_pairs(gpu: str = "") -> None:
    """The time of two kernels that depend on each other, by the way in which the second is launched."""
    for name, found in recorded(PAIRS, gpu):
        print(f"{name.partition(',')[0]}, µs of two kernels")
        for way, times in found[PAIRS].items():
            print(f"  {way:36}", ", ".join(f"{where} {us:.2f}" for where, us in times.items()))


def show_new_processes(gpu: str = "") -> None:
    """The time until a kernel is ready in a new process: compiled, and loaded from a file."""
    for name, found in recorded(READY, gpu):
        print(f"{name}: {', '.join(f'{how} {host_time(us)}' for how, us in found[READY].items())}")


# Stages of a compilation ---------------------------------------------------------------------------------------------

TO_MACHINE_CODE = "CudaToBinaryPass"  # the pass that has LLVM write PTX and ptxas assemble it
HOST_CODE = ("jit", "_lookup_jit_entry")  # the steps that make machine code for the CPU


@dataclass(frozen=True)
class Stages:
    """The times of one compilation, in µs.

    trace: your Python is executed and recorded as IR. lower: the compiler's passes over the IR.
    machine_code: the last of them, LLVM and ptxas. host_code: machine code for the CPU, which makes the launch; 0
    where no CPU is going to call it.
    """

    trace: float
    lower: float
    machine_code: float
    host_code: float


def compile_in_stages(host: Callable[..., None], *args: Any, options: str = "") -> tuple[Any, Stages]:
    """cute.compile(host, *args), with its times. Raises CompileFailed and a placeholder's error."""
    from cutlass import cute

    with timed_steps() as spent:
        start = time.perf_counter()
        compiled = with_reader_line(lambda more: cute.compile(host, *args, options=f"{options} {more}".strip()))
        whole = time.perf_counter() - start
    passes, machine_code, host_code = spent["compile"], spent[TO_MACHINE_CODE], sum(spent[step] for step in HOST_CODE)
    seconds = (whole - passes - host_code, passes - machine_code, machine_code, host_code)
    return compiled, Stages(*(1e6 * stage for stage in seconds))


@contextmanager
def timed_steps() -> Iterator[dict[str, float]]:
    """The seconds of CuTe's compilations in the block by step, known when the block ends.

    Steps: "compile", all passes over the IR; TO_MACHINE_CODE, one of these; HOST_CODE.
    """
    from cutlass.cutlass_dsl import CuTeDSL

    dsl, spent = CuTeDSL._get_dsl(), {TO_MACHINE_CODE: 0.0}
    compiler = dsl.compiler_provider
    parse = compiler.passmanager.PassManager.parse

    def reporting(pipeline: str) -> Any:
        """A pass manager that has MLIR report each pass's time."""
        made = parse(pipeline)
        made.enable_timing()
        return made

    def stopwatch(owner: Any, name: str) -> Any:
        step, spent[name] = getattr(owner, name), 0.0

        def measured(*args: Any, **options: Any) -> Any:
            start = time.perf_counter()
            try:
                return step(*args, **options)
            finally:
                spent[name] += time.perf_counter() - start

        return mock.patch.object(owner, name, measured)

    with (
        tempfile.TemporaryFile() as report,
        error_output_to(report),
        stopwatch(compiler, "compile"),
        stopwatch(compiler, "jit"),
        stopwatch(dsl, "_lookup_jit_entry"),
        mock.patch.object(compiler, "passmanager", SimpleNamespace(PassManager=SimpleNamespace(parse=reporting))),
    ):
        try:
            yield spent
        finally:
            report.seek(0)
            said = report.read().decode(errors="replace")
            for seconds, name in re.findall(r"(?m)^ +([\d.]+) \( *[\d.]+%\) +(\S+)$", said):
                if name in spent:
                    spent[name] += float(seconds)


@contextmanager
def error_output_to(file: IO[bytes]) -> Iterator[None]:
    """Redirects file descriptor 2, C++'s output included, to a file in the block."""
    sys.stderr.flush()
    kept = os.dup(2)
    os.dup2(file.fileno(), 2)
    try:
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
