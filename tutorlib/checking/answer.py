"""An answer, the errors raised for one that cannot be judged, and the judge's interface to it.

In a notebook's check the answer lives in the judge's process. In grading it lives in the student's, and
`grading.remote_judge` has the same interface over a line. A question is a function of a module in `checking` or in a
page's `judge`; it runs in the answer's process, and takes and returns plain data. Of a kernel there is one question:
`evidence.evidence_of`.
"""

from collections.abc import Callable
from functools import partial, update_wrapper
from inspect import unwrap
from typing import Any

Answer = Callable[..., Any]
AnswerQuestion = Callable[..., Any]  # takes the Served in the answer's process, then plain data


class WrongKind(Exception):
    """The answer is not the kind of thing that the exercise asks for. The message says so, in one line."""


def is_placeholder(error: Exception) -> bool:
    """Whether `tutor build` put this error there in place of an answer."""
    return isinstance(error, NotImplementedError) and str(error).startswith("Exercise ")


def need_callable(answer: Any, task: str = "") -> Any:
    """The answer. Raises WrongKind if it is no function. task: what the function does, "that returns the source"."""
    if not callable(answer):
        raise WrongKind(f"{answer!r} is not a function{task and ' '}{task}.")
    return answer


class Served:
    """An answer in its own process, called like the answer and under its name."""

    def __init__(self, answer: Any) -> None:
        self.answer = answer
        if isinstance(name := getattr(answer, "__name__", None), str):
            self.__name__ = name

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the answer. Raises the answer's own errors, and WrongKind if it is no function."""
        try:
            return need_callable(self.answer)(*args, **kwargs)
        except SystemExit:
            raise RuntimeError("it ends the notebook: SystemExit") from None

    def ask(self, question: AnswerQuestion, *args: Any) -> Any:
        """The question's function, called with this answer."""
        return question(self, *args)

    def through(self, question: AnswerQuestion) -> Answer:
        """The question as a function with the answer's name."""
        return update_wrapper(partial(self.ask, question), self, updated=())

    def where(self, error: BaseException) -> str:
        """The line of the answer that an exception comes from, as `place_in` words it."""
        return place_in(self.answer, error)


def place_in(answer: Answer, error: BaseException) -> str:
    """ " (line 4 of your answer)" if the traceback passes through the answer's own file, else ""."""
    inner = unwrap(answer)
    if isinstance(inner, Served):
        return inner.where(error)
    code = getattr(inner, "__code__", None)
    line, step = None, error.__traceback__
    while step is not None:
        if code is not None and step.tb_frame.f_code.co_filename == code.co_filename:
            line = step.tb_lineno
        step = step.tb_next
    return f" (line {line} of your answer)" if line else ""
