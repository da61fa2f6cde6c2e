"""The fixture `simulate`, in a project of its own."""

import pytest

from tests.simulate.tool.sources import DOUBLE, UNGUARDED

pytest_plugins = ["pytester"]

TESTS = f"""
import pytest
import torch

DOUBLE, UNGUARDED = {DOUBLE!r}, {UNGUARDED!r}

def run(simulate, ptx, **keywords):
    x, y = torch.randn(40), torch.zeros(40)
    report = simulate(ptx, x, y, 40, **keywords)
    assert torch.equal(y, 2 * x)
    return report

@pytest.mark.simulate(grid=(2,), arch="90a")
def test_right(simulate):
    assert run(simulate, DOUBLE).arch == "90a"

@pytest.mark.simulate(grid=(2,))
def test_outside(simulate):
    run(simulate, UNGUARDED)

@pytest.mark.simulate(grid=(1,))
def test_own_keywords_come_first(simulate):
    assert run(simulate, DOUBLE, grid=(2,)).launches[0].blocks == 2

def test_no_marker(simulate):
    run(simulate, DOUBLE, grid=(2,))
"""


@pytest.fixture
def project(pytester):
    pytester.makepyfile(TESTS)
    return pytester


def pytest_in(project, *options):
    return project.runpytest("-p", "tutorlib.simulate.pytest_plugin", "--strict-markers", *options)


def test_a_test_fails_with_the_findings_text(project):
    done = pytest_in(project)
    done.assert_outcomes(passed=3, failed=1)
    done.stdout.fnmatch_lines(["sm_80: 1 launch, 2 findings", "*outside: thread 8 of block 1 loads argument 0*"])
    done.stdout.no_fnmatch_line("*Traceback*")


def test_the_marker_selects_and_is_listed(project):
    pytest_in(project, "-m", "simulate").assert_outcomes(passed=2, failed=1, deselected=1)
    pytest_in(project, "--markers").stdout.fnmatch_lines(["@pytest.mark.simulate(arch, …): *"])
