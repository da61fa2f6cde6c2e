"""Exercises of notebook 06: cuTile's arrays, tiles and blocks."""

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from tutorlib.checking.cutile import CutileExercise
from tutorlib.checking.facts import issued
from tutorlib.compiling.dsls import compile_tile_ir
from tutorlib.compiling.spec import DType
from tutorlib.kernels.cpp import tiles
from tutorlib.models.memory import H100, blocks_per_sm
from tutorlib.problems.catalogue import softmax, transpose
from tutorlib.problems.differences import by, count
from tutorlib.problems.problem import Problem, Shape

if TYPE_CHECKING:
    from torch import Tensor

    from tutorlib.checking.cutile_evidence import Planned

# Problems -------------------------------------------------------------------------------------------------------------


class WithMask(Problem):
    """softmax; every other row begins with -inf, for longer than a tile where there are several."""

    def pattern(self, shape: Shape, device: str) -> "tuple[Tensor, ...]":
        (x,) = super().pattern(shape, device)
        x[::2, : shape[1] * 3 // 4] = -math.inf
        return (x,)


def masked_softmax() -> Problem:
    plain = softmax("fp32", "steep")

    def bound(result: "Tensor", inputs: "tuple[Tensor, ...]", out: DType) -> "Tensor":
        """`softmax`'s, by the spread of the finite numbers."""
        (x,) = inputs
        return plain.bound(result, (x.where(x.isfinite(), x.amax(-1, keepdim=True)),), out) if plain.bound else result

    return WithMask(**vars(replace(plain, bound=bound)))


WHOLE_AND_RAGGED = ((64, 96), (70, 70), (33, 129))
BLOCKS = {(528, 1024): 8, (528, 4096): 4}  # the most on an SM, of 1, 2, 4 and 8, that spill nothing
IN_FP32 = issued("cvt.f64") <= 0  # of double-precision arithmetic a GPU has little, and fp32 does


def square_tiles(shape: Shape) -> tuple[int, int]:
    """tm and tn, which differ from size to size."""
    return (16, 32) if shape == WHOLE_AND_RAGGED[0] else (8, 64)


def row_tile(shape: Shape) -> int:
    return 256 if shape[1] >= 1024 else 128


def unlike_one_launch(shape: Shape, launched: "Sequence[Planned]", sms: int) -> str | None:
    """More launches than one, a copy of x or y, or, at the sizes of BLOCKS, spills or too few blocks."""
    if len(launched) > 1:
        return f"it launches {len(launched)} times, and one launch has all blocks"
    (one,) = launched
    if copied := next((arg for arg in one.args if getattr(arg, "memory", 0) > 1), None):  # x is 0, y is 1
        return f"it launches the kernel on a tensor of {by(copied.shape)}: x and y will do, since a load pads"
    if shape not in BLOCKS:
        return None
    compiled = compile_tile_ir(one.tile_ir, "sm_90", one.opt_level)
    if compiled.stack_bytes:
        return f"for an H200 it is compiled to {compiled}: the stack has registers that are spilled"
    blocks = blocks_per_sm(H100, compiled.smem_bytes, compiled.registers, compiled.threads)
    if blocks >= BLOCKS[shape]:
        return None
    return f"an H200's SM runs {count(blocks, 'block')}; {BLOCKS[shape]} fit, and then no register need be spilled"


kernel_exercise = partial(CutileExercise.of, rules=(IN_FP32,))
EXERCISES = (
    kernel_exercise(
        ("06.1", "transpose", 2),
        problem=transpose("fp32"),
        shapes=WHOLE_AND_RAGGED,
        all_blocks=True,
        grid=lambda shape: tuple(map(tiles, shape, square_tiles(shape))),
        constants=square_tiles,
        loads=lambda shape: {0: math.prod(shape)},
        tiles=lambda shape: {0: math.prod(square_tiles(shape))},
    ),
    kernel_exercise(
        ("06.2", "long_softmax", 4),
        problem=masked_softmax(),
        shapes=((3, 2000), (5, 1024), (4, 100), (2, 257)),
        grid=lambda shape: (shape[0],),
        constants=lambda shape: (row_tile(shape),),
        tiles=lambda shape: {0: row_tile(shape)},
        loads=lambda shape: {0: 2 * shape[0] * shape[1]},  # maximum and sum in one pass, the results in another
    ),
    CutileExercise.of(
        ("06.3", "softmax_of", 5),
        problem=softmax("fp32", "steep"),
        shapes=((5, 64), (100, 100), (3, 1), (7, 129)),
        simulated_shapes=((5, 64), (7, 129)),
        bench_shape=(65536, 1024),
        planned=tuple(BLOCKS),
        unlike=unlike_one_launch,
    ),
)
