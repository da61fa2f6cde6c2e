"""Answers of the course, judged over a line: a thread serves one as a page's process does, or as one that lies."""

import threading
from collections.abc import Callable
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from typing import Any

from tutorlib.checking.answer import AnswerQuestion, Served
from tutorlib.checking.exercise import Exercise, Outcome
from tutorlib.checking.randomness import judging_for_points
from tutorlib.course.answers import load_answers
from tutorlib.exercises import find
from tutorlib.grading.page_process import Answers
from tutorlib.grading.remote_judge import judge
from tutorlib.grading.transport import JudgesEnd
from tutorlib.paths import notebook_names


def judged_from_afar(
    exercise: Exercise, answer: Any, seconds: float = 300.0, kind: Callable[[Any], Served] = Served
) -> Outcome:
    """kind: makes the answer's side of the interface. Raises Late, Lost."""
    ours, theirs = Pipe()
    name = getattr(answer, "__name__", "answer")
    threading.Thread(target=serve, args=(theirs, {name: answer}, kind), daemon=True).start()
    with ours:
        return judge(exercise, JudgesEnd(ours), name, seconds)


def serve(line: Connection, names: dict[str, Any], kind: Callable[[Any], Served]) -> None:
    answers = type("OfAKind", (Answers,), {"kind": staticmethod(kind)})(line, names)
    with line:
        while call := answers.end.next_call():
            answers.end.answer(*call)


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
