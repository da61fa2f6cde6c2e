"""The Hopper GEMM of any configuration on the simulator, beside what torch computes."""

from functools import cache
from typing import Any

import torch

from tutorlib.exercises.judges.p14 import (
    compile_config,
    room_for_accumulators,
    simulate_config,
)
from tutorlib.kernels.hopper import launch
from tutorlib.kernels.hopper.config import HopperConfig
from tutorlib.simulate.ptx import Report
from tutorlib.simulate.ptx.languages.cute import Traced

SCALE = 0.75

compiled_once = cache(compile_config)


def simulate_gemm(
    config: HopperConfig, shape: tuple[int, int, int], clusters: int, compiled: Traced | None = None
) -> tuple[torch.Tensor, torch.Tensor, Report]:
    """(C, what torch says it is, the report). clusters: that the GPU holds at a time."""
    m, n, k = shape
    generator = torch.Generator().manual_seed(m * 7 + n * 3 + k)
    a, b = (
        in_major(torch.randn(rows, k, generator=generator).to(launch.TORCH[config.dtype]), major)
        for rows, major in zip((m, n), config.callers_majors, strict=True)
    )
    c = torch.full((m, n), torch.nan, dtype=launch.TORCH[config.c_dtype])
    of_a, of_b = (torch.tensor([SCALE]), torch.tensor([1.0])) if config.scaled else (None, None)
    given: dict[str, Any] = {"a": a, "b": b, "c": c, "scale_a": of_a, "scale_b": of_b}
    if config.transposed:
        given = {"a": b, "b": a, "c": c.T, "scale_a": of_b, "scale_b": of_a}
    tensors = {name: x for name, x in given.items() if x is not None} | room_for_accumulators(config, clusters)
    (report,) = simulate_config(compiled or compiled_once(config), tensors, clusters)
    if config.stream_k:
        assert not tensors["flags"].any()
    return c, a.float() @ b.float().T * (SCALE if config.scaled else 1), report


def in_major(matrix: torch.Tensor, major: str) -> torch.Tensor:
    """The same matrix, whose rows are contiguous; "mn": its columns."""
    return matrix if major == "k" else matrix.mT.contiguous().mT


def worst(c: torch.Tensor, want: torch.Tensor, k: int) -> float:
    """The largest error, beside what rounding C may do; infinite where nothing was written."""
    return float(((c.float() - want).abs() / (want.abs() + k**0.5)).nan_to_num(nan=torch.inf).max())
