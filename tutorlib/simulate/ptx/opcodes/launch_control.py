"""clusterlaunchcontrol: a running block takes over a cluster that has not started (PTX ISA, 9.7.13.17), and the
registers of 128 bits that hold the answer.

Here the answer is the first block's coordinates and whether there is one, 32 bits each. The PTX ISA leaves its format
open, so that kernels only ask for its parts. A kernel with these instructions runs one cluster at a time, which leaves
all others to be taken over.
"""

import numpy as np

from tutorlib.simulate.ptx.bulk_copies import BulkLoad
from tutorlib.simulate.ptx.geometry import coordinates
from tutorlib.simulate.ptx.ir import Operand, Register, Symbol, Vector
from tutorlib.simulate.ptx.opcodes.bulk import ends_inside
from tutorlib.simulate.ptx.operation import OpcodeDecoder, Operation, items_of
from tutorlib.simulate.ptx.state import Step, Where

PARTS = ("get_first_ctaid::x", "get_first_ctaid::y", "get_first_ctaid::z", "is_canceled")


def try_cancel(op: Operation) -> Step:
    """clusterlaunchcontrol.try_cancel.async.….mbarrier::complete_tx::bytes{.multicast::cluster::all}.b128
    [to], [mbarrier]"""
    to, counted, state = op.places(0), op.places(1), op.state
    cluster, multicast = state.geometry.cluster_size, "multicast" in op.words

    def cancel_for(lanes: np.ndarray) -> None:
        copies = []
        for lane, (slot, start), (_, bar) in zip(lanes.tolist(), to(lanes), counted(lanes), strict=True):
            answer = np.zeros(4, np.uint32)
            if (block := state.cancel_launch()) is not None:
                answer[:] = *coordinates(block, state.geometry.grid), 1
            if not ends_inside(op, lane, start + answer.nbytes):
                continue
            first = slot - slot % cluster
            for other in range(first, first + cluster) if multicast else (slot,):
                mbarrier = op.units.mbarriers.at(op.site, lane, (other, bar), "has its answer counted by")
                fetch = answer.view(np.uint8)[None].copy
                copies.append(
                    BulkLoad(op.site, lane, other, np.array([start]), fetch, mbarrier, "clusterlaunchcontrol")
                )
        op.units.bulk.load(copies)

    return op.by_lanes(cancel_for)


def query_cancel(op: Operation) -> Step:
    """clusterlaunchcontrol.query_cancel.is_canceled.pred.b128 p, answer, and .get_first_ctaid{::x}.b32.b128"""
    to, asked = op.operands[0], op.parts[2]
    (low, high), kind = halves(op, op.operands[1]), "pred" if "pred" in op.parts else "u32"
    parts = range(3) if isinstance(to, Vector) else [PARTS.index(asked)]  # what comes fourth is not set
    each = zip(parts, items_of(to), strict=False)
    outs = [(part, op.target(item, kind)) for part, item in each if item != Symbol("_")]

    def step(where: Where) -> None:
        for part, out in outs:
            half = (low, high)[part // 2]
            values = half >> np.uint64(32) if part % 2 else half & np.uint64(2**32 - 1)
            np.copyto(out, values, where=where, casting="unsafe")

    return step


def move(op: Operation) -> Step:
    """mov.b128 between a register and two of 64 bits, or a register and another."""
    to, given = (halves(op, operand) for operand in op.operands)

    def step(where: Where) -> None:
        for out, values in zip(to, given, strict=True):
            np.copyto(out, values, where=where)

    return step


def halves(op: Operation, operand: Operand) -> list[np.ndarray]:
    """The lower and the upper 64 bits of a register of 128, or of a vector."""
    if isinstance(operand, Register):
        return list(op.state.halves(operand))
    return op.sources(operand, "u64")


OPCODES: dict[str, OpcodeDecoder] = {
    "clusterlaunchcontrol.try_cancel": try_cancel,
    "clusterlaunchcontrol.query_cancel": query_cancel,
    "mov.b128": move,
}
