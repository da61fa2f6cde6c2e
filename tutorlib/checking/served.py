"""The judge's interface to an answer: call it, search its names, ask questions about it.

In a notebook's check the answer lives in the same process. In grading it lives in the student's, and
`grading.remote_judge` has the same interface over a connection. A question is a function of a module in `checking` or
in a page's `judge`; it runs in the answer's process, and takes and returns plain data.
"""

from collections.abc import Callable
from functools import partial, update_wrapper
from inspect import unwrap
from typing import Any

from tutorlib.checking.answer import Answer, WrongKind
from tutorlib.checking.library_use import Library, refuse_library_use
from tutorlib.dsl.cute.functions import has_own_mark

AnswerQuestion = Callable[..., Any]  # takes the Served in the answer's process, then plain data


class Served:
    """An answer in its own process, called like the answer and under its name.

    kept: values that questions keep for later ones, by name. exercises: those taken, by id.
    """

    def __init__(self, answer: Any) -> None:
        self.answer = answer
        self.kept: dict[str, Any] = {}
        self.exercises: dict[str, Any] = {}
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
        need_function(self)
        compiled = has_own_mark(self.answer)  # by @cute.jit
        refuse_library_use(self.answer, library, plain=not compiled)

    def take(self, exercise: Any) -> None:
        """From now on questions can be about a KernelExercise, by its id."""
        self.exercises.setdefault(exercise.id, exercise)

    def ask(self, question: AnswerQuestion, *args: Any) -> Any:
        """The question's function, called with this answer."""
        return question(self, *args)

    def through(self, question: AnswerQuestion) -> Answer:
        """The question as a function with the answer's name."""
        return update_wrapper(partial(self.ask, question), self, updated=())

    def where(self, error: BaseException) -> str:
        """The line of the answer that an exception comes from, as `place_in` words it."""
        return place_in(self.answer, error)


def need_function(served: Served, that: str = "") -> None:
    """Raises WrongKind if the answer is no function. that: its task, " that returns the source"."""
    if not callable(served.answer):
        raise WrongKind(f"{served.answer!r} is not a function{that}.")


def place_in(answer: Answer, error: BaseException) -> str:
    """ " (line 4 of your answer)" if the traceback passes through the answer's own file, else ""."""
    code = getattr(unwrap(answer), "__code__", None)
    line, step = None, error.__traceback__
    while step is not None:
        if code is not None and step.tb_frame.f_code.co_filename == code.co_filename:
            line = step.tb_lineno
        step = step.tb_next
    return f" (line {line} of your answer)" if line else ""
