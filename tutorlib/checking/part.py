"""An answer's place in its kernel: the whole host function, or a part that the course builds a kernel around."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tutorlib.checking.answer import Answer, WrongKind, need_callable
from tutorlib.checking.exercise import Verdict
from tutorlib.checking.library_use import InModule
from tutorlib.dsl.functions import is_jit
from tutorlib.failure import Fail, Flaw
from tutorlib.problems.differences import count
from tutorlib.problems.problem import Shape

if TYPE_CHECKING:
    from tutorlib.models.l2 import Order

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

    @property
    def sizes_simulated(self) -> tuple[Shape, ...]:
        """The sizes that the simulator runs; (): those of the exercise."""
        return ()

    def look(self, answer: Answer, points: float) -> Verdict | None:
        """Faults that any machine finds in the answer by itself, or None.

        A verdict with points is for a right answer that is not good enough. points: those for right results.
        Raises WrongKind, and the placeholder's NotImplementedError.
        """


KernelSettings = dict[str, Any]  # keyword arguments of the function that builds a kernel
Small = Mapping[Shape, KernelSettings]  # by size: the kernels that are simulated
Filled = dict[str, Answer]  # the functions that an answer fills slots with


@dataclass(frozen=True, kw_only=True)
class Inside(Part):
    """An answer that fills slots of a kernel; the course's own functions fill the others.

    kernel: takes the answer's functions by slot, and settings; returns the host function around them.
    slots: that the answer fills, with a function, or with a tuple of them in this order.
    jit: those of them whose functions must be @cute.jit.
    settings: of the kernel that a GPU runs. small: of those that are simulated in its place, by shape.
    """

    kernel: Callable[..., HostFunction]
    slots: tuple[str, ...]
    jit: tuple[str, ...] = ()
    settings: KernelSettings = field(default_factory=dict)
    small: Small = field(default_factory=dict)

    @property
    def sizes_simulated(self) -> tuple[Shape, ...]:
        return tuple(self.small)

    def host(self, answer: Answer) -> HostFunction:
        return self.kernel(self.filled(answer), **self.settings)

    def simulated_host(self, answer: Answer) -> HostFunction:
        filled, few = self.filled(answer), list(self.small.values()) or [self.settings]
        if all(settings == few[0] for settings in few):
            return self.kernel(filled, **few[0])
        return host_by_shape({shape: self.kernel(filled, **settings) for shape, settings in self.small.items()})

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
    kernel: Callable[..., HostFunction],
    *slots: str,
    small: Small | None = None,
    jit: bool = True,
    **settings: Any,
) -> Inside:
    """Where an answer goes, as `Inside` has it. jit: whether its functions must be @cute.jit."""
    return Inside(kernel=kernel, slots=slots, jit=slots if jit else (), small=small or {}, settings=settings)


def host_by_shape(hosts: Mapping[Shape, HostFunction]) -> HostFunction:
    """The host function gemm(a, b, c) that is another one for each shape (M, N, K) of its tensors, which is static."""
    from cutlass import cute

    @cute.jit
    def gemm(a: cute.Tensor, b: cute.Tensor, c: cute.Tensor) -> None:
        shape: Any = *c.shape, a.shape[1]  # type: ignore[misc, index]
        hosts[shape](a, b, c)

    return gemm


def require_jit(answer: Answer) -> Answer:
    """The answer. Raises WrongKind where it is not a @cute.jit function."""
    if not is_jit(answer):
        name = getattr(answer, "__name__", repr(answer))
        raise WrongKind(Flaw(f"{name} is not a @cute.jit function.", Fail.NOT_JIT))
    return answer


# The GEMM of `kernels.ampere` around an answer that is one of its parts -----------------------------------------------

COURSE_LOOPS = {
    "the course's main loop": InModule("tutorlib.kernels.ampere.main_loops", "single_buffer"),
    "the course's multistage loop": InModule("tutorlib.kernels.ampere.main_loops", "multistage"),
    "the loop with its loads spread": InModule("tutorlib.kernels.ampere.main_loops", "loads_spread"),
}
COURSE_SHARES = {
    f"{name} of the course": InModule("tutorlib.kernels.ampere.thread_share", name)
    for name in ("Steps", "GlobalToShared", "Accumulators", "Operand", "make_operands")
}
COURSE_KERNEL = {"make_gemm": InModule("tutorlib.kernels.ampere.gemm", "make_gemm")}


def ampere(filled: Filled, order: "Order | None" = None, **settings: Any) -> HostFunction:
    """The GEMM with the answer's parts: the course's main loop for this number of stages, unless it is one of them.

    settings: of GemmConfig.
    """
    from tutorlib.kernels.ampere.config import GemmConfig
    from tutorlib.kernels.ampere.gemm import make_gemm
    from tutorlib.kernels.ampere.main_loops import multistage, single_buffer
    from tutorlib.models.l2 import raster

    config = GemmConfig(**settings)
    loop = single_buffer if config.stages == 1 else multistage
    return make_gemm(config, **{"main_loop": loop, "order": order or raster} | filled)


def ampere_in_groups(filled: Filled, **settings: Any) -> HostFunction:
    """The one whose blocks take tiles in groups, not row after row."""
    from tutorlib.models.l2 import grouped

    return ampere(filled, grouped, **settings)


def ampere_method(filled: Filled, **settings: Any) -> HostFunction:
    """The one whose `load`, `fetch` or `multiply` is the answer, with two buffers; it fetches one K block ahead."""
    from tutorlib.kernels.ampere.thread_share import GlobalToShared, Steps

    part, base = ("copies", GlobalToShared) if "load" in filled else ("steps", Steps)
    return ampere({part: type(base.__name__, (base,), filled)}, **{"stages": 2} | settings)
