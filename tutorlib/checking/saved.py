"""Trials of what saves a compiled function in a folder, for the next process, and loads it."""

import tempfile
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from tutorlib.checking.exercise import Answer, WrongKind
from tutorlib.checking.kept import Trial, first_line, vectors_of
from tutorlib.compiling.kept import for_torch
from tutorlib.problems.wrong import count


@cache
def double_for_torch() -> Callable[..., None]:
    """y = 2x for the CPU, compiled once for all trials."""
    from tutorlib.kernels.doubling import double_on_cpu

    return for_torch(double_on_cpu, *vectors_of(4)[0])


class Compiling:
    """Stands for the compiler, gives y = 2x, and counts.

    torn: what it gives writes half a file when it is saved, and raises.
    """

    def __init__(self, torn: bool = False) -> None:
        self.calls, self.torn = 0, torn

    def __call__(self) -> Any:
        self.calls += 1
        return Torn(double_for_torch()) if self.torn else double_for_torch()


@dataclass(frozen=True)
class Torn:
    """A compiled function whose process dies while it is saved."""

    compiled: Any

    def __call__(self, *args: Any) -> None:
        self.compiled(*args)

    def export_to_c(self, object_file_path: str, function_name: str, **options: Any) -> None:
        self.compiled.export_to_c(object_file_path, function_name, **options)
        whole = Path(object_file_path).read_bytes()
        Path(object_file_path).write_bytes(whole[: len(whole) // 2])
        raise OSError("No space left on device")


def in_a_folder(trial: Callable[[Answer, Path], str]) -> Callable[[Answer], str]:
    """The trial in an empty folder of its own."""

    def tried(answer: Answer) -> str:
        with tempfile.TemporaryDirectory() as folder:
            try:
                return trial(answer, Path(folder))
            except (NotImplementedError, WrongKind):
                raise
            except Exception as error:
                return f"it raised {type(error).__name__}: {first_line(error)}"

    return tried


def works(compiled: Any) -> str:
    """What is wrong with a function that should be y = 2x, or ""."""
    if not callable(compiled):
        return f"it should return the function; it returns {compiled!r}."
    for x, y in vectors_of(5, 2):
        compiled(x, y)
        if not y.equal(x + x):
            return "the function that it returns does something else."
    return ""


def saved(answer: Answer, folder: Path) -> str:
    compile = Compiling()
    if said := works(answer(folder / "kernels", "double", compile)):
        return said
    if compile.calls != 1:
        return f"compile was called {count(compile.calls, 'time')}."
    if not (folder / "kernels" / "double.o").exists():
        there = sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())
        return f"there is no double.o in the folder afterwards, but {', '.join(there) or 'nothing'}."
    return ""


def loaded(answer: Answer, folder: Path) -> str:
    answer(folder, "double", Compiling())
    again = Compiling()
    found = answer(folder, "double", again)
    if again.calls:
        return "the function is there, and compiled again."
    if said := works(found):
        return said
    other = Compiling()
    answer(folder, "twice", other)
    return "" if other.calls == 1 else "another name is another function, to be compiled and saved by itself."


def from_the_file(answer: Answer, folder: Path) -> str:
    """Saved by somebody else: what is kept in this process does not help."""
    compile = Compiling()
    compile().export_to_c(str(folder / "double_2.o"), "double_2")
    never = Compiling()
    found = answer(folder, "double_2", never)
    return "what another process saved is compiled again." if never.calls else works(found)


def torn(answer: Answer, folder: Path) -> str:
    with_half_a_file = Compiling(torn=True)
    with suppress(OSError):
        answer(folder, "double", with_half_a_file)
    again = Compiling()
    try:
        found = answer(folder, "double", again)
    except (NotImplementedError, WrongKind):
        raise
    except Exception as error:
        return f"saving was cut short once, and ever since: {type(error).__name__}: {first_line(error)}"
    return works(found)


SAVING: tuple[Trial, ...] = (
    ("an empty folder", in_a_folder(saved)),
    ("the second time", in_a_folder(loaded)),
    ("a file of another process", in_a_folder(from_the_file)),
    ("saving that is cut short", in_a_folder(torn)),
)
