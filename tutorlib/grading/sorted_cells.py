"""Sorts a submission's code cells: answers, the course's own cells as the student has them, and added cells."""

import ast
import itertools
import re
import warnings
from collections import defaultdict
from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

from IPython.core.inputtransformer2 import TransformerManager
from nbformat import NotebookNode

from tutorlib.grading.limited_process import Allowance, Exceeded, about, in_child
from tutorlib.grading.needed_cells import Names, names_of
from tutorlib.grading.split_cells import AnswerPart, answer_parts, names_checked, without_page
from tutorlib.grading.submission import CodeCell
from tutorlib.problems.wrong import count

START = ""  # stands for the place before the first cell
SORTING = Allowance()  # for a page's cells, 2 MB at most; and again after each of
MOST_REFUSED = 6  # cells that exceed it, before none of the notebook is read
UNREADABLE = "your answer cannot be read"
TURNED = "its answer cell is {} text and not code: make it a code cell again (select it, press Esc, then Y)"
LONGEST_MAGIC = 2**14  # characters of a cell that is searched for magics here, and
MOST_MAGICS = 100  # signs of them in it: the search takes their product; of other cells the kernel tells
LONGEST_REASON = 200  # characters of Python's own words, which may quote a name of any length
MAGIC = re.compile(r"[%!?]")


@dataclass
class Sorted:
    """A student's additions to the course's own text. Cells are named by the ids of the pristine notebook.

    answers: exercise id → the text of its answer. unusable: exercise id → why there is none that can run.
    changed: course cell → its text as the student has it, where that differs. added: the cell behind which it stands,
    or START → the texts of cells that the course does not have. names: each of these texts → what
    `needed_cells` knows of it.
    """

    answers: dict[str, str] = field(default_factory=dict)
    unusable: dict[str, str] = field(default_factory=dict)
    changed: dict[str, str] = field(default_factory=dict)
    added: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    names: dict[str, Names | None] = field(default_factory=dict)


def sorted_within_limits(cells: Sequence[CodeCell], pristine: NotebookNode) -> Sorted:
    """`sort_cells` in child processes with limits: a cell that exceeds them is left out, and an answer says so."""
    refused: dict[Hashable, str] = {}
    while True:
        try:
            return in_child(SORTING, sort_cells, cells, pristine, refused)
        except Exceeded as error:
            if len(refused) == MOST_REFUSED or error.about in refused:
                why = f"this notebook cannot be read: it {error}"
                return Sorted(unusable=dict.fromkeys(stubs_of(pristine), why))
            refused[error.about] = str(error)


def sort_cells(
    cells: Sequence[CodeCell], pristine: NotebookNode, refused: Mapping[Hashable, str] = MappingProxyType({})
) -> Sorted:
    """The cells of a submission beside those of the notebook as students get it.

    refused: what is not to be read, ("cell", its number), ("answer", its exercise) or ("text", a part of a cell) → why.
    """
    return Sorting(cells, pristine, refused).result()


class Sorting:
    """The cells of one submission on their way to their places."""

    def __init__(self, cells: Sequence[CodeCell], pristine: NotebookNode, refused: Mapping[Hashable, str]) -> None:
        self.cells, self.pristine, self.refused = cells, pristine, refused
        self.stubs = stubs_of(pristine)
        self.places = {exercise: cell.id for cell in pristine.cells if (exercise := exercise_of(cell))}
        code = [cell for cell in pristine.cells if cell.cell_type == "code" and not exercise_of(cell)]
        self.texts = {cell.id: cell.source for cell in code}
        self.by_text = {text.strip(): id for id, text in reversed(self.texts.items())}
        self.unsolved = {stub.strip() for stub in self.stubs.values()}
        self.checked = {id: name for id, name in names_checked(pristine).items() if id in self.stubs}
        self.written: dict[str, list[tuple[int, str]]] = {exercise: [] for exercise in self.stubs}
        self.found = Sorted()

    def result(self) -> Sorted:
        marked = {cell.exercise for cell in self.cells if cell.kind == "code"}
        missing = [exercise for exercise in self.stubs if exercise not in marked]
        unassigned = {
            n: self.take_answer(n, cell, missing)
            for n, cell in enumerate(self.cells)
            if cell.exercise in self.stubs and cell.kind == "code"
        }
        missing = [exercise for exercise in self.stubs if not self.is_written(exercise)]
        here, begun = START, set()
        for n, cell in enumerate(self.cells):
            if n in unassigned:
                if cell.exercise not in begun:
                    here = self.places[cell.exercise]
                begun.add(cell.exercise)
                self.found.added[here] += unassigned[n]
            elif cell.kind == "code":
                here = self.take_other(n, cell, here, missing)
        for exercise, parts in self.written.items():
            self.choose(exercise, parts)
        self.add_names()
        return self.found

    def take_answer(self, n: int, cell: CodeCell, missing: Collection[str]) -> list[str]:
        """Take a cell that is marked as an answer, and those of the missing ones that were merged with it.

        Returns the parts of it that are no answers.
        """
        if why := self.refused.get(("cell", n)):
            self.found.unusable[cell.exercise] = f"{UNREADABLE}: it {why}"
            return []
        about(("cell", n))
        unassigned = []
        text = without_page(cell.source, self.pristine)
        for part in answer_parts(text, cell.exercise, self.checked, missing) or [AnswerPart(cell.exercise, text)]:
            if part.exercise:
                self.written[part.exercise].append((n, part.text))
            else:
                unassigned.append(part.text)
        return unassigned

    def is_written(self, exercise: str) -> bool:
        """Whether there is more than the stub in its cells, or a reason why they are not read."""
        about(("answer", exercise))
        if exercise in self.found.unusable or ("answer", exercise) in self.refused:
            return True
        return any(not is_unwritten(text, self.stubs[exercise]) for _, text in self.written[exercise])

    def take_other(self, n: int, cell: CodeCell, here: str, missing: Collection[str]) -> str:
        """Take a cell that is not marked as an answer: a missing one may be in it all the same.

        here: the cell of the course behind which it stands; returns that of the next one.
        """
        text = cell.source.strip()
        course = cell.id if cell.id in self.texts else self.by_text.get(text)
        here = here if course is None else course
        if not text or text in self.unsolved or (course is not None and text == self.texts[course].strip()):
            return here
        if self.refused.keys() & {("cell", n), ("text", cell.source)}:
            return here
        about(("cell", n))
        parts = answer_parts(without_page(cell.source, self.pristine), "", self.checked, missing) if missing else []
        if any(part.exercise for part in parts):
            for part in parts:
                if part.exercise:
                    here = self.places[part.exercise]
                    self.written[part.exercise].append((n, part.text))
                elif ("text", part.text) not in self.refused:
                    self.found.added[here].append(part.text)
        elif course is None:
            self.found.added[here].append(cell.source)
        else:
            self.found.changed[course] = cell.source
        return here

    def choose(self, exercise: str, parts: Sequence[tuple[int, str]]) -> None:
        """Its answer, or why there is none that can run."""
        why = self.refused.get(("answer", exercise), "")
        turned = next((cell.kind for cell in self.cells if cell.exercise == exercise and cell.kind != "code"), "")
        if exercise in self.found.unusable:
            return
        if why:
            why, text = f"{UNREADABLE}: it {why}", ""
        elif turned and not parts:
            why, text = TURNED.format(turned), ""
        else:
            about(("answer", exercise))
            behind = self.found.added[self.places[exercise]]
            text, why, joined = whole(exercise, parts, behind[0] if behind else None, self.stubs[exercise])
            if joined:
                del behind[0]
        if why:
            self.found.unusable[exercise] = why
        else:
            self.found.answers[exercise] = text

    def add_names(self) -> None:
        for exercise, text in self.found.answers.items():
            about(("answer", exercise))
            self.found.names[text] = names_of(text)
        for text in (*self.found.changed.values(), *itertools.chain(*self.found.added.values())):
            about(("text", text))
            self.found.names[text] = names_of(text)


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
    solved = {meaning(text) if len(done) > 1 else "": (n, text) for n, text in reversed(done)}
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
    lines = map(str.strip, text.splitlines())
    return text.strip() == stub.strip() or all(not line or line.startswith("#") for line in lines)


def meaning(text: str) -> str:
    """A form shared by copies that differ only in comments and white space; text that is not Python is its own form."""
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
        return f"{type(error).__name__} in line {error.lineno} of your answer: {error.msg[:LONGEST_REASON]}"
    except (RecursionError, MemoryError):
        return "your cell is nested too deep, or too long, for Python's parser"
    except ValueError as error:  # a null byte
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
