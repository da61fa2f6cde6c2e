"""The answer as every judge has it: something to call, to watch, and to ask about.

In a notebook's check it lives in the same process. While grading it lives in the student's, and `grading.remote_judge`
has the same interface over a connection. What needs the answer itself is a question: a function of a module in
`checking` or in a page's `judge`, which runs where the answer lives and takes and returns plain data.
"""

from collections.abc import Callable
from functools import partial, update_wrapper
from inspect import unwrap
from typing import Any

from tutorlib.checking.answer import Answer, WrongKind
from tutorlib.checking.library_use import Library, on_its_own, refuse_leaning
from tutorlib.dsl.cute.functions import has_own_mark

AnswerQuestion = Callable[..., Any]  # takes the Served where the answer lives, and then what it is asked with


class Served:
    """An answer, in its own process. It is called as the answer is, by whose name it goes.

    kept: what a question keeps for the next one, by names of its own. exercises: that were taken, by id.
    """

    def __init__(self, answer: Answer) -> None:
        self.answer = self.called = answer
        self.kept: dict[str, Any] = {}
        self.exercises: dict[str, Any] = {}
        if isinstance(name := getattr(answer, "__name__", None), str):
            self.__name__ = name

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the answer. Raises the answer's own errors, and WrongKind if it is no function."""
        need_function(self)
        try:
            return self.called(*args, **kwargs)
        except SystemExit:
            raise RuntimeError("it ends the notebook: SystemExit") from None

    def watch(self, library: Library | None) -> None:
        """From now on calls raise WrongKind that lean on one of these. None: this process has nothing to lean on.

        Raises WrongKind at once where the answer is no function, and where its code names one of these.
        """
        need_function(self)
        if has_own_mark(self.answer):  # CuTe's @jit: a compiler reads it
            refuse_leaning(self.answer, library or {})
        elif library is not None:
            self.called = on_its_own(self.answer, library)

    def take(self, exercise: Any) -> None:
        """From now on questions can be about a KernelExercise, by its id."""
        self.exercises.setdefault(exercise.id, exercise)

    def ask(self, question: AnswerQuestion, *args: Any) -> Any:
        """The question's function, called with this answer."""
        return question(self, *args)

    def through(self, question: AnswerQuestion) -> Answer:
        """The question as a function that goes by the answer's name."""
        return update_wrapper(partial(self.ask, question), self, updated=())

    def where(self, error: BaseException) -> str:
        """The line of the answer that an exception comes from, as `place_in` words it."""
        return place_in(self.answer, error)


def need_function(served: Served, that: str = "") -> None:
    """Raises WrongKind where the answer is no function. that: what it is to do, " that returns the source"."""
    if not callable(served.answer):
        raise WrongKind(f"{served.answer!r} is not a function{that}.")


def place_in(answer: Answer, error: BaseException) -> str:
    """ " (line 4 of your answer)" where the traceback passes through the answer's own file, else ""."""
    code = getattr(unwrap(answer), "__code__", None)
    line, step = None, error.__traceback__
    while step is not None:
        if code is not None and step.tb_frame.f_code.co_filename == code.co_filename:
            line = step.tb_lineno
        step = step.tb_next
    return f" (line {line} of your answer)" if line else ""
