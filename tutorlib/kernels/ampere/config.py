"""How the GEMM of notebooks 09 to 12 is cut up."""

from typing import NamedTuple


class GemmConfig(NamedTuple):
    """How the work is cut up: what is known at compile time besides the tensors' types.

    tile: (M, N, K) of a block's share of C and of one step along K.
    warps: how the warps lie over the tile, (M, N).
    stages: buffers in shared memory, each with a tile of A and one of B.
    """

    tile: tuple[int, int, int] = (128, 128, 64)
    warps: tuple[int, int] = (2, 2)
    stages: int = 1

    @property
    def threads(self) -> int:
        return 32 * self.warps[0] * self.warps[1]

    @property
    def smem_bytes(self) -> int:
        """Shared memory of a block."""
        m, n, k = self.tile
        return self.stages * (m + n) * k * 2

    def grid(self, rows: int, columns: int) -> tuple[int, int]:
        """How many tiles C has in M and in N, partly filled ones included."""
        return -(-rows // self.tile[0]), -(-columns // self.tile[1])
