"""tcgen05.…: tensor memory and what multiplies into it (PTX ISA, 9.7.16). Bf16, fp16 and fp8 from shared memory into
fp32, 128 rows for each block."""

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from tutorlib.simulate.ptx.errors import NotSimulated
from tutorlib.simulate.ptx.geometry import WARP
from tutorlib.simulate.ptx.ir import Address, Immediate, Instruction, Register, Vector
from tutorlib.simulate.ptx.mbarriers import MbarrierState
from tutorlib.simulate.ptx.memory.access import SharedAccess
from tutorlib.simulate.ptx.memory.matrix_descriptors import MatrixDescriptor
from tutorlib.simulate.ptx.opcodes.elementwise import Decoder, Step
from tutorlib.simulate.ptx.opcodes.loads import address_of, no_effect
from tutorlib.simulate.ptx.opcodes.matrices import whole_warps
from tutorlib.simulate.ptx.opcodes.mbarriers import numbered, places_of
from tutorlib.simulate.ptx.opcodes.wgmma import BYTES_OF_K, NUMBERS, SharedOperand, inside, registers_of
from tutorlib.simulate.ptx.state import State, Where
from tutorlib.simulate.ptx.tensor_cores import MODELED, add_products
from tutorlib.simulate.ptx.tensor_memory import LANES, column_of, fragment

Values = Callable[[np.ndarray], np.ndarray]  # of these lanes
SWIZZLES = {0: 0, 6: 1, 4: 2, 2: 3}  # the descriptor's highest three bits → bits of the swizzle
KINDS = {  # by the instruction's kind and its descriptor's code
    "f16": {0: "f16", 1: "bf16"},
    "tf32": {2: "tf32"},
    "f8f6f4": {0: "e4m3", 1: "e5m2"},
}
COLUMN = 4  # bytes of a lane


def pair_of(instruction: Instruction) -> bool:
    """Whether two blocks do this together."""
    return "cta_group::2" in instruction.parts


def tensor_address(instruction: Instruction, operand: int, state: State) -> Values:
    at = address_of(instruction.operands[operand], instruction, state)
    return lambda lanes: np.broadcast_to(at(), state.geometry.lanes)[lanes].astype(np.int64)


def matrix_of(value: int) -> MatrixDescriptor:
    """A 64-bit descriptor of an operand (PTX ISA, 9.7.16.4.1)."""
    return MatrixDescriptor(
        start=(value & 0x3FFF) << 4,
        leading=(value >> 16 & 0x3FFF) << 4,
        stride=(value >> 32 & 0x3FFF) << 4,
        bits=SWIZZLES[value >> 61],
    )


def one_change() -> np.ndarray:
    """The finding for an access to bytes that do not exist."""
    return np.ones(1, bool)


def allocate(instruction: Instruction, site: int, state: State) -> Step:
    """tcgen05.alloc [to], columns: writes where they begin to shared memory."""
    to = tensor_address(instruction, 0, state)
    columns = state.source(instruction.operands[1], "u32", instruction)

    def step(where: Where) -> None:
        for warp in whole_warps(where, instruction, site, state).tolist():
            lane = warp * WARP
            slot, number = divmod(warp, state.geometry.warps)
            start = state.units.tensor.allocate(
                site, slot, number, int(np.broadcast_to(columns, state.geometry.lanes)[lane])
            )
            ((_, at),) = places_of(to(np.array([lane])), np.array([slot]), state.geometry.cluster_size)
            access = SharedAccess(site, np.array([slot]), np.array([number * WARP]), np.array([at]), 4)
            state.watch.races.before_write(access, one_change, one_change)
            state.shared.rows(4, 1)[(slot * state.shared.stride + at) // 4] = start

    return step


def deallocate(instruction: Instruction, site: int, state: State) -> Step:
    """tcgen05.dealloc address, columns"""
    start, columns = (state.source(instruction.operands[n], "u32", instruction) for n in range(2))

    def step(where: Where) -> None:
        for warp in whole_warps(where, instruction, site, state).tolist():
            slot, number = divmod(warp, state.geometry.warps)
            at, count = (int(np.broadcast_to(x, state.geometry.lanes)[warp * WARP]) for x in (start, columns))
            state.units.tensor.free(site, slot, number, column_of(at)[1], count)

    return step


def multiply(instruction: Instruction, site: int, state: State) -> Step:
    """tcgen05.mma.cta_group.kind [accumulators], a, b, shapes and types{, {lanes that stay}}, adds"""
    parts, operands = instruction.parts, instruction.operands
    kind = next(part.split("::")[1] for part in parts if part.startswith("kind::"))
    if kind not in KINDS or {"ws", "sp", "ashift"} & set(parts):
        raise NotSimulated(str(instruction), instruction.line)
    pair = pair_of(instruction)
    to = tensor_address(instruction, 0, state)
    from_columns = tensor_address(instruction, 1, state) if isinstance(operands[1], Address) else None
    b = state.source(operands[2], "u64", instruction)
    a = b if from_columns else state.source(operands[1], "u64", instruction)
    shapes = state.source(operands[3], "u32", instruction)
    adds = state.predicate(operands[-1], instruction)

    def of(values: np.ndarray, lane: int) -> int:
        return int(np.broadcast_to(values, state.geometry.lanes)[lane])

    def step(where: Where) -> None:
        lanes = numbered(where, state)
        for lane, address in zip(lanes.tolist(), to(lanes).tolist(), strict=True):
            shape = of(shapes, lane)
            rows, columns = (shape >> 24 & 31) << 4, (shape >> 17 & 63) << 3
            if rows != LANES * (1 + pair) or shape >> 4 & 3 != 1:
                raise NotSimulated(f"{instruction} with M = {rows}", instruction.line)
            codes = [shape >> place & 7 for place in (7, 10)]
            if not set(codes) <= set(KINDS[kind]):
                raise NotSimulated(f"{instruction} of types {codes}", instruction.line)
            kinds = [KINDS[kind][code] for code in codes]
            signs = [-1 if shape >> place & 1 else 1 for place in (13, 14)]
            k_major = [not shape >> place & 1 for place in (15, 16)]
            slot = int(state.slot[lane])
            first = slot - slot % state.geometry.cluster_size % 2 if pair else slot
            slots = (first, first + 1) if pair else (slot,)
            sizes = LANES, columns // len(slots)
            one, two = (SharedOperand(state, *each) for each in zip((a, b), sizes, kinds, k_major, signs, strict=True))
            parts_b = [inside(two.units_of(matrix_of(of(b, lane))), site, state)] * len(slots)
            units = [part.reshape(-1) for part in parts_b]
            if from_columns:
                _, start = column_of(int(from_columns(np.array([lane]))[0]))
                of_a = np.arange(start, start + BYTES_OF_K // COLUMN)
                left = partial(numbers_in_columns, state, one, of_a)
            else:
                of_a = np.arange(0)
                units_a = inside(one.units_of(matrix_of(of(a, lane))), site, state)
                units = [np.concatenate([units_a.reshape(-1), own]) for own in units]
                left = partial(numbers_of, one, units_a)
            work = partial(product_of, left, one.kind, two, parts_b, slots)
            _, column = column_of(address)
            state.units.tensor.issue(site, lane, slots, column, columns, units, work, of(adds(), lane) != 0, of_a)

    return step


def numbers_of(operand: SharedOperand, units: np.ndarray, slot: int) -> np.ndarray:
    """(rows, K) of what lies at these units of a block's shared memory."""
    values: np.ndarray = operand.numbers(units[None], np.array([slot]))[0]
    return values


def numbers_in_columns(state: State, operand: SharedOperand, columns: np.ndarray, slot: int) -> np.ndarray:
    """(lanes, K) of an operand in these columns of a block's tensor memory."""
    assert state.units.tensor.values is not None
    raw = np.ascontiguousarray(state.units.tensor.values[slot][:, columns]).view(np.uint8)
    return operand.sign * NUMBERS[operand.kind](raw)


def product_of(
    left: Callable[[int], np.ndarray],
    kind: str,
    b: SharedOperand,
    units_b: Sequence[np.ndarray],
    slots: Sequence[int],
    before: Sequence[np.ndarray],
) -> list[np.ndarray]:
    """The accumulators of each block: its own rows of A, by the rows of B of all of them. kind: of A."""
    right = np.concatenate([numbers_of(b, units, slot) for units, slot in zip(units_b, slots, strict=True)])
    acc = []
    for slot, there in zip(slots, before, strict=True):
        if kind == b.kind and kind in MODELED:
            one, two, three = (x.astype(np.float64)[None] for x in (left(slot), right.T, there))
            acc.append(add_products(one, two, three)[0])
        else:
            acc.append((left(slot) @ right.T + there).astype(np.float32))
    return acc


def commit(instruction: Instruction, site: int, state: State) -> Step:
    """tcgen05.commit.cta_group.mbarrier::arrive::one [mbarrier]{, blocks}"""
    at = tensor_address(instruction, 0, state)
    multicast = any(part.startswith("multicast") for part in instruction.parts)
    blocks = state.source(instruction.operands[1], "u16", instruction) if multicast else None
    cluster = state.geometry.cluster_size

    def step(where: Where) -> None:
        lanes = numbered(where, state)
        for lane, (slot, place) in zip(lanes.tolist(), places_of(at(lanes), state.slot[lanes], cluster), strict=True):
            mask = int(np.broadcast_to(blocks, state.geometry.lanes)[lane]) if blocks is not None else 0
            first = slot - slot % cluster
            told: list[MbarrierState] = []
            for rank in range(cluster):
                if (mask or 1 << slot - first) >> rank & 1:
                    found = state.units.mbarriers.at(site, lane, (first + rank, place), "commits to")
                    told += [found] if found else []
            state.units.tensor.commit(site, lane, told)

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
    addresses = tensor_address(instruction, instruction.operands.index(at), state)
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
    "tcgen05.relinquish_alloc_permit": no_effect,
    "tcgen05.mma": multiply,
    "tcgen05.commit": commit,
    "tcgen05.ld": access,
    "tcgen05.st": access,
    "tcgen05.wait::ld": wait,
    "tcgen05.wait::st": wait,
    "tcgen05.fence::after_thread_sync": no_effect,
    "tcgen05.fence::before_thread_sync": no_effect,
}
