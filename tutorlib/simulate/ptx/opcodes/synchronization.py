"""Instructions that order accesses: of mbarriers all but the waits (PTX ISA, 9.7.13.15), fences, cluster barriers."""

from collections.abc import Callable
from functools import partial

import numpy as np

from tutorlib.dsl.failure import Hazard
from tutorlib.simulate.ptx.flags import fences_of
from tutorlib.simulate.ptx.ir import Address, Register
from tutorlib.simulate.ptx.mbarriers import MbarrierState, SharedPlace, WaitingForPhase
from tutorlib.simulate.ptx.meetings import by_key
from tutorlib.simulate.ptx.memory import PEER_BITS
from tutorlib.simulate.ptx.opcodes.integers import computed
from tutorlib.simulate.ptx.opcodes.loads import no_effect
from tutorlib.simulate.ptx.operation import OpcodeDecoder, Operation
from tutorlib.simulate.ptx.state import Step

KNOWN = "shared release acquire relaxed cta cluster parity"


def one_by_one(does: Callable[[Operation, int, SharedPlace, int], object], name: str) -> OpcodeDecoder:
    """What each lane in turn does with its mbarrier, and with a number. name: of the suffix that says so."""

    def decoder(op: Operation) -> Step:
        op.need_known(f"{KNOWN} {name}")
        at, counts = op.places(0), op.values(1, "u32")

        def do(lanes: np.ndarray) -> None:
            for lane, place, count in zip(lanes.tolist(), at(lanes), counts(lanes).tolist(), strict=True):
                does(op, lane, place, count)

        return op.by_lanes(do)

    return decoder


def expect(op: Operation, lane: int, place: SharedPlace, count: int) -> None:
    if mbarrier := op.state.mbarriers.at(op.site, lane, place, "announces bytes to"):
        op.state.mbarriers.announce(op.site, mbarrier, count)


def arrive(op: Operation) -> Step:
    """mbarrier.arrive and .arrive.expect_tx; the token that they give is the number of the phase."""
    op.need_known(f"{KNOWN} arrive expect_tx noComplete")
    to = op.operands[0]
    returns, expects, relaxed = not isinstance(to, Address), "expect_tx" in op.parts, "relaxed" in op.parts
    token = op.target(to, "b64") if isinstance(to, Register) else None
    counts, mbarriers = op.values(int(returns) + 1, "u32"), op.state.mbarriers

    def arrive_on(mbarrier: MbarrierState, lanes: np.ndarray) -> None:
        if token is not None:
            token[lanes] = mbarrier.phase
        count = int(counts(lanes).sum())
        if expects:
            mbarriers.announce(op.site, mbarrier, count)
        mbarriers.arrive(op.site, mbarrier, lanes, len(lanes) if expects else count, relaxed)

    return by_mbarrier(op, int(returns), arrive_on)


def by_mbarrier(op: Operation, operand: int, does: Callable[[MbarrierState, np.ndarray], object]) -> Step:
    """What lanes do together that arrive on one mbarrier. operand: its address."""
    at = op.places(operand)

    def arrive_on(lanes: np.ndarray) -> None:
        for (slot, start), which in by_key(*np.array(at(lanes)).reshape(-1, 2).T).items():
            place, here = (slot, start), lanes[which]
            found = [op.state.mbarriers.at(op.site, lane, place, "arrives on") for lane in here.tolist()]
            if found[-1] is not None:
                does(found[-1], here)

    return op.by_lanes(arrive_on)


def arrive_after_copies(op: Operation) -> Step:
    """cp.async.mbarrier.arrive{.noinc}: it arrives once the thread's earlier cp.async have written their bytes."""
    op.need_known("async mbarrier arrive noinc shared")
    counts_more = "noinc" not in op.parts
    return by_mbarrier(op, 0, lambda mbarrier, lanes: op.state.bulk.count_async(op.site, mbarrier, lanes, counts_more))


def test(op: Operation) -> Step:
    """mbarrier.test_wait: whether a phase is over. The first test in a phase finds that it is not."""
    groups, mbarriers = waits_for_phase(op, None), op.state.mbarriers

    def test_for(lanes: np.ndarray) -> None:
        for group in mbarriers.test(groups(lanes)):
            op.state.bulk.deliver_async(group.mbarrier)  # lest a loop of tests never lets all threads come to rest

    return op.by_lanes(test_for)


def waits_for_phase(op: Operation, then: int | None) -> Callable[[np.ndarray], list[WaitingForPhase]]:
    """For these lanes of a test_wait or try_wait, by what they wait for: an mbarrier, and a parity, an operand, 0 or 1,
    or of the phase that a token names. then: where the others go on."""
    op.need_known(f"{KNOWN} try_wait test_wait")
    by_parity = "parity" in op.parts
    places, values, passed = op.places(1), op.values(2, "u32" if by_parity else "u64"), op.target(0, "pred")

    def groups(lanes: np.ndarray) -> list[WaitingForPhase]:
        given = values(lanes)
        wrong = given > 1
        if by_parity and wrong.any():
            at = int(wrong.argmax())
            what = f"waits for parity {given[at]} of an mbarrier: a parity is 0 or 1"
            op.notice_thread(Hazard.MBARRIER(lacks="parity"), int(lanes[at]), what, int(wrong.sum()))
        return op.state.mbarriers.groups(op.site, lanes, places(lanes), given & 1, passed, then)

    return groups


def map_address(op: Operation) -> Step:
    """mapa: the same place in the shared memory of another block of the cluster."""
    low = (1 << PEER_BITS) - 1

    def mapped(own: np.ndarray, rank: np.ndarray) -> np.ndarray:
        at = own.astype(np.int64)
        window = at >> 56 << 56 if op.kind == "u64" else 0
        return window | at & low | (rank.astype(np.int64) + 1) << PEER_BITS

    return computed(op.target(0, op.kind), mapped, op.source(1, op.kind), op.source(2, "u32"))


# fences -------------------------------------------------------------------------------------------------------


def fence(op: Operation) -> Step:
    """membar, fence and tcgen05's before a thread synchronizes: a relaxed operation then releases what this thread
    knows now, to others in the fence's scope. Behind fence.proxy.async TMA and wgmma may read what threads wrote to
    shared memory; behind that and fence.mbarrier_init they may count on mbarriers."""
    kinds = fences_of(op.instruction)
    return op.by_lanes(lambda lanes: op.state.clocks.fence(lanes, *kinds)) if kinds else no_effect(op)


OPCODES: dict[str, OpcodeDecoder] = {
    "mbarrier.init": one_by_one(lambda op, *given: op.state.mbarriers.make(op.site, *given), "init"),
    "mbarrier.inval": one_by_one(lambda op, lane, place, count: op.state.mbarriers.forget(place), "inval"),
    "mbarrier.expect_tx": one_by_one(expect, "expect_tx"),
    "mbarrier.arrive": arrive,
    "cp.async.mbarrier.arrive": arrive_after_copies,
    "mbarrier.test_wait": test,
    "mapa": map_address,
    "barrier.cluster.arrive": lambda op: op.by_lanes(partial(op.state.clusters.arrive, relaxed="relaxed" in op.parts)),
    "setmaxnreg.dec": lambda op: op.by_lanes(partial(op.state.pool.give, count=op.immediate(0))),
    "setmaxnreg.inc": lambda op: op.by_lanes(partial(op.state.pool.take, op.site, count=op.immediate(0))),
    **dict.fromkeys(("membar", "fence"), fence),
    **dict.fromkeys(("nanosleep", "griddepcontrol.launch_dependents", "pmevent"), no_effect),
    "griddepcontrol.wait": lambda op: op.by_lanes(op.state.clocks.wait_for_launch_before),
}
