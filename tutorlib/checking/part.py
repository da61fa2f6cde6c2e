"""An answer's place in its kernel: the whole host function, or a part that the course builds a kernel around."""

from collections.abc import Callable
from dataclasses import dataclass, field

from tutorlib.checking.exercise import Answer, Verdict, WrongKind
from tutorlib.compiling.compiled import Compiled

HostFunction = Callable[..., None]  # a @cute.jit function
BY_NAME = {"by_name": True}  # metadata of a field whose function is sent by name


@dataclass(frozen=True, kw_only=True)
class Part:
    """An answer that is the host function.

    In grading a part is sent to the answer's process as plain data, its functions by name: see `grading.wire`.
    """

    def host(self, answer: Answer) -> HostFunction:
        """The host function around the answer. Raises WrongKind and Unwritten."""
        return answer

    def simulated_host(self, answer: Answer) -> HostFunction:
        """The host function that is simulated: a smaller one where `host` would take too long."""
        return self.host(answer)

    def look(self, answer: Answer, points: float) -> Verdict | None:
        """Faults that any machine finds in the answer by itself, or None.

        A verdict with points is for a right answer that is not good enough. points: those for right results.
        Raises WrongKind, NotRehearsed, and the placeholder's NotImplementedError.
        """

    def lacks(self, compiled: Compiled) -> str:
        """A fault of the compiled kernel, besides its instructions, as a sentence, or ""."""
        return ""

    @property
    def settled(self) -> bool:
        """Whether an answer without a fault by `look` is right, so that a GPU only adds its speed."""
        return False


@dataclass(frozen=True, kw_only=True)
class Inside(Part):
    """A function that the course's kernel calls; it is traced with it.

    build: takes the answer, returns the host function around it.
    """

    build: Callable[[Answer], HostFunction] = field(metadata=BY_NAME)

    def host(self, answer: Answer) -> HostFunction:
        return self.build(need_callable(answer))


def need_callable(answer: Answer) -> Answer:
    """The answer. Raises WrongKind if it is no function."""
    if not callable(answer):
        raise WrongKind(f"{answer!r} is not a function.")
    return answer
