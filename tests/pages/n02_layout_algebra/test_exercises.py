"""Notebook 02: its checks, the known mistakes, the laws, and where it says that no layout can be."""

import pytest
from tensor_layouts import Layout, flatten, size

from tests.pages.n02_layout_algebra.solved_algebra import SOLVED, table
from tutorlib.checking import served
from tutorlib.exercises.n02_layout_algebra import laws, mistakes
from tutorlib.exercises.n02_layout_algebra.exercises import EXERCISES
from tutorlib.exercises.n02_layout_algebra.random_layouts import composable, drawn
from tutorlib.layouts import oracle
from tutorlib.paths import SOLUTIONS


@pytest.mark.parametrize("exercise", EXERCISES, ids=lambda exercise: exercise.id)
def test_a_check_is_right_and_asks_cute_in_one_trace_a_case(exercise, monkeypatch):
    traced, trace = [], oracle.trace()
    monkeypatch.setattr(oracle, "trace", lambda: lambda *args: traced.append(args) or trace(*args))
    outcome = exercise.grade(SOLVED[exercise.title])
    assert len(traced) <= len(exercise.cases)
    assert (outcome.status, outcome.points) == ("passed", exercise.points)


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


KNOWN_MISTAKES = {
    "02.1": mistakes.COALESCE,
    "02.2": mistakes.COMPOSE,
    "02.3": mistakes.TRANSPOSE,
    "02.4": mistakes.COMPLEMENT,
    "02.5": mistakes.DIVIDE,
    "02.6": mistakes.ZIP,
    "02.7": mistakes.BLOCK,
    "02.8": mistakes.PRODUCT,
    "02.9": mistakes.BLOCKED,
    "02.10": mistakes.INVERSE,
    "02.11": mistakes.VECTOR,
    "02.12": mistakes.THREAD_VALUE,
}


@pytest.mark.parametrize("exercise", EXERCISES, ids=lambda exercise: exercise.id)
def test_a_known_mistake_is_wrong_and_named(exercise, monkeypatch):
    monkeypatch.setattr(served, "refuse_library_use", lambda *args, **how: None)  # they call what no answer may
    for mistake in KNOWN_MISTAKES[exercise.id]:
        assert mistake.says in exercise.grade(mistake.answer).message


def layouts_like(values: list[int]) -> list[Layout]:
    """Every layout of integers whose table is `values`, by trying all factorisations of their number."""

    def factorisations(n):
        if n == 1:
            yield ()
        for first in range(2, n + 1):
            if n % first == 0:
                yield from ((first, *rest) for rest in factorisations(n // first))

    found = []
    for shape in factorisations(len(values)):
        steps, index = [], 1
        for extent in shape:
            steps.append(values[index])
            index *= extent
        if table(Layout(shape, tuple(steps))) == values:
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
    assert layouts_like(table(Layout(8, 1))) != []
    assert layouts_like([a(b(index)) for index in range(size(b))]) == []


@pytest.mark.parametrize(
    ("layout", "bound"), [(Layout((4, 2), (2, 3)), 24), (Layout((2, 2), (2, 3)), 12), (Layout((2, 2), (6, 2)), 24)]
)
def test_where_complement_should_raise_there_is_none(layout, bound):
    """The lowest empty place has to be the start of a copy, so trying is one loop."""
    filled: set[int] = set()
    for place in range(bound):
        if place not in filled:
            copy = {place + offset for offset in table(layout)}
            if copy & filled:
                return
            filled |= copy
    pytest.fail("there is a complement")


def test_an_order_of_modes_is_drawn():
    """The random layouts of the checks are not all column-major."""
    calls = drawn(22, composable)
    assert len({tuple(permutation) for a, _ in calls for permutation in [flatten(a.stride)]}) > 10
    assert any(list(flatten(a.stride)) != sorted(flatten(a.stride)) for a, _ in calls)
    assert any(isinstance(part, tuple) for a, _ in calls if isinstance(a.shape, tuple) for part in a.shape)


ROWS = Layout((4, 4), (4, 1))


@pytest.mark.parametrize(
    ("law", "args", "right", "wrong", "says"),
    [
        (laws.is_coalesced, (Layout((2, 2), (1, 2)),), Layout(4, 1), Layout((2, 2), (1, 2)), "could be one"),
        (laws.is_composition, (Layout(8, 2), Layout(4, 1)), Layout(4, 2), Layout(4, 1), "R(1) is 1"),
        (laws.turns_every_matrix, (4, 4), ROWS, Layout((4, 4), (1, 4)), "it sends (1, 0) to 1"),
        (laws.is_complement, (Layout(4, 1), 8), Layout(2, 4), Layout(2, 1), "meet at offset 1"),
        (laws.is_division, (Layout(8, 1), Layout(2, 1)), Layout((2, 4), (1, 2)), Layout((2, 4), (4, 1)), "(0, 1)"),
        (
            laws.is_zipped,
            (ROWS, (2, 2)),
            Layout(((2, 2), (2, 2)), ((4, 1), (8, 2))),
            Layout(((2, 2), (2, 2)), ((4, 1), (2, 8))),
            "of tile",
        ),
        (
            laws.is_block_tile,
            (ROWS, (2, 2), (1, 0)),
            (8, Layout((2, 2), (4, 1))),
            (2, Layout((2, 2), (4, 1))),
            "(2, 0) of the matrix",
        ),
        (laws.is_product, (Layout(4, 1), Layout(3, 1)), Layout((4, 3), (1, 4)), Layout((4, 3), (1, 5)), "mode 1"),
    ],
    ids=lambda value: getattr(value, "__name__", None),
)
def test_each_law_takes_what_is_right_and_says_what_breaks_it(law, args, right, wrong, says):
    assert law(right, *args) is None
    assert says in law(wrong, *args)


@pytest.mark.parametrize(
    "layout",
    [*(a for pair in drawn(5, composable) for a in pair), Layout(4, 2), Layout((), ()), Layout((4, 0), (1, 4))],
)
def test_offsets_are_what_the_layout_gives_where_it_is_called(layout):
    offsets = laws.Offsets(layout)
    assert offsets.flat == table(layout) == [offsets(index) for index in range(size(layout))]
    if len(laws.extents(layout)) == 2:
        rows, columns = map(range, laws.extents(layout))
        assert all(offsets(row, column) == layout(row, column) for row in rows for column in columns)


def test_the_page_counts_the_wrong_answers_of_cute():
    text = (SOLUTIONS / "02_layout_algebra.py").read_text(encoding="utf-8")
    in_order = [
        text.index(words)
        for words in ("CuTe's first wrong answer", "its second wrong answer", "third wrong", "fourth wrong")
    ]
    assert in_order == sorted(in_order)
    assert "Four times on this page the answer of CuTe" in text
