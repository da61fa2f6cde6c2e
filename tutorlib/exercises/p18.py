"""Exercises of notebook 18: fused epilogues."""

from collections.abc import Sequence
from math import prod
from random import Random
from typing import Any

from tutorlib.checking.cute import CuteExercise
from tutorlib.checking.exercise import Exercise
from tutorlib.checking.facts import issued
from tutorlib.checking.library_use import of_course
from tutorlib.checking.part import inside
from tutorlib.checking.randomness import beside
from tutorlib.checking.values import Case, law
from tutorlib.exercises.judges import p18 as judge
from tutorlib.exercises.values import case_exercise
from tutorlib.problems.fused import linear_swiglu, of_images, tile_amax

# 18.2: the layout of interleaved weights.

MOST_ROWS = 2**20  # listed one by one; the largest weights here have a few hundred


def rows_of(layout: Any) -> list[int]:
    """The source of each row, the first mode fastest. Raises ValueError and TypeError for no layout of rows."""
    sizes = [(int(size), int(step)) for size, step in zip(*layout, strict=True)]
    if any(size < 1 for size, _ in sizes) or prod(size for size, _ in sizes) > MOST_ROWS:
        raise ValueError(f"its shape should have between 1 and {MOST_ROWS:,} rows")
    rows = [0]
    for size, step in sizes:
        rows = [row + step * n for n in range(size) for row in rows]
    return rows


def is_interleaved(got: Any, features: int, width: int) -> str | None:
    try:
        rows = rows_of(got)
    except (TypeError, ValueError):
        return "it should be a pair (shape, stride) of tuples of whole numbers, equally long"
    if len(rows) != 2 * features:
        return f"it has {len(rows)} rows, and gate and up together have {2 * features}"
    wanted = rows_of(((width, 2, features // width), (1, features, width)))
    for at, (row, want) in enumerate(zip(rows, wanted, strict=True)):
        if row != want:
            which = f"{'up' if want >= features else 'gate'}'s row {want % features}"
            return f"row {at} should be {which}, which is row {want} of gate stacked on up; it is row {row}"
    return None


def interleaves(name: str, known: Sequence[tuple[int, int]], widths: Sequence[int]) -> Case:
    """widths: of the grader's pieces, of which it also tries any number."""

    def draw(rng: Random) -> tuple[int, int]:
        width = rng.choice(widths)
        return width * rng.randint(1, 20), width

    return law(name, beside(known, draw), is_interleaved)


SHAPES = ((65, 104, 40), (130, 72, 96), (64, 64, 64))  # 2×2 tiles with edges everywhere, 3×2, and one that fits
GATED = ((65, 128, 40), (64, 64, 64))
EXPONENTIAL = "tanh|ex2"  # one for each result is enough for silu
FUSED = "ampere.fused"

EXERCISES: tuple[Exercise, ...] = (
    CuteExercise.of(
        ("18.1", "every_image", 3),
        problem=of_images(),
        shapes=tuple(
            (m, n, k, images, 3 * n) for m, n, k, images in ((128, 72, 40, 4), (128, 64, 32, 2), (256, 64, 32, 2))
        ),
        part=inside(judge.with_bias_matrix, "as_matrix", jit=False),
    ),
    CuteExercise.of(
        ("18.4", "tile_amax", 4),
        problem=tile_amax((64, 64)),
        shapes=SHAPES,
        simulated_shapes=((130, 72, 40),),  # six tiles in which all warps have rows
        requires=("mma.sync", "bar.sync", "shfl.sync"),
        rules=(issued("bar.sync") <= 120, issued("shfl") <= 144),  # what one barrier and five shuffles take
    ),
    case_exercise(
        ("18.2", "interleaving", 2),
        interleaves("pieces of 8, as on Hopper", ((16, 8), (32, 8), (14336, 8)), (8,)),
        interleaves("pieces of 32, as here", ((64, 32), (160, 32)), (32,)),
        interleaves("single rows, and one piece", ((6, 1), (4, 2), (24, 24)), (1, 2, 3)),
    ),
    CuteExercise.of(
        ("18.3", "gated", 3),
        problem=linear_swiglu(32),
        shapes=GATED,
        part=inside(judge.with_gate, "activate", jit=False),
        rules=(issued(EXPONENTIAL) <= 256,),
        library=of_course(FUSED, "gated", "gate_and_up", "swiglu", "silu"),
    ),
)
