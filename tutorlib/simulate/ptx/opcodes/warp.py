"""Data from lane to lane of a warp: shfl, vote, match, redux, activemask, elect (PTX ISA, 9.7.9.6 and 9.7.13)."""

import numpy as np

from tutorlib.dsl.failure import Fault, Hazard
from tutorlib.simulate.ptx.errors import NotSimulated
from tutorlib.simulate.ptx.geometry import WARP
from tutorlib.simulate.ptx.ir import Instruction, Operand
from tutorlib.simulate.ptx.opcodes.elementwise import Decoder, Step, kind_of, sources, target_pair
from tutorlib.simulate.ptx.shuffles import LANES, source_lanes
from tutorlib.simulate.ptx.state import State, Where, of_warps

BIT = (1 << LANES).astype(np.uint32)


def active(where: Where, state: State) -> np.ndarray:
    """(warps, 32): the lanes that run the instruction."""
    return of_warps(np.ones(state.geometry.lanes, bool) if where is True else where)


def by_warp(values: np.ndarray, state: State) -> np.ndarray:
    """(warps, 32): an operand's values, which may be one for all lanes."""
    return of_warps(np.broadcast_to(values, state.geometry.lanes))


class Members:
    """The lanes that an instruction's mask names must all be there (they may have ended), and no others."""

    def __init__(self, operand: Operand, instruction: Instruction, site: int, state: State) -> None:
        self.mask = state.source(operand, "b32", instruction)
        self.instruction, self.site, self.state = instruction, site, state

    def check(self, where: Where) -> np.ndarray:
        """(warps, 32): the lanes that take part."""
        runs = active(where, self.state)
        masks = by_warp(self.mask, self.state)
        if where is True and (masks == np.uint32(0xFFFFFFFF)).all():
            return runs
        named = (masks[:, :, None] & BIT) != 0  # (warps, lane, lanes that it names)
        absent = named & ~runs[:, None, :] & of_warps(self.state.alive)[:, None, :] & runs[:, :, None]
        if absent.any():
            warp, lane, other = (int(n[0]) for n in absent.nonzero())
            what = f"names lane {other}, which took another branch"
            self.notice(Hazard.DIVERGENT(lanes="elsewhere"), warp, lane, what, int(absent.any(2).sum()))
        unnamed = runs & of_warps(self.state.alive) & ((masks & BIT) == 0)
        if unnamed.any():
            warp, lane = (int(n[0]) for n in unnamed.nonzero())
            what = "has a mask that does not name the lane itself"
            self.notice(Hazard.DIVERGENT(lanes="unnamed"), warp, lane, what, int(unnamed.sum()))
        return runs

    def notice(self, fault: Fault, warp: int, lane: int, what: str, times: int) -> None:
        who = f"{self.instruction.parts[0]} of lane {lane}, {self.state.geometry.show_warp(warp)},"
        self.state.watch.findings.notice(fault, self.site, lambda: f"{who} {what}", times)


def shuffle(instruction: Instruction, site: int, state: State) -> Step:
    """shfl.sync.up, .down, .bfly and .idx (PTX ISA, 9.7.9.6). c holds the last lane and the mask of the segment."""
    mode = instruction.parts[2]
    out, valid = target_pair(instruction, "b32", state)
    a, b, c = sources(instruction, state, "b32", instruction.operands[1:4])
    members = Members(instruction.operands[4], instruction, site, state)

    def step(where: Where) -> None:
        members.check(where)
        values, by, limits = (by_warp(x, state).astype(np.int64) for x in (a, b, c))
        source, inside = source_lanes(mode, by, limits)
        taken = np.take_along_axis(values, source, 1).reshape(-1)
        np.copyto(out, taken, where=where, casting="unsafe")
        if valid is not None:
            np.copyto(valid, inside.reshape(-1), where=where)

    return step


def vote(instruction: Instruction, site: int, state: State) -> Step:
    """vote.sync.all, .any, .uni and .ballot"""
    mode = instruction.parts[2]
    out = state.target(instruction.operands[0], "b32" if mode == "ballot" else "pred", instruction)
    condition = state.predicate(instruction.operands[1], instruction)
    members = Members(instruction.operands[2], instruction, site, state)

    def step(where: Where) -> None:
        runs = members.check(where)
        holds = by_warp(condition(), state)
        result = {
            "all": lambda: (holds | ~runs).all(1),
            "any": lambda: (holds & runs).any(1),
            "uni": lambda: (holds | ~runs).all(1) | ~(holds & runs).any(1),
            "ballot": lambda: ((holds & runs) * BIT).sum(1, dtype=np.uint32),
        }[mode]()
        np.copyto(out, np.repeat(result, WARP), where=where, casting="unsafe")

    return step


def match(instruction: Instruction, site: int, state: State) -> Step:
    """match.sync.any: the lanes with the same value; match.sync.all: those named, if all have the same."""
    mode, kind = instruction.parts[1], kind_of(instruction)
    if mode not in ("any", "all"):
        raise NotSimulated(str(instruction), instruction.line)
    out, agreed = target_pair(instruction, "b32", state)
    (a,) = sources(instruction, state, kind, instruction.operands[1:2])
    members = Members(instruction.operands[2], instruction, site, state)

    def step(where: Where) -> None:
        runs = members.check(where)
        values = by_warp(a, state)
        same = (values[:, :, None] == values[:, None, :]) & runs[:, None, :]
        if mode == "all":
            every = (same | ~runs[:, None, :]).all(2)
            same &= every[:, :, None]
            if agreed is not None:
                np.copyto(agreed, every.reshape(-1), where=where)
        np.copyto(out, (same * BIT).sum(2, dtype=np.uint32).reshape(-1), where=where)

    return step


REDUCE = {"add": np.add, "min": np.minimum, "max": np.maximum, "and": np.bitwise_and, "or": np.bitwise_or,
          "xor": np.bitwise_xor}  # fmt: skip


def reduce(instruction: Instruction, site: int, state: State) -> Step:
    """redux.sync; of fp32 the smallest or the largest, NaN only with .NaN."""
    ufunc, kind = REDUCE[instruction.parts[2]], kind_of(instruction)
    if kind == "f32":
        return reduce_floats(instruction, site, state)
    out = state.target(instruction.operands[0], kind, instruction)
    (a,) = sources(instruction, state, kind, instruction.operands[1:2])
    members = Members(instruction.operands[2], instruction, site, state)

    def step(where: Where) -> None:
        runs = members.check(where)
        values = by_warp(a, state)
        start = {"min": np.iinfo(values.dtype).max, "max": np.iinfo(values.dtype).min, "and": -1}.get(
            instruction.parts[2], 0
        )
        neutral = np.where(runs, values, np.array(start).astype(values.dtype))
        np.copyto(out, np.repeat(ufunc.reduce(neutral, axis=1), WARP), where=where, casting="unsafe")

    return step


def reduce_floats(instruction: Instruction, site: int, state: State) -> Step:
    mode, modifiers = instruction.parts[2], set(instruction.parts[3:-1])
    if mode not in ("min", "max") or modifiers - {"abs", "NaN"}:
        raise NotSimulated(str(instruction), instruction.line)
    ignoring, keeping, start = (np.fmin, np.minimum, np.inf) if mode == "min" else (np.fmax, np.maximum, -np.inf)
    ufunc = keeping if "NaN" in modifiers else ignoring
    out = state.target(instruction.operands[0], "f32", instruction)
    (a,) = sources(instruction, state, "f32", instruction.operands[1:2])
    members = Members(instruction.operands[2], instruction, site, state)

    def step(where: Where) -> None:
        runs = members.check(where)
        values = by_warp(a, state)
        given = np.where(runs, np.abs(values) if "abs" in modifiers else values, np.float32(start))
        np.copyto(out, np.repeat(ufunc.reduce(given, axis=1), WARP), where=where)

    return step


def active_mask(instruction: Instruction, site: int, state: State) -> Step:
    out = state.target(instruction.operands[0], "b32", instruction)

    def step(where: Where) -> None:
        runs = active(where, state)
        np.copyto(out, np.repeat((runs * BIT).sum(1, dtype=np.uint32), WARP), where=where)

    return step


def elect(instruction: Instruction, site: int, state: State) -> Step:
    """elect.sync: the lowest of the lanes is the leader."""
    out, leads = target_pair(instruction, "b32", state)
    if leads is None:
        raise NotSimulated(str(instruction), instruction.line)
    members = Members(instruction.operands[1], instruction, site, state)

    def step(where: Where) -> None:
        leader = members.check(where).argmax(1)
        np.copyto(out, np.repeat(leader, WARP), where=where, casting="unsafe")
        np.copyto(leads, (leader[:, None] == LANES).reshape(-1), where=where)

    return step


OPCODES: dict[str, Decoder] = {
    "shfl.sync": shuffle,
    "vote.sync": vote,
    "match": match,
    "redux.sync": reduce,
    "activemask": active_mask,
    "elect.sync": elect,
}
