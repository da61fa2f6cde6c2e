"""gemm(…, tuned=True): who is nominated, what is compiled, and which winner is kept."""

from contextlib import contextmanager, nullcontext
from math import exp
from types import SimpleNamespace

import pytest
import torch

from tutorlib.kernels.hopper import tune
from tutorlib.kernels.hopper.choose import ShapeError, choose, short_list, way_of
from tutorlib.kernels.hopper.torch_gemm import gemm
from tutorlib.kernels.hopper.tune import DOZEN, Problem, nominees

SHAPES = [Problem(200, 768, 3072), Problem(4096, 4096, 4096), Problem(8, 4304, 1152), Problem(64, 512, 512, "e4m3")]


@pytest.mark.parametrize("problem", SHAPES, ids=str)
def test_the_choice_is_the_first_of_a_dozen_from_a_list_that_differs_in_more_than_tiles(problem):
    found = nominees(problem, 132)
    assert found[0] == choose(*problem[:3], 132, *problem[3:])
    assert len(set(found)) == DOZEN
    listed = short_list(*problem[:3], 132, *problem[3:])
    first, further = ([*map(way_of, part)] for part in (listed[:DOZEN], listed[DOZEN:]))
    assert len({*first, *further}) == len({*first}) + len(further) >= DOZEN // 2
    assert set(found) <= set(listed)


def test_a_shape_that_tma_cannot_take_has_no_nominees():
    with pytest.raises(ShapeError, match="pad K with zeros to 72"):
        nominees(Problem(64, 64, 65), 132)


def test_other_processes_compile_what_is_missing_and_say_what_does_not_compile(tmp_path):
    configs = nominees(SHAPES[0], 132)[:2]
    tune.compile_all(configs, tmp_path)
    written = {file: file.stat().st_mtime_ns for file in tmp_path.glob("*.o")}
    assert len(written) == 2
    assert callable(tune.loaded(configs[0], tmp_path))
    tune.compile_all(configs, tmp_path)
    assert {file: file.stat().st_mtime_ns for file in tmp_path.glob("*.o")} == written
    (tmp_path / "file").touch()
    with pytest.raises(RuntimeError, match="NotADirectoryError"):
        tune.compile_all(configs, tmp_path / "file" / "folder")


@pytest.fixture
def timed(tmp_path, monkeypatch):
    """The problems that were timed; of the nominees the fourth is the fastest, but for a tie with the last."""
    found = []

    def time_all(configs, problem, where):
        found.append(problem)
        return [*(abs(n - 3) + 1.0 for n in range(len(configs) - 1)), 0.995]

    monkeypatch.setattr(tune, "folder", lambda: tmp_path)
    monkeypatch.setattr(tune, "max_clusters", lambda size: 132)
    monkeypatch.setattr(tune, "compile_all", lambda configs, where: None)
    monkeypatch.setattr(tune, "time_all", time_all)
    monkeypatch.setattr(torch.cuda, "is_current_stream_capturing", lambda: False)
    tune.winner.cache_clear()
    yield found
    tune.winner.cache_clear()


def test_the_fastest_is_kept_for_the_next_process(timed, tmp_path):
    fastest = nominees(SHAPES[0], 132)[3]
    assert tune.winner(SHAPES[0]) == fastest
    tune.winner.cache_clear()
    assert tune.winner(SHAPES[0]) == fastest
    assert timed == [SHAPES[0]]
    assert [file.name for file in tmp_path.glob("*.json")] == ["200x768x3072-bf16-k-k.json"]


def test_many_problems_are_tuned_in_one_call(timed):
    tune.tune([problem[:3] for problem in SHAPES[:3]])
    assert timed == SHAPES[:3]


def test_nothing_is_timed_while_a_graph_is_captured(timed, monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_current_stream_capturing", lambda: True)
    with pytest.raises(ValueError, match="call gemm before it"):
        tune.winner(SHAPES[0])


class WarmingGpu:
    """Stands in for torch.cuda: a graph takes the longer, the longer ago the GPU has rested."""

    def __init__(self):
        self.now, self.rested, self.captured = 0.0, 0.0, 0.0

    def call(self, us):
        def run(*_):
            self.captured += us

        return run

    @contextmanager
    def graph(self, graph, stream):
        self.captured = 0.0
        yield
        graph.us = self.captured

    def new_graph(self):
        def replay():
            self.now += made.us * (1 - 0.1 * exp((self.rested - self.now) / 1e3))

        made = SimpleNamespace(replay=replay)
        return made

    def event(self, enable_timing):
        def record():
            made.at = self.now

        made = SimpleNamespace(record=record, synchronize=lambda: None)
        made.elapsed_time = lambda other: (other.at - made.at) / 1e3
        return made

    def rest(self, seconds):
        self.rested = self.now


@pytest.fixture
def warming(monkeypatch):
    gpu = WarmingGpu()
    monkeypatch.setattr(tune, "side_stream", lambda: None)
    monkeypatch.setattr(tune, "us_of", lambda call, sets: 10.0)
    monkeypatch.setattr(tune, "sleep", gpu.rest)
    monkeypatch.setattr(torch.cuda, "CUDAGraph", gpu.new_graph)
    monkeypatch.setattr(torch.cuda, "Event", gpu.event)
    monkeypatch.setattr(torch.cuda, "graph", gpu.graph)
    monkeypatch.setattr(torch.cuda, "stream", lambda stream: nullcontext())
    return gpu


def test_calls_that_take_as_long_have_one_time_wherever_they_stand(warming):
    equal = tune.times([warming.call(10.0)] * 24, [()] * 4, rounds=31)
    assert max(equal) < 1.005 * min(equal)


def test_the_round_that_warms_up_does_not_count(warming):
    warmed_up = []
    (few,) = tune.in_a_row([warming.call(10.0)], [()], 5, ready=lambda: warmed_up.append(warming.now))
    assert len(few) == 5
    assert warmed_up


def test_what_is_watched_of_a_round_is_what_is_timed(warming):
    spans = []

    @contextmanager
    def watched():
        began = warming.now
        yield
        spans.append(warming.now - began)

    (few,) = tune.in_a_row([warming.call(10.0)], [()], 5, watched=watched)
    assert spans[1:] == pytest.approx([15 * us for us in few])  # calls in a graph
    assert len(spans) == 6


@pytest.mark.gpu("90a")
def test_the_winners_product_is_right():
    a, b = (torch.randn(shape, device="cuda", dtype=torch.bfloat16) for shape in ((200, 3072), (768, 3072)))
    torch.testing.assert_close(gemm(a, b, tuned=True), a @ b.mT, rtol=2e-2, atol=1.0)


@pytest.mark.gpu("90a")
def test_kernels_in_a_row_wait_for_one_another():
    """Each reads what the one before wrote, and writes what that one read."""
    first, out = (torch.randn(200, 768, device="cuda", dtype=torch.bfloat16) for _ in range(2))
    weights = torch.randn(768, 768, device="cuda").div(28).bfloat16()
    found = []
    for between in (torch.cuda.synchronize, lambda: None):
        x = first.clone()
        for _ in range(50):
            gemm(x, weights, out)
            between()
            gemm(out, weights, x)
            between()
        found.append(x)
    assert found[0].isfinite().all()
    assert torch.equal(*found)
