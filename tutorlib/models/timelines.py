"""Timelines in ticks: a software pipeline, and the warps of a GEMM's or of an attention kernel's block."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Step:
    """One tile's times, in ticks: its copy is issued, its data starts to flow, arrives, is used, is done with."""

    issued: int
    flows: int
    arrived: int
    started: int
    done: int


@dataclass(frozen=True)
class Timeline:
    """Tiles through a pipeline of `stages` buffers.

    latency: from issuing a copy until its first byte arrives. transfer: how long one tile's bytes flow; the memory
    sends one tile at a time. compute: how long the arithmetic on one tile takes, one tile at a time.
    A copy is issued as soon as its buffer is free: tile k goes where tile k - stages was. With one stage that is
    load, wait, compute; with more, the loads of the next tiles run meanwhile.
    """

    stages: int
    latency: int
    transfer: int
    compute: int
    tiles: int

    @property
    def steps(self) -> tuple[Step, ...]:
        """The tiles in order."""
        steps: list[Step] = []
        for tile in range(self.tiles):
            issued = steps[tile - self.stages].done if tile >= self.stages else 0
            before = steps[-1] if steps else Step(0, 0, 0, 0, 0)
            flows = max(issued + self.latency, before.arrived)
            arrived = flows + self.transfer
            started = max(arrived, before.done)
            steps.append(Step(issued, flows, arrived, started, started + self.compute))
        return tuple(steps)

    @property
    def total(self) -> int:
        """Ticks until the last tile is done."""
        return self.steps[-1].done

    @property
    def period(self) -> float:
        """Ticks for one more tile, once the pipeline runs.

        The slowest of three: the arithmetic; the memory's transfer; and a buffer's round of wait, fill and use,
        which `stages` buffers share.
        """
        return max(self.compute, self.transfer, (self.latency + self.transfer + self.compute) / self.stages)

    @property
    def busy(self) -> float:
        """The fraction of time in which a running pipeline computes."""
        return self.compute / self.period


# A Hopper GEMM's block ------------------------------------------------------------------------------------------------


Roles = Literal["plain", "cooperative", "deferred stores", "ping-pong"]
ROWS = ("load", "wg 0", "wg 1", "store", "mma")


@dataclass(frozen=True)
class Span:
    """From tick `begin` to tick `end` one of ROWS is busy with a tile; rounds: with its results."""

    row: str
    begin: int
    end: int
    tile: int
    rounds: bool = False


@dataclass(frozen=True)
class Cartoon:
    """A few tiles through one block.

    ahead: ticks from the first load of a tile to its first multiplication. multiply: of a tile, with all tensor
    cores. results: to round a tile's accumulators and hand them to TMA. tiles: as large as two warpgroups share; in
    ping-pong each is two smaller ones.
    plain: every warp does everything, so a tile's loads begin when the last one's results are out. cooperative: a
    producer loads the next tile meanwhile. deferred: the accumulators are rounded in one tick, and stored under the
    next tile's multiplication. ping-pong: while one warpgroup is busy with its results, the other multiplies.
    """

    roles: Roles
    tiles: int = 3
    ahead: int = 3
    multiply: int = 8
    results: int = 3

    @property
    def spans(self) -> tuple[Span, ...]:
        return tuple(self.pingpong() if self.roles == "ping-pong" else self.shared())

    def shared(self) -> list[Span]:
        """Both warpgroups work on one tile."""
        spans, begin = [], self.ahead
        for tile in range(self.tiles):
            end = begin + self.multiply
            pause = 1 if self.roles == "deferred stores" else self.results
            late = end if self.roles == "deferred stores" else end - 1
            spans += [
                Span("load", begin - self.ahead, end - self.ahead, tile),
                *(Span(row, begin, end, tile) for row in ("wg 0", "wg 1", "mma")),
                *(Span(row, end, end + pause, tile, rounds=True) for row in ("wg 0", "wg 1")),
                Span("store", late + 1, end + self.results, tile),
            ]
            begin = end + pause + (self.ahead if self.roles == "plain" else 0)
        return spans

    def pingpong(self) -> list[Span]:
        """Each warpgroup has every other one of twice as many tiles, half as large."""
        spans, half = [], self.multiply // 2
        for tile in range(2 * self.tiles):
            begin = self.ahead + tile * half
            end, row = begin + half, ("wg 0", "wg 1")[tile % 2]
            spans += [
                Span("load", begin - self.ahead, end - self.ahead, tile),
                Span(row, begin, end, tile),
                Span("mma", begin, end, tile),
                Span(row, end, end + self.results, tile, rounds=True),
                Span("store", end, end + self.results, tile),
            ]
        return spans

    @property
    def total(self) -> int:
        """Ticks until the last results are out."""
        return max(span.end for span in self.spans)

    @property
    def busy(self) -> float:
        """The fraction of that time in which the tensor cores multiply."""
        return sum(span.end - span.begin for span in self.spans if span.row == "mma") / self.total


# A Blackwell GEMM's block ---------------------------------------------------------------------------------------------


Does = Literal["works", "waits", "in flight", "landed"]


@dataclass(frozen=True)
class BlockSpan:
    """From tick `begin` to `end`. row: a warp, a stage or the tensor cores. part: a K tile, or columns of the result.

    does: "in flight" and "landed" are a stage's; "waits" is a warp's, at an mbarrier.
    """

    row: str
    begin: int
    end: int
    tile: int
    part: int
    does: Does = "works"


@dataclass(frozen=True)
class BlockTimeline:
    """rows: from top to bottom. accumulators: of tensor memory."""

    rows: tuple[str, ...]
    spans: tuple[BlockSpan, ...]
    accumulators: int

    @property
    def total(self) -> int:
        """Ticks."""
        return max(span.end for span in self.spans)

    @property
    def busy(self) -> float:
        """The fraction of the time from the first multiplication to the last in which the tensor cores multiply."""
        spans = [span for span in self.spans if span.row == TENSOR_CORES]
        return sum(span.end - span.begin for span in spans) / (spans[-1].end - spans[0].begin)


TMA_ROW, MMA_ROW, TENSOR_CORES = "warp 5: TMA", "warp 4: MMA", "tensor cores"
EPILOGUE_ROWS = tuple(f"warp {warp}: epilogue" for warp in range(4))
LATENCY, MULTIPLY = 4, 2  # ticks: from a load's issue to its last byte; of the tensor cores, for a K tile


def time_block(tiles: int, k_tiles: int, stages: int, accumulators: int, parts: int) -> BlockTimeline:
    """One block's work on `tiles` tiles of C. To issue a K tile, to read a part and to write it takes a tick each.

    The TMA warp waits until a stage is empty. The MMA warp waits for a free accumulator, then for each full stage; the
    tensor cores multiply in the order of issue. The epilogue waits until a tile is ready, and frees its accumulator
    once the last part is in registers.
    """
    spans: list[BlockSpan] = []
    empty, free = [0] * stages, [0] * accumulators  # when
    tma = mma = multiplied = stored = 0  # when each is done with what it has issued

    def wait(rows: tuple[str, ...], since: int, until: int) -> int:
        spans.extend(BlockSpan(row, since, until, 0, 0, "waits") for row in rows if since < until)
        return max(since, until)

    for tile in range(tiles):
        mma = wait((MMA_ROW,), mma, free[tile % accumulators])
        for k_tile in range(k_tiles):
            stage = (tile * k_tiles + k_tile) % stages
            tma = wait((TMA_ROW,), tma, empty[stage]) + 1
            mma = wait((MMA_ROW,), mma, tma + LATENCY) + 1
            begin = max(mma, multiplied)
            empty[stage] = multiplied = begin + MULTIPLY
            spans += [
                BlockSpan(TMA_ROW, tma - 1, tma, tile, k_tile),
                BlockSpan(f"stage {stage}", tma, tma + LATENCY, tile, k_tile, "in flight"),
                BlockSpan(f"stage {stage}", tma + LATENCY, begin, tile, k_tile, "landed"),
                BlockSpan(f"stage {stage}", begin, multiplied, tile, k_tile),
                BlockSpan(MMA_ROW, mma - 1, mma, tile, k_tile),
                BlockSpan(TENSOR_CORES, begin, multiplied, tile, k_tile),
            ]
        stored = wait(EPILOGUE_ROWS, stored, multiplied)
        for part in range(parts):
            for row in EPILOGUE_ROWS:
                spans.append(BlockSpan(row, stored, stored + 1, tile, part))
                spans.append(BlockSpan(row, stored + 1, stored + 2, tile, part, "landed"))
            stored += 2
        free[tile % accumulators] = stored - 1
    rows = (TMA_ROW, *(f"stage {stage}" for stage in range(stages)), MMA_ROW, TENSOR_CORES, *EPILOGUE_ROWS)
    return BlockTimeline(rows, tuple(spans), accumulators)


# Attention ------------------------------------------------------------------------------------------------------------


Schedule = Literal["together", "ping-pong", "together, overlap", "ping-pong, overlap"]


@dataclass(frozen=True)
class GroupSpan:
    """From tick `begin` to tick `end`, by a warpgroup: "softmax", "S" or "P" (P V) of a block of keys; of a tile of
    queries the "load", until its first data are there, the "steps" and the "store" of O.
    """

    kind: str
    group: int
    number: int
    begin: int
    end: int


@dataclass(frozen=True)
class AttentionCartoon:
    """blocks: of keys. multiply: ticks of one warpgroup's S or P V on all tensor cores. softmax: of one block.

    together: both warpgroups issue at once, and the tensor cores serve them alternately, so that both wait for twice
    as long. ping-pong: one waits until the other's wgmmas are done. overlap: S of a block is issued before P V of the
    block before.
    """

    schedule: Schedule
    blocks: int = 3
    multiply: int = 2
    softmax: int = 5

    @property
    def spans(self) -> tuple[GroupSpan, ...]:
        if "ping-pong" in self.schedule:
            return tuple(self.served(2, self.multiply))
        one = tuple(self.served(1, 2 * self.multiply))
        return (*one, *(GroupSpan(x.kind, 1, x.number, x.begin, x.end) for x in one if x.kind == "softmax"))

    @property
    def total(self) -> int:
        return max(span.end for span in self.spans)

    def order(self) -> list[tuple[str, int]]:
        """A warpgroup's wgmma groups as it issues them."""
        pairs = [[("P", n - 1), ("S", n)] if n else [("S", n)] for n in range(self.blocks)]
        if "overlap" in self.schedule:
            pairs = [pair[::-1] for pair in pairs]
        return [*(one for pair in pairs for one in pair), ("P", self.blocks - 1)]

    def served(self, groups: int, ticks: int) -> Iterator[GroupSpan]:
        """The tensor cores take the group of wgmmas that is ready first."""
        waiting, ready, free = [self.order() for _ in range(groups)], [0] * groups, 0
        while any(waiting):
            group = min((one for one in range(groups) if waiting[one]), key=lambda one: (ready[one], one))
            kind, block = waiting[group].pop(0)
            begin = max(free, ready[group])
            free = end = begin + ticks
            yield GroupSpan(kind, group, block, begin, end)
            if kind == "S":
                softmax = end + self.softmax
                yield GroupSpan("softmax", group, block, end, softmax)
                if "overlap" in self.schedule and block:  # P V of the block before is already issued
                    _, before = waiting[group].pop(0)
                    yield GroupSpan("P", group, before, end, end + ticks)
                    free = end + ticks
                ready[group] = softmax
            else:
                ready[group] = end


Blocks = Literal["a block for each tile", "persistent"]


@dataclass(frozen=True)
class SmCartoon:
    """start: ticks until a block has set up its mbarriers. load: from a tile's first load to its data.

    steps, store: of one warpgroup. delay: of warpgroup 1 behind warpgroup 0. stages: of the ring of K, each of a tick:
    a persistent block loads the next tile's K this long before it has computed with this tile's last.
    """

    blocks: Blocks
    tiles: int = 3
    start: int = 1
    load: int = 2
    steps: int = 6
    store: int = 2
    delay: int = 1
    stages: int = 2

    @property
    def spans(self) -> Iterator[GroupSpan]:
        free, computed = [0, 0], 0
        for tile in range(self.tiles):
            begin = max(free) + self.start
            if self.blocks == "persistent" and tile:
                begin = computed - self.stages
            ready = begin + self.load
            yield GroupSpan("load", 0, tile, begin, ready)
            for group in range(2):
                first = max(ready + group * self.delay, free[group])
                computed = first + self.steps
                free[group] = computed + self.store
                yield GroupSpan("steps", group, tile, first, computed)
                yield GroupSpan("store", group, tile, computed, free[group])

    @property
    def total(self) -> int:
        return max(span.end for span in self.spans)
