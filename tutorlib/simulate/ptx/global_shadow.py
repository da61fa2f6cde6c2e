"""Global memory used by two threads, one of them to write, with nothing between that orders them.

Of the threads of a cluster barriers and mbarriers order some; blocks run in no order, so that only fences and a flag
order others (`flags`). For each piece of global memory the last store is kept, and the last warp that has loaded it.
"""

import numpy as np

from tutorlib.dsl.failure import Hazard
from tutorlib.simulate.ptx.clocks import KNOWN
from tutorlib.simulate.ptx.findings import TooManyRecords
from tutorlib.simulate.ptx.flags import orders_blocks
from tutorlib.simulate.ptx.meetings import Running
from tutorlib.simulate.ptx.memory import Access, Allocation, Arena, Listener, Touched
from tutorlib.simulate.ptx.shadow import ATOMIC, PLAIN, STRONG, Asked, Shadow

MOST_RECORDS = 2**31  # bytes
RECORD = 33  # bytes of a piece
NO_BLOCK, NOT_JUDGED, BEFORE = 0, -1, -2  # in place of a block's number + 1; BEFORE: the launch before


class GlobalShadow(Shadow):
    """Of the memory of an arena. has_flags: whether blocks order one another by fences and flags; may_have: whether the
    kernel has any operation for that.

    storer: the block that stored each piece last, + 1. loader: the warp of the grid that loaded it last, + 1.
    """

    def __init__(self, running: Running, arena: Arena, piece: int, listener: Listener) -> None:
        size, instructions = len(arena.bytes), running.findings.kernel.instructions
        count = size // piece + 1
        if (needs := count * RECORD) > MOST_RECORDS:
            says = f"what blocks store to {size:,} bytes of tensors would take {needs / 2**30:.1f} GB to remember"
            raise TooManyRecords(f"{says}: choose sizes with at most {size * MOST_RECORDS // needs:,} bytes")
        self.arena, self.listener, self.has_flags = arena, listener, any(map(orders_blocks, instructions))
        self.may_have = self.has_flags or any(one.parts[0] == "atom" for one in instructions)
        self.storer, self.loader = np.zeros((2, count), np.int32)
        super().__init__(running, count, piece, 1, 1)
        if arena.before:  # its writes, which a thread knows of when it has waited for that launch
            late = np.flatnonzero(arena.late.reshape(-1, piece).any(1))
            self.storer[late], self.writer[late], self.written[late] = BEFORE, self.clocks.agents.launch_before, 1

    def restart(self) -> None:
        """What the batches before have stored stays: no barrier orders their blocks and those of this one."""
        self.flags.latest.clear()

    def first(self, access: Access) -> np.ndarray:
        return access.starts // self.piece

    def owners(self, touched: Touched) -> np.ndarray:
        """The number + 1 of each piece's block that accesses it."""
        return np.asarray(self.geometry.first + 1 + touched.lanes // self.geometry.of_block)

    # accesses ---------------------------------------------------------------------------------------------------

    def on_read(self, access: Access) -> None:
        touched = self.touched(access)
        owners = self.owners(touched)
        self.listener.on_load(touched, owners)
        if strong := self.may_have and access.site in self.strong:
            self.on_flags(access)
        if self.storer[touched.pieces].any():
            unordered = self.after_unordered_store(touched, owners, strong)
            if strong:
                unordered &= ~touched.by_piece(self.flags.are_flags(self.first(access)))
            self.report_load(touched, unordered)
        if not strong and "nc" not in self.instructions[access.site].parts:
            self.note_load(touched)

    def on_bulk_load(self, access: Access) -> None:
        """TMA is told to load. What this launch has stored is not compared with it."""
        touched = self.touched(access)
        late = (self.storer[touched.pieces] == BEFORE) & self.after_unordered_write(touched)
        self.report_launch_before(touched, late, "has TMA load")

    def before_write(self, access: Access, changes: Asked) -> None:
        """changes: for each store, whether its bytes differ from what is there."""
        touched = self.touched(access)
        owners, strong = self.owners(touched), self.may_have and access.site in self.strong
        unordered = self.after_unordered_store(touched, owners, strong)
        if strong:
            unordered &= ~touched.by_piece(self.answers_flag(access))
        self.report_stores(touched, owners, unordered, changes)
        if not strong:
            self.compare_with_load(touched, owners, changes)
        self.listener.on_store(touched, owners, self.storer[touched.pieces] == owners)
        self.storer[touched.pieces] = owners
        self.note_write(touched, STRONG if strong else PLAIN)
        if strong:
            self.on_flags(access)

    def after_write(self, access: Access, lost: Asked) -> None:
        """lost: for each store, whether other bytes than its own are there now: two threads stored at once."""
        touched = self.touched(access)
        owners = self.owners(touched)
        others = self.storer[touched.pieces] != owners
        others |= self.writer[touched.pieces] != self.clocks.own[touched.lanes]
        self.report_stores(touched, owners, others, lost)

    def before_bulk_store(self, access: Access, changes: Asked) -> None:
        """TMA stores. How blocks with flags order its copies is not modelled: what it stores is not judged then."""
        if not self.has_flags:
            self.before_write(access, changes)
        else:
            pieces = self.touched(access).pieces
            self.storer[pieces], self.write_site[pieces] = NOT_JUDGED, access.site

    def on_atomic(self, access: Access) -> None:
        """Atomics do not race with each other; with what other blocks do they are not compared."""
        self.on_flags(access)
        self.on_reduction(access)

    def on_reduction(self, access: Access) -> None:
        """The same for TMA's, which are no flags."""
        touched = self.touched(access)
        owners, pieces = self.owners(touched), touched.pieces
        plain = (self.storer[pieces] == owners) & (self.strength[pieces] == PLAIN)
        if plain.any():
            self.report_stores(touched, owners, plain & self.after_unordered_write(touched), None)
        self.storer[pieces] = owners
        self.note_write(touched, ATOMIC)

    def note_load(self, touched: Touched) -> None:
        pieces, warps = touched.pieces, self.geometry.first * self.geometry.warps + touched.warps + 1
        again = (self.loader[pieces] == warps) & (self.read[pieces, 0] > 0)
        self.loader[pieces] = warps
        self.note_read_by(touched.lanes, touched.access.site, pieces, pieces, again, self.loader[pieces] == warps)

    # comparing --------------------------------------------------------------------------------------------------

    def after_unordered_store(self, touched: Touched, owners: np.ndarray, strong: bool) -> np.ndarray:
        """For each piece, whether another thread stored to it and nothing orders that before this access."""
        before, strength = self.storer[touched.pieces], self.strength[touched.pieces]
        near = self.are_near(before, owners)
        unordered = self.after_unordered_write(touched) & ((before > NO_BLOCK) & near | (before == BEFORE))
        if strong:
            unordered &= strength == PLAIN
        unordered &= (strength != ATOMIC) | (before == owners)
        foreign = (before > NO_BLOCK) & ~near & (strength != ATOMIC)
        return unordered | self.of_others(touched, foreign, strong) if foreign.any() else unordered

    def are_near(self, before: np.ndarray, owners: np.ndarray) -> np.ndarray:
        """Whether blocks, by their numbers + 1, are of one cluster and run together."""
        size = self.geometry.cluster_size
        return before == owners if size == 1 else (before - 1) // size == (owners - 1) // size

    def of_others(self, touched: Touched, foreign: np.ndarray, strong: bool) -> np.ndarray:
        """Those of these pieces that another cluster stored, unless a flag has told of it."""
        if not self.clocks.far:
            return foreign
        pieces = touched.pieces[foreign]
        rows = self.clocks.row[touched.lanes[foreign]]
        clusters = (self.storer[pieces] - 1) // self.geometry.cluster_size
        each = np.column_stack([rows, clusters, self.writer[pieces], self.written[pieces]])
        stores, which = np.unique(each, axis=0, return_inverse=True)
        over = np.array([self.flag_tells(*store, strong=strong) for store in stores.tolist()])
        found = foreign.copy()
        found[foreign] = ~over[which.reshape(-1)]
        return found

    def flag_tells(self, row: int, cluster: int, writer: int, count: int, *, strong: bool) -> bool:
        """Whether a flag has told of a store. strong: for an access that needs no fence behind the flag."""
        far = self.clocks.far.get(row, {})
        return any(
            of == cluster and (strong or at == KNOWN) and bool(what[writer] >= count) for (of, at), what in far.items()
        )

    def compare_with_load(self, touched: Touched, owners: np.ndarray, changes: Asked) -> None:
        """Whether another thread may still be loading what is overwritten with another value."""
        pieces, lanes = touched.pieces, touched.lanes
        loaders = np.where(self.read[pieces, 0] > 0, (self.loader[pieces] - 1) // self.geometry.warps + 1, NO_BLOCK)
        unordered = loaders > NO_BLOCK  # their blocks + 1
        if unordered.any():
            near = self.are_near(loaders, owners) & unordered
            unordered &= ~near & (not self.may_have)
            which = np.flatnonzero(near)
            at, first = pieces[which], self.geometry.first * self.geometry.warps
            warps = self.clocks.of_warp[self.loader[at] - 1 - first]
            late = self.read[at, 0] > self.clocks.over(lanes[which], warps)
            which, at, warps = which[late], at[late], warps[late]
            unordered[which] = self.clocks.misses_one(lanes[which], warps, self.read_by[at, 0], self.read[at, 0])
        if unordered.any() and (unordered := unordered & touched.by_piece(changes())).any():
            first = int(unordered.argmax())
            warp = f"warp {(int(self.loader[pieces[first]]) - 1) % self.geometry.warps}"
            who, other, near_one = self.both(touched, first, int(loaders[first]), warp)
            says = f"{who} stores to {self.place(touched, first)}, which {other} may still be loading at "
            says += self.show(int(self.read_site[pieces[first], 0]))
            says += ": no barrier lies between" if near_one else ": either may come first"
            fault = Hazard.RACE(earlier="read") if near_one else Hazard.OVERLAP()
            self.notice(fault, touched.access.site, says, int(unordered.sum()), "overwritten")

    def answers_flag(self, access: Access) -> np.ndarray:
        """For each store, whether it writes a flag and its thread has heard one: it comes after what it has read."""
        far = self.clocks.far
        heard = np.array([bool(far.get(row)) for row in self.clocks.row[access.lanes].tolist()], bool)
        return heard & self.flags.are_flags(self.first(access))

    # reporting --------------------------------------------------------------------------------------------------

    def report_stores(self, touched: Touched, owners: np.ndarray, unordered: np.ndarray, changes: Asked | None) -> None:
        """Stores where another thread stores: another value is a fault, the same one of another block a repetition.
        changes: for each access; None where all do."""
        if not unordered.any():
            return
        site, others = touched.access.site, self.storer[touched.pieces]
        self.report_launch_before(touched, unordered & (others == BEFORE), "stores to")
        unordered = unordered & (others != BEFORE)
        differs = touched.by_piece(changes()) if changes else np.ones(len(unordered), bool)
        if (where := unordered & differs).any():
            at = int(where.argmax())
            who, other, near = self.both(touched, at, int(others[at]), self.writer_of(touched, at))
            says = f"{who} stores to {self.place(touched, at)}, and {other} stores another value there: either may "
            fault = Hazard.RACE(earlier="store") if near else Hazard.OVERLAP()
            self.notice(fault, site, says + "come first", int(where.sum()))
        if (where := unordered & ~differs & (others != owners)).any():
            at = int(where.argmax())
            who, other, _ = self.both(touched, at, int(others[at]))
            says = f"{who} stores {self.place(touched, at)}, which {other} stores too"
            self.notice(Hazard.REPEAT, site, says, int(where.sum()))

    def report_load(self, touched: Touched, unordered: np.ndarray) -> None:
        others = self.storer[touched.pieces]
        self.report_launch_before(touched, unordered & (others == BEFORE), "loads")
        if not (unordered := unordered & (others != BEFORE)).any():
            return
        at = int(unordered.argmax())
        who, other, near = self.both(touched, at, int(others[at]), self.writer_of(touched, at))
        fault, why = Hazard.RACE(earlier="write"), "no barrier lies between"
        if not near:
            fault = Hazard.OVERLAP(lacks="fence") if self.may_have else Hazard.OVERLAP()
            why = self.why_unordered(touched, at)
        line = self.show(int(self.write_site[touched.pieces[at]]))
        says = f"{who} loads {self.place(touched, at)}, and {other} stores it at {line}: {why}"
        self.notice(fault, touched.access.site, says, int(unordered.sum()))

    def report_launch_before(self, touched: Touched, late: np.ndarray, does: str) -> None:
        if late.any():
            at = int(late.argmax())
            who = self.geometry.show_thread(int(touched.lanes[at]))
            says = f"{who} {does} {self.place(touched, at)}, which {self.arena.before} of the launch before may still "
            says += "be storing: no griddepcontrol.wait lies between"
            self.notice(Hazard.RACE(earlier="launch"), touched.access.site, says, int(late.sum()), does)

    def why_unordered(self, touched: Touched, at: int) -> str:
        if not self.may_have:
            return "either may come first"
        piece, row = touched.pieces[at], int(self.clocks.row[touched.lanes[at]])
        cluster = (int(self.storer[piece]) - 1) // self.geometry.cluster_size
        if self.flag_tells(row, cluster, int(self.writer[piece]), int(self.written[piece]), strong=True):
            return "no fence of the loading block lies between the flag that it read and this load"
        return "no fence lies between this store and the writing of a flag that the loading block read"

    def both(self, touched: Touched, at: int, other: int, thread: str = "") -> tuple[str, str, bool]:
        """Who accesses a piece, and who else does, by the number + 1 of its block: two blocks; or two of one block,
        where the other one is that `thread`. And whether it is one block."""
        slot = int(touched.lanes[at]) // self.geometry.of_block
        if other == self.geometry.first + slot + 1:
            return self.geometry.show_thread(int(touched.lanes[at])), thread, True
        return f"block {self.geometry.show_slot(slot)}", f"block {self.geometry.show_block(other - 1)}", False

    def place(self, touched: Touched, at: int) -> str:
        return self.arena.show(int(touched.pieces[at]) * self.piece)

    # results ----------------------------------------------------------------------------------------------------

    def end(self) -> None:
        """Note for each byte in the arena whether a launch that follows may find it not stored yet; with what the one
        before this has stored, if no thread has waited for that."""
        for one in self.arena.allocations:
            first = one.start // self.piece
            storers = self.storer[first : -(-one.end // self.piece)]
            late = (storers != NO_BLOCK) & ~((storers == BEFORE) & self.clocks.waited)
            self.arena.late[one.start : one.end] = np.repeat(late, self.piece)[one.start % self.piece :][: one.size]

    def storers(self, allocation: Allocation) -> np.ndarray:
        """For each element, the block that stored to its first piece last; -1 where none did or none is known."""
        pieces = np.arange(allocation.start, allocation.end, allocation.width) // self.piece
        return np.maximum(self.storer[pieces], NO_BLOCK) - 1
