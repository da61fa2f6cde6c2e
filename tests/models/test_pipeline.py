"""The pipeline's timeline: the rules of the hardware hold, and the period is what it settles to."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tutorlib.models.pipeline import Timeline

timelines = st.builds(
    Timeline,
    stages=st.integers(1, 6),
    latency=st.integers(0, 12),
    transfer=st.integers(1, 6),
    compute=st.integers(1, 6),
    tiles=st.integers(1, 20),
)


@given(timelines)
def test_memory_arithmetic_and_buffers_do_one_thing_at_a_time(timeline):
    steps = timeline.steps
    for tile, step in enumerate(steps):
        assert step.issued + timeline.latency <= step.flows
        assert step.flows + timeline.transfer == step.arrived <= step.started
        assert step.started + timeline.compute == step.done
        if tile >= timeline.stages:
            assert step.issued >= steps[tile - timeline.stages].done
    for before, after in pairwise(steps):
        assert after.flows >= before.arrived
        assert after.started >= before.done


@given(st.integers(1, 6), st.integers(0, 12), st.integers(1, 6), st.integers(1, 6))
def test_the_period_is_what_it_settles_to(stages, latency, transfer, compute):
    long = Timeline(stages, latency, transfer, compute, tiles=60 * stages + 1)
    steps = long.steps
    settled = (steps[-1].done - steps[30 * stages].done) / (30 * stages)
    assert settled == pytest.approx(long.period)


def test_one_stage_stops_and_goes():
    assert Timeline(1, 4, 2, 3, tiles=5).total == 5 * (4 + 2 + 3)
