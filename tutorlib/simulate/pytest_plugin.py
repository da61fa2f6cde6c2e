"""pytest's plugin for kernel projects: a test fails with the findings of a kernel that it simulates.

    @pytest.mark.simulate(arch="90a")
    def test_gemm(simulate):
        a, b, c = torch.randn(256, 64).bfloat16(), torch.randn(128, 64).bfloat16(), torch.empty(256, 128)
        simulate(gemm, a, b, c)
        torch.testing.assert_close(c, a.float() @ b.float().T)

`pytest -m simulate` selects these tests. pytest finds this module by the entry point in pyproject.toml.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tutorlib.simulate.report import Report

MARKER = "simulate(arch, …): the fixture `simulate` calls tutorlib.simulate.simulate with these keywords"


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", MARKER)


@pytest.fixture
def simulate(request: pytest.FixtureRequest) -> "Callable[..., Report]":
    """tutorlib.simulate.simulate with the keywords of the test's marker; the test fails if there are findings.

    A call's own keywords come before the marker's. It returns the report, and raises as `simulate` does.
    """
    marker = request.node.get_closest_marker("simulate")
    keywords = marker.kwargs if marker else {}

    def run(kernel: Any, *arguments: Any, **given: Any) -> "Report":
        from tutorlib.simulate.tool import simulate

        report = simulate(kernel, *arguments, **(keywords | given))
        if report.findings:
            pytest.fail(str(report), pytrace=False)
        return report

    return run
