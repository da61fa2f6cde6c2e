"""Figures of performance: ladders, attention, Hopper's shapes, maps."""

from dataclasses import replace

import pytest
from typer.testing import CliRunner

from tests.stand_ins import MACHINE, multiplied, swept
from tutorlib.cli import app
from tutorlib.draw.palette import MARK
from tutorlib.figures import registry
from tutorlib.figures.ladders import attention_ladder, gemm_ladder
from tutorlib.figures.registry import FIGURES
from tutorlib.instruments.table import SWEEPS
from tutorlib.kernels.ladder import LADDER
from tutorlib.measuring import results
from tutorlib.measuring.results import NoData, Point, SweepResults


def lines(axes):
    return {line.get_label(): list(line.get_ydata()) for line in axes.get_lines()}


def test_a_family_without_a_rung_has_no_row():
    assert len(gemm_ladder([swept("10 slow", "11 fast")]).axes) == 2
    with pytest.raises(NoData, match="no rung was measured"):
        gemm_ladder([])


def test_a_plot_has_six_lines_at_most():
    found = swept(*(rung.title for rung in LADDER))
    found = replace(found, facts={"mma_sync_tflops": 620.4})
    for axes in gemm_ladder([found]).axes:
        assert len(axes.get_lines()) <= 6


def test_a_rung_has_one_color_in_all_figures():
    found = swept(*(rung.title for rung in LADDER))
    shown = {}
    for axes in (*gemm_ladder([found]).axes, *gemm_ladder([found], [LADDER[0].title]).axes):
        for line in axes.get_lines():
            if line.get_label() in {rung.title for rung in LADDER}:
                assert shown.setdefault(line.get_label(), line.get_color()) == line.get_color()
    assert len(set(shown.values())) == len(shown)


def test_it_shows_speeds_and_ratios():
    speed, ratio = gemm_ladder([swept("10 slow", "13 fast")]).axes
    assert lines(speed) == {"cuBLAS": pytest.approx([800] * 3), "10 slow": [100] * 3, "13 fast": [400] * 3}
    assert lines(ratio) == {"cuBLAS": [1, 1], "10 slow": [0.125] * 3, "13 fast": [0.5] * 3}


def sweep_of(points, **others):
    return SweepResults(MACHINE, "2026-11-21", True, tuple(points), **others)


def timed(tokens, ratio, kv_heads=16):
    return replace(multiplied((512,) * 3, 800 * ratio), shape=(1, 16, kv_heads, tokens, tokens, 128))


def test_a_row_for_each_kind_and_a_panel_for_each_kind_of_heads_with_a_line_for_each_kernel():
    found = sweep_of(
        Point(name, timed(n, ratio, kv_heads))
        for n in (4096, 1024)
        for kv_heads in (16, 2)
        for name, ratio in (("CuTe", 1.0), ("cuTile", 0.5))
    )
    figure = attention_ladder([("attention_full", found), ("attention_causal", found)])
    assert len(figure.axes) == 4
    first = figure.axes[0]
    assert first.get_title("left").endswith("all keys, cool\n16 heads of 128, 2 of K and V")
    assert [line.get_label() for line in first.get_lines()] == ["cuBLAS", "CuTe", "cuTile"]
    assert [list(line.get_xdata()) for line in first.get_lines()] == [[1024, 4096]] * 3


def texts(axes):
    return [text.get_text() for text in axes.texts]


class TestAnyShape:
    RANDOM = ((512, 8, 512), (8, 512, 512), (64, 64, 512), (64, 128, 512))
    FOUND = sweep_of(
        [
            Point("chosen", multiplied(shape, tflops), {})
            for shape, tflops in zip(RANDOM, (880, 840, 640, 840), strict=True)
        ],
        facts={"random": {"7": [list(shape) for shape in RANDOM[:3]], "8": [list(RANDOM[3])]}},
    )

    def test_each_seeds_shapes_with_median_and_least(self):
        (axes,) = FIGURES["gemm_any"]([self.FOUND]).axes
        drawn, more, least = (collection.get_offsets().tolist() for collection in axes.collections)
        assert [y for _, y in drawn] == [1.1, 1.05, 0.8]
        assert [y for _, y in more] == [1.05]
        assert [y for _, y in least] == [0.8]
        assert "0.800 at 64×64×512" in texts(axes)
        names = [text.get_text() for text in axes.get_legend().get_texts()]
        assert names == [
            "seed 7: 3, median 1.050, 1 below 1",
            "seed 8: 1, median 1.050, 0 below 1",
            "all: 4, median 1.050, 1 below 1",
        ]


WEIGHTS = {"One": {"q": [64, 512], "o": [512, 512]}, "Two": {"up": [128, 512]}, "Three": {"up": [256, 512]}}


class TestModels:
    FOUND = sweep_of(
        [
            Point("chosen", multiplied((tokens, n, k), tflops), {})
            for weights in WEIGHTS.values()
            for n, k in weights.values()
            for tokens, tflops in ((512, 880.0), (8, 720.0 if n == 256 else 800.0))
        ],
        facts={"models": WEIGHTS},
    )

    def test_a_row_for_each_weight_a_column_for_each_number_of_tokens(self):
        (axes,) = FIGURES["gemm_models"]([self.FOUND]).axes
        assert [label.get_text() for label in axes.get_xticklabels()] == ["8", "512"]
        weights = ["q, 64×512", "o, 512×512", "up, 128×512", "up, 256×512"]
        assert [label.get_text() for label in axes.get_yticklabels()] == weights
        assert axes.get_images()[0].get_array().tolist() == [[1.0, 1.1]] * 3 + [[0.9, 1.1]]
        assert texts(axes)[-5:] == ["0.90", "1.10", "One", "Two", "Three"]


STAGED = [
    swept("slow", sizes=(4096,), stages=2, tile=[64, 64, 64]),
    swept("a", sizes=(4096,), stages=3, tile=[64, 64, 64]),
]
STAGED += [swept("slow", sizes=(4096,), stages=2, tile=[128, 64, 64])]
STAGES = replace(STAGED[0], points=tuple(point for found in STAGED for point in found.points))


def test_speeds_by_tile_and_stages_the_fastest_outlined():
    axes = FIGURES["gemm_stages"]([STAGES]).axes[0]
    assert [text.get_text() for text in axes.texts] == ["100", "400", "100"]
    assert [label.get_text() for label in axes.get_yticklabels()] == ["64×64×64", "128×64×64"]
    (outlined,) = [patch for patch in axes.patches if not patch.get_hatch()]
    assert outlined.get_xy() == (0.5, -0.5)
    assert outlined.get_edgecolor()[:3] == pytest.approx([int(MARK[n : n + 2], 16) / 255 for n in (1, 3, 5)])


@pytest.fixture
def found():
    """The whole space, in which the n-th candidate reaches n + 1 TFLOP/s."""
    sweep = SWEEPS["tile_space"]()
    points = tuple(
        Point(candidate.name, multiplied(sweep.shapes[0], n), candidate.facts)
        for n, candidate in enumerate(sweep.candidates, 1)
    )
    return replace(swept("slow"), points=points)


def test_the_map_shows_the_best_hints_of_each_tile(found):
    axes = FIGURES["tile_heatmap"]([found]).axes[0]
    best = max(found.points, key=lambda point: point.measurement.tflops)
    config = best.facts["config"]
    tiles = {tuple(point.facts["config"][name] for name in ("tm", "tn", "tk")) for point in found.points}
    assert len(axes.texts) == len(tiles)
    says = f"{best.measurement.tflops}\n{config['num_worker_warps']} warps"
    assert any(text.get_text().startswith(says) for text in axes.texts)
    (outlined,) = [patch for patch in axes.patches if not patch.get_hatch()]
    assert (config["tm"], config["tn"]) == (256, 256)
    assert outlined.get_xy()[1] == len(axes.get_yticks()) - 1.5  # tiles of 256×256 are the last row


SWEPT = ["attention_ladder", "gemm_any", "gemm_ladder", "gemm_models", "gemm_stages", "ladder"]
SWEPT += ["tile_heatmap"]


@pytest.fixture
def nothing_measured(tmp_path, monkeypatch):
    monkeypatch.setattr(results, "SWEEPS", tmp_path / "sweeps")
    monkeypatch.setattr(results, "DATA", tmp_path)


def test_the_same_data_give_the_same_files(tmp_path, monkeypatch):
    monkeypatch.setitem(registry.FIGURES, "gemm_ladder", lambda: gemm_ladder([swept("10 slow", "13 fast")]))
    first = [path.read_bytes() for path in registry.save("gemm_ladder", tmp_path)]
    assert first == [path.read_bytes() for path in registry.save("gemm_ladder", tmp_path)]


@pytest.mark.usefixtures("nothing_measured")
class TestNoData:
    @pytest.mark.parametrize("name", SWEPT)
    def test_a_figure_names_the_command(self, name):
        with pytest.raises(NoData, match=r"tutor sweep (attention|fused|gemm|hopper|tile)_"):
            registry.FIGURES[name]()

    def test_the_command_goes_on_to_the_next_figure(self, tmp_path, monkeypatch):
        drawn = []
        monkeypatch.setattr(registry, "save", lambda name: drawn.append(name) or registry.FIGURES[name]())
        done = CliRunner().invoke(app, ["plots", "gemm_any", "gemm_stages"])
        assert done.exit_code == 0
        assert drawn == ["gemm_any", "gemm_stages"]
        assert "gemm_any: not measured yet" in done.output


def test_an_unknown_figure_says_which_there_are():
    done = CliRunner().invoke(app, ["plots", "cake"])
    assert done.exit_code == 2
    assert "There is no figure cake; there are attention_ladder, " in done.output
