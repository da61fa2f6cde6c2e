"""The state of a batch of blocks: registers, memories, the position of each lane.

Lanes: every thread of every block of the batch, warp after warp, block after block, in arrays of one length. A block
whose size is no multiple of 32 has lanes without a thread in its last warp, which never run.
"""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Literal

import numpy as np

from tutorlib.simulate.ptx.barriers import BlockBarriers
from tutorlib.simulate.ptx.clocks import Agents, LaneClocks
from tutorlib.simulate.ptx.copies import BulkCopies
from tutorlib.simulate.ptx.findings import Findings, NamedMemory, NotSimulated
from tutorlib.simulate.ptx.flags import fences_of
from tutorlib.simulate.ptx.flow import basic_blocks, unset_at_first
from tutorlib.simulate.ptx.geometry import WARP, WARPGROUP, Geometry, coordinates
from tutorlib.simulate.ptx.global_shadow import GlobalShadow
from tutorlib.simulate.ptx.ir import Instruction, Register
from tutorlib.simulate.ptx.mbarriers import MOST, Mbarriers
from tutorlib.simulate.ptx.meetings import ClusterBarriers, RegisterPool, Running, WarpgroupMeeting
from tutorlib.simulate.ptx.memory import MAKE, POISON, Arena, AsyncCopies, SharedMemory
from tutorlib.simulate.ptx.opcode_facts import brings, facts_of, smallest, touches
from tutorlib.simulate.ptx.report import AccessLog
from tutorlib.simulate.ptx.shadow import SharedShadow
from tutorlib.simulate.ptx.tensor_memory import TensorMemory
from tutorlib.simulate.ptx.types import bits_of
from tutorlib.simulate.ptx.undefined import Undefined
from tutorlib.simulate.ptx.warpgroups import Warpgroups

if TYPE_CHECKING:
    from tutorlib.simulate.ptx.simulation import Launch

Where = np.ndarray | Literal[True]  # the lanes that run an instruction: booleans, or True for all
Step = Callable[[Where], object]

UNSET = 0x7FFF7FFF7FFF7FFF  # a NaN, or several, in every format from fp8 to fp64
LOCAL_ALIGNMENT = 16


class State:
    """One batch, what works beside its threads, and what looks on.

    blocks: the basic blocks of the program. upcoming: the place of the first block of the grid that has not started.
    symbols: the address of each variable, in its own space. static_shared: bytes of shared memory before the dynamic.
    alive: lanes whose thread has not ended. local: (lanes, bytes of a thread). call_space: parameters of functions that
        are called, for each lane.
    poisoned: registers that hold UNSET until they are set; others hold 0.
    factors: of mma.sync, by their registers: what decoding has seen of a basic block and no later instruction changed.
    meetings: the units at which threads wait; units: all that start anew with a batch.
    """

    def __init__(
        self,
        launch: "Launch",
        geometry: Geometry,
        arena: Arena,
        symbols: dict[str, int],
        ends: dict[str, int],
        names: Sequence[NamedMemory],
        follow_unset: bool,
    ) -> None:
        """ends: the bytes of a block's static shared memory, and of a thread's local memory."""
        kernel, instructions, lanes = launch.kernel, launch.kernel.instructions, geometry.lanes
        self.kernel, self.geometry, self.arena, self.symbols = kernel, geometry, arena, symbols
        self.blocks, self.static_shared, self.upcoming = basic_blocks(kernel), ends["shared"], 0
        unset = unset_at_first(kernel, self.blocks)
        self.poisoned = frozenset() if follow_unset else unset
        self.parameters = np.frombuffer(launch.parameters + bytes(8), np.uint8)
        self.registers: dict[str, np.ndarray] = {}
        self.special: dict[str, np.ndarray] = {}
        self.printed: list[str] = []
        self.factors: dict[tuple[tuple[str, ...], int, str], list[np.ndarray]] = {}
        self.time = 0
        self.thread, self.slot, self.alive = geometry.thread(), geometry.slot(), np.ones(lanes, bool)
        self.local = np.zeros((lanes, -(-max(ends["local"], 1) // LOCAL_ALIGNMENT) * LOCAL_ALIGNMENT), np.uint8)
        self.local_set = np.zeros(self.local.shape, bool)
        called = {name: one.size or 8 for name, one in kernel.variables.items() if one.space == "param"}
        self.call_space = {name: np.zeros((lanes, -(-size // 16) * 16), np.uint8) for name, size in called.items()}
        self.shared = SharedMemory(geometry.batch, ends["shared"] + launch.dynamic_smem)
        self.shared_row = self.slot * self.shared.stride
        self.copies, self.log = AsyncCopies(lanes, self.shared), AccessLog()

        self.findings = Findings(kernel, launch.find, names)
        fences = dict.fromkeys(fence for one in instructions for fence in fences_of(one))
        self.clocks = LaneClocks(geometry, agents_of(instructions, geometry), self.alive, [*fences])
        running = Running(geometry, self.clocks, self.findings)
        stores = [one for one in instructions if facts_of(one).stores and touches(one, "global")]
        elements = [tensor.width for tensor in arena.allocations if tensor.width and self.clocks.agents.stores]
        piece = min([smallest(stores), *elements])
        self.listener = MAKE.get()(running, self.copies, piece, len(arena.bytes) // piece + 1)
        self.undefined = Undefined(geometry, self.findings, self.storage, unset if follow_unset else frozenset())
        self.overlaps = GlobalShadow(running, arena, piece, self.listener)
        fewest = smallest(one for one in instructions if touches(one, "shared"))
        self.races = SharedShadow(running, self.shared.size, fewest, self.copies, self.listener)

        self.barriers = BlockBarriers(running)
        self.pool = RegisterPool(running, kernel.blocks_per_sm)
        self.mbarriers = Mbarriers(running)
        self.together, self.clusters = WarpgroupMeeting(running), ClusterBarriers(running)
        self.warpgroups = Warpgroups(running, self.races, self.pool)
        self.bulk = BulkCopies(running, self.shared, self.races, self.mbarriers)
        self.tensor = TensorMemory(running, self.races, self.mbarriers, brings(instructions, "tcgen05"))
        self.meetings = self.barriers, self.mbarriers, self.together, self.clusters
        self.units = running.units

    def enter(self, first: int) -> None:
        """Make ready for the blocks from this one on."""
        self.geometry.first, self.upcoming = first, first + self.geometry.batch
        self.alive[:] = (self.thread < self.geometry.threads) & (first + self.slot < self.geometry.blocks)
        self.local_set.fill(False)
        self.undefined.restart(self.alive)
        self.shared.bytes.fill(POISON)
        for name, register in self.registers.items():
            register.fill(self.at_first(name, register.dtype))
        self.copies.restart()
        self.clocks.restart()
        self.listener.restart()
        for unit in self.units:
            unit.restart()
        for name, values in self.special.items():
            values[:] = self.special_values(name)

    def end(self, lanes: np.ndarray) -> None:
        """These lanes' threads end."""
        self.alive[lanes] = False
        self.bulk.leave(lanes)
        self.clusters.settle()
        if self.geometry.cluster_size > 1 or self.mbarriers.made:
            slots = np.unique(self.slot[lanes])
            for slot in slots[~self.alive.reshape(self.geometry.batch, -1)[slots].any(1)].tolist():
                self.races.leave(slot)
                self.mbarriers.leave(slot)
                self.tensor.leave(slot)

    # operands ---------------------------------------------------------------------------------------------------

    def storage(self, register: Register) -> np.ndarray:
        """The register's own array: booleans, or unsigned numbers."""
        name = register.name
        if name not in self.registers:
            kind = self.kernel.type_of(name)
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

    def set_time(self, instructions: int) -> None:
        """The clocks of the machine count the instructions that the threads which go together have run."""
        self.time = instructions
        for name in TIMERS:
            if name in self.special:
                self.special[name].fill(instructions)

    def special_values(self, name: str) -> np.ndarray:
        """The last letter of %tid.x is the axis."""
        base, _, axis = name.partition(".")
        values = SPECIAL[base](self, "xyz".find(axis) if axis else 0)
        dtype = np.uint64 if base in ("%clock64", "%globaltimer") else np.uint32
        return np.broadcast_to(np.asarray(values), self.geometry.lanes).astype(dtype)


def of_the_driver(state: State, axis: int) -> int:
    """%envreg1 and %envreg2: cooperative groups find there what the driver makes for a cooperative launch."""
    raise NotSimulated("grid.sync(), the barrier of all blocks of a cooperative launch,")


TIMERS = ("%clock", "%clock64", "%globaltimer", "%globaltimer_lo")
SPECIAL: dict[str, Callable[[State, int], np.ndarray | int]] = {
    "%tid": lambda s, axis: coordinates(s.thread, s.geometry.block)[axis],
    "%ntid": lambda s, axis: s.geometry.block[axis],
    "%ctaid": lambda s, axis: coordinates(s.geometry.number(s.geometry.first + s.slot), s.geometry.grid)[axis],
    "%nctaid": lambda s, axis: s.geometry.grid[axis],
    "%laneid": lambda s, axis: s.thread % WARP,
    "%warpid": lambda s, axis: s.thread // WARP,
    "%nwarpid": lambda s, axis: s.geometry.warps,
    "%lanemask_eq": lambda s, axis: 1 << s.thread % WARP,
    "%lanemask_lt": lambda s, axis: (1 << s.thread % WARP) - 1,
    "%lanemask_le": lambda s, axis: (2 << s.thread % WARP) - 1,
    "%lanemask_gt": lambda s, axis: 0xFFFFFFFF & -(2 << s.thread % WARP),
    "%lanemask_ge": lambda s, axis: 0xFFFFFFFF & -(1 << s.thread % WARP),
    "%smid": lambda s, axis: s.geometry.first + s.slot,
    "%nsmid": lambda s, axis: s.geometry.blocks,
    **dict.fromkeys(("%gridid", "%clock_hi", "%globaltimer_hi"), lambda s, axis: 0),
    **dict.fromkeys(TIMERS, lambda s, axis: s.time),
    "%cluster_ctaid": lambda s, axis: coordinates(s.slot % s.geometry.cluster_size, s.geometry.cluster)[axis],
    "%cluster_nctaid": lambda s, axis: s.geometry.cluster[axis],
    "%cluster_ctarank": lambda s, axis: s.slot % s.geometry.cluster_size,
    "%cluster_nctarank": lambda s, axis: s.geometry.cluster_size,
    "%clusterid": lambda s, axis: coordinates(
        (s.geometry.first + s.slot) // s.geometry.cluster_size, s.geometry.clusters
    )[axis],
    "%nclusterid": lambda s, axis: s.geometry.clusters[axis],
    "%is_explicit_cluster": lambda s, axis: s.geometry.cluster_size > 1,
    "%dynamic_smem_size": lambda s, axis: s.shared.size - s.static_shared,
    "%total_smem_size": lambda s, axis: s.shared.size,
    **dict.fromkeys(("%envreg1", "%envreg2"), of_the_driver),
}


def agents_of(instructions: Sequence[Instruction], geometry: Geometry) -> Agents:
    """The agents other than threads that access shared memory."""
    stores = any("bulk_group" in instruction.parts for instruction in instructions)
    warpgroups = -(-geometry.warps // WARPGROUP) if brings(instructions, "wgmma") else 0
    if brings(instructions, "tcgen05"):
        warpgroups = 1  # one queue of multiplications for all threads
    return Agents(geometry.warps, stores, warpgroups, MOST if brings(instructions, "mbarriers") else 0)


def as_index(where: Where) -> np.ndarray | slice:
    """The lanes as an index."""
    return slice(None) if where is True else np.flatnonzero(where)


def of_warps(values: np.ndarray) -> np.ndarray:
    """(lanes,) → (warps, 32)"""
    return values.reshape(-1, WARP)
