"""mbarriers: a phase is over when the history of arrivals and bytes says so; a ring is safe, or its fault shows."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tutorlib.exercises.p13 import ring
from tutorlib.models.mbarrier import FAULTS, LOOPS, RingModel, fresh

arrivals = st.tuples(st.just("arrive"), st.integers(0, 3))  # with so many bytes announced
deliveries = st.tuples(st.just("bytes"), st.integers(1, 3))
histories = st.lists(st.one_of(arrivals, deliveries))


def phases(count: int, history: list[tuple[str, int]]) -> int:
    """How many phases a history completes, told from the history: a phase is the shortest piece of it with `count`
    arrivals and with as many bytes announced as have come."""
    done, begin = 0, 0
    for end in range(1, len(history) + 1):
        piece = history[begin:end]
        arrivals = sum(kind == "arrive" for kind, _ in piece)
        announced, came = (sum(n for kind, n in piece if kind == which) for which in ("arrive", "bytes"))
        if arrivals == count and announced == came:
            done, begin = done + 1, end
    return done


@given(st.integers(1, 4), histories)
def test_a_phase_is_over_when_all_have_arrived_and_all_bytes_have_come(count, history):
    barrier, so_far = fresh(count), []
    for kind, number in history:
        try:
            barrier = barrier.arrive(number) if kind == "arrive" else barrier.deliver(number)
        except ValueError:
            assert barrier.missing == 0
            return
        so_far.append((kind, number))
        assert barrier.phase == phases(count, so_far)
        assert barrier.lets_pass(0) == (barrier.phase % 2 == 1)
        assert barrier.lets_pass(1) != barrier.lets_pass(0)


def test_a_fresh_barrier_lets_the_producer_pass_and_not_the_consumer():
    assert fresh(1).lets_pass(1)
    assert not fresh(1).lets_pass(0)


orders = st.lists(st.sampled_from(("producer", "consumer", "A", "B", "last")), min_size=1, max_size=300)


def played(model: RingModel, choices: list[str]) -> RingModel:
    """In this order, until something is wrong; a transfer is the oldest, the second oldest or the newest."""
    for who in choices:
        if model.wrong:
            break
        if who in LOOPS:
            model.step(who)
        elif model.in_flight:
            model.arrive({"A": 0, "B": min(1, len(model.in_flight) - 1), "last": -1}[who])
    return model


@given(st.integers(1, 4), orders)
def test_a_right_ring_is_safe_in_any_order(stages, choices):
    model = played(RingModel(stages), choices)
    assert model.wrong == ""
    assert model.multiplied <= model.producer.count + 1 <= model.multiplied + stages + 1


@given(st.integers(1, 4), orders)
def test_both_sides_are_where_cutes_pipeline_state_would_be(stages, choices):
    model = played(RingModel(stages), choices)
    for side, producer in (("producer", True), ("consumer", False)):
        here = model.place(side)
        assert (here.index, here.phase) == ring(here.count, stages, producer)


def fairly(model: RingModel, transfers: str, tiles: int = 6) -> RingModel:
    """Everybody in turn, the consumer slowest. transfers: "A" for the oldest first, "last" for the newest."""
    for _ in range(40 * tiles):
        played(model, ["producer"] * 8 + [transfers, "consumer"])
    return model


@pytest.mark.parametrize("stages", [1, 2, 3, 4])
@pytest.mark.parametrize("transfers", ["A", "last"])
def test_a_right_ring_goes_on(stages, transfers):
    assert fairly(RingModel(stages), transfers).multiplied > 20


SHOWS = [  # fault, stages, which transfers first, what it comes to
    ("the consumer does not arrive on empty", 1, "A", "forever"),
    ("the consumer does not arrive on empty", 4, "last", "forever"),
    ("the consumer waits for the other phase", 2, "last", "A and B of tile 0 are not there"),
    ("the producer begins with phase 0", 3, "A", "forever"),
    ("the producer expects A's bytes alone", 2, "A", "forever"),
    ("the producer expects A's bytes alone", 2, "last", "forever"),
    ("the producer does not wait for empty", 1, "A", "lost"),
    ("the producer does not wait for empty", 2, "last", "lost"),
    ("the consumer frees before it is done", 2, "A", "overwrites stage 0 while wgmmas still read it"),
]


@pytest.mark.parametrize(("fault", "stages", "transfers", "says"), SHOWS)
def test_a_broken_ring_shows_it(fault, stages, transfers, says):
    assert says in fairly(RingModel(stages, fault), transfers).wrong


def test_every_fault_is_shown():
    assert {fault for fault, *_ in SHOWS} == set(FAULTS[1:])
