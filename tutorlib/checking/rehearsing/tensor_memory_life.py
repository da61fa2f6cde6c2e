"""Rehearses the life of a block's tensor memory: who allocates it, who may touch it since when, who frees it."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from itertools import permutations
from typing import Any

from tutorlib.checking.rehearsing.coroutines import Actor
from tutorlib.checking.rehearsing.participants import Wait
from tutorlib.checking.rehearsing.pipeline_state import call_helper
from tutorlib.checking.rehearsing.plain_python import (
    CallSite,
    Hazard,
    calling_line,
)
from tutorlib.checking.rehearsing.rehearsal import Landing, Order, Play
from tutorlib.dsl.cute.functions import calls_of_helpers
from tutorlib.dsl.cute.plain_python import as_written, instead_of, plain_loops

WARPS = 6
ORDERS = tuple(permutations(range(WARPS)))[::97]  # a few, in which each warp is once the first and once the last


@dataclass(eq=False)
class Holder(Actor):
    """A warp. knows: what it can rely on: "allocated", and who has worked. elected: inside elect_one()."""

    number: int = 0
    knows: set[Any] = field(default_factory=set)
    elected: bool = False
    worked: bool = False
    waits: dict[str, Wait] = field(default_factory=dict)
    passed: dict[str, int] = field(default_factory=dict)
    held_up: tuple[CallSite, str, str] = (CallSite("", 0), "", "")


@dataclass(frozen=True)
class HeldColumns:
    """A pointer to tensor memory."""

    columns: int


@dataclass(eq=False)
class MemoryBlock(Play):
    """A block of six warps and its tensor memory."""

    columns: int
    warps: list[Holder]
    choose: Order
    landing: Landing = "late"
    some: Callable[[], bool] = lambda: False
    changes: int = 0
    fruitless: int = 0
    allocated: HeldColumns | None = None
    allocated_at: CallSite | None = None
    freed_at: CallSite | None = None
    relinquished_at: CallSite | None = None
    meetings: int = 0
    present: list[Holder] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.begin()

    def let_land(self) -> bool:
        return False

    def alloc(self, num_columns: Any, smem_ptr_to_write_address: Any, is_two_cta: Any = None, **_: Any) -> None:
        me, line = self.order()
        self.refuse_pair(is_two_cta, line)
        if me.elected:
            raise Hazard(f"{line}: alloc_tmem is for a whole warp; inside elect_one() there is one lane.")
        wanted = int(num_columns)
        if wanted not in (32, 64, 128, 256, 512):
            raise Hazard(f"{line}: {wanted} columns: an allocation is a power of two, 32 to 512.")
        if wanted < self.columns:
            raise Hazard(f"{line}: {wanted} columns are too few: the accumulators take {self.columns}.")
        if wanted > self.columns:
            raise Hazard(
                f"{line}: {wanted} columns are too many: the accumulators take {self.columns}, and another block on "
                "the SM may want the others."
            )
        if self.relinquished_at:
            raise Hazard(f"{line}: the block gave up its right to allocate at {self.relinquished_at}.")
        if self.allocated:
            raise Hazard(
                f"{line}: warp {me.number} allocates, too, after {self.allocated_at} did: one warp of the block does. "
                "Where the first one has all 512 columns, the second one waits for ever."
            )
        self.allocated, self.allocated_at = HeldColumns(wanted), line
        me.knows.add("allocated")
        self.changes += 1

    def relinquish(self, is_two_cta: Any = None, **_: Any) -> None:
        _, line = self.order()
        self.refuse_pair(is_two_cta, line)
        self.relinquished_at = line

    def refuse_pair(self, is_two_cta: Any, line: CallSite) -> None:
        if is_two_cta:
            raise Hazard(f"{line}: is_two_cta is for a pair of blocks, and this block is alone.")

    def pointer(self) -> HeldColumns:
        me, line = self.order()
        if "allocated" not in me.knows:
            raise Hazard(
                f"{line}: warp {me.number} reads the address, and cannot know that it has been written: meet() between "
                "the allocation and this."
            )
        assert self.allocated
        return self.allocated

    def work(self, sums: Any) -> None:
        me, line = self.order()
        if not isinstance(sums, HeldColumns):
            raise Hazard(f"{line}: work({sums!r}): it takes the pointer that holding.pointer() returns.")
        if self.freed_at:
            raise Hazard(f"{line}: warp {me.number} works in tensor memory that {self.freed_at} has freed.")
        if me.worked:
            raise Hazard(f"{line}: warp {me.number} works twice.")
        me.worked = True
        me.knows.add(("worked", me.number))
        self.changes += 1

    def dealloc(self, tmem_ptr: Any, num_columns: Any, is_two_cta: Any = None, **_: Any) -> None:
        me, line = self.order()
        self.refuse_pair(is_two_cta, line)
        if me.elected:
            raise Hazard(f"{line}: dealloc_tmem is for a whole warp; inside elect_one() there is one lane.")
        if not isinstance(tmem_ptr, HeldColumns):
            raise Hazard(f"{line}: dealloc_tmem takes the pointer that holding.pointer() returns, and the columns.")
        if self.freed_at:
            raise Hazard(f"{line}: warp {me.number} frees, too, after {self.freed_at} did.")
        if int(num_columns) != tmem_ptr.columns:
            raise Hazard(f"{line}: frees {int(num_columns)} columns of {tmem_ptr.columns} that were allocated.")
        if not me.worked:
            raise Hazard(
                f"{line}: warp {me.number} frees before it has worked: every warp calls holding.work(pointer) once."
            )
        for other in self.warps:
            if ("worked", other.number) not in me.knows:
                raise Hazard(
                    f"{line}: warp {me.number} frees tensor memory in which warp {other.number} may still be at work: "
                    "meet() between the work and this."
                )
        self.freed_at = line
        self.changes += 1

    def meet(self) -> None:
        me, number = self.me, self.meetings
        self.present.append(me)
        me.held_up = calling_line(), "", ""
        if len(self.present) == len(self.warps):
            known = set[Any]().union(*(warp.knows for warp in self.warps))
            for warp in self.warps:
                warp.knows |= known
            self.present.clear()
            self.meetings += 1
            self.changes += 1
        self.order(lambda: self.meetings > number)

    def give_up(self) -> None:
        absent = sorted(warp.number for warp in self.warps if warp not in self.present)
        line = self.present[0].held_up[0]
        raise Hazard(f"deadlock: {line}: warps wait there for all, and warp {absent[0]} never comes.")

    def finish(self) -> None:
        for warp in self.warps:
            if not warp.worked:
                raise Hazard(f"warp {warp.number} never works: every warp calls holding.work(pointer) once.")
        if not self.freed_at:
            raise Hazard(
                f"the block ends with what {self.allocated_at} allocated: nobody frees it, and the next block on this "
                "SM waits for it for ever."
            )


@dataclass(frozen=True)
class RehearsedHolding:
    """What `hold` gets in place of the kernel's Holding."""

    block: MemoryBlock
    warp: int
    pair: bool = False
    address: str = "address"

    @property
    def columns(self) -> int:
        return self.block.columns

    def meet(self) -> None:
        self.block.meet()

    def pointer(self) -> HeldColumns:
        return self.block.pointer()

    def work(self, sums: Any) -> None:
        self.block.work(sums)


def rehearse_holding(holds: Callable[..., None], columns: int) -> None:
    """Run it in all six warps, in several orders. Raises Hazard, and what the function itself raises."""
    for order in ORDERS:
        rehearse_holding_once(holds, columns, order)


def rehearse_holding_once(holds: Callable[..., None], columns: int, ranks: tuple[int, ...]) -> None:
    import cutlass
    from cutlass import cute

    cast = [Holder(plays=lambda: None, number=number) for number in range(WARPS)]
    block = MemoryBlock(columns, cast, partial(min, key=lambda warp: ranks.index(warp.number)))
    for warp in cast:
        warp.plays = partial(as_written(holds), RehearsedHolding(block, warp.number))
    arch: dict[str, Any] = {
        "alloc_tmem": block.alloc,
        "relinquish_tmem_alloc_permit": block.relinquish,
        "retrieve_tmem_ptr": lambda element_type, alignment, ptr_to_buffer_holding_addr, **_: block.pointer(),
        "dealloc_tmem": block.dealloc,
        "sync_threads": block.meet,
        "barrier": block.meet,
        "elect_one": block.elect_one,
        "make_warp_uniform": lambda value: value,
    }
    notes: list[str] = []
    stand_ins: list[tuple[Any, dict[str, Any]]] = [
        (cute.arch, arch),
        (cutlass, plain_loops()),
        calls_of_helpers(partial(call_helper, notes)),
    ]
    with instead_of(stand_ins, holds):
        block.turns.play(cast)
    block.finish()
