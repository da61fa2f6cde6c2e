"""The state of a batch of blocks: registers, memories, the position of each lane.

Lanes: every thread of every block of the batch, warp after warp, block after block, in arrays of one length. A block
whose size is no multiple of 32 has lanes without a thread in its last warp, which never run.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from tutorlib.simulate.ptx.barriers import BlockBarriers
from tutorlib.simulate.ptx.clocks import LaneClocks
from tutorlib.simulate.ptx.copies import BulkCopies
from tutorlib.simulate.ptx.findings import Findings, NotSimulated
from tutorlib.simulate.ptx.geometry import WARP, Dim3, Geometry
from tutorlib.simulate.ptx.global_shadow import GlobalShadow
from tutorlib.simulate.ptx.ir import Kernel, Register
from tutorlib.simulate.ptx.mbarriers import Mbarriers
from tutorlib.simulate.ptx.meetings import ClusterBarriers, Meeting, RegisterPool, Running, WarpgroupMeeting
from tutorlib.simulate.ptx.memory import Arena, AsyncCopies, Listener, SharedMemory
from tutorlib.simulate.ptx.report import AccessLog
from tutorlib.simulate.ptx.shadow import SharedShadow
from tutorlib.simulate.ptx.tensor_memory import TensorMemory
from tutorlib.simulate.ptx.types import bits_of
from tutorlib.simulate.ptx.undefined import Undefined
from tutorlib.simulate.ptx.warpgroups import Warpgroups

Where = np.ndarray | Literal[True]  # the lanes that run an instruction: booleans, or True for all
Step = Callable[[Where], None]

UNSET = 0x7FFF7FFF7FFF7FFF  # a NaN, or several, in every format from fp8 to fp64


@dataclass(frozen=True)
class Units:
    """What works beside a block's threads, or is where they wait."""

    barriers: BlockBarriers
    registers: RegisterPool
    mbarriers: Mbarriers
    together: WarpgroupMeeting
    clusters: ClusterBarriers
    warpgroups: Warpgroups
    bulk: BulkCopies
    tensor: TensorMemory

    @property
    def meetings(self) -> tuple[Meeting, ...]:
        """The places at which threads wait."""
        return self.barriers, self.mbarriers, self.together, self.clusters

    def restart(self) -> None:
        """Make ready for another batch."""
        for unit in (*self.meetings, self.registers, self.warpgroups, self.bulk, self.tensor):
            unit.restart()

    def report_deadlock(self) -> None:
        """No thread can run any longer. The nearest to the cause is told first: a warp that lacks registers arrives at
        no mbarrier."""
        self.barriers.report_deadlock()
        self.registers.report_deadlock()
        for meeting in self.meetings[1:]:
            meeting.report_deadlock()

    def leave(self, lanes: np.ndarray, alive: np.ndarray) -> None:
        """These lanes' threads have just ended. alive: (lanes,), those that have not."""
        self.bulk.leave(lanes)
        self.clusters.leave(lanes)
        if self.bulk.geometry.cluster_size > 1:
            for slot in self.ended(lanes, alive):
                self.bulk.races.leave(slot)
        if self.mbarriers.made:
            for slot in self.ended(lanes, alive):
                self.mbarriers.leave(slot)
                self.tensor.leave(slot)

    def ended(self, lanes: np.ndarray, alive: np.ndarray) -> list[int]:
        """The blocks of these lanes that have no living thread left."""
        of_block = self.bulk.geometry.of_block
        slots = np.unique(lanes // of_block)
        return slots[~alive.reshape(-1, of_block)[slots].any(1)].tolist()


def make_units(running: Running, shared: SharedMemory, races: SharedShadow, kernel: Kernel) -> Units:
    registers, mbarriers = RegisterPool(running, kernel.blocks_per_sm), Mbarriers(running)
    has_tensor_memory = any(one.parts[0] == "tcgen05" for one in kernel.instructions)
    return Units(
        BlockBarriers(running),
        registers,
        mbarriers,
        WarpgroupMeeting(running),
        ClusterBarriers(running),
        Warpgroups(running, races, registers),
        BulkCopies(running, shared, races, mbarriers),
        TensorMemory(running, races, mbarriers, has_tensor_memory),
    )


@dataclass
class Watch:
    """Everything that looks on while a batch runs. zeros: TMA's loads of boxes that have nothing of their tensor."""

    findings: Findings
    log: AccessLog
    clocks: LaneClocks
    races: SharedShadow
    undefined: Undefined
    overlaps: GlobalShadow
    listener: Listener
    zeros: Findings = field(default_factory=Findings)


@dataclass
class State:
    """One batch. upcoming: the place of the first block that has not started.

    symbols: the address of each variable, in its own space. static_shared: bytes of shared memory before the dynamic.
    alive: lanes whose thread has not ended. poisoned: registers that hold UNSET until they are set; others hold 0.
    """

    kernel: Kernel
    geometry: Geometry
    arena: Arena
    shared: SharedMemory
    parameters: np.ndarray
    symbols: dict[str, int]
    local: np.ndarray  # (lanes, bytes of a thread)
    watch: Watch
    copies: AsyncCopies
    units: Units
    alive: np.ndarray
    static_shared: int = 0
    poisoned: frozenset[str] = frozenset()
    printed: list[str] = field(default_factory=list)
    upcoming: int = 0

    def __post_init__(self) -> None:
        lanes = self.geometry.lanes
        self.registers: dict[str, np.ndarray] = {}
        self.special: dict[str, np.ndarray] = {}
        self.time = 0
        self.thread, self.slot = self.geometry.thread(), self.geometry.slot()
        self.warp = self.thread // WARP
        self.local_set = np.zeros(self.local.shape, bool)
        self.shared_row = self.slot * self.shared.stride
        self.call_space = {  # parameters of functions that are called, for each lane
            name: np.zeros((lanes, -(-(variable.size or 8) // 16) * 16), np.uint8)
            for name, variable in self.kernel.variables.items()
            if variable.space == "param"
        }

    def enter(self, first: int) -> None:
        """Make ready for the blocks from this one on."""
        self.geometry.first, self.upcoming = first, first + self.geometry.batch
        self.shared.clear()
        self.copies.restart()
        self.watch.clocks.restart()
        self.watch.races.restart()
        self.watch.listener.restart()
        self.watch.overlaps.restart()
        self.alive[:] = (self.thread < self.geometry.threads) & (first + self.slot < self.geometry.blocks)
        self.watch.undefined.restart(self.alive)
        self.local_set.fill(False)
        for name, register in self.registers.items():
            register.fill(self.at_first(name, register.dtype))
        self.units.restart()
        for name, values in self.special.items():
            values[:] = self.special_values(name)

    # operands ---------------------------------------------------------------------------------------------------

    def storage(self, register: Register) -> np.ndarray:
        """The register's own array: booleans, or unsigned numbers."""
        name = register.name
        if name not in self.registers:
            kind = self.kernel.type_of(register)
            if bits_of(kind) > 64:
                raise NotSimulated(f"the register {name} of {bits_of(kind)} bits")
            dtype = np.bool_ if kind == "pred" else f"u{bits_of(kind) // 8}"
            self.registers[name] = np.full(self.geometry.lanes, self.at_first(name, np.dtype(dtype)), dtype)
        return self.registers[name]

    def at_first(self, name: str, dtype: np.dtype) -> int:
        """A register's value before it is set."""
        return UNSET >> 64 - 8 * dtype.itemsize if name in self.poisoned and dtype != np.bool_ else 0

    # special registers (PTX ISA, chapter 10) ----------------------------------------------------------------------

    def is_special(self, name: str) -> bool:
        return name.split(".")[0] in SPECIAL

    def special_register(self, name: str) -> np.ndarray:
        if name not in self.special:
            self.special[name] = self.special_values(name)
        return self.special[name]

    def set_time(self, instructions: int) -> None:
        """The clocks of the machine count the instructions that the threads which go together have run."""
        self.time = instructions
        for name in TIMERS:
            if name in self.special:
                self.special[name].fill(instructions)

    def special_values(self, name: str) -> np.ndarray:
        base, _, axis = name.partition(".")
        values = SPECIAL[base](self, "xyz".find(axis) if axis else 0)
        dtype = np.uint64 if base in ("%clock64", "%globaltimer") else np.uint32
        return np.broadcast_to(np.asarray(values), self.geometry.lanes).astype(dtype)

    @property
    def block(self) -> np.ndarray:
        """The place of each lane's block."""
        return self.geometry.first + self.slot

    @property
    def rank(self) -> np.ndarray:
        """Each lane's block, counted in its cluster."""
        return self.slot % self.geometry.cluster_size

    def along(self, numbers: np.ndarray, sizes: Dim3, axis: int) -> np.ndarray:
        """The coordinate along one axis of these numbers."""
        below = (1, sizes[0], sizes[0] * sizes[1])[axis]
        return numbers // below % sizes[axis]


def of_the_driver(state: State, axis: int) -> int:
    """%envreg1 and %envreg2: cooperative groups find there what the driver makes for a cooperative launch."""
    raise NotSimulated("grid.sync(), the barrier of all blocks of a cooperative launch,")


TIMERS = ("%clock", "%clock64", "%globaltimer", "%globaltimer_lo")
SPECIAL: dict[str, Callable[[State, int], np.ndarray | int]] = {
    "%tid": lambda s, axis: s.along(s.thread, s.geometry.block, axis),
    "%ntid": lambda s, axis: s.geometry.block[axis],
    "%ctaid": lambda s, axis: s.along(s.geometry.number(s.block), s.geometry.grid, axis),
    "%nctaid": lambda s, axis: s.geometry.grid[axis],
    "%laneid": lambda s, axis: s.thread % WARP,
    "%warpid": lambda s, axis: s.thread // WARP,
    "%nwarpid": lambda s, axis: s.geometry.warps,
    "%lanemask_eq": lambda s, axis: 1 << s.thread % WARP,
    "%lanemask_lt": lambda s, axis: (1 << s.thread % WARP) - 1,
    "%lanemask_le": lambda s, axis: (2 << s.thread % WARP) - 1,
    "%lanemask_gt": lambda s, axis: 0xFFFFFFFF & -(2 << s.thread % WARP),
    "%lanemask_ge": lambda s, axis: 0xFFFFFFFF & -(1 << s.thread % WARP),
    "%smid": lambda s, axis: s.block,
    "%nsmid": lambda s, axis: s.geometry.blocks,
    "%gridid": lambda s, axis: 0,
    **dict.fromkeys(TIMERS, lambda s, axis: s.time),
    "%clock_hi": lambda s, axis: 0,
    "%globaltimer_hi": lambda s, axis: 0,
    "%cluster_ctaid": lambda s, axis: s.along(s.rank, s.geometry.cluster, axis),
    "%cluster_nctaid": lambda s, axis: s.geometry.cluster[axis],
    "%cluster_ctarank": lambda s, axis: s.rank,
    "%cluster_nctarank": lambda s, axis: s.geometry.cluster_size,
    "%clusterid": lambda s, axis: s.along(s.block // s.geometry.cluster_size, s.geometry.clusters, axis),
    "%nclusterid": lambda s, axis: s.geometry.clusters[axis],
    "%is_explicit_cluster": lambda s, axis: s.geometry.cluster_size > 1,
    "%dynamic_smem_size": lambda s, axis: s.shared.size - s.static_shared,
    "%total_smem_size": lambda s, axis: s.shared.size,
    **dict.fromkeys(("%envreg1", "%envreg2"), of_the_driver),
}


def as_index(where: Where) -> np.ndarray | slice:
    """The lanes as an index."""
    return slice(None) if where is True else np.flatnonzero(where)


def of_warps(values: np.ndarray) -> np.ndarray:
    """(lanes,) → (warps, 32)"""
    return values.reshape(-1, WARP)
