"""Trials of what saves a compiled function in a folder, for the next process, and loads it.

The compiler is the judge's, and what it makes is y = n·x with an n that only the judge and the file know. Files go to
where the answer lives, results come back.
"""

import os
import tempfile
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unittest import mock

from tutorlib.checking.exercise import Answer, WrongKind
from tutorlib.checking.graded_run import for_points
from tutorlib.checking.randomness import fresh_rng, new_seed
from tutorlib.checking.served import Served
from tutorlib.exercises.n17_compile_once.judge.trials import Trial, first_line, raised, same_values, vectors_of
from tutorlib.failure import FailureKind, Flaw
from tutorlib.kernels.kernel_cache import for_torch
from tutorlib.problems.wrong import count

if TYPE_CHECKING:
    from torch import Tensor

TIMES = 2**16  # above all n; products with what is tried are exact
Scaled = Callable[["Tensor"], "Tensor"]


@cache
def compiled_times(n: int) -> Any:
    """y = n·x for the CPU, compiled once."""
    from tutorlib.kernels.doubling import times_on_cpu

    return for_torch(times_on_cpu(n), *vectors_of(4)[0])


@cache
def object_file(n: int, name: str, *options: tuple[str, bool]) -> bytes:
    """The function saved under this name. options: of `export_to_c`."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "function.o")
        compiled_times(n).export_to_c(str(file), name, **dict(options))
        return file.read_bytes()


class Compiling:
    """Stands for the compiler, gives y = n·x, and counts. It gives a function that exports: see `Saveable`.

    torn: what it gives writes half a file when it is saved, and raises.
    """

    def __init__(self, n: int, torn: bool = False) -> None:
        self.calls, self.n, self.torn = 0, n, torn

    def __call__(self) -> Callable[..., tuple[bytes, bool]]:
        self.calls += 1
        return self.export

    def export(self, name: str, *options: tuple[str, bool]) -> tuple[bytes, bool]:
        """The file's bytes, and whether that is all of them."""
        raw = object_file(self.n, name, *options)
        return (raw[: len(raw) // 2], False) if self.torn else (raw, True)


@dataclass(frozen=True)
class Saveable:
    """A compiled function as the answer receives it.

    export: the compiler's, maybe in another process. written: called with the file when it is written. half: called
    when half a file is written, before the error.
    """

    export: Callable[..., tuple[bytes, bool]]
    written: Callable[[Path], None]
    half: Callable[[], None]

    def __call__(self, *args: Any) -> None:
        with tempfile.TemporaryDirectory() as folder:
            self.export_to_c(f"{folder}/compiled.o", "compiled")
            loaded(Path(folder, "compiled.o"))["compiled"](*args)

    def export_to_c(self, object_file_path: str, function_name: str, **options: bool) -> None:
        raw, whole = self.export(function_name, *sorted(options.items()))
        Path(object_file_path).write_bytes(raw)
        self.written(Path(object_file_path))
        if not whole:
            self.half()
            raise OSError("No space left on device")


def loaded(file: Path) -> Any:
    from cutlass import cute

    return cute.runtime.load_module(str(file), enable_tvm_ffi=True)


class SavingFlaw(FailureKind):
    """What is wrong with how a function is saved. COMPILED: how often, where once is right [times]."""

    ANOTHER_FUNCTION = "another function"
    NO_FUNCTION = "no function"
    COMPILED = "compiled"
    NO_FILE = "no file"
    AGAIN = "compiled again"
    LOADED_AGAIN = "loaded again"
    TORN = "torn file"
    SAME_NAME = "one temporary name for all processes"
    ELSEWHERE = "temporary file in another folder"
    LEFT = "temporary files left"


class Folder:
    """One that need not be there yet, and an answer that keeps functions in it.

    Each call of the answer has another process's number. written: where files were written first, and their inodes.
    """

    def __init__(self, answer: Answer) -> None:
        self.answer = answer
        self.around = tempfile.TemporaryDirectory()
        self.folder = Path(self.around.name, "kernels")
        self.seen_half: list[str] = []  # files in the folder while one was half written
        self.written: list[tuple[str, int]] = []
        self.calls = 0

    def get(self, name: str, compile: Callable[[], Any]) -> Scaled:
        """The function of this name, which is called with x and gives y. Raises WrongKind and what the answer does."""
        import torch

        self.calls += 1
        with mock.patch.object(os, "getpid", return_value=os.getpid() + self.calls):
            function = self.answer(self.folder, name, lambda: Saveable(compile(), self.note, self.look))
        if not callable(function):
            raise WrongKind(Flaw(f"it should return the function; it returns {function!r}.", SavingFlaw.NO_FUNCTION))

        def multiply(x: "Tensor") -> "Tensor":
            y, both = torch.zeros_like(x), x.clone()
            function(x, y)
            function(both, both)
            return y if y.equal(both) else both  # which differ where it runs more than once

        return multiply

    def files(self) -> list[str]:
        return [str(path.relative_to(self.folder)) for path in self.folder.rglob("*") if path.is_file()]

    def told(self, name: str) -> dict[str, Any]:
        """The folder's files, now and while one was half written; how many were exported; and of these:

        renamed: this file is one that was written first under another name. elsewhere: one was written outside the
        folder, from where it cannot always be renamed. reused: two were written under one name.
        """
        file, paths = self.folder / name, [path for path, _ in self.written]
        inode = file.stat().st_ino if file.exists() else 0
        return {
            "files": self.files(),
            "exports": len(paths),
            "half": self.seen_half,
            "renamed": any(inode == there and path != str(file) for path, there in self.written),
            "elsewhere": any(self.folder not in Path(path).parents for path in paths),
            "reused": len(set(paths)) < len(paths),
        }

    def note(self, file: Path) -> None:
        self.written.append((str(file), file.stat().st_ino))

    def look(self) -> None:
        self.seen_half += self.files()

    def drop(self, name: str) -> None:
        (self.folder / name).unlink()

    def put(self, name: str, raw: bytes) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        (self.folder / name).unlink(missing_ok=True)  # what is loaded from it keeps its bytes
        (self.folder / name).write_bytes(raw)


def in_folder(served: Served, number: int, does: str, *args: Any) -> Any:
    """What a method of the answer's folder of this number gives."""
    name = f"folder {number}"
    if name not in served.kept:
        served.kept[name] = Folder(served)
    return getattr(served.kept[name], does)(*args)


@dataclass(frozen=True)
class Shelf:
    """A folder of the answer's, wherever that lives."""

    answer: Served
    number: int

    def ask(self, does: str, *args: Any) -> Any:
        return self.answer.ask(in_folder, self.number, does, *args)

    def get(self, name: str, compile: Callable[[], Any]) -> Scaled:
        function = self.ask("get", name, compile)
        if not callable(function):
            raise WrongKind(Flaw("it should return the function.", SavingFlaw.NO_FUNCTION))
        return function

    def told(self, name: str) -> dict[str, Any]:
        """As `Folder.told`; of what is no such dictionary, the worst."""
        worst = {"files": [], "exports": 0, "half": [], "renamed": False, "elsewhere": True, "reused": True}
        told = self.ask("told", name)
        return told if isinstance(told, dict) and told.keys() == worst.keys() else worst


OnShelf = Callable[[Shelf, int, int], str]


def on_a_shelf(trial: OnShelf) -> Callable[[Served], str]:
    """The trial on a shelf of its own. It gets two numbers n, drawn at random in a run for points."""

    def tried(answer: Served) -> str:
        numbers = fresh_rng().sample(range(2, TIMES), 2) if for_points() else (2, 3)
        try:
            return trial(Shelf(answer, new_seed()), *numbers)
        except Exception as error:
            return raised("it", error)

    return tried


def works(multiply: Scaled, n: int) -> str:
    """What is wrong with a function that should be y = n·x, or ""."""
    for x, _ in vectors_of(5, 2):
        if not same_values(multiply(x), n * x):
            return Flaw("the function that it returns does something else.", SavingFlaw.ANOTHER_FUNCTION)
    return ""


def saved(shelf: Shelf, n: int, other: int) -> str:
    compile = Compiling(n)
    found, told = shelf.get("double", compile), shelf.told("double.o")
    if said := works(found, n):
        return said
    times = max(compile.calls, told["exports"])
    if compile.calls != 1 or times > 1:
        what = f"{'compile' if compile.calls == times else 'export_to_c'} was called {count(times, 'time')}."
        return Flaw(what, SavingFlaw.COMPILED(times=times))
    there = told["files"]
    if "double.o" not in there:
        what = f"there is no double.o in the folder afterwards, but {', '.join(sorted(there)) or 'nothing'}."
        return Flaw(what, SavingFlaw.NO_FILE)
    shelf.ask("drop", "double.o")
    shelf.get("double", compile)
    if len(left := shelf.told("double.o")["files"]) > len(there):
        what = (
            f"saving double twice leaves {', '.join(sorted(left))}: in the end the folder should hold double.o alone."
        )
        return Flaw(what, SavingFlaw.LEFT)
    return ""


def found_again(shelf: Shelf, n: int, other: int) -> str:
    shelf.get("double", Compiling(n))
    again = Compiling(n)
    found = shelf.get("double", again)
    if again.calls:
        return Flaw("the function is there, and compiled again.", SavingFlaw.AGAIN)
    if said := works(found, n):
        return said
    compile = Compiling(other)
    found = shelf.get("twice", compile)
    if compile.calls != 1:
        return "another name is another function, to be compiled and saved by itself."
    return works(found, other)


def from_the_file(shelf: Shelf, n: int, other: int) -> str:
    """Saved by another process, so a copy kept in this one does not help."""
    shelf.ask("put", "double_2.o", object_file(other, "double_2"))
    never = Compiling(n)
    found = shelf.get("double_2", never)
    if never.calls:
        return Flaw("what another process saved is compiled again.", SavingFlaw.AGAIN)
    if said := works(found, other):
        return said
    shelf.ask("put", "double_2.o", object_file(n, "double_2"))
    if works(found, other):
        what = "each call of the function loads the file again: load it once, before you return the function."
        return Flaw(what, SavingFlaw.LOADED_AGAIN)
    return ""


def torn(shelf: Shelf, n: int, other: int) -> str:
    with suppress(OSError):
        shelf.get("double", Compiling(n, torn=True))
    if "double.o" in shelf.told("double.o")["half"]:
        what = "double.o is there before all of it is written: a process that dies then leaves half a file."
        return Flaw(what, SavingFlaw.TORN)
    again = Compiling(n)
    try:
        found = shelf.get("double", again)
    except (NotImplementedError, WrongKind):
        raise
    except Exception as error:
        what = f"saving was cut short once, and ever since: {type(error).__name__}: {first_line(error)}"
        return Flaw(what, SavingFlaw.TORN)
    if not again.calls:
        return Flaw("saving was cut short once, and the function is not compiled again.", SavingFlaw.TORN)
    told = shelf.told("double.o")
    if not told["renamed"]:
        what = "double.o is a copy of the file that was exported, and copying can be cut short. Rename that file."
        return Flaw(what, SavingFlaw.TORN)
    if told["elsewhere"]:
        what = "the temporary file is in another folder, which can be on another file system: then os.replace fails."
        return Flaw(what, SavingFlaw.ELSEWHERE)
    if told["reused"]:
        what = "two processes that save at one time write to one temporary file: give it a name of its own."
        return Flaw(what, SavingFlaw.SAME_NAME)
    return works(found, n)


SAVING: tuple[Trial, ...] = (
    ("an empty folder", on_a_shelf(saved)),
    ("the second time", on_a_shelf(found_again)),
    ("a file of another process", on_a_shelf(from_the_file)),
    ("saving that is cut short", on_a_shelf(torn)),
)
