"""Data from lane to lane of a warp: shfl, vote, redux, activemask, elect (PTX ISA, 9.7.9.6 and 9.7.13), its own
barrier, and calls of printf and of a failed assertion.
"""

import re
from collections.abc import Callable
from typing import Any

import numpy as np

from tutorlib.dsl.failure import Fault, Hazard
from tutorlib.simulate.ptx.findings import NotSimulated
from tutorlib.simulate.ptx.geometry import LANES, WARP, source_lanes
from tutorlib.simulate.ptx.ir import Symbol, Vector
from tutorlib.simulate.ptx.memory import LOCAL
from tutorlib.simulate.ptx.opcodes.loads import COMBINE
from tutorlib.simulate.ptx.operation import OpcodeDecoder, Operation
from tutorlib.simulate.ptx.state import State, Step, Where, of_warps

BIT = (1 << LANES).astype(np.uint32)


def active(where: Where, op: Operation) -> np.ndarray:
    """(warps, 32): the lanes that run the instruction."""
    return of_warps(np.ones(op.state.geometry.lanes, bool) if where is True else where)


def by_warp(values: np.ndarray, op: Operation) -> np.ndarray:
    """(warps, 32): an operand's values, which may be one for all lanes."""
    return of_warps(op.spread(values))


class Members:
    """The lanes that an instruction's mask names must all be there (they may have ended), and no others."""

    def __init__(self, operand: int, op: Operation) -> None:
        self.mask, self.op = op.source(operand, "b32"), op

    def check(self, where: Where) -> np.ndarray:
        """(warps, 32): the lanes that take part."""
        runs, alive = active(where, self.op), of_warps(self.op.state.alive)
        masks = by_warp(self.mask, self.op)
        if where is True and (masks == np.uint32(0xFFFFFFFF)).all():
            return runs
        named = (masks[:, :, None] & BIT) != 0  # (warps, lane, lanes that it names)
        absent = named & ~runs[:, None, :] & alive[:, None, :] & runs[:, :, None]
        if absent.any():
            warp, lane, other = (int(n[0]) for n in absent.nonzero())
            what = f"names lane {other}, which took another branch"
            self.notice(Hazard.DIVERGENT(lanes="elsewhere"), warp, lane, what, int(absent.any(2).sum()))
        unnamed = runs & alive & ((masks & BIT) == 0)
        if unnamed.any():
            warp, lane = (int(n[0]) for n in unnamed.nonzero())
            what = "has a mask that does not name the lane itself"
            self.notice(Hazard.DIVERGENT(lanes="unnamed"), warp, lane, what, int(unnamed.sum()))
        return runs

    def notice(self, fault: Fault, warp: int, lane: int, what: str, times: int) -> None:
        who = f"{self.op.parts[0]} of lane {lane}, {self.op.state.geometry.show_warp(warp)},"
        self.op.notice(fault, f"{who} {what}", times)


def shuffle(op: Operation) -> Step:
    """shfl.sync.up, .down, .bfly and .idx (PTX ISA, 9.7.9.6). c holds the last lane and the mask of the segment."""
    out, valid = op.target_pair("b32")
    given, members = [op.source(n, "b32") for n in (1, 2, 3)], Members(4, op)

    def step(where: Where) -> None:
        members.check(where)
        values, by, limits = (by_warp(x, op).astype(np.int64) for x in given)
        source, inside = source_lanes(op.parts[2], by, limits)
        np.copyto(out, np.take_along_axis(values, source, 1).reshape(-1), where=where, casting="unsafe")
        if valid is not None:
            np.copyto(valid, inside.reshape(-1), where=where)

    return step


Result = Callable[[np.ndarray, np.ndarray], Any]  # of values and the lanes that run, (warps, 32): (warps,)
VOTES: dict[str, Result] = {
    "all": lambda holds, runs: (holds | ~runs).all(1),
    "any": lambda holds, runs: (holds & runs).any(1),
    "uni": lambda holds, runs: (holds | ~runs).all(1) | ~(holds & runs).any(1),
    "ballot": lambda holds, runs: ((holds & runs) * BIT).sum(1, dtype=np.uint32),
}


def to_all_lanes(out: np.ndarray, compute: Callable[[Where], np.ndarray]) -> Step:
    """A step that gives all lanes of a warp the same number. compute: gives it for each warp."""
    return lambda where: np.copyto(out, np.repeat(compute(where), WARP), where=where, casting="unsafe")


def vote(op: Operation) -> Step:
    """vote.sync.all, .any, .uni and .ballot"""
    mode, condition, members = op.parts[2], op.predicate(1), Members(2, op)
    out = op.target(0, "b32" if mode == "ballot" else "pred")
    return to_all_lanes(out, lambda where: VOTES[mode](by_warp(condition(), op), members.check(where)))


def reduce(op: Operation) -> Step:
    """redux.sync; of fp32 it takes no account of NaN."""
    mode, kind = op.one_of("add min max and or xor"), op.kind
    op.need_known(f"sync {mode}")
    out, a, members = op.target(0, kind), op.source(1, kind), Members(2, op)
    ufunc: np.ufunc = {"min": np.fmin, "max": np.fmax}[mode] if kind == "f32" else COMBINE[mode]  # type: ignore[assignment]
    limits = None if kind == "f32" else np.iinfo(a.dtype)
    numbers = {"min": limits.max, "max": limits.min, "and": -1} if limits else {"min": np.nan, "max": np.nan}
    neutral = np.array(numbers.get(mode, 0)).astype(a.dtype)
    given = lambda where: np.where(members.check(where), by_warp(a, op), neutral)  # noqa: E731
    return to_all_lanes(out, lambda where: ufunc.reduce(given(where), axis=1))


def elect(op: Operation) -> Step:
    """elect.sync: the lowest of the lanes is the leader."""
    (out, leads), members = op.target_pair("b32"), Members(1, op)
    op.need(leads is not None)

    def step(where: Where) -> None:
        runs = members.check(where)
        op.state.clocks.has_read(np.flatnonzero(runs))
        leader = runs.argmax(1)
        np.copyto(out, np.repeat(leader, WARP), where=where, casting="unsafe")
        np.copyto(leads, (leader[:, None] == LANES).reshape(-1), where=where)  # type: ignore[arg-type]

    return step


def sync_warp(op: Operation) -> Step:
    """bar.warp.sync orders the accesses of those of a warp's threads that run it, with one mask."""
    members = Members(0, op)

    def step(where: Where) -> None:
        lanes = np.flatnonzero(members.check(where))
        masks = op.spread(members.mask)[lanes]
        for mask in np.unique(masks):
            op.state.clocks.meet_by_warp(lanes[masks == mask])

    return step


# calls --------------------------------------------------------------------------------------------------------

LONGEST = 2**12  # bytes of a string
C_LETTERS = str.maketrans("iup", "ddx")  # Python's of C's; a pointer is a hexadecimal number


def call(op: Operation) -> Step:
    """Only printf and the end of an assertion are functions that a kernel can call."""
    name = next((operand.name for operand in op.operands if isinstance(operand, Symbol)), "?")
    if name == "vprintf":
        return print_values(op)
    if name == "__assertfail":
        show = op.state.geometry.show_thread
        return op.by_lanes(lambda some: op.notice(Hazard.ASSERTION, f"an assertion does not hold in {show(some[0])}"))
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
    """A C format string of global memory with the numbers that lie in a lane's local memory from `at` on."""

    def value(found: re.Match[str]) -> str:
        nonlocal at
        spec, kind = found[0], found[1]
        if kind == "%":
            return "%"
        size = 8 if "l" in spec or kind in "feEgGpaA" else 4
        start = -(-at // size) * size
        at = start + size
        letter = "f" if kind in "feEgGaA" else "i" if kind in "di" else "u"
        number = local[start:at].view(f"{letter}{size}")[0].item()
        return re.sub(r"[lhz]", "", spec).translate(C_LETTERS) % number

    place = address - state.arena.address
    text = state.arena.bytes[place : place + LONGEST].tobytes().partition(b"\0")[0].decode()
    return re.sub(r"%[-+ #0]*\d*(?:\.\d+)?[lhz]*([a-zA-Z%])", value, text)


OPCODES: dict[str, OpcodeDecoder] = {
    "bar.warp.sync": sync_warp,
    "call": call,
    "shfl.sync": shuffle,
    "vote.sync": vote,
    "redux.sync": reduce,
    "activemask": lambda op: to_all_lanes(op.target(0, "b32"), lambda where: (active(where, op) * BIT).sum(1)),
    "elect.sync": elect,
}
