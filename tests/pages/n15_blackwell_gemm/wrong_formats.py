"""Wrong answers to notebook 15: numbers with a shared scale."""

from math import ceil, floor, log2

import torch

from tests.pages.table import answer, says
from tutorlib.models.block_formats import E2M1, E4M3, quantize_mx, quantize_nv, scaled_dot, to_nearest


def to_fp8(numbers):
    return torch.tensor(numbers).to(torch.float8_e4m3fn).tolist()


@says("(line", "of your answer)")
def log_of_zero(block):
    """Zeros have no logarithm."""
    exponent = floor(log2(max(map(abs, block)))) - 8
    return exponent, to_fp8([x / 2.0**exponent for x in block])


@says("If you round it up, nothing saturates")
def saturates_never(block):
    """The exponent rounded up."""
    largest = max(map(abs, block))
    exponent = max(-127, min(127, ceil(log2(largest / 448)))) if largest else -127
    return exponent, [to_nearest(x / 2.0**exponent, E4M3) for x in block]


def unbounded(block):
    """Exponents that ue8m0 does not have."""
    largest = max(map(abs, block))
    if not largest:
        return quantize_mx(block)
    exponent = floor(log2(largest)) - 8
    return exponent, [to_nearest(x / 2.0**exponent, E4M3) for x in block]


def zeros_at_zero(block):
    """A scale of one for zeros."""
    return quantize_mx(block) if any(block) else (0, list(block))


@says("not by the exact one")
def exact_scale(block, tensor_scale):
    """Elements divided by the scale before it was rounded."""
    exact = max(map(abs, block)) / 6 / tensor_scale
    elements = [to_nearest(x / exact / tensor_scale, E2M1) if exact else 0.0 for x in block]
    return to_nearest(exact, E4M3), elements


def divides_by_zero(block, tensor_scale):
    """A scale of 0 is divided by."""
    scale = to_nearest(max(map(abs, block)) / 6 / tensor_scale, E4M3)
    return scale, [to_nearest(x / (scale * tensor_scale), E2M1) for x in block]


@says("the one with the even code")
def ties_away(block, tensor_scale):
    """Ties to the larger one."""
    scale, _ = quantize_nv(block, tensor_scale)

    def rounded(x):
        nearest = min(reversed(E2M1), key=lambda value: abs(value - abs(x)))
        return -nearest if x < 0 else nearest

    return scale, [rounded(x / (scale * tensor_scale)) if scale else 0.0 for x in block]


def log2_in_fp32(block):
    exponent = int(torch.tensor(max(map(abs, block))).log2().floor().clamp(-119, 135)) - 8
    return exponent, [to_nearest(x / 2.0**exponent, E4M3) for x in block]


def scale_of_mx(block, tensor_scale):
    wanted = max(map(abs, block)) / 6 / tensor_scale
    scale = 2.0 ** ceil(log2(wanted)) if wanted else 0.0
    return scale, [to_nearest(x / scale / tensor_scale, E2M1) if scale else 0.0 for x in block]


def cut_off(block, tensor_scale):
    scale, _ = quantize_nv(block, tensor_scale)
    sizes = [abs(x / (scale * tensor_scale)) if scale else 0.0 for x in block]
    largest = [max(value for value in E2M1 if value <= size) for size in sizes]
    return scale, [-y if x < 0 else y for x, y in zip(block, largest, strict=True)]


def unscaled(row):
    return [(1.0, elements) for _, elements in row]


WRONG = {
    "15.9": [
        log_of_zero,
        saturates_never,
        unbounded,
        zeros_at_zero,
        answer("stored_exponent", "With its bias.", lambda b: (quantize_mx(b)[0] + 127, quantize_mx(b)[1]), "127 added"),
        answer("largest_not_magnitude", "Negative numbers do not count.", lambda b: (quantize_mx([max(b)])[0], quantize_mx(b)[1])),
        answer("of_two", "A pair the wrong way round.", lambda b: quantize_mx(b)[::-1], "The order is"),
        answer("log2_in_fp32", "A logarithm in fp32 rounds what is just below a power of two up.", log2_in_fp32),
        answer("through_bf16", "Rounded twice.",
               lambda b: (quantize_mx(b)[0], torch.tensor([x / 2.0 ** quantize_mx(b)[0] for x in b]).bfloat16().clamp(-448, 448).to(torch.float8_e4m3fn).tolist())),
        answer("no_subnormals", "What is below 2^-6 becomes 0.",
               lambda b: (quantize_mx(b)[0], [x if abs(x) >= 2**-6 else 0.0 for x in quantize_mx(b)[1]])),
        answer("largest_is_448", "The scale sends the largest to 448, and is no power of two.",
               lambda b: (log2(max(map(abs, b)) / 448), to_fp8([x * 448 / max(map(abs, b)) for x in b])) if any(b) else quantize_mx(b)),
        answer("e5m2", "The exponent of the largest of e5m2, 15.", lambda b: (quantize_mx(b)[0] - 7, quantize_mx(b)[1])),
        answer("scale_itself", "2 to the exponent for the exponent.", lambda b: (2.0 ** quantize_mx(b)[0], quantize_mx(b)[1])),
    ],
    "15.10": [
        exact_scale,
        divides_by_zero,
        ties_away,
        answer("no_tensor_scale", "The tensor's scale forgotten.", lambda b, t: quantize_nv(b, 1.0)),
        answer("to_four", "The largest becomes 4.", lambda b, t: quantize_nv([1.5 * x for x in b], t)),
        answer("other_order", "Elements first.", lambda b, t: quantize_nv(b, t)[::-1], "The order is"),
        answer("scale_beyond_448", "The scale is not cut off at 448.",
               lambda b, t: (max(map(abs, b)) / 6 / t, quantize_nv(b, t)[1]) if max(map(abs, b)) / 6 / t > 448 else quantize_nv(b, t)),
        answer("power_of_two", "The scale is a power of two, as mxfp8's.", scale_of_mx),
        answer("without_signs", "All elements positive.", lambda b, t: (quantize_nv(b, t)[0], [abs(x) for x in quantize_nv(b, t)[1]])),
        answer("toward_zero", "Elements cut off.", cut_off),
        answer("block_scale_alone", "Elements are not divided by the tensor's scale.",
               lambda b, t: (quantize_nv(b, t)[0], quantize_nv([x * t for x in b], t)[1])),
        answer("both_in_one", "The product of both scales for the block's.", lambda b, t: (quantize_nv(b, t)[0] * t, quantize_nv(b, t)[1])),
        answer("signed_largest", "Negative numbers do not count for the scale.", lambda b, t: (quantize_nv([max(b)] * 16, t)[0], quantize_nv(b, t)[1])),
        answer("to_the_next_scale", "The scale rounded up, so that nothing is cut off.",
               lambda b, t: (next((s for s in E4M3 if s >= max(map(abs, b)) / 6 / t), 448.0), quantize_nv(b, t)[1])),
    ],
    "15.11": [
        answer("no_scales", "The elements alone.", lambda a, b: scaled_dot(unscaled(a), unscaled(b)), "scales are missing"),
        answer("one_scale", "A's scales alone.", lambda a, b: scaled_dot(a, unscaled(b))),
        answer("first_blocks_scales", "One scale for a row.",
               lambda a, b: a[0][0] * b[0][0] * scaled_dot(unscaled(a), unscaled(b)), "cannot wait"),
        answer("averaged", "The mean of a block's products.",
               lambda a, b: sum(scaled_dot([x], [y]) / len(x[1]) for x, y in zip(a, b, strict=True))),
        answer("as_exponents", "Two to the power of each scale.",
               lambda a, b: scaled_dot([(2**s, x) for s, x in a], [(2**s, x) for s, x in b]), "not exponents"),
        answer("first_block", "One block of several.", lambda a, b: scaled_dot(a[:1], b[:1])),
        answer("a_list", "Block by block.", lambda a, b: [scaled_dot([x], [y]) for x, y in zip(a, b, strict=True)]),
        answer("of_scales_too", "The scales' own products are added.",
               lambda a, b: scaled_dot(a, b) + sum(s * t for (s, _), (t, _) in zip(a, b, strict=True))),
        answer("divided_by", "Divides by the scales.", lambda a, b: scaled_dot([(1 / s, x) for s, x in a], [(1 / s, x) for s, x in b]), "Multiply by the scales"),
        answer("sums_of_each", "The sums of both blocks are multiplied.",
               lambda a, b: sum(s * t * sum(x) * sum(y) for (s, x), (t, y) in zip(a, b, strict=True))),
        answer("every_pair_of_blocks", "Each block of a with each of b.", lambda a, b: sum(scaled_dot([x], [y]) for x in a for y in b)),
        answer("scale_squared", "a's scale twice.", lambda a, b: scaled_dot([(s * s, x) for s, x in a], unscaled(b))),
        answer("magnitudes", "Products without their signs.",
               lambda a, b: scaled_dot([(s, list(map(abs, x))) for s, x in a], [(s, list(map(abs, x))) for s, x in b])),
    ],
}  # fmt: skip
