"""Unusual right answers to notebook 15's value exercises; its loops' stand in tests/exercises."""

import itertools
from fractions import Fraction
from math import floor, log2

import numpy as np
import torch

from tests.wrong.table import answer
from tutorlib.models.block_formats import E2M1
from tutorlib.models.tensor_memory import ring_stages, sum_place, tmem_columns


def doubles(n, accumulators):
    """Doubles until it is enough."""
    columns = 32
    while columns < n * accumulators:
        columns *= 2
    return columns if columns <= 512 else 0


def from_a_list(n, accumulators):
    """The first of the five sizes that is large enough."""
    return next((size for size in (32, 64, 128, 256, 512) if size >= n * accumulators), 0)


def all_codes(block):
    """Exact arithmetic: the nearest of torch's 127 e4m3 codes, ties to the even one."""
    codes = torch.arange(127, dtype=torch.uint8).view(torch.float8_e4m3fn).float().tolist()
    largest = max(map(abs, block))
    exponent = max(-127, min(127, floor(log2(largest)) - 8)) if largest else -127

    def nearest(x):
        size = abs(Fraction(x)) / Fraction(2) ** exponent
        code = min(range(127), key=lambda code: (abs(Fraction(codes[code]) - size), code % 2))
        return -codes[code] if x < 0 else codes[code]

    return exponent, [nearest(x) for x in block]


def in_numpy(block):
    """NumPy's frexp, torch's rounding; arrays for lists."""
    numbers = np.array(block)
    largest = np.abs(numbers).max()
    exponent = np.clip(np.frexp(largest)[1] - 9, -127, 127) if largest else -127
    scaled = torch.from_numpy(np.ldexp(numbers, -int(exponent))).clamp(-448, 448)
    return int(exponent), scaled.to(torch.float8_e4m3fn).double().tolist()


def by_thresholds(block, tensor_scale):
    """Counts the midpoints that lie below, and looks at ties by hand."""
    scale = torch.tensor(max(map(abs, block)) / (6 * tensor_scale)).clamp(max=448).to(torch.float8_e4m3fn).item()
    elements = []
    for x in block:
        size = abs(x / scale / tensor_scale) if scale else 0.0
        middles = [(low + high) / 2 for low, high in itertools.pairwise(E2M1)]
        code = sum(size > middle or (size == middle and at % 2 == 1) for at, middle in enumerate(middles))
        elements.append(-E2M1[code] if x < 0 else E2M1[code])
    return scale, elements


def as_matrices(a, b):
    """torch adds up."""
    scales = [torch.tensor([scale for scale, _ in row], dtype=torch.float64) for row in (a, b)]
    rows = [torch.tensor([elements for _, elements in row], dtype=torch.float64) for row in (a, b)]
    return float((scales[0] * scales[1] * (rows[0] * rows[1]).sum(1)).sum())


def dequantised(a, b):
    """Multiplies every element by its scale first."""
    left, right = ([scale * x for scale, elements in row for x in elements] for row in (a, b))
    return sum(x * y for x, y in zip(left, right, strict=True))


RIGHT = {
    "15.1": [
        doubles,
        from_a_list,
        answer("numpys", "NumPy's integers.", lambda n, a: np.int64(tmem_columns(n, a))),
    ],
    "15.2": [
        answer("by_parts", "No divmod.", lambda m, n, a, c: (m // 128, m % 128 // 32, m % 128, a * c + n)),
        answer("by_bits", "Masks and shifts.", lambda m, n, a, c: (m >> 7, m >> 5 & 3, m & 127, c * a + n)),
        answer("numpy_place", "NumPy's numbers.", lambda *args: tuple(map(np.int32, sum_place(*args)))),
    ],
    "15.7": [
        answer("kibibytes", "Counts in KiB first.", lambda n, p, o: (1024 * (16 + n // (8 << p)), (232448 - o) // (1024 * (16 + n // (8 << p))))),
        answer("numpy_stages", "NumPy's integers.", lambda n, p, o: tuple(np.array(ring_stages(n, p, o)))),
    ],
    "15.9": [all_codes, in_numpy],
    "15.10": [by_thresholds],
    "15.11": [as_matrices, dequantised],
}  # fmt: skip
