"""Fused epilogues, simulated: the ladder's kernel and Hopper's, against the problems' bounds."""

from dataclasses import dataclass, field
from typing import Any

import pytest

from tutorlib.checking.simulating import find_simulated_fault
from tutorlib.kernels.fused import ampere, hopper, ops
from tutorlib.kernels.hopper.config import HopperConfig
from tutorlib.measuring.simulated_launchers import SimulatedCute
from tutorlib.problems.fused import linear_add, linear_gelu, linear_swiglu, tile_amax
from tutorlib.simulate.ptx.languages.cute import compile_for, simulate_call

SHAPES = ((64, 64, 64), (65, 104, 40))
EDGES = (200, 528, 136)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize(
    ("problem", "fusion"),
    [(linear_gelu(), ampere.Fusion(ops.bias_gelu)), (linear_add(), ampere.Fusion(ops.add, ampere.whole_matrix))],
    ids=["bias and GELU", "residual"],
)
def test_the_ladders_gemm_with_an_operand(problem, fusion, shape):
    assert find_simulated_fault(problem, SimulatedCute(ampere.make_fused(fusion), problem), shape) is None


@pytest.mark.parametrize("shape", [(64, 64, 64), (65, 128, 40)], ids=str)
def test_the_ladders_gemm_gated(shape):
    problem = linear_swiglu(32)
    assert find_simulated_fault(problem, SimulatedCute(ampere.make_gated(ampere.gated), problem), shape) is None


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_the_largest_of_a_tile(shape):
    problem = tile_amax((64, 64))
    assert find_simulated_fault(problem, SimulatedCute(ampere.make_amax(ampere.largest), problem), shape) is None


@dataclass
class SimulatedFusion:
    """A launcher of the Hopper kernel on the simulator, as a GPU that holds two clusters."""

    fusion: Any
    config: HopperConfig
    rank: int = 1
    reports: list = field(default_factory=list)

    def on(self, work):
        import cuda.bindings.driver as cuda
        from cutlass import Int32
        from cutlass.cute.runtime import from_dlpack, make_fake_stream

        from tutorlib.kernels.hopper.launch import dlpack

        fakes = hopper.fused_fakes(self.config, self.fusion, self.rank)
        compiled = compile_for(
            hopper.make_fused(self.config, self.fusion), [*fakes, Int32(1), make_fake_stream()], "sm_90a"
        )
        a, b, *operand, c = work.tensors
        tensors = {"a": a, "b": b, **({"operand": operand[0]} if operand else {}), "c": c}

        given = {
            name: dlpack(one) if one.ndim == 2 else from_dlpack(one, assumed_align=16).mark_layout_dynamic()
            for name, one in tensors.items()
        }
        operands = [given.get(name) for name in ("a", "b", "operand", "c")]

        def call():
            self.reports = simulate_call(compiled, tensors, [*operands, None, None, 2, cuda.CUstream(0)])

        return call


PINGPONG = HopperConfig((128, 64, 64), "pingpong")
COOPERATIVE = HopperConfig((128, 96, 64), cluster=(2, 1), defer_stores=True, polls=True)


@pytest.mark.parametrize("config", [PINGPONG, COOPERATIVE], ids=lambda config: config.schedule)
@pytest.mark.parametrize(
    ("problem", "fusion", "rank"),
    [
        (linear_gelu(), hopper.BIAS_GELU, 1),
        (linear_add(), hopper.ADD, 2),
        (linear_swiglu(hopper.PIECE), hopper.SWIGLU, 1),
    ],
    ids=["bias and GELU", "residual", "SwiGLU"],
)
def test_hoppers_gemm(problem, fusion, rank, config):
    assert find_simulated_fault(problem, SimulatedFusion(fusion, config, rank), EDGES, patterned=False) is None


def test_every_configuration_that_may_be_chosen_is_accepted():
    """C is half as wide where gated, and must keep every rule."""
    assert len({hopper.SWIGLU.out(config) for config in hopper.fusable(hopper.SWIGLU)}) > 100
    assert hopper.choose_fused(4096, 28672, 4096, 132, hopper.SWIGLU).tile[1] % 32 == 0
