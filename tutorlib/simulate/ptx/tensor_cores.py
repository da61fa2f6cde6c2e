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
NOTHING = np.int16(-9999)  # the exponent of 0


def add_products(a: np.ndarray, b: np.ndarray, c: np.ndarray, kind: str) -> np.ndarray:
    """A·B + C in fp32. a: (batch, M, K), b: (batch, K, N), c: (batch, M, N), all in float64; kind: of a and b.

    K: of one instruction. Where nothing is cut off, as most often, the exact sum serves.
    """
    sums: np.ndarray = a @ b + c
    products = exponents(a)[:, :, None, :] + exponents(b).swapaxes(1, 2)[:, None, :, :]  # (batch, M, N, K)
    there = products > NOTHING // 2
    of_c = exponents(c)
    top = np.maximum(products.max(-1), of_c)
    lowest = np.where(there, products, -NOTHING).min(-1) - 2 * (SIGNIFICANT[kind] - 1)
    lowest = np.minimum(lowest, np.where(c != 0, of_c - (SUM_BITS - 1), -NOTHING))
    cut = np.nonzero((lowest < top - KEPT) & np.isfinite(sums))
    batch, row, column = cut
    unit = np.ldexp(1.0, (top[cut] - KEPT).astype(int))
    whole = np.trunc(a[batch, row, :] * b[batch, :, column] / unit[:, None]).sum(-1) + np.trunc(c[cut] / unit)
    sums[cut] = whole * unit
    return towards_zero(sums)


def exponents(values: np.ndarray) -> np.ndarray:
    """floor(log2 |x|)."""
    _, above = np.frexp(values)
    return np.where(values != 0, above - 1, NOTHING).astype(np.int16)


def towards_zero(values: np.ndarray) -> np.ndarray:
    """float64 → float32, cut off."""
    near = values.astype(np.float32)
    beyond = (np.abs(near) > np.abs(values)) & np.isfinite(values)
    return np.where(beyond, np.nextafter(near, np.float32(0)), near)
