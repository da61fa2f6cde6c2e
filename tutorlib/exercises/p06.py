"""Exercises of notebook 06: cuTile's arrays, tiles and blocks."""

import math
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from tutorlib.checking.cutile import CutileExercise
from tutorlib.checking.facts import issued
from tutorlib.compiling.dsls import compile_tile_ir
from tutorlib.compiling.spec import DType
from tutorlib.kernels.cpp import tiles
from tutorlib.models.memory import H100, blocks_per_sm
from tutorlib.problems.catalogue import UNIT_ROUNDOFF, softmax, transpose
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


ROW_SUMS = Problem(
    name="row_sums",
    dims="MN",
    inputs=(Operand("x", "MN", "bf16"),),
    output=Operand("sums", "M", "fp32"),
    reference=lambda x: x.sum(-1),
    bound=summed_in_fp32,
)
WHOLE_AND_RAGGED = ((64, 96), (70, 70), (33, 129))
MANY, HELD = 8, 62_000  # blocks of an SM, or bytes of rows in fewer; at these sizes they are counted:
COUNTED = ((528, 1024), (528, 4096))
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


def row_tile(shape: Shape) -> int:
    return 256 if shape[1] >= 1024 else 128


def unlike_one_launch(shape: Shape, launched: "Sequence[Planned]", sms: int) -> str | None:
    """More launches than one, a copy of x or y, or, at the COUNTED sizes, spills or too few blocks and rows."""
    if len(launched) > 1:
        return f"it launches {len(launched)} times, and one launch has all blocks"
    (one,) = launched
    if copied := next((arg for arg in one.args if getattr(arg, "memory", 0) > 1), None):  # x is 0, y is 1
        return f"it launches the kernel on a tensor of {by(copied.shape)}: x and y will do, since a load pads"
    if shape not in COUNTED:
        return None
    compiled = compile_tile_ir(one.tile_ir, "sm_90", one.opt_level)
    if compiled.stack_bytes:
        return f"for an H200 it is compiled to {compiled}: the stack has registers that are spilled"
    blocks = blocks_per_sm(H100, compiled.smem_bytes, compiled.registers, compiled.threads)
    rows = math.ceil(shape[0] / math.prod(one.grid))
    if (held := blocks * rows * shape[1] * 4) >= HELD or blocks >= MANY:
        return None
    return (
        f"an H200's SM runs {count(blocks, 'block')} with {count(rows, 'row')} each, {held:,} bytes; "
        f"{HELD:,} or {MANY} blocks are needed"
    )


kernel_exercise = partial(CutileExercise.of, rules=(IN_FP32,))
EXERCISES = (
    kernel_exercise(
        ("06.1", "transpose", 2),
        problem=transpose("fp32"),
        shapes=WHOLE_AND_RAGGED,
        all_blocks=True,
        grid=lambda shape: tuple(map(tiles, shape, square_tiles(shape))),
        constants=square_tiles,
        loads=each_once,
        tiles=lambda shape: {0: math.prod(square_tiles(shape))},
    ),
    kernel_exercise(
        ("06.2", "row_sums", 3),
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
        ("06.3", "long_softmax", 4),
        problem=softmax("fp32", "steep"),
        shapes=((3, 2000), (5, 1024), (4, 100), (2, 257)),
        grid=lambda shape: (shape[0],),
        constants=lambda shape: (row_tile(shape),),
        tiles=lambda shape: {0: row_tile(shape)},
        loads=lambda shape: {0: 2 * shape[0] * shape[1]},  # maximum and sum in one pass, the results in another
    ),
    CutileExercise.of(
        ("06.4", "softmax_of", 5),
        problem=softmax("fp32", "steep"),
        shapes=((5, 64), (100, 100), (3, 1), (7, 129)),
        simulated_shapes=((5, 64), (7, 129)),
        bench_shape=(65536, 1024),
        planned=COUNTED,
        unlike=unlike_one_launch,
    ),
)
