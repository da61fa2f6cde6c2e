"""Exercises of notebook 08: FP8, tf32 and split-K in cuTile."""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from tutorlib.checking.cutile import CutileExercise
from tutorlib.checking.facts import issued
from tutorlib.exercises.judges.p08 import beyond_registers, parts_of_gemm
from tutorlib.exercises.p07 import (
    BENCH,
    BENCH_FP8,
    BY_TENSOR_CORES,
    COURSE_GEMMS,
    SMALL,
    STEP,
    blocks_at_once,
    padded,
    persistent_blocks,
    plain_tile,
    tiled_gemm,
    tiles,
)
from tutorlib.machine.features import FP8_MMA
from tutorlib.problems.catalogue import gemm, gemm_fp8, gemm_tf32
from tutorlib.problems.differences import count
from tutorlib.problems.problem import Shape

if TYPE_CHECKING:
    from tutorlib.checking.cutile_evidence import Planned

# 08.3 split_gemm ------------------------------------------------------------------------------------------------


def as_many_as_needed(shape: Shape, launched: "Sequence[Planned]", sms: int) -> str | None:
    """Whether K is cut where C has too few tiles, and only there; whether the sums have more blocks then; and whether
    each pass is launched once. Fewer parts are as good where each would have a single step.
    """
    if len(launched) > 2:
        return f"it launches {len(launched)} kernels, and two passes are enough"
    m, n, k = shape
    of_c, blocks = math.prod(tiles(shape, 128, 128)), math.prod(launched[0].grid)
    if blocks < (enough := of_c * (sms // of_c)) and k >= 128 * (sms // of_c):
        return (
            f"the GPU has {sms} SMs (torch.cuda.get_device_properties says so), and the launch has "
            f"{count(blocks, 'block')}: {enough} have a part of K each"
        )
    if of_c < sms < blocks:
        return f"the GPU has {sms} SMs, and of {blocks} blocks some wait for a second wave: round down"
    shared = [arg.shape for one in launched for arg in one.args if len(getattr(arg, "shape", ())) == 3]
    if m * n >= 128 * 128 * sms and any(parts[0] > 1 for parts in shared):
        return f"C has tiles for all {sms} SMs already: {shared[0][0]} parts are extra work there"
    if any(parts[0] > tiles((k, 1), 64, 1)[0] for parts in shared):
        return f"{shared[0][0]} parts share {count(tiles((k, 1), 64, 1)[0], 'step')} of 64: some have nothing to do"
    adding = math.prod(launched[-1].grid)
    if shared and adding <= of_c < sms:
        return f"the second pass has {count(adding, 'block')} for {sms} SMs: give it tiles smaller than 128×128"
    return None


# 08.4 fp8 ---------------------------------------------------------------------------------------------------------


def skinny_tile(shape: Shape) -> tuple[int, int]:
    """tn and tk."""
    return (128, 128) if shape == BENCH_FP8 else (32, 16)


EXERCISES = (
    tiled_gemm(
        ("08.1", "gemm through tf32", 3),
        problem=gemm_tf32(),
        factors="tfloat32",
        besides=(gemm("bf16"), "bfloat16"),
        rules=(BY_TENSOR_CORES, issued("mma.sync") >= 432),  # 16×8×8 each; 864 are all the work
        tiers=(0.7,),
        requires=("mma.sync",),
        inspected=SMALL[2],
        grid=persistent_blocks,
        constants=lambda shape: (128, 128, 32, 8) if shape == BENCH else (*plain_tile(shape), 2),
    ),
    CutileExercise.of(
        ("08.4", "fp8, 320 rows", 6),
        needs=FP8_MMA,
        problem=gemm_fp8(),
        factors="float8_e4m3fn",
        tiled=True,
        shapes=((320, 96, 64), (320, 68, 72), (257, 40, 56)),
        bench_shape=BENCH_FP8,
        tiers=(0.7, 0.9),
        requires=("wgmma",),
        arch="90",
        vain=beyond_registers,
        grid=lambda shape: blocks_at_once(shape, -(-shape[1] // skinny_tile(shape)[0])),
        constants=skinny_tile,
        loads=lambda shape: {  # a block has all rows of A, so B comes from memory once
            0: -(-shape[1] // skinny_tile(shape)[0]) * shape[0] * shape[2],
            1: shape[1] * shape[2],
        },
        products=lambda shape: 320 * padded(shape[1:], skinny_tile(shape)),
        library=COURSE_GEMMS,
    ),
    tiled_gemm(
        ("08.2", "partial_products", 4),
        problem=parts_of_gemm(STEP),
        shapes=((2, 64, 64, 64), (3, 136, 72, 40), (4, 70, 104, 168), (5, 64, 40, 88)),  # 6 steps in 5 parts: runs of 2
        simulated_shapes=((3, 136, 72, 40),),
        bench_shape=None,
        grid=lambda shape: (*tiles(shape[1:3], 64, 32), shape[0]),
        constants=lambda shape: (64, 32, STEP),
    ),
    CutileExercise.of(
        ("08.3", "split_gemm", 4),
        problem=gemm("bf16"),
        shapes=((128, 128, 512), (100, 72, 700), (384, 256, 128), (120, 90, 40), (200, 128, 256)),
        simulated_shapes=((128, 72, 192), (256, 128, 128)),  # three parts, and one; compiled once for both
        rules=(issued("mma.sync") <= 1536, issued("mma.sync") >= 1536),
        bench_shape=(512, 512, 16384),
        unlike=as_many_as_needed,
        library=COURSE_GEMMS,
    ),
)
