"""Swizzled layouts, their banks and what an access costs, against the real CuTe DSL."""

from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tensor_layouts import size

from tests.layouts.random_layouts import cells_of, layouts, many, thorough
from tutorlib.layouts.swizzling import swizzle_view


@thorough
@given(many(st.tuples(layouts(), st.integers(0, 3), st.integers(0, 4), st.integers(0, 2), st.sampled_from([1, 2, 4]))))
def test_swizzled_banks_are_cutes(batch):
    cases = [(layout, (bits, base, max(1, bits + more)), bytes_) for layout, bits, base, more, bytes_ in batch]
    offsets = swizzled(tuple((layout, swizzle) for layout, swizzle, _ in cases))
    for (layout, swizzle, element_bytes), theirs in zip(cases, offsets, strict=True):
        view = swizzle_view(swizzle, layout, element_bytes)
        assert [view.offsets[row][column] for row, column in cells_of(layout)] == theirs
        assert [view.banks[row][column] for row, column in cells_of(layout)] == [
            offset * element_bytes // 4 % 32 for offset in theirs
        ]


def swizzled(cases):
    """CuTe's offsets of swizzled layouts, by flat index."""
    answers: list[list[int]] = []
    tracer()(cases, answers)
    return answers


@cache
def tracer():
    import cutlass
    from cutlass import cute

    def offsets(layout, swizzle):
        plain = cute.make_layout(layout.shape, stride=layout.stride)
        composed = cute.make_composed_layout(cute.make_swizzle(*swizzle), 0, plain)
        return [cute.crd2idx(index, composed) for index in range(size(layout))]

    @cute.jit
    def trace(cases: cutlass.Constexpr, answers: cutlass.Constexpr):
        answers.extend(offsets(layout, swizzle) for layout, swizzle in cases)

    return trace


@pytest.mark.parametrize(
    ("access", "plain", "swizzled_cost"),
    [
        ("a row, one element a thread", 1, 1),
        ("a column, one element a thread", 8, 1),
        ("rows, 16 bytes a thread", 4, 4),
        ("a column, 16 bytes a thread", 8, 1),
        ("ldmatrix: eight rows of 16 bytes", 8, 1),
    ],
)
def test_accesses_to_the_128_byte_atom(access, plain, swizzled_cost):
    """Rows of 128 bytes: a column's eight vectors meet in four banks, and S<3,3,3> spreads them over all 32."""
    view = swizzle_view((3, 3, 3), "(8,64):(64,1)", 2, access)
    assert (view.plain_cost, view.cost) == (plain, swizzled_cost)


def test_a_torn_vector_cannot_be_read_at_once():
    assert swizzle_view((3, 0, 3), "(8,64):(64,1)", 2, "rows, 16 bytes a thread").cost is None
