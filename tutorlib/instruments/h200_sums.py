"""How an H200's tensor cores add up the products of one instruction, bit for bit, for witnesses of the simulator.

An H200 does not round each addition. It aligns the products of 32 bytes of K, and what they are added to, to the
largest exponent among them; cuts off (towards zero) what lies below 25 binary places under it; adds exactly; and cuts
the sum off to fp32. A product's exponent is the sum of its factors' exponents, also where its significand reaches 2.
This was fitted to outputs that an H200 gave for bf16 and tf32, and gives all of them bit for bit
(figures/data/sweeps/h200_simulated.json). Older GPUs keep fewer places and add fewer products at once (Fasi, Higham,
Mikaitis and Pranesh, Numerical behavior of NVIDIA tensor cores, PeerJ Computer Science 7:e330, 2021, whose method and
model this is).
"""

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

from tutorlib.simulate.ptx.opcodes.matrices import SUMS, AddProducts, add_plainly

KEPT = 25  # binary places under the leading one's
MODELED = {"bf16", "f16", "tf32"}  # types of a factor; a product of two is exact in fp32, unless it is too small
SUM_BITS = 24  # of fp32
BIAS = 1023  # of float64's exponents
EXPONENT = np.uint64(0x7FF << 52)  # its bits in a float64
BELOW_SUM = np.uint64(2 ** (53 - SUM_BITS) - 1)  # the last bits of a float64, which fp32 lacks
NORMAL = np.finfo(np.float32).tiny, np.finfo(np.float32).max
OF_ZERO = -(2**13)  # stands for the exponent of 0: below all sums of two exponents
LEAST = -300  # below the exponents of all products and of all of fp32
NARROW = 100  # exponents of either sign with which the products, and their unit, are normal numbers of fp32
AT_ONCE = 2**17  # products: more would not stay in a core's cache


@contextmanager
def exact_products() -> Iterator[None]:
    """Launches that begin in the block add up as an H200 does, which takes half of the time of a GEMM."""
    before = SUMS.set(modeled_sums)
    try:
        yield
    finally:
        SUMS.reset(before)


def modeled_sums(a_kind: str, b_kind: str) -> AddProducts:
    return add_exactly if a_kind == b_kind and a_kind in MODELED else add_plainly


def add_exactly(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> np.ndarray:
    """A·B + C, of numbers that float64 holds, A and B of MODELED types.

    K: of one instruction, at most 16, so that 32 bits hold a sum of products in units of the last place kept.
    """
    a, b, c = (matrix.astype(np.float64) for matrix in (a, b, c))
    left, right = (
        np.ascontiguousarray(a.transpose(2, 0, 1))[..., None],
        np.ascontiguousarray(b.swapaxes(0, 1))[:, :, None],
    )
    of_left, of_right, top = map(exponents, (left, right, np.ascontiguousarray(c)))
    finite = max(each.max(initial=0) for each in (of_left, of_right, top)) <= BIAS
    count = max(AT_ONCE // max(c.size, 1), 1)
    parts = [slice(k, k + count) for k in range(0, len(left), count)]
    for k in parts:
        np.maximum(top, (of_left[k] + of_right[k]).max(0), out=top)
    top[top < LEAST] = 0  # nothing but zeros
    real = np.float32 if np.abs(top).max(initial=0) < NARROW else np.float64
    scale = np.ldexp(real(1), KEPT - top.astype(np.int32))
    left, right = left.astype(real), right.astype(real)
    total = np.zeros(c.shape, np.int32)
    for k in parts:
        terms = left[k] * right[k]  # (K, batch, M, N)
        terms *= scale
        total += terms.astype(np.int32).sum(0, dtype=np.int32)
    sums: np.ndarray = (total + np.trunc(c * scale)) / scale
    if not finite:
        plain = a @ b + c
        sums = np.where(np.isfinite(plain), sums, plain)
    return towards_zero(sums)


def exponents(values: np.ndarray) -> np.ndarray:
    """floor(log2 |x|) of a normal float64, OF_ZERO of 0, more than BIAS of infinities and NaNs."""
    found = ((values.view(np.uint64) & EXPONENT) >> np.uint64(52)).astype(np.int16) - np.int16(BIAS)
    found[found == -BIAS] = OF_ZERO
    return found


def towards_zero(values: np.ndarray) -> np.ndarray:
    """float64 → float32, cut off."""
    size = np.abs(values)
    if not ((size >= NORMAL[0]) & (size <= NORMAL[1]) | (values == 0)).all():
        near = values.astype(np.float32)
        beyond = (np.abs(near) > size) & np.isfinite(values)
        return np.nextafter(near, np.float32(0), out=near, where=beyond)
    return (values.view(np.uint64) & ~BELOW_SUM).view(np.float64).astype(np.float32)
