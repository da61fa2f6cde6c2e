"""wgmma: matrix products of warpgroups (PTX ISA, 9.7.15)."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from tutorlib.dsl.failure import Hazard
from tutorlib.simulate.ptx.descriptors import UNIT, MatrixDescriptor, read_descriptor
from tutorlib.simulate.ptx.findings import NotSimulated
from tutorlib.simulate.ptx.flow import read, written
from tutorlib.simulate.ptx.geometry import WARP, WARPGROUP
from tutorlib.simulate.ptx.ir import Register, Vector
from tutorlib.simulate.ptx.memory import rows_of
from tutorlib.simulate.ptx.opcodes.matrices import QUAD, matrix
from tutorlib.simulate.ptx.operation import OpcodeDecoder, Operation
from tutorlib.simulate.ptx.state import State, Step, Where, of_warps
from tutorlib.simulate.ptx.types import bits_of, from_bits

ROWS = 64  # of A and of the result
BYTES_OF_K = 32  # that one wgmma multiplies
FACTORS = {"bf16", "f16", "tf32", "e4m3", "e5m2"}


@dataclass(frozen=True)
class SharedOperand:
    """A or B in shared memory. rows: of A, or columns of B. sign: 1 or -1. read: what reads its descriptors."""

    state: State
    descriptors: np.ndarray
    rows: int
    kind: str
    k_major: bool
    sign: int
    read: Callable[[int], MatrixDescriptor] = read_descriptor

    @property
    def element(self) -> int:
        return bits_of(self.kind) // 8

    def units(self, lanes: np.ndarray) -> np.ndarray:
        """Addresses of the 16-byte units that these lanes' descriptors name, (lanes, …), in shared memory."""
        values = np.broadcast_to(self.descriptors, self.state.geometry.lanes)[lanes]
        made = {value: self.units_of(self.read(value)) for value in set(values.tolist())}
        return np.stack([made[value] for value in values.tolist()])

    def units_of(self, descriptor: MatrixDescriptor) -> np.ndarray:
        if self.k_major:
            return descriptor.units(self.rows, BYTES_OF_K, True)
        return descriptor.units(self.rows * self.element, BYTES_OF_K // self.element, False)

    def numbers(self, units: np.ndarray, slots: np.ndarray) -> np.ndarray:
        """(warpgroups, rows, K) of what lies at these units now."""
        shared = self.state.shared
        at = units + (slots * shared.stride).reshape(-1, 1, 1)
        raw = rows_of(shared.bytes, 1, UNIT)[at // UNIT]  # (warpgroups, rows or units, units or K, 16)
        values = from_bits(np.ascontiguousarray(raw), self.kind).astype(np.float32, copy=False)
        if self.k_major:
            return self.sign * values.reshape(len(units), self.rows, -1)
        return self.sign * values.transpose(0, 1, 3, 2).reshape(len(units), self.rows, -1)


@dataclass(frozen=True)
class RegisterOperand:
    """A in registers: four of each lane."""

    state: State
    registers: list[np.ndarray]
    kind: str
    sign: int

    def numbers(self, warps: np.ndarray) -> np.ndarray:
        """(warpgroups, 64, K). warps: (warpgroups, 4), of which each has 16 rows, as A of mma.sync."""
        every, element = self.state.geometry.lanes, bits_of(self.kind)
        words = [of_warps(np.broadcast_to(register, every))[warps.reshape(-1)] for register in self.registers]
        a = matrix(words, ROWS // WARPGROUP, self.kind).reshape(len(warps), ROWS, QUAD, -1, 32 // element)
        return self.sign * a.swapaxes(2, 3).astype(np.float32, copy=False).reshape(len(warps), ROWS, -1)


Multiplication = Callable[[np.ndarray], np.ndarray]  # takes the lanes of whole warpgroups, and gives them


def multiplication(op: Operation) -> Multiplication:
    """wgmma.mma_async.….m64nNkK.d.a.b {acc}, a, b, adds, sign of a, sign of b{, a by columns, b by columns}

    It ends a block of the program, since a warp waits there for the others of its warpgroup: see `schedule`.
    """
    if op.instruction.guard is not None:
        raise NotSimulated(f"{op.instruction} under a predicate", op.instruction.line)
    *_, shape, d_kind, a_kind, b_kind = op.parts
    op.need(d_kind in ("f32", "f16") and {a_kind, b_kind} <= FACTORS and len(op.parts) == 8)
    names = op.register_names(0)
    registers = [op.state.storage(item) for item in map(Register, names)]
    acc = op.state.warpgroups.acc(names, registers, packed=d_kind == "f16")
    adds, signs = op.predicate(3), [op.immediate(n) for n in (4, 5)]
    *a_by_columns, b_by_columns = [op.immediate(n) for n in range(6, len(op.operands))] or [0]
    columns = int(shape[len("m64n") :].split("k")[0])
    b = SharedOperand(op.state, op.source(2, "u64"), columns, b_kind, not b_by_columns, signs[1])
    a: SharedOperand | RegisterOperand
    if isinstance(op.operands[1], Vector):
        a = RegisterOperand(op.state, op.sources(1, "b32"), a_kind, signs[0])
    else:
        a = SharedOperand(op.state, op.source(1, "u64"), ROWS, a_kind, not any(a_by_columns), signs[0])

    def issue(lanes: np.ndarray) -> np.ndarray:
        if not len(lanes):
            return lanes
        first = lanes[:: WARPGROUP * WARP]  # a lane of each warpgroup
        units = op.state.warpgroups
        warpgroups, slots = units.warpgroup[first], op.state.slot[first]
        b_units = inside(op, b.units(first))
        read = [b_units.reshape(len(first), -1)]
        if isinstance(a, SharedOperand):
            a_units = inside(op, a.units(first))
            read.append(a_units.reshape(len(first), -1))
            left = a.numbers(a_units, slots)
        else:
            left = a.numbers(units.warps_of(warpgroups))
        products = left @ b.numbers(b_units, slots).swapaxes(1, 2)
        units.tell(op.site, acc, warpgroups, np.concatenate(read, axis=1), products, op.spread(adds())[first])
        return lanes

    return issue


def inside(op: Operation, units: np.ndarray) -> np.ndarray:
    """These addresses; byte 0 in place of an address beyond the block's shared memory, which is a finding."""
    size = op.state.shared.size
    beyond = units > size - UNIT
    if beyond.any():
        what = f"the tensor cores read byte {units.max():,} of shared memory, of which the block has {size:,}"
        op.notice(Hazard.OUTSIDE(tensor="shared memory"), what, int(beyond.sum()))
    return np.where(beyond, 0, units)


def watched(step: Step, op: Operation) -> Step:
    """The step, looked at where the instruction uses registers into which wgmmas add."""
    by_name = op.state.warpgroups.by_name
    names = (*read(op.instruction), *written(op.instruction))
    used = {id(acc): acc for name in names if (acc := by_name.get(name))}
    if not used:
        return step

    # The compiler's own, which need no fence: one register may be a first sum of 0 and the 0 for "does not add".
    moves = op.parts[0] in ("mov", "setp")

    def look_and_do(where: Where) -> None:
        every = np.arange(op.state.geometry.lanes // WARP)
        warps = every if where is True else every[of_warps(where).any(1)]  # of which some threads at least run it
        for acc in used.values():
            op.state.warpgroups.touch(op.site, acc, warps, moves)
        step(where)

    return look_and_do


OPCODES: dict[str, OpcodeDecoder] = {
    "wgmma.fence": lambda op: op.by_warps(op.state.warpgroups.fence),
    "wgmma.commit_group": lambda op: op.by_warps(lambda warps: op.state.warpgroups.products.commit(warps)),
    "wgmma.wait_group": lambda op: op.by_warps(partial(op.state.warpgroups.wait, open_groups=op.immediate(0))),
}
