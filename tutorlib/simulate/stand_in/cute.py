"""The CuTe DSL: what it compiles is for the stand-in GPU, and where a compiled function is called, that GPU runs it."""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from tutorlib.dsl.cute.aborts import no_abort
from tutorlib.dsl.cute.taken_over import call_packed, calls_taken_over, engine_without_driver, ffi_calls_taken_over
from tutorlib.dsl.cute.tracing import allocations, locations
from tutorlib.simulate.ptx.languages.cute_host import OnDevice, Runtime
from tutorlib.simulate.ptx.languages.cute_lines import STACKS, Stacks
from tutorlib.simulate.ptx.parse import parse_ptx
from tutorlib.simulate.stand_in.gpu import SMS, StandInGpu

if TYPE_CHECKING:
    from torch import Tensor


class Hosts:
    """The compiled host functions that were called, each with an engine that takes its launches to the GPU."""

    def __init__(self, gpu: StandInGpu) -> None:
        self.gpu, self.stacks, self.names = gpu, Stacks(), dict[str, str]()
        self.loaded: dict[int, tuple[Any, Any, Runtime]] = {}  # by ids of functions, which are kept for that

    def load(self, built: Any, libraries: Sequence[str] = ()) -> Any:
        """The function's engine."""
        if id(built) not in self.loaded:
            runtime = Runtime(parse_ptx(built.__ptx__), SMS)
            engine = engine_without_driver(built, runtime.calls(), runtime.nothing, libraries)
            self.loaded[id(built)] = built, engine, runtime
        return self.loaded[id(built)][1]

    def run(self, built: Any, packed: Sequence[Any]) -> None:
        call_packed(self.load(built), built, packed)
        self.launch_all(built)

    def launch_all(self, built: Any) -> None:
        """Launch what the function has asked for."""
        _, _, runtime = self.loaded[id(built)]
        launches, error = runtime.take()
        if error:
            raise error
        for each in launches:
            kernel = each.kernel.name
            found = [mangled for mangled in self.names if mangled in kernel]
            name, names = self.names[max(found, key=len)] if found else kernel, self.stacks.shared.get(kernel, ())
            self.gpu.launch(replace(each, find=self.stacks.finder(runtime.module), names=names, name=name))

    def on_device(self, tensor: "Tensor") -> OnDevice:
        return OnDevice(self.gpu.hold(tensor).detach())  # gradients too, which autograd makes


@contextmanager
def cute_on(gpu: StandInGpu) -> Iterator[None]:
    hosts = Hosts(gpu)
    with ExitStack() as stack:
        stack.enter_context(calls_taken_over(f"sm_{gpu.arch}", SMS, hosts.run, hosts.names))
        if find_spec("tvm_ffi"):
            stack.enter_context(ffi_calls_taken_over(hosts.load, hosts.launch_all, hosts.on_device))
        stack.enter_context(no_abort())
        stack.enter_context(allocations(hosts.stacks.note_shared))
        stack.enter_context(locations(STACKS, hosts.stacks.number))
        yield
