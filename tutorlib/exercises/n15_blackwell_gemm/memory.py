"""Common mistakes about tensor memory."""

from collections.abc import Callable, Sequence
from random import Random

from tutorlib.exercises.words import mistakes
from tutorlib.models.tensor_memory import accumulator_place, tmem_columns

ALLOCATING = mistakes(
"15.1",
any_number=lambda n, a: n * a if n * a <= 512 else 0,
fewer_than_32=lambda n, a: 0 if n * a > 512 else 1 << (n * a - 1).bit_length(),
beyond_512=lambda n, a: max(32, 1 << (n * a - 1).bit_length()),
each_rounded=lambda n, a: 0 if tmem_columns(n, 1) * a > 512 else tmem_columns(n, 1) * a,
clamped=lambda n, a: min(512, max(32, 1 << (n * a - 1).bit_length())),
bytes=lambda n, a: tmem_columns(4 * n, a),
)  # fmt: skip


def exchanged(m: int, n: int, accumulator: int, columns: int) -> tuple[int, int, int, int]:
    block, warp, lane, column = accumulator_place(m, n, accumulator, columns)
    return block, warp, column, lane


PLACES = mistakes(
"15.2",
lanes_of_the_pair=lambda m, n, a, columns: (m // 128, m % 128 // 32, m, a * columns + n),
warps_of_the_pair=lambda m, n, a, columns: (m // 128, m // 32, m % 128, a * columns + n),
first_accumulator=lambda m, n, a, columns: (*accumulator_place(m, n, 0, columns)[:3], n),
every_fourth_lane=lambda m, n, a, columns: (m // 128, m % 4, m % 128, a * columns + n),
alternating_rows=lambda m, n, a, columns: (m % 2, m // 2 % 128 // 32, m // 2 % 128, a * columns + n),
order=exchanged,
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
