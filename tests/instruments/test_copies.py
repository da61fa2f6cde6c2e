"""Page 05's sweeps: each kernel is right, and the records have their names, shapes and counters."""

import pytest

from tutorlib.checking.running import find_simulated_fault
from tutorlib.instruments.table import SWEEPS
from tutorlib.measuring.results import all_sweep_results
from tutorlib.measuring.simulated_launchers import simulated_cute

NAMES = "copy_rungs", "copy_in_flight", "transposes"
EACH = [(name, candidate) for name in NAMES for candidate in SWEEPS[name]().candidates]


@pytest.mark.parametrize(("name", "candidate"), EACH, ids=lambda part: getattr(part, "name", part))
def test_each_kernel_is_right(name, candidate):
    problem, shape = candidate.launcher.problem, (384, 256)
    assert find_simulated_fault(problem, simulated_cute(candidate.launcher.host, problem), shape) is None


@pytest.mark.parametrize("name", NAMES)
def test_the_records_are_of_these_kernels(name):
    sweep = SWEEPS[name]()
    names = [candidate.name for candidate in sweep.candidates]
    for found in all_sweep_results(name):
        assert (found.names, found.shapes) == (names, list(sweep.shapes))
        assert {point.measurement.n for point in found.points} == {sweep.pairs}
        assert not found.counters or list(found.counters) == names
        assert all(tuple(counted) == sweep.counters for counted in found.counters.values())
