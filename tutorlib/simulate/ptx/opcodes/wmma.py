"""wmma.load, wmma.mma and wmma.store (PTX ISA, 9.7.14.4): what nvcuda::wmma of CUDA C++ becomes.

The ISA leaves open which lane holds which element. Here fragments lie as those of mma.sync do, which also decides what
sectors and wavefronts are counted; where the ISA gives a fragment more registers than that fills, the rest hold the
same again.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from tutorlib.simulate.ptx.errors import NotSimulated
from tutorlib.simulate.ptx.geometry import WARP
from tutorlib.simulate.ptx.ir import Instruction, Operand
from tutorlib.simulate.ptx.opcodes.elementwise import Decoder, Step
from tutorlib.simulate.ptx.opcodes.loads import PORTS, address_of, ports, step_through
from tutorlib.simulate.ptx.opcodes.matrices import DECODE, Fragment, fragment, product, registers, whole_warps
from tutorlib.simulate.ptx.ports import Port
from tutorlib.simulate.ptx.state import State, Where, as_index, of_warps
from tutorlib.simulate.ptx.types import bits_of, numpy_type

SHAPE = re.compile(r"m(\d+)n(\d+)k(\d+)")


def shape_of(instruction: Instruction) -> tuple[int, int, int]:
    """m, n and k."""
    found = next(filter(None, map(SHAPE.fullmatch, instruction.parts)), None)
    if found is None:
        raise NotSimulated(str(instruction), instruction.line)
    m, n, k = map(int, found.groups())
    return m, n, k


@dataclass(frozen=True)
class Tile:
    """A matrix in memory that the lanes of a warp share out. piece: whose elements are where.

    across: whether neighbors that a lane holds are neighbors in memory, which it moves at once.
    """

    instruction: Instruction
    state: State
    piece: Fragment
    by_rows: bool
    address: Operand
    stride: Operand | None

    @property
    def per_lane(self) -> int:
        return self.piece.rows * self.piece.columns // WARP

    @property
    def at_once(self) -> int:
        """Elements that a lane holds in one register, where they are neighbors in memory too."""
        row, column = self.coordinates()
        slow = row if self.by_rows else column
        wide = min(max(32 // self.piece.element, 1), self.per_lane)
        return wide if (slow[:, :wide] == slow[:, :1]).all() else 1

    def coordinates(self) -> tuple[np.ndarray, np.ndarray]:
        """Row and column of each lane's elements, (32, per_lane) each."""
        places = np.argsort(self.piece.order)
        row, column = np.divmod(places, self.piece.columns)
        return row.reshape(WARP, -1), column.reshape(WARP, -1)

    def addresses(self) -> "Callable[[int], np.ndarray]":
        """The address of element n of each lane. Between rows (columns, where they are what is contiguous) lie `stride`
        elements."""
        row, column = self.coordinates()
        slow, fast = (row, column) if self.by_rows else (column, row)
        base = address_of(self.address, self.instruction, self.state)
        dense = np.array([self.piece.columns if self.by_rows else self.piece.rows], np.uint32)
        stride = dense if self.stride is None else self.state.source(self.stride, "u32", self.instruction)
        warps, size = self.state.geometry.lanes // WARP, self.piece.element // 8

        def of_element(n: int) -> np.ndarray:
            start = base()
            steps = np.tile(slow[:, n], warps) * stride.astype(np.int64) + np.tile(fast[:, n], warps)
            return start + (steps * size).astype(start.dtype)

        return of_element


def tile_of(instruction: Instruction, state: State, address: Operand) -> Tile:
    which, kind = instruction.parts[2], instruction.parts[-1]
    if kind not in DECODE or not {"row", "col"} & set(instruction.parts):
        raise NotSimulated(str(instruction), instruction.line)
    piece = fragment("C" if which == "d" else which.upper(), *shape_of(instruction), bits_of(kind))
    stride = instruction.operands[2] if len(instruction.operands) > 2 else None
    return Tile(instruction, state, piece, "row" in instruction.parts, address, stride)


def elementwise(instruction: Instruction, name: str, at_once: int) -> Instruction:
    """The ld or st that moves what a lane moves at once."""
    space = [part for part in instruction.parts if part.split("::")[0] in PORTS]
    vector = [f"v{at_once}"] if at_once > 1 else []
    return replace(instruction, opcode=".".join([name, *space, *vector, f"b{bits_of(instruction.parts[-1])}"]))


def load(instruction: Instruction, site: int, state: State) -> Step:
    """wmma.load.{a,b,c}.sync.aligned.{row,col}.mMnNkK.space.type fragment, [address], stride"""
    tile = tile_of(instruction, state, instruction.operands[1])
    element, at_once, addresses = tile.piece.element, tile.at_once, tile.addresses()
    word = max(element, 32)
    outs = registers(instruction.operands[0], f"b{word}", instruction, state)
    _, _, to = ports(elementwise(instruction, "ld", at_once), site, state, "loads")
    elements = np.zeros((state.geometry.lanes, tile.per_lane), numpy_type(f"u{element}"))

    def take(n: int, port: Port, where: Where, at: np.ndarray) -> None:
        lanes, data = port.read(where, at)
        elements[lanes, n : n + at_once] = data

    moves = [step_through(to, partial(addresses, n), partial(take, n), state) for n in range(0, tile.per_lane, at_once)]

    def step(where: Where) -> None:
        warps = whole_warps(where, instruction, site, state)
        for move in moves:
            move(where)
        words = elements.view(numpy_type(f"u{word}"))
        for number, out in enumerate(outs):
            out[warps] = of_warps(np.ascontiguousarray(words[:, number % tile.piece.registers]))[warps]

    return step


def store(instruction: Instruction, site: int, state: State) -> Step:
    """wmma.store.d.sync.aligned.{row,col}.mMnNkK.space.type [address], fragment, stride"""
    tile = tile_of(instruction, state, instruction.operands[0])
    at_once, addresses = tile.at_once, tile.addresses()
    given = registers(instruction.operands[1], f"b{max(tile.piece.element, 32)}", instruction, state)
    _, _, to = ports(elementwise(instruction, "st", at_once), site, state, "stores")
    unsigned = numpy_type(f"u{tile.piece.element}")

    def give(n: int, port: Port, where: Where, at: np.ndarray) -> None:
        elements = np.stack([words.reshape(-1) for words in given], axis=1).view(unsigned)  # (lanes, per_lane)
        port.write(where, at, elements[as_index(where), n : n + at_once])

    moves = [step_through(to, partial(addresses, n), partial(give, n), state) for n in range(0, tile.per_lane, at_once)]

    def step(where: Where) -> None:
        whole_warps(where, instruction, site, state)
        for move in moves:
            move(where)

    return step


def multiply(instruction: Instruction, site: int, state: State) -> Step:
    """wmma.mma.sync.aligned.{row,col}.{row,col}.mMnNkK.d.c for f16, ….d.a.b.c for others: D = A·B + C.

    The layouts say how A and B were loaded, which their fragments do not show.
    """
    kinds = instruction.parts[7:]
    if len(kinds) == 2:
        kinds = (kinds[0], "f16", "f16", kinds[1])
    if len(kinds) != 4 or not set(kinds) <= set(DECODE):
        raise NotSimulated(str(instruction), instruction.line)
    return product(shape_of(instruction), kinds, instruction, site, state)


OPCODES: dict[str, Decoder] = {"wmma.load": load, "wmma.store": store, "wmma.mma": multiply}
