"""Integer arithmetic, logic and shifts (PTX ISA, 9.7.1, 9.7.2 and 9.7.8)."""

import numpy as np

from tutorlib.simulate.ptx.errors import NotSimulated
from tutorlib.simulate.ptx.ir import Instruction
from tutorlib.simulate.ptx.opcodes.elementwise import Decoder, Step, computed, each, kind_of, sources, ufunc_step
from tutorlib.simulate.ptx.state import State, Where
from tutorlib.simulate.ptx.types import SIGNED, UNSIGNED, bits_of, numpy_type


def doubled(kind: str) -> str:
    """ "s64" for "s32"."""
    return f"{kind[0]}{2 * bits_of(kind)}"


def high_half(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """The upper half of the product of two integers of one type."""
    bits = a.dtype.itemsize * 8
    if bits < 64:
        wide = (SIGNED if a.dtype.kind == "i" else UNSIGNED)[2 * bits]
        return (a.astype(wide) * b.astype(wide)) >> wide(bits)
    unsigned = high_half_64(a.view(np.uint64), b.view(np.uint64))
    if a.dtype.kind == "u":
        return unsigned
    negative = np.where(a < 0, b, 0) + np.where(b < 0, a, 0)
    return (unsigned - negative.view(np.uint64)).view(np.int64)


def high_half_64(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    half, low = np.uint64(32), np.uint64(0xFFFFFFFF)
    a1, a0, b1, b0 = a >> half, a & low, b >> half, b & low
    middle = a1 * b0 + (a0 * b0 >> half)
    other = a0 * b1 + (middle & low)
    return a1 * b1 + (middle >> half) + (other >> half)


def multiply(instruction: Instruction, site: int, state: State) -> Step:
    """mul and mad with .lo, .hi and .wide."""
    kind = kind_of(instruction)
    part = instruction.parts[1]
    if part not in ("lo", "hi", "wide"):
        raise NotSimulated(str(instruction), instruction.line)
    operands = instruction.operands
    a, b = sources(instruction, state, kind, operands[1:3])
    result = doubled(kind) if part == "wide" else kind
    out = state.target(operands[0], result, instruction)
    dtype = numpy_type(result)
    if len(operands) == 3:
        if part == "hi":
            return computed(out, high_half, a, b)
        if out.dtype != dtype:
            return computed(out, np.multiply, a, b)

        def step(where: Where) -> None:
            np.multiply(a, b, out=out, where=where, dtype=dtype)

        return step
    (c,) = sources(instruction, state, result, operands[3:4])

    def multiply_add(where: Where) -> None:
        product = high_half(a, b) if part == "hi" else np.multiply(a, b, dtype=dtype)
        np.copyto(out, product + c, where=where, casting="unsafe")

    return multiply_add


def multiply_24(instruction: Instruction, site: int, state: State) -> Step:
    """mul24 and mad24, .lo: the low 24 bits of both factors."""
    kind = kind_of(instruction)
    if instruction.parts[1] != "lo":
        raise NotSimulated(str(instruction), instruction.line)
    out = state.target(instruction.operands[0], kind, instruction)
    a, b, *c = sources(instruction, state, kind, instruction.operands[1:])
    shift = np.array(8, a.dtype)

    def cut(x: np.ndarray) -> np.ndarray:
        return (x << shift) >> shift

    return computed(out, lambda *given: cut(given[0]) * cut(given[1]) + (given[2] if c else 0), a, b, *c)


def divide(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Towards zero; by zero all bits are set, as NVIDIA's GPUs have it."""
    safe = np.where(b == 0, 1, b)
    quotient = a // safe
    if a.dtype.kind == "i":
        quotient += (a % safe != 0) & ((a < 0) != (safe < 0))
    return np.where(b == 0, np.array(-1).astype(a.dtype), quotient)


def remainder(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Copies of the sign of a."""
    return np.where(b == 0, a, a - divide(a, b) * b)


def shift_left(a: np.ndarray, by: np.ndarray) -> np.ndarray:
    return np.left_shift(a, by.astype(a.dtype))


def shift_right(a: np.ndarray, by: np.ndarray) -> np.ndarray:
    return np.right_shift(a, np.minimum(by, a.dtype.itemsize * 8).astype(a.dtype))


def shift(compute: np.ufunc) -> Decoder:
    """shl and shr: the count is a u32; more than the width is the width."""

    def decode(instruction: Instruction, site: int, state: State) -> Step:
        kind = kind_of(instruction)
        out = state.target(instruction.operands[0], kind, instruction)
        (a,) = sources(instruction, state, kind, instruction.operands[1:2])
        (by,) = sources(instruction, state, "u32", instruction.operands[2:3])
        if by.size == 1 and out.dtype == a.dtype and by[0] < bits_of(kind):
            return ufunc_step(compute, out, a, by.astype(a.dtype))
        return computed(out, shift_left if compute is np.left_shift else shift_right, a, by)

    return decode


def funnel(instruction: Instruction, site: int, state: State) -> Step:
    """shf: 32 bits out of the 64 of {b, a}, shifted."""
    direction, mode = instruction.parts[1:3]
    out = state.target(instruction.operands[0], "b32", instruction)
    a, b, by = sources(instruction, state, "b32", instruction.operands[1:])

    def compute(a: np.ndarray, b: np.ndarray, by: np.ndarray) -> np.ndarray:
        count = (by & np.uint32(31) if mode == "wrap" else np.minimum(by, 32)).astype(np.uint64)
        both = b.astype(np.uint64) << np.uint64(32) | a
        return both >> count if direction == "r" else both >> (np.uint64(32) - count)

    return computed(out, compute, a, b, by)


def extract(instruction: Instruction, site: int, state: State) -> Step:
    """bfe: `length` bits from `start` on, with the sign of the last of them, or of the number's own beyond it."""
    kind = kind_of(instruction)
    out = state.target(instruction.operands[0], kind, instruction)
    (a,) = sources(instruction, state, kind, instruction.operands[1:2])
    start, length = sources(instruction, state, "u32", instruction.operands[2:])
    bits = bits_of(kind)

    def compute(a: np.ndarray, start: np.ndarray, length: np.ndarray) -> np.ndarray:
        start, length = start & np.uint32(255), length & np.uint32(255)
        field = shift_right(a.view(UNSIGNED[bits]), start)
        mask = np.where(length >= bits, ~UNSIGNED[bits](0), shift_left(np.ones_like(field), length) - 1)
        field = field & mask
        if kind[0] == "u":
            return field
        last = np.minimum(np.minimum(start + length, bits) - 1, bits - 1)
        sign = shift_right(a.view(UNSIGNED[bits]), last) & UNSIGNED[bits](1)
        field = np.where((sign == 1) & (length > 0), field | ~mask, field)
        inside = np.where(
            start + length > bits, shift_left(~np.zeros_like(field), np.maximum(bits - start.astype(np.int64), 0)), 0
        )
        return np.where((sign == 1) & (length > 0), field | inside.astype(field.dtype), field).view(SIGNED[bits])

    return computed(out, compute, a, start, length)


def insert(instruction: Instruction, site: int, state: State) -> Step:
    """bfi: `length` bits of a put into b from `start` on."""
    kind = kind_of(instruction)
    out = state.target(instruction.operands[0], kind, instruction)
    a, b = sources(instruction, state, kind, instruction.operands[1:3])
    start, length = sources(instruction, state, "u32", instruction.operands[3:])
    bits = bits_of(kind)

    def compute(a: np.ndarray, b: np.ndarray, start: np.ndarray, length: np.ndarray) -> np.ndarray:
        start, length = start & np.uint32(255), length & np.uint32(255)
        ones = np.where(length >= bits, ~UNSIGNED[bits](0), shift_left(np.ones_like(a), length) - 1)
        mask = shift_left(ones, start)
        return (b & ~mask) | (shift_left(a, start) & mask)

    return computed(out, compute, a, b, start, length)


def mask(instruction: Instruction, site: int, state: State) -> Step:
    """bmsk: `length` ones from bit `start` on. Both are clamped to 32, or taken modulo 32."""
    out = state.target(instruction.operands[0], "b32", instruction)
    start, length = sources(instruction, state, "u32", instruction.operands[1:])

    def compute(start: np.ndarray, length: np.ndarray) -> np.ndarray:
        if "wrap" in instruction.parts:
            start, length = start & np.uint32(31), length & np.uint32(31)
        length = np.minimum(length, 32).astype(np.uint64)
        ones = (np.uint64(1) << length) - np.uint64(1)
        return ones << np.minimum(start, 32).astype(np.uint64) & np.uint64(2**32 - 1)

    return computed(out, compute, start, length)


def highest_bit(a: np.ndarray) -> np.ndarray:
    """The place of the highest set bit; -1 where there is none."""
    place = np.full(a.shape, -1, np.int64)
    for bit in range(a.dtype.itemsize * 8):
        place = np.where(a >> a.dtype.type(bit) & a.dtype.type(1), bit, place)
    return place


def count_step(compute: object) -> Decoder:
    """clz, popc, bfind, whose result is a u32 whatever the operand is."""

    def decode(instruction: Instruction, site: int, state: State) -> Step:
        kind = kind_of(instruction)
        out = state.target(instruction.operands[0], "u32", instruction)
        (a,) = sources(instruction, state, kind, instruction.operands[1:])
        return computed(out, compute, a)  # type: ignore[arg-type]

    return decode


def leading_zeros(a: np.ndarray) -> np.ndarray:
    return a.dtype.itemsize * 8 - 1 - highest_bit(a)


def find_highest(instruction: Instruction, site: int, state: State) -> Step:
    """bfind: of a negative number the highest bit that is 0."""

    def compute(a: np.ndarray) -> np.ndarray:
        bits = a.view(f"u{a.dtype.itemsize}")
        found = highest_bit(np.where(a < 0, ~bits, bits) if a.dtype.kind == "i" else bits)
        shift_amount = np.where(found < 0, found, a.dtype.itemsize * 8 - 1 - found)
        return shift_amount if "shiftamt" in instruction.parts else found

    return count_step(compute)(instruction, site, state)


def reversed_bits(a: np.ndarray) -> np.ndarray:
    result = np.zeros_like(a)
    bits = a.dtype.itemsize * 8
    one = a.dtype.type(1)
    for bit in range(bits):
        result |= (a >> a.dtype.type(bit) & one) << a.dtype.type(bits - 1 - bit)
    return result


def permute_bytes(instruction: Instruction, site: int, state: State) -> Step:
    """prmt: four bytes picked out of the eight of {b, a} (PTX ISA, 9.7.9.7)."""
    mode = instruction.parts[1] if len(instruction.parts) > 2 else ""
    out = state.target(instruction.operands[0], "b32", instruction)
    a, b, selector = sources(instruction, state, "b32", instruction.operands[1:])

    def compute(a: np.ndarray, b: np.ndarray, selector: np.ndarray) -> np.ndarray:
        both = (b.astype(np.uint64) << np.uint64(32)) | a
        result = np.zeros(np.broadcast_shapes(both.shape, selector.shape), np.uint32)
        for place in range(4):
            if mode:
                chosen = np.uint64(0) + PERMUTED[mode](place, selector & np.uint32(3))
                sign = np.zeros_like(chosen, bool)
            else:
                nibble = selector >> np.uint32(4 * place)
                chosen, sign = (nibble & np.uint32(7)).astype(np.uint64), (nibble & np.uint32(8)) != 0
            byte = (both >> (chosen * np.uint64(8)) & np.uint64(255)).astype(np.uint32)
            byte = np.where(sign, np.where(byte & np.uint32(128), np.uint32(255), np.uint32(0)), byte)
            result |= byte << np.uint32(8 * place)
        return result

    return computed(out, compute, a, b, selector)


PERMUTED = {  # which of the eight bytes goes to a place, by the selector's last two bits
    "f4e": lambda place, s: s + place,
    "b4e": lambda place, s: (s - place) & np.uint32(7),
    "rc8": lambda place, s: s,
    "ecl": lambda place, s: np.maximum(s, place),
    "ecr": lambda place, s: np.minimum(s, place),
    "rc16": lambda place, s: (s & np.uint32(1)) * 2 + place % 2,
}


def logic_3(instruction: Instruction, site: int, state: State) -> Step:
    """lop3: any function of three bits, given by its truth table."""
    if len(instruction.operands) != 5 or instruction.parts[1:] != ("b32",):
        raise NotSimulated(str(instruction), instruction.line)
    out = state.target(instruction.operands[0], "b32", instruction)
    a, b, c = sources(instruction, state, "b32", instruction.operands[1:4])
    table = int(state.source(instruction.operands[4], "u32", instruction)[0])

    def compute(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> np.ndarray:
        result = np.zeros(np.broadcast_shapes(a.shape, b.shape, c.shape), np.uint32)
        for row in range(8):
            if table >> row & 1:
                result |= (a if row & 4 else ~a) & (b if row & 2 else ~b) & (c if row & 1 else ~c)
        return result

    return computed(out, compute, a, b, c)


def saturating(sign: int) -> Decoder:
    """add.sat.s32 and sub.sat.s32; without .sat what overflows is cut off."""

    def decode(instruction: Instruction, site: int, state: State) -> Step:
        if "sat" not in instruction.parts:
            return each(np.add if sign > 0 else np.subtract)(instruction, site, state)
        out = state.target(instruction.operands[0], "s32", instruction)
        a, b = sources(instruction, state, "s32", instruction.operands[1:])
        low, high = np.iinfo(np.int32).min, np.iinfo(np.int32).max
        return computed(out, lambda a, b: np.clip(a.astype(np.int64) + sign * b.astype(np.int64), low, high), a, b)

    return decode


def dot_4(instruction: Instruction, site: int, state: State) -> Step:
    """dp4a: the dot product of four bytes each, added to c."""
    first, second = instruction.parts[1:]
    out = state.target(instruction.operands[0], "s32", instruction)
    a, b = sources(instruction, state, "b32", instruction.operands[1:3])
    (c,) = sources(instruction, state, "s32", instruction.operands[3:])

    def compute(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> np.ndarray:
        bytes_a = np.ascontiguousarray(a).view(numpy_type(f"{first[0]}8")).reshape(-1, 4).astype(np.int64)
        bytes_b = np.ascontiguousarray(b).view(numpy_type(f"{second[0]}8")).reshape(-1, 4).astype(np.int64)
        return (bytes_a * bytes_b).sum(1) + c

    return computed(out, compute, a, b, c)


class Carry:
    """The carry bit of each lane, which add.cc and its kind leave for the next addc (PTX ISA, 9.7.2)."""

    @staticmethod
    def of(state: State) -> np.ndarray:
        if "%cc" not in state.registers:
            state.registers["%cc"] = np.zeros(state.geometry.lanes, bool)
        return state.registers["%cc"]


def with_carry(instruction: Instruction, site: int, state: State) -> Step:
    """add.cc, addc, sub.cc, subc, mad.cc and madc."""
    name, kind = instruction.parts[0], kind_of(instruction)
    bits = bits_of(kind)
    takes, gives = name.endswith("c"), "cc" in instruction.parts
    out = state.target(instruction.operands[0], f"u{bits}", instruction)
    given = sources(instruction, state, kind, instruction.operands[1:])
    carry = Carry.of(state)

    def step(where: Where) -> None:
        a, b = (factors(given) if name.startswith("mad") else given)[:2]
        a, b = a.view(UNSIGNED[bits]), b.view(UNSIGNED[bits])
        extra = carry.astype(UNSIGNED[bits]) if takes else UNSIGNED[bits](0)
        if name.startswith("sub"):
            total = a - b - extra
            over = (a < b) | ((a == b) & (extra == 1))
        else:
            total = a + b + extra
            over = (total < a) | ((total == a) & (extra == 1))
        np.copyto(out, total, where=where, casting="unsafe")
        if gives:
            np.copyto(carry, over, where=where)

    def factors(given: list[np.ndarray]) -> list[np.ndarray]:
        part = "hi" if "hi" in instruction.parts else "lo"
        product = high_half(given[0], given[1]) if part == "hi" else given[0] * given[1]
        return [product.astype(given[0].dtype), given[2]]

    return step


def absolute_difference(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> np.ndarray:
    return c + np.where(a > b, a - b, b - a)


OPCODES: dict[str, Decoder] = {
    "add": saturating(1),
    "sub": saturating(-1),
    "add.cc": with_carry,
    "addc": with_carry,
    "sub.cc": with_carry,
    "subc": with_carry,
    "mad.lo.cc": with_carry,
    "mad.hi.cc": with_carry,
    "madc": with_carry,
    "mul": multiply,
    "mad": multiply,
    "mul24": multiply_24,
    "mad24": multiply_24,
    "div": each(divide),
    "rem": each(remainder),
    "min": each(np.minimum),
    "max": each(np.maximum),
    "min.relu": each(lambda a, b: np.maximum(np.minimum(a, b), 0), frozenset({"relu"})),
    "max.relu": each(lambda a, b: np.maximum(np.maximum(a, b), 0), frozenset({"relu"})),
    "abs": each(np.abs),
    "neg": each(np.negative),
    "sad": each(absolute_difference),
    "and": each(np.bitwise_and),
    "or": each(np.bitwise_or),
    "xor": each(np.bitwise_xor),
    "not": each(np.invert),
    "cnot": each(lambda a: (a == 0).astype(a.dtype)),
    "shl": shift(np.left_shift),
    "shr": shift(np.right_shift),
    "shf": funnel,
    "bfe": extract,
    "bfi": insert,
    "bmsk": mask,
    "bfind": find_highest,
    "brev": each(reversed_bits),
    "clz": count_step(leading_zeros),
    "popc": count_step(np.bitwise_count),
    "prmt": permute_bytes,
    "lop3": logic_3,
    "dp4a": dot_4,
}
