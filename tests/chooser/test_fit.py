"""The fit of the chooser's constants to measurements."""

import gzip
import json
import math
from dataclasses import replace

import pytest

from tests.chooser import fit as fitting
from tests.chooser.fit import MeasuredAt, Timed, fit, is_possible, miss, read, usable
from tutorlib.kernels.hopper.choose import candidates
from tutorlib.kernels.hopper.config import HopperConfig
from tutorlib.kernels.hopper.cost import Constants, cost, fitted

TRUE = replace(fitted(), mma_efficiency=0.9, l2_bytes=40.0, hbm_bytes=3e6, start=5.0, store=1500.0, deferred=700.0)
SHAPES = ((2048, 2048, 2048), (8192, 8192, 8192), (320, 4096, 4096), (512, 512, 4096))
MADE = [
    Timed(config, MeasuredAt(shape), us)
    for config in candidates()[::97]
    for shape in SHAPES
    if math.isfinite(us := cost(config, *shape, constants=TRUE))
]


def result(**more):
    return {"config": {"cluster": [2, 1]}, "shape": [2048, 2048, 2048], "us": 27.0} | more


def test_what_the_model_made_is_explained():
    start = replace(TRUE, start=8.0, share=4000.0, turn=300.0)
    assert miss(MADE, TRUE) == 0
    assert miss(MADE, start) > 0.1
    assert miss(MADE, fit(MADE, start)) < 0.05


def test_a_time_is_told_as_of_a_gpu_on_which_the_baseline_takes_as_long_as_usual():
    times = [result(us=30.0, baseline_us=20.0), result(us=33.0, baseline_us=22.0), result(us=36.0, baseline_us=24.0)]
    assert [timed.us for timed in usable(times)] == [33.0] * 3


def test_a_time_beside_an_unusual_baseline_is_passed_over():
    times = [result(us=30.0, baseline_us=baseline) for baseline in (20.0, 20.0, 20.0, 23.0, 30.0, 12.0)]
    assert len(usable(times)) == 4


def test_results_may_be_gzipped(tmp_path):
    lines = "\n".join(json.dumps(result(us=us)) for us in (1.0, 2.0))
    plain, zipped = tmp_path / "a.jsonl", tmp_path / "a.jsonl.gz"
    plain.write_text(lines)
    zipped.write_bytes(gzip.compress(lines.encode()))
    assert read(plain) == read(zipped) == [result(us=1.0), result(us=2.0)]


@pytest.mark.parametrize(
    "other",
    [
        {"name": "coop", "note": "right"},
        result(regime="sustained, alone"),
        result(config={"cluster": [8, 1]}),
        result(config={"stages": 3}),
        result(config={"tile": [256, 256, 64]}),
        result(config={"tile": [128, 256, 32]}),
        result(config={"store_stages": 1}),
        result(config={"raster": "m"}),
        result(config={"split_k": 8, "persistent": False}, shape=[128, 128, 128]),
    ],
)
def test_what_the_model_knows_nothing_of_is_passed_over(other):
    kept = Timed(HopperConfig(cluster=(2, 1)), MeasuredAt((2048, 2048, 2048)), 27.0)
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
