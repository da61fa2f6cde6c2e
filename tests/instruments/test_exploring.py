"""Exploring without a GPU: points dealt out, processes that take turns, results that are wrong, one that is stuck."""

import json
import subprocess
import sys
from dataclasses import replace
from itertools import count
from math import inf
from types import SimpleNamespace

import pytest
import torch

from tutorlib.instruments.exploring import bench, points, processes
from tutorlib.instruments.exploring.points import AT_A_SHAPE, explored_shapes, promising
from tutorlib.instruments.sweeps.hopper import SEEDS, changed, random_shapes
from tutorlib.kernels.hopper import launch
from tutorlib.kernels.hopper.choose import choose
from tutorlib.kernels.hopper.config import HopperConfig

SMALL, OTHER = HopperConfig(tile=(64, 64, 64), cluster=(2, 1)), HopperConfig(stream_k=True)
SHAPES = ((64, 128, 64), (128, 72, 200))
POINTS = [(shape, config) for shape in SHAPES for config in (SMALL, OTHER, HopperConfig())]


def test_the_choice_is_among_the_promising_ones():
    for shape in explored_shapes()[::40]:
        found = promising(shape)
        assert replace(choose(*shape), group=8, l2_a="normal", l2_b="normal") in found
        assert len(found) == len(set(found)) <= AT_A_SHAPE


def test_only_choices_without_clusters_are_timed_in_bands(monkeypatch):
    alone, clustered = (512, 1280, 8192), (4096, 4096, 4096)
    monkeypatch.setattr(points, "explored_shapes", lambda: (alone, clustered))
    monkeypatch.setattr(points, "TOKENS", ())
    assert choose(*clustered).cluster_blocks > 1
    found = points.in_bands()
    assert [(shape, config.group) for shape, config in found] == [(alone, band) for band in (2, 4, 8, 16)]
    assert {replace(config, group=4) for _, config in found} == {choose(*alone)}


def test_the_shapes_that_judge_the_choice_are_not_explored():
    assert set(random_shapes(SEEDS[1])).isdisjoint(explored_shapes())


def test_every_point_is_dealt_out_once_and_a_configuration_to_one_process():
    parts = processes.shares(POINTS, 2)
    dealt = [(one.shape, HopperConfig.from_json(s)) for part in parts for one in part for s in one.settings]
    assert sorted(dealt, key=str) == sorted(POINTS, key=str)
    kinds = [{json.dumps(s) for one in part for s in one.settings} for part in parts]
    assert kinds[0].isdisjoint(kinds[1])


class StandIn:
    """Measures nothing."""

    def measure(self, shape, configs):
        for config in configs:
            yield {"shape": shape, "config": changed(config), "us": 1.0}


@pytest.fixture
def worker(tmp_path, monkeypatch):
    monkeypatch.setattr(launch, "compile_gemm", lambda config: None)
    (part,) = processes.shares(POINTS, 1)
    made = processes.Worker(tmp_path, 0)
    made.job.write_text(json.dumps(part))
    return made


def test_a_process_times_all_that_it_has_and_begins_where_another_ended(worker):
    worker.done.write_text("1")
    worker.work(inf, StandIn)
    found = [json.loads(line) for line in worker.out.read_text().splitlines()]
    assert [(tuple(one["shape"]), HopperConfig.from_json(one["config"])) for one in found] == POINTS[3:]
    assert worker.done.read_text() == "2"
    assert not worker.holds.exists()


def test_a_process_stops_when_its_time_is_over(worker):
    worker.work(0.0, StandIn)
    assert not worker.out.exists()


def test_a_process_that_is_stuck_is_killed_and_another_one_goes_on(tmp_path, monkeypatch):
    begun = []

    def begin(folder, number, until):
        worker = processes.Worker(folder, number)
        line = json.dumps({"us": 1.0})
        script = f"open({str(worker.out)!r}, 'a').write({line!r} + chr(10))"
        if not begun:
            script += f"; open({str(worker.holds)!r}, 'w').write('0'); import time; time.sleep(600)"
        begun.append(subprocess.Popen([sys.executable, "-c", script]))
        return begun[-1]

    monkeypatch.setattr(processes, "begin", begin)
    processes.explore(POINTS, tmp_path / "out.jsonl", 30, 1)
    assert [process.returncode for process in begun] == [-9, 0]
    assert len((tmp_path / "out.jsonl").read_text().splitlines()) == 2


class Mark:
    """An event, a millisecond after the one before."""

    clock = count()

    def __init__(self, enable_timing):
        self.at = 0

    def record(self):
        self.at = next(self.clock)

    def elapsed_time(self, later):
        return float(later.at - self.at)


def test_times_stand_beside_the_baselines_and_a_wrong_result_is_told(monkeypatch):
    def launcher(config, m, n, k):
        factor = 2 if config == OTHER else 1
        return lambda a, b, c: torch.mm(a, b.mT, out=c).mul_(factor)

    empty = torch.empty
    monkeypatch.setattr(torch, "empty", lambda size, dtype, device: empty(size >> 10, dtype=dtype))
    monkeypatch.setattr(bench, "launcher", launcher)
    for name, stand_in in {
        "Event": Mark, "synchronize": lambda: None, "_sleep": lambda cycles: None, "get_device_name": lambda: "none",
        "get_device_properties": lambda: SimpleNamespace(L2_cache_size=2**14),
    }.items():  # fmt: skip
        monkeypatch.setattr(torch.cuda, name, stand_in)
    found = list(bench.Bench().measure(SHAPES[0], (SMALL, OTHER, HopperConfig())))
    (wrong,) = (one for one in found if "error" in one)
    assert wrong["error"].startswith("wrong: off by")
    assert wrong["config"] == changed(OTHER)
    timed = [one for one in found if "us" in one]
    assert [HopperConfig.from_json(one["config"]) for one in timed] == [SMALL, HopperConfig()]
    assert all(one["us"] > 0 < one["baseline_us"] for one in timed)
