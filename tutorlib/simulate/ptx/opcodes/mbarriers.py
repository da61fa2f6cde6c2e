"""mbarrier.…, all but the waits, and cp.async.mbarrier.arrive (PTX ISA, 9.7.13.15)."""

from collections.abc import Callable

import numpy as np

from tutorlib.dsl.failure import Hazard
from tutorlib.simulate.ptx.errors import NotSimulated
from tutorlib.simulate.ptx.ir import Address, Instruction, Operand, Register
from tutorlib.simulate.ptx.mbarriers import MbarrierState, SharedPlace, by_key
from tutorlib.simulate.ptx.memory.windows import PEER_BITS
from tutorlib.simulate.ptx.opcodes.elementwise import Decoder, Step
from tutorlib.simulate.ptx.opcodes.loads import address_of
from tutorlib.simulate.ptx.state import State, Where, as_index

Values = Callable[[np.ndarray], np.ndarray]  # of these lanes
KNOWN = {"shared", "b64", "release", "acquire", "relaxed", "cta", "cluster", "parity"}


def places_of(addresses: np.ndarray, slots: np.ndarray, cluster: int) -> list[SharedPlace]:
    """Whose shared memory addresses lie in, and where: of the lane's own block, or of a peer (`mapa`). They may be
    generic."""
    at = addresses.astype(np.int64) & 0xFFFFFFFF
    rank = at >> PEER_BITS
    of = np.where(rank == 0, slots, slots - slots % cluster + rank - 1)
    return list(zip(of.tolist(), (at & (1 << PEER_BITS) - 1).tolist(), strict=True))


def number(operand: Operand, kind: str, instruction: Instruction, state: State) -> Values:
    values = state.source(operand, kind, instruction)
    return lambda lanes: np.broadcast_to(values, state.geometry.lanes)[lanes].astype(np.int64)


def address(operand: Operand, instruction: Instruction, state: State) -> Values:
    addresses = address_of(operand, instruction, state)
    return lambda lanes: np.broadcast_to(addresses(), state.geometry.lanes)[lanes].astype(np.int64)


def places(instruction: Instruction, operand: int, state: State) -> Callable[[np.ndarray], list[SharedPlace]]:
    """The place in shared memory that an operand names, for each of these lanes."""
    at = address(instruction.operands[operand], instruction, state)
    return lambda lanes: places_of(at(lanes), state.slot[lanes], state.geometry.cluster_size)


def known(instruction: Instruction, *also: str) -> None:
    """Raises NotSimulated for a suffix that is not known."""
    if {part.split("::")[0] for part in instruction.parts[2:]} - KNOWN - set(also):
        raise NotSimulated(str(instruction), instruction.line)


def numbered(where: Where, state: State) -> np.ndarray:
    return np.arange(state.geometry.lanes)[as_index(where)]


def value_of(instruction: Instruction, operand: int, state: State) -> Values:
    """A 32-bit operand of each of these lanes; 1 where it is left out."""
    if len(instruction.operands) <= operand:
        return lambda lanes: np.ones(len(lanes), np.int64)
    return number(instruction.operands[operand], "u32", instruction, state)


def make(instruction: Instruction, site: int, state: State) -> Step:
    known(instruction)
    at, counts = places(instruction, 0, state), value_of(instruction, 1, state)

    def step(where: Where) -> None:
        lanes = numbered(where, state)
        for lane, place, count in zip(lanes.tolist(), at(lanes), counts(lanes).tolist(), strict=True):
            state.units.mbarriers.make(site, lane, place, count)

    return step


def invalidate(instruction: Instruction, site: int, state: State) -> Step:
    known(instruction)
    at = places(instruction, 0, state)

    def step(where: Where) -> None:
        for place in set(at(numbered(where, state))):
            state.units.mbarriers.forget(place)

    return step


def arrive(instruction: Instruction, site: int, state: State) -> Step:
    """mbarrier.arrive and .arrive.expect_tx; the token that they give is the number of the phase."""
    known(instruction, "expect_tx", "noComplete")
    expects = "expect_tx" in instruction.parts
    returns = not isinstance(instruction.operands[0], Address)
    to = instruction.operands[0]
    token = state.target(to, "b64", instruction) if returns and isinstance(to, Register) else None
    at, counts = places(instruction, int(returns), state), value_of(instruction, int(returns) + 1, state)
    units = state.units

    def step(where: Where) -> None:
        lanes = numbered(where, state)
        given = counts(lanes)
        for place, which in by_key(at(lanes)).items():
            here = lanes[which]
            if (mbarrier := arrived_on(here, place, site, state)) is None:
                continue
            if token is not None:
                token[here] = mbarrier.phase
            if expects:
                units.mbarriers.announce(site, mbarrier, int(given[which].sum()))
            count = len(here) if expects else int(given[which].sum())
            units.mbarriers.arrive(site, mbarrier, here, count, "relaxed" in instruction.parts)

    return step


def arrived_on(lanes: np.ndarray, place: SharedPlace, site: int, state: State) -> MbarrierState | None:
    """The mbarrier on which all of these lanes arrive."""
    mbarrier = None
    for lane in lanes.tolist():
        mbarrier = state.units.mbarriers.at(site, lane, place, "arrives on")
    return mbarrier


def arrive_after_copies(instruction: Instruction, site: int, state: State) -> Step:
    """cp.async.mbarrier.arrive{.noinc}: it arrives once the thread's earlier cp.async have written their bytes."""
    if set(instruction.parts[4:]) - {"noinc", "shared", "shared::cta", "b64"}:
        raise NotSimulated(str(instruction), instruction.line)
    at, counts_more = places(instruction, 0, state), "noinc" not in instruction.parts

    def step(where: Where) -> None:
        lanes = numbered(where, state)
        for place, which in by_key(at(lanes)).items():
            here = lanes[which]
            if (mbarrier := arrived_on(here, place, site, state)) is not None:
                state.units.counted.count(site, mbarrier, here, counts_more)

    return step


def expect(instruction: Instruction, site: int, state: State) -> Step:
    """mbarrier.expect_tx"""
    known(instruction)
    at, counts = places(instruction, 0, state), value_of(instruction, 1, state)

    def step(where: Where) -> None:
        lanes = numbered(where, state)
        for lane, place, count in zip(lanes.tolist(), at(lanes), counts(lanes).tolist(), strict=True):
            if mbarrier := state.units.mbarriers.at(site, lane, place, "announces bytes to"):
                state.units.mbarriers.announce(site, mbarrier, count)

    return step


def test(instruction: Instruction, site: int, state: State) -> Step:
    """mbarrier.test_wait: whether a phase is over. The first test in a phase finds that it is not."""
    known(instruction)
    out = state.target(instruction.operands[0], "pred", instruction)
    at, parity_of = places(instruction, 1, state), parities(instruction, site, state)

    def step(where: Where) -> None:
        lanes = numbered(where, state)
        mbarriers = state.units.mbarriers
        for mbarrier, parity, which in mbarriers.grouped(site, lanes, at(lanes), parity_of(lanes)):
            over = mbarrier is None or (not mbarriers.refuses(site, mbarrier) and mbarrier.is_over(parity))
            out[lanes[which]] = over
            if over:
                mbarriers.pass_by(mbarrier, lanes[which])
            else:  # the next test may find it over: a loop of tests never lets all threads come to rest
                state.units.counted.deliver(mbarrier)

    return step


def phase_operands(
    instruction: Instruction, site: int, state: State
) -> tuple[Callable[[np.ndarray], list[SharedPlace]], Values]:
    """Which mbarrier and which parity mbarrier.try_wait waits for, of these lanes."""
    known(instruction)
    return places(instruction, 1, state), parities(instruction, site, state)


def parities(instruction: Instruction, site: int, state: State) -> Values:
    """The parity that each of these lanes waits for: an operand, 0 or 1, or of the phase that a token names."""
    by_parity = "parity" in instruction.parts
    values = number(instruction.operands[2], "u32" if by_parity else "u64", instruction, state)

    def of(lanes: np.ndarray) -> np.ndarray:
        given = values(lanes)
        if by_parity and (given > 1).any():
            at = int((given > 1).argmax())
            who = state.geometry.show_thread(int(lanes[at]))
            what = f"{who} waits for parity {given[at]} of an mbarrier: a parity is 0 or 1"
            state.watch.findings.notice(Hazard.MBARRIER(lacks="parity"), site, lambda: what, int((given > 1).sum()))
        return given & 1

    return of


def map_address(instruction: Instruction, site: int, state: State) -> Step:
    """mapa: the same place in the shared memory of another block of the cluster."""
    kind = instruction.parts[-1]
    out = state.target(instruction.operands[0], kind, instruction)
    own = state.source(instruction.operands[1], kind, instruction)
    rank = state.source(instruction.operands[2], "u32", instruction)
    low = (1 << PEER_BITS) - 1

    def step(where: Where) -> None:
        inside = own.astype(np.int64) & low
        window = own.astype(np.int64) >> 56 << 56 if kind == "u64" else 0
        mapped = window | inside | (rank.astype(np.int64) + 1) << PEER_BITS
        np.copyto(out, mapped, where=where, casting="unsafe")

    return step


OPCODES: dict[str, Decoder] = {
    "mbarrier.init": make,
    "mbarrier.inval": invalidate,
    "mbarrier.arrive": arrive,
    "cp.async.mbarrier.arrive": arrive_after_copies,
    "mbarrier.expect_tx": expect,
    "mbarrier.test_wait": test,
    "mapa": map_address,
}
