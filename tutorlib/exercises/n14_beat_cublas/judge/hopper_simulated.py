"""The Hopper GEMM of `kernels.hopper` on the simulator, as a GPU with few SMs would run it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tutorlib.problems.problem import Shape
from tutorlib.problems.work import Call, Work

if TYPE_CHECKING:
    from types import ModuleType

    from torch import Tensor

    from tutorlib.kernels.hopper.config import HopperConfig
    from tutorlib.simulate.ptx import Report
    from tutorlib.simulate.ptx.languages.cute_lines import Traced

TARGET = "sm_90a"
CLUSTERS = 2  # that the GPU holds at a time: so few that persistent blocks have several tiles even of a small C
ARGUMENTS = ("a", "b", "c", "scale_a", "scale_b", "acc", "flags", "events")


def compile_config(config: "HopperConfig", package: "ModuleType | None" = None) -> "Traced":
    """The host function for matrices of any shape. package: `kernels.hopper.launch`, or that of a changed copy.

    Raises whatever the DSL raises.
    """
    from cutlass import Int32
    from cutlass.cute.runtime import make_fake_stream

    from tutorlib.kernels.hopper import launch
    from tutorlib.simulate.ptx.languages.cute_lines import compile_for

    package = package or launch
    make = package.make_scaled_gemm if config.block_scaled else package.make_gemm
    return compile_for(make(config), [*package.fakes(config), Int32(1), make_fake_stream()], TARGET)


def simulate_config(
    compiled: "Traced", tensors: "Mapping[str, Tensor]", clusters: int = CLUSTERS, traced: bool = False
) -> "list[Report]":
    """Call it on tensors in ordinary memory, by the names of its ARGUMENTS; those that it does not need are left out.

    traced: as `simulate`.
    """
    import cuda.bindings.driver as cuda

    from tutorlib.kernels.hopper.launch import dlpack
    from tutorlib.simulate.ptx.languages.cute_host import simulate_call

    given = [dlpack(tensors[name]) if name in tensors else None for name in ARGUMENTS]
    return simulate_call(compiled, dict(tensors), [*given, clusters, cuda.CUstream(0)], traced)


def room_for_accumulators(config: "HopperConfig", clusters: int = CLUSTERS) -> "dict[str, Tensor]":
    """Room for accumulators, NaN, and zeroed flags, where blocks share tiles."""
    import torch

    if not config.stream_k:
        return {}
    blocks = clusters * config.cluster_size
    acc = torch.full((blocks * config.tile[0] * config.tile[1],), torch.nan)
    return {"acc": acc, "flags": torch.zeros(blocks * config.threads // 32, dtype=torch.int32)}


@dataclass
class SimulatedChoice:
    """A launcher (`problems.work.Launcher`) that simulates the GEMM in the configuration chosen for a shape.

    choose: takes M, N, K. reports: of the last call's launches. traced: as SimulatedLauncher's.
    """

    choose: "Callable[[int, int, int], HopperConfig]"
    reports: "list[Report]" = field(default_factory=list)
    traced: bool = False
    _compiled: "dict[HopperConfig, Traced]" = field(default_factory=dict)

    def compiled(self, shape: Shape) -> "tuple[HopperConfig, Traced]":
        m, n, k = shape
        config = self.choose(m, n, k)
        if config not in self._compiled:
            self._compiled[config] = compile_config(config)
        return config, self._compiled[config]

    def ptx(self, shape: Shape) -> str:
        return self.compiled(shape)[1].ptx

    def on(self, work: Work) -> Call:
        config, compiled = self.compiled(work.shape)
        a, b, c = work.tensors
        tensors = {"a": b, "b": a, "c": c.mT} if config.transposed else {"a": a, "b": b, "c": c}

        def call() -> None:
            self.reports = simulate_config(compiled, {**tensors, **room_for_accumulators(config)}, traced=self.traced)

        return call
