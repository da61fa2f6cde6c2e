"""The judge's interface to an answer: call it, search its names, ask questions about it.

In a notebook's check the answer lives in the same process. In grading it lives in the student's, and
`grading.remote_judge` has the same interface over a line. A question is a function of a module in `checking` or in a
page's `judge`; it runs in the answer's process, and takes and returns plain data. Of a kernel there is one question:
`evidence.evidence_of`.
"""

from collections.abc import Callable, Mapping
from functools import partial, update_wrapper
from inspect import unwrap
from typing import Any

from tutorlib.checking.answer import Answer, WrongKind
from tutorlib.checking.library_use import Library, as_told, from_words, refuse_library_use
from tutorlib.dsl.functions import has_own_mark

AnswerQuestion = Callable[..., Any]  # takes the Served in the answer's process, then plain data


class Served:
    """An answer in its own process, called like the answer and under its name."""

    def __init__(self, answer: Any) -> None:
        self.answer = answer
        if isinstance(name := getattr(answer, "__name__", None), str):
            self.__name__ = name

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the answer. Raises the answer's own errors, and WrongKind if it is no function."""
        need_function(self)
        try:
            return self.answer(*args, **kwargs)
        except SystemExit:
            raise RuntimeError("it ends the notebook: SystemExit") from None

    def refuse(self, library: Library) -> None:
        """Raises WrongKind if the answer is no function, or names one of these functions."""
        self.ask(names_none_of, as_told(library))

    def ask(self, question: AnswerQuestion, *args: Any) -> Any:
        """The question's function, called with this answer."""
        return question(self, *args)

    def through(self, question: AnswerQuestion) -> Answer:
        """The question as a function with the answer's name."""
        return update_wrapper(partial(self.ask, question), self, updated=())

    def where(self, error: BaseException) -> str:
        """The line of the answer that an exception comes from, as `place_in` words it."""
        return place_in(self.answer, error)


def names_none_of(served: Served, library: Mapping[str, tuple[str, ...]]) -> None:
    """The question behind `refuse`. library: as `as_told` has it."""
    need_function(served)
    compiled = has_own_mark(served.answer)  # by @cute.jit
    refuse_library_use(served.answer, from_words(library), plain=not compiled)


def need_function(served: Served) -> None:
    """Raises WrongKind if the answer is no function."""
    if not callable(served.answer):
        raise WrongKind(f"{served.answer!r} is not a function.")


def place_in(answer: Answer, error: BaseException) -> str:
    """ " (line 4 of your answer)" if the traceback passes through the answer's own file, else ""."""
    code = getattr(unwrap(answer), "__code__", None)
    line, step = None, error.__traceback__
    while step is not None:
        if code is not None and step.tb_frame.f_code.co_filename == code.co_filename:
            line = step.tb_lineno
        step = step.tb_next
    return f" (line {line} of your answer)" if line else ""
