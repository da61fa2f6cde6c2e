"""Wrong answers to notebook 01: a layout as a function of coordinates and indices."""

from itertools import accumulate
from math import prod

import numpy as np
import tensor_layouts as tl
import torch
from tensor_layouts import Layout

from tests.pages.n01_layouts.first_layouts import compact, coordinate, right_offset
from tests.pages.table import answer


def modes_reversed(coord, stride):
    """Pairs mode 0 with the last stride."""
    return sum(c * d for c, d in zip(coord[::-1], stride, strict=True))


def first_two_modes(coord, stride):
    """Right for matrices only."""
    return coord[0] * stride[0] + (coord[1] * stride[1] if len(coord) > 1 else 0)


def orders_swapped(shape, order):
    """Row- for column-major."""
    return compact(shape, "column" if order == "row" else "row")


def off_by_one_strides(shape, order):
    """Each stride takes in its own extent."""
    return tuple(prod(shape[n:]) if order == "row" else prod(shape[: n + 1]) for n in range(len(shape)))


def last_mode_fastest(index, shape):
    """NumPy's order of counting."""
    return tuple(index // prod(shape[n + 1 :]) % extent for n, extent in enumerate(shape))


def no_wrap(index, shape):
    """Right for two modes only."""
    return (index % shape[0], index // shape[0]) if len(shape) > 1 else (index,)


WRONG = {
    "01.1": [
        modes_reversed,
        first_two_modes,
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
        answer("pairs_only", "two modes and no other", lambda c, d: c[0] * d[0] + c[1] * d[1], "IndexError"),
        answer(
            "by_layout",
            "calls a Layout",
            lambda c, d: Layout((99,) * len(c), d)(*c),
            "which does what you are asked to write",
        ),
        answer(
            "by_tensor",
            "calls a Tensor",
            lambda c, d: tl.Tensor(Layout((99,) * len(c), d))(*c),
            "which does what you are asked to write",
        ),
        answer(
            "by_a_tensor_s_data",
            "asks a Tensor's data",
            lambda c, d: tl.Tensor(Layout((99,) * len(c), d), data=range(99**3))[c],
            "which does what you are asked to write",
        ),
        answer(
            "by_library",
            "calls crd2offset",
            lambda c, d: tl.crd2offset(c, (99,) * len(c), d),
            "which does what you are asked to write",
        ),
        answer(
            "by_listing_a_layout",
            "has iter_layout end at the coordinate",
            lambda c, d: list(tl.iter_layout(Layout(tuple(n + 1 for n in c), d)))[-1][1],
            "which does what you are asked to write",
        ),
        answer(
            "by_crd2idx",
            "calls crd2idx",
            lambda c, d: tl.crd2idx(c, (99,) * len(c), d),
            "which does what you are asked to write",
        ),
        answer("up_to_three_modes", "drops the fourth", lambda c, d: right_offset(c[:3], d[:3]), "it should give"),
        answer(
            "magnitudes",
            "a stride without its sign",
            lambda c, d: right_offset(c, tuple(map(abs, d))),
            "it should give",
        ),
    ],
    "01.2": [
        answer("always_rows", "Ignores the order.", lambda shape, order: compact(shape, "row")),
        orders_swapped,
        off_by_one_strides,
        answer(
            "in_bytes",
            "bytes of fp32",
            lambda shape, order: tuple(4 * d for d in compact(shape, order)),
            "should give (3, 1)",
        ),
        answer(
            "by_numpy",
            "allocates one",
            lambda shape, order: np.empty(shape, np.int8).strides,
            "which does what you are asked to write",
        ),
        answer(
            "by_layout",
            "has CuTe's default",
            lambda shape, order: Layout(shape).stride if order == "column" else compact(shape, "row"),
            "which does what you are asked to write",
        ),
        answer(
            "by_indices",
            "asks for the index of the second element of each mode",
            lambda s, order: tuple(tl.crd2flat(tuple(int(k == n) for k in range(len(s))), s) for n in range(len(s))),
            "which does what you are asked to write",
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
            "neighbor", "the extent beside it", lambda s, o: (*s[1:], 1) if o == "row" else (1, *s[:-1]), "should give"
        ),
        answer(
            "order_names",
            "C and F in place of row and column",
            lambda s, o: compact(s, "row" if o == "C" else "column"),
        ),
        answer(
            "strides_of_an_array",
            "asks NumPy for them",
            lambda shape, order: np.ndarray(shape, np.int8, order="C" if order == "row" else "F").strides,
            "which does what you are asked to write",
        ),
        answer(
            "stride_of_a_tensor",
            "asks torch for them",
            lambda s, o: torch.empty(s).stride() if o == "row" else torch.empty(s[::-1]).stride()[::-1],
            "which does what you are asked to write",
        ),
    ],
    "01.3": [
        last_mode_fastest,
        no_wrap,
        answer(
            "by_library",
            "calls idx2crd",
            lambda i, shape: tl.idx2crd(i, shape),
            "which does what you are asked to write",
        ),
        answer(
            "by_layouts",
            "calls a Layout that leaves one mode",
            lambda i, shape: tuple(
                Layout(shape, tuple(int(n == at) for n in range(len(shape))))(i) for at in range(len(shape))
            ),
            "which does what you are asked to write",
        ),
        answer(
            "by_listing",
            "has iter_layout count",
            lambda i, shape: [coord for coord, _ in tl.iter_layout(Layout(shape))][i],
            "which does what you are asked to write",
        ),
        answer(
            "by_numpy",
            "unravel_index in Fortran's order",
            lambda i, shape: np.unravel_index(i, shape, order="F"),
            "which does what you are asked to write",
        ),
        answer(
            "by_iterating",
            "lets a Layout list its coordinates",
            lambda i, s: list(Layout(s))[i],
            "which does what you are asked to write",
        ),
        answer(
            "by_a_table",
            "looks it up among all indices",
            lambda i, shape: tuple(np.argwhere(np.arange(prod(shape)).reshape(shape, order="F") == i)[0]),
            "(4, 1152921504606846976)) raised",
        ),
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
            "should give",
        ),
        answer("by_size", "modulo the size", lambda i, shape: tuple(i % prod(shape) for _ in shape), "it should give"),
        answer(
            "by_stride_of_rows",
            "divides by row-major strides",
            lambda i, shape: tuple(i // d % s for s, d in zip(shape, compact(shape, "row"), strict=True)),
            "NumPy's order",
        ),
    ],
}
