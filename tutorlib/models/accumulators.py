"""When a Blackwell block's tensor cores and its epilogue work on which tile, for one accumulator or two, in ticks."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Busy:
    """From tick `begin` to `end`. row: "multiply" or "read". accumulator: whose accumulators."""

    row: str
    begin: int
    end: int
    tile: int
    accumulator: int


@dataclass(frozen=True)
class Handover:
    """tiles, one after the other. multiply, read: ticks of a tile, in the tensor cores and in the epilogue."""

    accumulators: int
    tiles: int = 4
    multiply: int = 6
    read: int = 4

    @property
    def spans(self) -> tuple[Busy, ...]:
        """A tile is multiplied when its accumulator has been read, and read when it is complete."""
        spans: list[Busy] = []
        mma = epilogue = 0
        freed = [0] * self.accumulators
        for tile in range(self.tiles):
            at = tile % self.accumulators
            begin = max(mma, freed[at])
            mma = begin + self.multiply
            reads = max(mma, epilogue)
            epilogue = freed[at] = reads + self.read
            spans += [Busy("multiply", begin, mma, tile, at), Busy("read", reads, epilogue, tile, at)]
        return tuple(spans)

    @property
    def total(self) -> int:
        return max(span.end for span in self.spans)

    @property
    def busy(self) -> float:
        """The fraction of the time until the last multiplication in which the tensor cores multiply."""
        spans = [span for span in self.spans if span.row == "multiply"]
        return sum(span.end - span.begin for span in spans) / spans[-1].end
