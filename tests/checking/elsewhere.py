"""Answers of the course, and an answer whose process lies."""

from typing import Any

from tutorlib.checking.answer import AnswerQuestion, Served
from tutorlib.checking.exercise import Outcome
from tutorlib.checking.randomness import judging_for_points
from tutorlib.course.answers import load_answers
from tutorlib.exercises import find
from tutorlib.paths import notebook_names


def answer_to(id: str) -> Any:
    """The course's own."""
    return load_answers(next(name for name in notebook_names() if name.startswith(id[:2])))[id]


def graded_for_points(id: str, served: Served) -> Outcome:
    with judging_for_points():
        return find(id).grade_served(served)


class Forging(Served):
    """A student's process: a method by a question's name answers in its place."""

    def ask(self, question: AnswerQuestion, *args: Any) -> Any:
        forged = getattr(self, question.__name__, None)
        return forged(*args) if forged else super().ask(question, *args)


class Unwatched(Forging):
    """As graded, whatever it leans on."""

    def names_none_of(self, told: Any) -> None:
        pass
