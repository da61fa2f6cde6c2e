"""Wrong answers that people write to the exercises on the layout algebra, recognized by what they return.

One tuple of mistakes for each operator. What a wrong answer needs of the right operators, tensor_layouts gives.
"""

from collections.abc import Callable

import tensor_layouts as tl
from tensor_layouts import Layout, cosize, flatten, mode, rank, size

from tutorlib.checking.exercise import Answer
from tutorlib.checking.values import Mistake
from tutorlib.exercises.n02_layout_algebra.laws import extents, modes_of

# 02.1 coalesce ---------------------------------------------------------------------------------------------------


def coalesced_if(layout: Layout, continues: Callable[[int, int, int], bool], drop_ones: bool = True) -> Layout:
    """Coalesce with another idea of when a mode (extent, stride) is continued by one with stride `step`."""
    modes: list[tuple[int, int]] = []
    for extent, step in modes_of(layout):
        if extent == 1 and drop_ones:
            continue
        if modes and continues(*modes[-1], step):
            modes[-1] = (modes[-1][0] * extent, modes[-1][1])
        else:
            modes.append((extent, step))
    return Layout(*map(tl.unwrap, zip(*modes or [(1, 0)], strict=True)))


COALESCE = (
    Mistake(
        "If every mode has extent 1, the layout has one element: Layout(1, 0).",
        lambda layout: tl.coalesce(layout) if size(layout) > 1 else Layout(1, 1),
    ),
    Mistake(
        "A stride that is a multiple of extent · stride leaves a hole; only equality continues the first mode.",
        lambda layout: coalesced_if(
            layout, lambda extent, stride, step: step % (extent * stride) == 0 if stride else step == 0
        ),
    ),
    Mistake(
        "Two modes become one only if the second continues the first: its stride is extent · stride of the first.",
        lambda layout: Layout(size(layout), flatten(layout.stride)[0]),
    ),
    Mistake(
        "You merged from the right, as if the last mode ran fastest. In CuTe the first one does.",
        lambda layout: tl.coalesce(Layout(flatten(layout.shape)[::-1], flatten(layout.stride)[::-1])),
    ),
    Mistake(
        "A mode of extent 1 has only the coordinate 0: its stride is never used, so drop the mode.",
        lambda layout: coalesced_if(layout, lambda extent, stride, step: step == extent * stride, drop_ones=False),
    ),
)

# 02.2 compose ----------------------------------------------------------------------------------------------------


def scaled_by(factor: Callable[[Layout], int]) -> Answer:
    """B with its strides multiplied by what `factor` says of A."""

    def scale(a: Layout, b: Layout) -> Layout:
        return Layout(b.shape, tl.transform_tuple(b.stride, lambda step: step * factor(a)))

    return scale


def taken_too_often(a: Layout, b: Layout) -> Layout:
    """The composition with as many elements left after each mode as before it."""
    if isinstance(b.shape, tuple):
        return Layout(*(taken_too_often(a, mode(b, n)) for n in range(rank(b))))
    left, step = b.shape, b.stride
    if left == 1 or step == 0:
        return Layout(left, 0)
    *modes, (_, last) = modes_of(tl.coalesce(a))
    taken = []
    for extent, stride in modes:
        if step % extent == 0:
            step //= extent
            continue
        take = left if (left - 1) * step < extent else extent // step
        taken.append((take, step * stride))
        if take == left:
            break
        step = 1
    else:
        taken.append((left, step * last))
    return Layout(*map(tl.unwrap, zip(*taken, strict=True)))


COMPOSE = (
    Mistake(
        "That multiplies B's strides by A's first one. It is right only if A has equal steps throughout (coalesces to "
        "one mode); here B runs past the end of A's first mode.",
        scaled_by(lambda a: flatten(a.stride)[0]),
    ),
    Mistake("That is B itself: A has not been applied to its offsets.", scaled_by(lambda a: 1)),
    Mistake("A mode that takes elements leaves fewer to place: left // take.", taken_too_often),
    Mistake("That is B ∘ A. A ∘ B asks B first, as in A(B(i)).", lambda a, b: tl.compose(b, a) if a != b else None),
    Mistake(
        "After B has filled a mode of A, it continues in the next mode of A, with that mode's stride.",
        scaled_by(lambda a: flatten(tl.coalesce(a).stride)[-1]),
    ),
)

# 02.3 transposing ------------------------------------------------------------------------------------------------


TRANSPOSE = (
    Mistake(
        "That only reads the elements in the old order under a new shape. The next row of the transpose is the next "
        "column of the matrix: how many indices further is that?",
        lambda rows, columns: Layout((columns, rows), (1, columns)),
    ),
    Mistake(
        "The next column of the matrix is one column of indices further, and a column has as many indices as rows.",
        lambda rows, columns: Layout((columns, rows), (columns, 1)),
    ),
    Mistake(
        "The shape is turned and the strides are not: the next column of the matrix is not the next index.",
        lambda rows, columns: Layout((columns, rows), (1, rows)),
    ),
)

# 02.4 complement -------------------------------------------------------------------------------------------------


def apart(distance: Callable[[Layout], int]) -> Answer:
    """Copies at equal distances, as many as reach the bound."""
    return lambda layout, bound: Layout(-(-bound // distance(layout)), distance(layout))


def reach(layout: Layout) -> int:
    """The first offset that a layout and its inner gaps leave free."""
    return max([1, *(extent * step for extent, step in modes_of(layout))])


COMPLEMENT = (
    Mistake(
        "The holes inside the layout are filled, and nothing after it: copies have to go on until the bound is "
        "reached.",
        lambda layout, bound: tl.complement(layout, cosize(layout)),
    ),
    Mistake(
        "That starts after the layout's last offset. The holes between its offsets must be filled first.",
        apart(cosize),
    ),
    Mistake("Copies placed size(layout) apart overlap if the layout has holes: look at its offsets.", apart(size)),
    Mistake(
        "The last copy is missing: bound // reach rounds down.",
        lambda layout, bound: tl.complement(layout, bound // reach(layout) * reach(layout)),
    ),
)

# 02.5 logical_divide ---------------------------------------------------------------------------------------------


def divided(bound: Callable[[Layout, Layout], int]) -> Answer:
    """Logical divide with another bound for the complement of the tile."""
    return lambda layout, tile: tl.compose(layout, Layout(tile, tl.complement(tile, bound(layout, tile))))


DIVIDE = (
    Mistake(
        "Your two modes are swapped: inside the tile comes first, which tile second.",
        lambda layout, tile: tl.compose(layout, Layout(tl.complement(tile, size(layout)), tile)),
    ),
    Mistake(
        "The tile picks indices of the layout, and there are size(layout) of them. cosize(layout) counts places in "
        "memory, which is more where the layout has holes.",
        divided(lambda layout, tile: cosize(layout)),
    ),
    Mistake(
        "That covers the span of one tile. The complement has to continue to the end of the layout.",
        divided(lambda layout, tile: cosize(tile)),
    ),
    Mistake(
        "Those are indices, not offsets: compose the layout with (tile, its complement).",
        lambda layout, tile: Layout(tile, tl.complement(tile, size(layout))),
    ),
)

# 02.6 zipped_divide ----------------------------------------------------------------------------------------------


def by_mode(layout: Layout, tiler: tuple[int, ...]) -> list[Layout]:
    """Each mode divided by its tile: [(inside, outside) of the rows, (inside, outside) of the columns, …]."""
    return [tl.logical_divide(mode(layout, n), Layout(tile, 1)) for n, tile in enumerate(tiler)]


def gathered(parts: list[Layout], halves: tuple[int, int]) -> Layout:
    """One mode of every part's half, then one of every part's other half."""
    return Layout(*(Layout(*(mode(part, half) for part in parts)) for half in halves))


PLAIN_NUMBERS = (
    "On a nested mode tl divides only the first part by a plain number. CuTe means n:1 by n: give tl Layout(n, 1)."
)
ZIP = (
    Mistake(
        "That is mode by mode, ((inside, outside) of the rows, (inside, outside) of the columns). Gather the insides "
        "in one mode and the outsides in another.",
        lambda layout, tiler: Layout(*by_mode(layout, tiler)),
    ),
    Mistake(
        "Your two halves are swapped: the tile comes first, which tile second.",
        lambda layout, tiler: gathered(by_mode(layout, tiler), (1, 0)),
    ),
    Mistake(
        "The next tile begins `tile` rows further, so multiply the outside strides by tile.",
        lambda layout, tiler: Layout(
            (tiler, tuple(-(-extent // tile) for extent, tile in zip(extents(layout), tiler, strict=True))),
            (layout.stride, layout.stride),
        ),
    ),
    Mistake(
        PLAIN_NUMBERS,
        lambda layout, tiler: gathered(
            [tl.logical_divide(mode(layout, n), tile) for n, tile in enumerate(tiler)], (0, 1)
        ),
    ),
)

# 02.7 block_tile -------------------------------------------------------------------------------------------------


def cut(pick: Callable[[Layout, tuple], tuple], tile_of: Callable[[int], Layout | int] = Layout) -> Answer:
    """The result of `pick` on the zipped tiles and the block; tile_of: how the tile's extents are given to tl."""
    return lambda layout, tile, block: pick(tl.zipped_divide(layout, tuple(map(tile_of, tile))), block)


BLOCK = (
    Mistake(
        "block is a coordinate among the tiles, the second mode: the tile begins at ((0, 0), block).",
        cut(lambda tiles, block: (tiles((block, (0, 0))), mode(tiles, 0))),
    ),
    Mistake(
        "That is the layout of the grid of tiles (mode 1). The tile itself is mode 0.",
        cut(lambda tiles, block: (tiles(((0, 0), block)), mode(tiles, 1))),
    ),
    Mistake(
        "block is (tile row, tile column); you have used it the other way round.",
        cut(lambda tiles, block: (tiles(((0, 0), block[::-1])), mode(tiles, 0))),
    ),
    Mistake(PLAIN_NUMBERS, cut(lambda tiles, block: (tiles(((0, 0), block)), mode(tiles, 0)), tile_of=int)),
)

# 02.8 logical_product --------------------------------------------------------------------------------------------


def copies(places: Callable[[Layout, Layout], Layout]) -> Answer:
    """The block, with other places for its copies."""
    return lambda block, grid: Layout(block, places(block, grid))


PRODUCT = (
    Mistake(
        "The complement is too short for this grid. The grid uses places up to cosize(grid), so the bound is "
        "size(block) * cosize(grid).",
        copies(lambda block, grid: tl.compose(tl.complement(block, size(block) * size(grid)), grid)),
    ),
    Mistake(
        "Copies size(block) apart are right for a block without holes. Here they overlap.",
        copies(scaled_by(size)),
    ),
    Mistake(
        "Copies cosize(block) apart never overlap, but leave the block's holes empty: fill those first.",
        copies(scaled_by(cosize)),
    ),
    Mistake(
        "The copies are put at the grid's own offsets, on top of the block. The grid numbers the places, and the "
        "complement of the block has their offsets.",
        copies(lambda block, grid: grid),
    ),
    Mistake(
        "The number of copies is right, but they are always in the order 0, 1, 2 …: the grid's strides are not used.",
        copies(lambda block, grid: tl.complement(block, size(block) * size(grid))),
    ),
    Mistake(
        "Your two modes are swapped: the block comes first, which copy second.",
        lambda block, grid: Layout(tl.compose(tl.complement(block, size(block) * cosize(grid)), grid), block),
    ),
)

# 02.9 blocked_product --------------------------------------------------------------------------------------------


def paired(order: tuple[int, int]) -> Answer:
    """(rows, columns) of the product; order: which of (inside, copies) runs first."""

    def pair(block: Layout, grid: Layout) -> Layout:
        halves = [mode(tl.logical_product(block, grid), half) for half in order]
        return Layout(*(Layout(*(mode(half, n) for half in halves)) for n in range(2)))

    return pair


BLOCKED = (
    Mistake("That is the raked product: in each mode the block's own part runs first.", paired((1, 0))),
    Mistake(
        "That is (inside the block, which copy). Pair rows with rows and columns with columns.", tl.logical_product
    ),
    Mistake(
        "The copies begin at the grid's own offsets, on top of the block. Take the modes of the logical product.",
        lambda block, grid: Layout(*(Layout(mode(block, n), mode(grid, n)) for n in range(2))),
    ),
)

# 02.10 right_inverse ---------------------------------------------------------------------------------------------

INVERSE = (
    Mistake(
        "That exchanges stride and distance: a mode of the inverse has the *index* distance as its stride.",
        lambda layout: Layout(layout.stride, layout.shape),
    ),
    Mistake(
        "No index has an offset in a hole: stop at the first stride that is not extent · stride.",
        tl.left_inverse,
    ),
    Mistake(
        "That is only the mode of stride 1. Go on with the mode that continues it, stride = extent · stride.",
        lambda layout: mode(tl.right_inverse(layout), 0),
    ),
    Mistake("The inverse of a layout is itself only where it counts 0, 1, 2 …", tl.coalesce),
)

# 02.11 common_vector ---------------------------------------------------------------------------------------------


def run_of(layout: Layout) -> int:
    """The number of elements that are contiguous from offset 0 on."""
    return size(tl.right_inverse(layout))


def extent_first(a: Layout, b: Layout) -> int:
    return flatten((tl.coalesce(tl.compose(b, tl.right_inverse(a))).shape,))[0]


def first_composed(a: Layout, b: Layout) -> int:
    """The first mode of B through A's inverse, not coalesced."""
    extent, stride = modes_of(tl.compose(b, tl.right_inverse(a)))[0]
    return extent if stride == 1 else 1


def first_run(a: Layout, b: Layout) -> int:
    """The least of both first modes that has stride 1, without going through an inverse."""
    (extent, stride), (other, step) = (modes_of(tl.coalesce(layout))[0] for layout in (a, b))
    return min(extent, other) if stride == step == 1 else 1


VECTOR = (
    Mistake(
        "Each side may be contiguous by itself, but with other neighbors. Use A's inverse.",
        lambda a, b: min(run_of(a), run_of(b)),
    ),
    Mistake("That is the first mode, whatever its stride: only n:1 keeps n elements together.", extent_first),
    Mistake("That looks at the first mode as given; a row-major tile is contiguous in its last.", first_run),
    Mistake(
        "That is the first mode as composed. Coalesce it first: modes that continue each other are one run.",
        first_composed,
    ),
    Mistake("That looks only at A: B may store these elements elsewhere.", lambda a, b: run_of(a)),
    Mistake("That looks only at B: A may store these elements elsewhere.", lambda a, b: run_of(b)),
)


# 02.12 layout_tv -------------------------------------------------------------------------------------------------


def threads_and_values(product: Callable, turned: bool = False) -> Answer:
    """The TV layout by another product, or as (value, thread)."""

    def build(threads: Layout, values: Layout) -> Layout:
        shape = (size(threads), size(values))
        tv = tl.compose(tl.right_inverse(product(threads, values)), Layout(shape))
        return Layout(mode(tv, 1), mode(tv, 0)) if turned else tv

    return build


THREAD_VALUE = (
    Mistake(
        "That is the blocked product: a thread's values are a whole block of threads apart. A vector needs neighboring "
        "values: use the raked product.",
        threads_and_values(tl.blocked_product),
    ),
    Mistake(
        "Your two modes are swapped: the thread comes first, its value second.",
        threads_and_values(tl.raked_product, True),
    ),
    Mistake(
        "The product is (row, column) → thread and value. A thread needs the other direction: take the right inverse.",
        lambda threads, values: tl.compose(
            tl.coalesce(tl.raked_product(threads, values)), Layout((size(threads), size(values)))
        ),
    ),
    Mistake(
        "Threads and values are exchanged: the values are inside, the threads around them.",
        lambda threads, values: tl.compose(
            tl.right_inverse(tl.raked_product(values, threads)), Layout((size(threads), size(values)))
        ),
    ),
)
