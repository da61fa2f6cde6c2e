"""Sources, quoted, and the names that they give memory."""

import linecache

import pytest
import torch

from tests.simulate.tool import shared_kernels
from tutorlib.simulate import simulate
from tutorlib.simulate.ptx.findings import name_made_at, quoted

SOURCE = """\
import torch
a = torch.ones(4)  # four ones
cute.copy(
    tiled_copy,  # the first
    source[None, 0],
)
b, c = torch.ones(1), torch.zeros(2)
self.d = f(
    a,
)
broken(
"""


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "source.py"
    path.write_text(SOURCE)
    return str(path)


@pytest.mark.parametrize(
    ("line", "text"),
    [
        (2, "a = torch.ones(4)  # four ones"),
        (3, "cute.copy(tiled_copy, source[None, 0])"),
        (5, "source[None, 0],"),
        (8, "self.d = f(a)"),
        (11, "broken("),
        (40, ""),
    ],
)
def test_the_whole_call_is_quoted(file, line, text):
    assert quoted(file, line) == text


def test_the_name_that_a_value_is_given(file, tmp_path):
    whole = tmp_path / "whole.py"
    whole.write_text(SOURCE.replace("broken(\n", ""))
    names = [name_made_at(str(whole), line, column) for line, column in [(2, 4), (3, 0), (7, 7), (7, 22), (9, None)]]
    assert names == ["a", "", "b", "c", "self.d"]
    assert name_made_at(file, 2) == ""  # it is no Python


def messages(host, **options):
    report = simulate(host, torch.arange(32.0), torch.zeros(32), **options)
    return [str(finding.message) for finding in report.findings]


def test_shared_memory_and_mbarriers_have_the_sources_names():
    (unwritten,) = messages(shared_kernels.reads_unwritten)
    assert unwritten.endswith("reads shared memory that was never written (byte 0 of tile)")
    (race,) = messages(shared_kernels.races)
    assert race.endswith("with no barrier between (storage.values)")
    (deadlock,) = messages(shared_kernels.waits_for_ever, arch="90a")
    assert "waits forever: phase 0 (parity 0) of the mbarrier at full[1], made at line " in deadlock


def test_places_leave_out_what_the_dsl_makes_of_control_flow():
    report = simulate(shared_kernels.in_a_loop, torch.arange(32.0), torch.zeros(32), 3)
    (finding,) = report.findings
    at = [finding.place.line, *(line for _, line in finding.place.called_from)]
    texts = [linecache.getline(shared_kernels.__file__, line).strip() for line in at]
    assert texts == ["y[thread + n] = x[thread]", "in_a_loop_kernel(x, y, n).launch(grid=(1, 1, 1), block=(32, 1, 1))"]
