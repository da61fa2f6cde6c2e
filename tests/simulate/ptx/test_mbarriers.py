"""mbarriers, bulk copies, clusters and setmaxnreg in kernels of a few lines: right ones, and what is said of others."""

from math import prod

import pytest
import torch

from tests.simulate.ptx.snippets import kernel
from tutorlib.simulate.ptx import NotSimulated, run

OUT = "mul.wide.u32 %rd0, %tid_x, 4; add.s64 %rd1, %rd_out, %rd0; st.global.b32 [%rd1], %r9;"
START = "mov.u32 %r1, smem; setp.eq.u32 %p1, %tid_x, 0; mov.u32 %r9, 7;"
SHOW = "@%p1 fence.mbarrier_init.release.cluster;"
MAKE = "@%p1 mbarrier.init.shared.b64 [%r1], {0}; " + SHOW + " bar.sync 0;"
WAIT = "$again{0}: mbarrier.try_wait.parity.shared.b64 %p2, [%r1], {0}; @!%p2 bra $again{0};"
FETCH = """@%p1 mbarrier.arrive.expect_tx.shared.b64 _, [%r1], 512;
@%p1 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r1+128], [%rd_of], 512, [%r1];"""
READ = "shl.b32 %r2, %tid_x, 2; add.u32 %r3, %r1, %r2; ld.shared.b32 %r9, [%r3+128];"


def go(body, threads=64, of=None, shared=2048):
    out = torch.zeros(threads, dtype=torch.int32)
    more = {} if of is None else {"of": of}
    return run(kernel(body, ["out", *more], shared=shared), (1,), (threads,), {"out": out, **more}), out


def told(report):
    return [(finding.kind, finding.message) for finding in report.findings]


def only(report, kind, *words):
    ((found, message),) = told(report)
    assert found == kind, message
    for word in words:
        assert word in message, message


NUMBERS = torch.arange(1000, 1128, dtype=torch.int32)


def test_bytes_are_there_when_their_phase_is_over():
    report, out = go(START + MAKE.format(1) + FETCH + WAIT.format(0) + READ + OUT, of=NUMBERS)
    assert not report.findings
    assert out.tolist() == list(range(1000, 1064))


OTHERS = "fence.proxy.async.shared::cta;"  # of all threads


@pytest.mark.parametrize(
    ("fence", "seen"),
    [
        ("bar.sync 0; " + OTHERS, True),
        (OTHERS, True),
        ("bar.sync 0; " + SHOW.replace("%p1", "!%p1"), False),
        (OTHERS.replace("shared::cta", "global"), False),
        ("@!%p1 " + OTHERS, False),
        ("", False),
    ],
)
def test_a_fence_of_the_right_thread_shows_tma_the_mbarrier(fence, seen):
    body = START + MAKE.format(1).replace(SHOW, fence) + FETCH + WAIT.format(0) + READ + OUT
    report, _ = go(body, of=NUMBERS)
    if seen:
        assert not report.findings
    else:
        only(report, "mbarrier", "thread 0 of block 0 has initialized", "no mbarrier_init_fence()")


def test_bytes_out_of_shared_memory():
    back = """bar.sync 0; @!%p1 bra $over; cp.async.bulk.global.shared::cta.bulk_group [%rd_out], [%r1+128], 256;
    cp.async.bulk.commit_group; cp.async.bulk.wait_group.read 0; $over:"""
    report, out = go(START + MAKE.format(1) + FETCH + WAIT.format(0) + back, of=NUMBERS)
    assert not report.findings
    assert out.tolist() == list(range(1000, 1064))


FENCE, WAITED = "fence.proxy.async.shared::cta; bar.sync 0;", "cp.async.bulk.wait_group.read 0;"
ADDED = (
    START
    + "shl.b32 %r2, %tid_x, 2; add.u32 %r3, %r1, %r2; cvt.rn.f32.u32 %f1, %tid_x; st.shared.f32 [%r3], %f1;"
    + FENCE
    + """@!%p1 bra $over; cp.reduce.async.bulk.global.shared::cta.bulk_group.add.f32 [%rd_out], [%r1], 256;
    cp.async.bulk.commit_group;"""
    + WAITED
    + "$over:"
)


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (ADDED, ()),
        (ADDED.replace(FENCE, "bar.sync 0;"), ("proxy", "TMA")),
        (ADDED.replace(WAITED, ""), ("unwaited", "may still be reading shared memory")),
    ],
    ids=["right", "no fence", "not waited for"],
)
def test_blocks_add_to_the_same_bytes(body, words):
    out = torch.ones(64)
    report = run(kernel(body, ["out"], shared=256), (3,), (64,), {"out": out})
    if words:
        found, message = told(report)[0]
        assert found == words[0]
        assert words[1] in message
    else:
        assert not report.findings
        assert out.tolist() == [1 + 3 * t for t in range(64)]


def test_phases_alternate():
    """All threads arrive in each of three phases, and write what all have read in the one before."""
    step = """mbarrier.arrive.shared.b64 _, [%r1]; {0} xor.b32 %r4, %r2, 128; add.u32 %r4, %r1, %r4;
    ld.shared.b32 %r9, [%r4+128]; {1}"""
    store = "st.shared.b32 [%r3+128], %r5; "
    body = START + MAKE.format(64) + "shl.b32 %r2, %tid_x, 2; add.u32 %r3, %r1, %r2; mov.u32 %r5, %tid_x;" + store
    body += step.format(WAIT.format(0), "mbarrier.arrive.shared.b64 _, [%r1];" + WAIT.format(1))
    body += "add.u32 %r5, %r9, 100;" + store + step.format(WAIT.format(0).replace("again0", "third"), "") + OUT
    report, out = go(body)
    assert not report.findings
    assert out.tolist() == [100 + t for t in range(64)]
    early = body.replace("mbarrier.arrive.shared.b64 _, [%r1];" + WAIT.format(1), "", 1)
    assert "race" in [kind for kind, _ in told(go(early)[0])]


def test_what_an_arrival_orders():
    """Warp 0 writes and arrives, warp 1 waits and reads; without the wait it is a race."""
    body = START + MAKE.format(32) + """shl.b32 %r2, %tid_x, 2; add.u32 %r3, %r1, %r2; setp.lt.u32 %p3, %tid_x, 32;
    @!%p3 bra $reads; st.shared.b32 [%r3+128], %tid_x; mbarrier.arrive.shared.b64 _, [%r1]; bra $over;
    $reads: """ + WAIT.format(0) + " ld.shared.b32 %r9, [%r3+0]; $over: " + OUT  # fmt: skip
    report, out = go(body)
    assert not report.findings
    assert out[32:].tolist() == list(range(32))
    only(go(body.replace(WAIT.format(0), ""))[0], "race", "reads what thread", "with no barrier between")
    relaxed = body.replace("mbarrier.arrive.", "mbarrier.arrive.relaxed.cta.")
    only(go(relaxed)[0], "race", "reads what thread", "with no barrier between")
    assert not go(relaxed.replace("mbarrier.arrive.", "fence.acq_rel.cta; mbarrier.arrive."))[0].findings


def test_lanes_of_a_warp_wait_for_one_that_an_mbarrier_holds_up():
    """Thread 0 waits for TMA's bytes alone; elect.sync and bar.warp.sync are where the others wait for it."""
    alone = f"@!%p1 bra $on; {FETCH} {WAIT.format(0)} $on: "
    elected = "elect.sync %r8|%p3, -1; selp.b32 %r9, 1, 0, %p3;"
    report, out = go(START + MAKE.format(1) + alone + elected + OUT, threads=32, of=NUMBERS)
    assert not report.findings
    assert out.tolist() == [1] + [0] * 31
    report, out = go(START + MAKE.format(1) + alone + "bar.warp.sync -1;" + READ + OUT, threads=32, of=NUMBERS)
    assert out.tolist() == list(range(1000, 1032))
    assert not [kind for kind, _ in told(report) if kind == "divergent"]


def test_test_wait_asks_and_does_not_wait():
    body = START + MAKE.format(64) + """mbarrier.test_wait.parity.shared.b64 %p2, [%r1], 0; selp.b32 %r9, 1, 0, %p2;
    mbarrier.arrive.shared.b64 %rd2, [%r1]; $ask: mbarrier.test_wait.shared.b64 %p3, [%r1], %rd2; @!%p3 bra $ask;
    selp.b32 %r8, 10, 0, %p3; add.u32 %r9, %r9, %r8;""" + OUT  # fmt: skip
    report, out = go(body)
    assert not report.findings
    assert out.tolist() == [10] * 64


def test_a_wait_that_gives_up_comes_back_and_says_no():
    """One try, which cannot succeed: the thread goes on, and helps itself."""
    body = START + MAKE.format(1) + """mbarrier.try_wait.parity.shared.b64 %p2, [%r1], 0; selp.b32 %r9, 1, 0, %p2;
    @%p1 mbarrier.arrive.shared.b64 _, [%r1];""" + WAIT.format(0) + OUT  # fmt: skip
    report, out = go(body)
    assert not report.findings
    assert out.tolist() == [0] * 64


def test_a_phase_that_a_thread_knows_to_be_over_is_not_refused_to_it():
    """By its own arrival; another thread, which no barrier tells of it, may find the phase not over."""
    body = START + MAKE.format(1) + """setp.eq.u32 %p2, %r9, 0; @%p1 mbarrier.arrive.shared.b64 _, [%r1];
    mbarrier.test_wait.parity.shared.b64 %p2, [%r1], 0; selp.b32 %r9, 1, 0, %p2;"""  # fmt: skip
    report, out = go(body.replace("mbarrier.test_wait", "@%p1 mbarrier.test_wait") + OUT)
    assert (report.findings, out[0].item()) == ((), 1)
    assert 0 in go(body + OUT)[1].tolist()


@pytest.mark.parametrize(("between", "known"), [("", False), (WAIT.format(0), True), ("bar.sync 0;", True)])
def test_a_thread_that_arrives_again_must_know_that_the_phase_is_over(between, known):
    """Two warps arrive; in another order of the threads one of them would end the phase alone."""
    leads = "and.b32 %r4, %tid_x, 31; setp.eq.u32 %p4, %r4, 0; "
    arrive = "@%p4 mbarrier.arrive.shared.b64 _, [%r1]; "
    report, _ = go(START + MAKE.format(2) + leads + arrive + between + arrive + OUT)
    if known:
        assert not report.findings
    else:
        only(report, "mbarrier", "thread 0 of block 0 arrives on the mbarrier at byte 0 again", "counted twice")


PEEK = {
    "try_wait": "mbarrier.try_wait.parity.shared.b64 %p3, [%r1], 0;",
    "test_wait": "bar.sync 0; mbarrier.test_wait.parity.shared.b64 %p3, [%r1], 0;",
}
REST = "@%p3 bra there;" + WAIT.format(0) + "there:"


@pytest.mark.parametrize("peek", PEEK.values(), ids=PEEK)
def test_a_peek_is_no_wait(peek):
    """It may fail though the phase is over, so that what follows must wait where it did."""
    report, out = go(START + MAKE.format(1) + FETCH + peek + REST + READ + OUT, of=NUMBERS)
    assert not report.findings
    assert out.tolist() == list(range(1000, 1064))
    report, _ = go(START + MAKE.format(1) + FETCH + peek + READ + OUT, of=NUMBERS)
    assert {kind for kind, _ in told(report)} == {"unwaited"}


def test_other_bytes_that_have_come_tell_nothing_of_these():
    """Of two copies of one thread the second is waited for: the first one's phase may be over, too, or not."""
    second = FETCH.replace("[%r1]", "[%r1+8]").replace("%r1+128", "%r1+1024")
    copies = MAKE.format(1) + MAKE.format(1).replace("[%r1]", "[%r1+8]") + FETCH + second
    both = START + copies + WAIT.format(0).replace("[%r1]", "[%r1+8]") + PEEK["try_wait"]
    report, _ = go(both + READ + OUT, threads=1, of=NUMBERS)
    assert [kind for kind, _ in told(report)] == ["unwaited"]


def test_a_loop_of_tries_is_issued_no_more_often_than_it_must():
    report, _ = go(START + MAKE.format(1) + FETCH + WAIT.format(0) + READ + OUT, of=NUMBERS)
    assert [one.warps for one in report.issued if "try_wait" in one.opcode] == [2]


# What is said ------------------------------------------------------------------------------------------------------


ARRIVE = "mbarrier.arrive.shared.b64 _, [%r1];"
INVALID = MAKE.format(64) + "@%p1 mbarrier.inval.shared.b64 [%r1]; bar.sync 0;" + ARRIVE
READS = MAKE.format(1) + FETCH + WAIT.format(0) + READ
SAID = {  # by what is wrong: the kernel, the kind, words of the finding
    "a phase that never ends": (
        MAKE.format(3) + "@%p1 " + ARRIVE + WAIT.format(0), "deadlock",
        "warp 0 of block 0 waits forever: phase 0 (parity 0) of the mbarrier at byte 0, made at line",
        "lacks 2 of 3 arrivals, and no running thread can supply them"),
    "bytes that never come": (READS.replace("512;", "528;"), "deadlock", "lacks 16 of 528 bytes"),
    "fewer bytes announced than come": (
        READS.replace("512;", "256;"), "mbarrier", "256 bytes are announced",
        "its phase may be over before all of them have arrived"),
    "one that others cannot know of": (
        MAKE.format(64).replace("bar.sync 0;", "") + ARRIVE, "race",
        "thread 1 of block 0 arrives on the mbarrier at byte 0 that thread 0 of block 0 makes at"),
    "one that nobody made": (ARRIVE, "mbarrier", "which was never initialized"),
    "one that is gone": (INVALID, "mbarrier", "which was never initialized"),
    "more arrivals than it was made for": (
        MAKE.format(2) + ARRIVE, "mbarrier",
        "more threads arrive on the mbarrier at byte 0 than the 2 that it was made for"),
    "bytes that do not lie at multiples of 16": (
        MAKE.format(1) + FETCH.replace("[%r1+128]", "[%r1+136]"), "misaligned", "all three must be multiples of 16"),
}  # fmt: skip


@pytest.mark.parametrize("what", SAID)
def test_what_is_wrong_is_said(what):
    body, *said = SAID[what]
    only(go(START + body + OUT, of=NUMBERS)[0], *said)


def test_bytes_beyond_a_tensor():
    report, _ = go(START + MAKE.format(1) + FETCH + OUT, of=NUMBERS[:64].clone())
    only(report, "outside", "copies 512 bytes that reach beyond of")


def test_a_parity_that_is_over_already():
    body = START + MAKE.format(1) + FETCH + WAIT.format(1) + READ + OUT
    reads, late = told(go(body, of=NUMBERS)[0])
    assert reads[0] == late[0] == "unwaited"
    assert "thread 0 of block 0 reads shared memory into which the TMA copy issued at line" in reads[1]
    assert "may still be copying: its mbarrier has not been waited for" in reads[1]
    assert "TMA may write to shared memory of block 0, which has ended" in late[1]


@pytest.mark.parametrize("opcode", ["mbarrier.pending_count.b64 %r9, %rd2;", "st.async.shared::cluster.b32 [%r1], 1;"])
def test_what_is_not_simulated_is_named(opcode):
    with pytest.raises(NotSimulated, match=opcode.split()[0].rstrip(";")):
        go(START + opcode + OUT)


# Clusters ----------------------------------------------------------------------------------------------------------


def clusters(body, blocks=4, cluster=2, threads=32, shared=2048):
    """A grid of so many blocks, in clusters."""
    report, out = in_clusters(kernel(body, ["out"], shared=shared), (blocks, 1, 1), threads, (cluster, 1, 1))
    return report, out.view(blocks, threads)


def in_clusters(ptx, grid, threads, cluster):
    out = torch.zeros(prod(grid) * threads, dtype=torch.int32)
    return run(ptx, grid, (threads,), {"out": out}, cluster=cluster), out


WHERE = """mov.u32 %r10, %ctaid.x; shl.b32 %r11, %r10, 7; cvt.u64.u32 %rd2, %r11; add.s64 %rd_out, %rd_out, %rd2;
mov.u32 %r12, %cluster_ctarank; xor.b32 %r13, %r12, 1;"""
ALL_HERE = "barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;"
TELL = "mapa.shared::cluster.u32 %r14, %r1, %r13; @%p1 mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r14];"


def test_a_block_tells_the_other_one_of_its_cluster():
    body = START + WHERE + MAKE.format(1) + ALL_HERE + TELL + WAIT.format(0) + "mov.u32 %r9, %r12;" + OUT
    report, out = clusters(body)
    assert not report.findings
    assert out[:, 0].tolist() == [0, 1, 0, 1]


def test_it_must_not_tell_before_the_other_has_made_its_mbarrier():
    body = START + WHERE + MAKE.format(1) + TELL + WAIT.format(0) + OUT
    assert "that thread 0 of block 1 makes at" in clusters(body)[0].findings[0].message


def test_a_block_must_not_end_while_the_other_tells_it():
    body = START + WHERE + MAKE.format(1) + ALL_HERE + TELL + OUT
    only(clusters(body)[0], "mbarrier", "block 0 may end before block 1 of its cluster has arrived on its mbarrier")


def test_a_block_that_never_comes_to_the_clusters_barrier():
    body = START + WHERE + "setp.eq.u32 %p4, %r12, 1; @%p4 barrier.cluster.arrive; @!%p4 bra $wait; bra $spin;"
    body += "$wait: barrier.cluster.arrive; barrier.cluster.wait; bra $over; $spin: bar.sync 1, 64; $over: " + OUT
    kinds = [kind for kind, _ in told(clusters(body)[0])]
    assert "barrier" in kinds


@pytest.mark.parametrize("rank", ["%r12", "%r13"])
def test_shared_memory_of_a_cluster_is_read_by_all_of_its_blocks(rank):
    body = START + WHERE + "@%p1 st.shared.b32 [%r1], 5; barrier.cluster.arrive; barrier.cluster.wait;"
    body += f"mapa.shared::cluster.u32 %r14, %r1, {rank}; ld.shared::cluster.b32 %r9, [%r14];" + OUT
    body += "barrier.cluster.arrive; barrier.cluster.wait;"
    report, out = clusters(body)
    assert not report.findings
    assert out.unique().tolist() == [5]


@pytest.mark.parametrize(
    ("before", "ordered"),
    [("", False), ("fence.acq_rel.cluster;", True), ("bar.sync 0;", False), ("fence.proxy.async.shared::cta;", False)],
)
def test_a_relaxed_arrival_in_the_cluster_tells_what_a_fence_before_it_knew(before, ordered):
    body = START + WHERE + f"@%p1 st.shared.b32 [%r1], 5; {before} barrier.cluster.arrive.relaxed;"
    body += "barrier.cluster.wait; "
    body += "mapa.shared::cluster.u32 %r14, %r1, %r13; ld.shared::cluster.b32 %r9, [%r14];"
    report, out = clusters(body + OUT + "barrier.cluster.arrive; barrier.cluster.wait;")
    assert out.unique().tolist() == [5]
    if ordered:
        assert not report.findings
    else:
        only(report, "race", "reads what thread 0 of block 1 wrote")


def test_places_in_a_cluster_of_two_dimensions():
    body = """mov.u32 %r1, %ctaid.x; mov.u32 %r2, %ctaid.y; mov.u32 %r3, %cluster_ctarank; mov.u32 %r4, %clusterid.x;
    mad.lo.u32 %r5, %r2, 4, %r1; shl.b32 %r6, %r5, 2; cvt.u64.u32 %rd2, %r6; add.s64 %rd1, %rd_out, %rd2;
    mad.lo.u32 %r9, %r4, 100, %r3; st.global.b32 [%rd1], %r9;"""
    report, out = in_clusters(kernel(body, ["out"]), (4, 2, 1), 1, (2, 2, 1))
    assert not report.findings
    assert out.view(2, 4).tolist() == [[0, 1, 100, 101], [2, 3, 102, 103]]


# Registers ---------------------------------------------------------------------------------------------------------


def test_registers_that_nobody_gives_are_waited_for_for_ever():
    body = """shr.u32 %r1, %tid_x, 7; setp.eq.u32 %p1, %r1, 0; mov.u32 %r9, 7; @!%p1 bra $others;
    setmaxnreg.inc.sync.aligned.u32 240; bra $over; $others: {0} $over: """ + OUT  # fmt: skip
    report, _ = go(body.replace("{0}", ""), threads=384)
    only(report, "deadlock", "warp 0 of block 0 waits forever for 240 registers a thread", "began with 168")
    assert not go(body.replace("{0}", "setmaxnreg.dec.sync.aligned.u32 96;"), threads=384)[0].findings


# cp.async that an mbarrier counts -------------------------------------------------------------------------------------

COPY = """shl.b32 %r2, %tid_x, 2; add.u32 %r3, %r1, %r2; mul.wide.u32 %rd4, %tid_x, 4; add.s64 %rd5, %rd_of, %rd4;
cp.async.ca.shared.global [%r3+128], [%rd5], 4; """
COUNT = "cp.async.mbarrier.arrive.noinc.shared.b64 [%r1]; "
READ_OTHER = "xor.b32 %r4, %r2, 128; add.u32 %r4, %r1, %r4; ld.shared.b32 %r9, [%r4+128];"  # the other warp's
TEST = "$test: mbarrier.test_wait.parity.shared.b64 %p2, [%r1], 0; @!%p2 bra $test;"


@pytest.mark.parametrize("wait", [WAIT.format(0), TEST], ids=["try_wait", "a loop of tests"])
def test_copies_that_an_mbarrier_counts_are_there_when_its_phase_is_over(wait):
    report, out = go(START + MAKE.format(64) + COPY + COUNT + wait + READ_OTHER + OUT, of=NUMBERS)
    assert not report.findings
    assert out.tolist() == [1000 + (t ^ 32) for t in range(64)]


@pytest.mark.parametrize("order", [COUNT + "{0} " + READ, "{0} " + READ])
def test_a_thread_that_does_not_wait_does_not_know_of_its_own_copies(order):
    report, _ = go(START + MAKE.format(64) + COPY + order.format("") + OUT, of=NUMBERS)
    only(report, "unwaited", "its mbarrier has not been waited for" if COUNT in order else "no committed group")


def test_without_noinc_the_arrival_is_added_to_those_that_are_expected():
    """The threads arrive themselves, too. With .noinc their own arrivals alone end the phase, before the bytes come."""
    own = "mbarrier.arrive.shared.b64 _, [%r1]; "
    body = START + MAKE.format(64) + COPY + COUNT.replace(".noinc", "") + own + WAIT.format(0) + READ_OTHER + OUT
    report, out = go(body, of=NUMBERS)
    assert not report.findings
    assert out.tolist() == [1000 + (t ^ 32) for t in range(64)]
    early = body.replace(".arrive.shared", ".arrive.noinc.shared", 1)
    only(go(early, of=NUMBERS)[0], "unwaited", "its mbarrier has not been waited for")


def test_copies_issued_after_the_instruction_are_not_counted():
    late = COUNT + COPY + WAIT.format(0) + READ_OTHER + OUT
    report, _ = go(START + MAKE.format(64) + late, of=NUMBERS)
    only(report, "unwaited", "no committed group")


def test_such_an_arrival_publishes_the_copies_and_nothing_else():
    """A plain store before it is not ordered by it: only an arrival of the thread's own would release it."""
    store = "st.shared.b32 [%r3+1024], %tid_x; "
    read = READ_OTHER.replace("+128]", "+1024]")
    body = START + MAKE.format(64) + COPY + store + COUNT + WAIT.format(0) + read + OUT
    only(go(body, of=NUMBERS)[0], "race", "with no barrier between")


def test_an_arrival_for_each_thread_that_runs_it():
    half = COUNT.replace("cp.async.mbarrier", "@%p3 cp.async.mbarrier")
    body = START + "setp.lt.u32 %p3, %tid_x, 32; " + MAKE.format(64) + COPY + half + WAIT.format(0) + OUT
    assert "lacks 32 of 64 arrivals" in str(go(body, of=NUMBERS)[0].findings)
