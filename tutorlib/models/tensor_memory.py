"""Blackwell's tensor memory and a pair's share of a GEMM: columns, places of accumulators, bytes of a stage."""

LANES, TMEM_COLUMNS = 128, 512  # of a block's tensor memory; a column is 32 bits in each lane
LEAST = 32  # columns in an allocation
SMEM_ROOM = 227 * 1024  # bytes that a block can have


def tmem_columns(n: int, accumulators: int) -> int:
    """Columns to allocate for this number of 128 × n accumulators: a power of two, ≥ 32; 0 if they do not fit."""
    needed = n * accumulators
    if needed > TMEM_COLUMNS:
        return 0
    return max(LEAST, 1 << (needed - 1).bit_length())


def accumulator_place(m: int, n: int, accumulator: int, columns: int) -> tuple[int, int, int, int]:
    """(block of the pair, warp of its epilogue, lane, column) of the accumulator at row m, column n of 256 × `columns`.

    PTX ISA, 9.7.16.10.5, data path layout of cta_group::2 with M = 256: each block has 128 rows, one in each lane. A
    warp may read the 32 lanes from 32 · (its number modulo 4) on.
    """
    block, lane = divmod(m, LANES)
    return block, lane // 32, lane, accumulator * columns + n


def ring_stages(n: int, pair: bool, other: int) -> tuple[int, int]:
    """(bytes of a stage in one block, stages that fit) for 128 rows of A for each block, tiles of n columns, 64 of K.

    bf16. other: bytes of shared memory for other uses. A block of a pair has half of B's rows.
    """
    stage = (LANES + n // (1 + pair)) * 64 * 2
    return stage, (SMEM_ROOM - other) // stage
