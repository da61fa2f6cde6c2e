"""What orders blocks, by fences and a flag, and launches that overlap."""

import cuda.tile as ct
import cutlass
import pytest
import torch
from cutlass import cute
from cutlass.cute.runtime import from_dlpack

from tests.simulate.ptx.snippets import kernel, launch
from tutorlib.failure import Hazard
from tutorlib.simulate import simulate

BLOCKS, THREADS = 5, 64
FENCE = "membar.gl;"
COUNT = "@!%p0 bra $skip; {before} atom.global.add.u32 %r4, [%rd_count], 1; {after} st.shared.b32 [smem], %r4; $skip:"
RELEASING = "@!%p0 bra $skip; atom.global.add.acq_rel.gpu.u32 %r4, [%rd_count], 1; st.shared.b32 [smem], %r4; $skip:"
LAST = """bar.sync 0; ld.shared.b32 %r5, [smem]; setp.ne.u32 %p1, %r5, 4; @%p1 ret; {behind}
xor.b32 %r6, %tid_x, 32; mul.wide.u32 %rd3, %r6, 4; add.s64 %rd4, %rd_partial, %rd3;
ld{how}.b32 %r7, [%rd4]; ld{how}.b32 %r8, [%rd4+256]; add.u32 %r7, %r7, %r8;
mul.wide.u32 %rd5, %tid_x, 4; add.s64 %rd6, %rd_out, %rd5; st.global.b32 [%rd6], %r7;"""
STORE = """setp.eq.u32 %p0, %tid_x, 0;
mov.u32 %r1, %ctaid.x; mad.lo.u32 %r2, %r1, 64, %tid_x; mul.wide.u32 %rd1, %r2, 4;
add.s64 %rd2, %rd_partial, %rd1; {ahead} st{how}.b32 [%rd2], %r1; {each}"""


def run(before="", after="", each="", behind="", ahead="", how=".global", meet="bar.sync 0;", count=COUNT):
    """A kernel whose last block reads what another warp of the first two blocks has stored."""
    count = count.replace("{before}", before).replace("{after}", after)
    store = STORE.replace("{each}", each).replace("{how}", how).replace("{ahead}", ahead)
    body = store + meet + count + LAST.replace("{behind}", behind).replace("{how}", how)
    tensors = {name: torch.zeros(4 * n, dtype=torch.uint8) for name, n in (("partial", 320), ("count", 1), ("out", 64))}
    return launch(kernel(body, [*tensors], shared=4), tensors, threads=THREADS, blocks=BLOCKS)


@pytest.mark.parametrize(
    "right",
    [
        {"before": FENCE, "after": FENCE},
        {"each": FENCE, "behind": FENCE},
        {"before": "fence.acq_rel.gpu;", "after": "fence.sc.sys;"},
        {"before": FENCE, "how": ".volatile.global"},
        {"before": FENCE, "how": ".relaxed.gpu.global"},
        {"count": RELEASING},
    ],
)
def test_a_fence_on_each_side_of_the_flag_orders_blocks(right):
    assert not run(**right).findings


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({}, "no fence lies between this store and the writing of a flag"),
        ({"after": FENCE, "behind": FENCE}, "no fence lies between this store"),
        ({"ahead": FENCE, "behind": FENCE}, "no fence lies between this store"),
        ({"before": FENCE, "after": FENCE, "meet": ""}, "no fence lies between this store"),
        ({"before": FENCE}, "no fence of the loading block lies between"),
        ({"before": "membar.cta;", "after": "membar.cta;"}, "no fence lies between this store"),
        ({"how": ".volatile.global"}, "no fence lies between this store"),
    ],
)
def test_anything_less_does_not(wrong, words):
    (finding,) = run(**wrong).findings[:1]
    assert finding.kind == Hazard.OVERLAP
    assert words in finding.message
    assert "loads" in finding.message


# launches -------------------------------------------------------------------------------------------------------------


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
