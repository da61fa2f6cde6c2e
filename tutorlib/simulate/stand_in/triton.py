"""Triton's driver for the stand-in GPU: its launches are simulated."""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import cache
from typing import Any
from unittest import mock

import torch

from tutorlib.simulate.ptx.launch import encode, pick_kernel
from tutorlib.simulate.ptx.memory.tensor_maps import write_tensor_map
from tutorlib.simulate.ptx.parse import parse_ptx
from tutorlib.simulate.ptx.places import by_loc
from tutorlib.simulate.ptx.simulation import Launch
from tutorlib.simulate.stand_in.gpu import SMS, StandInGpu
from tutorlib.simulate.stand_in.torch_cuda import CUDA

parsed = cache(parse_ptx)


class Utils:
    """What Triton's compiled driver module has: kernels are not loaded."""

    def get_device_properties(self, device: int) -> dict[str, int]:
        return {
            "max_shared_mem": 227 * 2**10,
            "max_num_regs": 65536,
            "multiprocessor_count": SMS,
            "warpSize": 32,
            "sm_clock_rate": 1_000_000,
            "mem_clock_rate": 1_000_000,
            "mem_bus_width": 1024,
        }

    def load_binary(self, name: str, kernel: bytes, shared: int, device: int) -> tuple[int, int, int, int, int]:
        return 1, 1, 64, 0, 1024

    def unload_module(self, module: int) -> None: ...

    def fill_tma_descriptor_tiled(
        self, address: int, swizzle: int, element: int, kind: int, box: Any, shape: Any, strides: Any, padding: int
    ) -> bytes:
        """The descriptor of a tensor whose last mode is contiguous. strides: in elements."""
        distances = [stride * element for stride in reversed(strides[:-1])]
        return write_tensor_map(address, kind, [*reversed(shape)], distances, [*reversed(box)], swizzle)


class Driver:
    def __init__(self, gpu: StandInGpu) -> None:
        self.gpu, self.utils = gpu, Utils()

        class OfThisGPU(Launcher):
            on = gpu

        self.launcher_cls = OfThisGPU

    def get_current_target(self) -> Any:
        from triton.backends.compiler import GPUTarget

        major, minor = self.gpu.capability
        return GPUTarget("cuda", major * 10 + minor, 32)

    def get_device_capability(self, device: int = 0) -> tuple[int, int]:
        return self.gpu.capability

    def get_current_device(self) -> int:
        return 0

    def set_current_device(self, device: int) -> None: ...

    def get_current_stream(self, device: int) -> int:
        return 0

    def get_active_torch_device(self) -> Any:
        return CUDA

    def get_device_interface(self) -> Any:
        return torch.cuda

    def get_benchmarker(self) -> Any:
        return lambda call, **options: 1.0

    def allocate_default_profile_scratch(self, *args: Any) -> None: ...


class Launcher:
    """Of one compiled kernel."""

    on: StandInGpu

    def __init__(self, src: Any, metadata: Any) -> None:
        self.kinds, self.metadata = list(src.signature.values()), metadata

    def __call__(
        self, x: int, y: int, z: int, stream: int, compiled: Any, packed: Any, facts: Any, enter: Any, leave: Any,
        *args: Any,
    ) -> None:  # fmt: skip
        from triton.runtime import _allocation

        metadata = self.metadata
        module = parsed(compiled.asm["ptx"])
        kernel = pick_kernel(module, metadata.name)
        scratch = 0
        if metadata.global_scratch_size:
            size = x * y * z * getattr(metadata, "num_ctas", 1) * metadata.global_scratch_size
            scratch = _allocation._allocator.get()(size, metadata.global_scratch_align, stream)
        described = iter(getattr(metadata, "tensordesc_meta", None) or [])
        values = [*flattened(self.kinds, args, described), scratch, 0]
        parameters = bytearray(kernel.parameter_bytes)
        for parameter, value in zip(kernel.parameters, values, strict=True):
            if isinstance(value, torch.Tensor):
                value = self.on.hold(value).data_ptr()  # gradients too, which autograd makes
            parameters[parameter.offset : parameter.offset + parameter.size] = encode(value or 0, parameter)
        cluster = tuple(getattr(metadata, "cluster_dims", (1, 1, 1)))
        if getattr(metadata, "num_ctas", 1) > 1:
            cluster = (metadata.num_ctas, 1, 1)
            x *= metadata.num_ctas
        threads = kernel.threads[0] if kernel.threads else metadata.num_warps * 32
        sizes = (x, y, z), (threads, 1, 1), metadata.shared
        self.on.launch(Launch(module, kernel, *sizes, bytes(parameters), by_loc(module), cluster))


def flattened(kinds: Sequence[Any], args: Sequence[Any], described: Iterator[Any]) -> Iterator[Any]:
    """The arguments that a kernel takes at run time."""
    from triton.backends.nvidia.driver import make_tensordesc_arg

    for kind, arg in zip(kinds, args, strict=True):
        if isinstance(kind, tuple):
            yield from flattened(kind, arg, described)
        elif kind.startswith("tensordesc"):
            yield from make_tensordesc_arg(arg, next(described, None), None)
        elif kind != "constexpr":
            yield arg


@contextmanager
def triton_on(gpu: StandInGpu) -> Iterator[None]:
    """Kernels compile for the GPU's capability, autotuners take the smallest of their configurations."""
    import triton
    from triton.compiler.compiler import CompiledKernel
    from triton.runtime.autotuner import Autotuner

    init, prune = CompiledKernel._init_handles, Autotuner.prune_configs

    def initialized(self: Any) -> None:
        init(self)
        self.function = self

    def smallest(self: Any, kwargs: Any) -> list[Any]:
        return [
            min(prune(self, kwargs), key=lambda config: sum(n for n in config.kwargs.values() if isinstance(n, int)))
        ]

    with ExitStack() as stack:
        stack.enter_context(mock.patch.object(CompiledKernel, "_init_handles", initialized))
        stack.enter_context(mock.patch.object(Autotuner, "prune_configs", smallest))
        stack.enter_context(mock.patch.object(Autotuner, "_bench", return_value=[1.0, 1.0, 1.0]))
        stack.enter_context(mock.patch.object(triton.testing, "do_bench", return_value=1.0))
        triton.runtime.driver.set_active(Driver(gpu))
        yield
