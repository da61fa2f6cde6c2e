"""Unusual right answers to notebook 15's value exercises; its loops' stand in n15_loops."""

import itertools
from fractions import Fraction
from math import floor, log2

import numpy as np
import torch

from tests.pages.table import answer
from tutorlib.models.block_formats import E2M1
from tutorlib.models.tensor_memory import accumulator_place, tmem_columns


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


def dequantized(a, b):
    """Multiplies every element by its scale first."""
    left, right = ([scale * x for scale, elements in row for x in elements] for row in (a, b))
    return sum(x * y for x, y in zip(left, right, strict=True))


def in_fp32(block):
    """All in fp32, the scale by ldexp; NumPy's integer for the exponent."""
    numbers = torch.tensor(block, dtype=torch.float32)
    largest = numbers.abs().max()
    exponent = (torch.frexp(largest)[1] - 9).clamp(-127, 127) if largest else torch.tensor(-127)
    scaled = torch.ldexp(torch.ldexp(numbers, -exponent // 2), -exponent - -exponent // 2)
    return exponent.numpy()[()], scaled.clamp(-448, 448).to(torch.float8_e4m3fn).tolist()


def halved_and_rounded(block, tensor_scale):
    """Python's round, which goes to even, in steps of a half, of 1 and of 2."""
    largest = max(abs(x) for x in block)
    scale = float(torch.tensor(min(largest / 6 / tensor_scale, 448)).to(torch.float8_e4m3fn))
    if not scale:
        return scale, [0] * 16
    elements = []
    for x in block:
        size = min(abs(x) / (scale * tensor_scale), 6)
        step = 0.5 if size < 2 else 1 if size < 4 else 2
        elements.append(round(size / step) * step * (-1 if x < 0 else 1))
    return scale, elements


def in_tensors(block, tensor_scale):
    """A table of distances; argmin of codes, the even ones first."""
    order = torch.tensor([0, 2, 4, 6, 1, 3, 5, 7])
    values = torch.tensor(E2M1, dtype=torch.float64)[order]
    numbers = torch.tensor(block, dtype=torch.float64)
    scale = (numbers.abs().amax() / 6 / tensor_scale).clamp(max=448).to(torch.float8_e4m3fn).double()
    scaled = (numbers / (scale * tensor_scale)).nan_to_num(0.0)
    nearest = values[(scaled.abs()[:, None] - values).abs().argmin(1)]
    return scale.item(), nearest.copysign(scaled).tolist()


def numpys_dot(a, b):
    """NumPy's dot for a block, its float64 as the sum; an index for zip."""
    total = np.float64(0)
    for at in range(len(a)):
        total += a[at][0] * np.dot(a[at][1], b[at][1]) * b[at][0]
    return total


RIGHT = {
    "15.1": [
        doubles,
        from_a_list,
        answer("numpys", "NumPy's integers.", lambda n, a: np.int64(tmem_columns(n, a))),
    ],
    "15.2": [
        answer("by_parts", "No divmod.", lambda m, n, a, c: (m // 128, m % 128 // 32, m % 128, a * c + n)),
        answer("by_bits", "Masks and shifts.", lambda m, n, a, c: (m >> 7, m >> 5 & 3, m & 127, c * a + n)),
        answer("numpy_place", "NumPy's numbers.", lambda *args: tuple(map(np.int32, accumulator_place(*args)))),
    ],
    "15.9": [
        all_codes,
        in_numpy,
        in_fp32,
        answer("as_torch_rounds_them", "Elements in a tensor of e4m3.",
               lambda b: (in_numpy(b)[0], torch.tensor(in_numpy(b)[1]).to(torch.float8_e4m3fn))),
    ],
    "15.10": [
        by_thresholds,
        halved_and_rounded,
        in_tensors,
        answer("elements_in_a_tensor", "No list.", lambda b, t: (by_thresholds(b, t)[0], torch.tensor(by_thresholds(b, t)[1]))),
    ],
    "15.11": [as_matrices, dequantized, numpys_dot],
}  # fmt: skip
