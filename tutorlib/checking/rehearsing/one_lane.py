"""The numbers of threads, lanes and warps in a rehearsal, where several warps run as one.

The body of `if cute.arch.lane_idx() == 0:` is one lane's.
"""

import ast
import linecache
import operator
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from types import FrameType
from typing import Any

from tutorlib.checking.rehearsing.call_site import is_machinery

LANES = 32
OPERATORS = ("eq", "ne", "lt", "le", "gt", "ge", "add", "sub", "mul", "floordiv", "mod", "and_", "or_", "xor", "rshift")


@dataclass(frozen=True)
class OneLane:
    """Lines of a function that one lane runs."""

    frame: FrameType
    lines: range

    @property
    def running(self) -> bool:
        """Whether this thread is there, or in a helper called from there."""
        frame: FrameType | None = sys._getframe(1)
        while frame is not None and frame is not self.frame:
            frame = frame.f_back
        return frame is not None and frame.f_lineno in self.lines


@dataclass(frozen=True, eq=False)
class PerThread:
    """A number, or a truth value, of each thread of the running warps. As an index: TypeError, and nothing is
    rehearsed."""

    warps: Any
    values: tuple[Any, ...]

    def __bool__(self) -> bool:
        """The condition of an `if`: where it holds for one lane of each warp, that lane goes on and the others skip the
        body. Raises TypeError where it holds for several, SyntaxError where the one lane's `if` is no `if` alone."""
        (holds, *others) = {sum(map(bool, self.values[at : at + LANES])) for at in range(0, len(self.values), LANES)}
        if others or holds not in (0, 1, LANES):
            raise TypeError("a condition that differs from warp to warp, or holds for several lanes of one")
        if holds == 1:
            frame = sys._getframe(1)
            while is_machinery(frame.f_code.co_filename) and frame.f_back:
                frame = frame.f_back
            lines = body_of("".join(linecache.getlines(frame.f_code.co_filename)), frame.f_lineno)
            self.warps.branches.append(OneLane(frame, lines))
        return holds > 0


def thread_by_thread(operation: Callable[[Any, Any], Any]) -> Callable[[PerThread, Any], PerThread]:
    def both(left: PerThread, right: Any) -> PerThread:
        others = right.values if isinstance(right, PerThread) else [right] * len(left.values)
        return replace(left, values=tuple(map(operation, left.values, others)))

    return both


for name in OPERATORS:
    setattr(PerThread, f"__{name.rstrip('_')}__", thread_by_thread(getattr(operator, name)))


@cache
def body_of(text: str, line: int) -> range:
    """The lines of the body of the `if` whose condition is on this line of a file. Raises SyntaxError."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.If) and node.test.lineno <= line <= (node.test.end_lineno or 0) and not node.orelse:
            return range(node.body[0].lineno, (node.body[-1].end_lineno or 0) + 1)
    raise SyntaxError("a lane's number outside of the condition of an `if` without `else`")
