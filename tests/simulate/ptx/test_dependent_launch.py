"""Programmatic dependent launch: griddepcontrol.wait orders what the launch before has stored (PTX ISA, 9.7.13.13)."""

import cuda.tile as ct
import cutlass
import pytest
import torch
from cutlass import cute
from cutlass.cute.runtime import from_dlpack

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
        assert "which doubling of the launch before may still be" in finding.message
        assert "no griddepcontrol.wait lies between" in finding.message


@cute.jit
def first(x: cute.Tensor, tmp: cute.Tensor):
    doubling(x, tmp).launch(grid=(1, 1, 1), block=(64, 1, 1))


@cute.jit
def second(tmp: cute.Tensor, y: cute.Tensor):
    adding(tmp, y, "none").launch(grid=(1, 1, 1), block=(64, 1, 1), use_pdl=True)


@ct.kernel
def copied(x, y):
    ct.store(y, (0,), ct.load(x, (0,), (64,)))


@pytest.mark.parametrize(
    ("between", "ends"),
    [
        (lambda tmp: tmp + 1, True),
        (lambda tmp: tmp.add_(1), True),
        (lambda tmp: ct.launch(torch.cuda.current_stream(), (1,), copied, (tmp, torch.empty_like(tmp))), True),
        (lambda tmp: tmp[0].item(), True),
        (lambda tmp: tmp.cpu(), True),
        (lambda tmp: float(tmp[0]), True),
        (lambda tmp: torch.cuda.synchronize(), True),
        (lambda tmp: torch.cuda.current_stream().synchronize(), True),
        (lambda tmp: torch.cuda.Event().record(), False),
        (lambda tmp: torch.empty_like(tmp).view(8, 8).shape, False),
        (lambda tmp: tmp.contiguous()[1:].data_ptr(), False),
    ],
)
def test_other_work_between_two_launches_ends_their_overlap(between, ends):
    def run(x, tmp, y):
        first(from_dlpack(x), from_dlpack(tmp))
        between(tmp)
        second(from_dlpack(tmp), from_dlpack(y))

    report = simulate(run, torch.randn(64), torch.zeros(64), torch.zeros(64), arch="90a")
    assert [finding.kind for finding in report.findings] == ([] if ends else ["race"])
