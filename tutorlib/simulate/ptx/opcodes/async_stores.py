"""st.async: a thread's store into the shared memory of a block of its cluster, whose bytes an mbarrier there counts
(PTX ISA, 9.7.9.12)."""

from functools import partial

import numpy as np

from tutorlib.dsl.failure import Hazard
from tutorlib.simulate.ptx.bulk_copies import UNIT, BulkLoad
from tutorlib.simulate.ptx.errors import NotSimulated
from tutorlib.simulate.ptx.geometry import WARP
from tutorlib.simulate.ptx.ir import Instruction
from tutorlib.simulate.ptx.opcodes.elementwise import Decoder, Step
from tutorlib.simulate.ptx.opcodes.loads import items_of, shape_of
from tutorlib.simulate.ptx.opcodes.mbarriers import numbered, places
from tutorlib.simulate.ptx.state import State, Where
from tutorlib.simulate.ptx.types import bits_of, is_type

Told = dict[tuple[int, int, int], list[tuple[int, int]]]  # (warp, block, mbarrier) → (place among the lanes, address)


def store(instruction: Instruction, site: int, state: State) -> Step:
    """st.async{.weak}.shared::cluster.mbarrier::complete_tx::bytes.v4.b32 [to], {…}, [mbarrier]"""
    kind, count = shape_of(instruction)
    if not is_type(kind) or bits_of(kind) // 8 * count != UNIT:
        raise NotSimulated(f"{instruction}: a store of other than {UNIT} bytes", instruction.line)
    to, counted = (places(instruction, n, state) for n in (0, 2))
    given = [state.source(item, kind, instruction) for item in items_of(instruction.operands[1])]

    def step(where: Where) -> None:
        lanes = numbered(where, state)
        data = np.column_stack([np.broadcast_to(values, state.geometry.lanes)[lanes] for values in given])
        told: Told = {}
        each = zip(lanes.tolist(), to(lanes), counted(lanes), strict=True)
        for n, (lane, (slot, start), (owner, bar)) in enumerate(each):
            if fits(state, site, lane, slot, start, owner):
                told.setdefault((lane // WARP, slot, bar), []).append((n, start))
        copies = []
        for (_, slot, bar), stores in told.items():
            at = [n for n, _ in stores]
            lane, units = int(lanes[at[0]]), np.array([start for _, start in stores])
            mbarrier = state.units.mbarriers.at(site, lane, (slot, bar), "has its bytes counted by")
            fetch = partial(np.ndarray.view, np.ascontiguousarray(data[at]), np.uint8)
            copies.append(BulkLoad(site, lane, slot, units, fetch, mbarrier, "st.async"))
        state.units.bulk.load(copies)

    return step


def fits(state: State, site: int, lane: int, slot: int, start: int, owner: int) -> bool:
    """Whether a place is one to store to, and its mbarrier the same block's; a finding where not."""
    notice, size = state.watch.findings.notice, state.shared.size
    who = partial(state.geometry.show_thread, lane)
    if start % UNIT:
        notice(Hazard.MISALIGNED, site, lambda: f"{who()} stores {UNIT} bytes at byte {start:,} of shared memory")
    elif start + UNIT > size:
        wrong = f"stores at byte {start:,} of shared memory, of which a block has {size:,}"
        notice(Hazard.OUTSIDE, site, lambda: f"{who()} {wrong}")
    elif owner != slot:
        there, other = (state.geometry.show_slot(n) for n in (slot, owner))
        what = f"stores to block {there} and has block {other}'s mbarrier count it"
        notice(Hazard.MBARRIER, site, lambda: f"{who()} {what}")
    else:
        return True
    return False


OPCODES: dict[str, Decoder] = {"st.async": store}
