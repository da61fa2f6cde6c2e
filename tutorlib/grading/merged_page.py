"""A page of the course with a student's code in it.

The page is built from its source by this process, so a student may work in notebooks/ itself. The text of an answer is
that of the cells which are marked as it, one below the other, without those that are as students get them: so a cell
that Jupyter has split is whole again, and of copies the last definition counts. Where no cell is marked, it is the text
of the last cell that defines the function which the course's check takes.

Every other code cell runs where it stands among the course's own: one that the student added behind the cell of the
course above it, and the student's version of a cell of the course before the pristine one. These may raise, and can
only add names. The page's own demonstrations, which nothing needs, do not run.
"""

import itertools
import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cache

from tutorlib.course.answers import Names, names_of, needed_texts, trimmed
from tutorlib.course.build import unique_ids
from tutorlib.course.source import parse
from tutorlib.grading.judge_process import PageCell
from tutorlib.grading.limited_process import Allowance, Exceeded, in_child
from tutorlib.grading.submission import CHECK, CodeCell, Submitted
from tutorlib.paths import SOLUTIONS

START = ""  # stands for the place before the first cell
SORTING = Allowance()  # for a page's cells, 2 MB at most
MOST_HARMFUL = 3  # added cells that hang or end their process, before none is run any more
MISSING = "its answer cell was deleted, or is no code cell any more: copy it back from the notebook as you got it"
UNWRITTEN = "not written yet"


@dataclass
class MergedPage:
    """A notebook of the course with a student's code in it.

    answers: exercise id → the text of its answer. left_out: exercise id → why its answer is not in the notebook. Code
    in its place fails and says so, because a later answer may call it. added: cell of the pristine notebook, or START
    → the texts of the cells behind it that the course does not have, or has in another version.
    names: of each student's text. harmful: the added cells that hang or end their process.
    """

    name: str
    answers: dict[str, str] = field(default_factory=dict)
    left_out: dict[str, str] = field(default_factory=dict)
    added: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    names: dict[str, Names | None] = field(default_factory=dict)
    harmful: set[str] = field(default_factory=set)

    def leave_out(self, exercise: str, why: str) -> None:
        """From now on the page is without this answer."""
        self.answers.pop(exercise, None)
        self.left_out[exercise] = why

    def leave_out_added(self, id: str) -> None:
        """A cell that the student added, which hangs or ends its process; with the last of a few, all of them."""
        self.harmful.add(id)
        if len(self.harmful) >= MOST_HARMFUL:
            self.added.clear()

    def cells(self) -> list[PageCell]:
        """The code cells to run, in order; of the course's own those that an answer or an added cell needs."""
        cells = self.added_cells(START)
        for cell in pristine_cells(self.name):
            cells += [self.with_answer(cell), *self.added_cells(cell.id)]
        needed, read = needed_texts([cell.source for cell in cells], [bool(cell.role) for cell in cells], self.names)
        return [
            cell if cell.role or read is None else replace(cell, source=trimmed(cell.source, read))
            for cell, stays in zip(cells, needed, strict=True)
            if stays
        ]

    def added_cells(self, place: str) -> list[PageCell]:
        cells = (PageCell(f"added-{place}-{n}", text, "added") for n, text in enumerate(self.added.get(place, ())))
        return [cell for cell in cells if cell.id not in self.harmful]

    def with_answer(self, cell: PageCell) -> PageCell:
        """The pristine cell, with the answer, or a stand-in that fails, as its text."""
        if cell.role != "answer":
            return cell
        why = f"exercise {cell.exercise} is missing: {self.left_out.get(cell.exercise)}"
        fails = cell.source.replace(f'NotImplementedError("Exercise {cell.exercise}")', f"RuntimeError({why!r})")
        return replace(cell, source=self.answers.get(cell.exercise, fails))


def merged_page(submitted: Submitted) -> MergedPage:
    """The notebook with the student's code, which a child process with limits has found in the submission.

    Raises BuildError if the course itself is broken.
    """
    pristine = pristine_cells(submitted.name)
    try:
        return in_child(SORTING, page_with, submitted.name, submitted.cells, pristine)
    except Exceeded as error:
        why = f"this notebook cannot be read: it {error}"
        return MergedPage(submitted.name, left_out={cell.exercise: why for cell in pristine if cell.role == "answer"})


def page_with(name: str, cells: Sequence[CodeCell], pristine: Sequence[PageCell]) -> MergedPage:
    """The notebook of this name, whose own cells these are, with the student's code in the cells of a submission."""
    found = MergedPage(name)
    stubs = {cell.exercise: cell for cell in pristine if cell.role == "answer"}
    texts = {cell.id: cell.source.strip() for cell in pristine if cell.role != "answer"}
    known = {text: id for id, text in reversed(texts.items())}
    checked = {match[1]: match[2] for text in known for match in CHECK.finditer(text)}
    taken = set[int]()
    for exercise, stub in stubs.items():
        own = [n for n, cell in enumerate(cells) if cell.exercise == exercise]
        own = own or last_defining(cells, checked.get(exercise, ""))
        taken.update(own)
        written = [cells[n].source for n in own if not is_unwritten(cells[n].source, stub.source)]
        done = [text for text in written if f'"Exercise {exercise}"' not in text] or written
        if done:
            found.answers[exercise] = "\n".join(done)
        else:
            found.left_out[exercise] = UNWRITTEN if own else MISSING
    unsolved = {stub.source.strip() for stub in stubs.values()}
    here = START
    for n, cell in enumerate(cells):
        text = cell.source.strip()
        course = cell.id if cell.id in texts else known.get(text)
        if text and n not in taken and text != texts.get(course or "") and text not in unsolved:
            found.added[here].append(cell.source)
        here = stubs[cell.exercise].id if cell.exercise in stubs else course or here
    for text in (*found.answers.values(), *itertools.chain(*found.added.values())):
        found.names[text] = names_of(text)
    return found


def last_defining(cells: Sequence[CodeCell], name: str) -> list[int]:
    """The number of the last cell that gives this name a value at its top level; none where no cell does."""
    defines = re.compile(rf"^(?:(?:async )?def|class) {name}\b|^{name}\s*(?::[^=\n]*)?=(?!=)", re.MULTILINE)
    return [n for n, cell in enumerate(cells) if name and defines.search(cell.source)][-1:]


def is_unwritten(text: str, stub: str) -> bool:
    """Whether it is as students get it, or nothing but comments."""
    lines = map(str.strip, text.splitlines())
    return text.strip() == stub.strip() or all(not line or line.startswith("#") for line in lines)


@cache
def pristine_cells(name: str) -> tuple[PageCell, ...]:
    """The code cells of a notebook as students get it. Raises BuildError."""
    cells = parse(SOLUTIONS / f"{name}.py")
    return tuple(
        PageCell(id, cell.unsolved, cell.role or "", cell.exercise)
        for cell, id in zip(cells, unique_ids(cells), strict=True)
        if cell.kind == "code"
    )
