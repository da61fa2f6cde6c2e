"""The loop whose loads are issued in other places is right, and spills nothing."""

import pytest

from tutorlib.checking.simulating import find_simulated_fault
from tutorlib.compiling.dsls import compile_cute
from tutorlib.compiling.spec import TensorSpec
from tutorlib.kernels.ampere.config import GemmConfig
from tutorlib.kernels.ampere.gemm import make_gemm
from tutorlib.kernels.ampere.main_loops import LONG, TUNED, loads_spread
from tutorlib.measuring.simulated_launchers import SimulatedCute
from tutorlib.problems.catalogue import gemm

SPECS = [TensorSpec((1024, 1024), "bf16")] * 3
SMALL = GemmConfig((64, 64, 32), (2, 2), 3)


@pytest.mark.parametrize("shape", [(65, 56, 200), (64, 64, 32)], ids=str)  # several K tiles, and fewer than stages
def test_it_is_right_where_nothing_divides(shape):
    assert (
        find_simulated_fault(gemm("bf16"), SimulatedCute(make_gemm(SMALL, loads_spread), gemm("bf16")), shape) is None
    )


@pytest.mark.parametrize("config", [TUNED, LONG], ids=str)
def test_it_spills_nothing(config):
    assert compile_cute(make_gemm(config, loads_spread), SPECS, "sm_90a").spill_bytes == 0
