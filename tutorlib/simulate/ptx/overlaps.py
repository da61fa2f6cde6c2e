"""Global memory that several blocks store different values to, or that one loads and another stores.

Blocks run in no order, so either may come first, unless fences and a flag order them (`block_order`).
"""

from collections.abc import Callable, Iterable
from functools import cache, partial

import numpy as np

from tutorlib.dsl.failure import Hazard
from tutorlib.simulate.ptx.block_order import ACQUIRE, RELEASE, BlockOrder, is_strong
from tutorlib.simulate.ptx.errors import TooManyRecords
from tutorlib.simulate.ptx.findings import Findings
from tutorlib.simulate.ptx.geometry import Geometry
from tutorlib.simulate.ptx.memory.access import GlobalAccess
from tutorlib.simulate.ptx.memory.arena import Allocation

MOST_RECORDS = 2**31  # bytes
BITS = 64
NO_BLOCK, ATOMIC = 0, -1  # in place of a block's number + 1


class Overlaps:
    """piece: bytes that are watched together. name: a place in the arena as the reader indexes it.
    order: how blocks may order one another, None where the kernel has nothing for that. has_flags: whether it does so
    by fences and flags. knows_storers: whether the last storer of every element is known.

    repeats: where a block stores the value that another has stored: no fault, but done twice.
    busy: (blocks, warps), which warps have loaded or stored.
    loaders: for each piece, a bit for each block that has loaded it, of up to BITS blocks. loads: how many pieces were
    loaded; reloaded, restored: how many a block has loaded or stored again.
    """

    def __init__(
        self,
        geometry: Geometry,
        size: int,
        piece: int,
        findings: Findings,
        show: Callable[[int], str],
        name: Callable[[int], str],
        order: BlockOrder | None,
        has_flags: bool = False,
    ) -> None:
        self.geometry, self.piece, self.findings, self.show, self.name = geometry, piece, findings, show, name
        self.order, self.has_flags, self.knows_storers = order, has_flags, True
        self.repeats = Findings()
        count = size // piece + 1
        if (needs := count * (22 if order else 16)) > MOST_RECORDS:
            raise TooManyRecords(
                f"what blocks store to {size:,} bytes of tensors would take {needs / 2**30:.1f} GB to remember: choose "
                f"sizes with at most {size * MOST_RECORDS // needs:,} bytes"
            )
        self.storer = np.zeros(count, np.int32)  # the block that stored last, + 1
        self.store_site = np.zeros(count, np.int32)
        self.loaders = np.zeros(count if geometry.blocks <= BITS else 0, np.uint64)
        self.loads = self.reloaded = self.restored = 0
        self.busy = np.zeros((geometry.blocks, geometry.warps), bool)
        self.store_warp = np.zeros(count if order else 0, np.int16)
        self.store_clock = np.zeros(count if order else 0, np.int32)  # that warp's

    def restart(self) -> None:
        """Make ready for another batch."""
        if self.order:
            self.order.restart()

    def before_store(self, access: GlobalAccess, changes: Callable[[], np.ndarray]) -> None:
        """changes: for each store, whether its bytes differ from what is there; asked only where it matters."""
        pieces, owners = self.spread(access, access.places // self.piece), self.owners(access)
        before = self.storer[pieces]
        foreign = self.unordered(access, pieces, owners)
        if self.order and is_strong(access.instruction):
            foreign &= ~self.by_piece(access, self.answers_flag(access))
        if foreign.any():
            self.compare(access.site, pieces, owners, before, foreign, self.by_piece(access, changes()))
        self.restored += int((before == owners).sum())
        self.storer[pieces] = owners
        self.store_site[pieces] = access.site
        self.busy[access.blocks, access.warps] = True
        if self.order:
            warps = self.by_piece(access, access.warps)
            self.store_warp[pieces] = warps
            self.store_clock[pieces] = self.order.clocks.now[owners - 1 - self.geometry.first, warps]
            if is_strong(access.instruction):
                releases = bool(RELEASE & set(access.instruction.parts))
                for block, warp, piece in self.each(access):
                    self.order.tell(block, warp, piece, releases, anew=True)

    def before_bulk_store(self, access: GlobalAccess, changes: Callable[[], np.ndarray]) -> None:
        """TMA stores. How blocks with flags order its copies is not modelled: what it stores is not judged then."""
        if not self.has_flags:
            self.before_store(access, changes)
        else:
            pieces = self.spread(access, access.places // self.piece)
            self.storer[pieces], self.store_site[pieces] = ATOMIC, access.site
            self.knows_storers = False

    def after_store(self, access: GlobalAccess, lost: Callable[[], np.ndarray]) -> None:
        """lost: for each store, whether other bytes than its own are there now: two blocks stored at once."""
        pieces, owners = self.spread(access, access.places // self.piece), self.owners(access)
        last = self.storer[pieces]
        foreign = last != owners
        if foreign.any():
            self.compare(access.site, pieces, owners, last, foreign, self.by_piece(access, lost()))

    def compare(
        self,
        site: int,
        pieces: np.ndarray,
        owners: np.ndarray,
        others: np.ndarray,
        foreign: np.ndarray,
        differs: np.ndarray,
    ) -> None:
        """Report stores of one block where another stores: another value is a fault, the same one a repetition."""
        if (where := foreign & differs).any():
            at = int(where.argmax())
            also = "stores another value there: either may come first"
            message = self.message(int(owners[at]) - 1, "stores to", int(pieces[at]), int(others[at]) - 1, also)
            self.findings.notice(Hazard.OVERLAP, site, lambda: message, int(where.sum()))
        if (where := foreign & ~differs).any():
            at = int(where.argmax())
            block, other = (self.geometry.show_block(int(of[at]) - 1) for of in (owners, others))
            element = self.name(int(pieces[at]) * self.piece)
            self.repeats.notice(
                Hazard.REPEAT,
                site,
                lambda: f"block {block} stores {element}, which block {other} stores too",
                int(where.sum()),
            )

    def on_load(self, access: GlobalAccess) -> None:
        pieces, owners = self.spread(access, access.places // self.piece), self.owners(access)
        before = self.storer[pieces]
        self.busy[access.blocks, access.warps] = True
        if self.loaders.size:
            bits = np.uint64(1) << (owners - 1).astype(np.uint64)
            self.loads += len(pieces)
            self.reloaded += int((self.loaders[pieces] & bits != 0).sum())
            np.bitwise_or.at(self.loaders, pieces, bits)
        if not ((before != NO_BLOCK) & (before != owners)).any():
            return
        foreign = self.unordered(access, pieces, owners)
        if self.order and is_strong(access.instruction):
            acquires = bool(ACQUIRE & set(access.instruction.parts))
            for block, warp, piece in self.each(access):
                self.order.hear(block, warp, piece, acquires)
            is_flag = np.array([int(first) in self.order.flags for first in access.places // self.piece])
            foreign &= ~self.by_piece(access, is_flag)
        if foreign.any():
            at = int(foreign.argmax())
            line, why = self.show(int(self.store_site[pieces[at]])), self.why_unordered(access, pieces, owners, at)
            also = f"stores it at {line}: {why}"
            message = self.message(int(owners[at]) - 1, "loads", int(pieces[at]), int(before[at]) - 1, also)
            fault = Hazard.OVERLAP(lacks="fence") if self.order else Hazard.OVERLAP
            self.findings.notice(fault, access.site, lambda: message, int(foreign.sum()))

    def answers_flag(self, access: GlobalAccess) -> np.ndarray:
        """For each store, whether it writes a flag and its block has heard one: it comes after what it has read."""
        assert self.order is not None
        heard, flags = self.order.heard, self.order.flags
        where = zip(access.blocks.tolist(), (access.places // self.piece).tolist(), strict=True)
        return np.array([first in flags and bool(heard.get(block)) for block, first in where])

    def why_unordered(self, access: GlobalAccess, pieces: np.ndarray, owners: np.ndarray, at: int) -> str:
        if self.order is None:
            return "either may come first"
        reader = int(owners[at]) - 1, int(self.by_piece(access, access.warps)[at])
        storer = int(self.storer[pieces[at]]) - 1, int(self.store_warp[pieces[at]]), int(self.store_clock[pieces[at]])
        if self.order.is_over(*reader, *storer, strong=True):
            return "no fence of the loading block lies between the flag that it read and this load"
        return "no fence lies between this store and the writing of a flag that the loading block read"

    def on_atomic(self, access: GlobalAccess) -> None:
        if self.order:
            self.order.on_atomic(self.each(access), access.instruction)
        pieces = access.places // self.piece
        self.storer[pieces], self.store_site[pieces] = ATOMIC, access.site

    def unordered(self, access: GlobalAccess, pieces: np.ndarray, owners: np.ndarray) -> np.ndarray:
        """For each piece, whether another block stored to it and nothing orders that before this access."""
        before = self.storer[pieces]
        foreign = (before != NO_BLOCK) & (before != ATOMIC) & (before != owners)
        if self.order is None or not foreign.any():
            return foreign
        warps, strong = self.by_piece(access, access.warps), is_strong(access.instruction)
        pairs = np.column_stack([owners - 1, warps, before - 1, self.store_warp[pieces], self.store_clock[pieces]])[
            foreign
        ]
        fresh = np.ones(len(pairs), bool)  # where a row differs from the one before it: most do not
        fresh[1:] = (pairs[1:] != pairs[:-1]).any(1)
        is_over = cache(partial(self.order.is_over, strong=strong))
        over = np.array([is_over(*pair) for pair in pairs[fresh].tolist()])
        foreign[foreign] = ~over[np.cumsum(fresh) - 1]
        return foreign

    def message(self, block: int, does: str, piece: int, other: int, also: str) -> str:
        show = self.geometry.show_block
        return f"block {show(block)} {does} {self.name(piece * self.piece)}, and block {show(other)} {also}"

    def storers(self, allocation: Allocation) -> np.ndarray:
        """For each element, the block that stored it last, -1 where none did."""
        return self.by_element(self.storer, allocation) - 1

    def store_sites(self, allocation: Allocation) -> np.ndarray:
        """For each element, the instruction that stored it last, -1 where none did."""
        stored = self.by_element(self.storer, allocation) != NO_BLOCK
        return np.where(stored, self.by_element(self.store_site, allocation), -1)

    def by_element(self, kept: np.ndarray, allocation: Allocation) -> np.ndarray:
        """Of what is kept by piece, the piece in which each element begins."""
        if allocation.width % self.piece:  # several elements in a piece
            places = np.arange(allocation.start, allocation.end, allocation.width)
            return kept[places // self.piece]
        first, last, step = (n // self.piece for n in (allocation.start, allocation.end, allocation.width))
        return kept[first:last:step]

    def each(self, access: GlobalAccess) -> Iterable[tuple[int, int, int]]:
        """Block, warp and first piece of each access, in order, and once where a warp has several."""
        columns = access.blocks.tolist(), access.warps.tolist(), (access.places // self.piece).tolist()
        return dict.fromkeys(zip(*columns, strict=True))

    def owners(self, access: GlobalAccess) -> np.ndarray:
        return self.by_piece(access, access.blocks + 1)

    def spread(self, access: GlobalAccess, pieces: np.ndarray) -> np.ndarray:
        many = max(access.width // self.piece, 1)
        return pieces if many == 1 else (pieces[:, None] + np.arange(many)).reshape(-1)

    def by_piece(self, access: GlobalAccess, values: np.ndarray) -> np.ndarray:
        return np.repeat(values, max(access.width // self.piece, 1))
