"""Measurements on a real GPU: a kernel beside itself is even, and the Hopper GEMM is right when it is timed."""

import pytest

from tests.stand_ins import OnTorch
from tutorlib.kernels.hopper import launch
from tutorlib.kernels.hopper.config import HopperConfig
from tutorlib.measuring.launchers import HopperLauncher, HostLauncher
from tutorlib.measuring.measure import measure
from tutorlib.problems.catalogue import gemm

GEMM, SHAPE = gemm("bf16"), (4096, 4096, 4096)


@pytest.mark.gpu("80")
def test_the_baseline_beside_itself_is_even():
    same = OnTorch(lambda a, b, c: GEMM.baseline(c, a, b))
    assert measure(GEMM, same, SHAPE).ratio == pytest.approx(1, abs=0.05)


@pytest.mark.gpu("90a")
@pytest.mark.parametrize(
    "launcher", [HopperLauncher(HopperConfig()), HostLauncher(launch.gemm)], ids=["cooperative", "chosen"]
)
def test_hoppers_kernels_are_right_when_timed(launcher):
    assert measure(GEMM, launcher, SHAPE).ratio > 0.5
