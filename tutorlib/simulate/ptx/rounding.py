"""Floating-point numbers that NumPy lacks, and rounding once where NumPy would round twice.

Arrays of bits are unsigned: uint16 for bf16, uint32 for tf32 (PTX ISA, 5.2.3; a tf32 number is an fp32 number whose
last 13 bits do not count).
"""

import numpy as np

BF16_NAN = 0x7FFF
TF32_BITS = 13  # of an fp32 number, which tf32 lacks


def from_bf16(bits: np.ndarray) -> np.ndarray:
    """As float32."""
    return (bits.astype(np.uint32) << np.uint32(16)).view(np.float32)


def to_bf16(values: np.ndarray, towards_zero: bool = False) -> np.ndarray:
    """float32 → bits of bf16, to the nearest, ties to even, or cut off."""
    bits = np.ascontiguousarray(values, np.float32).view(np.uint32)
    upper = bits >> np.uint32(16)
    if not towards_zero:
        upper = (bits + np.uint32(0x7FFF) + (upper & np.uint32(1))) >> np.uint32(16)
    result = upper.astype(np.uint16)
    result[np.isnan(values)] = BF16_NAN
    return result


def to_tf32(values: np.ndarray, rounding: str) -> np.ndarray:
    """float32 → bits of tf32. rounding: "rna", ties away from zero, "rn", to even, or "rz"."""
    bits = np.ascontiguousarray(values, np.float32).view(np.uint32)
    half, last = np.uint32(1 << TF32_BITS - 1), np.uint32(1 << TF32_BITS)
    odd = bits >> np.uint32(TF32_BITS) & np.uint32(1)
    below: dict[str, np.ndarray | np.uint32] = {"rna": half, "rn": half - np.uint32(1) + odd, "rz": np.uint32(0)}
    rounded = (bits + below[rounding]) & ~(last - np.uint32(1))
    return np.where(np.isfinite(values), rounded, bits)


def from_tf32(bits: np.ndarray) -> np.ndarray:
    """As float32: what tensor cores read of a register."""
    return (bits & np.uint32(-(1 << TF32_BITS) & 0xFFFFFFFF)).view(np.float32)


def two_sum(a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """a + b rounded, and its error (Knuth, TAOCP 2, 4.2.2, theorem B)."""
    total = a + b
    of_b = total - a
    return total, (a - (total - of_b)) + (b - of_b)


def odd_sum(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """a + b in float64, rounded to odd: another rounding to fewer bits then gives what one rounding would have.

    Boldo and Melquiond, Emulation of a FMA and correctly rounded sums, IEEE Trans. Computers 57, 2008.
    """
    return made_odd(*two_sum(a, b))


def odd_float32(values: np.ndarray) -> np.ndarray:
    """float64 → float32, rounded to odd."""
    near = values.astype(np.float32)
    return made_odd(near, values - near)


def made_odd(near: np.ndarray, error: np.ndarray) -> np.ndarray:
    """The neighbor, on the side of the exact number, of one that is even and was rounded. error: exact less near."""
    bits = np.atleast_1d(near).view(f"i{near.itemsize}")
    away = (error > 0) == (near > 0)
    inexact = (error != 0) & np.isfinite(error) & (bits & 1 == 0)
    odd = np.where(inexact, bits + np.where(away, 1, -1), bits).astype(bits.dtype)
    return odd.view(near.dtype).reshape(np.shape(near))


def directed_fma(a: np.ndarray, b: np.ndarray, c: np.ndarray, direction: str) -> np.ndarray:
    """a · b + c of float32, rounded once: "rm" down, "rp" up, "rz" towards zero."""
    exact = odd_sum(a.astype(np.float64) * b, c.astype(np.float64))  # on the same side of each fp32 number as the sum
    near = exact.astype(np.float32)
    beyond = {"rm": near > exact, "rp": near < exact, "rz": np.abs(near) > np.abs(exact)}[direction]
    goal = {"rm": -np.inf, "rp": np.inf, "rz": 0.0}[direction]
    return np.where(beyond & np.isfinite(exact), np.nextafter(near, np.float32(goal)), near)


def flush(values: np.ndarray) -> np.ndarray:
    """.ftz: subnormal fp32 numbers become zeros of their sign."""
    tiny = np.abs(values) < np.finfo(np.float32).tiny
    return np.where(tiny, np.copysign(np.float32(0), values), values)
