"""Both regimes on a real GPU: what a sustained measurement holds, and that one kernel beside itself is even."""

import pytest

from tests.stand_ins import OnTorch
from tutorlib.kernels.hopper import launch
from tutorlib.kernels.hopper.config import HopperConfig
from tutorlib.machine.clocks import clocks
from tutorlib.measuring.launchers import HopperLauncher, HostLauncher
from tutorlib.measuring.measure import measure
from tutorlib.problems.catalogue import gemm

GEMM, SHAPE = gemm("bf16"), (4096, 4096, 4096)


@pytest.mark.gpu("80")
def test_the_baseline_beside_itself_is_even_in_time_and_energy():
    same = OnTorch(lambda a, b, c: GEMM.baseline(c, a, b))
    measured = measure(GEMM, same, SHAPE, regime="sustained")
    assert measured.ratio == pytest.approx(1, abs=0.05)
    assert measured.alone_ratio == pytest.approx(1, abs=0.1)
    if clocks() is not None and measured.alone.watts is not None:
        assert measured.energy_ratio == pytest.approx(1, abs=0.15)
        assert measured.alone.joules > 0


@pytest.mark.gpu("90a")
@pytest.mark.parametrize(
    "launcher", [HopperLauncher(HopperConfig()), HostLauncher(launch.gemm)], ids=["cooperative", "chosen"]
)
def test_hoppers_kernels_are_right_when_timed_in_both(launcher):
    for regime in ("cool", "sustained"):
        assert measure(GEMM, launcher, SHAPE, regime).regime == regime
