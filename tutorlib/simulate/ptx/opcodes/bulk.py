"""cp.async.bulk: TMA, told by a thread to copy a box of a tensor, or bytes (PTX ISA, 9.7.9.25.4 and 9.7.9.27).
cp.reduce.async.bulk combines it with what is in global memory.

Two relatives are here, too. st.async stores into the shared memory of a block of the cluster, whose bytes an mbarrier
there counts (9.7.9.12). tensormap.replace and tensormap.cp_fenceproxy change TMA's descriptors (9.7.9.28): where a
field lies in the 128 bytes is not documented; it is what `descriptors` reads.
"""

from collections.abc import Callable
from functools import partial

import numpy as np

from tutorlib.dsl.failure import Hazard
from tutorlib.simulate.ptx.copies import BulkLoad, Keep
from tutorlib.simulate.ptx.descriptors import BYTES, UNIT, TensorMap, read_tensor_map, swizzle_units
from tutorlib.simulate.ptx.findings import NotSimulated
from tutorlib.simulate.ptx.geometry import WARP
from tutorlib.simulate.ptx.ir import Address
from tutorlib.simulate.ptx.mbarriers import SharedPlace
from tutorlib.simulate.ptx.memory import PARAM, Access
from tutorlib.simulate.ptx.opcodes.loads import COMBINE, no_effect, ports, shape_of, step_through
from tutorlib.simulate.ptx.operation import LaneValues, OpcodeDecoder, Operation
from tutorlib.simulate.ptx.ports import GlobalPort, Port, SharedPort
from tutorlib.simulate.ptx.state import Step, Where, as_index
from tutorlib.simulate.ptx.types import bits_of, from_bits, to_bits

AT_SHARED = 128  # bytes to whose multiples a box goes
KNOWN = "async bulk tensor tile mbarrier multicast L2 bulk_group global shared cta_group 1d 2d 3d 4d 5d reduce noftz"
REDUCTIONS = " ".join(COMBINE)
Box = tuple[TensorMap, tuple[int, ...]]  # a tensor, and the first element of the box in it


class CannotCopy(Exception):
    """TMA cannot copy what a thread asks for: the end of a sentence about TMA, and the fault, if it is not OUTSIDE."""


# what a thread asks for ----------------------------------------------------------------------------------------


def asked(op: Operation, which: int) -> LaneValues:
    """For each lane, of [descriptor, {x, y, …}] the descriptor's address and the coordinates; of [address] in global
    memory, that and how many bytes."""
    operand = op.operands[which]
    if "tensor" not in op.parts:
        values = [op.addresses_of_lanes(which), op.values(2, "u32")]
    else:
        op.need(isinstance(operand, Address) and operand.coordinates)
        assert isinstance(operand, Address)
        coordinates = [op.values(coordinate, "s32") for coordinate in operand.coordinates]
        values = [op.addresses_of_lanes(Address(operand.base, operand.offset)), *coordinates]
    return lambda lanes: np.stack([of(lanes) for of in values], axis=1)


def box_of(op: Operation, lane: int, start: int, place: int, numbers: list[int]) -> Box | None:
    """What a lane has asked for, to be at `start` in shared memory; None, and a finding, where TMA cannot copy it."""
    try:
        return box_asked(op, start, place, numbers)
    except CannotCopy as error:
        what, fault = (*error.args, Hazard.OUTSIDE)[:2]
        op.notice(fault, f"TMA, for {op.state.geometry.show_thread(lane)}, {what}")
        return None


def box_asked(op: Operation, start: int, place: int, numbers: list[int]) -> Box:
    """Raises CannotCopy."""
    in_tensor, arena, room = "tensor" in op.parts, op.state.arena, op.state.shared.size
    if in_tensor:
        described = tensor_of(op, place, len(numbers))
        at, size = (numbers[0] // described.numbers, *numbers[1:]), described.bytes
        if start % AT_SHARED:
            wrong = f"moves a box at byte {start:,} of shared memory, no multiple of {AT_SHARED}"
            raise CannotCopy(wrong, Hazard.MISALIGNED)
    else:
        (size,), at = numbers, (0,)
        units = (size // UNIT,)
        described = TensorMap(place, UNIT, units, (UNIT,), units, swizzle=0, numbers=1, kind="b128")
        if start % UNIT or place % UNIT or size % UNIT:
            what = f"copies {size:,} bytes between byte {start:,} of shared memory and an address in global memory"
            raise CannotCopy(f"{what}: all three must be multiples of {UNIT}", Hazard.MISALIGNED)
    if start + size > room:
        raise CannotCopy(f"reaches byte {start + size - 1:,} of shared memory, of which the block has {room:,}")
    first = place - arena.address
    if not in_tensor and not arena.holds(first, first + size):
        raise CannotCopy(f"copies {size:,} bytes that reach beyond {nearest(op, first)}")
    return described, at


def tensor_of(op: Operation, descriptor: int, dimensions: int) -> TensorMap:
    """The tensor that a descriptor describes. Raises CannotCopy."""
    arena = op.state.arena
    raw, first = (op.state.parameters, PARAM) if descriptor >= PARAM else (arena.bytes, arena.address)
    at = descriptor - first
    try:
        described = read_tensor_map(raw[at : at + BYTES].tobytes() if 0 <= at <= len(raw) - BYTES else bytes(BYTES))
    except ValueError:
        raise CannotCopy("is told to copy by a descriptor that describes no tensor") from None
    start = described.address - arena.address
    if len(described.shape) != dimensions:
        what = f"has {dimensions} coordinates for a tensor of {len(described.shape)}"
        raise CannotCopy(what, Hazard.OUTSIDE(tensor="coordinates"))
    if not arena.holds(start, start + described.extent):
        raise CannotCopy(f"is told to copy by a descriptor that reaches beyond {nearest(op, start)}")
    return described


def nearest(op: Operation, place: int) -> str:
    found = op.state.arena.nearest(place)
    return found.name if found else "every tensor"


def receivers(op: Operation, operand: int) -> Callable[[np.ndarray, list[SharedPlace]], list[list[int]]]:
    """For each of these lanes and its place, the slots of the blocks that have a copy there: those whose ranks the mask
    of a multicast has, or the block that is named."""
    cluster = op.state.geometry.cluster_size
    mask = op.values(operand, "u16") if "multicast" in op.words else None

    def of(lanes: np.ndarray, places: list[SharedPlace]) -> list[list[int]]:
        masks = mask(lanes).tolist() if mask else [0] * len(lanes)
        return [
            [slot - slot % cluster + rank for rank in range(cluster) if (ranks or 1 << slot % cluster) >> rank & 1]
            for (slot, _), ranks in zip(places, masks, strict=True)
        ]

    return of


# copies ---------------------------------------------------------------------------------------------------------


def copy(op: Operation) -> Step:
    op.need_known(f"{KNOWN} {REDUCTIONS}" if "reduce" in op.parts else KNOWN)
    spaces = [word for word in op.words if word in ("global", "shared")]
    op.need(spaces in (["shared", "global"], ["global", "shared"]))
    return load(op) if spaces[0] == "shared" else store(op)


def load(op: Operation) -> Step:
    """cp.async.bulk.tensor.….shared.global.tile.mbarrier [to], [descriptor, {x, y}], [mbarrier]{, blocks}{, policy},
    and cp.async.bulk.shared.global.mbarrier [to], [from], bytes, [mbarrier]{, blocks}{, policy}"""
    counting = 2 if "tensor" in op.parts else 3
    to, of, counted, copied_to = op.places(0), asked(op, 1), op.places(counting), receivers(op, counting + 1)
    overlaps, cluster = op.state.overlaps, op.state.geometry.cluster_size
    # Of a pair's two blocks an mbarrier's address without the bit that tells them apart names the first one's.
    pair = "cta_group::2" in op.parts

    def load_for(lanes: np.ndarray) -> None:
        copies, starts = [], to(lanes)
        told = zip(lanes.tolist(), of(lanes).tolist(), starts, counted(lanes), copied_to(lanes, starts), strict=True)
        for lane, (place, *numbers), (_, start), (_, bar), slots in told:
            if (box := box_of(op, lane, start, place, numbers)) is None:
                continue
            described, at = box
            whole, _ = described.inside(at)
            if any(part.start == part.stop for part in whole):
                where = f"a box at {tuple(numbers[::-1])} of a tensor of {described.shape[::-1]}"
                thread = op.state.geometry.show_thread(lane)
                op.notice(Hazard.ZEROS, f"TMA, for {thread}, loads {where}: nothing but zeros")
            if op.state.arena.before:
                overlaps.on_bulk_load(access_of(op, lane, described, whole))
            units, data = units_of(described, start), fetched(op, described, at)
            for slot in slots:
                owner = slot - slot % cluster % 2 if pair else slot
                mbarrier = op.state.mbarriers.counting(op.site, lane, (owner, bar))
                copies.append(BulkLoad(op.site, lane, slot, units, data, mbarrier))
        op.state.bulk.load(copies)

    return op.by_lanes(load_for)


def store(op: Operation) -> Step:
    """cp.async.bulk.tensor.….global.shared.tile.bulk_group [descriptor, {x, y}], [from]{, policy}, and
    cp.async.bulk.global.shared.bulk_group [to], [from], bytes{, policy}; cp.reduce.async.bulk, with an operation

    Threads of a warp that name the same box make one copy: what is uniform in a warp the machine does once.
    """
    to, of, together = asked(op, 0), op.places(1), WARP if "tensor" in op.parts else 1

    def store_for(lanes: np.ndarray) -> None:
        told = np.column_stack([lanes // together, np.array(of(lanes)), to(lanes)])
        _, once = np.unique(told, axis=0, return_index=True)
        copies = []
        for n in np.sort(once).tolist():
            lane, (_, _, start, place, *numbers) = int(lanes[n]), told[n].tolist()
            if (box := box_of(op, lane, start, place, numbers)) is not None:
                copies.append((lane, units_of(box[0], start), keeper(op, lane, *box)))
        op.state.bulk.store(op.site, copies)

    return op.by_lanes(store_for)


def units_of(described: TensorMap, start: int) -> np.ndarray:
    """The addresses in shared memory of the box's units of 16 bytes, in the order of the box."""
    if start % 1024 == 0:
        return start + described.places
    return swizzle_units(start + np.arange(0, described.bytes, UNIT), described.swizzle)


def tensor_bytes(op: Operation, described: TensorMap) -> np.ndarray:
    """The tensor as TMA sees it: (modes, the slowest first; bytes of an element)."""
    start = described.address - op.state.arena.address
    shape, strides = described.shape[::-1], described.strides[::-1]
    flat = op.state.arena.bytes[start : start + described.extent]
    return np.lib.stride_tricks.as_strided(flat, (*shape, described.element), (*strides, 1))


def fetched(op: Operation, described: TensorMap, at: tuple[int, ...]) -> np.ndarray:
    """A box's bytes as units of 16, zeros where it lies outside of the tensor."""
    whole, part = described.inside(at)
    data = np.zeros((*described.box[::-1], described.element), np.uint8)
    data[part[::-1]][..., : described.element] = tensor_bytes(op, described)[whole[::-1]]
    return data.reshape(-1, UNIT)


def keeper(op: Operation, lane: int, described: TensorMap, at: tuple[int, ...]) -> Keep:
    """Puts a box's bytes where they lie inside of the tensor, or combines them with those that are there."""
    whole, part = described.inside(at)
    combine = COMBINE[op.one_of(REDUCTIONS)] if "reduce" in op.parts else None
    kind = described.kind if "tensor" in op.parts or combine is None else op.kind

    def keep(units: np.ndarray) -> None:
        data = units.reshape(*described.box[::-1], described.element)[part[::-1]]
        there = tensor_bytes(op, described)[whole[::-1]]
        if combine:
            op.state.overlaps.on_reduction(access_of(op, lane, described, whole))
            old, new = (np.ascontiguousarray(x).reshape(-1).view(f"u{bits_of(kind) // 8}") for x in (there, data))
            bits = to_bits(combine(from_bits(old, kind), from_bits(new, kind)), kind)
            data = np.ascontiguousarray(bits).view(np.uint8).reshape(data.shape)
        elif data.size:
            different = (data != there).any(-1).reshape(-1)
            op.state.overlaps.before_bulk_store(access_of(op, lane, described, whole), lambda: different)
        there[...] = data

    return keep


def access_of(op: Operation, lane: int, described: TensorMap, whole: tuple[slice, ...]) -> Access:
    """To these elements of the tensor, the contiguous mode fastest."""
    at = np.array([described.address - op.state.arena.address])
    for stride, part in zip(described.strides[::-1], whole[::-1], strict=True):
        at = (at[:, None] + np.arange(part.start, part.stop) * stride).reshape(-1)
    return Access(op.site, np.full(len(at), lane), at, described.element)


def store_async(op: Operation) -> Step:
    """st.async{.weak}.shared::cluster.mbarrier::complete_tx::bytes{.vec}.type [to], …, [mbarrier]

    A warp's stores that one mbarrier counts are one copy.
    """
    kind, count = shape_of(op)
    port, show_block = SharedPort(op, bits_of(kind) // 8, count, "stores"), op.state.geometry.show_slot
    to, counted, given = op.addresses_of_lanes(0), op.places(2), op.sources(1, kind)

    def store_for(lanes: np.ndarray) -> None:
        data = np.column_stack([op.spread(values)[lanes] for values in given])
        starts, slots, good = port.locate(lanes, to(lanes) & 0xFFFFFFFF)
        found = np.arange(len(lanes)) if good is None else np.flatnonzero(good)
        told: dict[tuple[int, int, int], list[int]] = {}  # warp, block, mbarrier → places in lanes
        for n, (owner, bar) in zip(found.tolist(), counted(lanes[found]), strict=True):
            lane, slot = int(lanes[n]), int(slots[n])
            if owner == slot:
                told.setdefault((lane // WARP, slot, bar), []).append(n)
            else:
                what = f"stores to block {show_block(slot)} and has block {show_block(owner)}'s mbarrier count it"
                op.notice_thread(Hazard.MBARRIER, lane, what)
        copies = []
        for (_, slot, bar), at in told.items():
            lane = int(lanes[at[0]])
            mbarrier = op.state.mbarriers.at(op.site, lane, (slot, bar), "has its bytes counted by")
            copies.append(BulkLoad(op.site, lane, slot, starts[at], data[at].view(np.uint8), mbarrier, "st.async"))
        op.state.bulk.load(copies)

    return op.by_lanes(store_for)


# tensor maps in memory -----------------------------------------------------------------------------------------

WORD = 8  # bytes; no field crosses a word
# A field's parts: its first bit, how much further that is for each mode, how many there are; what is subtracted from
# the value, and how many of its lowest bits are left out.
FIELDS = {
    "global_address": [(0, 0, 64, 0, 0)],
    "rank": [(68, 0, 3, 0, 0)],  # given less one
    "elemtype": [(71, 0, 4, 0, 0)],
    "swizzle_mode": [(77, 0, 2, 0, 0)],
    "global_dim": [(256, 32, 32, 1, 0)],
    "global_stride": [(96, 32, 32, 0, 4), (224, 4, 4, 0, 36)],
    "box_dim": [(440, 8, 8, 1, 0)],
}
FIXED = {"element_stride": 1, "interleave_layout": 0, "fill_mode": 0, "swizzle_atomicity": 0}  # what they can be here


def replace_field(op: Operation) -> Step:
    """tensormap.replace.tile.field{.space}.b1024.type [descriptor], {mode,} value"""
    name, value = op.parts[3], op.source(op.operands[-1], f"u{bits_of(op.kind)}")
    op.need(name in FIELDS or name in FIXED)
    mode = op.immediate(1) if len(op.operands) > 2 else 0

    def through(port: Port, where: Where, given: np.ndarray) -> None:
        new = op.spread(value)[as_index(where)].astype(np.uint64)
        if name in FIXED and (new != FIXED[name]).any():
            raise NotSimulated(f"{op.instruction} to other than {FIXED[name]}", op.instruction.line)
        for start, further, count, less, below in FIELDS.get(name, []):
            word, bit = divmod(start + further * mode, 64)
            at, shift, mask = given + given.dtype.type(word * WORD), np.uint64(bit), np.uint64((1 << count) - 1)
            part = (new - np.uint64(less) >> np.uint64(below) & mask) << shift
            _, words = port.read(where, at)
            port.write(where, at, words & ~(mask << shift) | part[:, None])

    return step_through(op, ports(op, "changes", WORD, spaces="shared global"), op.operands[0], through)


def copy_and_fence(op: Operation) -> Step:
    """tensormap.cp_fenceproxy.global.shared::cta.… [to], [from], 128: by a whole warp, once."""
    of, to = SharedPort(op, WORD, 1, "reads"), GlobalPort(op, WORD, 1, "stores")
    target, source = op.addresses(0), op.addresses(1)

    def copy_for(warps: np.ndarray) -> None:
        first = op.state.geometry.flags(warps * WARP)
        for byte in range(0, BYTES if len(warps) else 0, WORD):
            _, words = of.read(first, source() + source().dtype.type(byte))
            to.write(first, target() + target().dtype.type(byte), words)

    return op.by_warps(copy_for)


OPCODES: dict[str, OpcodeDecoder] = {
    "cp.async.bulk": copy,
    "cp.async.bulk.commit_group": lambda op: op.by_lanes(lambda lanes: op.state.bulk.stores.commit(lanes)),
    # {.read} too: threads of the block cannot tell when bytes have reached global memory.
    "cp.async.bulk.wait_group": lambda op: op.by_lanes(partial(op.state.bulk.wait, open_groups=op.immediate(0))),
    "cp.async.bulk.prefetch": no_effect,
    "cp.reduce.async.bulk": copy,
    "st.async": store_async,
    "tensormap.replace": replace_field,
    "tensormap.cp_fenceproxy": copy_and_fence,
}
