"""The barrier that the reader writes in 05.6 is needed on a GPU too, and not only now and then."""

import pytest

from tests.pages.answers import named
from tutorlib.checking.running import find_fault
from tutorlib.exercises import find
from tutorlib.measuring.launchers import CuteLauncher

pytestmark = pytest.mark.gpu("80")

NO_BARRIER = named("05.6", "- sync_threads()").function


def test_a_transpose_without_its_barrier_is_wrong_every_time():
    problem = find("05.6").problem
    launcher = CuteLauncher(NO_BARRIER, problem)
    assert all(find_fault(problem, launcher, (2048, 2048)) for _ in range(20))


def test_its_check_says_so():
    assert find("05.6").grade(NO_BARRIER).points < find("05.6").points
