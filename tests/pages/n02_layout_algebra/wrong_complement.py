"""Wrong answers to notebook 02: the transpose and the complement."""

import tensor_layouts as tl
from tensor_layouts import Layout, cosize, mode, size

from tests.pages.n02_layout_algebra.algebra import change, from_modes, modes_of, right
from tests.pages.table import answer, says

complemented, in_complement = right("02.4"), change("02.4")


def cosize_forgotten(layout, bound):
    """Fills the holes up to the layout's own cosize and forgets the bound."""
    return complemented(layout, cosize(layout))


@says("which does what you are asked to write")
def which_tile(layout, bound):
    """Refuses by itself, and lets a division list the starts."""
    reach = 1
    for stride, extent in sorted((stride, extent) for extent, stride in modes_of(layout) if extent > 1 and stride > 0):
        if stride % reach:
            raise ValueError
        reach = extent * stride
    return mode(tl.logical_divide(Layout(bound, 1), layout), 1)


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


def broadcast_counted(layout, bound):
    """Takes a mode of stride 0 for one that fills something."""
    gaps, reach = [], 1
    for stride, extent in sorted((stride, extent) for extent, stride in modes_of(layout)):
        if stride % reach:
            raise ValueError
        gaps.append((max(stride // reach, 1), reach))
        reach = max(reach, extent * max(stride, 1))
    return tl.coalesce(from_modes([*gaps, (-(-bound // reach), reach)]))


WRONG = {
    "02.3": [
        answer("reshaped", "the old order under a new shape", lambda r, c: Layout((c, r)), "under a new shape"),
        answer("by_columns", "steps by the number of columns", lambda r, c: Layout((c, r), (c, 1)), "as rows"),
        answer("shape_turned", "turns the shape, not the strides", lambda r, c: Layout((c, r), (1, r)), "is turned"),
        answer("rows_first", "the shape of L", lambda r, c: Layout((r, c), (c, 1)), "it should have 8×4"),
        answer("identity", "L as it is", lambda r, c: Layout((r, c)), "it should have 8×4"),
        answer("all_one", "both strides 1", lambda r, c: Layout((c, r), (1, 1)), "it sends"),
        answer("off_by_one", "one row too few", lambda r, c: Layout((c, r), (r - 1, 1)), "it sends"),
        answer("padded", "a row too many", lambda r, c: Layout((c, r), (r + 1, 1)), "it sends"),
        answer("every_second", "every second row", lambda r, c: Layout((c, r), (r, 2)), "it sends"),
        answer("one_mode", "all indices in one mode", lambda r, c: Layout(r * c, 1), "it should have 8×4"),
        answer("first_row", "one row alone", lambda r, c: Layout(c, r), "it should have 8×4"),
        answer("of_4_by_8", "the B of one matrix", lambda r, c: Layout((8, 4), (4, 1)), "it should have 3×6"),
        answer("a_pair", "no Layout", lambda r, c: ((c, r), (r, 1)), "it should be a Layout"),
        answer("as_text", "its notation", lambda r, c: f"({c},{r}):({r},1)", "it should be a Layout"),
    ],
    "02.4": [
        cosize_forgotten,
        after_the_layout,
        apart_by_size,
        rounded_down,
        not_sorted,
        broadcast_counted,
        answer("library", "has tensor_layouts do it", tl.complement, "which does what you are asked to write"),
        which_tile,
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
            "fill 0",
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
