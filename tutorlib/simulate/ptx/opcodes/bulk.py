"""cp.async.bulk: TMA, told by a thread to copy a box of a tensor (PTX ISA, 9.7.9.25.4 and 9.7.9.27)."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from tutorlib.simulate.ptx.bulk_copies import UNIT, BulkLoad, Keep
from tutorlib.simulate.ptx.errors import NotSimulated
from tutorlib.simulate.ptx.ir import Address, Instruction, Operand
from tutorlib.simulate.ptx.mbarriers import SharedPlace
from tutorlib.simulate.ptx.memory.tensor_maps import BYTES, TensorMap, read_tensor_map, swizzle_units
from tutorlib.simulate.ptx.memory.windows import PARAM
from tutorlib.simulate.ptx.opcodes.elementwise import Decoder, Step
from tutorlib.simulate.ptx.opcodes.loads import address_of, no_effect
from tutorlib.simulate.ptx.opcodes.mbarriers import numbered, places_of
from tutorlib.simulate.ptx.state import State, Where

AT_SHARED = 128  # bytes to whose multiples a box goes
KNOWN = {"cp", "async", "bulk", "tensor", "tile", "mbarrier", "multicast", "L2", "bulk_group", "global", "shared",
         "1d", "2d", "3d", "4d", "5d"}  # fmt: skip


@dataclass(frozen=True)
class Operands:
    """Values of one thread at a time, by lane."""

    state: State
    instruction: Instruction

    def number(self, operand: Operand, kind: str) -> Callable[[int], int]:
        values = self.state.source(operand, kind, self.instruction)
        return lambda lane: int(values[lane if values.size > 1 else 0])

    def address(self, operand: Operand) -> Callable[[int], int]:
        addresses = address_of(operand, self.instruction, self.state)

        def read(lane: int) -> int:
            values = addresses()
            return int(values[lane if values.size > 1 else 0])

        return read

    def place(self, operand: Operand) -> Callable[[int], SharedPlace]:
        """Whose shared memory, and where in it."""
        address = self.address(operand)
        state = self.state

        def read(lane: int) -> SharedPlace:
            at = np.array([address(lane)], np.uint64)
            return places_of(at, state.slot[lane : lane + 1], state.geometry.cluster_size)[0]

        return read


@dataclass(frozen=True)
class BoxOperand:
    """[descriptor, {x, y, …}]"""

    state: State
    instruction: Instruction
    site: int
    operand: Operand

    def reader(self) -> Callable[[int], tuple[TensorMap, tuple[int, ...]] | None]:
        """The tensor and the box's place in it, for one lane; None, and a finding, where there is no tensor."""
        operand = self.operand
        if not isinstance(operand, Address) or not operand.coordinates:
            raise NotSimulated(str(self.instruction), self.instruction.line)
        values = Operands(self.state, self.instruction)
        address = values.address(Address(operand.base, operand.offset))
        at = [values.number(coordinate, "s32") for coordinate in operand.coordinates]

        def read(lane: int) -> tuple[TensorMap, tuple[int, ...]] | None:
            try:
                described = read_tensor_map(self.descriptor(address(lane)))
            except ValueError:
                self.notice(lane, "outside", "is told to copy by a descriptor that describes no tensor")
                return None
            if len(described.shape) != len(at):
                self.notice(lane, "outside", f"has {len(at)} coordinates for a tensor of {len(described.shape)}")
                return None
            start = described.address - self.state.arena.address
            if not self.state.arena.holds(start, start + described.extent):
                nearest = self.state.arena.nearest(start)
                name = nearest.name if nearest else "every tensor"
                self.notice(lane, "outside", f"is told to copy by a descriptor that reaches beyond {name}")
                return None
            return described, tuple(of(lane) for of in at)

        return read

    def descriptor(self, address: int) -> bytes:
        raw = self.state.parameters if address >= PARAM else self.state.arena.bytes
        at = address - (PARAM if address >= PARAM else self.state.arena.address)
        return raw[at : at + BYTES].tobytes() if 0 <= at <= len(raw) - BYTES else bytes(BYTES)

    def notice(self, lane: int, kind: str, what: str) -> None:
        state = self.state
        who = f"thread {state.thread[lane]} of block {state.geometry.show_block(state.first + int(state.slot[lane]))}"
        state.watch.findings.notice(kind, self.site, lambda: f"TMA, for {who}, {what}")  # type: ignore[arg-type]


def units_of(described: TensorMap, start: int) -> np.ndarray:
    """Where the box's units of 16 bytes lie in shared memory, in the order of the box."""
    if start % 1024 == 0:
        return start + described.places
    return swizzle_units(start + np.arange(0, described.bytes, UNIT), described.swizzle)


def tensor_bytes(state: State, described: TensorMap) -> np.ndarray:
    """The tensor as TMA sees it: (modes, the slowest first; bytes of an element)."""
    start = described.address - state.arena.address
    shape, strides = described.shape[::-1], described.strides[::-1]
    flat = state.arena.bytes[start : start + described.extent]
    return np.lib.stride_tricks.as_strided(flat, (*shape, described.element), (*strides, 1))


def box_fits(state: State, site: int, lane: int, start: int, described: TensorMap) -> bool:
    """Whether the box's place in shared memory is one that TMA takes; a finding where it is not."""
    size, notice = state.shared.size, state.watch.findings.notice
    who = f"thread {state.thread[lane]} of block {state.geometry.show_block(state.first + int(state.slot[lane]))}"
    if start % AT_SHARED:
        wrong = f"moves a box at byte {start:,} of shared memory, no multiple of {AT_SHARED}"
        notice("misaligned", site, lambda: f"TMA, for {who}, {wrong}")
        return False
    if start + described.bytes > size:
        last = start + described.bytes - 1
        wrong = f"reaches byte {last:,} of shared memory, of which the block has {size:,}"
        notice("outside", site, lambda: f"TMA, for {who}, {wrong}")
        return False
    return True


def tensor_load(instruction: Instruction, site: int, state: State) -> Step:
    """cp.async.bulk.tensor.….shared.global.tile.mbarrier [to], [descriptor, {x, y}], [mbarrier]{, blocks}{, policy}"""
    values = Operands(state, instruction)
    operands = instruction.operands
    to, box = values.place(operands[0]), BoxOperand(state, instruction, site, operands[1]).reader()
    counted = values.place(operands[2])
    multicast = any(part.startswith("multicast") for part in instruction.parts)
    blocks = values.number(operands[3], "u16") if multicast else None

    def step(where: Where) -> None:
        copies: list[BulkLoad] = []
        for lane in numbered(where, state).tolist():
            if (found := box(lane)) is None:
                continue
            described, at = found
            (slot, start), (_, address) = to(lane), counted(lane)
            if not box_fits(state, site, lane, start, described):
                continue
            first = slot - slot % state.geometry.cluster_size
            mask = blocks(lane) if blocks else 1 << slot - first
            starts, fetch = units_of(described, start), fetcher(state, described, at)
            for rank in range(state.geometry.cluster_size):
                if mask >> rank & 1:
                    mbarrier = state.units.mbarriers.at(site, lane, (first + rank, address), "has TMA count on")
                    copies.append(BulkLoad(site, lane, first + rank, starts, fetch, mbarrier))
        state.units.bulk.load(copies)

    return step


def fetcher(state: State, described: TensorMap, at: tuple[int, ...]) -> Callable[[], np.ndarray]:
    """A box's bytes as units of 16, zeros where it lies outside of the tensor."""
    whole, part = described.inside(at)

    def fetch() -> np.ndarray:
        data = np.zeros((*described.box[::-1], described.element), np.uint8)
        data[part[::-1]] = tensor_bytes(state, described)[whole[::-1]]
        return data.reshape(-1, UNIT)

    return fetch


def tensor_store(instruction: Instruction, site: int, state: State) -> Step:
    """cp.async.bulk.tensor.….global.shared.tile.bulk_group [descriptor, {x, y}], [from]{, policy}

    Threads of one warp that tell the same count as one: what is uniform in a warp the machine does once.
    """
    values = Operands(state, instruction)
    box = BoxOperand(state, instruction, site, instruction.operands[0]).reader()
    of = values.place(instruction.operands[1])

    def step(where: Where) -> None:
        copies: list[tuple[int, np.ndarray, Keep]] = []
        told: set[tuple[object, ...]] = set()
        for lane in numbered(where, state).tolist():
            if (found := box(lane)) is None:
                continue
            described, at = found
            _, start = of(lane)
            key = (lane // 32, described, at, start)
            if key in told or not box_fits(state, site, lane, start, described):
                continue
            told.add(key)
            copies.append((lane, units_of(described, start), keeper(state, site, lane, described, at)))
        state.units.bulk.store(site, copies)

    return step


def keeper(state: State, site: int, lane: int, described: TensorMap, at: tuple[int, ...]) -> Keep:
    """Puts a box's bytes where they lie inside of the tensor."""
    whole, part = described.inside(at)
    block = state.first + int(state.slot[lane])

    def keep(units: np.ndarray) -> None:
        data = units.reshape(*described.box[::-1], described.element)[part[::-1]]
        there = tensor_bytes(state, described)[whole[::-1]]
        overlaps = state.watch.overlaps
        if overlaps is not None and data.size:
            starts = element_starts(state, described, whole)
            different = (data != there).any(-1).reshape(-1)
            overlaps.before_store(site, np.full(len(starts), block), starts, described.element, lambda: different)
        there[...] = data

    return keep


def element_starts(state: State, described: TensorMap, whole: tuple[slice, ...]) -> np.ndarray:
    """The places in the arena of these elements of the tensor, the contiguous mode fastest."""
    at = np.array([described.address - state.arena.address])
    for stride, part in zip(described.strides[::-1], whole[::-1], strict=True):
        at = (at[:, None] + np.arange(part.start, part.stop) * stride).reshape(-1)
    return at


def copy(instruction: Instruction, site: int, state: State) -> Step:
    """One of the copies above, by its direction."""
    spaces = [part.split("::")[0] for part in instruction.parts if part.split("::")[0] in ("global", "shared")]
    if {part.split("::")[0] for part in instruction.parts} - KNOWN:
        raise NotSimulated(str(instruction), instruction.line)
    match ("tensor" in instruction.parts, spaces):
        case True, ["shared", "global"]:
            return tensor_load(instruction, site, state)
        case True, ["global", "shared"]:
            return tensor_store(instruction, site, state)
    raise NotSimulated(str(instruction), instruction.line)


def commit(instruction: Instruction, site: int, state: State) -> Step:
    return lambda where: state.units.bulk.commit(numbered(where, state))


def wait(instruction: Instruction, site: int, state: State) -> Step:
    """cp.async.bulk.wait_group{.read} n. That the bytes are in global memory, too, nobody in the block can tell."""
    still_open = int(state.source(instruction.operands[0], "s32", instruction)[0])
    return lambda where: state.units.bulk.wait(numbered(where, state), still_open)


OPCODES: dict[str, Decoder] = {
    "cp.async.bulk": copy,
    "cp.async.bulk.commit_group": commit,
    "cp.async.bulk.wait_group": wait,
    "cp.async.bulk.prefetch": no_effect,
}
