"""Exercises of notebook 08: FP8, tf32 and split-K in cuTile."""

from dataclasses import replace

from tutorlib.checking.cutile import CutileExercise
from tutorlib.checking.facts import issued
from tutorlib.exercises.judges.p08 import beyond_registers, parts_of_gemm
from tutorlib.exercises.p07 import (
    BENCH,
    BENCH_FP8,
    COURSE_GEMMS,
    SMALL,
    STEP,
    blocks_at_once,
    padded,
    persistent_blocks,
    plain_tile,
    products_of_tiles,
    tiled_gemm,
    tiles,
)
from tutorlib.machine.features import FP8_MMA
from tutorlib.problems.catalogue import accumulation, gemm, gemm_fp8, gemm_tf32
from tutorlib.problems.problem import Shape

# 08.3 fp8 ---------------------------------------------------------------------------------------------------------


def skinny_tile(shape: Shape) -> tuple[int, int]:
    """tn and tk."""
    return (128, 128) if shape == BENCH_FP8 else (32, 16)


EXERCISES = (
    tiled_gemm(
        ("08.1", "fp32 from tf32", 3),
        problem=replace(gemm_tf32(), bound=accumulation, baseline=gemm("fp32").baseline, baseline_name="cuBLAS fp32"),
        factors="tfloat32",
        rules=(issued("mma.sync") >= 1296,),  # 16×8×8 each; 864 are one product
        products=lambda shape: 3 * products_of_tiles(shape),
        requires=("mma.sync",),
        inspected=SMALL[2],
        grid=persistent_blocks,
        constants=lambda shape: (128, 64, 32, 8) if shape == BENCH else (*plain_tile(shape), 2),
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
        ("08.3", "fp8, 320 rows", 6),
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
)
