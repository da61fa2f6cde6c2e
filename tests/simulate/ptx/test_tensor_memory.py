"""tcgen05.ld and .st: which thread has what of tensor memory, and the waits between them."""

import numpy as np
import pytest
import torch
from cutlass import Float32, cute
from cutlass.cute.nvgpu import tcgen05

from tests.simulate.ptx.snippets import kernel, launch
from tutorlib.simulate.ptx.descriptors import fragment

LOADS = {
    "32x32b": (tcgen05.Ld32x32bOp, 1),  # the atom, and columns of .x1
    "16x64b": (tcgen05.Ld16x64bOp, 2),
    "16x128b": (tcgen05.Ld16x128bOp, 4),
    "16x256b": (tcgen05.Ld16x256bOp, 8),
}


@pytest.mark.parametrize("times", [1, 2, 8])
@pytest.mark.parametrize("shape", LOADS)
def test_each_thread_has_what_the_dsls_atoms_give_it(shape, times):
    op, columns = LOADS[shape]
    found = []

    @cute.jit
    def trace():
        layout = cute.make_copy_atom(op(getattr(tcgen05.Repetition, f"x{times}")), Float32).layout_dst_tv
        registers = range(cute.size(layout, mode=[1]))
        found.extend([cute.crd2idx((thread, n), layout) for n in registers] for thread in range(32))

    trace()
    where = fragment(shape, times)
    assert np.array_equal(where.lanes * columns * times + where.columns, found)


def test_the_upper_threads_of_16x32bx2_have_other_columns():
    where = fragment("16x32bx2", 2, 8)
    assert where.lanes[17].tolist() == [1, 1]
    assert where.columns[[1, 17]].tolist() == [[0, 1], [8, 9]]


ROUND_TRIP = """
mov.u32 %r1, smem; cvt.u64.u32 %rd1, %tid_x; shl.b64 %rd1, %rd1, 2; add.s64 %rd1, %rd1, %rd_out;
tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%r1], 32;
bar.sync 0;
ld.shared.b32 %r2, [%r1];
tcgen05.st.sync.aligned.32x32b.x2.b32 [%r2], {%tid_x, %tid_x};
WAIT
tcgen05.ld.sync.aligned.32x32b.x2.b32 {%r3, %r5}, [%r2];
tcgen05.wait::ld.sync.aligned;
tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r2, 32;
st.global.b32 [%rd1], %r5;
"""


def round_trip(wait):
    out = torch.zeros(32, dtype=torch.int32)
    body = ROUND_TRIP.replace("WAIT", wait)
    return out, launch(kernel(body, ["out"], shared=16), {"out": out}).findings


def test_what_is_stored_is_read_back():
    out, findings = round_trip("tcgen05.wait::st.sync.aligned;")
    assert (out.tolist(), findings) == (list(range(32)), ())


def test_a_load_of_what_may_still_be_stored_is_unwaited():
    _, (finding,) = round_trip("")
    assert finding.kind == "unwaited"
    assert "no tcgen05.wait::st lies between" in finding.message


TAKES_OVER = """
mov.u32 %r1, smem; add.u32 %r2, %r1, 16; mov.u32 %r3, %ctaid.x; cvt.u64.u32 %rd1, %r3; shl.b64 %rd1, %rd1, 2;
add.s64 %rd1, %rd1, %rd_out;
setp.ne.u32 %p1, %tid_x, 0;
@%p1 bra END;
mbarrier.init.shared.b64 [%r2], 1;
mbarrier.arrive.expect_tx.shared.b64 _, [%r2], 16;
clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes.b128 [%r1], [%r2];
WAIT: mbarrier.try_wait.parity.shared.b64 %p2, [%r2], 0;
@!%p2 bra WAIT;
ld.shared.v2.b64 {%rd2, %rd3}, [%r1];
mov.b128 %answer, {%rd2, %rd3};
clusterlaunchcontrol.query_cancel.is_canceled.pred.b128 %p3, %answer;
clusterlaunchcontrol.query_cancel.get_first_ctaid::x.b32.b128 %r4, %answer;
selp.b32 %r4, %r4, 100, %p3;
st.global.b32 [%rd1], %r4;
END:
"""


def test_a_block_takes_over_the_next_that_has_not_started():
    out = torch.full((3,), -1, dtype=torch.int32)
    report = launch(kernel(TAKES_OVER, ["out"], 32, ".reg .b128 %answer;"), {"out": out}, blocks=3)
    assert not report.findings
    assert out.tolist() == [1, -1, 100]  # block 1 does not run, and nothing is left for block 2
