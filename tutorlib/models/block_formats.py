"""Block-scaled numbers on the CPU: mxfp8 and nvfp4, exactly as they are defined.

OCP Microscaling Formats (MX) Specification 1.0: 32 elements share a power of two, ue8m0. nvfp4 (PTX ISA, 9.7.16.10.7,
kind::mxf4nvf4 with scale_vec::4X): 16 elements share an e4m3, and a whole tensor an fp32.
"""

from collections.abc import Sequence
from math import frexp

MX_BLOCK, NV_BLOCK = 32, 16
MX_LEAST, MX_MOST = -127, 127  # exponents of ue8m0

ScaledBlock = tuple[float, Sequence[float]]  # a scale, and elements to be multiplied by it


def magnitudes(mantissa_bits: int, bias: int, codes: int) -> list[float]:
    """The values of the codes 0, 1, … of a small format without its sign, in order; the exponent 0 is subnormal."""
    values = []
    for code in range(codes):
        exponent, mantissa = divmod(code, 1 << mantissa_bits)
        fraction = mantissa / (1 << mantissa_bits) + (exponent > 0)
        values.append(fraction * 2.0 ** (max(exponent, 1) - bias))
    return values


E4M3 = magnitudes(3, 7, 127)  # 0 … 448; the last code is NaN
E2M1 = magnitudes(1, 1, 8)  # 0, 0.5, 1, 1.5, 2, 3, 4, 6


def to_nearest(x: float, values: Sequence[float]) -> float:
    """x rounded to one of these magnitudes, ties to the even code; larger values become the largest."""
    size = min(abs(x), values[-1])
    nearest = min(range(len(values)), key=lambda code: (abs(values[code] - size), code % 2))
    return -values[nearest] if x < 0 else values[nearest]


def quantize_mx(block: Sequence[float]) -> tuple[int, list[float]]:
    """(exponent of the shared scale, elements in e4m3) of 32 numbers; the number is element · 2^exponent.

    The exponent is that of the largest number, less that of e4m3's largest, 8. Elements beyond 448 become 448.
    """
    largest = max(map(abs, block))
    exponent = frexp(largest)[1] - 1 - 8 if largest else MX_LEAST
    exponent = max(MX_LEAST, min(MX_MOST, exponent))
    return exponent, [to_nearest(x / 2.0**exponent, E4M3) for x in block]


def quantize_nv(block: Sequence[float], tensor_scale: float) -> tuple[float, list[float]]:
    """(scale in e4m3, elements in e2m1) of 16 numbers; the number is element · scale · tensor_scale.

    The scale sends the block's largest to 6, as closely as e4m3 can. If it is 0, so are the elements.
    """
    scale = to_nearest(max(map(abs, block)) / 6 / tensor_scale, E4M3)
    if scale == 0:
        return 0.0, [0.0] * len(block)
    return scale, [to_nearest(x / (scale * tensor_scale), E2M1) for x in block]


def scaled_dot(a: Sequence[ScaledBlock], b: Sequence[ScaledBlock]) -> float:
    """The sum of products of two rows in blocks, each a scale and its elements."""
    return sum(
        scale_a * scale_b * sum(x * y for x, y in zip(left, right, strict=True))
        for (scale_a, left), (scale_b, right) in zip(a, b, strict=True)
    )
