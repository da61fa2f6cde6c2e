"""17.6: what saves a compiled function in a folder, for the next process, and loads it.

Its record is compared with that of the course's own. The function is x *= n, with an n that the judge draws.
"""

import tempfile
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

from tutorlib.checking.exercise import WrongKind
from tutorlib.checking.scenario import judged_by_record, raised
from tutorlib.checking.served import Served
from tutorlib.checking.values import Case
from tutorlib.failure import FailureKind, Flaw
from tutorlib.kernels.kernel_cache import for_torch, load_or_compile
from tutorlib.problems.wrong import count

TIMES = 2**16  # above all n; products with what is tried are exact
GET, PUT, TORN = "get", "put", "torn"
Record = dict[str, Any]
Step = tuple[str, str, int]  # a call of the answer, a file of another process, or a call whose saving fails; name; n


class SavingFlaw(FailureKind):
    """What is wrong with how a function is saved. COMPILED: how often, where once is right [times]."""

    ANOTHER_FUNCTION = "another function"
    NO_FUNCTION = "no function"
    COMPILED = "compiled"
    NO_FILE = "no file"
    AGAIN = "compiled again"
    TORN = "torn file"
    LEFT = "temporary files left"


class Saveable:
    """A compiled function. cut: whether saving it stops halfway; half: the folder's files at that time."""

    def __init__(self, n: int, folder: Path, cut: bool) -> None:
        self.n, self.folder, self.cut = n, folder, cut
        self.half: list[str] = []

    def __call__(self, *args: Any) -> None:
        compiled_times(self.n)(*args)

    def export_to_c(self, object_file_path: str, function_name: str, **options: Any) -> None:
        compiled_times(self.n).export_to_c(object_file_path, function_name, **options)
        if self.cut:
            file = Path(object_file_path)
            file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])
            self.half = names_in(self.folder)
            raise OSError("No space left on device")


@cache
def compiled_times(n: int) -> Any:
    import torch

    from tutorlib.kernels.doubling import times_on_cpu

    return for_torch(times_on_cpu(n), torch.zeros(4), torch.zeros(4))


def names_in(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


def saved_calls(answer: Served, steps: Sequence[Step]) -> list[Record]:
    """Runs where the answer is, in a folder that is not there yet. Returns a record of each call of the answer."""
    record: list[Record] = []
    with tempfile.TemporaryDirectory() as around:
        folder = Path(around, "kernels")
        for step, name, n in steps:
            if step == PUT:
                folder.mkdir()
                compiled_times(n).export_to_c(str(folder / f"{name}.o"), name)
            else:
                record.append(called(answer, folder, name, n, cut=step == TORN))
    return record


def called(answer: Served, folder: Path, name: str, n: int, cut: bool) -> Record:
    """How often the call compiled; the folder's files, and those while one was half written; and x of 5 and of 2
    elements after calls of the function, or the error.
    """
    import torch

    made: list[Saveable] = []

    def compile() -> Saveable:
        made.append(Saveable(n, folder, cut))
        return made[-1]

    results, error = [torch.arange(5.0), torch.arange(2.0)], ""
    try:
        function = answer(folder, name, compile)
        if not callable(function):
            raise WrongKind(Flaw(f"it should return the function; it returns {function!r}.", SavingFlaw.NO_FUNCTION))
        for x in results:
            function(x, x)
    except Exception as exception:
        error = raised("it", exception)
    half = [file for one in made for file in one.half]
    return {"compiled": len(made), "files": names_in(folder), "half": half, "results": results, "error": error}


def saved(name: str, *steps: Step) -> Case:
    """A case of these steps; n is 0 or 1, the first or the second number that is drawn."""

    def draw(rng: Random) -> tuple:
        numbers = rng.sample(range(2, TIMES), 2)
        return ([(step, name, numbers[n]) for step, name, n in steps],)

    def wrong_record(record: list[Record], drawn: Sequence[Step]) -> str:
        known = saved_calls(Served(load_or_compile), drawn)
        cut = any(step == TORN for step, *_ in steps)
        names = [name for step, name, _ in steps if step != PUT]
        said = (unlike(f"{name}.o", cut, *two) for name, *two in zip(names, record, known, strict=True))
        return next(filter(None, said), "")

    return judged_by_record(name, saved_calls, draw, wrong_record)


def unlike(file: str, cut: bool, got: Record, want: Record) -> str:
    """How a call differs from the course's. cut: whether a call's saving stops halfway, in which files may be left."""
    there = ", ".join(got["files"]) or "nothing"
    times = count(got["compiled"], "time")
    if file in got["half"]:
        what = f"{file} is there before all of it is written: a process that dies then leaves half a file."
        return Flaw(what, SavingFlaw.TORN)
    if got["error"] and not want["error"]:
        return got["error"]
    if got["compiled"] > want["compiled"] == 0:
        return Flaw("the function is there, and compiled again.", SavingFlaw.AGAIN)
    if got["compiled"] != want["compiled"]:
        kind = SavingFlaw.COMPILED(times=got["compiled"])
        return Flaw(f"compile was called {times}; {want['compiled']} is right.", kind)
    if want["error"]:
        return ""
    if not all(one.equal(other) for one, other in zip(got["results"], want["results"], strict=True)):
        return Flaw("the function that it returns does something else.", SavingFlaw.ANOTHER_FUNCTION)
    if file not in got["files"]:
        return Flaw(f"there is no {file} in the folder afterwards, but {there}.", SavingFlaw.NO_FILE)
    if got["files"] != want["files"] and not cut:
        what = f"in the end the folder holds {there}; it should hold {', '.join(want['files'])} alone."
        return Flaw(what, SavingFlaw.LEFT)
    return ""


SAVING = (
    saved("an empty folder", (GET, "double", 0)),
    saved("the second time", (GET, "double", 0), (GET, "double", 0), (GET, "twice", 1)),
    saved("a file of another process", (PUT, "double_2", 1), (GET, "double_2", 1)),
    saved("saving that is cut short", (TORN, "double", 0), (GET, "double", 0)),
)
