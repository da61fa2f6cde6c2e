"""Trials of an answer that compiles a function once, for all calls with torch's tensors.

The judge takes what the answer calls cute.compile with, compiles its own function so, and calls, launches and times
that. What is said of wrapping and of compiling where the answer lives can only lower the points.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from tutorlib.checking.exercise import WrongKind
from tutorlib.checking.served import Served
from tutorlib.compiling.cute import with_reader_line
from tutorlib.compiling.errors import CompileFailed
from tutorlib.dsl.cute.compile_calls import compile_calls, compiled_anew
from tutorlib.dsl.cute.compiler import counted_compilations
from tutorlib.dsl.refusals import what_to_do
from tutorlib.exercises.n17_compile_once.judge.trials import first_line, vectors_of
from tutorlib.failure import Fail, FailureKind, Flaw, failures_in
from tutorlib.machine import turns
from tutorlib.measuring.bench import host_us
from tutorlib.problems.wrong import count

if TYPE_CHECKING:
    from torch import Tensor


class CallFlaw(FailureKind):
    """What is wrong with how a compiled function is called."""

    WRAPS = "wraps its tensors"
    COMPILES = "compiles for each call"
    RUNS = "runs the function for nothing"


ROUNDS = 7
KERNEL = "double"
ANEW = Flaw(
    "right, but each call wraps its tensors again; --enable-tvm-ffi compiles a function that takes torch's.",
    CallFlaw.WRAPS,
)
InOut = tuple["Tensor", "Tensor"]
HostFunction = Callable[..., None]


# On the CPU -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Calls:
    """A trial: one compilation, for tensors like the first pair, and calls with all of them. y = 2x is right in each.

    host: in tutorlib.kernels.doubling. before: the arguments in front of x and y.
    """

    host: str
    pairs: Callable[[], list[InOut]]
    before: Callable[[], tuple[Any, ...]] = tuple

    @property
    def function(self) -> HostFunction:
        from tutorlib.kernels import doubling

        return getattr(doubling, self.host)

    def __call__(self, served: Served) -> str:
        match served.ask(told_of_compiling, self.host):
            case {"said": str(said), "calls": list()} if said:
                return said
            case {"said": "", "calls": [call]}:
                pass
            case _:
                return "it was not compiled once, by cute.compile."
        try:
            compiled = compiled_anew(self.function, call)
        except Exception as error:
            return f"compiled so in another process it raised {type(error).__name__}: {first_line(error)}"
        return self.wrong_calls(compiled)

    def tried(self, answer: Served) -> str:
        """What is wrong with what the answer itself compiles, or ""."""
        x, y = self.pairs()[0]
        with counted_compilations() as during:
            compiled = compiled_by(answer, self.function, *self.before(), x, y)
            at_once = during["compile"]
            if y.count_nonzero():
                return Flaw("it runs the function on the example tensors: they only say how to compile.", CallFlaw.RUNS)
            said = self.wrong_calls(compiled)
        if said == ANEW and during["compile"] == 1 and not at_once:
            return Flaw("it compiles in the first call; for_torch itself should do that.", CallFlaw.COMPILES)
        if said not in ("", ANEW) or during["compile"] == 1:
            return said
        if not during["compile"]:
            return "nothing was compiled."
        calls = count(len(self.pairs()), "call")
        what = f"{count(during['compile'], 'compilation')} for {calls}; one serves all."
        return Flaw(what, CallFlaw.COMPILES)

    def wrong_calls(self, compiled: HostFunction) -> str:
        """What is wrong with y = 2x in one of the calls, or with how they are made, or ""."""
        before = self.before()
        with counted_compilations() as during:
            for x, y in self.pairs():
                y.fill_(-1)
                try:
                    compiled(*before, x, y)
                except Exception as error:
                    said, name = first_line(error), type(error).__name__
                    what = f"a call with {as_layout(x)} raised {name}: {said}"
                    return Flaw(what, Fail.RAISED(error=name), *failures_in([what_to_do(said)]))
                if not y.equal(x + x):
                    return f"after a call with {as_layout(x)} y is not what the function writes."
                both = x.clone()  # as input and output, what runs twice doubles twice
                compiled(*before, both, both)
                if not both.equal(x + x):
                    return Flaw(f"a call with {as_layout(x)} runs the function more than once.", CallFlaw.RUNS)
        return ANEW if during["from_dlpack"] else ""


def compiled_by(answer: Served, host: HostFunction, *arguments: Any) -> HostFunction:
    """Raises CompileFailed, WrongKind and the placeholder's error."""
    got = with_reader_line(lambda more: answer(host, *arguments))
    if not callable(got):
        what = f"it should return the compiled function; it returns {got!r}."
        raise WrongKind(Flaw(what, Fail.GIVES(type=type(got).__name__)))
    return got


def as_layout(x: "Tensor") -> str:
    return f"{tuple(x.shape)}:{x.stride()}"


# On a GPU -------------------------------------------------------------------------------------------------------------


def kernel_by(answer: Served) -> HostFunction:
    """The launch that the answer makes of y = 2x's kernel, on whatever is torch's stream. Raises as `compiled_by`."""
    import torch
    from cutlass.cute.runtime import make_fake_stream

    from tutorlib.kernels.doubling import double

    x, y = (torch.zeros(1024, device="cuda") for _ in range(2))
    return compiled_by(answer, double, x, y, make_fake_stream(use_tvm_ffi_env_stream=True))


def kernel_compiled_as(served: Served) -> HostFunction:
    """The same, compiled by the judge as the answer compiles it. Raises CompileFailed and WrongKind."""
    from tutorlib.kernels.doubling import double

    match served.ask(told_of_compiling, KERNEL):
        case {"said": "", "calls": [call]}:
            try:
                return compiled_anew(double, call)
            except Exception as error:
                raise CompileFailed(f"{type(error).__name__}: {first_line(error)}") from None
    raise WrongKind("a kernel is not compiled once, by cute.compile.")


def fault_in_a_graph(launch: HostFunction) -> str:
    """What is wrong with y = 2x when its launch is captured in a CUDA graph, or ""."""
    import torch

    x, y = (torch.zeros(1024, device="cuda") for _ in range(2))
    graph = torch.cuda.CUDAGraph()
    launch(x, y)
    torch.cuda.synchronize()
    with torch.cuda.graph(graph):
        launch(x, y)
    x.fill_(3.0)
    graph.replay()
    if y.equal(torch.full_like(y, 6.0)):
        return ""
    return "captured in a CUDA graph, the kernel leaves another y: it runs on another stream than torch's."


def launch_costs(served: Served) -> tuple[float, float] | str:
    """µs of the host's time for the answer's launch, and for torch's: the median pair; or what a CUDA graph breaks.

    Raises CompileFailed and WrongKind.
    """
    import torch

    with turns.shared_turn():
        launch = kernel_compiled_as(served)
        if said := fault_in_a_graph(launch):
            return said
    x, y = (torch.zeros(1024, device="cuda") for _ in range(2))

    def torch_add() -> None:
        torch.add(x, x, out=y)

    with turns.own_turn():
        pairs = [(host_us(partial(launch, x, y)), host_us(torch_add)) for _ in range(ROUNDS)]
    return sorted(pairs, key=lambda pair: pair[1] / pair[0])[ROUNDS // 2]


# In the answer's process ----------------------------------------------------------------------------------------------


def told_of_compiling(answer: Served, host: str) -> dict[str, Any]:
    """What is wrong with what the answer compiles, and what it calls cute.compile with.

    host: of one of CALLS' trials, or KERNEL's. Raises as `compiled_by`.
    """
    from tutorlib.kernels import doubling

    trials = {trial.host: trial for _, trial in CALLS}
    with compile_calls(getattr(doubling, host)) as calls:
        if host == KERNEL:
            kernel_by(answer)
            said = ""
        else:
            said = trials[host].tried(answer)
    return {"said": said, "calls": calls}


# The trials -----------------------------------------------------------------------------------------------------------


def columns_of(*shapes: tuple[int, int]) -> list[InOut]:
    import torch

    return [(torch.arange(float(m * n)).view(n, m).T, torch.zeros(n, m).T) for m, n in shapes]


def other_vectors() -> list[InOut]:
    x, y = vectors_of(9)[0]
    from_the_second = x[1:], y[1:]  # begin at a multiple of 4 bytes, not of 16
    return [*vectors_of(6, 3, 100, 1), from_the_second]


def other_matrices() -> list[InOut]:
    return columns_of((4, 6), (3, 5), (7, 2))


def two() -> tuple[Any, ...]:
    from cutlass import Int32

    return (Int32(2),)


CALLS: tuple[tuple[str, Calls], ...] = (
    ("vectors of other lengths", Calls("double_on_cpu", other_vectors)),
    ("matrices with contiguous columns", Calls("double_columns_on_cpu", other_matrices)),
    ("an argument that is no tensor", Calls("double_n_on_cpu", lambda: vectors_of(4, 9), two)),
)
