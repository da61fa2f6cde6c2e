"""`if cute.arch.lane_idx() == 0:` in a rehearsal, where a warp's lanes run as one: its body is one lane's."""

import ast
import linecache
import sys
from dataclasses import dataclass
from functools import cache
from types import FrameType
from typing import Any

from tutorlib.checking.rehearsing.call_site import is_machinery


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
class LaneNumber:
    """The lane's number. It can only be compared with a number: TypeError otherwise, and nothing is rehearsed."""

    warps: Any

    def __eq__(self, number: object) -> Any:
        return IsLane(self.warps)


@dataclass(frozen=True)
class IsLane:
    """The condition of an `if`."""

    warps: Any

    def __bool__(self) -> bool:
        """True: the lane that is meant goes on, and the others skip the body. Raises SyntaxError elsewhere."""
        frame = sys._getframe(1)
        while is_machinery(frame.f_code.co_filename) and frame.f_back:
            frame = frame.f_back
        lines = body_of("".join(linecache.getlines(frame.f_code.co_filename)), frame.f_lineno)
        self.warps.branches.append(OneLane(frame, lines))
        return True


@cache
def body_of(text: str, line: int) -> range:
    """The lines of the body of the `if` whose condition is on this line of a file. Raises SyntaxError."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.If) and node.test.lineno <= line <= (node.test.end_lineno or 0) and not node.orelse:
            return range(node.body[0].lineno, (node.body[-1].end_lineno or 0) + 1)
    raise SyntaxError("a lane's number outside of the condition of an `if` without `else`")
