"""Exercises of notebook 16: fused epilogues, an operator for torch, and a split over two GPUs."""

from collections.abc import Iterable, Sequence
from functools import partial
from math import prod
from random import Random
from typing import TYPE_CHECKING, Any

from tutorlib.checking.cute import CuteExercise
from tutorlib.checking.drawn import beside
from tutorlib.checking.facts import computed_twice, issued
from tutorlib.checking.library_use import InModule
from tutorlib.checking.part import inside
from tutorlib.checking.scenario import judged_by_record
from tutorlib.checking.values import Case, Mistake, ValueExercise, law
from tutorlib.exercises.judges.p16 import host_functions
from tutorlib.exercises.judges.p16.fake_tensors import FAKED
from tutorlib.exercises.judges.p16.gated_modules import PIECE, GatedFlaw, gated_module, product
from tutorlib.exercises.judges.p16.gradients import draw, gradients, is_close, with_gemm
from tutorlib.exercises.judges.p16.registered import REGISTERED
from tutorlib.exercises.judges.p16.shares import SHARES
from tutorlib.exercises.judges.p16.swapped_models import SWAPPED
from tutorlib.exercises.words import mistakes, wrong_results
from tutorlib.failure import FailureKind, Flaw
from tutorlib.problems.fused import gelu, linear_add, linear_gelu, linear_swiglu, tile_amax

if TYPE_CHECKING:
    from torch import Tensor


# 16.6: the layout of interleaved weights.

MOST_ROWS = 2**20  # listed one by one; the largest weights here have a few hundred


class RowsFlaw(FailureKind):
    """Errors in the layout of interleaved rows. ROW: one comes from the wrong place [wanted]."""

    NO_PAIR = "no shape and stride"
    NUMBER = "number of rows"
    ROW = "row"


def rows_of(layout: Any) -> list[int] | str:
    """The source of each row, the first mode fastest; or an error in the pair."""
    try:
        shape, stride = layout
        sizes = [(int(size), int(step)) for size, step in zip(shape, stride, strict=True)]
    except (TypeError, ValueError):
        wanted = "it should be a pair (shape, stride) of tuples of whole numbers, equally long"
        return Flaw(wanted, RowsFlaw.NO_PAIR)
    if any(size < 1 for size, _ in sizes) or prod(size for size, _ in sizes) > MOST_ROWS:
        return f"its shape should have between 1 and {MOST_ROWS:,} rows"
    rows = [0]
    for size, step in sizes:
        rows = [row + step * n for n in range(size) for row in rows]
    return rows


def sources(features: int, width: int) -> list[int]:
    return [
        half * features + piece * width + row
        for piece in range(features // width)
        for half in (0, 1)
        for row in range(width)
    ]


def interleaves(
    name: str, known: Sequence[tuple[int, int]], widths: Sequence[int], mistakes: Iterable[Mistake] = ()
) -> Case:
    """widths: of the grader's pieces, of which it also tries any number."""

    def holds(got: Any, features: int, width: int) -> str | None:
        rows, wanted = rows_of(got), sources(features, width)
        if isinstance(rows, str):
            return rows
        if len(rows) != 2 * features:
            what = f"it has {len(rows)} rows, and gate and up together have {2 * features}"
            return Flaw(what, RowsFlaw.NUMBER)
        if rows == wanted:
            return None
        at = next(n for n, (row, want) in enumerate(zip(rows, wanted, strict=True)) if row != want)
        which = f"{'up' if wanted[at] >= features else 'gate'}'s row {wanted[at] % features}"
        what = f"row {at} should be {which}, which is row {wanted[at]} of gate stacked on up; it is row {rows[at]}"
        return Flaw(what, RowsFlaw.ROW(wanted=which))

    def draw(rng: Random) -> tuple[int, int]:
        width = rng.choice(widths)
        return width * rng.randint(1, 20), width

    return law(name, beside(known, draw), holds, mistakes)


INTERLEAVING = mistakes(
    "16.6",
    up_first=lambda f, w: ((w, 2, f // w), (1, w, 2 * w)),
    pieces_first=lambda f, w: ((f // w, 2, w), (w, f, 1)),
    stacked=lambda f, w: ((2 * f,), (1,)),
    single_rows=lambda f, w: ((2, f), (f, 1)),
    next_to_each_other=lambda f, w: ((w, 2, f // w), (1, f, 2 * w)),
    piece_count=lambda f, w: ((w, 2, w), (1, f, w)),
)


# 16.14: a Llama MLP as two GEMMs, the first of them gated, whose weights are interleaved once.


def drawn(rows: tuple[int, ...], dtype: str, rng: Random) -> tuple:
    """Arguments of `gated_module`. rows: the leading modes of x."""
    hidden, features = rng.randint(3, 20), PIECE * rng.randint(3, 9)
    shapes = (features, hidden), (features, hidden), (hidden, features), (*rows, hidden)
    *weights, x = draw(*shapes, seed=rng.getrandbits(32), dtype=dtype)
    return weights, x, rng.uniform(0.5, 2.0)


def wrong_module(record: dict[str, Any], weights: "list[Tensor]", x: "Tensor", factor: float) -> str:
    """What is wrong with a module of these weights, or ""."""
    import torch

    gate, up, down = weights
    parameters, given = record["parameters"], record["given"]
    if len(given) != 1:
        return Flaw(f"a forward pass calls gated_linear {len(given)} times; once is enough.", GatedFlaw.CALLS)
    if not given[0]:
        what = "the weights that gated_linear gets are no parameter of the module, so no optimizer trains them."
        return Flaw(what, GatedFlaw.PARAMETERS)
    mine, wanted = parameters[given[0]], torch.cat((gate, up))[sources(len(gate), PIECE)]
    if (mine.dtype, mine.shape) != (wanted.dtype, wanted.shape):
        what = f"gate_up is {tuple(mine.shape)} in {mine.dtype} and should be {tuple(wanted.shape)} in {wanted.dtype}."
        return Flaw(what, GatedFlaw.ROWS)
    if not mine.equal(wanted):
        at = next(n for n, row in enumerate(wanted) if not mine[n].equal(row))
        half, row = divmod(sources(len(gate), PIECE)[at], len(gate))
        return Flaw(f"gate_up's row {at} should be {'up' if half else 'gate'}'s row {row}.", GatedFlaw.ROWS)
    if not is_close(record["result"], product(factor, x, wanted) @ down.mT):
        return Flaw("its result is not down of what gated_linear returned.", GatedFlaw.RESULT)
    if (held := sum(one.numel() for one in parameters.values())) != 3 * gate.numel():
        what = f"its parameters have {held:,} numbers in all, and the plain module's {3 * gate.numel():,}."
        return Flaw(what, GatedFlaw.PARAMETERS)
    if not record["down"]:
        return Flaw("down's weight is another tensor now. It is used as it was: keep the layer.", GatedFlaw.DOWN)
    return "" if record["trained"] else Flaw("some of its parameters, or x, get no gradient.", GatedFlaw.GRADIENTS)


GATED_MLPS = (
    judged_by_record("an MLP", gated_module, partial(drawn, (2, 5), "float64"), wrong_module),
    judged_by_record("an MLP in bf16, and a matrix", gated_module, partial(drawn, (5,), "bfloat16"), wrong_module),
)


SHAPES = ((65, 104, 40), (130, 72, 96), (64, 64, 64))  # 2×2 tiles with edges everywhere, 3×2, and one that fits
WHOLE = SHAPES[2:]
FITTING = ((64, 128, 32),)  # what is not about edges is simulated without them, in a tenth of the time
GATED = ((65, 128, 40), (64, 64, 64))


def quick_gelu(x: "Tensor") -> "Tensor":
    return x * (1.702 * x).sigmoid()


QUICK = wrong_results("16.1", quick_gelu=quick_gelu)
EXPONENTIAL = "tanh|ex2"  # one for each result is enough for GELU and for silu
FUSED = "tutorlib.kernels.ampere.fused"
LAYER = "tutorlib.kernels.layers"


def course(module: str, *names: str) -> dict[str, InModule]:
    """The course's own functions that solve an exercise."""
    return {f"the course's {name}": InModule(module, name) for name in names}


EXERCISES = (
    CuteExercise(
        id="16.1",
        title="gelu",
        points=2,
        problem=gelu(),
        shapes=((512,), (4 * 777,)),
        part=inside(host_functions.elementwise, "op", jit=False),
        rules=(issued(EXPONENTIAL) <= 16, computed_twice <= 0),
        mistakes=lambda shape: QUICK,
        library=course(FUSED, "gelu"),
    ),
    CuteExercise(
        id="16.2",
        title="every_row",
        points=2,
        problem=linear_gelu(),
        shapes=SHAPES,
        simulated_shapes=(*FITTING, (65, 64, 32)),  # `rows` is not always a tile's
        whole=WHOLE,
        part=inside(host_functions.with_bias_matrix, "as_matrix", jit=False),
        library=course(FUSED, "every_row"),
    ),
    CuteExercise(
        id="16.3",
        title="bias_gelu",
        points=2,
        problem=linear_gelu(),
        shapes=SHAPES,
        simulated_shapes=FITTING,
        whole=WHOLE,
        part=inside(host_functions.with_op, "op", jit=False),
        rules=(issued(EXPONENTIAL) <= 256, computed_twice <= 0),
        library=course(FUSED, "bias_gelu", "gelu"),
    ),
    CuteExercise(
        id="16.4",
        title="fetch",
        points=4,
        problem=linear_add(),
        shapes=SHAPES,
        simulated_shapes=SHAPES[:1],
        whole=WHOLE,
        part=inside(host_functions.with_fetch, "fetch", jit=False),
        rules=(issued("ld.global") <= 400, issued("bar.sync") <= 64),  # each element once, no barrier of its own
        library=course(FUSED, "fetch_operand"),
    ),
    CuteExercise(
        id="16.5",
        title="largest",
        points=4,
        problem=tile_amax((64, 64)),
        shapes=SHAPES,
        simulated_shapes=((130, 72, 40),),  # four tiles in which all warps have rows
        whole=WHOLE,
        part=inside(host_functions.with_reduction, "reduce", jit=False),
        requires=("bar.sync",),
        rules=(issued("bar.sync") <= 120, issued("shfl") <= 270),  # one barrier and five shuffles take 120 and 144
        library=course(FUSED, "largest"),
    ),
    ValueExercise(
        id="16.6",
        title="interleaving",
        points=2,
        cases=(
            interleaves("pieces of 8, as on Hopper", ((16, 8), (32, 8), (14336, 8)), (8,), INTERLEAVING),
            interleaves("pieces of 32, as here", ((64, 32), (160, 32)), (32,), INTERLEAVING),
            interleaves("single rows, and one piece", ((6, 1), (4, 2), (24, 24)), (1, 2, 3), INTERLEAVING),
        ),
    ),
    CuteExercise(
        id="16.7",
        title="gated",
        points=3,
        problem=linear_swiglu(32),
        shapes=GATED,
        whole=GATED[1:],
        part=inside(host_functions.with_gate, "activate", jit=False),
        rules=(issued(EXPONENTIAL) <= 256, computed_twice <= 0),
        library=course(FUSED, "gated", "gate_and_up", "swiglu", "silu"),
    ),
    ValueExercise(
        id="16.8",
        title="linear_backward",
        points=3,
        through=with_gemm,
        cases=(
            gradients((6, 4), (3, 4)),
            gradients((2, 5, 8), (8, 8)),
            gradients((2, 3, 4, 5), (7, 5)),
            gradients((2, 5, 8), (4, 8), made_by_gemm=True),
        ),
    ),
    ValueExercise(
        id="16.9",
        title="linear_fake",
        points=2,
        cases=FAKED,
        library=course(LAYER, "linear", "linear_fake"),
    ),
    ValueExercise(
        id="16.10",
        title="use_kernels",
        points=3,
        cases=SWAPPED,
        library=course(LAYER, "use_kernels"),
    ),
    ValueExercise(
        id="16.11",
        title="shard",
        points=3,
        cases=SHARES,
    ),
    ValueExercise(
        id="16.12",
        title="linear_gelu_backward",
        points=3,
        through=with_gemm,
        cases=(
            gradients((6, 4), (3, 4), biased=True),
            gradients((2, 3, 4, 5), (7, 5), biased=True),
            gradients((2, 5, 8), (8, 8), biased=True, scale=30.0),
            gradients((2, 5, 8), (4, 8), biased=True, made_by_gemm=True),
        ),
    ),
    ValueExercise(
        id="16.13",
        title="register",
        points=4,
        cases=REGISTERED,
    ),
    ValueExercise(
        id="16.14",
        title="GatedMLP",
        points=3,
        cases=GATED_MLPS,
        library=course(LAYER, "interleave", "FusedMLP.__init__"),
    ),
)
