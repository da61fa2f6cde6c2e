"""Exercises of notebook 06: cuTile's arrays, tiles and blocks."""

import math
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from tutorlib.checking.cutile import CutileExercise
from tutorlib.checking.facts import issued
from tutorlib.compiling.spec import DType
from tutorlib.kernels.cpp import tiles
from tutorlib.problems.catalogue import UNIT_ROUNDOFF, one_rounding, softmax, vector_add
from tutorlib.problems.differences import by, count
from tutorlib.problems.problem import Operand, Problem, Shape

if TYPE_CHECKING:
    from torch import Tensor

    from tutorlib.checking.cutile_evidence import Planned

# Problems -------------------------------------------------------------------------------------------------------------


def summed_in_fp32(result: "Tensor", inputs: "tuple[Tensor, ...]", out: DType) -> "Tensor":
    """Of sums of the rows of x in any order: |error| ≤ N·u32·Σ|x|, and one rounding."""
    (x,) = inputs
    return x.shape[-1] * UNIT_ROUNDOFF["fp32"] * x.abs().sum(-1) + UNIT_ROUNDOFF[out] * result.abs()


SCALE_ROWS = Problem(  # each row of x times its own s
    name="scale_rows",
    dims="MN",
    inputs=(Operand("x", "MN", "fp32"), Operand("s", "M", "fp32")),
    output=Operand("y", "MN", "fp32"),
    reference=lambda x, s: x * s[:, None],
    bound=one_rounding,
)
ROW_SUMS = Problem(
    name="row_sums",
    dims="MN",
    inputs=(Operand("x", "MN", "bf16"),),
    output=Operand("sums", "M", "fp32"),
    reference=lambda x: x.sum(-1),
    bound=summed_in_fp32,
)


def power_of_two(n: int) -> int:
    """The smallest power of two that is at least n."""
    return 1 << math.ceil(math.log2(n))


WHOLE_AND_RAGGED = ((64, 96), (70, 70), (33, 129))
IN_A_TILE = 4096  # elements, of short rows that share a tile
IN_FP32 = issued("cvt.f64") <= 0  # of double-precision arithmetic a GPU has little, and fp32 does
# On Hopper, cuda-tile 1.7.0 stores a one-dimensional tile by TMA, which writes whole 16 bytes: with 70 sums in fp32 the
# guard band behind them is hit, whatever the answer. So rows that give a sum come in fours.
ROWS_IN_FOURS = ((64, 96), (68, 70), (36, 129))


def each_once(shape: Shape) -> dict[int, int]:
    """The most elements of the first operand that a kernel's blocks may load: each one once."""
    return {0: math.prod(shape)}


def square_tiles(shape: Shape) -> tuple[int, int]:
    """tm and tn, which differ from size to size."""
    return (16, 32) if shape == WHOLE_AND_RAGGED[0] else (8, 64)


def long_tiles(shape: Shape) -> tuple[int, int]:
    """tm and tn; the results of tm rows are a multiple of 16 bytes."""
    return (8, 32) if shape == ROWS_IN_FOURS[0] else (16, 64)


def vector_tile(shape: Shape) -> int:
    return 128 if shape[0] > 1000 else 64


def row_tile(shape: Shape) -> int:
    return 256 if shape[1] >= 1024 else 128


def unlike_one_launch(shape: Shape, launched: "Sequence[Planned]", sms: int) -> str | None:
    """More launches than one, a copy of x or y, or not as many tiles as whole rows of IN_A_TILE elements make."""
    width = power_of_two(shape[1])
    height = max(1, IN_A_TILE // width)
    if len(launched) > 1:
        return f"it launches {len(launched)} times, and one launch has all blocks"
    if (blocks := math.prod(launched[0].grid)) != (enough := tiles(shape[0], height)):
        return f"it launches {count(blocks, 'block')} for {by(shape)}: {count(enough, 'tile')} of {height}×{width}"
    copied = next((arg for arg in launched[0].args if getattr(arg, "memory", 0) > 1), None)  # x is 0, y is 1
    what = "it launches the kernel on a tensor of {}: x and y will do, since a load pads"
    return what.format(by(copied.shape)) if copied else None


kernel_exercise = partial(CutileExercise.of, rules=(IN_FP32,))
EXERCISES = (
    kernel_exercise(
        ("06.1", "add", 2),
        problem=vector_add("fp32"),
        shapes=((1024,), (1000,), (37,)),
        all_blocks=True,
        grid=lambda shape: (tiles(shape[0], vector_tile(shape)),),
        constants=lambda shape: (vector_tile(shape),),
        loads=lambda shape: {0: shape[0], 1: shape[0]},
        tiles=lambda shape: {0: vector_tile(shape), 1: vector_tile(shape)},
    ),
    kernel_exercise(
        ("06.2", "scale_rows", 3),
        problem=SCALE_ROWS,
        rules=(IN_FP32, issued("mul.rn.f32|fma.rn.f32") <= 384),  # of 6,144 elements
        shapes=WHOLE_AND_RAGGED,
        all_blocks=True,
        grid=lambda shape: tuple(map(tiles, shape, square_tiles(shape))),
        constants=square_tiles,
        loads=lambda shape: {**each_once(shape), 1: shape[0] * tiles(shape[1], square_tiles(shape)[1])},
        tiles=lambda shape: {0: math.prod(square_tiles(shape))},
    ),
    kernel_exercise(
        ("06.3", "row_sums", 3),
        problem=ROW_SUMS,
        counted=ROWS_IN_FOURS[1],
        rules=(IN_FP32, issued("add.rn.f32") <= 4000),
        shapes=ROWS_IN_FOURS,
        all_blocks=True,
        grid=lambda shape: (tiles(shape[0], long_tiles(shape)[0]),),
        constants=long_tiles,
        loads=each_once,
        tiles=lambda shape: {0: math.prod(long_tiles(shape))},
    ),
    kernel_exercise(
        ("06.4", "softmax", 4),
        problem=softmax("fp32", "steep"),
        shapes=((5, 64), (100, 100), (3, 1)),
        grid=lambda shape: (shape[0],),
        constants=lambda shape: (power_of_two(shape[1]),),
        tiles=lambda shape: {0: power_of_two(shape[1])},
        loads=each_once,
    ),
    CutileExercise.of(
        ("06.6", "softmax_of", 5),
        problem=softmax("fp32", "steep"),
        shapes=((5, 64), (100, 100), (3, 1), (7, 129)),
        simulated_shapes=((5, 64), (7, 129)),
        bench_shape=(65536, 1024),
        planned=((2, 5000), (3000, 9)),
        unlike=unlike_one_launch,
    ),
    kernel_exercise(
        ("06.5", "long_softmax", 4),
        problem=softmax("fp32", "steep"),
        shapes=((3, 2000), (5, 1024), (4, 100), (2, 257)),
        grid=lambda shape: (shape[0],),
        constants=lambda shape: (row_tile(shape),),
        tiles=lambda shape: {0: row_tile(shape)},
        loads=lambda shape: {0: 2 * shape[0] * shape[1]},  # maximum and sum in one pass, the results in another
    ),
)
