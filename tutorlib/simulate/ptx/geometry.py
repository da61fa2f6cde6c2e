"""A launch's blocks, and how the threads of those that run together are numbered."""

from dataclasses import dataclass

import numpy as np

WARP = 32
Dim3 = tuple[int, int, int]


@dataclass(frozen=True)
class Geometry:
    """grid, block: sizes along x, y, z. batch: how many blocks run together."""

    grid: Dim3
    block: Dim3
    batch: int

    @property
    def blocks(self) -> int:
        return self.grid[0] * self.grid[1] * self.grid[2]

    @property
    def threads(self) -> int:
        return self.block[0] * self.block[1] * self.block[2]

    @property
    def warps(self) -> int:
        """Of one block."""
        return -(-self.threads // WARP)

    @property
    def lanes(self) -> int:
        return self.batch * self.warps * WARP

    def thread(self) -> np.ndarray:
        """Each lane's thread, counted in its block."""
        return np.tile(np.arange(self.warps * WARP), self.batch)

    def slot(self) -> np.ndarray:
        """Each lane's block, counted in the batch."""
        return np.repeat(np.arange(self.batch), self.warps * WARP)

    def show_block(self, number: int) -> str:
        """A block as the reader counts: "3", or "(1, 2)" in a grid of two dimensions."""
        place = coordinates(number, self.grid)
        return str(number) if self.grid[1] == self.grid[2] == 1 else str(place if self.grid[2] > 1 else place[:2])


def coordinates(number: int, sizes: Dim3) -> Dim3:
    """x runs fastest."""
    return number % sizes[0], number // sizes[0] % sizes[1], number // (sizes[0] * sizes[1])
