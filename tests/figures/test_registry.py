"""`tutor plots`: the figures by name, as files."""

from dataclasses import replace

import pytest
from typer.testing import CliRunner

from tests.stand_ins import swept
from tutorlib.cli import app
from tutorlib.figures import registry
from tutorlib.figures.ladders import gemm_ladder
from tutorlib.measuring import results
from tutorlib.measuring.results import NoData

SWEPT = ["attention_ladder", "gemm_any", "gemm_ladder", "gemm_models", "gemm_orders", "gemm_stages"]
SWEPT += ["roofline", "tile_heatmap"]


@pytest.fixture
def nothing_measured(tmp_path, monkeypatch):
    monkeypatch.setattr(results, "SWEEPS", tmp_path / "sweeps")
    monkeypatch.setattr(results, "DATA", tmp_path)


def test_the_same_data_give_the_same_files(tmp_path, monkeypatch):
    made_up = replace(registry.LADDER, draw=lambda: gemm_ladder([swept("09 slow", "12 fast")]))
    monkeypatch.setitem(registry.FIGURES, "gemm_ladder", made_up)
    first = [path.read_bytes() for path in registry.save("gemm_ladder", tmp_path)]
    assert first == [path.read_bytes() for path in registry.save("gemm_ladder", tmp_path)]


@pytest.mark.usefixtures("nothing_measured")
class TestNoData:
    @pytest.mark.parametrize("name", SWEPT)
    def test_a_figure_names_the_command(self, name):
        with pytest.raises(NoData, match=r"tutor sweep (attention|fused|gemm|hopper|tile)_"):
            registry.FIGURES[name].draw()

    def test_the_command_goes_on_to_the_next_figure(self, tmp_path, monkeypatch):
        drawn = []
        monkeypatch.setattr(registry, "save", lambda name: drawn.append(name) or registry.FIGURES[name].draw())
        done = CliRunner().invoke(app, ["plots", "roofline", "gemm_stages"])
        assert done.exit_code == 0
        assert drawn == ["roofline", "gemm_stages"]
        assert "roofline: not measured yet" in done.output


def test_an_unknown_figure_says_which_there_are():
    done = CliRunner().invoke(app, ["plots", "cake"])
    assert done.exit_code == 2
    assert "There is no figure cake; there are attention_ladder, " in done.output
