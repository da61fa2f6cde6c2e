"""A software pipeline in time: copies that fill buffers, and a computation that empties them."""

from dataclasses import dataclass


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
