"""07.2: blocks in strips."""

from collections.abc import Callable
from random import Random
from typing import TYPE_CHECKING

from tutorlib.checking.exercise import Answer
from tutorlib.checking.graded_run import more_for_points
from tutorlib.checking.served import Served
from tutorlib.checking.values import Case, attempt, plain, show_call
from tutorlib.exercises.n07_cutile_gemm.judge.in_kernel import tiles_in_kernel
from tutorlib.failure import Fail, Flaw
from tutorlib.models.l2 import grouped
from tutorlib.problems.problem import Shape
from tutorlib.problems.wrong import Wrong

if TYPE_CHECKING:
    from torch import Tensor

from tutorlib.exercises.n07_cutile_gemm.shapes import group_of, persistent_blocks, plain_tile, tiles
from tutorlib.exercises.words import mistakes

# 07.2 grouped -----------------------------------------------------------------------------------------------------


Grid = tuple[int, int, int]  # rows, columns, group
GRIDS: list[Grid] = [(8, 6, 4), (16, 3, 8), (4, 4, 1)]  # the group divides the rows


def whole(rng: Random) -> Grid:
    rows, columns, group = ragged(rng)
    return rows * group, columns, group


def ragged(rng: Random) -> Grid:
    """A grid whose last strip may be lower."""
    return rng.randint(2, 12), rng.randint(2, 9), rng.randint(2, 5)


RAGGED_GRIDS: list[Grid] = [(10, 6, 4), (7, 5, 3), (3, 9, 8), (1, 1, 8)]


def strip_after_strip(name: str, grids: list[Grid], draw: Callable[[Random], Grid]) -> Case:
    """A case that is right when consecutive blocks take the tiles of a strip column by column, every tile once.

    In which order the tiles of one column of a strip come is left to the answer. The grader also draws grids.
    """

    def judge(answer: Answer) -> Wrong | None:
        for rows, columns, group in (*grids, *more_for_points(draw, 2)):
            order: list[tuple[int, int]] = []
            for block in range(rows * columns):
                args = (block, rows, columns, group)
                got, wrong = attempt(answer, args)
                if wrong is not None:
                    return wrong
                got = plain(got)
                if broken := misplaced(got, order, *args):
                    return Wrong(f"{show_call(answer, args)} gives {got!r}: {broken}.", likely(answer, *args[1:]))
                order.append(got)
        return None

    return Case(name, judge, [(block, *grid) for grid in grids for block in range(grid[0] * grid[1])])


def in_a_kernel(rows: int, columns: int, group: int) -> Case:
    """A case that is right when a kernel can call the answer, and its blocks get the tiles that they are due."""

    def judge(answer: Served) -> Wrong | None:
        told = answer.ask(tiles_in_kernel, rows, columns, group)
        if isinstance(told, str):
            what = "exercise 07.4 calls it in one, which cuTile cannot compile: "
            return Wrong(Flaw(what + told, Fail.DOES_NOT_COMPILE), "Use only arithmetic and `min`; return a tuple.")
        for block, tile in enumerate(told):
            if broken := misplaced(tile, told[:block], block, rows, columns, group):
                return Wrong(f"at {rows}×{columns} tiles in strips of {group}, block {block} gets {tile}: {broken}.")
        return None

    return Case("in a kernel", judge)


def misplaced(got: object, before: list[tuple[int, int]], block: int, rows: int, columns: int, group: int) -> str:
    """The fault in the tile of a block, whose predecessors took those `before`; "" where it is right."""
    if not (isinstance(got, tuple) and len(got) == 2 and all(type(n) is int for n in got)):
        return "it should give a tuple of two integers, the row and the column of a tile"
    m, n = got
    if not (0 <= m < rows and 0 <= n < columns):
        return f"C has {rows}×{columns} tiles"
    if got in before:
        return f"block {before.index(got)} has that tile already"
    first, column = block // (group * columns) * group, grouped(block, rows, columns, group)[1]
    last = min(first + group, rows) - 1
    if not first <= m <= last:
        return f"block {block} belongs to the strip of rows {first} to {last}"
    return "" if n == column else f"block {block} belongs to column {column} of its strip"


def row_by_row(block: int, rows: int, columns: int, group: int) -> tuple[int, int]:
    return block // columns, block % columns


def column_by_column(block: int, rows: int, columns: int, group: int) -> tuple[int, int]:
    return block % rows, block // rows


def strips_of_columns(block: int, rows: int, columns: int, group: int) -> tuple[int, int]:
    return grouped(block, columns, rows, group)[::-1]


def along_the_strip(block: int, rows: int, columns: int, group: int) -> tuple[int, int]:
    strip, place = divmod(block, group * columns)
    return strip * group + place // columns, place % columns


def always_full(block: int, rows: int, columns: int, group: int) -> tuple[int, int]:
    strip, place = divmod(block, group * columns)
    return strip * group + place % group, place // group


ORDERS = mistakes(
    "07.2",
    row_after_row=row_by_row,
    column_after_column=column_by_column,
    vertical_strips=strips_of_columns,
    rows_of_strips=along_the_strip,
    full_last_strip=always_full,
)


def likely(answer: Answer, rows: int, columns: int, group: int) -> str:
    """The mistake that gives the same order as the answer does for all blocks, or ""."""
    for mistake in ORDERS:
        try:
            if all(
                answer(n, rows, columns, group) == mistake.answer(n, rows, columns, group)
                for n in range(rows * columns)
            ):
                return mistake.says
        except Exception:  # a wrong answer may fail on a later block
            continue
    return ""


def in_strips(shape: Shape, writers: "Tensor") -> str | None:
    """A tile of 07.4 that another block computed than the order of 07.2 says, as a sentence, or None.

    In which order the tiles of one column of a strip come is left to the answer.
    """
    tm, tn, _ = plain_tile(shape)
    (rows, columns), blocks = tiles(shape, tm, tn), persistent_blocks(shape)[0]
    by_tile = writers[::tm, ::tn].tolist()
    due: dict[tuple[int, int], list[int]] = {}
    for tile in range(rows * columns):
        m, n = grouped(tile, rows, columns, group_of(shape))
        due.setdefault((m // group_of(shape), n), []).append(tile % blocks)
    for (strip, n), wanted in due.items():
        heights = range(strip * group_of(shape), min(rows, (strip + 1) * group_of(shape)))
        got = [by_tile[m][n] for m in heights]
        if sorted(got) != sorted(wanted):
            return (
                f"C has {rows}×{columns} tiles, and in strips of {group_of(shape)} rows the tiles "
                f"{', '.join(str((m, n)) for m in heights)} are for block {' and '.join(map(str, wanted))}; "
                f"yours gives them to block {' and '.join(map(str, got))}"
            )
    return None
