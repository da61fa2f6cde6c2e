"""Inputs of 15.9 to 15.11 and common mistakes."""

import random
from collections.abc import Sequence
from functools import partial
from math import ceil, log2
from typing import Literal

from tutorlib.checking.drawn import Drawn, beside
from tutorlib.exercises.words import mistakes
from tutorlib.models.block_formats import (
    E2M1,
    E4M3,
    MX_BLOCK,
    MX_LEAST,
    MX_MOST,
    NV_BLOCK,
    quantize_mx,
    quantize_nv,
    scaled_dot,
    to_nearest,
)


def single(x: float) -> float:
    """The nearest number with 24 binary digits, as fp32 has them."""
    exponent = 23 - (0 if x == 0 else int(log2(abs(x))))
    return round(x * 2.0**exponent) / 2.0**exponent


def scaling_blocks(kind: Literal["exact", "random", "edges", "ends"]) -> list[tuple[list[float]]]:
    """Calls of quantize_mx."""
    rng = random.Random(15)
    match kind:
        case "exact":
            blocks = [[float(i - 16) for i in range(MX_BLOCK)], [0.25 * (i % 9) for i in range(MX_BLOCK)]]
        case "random":
            blocks = [[single(rng.gauss(0, 2.0**e)) for _ in range(MX_BLOCK)] for e in (0, 0, -5, 9, -30)]
        case "edges":
            ties = [256.0, *(17.0 + 2 * i for i in range(15)), *(-(34.0 + 4 * i) for i in range(16))]
            small = [300.0, *(2.0**-e for e in range(6, 16)), *(-1.5 * 2.0**-e for e in range(6, 16)), *[0.0] * 11]
            large = [511.0, 448.0, 449.0, 463.0, 464.0, 465.0, 480.0, -500.0, *(450.0 + i for i in range(24))]
            below_a_power = [512 - 2.0**-15, *(16.0 * i for i in range(31))]
            blocks = [ties, small, large, [x / 1024 for x in large], below_a_power]
        case "ends":
            blocks = [
                [0.0] * MX_BLOCK,
                [2.0**-125, *[2.0**-130] * 31],
                [1.5 * 2.0**127, *[-1.0] * 31],
                [1.0, *[0.0] * 31],
            ]
    return [(block,) for block in blocks]


def mirrored(known: Sequence[tuple], powers: int = 0) -> Drawn:
    """The known calls; the grader tries some in another order, with other signs, and times a power of two, as well.

    powers: the largest and, with a minus, the smallest exponent of that.
    """

    def draw(rng: random.Random) -> tuple:
        block, *others = rng.choice(known)
        factor = 2.0 ** rng.randint(-powers, powers)
        return [rng.choice((-1, 1)) * factor * x for x in rng.sample(block, len(block))], *others

    return beside(known, draw)


renumbered = partial(mirrored, powers=9)


def scaled_by(exponent: int, block: list[float], values: list[float] = E4M3) -> tuple[int, list[float]]:
    return exponent, [to_nearest(x / 2.0**exponent, values) for x in block]


def rounded_up(block: list[float]) -> tuple[int, list[float]]:
    largest = max(map(abs, block))
    return scaled_by(max(MX_LEAST, min(MX_MOST, ceil(log2(largest / 448)))) if largest else MX_LEAST, block)


def toward_zero(block: list[float]) -> tuple[int, list[float]]:
    exponent = quantize_mx(block)[0]
    found = []
    for x in block:
        size = max(value for value in E4M3 if value <= abs(x / 2.0**exponent))
        found.append(-size if x < 0 else size)
    return exponent, found


def half_up(block: list[float]) -> tuple[int, list[float]]:
    exponent = quantize_mx(block)[0]
    found = []
    for x in block:
        size = abs(x / 2.0**exponent)
        nearest = min(reversed(E4M3), key=lambda value: abs(value - size))
        found.append(-nearest if x < 0 else nearest)
    return exponent, found


def of_powers(block: list[float]) -> tuple[int, list[float]]:
    largest = max(block)
    return scaled_by(quantize_mx([largest])[0], block)


def multiplied(block: list[float]) -> tuple[int, list[float]]:
    exponent = quantize_mx(block)[0]
    return exponent, scaled_by(-exponent, block)[1]


SCALING = mistakes(
"15.9",
exponent_rounded_up=rounded_up,
largest_exponent_ignored=lambda block: scaled_by(max(MX_LEAST, min(MX_MOST, quantize_mx(block)[0] + 8)), block),
toward_zero=toward_zero,
ties_away=half_up,
largest_number=of_powers,
multiplied=multiplied,
products=lambda block: (quantize_mx(block)[0], [x * 2.0 ** quantize_mx(block)[0] for x in quantize_mx(block)[1]]),
order=lambda block: quantize_mx(block)[::-1],
biased=lambda block: (quantize_mx(block)[0] + 127, quantize_mx(block)[1]),
)  # fmt: skip


def nv_calls(kind: Literal["values", "random", "ties", "ends"]) -> list[tuple[list[float], float]]:
    """Calls of quantize_nv: blocks and the tensor's scale."""
    rng = random.Random(16)
    match kind:
        case "values":
            return [([*E2M1, *(-x for x in E2M1)], 1.0), ([4 * x for x in (*E2M1, *reversed(E2M1))], 0.5)]
        case "random":
            blocks = [[single(rng.gauss(0, 1)) for _ in range(NV_BLOCK)] for _ in range(6)]
            return [
                (block, scale) for block, scale in zip(blocks, (1.0, 0.25, 4 / 2688, 1 / 64, 0.003, 2.0), strict=True)
            ]
        case "ties":
            ties = [6.0, 0.25, 0.75, 1.25, 1.75, 2.5, 3.5, 5.0]
            return [([*ties, *(-x for x in ties)], 1.0), ([x / 8 for x in (*ties, *ties)], 1.0)]
        case "ends":
            return [
                ([0.0] * NV_BLOCK, 1.0),
                ([1e-4] * NV_BLOCK, 1.0),
                ([3000.0, *[1.0] * 15], 1.0),
                ([6 * 2.0**-9] * NV_BLOCK, 1.0),
            ]


def unrounded(block: list[float], tensor_scale: float) -> tuple[float, list[float]]:
    scale, _ = quantize_nv(block, tensor_scale)
    exact = max(map(abs, block)) / 6 / tensor_scale
    return scale, [to_nearest(x / (exact * tensor_scale), E2M1) if exact else 0.0 for x in block]


def nearest_half_up(block: list[float], tensor_scale: float) -> tuple[float, list[float]]:
    scale, _ = quantize_nv(block, tensor_scale)
    found = []
    for x in block:
        size = abs(x / (scale * tensor_scale)) if scale else 0.0
        nearest = min(reversed(E2M1), key=lambda value: abs(value - size))
        found.append(-nearest if x < 0 else nearest)
    return scale, found


def without_tensor(block: list[float], tensor_scale: float) -> tuple[float, list[float]]:
    return quantize_nv(block, 1.0)


def scale_alone(block: list[float], tensor_scale: float) -> tuple[float, list[float]]:
    scale, _ = quantize_nv(block, tensor_scale)
    return scale, [to_nearest(x / scale, E2M1) if scale else 0.0 for x in block]


def scaled_back(block: list[float], tensor_scale: float) -> tuple[float, list[float]]:
    scale, elements = quantize_nv(block, tensor_scale)
    return scale, [x * scale * tensor_scale for x in elements]


NV = mistakes(
"15.10",
exact_scale=unrounded,
ties_away=nearest_half_up,
tensor_scale_missing=without_tensor,
tensor_scale_alone=scale_alone,
by_448=lambda block, t: (
            to_nearest(max(map(abs, block)) / t, E4M3),
            [to_nearest(x / max(to_nearest(max(map(abs, block)) / t, E4M3) * t, 1e-30), E2M1) for x in block],
        ),
order=lambda block, t: quantize_nv(block, t)[::-1],
products=scaled_back,
)  # fmt: skip


def rows_of(blocks: int, size: int) -> list[tuple[list, list]]:
    """Calls of scaled_dot."""
    rng = random.Random(blocks * size)
    return [a_row_each(rng, blocks, size) for _ in range(3)]


def a_row_each(rng: random.Random, blocks: int, size: int) -> tuple[list, list]:
    """A call: small whole numbers and powers of two, so that every order of addition gives the same."""

    def row() -> list[tuple[float, list[float]]]:
        return [
            (
                2.0 ** rng.randint(-6, 6),
                [float(rng.choice((-6, -4, -3, -2, -1, 0, 1, 2, 3, 4, 6))) for _ in range(size)],
            )
            for _ in range(blocks)
        ]

    return row(), row()


def added(a: list, b: list) -> float:
    return sum(scaled_dot([(s + t, x)], [(1.0, y)]) for (s, x), (t, y) in zip(a, b, strict=True))


SUMMING = mistakes(
"15.11",
one_scale=lambda a, b: scaled_dot(a, [(1.0, block) for _, block in b]),
scales_at_the_end=lambda a, b: a[0][0] * b[0][0] * scaled_dot([(1.0, x) for _, x in a], [(1.0, x) for _, x in b]),
scales_added=added,
no_scales=lambda a, b: scaled_dot([(1.0, x) for _, x in a], [(1.0, x) for _, x in b]),
divided=lambda a, b: scaled_dot([(1 / s, x) for s, x in a], [(1 / s, x) for s, x in b]),
exponents=lambda a, b: scaled_dot([(2**s, x) for s, x in a], [(2**s, x) for s, x in b]),
)  # fmt: skip
