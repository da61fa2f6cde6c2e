"""What was tried to make the main loop faster is right, and spills nothing."""

import pytest

from tutorlib.checking.simulating import find_simulated_fault
from tutorlib.compiling.cute import compile_cute
from tutorlib.compiling.spec import TensorSpec
from tutorlib.kernels.ampere.config import GemmConfig
from tutorlib.kernels.ampere.gemm import make_gemm
from tutorlib.kernels.ampere.main_loops import LONG, TUNED, LoopSchedule, make_loop, multistage
from tutorlib.measuring.simulated_launchers import SimulatedCute
from tutorlib.problems.catalogue import gemm

SPECS = [TensorSpec((1024, 1024), "bf16")] * 3
SMALL = GemmConfig((64, 64, 32), (2, 2), 3)
SCHEDULES = [LoopSchedule(spread, branch) for spread in (False, True) for branch in (False, True)]


@pytest.mark.parametrize("schedule", SCHEDULES, ids=str)
def test_a_schedule_is_right_where_nothing_divides(schedule):
    for shape in ((65, 56, 200), (64, 64, 32)):  # several K tiles, and fewer than stages
        simulated = SimulatedCute(make_gemm(SMALL, make_loop(schedule)), gemm("bf16"))
        assert find_simulated_fault(gemm("bf16"), simulated, shape) is None


@pytest.mark.parametrize("config", [TUNED, LONG], ids=str)
@pytest.mark.parametrize("schedule", SCHEDULES, ids=str)
def test_a_schedule_spills_nothing(config, schedule):
    assert compile_cute(make_gemm(config, make_loop(schedule)), SPECS, "sm_90a").spill_bytes == 0


def test_the_schedule_as_it_comes_is_the_ladders_loop():
    loops = make_loop(LoopSchedule()), multistage
    assert len({compile_cute(make_gemm(TUNED, loop), SPECS).registers for loop in loops}) == 1
