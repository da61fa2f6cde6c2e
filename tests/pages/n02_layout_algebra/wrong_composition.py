"""Wrong answers to notebook 02: coalesce and composition."""

import tensor_layouts as tl
from tensor_layouts import Layout, flatten, mode, size

from tests.pages.n02_layout_algebra.algebra import change, from_modes, modes_of, right
from tests.pages.table import answer, says

coalesced, composed = right("02.1"), right("02.2")
in_coalesce, in_compose = change("02.1"), change("02.2")


def everything_merged(layout):
    """One mode, whatever the strides: merges what is not contiguous."""
    return Layout(size(layout), flatten(layout.stride)[0])


def ones_kept(layout):
    """Forgets that modes of extent 1 can go."""
    modes = []
    for extent, stride in modes_of(layout):
        if modes and stride == modes[-1][0] * modes[-1][1]:
            modes[-1] = (modes[-1][0] * extent, modes[-1][1])
        else:
            modes.append((extent, stride))
    return from_modes(modes)


def sorted_first(layout):
    """Sorts by stride before merging: the same offsets in another order."""
    return coalesced(from_modes(sorted(modes_of(layout), key=lambda kind: kind[1])))


def merged_by_cosize(layout):
    """Compares the stride with the cosize of the mode before, not with extent times stride."""
    modes = []
    for extent, stride in modes_of(layout):
        if extent == 1:
            continue
        if modes and stride == (modes[-1][0] - 1) * modes[-1][1] + 1:
            modes[-1] = (modes[-1][0] * extent, modes[-1][1])
        else:
            modes.append((extent, stride))
    return from_modes(modes)


def merged_once(layout):
    """Merges neighbors in pairs only."""
    modes, rest = [], [kind for kind in modes_of(layout) if kind[0] > 1]
    while rest:
        extent, stride = rest.pop(0)
        if rest and rest[0][1] == extent * stride:
            extent *= rest.pop(0)[0]
        modes.append((extent, stride))
    return from_modes(modes)


@says("which does what you are asked to write")
def by_composing(layout):
    """Lets the composition with the identity merge the modes."""
    found = tl.compose(layout, Layout(size(layout)))
    return Layout(1, 0) if size(layout) == 1 else from_modes([kind for kind in modes_of(found) if kind[0] > 1])


def left_one_mode(a, b):
    """Right only when the left side coalesces to one mode."""
    return Layout(b.shape, tl.transform_tuple(b.stride, lambda step: step * flatten(a.stride)[0]))


def nothing_refused(a, b):
    """Puts together an answer also where there is none."""
    try:
        return composed(a, b)
    except ValueError:
        return left_one_mode(a, b)


def b_flattened(a, b):
    """The right function, without B's modes: a coordinate of B is no longer one of the result's."""
    return tl.coalesce(composed(a, b))


def a_not_coalesced(a, b):
    """Looks at A's last mode only where B is larger than A's first."""
    stride = flatten(a.stride)[0] if size(b) <= flatten(a.shape)[0] else flatten(a.stride)[-1]
    return Layout(b.shape, tl.transform_tuple(b.stride, lambda step: step * stride))


def a_cut_to_size(a, b):
    """Ignores B's strides: the first size(B) elements of A."""
    return composed(a, Layout(b.shape))


def shape_and_stride(layout):
    """A pair in place of a Layout."""
    return layout.shape, layout.stride


WRONG = {
    "02.1": [
        answer("unchanged", "The same function, and nothing is coalesced.", lambda layout: layout),
        answer("only_flattened", "Takes the brackets away and merges nothing.", lambda layout: flatten(layout)),
        everything_merged,
        ones_kept,
        sorted_first,
        merged_by_cosize,
        merged_once,
        in_coalesce("one_one", "Layout(1, 1) where nothing is left", "[(1, 0)]", "[(1, 1)]", "Layout(1, 0)"),
        in_coalesce(
            "always_brackets",
            "one mode as a tuple of one",
            "if len(modes) < 2:\n        return Layout(*(modes or [(1, 0)])[0])\n    return Layout",
            "return Layout",
            "is written without brackets",
        ),
        in_coalesce(
            "holes_closed",
            "a multiple will do",
            "stride == modes[-1][0] * modes[-1][1]",
            "stride % (modes[-1][0] * modes[-1][1] or 1) == 0",
            "leaves a hole",
        ),
        in_coalesce(
            "extent_alone",
            "forgets the stride of the mode before",
            "modes[-1][0] * modes[-1][1]:",
            "modes[-1][0]:",
            "could be one",
        ),
        in_coalesce(
            "stride_taken",
            "the merged mode has the second's stride",
            "(modes[-1][0] * extent, modes[-1][1])",
            "(modes[-1][0] * extent, stride)",
            "it sends index",
        ),
        in_coalesce(
            "extents_added", "adds extents", "modes[-1][0] * extent,", "modes[-1][0] + extent,", "and should have"
        ),
        in_coalesce(
            "only_top",
            "does not flatten",
            "flatten(layout.shape), flatten(layout.stride)",
            "(layout.shape,) if isinstance(layout.shape, int) else layout.shape, (layout.stride,) if isinstance(layout.shape, int) else layout.stride",
            "still nested",
        ),
        in_coalesce(
            "stride_one_dropped", "drops modes of stride 1", "if extent == 1:", "if stride == 1:", "and should have"
        ),
        in_coalesce(
            "zero_dropped",
            "drops modes of stride 0",
            "if extent == 1:",
            "if extent == 1 or stride == 0:",
            "and should have",
        ),
        answer(
            "from_the_right",
            "merges as if the last mode were the fastest",
            lambda layout: tl.coalesce(Layout(flatten((layout.shape,))[::-1], flatten((layout.stride,))[::-1])),
            "which does what you are asked to write",
        ),
        answer("library", "has tensor_layouts do it", tl.coalesce, "which does what you are asked to write"),
        by_composing,
        answer(
            "one_tile",
            "divides into one tile",
            lambda layout: mode(tl.logical_divide(layout, Layout(size(layout), 1)), 0),
            "which does what you are asked to write",
        ),
        answer("a_pair", "no Layout", lambda layout: shape_and_stride(coalesced(layout)), "it should be a Layout"),
    ],
    "02.2": [
        answer("left_contiguous", "Right only when the left side is contiguous.", lambda a, b: b),
        left_one_mode,
        answer("b_after_a", "Composes the other way round.", lambda a, b: composed(b, a)),
        nothing_refused,
        b_flattened,
        a_not_coalesced,
        a_cut_to_size,
        answer(
            "library",
            "has tensor_layouts do it",
            lambda a, b: tl.compose(a, b),
            "which does what you are asked to write",
        ),
        answer(
            "first_tile",
            "divides by B",
            lambda a, b: mode(tl.logical_divide(a, b), 0),
            "which does what you are asked to write",
        ),
        in_compose(
            "left_not_divided",
            "forgets to take off what is placed",
            "left, step = left // take, 1",
            "step = 1",
            "elements and should have B's",
        ),
        in_compose(
            "step_kept",
            "goes on with the old step",
            "left, step = left // take, 1",
            "left = left // take",
            "B runs through several modes",
        ),
        in_compose(
            "step_not_divided", "steps over a mode with the step as it was", "step //= extent\n", "pass\n", "R(1) is"
        ),
        in_compose("stride_forgotten", "forgets A's strides", "(take, step * stride)", "(take, step)", "R(1) is"),
        in_compose("step_forgotten", "forgets B's step", "(take, step * stride)", "(take, stride)", "R(1) is"),
        in_compose(
            "last_step_forgotten", "forgets B's step in the last mode", "(left, step * last)", "(left, last)", "R(1) is"
        ),
        in_compose(
            "stops_at_the_end",
            "lets B step over the last mode too",
            "*modes, (_, last) = zip(flatten(a.shape), flatten(a.stride), strict=True)",
            "modes = list(zip(flatten((a.shape,)), flatten((a.stride,)), strict=True)); last = modes[-1][1]",
            "B goes on past A's end",
        ),
        in_compose(
            "never_ends_early",
            "no rule for what lies in one mode",
            "(left - 1) * step < extent",
            "False",
            "B stays inside",
        ),
        in_compose(
            "just_past_the_mode",
            "takes the first index of the next column for the last of this one",
            "(left - 1) * step < extent",
            "(left - 1) * step <= extent",
            "raise ValueError",
        ),
        in_compose(
            "never_raises",
            "guesses where it does not go evenly",
            'raise ValueError(f"{left}:{step} does not go evenly into {extent}:{stride}")',
            "take = max(1, extent // step)",
            "raise ValueError",
        ),
        in_compose(
            "only_extent_checked",
            "looks at one of two divisions",
            " and left % (extent // step) == 0",
            "",
            "raise ValueError",
        ),
        in_compose(
            "only_left_checked",
            "looks at the other one",
            "extent % step == 0 and left % (extent // step) == 0",
            "left % max(1, extent // step) == 0",
            "raise ValueError",
        ),
        in_compose(
            "not_coalesced",
            "takes A as it is written",
            "a = tl.coalesce(a)\n",
            "a = Layout(flatten((a.shape,)), flatten((a.stride,)))\n",
            "raised ValueError",
        ),
        in_compose("type_error", "raises another kind", "raise ValueError", "raise TypeError", "raised TypeError"),
        in_compose(
            "none_for_none",
            "None where there is none",
            'raise ValueError(f"{left}:{step} does not go evenly into {extent}:{stride}")',
            "return None",
            "so it should raise ValueError",
        ),
        in_compose(
            "modes_turned",
            "the result's modes turned round",
            "zip(*taken, strict=True)",
            "zip(*taken[::-1], strict=True)",
            "R(",
        ),
        in_compose(
            "b_after_a_by_hand",
            "B ∘ A",
            "a = tl.coalesce(a)\n",
            "a, (left, step) = tl.coalesce(b), (size(a), flatten((a.stride,))[0])\n",
            "and should have",
        ),
    ],
}
