"""A block's tensor memory, rehearsed: which warp allocates it, when each may use it, which one frees it."""

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import permutations
from typing import Any

from tutorlib.checking.plain_python import as_written
from tutorlib.checking.rehearsing.call_site import CallSite
from tutorlib.checking.rehearsing.instruction_sets import TENSOR_MEMORY
from tutorlib.checking.rehearsing.interleavings import Interleaving, by_rank
from tutorlib.checking.rehearsing.machine import LANES, RehearsalMachine, RehearsedSteps, Warps
from tutorlib.checking.rehearsing.unsafe import Unsafe
from tutorlib.failure import FailureKind, Flaw

WARPS = 6
ADDRESS = "address"  # of 4 bytes in shared memory
ORDERS = tuple(permutations(range(WARPS)))[::97]  # a few, in which each warp is once the first and once the last


class TensorMemoryFlaw(FailureKind):
    """What is wrong with the life of tensor memory."""

    ALLOCATED_TWICE = "allocated twice"
    COLUMNS = "columns"
    ADDRESS = "address not known"
    FREED_EARLY = "freed while in use"
    NOT_FREED = "not freed"
    ONE_LANE = "allocated by one lane"
    POINTER = "another pointer"
    PAIR = "of a pair of blocks"
    FREED_TWICE = "freed twice"
    GIVEN_UP = "right to allocate given up"
    KEPT = "right to allocate kept"
    MISSING_WARP = "a warp missing at the barrier"


@dataclass(frozen=True)
class HeldColumns:
    """A pointer to tensor memory."""

    columns: int


def rehearse_tensor_memory(functions: tuple[Callable[..., Any], ...], columns: int) -> str:
    """Run (allocate, release) around the work of all six warps, in several interleavings. A weakness, or "".

    Raises Unsafe, and what the functions themselves raise.
    """
    allocate, release = map(as_written, functions)

    def live(held: RehearsedSteps) -> None:
        acc = allocate(held.warp, columns, ADDRESS)
        held.work(acc)
        release(held.warp, columns, acc)

    for ranks in ORDERS:
        warps = [Warps(live, f"warp {number}", number, first=number) for number in range(WARPS)]
        block = MemoryBlock(warps=warps, interleaving=Interleaving(by_rank(ranks)), columns=columns, answer=functions)
        if not block.run().relinquished_in_time:
            return Flaw(
                "it is safe, but the block keeps its right to allocate while it works: in `allocate`, call "
                "relinquish_tmem_alloc_permit() after the only allocation, so that the next block on the SM can "
                "allocate.",
                TensorMemoryFlaw.KEPT,
            )
    return ""


@dataclass(eq=False, kw_only=True)
class MemoryBlock(RehearsalMachine):
    """A block of six warps and its tensor memory. Their facts: "allocated", and which warps have worked.

    answer: the functions. relinquished_in_time: by a warp before its work. worked: the numbers of the warps that have.
    """

    instruction_set = TENSOR_MEMORY

    columns: int
    answer: tuple[Callable[..., Any], ...]
    allocated: HeldColumns | None = field(default=None, init=False)
    allocated_at: CallSite | None = field(default=None, init=False)
    freed_at: CallSite | None = field(default=None, init=False)
    relinquished_at: CallSite | None = field(default=None, init=False)
    relinquished_in_time: bool = field(default=False, init=False)
    worked: set[int] = field(default_factory=set, init=False)

    @property
    def functions(self) -> tuple[Callable[..., Any], ...]:
        return self.answer

    def steps(self, warps: Warps) -> RehearsedSteps:
        return RehearsedSteps(warp=warps.role, work=self.work)

    def named_barrier(self, barrier_id: Any = None, number_of_threads: Any = None) -> None:
        """Raises ValueError for a barrier of some warps, which is not rehearsed."""
        if number_of_threads not in (None, LANES * WARPS):
            raise ValueError(f"a barrier of {number_of_threads} threads")
        self.meet()

    def alloc(self, num_columns: Any, smem_ptr_to_write_address: Any, is_two_cta: Any = None, **_: Any) -> None:
        me, line = self.issue()
        self.refuse_pair(is_two_cta, line)
        self.refuse_one_lane(me, line, "alloc_tmem")
        wanted = int(num_columns)
        if wanted not in (32, 64, 128, 256, 512):
            raise Unsafe(
                f"{line}: {wanted} columns: an allocation is a power of two, 32 to 512.", TensorMemoryFlaw.COLUMNS
            )
        if wanted < self.columns:
            raise Unsafe(
                f"{line}: {wanted} columns are too few: the accumulators take {self.columns}.", TensorMemoryFlaw.COLUMNS
            )
        if wanted > self.columns:
            raise Unsafe(
                f"{line}: {wanted} columns are too many: the accumulators take {self.columns}, and another block on "
                "the SM may need the rest.",
                TensorMemoryFlaw.COLUMNS,
            )
        if self.allocated:
            raise Unsafe(
                f"{line}: {me.name} allocates, too, after {self.allocated_at} did: one warp of the block does. "
                "If the first one has all 512 columns, the second waits forever.",
                TensorMemoryFlaw.ALLOCATED_TWICE,
            )
        if self.relinquished_at:
            what = f"{line}: the block gave up its right to allocate at {self.relinquished_at}."
            raise Unsafe(what, TensorMemoryFlaw.GIVEN_UP)
        self.allocated, self.allocated_at = HeldColumns(wanted), line
        me.knows.add(("allocated",))
        self.changes += 1

    def relinquish(self, is_two_cta: Any = None, **_: Any) -> None:
        me, line = self.issue()
        self.refuse_pair(is_two_cta, line)
        self.refuse_one_lane(me, line, "relinquish_tmem_alloc_permit")
        self.relinquished_at = line
        self.relinquished_in_time |= me.role not in self.worked

    def refuse_pair(self, is_two_cta: Any, line: CallSite) -> None:
        if is_two_cta:
            raise Unsafe(f"{line}: is_two_cta is for a pair of blocks, and this block is alone.", TensorMemoryFlaw.PAIR)

    def refuse_one_lane(self, me: Warps, line: CallSite, name: str) -> None:
        if me.elected:
            what = f"{line}: {name} is for a whole warp; inside elect_one() there is one lane."
            raise Unsafe(what, TensorMemoryFlaw.ONE_LANE)

    def retrieve(self, element_type: Any, alignment: Any, ptr_to_buffer_holding_addr: Any, **_: Any) -> HeldColumns:
        me, line = self.issue()
        if ptr_to_buffer_holding_addr != ADDRESS:
            what = f"{line}: the pointer is read from {ptr_to_buffer_holding_addr!r}; alloc_tmem wrote it to `address`."
            raise Unsafe(what, TensorMemoryFlaw.POINTER)
        if ("allocated",) not in me.knows:
            raise Unsafe(
                f"{line}: {me.name} reads the address, and cannot know that it has been written: sync_threads() "
                "between the allocation and this.",
                TensorMemoryFlaw.ADDRESS,
            )
        assert self.allocated
        return self.allocated

    def work(self, acc: Any) -> None:
        """The loop of this warp's role, between the answer's two functions."""
        me, _ = self.issue()
        if not isinstance(acc, HeldColumns):
            shown = "None" if acc is None else f"`{acc}`" if isinstance(acc, str) else f"a {type(acc).__name__}"
            what = f"allocate returns {shown}: it should be the pointer that retrieve_tmem_ptr returns."
            raise Unsafe(what, TensorMemoryFlaw.POINTER)
        if self.freed_at:
            what = f"{me.name} works in tensor memory that {self.freed_at} has freed."
            raise Unsafe(what, TensorMemoryFlaw.FREED_EARLY)
        self.worked.add(me.role)
        me.knows.add(("worked", me.role))
        self.changes += 1

    def dealloc(self, tmem_ptr: Any, num_columns: Any, is_two_cta: Any = None, **_: Any) -> None:
        me, line = self.issue()
        self.refuse_pair(is_two_cta, line)
        self.refuse_one_lane(me, line, "dealloc_tmem")
        if not isinstance(tmem_ptr, HeldColumns):
            raise Unsafe(f"{line}: dealloc_tmem takes the pointer, `acc`, and the columns.", TensorMemoryFlaw.POINTER)
        if self.freed_at:
            raise Unsafe(f"{line}: {me.name} frees, too, after {self.freed_at} did.", TensorMemoryFlaw.FREED_TWICE)
        if int(num_columns) != tmem_ptr.columns:
            raise Unsafe(
                f"{line}: frees {int(num_columns)} columns of {tmem_ptr.columns} that were allocated.",
                TensorMemoryFlaw.COLUMNS,
            )
        if me.role not in self.worked:
            what = f"{line}: {me.name} frees before it has worked: that belongs into `release`."
            raise Unsafe(what, TensorMemoryFlaw.FREED_EARLY)
        for other in self.warps:
            if ("worked", other.role) not in me.knows:
                raise Unsafe(
                    f"{line}: {me.name} frees tensor memory in which {other.name} may still be at work: "
                    "sync_threads() before this.",
                    TensorMemoryFlaw.FREED_EARLY,
                )
        self.freed_at = line
        self.changes += 1

    def give_up(self) -> None:
        absent = next(warp.name for warp in self.warps if warp not in self.present)
        raise Unsafe(
            f"deadlock: {self.present[0].held_up.line}: warps wait there for all six, and {absent} never reaches it.",
            TensorMemoryFlaw.MISSING_WARP,
        )

    def finish(self) -> None:
        if not self.freed_at:
            raise Unsafe(
                f"no warp frees the columns that {self.allocated_at} allocated. They stay allocated after the "
                "block ends, and the next block on this SM waits for them.",
                TensorMemoryFlaw.NOT_FREED,
            )
