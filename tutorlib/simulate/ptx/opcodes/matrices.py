"""Whole-warp matrix instructions: ldmatrix, stmatrix, mma.sync (PTX ISA, 9.7.14.5), and wmma.load, wmma.mma
and wmma.store (9.7.14.4), which nvcuda::wmma of CUDA C++ becomes.

The ISA leaves open which lane holds which element of wmma's fragments. Here they lie as those of mma.sync do, which
also decides what sectors and wavefronts are counted; where the ISA gives a fragment more registers than that fills, the
rest hold the same again.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, partial

import numpy as np

from tutorlib.simulate.ptx.geometry import WARP
from tutorlib.simulate.ptx.opcodes.loads import ports, step_through
from tutorlib.simulate.ptx.operation import OpcodeDecoder, Operation
from tutorlib.simulate.ptx.ports import Port, SharedPort
from tutorlib.simulate.ptx.state import Step, Where, as_index, of_warps
from tutorlib.simulate.ptx.types import bits_of, from_bits, numpy_type

ROWS = 8  # of a matrix that ldmatrix moves, each of 16 bytes


def registers(op: Operation, operand: int, kind: str) -> list[np.ndarray]:
    """Results, (warps, 32) each."""
    return [of_warps(each) for each in op.targets(operand, kind)]


def values(op: Operation, operand: int, kind: str) -> list[np.ndarray]:
    return [of_warps(op.spread(each)) for each in op.sources(operand, kind)]


# ldmatrix -------------------------------------------------------------------------------------------------------


def move_matrices(op: Operation) -> Step:
    """ldmatrix and stmatrix move 8×8 matrices of 16 bits; the first lanes of a warp give the addresses of their rows.

    Lane l has elements 2·(l % 4) and the next of row l / 4 of each matrix. With .trans rows and columns are exchanged.
    """
    op.need("m8n8" in op.parts and op.kind == "b16")
    stores, count = op.parts[0] == "stmatrix", int(op.one_of("x1 x2 x4")[1:])
    held = values(op, 1, "b32") if stores else registers(op, 0, "b32")
    addresses, port = op.addresses(0 if stores else 1), SharedPort(op, 8, 2, "writes" if stores else "reads")
    gives = np.tile(np.arange(WARP) < ROWS * count, len(of_warps(op.state.alive)))

    def exchanged(bits: np.ndarray) -> np.ndarray:
        tiles = bits.view(np.uint16).reshape(-1, ROWS, 8)
        return np.ascontiguousarray(tiles.swapaxes(1, 2) if "trans" in op.parts else tiles)

    def step(where: Where) -> None:
        warps = op.warps(where)
        runs = gives if where is True else gives & np.repeat(of_warps(where).any(1), WARP)
        givers: Where = True if runs.all() else runs
        if stores:
            pairs = np.stack([each[warps] for each in held], axis=1)  # (warps, matrices, lanes)
            port.write(givers, addresses(), exchanged(pairs).view(np.uint64).reshape(-1, 2))
            return
        _, rows = port.read(givers, addresses())
        pairs = exchanged(rows).view(np.uint32).reshape(-1, count, WARP)
        for n, out in enumerate(held):
            out[warps] = pairs[:, n]

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
    per_lane = rows * columns // WARP
    row, column = np.indices((rows, columns))
    lane = row % 8 * 4 + column % across // wide
    piece = column // across * (rows // 8) + row // 8
    order = lane * per_lane + piece * wide + column % wide
    order = order.T.copy() if which == "B" else order
    return Fragment(len(order), order.shape[1], per_lane * element // max(element, 32), element, order.reshape(-1))


SHAPE = re.compile(r"m(\d+)n(\d+)k(\d+)")
FACTORS = {"f16", "bf16", "tf32", "f32", "f64", "e4m3", "e5m2", "s8", "u8", "s32"}  # types of matrices


def shape_of(op: Operation) -> tuple[int, int, int]:
    """m, n and k."""
    m, n, k = map(int, next(filter(None, map(SHAPE.fullmatch, op.parts))).groups())
    return m, n, k


def multiply(op: Operation) -> Step:
    """mma.sync.aligned.mMnNkK.row.col.d.a.b.c"""
    *_, row, column, d, a, b, c = op.parts
    op.need((row, column) == ("row", "col"))
    return product(op, shape_of(op), (d, a, b, c))


def product(op: Operation, shape: tuple[int, int, int], kinds: Sequence[str]) -> Step:
    """D = A·B + C of types (d, a, b, c).

    Sums in fp32 are rounded as NumPy rounds them; others are exact, and rounded once.
    """
    op.need(set(kinds) <= FACTORS)
    d_kind, *_, c_kind = kinds
    m, n, k = shape
    pieces = [fragment(which, m, n, k, bits_of(kind)) for which, kind in zip("ABC", kinds[1:], strict=True)]
    given = [
        values(op, number, f"b{max(bits_of(kind), 32)}")[: piece.registers]  # wmma's may repeat them
        for number, (kind, piece) in enumerate(zip(kinds[1:], pieces, strict=True), 1)
    ]
    inverse = np.argsort(fragment("C", m, n, k, bits_of(d_kind)).order)
    outs, d_type = registers(op, 0, f"b{max(bits_of(d_kind), 32)}"), np.dtype(numpy_type(d_kind))
    in_fp32 = d_kind == c_kind == "f32"
    wide = np.float32 if in_fp32 else np.float64

    def step(where: Where) -> None:
        warps = op.warps(where)
        running = slice(None) if where is True else warps
        a, b, c = (
            matrix([word[running] for word in words], piece, kind).astype(wide, copy=False)
            for words, piece, kind in zip(given, pieces, kinds[1:], strict=True)
        )
        d = np.add(np.matmul(a, b), c)
        d = d.reshape(len(warps), m * n).astype(d_type, copy=False).take(inverse, axis=1, mode="clip")
        bits = d.view(outs[0].dtype).reshape(len(warps), WARP, len(outs))
        for number, out in enumerate(outs):
            out[running] = bits[:, :, number]

    return step


def matrix(words: list[np.ndarray], piece: Fragment, kind: str) -> np.ndarray:
    """Registers, (warps, 32) each → (warps, rows, columns)"""
    lanes = np.stack(words, axis=2)
    elements = lanes.view(f"u{piece.element // 8}").reshape(len(lanes), -1)
    elements = elements.take(piece.order, axis=1, mode="clip")  # the default looks for places outside
    return from_bits(elements, kind).reshape(len(lanes), piece.rows, piece.columns)


def move_tile(op: Operation) -> Step:
    """wmma.load.{a,b,c}.sync.aligned.{row,col}.mMnNkK.space.type fragment, [address], stride, and wmma.store.d with the
    address first. Elements that a lane holds in one register and that are neighbors in memory move at once."""
    stores, which, kind, by_rows = op.parts[1] == "store", op.parts[2], op.kind, "row" in op.parts
    op.need(kind in FACTORS and (by_rows or "col" in op.parts))
    piece = fragment("C" if which == "d" else which.upper(), *shape_of(op), bits_of(kind))
    row, column = (each.reshape(WARP, -1) for each in np.divmod(np.argsort(piece.order), piece.columns))
    slow, fast = (row, column) if by_rows else (column, row)  # of each lane's elements, (32, per_lane)
    per_lane = row.shape[1]
    wide = min(max(32 // piece.element, 1), per_lane)
    at_once = wide if (slow[:, :wide] == slow[:, :1]).all() else 1
    base, warps_of_all = op.addresses(0 if stores else 1), op.state.geometry.lanes // WARP
    dense = np.array([piece.columns if by_rows else piece.rows], np.uint32)
    stride = op.source(2, "u32") if len(op.operands) > 2 else dense  # elements between rows, or columns
    element, word = (numpy_type(f"u{bits}") for bits in (piece.element, max(piece.element, 32)))
    held = registers(op, 1 if stores else 0, f"b{max(piece.element, 32)}")
    elements = np.zeros((op.state.geometry.lanes, per_lane), element)

    def address(n: int) -> np.ndarray:
        """Of element n of each lane."""
        start = base()
        steps = np.tile(slow[:, n], warps_of_all) * stride.astype(np.int64) + np.tile(fast[:, n], warps_of_all)
        return np.asarray(start + (steps * (piece.element // 8)).astype(start.dtype))

    def through(n: int, port: Port, where: Where, at: np.ndarray) -> None:
        if stores:
            port.write(where, at, elements[as_index(where), n : n + at_once])
        else:
            lanes, data = port.read(where, at)
            elements[lanes, n : n + at_once] = data

    to = ports(op, "stores" if stores else "loads", piece.element // 8, at_once)
    moves = [step_through(op, to, partial(address, n), partial(through, n)) for n in range(0, per_lane, at_once)]

    def step(where: Where) -> None:
        warps = op.warps(where)
        if stores:
            elements[:] = np.stack([words.reshape(-1) for words in held], axis=1).view(element)
        for move in moves:
            move(where)
        for number, out in enumerate([] if stores else held):
            words = elements.view(word)[:, number % piece.registers]
            out[warps] = of_warps(np.ascontiguousarray(words))[warps]

    return step


def multiply_tiles(op: Operation) -> Step:
    """wmma.mma.sync.aligned.{row,col}.{row,col}.mMnNkK.d.c for f16, ….d.a.b.c for others: D = A·B + C.

    The layouts say how A and B were loaded, which their fragments do not show.
    """
    kinds = op.parts[7:]
    if len(kinds) == 2:
        kinds = (kinds[0], "f16", "f16", kinds[1])
    return product(op, shape_of(op), kinds)


OPCODES: dict[str, OpcodeDecoder] = {
    **dict.fromkeys(("ldmatrix", "stmatrix"), move_matrices),
    "mma.sync": multiply,
    **dict.fromkeys(("wmma.load", "wmma.store"), move_tile),
    "wmma.mma": multiply_tiles,
}
