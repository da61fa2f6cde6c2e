"""A configuration compiled once, and launched on torch tensors.

Compiled functions take torch's tensors by TVM-FFI, so a launch costs the host a few µs.
"""

from collections.abc import Callable
from functools import cache
from math import ceil, log2
from typing import Any

import cutlass
import torch
from cutlass import Int32, cute
from cutlass.cute.runtime import make_fake_compact_tensor, make_fake_stream

from tutorlib.kernels.hopper.choose import TMA_BYTES, ShapeError, shape_problem
from tutorlib.kernels.hopper.config import BYTES, WARPGROUP, HopperConfig
from tutorlib.kernels.hopper.gemm import make_gemm
from tutorlib.kernels.hopper.parts import COURSE, Parts
from tutorlib.kernels.hopper.pipeline import DTYPES

ARCH = "sm_90a"


def fakes(config: HopperConfig) -> tuple[Any, ...]:
    """Stand-ins for a, b, c and what is beside them, of any size whose rows are multiples of 16 bytes."""

    def tensor(dtype: type, *shape: Any, order: tuple[int, ...] = (1, 0)) -> Any:
        gmem = cute.AddressSpace.gmem
        return make_fake_compact_tensor(dtype, shape, stride_order=order, memspace=gmem, assumed_align=16)

    ab, c = DTYPES[config.dtype], DTYPES[config.c_dtype]
    unit = TMA_BYTES // BYTES[config.dtype]
    m, n = cute.sym_int(divisibility=unit if config.callers_majors[0] == "mn" else 1), cute.sym_int(divisibility=8)
    k = cute.sym_int(divisibility=unit if "k" in config.majors else 1)
    orders = {"k": (1, 0), "mn": (0, 1)}
    of_a, of_b = (orders[major] for major in config.majors)
    of_c = orders["mn" if config.transposed else "k"]
    if config.transposed:
        m, n = n, m

    def flat(dtype: type) -> Any:
        return tensor(dtype, cute.sym_int(), order=(0,))

    acc, flags = (flat(cutlass.Float32), flat(Int32)) if config.stream_k else (None, None)
    scale_a, scale_b = (flat(cutlass.Float32) if config.scaled else None for _ in range(2))
    a, b, c = tensor(ab, m, k, order=of_a), tensor(ab, n, k, order=of_b), tensor(c, m, n, order=of_c)
    return a, b, c, scale_a, scale_b, acc, flags, None


@cache
def compile_gemm(config: HopperConfig, options: str = "", parts: Parts = COURSE) -> Any:
    """make_gemm's host function, compiled for all shapes."""
    return compile_for_torch(make_gemm(config, parts), *fakes(config), Int32(1), options=options)


def compile_for_torch(host: Callable[..., None], *fakes: Any, options: str = "") -> Any:
    """A host function, compiled for torch tensors of any size; it finds torch's stream itself."""
    stream = make_fake_stream(use_tvm_ffi_env_stream=True)
    return cute.compile(host, *fakes, stream, options=f"--gpu-arch {ARCH} --enable-tvm-ffi {options}")


@cache
def max_clusters(cluster_size: int) -> int:
    """How many clusters with a block on every SM the GPU holds at a time: fewer than SMs / size where GPCs are odd."""
    if cluster_size == 1:
        return torch.cuda.get_device_properties().multi_processor_count
    torch.empty(1, device="cuda")  # makes the context that HardwareInfo asks
    return cutlass.utils.HardwareInfo().get_max_active_clusters(cluster_size)


def scratch(config: HopperConfig, clusters: int) -> tuple[torch.Tensor | None, ...]:
    """(room for a tile's accumulators, zeroed flags) for every block of so many clusters, where blocks share tiles."""
    if not config.stream_k:
        return None, None
    blocks, warps = clusters * config.cluster_size, config.tile_warpgroups * WARPGROUP // 32
    stream = torch.cuda.current_stream().cuda_stream
    return room(stream, ceil(log2(blocks * config.tile[0] * config.tile[1])), ceil(log2(blocks * warps)))


@cache
def room(stream: int, log_acc: int, log_flags: int) -> tuple[torch.Tensor, torch.Tensor]:
    """2^log_acc floats and 2^log_flags zeroed flags for whatever runs on a stream: kernels leave the flags zeroed."""
    acc = torch.empty(1 << log_acc, dtype=torch.float32, device="cuda")
    return acc, torch.zeros(1 << log_flags, dtype=torch.int32, device="cuda")


def launcher(
    config: HopperConfig, m: int, n: int, k: int, parts: Parts = COURSE, compiled: Any = None
) -> Callable[..., None]:
    """launch(a, b, c, scale_a=None, scale_b=None) of this configuration for C (m, n) and K = k, on today's stream.

    The scales are fp32: one element each, or for block scales (M, K/128) with M contiguous and (N/128, K/128).
    compiled: its kernel, where it has been made before. Raises ShapeError.
    """
    if problem := shape_problem(m, n, k, config.dtype, config.callers_majors):
        raise ShapeError(problem)
    clusters = max_clusters(config.cluster_size)
    compiled = compiled or compile_gemm(config, parts=parts)
    others = *scratch(config, clusters), None, clusters
    if config.transposed:
        return lambda a, b, c, scale_a=None, scale_b=None: compiled(b, a, c.mT, scale_b, scale_a, *others)
    return lambda a, b, c, scale_a=None, scale_b=None: compiled(a, b, c, scale_a, scale_b, *others)
