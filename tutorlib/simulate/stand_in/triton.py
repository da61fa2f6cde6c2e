"""Triton: its launches go to the stand-in GPU."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch

from tutorlib.dsl.triton.driver import TritonLaunch, launches_taken_over
from tutorlib.simulate.ptx.launch import pack_parameters, pick_kernel
from tutorlib.simulate.ptx.memory.descriptors import write_tensor_map
from tutorlib.simulate.ptx.parse import parse_ptx
from tutorlib.simulate.ptx.places import by_loc
from tutorlib.simulate.ptx.simulation import Launch
from tutorlib.simulate.stand_in.gpu import SMS, StandInGpu


@contextmanager
def triton_on(gpu: StandInGpu) -> Iterator[None]:
    def launch(one: TritonLaunch) -> None:
        module = parse_ptx(one.ptx)
        kernel = pick_kernel(module, one.name)
        values = (  # gradients too, which autograd makes
            gpu.hold(value).data_ptr() if isinstance(value, torch.Tensor) else value or 0 for value in one.arguments
        )
        sizes = one.grid, kernel.threads or (one.threads, 1, 1), one.shared, pack_parameters(kernel, values)
        gpu.launch(Launch(module, kernel, *sizes, by_loc(module), one.cluster, overlapping=one.overlapping))

    with launches_taken_over(gpu.capability, SMS, launch, write_tensor_map):
        yield
