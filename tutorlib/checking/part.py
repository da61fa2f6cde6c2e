"""An answer's place in its kernel: the whole host function, or a part that the course builds a kernel around."""

from collections.abc import Callable
from dataclasses import dataclass, field

from tutorlib.checking.exercise import Answer, Verdict, WrongKind
from tutorlib.compiling.compiled import Compiled

HostFunction = Callable[..., None]  # a @cute.jit function
BY_NAME = {"by_name": True}  # metadata of a field whose function the process of an answer has, too


@dataclass(frozen=True, kw_only=True)
class Part:
    """An answer that is the host function.

    While grading a part crosses to the process of an answer as plain data; its functions go by name: see
    `grading.wire`.
    """

    def host(self, answer: Answer) -> HostFunction:
        """The host function that has the answer inside. Raises WrongKind and Unwritten."""
        return answer

    def simulated_host(self, answer: Answer) -> HostFunction:
        """The host function that is simulated: a smaller one where `host` would take too long."""
        return self.host(answer)

    def look(self, answer: Answer, points: float) -> Verdict | None:
        """Faults that any machine finds in the answer by itself, or None.

        With points where the answer is right and not good enough, if its kernel is right, too. points: those for right
        results. Raises WrongKind, NotRehearsed, and the placeholder's NotImplementedError.
        """

    def lacks(self, compiled: Compiled) -> str:
        """A fault of the compiled kernel, besides its instructions, as a sentence, or ""."""
        return ""

    @property
    def settled(self) -> bool:
        """Whether an answer in which `look` found nothing is right: what a GPU would add is its speed."""
        return False


@dataclass(frozen=True, kw_only=True)
class Inside(Part):
    """A function that the course's kernel calls; it is traced with it.

    build: takes the answer, returns the host function that has it inside.
    """

    build: Callable[[Answer], HostFunction] = field(metadata=BY_NAME)

    def host(self, answer: Answer) -> HostFunction:
        return self.build(need_callable(answer))


def need_callable(answer: Answer) -> Answer:
    """The answer. Raises WrongKind where it is no function."""
    if not callable(answer):
        raise WrongKind(f"{answer!r} is not a function.")
    return answer
