"""Timelines in ticks: a software pipeline, and the warps of a GEMM's or of an attention kernel's block."""

from dataclasses import dataclass
from typing import Any, Literal


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
    """Tiles through a pipeline of `stages` buffers in each of `blocks` blocks, which take turns at the arithmetic.

    latency: from issuing a copy until its first byte arrives. transfer: how long one tile's bytes flow; the memory
    sends one tile at a time. compute: how long the arithmetic on one tile takes, one tile at a time.
    at_once: a copy is issued as soon as its buffer is free: tile k goes where tile k - stages was. With one stage that
    is load, wait, compute; with more, the loads of the next tiles run meanwhile. Otherwise it is issued when the
    arithmetic of the block's next tile begins; that takes two stages.
    one_by_one: a copy is issued no sooner than the one before has arrived.
    """

    stages: int
    latency: int
    transfer: int
    compute: int
    tiles: int
    at_once: bool = True
    blocks: int = 1
    one_by_one: bool = False

    @property
    def steps(self) -> tuple[Step, ...]:
        """The tiles in order."""
        steps: list[Step] = []
        ahead = self.blocks * (self.stages - (not self.at_once))
        for tile in range(self.tiles):
            issued = 0
            if tile >= ahead:
                issued = steps[tile - ahead].done if self.at_once else steps[tile - ahead].started
            before = steps[-1] if steps else Step(0, 0, 0, 0, 0)
            issued = max(issued, before.arrived) if self.one_by_one else issued
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
        which `stages` buffers share, or of wait and fill, which all but the one in use share: of each block.
        """
        arrives = self.latency + self.transfer
        round_trip = (arrives + self.compute) / self.stages if self.at_once else arrives / (self.stages - 1)
        return max(self.compute, arrives if self.one_by_one else self.transfer, round_trip / self.blocks)

    @property
    def busy(self) -> float:
        """The fraction of time in which a running pipeline computes."""
        return self.compute / self.period


# What the warps of a block do -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Span:
    """From tick `begin` to tick `end`, a row is busy with a tile: of C, of queries, or a block of keys.

    label: what a picture writes there. does: what the row does then, where it does several things.
    """

    row: str
    begin: int
    end: int
    tile: int
    label: str
    does: str = ""


@dataclass(frozen=True)
class Chart:
    """What each row does over time, in ticks. rows: from top to bottom. cores: the row of the tensor cores, or ""."""

    title: str
    rows: tuple[str, ...]
    spans: tuple[Span, ...]
    cores: str = "mma"

    @property
    def total(self) -> int:
        """Ticks until the last span is over."""
        return max(span.end for span in self.spans)

    @property
    def multiplying(self) -> int:
        """Ticks in which the tensor cores multiply."""
        return sum(span.end - span.begin for span in self.spans if span.row == self.cores)


def launches_chart(title: str, launch: int, kernel: int, calls: int = 3) -> Chart:
    """A kernel starts when its launch is over on the host and the kernel before it has ended."""
    spans, ended = list[Span](), 0
    for call in range(calls):
        issued = (call + 1) * launch
        begin = max(issued, ended)
        ended = begin + kernel
        spans += [Span("host", issued - launch, issued, call, str(call)), Span("GPU", begin, ended, call, str(call))]
    return Chart(title, ("host", "GPU"), tuple(spans), cores="GPU")


Roles = Literal["plain", "cooperative", "deferred stores"]


def roles_chart(roles: Roles, tiles: int = 3, ahead: int = 3, multiply: int = 8, results: int = 3) -> Chart:
    """A few tiles through a Hopper GEMM's block: its loads, two warpgroups, stores, and tensor cores.

    A tick is a K tile's. ahead: from a load to its first use, multiply / 2 at most; the ring has a stage more, and a
    stage is free when it has been multiplied. multiply: of a tile, with all tensor cores.
    results: to round a tile's accumulators and hand them to TMA, the epilogue.
    plain: every warp does everything, so a tile's loads begin when the last one's results are out. cooperative: a
    producer loads the next tile meanwhile. deferred: the accumulators are rounded in one tick, and stored under the
    next tile's multiplication.
    """
    spans: list[Span] = []
    groups, issued, begin = ("wg 0", "wg 1"), 0, ahead
    deferred = roles == "deferred stores"
    for tile in range(tiles):
        end = begin + multiply
        rounded = end + (1 if deferred else results)
        spans += [
            Span("load", issued, issued + min(ahead + 1, multiply), tile, str(tile)),
            Span("load", min(begin + 1, end - ahead), end - ahead, tile, ""),
            *(Span(row, begin, end, tile, str(tile)) for row in (*groups, "mma")),
            *(Span(row, end, rounded, tile, str(tile), "epilogue") for row in groups),
            Span("store", end + deferred, end + results, tile, str(tile)),
        ]
        issued = rounded if roles == "plain" else end - ahead
        begin = rounded + ahead if roles == "plain" else rounded
    return Chart(roles, ("load", *groups, "store", "mma"), tuple(spans))


TMA_ROW, MMA_ROW, TENSOR_CORES = "warp 5: TMA", "warp 4: MMA", "tensor cores"
EPILOGUE_ROWS = tuple(f"warp {warp}: epilogue" for warp in range(4))
LATENCY, MULTIPLY = 4, 2  # ticks: from a load's issue to its last byte; of the tensor cores, for a K tile


def block_chart(tiles: int, k_tiles: int, stages: int, accumulators: int, parts: int) -> Chart:
    """A Blackwell block's work on `tiles` tiles of C. To issue a K tile, to read a part and to write it takes a tick.

    The TMA warp waits until a stage is empty. The MMA warp waits for a free accumulator, then for each full stage; the
    tensor cores multiply in the order of issue. The epilogue waits until a tile is ready, and frees its accumulator
    once the last part is in registers. A stage is "in flight", then "landed"; what an epilogue warp writes is "landed",
    too; a warp "waits" at an mbarrier. A label is the number of a K tile or of a part.
    """
    spans: list[Span] = []
    empty, free = [0] * stages, [0] * accumulators  # when
    tma = mma = multiplied = stored = 0  # when each is done with what it has issued

    def wait(rows: tuple[str, ...], since: int, until: int) -> int:
        spans.extend(Span(row, since, until, 0, "", "waits") for row in rows if since < until)
        return max(since, until)

    for tile in range(tiles):
        mma = wait((MMA_ROW,), mma, free[tile % accumulators])
        for k_tile in range(k_tiles):
            stage, label = (tile * k_tiles + k_tile) % stages, str(k_tile)
            tma = wait((TMA_ROW,), tma, empty[stage]) + 1
            mma = wait((MMA_ROW,), mma, tma + LATENCY) + 1
            begin = max(mma, multiplied)
            empty[stage] = multiplied = begin + MULTIPLY
            spans += [
                Span(TMA_ROW, tma - 1, tma, tile, label),
                Span(f"stage {stage}", tma, tma + LATENCY, tile, label, "in flight"),
                Span(f"stage {stage}", tma + LATENCY, begin, tile, label, "landed"),
                Span(f"stage {stage}", begin, multiplied, tile, label),
                Span(MMA_ROW, mma - 1, mma, tile, label),
                Span(TENSOR_CORES, begin, multiplied, tile, label),
            ]
        stored = wait(EPILOGUE_ROWS, stored, multiplied)
        for part in range(parts):
            for row in EPILOGUE_ROWS:
                spans.append(Span(row, stored, stored + 1, tile, str(part)))
                spans.append(Span(row, stored + 1, stored + 2, tile, str(part), "landed"))
            stored += 2
        free[tile % accumulators] = stored - 1
    rows = (TMA_ROW, *(f"stage {stage}" for stage in range(stages)), MMA_ROW, TENSOR_CORES, *EPILOGUE_ROWS)
    return Chart(f"{accumulators} accumulator{'s' * (accumulators > 1)}", rows, tuple(spans), TENSOR_CORES)


Schedule = Literal["together, in step", "together, apart", "turns for both"]
STEPS_OF = {  # "+S1" issues S of keys 1, or begins the softmax of keys 1, "+1"; "S1" waits for it
    "together": "+P{0} +S{1} P{0} S{1} +{1} {1}",
    "turns for both": "+S{1} +P{0} S{1} +{1} {1} P{0}",
}
BOTH = 2


def attention_chart(schedule: Schedule, blocks: int = 3, multiply: int = 2, softmax: int = 3) -> Chart:
    """An attention block's softmax, of two warpgroups, and tensor cores: S and P (P V) of each block of keys.

    blocks: of keys, from the last to block 0. multiply, softmax: ticks of one warpgroup that has the units to itself.
    The tensor cores take the group of wgmmas that was issued first. Two that were issued at once alternate, and take
    twice as long, as do two softmaxes at once. in step: both warpgroups start at once; apart: one a tick later; turns:
    one issues after the other. A span's tile is its warpgroup's number, or BOTH.
    """
    (kernel, _, start), last = schedule.partition(", "), blocks - 1
    steps = [STEPS_OF[kernel].format(n + 1, n) for n in reversed(range(last))]
    todo = [f"+S{last} S{last} +{last} {last} {' '.join(steps)} +P0 P0".split() for _ in range(2)]
    active, spans, now = list[dict[str, Any]](), list[Span](), 0
    while any(todo):
        for group in range(2 if now or start != "apart" else 1):
            while todo[group] and not any(one["group"] == group and one["does"] == todo[group][0] for one in active):
                if (op := todo[group].pop(0))[0] == "+":
                    work, order = 2 * (softmax if op[1:].isdigit() else multiply), group * kernel.startswith("turns")
                    active.append({"group": group, "does": op[1:], "order": (now, order), "left": work, "begin": -1})
        mmas = [one for one in active if not one["does"].isdigit()]
        first = min((one["order"] for one in mmas), default=None)
        firsts = {one["group"]: one for one in reversed(mmas) if one["order"] == first}  # of a group's, the oldest
        for unit in (list(firsts.values()), [one for one in active if one["does"].isdigit()]):
            for one in unit:
                group, does = one["group"], one["does"]
                one["begin"] = now if one["begin"] < 0 else one["begin"]
                one["left"] -= 2 // len(unit)
                if one["left"] <= 0:
                    row, tile = (f"wg {group}", group) if does.isdigit() else ("mma", BOTH if len(unit) > 1 else group)
                    spans.append(Span(row, one["begin"], now + 1, tile, does))
        active = [one for one in active if one["left"] > 0]
        now += 1
    return Chart(schedule, ("wg 0", "wg 1", "mma"), tuple(dict.fromkeys(spans)))


Blocks = Literal["a thread block for each tile", "persistent"]
START, LOAD, STEPS, STORE, DELAY = 1, 2, 6, 2, 1


def sm_chart(blocks: Blocks, tiles: int = 3, stages: int = 2, loads: str = "Q", stores: str = "O") -> Chart:
    """An SM's tiles. START: until a block has set up its mbarriers. LOAD: from a tile's load to its data.

    STEPS, STORE: of one warpgroup. DELAY: of warpgroup 1 behind warpgroup 0. stages: of the ring of K, each of a tick:
    a persistent block loads the next tile's K this long before it has computed with this tile's last.
    """
    free, computed, spans = [0, 0], 0, list[Span]()
    for tile in range(tiles):
        begin = computed - stages if blocks == "persistent" and tile else max(free) + START
        ready = begin + LOAD
        spans.append(Span("loads", begin, ready, tile, loads))
        for group in range(2):
            first = max(ready + group * DELAY, free[group])
            computed, row = first + STEPS, f"wg {group}"
            free[group] = computed + STORE
            spans.append(Span(row, first, computed, tile, str(tile)))
            spans.append(Span("mma", first, computed, tile, ""))
            spans.append(Span(row, computed, free[group], tile, stores))
    return Chart(blocks, ("loads", "wg 0", "wg 1", "mma"), tuple(spans))
