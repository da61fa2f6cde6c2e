"""The figure of notebook 12: tiles and stages, and what did not fit."""

from dataclasses import replace

import pytest

from tests.stand_ins import swept
from tutorlib.draw.palette import MARK
from tutorlib.figures.registry import FIGURES

FOUND = [
    swept("slow", sizes=(4096,), stages=2, tile=[64, 64, 64]),
    swept("a", sizes=(4096,), stages=3, tile=[64, 64, 64]),
]
FOUND += [swept("slow", sizes=(4096,), stages=2, tile=[128, 64, 64])]
STAGES = replace(FOUND[0], points=tuple(point for found in FOUND for point in found.points))


def test_speeds_by_tile_and_stages_the_fastest_outlined():
    axes = FIGURES["gemm_stages"].draw([STAGES]).axes[0]
    assert [text.get_text() for text in axes.texts] == ["100", "400", "100"]
    assert [label.get_text() for label in axes.get_yticklabels()] == ["64×64×64", "128×64×64"]
    (outlined,) = [patch for patch in axes.patches if not patch.get_hatch()]
    assert outlined.get_xy() == (0.5, -0.5)
    assert outlined.get_edgecolor()[:3] == pytest.approx([int(MARK[n : n + 2], 16) / 255 for n in (1, 3, 5)])


def test_hatched_is_what_has_no_room_or_was_not_measured():
    axes = FIGURES["gemm_stages"].draw([STAGES]).axes[0]
    (hatched,) = [patch for patch in axes.patches if patch.get_hatch()]
    assert hatched.get_xy() == (0.5, 0.5)
    assert axes.get_xlabel().endswith("too large for shared memory")
    assert FIGURES["gemm_stages"].draw([replace(STAGES, complete=False)]).axes[0].get_xlabel().endswith("not measured")


def test_below_a_speed_stand_warps_and_blocks():
    found = swept("slow", sizes=(4096,), stages=3, tile=[128, 128, 64], warps=[2, 2], registers=234)
    axes = FIGURES["gemm_stages"].draw([found]).axes[0]
    assert [text.get_text() for text in axes.texts] == ["100\n4 × 2"]
    assert "warps × blocks" in axes.get_xlabel()
    unknown = replace(found, machine={**found.machine, "arch": "sm_60"})
    assert "warps" not in FIGURES["gemm_stages"].draw([unknown]).axes[0].get_xlabel()
