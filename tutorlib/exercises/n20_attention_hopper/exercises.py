"""Exercises of notebook 20: the parts of an attention kernel for Hopper, and the kernel that they make."""

from functools import partial
from typing import Any

from tutorlib.checking.cute import CuteExercise
from tutorlib.checking.exercise import Remedy
from tutorlib.checking.library_use import InModule
from tutorlib.checking.values import ValueExercise
from tutorlib.checking.work_limits import WorkLimits
from tutorlib.exercises.n20_attention_hopper.judge.attention_slots import (
    AttentionSlot,
    AttnFlaw,
    ProducerSlot,
    StepSlot,
    TurnSlot,
    ViewsSlot,
    WholeAttention,
)
from tutorlib.exercises.n20_attention_hopper.operands import BLOCK_CASES, REGISTER_CASES
from tutorlib.failure import Difference, Fail, Hazard
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
TURNS = WorkLimits(at_most=((NEEDLESS, 16),))
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
        hints=(
            "The thread is the one that holds this element of S: 32 * warp + 4 * (row % 8) + column % 8 // 2.",
            "A K block has 16 columns, and a thread 8 registers of it.",
            "register = column % 2 + 2 * half + 4 * (column % 16 // 8), where half says whether it is in the lower 8 "
            "rows.",
        ),
    ),
    slot(
        id="20.2",
        title="views",
        points=4,
        part=ViewsSlot(names=("by_row", "p_operand")),
        library=course("by_row", "p_operand"),
        hints=(
            "Both are cute.make_tensor(acc.iterator, cute.make_layout(shape, stride=…)): no register moves.",
            "by_row: the rows are 2 registers apart. Along a row, a neighbor is 1 register away and the next pair 4. "
            "So the columns are a mode (2, N/8), and cute.size(acc) // 4 is N/8.",
            "p_operand: ((2, 2, 2), 1, K blocks), with the strides ((1, 2, 4), 0, 8).",
        ),
        remedies=(
            Remedy(
                AttnFlaw.VIEW,
                "Compare with the table above: register 0 is the first row's first column, 1 its neighbor, 2 the same "
                "column of the second row, 4 the first row's next pair.",
            ),
        ),
    ),
    slot(
        id="20.3",
        title="add_pv",
        points=3,
        part=AttentionSlot(names=("add_pv",), small={"tile_n": 32}),  # two K blocks: no number that a page has
        limits=ONE_GROUP,
        library=course("add_pv"),
        hints=(
            "It is 13.10's multiply, with an A operand that is already in registers.",
            "ACCUMULATE is True for all K blocks: O begins as zeros, and each block of keys adds to it.",
            "for k_block in cutlass.range_constexpr(cute.size(p, mode=[2])): "
            "cute.gemm(pv, acc, p[None, None, k_block], v[None, None, k_block, stage], acc).",
        ),
        remedies=(
            Remedy(
                Hazard.RACE(lacks="wgmma.fence"),
                "The threads have just written P, and rescaled O: warpgroup.fence() comes before the first wgmma.",
            ),
            Remedy(Hazard.RACE(earlier="mbarrier"), "The consumer has waited for the stage that it names: `stage`."),
            Remedy(Hazard.RACE, "wait_group waits for committed groups alone: commit_group() after the last wgmma."),
            Remedy(
                Fail.TOO_MANY,
                "One fence before all K blocks and one commit after them; it is `step` that waits, later.",
            ),
            Remedy(Difference.WRONG, "Do all K blocks go in, each once? Does each of them add?"),
        ),
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
        hints=(
            "quad_reduce: combine with the lane whose number differs in bit 0, then with the one that differs in bit "
            "1: cute.arch.shuffle_sync_bfly(value, offset=1), then offset=2.",
            "softmax_step: s.reduce(cute.ReductionOp.MAX, before, 0) is the maximum of this thread's part of the row "
            "and of `before`; quad_reduce(…, cute.arch.fmax) that of the row.",
            "factor = exp2((before - top) * scale) is stored, and rescales rsum; rsum stays this thread's own part of "
            "the sum.",
        ),
        remedies=(
            Remedy(
                Fail.TOO_MANY(instruction="shfl.sync.bfly"),
                "Two shuffles reduce a row's four lanes. The sum needs none in a block: a thread keeps its own part "
                "of it until the end, where the course's `normalize` adds up the four.",
            ),
            Remedy(
                Fail.TOO_MANY(instruction="mul.f32"),
                "cute.math.exp multiplies its argument by log2(e), which softmax.scale has already: cute.math.exp2.",
            ),
            Remedy(
                Difference.WRONG(got="nan"),
                "Which exponent is (−∞) − (−∞)? A row may have seen no key yet, in this block and in those before.",
            ),
            Remedy(
                Difference.WRONG,
                "Check on one row of four blocks, with fp32 on paper: after each block rsum is the sum of "
                "exp2((s - rmax) * scale) over all keys so far.",
            ),
        ),
    ),
    ValueExercise(
        id="20.5",
        title="key_blocks",
        points=3,
        cases=BLOCK_CASES,
        hints=(
            "Without causal: ceil(keys / tile[1]) blocks, of which keys // tile[1] are full.",
            "Causal, the tile's last row sees (m_block + 1) * tile[0] keys: no block after those is needed.",
            "A block needs no mask if the tile's first row sees it all: (m_block * tile[0] + 1) // tile[1] blocks.",
        ),
    ),
    slot(
        id="20.6",
        title="produce",
        points=4,
        part=ProducerSlot(names=("produce",)),
        simulated_shapes=SMALL + ONE_BLOCK,
        limits=ONCE_LOADED,
        library=course("produce_blocks"),
        hints=(
            "Two states, one for each ring, both of a producer. Q first, then K of the last block.",
            "In the loop: K of the block before, then V of this one. After it: V of block 0.",
            "loads.load_k(n_blocks - 2 - number, k_state); loads.load_v(n_blocks - 1 - number, v_state); advance both.",
        ),
        remedies=(
            Remedy(
                Hazard.DEADLOCK,
                "The consumers take K of block n - 1, K of n - 2, V of n - 1, K of n - 3, … With two stages the "
                "producer may not be further than two blocks of K ahead of what they have released.",
            ),
            Remedy((Difference.WRONG, Difference.UNWRITTEN), "Which block goes with which state, and in which order?"),
        ),
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
        hints=(
            "Issue S of this block, then P V of the block before, then pass the turn.",
            "wait_group(1): S is complete, P V may not be. Free K, mask, softmax_step. Then wait_group(0): free V, "
            "rescale O, and only now overwrite tOrP.",
            "p = cute.make_rmem_tensor(me.tSrS.shape, Float32) takes the new P while the old one is still being read; "
            "at the end me.tOrP.store(p.load().to(BFloat16)).",
        ),
        remedies=(
            Remedy(AttnFlaw.NOT_OVERLAPPED, "Two groups are in flight: wait for the older one alone, wait_group(1)."),
            Remedy(
                AttnFlaw.P_WAITS,
                "wait_group(0) comes after softmax_step, and before anything that touches O or P.",
            ),
            Remedy(
                Fail.TOO_MANY(instruction="selp.f32"), "`if cutlass.const_expr(masked):` encloses me.mask(n_block)."
            ),
            Remedy(
                Fail.TOO_MANY(instruction="bar.sync"),
                "take_turn's barrier is the only one: wait_group waits for the wgmmas, an mbarrier for the copies.",
            ),
            Remedy(
                Hazard.RACE(by="TMA"),
                "A stage of V is free once P V is complete, one of K once S is: free_k after wait_group(1), free_v "
                "after wait_group(0).",
            ),
            Remedy(
                (Hazard.DEADLOCK, AttnFlaw.FREED_AGAIN),
                "Each step frees one stage of K and one of V, and passes the turn it took. The caller advances the "
                "states.",
            ),
            Remedy(
                Difference.WRONG,
                "In this order: S is complete; mask it; softmax_step; O is complete; rescale it; P into tOrP. Is one "
                "of them missing?",
            ),
        ),
    ),
    slot(
        id="20.8",
        title="turns",
        points=3,
        part=TurnSlot(names=("take_turn", "pass_turn")),
        limits=TURNS,
        library=course("take_turn", "pass_turn"),
        hints=(
            "Barrier 1 is warpgroup 0's turn, barrier 2 is warpgroup 1's: TURN_BARRIER + me.group.",
            "One warpgroup waits at it, the other only arrives: 256 threads.",
            "cute.arch.barrier(barrier_id=…, number_of_threads=256) waits, cute.arch.barrier_arrive(…) does not.",
        ),
        remedies=(
            Remedy(
                AttnFlaw.TURN,
                "Compare the two calls: the same barrier for one warpgroup's wait and the other's arrival, and 256 "
                "threads in both.",
            ),
        ),
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
        hints=("Return AttentionParts(…) with your nine functions, in the order above or by name.",),
    ),
)
