"""What strangers hand in, and the points that it deserves: tests/cheats/ and tests/honest/, for any grader.

They are for a course with one page, 60, of two exercises with 2 points each; both ask for answer(n) = (n + 1, 2 * n).
A cheat is a cell of a file in tests/cheats/. The imports at the file's head belong to each of its cells; an attack that
defines no answer gets a wrong one. A cheat says in its first comment what it tries; what its answer deserves, if that
is not 0; and where the sandbox makes its cell fail, by which exception: another one would be a slip of its own, before
any attack.
"""

import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from functools import partial
from hashlib import sha256
from pathlib import Path

import nbformat
from nbformat import NotebookNode

from tests.honest import files, merged, pages
from tests.honest.answers import ANSWERS, PLAIN
from tests.trial_course import Course, make_course

CHEATS = Path(__file__).with_name("cheats")
KINDS = ("forging", "reading", "harming")
GIVES_ZERO = "\n\ndef answer(n):\n    return 0\n"
WRONG = "def answer(n):\n    return -1, -1"
FULL = (2, 2)
KEPT = {"__pycache__", ".git", ".venv"}  # folders in which Python and git write at any time

EXERCISES = """
from random import Random

from tutorlib.checking.randomness import Drawn
from tutorlib.checking.values import ValueExercise, equals

CALLS = {{
    "small": Drawn(lambda seed: [(0,), (1,), (2,), (Random(seed).randrange(3, 10**6),)], 0),
    "large": Drawn(lambda seed: [(2**40,), (10**9,), (Random(seed).randrange(2**32, 2**45),)], 0),
}}


def exercise(k):
    cases = tuple(equals(name, calls, lambda n: (n + 1, 2 * n)) for name, calls in CALLS.items())
    hints = ("Two numbers.", "(n + 1, 2 * n)")
    return ValueExercise(id=f"{number}.{{k}}", title="answer", points=2, cases=cases, hints=hints)


EXERCISES = tuple(exercise(k) for k in range(1, {count} + 1))
"""
EXERCISE = """
# %%
def answer(n):
    ### BEGIN SOLUTION (about 1 line)
    return n+1, 2*n
    ### END SOLUTION


# %%
check("{number}.{k}", answer)
"""


@dataclass(frozen=True)
class HandIn:
    """What somebody hands in for page 60.

    name: "cheats/reading/hints". deserves: the points of each exercise.
    write: takes the page as students get it and a folder, writes the hand-in there, and returns its file.
    """

    name: str
    deserves: tuple[float, ...]
    write: Callable[[NotebookNode, Path], Path]


@dataclass(frozen=True)
class Cheat:
    """A cell of tests/cheats/.

    name: "reading/hints". text: with its comment. deserves: the answer's points.
    stopped_by: the exception that ends its cell in the sandbox; "" where none may.
    """

    name: str
    text: str
    deserves: float
    stopped_by: str = ""


def strangers_course(root: Path, more: Mapping[int, int] | None = None) -> Course:
    """The course that they hand in for; more: other pages of it, number → how many exercises of the same kind."""
    return make_course(root, {60: 2, **(more or {})}, EXERCISES, EXERCISE)


def contents(folder: Path) -> dict[Path, str]:
    """File → what it holds, in a word; without what Python and git keep there."""
    files = [path for path in folder.rglob("*") if path.is_file() and not KEPT & {*path.parts}]
    return {path: sha256(path.read_bytes()).hexdigest() for path in files}


def cheats(kind: str) -> list[Cheat]:
    """Those of a file."""
    text = (CHEATS / f"{kind}.py").read_text(encoding="utf-8")
    head, *cells = re.split(r"^# %% (\w+)\n", text, flags=re.MULTILINE)
    imports = head.partition("\n\n")[2].rstrip()
    return [read_cheat(kind, name, imports, text) for name, text in zip(cells[::2], cells[1::2], strict=True)]


def read_cheat(kind: str, name: str, imports: str, text: str) -> Cheat:
    comment = re.match(r"(?:#.*\n)+", text)[0]
    said = dict(re.findall(r"^# (deserves|stopped by): (.*)$", comment, re.MULTILINE))
    code = f"{imports}\n\n{text.removeprefix(comment).strip()}\n"
    if not re.search(r"^ *(def |class )?answer\b( =|[(:])", code, re.MULTILINE):
        code += GIVES_ZERO
    return Cheat(f"{kind}/{name}", comment + code, float(said.get("deserves", "0")), said.get("stopped by", ""))


def answered(page: NotebookNode, *texts: str) -> NotebookNode:
    """A copy of a page with these answers, in order."""
    page = deepcopy(page)
    cells = [one for one in page.cells if one.metadata.get("tutorlib", {}).get("role") == "answer"]
    for one, text in zip(cells, texts, strict=True):
        one.source = text
    return page


def saved(page: NotebookNode, folder: Path) -> Path:
    path = folder / "60_trial.ipynb"
    nbformat.write(page, path)
    return path


def together(number: int, page: NotebookNode, answers: Sequence[str], folder: Path) -> Path:
    """Several answers as those of one page, which has as many exercises: one kernel runs them all."""
    texts = [text.replace("60.1", f"{number}.{k}") for k, text in enumerate(answers, 1)]
    path = folder / f"{number}_trial.ipynb"
    nbformat.write(answered(page, *texts), path)
    return path


def of_cheats() -> list[HandIn]:
    """Every cheat: an answer that cheats and, beside it, a plainly wrong one."""
    return [cheating_answer(one) for kind in KINDS for one in cheats(kind)]


def cheating_answer(cheat: Cheat) -> HandIn:
    def write(page: NotebookNode, folder: Path) -> Path:
        return saved(answered(page, cheat.text, WRONG), folder)

    return HandIn(f"cheats/{cheat.name}", (cheat.deserves, 0), write)


def of_the_honest() -> list[HandIn]:
    """Every oddity, each on a page whose two answers are right."""
    return [
        *(odd_answer(name, text) for name, text in ANSWERS.items()),
        *(odd_page(name, change) for name, change in (public(pages) | public(merged)).items()),
        *(odd_file(name, write) for name, write in public(files).items()),
        *(odd_file(name, partial(files.under_name, name)) for name in files.NAMES),
        *(odd_file(name, partial(files.in_format, name)) for name in files.FORMATS),
    ]


def public(module: object) -> dict[str, Callable]:
    """The functions of a module of oddities: those that take a page and say what is odd, in a docstring, alone."""
    functions = inspect.getmembers(module, inspect.isfunction)
    taking = {"notebook"}, {"notebook", "folder"}
    return {
        name: function
        for name, function in functions
        if function.__module__ == module.__name__ and inspect.signature(function).parameters.keys() in taking
    }


def odd_answer(name: str, text: str) -> HandIn:
    return HandIn(f"honest/answers/{name}", FULL, lambda page, folder: saved(answered(page, text, PLAIN), folder))


def odd_page(name: str, change: Callable[[NotebookNode], None]) -> HandIn:
    def write(page: NotebookNode, folder: Path) -> Path:
        page = answered(page, PLAIN, PLAIN)
        change(page)
        return saved(page, folder)

    return HandIn(f"honest/pages/{name}", FULL, write)


def odd_file(name: str, write: Callable[[NotebookNode, Path], Path]) -> HandIn:
    return HandIn(f"honest/files/{name}", FULL, lambda page, folder: write(answered(page, PLAIN, PLAIN), folder))
