"""Wrong answers to notebook 02: the transpose and the complement."""

import tensor_layouts as tl
from tensor_layouts import Layout, cosize, mode, size

from tests.pages.n02_layout_algebra.algebra import change, from_modes, modes_of
from tests.pages.table import answer


def shape_turned(layout):
    """Turns the shape round, not the stride."""
    return Layout(layout.shape[::-1], layout.stride)


def reshaped(layout):
    """Reads in the old order under the new shape."""
    rows, columns = (size(mode(layout, n)) for n in (0, 1))
    return tl.compose(layout, Layout((columns, rows)))


def always_compact(layout):
    """Right for a compact row-major matrix only: forgets padding and other orders."""
    rows, columns = (size(mode(layout, n)) for n in (0, 1))
    return Layout((columns, rows), (1, columns))


def column_stride_taken_for_row_stride(layout):
    """Steps by the number of columns."""
    rows, columns = (size(mode(layout, n)) for n in (0, 1))
    return tl.compose(layout, Layout((columns, rows), (columns, 1)))


def cosize_forgotten(layout, bound):
    """Fills the holes up to the layout's own cosize and forgets the bound."""
    return tl.complement(layout, cosize(layout))


def after_the_layout(layout, bound):
    """Forgets the holes inside the layout."""
    return Layout(-(-bound // cosize(layout)), cosize(layout))


def apart_by_size(layout, bound):
    """Copies size(layout) apart: they meet where the layout has holes."""
    return Layout(-(-bound // size(layout)), size(layout))


def rounded_down(layout, bound):
    """Forgets the last, partly needed copy."""
    gaps, reach = [], 1
    for stride, extent in sorted((stride, extent) for extent, stride in modes_of(layout) if extent > 1 and stride > 0):
        if stride % reach:
            raise ValueError
        gaps.append((stride // reach, reach))
        reach = extent * stride
    return tl.coalesce(from_modes([*gaps, (max(bound // reach, 1), reach)]))


def not_sorted(layout, bound):
    """Takes the modes as they come."""
    gaps, reach = [], 1
    for extent, stride in modes_of(layout):
        if extent > 1 and stride > 0:
            gaps.append((max(stride // reach, 1), reach))
            reach = extent * stride
    return tl.coalesce(from_modes([*gaps, (-(-bound // reach), reach)]))


def never_refused(layout, bound):
    """Answers also where the modes get in each other's way, as CuTe does."""
    return tl.complement(layout, bound)


def broadcast_counted(layout, bound):
    """Takes a mode of stride 0 for one that fills something."""
    gaps, reach = [], 1
    for stride, extent in sorted((stride, extent) for extent, stride in modes_of(layout)):
        if stride % reach:
            raise ValueError
        gaps.append((max(stride // reach, 1), reach))
        reach = max(reach, extent * max(stride, 1))
    return tl.coalesce(from_modes([*gaps, (-(-bound // reach), reach)]))


in_transposed = change("02.3")
in_complement = change("02.4")


WRONG = {
    "02.3": [
        shape_turned,
        reshaped,
        always_compact,
        column_stride_taken_for_row_stride,
        in_transposed(
            "rows_first",
            "B's shape is (rows, columns)",
            "Layout((columns, rows), (rows, 1))",
            "Layout((rows, columns), (columns, 1))",
            "it should be a matrix of",
        ),
        in_transposed(
            "identity",
            "B is the identity",
            "Layout((columns, rows), (rows, 1))",
            "Layout((rows, columns), (1, rows))",
            "it should be a matrix of",
        ),
        in_transposed("cosize_for_rows", "counts memory", "(rows, 1)", "(cosize(mode(layout, 0)), 1)", "LayoutError"),
        in_transposed(
            "stride_of_layout",
            "takes a stride of the layout",
            "(rows, 1)",
            "(flatten((layout.stride,))[0], 1)",
            "it sends",
        ),
        in_transposed(
            "other_way_round",
            "B ∘ layout",
            "tl.compose(layout, Layout((columns, rows), (rows, 1)))",
            "tl.compose(Layout((columns, rows), (rows, 1)), layout)",
            "it",
        ),
        in_transposed(
            "only_b",
            "B alone",
            "tl.compose(layout, Layout((columns, rows), (rows, 1)))",
            "Layout((columns, rows), (rows, 1))",
            "the matrix has",
        ),
        in_transposed("all_one", "both strides 1", "(rows, 1)", "(1, 1)", "it sends"),
        in_transposed("off_by_one", "one row too few", "(rows, 1)", "(rows - 1, 1)", "LayoutError"),
        in_transposed(
            "flat_strides",
            "turns flat modes round",
            "tl.compose(layout, Layout((columns, rows), (rows, 1)))",
            "Layout(flatten(layout.shape)[::-1], flatten(layout.stride)[::-1])",
            "a matrix stored in blocks",
        ),
        answer("untouched", "gives the matrix back", lambda layout: layout, "it should be a matrix of 8×4"),
        in_transposed(
            "a_pair",
            "no Layout",
            "return tl.compose(layout, Layout((columns, rows), (rows, 1)))",
            "return (columns, rows), (rows, 1)",
            "it should be a Layout",
        ),
    ],
    "02.4": [
        cosize_forgotten,
        after_the_layout,
        apart_by_size,
        rounded_down,
        not_sorted,
        never_refused,
        broadcast_counted,
        answer("library", "has tensor_layouts do it", tl.complement, "it calls tl.complement"),
        in_complement(
            "bound_ignored",
            "ends with the layout",
            "gaps.append((-(-bound // reach), reach))",
            "pass",
            "no copy of the layout reaches",
        ),
        in_complement(
            "floor",
            "rounds down at the end",
            "-(-bound // reach)",
            "max(1, bound // reach)",
            "a bound that is no multiple",
        ),
        in_complement(
            "unsorted",
            "takes modes as they stand",
            "sorted((stride, extent) for stride, extent in modes if extent > 1 and stride > 0)",
            "((stride, extent) for stride, extent in modes if extent > 1 and stride > 0)",
            "raised ValueError",
        ),
        in_complement(
            "by_extent",
            "sorts by extent",
            "sorted((stride, extent) for stride, extent in modes if extent > 1 and stride > 0)",
            "((d, n) for n, d in sorted((n, d) for d, n in modes if n > 1 and d > 0))",
            "raised ValueError",
        ),
        in_complement(
            "ones_counted",
            "counts modes of extent 1",
            "extent > 1 and stride > 0",
            "stride > 0",
            "extent 1 and stride 0",
        ),
        in_complement(
            "zeros_counted",
            "counts modes of stride 0",
            "extent > 1 and stride > 0",
            "extent > 1",
            "extent 1 and stride 0",
        ),
        in_complement("never_raises", "does not look", "if stride % reach:", "if False:", "raise ValueError"),
        in_complement(
            "reach_forgotten",
            "copies one apart",
            "(stride // reach, reach)",
            "(stride // reach, 1)",
            "two copies of the layout meet",
        ),
        in_complement(
            "stride_for_gap",
            "the gap as wide as the stride",
            "(stride // reach, reach)",
            "(stride, reach)",
            "elements, and",
        ),
        in_complement(
            "reach_of_extent",
            "forgets the stride in what is reached",
            "reach = extent * stride",
            "reach = extent",
            "are what fills",
        ),
        in_complement(
            "reach_last",
            "the last offset for the first free one",
            "reach = extent * stride",
            "reach = (extent - 1) * stride + 1",
            "it",
        ),
        in_complement(
            "from_zero", "the layout itself among the copies", "gaps, reach = [], 1", "gaps, reach = [], 2", ""
        ),
        in_complement("one_more", "one copy too many", "-(-bound // reach)", "bound // reach + 1", "elements, and"),
    ],
}
