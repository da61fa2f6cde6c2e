"""PTX's types (PTX ISA, 5.2) as NumPy's; of those that NumPy lacks bits → numbers, and numbers → bits, rounded once.

Arrays of bits are unsigned: uint16 for bf16, uint32 for tf32 (5.2.3; a tf32 number is an fp32 number whose last 13 bits
do not count).
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Literal

import numpy as np
from numpy.typing import DTypeLike

Array = np.ndarray
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


def odd_sum(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """a + b in float64, rounded to odd: another rounding to fewer bits then gives what one rounding would have.

    Boldo and Melquiond, Emulation of a FMA and correctly rounded sums, IEEE Trans. Computers 57, 2008. The error of a
    sum: Knuth, TAOCP 2, 4.2.2, theorem B.
    """
    total = a + b
    of_b = total - a
    return made_odd(total, (a - (total - of_b)) + (b - of_b))


def made_odd(near: np.ndarray, error: np.ndarray) -> np.ndarray:
    """The neighbor, on the side of the exact number, of one that is even and was rounded. error: exact less near."""
    near = np.where((near == 0) & (error != 0), np.copysign(near, error).astype(near.dtype), near)  # 0, by underflow
    bits = np.atleast_1d(near).view(f"i{near.itemsize}")
    away = np.signbit(error) == np.signbit(near)
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


# Types that NumPy lacks, and the bits that hold one. Of floats of 6 bits each is in a byte of its own.
OTHERS = {"bf16": 16, "tf32": 32, "e4m3": 8, "e5m2": 8, "e2m3": 8, "e3m2": 8, "e2m1": 4, "ue8m0": 8, "ue4m3": 8,
          "pred": 1}  # fmt: skip
NUMPY = {"b": "u", "u": "u", "s": "i", "f": "f"}  # letters of types


@cache
def bits_of(kind: str) -> int:
    """32 for "s32", "b32", "f32" and "f16x2"."""
    if kind.endswith("x2"):
        return 2 * bits_of(kind.removesuffix("x2"))
    return OTHERS[kind] if kind in OTHERS else int(kind.lstrip("bsuf"))


@cache
def is_type(part: str) -> bool:
    """Whether a part of an opcode names a type."""
    kind = part.removesuffix("x2")
    return kind in OTHERS or (kind[:1] in NUMPY and kind[1:].isdigit() and int(kind[1:]) in (8, 16, 32, 64, 128))


@cache
def numpy_type(kind: str) -> DTypeLike:
    """The NumPy dtype of a register of this type. bf16, tf32, fp8 and pairs are bits: unsigned."""
    if kind == "pred":
        return np.bool_
    letter = "u" if kind in OTHERS or kind.endswith("x2") else NUMPY[kind[0]]
    return np.dtype(f"{letter}{bits_of(kind) // 8}")


@dataclass(frozen=True)
class Narrow:
    """A float of at most 8 bits (PTX ISA, 5.2.3). special: what its largest exponent holds beside finite numbers."""

    exponent: int
    mantissa: int
    bias: int
    special: Literal["", "a NaN", "infinity and NaNs"] = ""
    signed: bool = True

    @property
    def bits(self) -> int:
        return self.signed + self.exponent + self.mantissa

    @cached_property
    def magnitudes(self) -> np.ndarray:
        """Of the patterns without a sign, in order."""
        exponent, mantissa = np.divmod(np.arange(1 << self.exponent + self.mantissa), 1 << self.mantissa)
        subnormal = (exponent == 0) & (self.mantissa > 0)
        values = np.ldexp(mantissa / (1 << self.mantissa) + ~subnormal, exponent + subnormal - self.bias)
        if self.special == "a NaN":
            values[-1] = np.nan
        elif self.special:
            values[exponent == exponent[-1]] = [np.inf] + [np.nan] * ((1 << self.mantissa) - 1)
        return values

    @cached_property
    def values(self) -> np.ndarray:
        """Of all patterns, in float32."""
        positive = self.magnitudes.astype(np.float32)
        return np.concatenate([positive, -positive]) if self.signed else positive

    def decoded(self, bits: np.ndarray) -> np.ndarray:
        """Of 4 bits two are in a byte, the lower first: (…, bytes) → (…, 2 · bytes)."""
        raw = bits.view(np.uint8)
        return self.values[raw if self.bits > 4 else np.stack([raw & 15, raw >> 4], -1).reshape(*raw.shape[:-1], -1)]

    def round(self, values: np.ndarray, mode: str) -> np.ndarray:
        """float64 → patterns, clamped to the largest finite number. mode: "rn" (ties to even), "rz" or "rp"."""
        finite = self.magnitudes[np.isfinite(self.magnitudes)]
        size = np.clip(np.abs(values), finite[0], finite[-1])
        above = np.clip(np.searchsorted(finite, size), 1, len(finite) - 1)
        low, high = finite[above - 1], finite[above]
        up = {
            "rn": (size - low > high - size) | ((size - low == high - size) & (above % 2 == 0)),
            "rz": size >= high,
            "rp": size > low,
        }[mode]
        pattern = np.where(np.isnan(values), len(self.magnitudes) - 1, above - ~up)
        negative = np.signbit(values) & self.signed & ~np.isnan(values)
        return (pattern | negative << self.bits - 1).astype(np.uint8)


NARROW = {
    "e4m3": Narrow(4, 3, 7, "a NaN"),
    "e5m2": Narrow(5, 2, 15, "infinity and NaNs"),
    "e2m3": Narrow(2, 3, 1),
    "e3m2": Narrow(3, 2, 3),
    "e2m1": Narrow(2, 1, 1),
    "ue8m0": Narrow(8, 0, 127, "a NaN", signed=False),
    "ue4m3": Narrow(4, 3, 7, "a NaN", signed=False),
}


DECODE: dict[str, Callable[[np.ndarray], np.ndarray]] = {  # bits, (…, n) → numbers that NumPy computes with
    "bf16": lambda bits: from_bf16(bits.view(np.uint16)),
    "tf32": lambda bits: (bits.view(np.uint32) & np.uint32(-(1 << TF32_BITS) & 0xFFFFFFFF)).view(np.float32),
    **{kind: narrow.decoded for kind, narrow in NARROW.items()},
}


def from_bits(bits: np.ndarray, kind: str) -> np.ndarray:
    """Bits of contiguous memory as numbers; of "f16x2" two of each register, the lower first, side by side."""
    inner = kind.removesuffix("x2")
    return DECODE[inner](bits) if inner in DECODE else bits.view(numpy_type(inner))


def to_bits(values: np.ndarray, kind: str, mode: str = "rn") -> np.ndarray:
    """Numbers → bits, or numbers of that type. mode: "rn", "rz", or another rounding that the type has."""
    inner = kind.removesuffix("x2")
    if inner in NARROW:
        patterns = NARROW[inner].round(values.astype(np.float64), mode)
        return patterns if bits_of(inner) == 8 else patterns[::2] | patterns[1::2] << 4
    if inner == "tf32":
        return to_tf32(values, mode)
    if inner == "bf16":
        near = values.astype(np.float32)
        wide = values.dtype != np.float32  # which is rounded to odd first
        return to_bf16(made_odd(near, values.astype(np.float64) - near) if wide else near, mode == "rz")
    near = values.astype(numpy_type(inner), copy=False)
    if mode == "rz":
        over = np.abs(near.astype(np.float64)) > np.abs(values.astype(np.float64))
        near = np.where(over, np.nextafter(near, near.dtype.type(0)), near)
    return near
