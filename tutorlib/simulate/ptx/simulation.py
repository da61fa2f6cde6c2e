"""Simulating one launch: the blocks of a grid, as many at a time as are worth it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import inf
from typing import Any

import numpy as np

from tutorlib.dsl.failure import Fail, Flaw, Hazard
from tutorlib.simulate.ptx.access_log import AccessLog
from tutorlib.simulate.ptx.clocks import DEVICE, Agents, LaneClocks
from tutorlib.simulate.ptx.errors import CannotLaunch, NotSimulated, TooManyRecords
from tutorlib.simulate.ptx.facts import brings, facts_of, smallest, touches
from tutorlib.simulate.ptx.findings import Finding, Findings, NamedMemory
from tutorlib.simulate.ptx.flags import STRONG, is_fence, is_strong, scope_of
from tutorlib.simulate.ptx.flow import BasicBlock, basic_blocks, ends_block, execution_order
from tutorlib.simulate.ptx.geometry import ALONE, WARPGROUP, Dim3, Geometry, volume
from tutorlib.simulate.ptx.global_shadow import MOST_RECORDS, GlobalShadow
from tutorlib.simulate.ptx.ir import Instruction, Kernel, Module
from tutorlib.simulate.ptx.mbarriers import MOST
from tutorlib.simulate.ptx.memory.arena import Arena
from tutorlib.simulate.ptx.memory.async_copies import AsyncCopies
from tutorlib.simulate.ptx.memory.shared import SharedMemory
from tutorlib.simulate.ptx.opcodes import decode
from tutorlib.simulate.ptx.opcodes.wgmma import multiplication
from tutorlib.simulate.ptx.places import Find, Places
from tutorlib.simulate.ptx.report import Issued, MemoryAccess, Report
from tutorlib.simulate.ptx.results import fp32_results
from tutorlib.simulate.ptx.schedule import Endless, OverBudget, Program, Scheduler
from tutorlib.simulate.ptx.shared_shadow import SharedShadow, record_bytes
from tutorlib.simulate.ptx.state import State
from tutorlib.simulate.ptx.trace import BlockTrace
from tutorlib.simulate.ptx.undefined import Undefined
from tutorlib.simulate.ptx.units import make_units
from tutorlib.simulate.ptx.uses import unset_at_first
from tutorlib.simulate.ptx.watch import Watch
from tutorlib.simulate.ptx.work import WorkCounts

LANES_AT_ONCE = 4096  # of the blocks that run together: enough that NumPy's own cost for a call is small
SHARED_AT_ONCE = 2**22  # bytes of shared memory of these blocks
RECORDS_AT_ONCE = 2**28  # bytes of records of accesses to it, if one cluster does not need more
LIMIT = 300_000  # instructions that the warps which go together may execute, one after another
LOCAL_ALIGNMENT = 16
MOST_THREADS = 1024  # of a block
MOST_SHARED = 227 * 2**10  # bytes that a block may have, static and dynamic, on any GPU
MOST_BLOCKS = 2**22  # of a grid, and
MOST_VARIABLES = 2**28  # bytes of a module's own: a limit on time and memory

# Until a process has freed a block this large, glibc returns freed memory to the system, so that every array of a step
# costs its page faults anew.
np.empty(2**25 - 2**16, np.uint8)


@dataclass(frozen=True)
class Launch:
    """A launch but for global memory.

    parameters: the kernel's, as bytes. find: where an instruction stands in the source, for findings.
    overlapping: whether it may begin before the launch before it is over (programmatic dependent launch).
    names: of its dynamic shared memory, from whose beginning they start.
    """

    module: Module
    kernel: Kernel
    grid: Dim3
    block: Dim3
    dynamic_smem: int
    parameters: bytes
    find: Find
    cluster: Dim3 = ALONE
    overlapping: bool = False
    names: Sequence[NamedMemory] = ()


def module_sizes(module: Module) -> list[int]:
    """The block's own variables. Raises NotSimulated if they are too large."""
    sizes = [v.size or 0 for v in module.variables.values() if v.space in ("global", "const")]
    if sum(sizes) > MOST_VARIABLES:
        raise NotSimulated(f"a module with variables of {sum(sizes):,} bytes")
    return sizes


def simulate(
    launch: Launch, arena: Arena, traced: bool = False, follow_unset: bool = True, budget: float = inf
) -> Report:
    """Run a launch on an arena that holds its tensors; the module's own variables are added.

    traced: write down what the first block does, in order. follow_unset: whether a value computed
        from a register never set is a fault where it counts; else it is NaN. budget: instructions, over all warps,
        after which the launch is given up; its report says how many it issued.
    Raises NotSimulated and CannotLaunch.
    """
    kernel = launch.kernel
    if kernel.threads is not None and np.prod(kernel.threads) < np.prod(launch.block):
        raise CannotLaunch(f"{kernel.name} is compiled for blocks of {kernel.threads} threads, not {launch.block}")
    if np.prod(launch.block) > MOST_THREADS:
        raise CannotLaunch(f"a block of {np.prod(launch.block):,} threads, of which a GPU runs {MOST_THREADS:,}")
    if min(*launch.grid, *launch.block) < 1:
        what = f"a grid of {launch.grid} blocks of {launch.block} threads"
        raise CannotLaunch(Flaw(what, Fail.NOT_LAUNCHED(grid="empty" if 0 in launch.grid else "")))
    if kernel.cluster and launch.cluster == ALONE:
        launch = replace(launch, cluster=kernel.cluster)
    if kernel.cluster not in (None, launch.cluster):
        raise CannotLaunch(f"{kernel.name} is compiled for clusters of {kernel.cluster} blocks, not {launch.cluster}")
    if any(size % blocks for size, blocks in zip(launch.grid, launch.cluster, strict=True)):
        raise CannotLaunch(f"a grid of {launch.grid} blocks in clusters of {launch.cluster}")
    if volume(launch.grid) > MOST_BLOCKS:
        raise NotSimulated(f"a grid of {volume(launch.grid):,} blocks")
    symbols, static = addresses(launch, arena)
    smem = static + launch.dynamic_smem
    if smem > MOST_SHARED:
        raise CannotLaunch(f"{smem:,} bytes of shared memory for a block, which has at most {MOST_SHARED:,}")
    geometry = Geometry(launch.grid, launch.block, batch_of(launch, smem), launch.cluster)
    names = [replace(one, start=one.start + dynamic_start(launch, symbols, static)) for one in launch.names]
    findings, places, blocks = Findings(names), Places(kernel, launch.find), basic_blocks(kernel)
    shared = SharedMemory(geometry.batch, smem)
    copies = AsyncCopies(geometry.lanes, shared)
    unset = unset_at_first(kernel, blocks)
    undefined = Undefined(geometry, findings, unset if follow_unset else frozenset())
    alive = np.ones(geometry.lanes, bool)
    watch = make_watch(launch, geometry, copies, arena, findings, places, undefined, alive)
    local_bytes = -(-sum(v.size or 0 for v in kernel.variables.values() if v.space == "local") // 16) * 16
    state = State(
        kernel=kernel,
        geometry=geometry,
        arena=arena,
        shared=shared,
        parameters=np.frombuffer(launch.parameters + bytes(8), np.uint8),
        symbols=symbols,
        local=np.zeros((geometry.lanes, max(local_bytes, LOCAL_ALIGNMENT)), np.uint8),
        watch=watch,
        copies=copies,
        alive=alive,
        units=make_units(geometry, shared, watch, kernel.blocks_per_sm),
        static_shared=static,
        poisoned=frozenset() if follow_unset else unset,
    )
    trace = BlockTrace(geometry.warps, smem) if traced else None
    with np.errstate(all="ignore"):
        scheduler = Scheduler(program_of(kernel, blocks, state), state, LIMIT, budget, trace)
        while state.upcoming < geometry.blocks:
            state.enter(state.upcoming)
            try:
                scheduler.run()
            except OverBudget:
                break
            except Endless as endless:
                findings.notice(Hazard.ENDLESS, endless.site, partial(str, endless))
                break
    runs = [
        int(times) for block, times in zip(blocks, scheduler.runs, strict=True) for _ in range(block.start, block.end)
    ]
    report = make_report(launch, geometry, watch, places, runs, state.printed)
    arena.stored = watch.overlaps.stored(kernel.name)
    overlaps, tensors = watch.overlaps, [tensor for tensor in arena.allocations if tensor.width]
    storers = {tensor.name: overlaps.storers(tensor) for tensor in tensors if overlaps.knows_storers}
    sites = {tensor.name: overlaps.store_sites(tensor) for tensor in tensors}
    report = replace(report, results=fp32_results(kernel, state.registers), trace=trace)
    counts = watch.work.counts(kernel, runs, overlaps.piece)
    return replace(report, storers=storers, store_sites=sites, **counts)


def batch_of(launch: Launch, smem: int) -> int:
    """How many blocks run together: whole clusters, and only one if it may take over those that have not started.

    Raises TooManyRecords.
    """
    instructions = launch.kernel.instructions
    one, cluster = Geometry(launch.grid, launch.block, 1), volume(launch.cluster)
    records = record_bytes(smem, smallest_shared(instructions), agents_of(instructions, one))
    if (needs := cluster * records) > MOST_RECORDS:
        raise TooManyRecords(
            f"accesses to the shared memory of {cluster} blocks would take {needs / 2**30:.1f} GB to remember: choose "
            "smaller clusters or smaller blocks"
        )
    if brings(instructions, "blocks"):
        return cluster
    most = LANES_AT_ONCE // one.lanes, SHARED_AT_ONCE // max(smem, 1), RECORDS_AT_ONCE // records
    return max(min(one.blocks, *most) // cluster, 1) * cluster


def addresses(launch: Launch, arena: Arena) -> tuple[dict[str, int], int]:
    """The address of every variable in its own space, and the bytes of static shared memory."""
    symbols = {p.name: p.offset for p in launch.kernel.parameters}
    ends = {"shared": 0, "local": 0}
    variables = [*launch.module.variables.values(), *launch.kernel.variables.values()]
    for variable in sorted(variables, key=lambda v: v.size is None):  # dynamic shared memory comes last
        if variable.space in ends:
            start = -(-ends[variable.space] // variable.align) * variable.align
            symbols[variable.name] = start
            ends[variable.space] = start + (variable.size or 0)
        elif variable.space in ("global", "const"):
            allocation = arena.allocate(variable.name, variable.size or 0)
            contents = arena.contents(allocation)
            contents[:] = 0
            contents[: len(variable.data)] = np.frombuffer(variable.data, np.uint8)
            symbols[variable.name] = arena.address_of(allocation)
    return symbols, ends["shared"]


def dynamic_start(launch: Launch, symbols: Mapping[str, int], static: int) -> int:
    """Where a block's dynamic shared memory begins."""
    variables = [*launch.module.variables.values(), *launch.kernel.variables.values()]
    return next((symbols[v.name] for v in variables if v.space == "shared" and v.size is None), static)


def program_of(kernel: Kernel, blocks: Sequence[BasicBlock], state: State) -> Program:
    wgmmas = (item for item in enumerate(kernel.instructions) if facts_of(item[1]).ends == "warpgroup")
    multiplications = {site: multiplication(instruction, site, state) for site, instruction in wgmmas}
    steps = [decode_block(kernel, block, state) for block in blocks]
    order = execution_order([block.successors for block in blocks])
    return Program(kernel, blocks, steps, order, multiplications)


def decode_block(kernel: Kernel, block: BasicBlock, state: State) -> list[Any]:
    numbered = [(site, kernel.instructions[site]) for site in range(block.start, block.end)]
    return [decode(instruction, site, state) for site, instruction in numbered if not ends_block(instruction)]


# what looks on --------------------------------------------------------------------------------------------------


def make_watch(
    launch: Launch,
    geometry: Geometry,
    copies: AsyncCopies,
    arena: Arena,
    findings: Findings,
    places: Places,
    undefined: Undefined,
    alive: np.ndarray,
) -> Watch:
    instructions = launch.kernel.instructions
    clocks = LaneClocks(geometry, agents_of(instructions, geometry), alive)
    stores = [i for i in instructions if facts_of(i).stores and touches(i, "global")]

    def name(place: int) -> str:
        nearest = arena.nearest(place)
        return nearest.element(place - nearest.start) if nearest else "memory"

    flags = any(map(orders_blocks, instructions))
    elements = [tensor.width for tensor in arena.allocations if tensor.width]
    piece = min([smallest(stores), *elements]) if clocks.agents.stores else smallest(stores)
    may_have = flags or any(i.parts[0] == "atom" for i in instructions)
    before = arena.stored if launch.overlapping else None
    size = len(arena.bytes)
    work = WorkCounts(geometry, clocks, copies, size // piece + 1)
    overlaps = GlobalShadow(geometry, size, piece, clocks, findings, places.show, name, work, flags, may_have, before)
    piece = smallest_shared(instructions)
    races = SharedShadow(geometry, copies.shared.size, piece, clocks, copies, findings, places.show, work)
    return Watch(findings, AccessLog(), clocks, races, undefined, overlaps, places.show, work)


def agents_of(instructions: Sequence[Instruction], geometry: Geometry) -> Agents:
    """The agents other than threads that access shared memory."""
    stores = any("bulk_group" in instruction.parts for instruction in instructions)
    warpgroups = -(-geometry.warps // WARPGROUP) if brings(instructions, "wgmma") else 0
    if brings(instructions, "tcgen05"):
        warpgroups = 1  # one queue of multiplications for all threads
    return Agents(geometry.warps, stores, warpgroups, MOST if brings(instructions, "mbarriers") else 0)


def smallest_shared(instructions: Sequence[Instruction]) -> int:
    return smallest(i for i in instructions if touches(i, "shared"))


def orders_blocks(instruction: Instruction) -> bool:
    """Whether a kernel with this instruction may order its blocks itself."""
    if instruction.parts[0] in ("ld", "st", "atom", "red"):
        return is_strong(instruction) and bool((STRONG - {"relaxed"}) & set(instruction.parts))
    return is_fence(instruction) and scope_of(instruction) == DEVICE


def make_report(
    launch: Launch, geometry: Geometry, watch: Watch, places: Places, runs: Sequence[int], printed: Sequence[str]
) -> Report:
    """runs: by how many warps each instruction was issued."""
    instructions = launch.kernel.instructions
    accesses = tuple(
        MemoryAccess(
            site,
            instructions[site].opcode,
            space,
            places.of(site),
            instructions[site].line,
            tally.warps,
            tally.taken,
            tally.needed,
            tally.worst,
            tally.lines,
        )
        for (site, space), tally in watch.log
    )
    lines = tuple("".join(printed).splitlines())
    return Report(
        findings=collected(watch.findings, launch.kernel, places),
        accesses=accesses,
        blocks=geometry.blocks,
        issued=tuple(Issued(one.opcode, places.of(n), runs[n], one.line) for n, one in enumerate(instructions)),
        repeats=collected(watch.overlaps.repeats, launch.kernel, places),
        zeros=collected(watch.zeros, launch.kernel, places),
        printed=lines,
    )


def collected(findings: Findings, kernel: Kernel, places: Places) -> tuple[Finding, ...]:
    """Findings of one kind at one line of the source, about one other line, are one."""
    found: dict[tuple[str, str, object], Finding] = {}
    for (kind, site, apart), noticed in findings.seen.items():
        other = places.show(apart) if isinstance(apart, int) else apart
        key = (kind, places.show(site), other)
        count = noticed.count + (found[key].count if key in found else 0)
        line, at = kernel.instructions[site].line, places.of(apart) if isinstance(apart, int) else None
        first = found.get(key) or Finding(kind, noticed.message, places.of(site), line, 0, at)
        found[key] = replace(first, count=count)
    return tuple(found.values())
