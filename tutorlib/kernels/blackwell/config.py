"""The Blackwell kernel's configuration, and the shared and tensor memory that it takes."""

from dataclasses import dataclass

BOX = (32, 64)  # of C: the rows that a warp of the epilogue may read, and the 128 bytes that one swizzle reaches
ROWS, COLUMNS = 128, 512  # of tensor memory: lanes, and columns of 32 bits
BYTES = 2  # of a bf16
SMEM_LIMIT = 227 * 1024  # bytes that a block can have
SMEM_REST = 1280  # of it for mbarriers, tensor memory's address, and what aligning costs
WARPS = 6  # four that store, one that multiplies, one that loads
MMA_WARP, TMA_WARP = 4, 5


class BlackwellConfigError(ValueError):
    """No kernel has this configuration. The message says why."""


@dataclass(frozen=True)
class BlackwellConfig:
    """tile: (M, N, K) of one block, or with `pair` of two blocks of 128 rows each.

    stages: buffers of A and B. accumulators: of tensor memory. store_buffers: of a BOX for each warp of the epilogue.
    """

    tile: tuple[int, int, int] = (128, 256, 64)
    pair: bool = False
    stages: int = 4
    accumulators: int = 2
    store_buffers: int = 2

    def __post_init__(self) -> None:
        bM, bN, bK = self.tile
        if bM != ROWS * self.width:
            raise BlackwellConfigError(f"tile M = {bM}: it is {ROWS} for a block, {2 * ROWS} for a pair")
        if bN % BOX[1] or not BOX[1] <= bN <= 256:
            raise BlackwellConfigError(f"tile N = {bN}: C leaves in boxes of {BOX[1]} columns, and 256 is the most")
        if bK != 64:
            raise BlackwellConfigError(f"tile K = {bK}: one swizzled row is 64 bf16")
        if bN * self.accumulators > COLUMNS:
            raise BlackwellConfigError(f"{self.accumulators} accumulators of {bN} columns: tensor memory has {COLUMNS}")
        if self.stages < 2 or self.accumulators < 1:
            raise BlackwellConfigError("at least 2 stages and 1 accumulator")
        if self.smem_bytes > SMEM_LIMIT:
            raise BlackwellConfigError(f"{self.smem_bytes:,} bytes of shared memory: a block can have {SMEM_LIMIT:,}")

    @property
    def width(self) -> int:
        """Blocks that multiply together, a cluster."""
        return 1 + self.pair

    @property
    def b_rows(self) -> int:
        """Rows of B's tile that a block loads: all of them, or half."""
        return self.tile[1] // self.width

    @property
    def stage_bytes(self) -> int:
        """Bytes of a stage in one block's shared memory."""
        return (ROWS + self.b_rows) * self.tile[2] * BYTES

    @property
    def smem_bytes(self) -> int:
        boxes = 4 * self.store_buffers * BOX[0] * BOX[1] * BYTES
        return self.stages * self.stage_bytes + boxes + SMEM_REST

    @property
    def columns(self) -> int:
        """Of tensor memory, to be allocated: a power of two, at least 32."""
        return max(32, 1 << (self.tile[1] * self.accumulators - 1).bit_length())


SINGLE = BlackwellConfig()
PAIR = BlackwellConfig((256, 256, 64), pair=True, stages=6)


def band(tile: tuple[int, int, int], tiles_m: int, in_flight: int) -> int:
    """The height in tiles, a power of two, of a band of which so many tiles read the fewest rows of A and B."""
    heights = [2**n for n in range(tiles_m.bit_length())]
    return min(heights, key=lambda height: height * tile[0] + -(-in_flight // height) * tile[1])
