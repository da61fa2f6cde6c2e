"""A Blackwell block's warps, stages and tensor cores over time, in ticks: what its three loops let wait for what."""

from dataclasses import dataclass
from typing import Literal

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
