"""Calls in a row, without a GPU: which calls are captured, and what is checked after them."""

import pytest
import torch

from tests.stand_ins import H200, OnTorch
from tutorlib.kernels.hopper import tune
from tutorlib.machine import device
from tutorlib.measuring import in_a_row
from tutorlib.measuring.in_a_row import measure_in_a_row
from tutorlib.measuring.timing import WrongWhenTimed
from tutorlib.problems.catalogue import copy


@pytest.fixture
def replayed(on_cpu, monkeypatch):
    """Each call on each set, before and after `ready`; the kernel takes 2 µs, the baseline 3."""

    def rounds(calls, sets, count, ready, meanwhile):
        for warm in (True, False):
            for call in calls:
                for each in sets:
                    call(*each)
                meanwhile()
            if warm:
                ready()
        return [[us] * count for us in (2.0, 3.0)]

    monkeypatch.setattr(tune, "in_a_row", rounds)
    monkeypatch.setattr(device, "gpu", lambda: H200)
    monkeypatch.setattr(in_a_row, "clocks", lambda: None)
    monkeypatch.setattr(in_a_row, "buffer_sets", lambda bytes, l2: 2)
    monkeypatch.setattr(in_a_row, "new_generator", torch.Generator)


def test_a_pair_is_the_kernels_graph_and_the_baselines(replayed):
    found = measure_in_a_row(copy("fp32"), OnTorch(lambda x, y: y.copy_(x)), (8, 8), pairs=4)
    assert (found.regime, found.ratio, found.n) == ("in a row", 1.5, 4)


def test_outputs_of_the_calls_that_warm_up_do_not_count(replayed):
    calls = []

    def twice(x, y):
        calls.append(y)
        if len(calls) <= 2:
            y.copy_(x)

    with pytest.raises(WrongWhenTimed, match="still NaN: the kernel never wrote it"):
        measure_in_a_row(copy("fp32"), OnTorch(twice), (8, 8), pairs=4)


def test_a_changed_input_is_noticed(replayed):
    with pytest.raises(WrongWhenTimed, match="the kernel changed an input"):
        measure_in_a_row(copy("fp32"), OnTorch(lambda x, y: y.copy_(x.add_(1))), (8, 8), pairs=4)
