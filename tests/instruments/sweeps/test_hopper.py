"""The sweeps of notebooks 13 and 14: what they hold."""

from math import log2
from statistics import median

import pytest

from tests.stand_ins import MACHINE, multiplied
from tutorlib.instruments.sweeps import SWEEPS, make_sweep
from tutorlib.instruments.sweeps.hopper import (
    LEAST,
    LEVERS,
    MOST,
    RANDOM_SHAPES,
    SEEDS,
    STACKS,
    STEP,
    changed,
    levered,
    random_shapes,
)
from tutorlib.kernels.hopper.config import HopperConfig
from tutorlib.machine.features import WGMMA
from tutorlib.measuring.levers import stacks_of
from tutorlib.measuring.results import Point, SweepResults

HOPPER = [name for name, module in SWEEPS.items() if module == "hopper" and name not in ("gemm_models", "gemm_quack")]


@pytest.mark.parametrize("name", HOPPER)
def test_nothing_of_it_runs_where_there_is_no_wgmma(name):
    assert {candidate.needs for candidate in make_sweep(name).candidates} == {WGMMA}


def test_all_of_them_fit_into_the_seconds_that_they_say():
    assert sum(make_sweep(name).seconds for name in HOPPER) <= 290


class TestRandomShapes:
    def test_a_seed_gives_the_same_ones_again_and_the_file_keeps_both(self):
        first, second = SEEDS
        assert random_shapes(first) == random_shapes(first) != random_shapes(second)
        sweep = make_sweep("gemm_any")
        assert sweep.facts == {"random": {str(seed): [list(shape) for shape in random_shapes(seed)] for seed in SEEDS}}
        assert {*random_shapes(first), *random_shapes(second)} < set(sweep.shapes)

    def test_they_are_multiples_within_the_range_and_each_doubling_is_as_likely(self):
        shapes = random_shapes(1, count=4000)
        sizes = [size for shape in shapes for size in shape]
        assert all(LEAST <= size <= MOST and size % STEP == 0 for size in sizes)
        assert median(map(log2, sizes)) == pytest.approx((log2(LEAST) + log2(MOST)) / 2, abs=0.1)
        assert len(random_shapes(1)) == RANDOM_SHAPES


class TestLevers:
    def test_each_is_pulled_on_top_of_another_row_and_changes_the_kernel(self):
        points = [
            Point(" + ".join(levers), multiplied((512,) * 3, 400.0), {"levers": list(levers)}) for levers in STACKS
        ]
        first, *others = stacks_of(SweepResults(MACHINE, "", True, tuple(points)))
        assert first.levers == frozenset()
        assert all(stack.added in LEVERS for stack in others)
        assert len({levered(levers) for levers in STACKS}) == len(STACKS)

    def test_the_plain_kernel_is_notebook_13s(self):
        assert levered(()) == HopperConfig(schedule="plain", persistent=False)

    def test_some_two_are_pulled_in_both_orders(self):
        stacks = [set(levers) for levers in STACKS]
        both = [
            (one, other)
            for above in stacks
            for one in above
            for other in above - {one}
            if above - {one, other} in stacks and above - {one} in stacks and above - {other} in stacks
        ]
        assert {frozenset(pair) for pair in both} >= {
            frozenset({"multicast", "deferred stores"}), frozenset({"polling", "stream-K"}),
        }  # fmt: skip


def test_a_configuration_is_kept_by_what_makes_it_special():
    assert changed(HopperConfig(cluster=(2, 1), polls=True)) == {"cluster": (2, 1), "polls": True}
