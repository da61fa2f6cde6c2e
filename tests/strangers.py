"""What strangers hand in, and the points that it deserves: tests/cheats/ and tests/honest.py, for any grader.

They are for a course with one page, 60, of two exercises with 2 points each; both ask for answer(n) = (n + 1, 2 * n).
A cheat is a cell of a file in tests/cheats/. The imports at the file's head belong to each of its cells; an attack that
defines no answer gets a wrong one. A cheat says in its first comment what it tries; what its answer deserves, if that
is not 0; and where the sandbox makes its cell fail, by which exception: another one would be a slip of its own, before
any attack.
"""

import inspect
import io
import os
import re
import subprocess
import sys
import zipfile
from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from functools import cache, partial
from hashlib import sha256
from pathlib import Path

import nbformat
from nbformat import NotebookNode

from tests import honest
from tests.honest import ANSWERS, PLAIN
from tests.trial_course import Course, make_course
from tutorlib.paths import ROOT

CHEATS = Path(__file__).with_name("cheats")
KINDS = ("forging", "reading", "harming")
GIVES_ZERO = "\n\ndef answer(n):\n    return 0\n"
WRONG = "def answer(n):\n    return -1, -1"
FULL = (2, 2)
KEPT = {"__pycache__", ".git", ".venv"}  # folders in which Python and git write at any time

EXERCISES = """
from tutorlib.checking.randomness import beside
from tutorlib.checking.values import ValueExercise, equals

CALLS = {{
    "small": beside([(0,), (1,), (2,)], lambda rng: (rng.randrange(3, 10**6),), 1),
    "large": beside([(2**40,), (10**9,)], lambda rng: (rng.randrange(2**32, 2**45),), 1),
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
        *(odd_page(name, change) for name, change in taking({"notebook"}).items()),
        *(odd_file(name, write) for name, write in taking({"notebook", "folder"}).items()),
        *(odd_file(name, partial(honest.under_name, name)) for name in honest.NAMES),
        *(odd_file(name, partial(honest.in_format, name)) for name in honest.FORMATS),
    ]


def taking(parameters: set[str]) -> dict[str, Callable]:
    """The functions of tests/honest.py with these parameters alone."""
    functions = inspect.getmembers(honest, inspect.isfunction)
    return {name: one for name, one in functions if inspect.signature(one).parameters.keys() == parameters}


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


# An outer sandbox -----------------------------------------------------------------------------------------------------

# Own processes, and folders that cannot be written; after the command, what runs on for seconds. PID 1 is the shell.
SCRIPT = """
left=$1; shift
while [ "$1" != -- ]; do mount --bind "$1" "$1" && mount -o remount,bind,ro "$1" || exit 126; shift; done; shift
"$@"; status=$?
look() { for process in /proc/[0-9]*; do [ $process = /proc/1 ] || tr '\\0' ' ' < $process/cmdline; done; }
looks=0; while look > "$left" 2>&-; [ -s "$left" ] && [ $looks -lt 50 ]; do looks=$((looks + 1)); sleep 0.1; done
exit $status
"""
APART = ("unshare", "--user", "--map-root-user", "--mount", "--pid", "--fork", "--mount-proc", "--kill-child")


@cache
def why_no_outer_sandbox() -> str:
    """Why no outer sandbox can be built on this machine; "" where one can."""
    try:
        done = subprocess.run([*APART, "true"], capture_output=True, text=True, check=False)
    except FileNotFoundError:
        return "unshare is missing"
    return done.stderr.strip()


def in_outer_sandbox(command: list[str], left: Path) -> list[str]:
    """The command that runs another one in an outer sandbox: should the grader's own fall, this machine does not.

    It writes neither to the course nor to Python nor to anybody's home, and sees no process but its own. What it
    leaves running, for longer than helpers need to hear of its end, is killed, and listed in the file `left`.
    """
    kept = dict.fromkeys(map(os.path.realpath, (ROOT, sys.prefix, sys.base_prefix, Path.home())))
    return [*APART, "sh", "-c", SCRIPT, "sh", str(left), *kept, "--", *command]


# Small texts and files that make their reader compute or allocate without end ----------------------------------------


def compiled_twice_each(depth: int = 40) -> str:
    """Nested `finally` blocks: Python's compiler writes each of them twice, so 40 levels are 2**40 copies."""
    lines = [line for n in range(depth) for line in (f"{' ' * n}try:", f"{' ' * n} pass", f"{' ' * n}finally:")]
    return "\n".join([*lines, f"{' ' * depth}pass"])


def in_a_function(bomb: str) -> str:
    indented = "\n".join(f"    {line}" for line in bomb.split("\n"))
    return f"def answer(n):\n{indented}\n    return n"


def lists_in_lists(size: int = 2**24) -> bytes:
    """JSON whose every two bytes are a list of 56."""
    return b'{"cells": [' + b"[]," * (size // 3) + b"[]]}"


def swelling(packing: int, size: int = 2**28) -> bytes:
    """A zip with one member that is `size` bytes of nothing."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", packing) as archive:
        archive.writestr("00_start.ipynb", bytes(size))
    return file.getvalue()
