"""Reading a submission: which notebook of the course each file answers, and the text of its code cells.

Nothing else of a submitted notebook is looked at: no tags, outputs, metadata or file name.
"""

import json
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from nbformat import NotebookNode

from tutorlib.grading import mended
from tutorlib.paths import EXERCISE_ID, SOLUTIONS, notebook_names

SUFFIX = ".ipynb"
ANSWER_ID = re.compile(r"answer-(\d\d)-(\d+)", re.ASCII)


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

    @property
    def written(self) -> bool:
        """Whether any answer is more than what students get."""
        return any(f'"Exercise {id}"' not in text for id, texts in self.answers.items() for text in texts)


def read_submission(paths: Iterable[Path], say: Callable[[str], None] = lambda line: None) -> list[Submitted]:
    """The notebooks of a submission in the course's order. No paths: the solutions. A folder: its notebooks.

    In a folder, what is no notebook of the course is left out, and of two that answer the same page the older one;
    `say` gets a line for each. Raises BadSubmission for a bad file that was named, and for a folder without a good one.
    """
    found: dict[str, Submitted] = {}
    for path in dict.fromkeys(path.resolve() for path in paths or [SOLUTIONS]):
        for submitted in read_folder(path, say) if path.is_dir() else [read_notebook(path)]:
            other = found.setdefault(submitted.name, submitted)
            if other.path != submitted.path:
                raise BadSubmission(f"{path}: {other.path.name} answers {submitted.name} too; hand in one of them.")
    return [found[name] for name in sorted(found)]


def read_folder(folder: Path, say: Callable[[str], None]) -> list[Submitted]:
    """The notebooks of the course in a folder, one for each page. Raises BadSubmission where there is none."""
    files = notebook_files(folder)
    if not files:
        raise BadSubmission(f"{folder}: there is no notebook in this folder.")
    read, refused = [], []
    for file in files:
        try:
            read.append(read_notebook(file))
        except BadSubmission as error:
            refused.append(error)
    if not read:
        raise refused[0]
    for why in refused:
        say(f"{why} It is left out.")
    return newest(read, say)


def notebook_files(folder: Path) -> list[Path]:
    """The notebooks in a folder or, where it has none, in the folders below it; the oldest first.

    What a dot hides is none: .ipynb_checkpoints, and the ._01.ipynb that macOS adds.
    """
    shown = [path for path in folder.glob("*") if not path.name.startswith(".")]
    files = [path for path in shown if path.suffix.lower() == SUFFIX and not path.is_dir()]
    files = files or [file for path in sorted(shown) if path.is_dir() for file in notebook_files(path)]
    return sorted(files, key=lambda file: (file.lstat().st_mtime_ns, file.stem in notebook_names(), file.name))


def newest(read: Iterable[Submitted], say: Callable[[str], None]) -> list[Submitted]:
    """One notebook for each page: of several, the oldest first, the last one in which anything is written.

    `say` gets a line for each that is left out.
    """
    chosen: dict[str, Submitted] = {}
    for submitted in read:
        before = chosen.get(submitted.name)
        if before is None:
            chosen[submitted.name] = submitted
        elif submitted.written or not before.written:
            say(f"{before.path}: left out, because {submitted.path.name} answers {submitted.name} too and is newer.")
            chosen[submitted.name] = submitted
        else:
            say(f"{submitted.path}: left out: it is newer than {before.path.name}, and nothing is written in it.")
    return list(chosen.values())


def load(path: Path) -> NotebookNode:
    """The notebook in a file, as a wayward tool or a hand may have left it. Raises BadSubmission where it holds none.

    Cells whose ids and metadata are gone get those of the page's answer cells back.
    """
    if path.suffix.lower() != SUFFIX:
        raise BadSubmission(f"{path}: not a notebook; its name should end in .ipynb.")
    try:
        if path.exists() and not path.is_file():  # a pipe would keep its reader waiting for ever
            raise BadSubmission(f"{path}: not a notebook: it is not even a file.")
        content = path.read_bytes()
        return mended.notebook(json.loads(content.decode(json.detect_encoding(content), "replace")))
    except json.JSONDecodeError:
        raise BadSubmission(f"{path}: not a notebook; its JSON ends early or is damaged.") from None
    except FileNotFoundError:
        raise BadSubmission(f"{path}: there is no such file.") from None
    except OSError as error:
        raise BadSubmission(f"{path}: cannot be read: {error.strerror}.") from None
    except mended.NobodyWrote as error:
        raise BadSubmission(f"{path}: {error}.") from None
    except BadSubmission:
        raise
    except Exception:  # JSON of another shape makes nbformat fail in many ways
        raise BadSubmission(f"{path}: not a notebook: there are no notebook cells in it.") from None


def code_cells(notebook: NotebookNode) -> tuple[CodeCell, ...]:
    """Its code cells in order. Answers are known by their metadata or, where that is gone, by their ids."""
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    return tuple(CodeCell(cell.get("id", ""), answered(cell) or "", cell.source) for cell in code)


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
