"""Answers put into the pristine notebook.

The pristine notebook is built from its source at this moment, so a student may work in notebooks/ itself.
"""

import ast
from dataclasses import dataclass, field

from IPython.core.inputtransformer2 import TransformerManager
from nbformat import NotebookNode

from tutorlib.course.build import student_notebook
from tutorlib.course.source import parse
from tutorlib.grading.needed import without_demos
from tutorlib.grading.submission import Submitted
from tutorlib.paths import SOLUTIONS
from tutorlib.problems.wrong import count


@dataclass
class Graft:
    """A notebook of the course with a student's answers in it.

    answers: exercise id → the text of its answer cell.
    left_out: exercise id → why its answer is not in the notebook. In its place stands code that fails and says so,
        because a later answer may call it.
    demos: whether cells run that no answer needs.
    """

    name: str
    pristine: NotebookNode
    answers: dict[str, str] = field(default_factory=dict)
    left_out: dict[str, str] = field(default_factory=dict)
    demos: bool = True

    def leave_out(self, exercise: str, why: str) -> None:
        self.answers.pop(exercise, None)
        self.left_out[exercise] = why

    def notebook(self) -> NotebookNode:
        grafted = self.pristine.copy()
        grafted.cells = [self.planted(cell) for cell in self.pristine.cells]
        if not self.demos:
            grafted.cells = without_demos(grafted.cells)
        return grafted

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


def graft(submitted: Submitted, demos: bool = True) -> Graft:
    """The pristine notebook with the answers that can run. Raises BuildError where the course itself is broken."""
    pristine = student_notebook(parse(SOLUTIONS / f"{submitted.name}.py"))
    grafted = Graft(submitted.name, pristine, demos=demos)
    for exercise, stub in stubs(grafted.pristine).items():
        texts = submitted.answers.get(exercise, ())
        if why := unusable(exercise, texts, stub):
            grafted.left_out[exercise] = why
        else:
            grafted.answers[exercise] = texts[0]
    return grafted


def stubs(notebook: NotebookNode) -> dict[str, str]:
    """Exercise id → the text of its answer cell as students get it, in the notebook's order."""
    roles = ((cell.metadata.get("tutorlib", {}), cell.source) for cell in notebook.cells)
    return {role["exercise"]: source for role, source in roles if role.get("role") == "answer"}


def unusable(exercise: str, texts: tuple[str, ...], stub: str) -> str:
    """Why these answer cells of one exercise cannot be run, or ""."""
    if not texts:
        return "answer cell deleted: copy it back from the notebook as you got it, and write your answer there"
    if len(texts) > 1:
        return f"there are {count(len(texts), 'answer cell')} for {exercise}: keep one and delete the other"
    if texts[0].strip() == stub.strip():
        return "not written yet"
    return syntax_error(texts[0])


def syntax_error(text: str) -> str:
    """The first line that Python cannot read, or "". Cell magics are no errors."""
    try:
        ast.parse(TransformerManager().transform_cell(text))
    except SyntaxError as error:
        return f"{type(error).__name__} in line {error.lineno} of your answer: {error.msg}"
    except ValueError as error:  # a null byte
        return f"your cell is not Python: {error}"
    return ""
