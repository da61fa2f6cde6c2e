"""Wrong answers to notebook 01: layouts of arrays, nested ones, and pictures."""

import operator
from math import prod

import numpy as np
import tensor_layouts as tl
import torch
from tensor_layouts import Layout, flatten, size

from tests.pages.n01_layouts.first_layouts import compact, coordinate, right_offset
from tests.pages.table import answer


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


def two_levels(index, shape, stride):
    """Goes into a mode, and into the modes in it, and no further."""
    if isinstance(shape, int):
        return index * stride
    total = 0
    for part, step in zip(shape, stride, strict=True):
        for inner, inner_step in zip(part, step, strict=True) if isinstance(part, tuple) else [(part, step)]:
            pairs = zip(inner, inner_step, strict=True) if isinstance(inner, tuple) else [(inner, inner_step)]
            for extent, apart in pairs:
                total += index % extent * apart
                index //= extent
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
    "01.4": [
        answer(
            "by_torch",
            "torch's",
            lambda a: Layout(a.shape, torch.from_numpy(a).stride()),
            "which does what you are asked to write",
        ),
        answer("byte_strides", "Leaves the strides in bytes.", lambda array: Layout(array.shape, array.strides)),
        as_if_fresh,
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
        only_flat,
        answer(
            "by_layout",
            "calls a Layout",
            lambda i, shape, stride: Layout(shape, stride)(i),
            "which does what you are asked to write",
        ),
        answer(
            "by_tensor",
            "calls a Tensor",
            lambda i, s, d: tl.Tensor(Layout(s, d))(i),
            "which does what you are asked to write",
        ),
        answer(
            "by_library",
            "calls crd2offset",
            lambda i, s, d: tl.crd2offset(i, s, d),
            "which does what you are asked to write",
        ),
        answer(
            "by_a_slice",
            "slices a layout of one mode",
            lambda i, s, d: tl.slice_and_offset((i,), Layout((s,), (d,)))[1],
            "which does what you are asked to write",
        ),
        answer(
            "by_listing_offsets",
            "has iter_layout count",
            lambda i, s, d: [at for _, at in tl.iter_layout(Layout(s, d))][i],
            "which does what you are asked to write",
        ),
        answer(
            "by_coordinates",
            "has idx2crd take the modes apart",
            lambda i, s, d: sum(map(operator.mul, flatten((tl.idx2crd(i, s),)), flatten((d,)))),
            "which does what you are asked to write",
        ),
        two_levels,
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
        transposed_pictures,
        unpadded_picture,
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
}
