"""An answer's place in its kernel: the whole host function, or a part that the course builds a kernel around."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tutorlib.checking.exercise import Answer, Verdict, WrongKind
from tutorlib.compiling.compiled import Compiled
from tutorlib.dsl.cute.functions import is_jit
from tutorlib.failure import Fail, Flaw
from tutorlib.problems.problem import Shape

if TYPE_CHECKING:
    from tutorlib.simulate.ptx.report import Issued

HostFunction = Callable[..., None]  # a @cute.jit function


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
        Raises WrongKind, and the placeholder's NotImplementedError.
        """

    def lacks(self, compiled: Compiled) -> str:
        """A fault of the compiled kernel, besides its instructions, as a sentence, or ""."""
        return ""

    def waste(self, issued: "Sequence[Issued]") -> str | None:
        """What a right kernel wastes, by the order of its instructions where work is counted, as a sentence, or None.

        issued: in the order of the program.
        """


@dataclass(frozen=True, kw_only=True)
class Inside(Part):
    """A function that the course's kernel calls; it is traced with it.

    build: takes the answer, returns the host function around it.
    """

    build: Callable[[Answer], HostFunction]

    def host(self, answer: Answer) -> HostFunction:
        return self.build(need_callable(answer))


def host_by_shape(hosts: Mapping[Shape, HostFunction]) -> HostFunction:
    """The host function gemm(a, b, c) that is another one for each shape (M, N, K) of its tensors, which is static."""
    from cutlass import cute

    @cute.jit
    def gemm(a: cute.Tensor, b: cute.Tensor, c: cute.Tensor) -> None:
        shape: Any = *c.shape, a.shape[1]  # type: ignore[misc, index]
        hosts[shape](a, b, c)

    return gemm


def need_callable(answer: Answer) -> Answer:
    """The answer. Raises WrongKind if it is no function."""
    if not callable(answer):
        raise WrongKind(f"{answer!r} is not a function.")
    return answer


def require_jit(answer: Answer) -> Answer:
    """The answer. Raises WrongKind where it is not a @cute.jit function."""
    if not is_jit(answer):
        name = getattr(answer, "__name__", repr(answer))
        raise WrongKind(Flaw(f"{name} is not a @cute.jit function.", Fail.NOT_JIT))
    return answer
