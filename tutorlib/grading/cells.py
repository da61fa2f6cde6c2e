"""A submission's code cells sorted: answers, the course's own cells as the student has them, and cells added to it."""

import ast
import re
import warnings
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from IPython.core.inputtransformer2 import TransformerManager
from nbformat import NotebookNode

from tutorlib.grading.submission import CodeCell
from tutorlib.problems.wrong import count

START = ""  # stands for the place before the first cell
LONGEST_MAGIC = 2**14  # characters of a cell that is searched for magics here, and
MOST_MAGICS = 100  # signs of them in it: the search takes their product; of other cells the kernel tells
MAGIC = re.compile(r"[%!?]")


@dataclass
class Sorted:
    """What a student's notebook has beside the course's own text. Cells are named by the ids of the pristine notebook.

    answers: exercise id → the text of its answer. unusable: exercise id → why there is none that can run.
    changed: course cell → its text as the student has it, where that differs. added: the cell behind which it stands,
    or START → the texts of cells that the course does not have.
    """

    answers: dict[str, str] = field(default_factory=dict)
    unusable: dict[str, str] = field(default_factory=dict)
    changed: dict[str, str] = field(default_factory=dict)
    added: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))


def sort_cells(cells: Sequence[CodeCell], pristine: NotebookNode) -> Sorted:
    """The cells of a submission beside those of the notebook as students get it."""
    found = Sorted()
    stubs = stubs_of(pristine)
    places = {exercise: cell.id for cell in pristine.cells if (exercise := exercise_of(cell))}
    texts = {cell.id: cell.source for cell in pristine.cells if cell.cell_type == "code" and not exercise_of(cell)}
    by_text = {text.strip(): id for id, text in reversed(texts.items())}
    written: dict[str, list[tuple[int, str]]] = {exercise: [] for exercise in stubs}
    unsolved = {stub.strip() for stub in stubs.values()}
    here = START
    for n, cell in enumerate(cells):
        course = cell.id if cell.id in texts else by_text.get(cell.source.strip())
        if cell.exercise in written:
            if not written[cell.exercise]:
                here = places[cell.exercise]
            written[cell.exercise].append((n, cell.source))
        elif course is not None:
            here = course
            if cell.source.strip() != texts[course].strip():
                found.changed[course] = cell.source
        elif cell.source.strip() and cell.source.strip() not in unsolved:
            found.added[here].append(cell.source)
    for exercise, parts in written.items():
        behind = found.added[places[exercise]]
        text, why, joined = whole(exercise, parts, behind[0] if behind else None, stubs[exercise])
        if joined:
            del behind[0]
        if why:
            found.unusable[exercise] = why
        else:
            found.answers[exercise] = text
    return found


def exercise_of(cell: NotebookNode) -> str:
    """The exercise whose answer a cell of the pristine notebook is, or ""."""
    role: Mapping[str, str] = cell.metadata.get("tutorlib", {})
    return role["exercise"] if role.get("role") == "answer" else ""


def stubs_of(notebook: NotebookNode) -> dict[str, str]:
    """Exercise id → the text of its answer cell as students get it, in the notebook's order."""
    return {exercise: cell.source for cell in notebook.cells if (exercise := exercise_of(cell))}


def whole(exercise: str, parts: Sequence[tuple[int, str]], behind: str | None, stub: str) -> tuple[str, str, bool]:
    """The text of an answer, why there is none, and whether the added cell `behind` it holds its rest.

    parts: the number and the text of each cell that is marked as this answer. Jupyter can split a cell in two, and
    copies are left standing: solved, unsolved, commented out.
    """
    if not parts:
        why = "answer cell deleted: copy it back from the notebook as you got it, and write your answer there"
        return "", why, False
    written = [(n, text) for n, text in parts if not is_unwritten(text, stub)]
    if not written:
        return "", "not written yet", False
    placeholder = re.compile(
        rf'^[ \t]*raise\b.*NotImplementedError\(["\']Exercise {re.escape(exercise)}["\']\)', re.MULTILINE
    )
    done = [(n, text) for n, text in written if not placeholder.search(text)] or written[:1]
    solved = {meaning(text): (n, text) for n, text in reversed(done)}
    numbers, texts = zip(*sorted(solved.values()), strict=True)
    together = "\n".join(texts)
    if len(texts) > 1 and not all(map(readable, texts)) and readable(together):
        return together, "", False
    if len(texts) > 1 and numbers[-1] - numbers[0] >= len(texts):
        return "", f"there are {count(len(texts), 'answer cell')} for {exercise}: keep one and delete the other", False
    if behind is not None and readable(f"{together}\n{behind}") and not (readable(together) and readable(behind)):
        return f"{together}\n{behind}", "", True
    return together, syntax_error(together), False


def is_unwritten(text: str, stub: str) -> bool:
    """Whether it is as students get it, or nothing but comments."""
    try:
        return text.strip() == stub.strip() or not ast.parse(text).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False


def meaning(text: str) -> str:
    """What two copies have in common that differ in comments and white space. What is not plain Python: itself."""
    try:
        return ast.dump(ast.parse(text))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return text.strip()


def readable(text: str) -> bool:
    """Whether it is Python by itself. IPython would take away the indentation of a function's second half."""
    return not (text.lstrip("\n")[:1].isspace() or syntax_error(text))


def syntax_error(text: str) -> str:
    """The first line that Python cannot read, or "". Cell magics are no errors."""
    try:
        if not is_python(text) and len(text) <= LONGEST_MAGIC and len(MAGIC.findall(text)) <= MOST_MAGICS:
            read_by_python(TransformerManager().transform_cell(text))
    except SyntaxError as error:
        return f"{type(error).__name__} in line {error.lineno} of your answer: {error.msg}"
    except (ValueError, RecursionError, MemoryError) as error:  # a null byte; too deep for the parser
        return f"your cell is not Python: {error}"
    return ""


def is_python(text: str) -> bool:
    """Whether it is Python without any magics."""
    try:
        read_by_python(text)
    except SyntaxError:
        return False
    return True


def read_by_python(text: str) -> None:
    """Raises SyntaxError, ValueError, RecursionError and MemoryError."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of what a student wrote: they are not the instructor's
        compile(text, "", "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, dont_inherit=True)
