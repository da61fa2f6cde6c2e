"""Ordering and ending that is no branch: warp barriers, fences, calls (PTX ISA, 9.7.12, 9.7.13 and 9.7.19)."""

import re

import numpy as np

from tutorlib.dsl.failure import Hazard
from tutorlib.simulate.ptx.clocks import CLUSTER
from tutorlib.simulate.ptx.errors import NotSimulated
from tutorlib.simulate.ptx.flags import is_fence, scope_of
from tutorlib.simulate.ptx.ir import Group, Instruction, Operand, Symbol
from tutorlib.simulate.ptx.memory.windows import LOCAL
from tutorlib.simulate.ptx.opcodes.elementwise import Decoder, Step
from tutorlib.simulate.ptx.opcodes.loads import no_effect
from tutorlib.simulate.ptx.opcodes.warp import Members
from tutorlib.simulate.ptx.state import State, Where, as_index


def sync_warp(instruction: Instruction, site: int, state: State) -> Step:
    """bar.warp.sync orders the accesses of those of a warp's threads that run it, with one mask."""
    members = Members(instruction.operands[0], instruction, site, state)

    def step(where: Where) -> None:
        lanes = np.flatnonzero(members.check(where))
        masks = np.broadcast_to(members.mask, state.geometry.lanes)[lanes]
        for mask in np.unique(masks):
            state.watch.clocks.meet_by_warp(lanes[masks == mask])

    return step


def call(instruction: Instruction, site: int, state: State) -> Step:
    """Only printf and the end of an assertion are functions that a kernel can call."""
    groups = [operand for operand in instruction.operands if isinstance(operand, Group)]
    name = next((operand.name for operand in instruction.operands if isinstance(operand, Symbol)), "?")
    if name == "vprintf":
        return print_step(groups[-1].items, state)
    if name == "__assertfail":
        return assert_step(site, state)
    raise NotSimulated(f"a call of the function {name}", instruction.line)


def print_step(arguments: tuple[Operand, ...], state: State) -> Step:
    """vprintf(format, values): both are generic addresses; values lie in local memory, aligned to their size."""
    names = [argument.name for argument in arguments if isinstance(argument, Symbol)]
    text_at, values_at = (state.call_space[name] for name in names)

    def step(where: Where) -> None:
        for lane in np.arange(state.geometry.lanes)[as_index(where)]:
            address, values = (int(at[lane, :8].view(np.uint64)[0]) for at in (text_at, values_at))
            state.printed.append(formatted(state, address - state.arena.address, int(lane), values - LOCAL))

    return step


def formatted(state: State, place: int, lane: int, at: int) -> str:
    """A C format string of global memory with the values that lie in a lane's local memory."""
    raw = state.arena.bytes[place : place + 2**12].tobytes()
    text = raw[: raw.index(b"\0")].decode()

    def value(found: re.Match[str]) -> str:
        nonlocal at
        spec, kind = found[0], found[1]
        if kind == "%":
            return "%"
        wide = "l" in spec or kind in "feEgGpaA"
        size = 8 if wide or kind == "s" else 4
        at = -(-at // size) * size
        data = state.local[lane, at : at + size]
        at += size
        if kind == "s":
            return read_string(state, int(data.view(np.uint64)[0]))
        code = f"f{size}" if kind in "feEgGaA" else f"{'i' if kind in 'di' else 'u'}{size}"
        number = data.view(code)[0]
        if kind == "p":
            return f"{int(number):#x}"
        plain = re.sub(r"[lhz]", "", spec).replace("i", "d").replace("u", "d")
        return chr(int(number)) if kind == "c" else plain % number.item()

    return re.sub(r"%[-+ #0]*\d*(?:\.\d+)?[lhz]*([a-zA-Z%])", value, text)


def read_string(state: State, address: int) -> str:
    place = address - state.arena.address
    raw = state.arena.bytes[place : place + 2**12].tobytes()
    return raw[: raw.index(b"\0")].decode()


def assert_step(site: int, state: State) -> Step:
    def step(where: Where) -> None:
        lane = int(np.arange(state.geometry.lanes)[as_index(where)][0])
        who = state.geometry.show_thread(lane)
        state.watch.findings.notice(Hazard.ASSERTION, site, lambda: f"an assertion does not hold in {who}")

    return step


def fence_proxy(instruction: Instruction, site: int, state: State) -> Step:
    """fence.proxy.async, all of it or .shared: what threads wrote to shared memory may be read by TMA and wgmma, and
    mbarriers that they have initialized be counted on."""
    parts = {part.split("::")[0] for part in instruction.parts}
    if "async" not in parts or "global" in parts:
        return no_effect(instruction, site, state)

    def step(where: Where) -> None:
        lanes = np.arange(state.geometry.lanes)[as_index(where)]
        state.watch.races.on_fence(lanes)
        state.units.mbarriers.fence(lanes, proxy=True)

    return step


def fence_initialization(instruction: Instruction, site: int, state: State) -> Step:
    publish = fence(instruction, site, state)

    def step(where: Where) -> None:
        state.units.mbarriers.fence(np.arange(state.geometry.lanes)[as_index(where)], proxy=False)
        publish(where)

    return step


def fence(instruction: Instruction, site: int, state: State) -> Step:
    """membar, fence and tcgen05's before a thread synchronizes: a relaxed operation then releases what this thread
    knows now, to others in the fence's scope."""
    scope = scope_of(instruction) if is_fence(instruction) else CLUSTER
    return lambda where: state.watch.clocks.fence(np.arange(state.geometry.lanes)[as_index(where)], scope)


def arrive_in_cluster(instruction: Instruction, site: int, state: State) -> Step:
    relaxed = "relaxed" in instruction.parts
    return lambda where: state.units.clusters.arrive(np.arange(state.geometry.lanes)[as_index(where)], relaxed)


def wait_for_launch_before(instruction: Instruction, site: int, state: State) -> Step:
    return lambda where: state.watch.clocks.wait_for_launch_before(np.arange(state.geometry.lanes)[as_index(where)])


def give_registers(instruction: Instruction, site: int, state: State) -> Step:
    count = int(state.source(instruction.operands[0], "u32", instruction)[0])
    return lambda where: state.units.registers.give(np.arange(state.geometry.lanes)[as_index(where)], count)


OPCODES: dict[str, Decoder] = {
    "barrier.cluster.arrive": arrive_in_cluster,
    "setmaxnreg.dec": give_registers,
    "fence.proxy": fence_proxy,
    "bar.warp.sync": sync_warp,
    "membar": fence,
    "fence": fence,
    "fence.mbarrier_init": fence_initialization,
    "nanosleep": no_effect,
    "griddepcontrol.launch_dependents": no_effect,
    "griddepcontrol.wait": wait_for_launch_before,
    "pmevent": no_effect,
    "call": call,
}
