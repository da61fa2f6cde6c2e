"""Whole-warp matrix instructions: ldmatrix, stmatrix, movmatrix and mma.sync (PTX ISA, 9.7.14.5)."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np

from tutorlib.dsl.failure import Hazard
from tutorlib.simulate.ptx import rounding
from tutorlib.simulate.ptx.errors import NotSimulated
from tutorlib.simulate.ptx.geometry import WARP
from tutorlib.simulate.ptx.ir import Instruction, Operand
from tutorlib.simulate.ptx.opcodes.conversions import NARROW
from tutorlib.simulate.ptx.opcodes.elementwise import Decoder, Step
from tutorlib.simulate.ptx.opcodes.loads import address_of, items_of
from tutorlib.simulate.ptx.ports import SharedPort
from tutorlib.simulate.ptx.state import State, Where, of_warps
from tutorlib.simulate.ptx.tensor_cores import add_plainly, add_products_of
from tutorlib.simulate.ptx.types import bits_of, numpy_type

ROWS = 8  # of a matrix that ldmatrix moves, each of 16 bytes


def whole_warps(where: Where, instruction: Instruction, site: int, state: State) -> np.ndarray:
    """The warps that run an instruction which all of their threads must run together (.aligned)."""
    if where is True:
        return np.arange(len(of_warps(state.alive)))
    runs = of_warps(where)
    numbers = np.flatnonzero(runs.any(1))
    partly = ~(runs | ~of_warps(state.alive))[numbers].all(1)
    if partly.any():
        who = state.geometry.show_warp(int(numbers[partly.argmax()]))
        state.watch.findings.notice(
            Hazard.DIVERGENT,
            site,
            lambda: f"{instruction.parts[0]} is for whole warps, and threads of {who} took another branch",
            int(partly.sum()),
        )
    return numbers


def registers(operand: Operand, kind: str, instruction: Instruction, state: State) -> list[np.ndarray]:
    return [of_warps(state.target(item, kind, instruction)) for item in items_of(operand)]


def values(operand: Operand, kind: str, instruction: Instruction, state: State) -> list[np.ndarray]:
    found = (state.source(item, kind, instruction) for item in items_of(operand))
    return [of_warps(np.broadcast_to(each, state.geometry.lanes)) for each in found]


# ldmatrix -------------------------------------------------------------------------------------------------------


def matrices_of(instruction: Instruction) -> int:
    if "m8n8" not in instruction.parts or instruction.parts[-1] != "b16":
        raise NotSimulated(str(instruction), instruction.line)
    return matrices_in(instruction)


def matrices_in(instruction: Instruction) -> int:
    return next(int(part[1:]) for part in instruction.parts if part in ("x1", "x2", "x4"))


def load_matrix(instruction: Instruction, site: int, state: State) -> Step:
    """Lane 8·m + r gives the address of row r of matrix m; lane l then has elements 2·(l % 4) and the next of row
    l / 4 of each matrix. With .trans rows and columns are exchanged."""
    count = matrices_of(instruction)
    outs = registers(instruction.operands[0], "b32", instruction, state)
    addresses = address_of(instruction.operands[1], instruction, state)
    port = SharedPort(state, instruction, site, 8, 2, "reads")
    givers = np.tile(np.arange(WARP) < ROWS * count, len(of_warps(state.alive)))

    def step(where: Where) -> None:
        warps = whole_warps(where, instruction, site, state)
        reads = givers if where is True else givers & np.repeat(of_warps(where).any(1), WARP)
        _, data = port.read(True if reads.all() else reads, addresses())
        tiles = data.view(np.uint16).reshape(len(warps), count, ROWS, 8)
        if "trans" in instruction.parts:
            tiles = tiles.swapaxes(2, 3)
        pairs = np.ascontiguousarray(tiles).view(np.uint32).reshape(len(warps), count, WARP)
        for n, out in enumerate(outs):
            out[warps] = pairs[:, n]

    return step


def store_matrix(instruction: Instruction, site: int, state: State) -> Step:
    """ldmatrix in reverse. Of m16n8.trans.b8 lane l has rows l / 4 and, in its upper half, l / 4 + 8 of each matrix, of
    both the elements 2·(l % 4) and the next; memory has its columns, each 16 bytes long."""
    bytewise = {"m16n8", "trans", "b8"} <= set(instruction.parts)
    count = matrices_in(instruction) if bytewise else matrices_of(instruction)
    given = values(instruction.operands[1], "b32", instruction, state)
    addresses = address_of(instruction.operands[0], instruction, state)
    port = SharedPort(state, instruction, site, 8, 2, "writes")
    givers = np.tile(np.arange(WARP) < ROWS * count, len(of_warps(state.alive)))

    def step(where: Where) -> None:
        warps = whole_warps(where, instruction, site, state)
        writes = givers if where is True else givers & np.repeat(of_warps(where).any(1), WARP)
        pairs = np.stack([v[warps] for v in given], axis=1)  # (warps, matrices, lanes)
        tiles: np.ndarray
        if bytewise:
            tiles = pairs.view(np.uint8).reshape(len(warps), count, 8, 4, 2, 2).transpose(0, 1, 3, 5, 4, 2)
        else:
            tiles = pairs.view(np.uint16).reshape(len(warps), count, ROWS, 8)
            tiles = tiles.swapaxes(2, 3) if "trans" in instruction.parts else tiles
        port.write(
            True if writes.all() else writes,
            addresses(),
            np.ascontiguousarray(tiles).reshape(-1, 8).view(np.uint64).reshape(-1, 2),
        )

    return step


def transpose_matrix(instruction: Instruction, site: int, state: State) -> Step:
    """movmatrix: an 8×8 matrix in the registers of a warp, transposed."""
    (out,) = registers(instruction.operands[0], "b32", instruction, state)
    (given,) = values(instruction.operands[1], "b32", instruction, state)

    def step(where: Where) -> None:
        warps = whole_warps(where, instruction, site, state)
        tiles = np.ascontiguousarray(given[warps]).view(np.uint16).reshape(-1, 8, 8).swapaxes(1, 2)
        out[warps] = np.ascontiguousarray(tiles).view(np.uint32).reshape(-1, WARP)

    return step


# mma ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Fragment:
    """How the lanes of a warp hold a matrix: `order[i]` is the place, among all elements of all lanes (register after
    register, element after element), of element i of the matrix, row after row.

    rows, columns: the matrix's. registers: of a lane. element: bits.
    """

    rows: int
    columns: int
    registers: int
    element: int
    order: np.ndarray


@cache
def fragment(which: str, m: int, n: int, k: int, element: int) -> Fragment:
    """The fragment of A (m, k), B (k, n) or C (m, n), for elements of this many bits.

    In all of these instructions lane l has row l / 4 of an 8-row piece, and of that the l % 4-th part that fills a
    32-bit register (C's of 32 or 64 bits: two elements); B lies as its transpose does. Pieces follow each other down
    the rows first, and then across (PTX ISA, 9.7.14.5.1 to 9.7.14.5.13).
    """
    rows, columns = {"A": (m, k), "B": (n, k), "C": (m, n)}[which]  # of B, transposed
    wide = 2 if which == "C" else max(32 // element, 1)  # neighbors that a lane has
    across = 4 * wide  # columns of a piece
    order = np.empty((rows, columns), np.int64)
    per_lane = rows * columns // WARP
    row, column = np.indices((rows, columns))
    lane = row % 8 * 4 + column % across // wide
    piece = column // across * (rows // 8) + row // 8
    place = piece * wide + column % wide  # among the elements of the lane
    order[row, column] = lane * per_lane + place
    if which == "B":
        order = order.T.copy()
    return Fragment(*order.shape, per_lane * element // max(element, 32), element, order.reshape(-1))


DECODE = {  # registers' bits → numbers
    "f16": lambda bits: bits.view(np.float16),
    "bf16": lambda bits: rounding.from_bf16(bits.view(np.uint16)),
    "tf32": lambda bits: rounding.from_tf32(bits.view(np.uint32)),
    "f32": lambda bits: bits.view(np.float32),
    "f64": lambda bits: bits.view(np.float64),
    "e4m3": lambda bits: NARROW["e4m3"].values[bits.view(np.uint8)],
    "e5m2": lambda bits: NARROW["e5m2"].values[bits.view(np.uint8)],
    "s8": lambda bits: bits.view(np.int8),
    "u8": lambda bits: bits.view(np.uint8),
    "s32": lambda bits: bits.view(np.int32),
}


def multiply(instruction: Instruction, site: int, state: State) -> Step:
    """mma.sync.aligned.mMnNkK.row.col.d.a.b.c"""
    parts = instruction.parts
    shape = next((part for part in parts if part[0] == "m" and part[1:2].isdigit()), "m0n0k0")
    kinds = parts[-4:]
    if parts[3:6] != (shape, "row", "col") or not set(kinds) <= set(DECODE) or shape not in SHAPES:
        raise NotSimulated(str(instruction), instruction.line)
    return product(SHAPES[shape], kinds, instruction, site, state)


def product(
    shape: tuple[int, int, int], kinds: Sequence[str], instruction: Instruction, site: int, state: State
) -> Step:
    """D = A·B + C of types (d, a, b, c).

    Sums in fp32 are made as `tensor_cores` says; others are exact, and rounded once.
    """
    d_kind, a_kind, b_kind, c_kind = kinds
    m, n, k = shape
    pieces = [fragment("A", m, n, k, bits_of(a_kind)), fragment("B", m, n, k, bits_of(b_kind)),
              fragment("C", m, n, k, bits_of(c_kind))]  # fmt: skip
    to = fragment("C", m, n, k, bits_of(d_kind))
    inverse = np.argsort(to.order)
    given = [
        values(operand, f"b{max(bits_of(kind), 32)}", instruction, state)[: piece.registers]  # wmma's may repeat them
        for operand, kind, piece in zip(instruction.operands[1:], kinds[1:], pieces, strict=True)
    ]
    outs = registers(instruction.operands[0], f"b{max(bits_of(d_kind), 32)}", instruction, state)
    d_type = np.dtype(numpy_type(d_kind))
    in_fp32 = d_kind == c_kind == "f32"
    add_products = add_products_of(a_kind, b_kind) if in_fp32 else add_plainly
    wide = np.float32 if in_fp32 else np.float64

    def step(where: Where) -> None:
        warps = whole_warps(where, instruction, site, state)
        a, b, c = (
            matrix(words, piece, kind, warps, where is True).astype(wide, copy=False)
            for words, piece, kind in zip(given, pieces, kinds[1:], strict=True)
        )
        d = add_products(a, b, c)
        d = d.reshape(len(warps), m * n).astype(d_type, copy=False).take(inverse, axis=1, mode="clip")
        bits = d.view(outs[0].dtype).reshape(len(warps), WARP, len(outs))
        running = slice(None) if where is True else warps
        for number, out in enumerate(outs):
            out[running] = bits[:, :, number]

    return step


def matrix(words: list[np.ndarray], piece: Fragment, kind: str, warps: np.ndarray, every: bool) -> np.ndarray:
    """(warps, rows, columns)"""
    lanes = np.empty((len(warps), WARP, len(words)), words[0].dtype)
    for number, word in enumerate(words):
        lanes[:, :, number] = word if every else word[warps]
    elements = lanes.view(f"u{piece.element // 8}").reshape(len(lanes), -1)
    elements = elements.take(piece.order, axis=1, mode="clip")  # the default looks for places outside
    return DECODE[kind](elements).reshape(len(lanes), piece.rows, piece.columns)


SHAPES = {
    "m8n8k4": (8, 8, 4),  # f64
    "m8n8k16": (8, 8, 16),
    "m16n8k4": (16, 8, 4),
    "m16n8k8": (16, 8, 8),
    "m16n8k16": (16, 8, 16),
    "m16n8k32": (16, 8, 32),
}

OPCODES: dict[str, Decoder] = {
    "ldmatrix": load_matrix,
    "stmatrix": store_matrix,
    "movmatrix": transpose_matrix,
    "mma.sync": multiply,
}
