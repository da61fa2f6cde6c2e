"""One wrong kernel for each kind of finding, its right twin, and what the finding says."""

import numpy as np
import pytest
import torch

from tests.simulate.ptx.snippets import kernel, launch
from tutorlib.measuring.kernel_work import KernelWork
from tutorlib.simulate.ptx import CannotLaunch, NotSimulated, schedule, simulation
from tutorlib.simulate.ptx.launch import run as run_ptx
from tutorlib.simulate.ptx.memory import listening

OUT = "mul.wide.u32 %rd0, %tid_x, 4; add.s64 %rd1, %rd_out, %rd0; st.global.b32 [%rd1], %r9;"
PLACE = "mov.u32 %r1, smem; shl.b32 %r2, %tid_x, 2; add.u32 %r3, %r1, %r2;"  # %r3: this thread's word
OTHER = "xor.b32 %r4, %r2, {0}; add.u32 %r4, %r1, %r4;"  # %r4: the word of the thread whose number differs by a bit
ANOTHER_WARP, SAME_WARP = 4 * 32, 4
HALF_OUT = "mov.b32 %r9, %r8; " + OUT.replace("b32 [%rd1]", "b16 [%rd1]")
SELECTED = "setp.lt.u32 %p1, %tid_x, 8; selp.b32 %r7, %r8, 0, %p1;"


@listening(KernelWork)
def run(body, threads=64, blocks=1, shared=1024, out=None, **more):
    out = torch.zeros(4 * threads * blocks, dtype=torch.uint8) if out is None else out
    report = launch(kernel(body, ["out", *more], shared=shared), {"out": out, **more}, threads, blocks)
    return report, out.numpy().view(np.uint32)


def kinds(report):
    return [finding.kind for finding in report.findings]


# shared memory ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("distance", [ANOTHER_WARP, SAME_WARP])
def test_what_another_thread_wrote_needs_a_barrier(distance):
    wrong = f"{PLACE}{OTHER.format(distance)} st.shared.b32 [%r3], %tid_x; ld.shared.b32 %r9, [%r4]; {OUT}"
    right = wrong.replace("ld.shared", "bar.sync 0; ld.shared")
    report, _ = run(wrong)
    assert kinds(report) == ["race"]
    assert "reads what thread" in report.findings[0].message
    assert "with no barrier between" in report.findings[0].message
    report, out = run(right)
    assert not report.findings
    assert out.tolist() == [t ^ distance // 4 for t in range(64)]


def test_a_warp_barrier_orders_a_warp_and_no_more():
    body = f"{PLACE}{OTHER} st.shared.b32 [%r3], %tid_x; bar.warp.sync -1; ld.shared.b32 %r9, [%r4]; {OUT}"
    assert not run(body.replace("{0}", str(SAME_WARP)))[0].findings
    assert kinds(run(body.replace("{0}", str(ANOTHER_WARP)))[0]) == ["race"]


def test_what_another_thread_reads_must_not_be_overwritten():
    wrong = f"""{PLACE}{OTHER.format(ANOTHER_WARP)} st.shared.b32 [%r3], %tid_x; bar.sync 0;
    ld.shared.b32 %r9, [%r4]; st.shared.b32 [%r3], %r9; {OUT}"""
    report, _ = run(wrong)
    assert kinds(report) == ["race"]
    assert "overwrites what warp" in report.findings[0].message
    assert not run(wrong.replace("st.shared.b32 [%r3], %r9", "bar.sync 0; st.shared.b32 [%r3], %r9"))[0].findings


def test_two_threads_that_store_different_values_to_one_place():
    report, _ = run(f"{PLACE} st.shared.b32 [%r1], %tid_x; bar.sync 0; ld.shared.b32 %r9, [%r1]; {OUT}")
    assert kinds(report) == ["race"]
    assert "store different values to one place" in report.findings[0].message
    assert not run(f"{PLACE} st.shared.b32 [%r1], 5; bar.sync 0; ld.shared.b32 %r9, [%r1]; {OUT}")[0].findings


def test_neighboring_halves_are_different_places():
    body = f"""mov.u32 %r1, smem; shl.b32 %r2, %tid_x, 1; add.u32 %r3, %r1, %r2; cvt.u16.u32 %h1, %tid_x;
    st.shared.b16 [%r3], %h1; ld.shared.b16 %h2, [%r3]; cvt.u32.u16 %r9, %h2; {OUT}"""
    report, out = run(body)
    assert not report.findings
    assert out.tolist() == list(range(64))


def test_memory_that_nobody_wrote_is_a_fault_when_it_is_used():
    unused = f"{PLACE} ld.shared.b32 %r9, [%r3]; mov.b32 %r9, 1; {OUT}"
    assert not run(unused)[0].findings
    computed = f"{PLACE} ld.shared.b32 %r8, [%r3]; add.u32 %r7, %r8, 1; mov.b32 %r9, 1; {OUT}"
    assert not run(computed)[0].findings
    assert kinds(run(computed.replace("mov.b32 %r9, 1", "mov.b32 %r9, %r7"))[0]) == ["unwritten"]
    copied = f"{PLACE} ld.shared.b32 %r8, [%r3]; mov.b32 %r9, %r8; {OUT}"
    report, _ = run(copied)
    assert kinds(report) == ["unwritten"]
    assert "thread 0 of block 0 reads shared memory that was never written (byte 0)" in report.findings[0].message
    assert not run(f"{PLACE} st.shared.b32 [%r3], 3; ld.shared.b32 %r9, [%r3]; {OUT}")[0].findings


def test_memory_of_the_block_before_is_unwritten_again():
    body = f"""{PLACE} mov.u32 %r5, %ctaid.x; setp.eq.u32 %p1, %r5, 0;
    @%p1 st.shared.b32 [%r3], 3; ld.shared.b32 %r9, [%r3]; {OUT}"""
    report, _ = run(body, blocks=2)
    assert kinds(report)[0] == "unwritten"
    assert "of block 1" in report.findings[0].message


# cp.async ---------------------------------------------------------------------------------------------------------

COPY = """mov.u32 %r1, smem; shl.b32 %r2, %tid_x, 4; add.u32 %r3, %r1, %r2; mul.wide.u32 %rd2, %tid_x, 16;
add.s64 %rd3, %rd_of, %rd2; cp.async.cg.shared.global [%r3], [%rd3], 16;"""
FIRST_WORD = "xor.b32 %r4, %r2, {0}; add.u32 %r4, %r1, %r4; ld.shared.b32 %r9, [%r4];"


def copy_and_read(between, distance=0, copies=COPY):
    of = torch.arange(256, dtype=torch.int32)
    return run(copies + between + FIRST_WORD.format(distance) + OUT, of=of)


def test_a_copy_that_was_waited_for_has_arrived():
    report, out = copy_and_read("cp.async.commit_group; cp.async.wait_group 0;")
    assert not report.findings
    assert out.tolist() == list(range(0, 256, 4))
    assert not copy_and_read("cp.async.wait_all;")[0].findings


@pytest.mark.parametrize(
    "between", ["", "cp.async.commit_group;", "cp.async.wait_group 0;", "cp.async.commit_group; cp.async.wait_group 1;"]
)
def test_a_copy_that_was_not_waited_for_has_not(between):
    report, out = copy_and_read(between)
    assert kinds(report) == ["unwaited"]
    assert "may still be copying" in report.findings[0].message
    assert out.tolist() != list(range(0, 256, 4))


def test_a_wait_covers_its_own_threads_copies_only():
    arrived = "cp.async.commit_group; cp.async.wait_group 0;"
    report, _ = copy_and_read(arrived, 16 * 32)
    assert kinds(report) == ["race"]
    assert not copy_and_read(arrived + "bar.sync 0;", 16 * 32)[0].findings
    assert kinds(copy_and_read("cp.async.commit_group; bar.sync 0; cp.async.wait_group 0;", 16 * 32)[0]) == ["race"]


def test_groups_are_counted_from_the_newest():
    twice = COPY + "cp.async.commit_group;" + COPY.replace("[%r3]", "[%r3+1024]") + "cp.async.commit_group;"
    of = torch.arange(256, dtype=torch.int32)
    read = FIRST_WORD.format(0)
    for still_open, offset, fault in [(1, 0, False), (1, 1024, True), (0, 1024, False), (2, 0, True)]:
        body = f"{twice} cp.async.wait_group {still_open}; {read.replace('[%r4]', f'[%r4+{offset}]')} {OUT}"
        assert kinds(run(body, of=of, shared=2048)[0]) == (["unwaited"] if fault else [])


def test_an_issue_may_overwrite_what_is_being_read():
    of = torch.arange(256, dtype=torch.int32)
    first = COPY + "cp.async.wait_all; bar.sync 0;" + FIRST_WORD.format(16 * 32)
    assert kinds(run(first + COPY.split(";")[-2] + ";" + OUT, of=of)[0]) == ["race"]
    assert not run(first + "bar.sync 0;" + COPY.split(";")[-2] + ";" + OUT, of=of)[0].findings


def test_bytes_beyond_the_source_size_are_zero():
    of = torch.full((256,), -1, dtype=torch.int32)
    body = f"{COPY.replace('[%rd3], 16;', '[%rd3], 16, %r5;').replace('mov.u32 %r1', 'mov.u32 %r5, 6; mov.u32 %r1')}"
    body += "cp.async.wait_all;" + FIRST_WORD.format(0).replace("[%r4]", "[%r4+4]") + OUT
    report, out = run(body, of=of)
    assert out.tolist() == [0xFFFF] * 64
    assert not report.findings


def test_a_copy_of_nothing_reads_no_memory():
    of = torch.full((4,), -1, dtype=torch.int32)  # only thread 0's source exists
    body = "setp.eq.u32 %p1, %tid_x, 0; selp.b32 %r5, 16, 0, %p1;" + COPY.replace("[%rd3], 16;", "[%rd3], 16, %r5;")
    report, out = run(body + "cp.async.wait_all;" + FIRST_WORD.format(0) + OUT, of=of)
    assert not report.findings
    assert out.tolist() == [0xFFFFFFFF] + [0] * 63


# barriers ---------------------------------------------------------------------------------------------------------


IF = "setp.lt.u32 %p1, %tid_x, {}; @!%p1 bra $over; "
NEVER = "never reach this barrier, where the others wait for them"


@pytest.mark.parametrize(
    ("body", "threads", "says"),
    [
        (IF.format(32) + "bar.sync 0; $over:", 64, f"threads 32 to 63 {NEVER}: a barrier in a branch that only"),
        (IF.format(16) + "bar.sync 0; $over:", 32, f"threads 16 to 31 {NEVER}"),
        ("setp.lt.u32 %p1, %tid_x, 32; @!%p1 bra $else; bar.sync 0; bra $over; $else: bar.sync 0; $over:", 64,
         "threads 0 to 31 wait in this barrier while threads 32 to 63 wait in the one at"),
        (IF.format(32) + "bar.sync 1, 64; $over:", 64, "wait in this barrier forever"),
        (IF.format(99) + "bar.sync 0; $over:", 64, ""),
    ],
    ids=["half of the block", "half of a warp", "two branches", "a named one", "all take the branch"],
)  # fmt: skip
def test_a_barrier_that_only_some_threads_reach_is_a_deadlock(body, threads, says):
    report, _ = run(f"mov.u32 %r9, 1; {body} {OUT}", threads=threads)
    assert kinds(report) == (["barrier"] if says else [])
    assert all(says in finding.message and "deadlock" in finding.message for finding in report.findings)


def test_named_barriers_order_those_who_meet_there():
    """Warps 0 and 1 meet in barrier 1, warps 2 and 3 in barrier 2."""
    body = f"""{PLACE}{OTHER.format(ANOTHER_WARP)} st.shared.b32 [%r3], %tid_x;
    shr.u32 %r5, %tid_x, 6; add.u32 %r5, %r5, 1; bar.sync %r5, 64; ld.shared.b32 %r9, [%r4]; {OUT}"""
    report, out = run(body, threads=128)
    assert not report.findings
    assert out.tolist() == [t ^ 32 for t in range(128)]
    assert kinds(run(body.replace(OTHER.format(ANOTHER_WARP), OTHER.format(4 * 64)), threads=128)[0]) == ["race"]


def test_a_reduction_in_a_barrier():
    body = f"setp.lt.u32 %p1, %tid_x, 40; bar.red.popc.u32 %r9, 0, %p1; {OUT}"
    report, out = run(body, blocks=2)
    assert not report.findings
    assert out.tolist()[:64] == [40] * 64
    body = f"setp.lt.u32 %p1, %tid_x, 40; bar.red.and.pred %p2, 0, !%p1; selp.b32 %r9, 1, 0, %p2; {OUT}"
    assert run(body)[1].tolist() == [0] * 64


def test_a_barrier_for_half_of_the_threads_opens_twice():
    """All four warps come to barrier 1, which two at a time may leave."""
    body = f"""{PLACE}{OTHER} st.shared.b32 [%r3], %tid_x; bar.sync 1, 64; ld.shared.b32 %r9, [%r4]; {OUT}"""
    assert not run(body.format(ANOTHER_WARP), threads=128)[0].findings
    assert kinds(run(body.format(4 * 64), threads=128)[0]) == ["race"]


def test_a_producer_arrives_and_a_consumer_waits():
    """bar.arrive orders what the arriving threads did before what the waiting ones do, and not the other way round."""
    body = f"""{PLACE}{OTHER.format(ANOTHER_WARP)} mov.u32 %r9, 0; setp.lt.u32 %p1, %tid_x, 32; @!%p1 bra $consumer;
    st.shared.b32 [%r3], %tid_x; bar.arrive 1, 64; bra $over;
    $consumer: bar.sync 1, 64; ld.shared.b32 %r9, [%r4];
    $over: {OUT}"""
    report, out = run(body)
    assert not report.findings
    assert out.tolist() == [0] * 32 + list(range(32))
    late = body.replace("bar.arrive 1, 64; bra", "bar.arrive 1, 64; st.shared.b32 [%r3], 9; bra")
    assert kinds(run(late)[0]) == ["race"]


# global memory ----------------------------------------------------------------------------------------------------


def test_an_address_outside_of_a_tensor_is_named_by_tensor_and_index():
    out = torch.zeros((8, 8), dtype=torch.float32)
    store = "mul.wide.u32 %rd0, %tid_x, 4; add.s64 %rd1, %rd_out, %rd0; st.global.b32 [%rd1], %tid_x;"
    report, _ = run(store, threads=72, out=out)
    assert kinds(report) == ["outside"]
    assert report.findings[0].message == "thread 64 of block 0 stores out[8, 0], which lies outside out of shape (8, 8)"
    assert report.findings[0].count == 8
    assert out.view(torch.int32).reshape(-1).tolist() == list(range(64))


def test_a_load_from_outside_gives_poison_and_a_negative_index_is_shown():
    of = torch.zeros(64, dtype=torch.int32)
    body = f"mul.wide.u32 %rd2, %tid_x, 4; add.s64 %rd3, %rd_of, %rd2; ld.global.b32 %r9, [%rd3+-8]; {OUT}"
    report, out = run(body, of=of)
    assert kinds(report) == ["outside"]
    assert "loads of[-2], which lies outside of of shape (64,)" in report.findings[0].message
    assert out.tolist() == [0xEBEBEBEB] * 2 + [0] * 62


def test_a_misaligned_vector_is_named_too():
    of = torch.zeros(512, dtype=torch.int32)
    body = f"mul.wide.u32 %rd2, %tid_x, 4; add.s64 %rd3, %rd_of, %rd2; ld.global.v2.b32 {{%r9, %r8}}, [%rd3]; {OUT}"
    report, _ = run(body, of=of)
    assert kinds(report) == ["misaligned"]
    assert "thread 1 of block 0 loads 8 bytes at of[1], whose address is no multiple of 8" in report.findings[0].message


def test_shared_memory_has_an_end():
    report, _ = run(f"{PLACE} st.shared.b32 [%r3+960], %tid_x; mov.u32 %r9, 1; {OUT}")
    assert kinds(report) == ["outside"]
    assert "writes byte 1,024 of shared memory, of which the block has 1,024" in report.findings[0].message


def test_blocks_that_store_different_values_to_one_place():
    body = "mov.u32 %r9, %ctaid.x;" + OUT
    report, _ = run(body, blocks=3)
    assert kinds(report) == ["overlap"]
    assert "and block" in report.findings[0].message
    assert "stores another value there: either may come first" in report.findings[0].message
    assert not run("mov.u32 %r9, 5;" + OUT, blocks=3)[0].findings


def test_a_block_that_loads_what_another_stores():
    body = f"""mov.u32 %r9, %ctaid.x; setp.eq.u32 %p1, %r9, 0; @!%p1 bra $load; mov.u32 %r9, 8; {OUT} ret;
    $load: mul.wide.u32 %rd0, %tid_x, 4; add.s64 %rd1, %rd_out, %rd0; ld.global.b32 %r9, [%rd1];"""
    report, _ = run(body, blocks=2)
    assert kinds(report) == ["overlap"]
    assert "block 1 loads" in report.findings[0].message


def test_what_is_read_again_is_counted():
    reads = f"{PLACE} st.shared.b32 [%r3], %tid_x; ld.shared.b32 %r9, [%r3];"
    report, _ = run(reads + OUT)
    assert report.heard.reread == 0
    report, _ = run(f"{reads} ld.shared.b32 %r8, [%r3]; {OUT}")
    assert report.heard.reread == 1 / 2
    report, _ = run(f"{reads} st.shared.b32 [%r3], %r9; ld.shared.b32 %r9, [%r3]; {OUT}")
    assert report.heard.reread == 0


def test_a_kernel_that_does_not_end(monkeypatch):
    monkeypatch.setattr(schedule, "LIMIT", 10_000)
    report, _ = run("$again: add.u32 %r9, %r9, 1; bra $again;")
    assert kinds(report) == ["endless"]


def test_a_matrix_instruction_in_a_divergent_branch():
    body = f"""mov.u32 %r1, smem; st.shared.b32 [%r1], 1; mov.u32 %r9, 1; setp.lt.u32 %p1, %tid_x, 8; @!%p1 bra $over;
    ldmatrix.sync.aligned.m8n8.x1.shared.b16 {{%r9}}, [%r1]; $over: {OUT}"""
    report, _ = run(body, threads=32)
    assert "divergent" in kinds(report)


# registers --------------------------------------------------------------------------------------------------------


class TestRegisters:
    def test_a_sum_that_begins_with_nothing(self):
        wrong = f"add.u32 %r9, %r8, %tid_x; {OUT}"
        report, _ = run(wrong)
        (finding,) = report.findings
        assert finding.kind == "unset"
        assert "thread 0 of block 0 uses a register (add.u32) that was never set" in finding.message
        assert finding.count == 64
        assert not run(f"mov.u32 %r8, 0; {wrong}")[0].findings

    def test_one_that_a_loop_adds_to(self):
        """Set in the loop, and read there before."""
        loop = f"mov.u32 %r7, 0; again: add.u32 %r9, %r9, 1; add.u32 %r7, %r7, 1; setp.lt.u32 %p1, %r7, 4; {{}} {OUT}"
        loop = loop.format("@%p1 bra again;")
        assert kinds(run(loop)[0]) == ["unset"]
        assert not run(f"mov.u32 %r9, 0; {loop}")[0].findings

    def test_an_mma_adds_to_the_sums_of_a_whole_warp(self):
        sums, zeros = "{%f0, %f1, %f2, %f3}", " ".join(f"mov.f32 %f{n}, 0f00000000;" for n in range(4))
        mma = f"""mov.u32 %r1, 0; mma.sync.aligned.m16n8k8.row.col.f32.bf16.bf16.f32
        {sums}, {{%r1, %r1}}, {{%r1}}, {sums}; mov.b32 %r9, %f0; {OUT}"""
        (finding,) = run(mma, threads=32)[0].findings
        assert finding.kind == "unset"
        assert "uses a register (mma.sync.aligned.m16n8k8" in finding.message
        assert not run(f"{zeros} {mma}", threads=32)[0].findings

    @pytest.mark.parametrize(
        ("select", "set_bytes"),
        [(HALF_OUT, True), ("prmt.b32 %r9, %r8, 0, 0x7710;", True),
         ("prmt.b32 %r9, %r8, 0, 0x7772;", False), ("mov.b32 {%h3, %h4}, %r8; cvt.u32.u16 %r9, %h3;", True),
         ("mov.b32 {%h3, %h4}, %r8; cvt.u32.u16 %r9, %h4;", False), ("mov.b32 %r9, %r8;", False),
         (f"{SELECTED} prmt.b32 %r9, %r7, 0, 0x7710;", True), (f"{SELECTED} prmt.b32 %r9, %r7, 0, 0x7772;", False)],
    )  # fmt: skip
    def test_the_half_of_a_pair_that_was_set(self, select, set_bytes):
        """Compilers fill up a register with a half that nobody looks at."""
        report, _ = run(
            f"cvt.u16.u32 %h1, %tid_x; mov.b32 %r8, {{%h1, %h2}}; {select} {'' if 'st.' in select else OUT}"
        )
        assert kinds(report) == ([] if set_bytes else ["unset"])

    def test_lanes_differ_in_their_halves(self):
        """Lanes from 8 on lack the lower half as well, and store nothing."""
        body = f"""setp.lt.u32 %p1, %tid_x, 8; @%p1 cvt.u16.u32 %h1, %tid_x; mov.b32 %r8, {{%h1, %h2}};
        mov.b32 {{%h3, %h4}}, %r8; cvt.u32.u16 %r9, %h3; @!%p1 mov.u32 %r9, 0; {OUT}"""
        assert not run(body, threads=32)[0].findings

    def test_shared_memory_keeps_it(self):
        """A row that is not there is computed, put into shared memory and left there."""
        stored = f"{PLACE} add.u32 %r7, %r8, 1; st.shared.b32 [%r3], %r7; mov.b32 %r9, 1; bar.sync 0; {OUT}"
        assert not run(stored)[0].findings
        (finding,) = run(stored.replace("bar.sync 0;", "bar.sync 0; ld.shared.b32 %r9, [%r3];"))[0].findings
        assert (finding.kind, "uses a register (add.u32)" in finding.message) == ("unset", True)

    @pytest.mark.parametrize(("distance", "reported"), [(1, False), (8, True)])
    def test_a_shuffle_gives_it_to_one_lane(self, distance, reported):
        """Lanes from 8 on have no number; those below keep to themselves, or not."""
        body = f"""setp.lt.u32 %p1, %tid_x, 8; @%p1 mov.u32 %r8, 5;
        shfl.sync.bfly.b32 %r9, %r8, {distance}, 31, 0xFFFFFFFF; @!%p1 mov.u32 %r9, 0; {OUT}"""
        assert kinds(run(body, threads=32)[0]) == (["unset"] if reported else [])

    def test_what_decides_counts(self):
        branch = f"setp.eq.u32 %p1, %r8, 5; mov.u32 %r9, 1; @%p1 bra on; mov.u32 %r9, 2; on: {OUT}"
        assert kinds(run(branch)[0]) == ["unset"]

    @pytest.mark.parametrize(
        "body",
        [
            f"add.u32 %r8, %r8, 1; mov.u32 %r9, 0; {OUT}",  # nobody uses it
            f"setp.lt.u32 %p1, %tid_x, 8; mov.u32 %r9, 0; @%p1 mov.u32 %r8, 5; @%p1 add.u32 %r9, %r8, 1; {OUT}",
            f"""setp.lt.u32 %p1, %tid_x, 8; @%p1 mov.u32 %r8, 5; selp.u32 %r9, 1, 0, %p1;
            @!%p1 bra on; add.u32 %r9, %r8, 1; on: {OUT}""",
            f"setp.lt.u32 %p1, %tid_x, 8; @%p1 mov.u32 %r8, 5; add.u32 %r7, %r8, 1; selp.u32 %r9, %r7, 0, %p1; {OUT}",
        ],
    )
    def test_what_does_not_count(self, body):
        """A compiler computes with what it does not need, and sets under the predicate under which it reads."""
        assert not run(body)[0].findings

    def test_what_a_selection_takes_counts(self):
        """As masked loads are compiled, with the mask turned round."""
        masked = (
            f"setp.lt.u32 %p1, %tid_x, 8; @%p1 mov.u32 %r8, 5; add.u32 %r7, %r8, 1; selp.u32 %r9, 0, %r7, %p1; {OUT}"
        )
        (finding,) = run(masked)[0].findings
        assert finding.count == 56

    def test_where_some_threads_have_set_it(self):
        body = f"setp.lt.u32 %p1, %tid_x, 8; @%p1 mov.u32 %r8, 5; add.u32 %r9, %r8, 1; {OUT}"
        (finding,) = run(body)[0].findings
        assert "thread 8 of block 0" in finding.message
        assert finding.count == 56

    @pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16, torch.float8_e4m3fn])
    def test_of_a_tile_compiler_s_it_is_nan_in_every_batch_of_blocks(self, dtype):
        ptx = kernel(f"mov.u32 %r9, %r8; mov.u32 %r8, 0; {OUT}", ["out"])
        stored = torch.zeros(4 * 32, dtype=torch.uint8)
        blocks = simulation.LANES_AT_ONCE // 32 + 1
        report = run_ptx(ptx, (blocks,), (32,), {"out": stored}, follow_unset=False)
        assert not report.findings
        assert stored.view(dtype).float().isnan().all()

    def test_a_local_variable_that_only_some_threads_set(self):
        body = f""".local .align 16 .b8 own[16]; mov.u64 %rd5, own; setp.lt.u32 %p1, %tid_x, 8;
        @%p1 st.local.b32 [own], %tid_x; ld.local.v2.b32 {{%r9, %r8}}, [own]; {OUT}"""
        (finding,) = run(body)[0].findings
        assert finding.kind == "unset"
        assert "thread 8 of block 0 reads a variable that was never set" in finding.message
        assert not run(body.replace("@%p1 ", ""))[0].findings  # nor what is read beside it and used by nobody


@pytest.mark.parametrize(
    ("variables", "grid", "says"),
    [
        (".global .b8 much[6442450944];", (1, 1, 1), "variables of 6,442,450,944 bytes"),
        ("", (2**31 - 1, 2, 1), "a grid of 4,294,967,294 blocks"),
        (".shared .b8 much[1073741824];", (1, 1, 1), "1,073,741,824 bytes of shared memory"),
    ],
)
def test_what_nobody_can_wait_or_has_memory_for_is_refused(variables, grid, says):
    ptx = kernel("ret;").replace(".visible .entry", f"{variables}\n.visible .entry")
    with pytest.raises((NotSimulated, CannotLaunch), match=says):
        run_ptx(ptx, grid, (32, 1, 1), {})
