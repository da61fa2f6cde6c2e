"""Notebook 02: the solutions, on random nested layouts, against real CuTe and against the operators' laws.

Three libraries meet here, and they do not agree everywhere:
- Where the law of a composition or a complement cannot hold, the solutions raise. CuTe sometimes refuses, sometimes
  gives a layout that breaks the law, and ends the process in some divisions and products (see tutorlib.layouts.oracle).
  tensor_layouts raises for compositions and not for complements.
- A plain number as a tile is n:1 to CuTe; tensor_layouts divides a nested mode's first part by it.
- A mode of extent 1 keeps a stride in CuTe's compositions, or has them refused. In the solutions its stride is 0.
"""

from collections import Counter

import pytest
import tensor_layouts as tl
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from tensor_layouts import Layout, cosize, flatten, mode, rank, size

from tutorlib.checking import values
from tutorlib.course.source import parse
from tutorlib.exercises.algebra import laws, mistakes
from tutorlib.exercises.algebra.random_layouts import composable, drawn, one_layout, two_matrices, two_ways_to_store
from tutorlib.exercises.n02_layout_algebra import EXERCISES
from tutorlib.layouts import oracle
from tutorlib.layouts.oracle import Refused, ask
from tutorlib.paths import SOLUTIONS

BATCH = 50  # questions in one trace
BATCHES = 10
EXTENTS = (1, 2, 2, 3, 4, 4, 5, 6, 8)


def solved() -> dict:
    """The answer cells of the source, run: name → function."""
    names = {"tl": tl, "Layout": Layout, "cosize": cosize, "flatten": flatten, "mode": mode, "rank": rank, "size": size}
    for cell in parse(SOLUTIONS / "02_layout_algebra.py"):
        if cell.role == "answer":
            exec(cell.solved, names)
    return names


SOLVED = solved()


# Random layouts --------------------------------------------------------------------------------------------------


def layout_of(modes) -> Layout:
    """[(2, 1), [(4, 2), (3, 8)]] → (2,(4,3)):(1,(2,8))."""

    def pick(tree, n):
        return tuple(pick(part, n) for part in tree) if isinstance(tree, list) else tree[n]

    return Layout(pick(modes, 0), pick(modes, 1))


@st.composite
def nested(draw, modes: list) -> Layout:
    """The flat modes, in brackets up to two deep."""
    if len(modes) == 1 and draw(st.booleans()):
        return layout_of(modes[0])
    first, second = sorted(draw(st.integers(0, len(modes))) for _ in range(2))
    middle = modes[first:second]
    return layout_of([*modes[:first], *([middle] if middle else []), *modes[second:]])


@st.composite
def extents(draw, largest: int) -> list[int]:
    picked = draw(st.lists(st.sampled_from(EXTENTS), min_size=1, max_size=4))
    while size(tuple(picked)) > largest:
        picked.remove(max(picked))
    return picked or [1]


@st.composite
def layouts(draw, largest: int = 64, wild: bool = True) -> Layout:
    """Modes stored in any order, with holes; or, where wild, with any strides at all."""
    shape = draw(extents(largest))
    if wild and draw(st.integers(0, 2)) == 0:
        strides = [draw(st.sampled_from((0, 1, 1, 2, 3, 4, 6, 8, 12, 16, 24))) for _ in shape]
    else:
        strides, step = [0] * len(shape), 1
        for n in draw(st.permutations(range(len(shape)))):
            strides[n] = step
            step *= shape[n] * draw(st.sampled_from((1, 1, 1, 2, 3)))
    return draw(nested(list(zip(shape, strides, strict=True))))


@st.composite
def pickers(draw, of: int) -> Layout:
    """Layouts whose offsets are indices below `of`."""
    left, modes = of - 1, []
    for extent in draw(extents(of)):
        farthest = left // (extent - 1) if extent > 1 else of
        likely = [step for step in (1, 2, 3, 4, 6, 8, 12, 16, 24, 32) if step <= farthest]
        step = draw(st.sampled_from([0, *likely, *likely, *likely]))
        left -= step * (extent - 1)
        modes.append((extent, step))
    return draw(nested(modes))


@st.composite
def compositions(draw) -> tuple[Layout, Layout]:
    a = draw(layouts())
    return a, draw(pickers(size(a)))


@st.composite
def bounded(draw) -> tuple[Layout, int]:
    layout = draw(layouts(largest=32))
    return layout, cosize(layout) * draw(st.sampled_from((1, 1, 2, 3))) + draw(st.sampled_from((0, 0, 0, 1, 5)))


@st.composite
def tilings(draw) -> tuple[Layout, tuple[int, ...]]:
    """A layout of rank 2 or 3 and a tile extent for each mode, which need not divide."""
    modes = draw(st.integers(2, 3))
    parts = [draw(layouts(largest=16 if modes == 2 else 6)) for _ in range(modes)]
    return Layout(*parts), tuple(draw(st.integers(1, size(part))) for part in parts)


def on_random(cases: st.SearchStrategy, operation: str, judge) -> Counter:
    """Ask CuTe about 500 random cases; judge(args, cute) names what happened. Returns how often each did."""
    seen: Counter = Counter()

    @settings(
        max_examples=BATCHES,
        derandomize=True,
        database=None,
        phases=[Phase.generate],  # the judge's own message names one small case; shrinking a batch takes minutes
        suppress_health_check=list(HealthCheck),
    )
    @given(st.lists(cases, min_size=BATCH, max_size=BATCH))
    def run(batch):
        for args, cute in zip(batch, ask((operation, *args) for args in batch), strict=True):
            seen[judge(args, cute)] += 1

    run()
    assert seen.total() >= 500
    return seen


def answer(name: str, *args) -> Layout | None:
    """The solution's answer; None where it raises ValueError."""
    try:
        return SOLVED[name](*args)
    except ValueError:
        return None


def table(layout: Layout) -> list[int]:
    return [layout(index) for index in range(size(layout))]


# Against CuTe ----------------------------------------------------------------------------------------------------


def test_coalesce_is_cutes():
    def judge(args, cute):
        assert SOLVED["coalesce"](*args) == cute
        assert laws.is_coalesced(cute, *args) is None
        return "merged" if len(flatten(cute.shape)) < len(flatten(args[0].shape)) else "as it was"

    seen = on_random(st.tuples(layouts()), "coalesce", judge)
    assert min(seen.values()) > 50


def adds_up(a: Layout, b: Layout) -> bool:
    """Whether the modes of b do not carry into each other in a: a(b(i)) is the sum over b's modes."""
    single = list(zip(flatten(b.shape), flatten(b.stride), strict=True))

    def by_mode(index):
        total = a(0)
        for extent, step in single:
            total += a(index % extent * step) - a(0)
            index //= extent
        return total

    return all(a(b(index)) == by_mode(index) for index in range(size(b)))


def test_compose_is_cutes_wherever_the_law_can_hold():
    def judge(args, cute):
        a, b = args
        mine = answer("compose", a, b)
        lawful = [a(b(index)) for index in range(size(b))]
        if mine is None:
            if isinstance(cute, Refused):
                return "both refuse"
            assert table(cute) != lawful
            return "CuTe breaks the law"
        if not adds_up(a, b):
            return "modes carry"
        assert laws.is_composition(mine, a, b) is None
        if isinstance(cute, Refused):
            return "CuTe refuses"
        assert table(mine) == table(cute) == lawful
        return "equal" if mine == cute else "the same function"

    seen = on_random(compositions(), "composition", judge)
    assert seen["equal"] + seen["the same function"] > 300
    assert seen["both refuse"] > 5
    assert seen["CuTe breaks the law"] > 0


def test_complement_is_cutes_wherever_the_law_can_hold():
    def judge(args, cute):
        mine = answer("complement", *args)
        if mine is None:
            assert isinstance(cute, Refused) or not fills(*args, cute)
            return "no complement"
        assert laws.is_complement(mine, *args) is None
        assert table(mine) == table(cute)
        return "equal" if mine == cute else "the same function"

    seen = on_random(bounded(), "complement", judge)
    assert seen["equal"] > 300
    assert seen["no complement"] > 20


def fills(layout: Layout, bound: int, starts: Layout) -> bool:
    """Whether every offset below the bound is one of the layout's plus one start, in one way."""
    sums = Counter(offset + start for offset in set(table(layout)) for start in table(starts))
    return set(sums.values()) == {1} and set(range(bound)) <= set(sums)


def test_logical_divide_is_cutes_wherever_the_law_can_hold():
    def judge(args, cute):
        layout, tile = args
        mine = answer("logical_divide", layout, tile)
        if mine is None:
            return "refused"
        if not isinstance(cute, Refused):
            assert table(mine) == table(cute)
        if not adds_up(layout, Layout(tile, tl.complement(tile, size(layout)))):
            return "modes carry"
        assert laws.is_division(mine, layout, tile) is None
        return "CuTe refuses" if isinstance(cute, Refused) else "equal" if mine == cute else "the same function"

    seen = on_random(divisions(), "logical_divide", judge)
    assert seen["equal"] + seen["the same function"] > 300


@st.composite
def divisions(draw) -> tuple[Layout, Layout]:
    """A layout and a tile that picks some of its indices, none twice."""
    layout = draw(layouts())
    tile = draw(pickers(size(layout)).filter(lambda b: len(set(table(b))) == size(b)))
    return layout, tile


def test_zipped_divide_is_cutes():
    def judge(args, cute):
        mine = answer("zipped_divide", *args)
        if mine is None:
            return "refused"
        assert laws.is_zipped(mine, *args) is None
        assert not isinstance(cute, Refused)
        assert table(mine) == table(cute)
        layout, tiler = args
        whole = all(size(mode(layout, n)) % tile == 0 for n, tile in enumerate(tiler))
        return "divides" if whole else "sticks out"

    seen = on_random(tilings(), "zipped_divide", judge)
    assert seen["divides"] > 100
    assert seen["sticks out"] > 100


def test_logical_product_is_cutes_wherever_the_law_can_hold():
    def judge(args, cute):
        block, grid = args
        mine = answer("logical_product", block, grid)
        if mine is None:
            return "refused"
        if not isinstance(cute, Refused):
            assert table(mine) == table(cute)
        if not adds_up(tl.complement(block, size(block) * cosize(grid)), grid):
            return "modes carry"
        assert laws.is_product(mine, block, grid) is None
        return "CuTe refuses" if isinstance(cute, Refused) else "equal" if mine == cute else "the same function"

    products = st.tuples(layouts(largest=16, wild=False), layouts(largest=12, wild=False))
    seen = on_random(products, "logical_product", judge)
    assert seen["equal"] + seen["the same function"] > 300


def test_transposed_is_a_transpose():
    def judge(args, cute):
        layout, _ = args
        mine = answer("transposed", layout)
        if mine is None:
            return "refused"
        assert laws.is_transpose(mine, layout) is None
        assert table(mine) == table(cute)
        return "transposed"

    @st.composite
    def matrices(draw):
        layout = Layout(*(draw(layouts(largest=12)) for _ in range(2)))
        rows, columns = (size(mode(layout, n)) for n in (0, 1))
        return layout, Layout((columns, rows), (rows, 1))

    seen = on_random(matrices(), "composition", judge)
    assert seen["transposed"] >= 500


def test_block_tile_is_where_cute_says():
    layout, tile = Layout(((2, 4), (2, 4)), ((1, 16), (2, 4))), (2, 4)
    (tiles,) = ask([("zipped_divide", layout, tile)])
    blocks = [(row, column) for row in range(4) for column in range(2)]
    starts = ask(("crd2idx", ((0, 0), block), tiles) for block in blocks)
    for block, start in zip(blocks, starts, strict=True):
        offset, within = SOLVED["block_tile"](layout, tile, block)
        assert offset == start
        assert table(within) == table(mode(tiles, 0))


# The checks themselves -------------------------------------------------------------------------------------------


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
    monkeypatch.setattr(values, "on_its_own", lambda answer, library: answer)  # they call what no answer may
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


# What the notebook says about CuTe -------------------------------------------------------------------------------


def test_cute_breaks_the_law_where_the_notebook_says_so():
    a, b = Layout((6, 2), (8, 2)), Layout(4, 4)
    long, tile = Layout((10, 2), (2, 1)), Layout(4, 1)
    composed, gaps, divided = ask(
        [("composition", a, b), ("complement", Layout((4, 2), (2, 3)), 24), ("logical_divide", long, tile)]
    )
    assert table(composed)[:3] == [0, 32, 2] != [a(b(index)) for index in range(3)]
    assert size(gaps) == 0
    assert divided(0, 3) == 1 != long(12)
    with pytest.raises(ValueError, match="not divisible"):
        tl.compose(a, b)


def test_modes_of_extent_1_keep_a_stride_in_cute_alone():
    a, b, uneven = Layout((4, 8), (8, 1)), Layout((4, 1), (1, 4)), Layout((4, 1), (1, 5))
    kept, refused = ask([("composition", a, b), ("composition", a, uneven)])
    assert kept == Layout((4, 1), (8, 1))
    assert isinstance(refused, Refused)
    assert SOLVED["compose"](a, b) == SOLVED["compose"](a, uneven) == Layout((4, 1), (8, 0))


def test_tensor_layouts_divides_the_first_part_of_a_nested_mode_by_a_plain_number():
    rows = Layout((4, 2), (1, 32))
    assert (
        ask([("logical_divide", rows, 2)])
        == [tl.logical_divide(rows, Layout(2, 1))]
        == [Layout((2, (2, 2)), (1, (2, 32)))]
    )
    assert tl.logical_divide(rows, 2) == Layout(((2, 2), 2), ((1, 2), 32))


ROWS = Layout((4, 4), (4, 1))


@pytest.mark.parametrize(
    ("law", "args", "right", "wrong", "says"),
    [
        (laws.is_coalesced, (Layout((2, 2), (1, 2)),), Layout(4, 1), Layout((2, 2), (1, 2)), "could be one"),
        (laws.is_composition, (Layout(8, 2), Layout(4, 1)), Layout(4, 2), Layout(4, 1), "R(1) is 1"),
        (laws.is_transpose, (ROWS,), Layout((4, 4), (1, 4)), ROWS, "it sends (1, 0) to 4"),
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


# The second half of the page --------------------------------------------------------------------------------------


def same_function(mine: Layout, cute: Layout) -> bool:
    return table(mine) == table(cute)


def test_blocked_products_are_cutes():
    pairs = drawn(1, two_matrices, 60)
    for (block, grid), cute in zip(pairs, ask(("blocked_product", *pair) for pair in pairs), strict=True):
        assert same_function(SOLVED["blocked_product"](block, grid), cute)


def test_right_inverses_are_cutes():
    single = drawn(2, one_layout, 60)
    for (layout,), cute in zip(single, ask(("right_inverse", *one) for one in single), strict=True):
        assert same_function(SOLVED["right_inverse"](layout), cute)
        assert laws.is_right_inverse(cute, layout) is None


def test_common_vectors_are_cutes():
    pairs = drawn(3, two_ways_to_store, 60)
    answers = ask(("max_common_vector", *pair) for pair in pairs)
    assert [SOLVED["common_vector"](*pair) for pair in pairs] == answers
    assert len(set(answers)) > 4


def test_thread_value_layouts_are_cutes():
    """make_layout_tv is right_inverse(raked_product(threads, values)) ∘ (threads, values): see its source."""
    pairs = drawn(4, two_matrices, 60)
    inverses = ask(("right_inverse", product) for product in ask(("raked_product", *pair) for pair in pairs))
    counts = [Layout((size(threads), size(values))) for threads, values in pairs]
    theirs = ask(("composition", *pair) for pair in zip(inverses, counts, strict=True))
    for pair, cute in zip(pairs, theirs, strict=True):
        assert same_function(SOLVED["layout_tv"](*pair), cute)
        assert laws.is_thread_value(cute, *pair) is None


def test_the_page_counts_the_wrong_answers_of_cute():
    text = (SOLUTIONS / "02_layout_algebra.py").read_text(encoding="utf-8")
    in_order = [
        text.index(words)
        for words in ("The second answer is wrong", "its second answer that breaks", "third wrong", "fourth wrong")
    ]
    assert in_order == sorted(in_order)
    assert "Four times on this page it found" in text
