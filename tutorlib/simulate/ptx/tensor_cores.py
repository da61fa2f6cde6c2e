"""How tensor cores add up: the products of one instruction and the sum so far, cut off at common places.

An H200 does not round each addition. It aligns the products of 32 bytes of K, and what they are added to, to the
largest exponent among them; cuts off (towards zero) what lies below 25 binary places under it; adds exactly; and cuts
the sum off to fp32. A product's exponent is the sum of its factors' exponents, also where its significand reaches 2.
This was fitted to outputs that an H200 gave for bf16 and tf32, and gives all of them bit for bit
(figures/data/sweeps/h200_simulated.json). Older GPUs keep fewer places and add fewer products at once (Fasi, Higham,
Mikaitis and Pranesh, Numerical behavior of NVIDIA tensor cores, PeerJ Computer Science 7:e330, 2021, whose method and
model this is).
"""

import numpy as np

KEPT = 25  # binary places under the leading one's
SIGNIFICANT = {"bf16": 8, "f16": 11, "tf32": 11}  # bits of a factor
SUM_BITS = 24  # of fp32
BIAS = np.int16(1023)  # of float64's exponents
ZERO = np.int16(-9999)  # the exponent of 0


def add_products(a: np.ndarray, b: np.ndarray, c: np.ndarray, kind: str) -> np.ndarray:
    """A·B + C in fp32. a: (batch, M, K), b: (batch, K, N), c: (batch, M, N), all in float64; kind: of a and b.

    K: of one instruction. Where nothing is cut off, as most often, the exact sum serves.
    """
    sums: np.ndarray = a @ b + c
    top, lowest = binary_places(a, b)
    lowest -= 2 * (SIGNIFICANT[kind] - 1)
    of_c = exponents(c)
    np.maximum(top, of_c, out=top)
    of_c -= SUM_BITS - 1
    np.minimum(lowest, of_c, out=lowest, where=c != 0)
    cut = np.nonzero((lowest < top - KEPT) & np.isfinite(sums))
    if len(cut[0]):
        sums[cut] = add_cut_off(a, b, c, cut, KEPT - top[cut].astype(np.int32))
    return towards_zero(sums)


def add_cut_off(
    a: np.ndarray, b: np.ndarray, c: np.ndarray, at: tuple[np.ndarray, ...], binary_places: np.ndarray
) -> np.ndarray:
    """The sums at these places (batch, row, column), of products and c with this many fraction bits."""
    batch, row, column = at
    scale = np.ldexp(1.0, binary_places)
    terms = a[batch, row]  # (sums, K); what follows is done in place: memory is what takes the time
    terms *= b[batch, :, column]
    terms *= scale[:, None]
    np.trunc(terms, out=terms)
    return (terms.sum(-1) + np.trunc(c[at] * scale)) / scale


def binary_places(a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The largest exponent among the products of each sum, and the least of those that are not 0; (batch, M, N)."""
    of_a, of_b = exponents(a), exponents(b)
    no_a, no_b = (np.where(of == ZERO, -ZERO, of) for of in (of_a, of_b))  # so that a 0 is never the least
    top = np.full((*a.shape[:2], b.shape[2]), 2 * ZERO)
    lowest = np.full_like(top, -2 * ZERO)
    product = np.empty_like(top)
    for k in range(a.shape[2]):  # one after another: NumPy is slow at many small maxima
        np.maximum(top, np.add(of_a[:, :, k, None], of_b[:, None, k], out=product), out=top)
        np.minimum(lowest, np.add(no_a[:, :, k, None], no_b[:, None, k], out=product), out=lowest)
    return top, lowest


def exponents(values: np.ndarray) -> np.ndarray:
    """floor(log2 |x|) of 0 and of numbers that float64 has in full: as its bits 52 to 62 say."""
    highest = np.ascontiguousarray(values).view(np.uint16)[..., 3::4]
    found = (highest >> 4 & 0x7FF).astype(np.int16)
    found -= BIAS
    found[found == -BIAS] = ZERO
    return found


def towards_zero(values: np.ndarray) -> np.ndarray:
    """float64 → float32, cut off."""
    near = values.astype(np.float32)
    beyond = (np.abs(near) > np.abs(values)) & np.isfinite(values)
    return np.nextafter(near, np.float32(0), out=near, where=beyond)
