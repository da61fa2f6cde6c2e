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
from tensor_layouts import Layout, cosize, flatten, mode, size

from tests.pages.n02_layout_algebra.nested_layouts import bounded, compositions, divisions, layouts, tilings
from tests.pages.n02_layout_algebra.solved_algebra import SOLVED, answer, table
from tutorlib.exercises.n02_layout_algebra import laws
from tutorlib.exercises.n02_layout_algebra.random_layouts import drawn, one_layout, two_matrices, two_ways_to_store
from tutorlib.layouts.oracle import Refused, ask

BATCH = 50  # questions in one trace
BATCHES = 10


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


def test_transposing_turns_what_cute_composes_with_it():
    def judge(args, cute):
        layout, turn = args
        rows, columns = (size(mode(layout, n)) for n in (0, 1))
        assert answer("transposing", rows, columns) == turn
        assert laws.turns_every_matrix(turn, rows, columns) is None
        assert table(Layout(mode(layout, 1), mode(layout, 0))) == table(cute)
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
