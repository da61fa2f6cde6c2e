"""Notebook 03: the laws beside CuTe, and the layouts that they are tried on."""

import pytest
import tensor_layouts as tl
from tensor_layouts import Layout, flatten, size

from tests.pages.table import solved
from tutorlib.exercises import layout_laws as laws
from tutorlib.exercises.layout_laws import by_mode, offsets, same_function
from tutorlib.exercises.p03 import EXERCISES, composed, threads_and_values
from tutorlib.exercises.values import drawn
from tutorlib.layouts.oracle import Refused, ask


@pytest.mark.parametrize("exercise", EXERCISES, ids=lambda exercise: exercise.id)
@pytest.mark.parametrize(
    "nothing",
    [
        lambda *args: None,
        lambda *args: 0,
        lambda *args: Layout(),
        lambda *args: Layout((4, 0), (1, 4)),
        lambda *args: Layout((2**20, 2**20), (1, 1)),
        lambda *args: (0, Layout((4, 4), (1, 4))),
        lambda *args: Layout(((1, 1), (1, 1)), ((-1, 0), (0, 0))),
    ],
)
def test_an_answer_of_another_kind_gets_no_points_and_a_sentence(exercise, nothing):
    outcome = exercise.grade(nothing)
    assert outcome.points == 0
    assert len(outcome.message.splitlines()) > 1


def one_layout(rng):
    return (laws.random_layout(rng),)


def is_right_inverse(got, layout):
    return None if [layout(got(k)) for k in range(size(got))] == list(range(size(tl.right_inverse(layout)))) else "no"


@pytest.mark.parametrize(
    ("operation", "law", "draw"),
    [
        ("coalesce", same_function(tl.coalesce), one_layout),
        ("composition", same_function(composed, lambda want, a, b: b.shape), laws.composable),
        ("logical_divide", same_function(tl.logical_divide, by_mode), laws.composable),
        ("right_inverse", is_right_inverse, one_layout),
    ],
)
def test_cute_obeys_each_law(operation, law, draw):
    calls = list(drawn(1, draw, 60))
    for call, cute in zip(calls, ask((operation, *call) for call in calls), strict=True):
        assert isinstance(cute, Refused) or law(cute, *call) is None


def test_thread_value_layouts_are_cutes():
    """make_layout_tv is right_inverse(raked_product(threads, values)) ∘ (threads, values): see its source."""
    pairs = list(drawn(4, laws.two_matrices, 60))
    inverses = ask(("right_inverse", product) for product in ask(("raked_product", *pair) for pair in pairs))
    counts = [Layout((size(threads), size(values))) for threads, values in pairs]
    theirs = ask(("composition", *pair) for pair in zip(inverses, counts, strict=True))
    for pair, cute in zip(pairs, theirs, strict=True):
        assert offsets(threads_and_values(*pair)) == offsets(cute)


def layouts_like(values: list[int]) -> list[Layout]:
    """Every layout of integers whose offsets are `values`, by trying all factorizations of their number."""

    def factorizations(n):
        if n == 1:
            yield ()
        for first in range(2, n + 1):
            if n % first == 0:
                yield from ((first, *rest) for rest in factorizations(n // first))

    found = []
    for shape in factorizations(len(values)):
        steps, index = [], 1
        for extent in shape:
            steps.append(values[index])
            index *= extent
        if offsets(Layout(shape, tuple(steps))) == values:
            found.append(Layout(shape, tuple(steps)))
    return found


@pytest.mark.parametrize(
    ("a", "b"),
    [
        (Layout((4, 6), (1, 10)), Layout(5, 3)),
        (Layout((6, 2), (8, 2)), Layout(3, 4)),
        (Layout((4, 3), (1, 8)), Layout(6, 1)),
    ],
)
def test_where_compose_should_raise_there_is_no_layout(a, b):
    assert layouts_like(offsets(Layout(8, 1))) != []
    assert layouts_like([a(b(index)) for index in range(size(b))]) == []


def test_random_layouts_come_in_any_order_and_nested():
    calls = list(drawn(22, laws.composable))
    assert len({flatten((a.stride,)) for a, _ in calls}) > 10
    assert any(list(flatten((a.stride,))) != sorted(flatten((a.stride,))) for a, _ in calls)
    assert any(isinstance(part, tuple) for a, _ in calls if isinstance(a.shape, tuple) for part in a.shape)


class Largest:
    """In place of a random generator."""

    def choice(self, options):
        return options[-1]


@pytest.mark.parametrize(
    ("layout", "larger"),
    [
        (Layout((4, 8), (1, 4)), Layout((8, 8), (1, 8))),
        (Layout((4, 8), (16, 1)), Layout((8, 8), (16, 1))),  # two times the row
        (Layout(((2, 2), (4, 1)), ((1, 16), (2, 9))), Layout(((8, 8), (8, 1)), ((1, 128), (8, 9)))),
        (Layout((3, 5), (0, 0)), Layout((8, 8), (0, 0))),
    ],
)
def test_a_resized_layout_keeps_its_nesting_and_its_gaps(layout, larger):
    assert laws.resized(layout, Largest()) == larger


# What the notebook says about CuTe -------------------------------------------------------------------------------


CARRIES = Layout((6, 2), (1, 7)), Layout((3, 2), (2, 3))  # B picks no index twice


@pytest.mark.parametrize(
    ("a", "b"),
    [
        (Layout((6, 2), (8, 2)), Layout(4, 4)),  # past A's end
        CARRIES,
    ],
)
def test_cute_breaks_the_law_without_an_error(a, b):
    assert offsets(ask([("composition", a, b)])[0]) != composed(a, b)
    assert len(set(offsets(b))) == size(b)


def test_a_tile_across_columns_is_refused_by_tensor_layouts_alone():
    a, b = Layout((10, 2), (2, 1)), Layout(4, 1)
    assert ask([("logical_divide", a, b)])[0](0, 3) == 1 != a(12)
    with pytest.raises(ValueError, match="not divisible"):
        tl.logical_divide(a, b)


def test_modes_of_extent_1_keep_a_stride_in_cute_alone():
    a, b, uneven = Layout((4, 8), (8, 1)), Layout((4, 1), (1, 4)), Layout((4, 1), (1, 5))
    kept, refused = ask([("composition", a, b), ("composition", a, uneven)])
    assert kept == Layout((4, 1), (8, 1))
    assert isinstance(refused, Refused)
    compose = solved("03.2")
    assert compose(a, b) == compose(a, uneven) == Layout((4, 1), (8, 0))


def test_tensor_layouts_divides_the_first_part_of_a_nested_mode_by_a_plain_number():
    rows = Layout((4, 2), (1, 32))
    assert (
        ask([("logical_divide", rows, 2)])
        == [tl.logical_divide(rows, Layout(2, 1))]
        == [Layout((2, (2, 2)), (1, (2, 32)))]
    )
    assert tl.logical_divide(rows, 2) == Layout(((2, 2), 2), ((1, 2), 32))
