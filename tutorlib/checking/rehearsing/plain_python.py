"""The line that gives an order, and what is wrong with the orders."""

import linecache
import sys
from pathlib import Path
from types import FrameType
from typing import NamedTuple

from tutorlib.compiling.errors import is_readers
from tutorlib.dsl.cute.functions import is_of_the_dsl

HERE = str(Path(__file__).parent)


class Hazard(Exception):
    """The orders allow a wrong result. The message says which, for the reader."""


class CallSite(NamedTuple):
    """Where an order stands."""

    file: str
    number: int

    def __str__(self) -> str:
        text = linecache.getline(self.file, self.number).strip()
        if not is_readers(self.file):
            return f"the course's `{text}`"
        return f"line {self.number}, `{text}`" if text else f"line {self.number}"


def calling_line(frame: FrameType | None = None) -> CallSite:
    """The line of the main loop, or of a helper it calls, that gives the order which is being carried out.

    frame: of another thread, which runs the loop.
    """
    frame = frame or sys._getframe(1)
    while frame is not None and is_machinery(frame.f_code.co_filename):
        frame = frame.f_back
    return CallSite(frame.f_code.co_filename, frame.f_lineno) if frame else CallSite("", 0)


def is_machinery(file: str) -> bool:
    """Whether a file is of this folder, of the DSL or of Python's with-statements."""
    return file.startswith(HERE) or is_of_the_dsl(file) or "contextlib" in file
