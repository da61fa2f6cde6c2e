"""The time of a compilation, stage by stage; the DSL's own stages, so no GPU is needed."""

import os
import re
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from unittest import mock

from tutorlib.compiling.cute import with_reader_line

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

    @property
    def compile(self) -> float:
        """All that comes after the tracing."""
        return self.lower + self.machine_code + self.host_code


def compile_in_stages(host: Callable[..., None], *args: Any, options: str = "") -> tuple[Any, Stages]:
    """cute.compile(host, *args), with its times. Raises CompileFailed and a placeholder's error."""
    from cutlass import cute

    with timed_steps() as spent:
        start = time.perf_counter()
        compiled = with_reader_line(lambda more: cute.compile(host, *args, options=f"{options} {more}".strip()))
        whole = time.perf_counter() - start
    trace, lower = whole - spent.compile - spent.host_code, spent.compile - spent.machine_code
    us = (1e6 * seconds for seconds in (trace, lower, spent.machine_code, spent.host_code))
    return compiled, Stages(*us)


@dataclass
class StepTimes:
    """Seconds: of the compiler's passes, of one pass of these that makes machine code, of host code."""

    compile: float = 0.0
    machine_code: float = 0.0
    host_code: float = 0.0


@contextmanager
def timed_steps() -> Iterator[StepTimes]:
    """The time of CuTe's compilations in the block, known when the block ends."""
    from cutlass.cutlass_dsl import CuTeDSL

    dsl, times = CuTeDSL._get_dsl(), StepTimes()
    compiler, spent = dsl.compiler_provider, {TO_MACHINE_CODE: 0.0}

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
        error_output() as report,
        stopwatch(compiler, "compile"),
        stopwatch(compiler, "jit"),
        stopwatch(dsl, "_lookup_jit_entry"),
        mock.patch.object(compiler, "passmanager", ReportingPasses(compiler.passmanager.PassManager)),
    ):
        yield times
    for seconds, name in re.findall(r"(?m)^ +([\d.]+) \( *[\d.]+%\) +(\S+)$", report()):
        if name in spent:
            spent[name] += float(seconds)
    times.compile, times.machine_code = spent["compile"], spent[TO_MACHINE_CODE]
    times.host_code = sum(spent[step] for step in HOST_CODE)


@dataclass(frozen=True)
class ReportingPasses:
    """In the place of the module that the compiler takes its PassManager from: MLIR reports each pass's time."""

    manager: Any

    @property
    def PassManager(self) -> "ReportingPasses":
        return self

    def parse(self, pipeline: str) -> Any:
        made = self.manager.parse(pipeline)
        made.enable_timing()
        return made


@contextmanager
def error_output() -> Iterator[Callable[[], str]]:
    """Redirects file descriptor 2, C++'s output included, to a file in the block; yields a function that reads it."""
    sys.stderr.flush()
    kept = os.dup(2)
    with tempfile.TemporaryFile() as file:

        def read() -> str:
            return text

        text = ""
        os.dup2(file.fileno(), 2)
        try:
            yield read
        finally:
            os.dup2(kept, 2)
            os.close(kept)
            file.seek(0)
            text = file.read().decode(errors="replace")
