"""Where the time of a compilation goes, stage by stage; the DSL's own stages, so no GPU is needed."""

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


@dataclass(frozen=True)
class Stages:
    """What one compilation took, in µs.

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
    """cute.compile(host, *args), with its times. Raises CompileFailed and what a placeholder raises."""
    from cutlass import cute
    from cutlass.cutlass_dsl import CuTeDSL

    with timed(CuTeDSL._get_dsl()) as spent:
        start = time.perf_counter()
        compiled = with_reader_line(lambda more: cute.compile(host, *args, options=f"{options} {more}".strip()))
        whole = time.perf_counter() - start
    compiling, host_code = spent["compile"], spent["jit"] + spent["_lookup_jit_entry"]
    binary = spent[TO_MACHINE_CODE]
    us = (1e6 * seconds for seconds in (whole - compiling - host_code, compiling - binary, binary, host_code))
    return compiled, Stages(*us)


@contextmanager
def timed(dsl: Any) -> Iterator[dict[str, float]]:
    """Seconds that the DSL's steps took, by name, once the block is over, and the pass TO_MACHINE_CODE among them."""
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
        yield spent
    for seconds, name in re.findall(r"(?m)^ +([\d.]+) \( *[\d.]+%\) +(\S+)$", report()):
        if name in spent:
            spent[name] += float(seconds)


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
    """What is written to file descriptor 2 meanwhile, by C++ too, goes to a file; what is yielded reads it."""
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
