"""Programmatic dependent launch: griddepcontrol.wait orders what the launch before has stored (PTX ISA, 9.7.13.13)."""

import cutlass
import pytest
import torch
from cutlass import cute

from tutorlib.simulate import simulate


@cute.kernel
def doubling(x: cute.Tensor, tmp: cute.Tensor):
    t, _, _ = cute.arch.thread_idx()
    cute.arch.griddepcontrol_launch_dependents()
    tmp[t] = x[t] * 2.0


@cute.kernel
def adding(tmp: cute.Tensor, y: cute.Tensor, waits: cutlass.Constexpr):
    t, _, _ = cute.arch.thread_idx()
    if cutlass.const_expr(waits == "one"):
        if t == 0:
            cute.arch.griddepcontrol_wait()
        cute.arch.sync_threads()
    if cutlass.const_expr(waits == "all"):
        cute.arch.griddepcontrol_wait()
    y[t] = tmp[63 - t] + 1.0


def host(waits, overlapping):
    @cute.jit
    def launch(x: cute.Tensor, tmp: cute.Tensor, y: cute.Tensor):
        doubling(x, tmp).launch(grid=(1, 1, 1), block=(64, 1, 1))
        adding(tmp, y, waits).launch(grid=(1, 1, 1), block=(64, 1, 1), use_pdl=overlapping)

    return launch


@pytest.mark.parametrize(
    ("waits", "overlapping", "ordered"),
    [("all", True, True), ("one", True, True), ("none", True, False), ("none", False, True)],
)
def test_a_launch_that_overlaps_with_the_one_before_waits_for_it(waits, overlapping, ordered):
    x, tmp, y = torch.randn(64), torch.zeros(64), torch.zeros(64)
    first, second = simulate(host(waits, overlapping), x, tmp, y, arch="90a").launches
    assert not first.findings
    assert y.equal(2 * x.flip(0) + 1)
    if ordered:
        assert not second.findings
    else:
        (finding,) = second.findings
        assert finding.kind == "race"
        assert "loads tmp[63], which" in finding.message
        assert "no griddepcontrol.wait lies between" in finding.message
