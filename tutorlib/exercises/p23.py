"""Exercises of notebook 23: the parts of an attention kernel for Hopper, and the kernel that they make."""

from functools import partial
from typing import Any

from tutorlib.checking.cute import CuteExercise
from tutorlib.checking.facts import at_most, issued
from tutorlib.checking.library_use import of_course
from tutorlib.checking.part import Inside, inside
from tutorlib.exercises.judges.p23 import attention, without_overlap
from tutorlib.machine.features import WGMMA
from tutorlib.problems.attention import attention_problem
from tutorlib.problems.problem import Shape

SHAPES = ((2, 4, 2, 300, 300, 128), (1, 2, 2, 100, 1000, 64))  # batch, heads, heads of K and V, queries, keys, head_dim
SMALL = ((1, 1, 1, 100, 200, 64),)  # four blocks of 64 keys, the last of them of 8: the rings of two go round twice
SMALL_CAUSAL = ((1, 1, 1, 200, 200, 64),)
HIDDEN_BLOCKS = ((1, 1, 1, 128, 128, 64),)  # rows that see none of the first three blocks


def within(*slots: str, sizes: tuple[Shape, ...] = SMALL, causal: bool = False, tile_n: int = 64) -> Inside:
    """tile_n: keys of a block where the kernel is simulated."""
    small = {size: {"tile_n": tile_n, "causal": causal} for size in sizes}
    return inside(attention, *slots, small=small, jit=False, causal=causal)


NEEDLESS = "bar.warp.sync|fence.proxy"
# In 23.1's size 160 shuffles, 560 exponentials, 1,656 multiplications, of which 512 scale the scores, and 624 maxima;
# two numbers are rounded by one of 384 conversions.
ONCE_A_SCORE = (
    issued("ex2.approx.f32") <= 0,  # without fastmath
    *at_most({"shfl.sync.bfly": 200, "ex2": 700, "mul.f32": 2000, "max": 800, "cvt.rn.bf16": 400, NEEDLESS: 16}),
)
# In SMALL_CAUSAL a mask of one block takes 8 warps 256 selections; 4 of 6 blocks need it. All turns together take 80
# waits; the other parts 96 groups of wgmmas, 256 shuffles, 1,600 exponentials, 3,248 multiplications, 1,696 maxima
# and 1,024 conversions.
ALL_PARTS = (
    issued("selp.f32") <= 1300,
    issued("bar.sync") <= 96,
    *(issued(f"wgmma.{name}") <= 120 for name in ("fence", "commit_group", "wait_group")),
    *at_most({"shfl.sync.bfly": 320, "ex2": 2000, "mul.f32": 4000, "max": 2200, "cvt.rn.bf16": 1060, NEEDLESS: 32}),
    issued("bar.sync") >= 64,
)

slot: Any = partial(CuteExercise.of, needs=WGMMA, problem=attention_problem(), patterned=False, shapes=SHAPES)
SLOTS = "softmax_step", "step", "consume"
course = partial(of_course, "attention.roles")

EXERCISES = (
    slot(
        ("23.1", "softmax_step", 6),
        part=within("softmax_step", sizes=HIDDEN_BLOCKS, causal=True, tile_n=32),
        problem=attention_problem(causal=True),
        patterned=True,
        rules=ONCE_A_SCORE,
        library=course("softmax_step"),
    ),
    slot(
        ("23.2", "step", 5),
        part=within("step", sizes=SMALL_CAUSAL, causal=True),
        faults=(without_overlap,),
        problem=attention_problem(causal=True),
        shapes=((2, 4, 2, 300, 300, 128), (1, 2, 2, 300, 1000, 64)),
        rules=ALL_PARTS,
        library=course("step"),
    ),
    slot(
        ("23.3", "my_kernel", 8),
        part=within(*SLOTS, sizes=(*SMALL_CAUSAL, (1, 2, 1, 70, 40, 64)), causal=True),
        faults=(without_overlap,),
        problem=attention_problem(causal=True),
        shapes=((2, 4, 2, 300, 300, 128), (1, 2, 2, 300, 1000, 64), (3, 1, 1, 17, 17, 64)),
        rules=ALL_PARTS,
        bench_shape=(4, 16, 16, 4096, 4096, 128),
        tiers=(0.95,),
        library=course("softmax_step", "step", "consume_blocks"),
    ),
)
