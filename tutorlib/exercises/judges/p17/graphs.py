"""17.9: what captures launches in a CUDA graph and replays them for other inputs.

Without a GPU torch.cuda is a stand-in (`recorded_cuda`), and the kernel is y = n·x with an n that the judge draws,
launched LAUNCHES times from x to y and on. On a GPU the answer captures a real kernel.
"""

from collections.abc import Callable, Sequence
from functools import partial
from random import Random
from typing import TYPE_CHECKING, Any

from tutorlib.checking.exercise import WrongKind
from tutorlib.checking.scenario import judged_by_record, raised
from tutorlib.checking.served import Served
from tutorlib.exercises.judges.p17.launch_exercise import Timed, beside_torch
from tutorlib.exercises.judges.p17.recorded_cuda import CudaRefuses, RecordedCuda, recorded_cuda
from tutorlib.failure import Fail, FailureKind, Flaw, failures_in
from tutorlib.problems.differences import count

if TYPE_CHECKING:
    from torch import Tensor

LAUNCHES = 3
ON_GPU = 20  # launches in a graph that is timed
SIZE = 8
Record = dict[str, Any]
Calls = list[tuple[int, "Tensor"]]  # which graph is replayed, and x


class GraphFlaw(FailureKind):
    """What is wrong with a capture or with its replays."""

    NOT_CAPTURED = "not captured"
    OUTSIDE = "launches outside of the graph"
    TOO_MANY = "captured more than once"
    EXAMPLES = "the examples are changed"
    STALE = "result of an earlier input"
    CALLERS_MEMORY = "reads the caller's tensors"
    LAUNCHES_AGAIN = "launches again"
    CAPTURES_AGAIN = "captures again"
    NOT_REPLAYED = "not replayed once"
    WAITS = "host waits"
    SHARED = "graphs share buffers"


# In the answer's process ----------------------------------------------------------------------------------------------


def graph_calls(answer: Served, n: int, examples: "list[Tensor]", calls: Calls) -> Record:
    """Runs where the answer is.

    launches: in each graph; changed: the tensors of the caller that are written to; replays: of each call, the events
    and a copy of y; results: of the last call of each graph, after all calls; error: what stopped it.
    """
    import torch

    record: Record = {"launches": [], "changed": "", "replays": [], "results": {}, "error": ""}
    given = [(x.clone(), torch.full_like(x, -1.0)) for x in examples]
    with recorded_cuda() as cuda:
        try:
            graphs = [captured_by(answer, launches_on(cuda, n), x, y) for x, y in given]
            record["launches"] = [graph.launches for graph in cuda.graphs]
            for (x, y), example in zip(given, examples, strict=True):
                if not (x.equal(example) and y.eq(-1.0).all()):
                    record["changed"] = "an example"
                x.fill_(torch.nan)
            for which, x in calls:
                cuda.events.clear()
                y = graphs[which](new := x.clone())
                if not isinstance(y, torch.Tensor):
                    kind = Fail.GIVES(type=type(y).__name__)
                    return record | {"error": Flaw(f"a call should return y; it returns {y!r}.", kind)}
                if not (new.equal(x) and given[which][0].isnan().all()):
                    record["changed"] = "the x of a call"
                record["replays"].append(([*cuda.events], y.clone()))
                record["results"][str(which)] = y
        except CudaRefuses as error:
            record["error"] = Flaw(f"{error}.", *failures_in(error.args))
        except Exception as error:
            record["error"] = raised("it", error)
    return record


def launches_on(cuda: RecordedCuda, n: int) -> Callable[..., None]:
    """What the answer captures: launches(x, y, stream) issues LAUNCHES kernels, y = n·x."""

    def run(source: "Tensor", y: "Tensor") -> None:
        y.copy_(n * source)

    def launches(x: "Tensor", y: "Tensor", stream: Any) -> None:
        for source in (x, *[y] * (LAUNCHES - 1)):
            cuda.launch(partial(run, source.detach(), y.detach()), stream)

    return launches


def captured_by(answer: Served, launches: Callable[..., None], x: "Tensor", y: "Tensor") -> Callable[..., Any]:
    """The function that replays. Raises WrongKind and what the answer does."""
    replay = answer(launches, x, y)
    if not callable(replay):
        what = f"it should return a function that replays the graph; it returns {replay!r}."
        raise WrongKind(Flaw(what, Fail.GIVES(type=type(replay).__name__)))
    return replay


# In the judge's process -----------------------------------------------------------------------------------------------

EVENTS = (  # of a replay: how often each is right, and what else is wrong
    ("capture", 0, "a call captures a graph again.", GraphFlaw.CAPTURES_AGAIN),
    ("launch", 0, "a call launches the kernels again; graph.replay() does that.", GraphFlaw.LAUNCHES_AGAIN),
    ("replay", 1, "a call should replay the graph once.", GraphFlaw.NOT_REPLAYED),
    ("wait", 0, "a call waits for the GPU; the stream keeps the order, and the host can go on.", GraphFlaw.WAITS),
)


def vectors(rng: Random) -> "list[Tensor]":
    """Four, of whole numbers, whose products are exact."""
    import torch

    return [torch.tensor([float(rng.randint(1, 99)) for _ in range(SIZE)]) for _ in range(4)]


def drawn(rng: Random, graphs: int = 1) -> tuple:
    """Arguments of `graph_calls`."""
    tensors = vectors(rng)
    return rng.randint(2, 8), tensors[:graphs], [(nth % graphs, x) for nth, x in enumerate(tensors[graphs:])]


def wrong_capture(record: Record, n: int, examples: "list[Tensor]", calls: Calls) -> str:
    """A capture of launches that run again is none."""
    launches = record["launches"]
    if record["error"] and not launches:
        return record["error"]
    if launches != [LAUNCHES]:
        kinds = GraphFlaw.NOT_CAPTURED, GraphFlaw.OUTSIDE, GraphFlaw.TOO_MANY
        what = (
            f"it captures {count(len(launches), 'graph')} with {sum(launches)} launches; one with {LAUNCHES} is right."
        )
        return Flaw(what, kinds[min(2, len(launches) + sum(launches))])
    if record["changed"]:
        what = f"it writes to {record['changed']}, which belongs to the caller."
        return Flaw(what, GraphFlaw.EXAMPLES)
    return wrong_events(record["replays"][0][0]) if record["replays"] else record["error"]


def wrong_events(events: Sequence[str]) -> str:
    wrongs = (Flaw(what, kind) for event, right, what, kind in EVENTS if events.count(event) != right)
    return next(wrongs, "")


def wrong_replays(record: Record, n: int, examples: "list[Tensor]", calls: Calls) -> str:
    earlier = [*examples]
    for (events, y), (_, x) in zip(record["replays"], calls, strict=False):
        if said := wrong_events(events) or wrong_y(y, n**LAUNCHES, x, earlier):
            return said
        earlier.append(x)
    return record["error"]


def wrong_y(y: "Tensor", factor: int, x: "Tensor", earlier: "list[Tensor]") -> str:
    """earlier: the example and the inputs before."""
    if y.equal(factor * x):
        return ""
    if y.isnan().any():
        what = "y is made of what the caller has since written to the example x: a graph needs an input of its own."
        return Flaw(what, GraphFlaw.CALLERS_MEMORY)
    if any(y.equal(factor * one) for one in earlier):
        what = "y belongs to an earlier x: the graph reads the memory that it was captured with, so copy x there first."
        return Flaw(what, GraphFlaw.STALE)
    return Flaw("y is not what the launches make of x.", GraphFlaw.STALE)


def wrong_two(record: Record, n: int, examples: "list[Tensor]", calls: Calls) -> str:
    if record["error"]:
        return record["error"]
    again = any({"capture", "launch"} & {*events} for events, _ in record["replays"])
    if record["launches"] != [LAUNCHES] * 2 or again:
        return Flaw("two calls of graphed do not capture two graphs, each with all launches.", GraphFlaw.NOT_CAPTURED)
    if all(record["results"][str(which)].equal(n**LAUNCHES * x) for which, x in calls):
        return ""
    what = "after a replay of the second graph, the first one's y has changed: each needs buffers of its own."
    return Flaw(what, GraphFlaw.SHARED)


GRAPHS = (
    judged_by_record("the capture", graph_calls, drawn, wrong_capture),
    judged_by_record("replays", graph_calls, drawn, wrong_replays),
    judged_by_record("two graphs", graph_calls, partial(drawn, graphs=2), wrong_two),
)


# On a GPU -------------------------------------------------------------------------------------------------------------


def timed_replays(answer: Served) -> Timed:
    """Runs where the answer is: launches of y = 2x are captured, replayed for other x, and timed."""
    import torch
    from cutlass import cute
    from cutlass.cute.runtime import make_fake_stream

    from tutorlib.compiling.spec import TensorSpec
    from tutorlib.kernels.doubling import double

    vector = TensorSpec((SIZE,), dynamic=True, align=4).fake
    launch = cute.compile(double, vector(), vector(), make_fake_stream(), options="--enable-tvm-ffi")

    def launches(x: "Tensor", y: "Tensor", stream: Any) -> None:
        for _ in range(ON_GPU):
            launch(x, y, stream)

    x, *others = (given.cuda() for given in vectors(Random(17)))
    replay = captured_by(answer, launches, x.clone(), torch.zeros_like(x))
    right = all(replay(given).equal(2 * given) for given in others)
    return "" if right else "y is not what the launches make of x.", *beside_torch(partial(replay, x), x, ON_GPU)
