"""wgmma: four warps tell the tensor cores to multiply, and wait for it later (PTX ISA, 9.7.15).

A warp's accumulators are in its registers when it has waited. Until then those registers belong to the tensor cores.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from tutorlib.dsl.failure import Hazard
from tutorlib.simulate.ptx.descriptors import UNIT
from tutorlib.simulate.ptx.findings import NotSimulated
from tutorlib.simulate.ptx.geometry import WARP, WARPGROUP
from tutorlib.simulate.ptx.meetings import RegisterPool, Unit
from tutorlib.simulate.ptx.memory import Access, Groups
from tutorlib.simulate.ptx.shadow import SharedShadow
from tutorlib.simulate.ptx.types import Array

POISON = 0x7FC0EBEB  # a NaN: what registers hold that belong to the tensor cores
FENCED, AT_THE_START = -1, -2  # in place of an instruction


@dataclass(frozen=True)
class Accumulators:
    """Registers that wgmmas add into. names: theirs. registers: (registers, lanes). values: (warps, 16, columns), what
    is in them while they belong to the tensor cores. pending: of each warp, how many wgmmas it has not waited for.

    packed: whether a register holds two fp16 accumulators.
    """

    names: tuple[str, ...]
    registers: Sequence[np.ndarray]
    values: np.ndarray
    pending: np.ndarray
    packed: bool

    def take(self, warps: np.ndarray) -> None:
        """The registers of these warps to the tensor cores."""
        rows = of_lanes(warps)
        held = np.stack([register[rows] for register in self.registers])  # (registers, lanes)
        if self.packed:
            held = np.ascontiguousarray(held.T).view(np.float16).astype(np.float32).T
        self.values[warps] = by_rows(held.view(np.float32), len(warps))
        for register in self.registers:
            register[rows] = POISON

    def give(self, warps: np.ndarray) -> None:
        """And back."""
        held = by_registers(self.values[warps])
        if self.packed:
            held = np.ascontiguousarray(held.T.astype(np.float16)).view(np.uint32).T
        rows = of_lanes(warps)
        for register, values in zip(self.registers, held.view(np.uint32), strict=True):
            register[rows] = values


def of_lanes(warps: np.ndarray) -> np.ndarray:
    return np.asarray((warps[:, None] * WARP + np.arange(WARP)).reshape(-1))


def by_rows(held: np.ndarray, warps: int) -> np.ndarray:
    """(registers, lanes) → (warps, 16, columns): lane l has columns 2·(l % 4) and the next of each 8, in row l / 4 and
    in the one 8 below (PTX ISA, 9.7.15.5.1, the fragment of D)."""
    eights = len(held) // 4
    parts = held.reshape(eights, 2, 2, warps, 8, 4)  # columns by 8, half, neighbor, warp, row, pair
    return np.ascontiguousarray(parts.transpose(3, 1, 4, 0, 5, 2)).reshape(warps, 16, 8 * eights)


def by_registers(values: np.ndarray) -> np.ndarray:
    """The reverse."""
    warps, _, columns = values.shape
    parts = values.reshape(warps, 2, 8, columns // 8, 4, 2)  # warp, half, row, columns by 8, pair, neighbor
    return np.ascontiguousarray(parts.transpose(3, 1, 5, 0, 2, 4)).reshape(columns // 2, warps * WARP)


@dataclass(frozen=True)
class Product:
    """One wgmma of some warps. numbers: for each, among its warpgroup's."""

    site: int
    acc: Accumulators
    numbers: np.ndarray


@dataclass
class Warpgroups(Unit):
    """of_block: warpgroups. told: how many wgmmas each was told to do. products: that their warps have not waited for.

    touched: of each warp, the last use of accumulators since a fence. warpgroup: of each lane.
    """

    races: SharedShadow
    pool: RegisterPool
    all_acc: dict[tuple[str, ...], Accumulators] = field(default_factory=dict)
    by_name: dict[str, Accumulators] = field(default_factory=dict)

    def restart(self) -> None:
        self.of_block = -(-self.geometry.warps // WARPGROUP)
        warp = np.arange(self.geometry.lanes) // WARP
        self.warpgroup = warp // self.geometry.warps * self.of_block + warp % self.geometry.warps // WARPGROUP
        self.products = Groups[Product](self.geometry.batch * self.geometry.warps)
        self.touched = np.full_like(self.products.committed, AT_THE_START)
        self.told = np.zeros(self.geometry.batch * self.of_block, np.int32)
        for acc in self.all_acc.values():
            acc.pending.fill(0)
            for register in acc.registers:
                register.fill(POISON)  # no instruction has set them

    def acc(self, names: tuple[str, ...], registers: Sequence[np.ndarray], packed: bool) -> Accumulators:
        """The registers that a wgmma adds into. Raises NotSimulated where some of them are another's, too."""
        if names not in self.all_acc:
            if any(name in self.by_name for name in names):
                raise NotSimulated("two wgmmas that share some of their registers")
            warps = self.geometry.batch * self.geometry.warps
            columns = 2 * len(names) * (1 + packed)
            values = np.zeros((warps, 16, columns), np.float32)
            made = Accumulators(names, registers, values, np.zeros(warps, np.int32), packed)
            self.all_acc[names] = made
            self.by_name |= dict.fromkeys(names, made)
        return self.all_acc[names]

    def warps_of(self, warpgroups: np.ndarray) -> np.ndarray:
        """(warpgroups, 4): the numbers of their warps in the batch."""
        slot, number = warpgroups // self.of_block, warpgroups % self.of_block
        return np.asarray((slot * self.geometry.warps + number * WARPGROUP)[:, None] + np.arange(WARPGROUP))

    def tell(self, site: int, acc: Accumulators, warpgroups: Array, units: Array, products: Array, adds: Array) -> None:
        """The tensor cores are told to multiply. units: (warpgroups, n) addresses in their blocks' shared memory of the
        16 bytes each that they read. products: (warpgroups, 64, columns). adds: whether to what is there, for each."""
        warps, count = self.warps_of(warpgroups), len(warpgroups)
        flat = warps.reshape(-1)
        self.compare_with_fence(site, flat)
        fresh = flat[acc.pending[flat] == 0]
        if len(fresh):
            added_to = fresh[np.isin(fresh, warps[adds])]
            if len(unset := added_to[acc.registers[0][added_to * WARP] == POISON]):
                says = f"{self.geometry.show_warp(int(unset[0]))} lets wgmma add to registers that were never set"
                self.notice(Hazard.UNWRITTEN(by="wgmma"), site, says, len(unset))
            acc.take(fresh)
        before = np.where(np.repeat(adds, WARPGROUP)[:, None, None], acc.values[flat], 0)
        sums = products.reshape(before.shape) + before
        acc.values[flat] = sums.astype(np.float16) if acc.packed else sums
        acc.pending[flat] += 1
        self.told[warpgroups] += 1
        numbers = self.told[warpgroups]
        self.products.issue(Product(site, acc, np.repeat(numbers, WARPGROUP)), flat)
        slots, number = warpgroups // self.of_block, warpgroups % self.of_block
        self.pool.need(site, slots, number * WARPGROUP, len(acc.names))
        each = units.shape[1]
        lanes = np.repeat(self.clocks.least(of_lanes(flat).reshape(count, -1)), each)
        access = Access(site, lanes, units.reshape(-1), UNIT, np.repeat(slots, each), agent="wgmma")
        cores = self.clocks.agents.tensor_cores(number)
        self.races.on_proxy_read(access, np.repeat(cores, each), np.repeat(numbers, each))

    def fence(self, warps: np.ndarray) -> None:
        self.touched[warps] = FENCED

    # waiting ------------------------------------------------------------------------------------------------------

    def wait(self, warps: np.ndarray, open_groups: int) -> None:
        """These warps' groups are over, but for the newest `open_groups`."""
        for one in self.products.wait(warps, open_groups):
            acc, done = one.what.acc, one.lanes
            acc.pending[done] -= 1
            if len(free := done[acc.pending[done] == 0]):
                acc.give(free)
            slots, in_block = np.divmod(done, self.geometry.warps)
            components = self.clocks.base[slots] + self.clocks.agents.tensor_cores(in_block // WARPGROUP)
            numbers = one.what.numbers[one.at]
            self.clocks.learn(of_lanes(done), np.repeat(components, WARP), np.repeat(numbers, WARP))

    # what threads must not do meanwhile -----------------------------------------------------------------------------

    def touch(self, site: int, acc: Accumulators, warps: np.ndarray, moves: bool) -> None:
        """An instruction of these warps is about to use registers that wgmmas add into. moves: to copy, to set
        or to test them, which a compiler may do between a fence and a wgmma, and makes safe."""
        early = warps[acc.pending[warps] > 0]
        if len(early):
            warp, products = int(early[0]), self.products.in_flight
            told = next(one.what.site for one in products if one.what.acc is acc and warp in one.lanes)
            says = f"{self.geometry.show_warp(warp)} uses registers that the wgmma at {self.show(told)} may still be "
            says += "adding to: no wait_group has covered it"
            self.notice(Hazard.UNWAITED(lacks="wgmma"), site, says, len(early), told)
        if not moves:
            self.touched[warps] = site

    def compare_with_fence(self, site: int, warps: np.ndarray) -> None:
        late = warps[self.touched[warps] != FENCED]
        if not len(late):
            return
        what, before = "has no wgmma.fence before its first wgmma", int(self.touched[late[0]])
        if before != AT_THE_START:
            what = f"lets wgmma add to registers that {self.show(before)} uses, and no wgmma.fence lies between"
        says = f"{self.geometry.show_warp(int(late[0]))} {what}"
        self.notice(Hazard.RACE(lacks="wgmma.fence"), site, says, len(late), "fence")
        self.touched[late] = FENCED
