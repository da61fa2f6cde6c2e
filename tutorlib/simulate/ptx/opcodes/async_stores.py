"""st.async: a thread's store into the shared memory of a block of its cluster, whose bytes an mbarrier there counts
(PTX ISA, 9.7.9.12)."""

from functools import partial

import numpy as np

from tutorlib.dsl.failure import Hazard
from tutorlib.simulate.ptx.bulk_copies import UNIT, BulkLoad
from tutorlib.simulate.ptx.geometry import WARP
from tutorlib.simulate.ptx.opcodes.loads import shape_of
from tutorlib.simulate.ptx.operation import OpcodeDecoder, Operation
from tutorlib.simulate.ptx.state import Step
from tutorlib.simulate.ptx.types import bits_of


def store(op: Operation) -> Step:
    """st.async{.weak}.shared::cluster.mbarrier::complete_tx::bytes.v4.b32 [to], {…}, [mbarrier]

    Of a warp's stores that one mbarrier counts one copy is made. All are of 16 bytes.
    """
    kind, count = shape_of(op)
    op.need(bits_of(kind) // 8 * count == UNIT)
    to, counted, given = op.places(0), op.places(2), op.sources(1, kind)

    def store_for(lanes: np.ndarray) -> None:
        data = np.column_stack([op.spread(values)[lanes] for values in given])
        told: dict[tuple[int, int, int], list[tuple[int, int]]] = {}  # warp, block, mbarrier → place in lanes, address
        each = zip(lanes.tolist(), to(lanes), counted(lanes), strict=True)
        for n, (lane, (slot, start), (owner, bar)) in enumerate(each):
            if fits(op, lane, slot, start, owner):
                told.setdefault((lane // WARP, slot, bar), []).append((n, start))
        copies = []
        for (_, slot, bar), stores in told.items():
            at, units = (np.array(each) for each in zip(*stores, strict=True))
            lane = int(lanes[at[0]])
            mbarrier = op.units.mbarriers.at(op.site, lane, (slot, bar), "has its bytes counted by")
            fetch = partial(np.ndarray.view, data[at], np.uint8)
            copies.append(BulkLoad(op.site, lane, slot, units, fetch, mbarrier, "st.async"))
        op.units.bulk.load(copies)

    return op.by_lanes(store_for)


def fits(op: Operation, lane: int, slot: int, start: int, owner: int) -> bool:
    """Whether a place is one to store to, and its mbarrier the same block's; a finding where not."""
    size = op.state.shared.size
    if start % UNIT:
        op.notice_thread(Hazard.MISALIGNED, lane, f"stores {UNIT} bytes at byte {start:,} of shared memory")
    elif start + UNIT > size:
        what = f"stores at byte {start:,} of shared memory, of which a block has {size:,}"
        op.notice_thread(Hazard.OUTSIDE, lane, what)
    elif owner != slot:
        there, other = (op.state.geometry.show_slot(n) for n in (slot, owner))
        op.notice_thread(Hazard.MBARRIER, lane, f"stores to block {there} and has block {other}'s mbarrier count it")
    else:
        return True
    return False


OPCODES: dict[str, OpcodeDecoder] = {"st.async": store}
