"""Trials of an answer that compiles a function once, for all calls with torch's tensors.

The judge compiles its own function with what the answer calls cute.compile with, and what the answer gets is a function
that calls this one: the judge sees when it is compiled, and each run.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

from tutorlib.checking.compile_calls import compiled_anew, compiled_elsewhere
from tutorlib.checking.exercise import WrongKind
from tutorlib.checking.served import Served
from tutorlib.compiling.cute import with_reader_line
from tutorlib.dsl.refusals import what_to_do
from tutorlib.exercises.n17_compile_once.judge.trials import raised, same_values, vectors_of
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
    COPIES = "copies a tensor"


ROUNDS = 7
KERNEL = "double"
InOut = tuple["Tensor", "Tensor"]
HostFunction = Callable[..., None]


@dataclass
class Compiler:
    """Compiles in place of cute.compile. made: its results. runs: the arguments of each call of one.

    error: of the last compilation or call that failed. wraps: whether calls take other tensors than torch's.
    """

    host: HostFunction
    made: list[HostFunction] = field(default_factory=list)
    runs: list[tuple[Any, ...]] = field(default_factory=list)
    error: Exception | None = None
    wraps: bool = False

    def compile(self, call: Any) -> Callable[..., tuple[Any, ...]]:
        compiled = self.noting(partial(compiled_anew, self.host, call))

        def run(*given: Any) -> tuple[Any, ...]:
            self.runs.append(given)
            if any(isinstance(one, dict) for one in given):
                self.wraps = True
                raise TypeError("a tensor that is wrapped")
            self.noting(partial(compiled, *given))
            given[-2].neg_()  # so that what became of x shows whether it was this x
            return given

        self.made.append(compiled)
        self.wraps |= not call["tvm_ffi"]
        return run

    def noting(self, does: Callable[[], Any]) -> Any:
        try:
            return does()
        except Exception as error:
            self.error = error
            raise


# On the CPU -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Calls:
    """A trial: one compilation, for tensors like the first pair, and calls with all of them. y = 2x is right in each.

    host: in tutorlib.kernels.doubling. before: the arguments in front of x and y.
    """

    host: str
    pairs: Callable[[], list[InOut]]
    before: tuple[int, ...] = ()

    def __call__(self, served: Served) -> str:
        compiler = Compiler(function_of(self.host))
        try:
            function = served.ask(compiled_by, self.host, compiler.compile)
        except Exception:
            if error := compiler.error:
                return raised("compiled so in another process it", error)
            raise
        if compiler.runs:
            return Flaw("it runs the function on the example tensors: they only say how to compile.", CallFlaw.RUNS)
        at_once, pairs = len(compiler.made), self.pairs()
        said = next(filter(None, (self.wrong_call(function, compiler, x, y) for x, y in pairs)), "")
        if compiler.wraps:
            what = "each call wraps its tensors again; --enable-tvm-ffi compiles a function that takes torch's."
            return Flaw(what, CallFlaw.WRAPS)
        if said:
            return said
        if len(compiler.made) > 1:
            what = f"{count(len(compiler.made), 'compilation')} for {count(len(pairs), 'call')}; one serves all."
            return Flaw(what, CallFlaw.COMPILES)
        if not at_once:
            return Flaw("it compiles in the first call; for_torch itself should do that.", CallFlaw.COMPILES)
        return ""

    def wrong_call(self, function: Callable[..., Any], compiler: Compiler, x: "Tensor", y: "Tensor") -> str:
        """What is wrong with y = 2x in a call, or with how it is made, or ""."""
        compiler.runs, compiler.error, wanted = [], None, x + x
        y.fill_(-1)
        try:
            *_, negated, got = function(*self.before, x, y)
        except Exception as error:
            said = raised(f"a call with {as_layout(x)}", compiler.error or error)
            return Flaw(said, *failures_in([said, what_to_do(said)]))
        if len(compiler.runs) > 1:
            return Flaw(f"a call with {as_layout(x)} runs the function more than once.", CallFlaw.RUNS)
        (ran,) = compiler.runs or [()]
        as_called = [*map(as_given, ran)] == [*map(as_given, (*self.before, x, y))]
        if as_called and ran[-1].equal(wanted) and same_values(got, wanted):
            what = f"a call with {as_layout(x)} runs the function on a copy of x; pass on the tensors themselves."
            return "" if same_values(wanted, -2 * negated) else Flaw(what, CallFlaw.COPIES)
        return f"after a call with {as_layout(x)} y is not what the function writes."


def as_given(argument: Any) -> Any:
    """A number, or how a tensor lies in memory."""
    return (as_layout(argument), argument.data_ptr() % 16) if hasattr(argument, "data_ptr") else argument


def as_layout(x: "Tensor") -> str:
    return f"{tuple(x.shape)}:{x.stride()}"


# On a GPU -------------------------------------------------------------------------------------------------------------


def kernel_compiled_as(served: Served) -> HostFunction:
    """The launch of y = 2x's kernel, on whatever is torch's stream, compiled by the judge as the answer compiles it.

    Raises CompileFailed and WrongKind.
    """
    compiler = Compiler(function_of(KERNEL))
    served.ask(compiled_by, KERNEL, compiler.compile)
    if len(compiler.made) != 1:
        raise WrongKind("a kernel is not compiled once, by cute.compile.")
    return compiler.made[0]


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


def function_of(host: str) -> HostFunction:
    from tutorlib.kernels import doubling

    return getattr(doubling, host)


def arguments_for(host: str) -> tuple[Any, ...]:
    """Examples, which the answer is given with this host function of a trial, or KERNEL."""
    import torch
    from cutlass import Int32
    from cutlass.cute.runtime import make_fake_stream

    if host == KERNEL:
        x, y = (torch.zeros(1024, device="cuda") for _ in range(2))
        return x, y, make_fake_stream(use_tvm_ffi_env_stream=True)
    (trial,) = (trial for _, trial in CALLS if trial.host == host)
    return *map(Int32, trial.before), *trial.pairs()[0]


def compiled_by(answer: Served, host: str, compile: Callable[[Any], Any]) -> Callable[..., tuple[Any, ...]]:
    """What the answer makes of a host function, as a function that gives its arguments back as they are after a call.

    compile: the judge's. Raises CompileFailed, WrongKind and the placeholder's error.
    """
    function = function_of(host)
    with compiled_elsewhere(function, compile):
        got = with_reader_line(lambda more: answer(function, *arguments_for(host)))
    if not callable(got):
        what = f"it should return the compiled function; it returns {got!r}."
        raise WrongKind(Flaw(what, Fail.GIVES(type=type(got).__name__)))

    def call(*given: Any) -> tuple[Any, ...]:
        with compiled_elsewhere(function, compile):
            got(*given)
        return given

    return call


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


CALLS: tuple[tuple[str, Calls], ...] = (
    ("vectors of other lengths", Calls("double_on_cpu", other_vectors)),
    ("matrices with contiguous columns", Calls("double_columns_on_cpu", other_matrices)),
    ("an argument that is no tensor", Calls("double_n_on_cpu", lambda: vectors_of(4, 9), (2,))),
)
