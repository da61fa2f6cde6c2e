"""An answer judged over a line: a thread serves it as a page's process does, or as a process that lies."""

import threading
from collections.abc import Callable
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from typing import Any

from tutorlib.checking.exercise import Exercise, Outcome
from tutorlib.checking.served import Served
from tutorlib.grading.page_process import Answers
from tutorlib.grading.remote_judge import JudgesEnd, judge


def judged_from_afar(
    exercise: Exercise, answer: Any, seconds: float = 300.0, kind: Callable[[Any], Served] = Served
) -> Outcome:
    """kind: makes the answer's side of the interface. Raises Late, Lost."""
    ours, theirs = Pipe()
    name = getattr(answer, "__name__", "answer")
    threading.Thread(target=serve, args=(theirs, {name: answer}, kind), daemon=True).start()
    with ours:
        return judge(exercise, JudgesEnd(ours, seconds), name, seconds)


def serve(line: Connection, names: dict[str, Any], kind: Callable[[Any], Served]) -> None:
    answers = type("OfAKind", (Answers,), {"kind": staticmethod(kind)})(line, names)
    with line:
        while call := answers.next_call():
            answers.answer(*call)
