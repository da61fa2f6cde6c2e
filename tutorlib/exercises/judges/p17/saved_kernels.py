"""17.6: what saves a compiled function in a folder, for the next process, and loads it.

The function is x *= n, with an n that the judge draws.
"""

import tempfile
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

from tutorlib.checking.exercise import WrongKind
from tutorlib.checking.records import Record, as_the_course
from tutorlib.checking.scenario import raised
from tutorlib.checking.served import Served
from tutorlib.checking.values import Case
from tutorlib.failure import FailureKind, Flaw
from tutorlib.kernels.compiled_once import for_torch, load_or_compile

TIMES = 2**16  # above all n; products with what is tried are exact
GET, PUT, TORN = "get", "put", "torn"
HALF, COMPILATIONS, OTHERS = "half-written file", "number of compilations", "other new files"  # parts of a record
Step = tuple[str, str, int]  # a call of the answer, a file of another process, or a call whose saving fails; name; n


class SavingFlaw(FailureKind):
    NO_FUNCTION = "no function"


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


def saved_calls(answer: Served, steps: Sequence[Step]) -> Record:
    """Runs where the answer is, in a folder that is not there yet. A record of each call of the answer, in order."""
    record: Record = {}
    with tempfile.TemporaryDirectory() as around:
        folder = Path(around, "kernels")
        cut = any(step == TORN for step, *_ in steps)
        for nth, (step, name, n) in enumerate(steps, 1):
            if step == PUT:
                folder.mkdir()
                compiled_times(n).export_to_c(str(folder / f"{name}.o"), name)
                continue
            for part, what in called(answer, folder, name, n, cut=step == TORN).items():
                # where saving fails, it may raise that or return what it compiled, and leave a temporary file
                if (step != TORN or part in (HALF, COMPILATIONS)) and not (cut and part == OTHERS):
                    record.setdefault(part, {})[f"call {nth}, for {name}"] = what
    return record


def called(answer: Served, folder: Path, name: str, n: int, cut: bool) -> Record:
    """x of 5 and of 2 elements after calls of the function that the call returns, and what it has done."""
    import torch

    made: list[Saveable] = []

    def compile() -> Saveable:
        made.append(Saveable(n, folder, cut))
        return made[-1]

    before, error = names_in(folder), ""
    results = [torch.arange(5.0), torch.arange(2.0)]
    try:
        function = answer(folder, name, compile)
        if not callable(function):
            raise WrongKind(Flaw(f"it should return the function; it returns {function!r}.", SavingFlaw.NO_FUNCTION))
        for x in results:
            function(x, x)
    except Exception as exception:
        error = raised("it", exception)
    file = f"{name}.o"
    return {
        HALF: file if any(file in one.half for one in made) else "",
        "error": error,
        COMPILATIONS: len(made),
        "result": torch.cat(results),
        "saved file": file if file in names_in(folder) else "",
        OTHERS: ", ".join(one for one in names_in(folder) if one != file and one not in before),
    }


def saved(name: str, *steps: Step) -> Case:
    """A case of these steps; n is 0 or 1, the first or the second number that is drawn."""

    def draw(rng: Random) -> tuple:
        numbers = rng.sample(range(2, TIMES), 2)
        return ([(step, name, numbers[n]) for step, name, n in steps],)

    return as_the_course(name, saved_calls, draw, lambda: load_or_compile)


SAVING = (
    saved("an empty folder", (GET, "double", 0)),
    saved("the second time", (GET, "double", 0), (GET, "double", 0), (GET, "twice", 1)),
    saved("a file of another process", (PUT, "double_2", 1), (GET, "double_2", 1)),
    saved("saving that is cut short", (TORN, "double", 0), (GET, "double", 0)),
)
