"""An answer of another process that lives in this one: what it is asked for and says goes through no socket."""

from typing import Any

from tutorlib.checking.library_use import Elsewhere, Library
from tutorlib.course.answers import load_answers
from tutorlib.exercises import find
from tutorlib.grading.sandboxed_kernel import OF_KERNELS, Served
from tutorlib.grading.sent_exercise import sent_form
from tutorlib.paths import notebook_names


def answer_to(id: str) -> Any:
    """The course's own."""
    return load_answers(next(name for name in notebook_names() if name.startswith(id[:2])))[id]


class Near(Elsewhere):
    def __init__(self, answer: Any) -> None:
        self.served = Served(answer)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.served.call(*args, **kwargs)

    def watch(self, library: Library) -> None:
        raise NotImplementedError

    def ask(self, service: str, *args: Any) -> Any:
        if service in OF_KERNELS and args[0] not in self.served.exercises:
            self.served.take(*sent_form(find(args[0])))
        return getattr(self.served, service)(*args)
