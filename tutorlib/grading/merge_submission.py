"""Merges a student's code into the pristine notebook.

The pristine notebook is built from its source by this process, so a student may work in notebooks/ itself. Its cells
run unchanged. The cells that the student added run in their places, and the student's version of a changed course cell
runs before the pristine one. They may raise, and can only add names.
"""

import itertools
from copy import deepcopy
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from nbformat import NotebookNode, v4

from tutorlib.course.build import student_notebook
from tutorlib.course.source import parse
from tutorlib.grading.local_modules import writing
from tutorlib.grading.needed_cells import Names, without_demos
from tutorlib.grading.sorted_cells import START, Sorted, sorted_within_limits
from tutorlib.grading.submission import Submitted
from tutorlib.paths import SOLUTIONS

MOST_HARMFUL = 3  # added cells that hang or end their process, before none is run any more


@dataclass
class MergedPage:
    """A notebook of the course with a student's code in it.

    answers: exercise id → the text of its answer cell.
    left_out: exercise id → why its answer is not in the notebook. Code in its place fails and says so, because a
        later answer may call it.
    before, behind: cell of the pristine notebook → cells that run before and behind it.
    files: the cell that writes the files which were handed in beside the notebook, or none. names: of each student's
    text, as `needed_cells` wants them.
    demos: whether cells run that no answer needs. failed_cells: cells of the course's own that failed → over what.
    added_s: seconds that cells took which the student added.
    """

    name: str
    pristine: NotebookNode
    answers: dict[str, str] = field(default_factory=dict)
    left_out: dict[str, str] = field(default_factory=dict)
    before: dict[str, list[NotebookNode]] = field(default_factory=dict)
    behind: dict[str, list[NotebookNode]] = field(default_factory=dict)
    files: list[NotebookNode] = field(default_factory=list)
    names: dict[str, Names | None] = field(default_factory=dict)
    harmful: set[str] = field(default_factory=set)
    demos: bool = True
    failed_cells: dict[str, str] = field(default_factory=dict)
    added_s: float = 0.0

    def leave_out(self, exercise: str, why: str) -> None:
        self.answers.pop(exercise, None)
        self.left_out[exercise] = why

    def leave_out_added(self, id: str) -> None:
        """A cell that the student added, which hangs or ends its process; with the last of a few, all of them."""
        self.harmful.add(id)

    def leave_out_demos(self) -> None:
        """One of them hangs or ends its process."""
        self.demos = False

    def leave_out_all_added(self) -> None:
        self.before.clear()
        self.behind.clear()

    def cells(self) -> list[NotebookNode]:
        """The code cells to run, in order."""
        cells = [cell for cell in self.files if cell.id not in self.harmful] + self.added(self.behind, START)
        for cell in self.pristine.cells:
            cells += [*self.added(self.before, cell.id), self.planted(cell), *self.added(self.behind, cell.id)]
        cells = [cell for cell in cells if cell.cell_type == "code"]
        return cells if self.demos else without_demos(cells, self.names)

    def added(self, cells: dict[str, list[NotebookNode]], place: str) -> list[NotebookNode]:
        if len(self.harmful) >= MOST_HARMFUL:
            return []
        return [cell for cell in cells.get(place, []) if cell.id not in self.harmful]

    def planted(self, cell: NotebookNode) -> NotebookNode:
        """The pristine cell, or a copy of it with the answer, or with a failing stand-in, as its text."""
        role = cell.metadata.get("tutorlib", {})
        if role.get("role") != "answer":
            return cell
        exercise, planted = role["exercise"], cell.copy()
        if exercise in self.answers:
            planted.source = self.answers[exercise]
        elif exercise in self.left_out:
            why = f"exercise {exercise} is missing: {self.left_out[exercise]}"
            planted.source = cell.source.replace(
                f'NotImplementedError("Exercise {exercise}")', f"RuntimeError({why!r})"
            )
        return planted


def sort(submitted: Submitted) -> Sorted:
    """The cells of a submitted notebook, sorted. Raises BuildError where the course itself is broken."""
    return sorted_within_limits(submitted.cells, pristine_page(SOLUTIONS / f"{submitted.name}.py"))


def merged_page(submitted: Submitted, found: Sorted, demos: bool = True) -> MergedPage:
    """The pristine notebook with what of a submission can run. Raises BuildError where the course itself is broken."""
    pristine = deepcopy(pristine_page(SOLUTIONS / f"{submitted.name}.py"))
    ids = (f"added-{n}" for n in itertools.count())
    before = {place: [added_cell(next(ids), text)] for place, text in found.changed.items()}
    behind = {place: [added_cell(next(ids), text) for text in texts] for place, texts in found.added.items()}
    files = [added_cell(next(ids), writing(submitted.modules))] if submitted.modules else []
    names = found.names | {cell.source: Names() for cell in files}
    answers, unusable = dict(found.answers), dict(found.unusable)
    return MergedPage(submitted.name, pristine, answers, unusable, before, behind, files, names, demos=demos)


@cache
def pristine_page(source: Path) -> NotebookNode:
    """The notebook as students get it. Raises BuildError."""
    return student_notebook(parse(source))


def added_cell(id: str, text: str) -> NotebookNode:
    cell = v4.new_code_cell(text, metadata={"tutorlib": {"role": "added"}})
    cell.id = id
    return cell
