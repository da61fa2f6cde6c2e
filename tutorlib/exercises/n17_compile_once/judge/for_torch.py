"""17.5: what compiles a function once, for all calls with torch's tensors."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from tutorlib.checking.compile_calls import compilations_noted
from tutorlib.checking.exercise import WrongKind
from tutorlib.checking.graded_run import rng_of_run
from tutorlib.checking.scenario import raised
from tutorlib.checking.served import Served
from tutorlib.checking.values import Case
from tutorlib.compiling.cute import with_reader_line
from tutorlib.dsl.refusals import what_to_do
from tutorlib.failure import Fail, FailureKind, Flaw, failures_in
from tutorlib.machine import turns
from tutorlib.measuring.bench import host_us
from tutorlib.problems.wrong import Wrong, count

if TYPE_CHECKING:
    from torch import Tensor


class CallFlaw(FailureKind):
    """What is wrong with how a compiled function is called."""

    WRAPS = "wraps its tensors"
    COMPILES = "compiles for each call"
    RUNS = "runs the function for nothing"


ROUNDS = 7
InOut = tuple["Tensor", "Tensor"]


def vectors(start: int, *sizes: int) -> list[InOut]:
    import torch

    return [(torch.arange(float(n)) + start, torch.zeros(n)) for n in sizes]


def other_vectors(start: int) -> list[InOut]:
    x, y = vectors(start, 9)[0]
    from_the_second = x[1:], y[1:]  # begin at a multiple of 4 bytes, not of 16
    return [*vectors(start, 6, 3, 100, 1), from_the_second]


def other_matrices(start: int) -> list[InOut]:
    """With contiguous columns."""
    import torch

    shapes = (4, 6), (3, 5), (7, 2)
    return [(torch.arange(float(m * n)).view(n, m).T + start, torch.zeros(n, m).T) for m, n in shapes]


# A host function of tutorlib.kernels.doubling, for y = 2x; its arguments before x and y; and x and y of its calls.
TRIALS: dict[str, tuple[str, tuple[int, ...], Callable[[int], list[InOut]]]] = {
    "vectors of other lengths": ("double_on_cpu", (), other_vectors),
    "matrices with contiguous columns": ("double_columns_on_cpu", (), other_matrices),
    "an argument that is no tensor": ("double_n_on_cpu", (2,), lambda start: vectors(start, 4, 9)),
}


def compiled_by(answer: Served, host: str, *arguments: Any) -> Callable[..., None]:
    """What the answer makes of a host function. Raises CompileFailed, WrongKind and the placeholder's error."""
    from tutorlib.kernels import doubling

    got = with_reader_line(lambda more: answer(getattr(doubling, host), *arguments))
    if not callable(got):
        what = f"it should return the compiled function; it returns {got!r}."
        raise WrongKind(Flaw(what, Fail.GIVES(type=type(got).__name__)))
    return got


def compiled_calls(answer: Served, trial: str, start: int) -> dict[str, Any]:
    """Runs where the answer is. start: the least element of each x.

    at_once, in_all: for each cute.compile, until for_torch returns and until the end, whether what it makes takes
    torch's tensors; example: y of the example's after for_torch; results: x and y of each call; error: of the first
    that fails.
    """
    from cutlass import Int32

    host, before, pairs = TRIALS[trial]
    results, error = [], ""
    with compilations_noted() as made:
        (example, y), *_ = pairs(start)
        function = compiled_by(answer, host, *map(Int32, before), example, y)
        record: dict[str, Any] = {"at_once": [*made], "example": y.clone()}
        for x, y in pairs(start):
            y.fill_(-1.0)
            try:
                function(*before, x, y)
            except Exception as exception:
                said = raised(f"a call with {tuple(x.shape)}:{x.stride()}", exception)
                error = error or Flaw(said, *failures_in([said, what_to_do(said)]))
            results.append((x, y))
    return record | {"in_all": made, "results": results, "error": error}


def compiled_once(trial: str) -> Case:
    def judge(answer: Served) -> Wrong | None:
        start = rng_of_run(17).randint(1, 99)
        record = answer.ask(compiled_calls, trial, start)
        pairs = TRIALS[trial][2](start)
        if not record["example"].eq(0.0).all():
            what = "it runs the function on the example tensors: they only say how to compile."
            return Wrong(Flaw(what, CallFlaw.RUNS))
        if not all(record["in_all"]):
            what = "each call wraps its tensors again; --enable-tvm-ffi compiles a function that takes torch's."
            return Wrong(Flaw(what, CallFlaw.WRAPS))
        if record["error"]:
            return Wrong(record["error"])
        return wrong_values(record["results"], pairs) or wrong_number(record, len(pairs))

    return Case(trial, judge)


def wrong_values(results: Sequence[InOut], pairs: Sequence[InOut]) -> Wrong | None:
    for (x, _), got in zip(pairs, results, strict=True):
        if not (got[0].equal(x) and got[1].equal(x + x)):
            return Wrong(f"after a call with {tuple(x.shape)}:{x.stride()} y is not what the function writes.")
    return None


def wrong_number(record: dict[str, Any], calls: int) -> Wrong | None:
    if (times := len(record["in_all"])) > 1:
        what = f"{count(times, 'compilation')} for {count(calls, 'call')}; one serves all."
        return Wrong(Flaw(what, CallFlaw.COMPILES))
    if not record["at_once"]:
        return Wrong(Flaw("it compiles in the first call; for_torch itself should do that.", CallFlaw.COMPILES))
    return None


# On a GPU -------------------------------------------------------------------------------------------------------------


def timed_launches(answer: Served) -> dict[str, Any]:
    """Runs where the answer is. us: the host's for a launch by the answer, and for torch's.

    replayed: y after x was set to 3 and a CUDA graph of a launch was replayed.
    """
    import torch
    from cutlass.cute.runtime import make_fake_stream

    x, y = (torch.zeros(1024, device="cuda") for _ in range(2))
    launch = compiled_by(answer, "double", x, y, make_fake_stream(use_tvm_ffi_env_stream=True))
    launch(x, y)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        launch(x, y)
    x.fill_(3.0)
    graph.replay()
    return {"replayed": y.cpu(), "us": beside_torch(partial(launch, x, y), x)}


def beside_torch(call: Callable[[], Any], x: "Tensor") -> tuple[float, float]:
    """The host's µs for a call, and for torch.add of x: the median pair, by their quotient."""
    import torch

    def add() -> None:
        torch.add(x, x, out=x)

    pairs = [(host_us(call), host_us(add)) for _ in range(ROUNDS)]
    ours, torchs = sorted(pairs, key=lambda pair: pair[1] / pair[0])[ROUNDS // 2]
    return ours, torchs


def launch_costs(served: Served) -> tuple[float, float] | str:
    """µs of the host's time for the answer's launch, and for torch's; or what a CUDA graph breaks.

    Raises CompileFailed and WrongKind.
    """
    with turns.own_turn():
        record = served.ask(timed_launches)
    if not record["replayed"].eq(6.0).all():
        return "captured in a CUDA graph, the kernel leaves another y: it runs on another stream than torch's."
    ours, torchs = record["us"]
    return ours, torchs
