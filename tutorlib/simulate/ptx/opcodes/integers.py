"""Integer arithmetic, logic and shifts (PTX ISA, 9.7.1, 9.7.2 and 9.7.8), and rows of the table of opcodes."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from tutorlib.simulate.ptx.operation import OpcodeDecoder, Operation
from tutorlib.simulate.ptx.state import Step
from tutorlib.simulate.ptx.types import Array, bits_of, numpy_type

Compute = Callable[..., Any]


@dataclass(frozen=True)
class Row:
    """What an opcode does to arrays of all lanes' operands.

    types: of the result and of each operand: "t" is the opcode's own, "w" twice as wide.
    does: the operands → the result, which is then converted to its type.
    asks: suffixes that `does` is told of, each by its name: whether the opcode has it. knows: others that it may have.
    """

    types: str
    does: Compute
    asks: str = ""
    knows: str = ""

    def __call__(self, op: Operation) -> Step:
        """Raises NotSimulated for other suffixes, another number of operands, or registers of two numbers."""
        kinds, asks, own = self.types.split(), self.asks.split(), op.kind
        op.need_known(f"{self.asks} {self.knows}")
        op.need(len(op.operands) == len(kinds) and not own.endswith("x2"))
        named = {"t": own, "w": f"{own[0]}{2 * bits_of(own)}"}
        to, *of = (named.get(kind, kind) for kind in kinds)
        out = op.target(0, to)
        given = [op.source(n, kind) for n, kind in enumerate(of, 1)]
        if isinstance(self.does, np.ufunc) and out.dtype == given[0].dtype == numpy_type(to):
            return ufunc_step(self.does, out, *given)
        return computed(out, partial(self.does, **{name: name in op.parts for name in asks}), *given)


def ufunc_step(ufunc: np.ufunc, out: np.ndarray, *sources: np.ndarray) -> Step:
    return lambda where: ufunc(*sources, out=out, where=where)


def computed(out: np.ndarray, compute: Compute, *sources: np.ndarray) -> Step:
    return lambda where: np.copyto(out, compute(*sources), where=where, casting="unsafe")


U32, U64 = np.uint32, np.uint64


def bits(a: Array) -> int:
    return 8 * a.dtype.itemsize


def unsigned(a: Array) -> Array:
    return a.view(f"u{a.dtype.itemsize}")


def wide(a: Array, b: Array) -> Array:
    """The whole product of two integers of one type."""
    return np.multiply(a, b, dtype=f"{a.dtype.kind}{2 * a.dtype.itemsize}")


def high(a: Array, b: Array) -> Array:
    """Its upper half."""
    if bits(a) == 64:
        exact: Array = a.astype(object) * b.astype(object) >> 64  # Python's integers
        return exact.astype(a.dtype)
    product = wide(a, b)
    return product >> product.dtype.type(bits(a))


def and_add(multiply: Callable[[Array, Array], Array]) -> Callable[[Array, Array, Array], Array]:
    return lambda a, b, c: multiply(a, b) + c


def divide(a: Array, b: Array) -> Array:
    """Towards zero; by zero all bits are set, as NVIDIA's GPUs have it."""
    safe = np.where(b == 0, 1, b)
    quotient = a // safe + ((a % safe != 0) & ((a < 0) != (safe < 0)))
    return np.where(b == 0, np.array(-1).astype(a.dtype), quotient)


def remainder(a: Array, b: Array) -> Array:
    """Copies of the sign of a."""
    return np.where(b == 0, a, a - divide(a, b) * b)


def shift_left(a: Array, by: Array) -> Array:
    return np.left_shift(a, np.minimum(by, bits(a)).astype(a.dtype))


def shift_right(a: Array, by: Array) -> Array:
    return np.right_shift(a, np.minimum(by, bits(a)).astype(a.dtype))


def funnel(a: Array, b: Array, by: Array, l: bool, r: bool, wrap: bool, clamp: bool) -> Array:  # noqa: E741
    """shf: 32 bits out of the 64 of {b, a}, shifted."""
    count = (by & U32(31) if wrap else np.minimum(by, 32)).astype(U64)
    both = b.astype(U64) << U64(32) | a
    return both >> count if r else both >> (U64(32) - count)


def ones(length: Array, like: Array) -> Array:
    """So many ones, as the lowest bits of an integer of this type."""
    one = like.dtype.type(1)
    return np.where(length >= bits(like), ~(one - one), shift_left(np.full_like(like, one), length) - one)


def extract(a: Array, start: Array, length: Array) -> Array:
    """bfe: `length` bits from `start` on, with the sign of the last of them, or of the number's own beyond it."""
    start, length, whole = start & U32(255), length & U32(255), unsigned(a)
    inside = ones(length, whole)
    field = shift_right(whole, start) & inside
    if a.dtype.kind == "u":
        return field
    last = np.minimum(start + length, U32(bits(a))) - U32(1)
    negative = (shift_right(whole, last) & whole.dtype.type(1) == 1) & (length > 0)
    beyond = shift_left(~np.zeros_like(field), np.maximum(bits(a) - start.astype(np.int64), 0))
    signs = ~inside | np.where(start + length > bits(a), beyond, 0).astype(field.dtype)
    return np.where(negative, field | signs, field)


def insert(a: Array, b: Array, start: Array, length: Array) -> Array:
    """bfi: `length` bits of a put into b from `start` on."""
    start = start & U32(255)
    mask = shift_left(ones(length & U32(255), a), start)
    return (b & ~mask) | (shift_left(a, start) & mask)


def highest_bit(a: Array) -> Array:
    """The place of the highest set bit; -1 where there is none."""
    place = np.full(a.shape, -1, np.int64)
    for bit in range(bits(a)):
        place = np.where(a >> a.dtype.type(bit) & a.dtype.type(1), bit, place)
    return place


def find_highest(a: Array, shiftamt: bool) -> Array:
    """bfind: of a negative number the highest bit that is 0."""
    found = highest_bit(np.where(a < 0, ~unsigned(a), unsigned(a)) if a.dtype.kind == "i" else a)
    return np.where(found < 0, found, bits(a) - 1 - found) if shiftamt else found


def reversed_bits(a: Array) -> Array:
    in_bytes = np.packbits(np.unpackbits(np.ascontiguousarray(a).view(np.uint8)), bitorder="little")
    return in_bytes.reshape(-1, a.dtype.itemsize)[:, ::-1].copy().view(a.dtype)[:, 0]


def permute_bytes(a: Array, b: Array, selector: Array) -> Array:
    """prmt: four bytes picked out of the eight of {b, a}, or copies of their signs (PTX ISA, 9.7.9.7)."""
    both, result = b.astype(U64) << U64(32) | a, np.zeros(1, U64)
    for place in range(4):
        nibble = selector >> U32(4 * place) & U32(15)
        byte = both >> (nibble & U32(7)).astype(U64) * U64(8) & U64(255)
        signs = np.where(byte & U64(128), U64(255), U64(0))
        result = result | np.where(nibble & U32(8), signs, byte) << U64(8 * place)
    return result


def logic_3(a: Array, b: Array, c: Array, table: Array) -> Array:
    """lop3: any function of three bits, given by its truth table."""
    result = np.zeros(1, U32)
    for row in range(8):
        if int(table[0]) >> row & 1:
            result = result | (a if row & 4 else ~a) & (b if row & 2 else ~b) & (c if row & 1 else ~c)
    return result


OPCODES: dict[str, OpcodeDecoder] = {
    "add": Row("t t t", np.add),
    "sub": Row("t t t", np.subtract),
    "mul.lo": Row("t t t", np.multiply, knows="lo"),
    "mul.hi": Row("t t t", high, knows="hi"),
    "mul.wide": Row("w t t", wide, knows="wide"),
    "mad.lo": Row("t t t t", and_add(np.multiply), knows="lo"),
    "mad.hi": Row("t t t t", and_add(high), knows="hi"),
    "mad.wide": Row("w t t w", and_add(wide), knows="wide"),
    "div": Row("t t t", divide),
    "rem": Row("t t t", remainder),
    "min": Row("t t t", np.minimum),
    "max": Row("t t t", np.maximum),
    "min.relu": Row("t t t", lambda a, b: np.maximum(np.minimum(a, b), 0), knows="relu"),
    "max.relu": Row("t t t", lambda a, b: np.maximum(np.maximum(a, b), 0), knows="relu"),
    "abs": Row("t t", np.abs),
    "neg": Row("t t", np.negative),
    "sad": Row("t t t t", lambda a, b, c: c + np.where(a > b, a - b, b - a)),
    "and": Row("t t t", np.bitwise_and),
    "or": Row("t t t", np.bitwise_or),
    "xor": Row("t t t", np.bitwise_xor),
    "not": Row("t t", np.invert),
    "shl": Row("t t u32", shift_left),
    "shr": Row("t t u32", shift_right),
    "shf": Row("b32 b32 b32 b32", funnel, asks="l r wrap clamp"),
    "bfe": Row("t t u32 u32", extract),
    "bfi": Row("t t t u32 u32", insert),
    "bfind": Row("u32 t", find_highest, asks="shiftamt"),
    "brev": Row("t t", reversed_bits),
    "clz": Row("u32 t", lambda a: bits(a) - 1 - highest_bit(a)),
    "popc": Row("u32 t", np.bitwise_count),
    "prmt": Row("b32 b32 b32 b32", permute_bytes),
    "lop3": Row("b32 b32 b32 b32 u32", logic_3),
}
