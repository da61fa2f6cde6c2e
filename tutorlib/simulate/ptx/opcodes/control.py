"""Ordering and ending that is no branch: warp barriers, fences, calls (PTX ISA, 9.7.12, 9.7.13 and 9.7.19).

With clusterlaunchcontrol a running block takes over a cluster that has not started (9.7.13.17). Here the answer, in a
register of 128 bits, is the first block's coordinates and whether there is one, 32 bits each. The PTX ISA leaves its
format open, so that kernels only ask for its parts. A kernel with these instructions runs one cluster at a time, which
leaves all others to be taken over.
"""

import re
from functools import partial

import numpy as np

from tutorlib.dsl.failure import Hazard
from tutorlib.simulate.ptx.copies import BulkLoad
from tutorlib.simulate.ptx.findings import NotSimulated
from tutorlib.simulate.ptx.flags import fences_of
from tutorlib.simulate.ptx.geometry import coordinates
from tutorlib.simulate.ptx.ir import Operand, Register, Symbol, Vector
from tutorlib.simulate.ptx.memory import LOCAL
from tutorlib.simulate.ptx.opcodes.bulk import ends_inside
from tutorlib.simulate.ptx.opcodes.loads import no_effect
from tutorlib.simulate.ptx.opcodes.warp import Members
from tutorlib.simulate.ptx.operation import OpcodeDecoder, Operation, items_of
from tutorlib.simulate.ptx.state import State, Step, Where

LONGEST = 2**12  # bytes of a string


def sync_warp(op: Operation) -> Step:
    """bar.warp.sync orders the accesses of those of a warp's threads that run it, with one mask."""
    members = Members(0, op)

    def step(where: Where) -> None:
        lanes = np.flatnonzero(members.check(where))
        masks = op.spread(members.mask)[lanes]
        for mask in np.unique(masks):
            op.state.watch.clocks.meet_by_warp(lanes[masks == mask])

    return step


def call(op: Operation) -> Step:
    """Only printf and the end of an assertion are functions that a kernel can call."""
    name = next((operand.name for operand in op.operands if isinstance(operand, Symbol)), "?")
    if name == "vprintf":
        return print_values(op)
    if name == "__assertfail":
        return fail_assertion(op)
    raise NotSimulated(f"a call of the function {name}", op.instruction.line)


def print_values(op: Operation) -> Step:
    """vprintf(format, values): both are generic addresses; values lie in local memory, aligned to their size."""
    arguments = [operand for operand in op.operands if isinstance(operand, Vector)][-1]
    names = [argument.name for argument in arguments.items if isinstance(argument, Symbol)]
    text_at, values_at = (op.state.call_space[name] for name in names)

    def print_for(lanes: np.ndarray) -> None:
        for lane in lanes.tolist():
            address, values = (int(at[lane, :8].view(np.uint64)[0]) for at in (text_at, values_at))
            op.state.printed.append(formatted(op.state, address, op.state.local[lane], values - LOCAL))

    return op.by_lanes(print_for)


def formatted(state: State, address: int, local: np.ndarray, at: int) -> str:
    """A C format string of global memory with the values that lie in a lane's local memory from `at` on."""

    def value(found: re.Match[str]) -> str:
        nonlocal at
        spec, kind = found[0], found[1]
        if kind == "%":
            return "%"
        size = 8 if "l" in spec or kind in "feEgGpaAs" else 4
        at = -(-at // size) * size
        data = local[at : at + size]
        at += size
        letter = "f" if kind in "feEgGaA" else "i" if kind in "di" else "u"
        number = data.view(f"{letter}{size}")[0].item()
        if kind == "s":
            return read_string(state, number)
        if kind == "p":
            return f"{number:#x}"
        return chr(number) if kind == "c" else re.sub(r"[lhz]", "", spec).replace("i", "d").replace("u", "d") % number

    return re.sub(r"%[-+ #0]*\d*(?:\.\d+)?[lhz]*([a-zA-Z%])", value, read_string(state, address))


def read_string(state: State, address: int) -> str:
    place = address - state.arena.address
    raw = state.arena.bytes[place : place + LONGEST].tobytes()
    return raw[: raw.index(b"\0")].decode()


def fail_assertion(op: Operation) -> Step:
    show = op.state.geometry.show_thread
    return op.by_lanes(
        lambda lanes: op.notice(Hazard.ASSERTION, lambda: f"an assertion does not hold in {show(int(lanes[0]))}")
    )


def fence(op: Operation) -> Step:
    """membar, fence and tcgen05's before a thread synchronizes: a relaxed operation then releases what this thread
    knows now, to others in the fence's scope. Behind fence.proxy.async TMA and wgmma may read what threads wrote to
    shared memory; behind that and fence.mbarrier_init they may count on mbarriers."""
    kinds = fences_of(op.instruction)
    return op.by_lanes(lambda lanes: op.state.watch.clocks.fence(lanes, *kinds)) if kinds else no_effect(op)


# clusterlaunchcontrol ------------------------------------------------------------------------------------------

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
                data = answer.view(np.uint8)[None]
                copies.append(BulkLoad(op.site, lane, other, np.array([start]), data, mbarrier, "clusterlaunchcontrol"))
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
    "barrier.cluster.arrive": lambda op: op.by_lanes(partial(op.units.clusters.arrive, relaxed="relaxed" in op.parts)),
    "setmaxnreg.dec": lambda op: op.by_lanes(partial(op.units.registers.give, count=op.count(0))),
    "bar.warp.sync": sync_warp,
    **dict.fromkeys(("membar", "fence"), fence),
    **dict.fromkeys(("nanosleep", "griddepcontrol.launch_dependents", "pmevent"), no_effect),
    "griddepcontrol.wait": lambda op: op.by_lanes(op.state.watch.clocks.wait_for_launch_before),
    "call": call,
    "clusterlaunchcontrol.try_cancel": try_cancel,
    "clusterlaunchcontrol.query_cancel": query_cancel,
    "mov.b128": move,
}
