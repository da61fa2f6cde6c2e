"""Triton: its launches go to the stand-in GPU."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch

from tutorlib.dsl.triton.driver import TritonLaunch, launches_taken_over
from tutorlib.simulate.ptx.launch import encode, pick_kernel
from tutorlib.simulate.ptx.memory.tensor_maps import write_tensor_map
from tutorlib.simulate.ptx.parse import parse_ptx
from tutorlib.simulate.ptx.places import by_loc
from tutorlib.simulate.ptx.simulation import Launch
from tutorlib.simulate.stand_in.gpu import SMS, StandInGpu


@contextmanager
def triton_on(gpu: StandInGpu) -> Iterator[None]:
    def launch(one: TritonLaunch) -> None:
        module = parse_ptx(one.ptx)
        kernel = pick_kernel(module, one.name)
        parameters = bytearray(kernel.parameter_bytes)
        for parameter, value in zip(kernel.parameters, one.arguments, strict=True):
            if isinstance(value, torch.Tensor):
                value = gpu.hold(value).data_ptr()  # gradients too, which autograd makes
            parameters[parameter.offset : parameter.offset + parameter.size] = encode(value or 0, parameter)
        threads = kernel.threads or (one.threads, 1, 1)
        sizes = one.grid, threads, one.shared, bytes(parameters)
        gpu.launch(Launch(module, kernel, *sizes, by_loc(module), one.cluster, one.overlapping))

    with launches_taken_over(gpu.capability, SMS, launch, write_tensor_map):
        yield
