"""The line of a loop that issues an instruction, and the numbers in it."""

import linecache
import sys
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple

from tutorlib.checking.rehearsing.unsafe import LoopFlaw, Unsafe
from tutorlib.compiling.errors import is_readers
from tutorlib.dsl.cute.functions import is_of_the_dsl

MACHINERY = str(Path(__file__).parent), str(Path(__file__).parents[2] / "exercises")


class CallSite(NamedTuple):
    """A line of source."""

    file: str
    number: int

    def __str__(self) -> str:
        text = linecache.getline(self.file, self.number).strip()
        if not is_readers(self.file):
            return f"the course's `{text}`"
        return f"line {self.number}, `{text}`" if text else f"line {self.number}"


NOWHERE = CallSite("", 0)


def calling_line(frame: FrameType | None = None) -> CallSite:
    """The line of the main loop, or of a helper it calls, that issues the instruction being carried out.

    frame: of another thread, which runs the loop.
    """
    frame = frame or sys._getframe(1)
    while frame is not None and is_machinery(frame.f_code.co_filename):
        frame = frame.f_back
    return CallSite(frame.f_code.co_filename, frame.f_lineno) if frame else NOWHERE


def is_machinery(file: str) -> bool:
    """Whether a file is of the rehearsal, of the DSL or of Python's with-statements."""
    return file.startswith(MACHINERY) or is_of_the_dsl(file) or "contextlib" in file


def existing(number: Any, most: int, said: str, of: str = "") -> int:
    """A stage's, a tile's or a part's number as an int. said: the line and the call. of: "2 stages".

    Raises Unsafe where there are `most`, and this is none of them.
    """
    if not 0 <= int(number) < most:
        raise Unsafe(f"{said}: of {of or most}, 0 to {most - 1} exist.", LoopFlaw.OUT_OF_RANGE)
    return int(number)
