"""How the GEMM of notebooks 10 to 13 is cut up, and the rules for it."""

from collections.abc import Iterator
from dataclasses import dataclass

from tutorlib.kernels import ConfigError, whole_numbers

WARP = 32  # threads
MOST_THREADS = 1024  # of a block
MOST_REGISTERS = 255  # of a thread
MOST_SMEM = 227 * 1024  # bytes of a block: an H100's; an A100's have 163 KiB
BYTES = 2  # of an element
VECTOR = 8  # elements of 16 bytes, which one cp.async copies
LINE = 64  # elements of 128 bytes: the longest row that a swizzle mixes
MMA_M = 16  # rows of mma.sync.m16n8k16
WARP_N = 32  # columns of 4 atoms: a thread's 8 neighbors in C, a store of 16 bytes


@dataclass(frozen=True)
class GemmConfig:
    """How the work is cut up: the compile-time parameters other than the tensors' types.

    tile: (M, N, K) of a block's share of C and of one step along K.
    warps: along M and N of the tile.
    stages: buffers in shared memory, each with a tile of A and one of B.

    Every accepted configuration compiles and gives right results; any other raises ConfigError.
    """

    tile: tuple[int, int, int] = (128, 128, 64)
    warps: tuple[int, int] = (2, 2)
    stages: int = 1

    def __post_init__(self) -> None:
        object.__setattr__(self, "tile", whole_numbers("tile", self.tile, 3, 1))
        object.__setattr__(self, "warps", whole_numbers("warps", self.warps, 2, 1))
        object.__setattr__(self, "stages", *whole_numbers("stages", self.stages, 1, 1))
        for broken in self.broken_rules():
            raise ConfigError(broken)

    @property
    def threads(self) -> int:
        return WARP * self.warps[0] * self.warps[1]

    @property
    def smem_bytes(self) -> int:
        """Shared memory of a block."""
        m, n, k = self.tile
        return self.stages * (m + n) * k * BYTES

    @property
    def accumulators(self) -> int:
        """Registers of a thread that hold its share of the tile of C, in fp32."""
        return self.tile[0] * self.tile[1] // self.threads

    @property
    def rows_of_a_copy(self) -> int:
        """Rows of a tile that all threads fetch at a time, each 16 bytes of the first 128 at most."""
        return self.threads // (min(self.tile[2], LINE) // VECTOR)

    def grid(self, rows: int, columns: int) -> tuple[int, int]:
        """How many tiles C has in M and in N, partly filled ones included."""
        return -(-rows // self.tile[0]), -(-columns // self.tile[1])

    def broken_rules(self) -> Iterator[str]:
        """The rules that it breaks, each as a sentence."""
        (m, n, k), (down, across) = self.tile, self.warps
        if any(count & (count - 1) for count in (down, across)):
            yield f"warps {down}×{across}: powers of two, or their threads do not share out the swizzled rows evenly"
            return  # the rules below divide by them
        if k != LINE // 2 and k % LINE:
            yield f"tile K = {k}: 32 or a multiple of 64, so that a swizzle mixes the rows in shared memory"
            return  # how many rows a copy takes follows from K
        if m % (MMA_M * down):
            yield f"tile M = {m}: {down} warps of 16 rows each cover multiples of {MMA_M * down}"
        if n % (WARP_N * across):
            yield f"tile N = {n}: {across} warps of 32 columns each cover multiples of {WARP_N * across}"
        if self.threads > MOST_THREADS:
            yield f"warps {down}×{across} are {self.threads:,} threads; a block has at most {MOST_THREADS:,}"
        if m % self.rows_of_a_copy or n % self.rows_of_a_copy:
            yield (
                f"tile {m}×{n}: {self.threads} threads fetch {self.rows_of_a_copy} rows of K = {k} at a time, "
                f"so M and N are multiples of {self.rows_of_a_copy}"
            )
        if self.accumulators > MOST_REGISTERS:
            yield (
                f"tile {m}×{n} on {down}×{across} warps: each thread would keep {self.accumulators} accumulators, and "
                f"it has {MOST_REGISTERS} registers. More warps, or a smaller tile"
            )
        if self.smem_bytes > MOST_SMEM:
            yield (
                f"{self.stages} × {(m + n) * k * BYTES:,} bytes of shared memory are {self.smem_bytes:,}; "
                f"a block has at most {MOST_SMEM:,}. Fewer stages, or a smaller tile"
            )
