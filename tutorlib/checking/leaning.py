"""What an answer leans on: an exercise is not solved by a library's function for the very thing that it asks for."""

import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import wraps
from types import CodeType, FrameType
from typing import Any

from tutorlib.checking.exercise import Answer, WrongKind

Library = Mapping[str, Callable | str]  # as the reader writes it → the function, or the name of an attribute


def on_its_own(answer: Answer, library: Library) -> Answer:
    """The answer, which raises WrongKind where it calls one of these functions or reads one of these attributes.

    Only a call by the answer itself counts, under whatever name, and in helpers too; not one that the library makes on
    the way to something else.
    """
    attributes = {part: name for name, part in library.items() if isinstance(part, str)}
    functions = {name: part for name, part in library.items() if not isinstance(part, str)}

    @wraps(answer)
    def watched(*args: Any, **kwargs: Any) -> Any:
        for read in names_in(getattr(answer, "__code__", None)):
            if read in attributes:
                raise leaning(f"uses {attributes[read]}")
        with calls_of(functions) as called:
            try:
                return answer(*args, **kwargs)
            finally:
                if called:
                    raise leaning(f"calls {called[0]}")

    return watched


def leaning(does: str) -> WrongKind:
    return WrongKind(f"it {does}, which does what you are asked to write.\n  Page 00 says what an answer may lean on.")


def names_in(code: CodeType | None) -> Iterator[str]:
    """The attributes and globals that a function names, and those of the functions inside it."""
    if code is not None:
        yield from code.co_names
        for inner in code.co_consts:
            if isinstance(inner, CodeType):
                yield from names_in(inner)


@contextmanager
def calls_of(functions: Mapping[str, Callable]) -> Iterator[list[str]]:
    """The names of those functions, in a list that grows, that somebody outside their library calls meanwhile."""
    written = {function.__code__: name for name, function in functions.items() if hasattr(function, "__code__")}
    compiled = {id(function): name for name, function in functions.items() if not hasattr(function, "__code__")}
    called: list[str] = []

    def look(frame: FrameType, event: str, arg: Any) -> None:
        if event == "call" and frame.f_code in written and package(frame) != package(frame.f_back):
            called.append(written[frame.f_code])
        elif event == "c_call" and id(arg) in compiled and package(frame) != arg.__module__:
            called.append(compiled[id(arg)])

    before = sys.getprofile()
    sys.setprofile(look)
    try:
        yield called
    finally:
        sys.setprofile(before)


def package(frame: FrameType | None) -> str:
    """The package whose code a frame runs."""
    return str(frame.f_globals.get("__name__", "")).partition(".")[0] if frame else ""
