"""tcgen05.…: tensor memory and what multiplies into it (PTX ISA, 9.7.16). Dense products of floats into fp32."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from tutorlib.dsl.failure import Hazard
from tutorlib.simulate.ptx.errors import NotSimulated
from tutorlib.simulate.ptx.geometry import WARP
from tutorlib.simulate.ptx.ir import Address, Immediate, Instruction, Register, Vector
from tutorlib.simulate.ptx.memory.access import SharedAccess
from tutorlib.simulate.ptx.memory.matrix_descriptors import UNIT, MatrixDescriptor, read_descriptor
from tutorlib.simulate.ptx.opcodes.bulk import receivers
from tutorlib.simulate.ptx.opcodes.control import fence
from tutorlib.simulate.ptx.opcodes.conversions import NARROW
from tutorlib.simulate.ptx.opcodes.elementwise import Decoder, Step
from tutorlib.simulate.ptx.opcodes.loads import no_effect
from tutorlib.simulate.ptx.opcodes.matrices import whole_warps
from tutorlib.simulate.ptx.opcodes.mbarriers import address, numbered, places
from tutorlib.simulate.ptx.opcodes.wgmma import BYTES_OF_K, NUMBERS, SharedOperand, inside, registers_of, unpadded
from tutorlib.simulate.ptx.state import State, Where
from tutorlib.simulate.ptx.tensor_cores import AddProducts, add_products_of
from tutorlib.simulate.ptx.tensor_fragments import (
    LANES,
    QUARTER,
    Fragment,
    column_of,
    copy_fragment,
    fragment,
    matrix_fragment,
    strips_of,
)
from tutorlib.simulate.ptx.tensor_memory import TensorWork

SWIZZLES = {0: 0, 6: 1, 4: 2, 2: 3}  # the descriptor's highest three bits → bits of the swizzle
BYTES = {0: "e4m3", 1: "e5m2", 3: "padded e2m3", 4: "padded e3m2", 5: "padded e2m1"}
KINDS = {  # by the instruction's kind and its descriptor's code
    "f16": {0: "f16", 1: "bf16"},
    "tf32": {2: "tf32"},
    "f8f6f4": BYTES,
    "mxf8f6f4": BYTES,
    "mxf4": {1: "e2m1"},
    "mxf4nvf4": {1: "e2m1"},
}
COLUMN = 4  # bytes of a lane
BITS = {"b4x16_p64": 4, "b6x16_p32": 6}  # of a number in shared memory that tcgen05.cp gives a byte
BELOW = {4: 2, 6: 0}  # its place in that byte: so many bits lie below


def matrix_of(value: int) -> MatrixDescriptor:
    """A 64-bit descriptor of an operand (PTX ISA, 9.7.16.4.1)."""
    return read_descriptor(value, SWIZZLES[value >> 61])


def one_change() -> np.ndarray:
    """The finding for an access to bytes that do not exist."""
    return np.ones(1, bool)


def allocate(instruction: Instruction, site: int, state: State) -> Step:
    """tcgen05.alloc [to], columns: writes where they begin to shared memory."""
    to = places(instruction, 0, state)
    columns = state.source(instruction.operands[1], "u32", instruction)

    def step(where: Where) -> None:
        for warp in whole_warps(where, instruction, site, state).tolist():
            slot, number = divmod(warp, state.geometry.warps)
            start = state.units.tensor.allocate(site, slot, number, of_lane(columns, warp * WARP, state))
            ((_, at),) = to(np.array([warp * WARP]))
            if at + COLUMN > state.shared.size:
                says = f"tcgen05.alloc writes to byte {at:,} of shared memory, of which the block has "
                says += f"{state.shared.size:,}"
                state.watch.findings.notice(Hazard.OUTSIDE(tensor="shared memory"), site, partial(str, says))
                continue
            access = SharedAccess(site, np.array([warp * WARP]), np.array([at]), 4, np.array([slot]))
            state.watch.races.before_write(access, one_change, one_change)
            state.shared.rows(4, 1)[(slot * state.shared.stride + at) // 4] = start

    return step


def relinquish(instruction: Instruction, site: int, state: State) -> Step:
    def step(where: Where) -> None:
        warps = whole_warps(where, instruction, site, state)
        state.units.tensor.relinquished.update((warps // state.geometry.warps).tolist())

    return step


def deallocate(instruction: Instruction, site: int, state: State) -> Step:
    """tcgen05.dealloc address, columns"""
    start, columns = (state.source(instruction.operands[n], "u32", instruction) for n in range(2))

    def step(where: Where) -> None:
        for warp in whole_warps(where, instruction, site, state).tolist():
            slot, number = divmod(warp, state.geometry.warps)
            at, count = (of_lane(x, warp * WARP, state) for x in (start, columns))
            state.units.tensor.free(site, slot, number, column_of(at)[1], count)

    return step


def of_lane(values: np.ndarray, lane: int, state: State) -> int:
    return int(np.broadcast_to(values, state.geometry.lanes)[lane])


def slots_of(lane: int, instruction: Instruction, state: State) -> tuple[int, ...]:
    """The blocks that work for this lane: its own, or both of its pair."""
    slot = int(state.slot[lane])
    first = slot - slot % state.geometry.cluster_size % 2
    return (first, first + 1) if "cta_group::2" in instruction.parts else (slot,)


def copy(instruction: Instruction, site: int, state: State) -> Step:
    """tcgen05.cp.cta_group.shape{.multicast}{.b8x16.format} [to], descriptor; shape and multicast in any order"""
    to = address(instruction.operands[0], instruction, state)
    descriptors = state.source(instruction.operands[1], "u64", instruction)
    multicast = next((part for part in instruction.parts if part.startswith("warpx")), "")
    shape, *packed = (part for part in instruction.parts[3:] if part != multicast)
    bits = BITS[packed[1]] if packed else 0
    rows, place = copy_fragment(shape, multicast)

    def step(where: Where) -> None:
        lanes = numbered(where, state)
        for lane, into_address in zip(lanes.tolist(), to(lanes).tolist(), strict=True):
            slots = slots_of(lane, instruction, state)
            described = matrix_of(of_lane(descriptors, lane, state))
            units = described.units(int(rows.max()) + 1, place.lanes.shape[1] * COLUMN, True)
            first, column = column_of(into_address)
            into = place.at(first if len(rows) < LANES else 0, column)

            def bring(before: Sequence[np.ndarray], units: np.ndarray = units, slots: Sequence[int] = slots) -> Any:
                raw = (bytes_of(state, units, slot) for slot in slots)
                wide = (unpadded(each, bits) << BELOW[bits] if bits else each for each in raw)
                return [each.reshape(len(units), -1).view(np.float32)[rows] for each in wide]

            work = TensorWork(slots, into, False, bring)
            state.units.tensor.issue(site, lane, work, [units] * len(slots), np.arange(0), "tcgen05.cp")

    return step


def bytes_of(state: State, units: np.ndarray, slot: int) -> np.ndarray:
    """(…, 16) of what lies at these units of a block's shared memory."""
    return np.asarray(state.shared.rows(1, UNIT)[(units + slot * state.shared.stride) // UNIT])


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


def scales_of(instruction: Instruction, shape: int, at: tuple[int, int]) -> Scales:
    """shape: the instruction's descriptor."""
    vector = 16 if {"scale_vec::4X", "block16"} & set(instruction.parts) else 32
    return Scales("ue8m0" if shape >> 23 & 1 else "ue4m3", vector, at, (shape >> 29 & 3, shape >> 4 & 3))


def multiply(instruction: Instruction, site: int, state: State) -> Step:
    """tcgen05.mma.cta_group.kind [accumulators], a, b, shapes and types{, [scales], [scales]}{, {lanes kept}}, adds"""
    parts, operands = set(instruction.parts), instruction.operands
    kind = next(part.split("::")[1] for part in instruction.parts if part.startswith("kind::"))
    apart, scaled, pair = "ws" in parts, "block_scale" in parts, "cta_group::2" in parts
    if kind not in KINDS or {"sp", "ashift"} & parts or (apart and len(operands) > 5):
        raise NotSimulated(str(instruction), instruction.line)
    to = address(operands[0], instruction, state)
    from_columns = address(operands[1], instruction, state) if isinstance(operands[1], Address) else None
    b = state.source(operands[2], "u64", instruction)
    a = b if from_columns else state.source(operands[1], "u64", instruction)
    shapes = state.source(operands[3], "u32", instruction)
    scales_at = [address(operands[n], instruction, state) for n in (4, 5)] if scaled else []
    adds = state.predicate(operands[-1], instruction)

    def step(where: Where) -> None:
        lanes = numbered(where, state)
        for lane, into_address in zip(lanes.tolist(), to(lanes).tolist(), strict=True):
            shape, one = of_lane(shapes, lane, state), np.array([lane])
            height, columns = (shape >> 24 & 31) << 4, (shape >> 17 & 63) << 3
            rows = height >> pair
            halves = rows < LANES and not (apart or pair)
            if rows not in (LANES, LANES // 2, *[LANES // 4] * apart) or (not scaled and shape >> 4 & 3 != 1):
                raise NotSimulated(f"{instruction} with M = {height}", instruction.line)
            codes = [shape >> 7 & 7, shape >> 10 & (3 if len(KINDS[kind]) == 1 and scaled else 7)]
            k_major = [not shape >> place & 1 for place in (15, 16)]
            if not set(codes) <= set(KINDS[kind]) or (scaled and (shape >> 31 or shape >> 3 & 1)):
                raise NotSimulated(f"{instruction} of types {codes}", instruction.line)
            kinds = [KINDS[kind][code] for code in codes]
            signs = [-1 if shape >> place & 1 else 1 for place in (13, 14)]
            slots = slots_of(lane, instruction, state)
            sizes = rows, columns // len(slots)
            left, right = (
                SharedOperand(state, *each) for each in zip((a, b), sizes, kinds, k_major, signs, strict=True)
            )
            units_b = inside(right.units_of(matrix_of(of_lane(b, lane, state))), site, state)
            units, uses = units_b.reshape(-1), np.arange(0)
            if from_columns:
                if rows < LANES and not halves:
                    raise NotSimulated(f"{instruction} with A in tensor memory and M = {height}", instruction.line)
                first, start = column_of(int(from_columns(one)[0]))
                there = matrix_fragment(rows, BYTES_OF_K // COLUMN, halves).at(first if halves else 0, start)
                uses, numbers_a = there.strips, partial(numbers_in, state, left, there)
            else:
                units_a = inside(left.units_of(matrix_of(of_lane(a, lane, state))), site, state)
                units, numbers_a = np.concatenate([units_a.reshape(-1), units]), partial(numbers_of, left, units_a)
            first, column = column_of(into_address)
            into = matrix_fragment(rows, columns, halves).at(first if halves else 0, column)
            product: Product = partial(sums, add_products_of(left.kind, right.kind))
            if scaled:
                at_a, at_b = (column_of(int(at(one)[0]))[1] for at in scales_at)
                scales = scales_of(instruction, shape, (at_a, at_b))
                uses = np.union1d(uses, scales.strips(rows, columns))
                product = partial(scaled_sums, scales, state)
            does = partial(products, numbers_a, partial(numbers_of, right, units_b), product, slots)
            work = TensorWork(slots, into, of_lane(adds(), lane, state) != 0, does)
            state.units.tensor.issue(site, lane, work, [units] * len(slots), uses)

    return step


Numbers = Callable[[int], np.ndarray]  # of a block
Product = Callable[[np.ndarray, np.ndarray, np.ndarray, int], np.ndarray]  # of A, B, what is there, and a block


def numbers_of(operand: SharedOperand, units: np.ndarray, slot: int) -> np.ndarray:
    """(rows, K) of what lies at these units of a block's shared memory."""
    values: np.ndarray = operand.numbers(units[None], np.array([slot]))[0]
    return values


def numbers_in(state: State, operand: SharedOperand, there: Fragment, slot: int) -> np.ndarray:
    """(rows, K) of an operand there in a block's tensor memory."""
    raw = np.ascontiguousarray(state.units.tensor.values[slot][there.lanes, there.columns]).view(np.uint8)
    kind = operand.kind.removeprefix("padded ")
    if kind == operand.kind:
        return operand.sign * NUMBERS[kind](raw)
    narrow = NARROW[kind]
    return operand.sign * narrow.values[raw >> BELOW[narrow.bits] & (1 << narrow.bits) - 1]


def products(
    a: Numbers, b: Numbers, product: Product, slots: Sequence[int], before: Sequence[np.ndarray]
) -> list[np.ndarray]:
    """What then is in each block: its own rows of A, by the rows of B of all of them."""
    right = np.concatenate([b(slot) for slot in slots])
    return [product(a(slot), right, there, slot) for slot, there in zip(slots, before, strict=True)]


def sums(add_products: AddProducts, a: np.ndarray, b: np.ndarray, before: np.ndarray, slot: int) -> np.ndarray:
    return add_products(a[None], b.T[None], before[None])[0]


def scaled_sums(
    scales: Scales, state: State, a: np.ndarray, b: np.ndarray, before: np.ndarray, slot: int
) -> np.ndarray:
    return scales.product(a, b, state.units.tensor.values[slot]) + before


def commit(instruction: Instruction, site: int, state: State) -> Step:
    """tcgen05.commit.cta_group.mbarrier::arrive::one [mbarrier]{, blocks}"""
    at, told_to = places(instruction, 0, state), receivers(instruction, 1, state)

    def step(where: Where) -> None:
        lanes = numbered(where, state)
        found = at(lanes)
        for lane, (_, place), slots in zip(lanes.tolist(), found, told_to(lanes, found), strict=True):
            told = (state.units.mbarriers.at(site, lane, (slot, place), "commits to") for slot in slots)
            state.units.tensor.commit(site, lane, [mbarrier for mbarrier in told if mbarrier])

    return step


def access(instruction: Instruction, site: int, state: State) -> Step:
    """tcgen05.ld.sync.aligned.shape.xN.b32 {registers}, [address]{, column}, and tcgen05.st [address]{, column}, {…}"""
    stores = instruction.parts[1] == "st"
    at, *given = instruction.operands if stores else (*instruction.operands[1:], instruction.operands[0])
    shape, times = instruction.parts[4], int(instruction.parts[5].removeprefix("x"))
    if set(instruction.parts) & {"pack::16b", "unpack::16b"}:
        raise NotSimulated(str(instruction), instruction.line)
    second = int(given[0].text, 0) if isinstance(given[0], Immediate) else 0
    where = fragment(shape, times, second)
    addresses = address(at, instruction, state)
    registers: list[np.ndarray]
    if stores:
        items = given[-1].items if isinstance(given[-1], Vector) else (given[-1],)
        lanes = state.geometry.lanes
        registers = [np.broadcast_to(state.source(item, "b32", instruction), lanes) for item in items]
    else:
        registers = [state.storage(Register(name)) for name in registers_of(given[-1], instruction)]
    tensor = state.units.tensor
    does = tensor.store if stores else tensor.load

    def step(running: Where) -> None:
        for warp in whole_warps(running, instruction, site, state).tolist():
            does(site, warp, addresses(np.arange(warp * WARP, (warp + 1) * WARP)), registers, where)

    return step


def wait(instruction: Instruction, site: int, state: State) -> Step:
    """tcgen05.wait::ld and tcgen05.wait::st"""
    stores = instruction.parts[1] == "wait::st"
    return lambda where: state.units.tensor.wait(whole_warps(where, instruction, site, state), stores)


OPCODES: dict[str, Decoder] = {
    "tcgen05.alloc": allocate,
    "tcgen05.dealloc": deallocate,
    "tcgen05.relinquish_alloc_permit": relinquish,
    "tcgen05.cp": copy,
    "tcgen05.mma": multiply,
    "tcgen05.commit": commit,
    "tcgen05.ld": access,
    "tcgen05.st": access,
    "tcgen05.wait::ld": wait,
    "tcgen05.wait::st": wait,
    "tcgen05.fence::after_thread_sync": no_effect,
    "tcgen05.fence::before_thread_sync": fence,
}
