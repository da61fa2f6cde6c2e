"""A driver for Triton where there is no GPU: kernels compile for one that it is told of; launches are taken over."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any
from unittest import mock

import torch

CUDA = torch.device("cuda", 0)
SHARED_MEMORY, REGISTERS = 227 * 2**10, 65536
MakeTensorMap = Callable[[int, int, list[int], list[int], list[int], int], bytes]


@dataclass(frozen=True)
class TritonLaunch:
    """arguments: of the kernel in the PTX, in order: tensors, numbers, descriptors as bytes, and None for 0.

    threads: of a block. shared: bytes of dynamic shared memory. grid: of blocks, whole clusters. overlapping: whether
    it is a programmatic dependent launch.
    """

    ptx: str
    name: str
    grid: tuple[int, int, int]
    threads: int
    shared: int
    cluster: tuple[int, int, int]
    arguments: Sequence[Any]
    overlapping: bool = False


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
    def __init__(self, capability: tuple[int, int], utils: Utils, launch: Callable[[TritonLaunch], None]) -> None:
        self.capability, self.utils = capability, utils
        self.launcher_cls = lambda src, metadata: TritonLauncher(list(src.signature.values()), metadata, launch)
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


@dataclass(frozen=True)
class TritonLauncher:
    """Of one compiled kernel. kinds: of its arguments."""

    kinds: list[Any]
    metadata: Any
    launch: Callable[[TritonLaunch], None]

    def __call__(self, x: int, y: int, z: int, stream: int, compiled: Any, *more: Any) -> None:
        """more: packed metadata, facts for hooks and two hooks; then the kernel's arguments."""
        from triton.runtime import _allocation

        told, arguments = self.metadata, more[4:]
        blocks, scratch = getattr(told, "num_ctas", 1), None
        if told.global_scratch_size:
            size = x * y * z * blocks * told.global_scratch_size
            scratch = _allocation._allocator.get()(size, told.global_scratch_align, stream)
        described = iter(getattr(told, "tensordesc_meta", None) or [])
        cluster = (blocks, 1, 1) if blocks > 1 else tuple(getattr(told, "cluster_dims", (1, 1, 1)))
        values = [*flattened(self.kinds, arguments, described), scratch, None]
        grid, threads = (x * blocks, y, z), told.num_warps * 32
        pdl = bool(getattr(told, "launch_pdl", False))
        self.launch(TritonLaunch(compiled.asm["ptx"], told.name, grid, threads, told.shared, cluster, values, pdl))


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
    capability: tuple[int, int], sms: int, launch: Callable[[TritonLaunch], None], tensor_map: MakeTensorMap
) -> Iterator[None]:
    """Kernels compile for this capability, autotuners take the smallest of their configurations.

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
