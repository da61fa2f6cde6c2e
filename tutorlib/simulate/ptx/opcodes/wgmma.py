"""wgmma: matrix products of warpgroups (PTX ISA, 9.7.15)."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from tutorlib.dsl.failure import Hazard
from tutorlib.simulate.ptx import rounding
from tutorlib.simulate.ptx.errors import NotSimulated
from tutorlib.simulate.ptx.geometry import WARP, WARPGROUP
from tutorlib.simulate.ptx.ir import Immediate, Instruction, Operand, Register, Vector
from tutorlib.simulate.ptx.memory.matrix_descriptors import UNIT, MatrixDescriptor, read_descriptor
from tutorlib.simulate.ptx.opcodes.conversions import NARROW
from tutorlib.simulate.ptx.opcodes.elementwise import Decoder, Step
from tutorlib.simulate.ptx.opcodes.matrices import whole_warps
from tutorlib.simulate.ptx.state import State, Where
from tutorlib.simulate.ptx.tensor_cores import add_plainly, add_products_of
from tutorlib.simulate.ptx.types import bits_of
from tutorlib.simulate.ptx.uses import read, written
from tutorlib.simulate.ptx.warpgroups import THREADS, Accumulators

ROWS = 64  # of A and of the result
BYTES_OF_K = 32  # that one wgmma multiplies
NUMBERS: dict[str, Callable[[np.ndarray], np.ndarray]] = {  # bytes → fp32
    "bf16": lambda raw: rounding.from_bf16(raw.view(np.uint16)),
    "f16": lambda raw: raw.view(np.float16).astype(np.float32),
    "tf32": lambda raw: rounding.from_tf32(raw.view(np.uint32)),
    "e4m3": lambda raw: NARROW["e4m3"].values[raw],
    "e5m2": lambda raw: NARROW["e5m2"].values[raw],
    "e2m1": lambda raw: NARROW["e2m1"].values[np.stack([raw & 15, raw >> 4], -1).reshape(*raw.shape[:-1], -1)],
    **{
        f"padded {kind}": partial(lambda kind, raw: NARROW[kind].values[unpadded(raw, NARROW[kind].bits)], kind)
        for kind in ("e2m1", "e2m3", "e3m2")
    },
}


def unpadded(raw: np.ndarray, bits: int) -> np.ndarray:
    """Sixteen patterns of so many bits, which lie together in the first of 16 bytes each, (…, 16) → (…, 16)."""
    each = np.unpackbits(raw[..., : 2 * bits], axis=-1, bitorder="little").reshape(*raw.shape, bits)
    return np.packbits(each, axis=-1, bitorder="little")[..., 0]


@dataclass(frozen=True)
class SharedOperand:
    """A or B in shared memory. rows: of A, or columns of B. sign: 1 or -1."""

    state: State
    descriptors: np.ndarray
    rows: int
    kind: str
    k_major: bool
    sign: int

    @property
    def element(self) -> int:
        return bits_of(self.kind) // 8

    def units(self, lanes: np.ndarray) -> np.ndarray:
        """Addresses of the 16-byte units that these lanes' descriptors name, (lanes, …), in shared memory."""
        values = np.broadcast_to(self.descriptors, self.state.geometry.lanes)[lanes]
        made = {value: self.units_of(read_descriptor(value)) for value in set(values.tolist())}
        return np.stack([made[value] for value in values.tolist()])

    def units_of(self, descriptor: MatrixDescriptor) -> np.ndarray:
        if self.k_major:
            return descriptor.units(self.rows, BYTES_OF_K, True)
        return descriptor.units(self.rows * self.element, BYTES_OF_K // self.element, False)

    def numbers(self, units: np.ndarray, slots: np.ndarray) -> np.ndarray:
        """(warpgroups, rows, K) of what lies at these units now."""
        shared = self.state.shared
        at = units + (slots * shared.stride).reshape(-1, 1, 1)
        raw = shared.rows(1, UNIT)[at // UNIT]  # (warpgroups, rows or units, units or K, 16)
        values = NUMBERS[self.kind](np.ascontiguousarray(raw))
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
        """(warpgroups, 64, K). warps: (warpgroups, 4). Lane l has the (l % 4)-th part of row l / 4, in its second
        register of the row 8 below, in the third and fourth of the other half of K."""
        lanes = (warps[..., None] * WARP + np.arange(WARP)).reshape(-1)
        raw = np.stack([np.broadcast_to(r, self.state.geometry.lanes)[lanes] for r in self.registers], axis=1)
        values = NUMBERS[self.kind](np.ascontiguousarray(raw).view(np.uint8))  # (lanes, 4 · elements)
        parts = values.reshape(len(warps), WARPGROUP, 8, 4, 2, 2, -1)  # …, row, part, half of K, half of rows, element
        return self.sign * parts.transpose(0, 1, 5, 2, 4, 3, 6).reshape(len(warps), ROWS, -1)


def registers_of(names: Operand, instruction: Instruction) -> tuple[str, ...]:
    if not isinstance(names, Vector) or not all(isinstance(item, Register) for item in names.items):
        raise NotSimulated(str(instruction), instruction.line)
    return tuple(item.name for item in names.items if isinstance(item, Register))


def flag(operands: tuple[Operand, ...], at: int) -> int:
    """An immediate operand; 1 or 0, and -1 for a sign."""
    operand = operands[at]
    return int(operand.text, 0) if isinstance(operand, Immediate) else 0


Tell = Callable[[np.ndarray], None]  # takes the lanes of whole warpgroups


def multiplication(instruction: Instruction, site: int, state: State) -> Tell:
    """wgmma.mma_async.….m64nNkK.d.a.b {acc}, a, b, adds, sign of a, sign of b{, a by columns, b by columns}

    It ends a block of the program, since a warp waits there for the others of its warpgroup: see `schedule`.
    """
    if instruction.guard is not None:
        raise NotSimulated(f"{instruction} under a predicate", instruction.line)
    parts, operands = instruction.parts, instruction.operands
    shape, d_kind, a_kind, b_kind = parts[4:8]
    columns = int(shape[len("m64n") :].split("k")[0])
    if d_kind not in ("f32", "f16") or not {a_kind, b_kind} <= set(NUMBERS) or len(parts) != 8:
        raise NotSimulated(str(instruction), instruction.line)
    names = registers_of(operands[0], instruction)
    registers = [state.storage(item) for item in map(Register, names)]
    try:
        acc = state.units.warpgroups.acc(names, registers, packed=d_kind == "f16")
    except ValueError as error:
        raise NotSimulated(f"{instruction}: {error}: that", instruction.line) from error
    adds = state.predicate(operands[3], instruction)
    by_columns = operands[6:]
    in_registers = isinstance(operands[1], Vector)
    b_at = len(by_columns) - 1
    b = SharedOperand(state, state.source(operands[2], "u64", instruction), columns, b_kind,
                      not by_columns or not flag(by_columns, b_at), flag(operands, 5))  # fmt: skip
    if in_registers:
        assert isinstance(operands[1], Vector)
        given = [state.source(item, "b32", instruction) for item in operands[1].items]
        return partial(tell, site, state, acc, RegisterOperand(state, given, a_kind, flag(operands, 4)), b, adds)
    a = SharedOperand(state, state.source(operands[1], "u64", instruction), ROWS, a_kind,
                      not by_columns or not flag(by_columns, 0), flag(operands, 4))  # fmt: skip
    return partial(tell, site, state, acc, a, b, adds)


def tell(
    site: int,
    state: State,
    acc: Accumulators,
    a: SharedOperand | RegisterOperand,
    b: SharedOperand,
    adds: Callable[[], np.ndarray],
    lanes: np.ndarray,
) -> None:
    first = lanes[::THREADS]  # a lane of each warpgroup
    warpgroups, slots = state.units.warpgroups.warpgroup[first], state.slot[first]
    b_units = inside(b.units(first), site, state)
    read = [b_units.reshape(len(first), -1)]
    if isinstance(a, SharedOperand):
        a_units = inside(a.units(first), site, state)
        read.append(a_units.reshape(len(first), -1))
    else:
        held = a.numbers(state.units.warpgroups.warps_of(warpgroups))

    add_products = add_plainly if acc.packed else add_products_of(a.kind, b.kind)

    def multiply(which: np.ndarray, before: np.ndarray) -> np.ndarray:
        left = a.numbers(a_units[which], slots[which]) if isinstance(a, SharedOperand) else held[which]
        right = b.numbers(b_units[which], slots[which]).swapaxes(1, 2)
        return add_products(left, right, before)

    added = np.broadcast_to(adds(), state.geometry.lanes)[first]
    state.units.warpgroups.tell(site, acc, warpgroups, np.concatenate(read, axis=1), multiply, added.copy())


def inside(units: np.ndarray, site: int, state: State) -> np.ndarray:
    """These addresses; in place of one beyond the block's shared memory, which is a finding, byte 0."""
    size = state.shared.size
    beyond = units > size - UNIT
    if beyond.any():
        what = f"the tensor cores read byte {units.max():,} of shared memory, of which the block has {size:,}"
        state.watch.findings.notice(Hazard.OUTSIDE(tensor="shared memory"), site, lambda: what, int(beyond.sum()))
    return np.where(beyond, 0, units)


def of_warps_here(instruction: Instruction, site: int, state: State, does: Callable[[np.ndarray], None]) -> Step:
    return lambda where: does(whole_warps(where, instruction, site, state))


def fence(instruction: Instruction, site: int, state: State) -> Step:
    return of_warps_here(instruction, site, state, state.units.warpgroups.fence)


def commit(instruction: Instruction, site: int, state: State) -> Step:
    return of_warps_here(instruction, site, state, state.units.warpgroups.commit)


def wait(instruction: Instruction, site: int, state: State) -> Step:
    still_open = int(state.source(instruction.operands[0], "s32", instruction)[0])
    return of_warps_here(instruction, site, state, lambda warps: state.units.warpgroups.wait(warps, still_open))


def watched(step: Step, instruction: Instruction, site: int, state: State) -> Step:
    """The step, looked at where the instruction uses registers into which wgmmas add."""
    by_name = state.units.warpgroups.by_name
    used = {id(acc): acc for name in (*read(instruction), *written(instruction)) if (acc := by_name.get(name))}
    if not used:
        return step

    # The compiler's own, which need no fence: one register may be a first sum of 0 and the 0 for "does not add".
    moves = instruction.parts[0] in ("mov", "setp")

    def look_and_do(where: Where) -> None:
        warps = whole(where, state)
        for acc in used.values():
            state.units.warpgroups.touch(site, acc, warps, moves)
        step(where)

    return look_and_do


def whole(where: Where, state: State) -> np.ndarray:
    """The warps that run an instruction, some of their threads at least."""
    if where is True:
        return np.arange(state.geometry.lanes // WARP)
    return np.flatnonzero(where.reshape(-1, WARP).any(1))


OPCODES: dict[str, Decoder] = {
    "wgmma.fence": fence,
    "wgmma.commit_group": commit,
    "wgmma.wait_group": wait,
}
