"""How answers of page 20 are judged: scenarios around caches, compiled functions and CUDA graphs.

The sandbox shows this module, and nothing else of the page.
"""

import tempfile
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, partial
from itertools import accumulate
from math import prod
from operator import mul
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any
from unittest import mock

from tutorlib.checking.answer import Served
from tutorlib.checking.exercise import WrongKind
from tutorlib.checking.scenario import Record, raised
from tutorlib.compiling.dsls import with_reader_line
from tutorlib.dsl.functions import compilations_noted
from tutorlib.dsl.refusals import what_to_do
from tutorlib.failure import Fail, FailureKind, Flaw, failures_in
from tutorlib.kernels.compiled_once import for_torch

if TYPE_CHECKING:
    from torch import Tensor


def need_function(got: Any, task: str) -> Any:
    """What an answer returned. Raises WrongKind where it cannot be called."""
    if not callable(got):
        raise WrongKind(Flaw(f"it should return {task}; it returns {got!r}.", Fail.GIVES(type=type(got).__name__)))
    return got


# 20.3: keys of calls --------------------------------------------------------------------------------------------------

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


# 20.4: a function compiled once, for all calls with torch's tensors ---------------------------------------------------


@dataclass(frozen=True)
class Trial:
    """Calls of one compiled function, y = 2x, of tutorlib.kernels.doubling.

    before: its arguments before x and y. shapes: of x in each call; columns are contiguous. skipped: elements in front
    of the last x, which then begins at a multiple of 4 bytes, not of 16.
    """

    host: str
    shapes: tuple[tuple[int, ...], ...]
    before: tuple[int, ...] = ()
    skipped: int = 0

    def pairs(self, start: int) -> "list[tuple[Tensor, Tensor]]":
        """x, whose least element is `start`, and a y of zeros for each call."""
        import torch

        found = []
        for nth, shape in enumerate(self.shapes, 1):
            skipped = self.skipped if nth == len(self.shapes) else 0
            numbers = torch.arange(start - skipped, start + prod(shape), dtype=torch.float32)
            memory = numbers, torch.zeros_like(numbers)
            strides = (1, *accumulate(shape[:-1], mul))
            x, y = (one.as_strided(shape, strides, skipped) for one in memory)
            found.append((x, y))
        return found


TRIALS = {
    "vectors of other lengths": Trial("double_on_cpu", ((6,), (3,), (100,), (1,), (8,)), skipped=1),
    "matrices with contiguous columns": Trial("double_columns_on_cpu", ((4, 6), (3, 5), (7, 2))),
    "an argument that is no tensor": Trial("double_n_on_cpu", ((4,), (9,)), before=(2,)),
}


def compiled_by(answer: Served, host: str, *arguments: Any) -> Callable[..., None]:
    """What the answer makes of a host function. Raises CompileFailed, WrongKind and the placeholder's error."""
    from tutorlib.kernels import doubling

    got = with_reader_line(lambda more: answer(getattr(doubling, host), *arguments))
    return need_function(got, "the compiled function")


def compiled_calls(answer: Served, trial: str, start: int) -> Record:
    """What a compiled function does in the trial's calls. start: the least element of each x. Raises CompileFailed."""
    import torch
    from cutlass import Int32

    (example, to), *_ = TRIALS[trial].pairs(start)
    before, error = TRIALS[trial].before, ""
    after: dict[str, Any] = {}
    with compilations_noted() as made:
        function = compiled_by(answer, TRIALS[trial].host, *map(Int32, before), example, to)
        at_once, idle = len(made), bool(to.eq(0.0).all())
        for x, y in TRIALS[trial].pairs(start):
            of = f"a call with {tuple(x.shape)}:{x.stride()}"
            try:
                function(*before, x, y)
            except Exception as exception:
                said = raised(of, exception)
                error = error or Flaw(said, *failures_in([said, what_to_do(said)]))
            after[of] = torch.cat((x.flatten(), y.flatten()))
    return {
        "y of the example": "untouched" if idle else "written: an example only says how to compile",
        "compiled function": "for torch's tensors" if all(made) else "for views, which each call makes again",
        "error": error,
        "x and y after": after,
        "number of compilations": len(made),
        "number of compilations in for_torch itself": at_once,
    }


# 20.5: a compiled function, x *= n, saved in a folder for the next process --------------------------------------------

GET, PUT, CUT_SHORT = "get", "put", "cut short"
Step = tuple[str, str, int]  # a call of the answer, or a file of another process; the function's name; n


class Saveable:
    """A compiled function. cut_short: whether its process dies while it writes."""

    def __init__(self, n: int, cut_short: bool) -> None:
        self.n, self.cut_short = n, cut_short

    def __call__(self, *args: Any) -> None:
        compiled_times(self.n)(*args)

    def export_to_c(self, object_file_path: str, function_name: str, **options: Any) -> None:
        if self.cut_short:
            Path(object_file_path).write_bytes(b"half of it")
            raise OSError("no space left on the device")
        compiled_times(self.n).export_to_c(object_file_path, function_name, **options)


@cache
def compiled_times(n: int) -> Any:
    import torch

    from tutorlib.kernels.doubling import times_on_cpu

    return for_torch(times_on_cpu(n), torch.zeros(4), torch.zeros(4))


def saved_calls(answer: Served, steps: Sequence[Step]) -> Record:
    """What each call of the answer does, in a folder that is not there yet.

    result: x of 5 and of 2 elements after calls of the function that the answer returns.
    """
    import torch

    record: Record = {}
    with tempfile.TemporaryDirectory() as around:
        folder = Path(around, "kernels").absolute()

        def names() -> list[str]:
            return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())

        for nth, (step, name, n) in enumerate(steps, 1):
            before, error, file = names(), "", f"{name}.o"
            made: list[Saveable] = []
            if step == PUT:
                folder.mkdir()
                compiled_times(n).export_to_c(str(folder / file), name)
                continue

            def compile(step: str = step, n: int = n, made: list[Saveable] = made) -> Saveable:
                made.append(Saveable(n, step == CUT_SHORT))
                return made[-1]

            results = [torch.arange(5.0), torch.arange(2.0)]
            try:
                function = need_function(answer(folder, name, compile), "the function")
                for x in results:
                    function(x, x)
            except Exception as exception:
                error = raised("it", exception)
            new = [one for one in names() if one != file and one not in before and step != CUT_SHORT]
            for part, what in {
                "error": error,
                "number of compilations": len(made),
                "result": torch.cat(results),
                "saved file": file if file in names() else "",
                "other new files": ", ".join(new),
            }.items():
                record.setdefault(part, {})[f"call {nth}, for {name}"] = what
    return record


# 20.6: launches compiled once, captured in CUDA graphs, and replayed for other inputs ---------------------------------
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
    """Calls of y = n·x, launched LAUNCHES times from x to y and on; compiled for each dtype."""
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
            call = need_function(answer(compile, lambda x: str(x.dtype)), "a function that replays graphs")
            for nth, x in enumerate(calls, 1):
                cuda.events.clear()
                y = call(new := x.clone())
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
