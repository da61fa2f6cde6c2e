"""Python functions that wrap torch tensors, compile CuTe host functions and call them: each call is simulated."""

import inspect
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tutorlib.dsl.cute.functions import constant_parameters
from tutorlib.dsl.cute.python_calls import calls_taken_over, moved, torch_tensor_of
from tutorlib.simulate.ptx.report import Report as LaunchReport

if TYPE_CHECKING:
    from torch import Tensor

    from tutorlib.simulate.ptx.languages.cute_host import Recorded
    from tutorlib.simulate.ptx.languages.cute_lines import Traced


@contextmanager
def launches_of_cute(arch: str, traced: bool) -> Iterator[list[LaunchReport]]:
    """The launches of the block's calls of CuTe host functions so far; nothing where CuTe is not imported."""
    launches: list[LaunchReport] = []
    if "cutlass" not in sys.modules:
        yield launches
        return

    def compile(host: Any, *arguments: Any, **named: Any) -> SimulatedHost:
        from tutorlib.compiling.cute import with_reader_line
        from tutorlib.simulate.ptx.languages.cute_lines import compile_for

        compiled = with_reader_line(lambda more: compile_for(host, arguments, f"sm_{arch}", **named))
        return SimulatedHost(host, compiled, traced, launches)

    with calls_taken_over(compile):
        yield launches


@dataclass(frozen=True)
class SimulatedHost:
    """A compiled host function whose call simulates what it launches, and adds the reports to `launches`."""

    host: Any
    compiled: "Traced"
    traced: bool
    launches: list[LaunchReport]

    def __call__(self, *arguments: Any, **named: Any) -> None:
        from tutorlib.simulate.ptx.languages.cute import simulate_launches
        from tutorlib.simulate.ptx.languages.cute_host import record_launches
        from tutorlib.simulate.ptx.parse import parse_ptx

        if ".entry" not in self.compiled.ptx:
            return
        given = self.at_run_time(arguments, named)
        wrapped = {name: argument for name, argument in given.items() if torch_tensor_of(argument) is not None}
        module = parse_ptx(self.compiled.ptx)

        def launched(views: "list[Tensor]") -> "Sequence[Recorded]":
            with moved(list(zip(wrapped.values(), views, strict=True))):
                return record_launches(self.compiled.function, module, list(given.values()))

        tensors: dict[str, Any] = {name: torch_tensor_of(argument) for name, argument in wrapped.items()}
        find = self.compiled.stacks.finder(module)
        self.launches.extend(simulate_launches(module, tensors, launched, find, self.traced))

    def at_run_time(self, arguments: Sequence[Any], named: dict[str, Any]) -> dict[str, Any]:
        """The arguments by name, without constants: a call of a compiled function leaves them out, a direct one not."""
        constant = constant_parameters(self.compiled.function)
        names = list(inspect.signature(self.host).parameters)
        if len(arguments) + len(named) <= len(names) - len(constant):
            names = [name for name in names if name not in constant]
        given = dict(zip(names, arguments, strict=False)) | named
        return {name: argument for name, argument in given.items() if name not in constant}
