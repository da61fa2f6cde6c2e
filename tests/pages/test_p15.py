"""Notebook 15: its references against the kernel, the real CuTe DSL and definitions; right answers that are unusual."""

from dataclasses import replace
from functools import cache
from math import prod

import cutlass
import pytest
from cutlass import cute
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.pages.table import solved
from tests.stand_ins import H200, copied
from tutorlib.checking import kernel
from tutorlib.exercises import find
from tutorlib.exercises.judges.hopper import LEVERS, Chosen, shown, wrong_lever
from tutorlib.kernels.hopper.config import HopperConfig
from tutorlib.machine import device
from tutorlib.measuring import results
from tutorlib.models import hopper_gemm

sides = st.sampled_from([1, 2, 4])
clusters = st.tuples(sides, sides).filter(lambda cluster: cluster[0] * cluster[1] <= 8)

# References ------------------------------------------------------------------------------------------------------


@cache
def real_masks(cluster, mode):
    """What the real CuTe DSL, which the kernel asks for it, has as the mask of every block of a cluster, by rank."""
    masks = []

    @cute.jit
    def trace(masks: cutlass.Constexpr):
        layout = cute.make_layout(cluster)
        for rank in cutlass.range_constexpr(cluster[0] * cluster[1]):
            place = rank % cluster[0], rank // cluster[0]
            masks.append(cute.make_layout_image_mask(layout, place, 1 - mode))

    trace(masks)
    return [int(getattr(mask, "value", mask)) for mask in masks]


@pytest.mark.parametrize("mode", [0, 1])
@pytest.mark.parametrize("cluster", [(1, 1), (2, 1), (1, 2), (2, 2), (4, 2), (2, 4)])
def test_multicast_has_the_masks_of_the_real_cute(cluster, mode):
    ranks = range(cluster[0] * cluster[1])
    assert [hopper_gemm.multicast(rank, cluster, 128, mode)[2] for rank in ranks] == real_masks(cluster, mode)


@given(clusters, st.sampled_from([0, 1]))
def test_the_parts_that_a_block_receives_are_the_whole_tile(cluster, mode):
    ranks = range(cluster[0] * cluster[1])
    loads = [hopper_gemm.multicast(rank, cluster, 128, mode) for rank in ranks]
    for rank in ranks:
        rows = sorted(row for first, count, mask in loads if mask >> rank & 1 for row in range(first, first + count))
        assert rows == list(range(128))


@pytest.mark.parametrize("tile", [(128, 256, 64), (256, 192, 64), (64, 256, 64), (128, 128, 128)])
@pytest.mark.parametrize("cluster", [(1, 1), (2, 1), (1, 2), (2, 4)])
def test_bytes_of_a_step_are_those_of_a_stage_and_of_all_loads_of_a_cluster(tile, cluster):
    stage = HopperConfig(tile=tile).stage_bytes
    (m, n, k), blocks = tile, range(cluster[0] * cluster[1])
    written, read, sent = hopper_gemm.step_bytes(tile, cluster)
    assert (written, read) == (stage, m // 64 * (64 + n) * k * 2)
    loaded = sum(
        hopper_gemm.multicast(rank, cluster, rows, mode)[1] for rank in blocks for mode, rows in enumerate((m, n))
    )
    assert sent * len(blocks) == loaded * k * 2


@settings(max_examples=60)
@given(st.integers(1, 20), st.integers(1, 12), st.integers(1, 12))
def test_stream_k_shares_the_work(count, tiles, k_tiles):
    shares = [hopper_gemm.stream_k(cluster, count, tiles, k_tiles) for cluster in range(count)]
    taken = [(tile, k) for items in shares for tile, begin, end in items for k in range(begin, end)]
    assert sorted(taken) == [(tile, k) for tile in range(tiles) for k in range(k_tiles)]
    lengths = [sum(end - begin for _, begin, end in items) for items in shares]
    assert max(lengths) - min(lengths) <= 1
    assert sum(map(len, shares)) <= tiles + count - 1


@pytest.mark.parametrize("shape", [(2048, 2048, 2048), (4096, 4096, 4096), (8192, 8192, 8192)])
def test_the_model_knows_what_each_lever_is_for(shape):
    def of(**changes):
        return hopper_gemm.gemm_time(HopperConfig(**changes), *shape, hopper_gemm.Sm())

    assert of(cluster=(2, 1)) < of(cluster=(1, 2)) < of()
    if shape[0] == 2048:  # one wave
        assert of(cluster=(2, 1), stream_k=True) > of(cluster=(2, 1)) < of(tile=(128, 192, 64), cluster=(2, 1))
    if shape[0] == 8192:
        assert of(cluster=(2, 1), stream_k=True) < of(cluster=(2, 1))


# Choosing a configuration -----------------------------------------------------------------------------------------


@pytest.fixture
def timed(monkeypatch):
    """A GPU on which everything is right, and the second shape slower."""
    monkeypatch.setattr(device, "need_gpu", lambda: H200)
    monkeypatch.setattr(kernel, "recorded", lambda id, shape: None)
    monkeypatch.setattr(
        kernel,
        "measure",
        lambda problem, launcher, shape: replace(copied(RATIOS[shape]), shape=shape, baseline="cuBLAS", gbps=None),
    )


TIMED = ((256, 512, 1024), (512, 768, 8192))
RATIOS = dict(zip(TIMED, (1.1, 0.8), strict=True))
CHOICE = replace(find("16.2"), id="99.1", part=Chosen(timed=TIMED, close=1.14), points=3, tiers=(0.9,), spans=())


@pytest.mark.usefixtures("timed")
@pytest.mark.parametrize(("target", "points"), [(None, 3), (0.8, 3), (0.9, 2)])
def test_the_shape_at_which_it_does_worst_counts(monkeypatch, target, points):
    monkeypatch.setattr(results, "target_ratio", lambda arch, id: target)
    verdict = CHOICE.time(None)
    assert verdict.points == points
    assert verdict.measurement.shape == TIMED[1]


@pytest.mark.usefixtures("timed")
def test_a_recorded_measurement_stands_for_all(monkeypatch):
    monkeypatch.setattr(results, "target_ratio", lambda arch, id: 1.0)
    before = replace(copied(0.95), shape=TIMED[0], baseline="cuBLAS")
    monkeypatch.setattr(kernel, "recorded", lambda id, shape: before if shape == TIMED[0] else None)
    assert CHOICE.time(None).measurement == before


@pytest.mark.usefixtures("no_gpu")
@pytest.mark.parametrize(
    ("config", "says"),
    [
        (HopperConfig(), "for 256×512×1024 the course's model expects"),
        (HopperConfig(dtype="fp16"), "A and B are bf16, not fp16"),
        (HopperConfig(scaled=True), "scaled is not for this exercise"),
        ((128, 256, 64), "not a HopperConfig"),
    ],
)
def test_a_choice_that_is_refused_by_itself(config, says):
    message = CHOICE.grade(lambda m, n, k: config).message
    assert says in message


def test_a_configuration_shows_what_differs():
    assert shown(HopperConfig()) == "HopperConfig()"
    assert shown(HopperConfig(cluster=(2, 1), polls=True)) == "cluster=(2, 1), polls=True"


# Faults told ------------------------------------------------------------------------------------------------------


def test_an_estimate_of_the_wrong_kind_and_one_that_raises():
    exercise = find("16.1")
    assert "it should be a number of cycles" in exercise.grade(lambda *args: "fast").message
    assert "ZeroDivisionError" in exercise.grade(lambda tile, cluster, sm: 1 / 0).message


def test_a_repair_is_told_the_rows_that_are_farthest_apart():
    right = solved("16.1")
    message = find("16.1").grade(lambda tile, cluster, sm: right(tile, cluster, sm) * prod(cluster)).message
    assert "×0.975 the measured time (128×128 at 8192×8192×8192)" in message
    assert "(128×192, ping-pong at 4096×4096×4096), more than ×1.14 apart" in message


@pytest.mark.parametrize(
    ("shape", "settings", "says"),
    [
        ((3072, 3072, 8192), {}, "its 144 clusters leave an SM idle for 104.7 of 384 K tiles, and stream_k is False"),
        ((2048, 2048, 2048), {"stream_k": True}, "an SM idle for 1.0 of 32 K tiles, and stream_k is True"),
        ((4224, 4096, 8192), {}, "its 272 clusters leave an SM idle for 112.5 of 640 K tiles"),
        ((4096, 4096, 4096), {"tile": (128, 128, 64)}, "it has tile=(128, 128, 64), cluster=(2, 1), "),
        ((4096, 4096, 4096), {}, ""),
        ((8192, 8192, 8192), {}, ""),
        ((8192, 8192, 8192), {"stream_k": True}, ""),
    ],
)
def test_a_lever_that_is_wrong_by_counts(shape, settings, says):
    found = wrong_lever(shape, replace(LEVERS, **settings))
    assert says in found if says else not found
