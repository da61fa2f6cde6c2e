"""A main loop over cp.async, run on the CPU without data, to see whether it is safe.

A GPU shows a missing wait or barrier now and then; this stage shows it always. It takes a main loop's orders (load,
fetch, multiply and the real cute.arch calls) and assumes the worst that they allow: a copy arrives when somebody waits
for its group and no sooner, and the other warps are one step behind until there is a barrier.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from tutorlib.checking.rehearsing.plain import Hazard, as_written, instead_of, plain_loops

MOST_ORDERS = 100_000  # a loop that gives more does not end
NOTHING = -1  # in place of a K tile


@dataclass
class Buffer:
    """What is known about one buffer in shared memory.

    tile: the K tile that was sent there last, or NOTHING.
    group: the number of its commit group; None before the commit.
    waited: this thread waited for the group. visible: there was a barrier after that, so all threads' copies are there.
    read: fetched from since the last barrier.
    """

    tile: int = NOTHING
    group: int | None = None
    waited: bool = False
    visible: bool = False
    read: bool = False


@dataclass
class Stage:
    """Stands in for kernels.ampere.thread_share.Steps: the same attributes and methods, without data.

    in_flight: for each K tile, the most tiles that were under way at one of its multiplications.
    prefetched: whether at each multiplication but the last the next one's registers had been fetched before.
    """

    k_tiles: int
    k_blocks: int
    stages: int
    buffers: list[Buffer] = field(init=False)
    registers: dict[int, tuple[int, str]] = field(default_factory=dict)  # K block → (K tile, why not usable)
    done: list[tuple[int, int]] = field(default_factory=list)  # (K tile, K block) in the order of multiplication
    in_flight: dict[int, int] = field(default_factory=dict)
    prefetched: bool = True
    groups: int = 0
    orders: int = 0

    def __post_init__(self) -> None:
        self.buffers = [Buffer() for _ in range(self.stages)]

    def load(self, k_tile: Any, buffer: Any) -> None:
        tile, to = int(k_tile), self.buffer(buffer, f"load({k_tile}, {buffer})")
        if not 0 <= tile < self.k_tiles:
            raise Hazard(f"load({tile}, {buffer}): of {self.k_tiles} K tiles, 0 to {self.k_tiles - 1} exist.")
        if to.read:
            raise Hazard(
                f"load({tile}, {buffer}) overwrites buffer {buffer}, which was fetched from with no barrier since: "
                "another warp may still be reading it."
            )
        self.buffers[int(buffer)] = Buffer(tile)

    def fetch(self, k_block: int, buffer: Any) -> None:
        source = self.buffer(buffer, f"fetch({k_block}, {buffer})")
        if not 0 <= int(k_block) < self.k_blocks:
            raise Hazard(f"fetch({k_block}, {buffer}): of {self.k_blocks} K blocks, 0 to {self.k_blocks - 1} exist.")
        self.registers[int(k_block)] = (source.tile, self.why_not(int(buffer)))
        source.read = True

    def multiply(self, k_block: int) -> None:
        self.count()
        block = int(k_block)
        if block not in self.registers:
            raise Hazard(f"multiply({block}): this K block has not been fetched.")
        tile, why = self.registers[block]
        if why:
            raise Hazard(f"multiply({block}) uses what is not there: {why}.")
        if (tile, block) in self.done:
            raise Hazard(f"K block {block} of tile {tile} is multiplied twice.")
        self.done.append((tile, block))
        under_way = sum(b.tile != NOTHING and not b.waited for b in self.buffers)
        self.in_flight[tile] = max(under_way, self.in_flight.get(tile, 0))
        following = (tile, block + 1) if block + 1 < self.k_blocks else (tile + 1, 0)
        if following[0] < self.k_tiles and self.registers.get(following[1], (NOTHING, ""))[0] != following[0]:
            self.prefetched = False

    def commit(self) -> None:
        self.count()
        for buffer in self.buffers:
            if buffer.tile != NOTHING and buffer.group is None:
                buffer.group = self.groups
        self.groups += 1

    def wait(self, open_groups: int) -> None:
        """All groups have arrived but the newest `open_groups`."""
        self.count()
        for buffer in self.buffers:
            if buffer.group is not None and buffer.group < self.groups - int(open_groups):
                buffer.waited = True

    def barrier(self) -> None:
        self.count()
        for buffer in self.buffers:
            buffer.visible, buffer.read = buffer.waited, False

    def why_not(self, number: int) -> str:
        """Why what lies in a buffer cannot be relied on, or ""."""
        buffer = self.buffers[number]
        if buffer.tile == NOTHING:
            return f"nothing was loaded into buffer {number}"
        if buffer.group is None:
            return f"the copies of tile {buffer.tile} into buffer {number} are not committed, so no wait covers them"
        if not buffer.waited:
            return f"the copies of tile {buffer.tile} into buffer {number} may be under way: no wait covers their group"
        if not buffer.visible:
            return (
                f"no barrier after the wait for tile {buffer.tile} in buffer {number}: "
                "each thread waits for its own copies only"
            )
        return ""

    def buffer(self, number: Any, order: str) -> Buffer:
        self.count()
        if not 0 <= int(number) < self.stages:
            raise Hazard(f"{order}: of {self.stages} buffers, 0 to {self.stages - 1} exist.")
        return self.buffers[int(number)]

    def count(self) -> None:
        self.orders += 1
        if self.orders > MOST_ORDERS:
            raise Hazard("the loop does not end.")

    def finish(self) -> None:
        """Raises Hazard where a part of the product is missing."""
        wanted = {(tile, block) for tile in range(self.k_tiles) for block in range(self.k_blocks)}
        if missing := sorted(wanted - set(self.done)):
            tile, block = missing[0]
            raise Hazard(f"K block {block} of tile {tile} is never multiplied; {self.k_tiles} tiles are to be summed.")


@contextmanager
def without_compiler(stage: Stage, main_loop: Any) -> Iterator[None]:
    """cute.arch's asynchronous copies and barriers become the stage's, the DSL's loops plain ones."""
    import cutlass
    from cutlass import cute

    arch: dict[str, Any] = {
        "cp_async_commit_group": stage.commit,
        "cp_async_wait_group": stage.wait,
        "sync_threads": stage.barrier,
        "barrier": stage.barrier,
    }
    with instead_of([(cute.arch, arch), (cutlass, plain_loops())], main_loop):
        yield


def rehearse(main_loop: Callable[..., None], k_tiles: int, k_blocks: int, stages: int) -> Stage:
    """Run a @cute.jit main loop on a Stage. Raises Hazard, and what the loop itself raises."""
    stage = Stage(k_tiles, k_blocks, stages)
    with without_compiler(stage, main_loop):
        as_written(main_loop)(stage)
    stage.finish()
    return stage
