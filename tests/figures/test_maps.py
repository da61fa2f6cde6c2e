"""Maps of tiles, and the traffic of orders of blocks."""

from dataclasses import replace

import pytest

from tests.stand_ins import UNKNOWN, multiplied, swept
from tutorlib.draw.palette import MARK
from tutorlib.figures.registry import FIGURES
from tutorlib.instruments.sweeps import make_sweep
from tutorlib.measuring.counters import MEMORY_READ, WAVES
from tutorlib.measuring.results import Point

STAGED = [
    swept("slow", sizes=(4096,), stages=2, tile=[64, 64, 64]),
    swept("a", sizes=(4096,), stages=3, tile=[64, 64, 64]),
]
STAGED += [swept("slow", sizes=(4096,), stages=2, tile=[128, 64, 64])]
STAGES = replace(STAGED[0], points=tuple(point for found in STAGED for point in found.points))


def test_speeds_by_tile_and_stages_the_fastest_outlined():
    axes = FIGURES["gemm_stages"].draw([STAGES]).axes[0]
    assert [text.get_text() for text in axes.texts] == ["100", "400", "100"]
    assert [label.get_text() for label in axes.get_yticklabels()] == ["64×64×64", "128×64×64"]
    (outlined,) = [patch for patch in axes.patches if not patch.get_hatch()]
    assert outlined.get_xy() == (0.5, -0.5)
    assert outlined.get_edgecolor()[:3] == pytest.approx([int(MARK[n : n + 2], 16) / 255 for n in (1, 3, 5)])


@pytest.fixture
def found():
    """The whole space, in which the n-th candidate reaches n + 1 TFLOP/s."""
    sweep = make_sweep("tile_space")
    points = tuple(
        Point(candidate.name, multiplied(sweep.shapes[0], n), candidate.facts)
        for n, candidate in enumerate(sweep.candidates, 1)
    )
    return replace(swept("slow"), points=points)


def test_the_map_shows_the_best_hints_of_each_tile(found):
    axes = FIGURES["tile_heatmap"].draw([found]).axes[0]
    best = max(found.points, key=lambda point: point.measurement.tflops)
    config = best.facts["config"]
    tiles = {tuple(point.facts["config"][name] for name in ("tm", "tn", "tk")) for point in found.points}
    assert len(axes.texts) == len(tiles)
    says = f"{best.measurement.tflops}\n{config['num_worker_warps']} warps"
    assert any(text.get_text().startswith(says) for text in axes.texts)
    (outlined,) = [patch for patch in axes.patches if not patch.get_hatch()]
    assert (config["tm"], config["tn"]) == (256, 256)
    assert outlined.get_xy()[1] == len(axes.get_yticks()) - 1.5  # tiles of 256×256 are the last row


COUNTED = {name: {MEMORY_READ: 2e9, WAVES: 4096 / 264} for name in ("raster", "groups of 8")}
ORDERS = replace(swept(*COUNTED, sizes=(4096, 8192), tile=[128, 128, 64]), counters=COUNTED)


def memory(found):
    return FIGURES["gemm_orders"].draw([found]).axes[1]


def test_counted_beside_the_model():
    axes = memory(ORDERS)
    assert [bar.get_width() for bar in axes.patches] == [2, 2]
    raster, grouped = (x for x, _ in axes.collections[0].get_offsets())
    least = axes.get_lines()[0].get_xdata()[0]
    assert raster > 2 * grouped > least
    assert least == pytest.approx(2 * 2 * 8192 * 8192 / 1e9)


def test_without_counters_or_hardware():
    assert not memory(replace(ORDERS, machine=UNKNOWN)).collections
    assert memory(replace(ORDERS, counters={})).get_xlabel().startswith("no counters")
