"""gemm(a, b): chooses a configuration, compiles it once, and launches it on torch tensors.

With apache-tvm-ffi installed a launch costs the host a few µs; without it the tensors go through DLPack, about 40 µs.
"""

import importlib.util
from collections.abc import Callable
from functools import cache
from typing import Any

import cutlass
import torch
from cutlass import Int32, cute
from cutlass.cute.runtime import from_dlpack, make_fake_compact_tensor, make_fake_stream

from tutorlib.kernels.hopper.block_scaled import make_scaled_gemm
from tutorlib.kernels.hopper.choose import choose
from tutorlib.kernels.hopper.config import BYTES, WARPGROUP, HopperConfig
from tutorlib.kernels.hopper.gemm import make_gemm
from tutorlib.kernels.hopper.layouts import DTYPES
from tutorlib.kernels.hopper.timeline import EVENTS

ARCH = "sm_90a"
TORCH = {"bf16": torch.bfloat16, "fp16": torch.float16, "e4m3": torch.float8_e4m3fn}
NAMES = {dtype: name for name, dtype in TORCH.items()}
TVM_FFI = importlib.util.find_spec("tvm_ffi") is not None


def fakes(config: HopperConfig) -> tuple[Any, ...]:
    """Stand-ins for a, b, c, the scales, sums, flags and events of any size whose rows are multiples of 16 bytes."""

    def tensor(dtype: type, *shape: Any, order: tuple[int, ...] = (1, 0)) -> Any:
        gmem = cute.AddressSpace.gmem
        return make_fake_compact_tensor(dtype, shape, stride_order=order, memspace=gmem, assumed_align=16)

    ab, c = DTYPES[config.dtype], DTYPES[config.c_dtype]
    m, n, k = cute.sym_int(), cute.sym_int(divisibility=8), cute.sym_int(divisibility=16 // BYTES[config.dtype])
    order = (1, 0)
    if config.transposed:
        m, n, order = n, m, (0, 1)

    def flat(dtype: type) -> Any:
        return tensor(dtype, cute.sym_int(), order=(0,))

    sums, flags = (flat(cutlass.Float32), flat(Int32)) if config.shares_tiles else (None, None)
    scale_a, scale_b = (flat(cutlass.Float32) if config.scaled else None for _ in range(2))
    if config.block_scaled:
        scale_a = tensor(cutlass.Float32, cute.sym_int(), cute.sym_int())
        scale_b = tensor(cutlass.Float32, cute.sym_int(divisibility=4), cute.sym_int(), order=(0, 1))
    events = flat(Int32) if config.trace else None
    return tensor(ab, m, k), tensor(ab, n, k), tensor(c, m, n, order=order), scale_a, scale_b, sums, flags, events


@cache
def compile_gemm(config: HopperConfig, options: str = "") -> Any:
    """make_gemm's host function, compiled for all shapes. With TVM-FFI it finds the stream itself."""
    stream = make_fake_stream(use_tvm_ffi_env_stream=True) if TVM_FFI else make_fake_stream()
    options = f"--gpu-arch {ARCH} {'--enable-tvm-ffi' if TVM_FFI else ''} {options}"
    gemm = make_scaled_gemm(config) if config.block_scaled else make_gemm(config)
    return cute.compile(gemm, *fakes(config), Int32(1), stream, options=options)


@cache
def max_clusters(cluster_size: int) -> int:
    """How many clusters with a block on every SM the GPU holds at a time: fewer than SMs / size where GPCs are odd."""
    if cluster_size == 1:
        return torch.cuda.get_device_properties().multi_processor_count
    return cutlass.utils.HardwareInfo().get_max_active_clusters(cluster_size)


def scratch(config: HopperConfig, m: int, n: int, clusters: int) -> tuple[torch.Tensor | None, ...]:
    """(room for a tile's sums, zeroed flags) for every block of so many clusters, where blocks share tiles."""
    if not config.shares_tiles:
        return None, None
    if config.split_k > 1:
        along, across = (
            -(-size // (tile * blocks)) for size, tile, blocks in zip((m, n), config.tile, config.cluster, strict=False)
        )
        clusters = along * across * config.split_k
    blocks, warps = clusters * config.cluster_size, config.tile_warpgroups * WARPGROUP // 32
    sums = torch.empty(blocks * config.tile[0] * config.tile[1], dtype=torch.float32, device="cuda")
    return sums, torch.zeros(blocks * warps, dtype=torch.int32, device="cuda")


def dlpack(tensor: torch.Tensor) -> cute.Tensor:
    """A cute.Tensor of dynamic shape."""
    made = from_dlpack(tensor.view(torch.uint8) if tensor.dtype == torch.float8_e4m3fn else tensor, assumed_align=16)
    if tensor.dtype == torch.float8_e4m3fn:
        made.element_type = cutlass.Float8E4M3FN
    return made.mark_layout_dynamic(leading_dim=tensor.stride().index(1))


def trace_buffer(config: HopperConfig, blocks: int = 132) -> torch.Tensor:
    """(blocks, roles, EVENTS, 4) without events, for `timeline.read`."""
    roles = config.mma_warpgroups + config.specialised
    return torch.full((blocks, roles, EVENTS, 4), -1, dtype=torch.int32, device="cuda")


def launcher(config: HopperConfig, m: int, n: int, k: int, events: torch.Tensor | None = None) -> Callable[..., None]:
    """launch(a, b, c, scale_a=None, scale_b=None) of this configuration for C (m, n) and K = k; one stream at a time.

    The scales are fp32: one element each, or for block scales (M, K/128) with M contiguous and (N/128, K/128).
    """
    for columns, bytes_ in ((k, BYTES[config.dtype]), (n, 2)):
        if columns * bytes_ % 16:
            raise ValueError(f"rows of {columns} elements: TMA needs multiples of 16 bytes, {16 // bytes_} elements")
    clusters = max_clusters(config.cluster_size) * config.blocks_per_sm
    compiled = compile_gemm(config)
    sums, flags = scratch(config, *((n, m) if config.transposed else (m, n)), clusters)
    events = None if events is None else events.view(-1)
    if not TVM_FFI:
        compiled = through_dlpack(compiled)
    if config.transposed:
        return lambda a, b, c, scale_a=None, scale_b=None: compiled(
            b, a, c.mT, scale_b, scale_a, sums, flags, events, clusters
        )
    return lambda a, b, c, scale_a=None, scale_b=None: compiled(
        a, b, c, scale_a, scale_b, sums, flags, events, clusters
    )


def through_dlpack(compiled: Any) -> Callable[..., None]:
    """The same for torch tensors, on torch's stream."""
    import cuda.bindings.driver as cuda

    def call(*args: Any) -> None:
        stream = cuda.CUstream(torch.cuda.current_stream().cuda_stream)
        compiled(*(dlpack(arg) if isinstance(arg, torch.Tensor) else arg for arg in args), stream)

    return call


@cache
def chosen_launch(m: int, n: int, k: int, dtype: torch.dtype) -> Callable[..., None]:
    return launcher(choose(m, n, k, max_clusters(1), NAMES[dtype]), m, n, k)


def gemm(a: torch.Tensor, b: torch.Tensor, c: torch.Tensor | None = None) -> torch.Tensor:
    """C (M, N) = A (M, K) · Bᵀ with B (N, K), contiguous, on a Hopper GPU; fp32 sums, rounded once."""
    (m, k), n = a.shape, b.shape[0]
    if c is None:
        c = torch.empty(m, n, dtype=torch.bfloat16 if a.dtype == torch.float8_e4m3fn else a.dtype, device=a.device)
    chosen_launch(m, n, k, a.dtype)(a, b, c)
    return c
