"""The simulator counts which mma.sync wait for the ldmatrix in front of them, in the loops of pages 09 to 12."""

from dataclasses import replace

import pytest

from tests.pages.table import solved
from tutorlib.checking.answer import Served
from tutorlib.checking.running import find_simulated_fault
from tutorlib.exercises import find
from tutorlib.kernels.ampere.main_loops import multistage, single_buffer


@pytest.mark.parametrize(
    ("loop", "share"), [(single_buffer, 0), (solved("10.2"), 0), (solved("10.3"), 1), (multistage, 1)]
)
def test_the_share_of_mma_that_was_fetched_ahead(loop, share):
    exercise = replace(find("10.3"), library={})  # the course's own loops are among them
    simulator = exercise.simulator(exercise.evidence(Served(loop)))
    find_simulated_fault(exercise.problem, simulator, exercise.size_counted, patterned=False)
    (report,) = simulator.reports
    assert report.fetched_ahead == share
