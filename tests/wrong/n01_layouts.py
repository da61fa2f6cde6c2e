"""Wrong answers to notebook 01."""

from itertools import accumulate
from math import prod

import numpy as np
import tensor_layouts as tl
from tensor_layouts import Layout, cosize, flatten, mode, rank, size

from tests.wrong.table import answer, says


def compact(shape, order):
    """The right strides."""
    if order == "column":
        return (1, *accumulate(shape[:-1], lambda a, b: a * b))
    return compact(shape[::-1], "column")[::-1]


def coordinate(index, shape):
    """The right coordinate."""
    coord = []
    for extent in shape:
        coord.append(index % extent)
        index //= extent
    return tuple(coord)


def modes_reversed(coord, stride):
    """Pairs mode 0 with the last stride."""
    return sum(c * d for c, d in zip(coord[::-1], stride, strict=True))


def first_two_modes(coord, stride):
    """Right for matrices only."""
    return coord[0] * stride[0] + (coord[1] * stride[1] if len(coord) > 1 else 0)


def always_rows(shape, order):
    """Ignores the order."""
    return compact(shape, "row")


def orders_swapped(shape, order):
    """Row- for column-major."""
    return compact(shape, "column" if order == "row" else "row")


def off_by_one_strides(shape, order):
    """Each stride takes in its own extent."""
    return tuple(prod(shape[n:]) if order == "row" else prod(shape[: n + 1]) for n in range(len(shape)))


def last_mode_fastest(index, shape):
    """NumPy's order of counting."""
    return tuple(int(c) for c in np.unravel_index(index, shape))


def no_wrap(index, shape):
    """Right for two modes only."""
    return (index % shape[0], index // shape[0]) if len(shape) > 1 else (index,)


def byte_strides(array):
    """Leaves the strides in bytes."""
    return Layout(array.shape, array.strides)


def as_if_fresh(array):
    """The layout of a new array of this shape, whatever the view is."""
    return Layout(array.shape, tuple(prod(array.shape[n + 1 :]) for n in range(array.ndim)))


def only_flat(index, shape, stride):
    """Treats a nested mode as contiguous: its extent with its first stride."""
    total = 0
    for part, step in zip(shape, stride, strict=True):
        total += index % size(part) * flatten((step,))[0]
        index //= size(part)
    return total


def transposed_pictures(name):
    """Rows and columns swapped."""
    return {
        "A": Layout((6, 4), (1, 8)),
        "B": Layout(((2, 3), 4), ((1, 8), 2)),
        "C": Layout(((2, 2), (2, 2)), ((2, 8), (1, 4))),
    }[name]


def unpadded_picture(name):
    """Every picture compact and row-major."""
    return Layout((4, 6), (6, 1)) if name != "C" else Layout((4, 4), (4, 1))


def number_of_coordinates(shape, stride):
    """The size in place of the cosize."""
    return size(shape)


def largest_offset(shape, stride):
    """One too few."""
    return sum((s - 1) * d for s, d in zip(flatten(shape), flatten(stride), strict=True))


def shape_times_stride(shape, stride):
    """Sums extent times stride, past the last element."""
    return sum(s * d for s, d in zip(flatten(shape), flatten(stride), strict=True))


def strides_alone(shape, stride):
    """The guard people write first."""
    return all(d <= 2**31 - 1 for d in stride)


def size_alone(shape, stride):
    """Counts elements, not places."""
    return prod(shape) <= 2**31


def off_by_one_limit(shape, stride):
    """Takes cosize for the largest offset."""
    return cosize(Layout(shape, stride)) <= 2**31 - 1


# Slices ----------------------------------------------------------------------------------------------------------


def slice_of(layout, coord):
    """The right slice."""
    modes = [mode(layout, n) for n in range(rank(layout))]
    free = [part for part, at in zip(modes, coord, strict=True) if at is None]
    offset = sum(part(at) for part, at in zip(modes, coord, strict=True) if at is not None)
    return offset, free[0] if len(free) == 1 else Layout(*free)


@says("it should be a pair")
def layout_alone(layout, coord):
    """Forgets the offset altogether."""
    return slice_of(layout, coord)[1]


@says("The offset is missing")
def pointer_stays(layout, coord):
    """The free modes, from the first element on."""
    return 0, slice_of(layout, coord)[1]


@says("(2, None)) gives (0,")
def zero_kept(layout, coord):
    """Takes a coordinate of 0 for a free one."""
    free = [mode(layout, n) for n, at in enumerate(coord) if not at]
    return 0, free[0] if len(free) == 1 else Layout(*free)


@says("raised")
def by_the_strides(layout, coord):
    """Multiplies by the stride: a nested mode has several."""
    free = [mode(layout, n) for n, at in enumerate(coord) if at is None]
    offset = sum(at * layout.stride[n] for n, at in enumerate(coord) if at is not None)
    return offset, free[0] if len(free) == 1 else Layout(*free)


@says("it calls tl.slice_and_offset")
def library_slices(layout, coord):
    """Has tensor_layouts do it."""
    free, offset = tl.slice_and_offset(coord, layout)
    return offset, free


@says("it calls tl.Tensor's slices")
def by_a_tensor(layout, coord):
    """Has a Tensor do it."""
    piece = tl.Tensor(layout)[coord]
    return piece.offset, piece.layout


@says("the free modes have")
def ones_in_place(layout, coord):
    """Leaves the fixed modes as extents of 1."""
    modes = [mode(layout, n) if at is None else Layout(1, 0) for n, at in zip(range(rank(layout)), coord, strict=True)]
    return slice_of(layout, coord)[0], Layout(*modes)


def rows_only(layout, coord):
    """Right where the first mode is fixed."""
    return mode(layout, 0)(coord[0] or 0), Layout(*(mode(layout, n) for n in range(1, rank(layout))))


@says("That is the index where the slice begins")
def index_for_offset(layout, coord):
    """Moves the pointer by the index."""
    return tl.crd2flat(tuple(at or 0 for at in coord), layout.shape), slice_of(layout, coord)[1]


@says("You kept the modes that are fixed")
def fixed_kept(layout, coord):
    """The modes that are fixed."""
    other = tuple(None if at is not None else 0 for at in coord)
    return slice_of(layout, coord)[0], slice_of(layout, other)[1] if None in other else layout


@says("has lost the stride")
def strides_lost(layout, coord):
    """The free shape as if it were stored alone."""
    offset, free = slice_of(layout, coord)
    return offset, Layout(free.shape)


@says("the free modes have")
def first_free_mode(layout, coord):
    """One free mode, and the others forgotten."""
    return slice_of(layout, coord)[0], next(mode(layout, n) for n, at in enumerate(coord) if at is None)


@says("it should be a pair")
def pair_turned(layout, coord):
    """The layout first."""
    return slice_of(layout, coord)[::-1]


MORE = {
    "01.1": [
        answer(
            "crossed", "multiplies all with all", lambda coord, stride: sum(coord) * sum(stride), "it should give 7"
        ),
        answer("from_one", "counts from 1", lambda coord, stride: 1 + right_offset(coord, stride), "start at 0"),
        answer(
            "coordinates_from_one",
            "coordinates from 1",
            lambda coord, stride: right_offset([c - 1 for c in coord], stride),
            "Coordinates start at 0",
        ),
        answer(
            "added", "adds where it should multiply", lambda coord, stride: sum(coord) + sum(stride), "should give 11"
        ),
        answer("last_mode", "the last mode alone", lambda coord, stride: coord[-1] * stride[-1], "it should give 7"),
        answer("first_mode", "the first mode alone", lambda coord, stride: coord[0] * stride[0], "it should give 7"),
        answer(
            "products",
            "forgets the sum",
            lambda coord, stride: tuple(c * d for c, d in zip(coord, stride, strict=True)),
            "gives (6, 1): it should give 7",
        ),
        answer(
            "multiplied",
            "a product of sums",
            lambda coord, stride: prod(c + d for c, d in zip(coord, stride, strict=True)),
        ),
        answer(
            "a_float",
            "a float of it",
            lambda coord, stride: float(right_offset(coord, stride)),
            "gives 7.0: it should give 7",
        ),
        answer("pairs_only", "two modes and no other", lambda c, d: c[0] * d[0] + c[1] * d[1], "IndexError"),
        answer("by_layout", "calls a Layout", lambda c, d: Layout((99,) * len(c), d)(*c), "it calls a Layout"),
        answer(
            "by_tensor", "calls a Tensor", lambda c, d: tl.Tensor(Layout((99,) * len(c), d))(*c), "it calls a Tensor"
        ),
        answer(
            "by_a_tensor_s_data",
            "asks a Tensor's data",
            lambda c, d: tl.Tensor(Layout((99,) * len(c), d), data=range(99**3))[c],
            "it calls tl.Tensor's slices",
        ),
        answer(
            "by_library", "calls crd2offset", lambda c, d: tl.crd2offset(c, (99,) * len(c), d), "it calls tl.crd2offset"
        ),
    ],
    "01.2": [
        answer(
            "a_list",
            "a list",
            lambda shape, order: list(compact(shape, order)),
            "it should be a tuple, (3, 1), and is a list",
        ),
        answer(
            "in_bytes",
            "bytes of fp32",
            lambda shape, order: tuple(4 * d for d in compact(shape, order)),
            "should give (3, 1)",
        ),
        answer("by_numpy", "allocates one", lambda shape, order: np.empty(shape, np.int8).strides, "it calls np.empty"),
        answer(
            "by_layout",
            "has CuTe's default",
            lambda shape, order: Layout(shape).stride if order == "column" else compact(shape, "row"),
            "it calls Layout(shape)",
        ),
        answer("matrices", "two modes", lambda s, order: (s[1], 1) if order == "row" else (1, s[0]), "IndexError"),
        answer(
            "row_reversed_once",
            "reverses the shape, not the strides",
            lambda shape, order: compact(shape[::-1], "column") if order == "row" else compact(shape, "column"),
            "it should give (3, 1)",
        ),
        answer("the_shape", "the shape itself", lambda shape, order: tuple(shape), "it should give (3, 1)"),
        answer(
            "ends_with_the_size",
            "starts one mode too late",
            lambda shape, order: (
                tuple(accumulate(shape, lambda a, b: a * b)) if order == "column" else compact(shape, "row")
            ),
            "it should give (1, 4)",
        ),
        answer("all_ones", "no stride at all", lambda shape, order: (1,) * len(shape), "it should give (3, 1)"),
        answer(
            "sums",
            "adds extents",
            lambda shape, order: (
                (1, *accumulate(shape[:-1])) if order == "column" else (1, *accumulate(shape[:0:-1]))[::-1]
            ),
            "it should give",
        ),
        answer(
            "neighbour", "the extent beside it", lambda s, o: (*s[1:], 1) if o == "row" else (1, *s[:-1]), "should give"
        ),
        answer(
            "order_names",
            "C and F in place of row and column",
            lambda s, o: compact(s, "row" if o == "C" else "column"),
        ),
    ],
    "01.3": [
        answer(
            "a_list",
            "a list",
            lambda i, shape: list(coordinate(i, shape)),
            "it should be a tuple, (0, 0), and is a list",
        ),
        answer("by_library", "calls idx2crd", lambda i, shape: tl.idx2crd(i, shape), "it calls tl.idx2crd"),
        answer(
            "reversed_coordinate",
            "right, turned round",
            lambda i, shape: coordinate(i, shape)[::-1],
            "it should give (1, 0)",
        ),
        answer(
            "divmod_turned",
            "quotient for remainder",
            lambda i, shape: (i // shape[0], i % shape[0]) if len(shape) > 1 else (i,),
            "it should give (1, 0)",
        ),
        answer("never_divided", "forgets to divide", lambda i, shape: tuple(i % s for s in shape), "it should give"),
        answer(
            "divided_by_next",
            "divides by the next extent",
            lambda i, shape: tuple(
                i // d % s for s, d in zip(shape, (1, *accumulate(shape[1:], lambda a, b: a * b)), strict=True)
            ),
            "it should give",
        ),
        answer("index_alone", "gives the number back", lambda i, shape: i, "gives 0: it should give (0, 0)"),
        answer(
            "from_one",
            "counts from 1",
            lambda i, shape: tuple(c + 1 for c in coordinate(i, shape)),
            "should give (0, 0)",
        ),
        answer(
            "floats",
            "divides with /",
            lambda i, shape: (i % shape[0], *(i / shape[0] % s for s in shape[1:])),
            "should give (0, 0)",
        ),
        answer("by_size", "modulo the size", lambda i, shape: tuple(i % prod(shape) for _ in shape), "it should give"),
        answer(
            "by_stride_of_rows",
            "divides by row-major strides",
            lambda i, shape: tuple(i // d % s for s, d in zip(shape, compact(shape, "row"), strict=True)),
            "NumPy's order",
        ),
    ],
    "01.4": [
        answer(
            "never_negative",
            "strides without their sign",
            lambda array: Layout(array.shape, tuple(abs(step) // array.itemsize for step in array.strides)),
            "backwards: ",
        ),
        answer(
            "two_modes_alone",
            "matrices alone",
            lambda array: Layout(array.shape[:2], tuple(step // array.itemsize for step in array.strides[:2])),
            "its shape should be (4, 6, 10)",
        ),
        answer(
            "numpys_numbers",
            "strides that a Layout does not take",
            lambda array: Layout(array.shape, tuple(np.array(array.strides) // array.itemsize)),
            "stride must be int",
        ),
        answer("pairs", "no Layout", lambda a: (a.shape, a.strides), "it should be a Layout"),
        answer(
            "divided_by_four",
            "fp32 only",
            lambda a: Layout(a.shape, tuple(d // 4 for d in a.strides)),
            "elements after",
        ),
        answer("shape_alone", "CuTe's default", lambda a: Layout(a.shape), "elements after the first"),
        answer(
            "turned",
            "the strides turned round",
            lambda a: Layout(a.shape, tuple(d // a.itemsize for d in a.strides)[::-1]),
            "elements after the first",
        ),
        answer(
            "of_the_base",
            "strides of one array for all",
            lambda a: Layout(a.shape, compact((30,) * a.ndim, "row")),
            "elements after the first",
        ),
        answer(
            "copied",
            "a copy's strides",
            lambda a: Layout(a.shape, tuple(d // a.itemsize for d in np.ascontiguousarray(a).strides)),
            "Ask this view for its strides",
        ),
        answer(
            "no_broadcast",
            "stride 1 where it is 0",
            lambda a: Layout(a.shape, tuple(max(1, d // a.itemsize) for d in a.strides)),
            "a broadcast row",
        ),
        answer(
            "bits",
            "strides in bits",
            lambda a: Layout(a.shape, tuple(8 * d for d in a.strides)),
            "elements after the first",
        ),
        answer(
            "floats", "divides with /", lambda a: Layout(a.shape, tuple(d / a.itemsize for d in a.strides)), "TypeError"
        ),
        answer(
            "size_for_itemsize",
            "divides by the size",
            lambda a: Layout(a.shape, tuple(d // a.size for d in a.strides)),
            "elements after the first",
        ),
        answer("flat", "one mode", lambda a: Layout(a.size, 1), "its shape should be (24, 30)"),
    ],
    "01.5": [
        answer("by_layout", "calls a Layout", lambda i, shape, stride: Layout(shape, stride)(i), "it calls a Layout"),
        answer("by_tensor", "calls a Tensor", lambda i, s, d: tl.Tensor(Layout(s, d))(i), "it calls a Tensor"),
        answer("by_library", "calls crd2offset", lambda i, s, d: tl.crd2offset(i, s, d), "it calls tl.crd2offset"),
        answer(
            "last_fastest",
            "the last mode fastest",
            lambda i, shape, stride: flat_offset(i, flatten(shape)[::-1], flatten(stride)[::-1]),
            "You peel off the last mode first",
        ),
        answer("not_nested", "flat shapes only", lambda i, shape, stride: flat_offset(i, shape, stride), "TypeError"),
        answer(
            "no_wrap",
            "no modulo",
            lambda i, shape, stride: sum(
                i // before * d for before, d in zip(compact(flatten(shape), "column"), flatten(stride), strict=True)
            ),
            "it should give",
        ),
        answer(
            "no_division",
            "no division",
            lambda i, s, d: sum(i % e * f for e, f in zip(flatten(s), flatten(d), strict=True)),
        ),
        answer("index_itself", "as if contiguous", lambda i, shape, stride: i, "it should give"),
        answer("first_stride", "the first stride for all", lambda i, s, d: i * flatten(d)[0], "it should give"),
        answer(
            "inner_turned",
            "the last mode fastest inside a nested mode",
            lambda i, s, d: inner_turned(i, s, d),
            "it should give",
        ),
        answer(
            "coordinates_added", "forgets the strides", lambda i, s, d: sum(coordinate(i, flatten(s))), "it should give"
        ),
        answer("depth_one", "one level of brackets", lambda i, s, d: one_level(i, s, d), "TypeError"),
    ],
    "01.6": [
        answer("nothing", "forgets to return", lambda name: None, "it should be a Layout"),
        answer(
            "text_of_it", "text", lambda name: {"A": "(4,6):(8,1)"}.get(name, "(2,2):(1,2)"), "it should be a Layout"
        ),
        answer("flat", "one mode", lambda name: Layout(24 if name < "C" else 16), "it should have two modes"),
        answer(
            "compact_a",
            "A without its padding",
            lambda name: picture(name, A=Layout((4, 6), (6, 1))),
            "yours has 6 there",
        ),
        answer(
            "columns_a",
            "A by columns",
            lambda name: picture(name, A=Layout((4, 6), (1, 8))),
            "row 0, column 1 shows 1, yours has 8",
        ),
        answer("b_unnested", "B with one stride", lambda name: picture(name, B=Layout((4, 6), (2, 1))), "picture B"),
        answer(
            "b_turned",
            "B's inner modes turned round",
            lambda name: picture(name, B=Layout((4, (3, 2)), (2, (8, 1)))),
            "picture B",
        ),
        answer("c_by_rows", "C by rows", lambda name: picture(name, C=Layout((4, 4), (4, 1))), "picture C"),
        answer(
            "c_columns_first",
            "C transposed",
            lambda name: picture(name, C=Layout(((2, 2), (2, 2)), ((2, 8), (1, 4)))),
            "row 0, column 1 shows 2, yours has 1",
        ),
        answer(
            "c_blocks",
            "C with its blocks side by side",
            lambda name: picture(name, C=Layout(((2, 2), (2, 2)), ((1, 8), (2, 4)))),
            "picture C",
        ),
        answer(
            "transposed_a",
            "A's shape turned",
            lambda name: picture(name, A=Layout((6, 4), (1, 8))),
            "4 rows and 6 columns",
        ),
        answer("always_a", "one for all", lambda name: Layout((4, 6), (8, 1)), "picture B"),
    ],
    "01.7": [
        answer("by_library", "calls cosize", lambda shape, stride: cosize(Layout(shape, stride)), "it calls tl.cosize"),
        answer(
            "not_flattened",
            "flat shapes only",
            lambda shape, stride: 1 + sum((s - 1) * d for s, d in zip(shape, stride, strict=True)),
            "TypeError",
        ),
        answer(
            "past_the_end",
            "a whole stride past the end",
            lambda shape, stride: 1 + sum(s * d for s, d in zip(flatten(shape), flatten(stride), strict=True)),
            "it should give 12",
        ),
        answer(
            "largest_mode",
            "the mode that reaches furthest",
            lambda shape, stride: max(s * d for s, d in zip(flatten(shape), flatten(stride), strict=True)),
            "it should give",
        ),
        answer(
            "first_mode", "the first mode alone", lambda s, d: 1 + (flatten(s)[0] - 1) * flatten(d)[0], "should give 12"
        ),
        answer(
            "one_each",
            "adds 1 for each mode",
            lambda s, d: sum(1 + (e - 1) * f for e, f in zip(flatten(s), flatten(d), strict=True)),
            "it should give 12",
        ),
        answer("size_plus", "size and largest stride", lambda s, d: size(s) + max(flatten(d)), "it should give 12"),
        answer(
            "distinct",
            "counts different offsets",
            lambda s, d: len({Layout(s, d)(i) for i in range(size(s))}),
            "padding and holes",
        ),
        answer("strides_summed", "adds strides", lambda s, d: 1 + sum(flatten(d)), "it should give 12"),
        answer(
            "a_float",
            "a float",
            lambda s, d: 1.0 + sum((e - 1) * f for e, f in zip(flatten(s), flatten(d), strict=True)),
            "12.0",
        ),
    ],
    "01.8": [
        answer(
            "each_term",
            "looks at each mode alone",
            lambda shape, stride: max((s - 1) * d for s, d in zip(shape, stride, strict=True)) <= 2**31 - 1,
            "The modes add up",
        ),
        answer("unsigned", "32 bits without a sign", lambda s, d: cosize(Layout(s, d)) <= 2**32, "should give False"),
        answer(
            "extent_times_stride",
            "one past the end of each mode",
            lambda s, d: sum(e * f for e, f in zip(s, d, strict=True)) <= 2**31 - 1,
            "it should give True",
        ),
        answer(
            "less_than",
            "2**31 - 1 itself refused",
            lambda s, d: cosize(Layout(s, d)) - 1 < 2**31 - 1,
            "gives False: it should give True",
        ),
        answer(
            "one_more",
            "2**31 allowed",
            lambda s, d: cosize(Layout(s, d)) - 1 <= 2**31,
            "gives True: it should give False",
        ),
        answer("always", "never says no", lambda s, d: True, "it should give False"),
        answer("never", "never says yes", lambda s, d: False, "it should give True"),
        answer(
            "in_bytes", "counts bytes of fp32", lambda s, d: 4 * cosize(Layout(s, d)) <= 2**31, "it should give True"
        ),
        answer(
            "first_mode", "the first mode alone", lambda s, d: (s[0] - 1) * d[0] <= 2**31 - 1, "it should give False"
        ),
        answer(
            "by_numpy",
            "overflows itself",
            lambda s, d: bool(
                np.sum((np.array(s, np.int64) - 1).astype(np.int32) * np.array(d, np.int64).astype(np.int32)) >= 0
            ),
            "it should give",
        ),
        answer("a_number", "how much is left", lambda s, d: 2**31 - cosize(Layout(s, d)), "it should give True"),
        answer(
            "largest_stride",
            "size times the largest stride",
            lambda s, d: prod(s) * max(d) <= 2**31 - 1,
            "it should give True",
        ),
    ],
    "01.9": [
        layout_alone,
        pointer_stays,
        zero_kept,
        by_the_strides,
        library_slices,
        by_a_tensor,
        ones_in_place,
        rows_only,
        index_for_offset,
        fixed_kept,
        strides_lost,
        first_free_mode,
        pair_turned,
    ],
}


def right_offset(coord, stride):
    return sum(c * d for c, d in zip(coord, stride, strict=True))


def flat_offset(index, shape, stride):
    return right_offset(coordinate(index, shape), stride)


def inner_turned(index, shape, stride):
    if isinstance(shape, int):
        return index * stride
    return sum(
        last_mode_fastest_offset(at, part, step)
        for at, part, step in zip(coordinate(index, [size(part) for part in shape]), shape, stride, strict=True)
    )


def last_mode_fastest_offset(index, shape, stride):
    return flat_offset(index, flatten((shape,))[::-1], flatten((stride,))[::-1])


def one_level(index, shape, stride):
    flat = [(part, step) for part, step in zip(shape, stride, strict=True)]
    modes = [
        pair
        for part, step in flat
        for pair in (zip(part, step, strict=True) if isinstance(part, tuple) else [(part, step)])
    ]
    return flat_offset(index, *zip(*modes, strict=True))


def picture(name, **other):
    """The right layouts, but for some."""
    right = {
        "A": Layout((4, 6), (8, 1)),
        "B": Layout((4, (2, 3)), (2, (1, 8))),
        "C": Layout(((2, 2), (2, 2)), ((1, 4), (2, 8))),
    }
    return (right | other)[name]


WRONG = {
    "01.1": [modes_reversed, first_two_modes],
    "01.2": [always_rows, orders_swapped, off_by_one_strides],
    "01.3": [last_mode_fastest, no_wrap],
    "01.4": [byte_strides, as_if_fresh],
    "01.5": [only_flat],
    "01.6": [transposed_pictures, unpadded_picture],
    "01.7": [number_of_coordinates, largest_offset, shape_times_stride],
    "01.8": [strides_alone, size_alone, off_by_one_limit],
    "01.9": [],
}
WRONG = {id: [*answers, *MORE[id]] for id, answers in WRONG.items()}
