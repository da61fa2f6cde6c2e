"""Reads a submission: which notebook of the course each file answers, and its cells' text.

Nothing else of a submitted notebook is looked at: no tags, outputs, other metadata or file name. Each file is read in a
child process with limits (`limited_process`).
"""

import re
import warnings
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import nbformat
from nbformat import NotebookNode

from tutorlib.grading.limited_process import Allowance, Exceeded, in_child
from tutorlib.paths import EXERCISE_ID, SOLUTIONS, notebook_names

SUFFIX = ".ipynb"
LARGEST_NOTEBOOK = 2**25  # bytes; one with many pictures has 2**20
READING = Allowance()  # for one file; its cells have 2 MB at most, which Python's compiler reads in 3 s
LARGEST_CODE = 2**21  # characters of all cells
ANSWER_ID = re.compile(r"answer-(\d\d)-(\d+)", re.ASCII)
CHECK = re.compile(r"""^check\(\s*["'](\d\d\.\d+)["']\s*,\s*(\w+)\s*\)""", re.MULTILINE)


class BadSubmission(Exception):
    """The submission cannot be graded at all. The message is one line: the file, and what is wrong with it."""


@dataclass(frozen=True)
class CodeCell:
    """One code cell of a submission. exercise: whose answer it is marked as, or ""."""

    id: str
    exercise: str
    source: str


@dataclass(frozen=True)
class Submitted:
    """One notebook of a submission.

    name: the notebook of the course it answers, "03_layout_algebra". cells: its code cells, in order.
    """

    path: Path
    name: str
    cells: tuple[CodeCell, ...]

    @property
    def written(self) -> bool:
        """Whether any answer is more than what students get."""
        return any(cell.exercise and f'"Exercise {cell.exercise}"' not in cell.source for cell in self.cells)


def read_submission(paths: Iterable[Path], say: Callable[[str], None] = lambda line: None) -> list[Submitted]:
    """The notebooks of a submission in the course's order. No paths: the solutions. A folder: its notebooks.

    Of several that answer the same page, `newest` takes one. In a folder, what is no notebook of the course is left
    out; `say` gets a line for each.
    Raises BadSubmission for a bad file that was named, and for a folder without a good one.
    """
    found: list[Submitted] = []
    for path in dict.fromkeys(path.resolve() for path in paths or [SOLUTIONS]):
        found += read_folder(path, say) if path.is_dir() else [read_notebook(path)]
    found.sort(key=lambda submitted: submitted.path.stat().st_mtime_ns)
    return sorted(newest(dict.fromkeys(found), say), key=lambda submitted: submitted.name)


def read_folder(folder: Path, say: Callable[[str], None]) -> list[Submitted]:
    """The notebooks of the course in a folder. Raises BadSubmission where there is none."""
    refused: list[str] = []
    read = [*read_each(((file, None) for file in notebook_files(folder)), refused.append)]
    if not read:
        raise BadSubmission(refused[0] if refused else f"{folder}: there is no notebook in this folder.")
    for why in refused:
        say(f"{why} It is left out.")
    return read


def read_each(files: Iterable[tuple[Path, bytes | None]], refused: Callable[[str], None]) -> Iterator[Submitted]:
    """The notebooks in these files, content None for one on disk; a line to `refused` for each that cannot be read."""
    for path, content in files:
        try:
            yield read_notebook(path, content)
        except BadSubmission as error:
            refused(str(error))


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


def read_notebook(path: Path, content: bytes | None = None) -> Submitted:
    """The notebook in a file and the notebook of the course that it answers. Raises BadSubmission.

    content: what was read already of a file that messages call `path`.
    """
    try:
        return in_child(READING, lambda: parsed(path, content_of(path) if content is None else content))
    except Exceeded as error:
        raise BadSubmission(f"{path}: cannot be read: it {error}.") from None


def content_of(path: Path) -> bytes:
    """A file's bytes. Raises BadSubmission."""
    if path.suffix.lower() != SUFFIX:
        raise BadSubmission(f"{path}: not a notebook; its name should end in .ipynb. (`tutor class` takes zips.)")
    try:
        if path.exists() and not path.is_file():  # reading a pipe would block
            raise BadSubmission(f"{path}: not a notebook: it is not even a file.")
        if path.stat().st_size > LARGEST_NOTEBOOK:
            raise BadSubmission(f"{path}: larger than {LARGEST_NOTEBOOK // 2**20} MB. Clear its outputs and save it.")
        return path.read_bytes()
    except OSError as error:
        raise BadSubmission(f"{path}: cannot be read: {error.strerror}.") from None


def parsed(path: Path, content: bytes) -> Submitted:
    """The notebook that these bytes are, and the notebook of the course that it answers. Raises BadSubmission.

    Answers are known by their metadata, or else by their cells' ids, or else by the checks.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # it complains of cells without ids
            notebook = nbformat.reads(content.decode("utf-8-sig"), as_version=4)
        code = [cell for cell in notebook.cells if cell.cell_type == "code"]
        written = sum(len(cell.source) for cell in notebook.cells)
    except MemoryError:
        raise
    except Exception:  # nbformat fails in many ways
        raise BadSubmission(f"{path}: not a notebook that Jupyter can open. Open it there, and save it.") from None
    if written > LARGEST_CODE:
        raise BadSubmission(f"{path}: its cells have {written:,} characters; {LARGEST_CODE:,} are read.")
    cells = tuple(CodeCell(str(cell.get("id", "")), exercise_marked(cell), cell.source) for cell in code)
    ids = [cell.exercise for cell in cells if cell.exercise]
    ids = ids or [match[1] for cell in cells for match in CHECK.finditer(cell.source)]  # Colab drops all marks
    numbers = sorted({exercise[:2] for exercise in ids})
    if not numbers:
        raise BadSubmission(f"{path}: not a notebook of this course: it has no answer cells.")
    if len(numbers) > 1:
        raise BadSubmission(f"{path}: it holds answers to several notebooks, {' and '.join(numbers)}; hand in each.")
    for name in notebook_names():
        if name[:2] == numbers[0]:
            return Submitted(path, name, cells)
    raise BadSubmission(f"{path}: it answers notebook {numbers[0]}, which this course does not have.")


def exercise_marked(cell: NotebookNode) -> str:
    """ "03.5" where the cell is marked as the answer to that exercise, else ""."""
    match cell.metadata.get("tutorlib"):
        case {"role": role, "exercise": str() as exercise} if EXERCISE_ID.fullmatch(exercise):
            return exercise if role == "answer" else ""
    match = ANSWER_ID.fullmatch(str(cell.get("id", "")))
    return f"{match[1]}.{match[2]}" if match else ""
