"""Common mistakes about tensor memory."""

from collections.abc import Callable, Sequence
from random import Random

from tutorlib.checking.values import Mistake
from tutorlib.models.tensor_memory import accumulator_place, tmem_columns

ALLOCATING = (
    Mistake("An allocation is a power of two.", lambda n, a: n * a if n * a <= 512 else 0),
    Mistake(
        "The smallest allocation is 32 columns.",
        lambda n, a: 0 if n * a > 512 else 1 << (n * a - 1).bit_length(),
    ),
    Mistake("Tensor memory has 512 columns: if the accumulators need more, return 0.",
            lambda n, a: max(32, 1 << (n * a - 1).bit_length())),
    Mistake("Accumulators follow each other without a gap: round up the total, not each one.",
            lambda n, a: 0 if tmem_columns(n, 1) * a > 512 else tmem_columns(n, 1) * a),
    Mistake("Do not clamp to 512: return 0 if the accumulators do not fit.",
            lambda n, a: min(512, max(32, 1 << (n * a - 1).bit_length()))),
    Mistake("A column is 32 bits: one for each fp32 accumulator of a row, not four.",
            lambda n, a: tmem_columns(4 * n, a)),
)  # fmt: skip


def exchanged(m: int, n: int, accumulator: int, columns: int) -> tuple[int, int, int, int]:
    block, warp, lane, column = accumulator_place(m, n, accumulator, columns)
    return block, warp, column, lane


PLACES = (
    Mistake(
        "Each block of the pair has its own lanes, 0 to 127.",
        lambda m, n, a, columns: (m // 128, m % 128 // 32, m, a * columns + n),
    ),
    Mistake(
        "Each block has its own epilogue warps, 0 to 3.",
        lambda m, n, a, columns: (m // 128, m // 32, m % 128, a * columns + n),
    ),
    Mistake(
        "The second accumulator begins after the first one's columns.",
        lambda m, n, a, columns: (*accumulator_place(m, n, 0, columns)[:3], n),
    ),
    Mistake(
        "A warp reads 32 consecutive lanes, not every fourth.",
        lambda m, n, a, columns: (m // 128, m % 4, m % 128, a * columns + n),
    ),
    Mistake(
        "The pair's rows do not alternate: block 0 has rows 0 to 127.",
        lambda m, n, a, columns: (m % 2, m // 2 % 128 // 32, m // 2 % 128, a * columns + n),
    ),
    Mistake("The order is (block, warp, lane, column).", exchanged),
)  # fmt: skip


def accumulators(*numbers: int) -> Callable[[Random], tuple]:
    """Calls of `tmem_columns` with any N."""
    return lambda rng: (8 * rng.randint(1, 32), rng.choice(numbers))


def places(rows: Sequence[int], accumulators: Sequence[int]) -> Callable[[Random], tuple]:
    """Calls of `accumulator_place` with accumulators of any width."""

    def draw(rng: Random) -> tuple:
        columns = 8 * rng.randint(4, 20)
        return rng.choice(rows), rng.randrange(columns), rng.choice(accumulators), columns

    return draw
