"""A launch's blocks, and how the threads of those that run together are numbered and exchange values."""

from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import Any

import numpy as np

WARP = 32
WARPGROUP = 4  # warps
LANES = np.arange(WARP)
Dim3 = tuple[int, int, int]
ALONE: Dim3 = (1, 1, 1)


@dataclass
class Geometry:
    """grid, block: sizes along x, y, z; cluster: in blocks. batch: how many blocks run together, whole clusters.

    Blocks run cluster after cluster. A block's place is its number in that order; a slot its place in the batch.
    first: the place of the first block of the batch that runs.
    """

    grid: Dim3
    block: Dim3
    batch: int
    cluster: Dim3 = ALONE
    first: int = 0

    @property
    def blocks(self) -> int:
        return prod(self.grid)

    @property
    def threads(self) -> int:
        return prod(self.block)

    @property
    def warps(self) -> int:
        """Of one block."""
        return -(-self.threads // WARP)

    @cached_property
    def of_block(self) -> int:
        """The lanes of one block."""
        return self.warps * WARP

    @property
    def lanes(self) -> int:
        return self.batch * self.of_block

    @property
    def cluster_size(self) -> int:
        return prod(self.cluster)

    @property
    def clusters(self) -> Dim3:
        """The grid's, along x, y, z."""
        x, y, z = (size // blocks for size, blocks in zip(self.grid, self.cluster, strict=True))
        return x, y, z

    def thread(self) -> np.ndarray:
        """Each lane's thread, counted in its block."""
        return np.tile(np.arange(self.of_block), self.batch)

    def slot(self) -> np.ndarray:
        """Each lane's block, counted in the batch."""
        return np.repeat(np.arange(self.batch), self.of_block)

    def flags(self, lanes: np.ndarray) -> np.ndarray:
        """Of all lanes, whether each is among these."""
        chosen = np.zeros(self.lanes, bool)
        chosen[lanes] = True
        return chosen

    def warps_of(self, lanes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The warps that these lanes belong to: each one's slot, and its number in the block."""
        return np.divmod(np.unique(lanes // WARP), self.warps)

    def number(self, place: np.ndarray) -> np.ndarray:
        """The number in the grid, x fastest, of the blocks at these places."""
        if self.cluster_size == 1:
            return place
        outer = coordinates(place // self.cluster_size, self.clusters)
        inner = coordinates(place % self.cluster_size, self.cluster)
        x, y, z = (at * size + rank for at, size, rank in zip(outer, self.cluster, inner, strict=True))
        return np.asarray(x + self.grid[0] * (y + self.grid[1] * z))

    def place(self, lane: int) -> int:
        """Of a lane's block."""
        return self.first + int(lane) // self.of_block

    def show_block(self, place: int) -> str:
        return in_grid(int(self.number(np.array(place))), self.grid)

    def show_slot(self, slot: int) -> str:
        """A block of the batch."""
        return self.show_block(self.first + slot)

    def show_warp(self, warp: int) -> str:
        """A warp by its number in the batch: "warp 1 of block 3"."""
        slot, number = divmod(warp, self.warps)
        return f"warp {number} of block {self.show_slot(slot)}"

    def show_thread(self, lane: int) -> str:
        """A lane's thread: "thread 40 of block 3"."""
        slot, thread = divmod(lane, self.of_block)
        return f"thread {thread} of block {self.show_slot(slot)}"


def coordinates(number: Any, sizes: Dim3) -> tuple[Any, Any, Any]:
    """x runs fastest."""
    return number % sizes[0], number // sizes[0] % sizes[1], number // (sizes[0] * sizes[1])


def in_grid(number: int, grid: Dim3) -> str:
    """A block as the reader counts: "3", or "(1, 2)" in a grid of two dimensions."""
    at = coordinates(number, grid)
    return str(number) if grid[1] == grid[2] == 1 else str(at if grid[2] > 1 else at[:2])


def source_lanes(mode: str, by: np.ndarray, limits: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The lane of its warp that each lane takes its value from in a shfl (PTX ISA, 9.7.9.6), and whether it lies in the
    segment; those that do not give a lane's own value.

    mode: "up", "down", "bfly" or "idx". by, limits: the instruction's b and c, of shapes that broadcast with (…, 32).
    """
    by, last, segment = by & 31, limits & 31, limits >> 8 & 31
    highest = (LANES & segment) | (last & ~segment)
    given = (LANES & segment) | (by & ~segment)
    source = {"up": LANES - by, "down": LANES + by, "bfly": LANES ^ by, "idx": given}[mode]
    inside = source >= highest if mode == "up" else source <= highest
    return np.where(inside, source, LANES) % WARP, inside
