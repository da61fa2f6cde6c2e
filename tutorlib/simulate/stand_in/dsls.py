"""The CuTe DSL and Triton, each taken over in a block: their launches go to the stand-in GPU."""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from importlib.util import find_spec
from typing import Any

import torch

from tutorlib.dsl.launching import call_packed, calls_taken_over, ffi_calls_taken_over
from tutorlib.dsl.tracing import allocations, locations, no_abort
from tutorlib.dsl.triton import launches_taken_over
from tutorlib.simulate.ptx.descriptors import write_tensor_map
from tutorlib.simulate.ptx.findings import by_loc
from tutorlib.simulate.ptx.geometry import Dim3
from tutorlib.simulate.ptx.languages.cute import STACKS, Host, OnDevice, Stacks
from tutorlib.simulate.ptx.launch import pack_parameters, pick_kernel
from tutorlib.simulate.ptx.parse import parse_ptx
from tutorlib.simulate.ptx.simulation import Launch
from tutorlib.simulate.stand_in.gpu import StandInGpu


class Hosts:
    """The compiled host functions that were called: their launches go to the GPU."""

    def __init__(self, gpu: StandInGpu) -> None:
        self.gpu, self.stacks, self.names = gpu, Stacks(), dict[str, str]()
        self.loaded: dict[int, Host] = {}  # by ids of functions, which are kept for that

    def load(self, built: Any, libraries: Sequence[str] = ()) -> Any:
        """The function's engine."""
        if id(built) not in self.loaded:
            self.loaded[id(built)] = Host(built, parse_ptx(built.__ptx__), self.gpu.sms, libraries)
        return self.loaded[id(built)].engine

    def run(self, built: Any, packed: Sequence[Any]) -> None:
        call_packed(self.load(built), built, packed)
        self.launch_all(built)

    def launch_all(self, built: Any) -> None:
        """Launch what the function has asked for."""
        host = self.loaded[id(built)]
        for each in host.take():
            kernel = each.kernel.name
            found = [mangled for mangled in self.names if mangled in kernel]
            name, names = self.names[max(found, key=len)] if found else kernel, self.stacks.shared.get(kernel, ())
            self.gpu.launch(replace(each, find=self.stacks.finder(host.module), names=names, name=name))

    def on_device(self, tensor: torch.Tensor) -> OnDevice:
        return OnDevice(self.gpu.hold(tensor).detach())  # gradients too, which autograd makes


@contextmanager
def cute_on(gpu: StandInGpu) -> Iterator[None]:
    """The CuTe DSL: it compiles for the stand-in GPU, which runs the compiled functions that are called."""
    hosts = Hosts(gpu)
    with ExitStack() as stack:
        stack.enter_context(calls_taken_over(f"sm_{gpu.arch}", gpu.sms, hosts.run, hosts.names))
        if find_spec("tvm_ffi"):
            stack.enter_context(ffi_calls_taken_over(hosts.load, hosts.launch_all, hosts.on_device))
        stack.enter_context(no_abort())
        stack.enter_context(allocations(hosts.stacks.note_shared))
        stack.enter_context(locations(STACKS, hosts.stacks.number))
        yield


@contextmanager
def triton_on(gpu: StandInGpu) -> Iterator[None]:
    """Triton: its launches go to the stand-in GPU."""

    def launch(
        ptx: str, name: str, grid: Dim3, threads: int, shared: int, cluster: Dim3, arguments: list[Any], pdl: bool
    ) -> None:
        module = parse_ptx(ptx)
        kernel = pick_kernel(module, name)
        # gradients too, which autograd makes
        values = (gpu.hold(one).data_ptr() if isinstance(one, torch.Tensor) else one or 0 for one in arguments)
        sizes = grid, kernel.threads or (threads, 1, 1), shared, pack_parameters(kernel, values)
        gpu.launch(Launch(module, kernel, *sizes, by_loc(module), cluster, overlapping=pdl))

    with launches_taken_over(gpu.capability, gpu.sms, launch, write_tensor_map):
        yield
