"""A stand-in for torch.cuda on tensors in host memory: streams, captures and replays, with CUDA's rules for them.

Work on the default stream runs at once. Work on another stream runs when something waits for that stream, so that a
result for which nothing waits is not there. A capture runs nothing: it keeps the launches on its stream, and torch's
operations, for replays.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from unittest import mock

from tutorlib.failure import FailureKind, Flaw

Work = Callable[[], object]
LEGACY = 0  # the handle of the default stream
SYNCHRONIZING = "aten::_local_scalar_dense"  # .item(), float(…), if …


class CudaFlaw(FailureKind):
    """A call that CUDA refuses, or that a capture cannot keep."""

    COLD = "first launch in a capture"
    LEGACY_STREAM = "default stream in a capture"
    NO_STREAM = "no stream"
    SYNCHRONIZES = "synchronizes in a capture"
    EMPTY = "no capture to replay"


class CudaRefuses(RuntimeError):
    """As CUDA returns an error. args[0] is a Flaw."""


class Stream:
    """torch.cuda.Stream. queue: work that nothing has waited for."""

    def __init__(self, cuda: "RecordedCuda") -> None:
        self.cuda, self.cuda_stream = cuda, len(cuda.streams)
        self.queue: list[Work] = []
        cuda.streams.append(self)

    def issue(self, work: Work) -> None:
        self.queue.append(work)
        if self.cuda_stream == LEGACY:
            self.finish()

    def finish(self) -> None:
        while self.queue:
            self.cuda.at_work = True
            self.queue.pop(0)()
            self.cuda.at_work = False

    def synchronize(self) -> None:
        self.cuda.host_waits()
        self.finish()

    def wait_stream(self, other: "Stream") -> None:
        other.finish()

    def record_event(self, event: "Event | None" = None) -> "Event":
        event = event or Event(self.cuda)
        event.record(self)
        return event

    def wait_event(self, event: "Event") -> None:
        event.stream.finish()

    def query(self) -> bool:
        return not self.queue


class Event:
    """torch.cuda.Event."""

    def __init__(self, cuda: "RecordedCuda") -> None:
        self.cuda, self.stream = cuda, cuda.current

    def record(self, stream: Stream | None = None) -> None:
        self.stream = stream or self.cuda.current

    def wait(self, stream: Stream | None = None) -> None:
        self.stream.finish()

    def synchronize(self) -> None:
        self.stream.synchronize()


class Graph:
    """torch.cuda.CUDAGraph. work: what a replay runs. launches: how much of it are kernels."""

    def __init__(self, cuda: "RecordedCuda") -> None:
        self.cuda = cuda
        self.reset()

    def reset(self) -> None:
        self.work: list[Work] = []
        self.launches, self.captured = 0, False

    def keep_launch(self, work: Work) -> None:
        self.work.append(work)
        self.launches += 1

    def capture_begin(self, **options: Any) -> None:
        if self.cuda.current.cuda_stream == LEGACY:
            raise RuntimeError("CUDA graphs must be captured on a non-default stream")
        if self.captured:
            raise RuntimeError("This CUDAGraph already holds a capture; make a new one")
        self.captured = True
        self.cuda.capture, self.cuda.captured_on = self, self.cuda.current
        self.cuda.graphs.append(self)
        self.keeping = self.cuda.torchs_operations(self.work.append)
        self.keeping.__enter__()

    def capture_end(self) -> None:
        self.keeping.__exit__(None, None, None)
        self.cuda.capture = None

    def replay(self) -> None:
        if not self.captured:
            what = "replay() of a CUDAGraph that has captured nothing"
            raise CudaRefuses(Flaw(what, CudaFlaw.EMPTY))
        self.cuda.replays += 1
        for work in self.work:
            self.cuda.current.issue(work)

    def pool(self) -> tuple[int, int]:
        return (0, 0)


class RecordedCuda:
    """One GPU. graphs: those captured. It counts replays, launches outside of graphs, and waits of the host.

    at_work: whether what runs was issued before, and is not issued now.
    """

    def __init__(self) -> None:
        self.streams: list[Stream] = []
        self.current = self.captured_on = Stream(self)
        self.capture: Graph | None = None
        self.graphs: list[Graph] = []
        self.loaded = self.at_work = False
        self.replays = self.launches = self.waits = 0

    def launch(self, work: Work, stream: Any) -> None:
        """work: what the kernel does. stream: as a compiled function takes it. Raises CudaRefuses."""
        handle = self.handle_of(stream)
        if self.capture and handle == LEGACY:
            what = "launched on the default stream during a capture, which has a stream of its own; CUDA refuses that"
            raise CudaRefuses(Flaw(what, CudaFlaw.LEGACY_STREAM))
        if self.capture and handle == self.captured_on.cuda_stream:
            if not self.loaded:
                what = "the kernel's first launch is inside the capture, and a first launch loads the kernel"
                raise CudaRefuses(Flaw(what, CudaFlaw.COLD))
            self.capture.keep_launch(work)
            return
        self.loaded = True
        self.launches += 1
        self.streams[handle].issue(work)

    def handle_of(self, stream: Any) -> int:
        """Raises CudaRefuses where it is no stream."""
        try:
            handle = int(getattr(stream, "cuda_stream", stream))
            self.streams[handle]
        except (TypeError, ValueError, IndexError):
            what = f"launched on {stream!r}, which is no stream"
            raise CudaRefuses(Flaw(what, CudaFlaw.NO_STREAM)) from None
        return handle

    def host_waits(self) -> None:
        """Raises CudaRefuses during a capture."""
        if self.capture:
            what = "the host waits for the GPU during a capture, in which nothing runs; CUDA refuses that"
            raise CudaRefuses(Flaw(what, CudaFlaw.SYNCHRONIZES))
        self.waits += 1

    def synchronize(self, device: Any = None) -> None:
        self.host_waits()
        self.finish()

    def finish(self) -> None:
        for stream in self.streams:
            stream.finish()

    @contextmanager
    def on_stream(self, stream: Stream | None) -> Iterator[None]:
        """torch.cuda.stream."""
        before, self.current = self.current, stream or self.current
        try:
            yield
        finally:
            self.current = before

    @contextmanager
    def capturing(self, graph: Graph, pool: Any = None, stream: Stream | None = None, **options: Any) -> Iterator[None]:
        """torch.cuda.graph."""
        self.finish()
        with self.on_stream(stream or Stream(self)):
            graph.capture_begin()
            try:
                yield
            finally:
                graph.capture_end()

    def torchs_operations(self, keep: Callable[[Work], object]) -> Any:
        """A mode in which torch's operations are kept, those that the host issues and that are no views."""
        import torch
        from torch.utils._python_dispatch import TorchDispatchMode

        cuda = self

        class Keeping(TorchDispatchMode):
            def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
                given, name = kwargs or {}, func.name()  # "aten::add.out"
                if name == SYNCHRONIZING:
                    cuda.host_waits()
                made = func(*args, **given)
                if cuda.at_work:
                    return made
                if name.partition(".")[0].endswith("_") or name.endswith("out"):
                    keep(lambda: func(*args, **given))
                elif isinstance(made, torch.Tensor) and not func.is_view:
                    keep(lambda: made.copy_(func(*args, **given)))
                return made

        return Keeping()


@contextmanager
def recorded_cuda() -> Iterator[RecordedCuda]:
    """torch.cuda is a RecordedCuda in the block."""
    import torch

    cuda = RecordedCuda()

    def current(device: Any = None) -> Stream:
        return cuda.current

    with mock.patch.multiple(
        torch.cuda,
        Stream=lambda *args, **options: Stream(cuda),
        Event=lambda *args, **options: Event(cuda),
        CUDAGraph=lambda *args, **options: Graph(cuda),
        graph=cuda.capturing,
        stream=cuda.on_stream,
        current_stream=current,
        default_stream=lambda device=None: cuda.streams[LEGACY],
        synchronize=cuda.synchronize,
        is_current_stream_capturing=lambda: cuda.capture is not None and cuda.current is cuda.captured_on,
        graph_pool_handle=lambda: (0, 0),
    ):
        yield cuda
