"""Exercises of notebook 23: the parts of an attention kernel for Hopper, and the kernel that they make."""

from collections.abc import Callable
from functools import partial
from random import Random
from typing import Any

from tutorlib.checking.cute import CuteExercise
from tutorlib.checking.facts import at_most, issued
from tutorlib.checking.library_use import of_course
from tutorlib.checking.part import Inside, KernelSettings, inside
from tutorlib.exercises.judges.p23 import AllParts, attention, without_overlap
from tutorlib.exercises.values import drawn, value_exercise
from tutorlib.machine.features import WGMMA
from tutorlib.problems.attention import attention_problem
from tutorlib.problems.problem import Shape

# 23.3 hidden ----------------------------------------------------------------------------------------------------


def hidden(thread: int, m_block: int, n_block: int, keys: int, tile: tuple[int, int], causal: bool) -> list[int]:
    """The numbers of a consumer thread's accumulators of S (PTX ISA, 9.7.15.5.1.1) whose query does not see the key."""
    row, column = divmod(thread, 4)
    first = m_block * tile[0] + row // 8 * 16 + row % 8
    least = n_block * tile[1] + 2 * column
    places = ((n, first + n // 2 % 2 * 8, least + n // 4 * 8 + n % 2) for n in range(tile[1] // 2))
    return [n for n, query, key in places if key >= keys or (causal and key > query)]


def some_scores(causal: bool, cut: bool) -> Callable[[Random], tuple]:
    """Arguments of `hidden`. cut: the tile has the end of K."""

    def draw(rng: Random) -> tuple:
        tile = 64 * rng.randint(1, 3), 8 * rng.randint(2, 16)
        m_block, thread = rng.randrange(9), rng.randrange(2 * tile[0])
        n_block = (m_block * tile[0] + rng.randrange(tile[0])) // tile[1]  # on the diagonal
        keys = n_block * tile[1] + rng.randint(1, tile[1]) if cut else 4096
        return thread, m_block, n_block, keys, tile, causal

    return draw


SCORES = {
    "past the last key": drawn(23, some_scores(False, True)),
    "causal": drawn(23, some_scores(True, False)),
    "causal, and past the last key": drawn(23, some_scores(True, True)),
}


SHAPES = ((2, 4, 2, 300, 300, 128), (1, 2, 2, 100, 1000, 64))  # batch, heads, heads of K and V, queries, keys, head_dim
SMALL = ((1, 1, 1, 100, 200, 64),)  # four blocks of 64 keys, the last of them of 8: the rings of two go round twice
SMALL_CAUSAL = ((1, 1, 1, 200, 200, 64),)
ONE_BLOCK = ((1, 1, 1, 17, 17, 64),)
HIDDEN_BLOCKS = ((1, 1, 1, 128, 128, 64),)  # rows that see none of the first three blocks


def on(sizes: tuple[Shape, ...], **settings: Any) -> dict[Shape, KernelSettings]:
    """The kernels that are simulated, in blocks of 64 keys unless `tile_n` is another number."""
    return {size: {"tile_n": 64} | settings for size in sizes}


def within(*slots: str, sizes: tuple[Shape, ...] = SMALL, causal: bool = False, **settings: Any) -> Inside:
    return inside(attention, *slots, small=on(sizes, causal=causal, **settings), jit=False, causal=causal)


NEEDLESS = "bar.warp.sync|fence.proxy"
# In 23.2's size 160 shuffles, 560 exponentials, 1,656 multiplications, of which 512 scale the scores, and 624 maxima;
# two numbers are rounded by one of 384 conversions.
ONCE_A_SCORE = (
    issued("ex2.approx.f32") <= 0,  # without fastmath
    *at_most({"shfl.sync.bfly": 200, "ex2": 700, "mul.f32": 2000, "max": 800, "cvt.rn.bf16": 400, NEEDLESS: 16}),
)
ONCE_LOADED = (issued("cp.async.bulk.tensor.4d.shared") <= 9, issued(NEEDLESS) <= 16)
# In SMALL the warps wait 48 times, 40 of them for their turn, and pass it on 36 times.
TURNS = (issued(NEEDLESS) <= 16, issued("bar.sync") <= 52, issued("bar.sync") >= 44, issued("bar.arrive") >= 32)
# In SMALL_CAUSAL a mask of one block takes 8 warps 256 selections; 4 of 6 blocks need it. All turns together take 80
# waits; the other parts 96 groups of wgmmas, 256 shuffles, 1,600 exponentials, 3,248 multiplications, 1,696 maxima,
# 1,024 conversions and 14 loads.
ALL_PARTS = (
    issued("selp.f32") <= 1300,
    issued("bar.sync") <= 96,
    *(issued(f"wgmma.{name}") <= 120 for name in ("fence", "commit_group", "wait_group")),
    *at_most(
        {
            "shfl.sync.bfly": 320,
            "ex2": 2000,
            "mul.f32": 4000,
            "max": 2200,
            "cvt.rn.bf16": 1060,
            "cp.async.bulk.tensor.4d.shared": 14,
            NEEDLESS: 32,
        }
    ),
    issued("bar.sync") >= 64,
)

slot: Any = partial(CuteExercise.of, needs=WGMMA, problem=attention_problem(), patterned=False, shapes=SHAPES)


course = partial(of_course, "attention.roles")

EXERCISES = (
    slot(("23.1", "views", 4), part=within("by_row", "p_operand"), library=course("by_row", "p_operand")),
    slot(
        ("23.2", "softmax", 6),
        part=within("quad_reduce", "softmax_step", sizes=HIDDEN_BLOCKS, causal=True, tile_n=32),
        problem=attention_problem(causal=True),
        patterned=True,
        rules=ONCE_A_SCORE,
        library=course("quad_reduce", "softmax_step"),
    ),
    value_exercise(("23.3", "hidden", 3), hidden, SCORES),
    slot(
        ("23.4", "produce", 4),
        part=within("produce", sizes=SMALL + ONE_BLOCK, stages=3),
        rules=ONCE_LOADED,
        library=course("produce_blocks"),
    ),
    slot(
        ("23.5", "step", 5),
        part=within("step", sizes=SMALL_CAUSAL, causal=True),
        faults=(without_overlap,),
        problem=attention_problem(causal=True),
        shapes=((2, 4, 2, 300, 300, 128), (1, 2, 2, 300, 1000, 64)),
        rules=ALL_PARTS,
        library=course("step"),
    ),
    slot(
        ("23.6", "turns", 3),
        part=within("take_turn", "pass_turn"),
        rules=TURNS,
        library=course("take_turn", "pass_turn"),
    ),
    slot(
        ("23.7", "my_parts", 6),
        part=AllParts(
            kernel=attention, settings={"causal": True}, small=on((*SMALL_CAUSAL, (1, 2, 1, 70, 40, 64)), causal=True)
        ),
        faults=(without_overlap,),
        problem=attention_problem(causal=True),
        shapes=((2, 4, 2, 300, 300, 128), (1, 2, 2, 300, 1000, 64), (3, 1, 1, 17, 17, 64)),
        rules=ALL_PARTS,
        bench_shape=(4, 16, 16, 4096, 4096, 128),
        tiers=(0.95,),
        library=course("by_row", "p_operand", "add_pv", "quad_reduce", "softmax_step", "produce_blocks", "step")
        | course("take_turn", "pass_turn", "consume_blocks")
        | {"COURSE": "COURSE"},
    ),
)
