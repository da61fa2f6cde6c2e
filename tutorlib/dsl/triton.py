"""A driver for Triton where there is no GPU: kernels compile for a given GPU; launches are taken over."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any
from unittest import mock

import torch

CUDA = torch.device("cuda", 0)
SHARED_MEMORY, REGISTERS = 227 * 2**10, 65536
MakeTensorMap = Callable[[int, int, list[int], list[int], list[int], int], bytes]


@dataclass(frozen=True)
class Utils:
    """What Triton's compiled driver module has: kernels are not loaded. tensor_map: makes a descriptor for TMA."""

    sms: int
    tensor_map: MakeTensorMap

    def get_device_properties(self, device: int) -> dict[str, int]:
        clocks = {"sm_clock_rate": 1_000_000, "mem_clock_rate": 1_000_000, "mem_bus_width": 1024, "warpSize": 32}
        return {"max_shared_mem": SHARED_MEMORY, "max_num_regs": REGISTERS, "multiprocessor_count": self.sms} | clocks

    def load_binary(self, name: str, kernel: bytes, shared: int, device: int) -> tuple[int, int, int, int, int]:
        return 1, 1, 64, 0, 1024

    def unload_module(self, module: int) -> None: ...

    def fill_tma_descriptor_tiled(
        self, address: int, swizzle: int, element: int, kind: int, box: Any, shape: Any, strides: Any, padding: int
    ) -> bytes:
        """The descriptor of a tensor whose last mode is contiguous. strides: in elements."""
        distances = [stride * element for stride in reversed(strides[:-1])]
        return self.tensor_map(address, kind, [*reversed(shape)], distances, [*reversed(box)], swizzle)


class Driver:
    def __init__(self, capability: tuple[int, int], utils: Utils, launch: Callable[..., None]) -> None:
        self.capability, self.utils = capability, utils
        self.launcher_cls = lambda src, metadata: partial(launch_compiled, launch, [*src.signature.values()], metadata)
        says = {"get_device_capability": capability, "get_current_device": 0, "get_current_stream": 0}
        says |= {"get_active_torch_device": CUDA, "get_device_interface": torch.cuda}
        says |= {"get_benchmarker": one_millisecond}
        says |= dict.fromkeys(("set_current_device", "allocate_default_profile_scratch"))
        for name, value in says.items():
            setattr(self, name, lambda *args, value=value: value)

    def get_current_target(self) -> Any:
        from triton.backends.compiler import GPUTarget

        major, minor = self.capability
        return GPUTarget("cuda", major * 10 + minor, 32)


def launch_compiled(launch: Callable[..., None], kinds: list[Any], told: Any, *call: Any) -> None:
    """What Triton calls for a launch. kinds: of the kernel's arguments. told: its metadata.

    call: blocks along x, y and z, the stream, the compiled kernel, its packed metadata, facts for hooks and two hooks;
    then the kernel's arguments.
    """
    from triton.runtime import _allocation

    x, y, z, stream, compiled, _, _, _, _, *arguments = call
    blocks, scratch = getattr(told, "num_ctas", 1), None
    if told.global_scratch_size:
        size = x * y * z * blocks * told.global_scratch_size
        scratch = _allocation._allocator.get()(size, told.global_scratch_align, stream)
    described = iter(getattr(told, "tensordesc_meta", None) or [])
    cluster = (blocks, 1, 1) if blocks > 1 else tuple(getattr(told, "cluster_dims", (1, 1, 1)))
    values = [*flattened(kinds, arguments, described), scratch, None]
    sizes = (x * blocks, y, z), told.num_warps * 32, told.shared, cluster
    launch(compiled.asm["ptx"], told.name, *sizes, values, bool(getattr(told, "launch_pdl", False)))


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


def one_millisecond(call: Any, *args: Any, quantiles: Sequence[float] | None = None, **options: Any) -> Any:
    """In the place of a benchmark: 1 ms."""
    return [1.0] * len(quantiles) if quantiles else 1.0


@contextmanager
def launches_taken_over(
    capability: tuple[int, int], sms: int, launch: Callable[..., None], tensor_map: MakeTensorMap
) -> Iterator[None]:
    """Kernels compile for this capability, autotuners take the smallest of their configurations.

    launch: takes the PTX; the kernel's name; the grid's blocks, whole clusters; a block's threads; bytes of dynamic
    shared memory; a cluster's blocks; the kernel's arguments in the PTX, in order: tensors, numbers, descriptors as
    bytes, and None for 0; and whether it is a programmatic dependent launch.
    tensor_map: makes a descriptor for TMA of an address, the element's kind, and the tensor's sizes, the distances of
    its modes in bytes, the box and the swizzle.
    """
    import triton
    from triton.compiler.compiler import CompiledKernel
    from triton.runtime.autotuner import Autotuner

    init, prune = CompiledKernel._init_handles, Autotuner.prune_configs

    def initialized(self: Any) -> None:
        init(self)
        self.function = self

    def smallest(self: Any, kwargs: Any) -> list[Any]:
        configs = prune(self, kwargs)
        return [min(configs, key=lambda config: sum(n for n in config.kwargs.values() if isinstance(n, int)))]

    with ExitStack() as stack:
        stack.enter_context(mock.patch.object(CompiledKernel, "_init_handles", initialized))
        stack.enter_context(mock.patch.object(Autotuner, "prune_configs", smallest))
        stack.enter_context(mock.patch.object(Autotuner, "_bench", return_value=[1.0, 1.0, 1.0]))
        stack.enter_context(mock.patch.object(triton.testing, "do_bench", one_millisecond))
        triton.runtime.driver.set_active(Driver(capability, Utils(sms, tensor_map), launch))
        yield
