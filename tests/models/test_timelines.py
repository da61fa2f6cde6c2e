"""Timelines: pipelines, roles, blocks and attention."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tutorlib.models.timelines import (
    DELAY,
    EPILOGUE_ROWS,
    LOAD,
    START,
    TENSOR_CORES,
    TMA_ROW,
    Timeline,
    attention_chart,
    block_chart,
    launches_chart,
    roles_chart,
    sm_chart,
)  # fmt: skip

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


@given(*map(st.integers, (1, 0, 1, 1), (6, 12, 6, 6)), st.booleans(), st.integers(1, 3))
def test_the_period_is_what_it_settles_to(stages, latency, transfer, compute, at_once, blocks):
    stages += not at_once
    tiles = 30 * blocks * stages * max(stages - 1, 1)  # whole rounds
    long = Timeline(stages, latency, transfer, compute, 2 * tiles + 1, at_once, blocks)
    steps = long.steps
    settled = (steps[-1].done - steps[tiles].done) / tiles
    assert settled == pytest.approx(long.period)


def test_one_stage_stops_and_goes():
    assert Timeline(1, 4, 2, 3, tiles=5).total == 5 * (4 + 2 + 3)


@given(st.integers(1, 9), st.integers(1, 9), st.integers(1, 5))
def test_the_slower_of_host_and_gpu_sets_the_pace(launch, kernel, calls):
    assert launches_chart("", launch, kernel, calls).total == launch + kernel + (calls - 1) * max(launch, kernel)


KINDS = ("plain", "cooperative", "deferred stores")


@pytest.mark.parametrize("roles", KINDS)
@pytest.mark.parametrize(("ahead", "multiply", "results"), [(3, 8, 3), (2, 8, 4), (3, 6, 1)])
def test_a_row_does_one_thing_at_a_time(roles, ahead, multiply, results):
    chart = roles_chart(roles, 3, ahead, multiply, results)
    for row in chart.rows:
        spans = sorted((s.begin, s.end) for s in chart.spans if s.row == row)
        assert all(before[1] <= after[0] for before, after in pairwise(spans))


@pytest.mark.parametrize("roles", KINDS)
def test_all_do_the_same_work_and_nothing_is_used_before_it_comes(roles):
    chart = roles_chart(roles, ahead=3)
    spans = {(span.row, span.tile): span for span in chart.spans if span.label and not span.does}
    assert sum(span.end - span.begin for (row, _), span in spans.items() if row == "mma") == 3 * 8
    for (row, tile), span in spans.items():
        if row == "mma":
            assert span.begin >= spans["load", tile].begin + 3
            assert spans["store", tile].begin >= span.end


def test_each_lever_keeps_the_tensor_cores_busier():
    busy = [chart.multiplying / chart.total for chart in map(roles_chart, KINDS)]
    assert busy == sorted(busy)


def spans(timeline, row, does=""):
    return [span for span in timeline.spans if span.row == row and span.does == does]


@pytest.mark.parametrize("accumulators", [1, 2, 3])
def test_nothing_happens_before_what_it_needs(accumulators):
    timeline = block_chart(6, 4, 3, accumulators, 2)
    sent = {(span.tile, span.label): span.end for span in spans(timeline, TMA_ROW)}
    multiplied = spans(timeline, TENSOR_CORES)
    assert [(span.tile, span.label) for span in multiplied] == [(tile, str(k)) for tile in range(6) for k in range(4)]
    reads = {span.tile: span.end for span in spans(timeline, EPILOGUE_ROWS[3]) if span.label == "1"}
    for span in multiplied:
        assert sent[span.tile, span.label] < span.begin
        assert span.begin >= reads.get(span.tile - accumulators, 0)
    for first in (span for span in spans(timeline, EPILOGUE_ROWS[0]) if span.label == "0"):
        assert first.begin >= max(span.end for span in multiplied if span.tile == first.tile)


def test_a_blackwell_row_does_one_thing_at_a_time():
    timeline = block_chart(4, 5, 4, 2, 4)
    for row in timeline.rows:
        times = sorted((span.begin, span.end) for span in timeline.spans if span.row == row)
        assert all(end <= begin for (_, end), (begin, _) in pairwise(times)), row


def test_a_second_accumulator_keeps_the_tensor_cores_busy():
    charts = [block_chart(4, 5, 4, accumulators, 4) for accumulators in (1, 2)]
    cores = [spans(chart, TENSOR_CORES) for chart in charts]
    one, two = (chart.multiplying / (mine[-1].end - mine[0].begin) for chart, mine in zip(charts, cores, strict=True))
    assert one < 0.7 < two == 1


@pytest.mark.parametrize("blocks", ["a block for each tile", "persistent"])
def test_a_tile_is_computed_after_its_loads_and_a_warpgroup_has_one_tile_at_a_time(blocks):
    free, loaded = {"wg 0": 0, "wg 1": 0}, {}
    for span in sm_chart(blocks, tiles=5).spans:
        if span.row == "loads":
            loaded[span.tile] = span.end
        elif span.row != "mma":
            assert span.begin >= max(free[span.row], loaded[span.tile])
            free[span.row] = span.end


def test_a_persistent_block_saves_all_starts_and_loads_but_the_first():
    one, other = (sm_chart(blocks, tiles=5) for blocks in ("a block for each tile", "persistent"))
    assert one.total - other.total == 4 * (START + LOAD + DELAY)


def test_with_32_blocks_of_keys_it_takes_as_long_as_page_23_says():
    schedules = "together, in step", "together, apart", "turns for both"
    assert [attention_chart(schedule, blocks=32).total for schedule in schedules] == [448, 259, 258]


@pytest.mark.parametrize(
    ("schedule", "ticks"), [("together, in step", 42), ("together, apart", 27), ("turns for both", 26)]
)
def test_units_that_two_warpgroups_share_take_twice_as_long(schedule, ticks):
    chart = attention_chart(schedule)
    busy = {tick for span in chart.spans if span.row == "mma" for tick in range(span.begin, span.end)}
    assert (chart.total, len(busy)) == (ticks, 24)  # 2 warpgroups, 3 blocks of keys, S and P V of 2 ticks
