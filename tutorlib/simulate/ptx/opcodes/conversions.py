"""cvt, cvta and mov: numbers from one type to another (PTX ISA, 9.7.9.21 and 9.7.9.22)."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Literal

import numpy as np

from tutorlib.simulate.ptx import rounding
from tutorlib.simulate.ptx.errors import NotSimulated
from tutorlib.simulate.ptx.ir import Instruction, Register, Symbol, Vector
from tutorlib.simulate.ptx.memory.windows import WINDOW
from tutorlib.simulate.ptx.opcodes.elementwise import Decoder, Step, computed, kind_of, sources
from tutorlib.simulate.ptx.state import State, Where
from tutorlib.simulate.ptx.types import bits_of, is_type, numpy_type

ROUND_TO_INTEGER = {"rni": np.rint, "rzi": np.trunc, "rmi": np.floor, "rpi": np.ceil}
Convert = Callable[[np.ndarray], np.ndarray]


def convert(instruction: Instruction, site: int, state: State) -> Step:
    """cvt of one number to one, or of two to a pair."""
    kinds = [part for part in instruction.parts if is_type(part) or part.removesuffix("x2") in NARROW]
    modes = frozenset(part for part in instruction.parts[1:] if part not in kinds)
    if len(kinds) != 2:
        raise NotSimulated(str(instruction), instruction.line)
    to, of = kinds
    if to.endswith("x2") or of.endswith("x2"):
        return convert_pair(instruction, state, to, of, modes)
    change = conversion(to, of, modes, instruction)
    out = state.target(instruction.operands[0], to, instruction)
    (a,) = sources(instruction, state, of, instruction.operands[1:2])
    return computed(out, change, a)


def conversion(to: str, of: str, modes: frozenset[str], instruction: Instruction) -> Convert:
    """The function from numbers of one type (bits, of bf16 and tf32) to another's."""
    if unknown := modes - {"rn", "rz", "rna", "ftz", "sat", "relu", "satfinite", *ROUND_TO_INTEGER}:
        raise NotSimulated(f"{instruction} with .{min(unknown)}", instruction.line)
    floats = [is_float(kind) for kind in (to, of)]
    if floats == [True, True]:
        return partial(between_floats, to=to, of=of, modes=modes)
    if floats == [False, True]:
        return partial(to_integer, to=to, of=of, modes=modes)
    if floats == [True, False]:
        return partial(from_integer, to=to, towards_zero="rz" in modes)
    return partial(between_integers, to=to, saturate="sat" in modes)


def is_float(kind: str) -> bool:
    return kind[0] == "f" or kind in ("bf16", "tf32")


def between_floats(a: np.ndarray, to: str, of: str, modes: frozenset[str]) -> np.ndarray:
    values = rounding.from_bf16(a) if of == "bf16" else a
    if mode := modes & set(ROUND_TO_INTEGER):
        values = ROUND_TO_INTEGER[min(mode)](values)
    if "ftz" in modes and of == "f32":
        values = rounding.flush(values)
    if "sat" in modes:
        values = np.where(np.isnan(values), 0, np.clip(values, 0, 1)).astype(values.dtype)
    if "relu" in modes:
        values = np.where(values < 0, 0, values).astype(values.dtype)
    if to == "tf32":
        return rounding.to_tf32(values, min(modes & {"rna", "rn", "rz"}))
    if to == "bf16":
        single = rounding.odd_float32(values) if values.dtype == np.float64 else values.astype(np.float32)
        return rounding.to_bf16(single, towards_zero="rz" in modes)
    if "rz" in modes:
        return towards_zero(values, np.dtype(numpy_type(to)))
    return values.astype(numpy_type(to))


def towards_zero(values: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """Rounded to a shorter float type, never away from zero."""
    near = values.astype(dtype)
    return np.where(np.abs(near.astype(values.dtype)) > np.abs(values), np.nextafter(near, dtype.type(0)), near)


def to_integer(a: np.ndarray, to: str, of: str, modes: frozenset[str]) -> np.ndarray:
    """Clamped to the type's range; NaN becomes 0."""
    values = (rounding.from_bf16(a) if of == "bf16" else a).astype(np.float64)
    rounded = ROUND_TO_INTEGER[min(modes & set(ROUND_TO_INTEGER), default="rzi")](values)
    dtype = np.dtype(numpy_type(to))
    low, high = np.iinfo(dtype).min, np.iinfo(dtype).max
    inside = np.where(np.isnan(rounded) | (rounded <= low) | (rounded >= high), 0, rounded).astype(dtype)
    return np.where(rounded >= high, dtype.type(high), np.where(rounded <= low, dtype.type(low), inside))


def from_integer(a: np.ndarray, to: str, towards_zero: bool) -> np.ndarray:
    if to == "bf16":
        return rounding.to_bf16(rounding.odd_float32(a.astype(np.float64)), towards_zero)
    near = a.astype(numpy_type(to))
    if not towards_zero:
        return near
    over = np.abs(near.astype(np.float64)) > np.abs(a.astype(np.float64))
    return np.where(over, np.nextafter(near, near.dtype.type(0)), near)


def between_integers(a: np.ndarray, to: str, saturate: bool) -> np.ndarray:
    dtype = np.dtype(numpy_type(to))
    if not saturate:
        return a.astype(dtype)
    low, high = max(np.iinfo(dtype).min, np.iinfo(a.dtype).min), min(np.iinfo(dtype).max, np.iinfo(a.dtype).max)
    return np.clip(a, a.dtype.type(low), a.dtype.type(high)).astype(dtype)


# Pairs ----------------------------------------------------------------------------------------------------------


def convert_pair(instruction: Instruction, state: State, to: str, of: str, modes: frozenset[str]) -> Step:
    """cvt.rn.bf16x2.f32 d, a, b: a goes to the upper half, b to the lower."""
    out = state.target(instruction.operands[0], f"b{pair_bits(to)}", instruction)
    if of.endswith("x2"):
        (packed,) = sources(instruction, state, f"b{pair_bits(of)}", instruction.operands[1:])
        halves: Callable[[], list[np.ndarray]] = lambda: unpack(packed, of)  # noqa: E731
    else:
        upper, lower = sources(instruction, state, of, instruction.operands[1:])
        halves = lambda: [lower, upper]  # noqa: E731
    inner_to, inner_of = to.removesuffix("x2"), of.removesuffix("x2")
    if inner_to in NARROW or inner_of in NARROW:
        change: Convert = partial(through_narrow, to=inner_to, of=inner_of, modes=modes)
    else:
        change = conversion(inner_to, inner_of, modes, instruction)
    shift = out.dtype.type(pair_bits(to) // 2)

    def step(where: Where) -> None:
        low, high = (np.ascontiguousarray(change(half)) for half in halves())
        low, high = (half.view(f"u{half.itemsize}").astype(out.dtype) for half in (low, high))
        np.copyto(out, high << shift | low, where=where)

    return step


def pair_bits(kind: str) -> int:
    narrow = NARROW.get(kind.removesuffix("x2"))
    return (8 if narrow.bits == 4 else 16) if narrow else bits_of(kind)


def unpack(packed: np.ndarray, of: str) -> list[np.ndarray]:
    """The lower and the upper number of each register."""
    half = pair_bits(of) // 2
    both = (packed & ((1 << half) - 1), packed >> half)
    numbers = [part.astype(f"u{max(half // 8, 1)}") for part in both]
    return [part.view(np.float16) for part in numbers] if of == "f16x2" else numbers


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

    def round(self, values: np.ndarray, rounding: str) -> np.ndarray:
        """float64 → patterns, clamped to the largest finite number. rounding: "rn" (ties to even), "rz" or "rp"."""
        finite = self.magnitudes[np.isfinite(self.magnitudes)]
        size = np.clip(np.abs(values), finite[0], finite[-1])
        above = np.clip(np.searchsorted(finite, size), 1, len(finite) - 1)
        low, high = finite[above - 1], finite[above]
        up = {
            "rn": (size - low > high - size) | ((size - low == high - size) & (above % 2 == 0)),
            "rz": size >= high,
            "rp": size > low,
        }[rounding]
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


def through_narrow(a: np.ndarray, to: str, of: str, modes: frozenset[str]) -> np.ndarray:
    """To or from floats of at most 8 bits, fp32, fp16 or bits of bf16 on the other side."""
    if of in NARROW:
        values = NARROW[of].values[a]
        return rounding.to_bf16(values) if to == "bf16" else values.astype(numpy_type(to))
    values = rounding.from_bf16(a) if of == "bf16" else a
    values = np.where((values < 0) & ("relu" in modes), 0, values).astype(np.float64)
    return NARROW[to].round(values, min(modes & {"rn", "rz", "rp"}))


# Moves and addresses --------------------------------------------------------------------------------------------


def move(instruction: Instruction, site: int, state: State) -> Step:
    """mov, with packing into and unpacking out of vectors."""
    kind = kind_of(instruction)
    to, of = instruction.operands
    if isinstance(to, Vector):
        part = bits_of(kind) // len(to.items)
        (packed,) = sources(instruction, state, f"b{bits_of(kind)}", (of,))
        outs = [state.target(item, f"b{part}", instruction) for item in to.items]

        def unpack_step(where: Where) -> None:
            rows = np.ascontiguousarray(packed).view(f"u{part // 8}").reshape(-1, len(outs)).copy()
            for n, out in enumerate(outs):
                np.copyto(out, rows[:, n], where=where)

        return unpack_step
    if isinstance(of, Vector):
        part = bits_of(kind) // len(of.items)
        out = state.target(to, f"b{bits_of(kind)}", instruction)
        given = sources(instruction, state, f"b{part}", of.items)

        def pack_step(where: Where) -> None:
            total = np.zeros(1, out.dtype)
            for n, item in enumerate(given):
                total = total | item.astype(out.dtype) << out.dtype.type(n * part)
            np.copyto(out, total, where=where)

        return pack_step
    out = state.target(to, kind, instruction)
    (value,) = sources(instruction, state, kind, (of,))

    def step(where: Where) -> None:
        np.copyto(out, value, where=where, casting="unsafe")

    return step


def convert_address(instruction: Instruction, site: int, state: State) -> Step:
    """cvta: between an address in a state space and a generic one."""
    spaces = (part.split("::")[0] for part in instruction.parts)
    window = WINDOW.get(
        next((part for part in spaces if part in ("global", "shared", "local", "const", "param")), ""), 0
    )
    sign = -1 if "to" in instruction.parts else 1
    kind = kind_of(instruction)
    out = state.target(instruction.operands[0], "u64", instruction)
    operand = instruction.operands[1]
    if isinstance(operand, Register | Symbol):
        (a,) = sources(instruction, state, kind, (operand,))
        distance = np.array([sign * window % 2**64], np.uint64)
        return computed(out, lambda a: a.astype(np.uint64) + distance, a)
    raise NotSimulated(str(instruction), instruction.line)


OPCODES: dict[str, Decoder] = {
    "cvt": convert,
    "cvta": convert_address,
    "mov": move,
}
