"""Wrong answers that people write to the exercises on the layout algebra, recognized by what they return.

One tuple of mistakes for each operator. What a wrong answer needs of the right operators, tensor_layouts gives.
"""

from collections.abc import Callable

import tensor_layouts as tl
from tensor_layouts import Layout, cosize, flatten, mode, rank, size

from tutorlib.checking.exercise import Answer
from tutorlib.exercises.n02_layout_algebra.laws import extents, modes_of
from tutorlib.exercises.words import mistakes

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


COALESCE = mistakes(
    "02.1",
    one_element=lambda layout: tl.coalesce(layout) if size(layout) > 1 else Layout(1, 1),
    hole_closed=lambda layout: coalesced_if(
        layout, lambda extent, stride, step: step % (extent * stride) == 0 if stride else step == 0
    ),
    always_merged=lambda layout: Layout(size(layout), flatten(layout.stride)[0]),
    merged_from_the_right=lambda layout: tl.coalesce(Layout(flatten(layout.shape)[::-1], flatten(layout.stride)[::-1])),
    extent_1_kept=lambda layout: coalesced_if(
        layout, lambda extent, stride, step: step == extent * stride, drop_ones=False
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


COMPOSE = mistakes(
    "02.2",
    a_first_stride=scaled_by(lambda a: flatten(a.stride)[0]),
    b_itself=scaled_by(lambda a: 1),
    none_taken=taken_too_often,
    b_of_a=lambda a, b: tl.compose(b, a) if a != b else None,
    first_mode_only=scaled_by(lambda a: flatten(tl.coalesce(a).stride)[-1]),
)

# 02.3 transposing ------------------------------------------------------------------------------------------------


TRANSPOSE = mistakes(
    "02.3",
    reshaped=lambda rows, columns: Layout((columns, rows), (1, columns)),
    rows_for_columns=lambda rows, columns: Layout((columns, rows), (columns, 1)),
    turned_shape_only=lambda rows, columns: Layout((columns, rows), (1, rows)),
)

# 02.4 complement -------------------------------------------------------------------------------------------------


def apart(distance: Callable[[Layout], int]) -> Answer:
    """Copies at equal distances, as many as reach the bound."""
    return lambda layout, bound: Layout(-(-bound // distance(layout)), distance(layout))


def reach(layout: Layout) -> int:
    """The first offset that a layout and its inner gaps leave free."""
    return max([1, *(extent * step for extent, step in modes_of(layout))])


COMPLEMENT = mistakes(
    "02.4",
    up_to_the_last_offset=lambda layout, bound: tl.complement(layout, cosize(layout)),
    after_the_last_offset=apart(cosize),
    size_apart=apart(size),
    rounded_down=lambda layout, bound: tl.complement(layout, bound // reach(layout) * reach(layout)),
)

# 02.5 logical_divide ---------------------------------------------------------------------------------------------


def divided(bound: Callable[[Layout, Layout], int]) -> Answer:
    """Logical divide with another bound for the complement of the tile."""
    return lambda layout, tile: tl.compose(layout, Layout(tile, tl.complement(tile, bound(layout, tile))))


DIVIDE = mistakes(
    "02.5",
    modes_swapped=lambda layout, tile: tl.compose(layout, Layout(tl.complement(tile, size(layout)), tile)),
    cosize_of_the_layout=divided(lambda layout, tile: cosize(layout)),
    span_of_one_tile=divided(lambda layout, tile: cosize(tile)),
    indices=lambda layout, tile: Layout(tile, tl.complement(tile, size(layout))),
)

# 02.6 zipped_divide ----------------------------------------------------------------------------------------------


def by_mode(layout: Layout, tiler: tuple[int, ...]) -> list[Layout]:
    """Each mode divided by its tile: [(inside, outside) of the rows, (inside, outside) of the columns, …]."""
    return [tl.logical_divide(mode(layout, n), Layout(tile, 1)) for n, tile in enumerate(tiler)]


def gathered(parts: list[Layout], halves: tuple[int, int]) -> Layout:
    """One mode of every part's half, then one of every part's other half."""
    return Layout(*(Layout(*(mode(part, half) for part in parts)) for half in halves))


ZIP = mistakes(
    "02.6",
    mode_by_mode=lambda layout, tiler: Layout(*by_mode(layout, tiler)),
    halves_swapped=lambda layout, tiler: gathered(by_mode(layout, tiler), (1, 0)),
    tile_rows=lambda layout, tiler: Layout(
        (tiler, tuple(-(-extent // tile) for extent, tile in zip(extents(layout), tiler, strict=True))),
        (layout.stride, layout.stride),
    ),
    plain_numbers=lambda layout, tiler: gathered(
        [tl.logical_divide(mode(layout, n), tile) for n, tile in enumerate(tiler)], (0, 1)
    ),
)

# 02.7 block_tile -------------------------------------------------------------------------------------------------


def cut(pick: Callable[[Layout, tuple], tuple], tile_of: Callable[[int], Layout | int] = Layout) -> Answer:
    """The result of `pick` on the zipped tiles and the block; tile_of: how the tile's extents are given to tl."""
    return lambda layout, tile, block: pick(tl.zipped_divide(layout, tuple(map(tile_of, tile))), block)


BLOCK = mistakes(
    "02.7",
    coordinate_in_the_tile=cut(lambda tiles, block: (tiles((block, (0, 0))), mode(tiles, 0))),
    grid_of_tiles=cut(lambda tiles, block: (tiles(((0, 0), block)), mode(tiles, 1))),
    block_turned=cut(lambda tiles, block: (tiles(((0, 0), block[::-1])), mode(tiles, 0))),
    plain_numbers=cut(lambda tiles, block: (tiles(((0, 0), block)), mode(tiles, 0)), tile_of=int),
)

# 02.8 logical_product --------------------------------------------------------------------------------------------


def copies(places: Callable[[Layout, Layout], Layout]) -> Answer:
    """The block, with other places for its copies."""
    return lambda block, grid: Layout(block, places(block, grid))


PRODUCT = mistakes(
    "02.8",
    bound_too_small=copies(lambda block, grid: tl.compose(tl.complement(block, size(block) * size(grid)), grid)),
    size_apart=copies(scaled_by(size)),
    cosize_apart=copies(scaled_by(cosize)),
    grid_own_offsets=copies(lambda block, grid: grid),
    in_order=copies(lambda block, grid: tl.complement(block, size(block) * size(grid))),
    modes_swapped=lambda block, grid: Layout(tl.compose(tl.complement(block, size(block) * cosize(grid)), grid), block),
)

# 02.9 blocked_product --------------------------------------------------------------------------------------------


def paired(order: tuple[int, int]) -> Answer:
    """(rows, columns) of the product; order: which of (inside, copies) runs first."""

    def pair(block: Layout, grid: Layout) -> Layout:
        halves = [mode(tl.logical_product(block, grid), half) for half in order]
        return Layout(*(Layout(*(mode(half, n) for half in halves)) for n in range(2)))

    return pair


BLOCKED = mistakes(
    "02.9",
    raked=paired((1, 0)),
    not_paired=tl.logical_product,
    grid_own_offsets=lambda block, grid: Layout(*(Layout(mode(block, n), mode(grid, n)) for n in range(2))),
)

# 02.10 right_inverse ---------------------------------------------------------------------------------------------

INVERSE = mistakes(
    "02.10",
    stride_and_shape_swapped=lambda layout: Layout(layout.stride, layout.shape),
    holes=tl.left_inverse,
    one_mode=lambda layout: mode(tl.right_inverse(layout), 0),
    itself=tl.coalesce,
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


VECTOR = mistakes(
    "02.11",
    each_by_itself=lambda a, b: min(run_of(a), run_of(b)),
    any_stride=extent_first,
    first_mode_as_given=first_run,
    not_coalesced=first_composed,
    a_alone=lambda a, b: run_of(a),
    b_alone=lambda a, b: run_of(b),
)


# 02.12 layout_tv -------------------------------------------------------------------------------------------------


def threads_and_values(product: Callable, turned: bool = False) -> Answer:
    """The TV layout by another product, or as (value, thread)."""

    def build(threads: Layout, values: Layout) -> Layout:
        shape = (size(threads), size(values))
        tv = tl.compose(tl.right_inverse(product(threads, values)), Layout(shape))
        return Layout(mode(tv, 1), mode(tv, 0)) if turned else tv

    return build


THREAD_VALUE = mistakes(
    "02.12",
    blocked=threads_and_values(tl.blocked_product),
    modes_swapped=threads_and_values(tl.raked_product, True),
    no_inverse=lambda threads, values: tl.compose(
        tl.coalesce(tl.raked_product(threads, values)), Layout((size(threads), size(values)))
    ),
    threads_inside=lambda threads, values: tl.compose(
        tl.right_inverse(tl.raked_product(values, threads)), Layout((size(threads), size(values)))
    ),
)
