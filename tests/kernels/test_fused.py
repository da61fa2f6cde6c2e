"""Fused epilogues, simulated and as they are chosen: the ladder's kernel and Hopper's."""

import re
from collections import Counter
from dataclasses import dataclass, field, replace
from typing import Any

import pytest
from cutlass import Int32
from cutlass.cute.runtime import make_fake_stream

from tutorlib.checking.running import find_simulated_fault
from tutorlib.compiling import programs
from tutorlib.compiling.compiled import opcodes
from tutorlib.compiling.dsls import compile_cute
from tutorlib.compiling.programs import disassemble
from tutorlib.compiling.spec import TensorSpec
from tutorlib.kernels.ampere import fused as ampere
from tutorlib.kernels.ampere.fused import gated, make_elementwise
from tutorlib.kernels.hopper import fused as hopper
from tutorlib.kernels.hopper.config import SMEM_ROOM, HopperConfig
from tutorlib.kernels.hopper.fused import (
    ADD,
    BIAS,
    BIAS_GELU,
    SWIGLU,
    choose_fused,
    fusable,
    fused_fakes,
    of_halves,
)
from tutorlib.kernels.hopper.gemm import make_gemm
from tutorlib.measuring.simulated_launchers import simulated_cute
from tutorlib.problems.fused import linear_add, linear_gelu, linear_swiglu
from tutorlib.simulate.ptx.languages.cute import compile_with_lines, simulate_host

SHAPES = ((64, 64, 64), (65, 104, 40))
EDGES = (200, 528, 136)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize(
    ("problem", "fusion"),
    [(linear_gelu(), ampere.Fusion(ampere.bias_gelu)), (linear_add(), ampere.Fusion(ampere.add, ampere.whole_matrix))],
    ids=["bias and GELU", "residual"],
)
def test_the_ladders_gemm_with_an_operand(problem, fusion, shape):
    assert find_simulated_fault(problem, simulated_cute(ampere.make_fused(fusion), problem), shape) is None


@pytest.mark.parametrize("shape", [(64, 64, 64), (65, 128, 40)], ids=str)
def test_the_ladders_gemm_gated(shape):
    problem = linear_swiglu(32)
    assert find_simulated_fault(problem, simulated_cute(ampere.make_gated(ampere.gated), problem), shape) is None


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

        fakes = hopper.fused_fakes(self.config, self.fusion, self.rank)
        compiled = compile_with_lines(
            make_gemm(self.config, fusion=self.fusion), [*fakes, Int32(1), make_fake_stream()], "sm_90a"
        )
        a, b, *operand, c = work.tensors
        tensors = {"a": a, "b": b, **({"operand": operand[0]} if operand else {}), "c": c}
        given = {
            name: from_dlpack(x, assumed_align=16).mark_layout_dynamic(leading_dim=x.stride().index(1))
            for name, x in tensors.items()
        }
        operands = [*(given[name] for name in "abc"), None, None, None, None]

        def call():
            self.reports = simulate_host(compiled, tensors, [*operands, given.get("operand"), 2, cuda.CUstream(0)])

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


@pytest.mark.parametrize(
    "config", [replace(PINGPONG, stages=2), HopperConfig((128, 112, 64), "pingpong", stages=2)], ids=str
)
def test_a_residual_loaded_under_the_main_loop(config):
    """128×112: the last box of a row overlaps the one before it."""
    assert find_simulated_fault(linear_add(), SimulatedFusion(hopper.ADD_BY_TMA, config, 2), EDGES) is None


def test_every_configuration_that_may_be_chosen_is_accepted():
    """C is half as wide where gated, and must keep every rule."""
    assert len({hopper.SWIGLU.out(config) for config in hopper.fusable(hopper.SWIGLU)}) > 100
    assert hopper.choose_fused(4096, 28672, 4096, 132, hopper.SWIGLU).tile[1] % 32 == 0


SASS_OPCODE = re.compile(r"^(?:@!?U?P\w+ )?([A-Z][\w.]*)", re.MULTILINE)
LARGE = ((4096, 14336, 4096), (8192, 8192, 8192), (4096, 28672, 4096))
FUSIONS = {"bias": BIAS, "bias + GELU": BIAS_GELU, "residual": ADD, "SwiGLU": SWIGLU}


def test_a_gated_tile_leaves_its_buffers_no_more_than_what_stages_leave():
    for config in fusable(SWIGLU):
        out = SWIGLU.out(config)
        stages, buffers = config.ab_stages * config.stage_room, out.store_buffers * out.store_stage_bytes
        assert stages + buffers + config.other_bytes <= SMEM_ROOM, config


@pytest.mark.parametrize(("fusion", "acc"), [(BIAS_GELU, 1), (SWIGLU, 2)], ids=["bias + GELU", "SwiGLU"])
def test_an_epilogues_work_is_what_the_compiler_makes_of_it(fusion, acc):
    """accumulators: that one result is made of. Four elements are computed in a thread."""
    apply = make_elementwise(lambda x: fusion.op(x, 0.7))
    ptx = compile_cute(apply, [TensorSpec((512,), "fp32")] * 2).ptx
    kinds = {"special": r"(tanh|ex2|rcp)\.", "arithmetic": r"(add|sub|mul|fma)\.(rn\.)?(ftz\.)?f32"}
    found = opcodes(ptx, kinds)
    each = {kind: found.count(kind) / (4 * acc) for kind in kinds}
    assert each == {"special": fusion.work.special, "arithmetic": fusion.work.arithmetic}


@pytest.mark.parametrize("shape", [*LARGE, (512, 4096, 4096), (4096, 4096, 1024), (2048, 4096, 256)], ids=str)
@pytest.mark.parametrize("name", FUSIONS)
def test_what_is_chosen_spills_nothing(name, shape):
    fusion = FUSIONS[name]
    config = choose_fused(*shape, 132, fusion)
    fakes = fused_fakes(config, fusion, 2 if fusion is ADD else 1)
    ptx = compile_with_lines(make_gemm(config, fusion=fusion), [*fakes, Int32(1), make_fake_stream()], "sm_90a").ptx
    assert programs.spilled(ptx) == 0


def test_registers_in_another_layout_cost_the_gate_no_instruction():
    """Once it is machine code: a reader's `gated` takes what a Hopper thread has as notebook 10's thread has it."""
    config = choose_fused(4096, 14336, 4096, 132, SWIGLU)
    counts = []
    for fusion in (SWIGLU, replace(SWIGLU, op=of_halves(gated))):
        arguments = [*fused_fakes(config, fusion, 1), Int32(1), make_fake_stream()]
        ptx = compile_with_lines(make_gemm(config, fusion=fusion), arguments, "sm_90a").ptx
        counts.append(Counter(SASS_OPCODE.findall(disassemble(programs.machine_code(ptx)))))
    assert counts[0]["MUFU.TANH"]
    assert counts[0] == counts[1]
