"""A page of the course with a student's code in it.

The page is built from its source by this process, so a student may work in notebooks/ itself. The text of an answer is
that of the cells which are marked as it, one below the other, without those that are as students get them: so a cell
that Jupyter has split is whole again, and of copies the last definition counts. Where no cell is marked, it is the text
of the last cell that defines the function which the course's check takes.

Every other code cell runs where it stands among the course's own: one that the student added behind the cell of the
course above it, and the student's version of a cell of the course before the pristine one. These may raise, and can
only add names.
"""

import itertools
import re
from collections import defaultdict
from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from nbformat import NotebookNode, v4

from tutorlib.course.build import student_notebook
from tutorlib.course.source import parse
from tutorlib.grading.limited_process import Allowance, Exceeded, in_child
from tutorlib.grading.needed_cells import Names, names_of, without_demos
from tutorlib.grading.submission import CHECK, CodeCell, Submitted
from tutorlib.paths import SOLUTIONS

START = ""  # stands for the place before the first cell
SORTING = Allowance()  # for a page's cells, 2 MB at most
MOST_HARMFUL = 3  # added cells that hang or end their process, before none is run any more
TURNED = "its answer cell is {} text and not code: make it a code cell again (select it, press Esc, then Y)"
DELETED = "answer cell deleted: copy it back from the notebook as you got it, and write your answer there"
UNWRITTEN = "not written yet"


@dataclass
class StudentCode:
    """What of a submission is the student's. Cells are named by the ids of the pristine notebook.

    answers: exercise id → the text of its answer. unusable: exercise id → why there is none that can run.
    changed: course cell → its text as the student has it, where that differs. added: the cell behind which it stands,
    or START → the texts of cells that the course does not have. names: each of these texts → what `needed_cells` knows
    of it.
    """

    answers: dict[str, str] = field(default_factory=dict)
    unusable: dict[str, str] = field(default_factory=dict)
    changed: dict[str, str] = field(default_factory=dict)
    added: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    names: dict[str, Names | None] = field(default_factory=dict)


def student_code(submitted: Submitted) -> StudentCode:
    """The student's code, found in a child process with limits. Raises BuildError if the course itself is broken."""
    pristine = pristine_page(SOLUTIONS / f"{submitted.name}.py")
    try:
        return in_child(SORTING, code_in, submitted.cells, pristine)
    except Exceeded as error:
        why = f"this notebook cannot be read: it {error}"
        return StudentCode(unusable={exercise: why for cell in pristine.cells if (exercise := exercise_of(cell))})


def code_in(cells: Sequence[CodeCell], pristine: NotebookNode) -> StudentCode:
    """The student's code in the cells of a submission."""
    found = StudentCode()
    stubs = {exercise: cell for cell in pristine.cells if (exercise := exercise_of(cell))}
    code = [cell for cell in pristine.cells if cell.cell_type == "code" and not exercise_of(cell)]
    texts = {cell.id: cell.source.strip() for cell in code}
    known = {text: id for id, text in reversed(texts.items())}
    checked = {match[1]: match[2] for cell in code for match in CHECK.finditer(cell.source)}
    taken = set[int]()
    for exercise, stub in stubs.items():
        marked = [n for n, cell in enumerate(cells) if cell.exercise == exercise]
        own = [n for n in marked if cells[n].kind == "code"] or last_defining(cells, checked.get(exercise, ""))
        taken.update(own)
        written = [cells[n].source for n in own if not is_unwritten(cells[n].source, stub.source)]
        done = [text for text in written if f'"Exercise {exercise}"' not in text] or written
        if done:
            found.answers[exercise] = "\n".join(done)
        else:
            turned = TURNED.format(cells[marked[0]].kind) if marked and not own else DELETED
            found.unusable[exercise] = UNWRITTEN if own else turned
    unsolved = {stub.source.strip() for stub in stubs.values()}
    here = START
    for n, cell in enumerate(cells):
        text = cell.source.strip()
        course = cell.id if cell.id in texts else known.get(text)
        if cell.exercise in stubs:
            here = stubs[cell.exercise].id
        elif cell.kind == "code" and course is not None:
            here = course
            if text and text != texts[course] and n not in taken:
                found.changed[course] = cell.source
        elif cell.kind == "code" and text and text not in unsolved and n not in taken:
            found.added[here].append(cell.source)
    for text in (*found.answers.values(), *found.changed.values(), *itertools.chain(*found.added.values())):
        found.names[text] = names_of(text)
    return found


def last_defining(cells: Sequence[CodeCell], name: str) -> list[int]:
    """The number of the last code cell that gives this name a value at its top level; none where no cell does."""
    defines = re.compile(rf"^(?:(?:async )?def|class) {name}\b|^{name}\s*(?::[^=\n]*)?=(?!=)", re.MULTILINE)
    return [n for n, cell in enumerate(cells) if name and cell.kind == "code" and defines.search(cell.source)][-1:]


def exercise_of(cell: NotebookNode) -> str:
    """The exercise whose answer a cell of the pristine notebook is, or ""."""
    role: dict[str, str] = cell.metadata.get("tutorlib", {})
    return role["exercise"] if role.get("role") == "answer" else ""


def is_unwritten(text: str, stub: str) -> bool:
    """Whether it is as students get it, or nothing but comments."""
    lines = map(str.strip, text.splitlines())
    return text.strip() == stub.strip() or all(not line or line.startswith("#") for line in lines)


@dataclass
class MergedPage:
    """A notebook of the course with a student's code in it.

    answers: exercise id → the text of its answer cell. left_out: exercise id → why its answer is not in the notebook.
    Code in its place fails and says so, because a later answer may call it. before, behind: cell of the pristine
    notebook → cells that run before and behind it. names: of each student's text, as `needed_cells` wants them.
    harmful: the added cells that hang or end their process. added_s: seconds that cells took which the student added.
    """

    name: str
    pristine: NotebookNode
    answers: dict[str, str]
    left_out: dict[str, str]
    before: dict[str, list[NotebookNode]]
    behind: dict[str, list[NotebookNode]]
    names: dict[str, Names | None]
    harmful: set[str] = field(default_factory=set)
    added_s: float = 0.0

    def leave_out(self, exercise: str, why: str) -> None:
        self.answers.pop(exercise, None)
        self.left_out[exercise] = why

    def leave_out_added(self, id: str = "") -> None:
        """A cell that the student added, which hangs or ends its process; with the last of a few, all of them."""
        self.harmful.add(id)
        if not id or len(self.harmful) >= MOST_HARMFUL:
            self.before.clear()
            self.behind.clear()

    def cells(self) -> list[NotebookNode]:
        """The code cells to run, in order; of the course's own those that an answer or an added cell needs."""
        cells = self.behind.get(START, [])[:]
        for cell in self.pristine.cells:
            cells += [*self.before.get(cell.id, []), self.planted(cell), *self.behind.get(cell.id, [])]
        return without_demos([cell for cell in cells if cell.id not in self.harmful], self.names)

    def planted(self, cell: NotebookNode) -> NotebookNode:
        """The pristine cell, or a copy of it with the answer, or with a failing stand-in, as its text."""
        if not (exercise := exercise_of(cell)):
            return cell
        planted = cell.copy()
        if exercise in self.answers:
            planted.source = self.answers[exercise]
        elif exercise in self.left_out:
            why = f"exercise {exercise} is missing: {self.left_out[exercise]}"
            planted.source = cell.source.replace(
                f'NotImplementedError("Exercise {exercise}")', f"RuntimeError({why!r})"
            )
        return planted


def merged_page(name: str, code: StudentCode) -> MergedPage:
    """The notebook of the course of this name with a student's code. Raises BuildError if the course is broken."""
    ids = (f"added-{n}" for n in itertools.count())
    return MergedPage(
        name,
        deepcopy(pristine_page(SOLUTIONS / f"{name}.py")),
        dict(code.answers),
        dict(code.unusable),
        {place: [added_cell(next(ids), text)] for place, text in code.changed.items()},
        {place: [added_cell(next(ids), text) for text in texts] for place, texts in code.added.items()},
        code.names,
    )


@cache
def pristine_page(source: Path) -> NotebookNode:
    """The notebook as students get it. Raises BuildError."""
    return student_notebook(parse(source))


def added_cell(id: str, text: str) -> NotebookNode:
    cell = v4.new_code_cell(text, metadata={"tutorlib": {"role": "added"}})
    cell.id = id
    return cell
