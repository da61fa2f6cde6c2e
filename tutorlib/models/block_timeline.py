"""A block's warps, stages and tensor cores over time, in ticks."""

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


TENSOR_CORES = "tensor cores"
