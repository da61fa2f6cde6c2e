"""Simulating one launch: the blocks of a grid, as many at a time as are worth it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf, prod

import numpy as np

from tutorlib.compiling.compiled import LaunchConfig
from tutorlib.compiling.cpp import cpp_name, variable_name
from tutorlib.dsl.failure import Fail, Flaw, Hazard
from tutorlib.simulate.ptx.findings import CannotLaunch, Find, NamedMemory, NotSimulated, unknown_place
from tutorlib.simulate.ptx.geometry import ALONE, Dim3, Geometry
from tutorlib.simulate.ptx.ir import Kernel, Module
from tutorlib.simulate.ptx.memory import Arena
from tutorlib.simulate.ptx.report import Issued, MemoryAccess, Report
from tutorlib.simulate.ptx.schedule import Scheduler
from tutorlib.simulate.ptx.state import State

LANES_AT_ONCE = 4096  # of the blocks that run together: enough that NumPy's own cost for a call is small
SHARED_AT_ONCE = 2**21  # bytes of shared memory of these blocks, each of which has records of up to 400 bytes
FAULTS = set(Hazard) - {Hazard.REPEAT, Hazard.ZEROS}
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
    cooperative, overlapping: as `LaunchConfig` has them.
    names: of its dynamic shared memory, from whose beginning they start. name: of the kernel in the source.
    """

    module: Module
    kernel: Kernel
    grid: Dim3
    block: Dim3
    dynamic_smem: int
    parameters: bytes
    find: Find = unknown_place
    cluster: Dim3 = ALONE
    cooperative: bool = False
    overlapping: bool = False
    names: Sequence[NamedMemory] = ()
    name: str = ""

    @property
    def config(self) -> LaunchConfig:
        return LaunchConfig(self.grid, self.block, self.dynamic_smem, self.cluster, self.cooperative, self.overlapping)

    @property
    def shown(self) -> str:
        return self.name or cpp_name(self.kernel.name)


def module_sizes(module: Module) -> list[int]:
    """The block's own variables. Raises NotSimulated if they are too large."""
    sizes = [v.size or 0 for v in module.variables.values() if v.space in ("global", "const")]
    if sum(sizes) > MOST_VARIABLES:
        raise NotSimulated(f"a module with variables of {sum(sizes):,} bytes")
    return sizes


def simulate(launch: Launch, arena: Arena, follow_unset: bool = True, budget: float = inf) -> Report:
    """Run a launch on an arena that holds its tensors; the module's own variables are added.

    follow_unset: whether a value computed from a register never set is a fault where it counts; else it is NaN.
    budget: instructions, over all warps, after which the launch is given up; its report says how many it issued.
    Raises NotSimulated and CannotLaunch.
    """
    cluster = launch.kernel.cluster
    launch = replace(launch, cluster=cluster) if cluster and launch.cluster == ALONE else launch
    look_at(launch)
    symbols, ends = addresses(launch, arena)
    smem = ends["shared"] + launch.dynamic_smem
    if smem > MOST_SHARED:
        raise CannotLaunch(f"{smem:,} bytes of shared memory for a block, which has at most {MOST_SHARED:,}")
    geometry = Geometry(launch.grid, launch.block, batch_of(launch, smem), launch.cluster)
    state = State(launch, geometry, arena, symbols, ends, shared_names(launch, symbols, ends["shared"]), follow_unset)
    scheduler = Scheduler(state, budget)
    try:
        with np.errstate(all="ignore"):
            scheduler.run_all()
        state.overlaps.end()
        return make_report(launch, state, scheduler)
    except NotSimulated as error:
        error.found = state.findings.of(*FAULTS)
        raise
    finally:  # they refer to each other, and the garbage collector does not know how large their arrays are
        for part in (*state.barriers.running.units, scheduler, state):
            vars(part).clear()


def look_at(launch: Launch) -> None:
    """Raises NotSimulated and CannotLaunch."""
    kernel, block = launch.kernel, prod(launch.block)
    if kernel.threads is not None and prod(kernel.threads) < block:
        raise CannotLaunch(f"{kernel.name} is compiled for blocks of {kernel.threads} threads, not {launch.block}")
    if block > MOST_THREADS:
        raise CannotLaunch(f"a block of {block:,} threads, of which a GPU runs {MOST_THREADS:,}")
    if min(*launch.grid, *launch.block) < 1:
        what = f"a grid of {launch.grid} blocks of {launch.block} threads"
        raise CannotLaunch(Flaw(what, Fail.NOT_LAUNCHED(grid="empty" if 0 in launch.grid else "")))
    if kernel.cluster not in (None, launch.cluster):
        raise CannotLaunch(f"{kernel.name} is compiled for clusters of {kernel.cluster} blocks, not {launch.cluster}")
    if any(size % blocks for size, blocks in zip(launch.grid, launch.cluster, strict=True)):
        raise CannotLaunch(f"a grid of {launch.grid} blocks in clusters of {launch.cluster}")
    if prod(launch.grid) > MOST_BLOCKS:
        raise NotSimulated(f"a grid of {prod(launch.grid):,} blocks")


def batch_of(launch: Launch, smem: int) -> int:
    """How many blocks run together: whole clusters."""
    one, cluster = Geometry(launch.grid, launch.block, 1), prod(launch.cluster)
    most = LANES_AT_ONCE // one.lanes, SHARED_AT_ONCE // max(smem, 1)
    return max(min(one.blocks, *most) // cluster, 1) * cluster


def addresses(launch: Launch, arena: Arena) -> tuple[dict[str, int], dict[str, int]]:
    """The address of every variable in its own space, and the bytes of static shared and of local memory."""
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
        else:  # a parameter of a function that is called, which has a space of its own
            symbols[variable.name] = 0
    return symbols, ends


def shared_names(launch: Launch, symbols: Mapping[str, int], static: int) -> list[NamedMemory]:
    """The variables in a block's shared memory: the launch's, which is dynamic, and C++'s, which is static."""
    variables = [*launch.module.variables.values(), *launch.kernel.variables.values()]
    shared = [variable for variable in variables if variable.space == "shared"]
    dynamic = next((symbols[one.name] for one in shared if one.size is None), static)
    named = [(variable_name(one.name), symbols[one.name], one.size) for one in shared]
    return [
        *(replace(one, start=one.start + dynamic) for one in launch.names),
        *(NamedMemory(name, start, size) for name, start, size in named if name and size),
    ]


def make_report(launch: Launch, state: State, scheduler: Scheduler) -> Report:
    instructions, findings, overlaps = launch.kernel.instructions, state.findings, state.overlaps
    lengths = [block.end - block.start for block in state.blocks]
    runs: list[int] = np.repeat(scheduler.runs, lengths).tolist()  # by how many warps each instruction was issued
    accesses = (
        MemoryAccess(site, instructions[site].opcode, space, findings.place(site), instructions[site].line, *tally)
        for site, space, tally in state.log
    )
    return Report(
        findings=findings.of(*FAULTS),
        accesses=tuple(accesses),
        blocks=state.geometry.blocks,
        issued=tuple(
            Issued(one.opcode, findings.place(n), runs[n], one.line, one.operands) for n, one in enumerate(instructions)
        ),
        repeats=findings.of(Hazard.REPEAT),
        zeros=findings.of(Hazard.ZEROS),
        printed=tuple("".join(state.printed).splitlines()),
        kernel=launch.shown,
        storers={one.name: overlaps.storers(one) for one in state.arena.allocations if one.width},
        heard=state.listener.result(launch.kernel, runs),
    )
