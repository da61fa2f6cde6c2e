"""A compiler's refusal in one line, with the reader's line."""

import linecache
import re
import sysconfig
import traceback
from collections.abc import Callable
from functools import cache
from pathlib import Path

from tutorlib.dsl.refusals import places_of, what_to_do


class ToolMissing(Exception):
    """Something outside Python that a compiler needs is not there. One line."""


class CompileFailed(Exception):
    """The kernel does not compile. The message is one line and quotes the reader's line where it is known.

    line: its number, or 0.
    original: what the compiler said in one line, where the message says what to do about it instead, or "".
    """

    def __init__(self, message: str, line: int = 0, original: str = "") -> None:
        super().__init__(message)
        self.line, self.original = line, original

    @property
    def lines(self) -> tuple[str, ...]:
        """For a verdict: the message, and below it the compiler's own words."""
        said: str = self.args[0]
        return (said, f"The compiler's words: {self.original}") if self.original else (said,)


def compile_failure(error: Exception, message: str) -> CompileFailed:
    """The failure in one line, with the reader's line. Raises NotImplementedError where that is a placeholder."""
    line, text = reader_line(error)
    if placeholder := re.search(r"NotImplementedError\(\"(Exercise [\d.]+)\"\)", text):
        raise NotImplementedError(placeholder[1]) from None
    at = f"line {line}, `{text}`: " if line else ""
    said = " ".join(without_colours(message).split())
    advice = what_to_do(said)
    return CompileFailed(at + (advice or said), line, shortened(said) if advice not in ("", said) else "")


def first_cause(error: BaseException | None, kind: type[Exception]) -> BaseException | None:
    """The first error of this kind in a chain of causes, or None."""
    while error is not None and not isinstance(error, kind):
        error = error.__cause__ or error.__context__
    return error


def without_colours(text: str) -> str:
    return re.sub(r"\x1b\[[\d;]*m", "", text)


def shortened(text: str, most: int = 240) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"


def reader_line(error: BaseException) -> tuple[int, str]:
    """Number and text of the line that the error is about; (0, "") where that is unknown.

    The DSLs name it where they know it; an exception that the reader's code raised has it in its traceback.
    """
    steps = [(step.f_code.co_filename, line) for step, line in traceback.walk_tb(error.__traceback__)]
    for file, line in [*places_of(error), *reversed(steps)]:
        if file and line and is_readers(file):
            return int(line), linecache.getline(file, int(line)).strip()
    return 0, ""


def is_readers(file: str) -> bool:
    """Whether a file is neither of this package, nor Python's or an installed one's."""
    return not file.startswith(("<", *libraries())) and Path(file).suffix == ".py"


@cache
def libraries() -> tuple[str, ...]:
    """The folders of this package, of Python's own modules and of installed ones."""
    return str(Path(__file__).parents[1]), *(sysconfig.get_path(name) for name in ("stdlib", "purelib", "platlib"))


def name_of(answer: Callable[..., None]) -> str:
    return getattr(answer, "__name__", "your answer")
