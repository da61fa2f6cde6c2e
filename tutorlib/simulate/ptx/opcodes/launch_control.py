"""clusterlaunchcontrol: a running block takes over a cluster that has not started (PTX ISA, 9.7.13.17), and the
registers of 128 bits that hold the answer.

Here the answer is the first block's coordinates and whether there is one, 32 bits each. The PTX ISA leaves its format
open, so that kernels only ask for its parts. A kernel with these instructions runs one cluster at a time, which leaves
all others to be taken over.
"""

import numpy as np

from tutorlib.simulate.ptx.bulk_copies import BulkLoad
from tutorlib.simulate.ptx.errors import NotSimulated
from tutorlib.simulate.ptx.geometry import coordinates
from tutorlib.simulate.ptx.ir import Instruction, Operand, Register, Symbol, Vector
from tutorlib.simulate.ptx.opcodes.bulk import ends_inside
from tutorlib.simulate.ptx.opcodes.elementwise import Decoder, Step
from tutorlib.simulate.ptx.opcodes.loads import items_of
from tutorlib.simulate.ptx.opcodes.mbarriers import numbered, places
from tutorlib.simulate.ptx.state import State, Where

PARTS = ("get_first_ctaid::x", "get_first_ctaid::y", "get_first_ctaid::z", "is_canceled")


def try_cancel(instruction: Instruction, site: int, state: State) -> Step:
    """clusterlaunchcontrol.try_cancel.async.….mbarrier::complete_tx::bytes{.multicast::cluster::all}.b128
    [to], [mbarrier]"""
    to, counted = (places(instruction, n, state) for n in range(2))
    cluster = state.geometry.cluster_size
    multicast = "multicast::cluster::all" in instruction.parts

    def step(where: Where) -> None:
        lanes = numbered(where, state)
        copies = []
        for lane, (slot, start), (_, bar) in zip(lanes.tolist(), to(lanes), counted(lanes), strict=True):
            answer = np.zeros(4, np.uint32)
            if (block := state.cancel_launch()) is not None:
                answer[:] = *coordinates(block, state.geometry.grid), 1
            if not ends_inside(state, site, lane, start + answer.nbytes):
                continue
            first = slot - slot % cluster
            for other in range(first, first + cluster) if multicast else (slot,):
                mbarrier = state.units.mbarriers.at(site, lane, (other, bar), "has its answer counted by")
                unit = answer.view(np.uint8)[None]
                copies.append(
                    BulkLoad(site, lane, other, np.array([start]), unit.copy, mbarrier, "clusterlaunchcontrol")
                )
        state.units.bulk.load(copies)

    return step


def query_cancel(instruction: Instruction, site: int, state: State) -> Step:
    """clusterlaunchcontrol.query_cancel.is_canceled.pred.b128 p, answer, and .get_first_ctaid{::x}.b32.b128"""
    to, answer = instruction.operands
    asked, kind = instruction.parts[2:4]
    low, high = state.halves(need_register(answer, instruction))
    kind = "pred" if kind == "pred" else "u32"
    parts = range(3) if isinstance(to, Vector) else [PARTS.index(asked)]  # what comes fourth is not set
    outs = [
        (part, state.target(item, kind, instruction))
        for part, item in zip(parts, items_of(to), strict=False)
        if item != Symbol("_")
    ]

    def step(where: Where) -> None:
        for part, out in outs:
            half = (low, high)[part // 2]
            values = half >> np.uint64(32) if part % 2 else half & np.uint64(2**32 - 1)
            np.copyto(out, values, where=where, casting="unsafe")

    return step


def move(instruction: Instruction, site: int, state: State) -> Step:
    """mov.b128 between a register and two of 64 bits, or a register and another."""

    def halves(operand: Operand) -> list[np.ndarray]:
        if isinstance(operand, Vector):
            return [state.source(item, "u64", instruction) for item in operand.items]
        return list(state.halves(need_register(operand, instruction)))

    to, given = map(halves, instruction.operands)

    def step(where: Where) -> None:
        for out, values in zip(to, given, strict=True):
            np.copyto(out, values, where=where)

    return step


def need_register(operand: Operand, instruction: Instruction) -> Register:
    if not isinstance(operand, Register):
        raise NotSimulated(str(instruction), instruction.line)
    return operand


OPCODES: dict[str, Decoder] = {
    "clusterlaunchcontrol.try_cancel": try_cancel,
    "clusterlaunchcontrol.query_cancel": query_cancel,
    "mov.b128": move,
}
