"""Exercises of notebook 20: the parts of an attention kernel for Hopper, and the kernel that they make."""

from functools import partial
from typing import Any

from tutorlib.checking.cute import CuteExercise
from tutorlib.checking.library_use import InModule
from tutorlib.checking.values import ValueExercise
from tutorlib.checking.work_limits import WorkLimits
from tutorlib.exercises.n20_attention_hopper.judge.attention_slots import (
    AttentionSlot,
    StepSlot,
    WholeAttention,
)
from tutorlib.exercises.n20_attention_hopper.operands import BLOCK_CASES, REGISTER_CASES
from tutorlib.machine.features import WGMMA
from tutorlib.problems.attention import attention_problem

PARTS = "tutorlib.kernels.attention.parts"
SHAPES = ((2, 4, 2, 300, 300, 128), (1, 2, 2, 100, 1000, 64))  # batch, heads, heads of K and V, queries, keys, head_dim
SMALL = ((1, 1, 1, 100, 200, 64),)  # four blocks of 64 keys, the last of them of 8: the rings of two go round twice
SMALL_CAUSAL = ((1, 1, 1, 200, 200, 64),)
ONE_BLOCK = ((1, 1, 1, 17, 17, 64),)

# In SMALL 8 consumer warps take 4 blocks each, 9 loads; with blocks of 32 keys they take 7, 112 groups of wgmmas.
# In the epilogue each of the warps fences once and meets once.
NEEDLESS = "bar.warp.sync|fence.proxy"
ONE_GROUP = WorkLimits(
    at_most=(*((f"wgmma.{name}", 140) for name in ("fence", "commit_group", "wait_group")), (NEEDLESS, 16))
)
# In 20.4's size 160 shuffles, 560 exponentials, 1,656 multiplications, of which 512 scale the scores, and 624 maxima;
# two numbers are rounded by one of 384 conversions.
ONCE_A_SCORE = WorkLimits(
    at_most=(
        *(("shfl.sync.bfly", 200), ("ex2", 700), ("mul.f32", 2000), ("max", 800)),
        *(("cvt.rn.bf16", 400), (NEEDLESS, 16)),
    )
)
ONCE_LOADED = WorkLimits(at_most=(("cp.async.bulk.tensor.4d.shared", 9), (NEEDLESS, 16)))
# In SMALL the warps wait 48 times, 40 of them for their turn, and pass it on 36 times.
TURNS = WorkLimits(at_most=((NEEDLESS, 16), ("bar.sync", 52)), at_least=(("bar.sync", 44), ("bar.arrive", 32)))
# In SMALL_CAUSAL a mask of one block takes 8 warps 256 selections; 4 of 6 blocks need it. All turns together take 80
# waits; the other parts 96 groups of wgmmas, 256 shuffles, 1,600 exponentials, 3,248 multiplications, 1,696 maxima,
# 1,024 conversions and 14 loads.
ALL_PARTS = WorkLimits(
    at_most=(
        *(("selp.f32", 1300), ("bar.sync", 96)),
        *((f"wgmma.{name}", 120) for name in ("fence", "commit_group", "wait_group")),
        *(("shfl.sync.bfly", 320), ("ex2", 2000), ("mul.f32", 4000), ("max", 2200), ("cvt.rn.bf16", 1060)),
        *(("cp.async.bulk.tensor.4d.shared", 14), (NEEDLESS, 32)),
    ),
    at_least=(("bar.sync", 64),),
)

slot: Any = partial(
    CuteExercise,
    needs=WGMMA,
    archs=("90",),
    problem=attention_problem(),
    patterned=False,
    shapes=SHAPES,
    simulated_shapes=SMALL,
)


def course(*names: str) -> dict[str, InModule]:
    return {f"the course's {name}": InModule(PARTS, name) for name in names}


EXERCISES = (
    ValueExercise(
        id="20.1",
        title="a_register",
        points=3,
        cases=REGISTER_CASES,
    ),
    slot(
        id="20.2",
        title="views",
        points=4,
        part=AttentionSlot(names=("by_row", "p_operand")),
        library=course("by_row", "p_operand"),
    ),
    slot(
        id="20.3",
        title="add_pv",
        points=3,
        part=AttentionSlot(names=("add_pv",), small={"tile_n": 32}),  # two K blocks: no number that a page has
        limits=ONE_GROUP,
        library=course("add_pv"),
    ),
    slot(
        id="20.4",
        title="softmax",
        points=6,
        part=AttentionSlot(names=("quad_reduce", "softmax_step"), causal=True, small={"tile_n": 32}),
        problem=attention_problem(causal=True),
        simulated_shapes=((1, 1, 1, 128, 128, 64),),  # rows that see none of the first three blocks
        patterned=True,
        limits=ONCE_A_SCORE,
        library=course("quad_reduce", "softmax_step"),
    ),
    ValueExercise(
        id="20.5",
        title="key_blocks",
        points=3,
        cases=BLOCK_CASES,
    ),
    slot(
        id="20.6",
        title="produce",
        points=4,
        part=AttentionSlot(names=("produce",), small={"tile_n": 64, "stages": 3}),
        simulated_shapes=SMALL + ONE_BLOCK,
        limits=ONCE_LOADED,
        library=course("produce_blocks"),
    ),
    slot(
        id="20.7",
        title="step",
        points=5,
        part=StepSlot(names=("step",), causal=True),
        problem=attention_problem(causal=True),
        shapes=((2, 4, 2, 300, 300, 128), (1, 2, 2, 300, 1000, 64)),
        simulated_shapes=SMALL_CAUSAL,
        limits=ALL_PARTS,
        library=course("step"),
    ),
    slot(
        id="20.8",
        title="turns",
        points=3,
        part=AttentionSlot(names=("take_turn", "pass_turn")),
        limits=TURNS,
        library=course("take_turn", "pass_turn"),
    ),
    slot(
        id="20.9",
        title="my_parts",
        points=4,
        part=WholeAttention(causal=True),
        problem=attention_problem(causal=True),
        shapes=((2, 4, 2, 300, 300, 128), (1, 2, 2, 300, 1000, 64), (3, 1, 1, 17, 17, 64)),
        simulated_shapes=(*SMALL_CAUSAL, (1, 2, 1, 130, 70, 64)),
        limits=ALL_PARTS,
        bench_shape=(4, 16, 16, 4096, 4096, 128),
        tiers=(0.95,),
        library=course("by_row", "p_operand", "add_pv", "quad_reduce", "softmax_step", "produce_blocks", "step")
        | course("take_turn", "pass_turn")
        | {"COURSE": "COURSE"},
    ),
)
