"""An answer's place in its kernel: the whole host function, or a part that the course builds a kernel around."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from tutorlib.checking.answer import Answer, WrongKind, need_callable
from tutorlib.checking.exercise import Verdict
from tutorlib.dsl.functions import is_jit
from tutorlib.failure import Fail, Flaw
from tutorlib.problems.differences import count
from tutorlib.problems.problem import Shape

HostFunction = Callable[..., None]  # a @cute.jit function
KernelSettings = dict[str, Any]  # keyword arguments of the function that builds a kernel
Small = Mapping[Shape, KernelSettings]


@dataclass(frozen=True, kw_only=True)
class Part:
    """An answer that is the host function.

    small: by size, the settings of the kernels that the simulator runs, smaller where the answer's would take too long.
    In grading a part is sent to the answer's process as plain data, its functions by name: see `grading.wire`.
    """

    small: Small = field(default_factory=dict)

    def host(self, answer: Answer, simulated: Shape = ()) -> HostFunction:
        """The host function around the answer, at a size at which it is simulated the small one. Raises WrongKind."""
        return answer

    def look(self, answer: Answer, points: float) -> Verdict | None:
        """Faults that any machine finds in the answer by itself, or None.

        A verdict with points is for a right answer that is not good enough. points: those for right results.
        Raises WrongKind, and the placeholder's NotImplementedError.
        """


Filled = dict[str, Answer]  # the functions that an answer fills slots with


@dataclass(frozen=True, kw_only=True)
class Inside(Part):
    """An answer that fills slots of a kernel; the course's own functions fill the others.

    kernel: takes the answer's functions by slot, and settings; returns the host function around them.
    slots: that the answer fills, with a function, or with a tuple of them in this order.
    jit: those of them whose functions must be @cute.jit.
    settings: of the kernel that a GPU runs.
    """

    kernel: Callable[..., HostFunction]
    slots: tuple[str, ...]
    jit: tuple[str, ...] = ()
    settings: KernelSettings = field(default_factory=dict)

    def host(self, answer: Answer, simulated: Shape = ()) -> HostFunction:
        return self.kernel(self.filled(answer), **self.small.get(simulated, self.settings))

    def filled(self, answer: Answer) -> Filled:
        """The answer's functions by slot. Raises WrongKind."""
        functions = answer if isinstance(answer, tuple | list) else (answer,)
        if len(functions) != len(self.slots):
            names = f"({', '.join(self.slots)})"
            raise WrongKind(f"{answer!r} is not {count(len(self.slots), 'function')}, {names}.")
        for slot, function in zip(self.slots, functions, strict=True):
            (require_jit if slot in self.jit else need_callable)(function)
        return dict(zip(self.slots, functions, strict=True))


def inside(
    kernel: Callable[..., HostFunction], *slots: str, small: Small | None = None, jit: bool = True, **settings: Any
) -> Inside:
    """Where an answer goes, as `Inside` has it. jit: whether its functions must be @cute.jit."""
    return Inside(kernel=kernel, slots=slots, jit=slots if jit else (), small=small or {}, settings=settings)


def require_jit(answer: Answer) -> Answer:
    """The answer. Raises WrongKind where it is not a @cute.jit function."""
    if not is_jit(answer):
        name = getattr(answer, "__name__", repr(answer))
        raise WrongKind(Flaw(f"{name} is not a @cute.jit function.", Fail.NOT_JIT))
    return answer
