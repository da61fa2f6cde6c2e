"""The answers that any machine calls: which register of P is which element, which blocks of keys a tile needs."""

from collections.abc import Callable
from itertools import product
from random import Random

from tutorlib.checking.drawn import beside
from tutorlib.checking.values import equals
from tutorlib.exercises.words import mistakes

# 20.1 a_register ------------------------------------------------------------------------------------------------


def a_register(row: int, column: int) -> tuple[int, int, int]:
    """The A fragment of wgmma m64nNk16 (PTX ISA, 9.7.15.5.1.1)."""
    warp, half, low = row // 16, row // 8 % 2, row % 8
    k_block, column = divmod(column, 16)
    return 32 * warp + 4 * low + column % 8 // 2, k_block, column % 2 + 2 * half + 4 * (column // 8)


def changed(
    thread: Callable = lambda t, *_: t, block: Callable = lambda _, b, r: b, register: Callable = lambda *x: x[2]
):
    return lambda row, column: tuple(part(*a_register(row, column)) for part in (thread, block, register))


HOLDING = mistakes(
    "20.1",
    eight_columns=changed(block=lambda t, b, r: 2 * b + r // 4, register=lambda t, b, r: r % 4),
    not_in_order=changed(register=lambda t, b, r: r % 2 + 2 * (r // 4) + 4 * (r // 2 % 2)),
    counted_in_the_row=changed(register=lambda t, b, r: 8 * b + r),
    numbered_in_a_warp=lambda row, column: a_register(row % 16, column),
    order=lambda row, column: a_register(row, column)[::-1],
)


def some_element(rows: int, columns: int) -> Callable[[Random], tuple]:
    return lambda rng: (rng.randrange(rows), rng.randrange(columns))


REGISTER_CASES = (
    equals(
        "one K block of a warpgroup",  # drawn from four warps: a table of one warp's 256 elements is no answer
        beside(list(product(range(16), range(16))), some_element(64, 16)),
        a_register,
        HOLDING,
    ),
    equals(
        "a warpgroup's 64 × 128",
        beside(list(product(range(0, 64, 3), range(0, 128, 5))), some_element(64, 256)),
        a_register,
        HOLDING,
    ),
)

# 20.5 key_blocks ------------------------------------------------------------------------------------------------


def key_blocks(m_block: int, keys: int, tile: tuple[int, int], causal: bool) -> tuple[int, int]:
    bM, bN = tile
    blocks = -(-keys // bN)
    if not causal:
        return blocks, keys // bN
    return min(blocks, -(-(m_block + 1) * bM // bN)), min(keys // bN, (m_block * bM + 1) // bN)


def all_causal(m_block: int, keys: int, tile: tuple[int, int], causal: bool) -> tuple[int, int]:
    return -(-keys // tile[1]), key_blocks(m_block, keys, tile, causal)[1]


BLOCKS = mistakes(
    "20.5",
    all_keys=all_causal,
    ragged_block_unmasked=lambda m_block, keys, tile, causal: (
        key_blocks(m_block, keys, tile, causal)[0],
        min(key_blocks(m_block, keys, tile, causal)[0], key_blocks(m_block, 10**6, tile, causal)[1]),
    ),
    last_row=lambda m_block, keys, tile, causal: (
        key_blocks(m_block, keys, tile, causal)[0],
        min(keys // tile[1], (m_block + 1) * tile[0] // tile[1]) if causal else keys // tile[1],
    ),
    own_key_missing=lambda m_block, keys, tile, causal: (
        key_blocks(m_block, keys, tile, causal)[0],
        min(keys // tile[1], m_block * tile[0] // tile[1]) if causal else keys // tile[1],
    ),
    masked_blocks=lambda *args: (key_blocks(*args)[0], key_blocks(*args)[0] - key_blocks(*args)[1]),
    order=lambda *args: key_blocks(*args)[::-1],
)
TILES = ((128, 128), (128, 176), (192, 128), (128, 64), (64, 1))


def tiles_of(sizes: tuple[int, ...], causal: bool) -> list[tuple]:
    return [
        (m_block, keys, tile, causal) for keys, tile in product(sizes, TILES) for m_block in range(-(-keys // tile[0]))
    ]


def some_tile(causal: bool) -> Callable[[Random], tuple]:
    def draw(rng: Random) -> tuple:
        tile = (64 * rng.randint(1, 4), 8 * rng.randint(1, 32))
        return rng.randrange(20), rng.randint(1, 3000), tile, causal

    return draw


BLOCK_CASES = (
    equals("not causal", beside(tiles_of((512, 500, 17), False), some_tile(False)), key_blocks, BLOCKS),
    equals("causal", beside(tiles_of((1024, 1000), True), some_tile(True)), key_blocks, BLOCKS),
    equals(
        "causal, more queries than keys",
        beside(
            [(m_block, keys, (128, 64), True) for m_block in range(6) for keys in (1, 70, 256, 300)], some_tile(True)
        ),
        key_blocks,
        BLOCKS,
    ),
)
