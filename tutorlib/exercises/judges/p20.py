"""How answers of page 20 are judged: scenarios around caches, compiled functions and CUDA graphs.

The sandbox shows this module, and nothing else of the page.
"""

from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from random import Random
from typing import TYPE_CHECKING, Any
from unittest import mock

from tutorlib.checking.answer import Served
from tutorlib.checking.exercise import WrongKind
from tutorlib.checking.part import Filled, HostFunction
from tutorlib.checking.scenario import Record, raised
from tutorlib.compiling.compiled import Compiled
from tutorlib.failure import Fail, FailureKind, Flaw

if TYPE_CHECKING:
    from torch import Tensor


def need_function(got: Any, task: str) -> Any:
    """What an answer returned. Raises WrongKind where it cannot be called."""
    if not callable(got):
        raise WrongKind(Flaw(f"it should return {task}; it returns {got!r}.", Fail.GIVES(type=type(got).__name__)))
    return got


# 20.1: keys of calls --------------------------------------------------------------------------------------------------

ARCH = "sm_90a"
Given = tuple["list[Tensor]", tuple, str]  # what cache_key takes


def numbered_keys(answer: Served, calls: Sequence[Given]) -> list[int]:
    """A number for each call's key, the same for equal ones. Raises WrongKind if no dictionary takes a key."""
    numbers: dict[Hashable, int] = {}
    keys = [answer(*call) for call in calls]
    try:
        return [numbers.setdefault(key, len(numbers)) for key in keys]
    except TypeError as error:
        why = f"{keys[0]!r} cannot be the key of a dictionary: {error}.\n  Tuples can, lists cannot."
        raise WrongKind(why) from None


def described(call: Given) -> str:
    tensors, constants, arch = call
    said = [
        f"{str(t.dtype).removeprefix('torch.')} {tuple(t.shape)}:{t.stride()}"
        + (f" at 64k+{t.data_ptr() % 64}" if t.data_ptr() % 64 else "")
        for t in tensors
    ]
    return ", ".join([*said, *map(repr, constants), *([] if arch == ARCH else [arch])])


# 20.2: launches compiled once, captured in CUDA graphs, and replayed for other inputs ---------------------------------
#
# Without a GPU torch.cuda is a stand-in on tensors in host memory, with CUDA's rules for streams, captures and replays.
# Work runs when it is issued. A capture runs nothing: it keeps the launches on its stream, and torch's operations, for
# replays.

LAUNCHES = 3
LEGACY = 0  # the handle of the default stream


class CudaFlaw(FailureKind):
    """A call that CUDA refuses, or that a capture cannot keep."""

    COLD = "first launch in a capture"
    LEGACY_STREAM = "default stream in a capture"
    NO_STREAM = "no stream"
    SYNCHRONIZES = "synchronizes in a capture"
    EMPTY = "no capture to replay"


class CudaRefuses(RuntimeError):
    """As CUDA returns an error. args[0] is a Flaw."""

    def __init__(self, what: str, kind: FailureKind) -> None:
        super().__init__(Flaw(f"{what}.", kind))


class Stream:
    """torch.cuda.Stream."""

    def __init__(self, cuda: "StandInCuda") -> None:
        self.synchronize, self.cuda_stream = cuda.synchronize, len(cuda.streams)
        cuda.streams.append(self)

    def wait_stream(self, other: "Stream") -> None:
        """All work has run."""


class Graph:
    """torch.cuda.CUDAGraph. work: what a replay runs. launches: how much of it are kernels."""

    def __init__(self, cuda: "StandInCuda") -> None:
        self.cuda = cuda
        self.work: list[Callable[[], object]] = []
        self.launches, self.captured = 0, False

    def capture_begin(self, **options: Any) -> None:
        if self.cuda.current.cuda_stream == LEGACY:
            raise RuntimeError("CUDA graphs must be captured on a non-default stream")
        self.captured = True
        self.cuda.capture, self.cuda.captured_on = self, self.cuda.current
        self.cuda.graphs.append(self)
        self.cuda.note("capture")
        self.keeping = operations_kept(self.work)
        self.keeping.__enter__()

    def capture_end(self) -> None:
        self.keeping.__exit__(None, None, None)
        self.cuda.capture = None

    def replay(self) -> None:
        if not self.captured:
            raise CudaRefuses("replay() of a CUDAGraph that has captured nothing", CudaFlaw.EMPTY)
        self.cuda.events.append("replay")
        for work in self.work:
            work()


def operations_kept(work: list[Callable[[], object]]) -> Any:
    """A mode in which torch's operations, those that are no views, are appended to the work of a graph."""
    import torch
    from torch.utils._python_dispatch import TorchDispatchMode

    class Keeping(TorchDispatchMode):
        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            given, name = kwargs or {}, func.name()  # "aten::add.out"
            made = func(*args, **given)
            if name.partition(".")[0].endswith("_") or name.endswith("out"):
                work.append(lambda: func(*args, **given))
            elif isinstance(made, torch.Tensor) and not func.is_view:
                work.append(lambda: made.copy_(func(*args, **given)))
            return made

    return Keeping()


class StandInCuda:
    """One GPU. graphs: those captured. events: "launch" outside of a graph, "capture", "replay", "wait" of the host."""

    def __init__(self) -> None:
        self.streams: list[Stream] = []
        self.current = self.captured_on = Stream(self)
        self.capture: Graph | None = None
        self.graphs: list[Graph] = []
        self.events: list[str] = []
        self.loaded: set[object] = set()

    def note(self, event: str) -> None:
        """An event, once where it is repeated."""
        if self.events[-1:] != [event]:
            self.events.append(event)

    def launch(self, kernel: object, work: Callable[[], object], stream: Any) -> None:
        """work: what the kernel does. stream: as a compiled function takes it. Raises CudaRefuses."""
        from torch.utils._python_dispatch import _disable_current_modes

        try:
            handle = int(getattr(stream, "cuda_stream", stream))
        except (TypeError, ValueError):
            raise CudaRefuses(f"launched on {stream!r}, which is no stream", CudaFlaw.NO_STREAM) from None
        if self.capture and handle == LEGACY:
            what = "launched on the default stream during a capture, which has a stream of its own; CUDA refuses that"
            raise CudaRefuses(what, CudaFlaw.LEGACY_STREAM)
        if self.capture and handle == self.captured_on.cuda_stream:
            if kernel not in self.loaded:
                what = "the kernel's first launch is inside the capture, and a first launch loads the kernel"
                raise CudaRefuses(what, CudaFlaw.COLD)
            self.capture.work.append(work)
            self.capture.launches += 1
            return
        self.loaded.add(kernel)
        self.note("launch")
        with _disable_current_modes():  # a capture keeps what the host issues, and not what a kernel does
            work()

    def synchronize(self, device: Any = None) -> None:
        """The host waits for the GPU. Raises CudaRefuses during a capture."""
        if self.capture:
            what = "the host waits for the GPU during a capture, in which nothing runs; CUDA refuses that"
            raise CudaRefuses(what, CudaFlaw.SYNCHRONIZES)
        self.note("wait")

    @contextmanager
    def on_stream(self, stream: Stream | None) -> Iterator[None]:
        """torch.cuda.stream."""
        before, self.current = self.current, stream or self.current
        try:
            yield
        finally:
            self.current = before

    @contextmanager
    def capturing(self, graph: Graph, stream: Stream | None = None, **options: Any) -> Iterator[None]:
        """torch.cuda.graph."""
        with self.on_stream(stream or Stream(self)):
            graph.capture_begin()
            try:
                yield
            finally:
                graph.capture_end()

    def in_torch(self) -> Any:
        """A context in which this is torch.cuda."""
        import torch

        return mock.patch.multiple(
            torch.cuda,
            Stream=lambda *args, **options: Stream(self),
            CUDAGraph=lambda *args, **options: Graph(self),
            graph=self.capturing,
            stream=self.on_stream,
            current_stream=lambda device=None: self.current,
            default_stream=lambda device=None: self.streams[LEGACY],
            synchronize=self.synchronize,
        )


def graph_calls(answer: Served, n: int, calls: "list[Tensor]") -> Record:
    """Calls of y = n·x, launched LAUNCHES times from x to y and on. Every other x, the first too, is not aligned."""
    import torch

    cuda = StandInCuda()
    made: list[torch.dtype] = []
    record: Record = {"error": "", "tensors of the caller that it writes to": "none", "events of a call": {}, "y": {}}
    last: dict[str, Tensor] = {}
    given: list[Tensor] = []

    def compile(x: "Tensor", y: "Tensor") -> Callable[..., None]:
        made.append(x.dtype)
        return launches_on(cuda, n)

    with cuda.in_torch():
        try:
            call = need_function(
                answer(compile, lambda x: f"{x.dtype}, {x.data_ptr() % 16 == 0}"), "a function that replays graphs"
            )
            for nth, x in enumerate(calls, 1):
                cuda.events.clear()
                new = torch.cat([x[: nth % 2], x])[nth % 2 :]
                y = call(new)
                if not isinstance(y, torch.Tensor):
                    kind = Fail.GIVES(type=type(y).__name__)
                    return record | {"error": Flaw(f"a call should return y; it returns {y!r}.", kind)}
                if not (new.equal(x) and all(old.isnan().all() for old in given)):
                    record["tensors of the caller that it writes to"] = "the x of a call"
                if (like := f"{len(x)} numbers in {x.dtype}") in last:
                    record["events of a call"][f"call {nth}"] = ", ".join(cuda.events)
                record["y"][f"call {nth}"], last[like] = y.clone(), y
                given.append(new.fill_(torch.nan))
        except CudaRefuses as error:
            record["error"] = error.args[0]
        except Exception as error:
            record["error"] = raised("it", error)
    return record | {
        "number of compilations": len(made),
        "launches in each graph": ", ".join(str(graph.launches) for graph in cuda.graphs),
        "y after all calls": last,
    }


def launches_on(cuda: StandInCuda, n: int) -> Callable[..., None]:
    """What the answer captures: launches(x, y, stream) issues LAUNCHES times the kernel y = n·x."""

    def run(source: "Tensor", y: "Tensor") -> None:
        y.copy_(n * source)

    def launches(x: "Tensor", y: "Tensor", stream: Any) -> None:
        for source in (x, *[y] * (LAUNCHES - 1)):
            cuda.launch(run, partial(run, source.detach(), y.detach()), stream)

    return launches


def vectors(rng: Random, kinds: str) -> "list[Tensor]":
    """Vectors of whole numbers, whose products are exact, in fp32 or, for a capital, fp64; a letter is a length."""
    import torch

    sizes = dict(zip("ab", rng.sample(range(4, 16), 2), strict=True))
    return [
        torch.tensor(rng.choices(range(1, 99), k=sizes[kind.lower()])).to(
            torch.float32 if kind.islower() else torch.float64
        )
        for kind in kinds
    ]


# 20.3: the second of two kernels --------------------------------------------------------------------------------------


class PdlFlaw(FailureKind):
    """What a kernel does too late or too early, though its result is right where it is simulated."""

    LATE = "weights after the wait"
    EARLY = "stores before the wait"


def pair(filled: Filled) -> HostFunction:
    """The host function around the answer, a kernel, which takes a copy of x. In the end that is added to y, as 0."""
    import cutlass
    from cutlass import cute

    from tutorlib.kernels.dependent import THREADS, launch_pair

    second = filled["scale_kernel"]

    @cute.kernel
    def add_kernel(x: Any, y: Any, times: cutlass.Constexpr) -> None:
        i: Any = cute.arch.block_idx()[0] * THREADS + cute.arch.thread_idx()[0]
        y[None, i].store(times * y[None, i].load() + x[None, i].load())

    @cute.jit
    def host(x: cute.Tensor, w: cute.Tensor, batch: cute.Tensor, y: cute.Tensor) -> None:
        size: Any = {"grid": (cute.size(x, mode=[1]) // THREADS, 1, 1), "block": (THREADS, 1, 1)}
        add_kernel(x, batch, 0.0).launch(**size)
        launch_pair(batch, w, y, lambda w, y: second(w, batch, y))
        add_kernel(batch, y, 1.0).launch(**size)

    return host


def misplaced(compiled: Compiled) -> str:
    """A fault if the kernel that waits stores before that, or loads less before it than after it; else ""."""
    before, wait, after = compiled.ptx.partition("griddepcontrol.wait")
    before, after = before.rpartition(".entry")[2], after.partition(".entry")[0]
    first, then = (part.count("ld.global") for part in (before, after))
    if wait and "st.global" in before:
        return Flaw("it stores before the wait, while the first kernel may still read x and write y.", PdlFlaw.EARLY)
    if not wait or first >= then:
        return ""
    what = f"{first} of its loads come before griddepcontrol_wait and {then} after it"
    return Flaw(f"{what}: the weights do not depend on what the first kernel does.", PdlFlaw.LATE)
