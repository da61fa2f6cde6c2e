"""Fitting finds constants that explain what they made, and knows how much a wrong choice costs."""

import json
import math
from dataclasses import replace

import pytest

from tutorlib.kernels.hopper import fit as fitting
from tutorlib.kernels.hopper.choose import Constants, candidates, cost, fitted
from tutorlib.kernels.hopper.config import HopperConfig
from tutorlib.kernels.hopper.fit import Timed, fit, is_possible, miss, regret, usable

TRUE = Constants(
    clock=1600.0, l2_bytes=40.0, hbm_bytes=4e6, mma_efficiency=0.9, start=5.0, store=1500.0, deferred=700.0,
    share=9000.0,
)  # fmt: skip
SHAPES = ((2048, 2048, 2048), (8192, 8192, 8192), (320, 4096, 4096), (512, 512, 4096))
MADE = [
    Timed(config, shape, us)
    for config in candidates()[::97]
    for shape in SHAPES
    if math.isfinite(us := cost(config, *shape, constants=TRUE))
]


def result(**more):
    return {"config": {"cluster": [2, 1]}, "shape": [2048, 2048, 2048], "us": 27.0} | more


def test_what_the_model_made_is_explained():
    start = replace(fitted(), start=8.0, share=4000.0)
    assert miss(MADE, TRUE) == 0
    assert miss(MADE, start) > 0.1
    assert miss(MADE, fit(MADE, start)) < 0.03


def test_a_fit_is_possible():
    assert is_possible(TRUE)
    assert is_possible(fitted())
    assert not is_possible(replace(TRUE, mma_efficiency=1.01))
    assert not is_possible(replace(TRUE, deferred=1501.0))


def test_every_shape_weighs_the_same():
    config = HopperConfig()
    small, large = (64, 64, 64), (8192, 8192, 8192)
    estimate = cost(config, *small, constants=TRUE)
    off = [Timed(config, small, estimate / math.e), *[Timed(config, large, cost(config, *large, constants=TRUE))] * 9]
    assert miss(off, TRUE) == pytest.approx(0.5)


def test_regret_is_what_the_preferred_one_takes_over_the_fastest():
    one, other = HopperConfig(), HopperConfig(tile=(64, 64, 64))
    shape = (8192, 8192, 8192)
    assert cost(one, *shape, constants=TRUE) < cost(other, *shape, constants=TRUE)
    assert regret([Timed(one, shape, 30.0), Timed(other, shape, 20.0)], TRUE) == {shape: 1.5}
    assert regret([Timed(one, shape, 30.0), Timed(other, shape, 40.0)], TRUE) == {shape: 1.0}


@pytest.mark.parametrize(
    "other",
    [
        {"name": "coop", "note": "right"},
        result(regime="sustained, alone"),
        result(config={"cluster": [2, 2]}),
        result(config={"tile": [128, 256, 32]}),
        result(config={"split_k": 16, "persistent": False}, shape=[128, 128, 128]),
    ],
)
def test_what_the_model_knows_nothing_of_is_passed_over(other):
    kept = Timed(HopperConfig(cluster=(2, 1)), (2048, 2048, 2048), 27.0)
    assert usable([result(), other, result(regime="cool")]) == [kept, kept]


def test_the_command_writes_constants_only_when_asked(tmp_path, monkeypatch, capsys):
    file, results = tmp_path / "constants.json", tmp_path / "results.jsonl"
    monkeypatch.setattr(fitting, "FILE", file)
    lines = [
        json.dumps({"gpu": "NVIDIA H200", "config": {"tile": tile}, "shape": [4096, 4096, 4096], "us": us})
        for tile, us in (((128, 256, 64), 170.0), ((128, 128, 64), 210.0))
    ]
    results.write_text("\n".join([*lines, '{"note": "nothing"}']), encoding="utf-8")
    fitting.main([str(results)])
    assert not file.exists()
    assert capsys.readouterr().out.startswith("2 measurements; the estimates miss by ")
    fitting.main([str(results), "--write"])
    stored = json.loads(file.read_text(encoding="utf-8"))
    assert stored["gpus"] == ["NVIDIA H200"]
    assert stored["points"] == 2
    assert stored["miss"] < 0.05
    assert is_possible(Constants(**stored["constants"]))
