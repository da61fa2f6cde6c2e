"""Reading a submission: which notebook of the course each file answers, and the text of its code cells.

Nothing else of a submitted notebook is looked at: no tags, outputs, metadata or file name.
"""

import json
import re
import warnings
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

import nbformat
from nbformat import NotebookNode

from tutorlib.paths import EXERCISE_ID, SOLUTIONS, notebook_names

ANSWER_ID = re.compile(r"answer-(\d\d)-(\d+)")
CHECK = re.compile(r"""check\(["'](\d\d\.\d+)["'], *\w+\)""")


class BadSubmission(Exception):
    """What was handed in cannot be graded at all. One line that names the file and what is wrong with it."""


@dataclass(frozen=True)
class CodeCell:
    """One code cell of a submission. exercise: whose answer it is marked as, or ""."""

    id: str
    exercise: str
    source: str


@dataclass(frozen=True)
class Submitted:
    """One notebook of a submission.

    name: the notebook of the course it answers, "02_layout_algebra". cells: its code cells, in order.
    """

    path: Path
    name: str
    cells: tuple[CodeCell, ...]

    @property
    def answers(self) -> dict[str, tuple[str, ...]]:
        """Exercise id → the text of each answer cell found for it; a well-formed notebook has one for each."""
        found: dict[str, tuple[str, ...]] = {}
        for cell in self.cells:
            if cell.exercise:
                found[cell.exercise] = (*found.get(cell.exercise, ()), cell.source)
        return found


def read_submission(paths: Iterable[Path]) -> list[Submitted]:
    """The notebooks of a submission in the course's order. No paths: the solutions. A folder: its notebooks.

    In a folder, notebooks that are not of the course are left out. Raises BadSubmission.
    """
    found: dict[str, Submitted] = {}
    for path in dict.fromkeys(file.resolve() for file in notebook_files(paths or [SOLUTIONS])):
        submitted = read_notebook(path)
        other = found.setdefault(submitted.name, submitted)
        if other is not submitted:
            raise BadSubmission(f"{path}: {other.path.name} answers {submitted.name} too; hand in one of them.")
    return [found[name] for name in sorted(found)]


def notebook_files(paths: Iterable[Path]) -> list[Path]:
    """The paths with each folder replaced by its notebooks. Raises BadSubmission."""
    files = []
    for path in paths:
        if path.is_dir():
            inside = sorted(path.glob("*.ipynb"))
            if not inside:
                raise BadSubmission(f"{path}: there is no notebook in this folder.")
            files += [file for file in inside if is_of_the_course(load(file))] or inside[:1]
        elif path.exists():
            files.append(path)
        else:
            raise BadSubmission(f"{path}: there is no such file.")
    return files


def is_of_the_course(notebook: NotebookNode) -> bool:
    return any(cell.exercise for cell in code_cells(notebook))


def load(path: Path) -> NotebookNode:
    """The notebook in a file. Raises BadSubmission where it holds none."""
    if path.suffix != ".ipynb":
        raise BadSubmission(f"{path}: not a notebook; its name should end in .ipynb.")
    try:
        text = path.read_text(encoding="utf-8")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # nbformat's complaints about missing cell ids
            return nbformat.reads(text, as_version=4)
    except (UnicodeDecodeError, json.JSONDecodeError, nbformat.reader.NotJSONError):
        raise BadSubmission(f"{path}: not a notebook; its JSON ends early or is damaged.") from None
    except OSError as error:
        raise BadSubmission(f"{path}: cannot be read: {error.strerror}.") from None
    except Exception:  # JSON of another shape makes nbformat fail in many ways
        raise BadSubmission(f"{path}: not a notebook: there are no notebook cells in it.") from None


def code_cells(notebook: NotebookNode) -> tuple[CodeCell, ...]:
    """Its code cells in order. Answers are known by their metadata or, where that is gone, by their ids; where both
    are, by the check that stands behind them.
    """
    cells = [
        CodeCell(cell.get("id", ""), answered(cell) or "", cell.source)
        for cell in notebook.cells
        if cell.cell_type == "code"
    ]
    if not any(cell.exercise for cell in cells):
        for n, cell in enumerate(cells[1:]):
            if check := CHECK.fullmatch(cell.source.strip()):
                cells[n] = replace(cells[n], exercise=check[1])
    return tuple(cells)


def answered(cell: NotebookNode) -> str | None:
    """ "02.5" where the cell is the answer to that exercise."""
    match cell.metadata.get("tutorlib"):
        case {"role": "answer", "exercise": str() as exercise} if EXERCISE_ID.fullmatch(exercise):
            return exercise
        case {"role": _}:
            return None
    match = ANSWER_ID.fullmatch(cell.get("id", ""))
    return f"{match[1]}.{match[2]}" if match else None


def read_notebook(path: Path) -> Submitted:
    """A submitted notebook and the notebook of the course it answers. Raises BadSubmission."""
    cells = code_cells(load(path))
    numbers = sorted({cell.exercise[:2] for cell in cells if cell.exercise})
    if not numbers:
        raise BadSubmission(f"{path}: not a notebook of this course: it has no answer cells.")
    if len(numbers) > 1:
        raise BadSubmission(f"{path}: it holds answers to several notebooks, {' and '.join(numbers)}; hand in each.")
    for name in notebook_names():
        if name[:2] == numbers[0]:
            return Submitted(path, name, cells)
    raise BadSubmission(f"{path}: it answers notebook {numbers[0]}, which this course does not have.")
