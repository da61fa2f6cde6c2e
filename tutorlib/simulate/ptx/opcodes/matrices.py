"""Whole-warp matrix instructions: ldmatrix, stmatrix, mma.sync (PTX ISA, 9.7.14.5), and wmma.load, wmma.mma
and wmma.store (9.7.14.4), which nvcuda::wmma of CUDA C++ becomes.

The ISA leaves open which lane holds which element of wmma's fragments. Here they lie as those of mma.sync do, which
also decides what sectors and wavefronts are counted; where the ISA gives a fragment more registers than that fills, the
rest hold the same again.
"""

import re
from collections.abc import Callable, Sequence
from functools import partial

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


# Lane l has row l / 4 of an 8-row piece of the matrix, of B's transpose, and of that row the l % 4-th part that fills a
# register of 32 bits (C's of 32 or 64: two elements). Pieces follow each other down the rows first, and then across
# (PTX ISA, 9.7.14.5.1 to 9.7.14.5.13).
QUAD = 4  # lanes that share a row
PAIR = 2  # neighbors in a row of C that a lane has


def elements_of_lanes(rows: int, columns: int, wide: int) -> tuple[np.ndarray, np.ndarray]:
    """Row and column of each lane's elements, (32, elements), in the order of its registers. wide: neighbors."""
    lane, pieces = np.arange(WARP)[:, None], (columns // (QUAD * wide), rows // ROWS, wide)
    across, down, neighbor = np.unravel_index(np.arange(rows * columns // WARP), pieces)
    return down * ROWS + lane // QUAD, (across * QUAD + lane % QUAD) * wide + neighbor


def matrix(words: Sequence[np.ndarray], rows: int, kind: str) -> np.ndarray:
    """A, or the transpose of B: registers, (warps, 32) each → (warps, rows, K), where K has the order of the lanes."""
    down = rows // ROWS
    lanes = np.empty((len(words[0]), down, WARP, len(words) // down), words[0].dtype)
    for number, word in enumerate(words):
        lanes[:, number % down, :, number // down] = word
    elements = lanes.view(f"u{bits_of(kind) // 8}")
    return from_bits(elements.reshape(len(lanes), rows, -1), kind)


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
    (m, n, k), (d_kind, a_kind, b_kind, c_kind) = shape, kinds
    factors = factor(op, 1, m, k, a_kind), factor(op, 2, n, k, b_kind)
    held, outs = values(op, 3, f"b{max(bits_of(c_kind), 32)}"), registers(op, 0, f"b{max(bits_of(d_kind), 32)}")
    c_type, d_type = numpy_type(c_kind), numpy_type(d_kind)
    wide = np.float32 if d_kind == c_kind == "f32" else np.float64

    def step(where: Where) -> None:
        warps = op.warps(where)
        running = slice(None) if where is True else warps
        a, b = (each(running).astype(wide, copy=False) for each in factors)
        products = np.matmul(a, b.swapaxes(1, 2)).reshape(len(warps), m // ROWS, ROWS, n // ROWS, QUAD, PAIR)
        products = products.transpose(3, 1, 5, 0, 2, 4).reshape(-1, len(warps), WARP)  # by elements of a lane
        c = np.array([word[running] for word in held]).view(c_type).reshape(len(held), len(warps), WARP, -1)
        d = (products + c.transpose(0, 3, 1, 2).reshape(products.shape)).astype(d_type, copy=False)
        words = d.reshape(len(outs), -1, len(warps), WARP).transpose(0, 2, 3, 1)
        for out, word in zip(outs, np.ascontiguousarray(words).view(outs[0].dtype)[..., 0], strict=True):
            out[running] = word

    return step


def factor(op: Operation, operand: int, rows: int, k: int, kind: str) -> Callable[[np.ndarray | slice], np.ndarray]:
    """A or B for these warps, as `matrix` has it. Instructions of one basic block between which nothing writes these
    registers share what the first of them makes."""
    width = max(bits_of(kind), 32)
    words = values(op, operand, f"b{width}")[: rows * k * bits_of(kind) // (WARP * width)]  # wmma's may repeat them
    key, shared = (op.register_names(operand), rows, kind), op.state.factors if op.instruction.guard is None else {}
    first, made = key not in shared, shared.setdefault(key, [np.empty(0)])

    def read(running: np.ndarray | slice) -> np.ndarray:
        if first:
            made[0] = matrix([word[running] for word in words], rows, kind)
        return made[0]

    return read


def move_tile(op: Operation) -> Step:
    """wmma.load.{a,b,c}.sync.aligned.{row,col}.mMnNkK.space.type fragment, [address], stride, and wmma.store.d with the
    address first. Elements that a lane holds in one register and that are neighbors in memory move at once."""
    stores, which, kind, by_rows = op.parts[1] == "store", op.parts[2], op.kind, "row" in op.parts
    op.need(kind in FACTORS and (by_rows or "col" in op.parts))
    (m, n, k), bits = shape_of(op), bits_of(kind)
    rows, columns = {"a": (m, k), "b": (k, n)}.get(which, (m, n))
    wide = max(32 // bits, 1) if which in "ab" else PAIR
    row, column = elements_of_lanes(*((columns, rows) if which == "b" else (rows, columns)), wide)
    slow, fast = (row, column) if by_rows != (which == "b") else (column, row)  # of lanes' elements, (32, per_lane)
    per_lane = row.shape[1]
    at_once = wide if (slow[:, :wide] == slow[:, :1]).all() else 1
    base, warps_of_all = op.addresses(0 if stores else 1), op.state.geometry.lanes // WARP
    dense = np.array([columns if by_rows else rows], np.uint32)
    stride = op.source(2, "u32") if len(op.operands) > 2 else dense  # elements between rows, or columns
    element, word = (numpy_type(f"u{width}") for width in (bits, max(bits, 32)))
    held = registers(op, 1 if stores else 0, f"b{max(bits, 32)}")
    elements = np.zeros((op.state.geometry.lanes, per_lane), element)

    def address(n: int) -> np.ndarray:
        """Of element n of each lane."""
        start = base()
        steps = np.tile(slow[:, n], warps_of_all) * stride.astype(np.int64) + np.tile(fast[:, n], warps_of_all)
        return np.asarray(start + (steps * (bits // 8)).astype(start.dtype))

    def through(n: int, port: Port, where: Where, at: np.ndarray) -> None:
        if stores:
            port.write(where, at, elements[as_index(where), n : n + at_once])
        else:
            lanes, data = port.read(where, at)
            elements[lanes, n : n + at_once] = data

    to = ports(op, "stores" if stores else "loads", bits // 8, at_once)
    moves = [step_through(op, to, partial(address, n), partial(through, n)) for n in range(0, per_lane, at_once)]

    def step(where: Where) -> None:
        warps = op.warps(where)
        if stores:
            elements[:] = np.stack([words.reshape(-1) for words in held], axis=1).view(element)
        for move in moves:
            move(where)
        for number, out in enumerate([] if stores else held):
            words = elements.view(word)
            out[warps] = of_warps(np.ascontiguousarray(words[:, number % words.shape[1]]))[warps]

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
