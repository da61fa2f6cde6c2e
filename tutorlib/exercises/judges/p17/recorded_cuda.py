"""A stand-in for torch.cuda on tensors in host memory: streams, captures and replays, with CUDA's rules for them.

Work runs when it is issued. A capture runs nothing: it keeps the launches on its stream, and torch's operations, for
replays.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from unittest import mock

from tutorlib.failure import FailureKind, Flaw

Work = Callable[[], object]
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
        super().__init__(Flaw(what, kind))


class Stream:
    """torch.cuda.Stream."""

    def __init__(self, cuda: "RecordedCuda") -> None:
        self.synchronize, self.cuda_stream = cuda.synchronize, len(cuda.streams)
        cuda.streams.append(self)

    def wait_stream(self, other: "Stream") -> None:
        """All work has run."""


class Graph:
    """torch.cuda.CUDAGraph. work: what a replay runs. launches: how much of it are kernels."""

    def __init__(self, cuda: "RecordedCuda") -> None:
        self.cuda = cuda
        self.work: list[Work] = []
        self.launches, self.captured = 0, False

    def capture_begin(self, **options: Any) -> None:
        if self.cuda.current.cuda_stream == LEGACY:
            raise RuntimeError("CUDA graphs must be captured on a non-default stream")
        self.captured = True
        self.cuda.capture, self.cuda.captured_on = self, self.cuda.current
        self.cuda.graphs.append(self)
        self.cuda.events.append("capture")
        self.keeping = self.cuda.operations_kept(self)
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


class RecordedCuda:
    """One GPU. graphs: those captured. events: "launch" outside of a graph, "capture", "replay", "wait" of the host."""

    def __init__(self) -> None:
        self.streams: list[Stream] = []
        self.current = self.captured_on = Stream(self)
        self.capture: Graph | None = None
        self.graphs: list[Graph] = []
        self.events: list[str] = []
        self.loaded = False

    def launch(self, work: Work, stream: Any) -> None:
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
            if not self.loaded:
                what = "the kernel's first launch is inside the capture, and a first launch loads the kernel"
                raise CudaRefuses(what, CudaFlaw.COLD)
            self.capture.work.append(work)
            self.capture.launches += 1
            return
        self.loaded = True
        self.events.append("launch")
        with _disable_current_modes():  # a capture keeps what the host issues, and not what a kernel does
            work()

    def synchronize(self, device: Any = None) -> None:
        """The host waits for the GPU. Raises CudaRefuses during a capture."""
        if self.capture:
            what = "the host waits for the GPU during a capture, in which nothing runs; CUDA refuses that"
            raise CudaRefuses(what, CudaFlaw.SYNCHRONIZES)
        self.events.append("wait")

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

    def operations_kept(self, graph: Graph) -> Any:
        """A mode in which a graph keeps torch's operations, those that are no views."""
        import torch
        from torch.utils._python_dispatch import TorchDispatchMode

        class Keeping(TorchDispatchMode):
            def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
                given, name = kwargs or {}, func.name()  # "aten::add.out"
                made = func(*args, **given)
                if name.partition(".")[0].endswith("_") or name.endswith("out"):
                    graph.work.append(lambda: func(*args, **given))
                elif isinstance(made, torch.Tensor) and not func.is_view:
                    graph.work.append(lambda: made.copy_(func(*args, **given)))
                return made

        return Keeping()


@contextmanager
def recorded_cuda() -> Iterator[RecordedCuda]:
    """torch.cuda is a RecordedCuda in the block."""
    import torch

    cuda = RecordedCuda()
    with mock.patch.multiple(
        torch.cuda,
        Stream=lambda *args, **options: Stream(cuda),
        CUDAGraph=lambda *args, **options: Graph(cuda),
        graph=cuda.capturing,
        stream=cuda.on_stream,
        current_stream=lambda device=None: cuda.current,
        default_stream=lambda device=None: cuda.streams[LEGACY],
        synchronize=cuda.synchronize,
    ):
        yield cuda
