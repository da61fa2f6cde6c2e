"""tcgen05.…: tensor memory and what multiplies into it (PTX ISA, 9.7.16). Bf16, fp16 and fp8 from shared memory into
fp32, 128 rows for each block."""

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from tutorlib.simulate.ptx.errors import NotSimulated
from tutorlib.simulate.ptx.geometry import WARP
from tutorlib.simulate.ptx.ir import Address, Instruction, Register
from tutorlib.simulate.ptx.mbarriers import MbarrierState
from tutorlib.simulate.ptx.memory.access import SharedAccess
from tutorlib.simulate.ptx.memory.matrix_descriptors import MatrixDescriptor
from tutorlib.simulate.ptx.opcodes.elementwise import Decoder, Step
from tutorlib.simulate.ptx.opcodes.loads import address_of, no_effect
from tutorlib.simulate.ptx.opcodes.matrices import whole_warps
from tutorlib.simulate.ptx.opcodes.mbarriers import numbered, places_of
from tutorlib.simulate.ptx.opcodes.wgmma import BYTES_OF_K, SharedOperand, registers_of
from tutorlib.simulate.ptx.state import State, Where
from tutorlib.simulate.ptx.tensor_cores import MODELED, add_products
from tutorlib.simulate.ptx.tensor_memory import LANES, column_of

Values = Callable[[np.ndarray], np.ndarray]  # of these lanes
SWIZZLES = {0: 0, 6: 1, 4: 2, 2: 3}  # the descriptor's highest three bits → bits of the swizzle
KINDS = {"f16": ("f16", "bf16"), "f8f6f4": ("e4m3", "e5m2")}  # by the instruction's kind and its descriptor's code


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
    if kind not in KINDS or isinstance(operands[1], Address):
        raise NotSimulated(str(instruction), instruction.line)
    pair = pair_of(instruction)
    to = tensor_address(instruction, 0, state)
    a, b = (state.source(operands[n], "u64", instruction) for n in (1, 2))
    shapes = state.source(operands[3], "u32", instruction)
    adds = state.predicate(operands[-1], instruction)

    def of(values: np.ndarray, lane: int) -> int:
        return int(np.broadcast_to(values, state.geometry.lanes)[lane])

    def step(where: Where) -> None:
        lanes = numbered(where, state)
        for lane, address in zip(lanes.tolist(), to(lanes).tolist(), strict=True):
            shape = of(shapes, lane)
            rows, columns = (shape >> 24 & 31) << 4, (shape >> 17 & 63) << 3
            if rows != LANES * (1 + pair) or shape >> 4 & 3 != 1 or shape >> 15 & 3:
                raise NotSimulated(f"{instruction} with M = {rows} or transposed operands", instruction.line)
            kinds = [KINDS[kind][shape >> place & 7] for place in (7, 10)]
            signs = [-1 if shape >> place & 1 else 1 for place in (13, 14)]
            slot = int(state.slot[lane])
            first = slot - slot % state.geometry.cluster_size % 2 if pair else slot
            slots = (first, first + 1) if pair else (slot,)
            parts_a, parts_b = (
                [matrix_of(of(values, lane)).units(size, BYTES_OF_K, True) for _ in slots]
                for values, size in ((a, LANES), (b, columns // len(slots)))
            )
            one, two = (
                SharedOperand(state, values, size, name, True, sign)
                for values, size, name, sign in zip((a, b), (LANES, columns), kinds, signs, strict=True)
            )
            work = partial(product_of, one, two, parts_a, parts_b, slots)
            units = [np.concatenate([x.reshape(-1), y.reshape(-1)]) for x, y in zip(parts_a, parts_b, strict=True)]
            _, column = column_of(address)
            state.units.tensor.issue(site, lane, slots, column, columns, units, work, of(adds(), lane) != 0)

    return step


def product_of(
    a: SharedOperand,
    b: SharedOperand,
    units_a: Sequence[np.ndarray],
    units_b: Sequence[np.ndarray],
    slots: Sequence[int],
    before: Sequence[np.ndarray],
) -> list[np.ndarray]:
    """The accumulators of each block: its own rows of A, by the rows of B of all of them."""

    def numbers(operand: SharedOperand, units: np.ndarray, slot: int) -> np.ndarray:
        values: np.ndarray = operand.numbers(units[None], np.array([slot])).reshape(len(units), -1)
        return values

    right = np.concatenate([numbers(b, units, slot) for units, slot in zip(units_b, slots, strict=True)])
    acc = []
    for units, slot, there in zip(units_a, slots, before, strict=True):
        left = numbers(a, units, slot)
        if a.kind == b.kind and a.kind in MODELED:
            one, two, three = (x.astype(np.float64)[None] for x in (left, right.T, there))
            acc.append(add_products(one, two, three)[0])
        else:
            acc.append((left @ right.T + there).astype(np.float32))
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


def load(instruction: Instruction, site: int, state: State) -> Step:
    """tcgen05.ld.sync.aligned.32x32b.xN.b32 {registers}, [address]: lane l of a warp reads N columns of its row."""
    if "32x32b" not in instruction.parts or "pack::16b" in instruction.parts:
        raise NotSimulated(str(instruction), instruction.line)
    registers = tuple(state.storage(Register(name)) for name in registers_of(instruction.operands[0], instruction))
    at = tensor_address(instruction, 1, state)

    def step(where: Where) -> None:
        for warp in whole_warps(where, instruction, site, state).tolist():
            addresses = at(np.arange(warp * WARP, (warp + 1) * WARP))
            state.units.tensor.load(site, warp, addresses, registers)

    return step


def wait(instruction: Instruction, site: int, state: State) -> Step:
    """tcgen05.wait::ld"""

    return lambda where: state.units.tensor.wait(whole_warps(where, instruction, site, state))


OPCODES: dict[str, Decoder] = {
    "tcgen05.alloc": allocate,
    "tcgen05.dealloc": deallocate,
    "tcgen05.relinquish_alloc_permit": no_effect,
    "tcgen05.mma": multiply,
    "tcgen05.commit": commit,
    "tcgen05.ld": load,
    "tcgen05.wait::ld": wait,
    "tcgen05.fence::after_thread_sync": no_effect,
    "tcgen05.fence::before_thread_sync": no_effect,
}
