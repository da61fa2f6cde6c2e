"""How tensor cores add up: the products of one instruction and the sum so far, cut off at common places.

An H200 does not round each addition. It aligns the products of 32 bytes of K, and what they are added to, to the
largest exponent among them; cuts off (towards zero) what lies below 25 binary places under it; adds exactly; and cuts
the sum off to fp32. A product's exponent is the sum of its factors' exponents, also where its significand reaches 2.
This was fitted to outputs that an H200 gave for bf16 and tf32, and gives all of them bit for bit
(figures/data/sweeps/h200_simulated.json). Older GPUs keep fewer places and add fewer products at once (Fasi, Higham,
Mikaitis and Pranesh, Numerical behavior of NVIDIA tensor cores, PeerJ Computer Science 7:e330, 2021, whose method and
model this is).
"""

from typing import Any

import numpy as np

KEPT = 25  # binary places under the leading one's
SIGNIFICANT = {"bf16": 8, "f16": 11, "tf32": 11}  # bits of a factor
SUM_BITS = 24  # of fp32
BIAS = 1023  # of float64's exponents
EXPONENT = np.uint64(0x7FF << 52)  # its bits in a float64
BELOW_SUM = np.uint64(2 ** (53 - SUM_BITS) - 1)  # the last bits of a float64, which fp32 lacks
NORMAL = np.finfo(np.float32).tiny, np.finfo(np.float32).max


def add_products(a: np.ndarray, b: np.ndarray, c: np.ndarray, kind: str) -> np.ndarray:
    """A·B + C in fp32. a: (batch, M, K), b: (batch, K, N), c: (batch, M, N), all in float64; kind: of a and b.

    K: of one instruction, at most 16. Where nothing is cut off, as most often, the exact sum serves. Something may be
    where the powers of two of the largest and of the least term lie too far apart.
    """
    sums: np.ndarray = a @ b + c
    of_a, of_b, of_c = (fifth(powers(x)) for x in (a, b, c))
    largest = np.maximum(of_a @ of_b, of_c)  # at least the fifth power of the largest, and less than 32 times that
    spread = inverses(of_a) @ inverses(of_b)
    spread *= largest
    far = ~(spread < fifth(2.0 ** (KEPT - 2 * (SIGNIFICANT[kind] - 1) + 1)))
    far |= (largest >= of_c * fifth(2.0 ** (KEPT - SUM_BITS + 2))) & (of_c != 0)
    far &= np.isfinite(sums) & np.isfinite(largest)
    cut = np.nonzero(far)
    if len(cut[0]):
        batch, row, column = cut
        top = ((largest[cut].view(np.int64) >> 52) - BIAS) // 5
        scale = np.ldexp(1.0, KEPT - top)
        terms = a[batch, row]  # (sums, K); what follows is done in place: memory is what takes the time
        terms *= b[batch, :, column]
        terms *= scale[:, None]
        np.trunc(terms, out=terms)
        sums[cut] = (terms.sum(1) + np.trunc(c[cut] * scale)) / scale
    return towards_zero(sums)


def powers(values: np.ndarray) -> np.ndarray:
    """2^floor(log2 |x|), and 0 of 0, of numbers that float64 has in full: their exponents' bits alone."""
    return (np.ascontiguousarray(values).view(np.uint64) & EXPONENT).view(np.float64)


def fifth(values: Any) -> Any:
    return np.square(np.square(values)) * values


def inverses(powers: np.ndarray) -> np.ndarray:
    """1 / x, and 0 of 0."""
    return np.divide(1, powers, out=np.zeros_like(powers), where=powers != 0)


def towards_zero(values: np.ndarray) -> np.ndarray:
    """float64 → float32, cut off."""
    size = np.abs(values)
    if not ((size >= NORMAL[0]) & (size <= NORMAL[1]) | (values == 0)).all():
        near = values.astype(np.float32)
        beyond = (np.abs(near) > size) & np.isfinite(values)
        return np.nextafter(near, np.float32(0), out=near, where=beyond)
    return (values.view(np.uint64) & ~BELOW_SUM).view(np.float64).astype(np.float32)
