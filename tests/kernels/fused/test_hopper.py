"""Fused epilogues on notebook 14's GEMM: what can be said of them without a GPU."""

import re
from collections import Counter
from dataclasses import replace

import pytest
from cutlass import Int32
from cutlass.cute.runtime import make_fake_stream

from tutorlib.compiling import programs
from tutorlib.compiling.compiled import opcodes
from tutorlib.compiling.dsls import compile_cute
from tutorlib.compiling.programs import disassemble
from tutorlib.compiling.spec import TensorSpec
from tutorlib.kernels.fused.ampere import gated, make_elementwise
from tutorlib.kernels.fused.hopper import (
    ADD,
    BIAS,
    BIAS_GELU,
    SWIGLU,
    choose_fused,
    fusable,
    fused_fakes,
    make_fused,
    of_halves,
)
from tutorlib.simulate.ptx.languages.cute import compile_for

SASS_OPCODE = re.compile(r"^(?:@!?U?P\w+ )?([A-Z][\w.]*)", re.MULTILINE)
LARGE = ((4096, 14336, 4096), (8192, 8192, 8192), (4096, 28672, 4096))
FUSIONS = {"bias": BIAS, "bias + GELU": BIAS_GELU, "residual": ADD, "SwiGLU": SWIGLU}


def test_a_gated_tile_leaves_its_buffers_no_more_than_what_stages_leave():
    for config in fusable(SWIGLU):
        out = SWIGLU.out(config)
        stages, buffers = config.ab_stages * config.stage_room, out.store_buffers * out.store_stage_bytes
        assert stages + buffers + config.other_bytes <= config.room, config


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
    ptx = compile_for(make_fused(config, fusion), [*fakes, Int32(1), make_fake_stream()], "sm_90a").ptx
    assert programs.spilled(ptx) == 0


def test_registers_in_another_layout_cost_the_gate_no_instruction():
    """Once it is machine code: a reader's `gated` takes what a Hopper thread has as notebook 09's thread has it."""
    config = choose_fused(4096, 14336, 4096, 132, SWIGLU)
    counts = []
    for fusion in (SWIGLU, replace(SWIGLU, op=of_halves(gated))):
        arguments = [*fused_fakes(config, fusion, 1), Int32(1), make_fake_stream()]
        ptx = compile_for(make_fused(config, fusion), arguments, "sm_90a").ptx
        counts.append(Counter(SASS_OPCODE.findall(disassemble(programs.machine_code(ptx)))))
    assert counts[0]["MUFU.TANH"]
    assert counts[0] == counts[1]
