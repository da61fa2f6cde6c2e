"""cp.async.bulk: TMA, told by a thread to copy a box of a tensor, or bytes (PTX ISA, 9.7.9.25.4 and 9.7.9.27)."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from tutorlib.dsl.failure import Fault, Hazard
from tutorlib.simulate.ptx.bulk_copies import UNIT, BulkLoad, Keep
from tutorlib.simulate.ptx.errors import NotSimulated
from tutorlib.simulate.ptx.geometry import WARP
from tutorlib.simulate.ptx.ir import Address, Instruction, Operand
from tutorlib.simulate.ptx.mbarriers import SharedPlace
from tutorlib.simulate.ptx.memory.access import GlobalAccess
from tutorlib.simulate.ptx.memory.tensor_maps import BYTES, TensorMap, read_tensor_map, swizzle_units
from tutorlib.simulate.ptx.memory.windows import PARAM
from tutorlib.simulate.ptx.opcodes.elementwise import Decoder, Step
from tutorlib.simulate.ptx.opcodes.loads import no_effect
from tutorlib.simulate.ptx.opcodes.mbarriers import Values, address, number, numbered, places, places_of, value_of
from tutorlib.simulate.ptx.state import State, Where

AT_SHARED = 128  # bytes to whose multiples a box goes
KNOWN = {"cp", "async", "bulk", "tensor", "tile", "mbarrier", "multicast", "L2", "bulk_group", "global", "shared",
         "cta_group", "1d", "2d", "3d", "4d", "5d"}  # fmt: skip


@dataclass(frozen=True)
class BoxOperand:
    """[descriptor, {x, y, …}]"""

    state: State
    instruction: Instruction
    site: int
    operand: Operand

    def reader(self) -> Values:
        """For each lane the descriptor's address, and the coordinates."""
        operand = self.operand
        if not isinstance(operand, Address) or not operand.coordinates:
            raise NotSimulated(str(self.instruction), self.instruction.line)
        instruction, state = self.instruction, self.state
        at = [address(Address(operand.base, operand.offset), instruction, state)]
        at += [number(coordinate, "s32", instruction, state) for coordinate in operand.coordinates]
        return lambda lanes: np.stack([values(lanes) for values in at], axis=1)

    def described(self, lane: int, descriptor: int, dimensions: int) -> TensorMap | None:
        """The tensor that a lane's descriptor names; None, and a finding, where there is none."""
        try:
            described = read_tensor_map(self.descriptor(descriptor))
        except ValueError:
            self.notice(lane, "is told to copy by a descriptor that describes no tensor")
            return None
        start = described.address - self.state.arena.address
        if len(described.shape) != dimensions:
            what = f"has {dimensions} coordinates for a tensor of {len(described.shape)}"
            self.notice(lane, what, Hazard.OUTSIDE(tensor="coordinates"))
        elif not self.state.arena.holds(start, start + described.extent):
            nearest = self.state.arena.nearest(start)
            name = nearest.name if nearest else "every tensor"
            self.notice(lane, f"is told to copy by a descriptor that reaches beyond {name}")
        else:
            return described
        return None

    def descriptor(self, place: int) -> bytes:
        raw = self.state.parameters if place >= PARAM else self.state.arena.bytes
        at = place - (PARAM if place >= PARAM else self.state.arena.address)
        return raw[at : at + BYTES].tobytes() if 0 <= at <= len(raw) - BYTES else bytes(BYTES)

    def notice(self, lane: int, what: str, fault: Hazard | Fault = Hazard.OUTSIDE) -> None:
        notice(self.state, self.site, lane, what, fault)


def notice(state: State, site: int, lane: int, what: str, fault: Hazard | Fault) -> None:
    """A finding about what TMA does for a lane's thread."""
    who = state.geometry.show_thread(lane)
    state.watch.findings.notice(fault, site, lambda: f"TMA, for {who}, {what}")


def units_of(described: TensorMap, start: int) -> np.ndarray:
    """The addresses in shared memory of the box's units of 16 bytes, in the order of the box."""
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
    """Whether TMA takes the box's place in shared memory; a finding if not."""
    if start % AT_SHARED:
        wrong = f"moves a box at byte {start:,} of shared memory, no multiple of {AT_SHARED}"
        notice(state, site, lane, wrong, Hazard.MISALIGNED)
        return False
    return ends_inside(state, site, lane, start + described.bytes)


def ends_inside(state: State, site: int, lane: int, end: int) -> bool:
    """Whether the block has this many bytes of shared memory; a finding if not."""
    room = state.shared.size
    if end > room:
        wrong = f"reaches byte {end - 1:,} of shared memory, of which the block has {room:,}"
        notice(state, site, lane, wrong, Hazard.OUTSIDE)
    return end <= room


def receivers(
    instruction: Instruction, operand: int, state: State
) -> Callable[[np.ndarray, list[SharedPlace]], list[list[int]]]:
    """For each of these lanes and its place, the slots of the blocks that have a copy there: those whose ranks the mask
    of a multicast has, or the one."""
    cluster = state.geometry.cluster_size
    multicast = any(part.startswith("multicast") for part in instruction.parts)
    mask = number(instruction.operands[operand], "u16", instruction, state) if multicast else None

    def of(lanes: np.ndarray, places: list[SharedPlace]) -> list[list[int]]:
        masks = mask(lanes).tolist() if mask else [0] * len(lanes)
        return [
            [slot - slot % cluster + rank for rank in range(cluster) if (ranks or 1 << slot % cluster) >> rank & 1]
            for (slot, _), ranks in zip(places, masks, strict=True)
        ]

    return of


def tensor_load(instruction: Instruction, site: int, state: State) -> Step:
    """cp.async.bulk.tensor.….shared.global.tile.mbarrier [to], [descriptor, {x, y}], [mbarrier]{, blocks}{, policy}"""
    operands = instruction.operands
    operand = BoxOperand(state, instruction, site, operands[1])
    to, counted = (places(instruction, n, state) for n in (0, 2))
    boxes, cluster, copied_to = operand.reader(), state.geometry.cluster_size, receivers(instruction, 3, state)
    # Of a pair's two blocks an mbarrier's address without the bit that tells them apart names the first one's.
    pair = "cta_group::2" in instruction.parts

    def step(where: Where) -> None:
        lanes = numbered(where, state)
        copies: list[BulkLoad] = []
        starts = to(lanes)
        told = zip(lanes.tolist(), boxes(lanes).tolist(), starts, counted(lanes), copied_to(lanes, starts), strict=True)
        for lane, (descriptor, *at), (_, start), (_, bar), slots in told:
            described = operand.described(lane, descriptor, len(at))
            if described is None or not box_fits(state, site, lane, start, described):
                continue
            element = described.at(at)
            if described.misses(element):
                notice_zeros(state, site, lane, tuple(at), described)
            if state.watch.overlaps.before:
                places_read = element_starts(state, described, described.inside(element)[0])
                state.watch.overlaps.on_bulk_load(told_by(state, site, lane, places_read, described.element))
            units, fetch = units_of(described, start), fetcher(state, described, element)
            for slot in slots:
                counting = slot - slot % cluster % 2 if pair else slot
                mbarrier = state.units.mbarriers.counting(site, lane, (counting, bar))
                copies.append(BulkLoad(site, lane, slot, units, fetch, mbarrier, padding=described.padding))
        state.units.bulk.load(copies)

    return step


def notice_zeros(state: State, site: int, lane: int, at: tuple[int, ...], described: TensorMap) -> None:
    def what() -> str:
        who, place, shape = state.geometry.show_thread(lane), at[::-1], described.shape[::-1]
        return f"TMA, for {who}, loads a box at {place} of a tensor of {shape}: nothing but zeros"

    state.watch.zeros.notice(Hazard.ZEROS, site, what)


def fetcher(state: State, described: TensorMap, at: tuple[int, ...]) -> Callable[[], np.ndarray]:
    """A box's bytes as units of 16, zeros where it lies outside of the tensor."""
    whole, part = described.inside(at)

    def fetch() -> np.ndarray:
        data = np.zeros((*described.box[::-1], described.padded), np.uint8)
        data[part[::-1]][..., : described.element] = tensor_bytes(state, described)[whole[::-1]]
        return data.reshape(-1, UNIT)

    return fetch


def tensor_store(instruction: Instruction, site: int, state: State) -> Step:
    """cp.async.bulk.tensor.….global.shared.tile.bulk_group [descriptor, {x, y}], [from]{, policy}

    Threads of one warp that tell the same count as one: what is uniform in a warp the machine does once.
    """
    operand = BoxOperand(state, instruction, site, instruction.operands[0])
    boxes, of = operand.reader(), address(instruction.operands[1], instruction, state)

    def step(where: Where) -> None:
        lanes = numbered(where, state)
        told = np.column_stack([lanes // WARP, of(lanes), boxes(lanes)])
        _, once = np.unique(told, axis=0, return_index=True)
        copies: list[tuple[int, np.ndarray, Keep]] = []
        for n in np.sort(once).tolist():
            lane, (_, start, descriptor, *at) = int(lanes[n]), told[n].tolist()
            ((_, start),) = places_of(np.array([start]), state.slot[lane : lane + 1], state.geometry.cluster_size)
            described = operand.described(lane, descriptor, len(at))
            if described is not None and box_fits(state, site, lane, start, described):
                keep = keeper(state, site, lane, described, described.at(at))
                copies.append((lane, units_of(described, start), keep))
        state.units.bulk.store(site, copies)

    return step


def keeper(state: State, site: int, lane: int, described: TensorMap, at: tuple[int, ...]) -> Keep:
    """Puts a box's bytes where they lie inside of the tensor."""
    whole, part = described.inside(at)

    def keep(units: np.ndarray) -> None:
        data = units.reshape(*described.box[::-1], described.padded)[part[::-1]][..., : described.element]
        there = tensor_bytes(state, described)[whole[::-1]]
        overlaps = state.watch.overlaps
        if data.size:
            starts = element_starts(state, described, whole)
            different = (data != there).any(-1).reshape(-1)
            overlaps.before_bulk_store(told_by(state, site, lane, starts, described.element), lambda: different)
        there[...] = data

    return keep


def told_by(state: State, site: int, lane: int, starts: np.ndarray, width: int) -> GlobalAccess:
    return GlobalAccess(site, np.full(len(starts), lane), starts, width, state.kernel.instructions[site])


def element_starts(state: State, described: TensorMap, whole: tuple[slice, ...]) -> np.ndarray:
    """The places in the arena of these elements of the tensor, the contiguous mode fastest."""
    at = np.array([described.address - state.arena.address])
    for stride, part in zip(described.strides[::-1], whole[::-1], strict=True):
        at = (at[:, None] + np.arange(part.start, part.stop) * stride).reshape(-1)
    return at


def plain_load(instruction: Instruction, site: int, state: State) -> Step:
    """cp.async.bulk.shared.global.mbarrier [to], [from], bytes, [mbarrier]{, blocks}{, policy}"""
    to, counted = (places(instruction, n, state) for n in (0, 3))
    of, sizes = address(instruction.operands[1], instruction, state), value_of(instruction, 2, state)
    copied_to = receivers(instruction, 4, state)

    def step(where: Where) -> None:
        lanes = numbered(where, state)
        copies: list[BulkLoad] = []
        starts = to(lanes)
        runs = zip(of(lanes).tolist(), sizes(lanes).tolist(), strict=True)
        told = zip(lanes.tolist(), runs, starts, counted(lanes), copied_to(lanes, starts), strict=True)
        for lane, (source, size), (_, start), (_, bar), slots in told:
            if not run_fits(state, site, lane, start, source, size):
                continue
            if state.watch.overlaps.before:
                at = source - state.arena.address
                state.watch.overlaps.on_bulk_load(told_by(state, site, lane, np.arange(at, at + size, UNIT), UNIT))
            units, fetch = np.arange(start, start + size, UNIT), partial(run_of, state, source, size)
            for slot in slots:
                mbarrier = state.units.mbarriers.counting(site, lane, (slot, bar))
                copies.append(BulkLoad(site, lane, slot, units, fetch, mbarrier))
        state.units.bulk.load(copies)

    return step


def run_of(state: State, source: int, size: int) -> np.ndarray:
    """Bytes of global memory, as units."""
    at = source - state.arena.address
    return np.asarray(state.arena.bytes[at : at + size].reshape(-1, UNIT))


def plain_store(instruction: Instruction, site: int, state: State) -> Step:
    """cp.async.bulk.global.shared.bulk_group [to], [from], bytes{, policy}"""
    to, of = address(instruction.operands[0], instruction, state), places(instruction, 1, state)
    sizes = value_of(instruction, 2, state)

    def step(where: Where) -> None:
        lanes = numbered(where, state)
        copies: list[tuple[int, np.ndarray, Keep]] = []
        told = zip(lanes.tolist(), to(lanes).tolist(), sizes(lanes).tolist(), of(lanes), strict=True)
        for lane, target, size, (_, start) in told:
            if run_fits(state, site, lane, start, target, size):
                copies.append((lane, np.arange(start, start + size, UNIT), run_keeper(state, site, lane, target)))
        state.units.bulk.store(site, copies)

    return step


def run_keeper(state: State, site: int, lane: int, target: int) -> Keep:
    at = target - state.arena.address

    def keep(units: np.ndarray) -> None:
        there = state.arena.bytes[at : at + units.size].reshape(-1, UNIT)
        overlaps = state.watch.overlaps
        starts, different = np.arange(at, at + units.size, UNIT), (units != there).any(1)
        overlaps.before_bulk_store(told_by(state, site, lane, starts, UNIT), lambda: different)
        there[...] = units

    return keep


def run_fits(state: State, site: int, lane: int, start: int, place: int, size: int) -> bool:
    """Whether TMA can copy this many bytes between these addresses; a finding if not."""
    at = place - state.arena.address
    if start % UNIT or place % UNIT or size % UNIT:
        what = f"copies {size:,} bytes between byte {start:,} of shared memory and an address in global memory"
        notice(state, site, lane, f"{what}: all three must be multiples of {UNIT}", Hazard.MISALIGNED)
        return False
    if not ends_inside(state, site, lane, start + size):
        return False
    if not state.arena.holds(at, at + size):
        nearest = state.arena.nearest(at)
        name = nearest.name if nearest else "every tensor"
        notice(state, site, lane, f"copies {size:,} bytes that reach beyond {name}", Hazard.OUTSIDE)
        return False
    return True


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
        case False, ["shared", "global"]:
            return plain_load(instruction, site, state)
        case False, ["global", "shared"]:
            return plain_store(instruction, site, state)
    raise NotSimulated(str(instruction), instruction.line)


def commit(instruction: Instruction, site: int, state: State) -> Step:
    return lambda where: state.units.bulk.commit(numbered(where, state))


def wait(instruction: Instruction, site: int, state: State) -> Step:
    """cp.async.bulk.wait_group{.read} n. Threads of the block cannot tell when bytes have reached global memory."""
    still_open = int(state.source(instruction.operands[0], "s32", instruction)[0])
    return lambda where: state.units.bulk.wait(numbered(where, state), still_open)


OPCODES: dict[str, Decoder] = {
    "cp.async.bulk": copy,
    "cp.async.bulk.commit_group": commit,
    "cp.async.bulk.wait_group": wait,
    "cp.async.bulk.prefetch": no_effect,
}
