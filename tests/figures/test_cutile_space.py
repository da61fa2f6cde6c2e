"""The figure of notebook 07's space of tiles and hints."""

from dataclasses import replace

import pytest

from tests.stand_ins import multiplied, swept
from tutorlib.figures.registry import FIGURES
from tutorlib.instruments.sweeps import make_sweep
from tutorlib.measuring.results import Point


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
