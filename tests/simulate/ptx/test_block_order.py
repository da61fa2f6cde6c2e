"""Blocks that order one another by fences and a flag: the last of them reads what all have stored."""

import pytest
import torch

from tests.simulate.ptx.snippets import kernel, launch
from tutorlib.failure import Hazard

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
