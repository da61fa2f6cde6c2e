"""Trials of an answer that captures launches in a CUDA graph and replays them for other inputs.

Without a GPU torch.cuda is a stand-in (`recorded_cuda`), and the kernel is a function of the judge's: y = n·x with an
n that only the judge knows, launched LAUNCHES times from x to y and on. On a GPU the answer captures a real kernel.
"""

from collections import Counter
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from tutorlib.checking.exercise import WrongKind
from tutorlib.checking.graded_run import for_points
from tutorlib.checking.randomness import fresh_rng, new_seed
from tutorlib.checking.served import Served
from tutorlib.exercises.n17_compile_once.judge.recorded_cuda import CudaRefuses, RecordedCuda, recorded_cuda
from tutorlib.exercises.n17_compile_once.judge.trials import raised, same_values
from tutorlib.failure import Fail, FailureKind, Flaw, failures_in
from tutorlib.machine import turns
from tutorlib.measuring.bench import host_us
from tutorlib.problems.wrong import count

if TYPE_CHECKING:
    from torch import Tensor

LAUNCHES = 3
ON_GPU = 20  # launches in a graph that is timed
SIZE = 8
ROUNDS = 7
Kernel = Callable[["Tensor"], "Tensor"]
Replay = Callable[["Tensor"], "Tensor"]


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
    COPIES_AGAIN = "copies again"
    WAITS = "host waits"
    NOT_WAITED = "nothing waits for the replay"
    SHARED = "graphs share buffers"


# In the answer's process ----------------------------------------------------------------------------------------------


class Launches:
    """What the answer captures: launches(x, y, stream) issues LAUNCHES kernels. kernel: x → n·x."""

    def __init__(self, cuda: RecordedCuda, kernel: Kernel) -> None:
        self.cuda, self.kernel = cuda, kernel

    def __call__(self, x: "Tensor", y: "Tensor", stream: Any) -> None:
        for source in (x, *[y] * (LAUNCHES - 1)):
            self.cuda.launch(partial(self.run, source.detach(), y.detach()), stream)

    def run(self, source: "Tensor", y: "Tensor") -> None:
        y.copy_(self.kernel(source))


def told_of_graph(answer: Served, kernel: Kernel, example: "Tensor", inputs: "list[Tensor]") -> dict[str, Any]:
    """What is wrong with the capture and with the replays, or "", and the result of each replay."""
    import torch

    x, y = example.clone(), torch.full_like(example, -1.0)
    said: dict[str, Any] = {"capture": "", "replays": "", "results": []}
    with recorded_cuda() as cuda:
        try:
            replay = captured_by(answer, Launches(cuda, kernel), x, y)
            cuda.finish()
        except Exception as error:
            return said | {"capture": failed("it", error), "replays": "there is nothing to replay."}
        said["capture"] = wrong_capture(cuda) or wrong_examples(x, y, example)
        x.fill_(torch.nan)
        for given in inputs:
            try:
                said["replays"], result = replayed(cuda, replay, given)
            except Exception as error:
                said["replays"], result = failed("a replay", error), None
            if result is not None:
                said["results"].append(result)
            if said["replays"]:
                break
        if not x.isnan().all():
            said["replays"] = Flaw("a call writes to the example x, which belongs to the caller.", GraphFlaw.EXAMPLES)
    return said


def told_of_two(answer: Served, kernel: Kernel, inputs: "list[Tensor]") -> dict[str, Any]:
    """The results of two graphs, after both were replayed: of the first input by one, of the second by the other."""
    with recorded_cuda() as cuda:
        try:
            examples = [(0 * x, 0 * x) for x in inputs]
            both = [captured_by(answer, Launches(cuda, kernel), *example) for example in examples]
            launches = cuda.launches
            results = [replay(x) for replay, x in zip(both, inputs, strict=True)]
            if [graph.launches for graph in cuda.graphs] != [LAUNCHES] * 2 or cuda.launches > launches:
                what = "two calls of graphed do not capture two graphs, each with all launches."
                return {"said": Flaw(what, GraphFlaw.NOT_CAPTURED), "results": []}
            return {"said": "", "results": results}
        except Exception as error:
            return {"said": failed("it", error), "results": []}


def captured_by(answer: Served, launches: Callable[..., None], x: "Tensor", y: "Tensor") -> Replay:
    """Raises WrongKind and what the answer does."""
    replay = answer(launches, x, y)
    if not callable(replay):
        what = f"it should return a function that replays the graph; it returns {replay!r}."
        raise WrongKind(Flaw(what, Fail.GIVES(type=type(replay).__name__)))
    return replay


def failed(who: str, error: Exception) -> str:
    """Raises WrongKind and the placeholder's error again."""
    return Flaw(f"{error}.", *failures_in(error.args)) if isinstance(error, CudaRefuses) else raised(who, error)


def wrong_capture(cuda: RecordedCuda) -> str:
    if not cuda.graphs:
        return Flaw("graphed returns before it has captured a graph.", GraphFlaw.NOT_CAPTURED)
    if len(cuda.graphs) > 1:
        return Flaw(f"{len(cuda.graphs)} graphs are captured; one holds all launches.", GraphFlaw.TOO_MANY)
    found = cuda.graphs[0].launches
    if not found:
        what = "the graph holds no launch: launches() ran on another stream, or outside of the capture."
        return Flaw(what, GraphFlaw.OUTSIDE)
    if found > LAUNCHES:
        return Flaw(f"the graph holds {found} launches; launches() issues {LAUNCHES}.", GraphFlaw.TOO_MANY)
    return ""


def wrong_examples(x: "Tensor", y: "Tensor", example: "Tensor") -> str:
    for name, tensor, before in (("x", x, example), ("y", y, -1.0)):
        if not tensor.eq(before).all():
            what = f"it writes to the {name} that it is given, which is an example and belongs to the caller."
            return Flaw(what, GraphFlaw.EXAMPLES)
    return ""


def replayed(cuda: RecordedCuda, replay: Replay, given: "Tensor") -> "tuple[str, Tensor | None]":
    """What is wrong with how a replay is made, and its result. Raises what the answer does.

    It may copy x to the graph, and y out of it, where the next replay does not overwrite it.
    """
    import torch

    graphs, replays, launches, waits = len(cuda.graphs), cuda.replays, cuda.launches, cuda.waits
    x, copies = given.clone(), Counter[int]()
    with cuda.torchs_operations(lambda work: copies.update([cuda.replays])):
        result = replay(x)
    if len(cuda.graphs) > graphs:
        return Flaw("each call captures a graph again.", GraphFlaw.CAPTURES_AGAIN), None
    if cuda.launches > launches:
        return Flaw("each call launches the kernels again; graph.replay() does that.", GraphFlaw.LAUNCHES_AGAIN), None
    if cuda.replays != replays + 1:
        what = f"a call replays the graph {count(cuda.replays - replays, 'time')}; once is right."
        return Flaw(what, GraphFlaw.NOT_REPLAYED), None
    if cuda.waits > waits:
        what = "a call waits for the GPU; the stream keeps the order, and the host can go on."
        return Flaw(what, GraphFlaw.WAITS), None
    if any(stream.queue for stream in cuda.streams):
        what = "a call replays the graph on a stream for which nothing waits: y is not there when it is returned."
        return Flaw(what, GraphFlaw.NOT_WAITED), None
    if not x.equal(given):
        return "a call changes the x that it is given.", None
    if not isinstance(result, torch.Tensor):
        what = f"a call should return y; it returns {result!r}."
        return Flaw(what, Fail.GIVES(type=type(result).__name__)), None
    if (most := max(copies.values(), default=0)) > 1:
        side = "before" if copies[replays] == most else "after"
        what = f"a call issues {most} operations of torch's {side} it replays the graph; one copy is enough."
        return Flaw(what, GraphFlaw.COPIES_AGAIN), result.clone()
    return "", result.clone()


# In the judge's process -----------------------------------------------------------------------------------------------


def vectors(number: int) -> "list[Tensor]":
    """Of whole numbers, whose products are exact; other ones in a run for points."""
    import torch

    rng = fresh_rng() if for_points() else None
    return [
        torch.tensor([float(rng.randint(1, 99) if rng else i + 10 * k) for i in range(SIZE)]) for k in range(number)
    ]


def told(served: Served, n: int) -> "tuple[list[Tensor], dict[str, Any]]":
    """An example and inputs, and what came of them. Of another process all is plain data."""
    example, *inputs = vectors(4)
    found = served.ask(told_of_graph, lambda x: n * x, example, inputs)
    if not (isinstance(found, dict) and isinstance(found.get("results"), list)):
        raise WrongKind("it should return a function that replays the graph.")
    return [example, *inputs], found


def two_graphs(served: Served) -> str:
    n, inputs = drawn_factor(), vectors(2)
    found = served.ask(told_of_two, lambda x: n * x, inputs)
    match found:
        case {"said": "", "results": [one, other]}:
            if all(same_values(got, n**LAUNCHES * x) for got, x in zip((one, other), inputs, strict=True)):
                return ""
            what = "after a replay of the second graph, the first one's y has changed: each needs buffers of its own."
            return Flaw(what, GraphFlaw.SHARED)
        case {"said": str(said)} if said:
            return said
    return "not every call returns y."


def drawn_factor() -> int:
    return new_seed() % 7 + 2


def the_capture(served: Served) -> str:
    _, found = told(served, drawn_factor())
    return found.get("capture", "") or wrong_first(found)


def wrong_first(found: dict[str, Any]) -> str:
    """What is wrong with how the first replay is made: a capture of launches that run again is none."""
    return "" if found["results"] else found.get("replays", "") or "there is nothing to replay."


def its_replays(served: Served) -> str:
    n = drawn_factor()
    (example, *inputs), found = told(served, n)
    if said := found.get("replays"):
        return said
    factor = n**LAUNCHES
    for nth, (x, got) in enumerate(zip(inputs, found["results"], strict=False)):
        if not same_values(got, factor * x):
            return wrong_result(got, factor, [example, *inputs[:nth]])
    return "" if len(found["results"]) == len(inputs) else "not every call returns y."


def wrong_result(got: "Tensor", factor: int, earlier: "list[Tensor]") -> str:
    """earlier: the example and the inputs before."""
    if any(same_values(got, factor * x) for x in earlier):
        what = "y belongs to an earlier x: the graph reads the memory that it was captured with, so copy x there first."
        return Flaw(what, GraphFlaw.STALE)
    if type(got) is type(earlier[0]) and got.isnan().any():
        what = "y is made of what the caller has since written to the example x: a graph needs an input of its own."
        return Flaw(what, GraphFlaw.CALLERS_MEMORY)
    return Flaw("y is not what the launches make of x.", GraphFlaw.STALE)


GRAPHS = (("the capture", the_capture), ("replays", its_replays), ("two graphs", two_graphs))


# On a GPU -------------------------------------------------------------------------------------------------------------


def told_of_real_graph(answer: Served, inputs: "list[Tensor]") -> dict[str, Any]:
    """The results of replays on this process's GPU, and the host's µs for each launch in one and for torch's."""
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

    x, *others = (given.cuda() for given in inputs)

    def torch_add() -> None:
        torch.add(x, x, out=x)

    replay = captured_by(answer, launches, x.clone(), torch.zeros_like(x))

    def replay_x() -> None:
        replay(x)

    results = [replay(given).cpu() for given in others]
    pairs = [(host_us(replay_x) / ON_GPU, host_us(torch_add)) for _ in range(ROUNDS)]
    return {"results": results, "us": sorted(pairs, key=lambda pair: pair[1] / pair[0])[ROUNDS // 2]}


def graph_costs(served: Served) -> tuple[float, float] | str:
    """µs of the host's time for each launch in a replay, and for torch's; or what is wrong with the replays.

    Raises WrongKind.
    """
    inputs = vectors(4)
    with turns.own_turn():
        try:
            found = served.ask(told_of_real_graph, inputs)
        except Exception as error:
            return raised("on the GPU it", error)
    match found:
        case {"results": list(results), "us": (float(ours), float(torchs))}:
            if len(results) == 3 and all(same_values(got, 2 * x) for got, x in zip(results, inputs[1:], strict=True)):
                return ours, torchs
    return Flaw("on the GPU y is not what the launches make of x.", GraphFlaw.STALE)
