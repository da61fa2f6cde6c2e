"""tcgen05.…: tensor memory and what multiplies into it (PTX ISA, 9.7.16). Dense products of floats into fp32."""

from dataclasses import dataclass
from functools import partial

import numpy as np

from tutorlib.simulate.ptx import descriptors
from tutorlib.simulate.ptx.descriptors import LANES, QUARTER, UNIT, Fragment, MatrixDescriptor, column_of, strips_of
from tutorlib.simulate.ptx.findings import NotSimulated
from tutorlib.simulate.ptx.geometry import WARP
from tutorlib.simulate.ptx.ir import Address, Register
from tutorlib.simulate.ptx.memory import rows_of
from tutorlib.simulate.ptx.opcodes.bulk import receivers
from tutorlib.simulate.ptx.opcodes.loads import no_effect
from tutorlib.simulate.ptx.opcodes.synchronization import fence
from tutorlib.simulate.ptx.opcodes.wgmma import BYTES_OF_K, SharedOperand, inside
from tutorlib.simulate.ptx.operation import OpcodeDecoder, Operation
from tutorlib.simulate.ptx.ports import SharedPort
from tutorlib.simulate.ptx.state import Step
from tutorlib.simulate.ptx.types import NARROW, from_bits

SWIZZLES = {0: 0, 6: 1, 4: 2, 2: 3}  # the descriptor's highest three bits → bits of the swizzle
BYTES = {0: "e4m3", 1: "e5m2"}
KINDS = {  # by the instruction's kind and its descriptor's code
    "f16": {0: "f16", 1: "bf16"},
    "tf32": {2: "tf32"},
    "f8f6f4": BYTES,
    "mxf8f6f4": BYTES,
    "mxf4": {1: "e2m1"},
    "mxf4nvf4": {1: "e2m1"},
}
COLUMN = 4  # bytes of a lane


def matrix_of(value: int) -> MatrixDescriptor:
    """A 64-bit descriptor of an operand (PTX ISA, 9.7.16.4.1)."""
    return descriptors.read_descriptor(value, SWIZZLES[value >> 61])


# tensor memory --------------------------------------------------------------------------------------------------


def allocate(op: Operation) -> Step:
    """tcgen05.alloc [to], columns: writes where they begin to shared memory."""
    port, to, columns = SharedPort(op, COLUMN, 1, "writes"), op.addresses(0), op.values(1, "u32")

    def allocate_for(warps: np.ndarray) -> None:
        each = zip(warps.tolist(), columns(warps * WARP).tolist(), strict=True)
        starts = np.array([op.state.tensor.allocate(op.site, warp, count) for warp, count in each], np.uint32)
        at = to() & to().dtype.type(0xFFFFFFFF)
        port.write(op.state.geometry.flags(warps * WARP), at, starts[:, None])

    return op.by_warps(allocate_for)


def deallocate(op: Operation) -> Step:
    """tcgen05.dealloc address, columns"""
    start, columns = (op.values(n, "u32") for n in range(2))

    def free(warps: np.ndarray) -> None:
        lanes = warps * WARP
        for warp, at, count in zip(warps.tolist(), start(lanes).tolist(), columns(lanes).tolist(), strict=True):
            op.state.tensor.free(op.site, warp, column_of(at)[1], count)

    return op.by_warps(free)


def access(op: Operation) -> Step:
    """tcgen05.ld.sync.aligned.shape.xN.b32 {registers}, [address]{, column}, and tcgen05.st [address]{, column}, {…}"""
    stores = op.parts[1] == "st"
    op.need(not {"pack::16b", "unpack::16b"} & set(op.parts))
    shape, times = op.parts[4], int(op.parts[5].removeprefix("x"))
    items = len(op.operands) - 1 if stores else 0
    second = op.immediate(1 if stores else 2) if len(op.operands) > 2 else 0
    where, addresses = descriptors.fragment(shape, times, second), op.addresses_of_lanes(0 if stores else 1)
    if stores:
        registers = [op.spread(each) for each in op.sources(items, "b32")]
    else:
        registers = [op.state.storage(Register(name)) for name in op.register_names(0)]

    def move(warps: np.ndarray) -> None:
        for warp in warps.tolist():
            given = addresses(np.arange(warp * WARP, (warp + 1) * WARP))
            op.state.tensor.access(op.site, warp, given, registers, where, stores)

    return op.by_warps(move)


# copies ---------------------------------------------------------------------------------------------------------


def slots_of(op: Operation, lane: int) -> tuple[int, ...]:
    """The blocks that work for this lane: its own, or both of its pair."""
    slot = int(op.state.slot[lane])
    first = slot - slot % op.state.geometry.cluster_size % 2
    return (first, first + 1) if "cta_group::2" in op.parts else (slot,)


def commit(op: Operation) -> Step:
    """tcgen05.commit.cta_group.mbarrier::arrive::one [mbarrier]{, blocks}"""
    at, told_to = op.places(0), receivers(op, 1)

    def commit_for(lanes: np.ndarray) -> None:
        found = at(lanes)
        for lane, (_, place), slots in zip(lanes.tolist(), found, told_to(lanes, found), strict=True):
            told = (op.state.mbarriers.at(op.site, lane, (slot, place), "commits to") for slot in slots)
            op.state.tensor.commit(op.site, lane, [mbarrier for mbarrier in told if mbarrier])

    return op.by_lanes(commit_for)


def copy(op: Operation) -> Step:
    """tcgen05.cp.cta_group.shape{.multicast} [to], descriptor; shape and multicast in any order"""
    to, sources, state = op.addresses_of_lanes(0), op.source(1, "u64"), op.state
    multicast = next((part for part in op.parts if part.startswith("warpx")), "")
    (shape,) = (part for part in op.parts[3:] if part != multicast)
    rows, place = descriptors.copy_fragment(shape, multicast)

    def copy_for(lanes: np.ndarray) -> None:
        values = op.spread(sources)[lanes].tolist()
        for lane, into_address, value in zip(lanes.tolist(), to(lanes).tolist(), values, strict=True):
            slots = slots_of(op, lane)
            units = matrix_of(value).units(int(rows.max()) + 1, place.lanes.shape[1] * COLUMN, True)
            first, column = column_of(into_address)
            into = place.at(first if len(rows) < LANES else 0, column)

            if op.state.tensor.issue(op.site, lane, slots, into, units, np.arange(0), "tcgen05.cp"):
                for slot in slots:
                    raw = rows_of(state.shared.bytes, 1, UNIT)[(units + slot * state.shared.stride) // UNIT]
                    filled = raw.reshape(len(units), -1).view(np.float32)[rows]
                    op.state.tensor.values[slot][into.lanes, into.columns] = filled

    return op.by_lanes(copy_for)


# products -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Scales:
    """Factors in tensor memory, one for each `vector` elements of K: those of row r in lane r % 32 of each quarter, in
    the column r // 32, a byte each (PTX ISA, 9.7.16.10). A quarter's products take its own.

    at: the first columns, of A's and of B's. first: the first byte in them.
    """

    kind: str
    vector: int
    at: tuple[int, int]
    first: tuple[int, int]

    def strips(self, rows: int, columns: int) -> np.ndarray:
        wide = columns * rows // LANES
        sizes = (-(-extent // QUARTER) for extent in (rows, wide))
        return np.concatenate([strips_of(*each) for each in zip(self.at, sizes, strict=True)])

    def of(self, which: int, held: np.ndarray, extent: int, k: int) -> np.ndarray:
        """(quarters, extent, K). which: 0 for A's. held: a block's tensor memory."""
        row, quarter = np.arange(extent), np.arange(LANES // QUARTER)[:, None]
        byte = COLUMN * (self.at[which] + row // QUARTER) + self.first[which]
        place = quarter * QUARTER + row % QUARTER, byte
        patterns = np.stack([held.view(np.uint8)[place[0], place[1] + n] for n in range(k // self.vector)], -1)
        return np.repeat(NARROW[self.kind].values[patterns].astype(np.float64), self.vector, axis=-1)

    def product(self, a: np.ndarray, b: np.ndarray, held: np.ndarray) -> np.ndarray:
        """A·Bᵀ, (rows, columns), of (rows, K) and (columns, K), by quarters: each has 32 rows of A, and half of the
        columns where A does not fill the lanes."""
        (rows, k), quarters = a.shape, np.arange(LANES // QUARTER)
        wide, each = len(b) * rows // LANES, rows // QUARTER
        left = (a * self.of(0, held, rows, k)).reshape(-1, each, QUARTER, k)[quarters, quarters % each]
        right = b.reshape(-1, wide, k)[quarters // each] * self.of(1, held, wide, k)
        by_quarter: np.ndarray = left @ right.swapaxes(1, 2)
        return by_quarter.reshape(-1, rows, wide).swapaxes(0, 1).reshape(rows, -1)


def read_shape(op: Operation, value: int, kind: str) -> tuple[int, int, list[tuple[str, bool, int]]]:
    """What the 32-bit descriptor of an instruction says (PTX ISA, 9.7.16.4.2): rows of A in each block; columns; and of
    A and B the type, whether K is contiguous, and the sign. Raises NotSimulated for what it does not read."""
    apart, scaled, pair = "ws" in op.parts, "block_scale" in op.parts, "cta_group::2" in op.parts
    height, types = (value >> 24 & 31) << 4, KINDS[kind]
    rows = height >> pair
    if rows not in (LANES, LANES // 2, *[LANES // 4] * apart) or (not scaled and value >> 4 & 3 != 1):
        raise NotSimulated(f"{op.instruction} with M = {height}", op.instruction.line)
    codes = [value >> 7 & 7, value >> 10 & (3 if len(types) == 1 and scaled else 7)]
    if not set(codes) <= set(types) or (scaled and (value >> 31 or value >> 3 & 1)):
        raise NotSimulated(f"{op.instruction} of types {codes}", op.instruction.line)
    each = zip(codes, (15, 16), (13, 14), strict=True)
    about = [(types[code], not value >> major & 1, -1 if value >> sign & 1 else 1) for code, major, sign in each]
    return rows, (value >> 17 & 63) << 3, about


def multiply(op: Operation) -> Step:
    """tcgen05.mma.cta_group.kind [accumulators], a, b, shapes and types{, [scales], [scales]}{, {lanes kept}}, adds"""
    parts, state, tensor = set(op.parts), op.state, op.state.tensor
    kind = next(part.split("::")[1] for part in op.parts if part.startswith("kind::"))
    apart, scaled, pair = "ws" in parts, "block_scale" in parts, "cta_group::2" in parts
    op.need(kind in KINDS and not {"sp", "ashift"} & parts and not (apart and len(op.operands) > 5))
    to = op.addresses_of_lanes(0)
    from_columns = op.addresses_of_lanes(1) if isinstance(op.operands[1], Address) else None
    b = op.source(2, "u64")
    a = b if from_columns else op.source(1, "u64")
    shapes, adds = op.values(3, "u32"), op.predicate(op.operands[-1])
    scales_at = [op.addresses_of_lanes(n) for n in (4, 5)] if scaled else []

    def multiply_for(lane: int) -> None:
        lanes, slots = np.array([lane]), slots_of(op, lane)
        shape = int(shapes(lanes)[0])
        rows, columns, about = read_shape(op, shape, kind)
        halves = rows < LANES and not (apart or pair)
        each = zip((a, b), (rows, columns // len(slots)), about, strict=True)
        left, right = (SharedOperand(state, source, extent, *of, matrix_of) for source, extent, of in each)
        units_b = inside(op, right.units(lanes))
        units, uses = units_b.reshape(-1), np.arange(0)
        if from_columns:
            if rows < LANES and not halves:
                what = f"{op.instruction} with A in tensor memory and M = {rows << pair}"
                raise NotSimulated(what, op.instruction.line)
            first, start = column_of(int(from_columns(lanes)[0]))
            there = descriptors.matrix_fragment(rows, BYTES_OF_K // COLUMN, halves).at(first if halves else 0, start)
            uses, numbers_a = there.strips, partial(numbers_in, op, left, there)
        else:
            units_a = inside(op, left.units(lanes))
            units, numbers_a = np.concatenate([units_a.reshape(-1), units]), partial(left.numbers, units_a)
        first, column = column_of(int(to(lanes)[0]))
        into = descriptors.matrix_fragment(rows, columns, halves).at(first if halves else 0, column)
        scales = None
        if scaled:
            at_a, at_b = (column_of(int(at(lanes)[0]))[1] for at in scales_at)
            kind_of_scales, first_bytes = "ue8m0" if shape >> 23 & 1 else "ue4m3", (shape >> 29 & 3, shape >> 4 & 3)
            vector = 16 if {"scale_vec::4X", "block16"} & parts else 32
            scales = Scales(kind_of_scales, vector, (at_a, at_b), first_bytes)
            uses = np.union1d(uses, scales.strips(rows, columns))
        if not tensor.issue(op.site, lane, slots, into, units, uses, "tcgen05.mma"):
            return
        right_of_all = np.concatenate([right.numbers(units_b, np.array([slot]))[0] for slot in slots])
        for slot in slots:  # its own rows of A, by the rows of B of all of them
            held, (a_numbers,) = tensor.values[slot], numbers_a(np.array([slot]))
            product = scales.product(a_numbers, right_of_all, held) if scales else a_numbers @ right_of_all.T
            if op.spread(adds())[lane]:
                product += held[into.lanes, into.columns]
            held[into.lanes, into.columns] = product

    return op.by_lanes(lambda lanes: list(map(multiply_for, lanes.tolist())))


def numbers_in(op: Operation, operand: SharedOperand, there: Fragment, slots: np.ndarray) -> np.ndarray:
    """(slots, rows, K) of an operand there in the tensor memory of blocks."""
    held = op.state.tensor.values[slots.reshape(-1, 1, 1), there.lanes, there.columns]
    raw = np.ascontiguousarray(held).view(np.uint8)
    return operand.sign * from_bits(raw, operand.kind).astype(np.float32, copy=False)


OPCODES: dict[str, OpcodeDecoder] = {
    "tcgen05.alloc": allocate,
    "tcgen05.dealloc": deallocate,
    "tcgen05.relinquish_alloc_permit": lambda op: op.by_warps(op.state.tensor.relinquish),
    "tcgen05.cp": copy,
    "tcgen05.mma": multiply,
    "tcgen05.commit": commit,
    **dict.fromkeys(("tcgen05.ld", "tcgen05.st"), access),
    "tcgen05.wait::ld": lambda op: op.by_warps(partial(op.state.tensor.wait, stores=False)),
    "tcgen05.wait::st": lambda op: op.by_warps(partial(op.state.tensor.wait, stores=True)),
    "tcgen05.fence::after_thread_sync": no_effect,
    "tcgen05.fence::before_thread_sync": fence,
}
