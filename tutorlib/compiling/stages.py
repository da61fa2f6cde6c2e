"""The time of a compilation, stage by stage; the DSL's own stages, so no GPU is needed."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tutorlib.compiling.cute import with_reader_line
from tutorlib.dsl.cute.compiler import timed_steps


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
