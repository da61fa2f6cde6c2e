"""The Hopper GEMM of any configuration on the simulator."""

from collections.abc import Callable
from functools import cache
from types import ModuleType
from typing import Any

import torch
from cutlass.cute.runtime import make_fake_stream

from tutorlib.kernels.hopper import launch
from tutorlib.kernels.hopper.config import HopperConfig
from tutorlib.simulate.ptx import Report
from tutorlib.simulate.ptx.languages.cute import simulate_call
from tutorlib.simulate.ptx.languages.cute_lines import Traced, compile_for

SCALE = 0.75
ROOM = 64  # blocks that may share tiles


def compiled(config: HopperConfig, package: ModuleType = launch) -> Traced:
    """package: `launch` of the course's kernels, or of a copy of them."""
    from cutlass import Int32

    make = package.make_scaled_gemm if config.block_scaled else package.make_gemm
    return compile_for(make(config), [*package.fakes(config), Int32(1), make_fake_stream()], "sm_90a")


compiled_once = cache(compiled)


def simulate_gemm(
    config: HopperConfig, shape: tuple[int, int, int], clusters: int, traced: Traced | None = None
) -> tuple[torch.Tensor, torch.Tensor, Report]:
    """(C, what torch says it is, the report). clusters: that the GPU holds at a time."""
    m, n, k = shape
    dtype = launch.TORCH[config.dtype]
    generator = torch.Generator().manual_seed(m * 7 + n * 3 + k)
    a, b = (torch.randn(rows, k, generator=generator).to(dtype) for rows in (m, n))
    scale_a, scale_b = scales(config, m, n, k, generator)
    c = torch.full((m, n), torch.nan, dtype=launch.TORCH[config.c_dtype])
    tensors: dict[str, torch.Tensor | None] = {"a": a, "b": b, "c": c, "scale_a": scale_a, "scale_b": scale_b}
    if config.transposed:
        tensors = {"a": b, "b": a, "c": c.T, "scale_a": scale_b, "scale_b": scale_a}
    if config.shares_tiles:
        tensors["sums"] = torch.full((ROOM * config.tile[0] * config.tile[1],), torch.nan)
        tensors["flags"] = torch.zeros(ROOM * 16, dtype=torch.int32)
    if config.trace:
        roles = config.mma_warpgroups + config.specialised
        tensors["events"] = torch.full((ROOM * roles * launch.EVENTS * 4,), -1, dtype=torch.int32)
    (report,) = simulate_call(
        traced or compiled_once(config), {name: x for name, x in tensors.items() if x is not None},
        arguments(tensors, clusters),
    )  # fmt: skip
    if config.shares_tiles:
        assert not tensors["flags"].any()
    return c, wanted(config, a, b, scale_a, scale_b), report


def arguments(tensors: dict[str, torch.Tensor | None], clusters: int) -> "Callable[[list[torch.Tensor]], list[Any]]":
    """Makes make_gemm's arguments from the tensors that there are, as the simulated kernel sees them."""
    import cuda.bindings.driver as cuda

    names = ("a", "b", "c", "scale_a", "scale_b", "sums", "flags", "events")
    given = [name for name in tensors if tensors[name] is not None]

    def make(views: list[torch.Tensor]) -> list[Any]:
        seen = dict(zip(given, views, strict=True))
        made = [launch.dlpack(seen[name]) if name in seen else None for name in names]
        return [*made, clusters, cuda.CUstream(0)]

    return make


def scales(config: HopperConfig, m: int, n: int, k: int, generator: torch.Generator) -> tuple[Any, Any]:
    """(scale_a, scale_b) as the configuration wants them."""
    if config.block_scaled:
        blocks, padded = -(-k // 128), -(-m // 4) * 4
        of_a = (torch.rand(blocks, padded, generator=generator) + 0.5).T[:m]
        return of_a, torch.rand(-(-n // 128), blocks, generator=generator) + 0.5
    return (torch.tensor([SCALE]), torch.tensor([1.0])) if config.scaled else (None, None)


def wanted(config: HopperConfig, a: torch.Tensor, b: torch.Tensor, scale_a: Any, scale_b: Any) -> torch.Tensor:
    if not config.block_scaled:
        return a.float() @ b.float().T * (SCALE if config.scaled else 1)
    want = torch.zeros(a.shape[0], b.shape[0])
    for block in range(scale_a.shape[1]):
        part = slice(128 * block, min(a.shape[1], 128 * block + 128))
        weights = scale_b[:, block].repeat_interleave(128)[: b.shape[0]]
        want += (a[:, part].float() @ b[:, part].float().T) * scale_a[:, block, None] * weights
    return want


def worst(c: torch.Tensor, want: torch.Tensor, k: int) -> float:
    """The largest error, beside what rounding C may do."""
    return float(((c.float() - want).abs() / (want.abs() + k**0.5)).nan_to_num(nan=torch.inf).max())
