"""Exercises of notebook 02: the layout algebra.

Every operator is checked by its defining law on layouts that a seed draws, and against the real CuTe DSL as a
function. Extents are small, so a law is tested at every index. What the laws need of an operator, tensor_layouts gives.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterable
from functools import cache, wraps
from itertools import pairwise, product
from typing import Any

import tensor_layouts as tl
from tensor_layouts import Layout, cosize, flatten, mode, rank, size

from tutorlib.cute import ask
from tutorlib.exercise import Answer, Case, Exercise, Mistake, law
from tutorlib.notation import text

# Random layouts --------------------------------------------------------------------------------------------------


def random_layout(dice: random.Random, largest: int = 64, holes: bool = True) -> Layout:
    """Up to four modes of 1, 2, 4 or 8, stored in any order, often with holes, often nested.

    Powers of two divide each other, so every operator has an answer on these.
    """
    extents = [dice.choice((1, 2, 2, 4, 8)) for _ in range(dice.randint(1, 4))]
    while size(tuple(extents)) > largest:
        extents[extents.index(max(extents))] //= 2
    strides, step = [0] * len(extents), 1
    for n in dice.sample(range(len(extents)), len(extents)) if dice.random() < 0.6 else range(len(extents)):
        strides[n] = step
        step *= extents[n] * (dice.choice((1, 1, 2)) if holes else 1)
    cut = dice.randint(0, len(extents))
    if dice.random() < 0.5 and 0 < cut < len(extents):
        return Layout(nest(extents, cut), nest(strides, cut))
    return Layout(*unwrapped(extents, strides))


def nest(modes: list[int], cut: int) -> tuple:
    """[2, 4, 8] cut after 1 → (2, (4, 8))."""
    return tuple(part[0] if len(part) == 1 else tuple(part) for part in (modes[:cut], modes[cut:]))


def unwrapped(*lists: list[int]) -> tuple:
    """Each list as CuTe writes it: a tuple, or a plain number where there is just one mode."""
    return tuple(tuple(modes) if len(modes) > 1 else modes[0] for modes in lists)


def drawn(seed: int, draw: Callable[[random.Random], tuple], n: int = 25) -> list[tuple]:
    dice = random.Random(seed)
    return [draw(dice) for _ in range(n)]


# Laws ------------------------------------------------------------------------------------------------------------

Law = Callable[..., str | None]


def of_layouts(holds: Law) -> Law:
    """The law, after a look at whether the answer is a layout at all."""

    @wraps(holds)
    def layout_holds(got: Any, *args: Any) -> str | None:
        return holds(got, *args) if isinstance(got, Layout) else "it should be a Layout"

    return layout_holds


def differs(got: Layout, want: Callable[[int], int], n: int) -> str | None:
    """Where `got` is not the function `want` on the indices 0 … n-1."""
    if size(got) != n:
        return f"it has {size(got)} elements and should have {n}"
    for index in range(n):
        if got(index) != want(index):
            return f"it sends index {index} to {got(index)} and should send it to {want(index)}"
    return None


def agrees_with_cute(
    operation: str, calls: Iterable[tuple], mistakes: Iterable[Mistake] = (), as_written: bool = False
) -> Case:
    """The answer is the function that cutlass.cute's operation of this name gives for the same arguments.

    as_written: it is written with the same modes, too.
    """
    calls = tuple(calls)

    @cache
    def cute() -> dict[tuple, Layout]:
        return dict(zip(calls, ask((operation, *args) for args in calls), strict=True))

    def holds(got: Layout, *args: Any) -> str | None:
        want = cute()[args]
        if broken := differs(got, want, size(want)):
            return f"CuTe gives {text(want)}; in yours, {broken}"
        return f"CuTe writes it {text(want)}" if as_written and got != want else None

    return law("the same as CuTe", calls, of_layouts(holds), mistakes)


def refuses(name: str, calls: Iterable[tuple], why: str) -> Case:
    """A case that is right when every call raises ValueError: no layout could be the answer."""

    def judge(answer: Answer):
        @wraps(answer)
        def careful(*args: Any) -> Any:
            try:
                return answer(*args)
            except ValueError:
                return ValueError

        def holds(got: Any, *args: Any) -> str | None:
            return None if got is ValueError else f"{why}, so it should raise ValueError"

        return law(name, calls, holds).judge(careful)

    return Case(name, judge)


# 02.1 coalesce ---------------------------------------------------------------------------------------------------


@of_layouts
def is_coalesced(got: Layout, layout: Layout) -> str | None:
    """The same function, written with as few modes as there can be."""
    if broken := differs(got, layout, size(layout)):
        return broken
    modes = list(zip(flatten(got.shape), flatten(got.stride), strict=True))
    if flatten(got) != got:
        return "its modes are still nested"
    if len(modes) > 1 and any(extent == 1 for extent, _ in modes):
        return "a mode of extent 1 is left"
    for (extent, stride), (after, step) in pairwise(modes):
        if step == extent * stride:
            return f"its modes {extent}:{stride} and {after}:{step} continue each other and could be one"
    return None


def coalesced_if(layout: Layout, continues: Callable[[int, int, int], bool], drop_ones: bool = True) -> Layout:
    """Coalesce with another idea of when a mode (extent, stride) is continued by one with stride `step`."""
    modes: list[tuple[int, int]] = []
    for extent, step in zip(flatten(layout.shape), flatten(layout.stride), strict=True):
        if extent == 1 and drop_ones:
            continue
        if modes and continues(*modes[-1], step):
            modes[-1] = (modes[-1][0] * extent, modes[-1][1])
        else:
            modes.append((extent, step))
    return Layout(*unwrapped(*map(list, zip(*modes, strict=True)))) if modes else Layout(1, 0)


KEEPS_ONES = Mistake(
    "A mode of extent 1 has only the coordinate 0: its stride is never used, and it can go.",
    lambda layout: coalesced_if(layout, lambda extent, stride, step: step == extent * stride, drop_ones=False),
)
MERGES_ALL = Mistake(
    "Two modes become one only where the second continues the first: its stride is extent · stride of the first.",
    lambda layout: Layout(size(layout), flatten(layout.stride)[0]),
)
MERGES_MULTIPLES = Mistake(
    "A stride that is a multiple of extent · stride leaves a hole; only equality continues the first mode.",
    lambda layout: coalesced_if(layout, lambda extent, stride, step: stride > 0 and step % (extent * stride) == 0),
)
ROWS_FIRST = Mistake(
    "You merged from the right, as if the last mode ran fastest. In CuTe the first one does.",
    lambda layout: tl.coalesce(Layout(flatten(layout.shape)[::-1], flatten(layout.stride)[::-1])),
)

COALESCE = Exercise(
    id="02.1",
    title="coalesce",
    points=3,
    cases=(
        law(
            "modes that continue each other become one",
            [(Layout((4, 8), (1, 4)),), (Layout((2, (2, 3)), (5, (10, 20))),), (Layout((3, 5), (0, 0)),)],
            is_coalesced,
        ),
        law(
            "modes that do not stay apart",
            [(Layout((4, 8), (8, 1)),), (Layout((4, 8), (1, 8)),), (Layout((4, (2, 3)), (6, (1, 2))),)],
            is_coalesced,
            [MERGES_ALL, MERGES_MULTIPLES, ROWS_FIRST],
        ),
        law(
            "modes of extent 1 go",
            [(Layout((2, 1, 6), (1, 7, 2)),), (Layout((1, (1, 4)), (9, (1, 2))),), (Layout((1, 1), (3, 5)),)],
            is_coalesced,
            [KEEPS_ONES],
        ),
        law("random layouts", drawn(21, lambda dice: (random_layout(dice),)), is_coalesced, [KEEPS_ONES]),
        agrees_with_cute(
            "coalesce",
            [(Layout((2, (1, 6)), (1, (6, 2))),), (Layout(((2, 2), (4, 2)), ((1, 16), (2, 8))),)],
            [KEEPS_ONES],
            as_written=True,
        ),
    ),
    hints=(
        "Walk over the flat modes from the left and keep a list of those you have; compare with the last one in it.",
        "Skip extent 1. If the new stride is extent · stride of the last kept mode, multiply that mode's extent.",
        "Three ends to tie up: no mode left is Layout(1, 0), one is Layout(4, 1), more are Layout((4, 2), (1, 8)).",
    ),
)

# 02.2 compose ----------------------------------------------------------------------------------------------------


@of_layouts
def is_composition(got: Layout, a: Layout, b: Layout) -> str | None:
    """R(i) == A(B(i)) for every i, and R has B's modes."""
    for index in range(size(b)):
        if size(got) != size(b):
            return f"it has {size(got)} elements and should have B's {size(b)}"
        if got(index) != a(b(index)):
            return f"R({index}) is {got(index)}, but B({index}) = {b(index)} and A({b(index)}) = {a(b(index))}"
    if not tl.compatible(b.shape, got.shape):
        return f"it does not take the coordinates of B, whose shape is {text(b.shape)}"
    return None


def composable(dice: random.Random) -> tuple[Layout, Layout]:
    """A layout and one whose offsets are indices of it."""
    a = random_layout(dice)
    while cosize(b := random_layout(dice, largest=size(a))) > size(a):
        pass
    return a, b


def scaled_by(factor: Callable[[Layout], int]) -> Answer:
    def scale(a: Layout, b: Layout) -> Layout:
        return Layout(b.shape, tl.transform_tuple(b.stride, lambda step: step * factor(a)))

    return scale


ONE_STRIDE = Mistake(
    "That multiplies B's strides by A's first one. It is right only where A goes on in equal steps (where it coalesces "
    "to one mode); here B runs past the end of A's first mode.",
    scaled_by(lambda a: flatten(a.stride)[0]),
)
ONLY_B = Mistake("That is B itself: A has not been applied to its offsets.", scaled_by(lambda a: 1))
OTHER_WAY = Mistake(
    "That is B ∘ A. A ∘ B asks B first, as in A(B(i)).", lambda a, b: tl.compose(b, a) if a != b else None
)
STAYS_ON_LAST = Mistake(
    "Once B has used up a mode of A it goes on in the next mode of A, with that mode's stride.",
    scaled_by(lambda a: flatten(tl.coalesce(a).stride)[-1]),
)

COMPOSE = Exercise(
    id="02.2",
    title="compose",
    points=4,
    cases=(
        law(
            "B stays inside A's first mode",
            [
                (Layout(8, 3), Layout(4, 2)),
                (Layout((8, 4), (4, 1)), Layout(4, 2)),
                (Layout((6, 4), (4, 1)), Layout(2, 4)),
                (Layout(20, 2), Layout((5, 4), (4, 1))),
            ],
            is_composition,
            [ONLY_B, OTHER_WAY, STAYS_ON_LAST],
        ),
        law(
            "B runs through several modes of A",
            [
                (Layout((4, 8), (8, 1)), Layout(8, 1)),
                (Layout((6, 4), (4, 1)), Layout(12, 2)),
                (Layout((2, 3, 4), (12, 4, 1)), Layout((4, 6), (6, 1))),
            ],
            is_composition,
            [ONE_STRIDE, ONLY_B, OTHER_WAY],
        ),
        law(
            "B steps over whole modes of A",
            [
                (Layout((4, 8), (8, 1)), Layout(4, 4)),
                (Layout((4, 8), (8, 1)), Layout(4, 8)),
                (Layout((2, 2, 4), (1, 100, 10)), Layout(2, 8)),
            ],
            is_composition,
            [ONE_STRIDE, ONLY_B, OTHER_WAY],
        ),
        law(
            "stride 0 and extent 1",
            [(Layout((4, 8), (8, 1)), Layout((3, 4), (0, 1))), (Layout((4, 8), (8, 1)), Layout((4, 1), (1, 5)))],
            is_composition,
            [ONE_STRIDE, ONLY_B],
        ),
        law("random layouts", drawn(22, composable), is_composition, [ONE_STRIDE, ONLY_B, OTHER_WAY]),
        refuses(
            "no layout is the answer",
            [
                (Layout((4, 6), (1, 10)), Layout(5, 3)),
                (Layout((6, 2), (8, 2)), Layout(3, 4)),
                (Layout((4, 3), (1, 8)), Layout(6, 1)),
            ],
            "B's steps do not go evenly into A's modes",
        ),
        agrees_with_cute(
            "composition",
            [
                (Layout((8, 4), (4, 1)), Layout((4, 8), (8, 1))),
                (Layout((6, 2), (8, 2)), Layout((4, 3), (3, 1))),
                (Layout((10, 2), (16, 4)), Layout((5, 4), (1, 5))),
                (Layout(((2, 2), (4, 2)), ((1, 16), (2, 8))), Layout(((2, 2), 4), ((4, 1), 8))),
            ],
            [ONE_STRIDE, ONLY_B, OTHER_WAY],
        ),
    ),
    hints=(
        "Walk over the modes of coalesce(A), the first one first, and keep two numbers: how many elements of B are "
        "left to place, and by how many elements of the present mode B steps.",
        "In a mode of extent s: if the step is a multiple of s, B jumps over the mode, and in the next one its step is "
        "step // s. If s is a multiple of the step, the mode holds s // step of B's elements; then the step is 1.",
        "In the last mode there is nowhere else to go: all that is left is placed there. Where B's elements all lie in "
        "one mode, (left - 1) * step < s, nothing has to divide anything.",
    ),
)

# 02.3 transposed -------------------------------------------------------------------------------------------------


@of_layouts
def is_transpose(got: Layout, layout: Layout) -> str | None:
    rows, columns = (size(mode(layout, n)) for n in (0, 1))
    if rank(got) != 2 or [size(mode(got, n)) for n in (0, 1)] != [columns, rows]:
        return f"it should be a matrix of {columns}×{rows}"
    for row, column in product(range(rows), range(columns)):
        if got(column, row) != layout(row, column):
            want = layout(row, column)
            return f"it sends ({column}, {row}) to {got(column, row)}; the matrix has ({row}, {column}) at {want}"
    return None


def reshaped(layout: Layout, stride: Callable[[int, int], tuple[int, int]]) -> Layout:
    rows, columns = (size(mode(layout, n)) for n in (0, 1))
    return tl.compose(layout, Layout((columns, rows), stride(rows, columns)))


RESHAPED = Mistake(
    "That only reads the elements in the old order under a new shape. Going to the next row of the transpose has to go "
    "to the next column of the matrix: which index is that?",
    lambda layout: reshaped(layout, lambda rows, columns: (1, columns)),
)
COLUMNS_FOR_ROWS = Mistake(
    "The next column of the matrix is one column of indices further, and a column has as many indices as rows.",
    lambda layout: reshaped(layout, lambda rows, columns: (columns, 1)),
)
SHAPE_ONLY = Mistake(
    "The shape is turned round and the strides are not, so rows are still rows.",
    lambda layout: Layout(layout.shape[::-1], layout.stride),
)
TRANSPOSE_MISTAKES = (RESHAPED, COLUMNS_FOR_ROWS, SHAPE_ONLY)

TRANSPOSED = Exercise(
    id="02.3",
    title="transposed",
    points=2,
    cases=(
        law("a row-major matrix", [(Layout((4, 8), (8, 1)),)], is_transpose, TRANSPOSE_MISTAKES),
        law("a column-major matrix", [(Layout((6, 3), (1, 6)),)], is_transpose, TRANSPOSE_MISTAKES),
        law("rows padded to 12", [(Layout((4, 8), (12, 1)),)], is_transpose, TRANSPOSE_MISTAKES),
        law(
            "a matrix stored in blocks",
            [(Layout(((2, 2), (4, 2)), ((1, 16), (2, 8))),), (Layout((4, (2, 4)), (2, (1, 8))),)],
            is_transpose,
            TRANSPOSE_MISTAKES,
        ),
    ),
    hints=(
        "The transpose is layout ∘ B. B takes (column, row) and gives the *index* of (row, column) in the matrix.",
        "Indices run down the columns: (row, column) has the index row + column * rows.",
        "So B has the shape (columns, rows) and the stride (rows, 1).",
    ),
)

# 02.4 complement -------------------------------------------------------------------------------------------------


def gaps(layout: Layout, bound: int) -> Layout:
    """The complement, from tensor_layouts; a size to compare with."""
    return tl.complement(layout, bound)


@of_layouts
def is_complement(got: Layout, layout: Layout, bound: int) -> str | None:
    """Disjoint, ordered, filling: every offset below the bound is one of the layout's plus one of R's, in one way."""
    enough = size(gaps(layout, bound))
    if not 1 <= size(got) <= enough:
        return f"it has {size(got)} elements, and {enough} are what fills 0 … {bound - 1}"
    reached = {layout(index) for index in range(size(layout))}
    starts = [got(index) for index in range(size(got))]
    for offset, after in pairwise(starts):
        if after <= offset:
            return f"its offsets should ascend and not repeat, and {offset} is followed by {after}"
    sums = Counter(offset + start for offset in reached for start in starts)
    if twice := [offset for offset, n in sums.items() if n > 1]:
        return f"two copies of the layout meet at offset {min(twice)}"
    if missing := set(range(bound)) - set(sums):
        return f"no copy of the layout reaches offset {min(missing)}"
    return None


def with_hole_bound(dice: random.Random) -> tuple[Layout, int]:
    layout = random_layout(dice, largest=32)
    return layout, cosize(layout) * dice.choice((1, 2, 3))


NO_BOUND = Mistake(
    "The holes inside the layout are filled, and nothing after it: copies have to go on until the bound is reached.",
    lambda layout, bound: gaps(layout, cosize(layout)),
)
ONLY_AFTER = Mistake(
    "That starts behind the layout's last offset. The holes between its offsets have to be filled first.",
    lambda layout, bound: Layout(-(-bound // cosize(layout)), cosize(layout)),
)
BY_SIZE = Mistake(
    "Copies placed size(layout) apart meet where the layout has holes: look at its offsets.",
    lambda layout, bound: Layout(-(-bound // size(layout)), size(layout)),
)
ROUNDED_DOWN = Mistake(
    "The last copy is missing: bound // reach rounds down.",
    lambda layout, bound: gaps(layout, bound // reach(layout) * reach(layout)),
)
COMPLEMENT_MISTAKES = (NO_BOUND, ONLY_AFTER, BY_SIZE, ROUNDED_DOWN)


def reach(layout: Layout) -> int:
    """Where the first offset would be that a layout and its inner gaps leave free."""
    return max(
        (extent * step for extent, step in zip(flatten(layout.shape), flatten(layout.stride), strict=True)), default=1
    )


COMPLEMENT = Exercise(
    id="02.4",
    title="complement",
    points=3,
    cases=(
        law(
            "holes after the layout",
            [(Layout(4, 1), 24), (Layout((4, 2), (1, 4)), 8)],
            is_complement,
            COMPLEMENT_MISTAKES,
        ),
        law(
            "holes inside it too",
            [(Layout(4, 2), 24), (Layout((2, 2), (1, 6)), 24), (Layout(3, 5), 15)],
            is_complement,
            COMPLEMENT_MISTAKES,
        ),
        law(
            "modes in any order, nested",
            [(Layout((2, 2), (8, 2)), 32), (Layout((2, (2, 3)), (6, (1, 24))), 144)],
            is_complement,
            COMPLEMENT_MISTAKES,
        ),
        law(
            "extent 1 and stride 0 reach nothing new",
            [(Layout((4, 3), (1, 0)), 24), (Layout((1, 4), (5, 2)), 16), (Layout(1, 0), 6)],
            is_complement,
            COMPLEMENT_MISTAKES,
        ),
        law(
            "a bound that is no multiple",
            [(Layout(4, 1), 10), (Layout(4, 2), 17), (Layout((2, 2), (1, 4)), 9)],
            is_complement,
            COMPLEMENT_MISTAKES,
        ),
        law("random layouts", drawn(24, with_hole_bound), is_complement, COMPLEMENT_MISTAKES),
        refuses(
            "no layout is the answer",
            [(Layout((4, 2), (2, 3)), 24), (Layout((2, 2), (2, 3)), 12), (Layout((2, 2), (6, 2)), 24)],
            "the modes get in each other's way",
        ),
        agrees_with_cute(
            "complement",
            [(Layout(4, 2), 24), (Layout((2, 2), (8, 2)), 32), (Layout((2, (2, 3)), (6, (1, 24))), 144)],
            COMPLEMENT_MISTAKES,
        ),
    ),
    hints=(
        "Sort the modes by stride and go through them; keep `reach`, the first offset that is not filled yet (1 at the "
        "start). A mode whose stride is larger than reach leaves a gap.",
        "The gap before a mode of stride d takes d // reach copies, reach apart: a mode (d // reach):reach of the "
        "answer. After it everything up to extent * d is filled.",
        "At the end ceil(bound / reach) copies, reach apart. Drop what has extent 1, or let tl.coalesce do it.",
    ),
)

# 02.5 logical_divide ---------------------------------------------------------------------------------------------


@of_layouts
def is_division(got: Layout, layout: Layout, tile: Layout) -> str | None:
    """R(i, j) == A(B(i) + B*(j)), where B* says where copies of the tile begin."""
    starts = gaps(tile, size(layout))
    if rank(got) != 2:
        return "it should have two modes, (inside the tile, which tile)"
    inside, outside = size(mode(got, 0)), size(mode(got, 1))
    if (inside, outside) != (size(tile), size(starts)):
        return f"its modes have {inside} and {outside} elements; a tile has {size(tile)}, and there are {size(starts)}"
    for i, j in product(range(inside), range(outside)):
        index = tile(i) + starts(j)
        if index < size(layout) and got(i, j) != layout(index):
            return (
                f"it sends ({i}, {j}), element {i} of tile {j}, to {got(i, j)}; that is index {index} of the layout, "
                f"at {layout(index)}"
            )
    return None


def divided(bound: Callable[[Layout, Layout], int]) -> Answer:
    def divide(layout: Layout, tile: Layout) -> Layout:
        return tl.compose(layout, Layout(tile, gaps(tile, bound(layout, tile))))

    return divide


MODES_SWAPPED = Mistake(
    "Your two modes are swapped: inside the tile comes first, which tile second.",
    lambda layout, tile: tl.compose(layout, Layout(gaps(tile, size(layout)), tile)),
)
BY_COSIZE = Mistake(
    "The tile picks indices of the layout, and there are size(layout) of them. cosize(layout) counts places in memory, "
    "which is more where the layout has holes.",
    divided(lambda layout, tile: cosize(layout)),
)
ONE_TILE = Mistake(
    "That is only as much as one tile spans. The complement has to go on to the end of the layout.",
    divided(lambda layout, tile: cosize(tile)),
)
TILE_OF_MEMORY = Mistake(
    "Those are indices, not offsets: put (tile, its complement) through the layout with compose.",
    lambda layout, tile: Layout(tile, gaps(tile, size(layout))),
)
DIVIDE_MISTAKES = (MODES_SWAPPED, BY_COSIZE, ONE_TILE, TILE_OF_MEMORY)

LOGICAL_DIVIDE = Exercise(
    id="02.5",
    title="logical_divide",
    points=2,
    cases=(
        law(
            "a contiguous tile",
            [(Layout(24, 3), Layout(4, 1)), (Layout((4, 8), (8, 1)), Layout(8, 1))],
            is_division,
            DIVIDE_MISTAKES,
        ),
        law(
            "a tile of every third, every eighth",
            [(Layout(24, 2), Layout(4, 3)), (Layout((4, 8), (8, 1)), Layout(4, 8))],
            is_division,
            DIVIDE_MISTAKES,
        ),
        law("random layouts", drawn(25, composable), is_division, DIVIDE_MISTAKES),
        law("a last tile that sticks out", [(Layout(10, 1), Layout(4, 1))], is_division, DIVIDE_MISTAKES),
        agrees_with_cute(
            "logical_divide",
            [
                (Layout(24, 3), Layout(4, 1)),
                (Layout((4, 8), (8, 1)), Layout(4, 8)),
                (Layout(10, 1), Layout(4, 1)),
                (Layout((4, 2, 3), (2, 1, 8)), Layout(4, 2)),
            ],
            DIVIDE_MISTAKES,
        ),
    ),
    hints=(
        "The tile says which indices belong to tile 0. Which layout says where the other tiles begin?",
        "The complement of the tile in the layout's indices. Together they name every index once: Layout(tile, rest).",
        "tl.compose(layout, Layout(tile, tl.complement(tile, …))): how many indices has the layout?",
    ),
)

# 02.6 zipped_divide ----------------------------------------------------------------------------------------------


@of_layouts
def is_zipped(got: Layout, layout: Layout, tiler: tuple[int, ...]) -> str | None:
    """R(inside, outside) == A(inside + tiler · outside), of shape ((a, b, …), (A/a, B/b, …))."""
    extents = [size(mode(layout, n)) for n in range(rank(layout))]
    counts = tuple(-(-extent // tile) for extent, tile in zip(extents, tiler, strict=True))
    if rank(got) != 2 or rank(mode(got, 0)) != len(tiler) or rank(mode(got, 1)) != len(tiler):
        return f"its shape should be {text((tuple(tiler), counts))}"
    modes = [tuple(size(mode(mode(got, half), n)) for n in range(len(tiler))) for half in (0, 1)]
    if modes != [tuple(tiler), counts]:
        return f"its shape is {text(tuple(modes))} and should be {text((tuple(tiler), counts))}"
    for inside, outside in product(product(*map(range, tiler)), product(*map(range, counts))):
        coord = tuple(i + tile * j for i, tile, j in zip(inside, tiler, outside, strict=True))
        if all(c < extent for c, extent in zip(coord, extents, strict=True)) and got((inside, outside)) != layout(
            coord
        ):
            return (
                f"element {inside} of tile {outside} is ({', '.join(map(str, coord))}) of the matrix, "
                f"at {layout(coord)}; yours sends it to {got((inside, outside))}"
            )
    return None


def by_mode(layout: Layout, tiler: tuple[int, ...]) -> list[Layout]:
    return [tl.logical_divide(mode(layout, n), Layout(tile, 1)) for n, tile in enumerate(tiler)]


FIRST_PART_ONLY = Mistake(
    "On a nested mode tl divides only the first part by a plain number. CuTe means n:1 by n: give tl Layout(n, 1).",
    lambda layout, tiler: Layout(
        *(
            Layout(*(mode(tl.logical_divide(mode(layout, n), tile), half) for n, tile in enumerate(tiler)))
            for half in (0, 1)
        )
    ),
)
NOT_ZIPPED = Mistake(
    "That is mode by mode, ((inside, outside) of the rows, (inside, outside) of the columns). Gather the insides in "
    "one mode and the outsides in another.",
    lambda layout, tiler: Layout(*by_mode(layout, tiler)),
)
OUTSIDE_FIRST = Mistake(
    "Your two halves are swapped: the tile comes first, which tile second.",
    lambda layout, tiler: Layout(*(Layout(*(mode(part, half) for part in by_mode(layout, tiler))) for half in (1, 0))),
)
TILES_BY_ONE = Mistake(
    "The next tile begins `tile` rows further, so the outside strides are tile times as large.",
    lambda layout, tiler: Layout(
        (tiler, tuple(-(-size(mode(layout, n)) // tile) for n, tile in enumerate(tiler))),
        (layout.stride, layout.stride),
    ),
)
ZIP_MISTAKES = (NOT_ZIPPED, OUTSIDE_FIRST, TILES_BY_ONE, FIRST_PART_ONLY)

ZIPPED_DIVIDE = Exercise(
    id="02.6",
    title="zipped_divide",
    points=3,
    cases=(
        law(
            "a matrix",
            [
                (Layout((16, 8), (8, 1)), (4, 4)),
                (Layout((16, 8), (1, 16)), (8, 2)),
                (Layout((12, 10), (10, 1)), (3, 5)),
            ],
            is_zipped,
            ZIP_MISTAKES,
        ),
        law("three modes", [(Layout((4, 6, 8), (48, 8, 1)), (2, 3, 4))], is_zipped, ZIP_MISTAKES),
        law(
            "modes that are nested",
            [
                (Layout(((2, 2), (4, 2)), ((1, 16), (2, 8))), (2, 4)),
                (Layout(((4, 2), (4, 2)), ((1, 32), (4, 16))), (2, 2)),
                (Layout((8, (2, 4)), (8, (1, 2))), (4, 4)),
            ],
            is_zipped,
            ZIP_MISTAKES,
        ),
        law("tiles that stick out", [(Layout((10, 8), (8, 1)), (4, 3))], is_zipped, ZIP_MISTAKES),
        agrees_with_cute(
            "zipped_divide",
            [
                (Layout((16, 8), (8, 1)), (4, 4)),
                (Layout((4, 6, 8), (48, 8, 1)), (2, 3, 4)),
                (Layout(((4, 2), (4, 2)), ((1, 32), (4, 16))), (2, 2)),
                (Layout((10, 8), (8, 1)), (4, 3)),
            ],
            ZIP_MISTAKES,
        ),
    ),
    hints=(
        "First divide mode by mode: tl.logical_divide(mode(layout, 0), Layout(4, 1)), and so on. Each has two modes.",
        "Then gather: mode 0 of each result makes the tile, mode 1 of each makes the grid of tiles.",
        "Layout(a, b) bundles layouts as modes, and Layout(*parts) any number of them.",
    ),
)

# 02.7 block_tile -------------------------------------------------------------------------------------------------


def is_block_tile(got: Any, layout: Layout, tile: tuple[int, int], block: tuple[int, int]) -> str | None:
    match got:
        case (int(start), Layout() as within):
            pass
        case _:
            return "it should be a pair: the offset where the tile begins, and the Layout of the tile"
    if rank(within) != 2 or [size(mode(within, n)) for n in (0, 1)] != list(tile):
        return f"the tile's shape should be {tile}"
    for i, j in product(*map(range, tile)):
        coord = (block[0] * tile[0] + i, block[1] * tile[1] + j)
        if start + within(i, j) != layout(*coord):
            return (
                f"element ({i}, {j}) of the tile is {coord} of the matrix, at {layout(*coord)}; yours says "
                f"{start} + {within(i, j)}"
            )
    return None


def cut(pick: Callable[[Layout, tuple], tuple]) -> Answer:
    return lambda layout, tile, block: pick(tl.zipped_divide(layout, tuple(Layout(n, 1) for n in tile)), block)


BLOCK_AS_ELEMENT = Mistake(
    "block is a coordinate among the tiles, the second mode: the tile begins at ((0, 0), block).",
    cut(lambda tiles, block: (tiles((block, (0, 0))), mode(tiles, 0))),
)
GRID_FOR_TILE = Mistake(
    "That is the layout of the grid of tiles (mode 1). The tile itself is mode 0.",
    cut(lambda tiles, block: (tiles(((0, 0), block)), mode(tiles, 1))),
)
X_FIRST = Mistake(
    "block is (tile row, tile column); you have used it the other way round.",
    cut(lambda tiles, block: (tiles(((0, 0), block[::-1])), mode(tiles, 0))),
)
BLOCK_PLAIN_NUMBERS = Mistake(
    FIRST_PART_ONLY.says,
    lambda layout, tile, block: (
        tl.zipped_divide(layout, tile)(((0, 0), block)),
        mode(tl.zipped_divide(layout, tile), 0),
    ),
)
BLOCK_MISTAKES = (BLOCK_AS_ELEMENT, GRID_FOR_TILE, X_FIRST, BLOCK_PLAIN_NUMBERS)

MATRIX = Layout((16, 8), (8, 1))

BLOCK_TILE = Exercise(
    id="02.7",
    title="block_tile",
    points=2,
    cases=(
        law(
            "every block of the 16×8",
            [(MATRIX, (4, 4), (row, column)) for row in range(4) for column in range(2)],
            is_block_tile,
            BLOCK_MISTAKES,
        ),
        law(
            "tiles that are not square",
            [(Layout((16, 8), (1, 16)), (8, 2), (1, 3)), (MATRIX, (2, 8), (5, 0))],
            is_block_tile,
            BLOCK_MISTAKES,
        ),
        law(
            "a matrix stored in blocks",
            [
                (Layout(((2, 4), (2, 4)), ((1, 16), (2, 4))), (2, 4), (3, 1)),
                (Layout(((4, 4), (4, 2)), ((1, 32), (4, 16))), (2, 2), (3, 2)),
            ],
            is_block_tile,
            BLOCK_MISTAKES,
        ),
        law(
            "a large matrix",
            [(Layout((4096, 4096), (4096, 1)), (32, 8), (127, 3)), (Layout((640, 512), (520, 1)), (32, 16), (2, 31))],
            is_block_tile,
            BLOCK_MISTAKES,
        ),
    ),
    hints=(
        "tl.zipped_divide(layout, (Layout(4, 1), Layout(4, 1))) has the tile in mode 0, the grid of tiles in mode 1.",
        "Call it with element (0, 0) of the tile and this block: tiles(((0, 0), block)).",
    ),
)

# 02.8 logical_product --------------------------------------------------------------------------------------------


@of_layouts
def is_product(got: Layout, block: Layout, grid: Layout) -> str | None:
    """R(i, j) == A(i) + A*(B(j)): mode 0 is the block, mode 1 says where its copies begin, packed and disjoint."""
    if rank(got) != 2:
        return "it should have two modes, (inside the block, which copy)"
    if broken := differs(mode(got, 0), block, size(block)):
        return f"its first mode should be the block; {broken}"
    places = gaps(block, size(block) * cosize(grid))
    if broken := differs(mode(got, 1), lambda j: places(grid(j)), size(grid)):
        room = [places(n) for n in range(cosize(grid))]
        return f"copies can begin at {room}, and the grid picks from these; in mode 1, {broken}"
    return None


def repeatable(dice: random.Random) -> tuple[Layout, Layout]:
    return random_layout(dice, largest=32), random_layout(dice, largest=16, holes=False)


def copies(places: Callable[[Layout, Layout], Layout]) -> Answer:
    return lambda block, grid: Layout(block, places(block, grid))


def grid_scaled(factor: Callable[[Layout], int]) -> Answer:
    return copies(lambda block, grid: scaled_by(factor)(block, grid))


BY_BLOCK_SIZE = Mistake(
    "Copies size(block) apart are right for a block without holes. Here they land on each other.",
    grid_scaled(size),
)
BY_BLOCK_COSIZE = Mistake(
    "Copies cosize(block) apart never meet, but leave the block's holes empty for ever: fill those first.",
    grid_scaled(cosize),
)
GRID_UNSCALED = Mistake(
    "The copies are put at the grid's own offsets, on top of the block. The grid numbers the places, and the "
    "complement of the block says where the places are.",
    copies(lambda block, grid: grid),
)
IN_ORDER = Mistake(
    "There are the right number of copies, but always in order 0, 1, 2 …: the grid's strides are not used.",
    copies(lambda block, grid: gaps(block, size(block) * size(grid))),
)
COPIES_FIRST = Mistake(
    "Your two modes are swapped: the block comes first, which copy second.",
    lambda block, grid: Layout(tl.compose(gaps(block, size(block) * cosize(grid)), grid), block),
)
PRODUCT_MISTAKES = (BY_BLOCK_SIZE, BY_BLOCK_COSIZE, GRID_UNSCALED, IN_ORDER, COPIES_FIRST)

LOGICAL_PRODUCT = Exercise(
    id="02.8",
    title="logical_product",
    points=3,
    cases=(
        law(
            "copies of a row",
            [(Layout(4, 1), Layout(6, 1)), (Layout(5, 1), Layout((2, 3), (3, 1)))],
            is_product,
            PRODUCT_MISTAKES,
        ),
        law(
            "a block with holes",
            [(Layout((2, 2), (4, 1)), Layout(6, 1)), (Layout(4, 2), Layout(4, 1))],
            is_product,
            PRODUCT_MISTAKES,
        ),
        law(
            "copies in another order",
            [(Layout((2, 2), (1, 2)), Layout((3, 4), (4, 1))), (Layout((2, 2), (4, 1)), Layout((4, 2), (2, 1)))],
            is_product,
            PRODUCT_MISTAKES,
        ),
        law("random layouts", drawn(28, repeatable), is_product, PRODUCT_MISTAKES),
        agrees_with_cute(
            "logical_product",
            [
                (Layout(4, 1), Layout(6, 1)),
                (Layout((2, 2), (4, 1)), Layout((4, 2), (2, 1))),
                (Layout((2, 5), (5, 1)), Layout((3, 4), (1, 3))),
            ],
            PRODUCT_MISTAKES,
        ),
    ),
    hints=(
        "Where may a copy begin? The complement of the block lists the places, in ascending order.",
        "The grid numbers those places: mode 1 is complement(block, …) ∘ grid.",
        "The grid asks for places up to cosize(grid), each with room for a block: size(block) * cosize(grid) in all.",
    ),
)

EXERCISES = (
    COALESCE,
    COMPOSE,
    TRANSPOSED,
    COMPLEMENT,
    LOGICAL_DIVIDE,
    ZIPPED_DIVIDE,
    BLOCK_TILE,
    LOGICAL_PRODUCT,
)
