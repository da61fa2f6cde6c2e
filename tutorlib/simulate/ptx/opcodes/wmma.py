"""wmma.load, wmma.mma and wmma.store (PTX ISA, 9.7.14.4): what nvcuda::wmma of CUDA C++ becomes.

The ISA leaves open which lane holds which element. Here fragments lie as those of mma.sync do, which also decides what
sectors and wavefronts are counted; where the ISA gives a fragment more registers than that fills, the rest hold the
same again.
"""

from collections.abc import Callable
from functools import partial

import numpy as np

from tutorlib.simulate.ptx.geometry import WARP
from tutorlib.simulate.ptx.opcodes.loads import ports, step_through
from tutorlib.simulate.ptx.opcodes.matrices import FACTORS, fragment, product, registers, shape_of
from tutorlib.simulate.ptx.operation import OpcodeDecoder, Operation
from tutorlib.simulate.ptx.ports import Port
from tutorlib.simulate.ptx.state import Step, Where, as_index, of_warps
from tutorlib.simulate.ptx.types import bits_of, numpy_type


class Tile:
    """A matrix in memory that the lanes of a warp share out, with `stride` elements between rows (columns, where they
    are what is contiguous).

    slow, fast: of each lane's elements, row and column or column and row, (32, per_lane).
    at_once: elements that a lane holds in one register and that are neighbors in memory, which it moves at once.
    """

    def __init__(self, op: Operation, address: int, does: str) -> None:
        which, kind, by_rows = op.parts[2], op.kind, "row" in op.parts
        op.need(kind in FACTORS and (by_rows or "col" in op.parts))
        self.op, self.piece = op, fragment("C" if which == "d" else which.upper(), *shape_of(op), bits_of(kind))
        places = np.divmod(np.argsort(self.piece.order), self.piece.columns)
        row, column = (each.reshape(WARP, -1) for each in places)
        self.slow, self.fast = (row, column) if by_rows else (column, row)
        self.per_lane = row.shape[1]
        wide = min(max(32 // self.piece.element, 1), self.per_lane)
        self.at_once = wide if (self.slow[:, :wide] == self.slow[:, :1]).all() else 1
        self.base = op.addresses(address)
        dense = np.array([self.piece.columns if by_rows else self.piece.rows], np.uint32)
        self.stride = op.source(2, "u32") if len(op.operands) > 2 else dense
        self.ports = ports(op, does, self.piece.element // 8, self.at_once)

    def address(self, n: int) -> np.ndarray:
        """Of element n of each lane."""
        start, warps = self.base(), self.op.state.geometry.lanes // WARP
        steps = np.tile(self.slow[:, n], warps) * self.stride.astype(np.int64) + np.tile(self.fast[:, n], warps)
        return np.asarray(start + (steps * (self.piece.element // 8)).astype(start.dtype))

    def moves(self, through: Callable[[int, Port, Where, np.ndarray], None]) -> list[Step]:
        """Steps that move all of a lane's elements. through: moves those from a number on."""
        each = range(0, self.per_lane, self.at_once)
        return [step_through(self.op, self.ports, partial(self.address, n), partial(through, n)) for n in each]


def load(op: Operation) -> Step:
    """wmma.load.{a,b,c}.sync.aligned.{row,col}.mMnNkK.space.type fragment, [address], stride"""
    tile = Tile(op, 1, "loads")
    element, word = tile.piece.element, max(tile.piece.element, 32)
    outs = registers(op, 0, f"b{word}")
    elements = np.zeros((op.state.geometry.lanes, tile.per_lane), numpy_type(f"u{element}"))

    def take(n: int, port: Port, where: Where, at: np.ndarray) -> None:
        lanes, data = port.read(where, at)
        elements[lanes, n : n + tile.at_once] = data

    moves = tile.moves(take)

    def step(where: Where) -> None:
        warps = op.warps(where)
        for move in moves:
            move(where)
        words = elements.view(numpy_type(f"u{word}"))
        for number, out in enumerate(outs):
            out[warps] = of_warps(np.ascontiguousarray(words[:, number % tile.piece.registers]))[warps]

    return step


def store(op: Operation) -> Step:
    """wmma.store.d.sync.aligned.{row,col}.mMnNkK.space.type [address], fragment, stride"""
    tile = Tile(op, 0, "stores")
    given, unsigned = registers(op, 1, f"b{max(tile.piece.element, 32)}"), numpy_type(f"u{tile.piece.element}")

    def give(n: int, port: Port, where: Where, at: np.ndarray) -> None:
        elements = np.stack([words.reshape(-1) for words in given], axis=1).view(unsigned)  # (lanes, per_lane)
        port.write(where, at, elements[as_index(where), n : n + tile.at_once])

    moves = tile.moves(give)

    def step(where: Where) -> None:
        op.warps(where)
        for move in moves:
            move(where)

    return step


def multiply(op: Operation) -> Step:
    """wmma.mma.sync.aligned.{row,col}.{row,col}.mMnNkK.d.c for f16, ….d.a.b.c for others: D = A·B + C.

    The layouts say how A and B were loaded, which their fragments do not show.
    """
    kinds = op.parts[7:]
    if len(kinds) == 2:
        kinds = (kinds[0], "f16", "f16", kinds[1])
    return product(op, shape_of(op), kinds)


OPCODES: dict[str, OpcodeDecoder] = {"wmma.load": load, "wmma.store": store, "wmma.mma": multiply}
