"""What orders the threads of a warp, of a block and of a cluster, and what does not (PTX ISA, 8.9)."""

import pytest
import torch

from tests.simulate.ptx.snippets import kernel
from tutorlib.simulate.ptx import CannotLaunch, run

ADDRESS = "mov.u32 %r1, smem; shl.b32 %r2, %tid_x, 2; add.u32 %r3, %r1, %r2; setp.eq.u32 %p1, %tid_x, 0;"
BARRIER = "@%p1 mbarrier.init.shared.b64 [%r1+256], {0}; bar.sync 0; setp.ge.u32 %p2, %tid_x, 32; @%p2 bra THERE;"
WAIT = "THERE: mbarrier.try_wait.parity.shared.b64 %p3, [%r1+256], 0; @!%p3 bra THERE;"
OWN = "mul.wide.u32 %rd0, %tid_x, 4; add.s64 %rd1, %rd_out, %rd0;"  # %rd1: this thread's word of global memory
READ = f"ld.shared.b32 %r9, [%r3+-128]; {OWN} st.global.b32 [%rd1], %r9;"
OTHERS_READ = READ.replace("%r3+-128", "%r4").replace("ld.", "xor.b32 %r4, %r2, 4; add.u32 %r4, %r4, %r1; ld.")


def told(body, threads=64, blocks=1, cluster=(), declared="", **tensors):
    tensors = {"out": torch.zeros(threads * blocks, dtype=torch.int32), **tensors}
    ptx = kernel(body, [*tensors], shared=512).replace(")\n{", f")\n{declared}\n{{", 1)
    report = run(ptx, (blocks,), (threads,), tensors, cluster=cluster)
    return [(finding.kind, finding.message) for finding in report.findings]


ARRIVALS = {  # how a warp tells another that it has stored, and whether that orders all of its stores
    "each thread": ("mbarrier.arrive.shared.b64 _, [%r1+256];", 32, True),
    "one, behind a warp barrier": ("bar.warp.sync -1; @%p1 mbarrier.arrive.shared.b64 _, [%r1+256];", 1, True),
    "one alone": ("@%p1 mbarrier.arrive.shared.b64 _, [%r1+256];", 1, False),
    "one, elected": (
        "elect.sync %r8|%p4, -1; @%p4 mbarrier.arrive.shared.b64 _, [%r1+256];", 1, False),
    "one, behind a vote": (
        "vote.sync.any.pred %p4, %p1, -1; @%p1 mbarrier.arrive.shared.b64 _, [%r1+256];", 1, False),
    "one, before the warp barrier": ("@%p1 mbarrier.arrive.shared.b64 _, [%r1+256]; bar.warp.sync -1;", 1, False),
}  # fmt: skip


@pytest.mark.parametrize("how", ARRIVALS)
def test_a_thread_that_arrives_releases_what_it_knows_and_no_more(how):
    arrive, count, ordered = ARRIVALS[how]
    body = f"{ADDRESS} {BARRIER.format(count)} st.shared.b32 [%r3], %tid_x; {arrive} ret; {WAIT} {READ}"
    found = told(body)
    assert [kind for kind, _ in found] == ([] if ordered else ["race"]), found
    if not ordered:
        assert "thread 33 of block 0 reads what thread 1 wrote" in found[0][1]


@pytest.mark.parametrize("how", ARRIVALS)
def test_what_a_warp_has_read_is_over_where_it_elects_a_leader(how):
    """Of loads a leader speaks for all; of stores it does not."""
    arrive, count, ordered = ARRIVALS[how]
    load = f"ld.shared.b32 %r9, [%r3]; {OWN} st.global.b32 [%rd1], %r9;"
    body = f"{ADDRESS} st.shared.b32 [%r3], %tid_x; {BARRIER.format(count)} {load} {arrive} ret;"
    found = [kind for kind, _ in told(f"{body} {WAIT} st.shared.b32 [%r3+-128], %tid_x;")]
    assert found == ([] if ordered or how == "one, elected" else ["race"])


@pytest.mark.parametrize(("behind", "ordered"), [("", False), ("bar.warp.sync -1;", True)])
def test_a_wait_of_one_thread_is_not_its_warps(behind, ordered):
    """Lane 0 waits, the others of its warp go past it."""
    poll = "setp.ne.u32 %p4, %tid_x, 32; @%p4 bra PAST; " + WAIT.replace("THERE", "AGAIN") + f"PAST: {behind}"
    arrive = "mbarrier.arrive.shared.b64 _, [%r1+256];"
    body = f"{ADDRESS} {BARRIER.format(32)} st.shared.b32 [%r3], %tid_x; {arrive} ret; THERE: {poll} {READ}"
    found = {kind for kind, _ in told(body)}
    assert found == (set() if ordered else {"race"})


def test_half_of_a_warp_meets_without_the_other():
    half = "setp.ge.u32 %p4, %tid_x, 16; @%p4 ret; st.shared.b32 [%r3], %tid_x; {0}" + OTHERS_READ
    assert not told(ADDRESS + half.format("bar.warp.sync 0xffff;"), threads=32)
    assert [kind for kind, _ in told(ADDRESS + half.format(""), threads=32)] == ["race"]


# global memory in a block -------------------------------------------------------------------------------------------

HAND_OVER = (
    OWN
    + """st.global.b32 [%rd1], %tid_x; {0} xor.b32 %r4, %tid_x, {1}; mul.wide.u32 %rd2, %r4, 4;
add.s64 %rd3, %rd_out, %rd2; ld.global.b32 %r9, [%rd3]; {2}"""
)


@pytest.mark.parametrize(
    ("between", "other", "ordered"),
    [("", 32, False), ("", 1, False), ("bar.sync 0;", 32, True), ("bar.warp.sync -1;", 1, True),
     ("bar.warp.sync -1;", 32, False), ("membar.gl;", 32, False)],
)  # fmt: skip
def test_global_memory_is_handed_over_by_a_barrier(between, other, ordered):
    found = told(HAND_OVER.format(between, other, ""))
    assert [kind for kind, _ in found] == ([] if ordered else ["race"]), found
    if not ordered:
        assert f"thread 0 of block 0 loads out[{other}], and thread {other} stores it" in found[0][1]


def test_what_another_thread_loads_must_not_be_overwritten():
    again = "st.global.b32 [%rd1], 7;"
    assert not told(HAND_OVER.format("bar.sync 0;", 32, "bar.sync 0;" + again))
    ((kind, message),) = told(HAND_OVER.format("bar.sync 0;", 32, again))
    assert kind == "race"
    assert "which warp 1 may still be loading" in message
    same = "st.global.b32 [%rd1], %tid_x;"  # what is there
    assert not told(HAND_OVER.format("bar.sync 0;", 32, same))


SUM = "add.s64 %rd2, %rd_total, 0; ld.global.b32 %r5, [%rd2]; add.u32 %r5, %r5, {0}; st.global.b32 [%rd2], %r5;"
ATOMIC = "add.s64 %rd2, %rd_total, 0; red.global.add.u32 [%rd2], {0};"


@pytest.mark.parametrize("what", ["1", "%tid_x"], ids=["a histogram", "a sum"])
def test_threads_that_add_to_one_place_need_atomics(what):
    total = torch.zeros(1, dtype=torch.int32)
    assert {kind for kind, _ in told(SUM.format(what), total=total.clone())} == {"race"}
    assert not told(ATOMIC.format(what), total=total)
    assert int(total) == (64 if what == "1" else sum(range(64)))


def test_threads_that_store_one_value_to_one_place_are_no_race():
    assert not told("st.global.b32 [%rd_out], 7;")
    assert [kind for kind, _ in told("st.global.b32 [%rd_out], %tid_x;")] == ["race"]


def test_a_flag_of_one_thread_releases_its_own_stores():
    """Between blocks: 15.5's part of a tile, without the warp barrier before the flag."""
    give = "mov.u32 %r5, %ctaid.x; setp.ne.u32 %p2, %r5, 0; @%p2 bra TAKE; st.global.b32 [%rd1], %tid_x; {0}"
    give += "@%p1 st.global.release.gpu.b32 [%rd_flag], 1; ret;"
    take = "TAKE: ld.global.acquire.gpu.b32 %r6, [%rd_flag]; setp.eq.u32 %p3, %r6, 0; @%p3 bra TAKE;"
    take += "ld.global.b32 %r7, [%rd1]; st.global.b32 [%rd1+128], %r7;"
    body = ADDRESS + OWN + give + take
    flag = torch.zeros(1, dtype=torch.int32)
    assert not told(body.format("bar.warp.sync -1;"), threads=32, blocks=2, flag=flag.clone())
    ((kind, message),) = told(body.format(""), threads=32, blocks=2, flag=flag)
    assert kind == "overlap"
    assert "block 1 loads out[1], and block 0 stores it" in message


SHARED_FLAG = """@%p1 st.shared.b32 [%r1+256], 0; bar.sync 0; setp.ge.u32 %p2, %tid_x, 32; @%p2 bra TAKE;
st.shared.b32 [%r3], %tid_x; bar.warp.sync -1; {0} ret; TAKE: setp.ne.u32 %p4, %tid_x, 32; @%p4 bra PAST;
AGAIN: {1} setp.eq.u32 %p3, %r6, 0; @%p3 bra AGAIN; {2} PAST: bar.warp.sync -1;"""
SET, SEE, FENCE = "@%p1 st.volatile.shared.b32 [%r1+256], 1;", "ld.volatile.shared.b32 %r6, [%r1+256];", "membar.cta;"


@pytest.mark.parametrize(
    ("give", "take", "behind", "ordered"),
    [(FENCE + SET, SEE, FENCE, True), (SET, SEE, FENCE, False), (FENCE + SET, SEE, "", False),
     (SET.replace("volatile", "release.cta"), SEE.replace("volatile", "acquire.cta"), "", True),
     (FENCE + "@%p1 atom.shared.exch.b32 %r7, [%r1+256], 1;", "atom.shared.or.b32 %r6, [%r1+256], 0;", FENCE, True)],
)  # fmt: skip
def test_a_flag_in_shared_memory_that_one_lane_polls_while_its_warp_waits(give, take, behind, ordered):
    found = told(f"{ADDRESS} {SHARED_FLAG.format(give, take, behind)} {READ}")
    assert [kind for kind, _ in found] == ([] if ordered else ["race"]), found


def test_volatile_accesses_order_no_more_than_others():
    body = f"{ADDRESS} st.volatile.shared.b32 [%r3], %tid_x; {OTHERS_READ.replace('ld.shared', 'ld.volatile.shared')}"
    assert [kind for kind, _ in told(body)] == ["race"]


# clusters -----------------------------------------------------------------------------------------------------------

MEET = "barrier.cluster.arrive; barrier.cluster.wait;"
NUMBERS = """mov.u32 %r10, %ctaid.x; mad.lo.u32 %r11, %r10, 32, %tid_x; mul.wide.u32 %rd4, %r11, 4;
add.s64 %rd5, %rd_out, %rd4; mov.u32 %r12, %cluster_ctarank; xor.b32 %r12, %r12, 1;"""
TO_OTHERS = (
    ADDRESS
    + NUMBERS
    + """st.global.b32 [%rd5], %r11; {0} xor.b32 %r13, %r11, {1}; mul.wide.u32 %rd6, %r13, 4;
add.s64 %rd7, %rd_out, %rd6; ld.global.b32 %r9, [%rd7];"""
)


@pytest.mark.parametrize(
    ("between", "other", "ordered"),
    [(MEET, 32, True), ("", 32, False), ("bar.sync 0;", 32, False), (MEET, 64, False)],
    ids=["in a cluster", "without a barrier", "behind the block's barrier", "beyond the cluster"],
)  # fmt: skip
def test_a_cluster_barrier_orders_global_memory_in_the_cluster_and_no_further(between, other, ordered):
    found = told(TO_OTHERS.format(between, other), threads=32, blocks=4, cluster=(2,))
    assert [kind for kind, _ in found] == ([] if ordered else ["overlap"]), found


FLAG = """setp.ne.u32 %p2, %r10, 0; @%p2 bra TAKE; st.global.b32 [%rd1], %tid_x; bar.warp.sync -1;
@%p1 st.global.release.{0}.b32 [%rd_flag], 1; ret;
TAKE: setp.ne.u32 %p2, %r10, {2}; @%p2 ret;
AGAIN: ld.global.acquire.{1}.b32 %r6, [%rd_flag]; setp.eq.u32 %p3, %r6, 0; @%p3 bra AGAIN; ld.global.b32 %r7, [%rd1];"""


@pytest.mark.parametrize(
    ("of_store", "of_load", "block", "ordered"),
    [("cluster", "cluster", 1, True), ("cluster", "gpu", 1, True), ("cluster", "cluster", 2, False),
     ("gpu", "cluster", 2, False), ("gpu", "gpu", 2, True), ("cta", "gpu", 1, False)],
)  # fmt: skip
def test_a_flag_orders_threads_in_its_scope(of_store, of_load, block, ordered):
    body = ADDRESS + NUMBERS + OWN + FLAG.format(of_store, of_load, block)
    found = told(body, threads=32, blocks=4, cluster=(2,), flag=torch.zeros(1, dtype=torch.int32))
    assert {kind for kind, _ in found} == (set() if ordered else {"overlap"}), found


REMOTE = (
    ADDRESS
    + NUMBERS
    + """mapa.shared::cluster.u32 %r14, %r3, %r12; st.shared::cluster.b32 [%r14], %r11; {0}
ld.shared.b32 %r9, [%r3]; st.global.b32 [%rd5], %r9; {1}"""
)


def test_a_store_to_the_shared_memory_of_another_block():
    assert not told(REMOTE.format(MEET, ""), threads=32, blocks=2, declared=".reqnctapercluster 2, 1, 1")
    found = told(REMOTE.format("", MEET), threads=32, blocks=2, declared=".reqnctapercluster 2, 1, 1")
    assert [kind for kind, _ in found] == ["race"]
    assert "reads what thread 0 of block 1 wrote" in found[0][1]


STORE_ASYNC = f"""{ADDRESS} {NUMBERS} @%p1 mbarrier.init.shared.b64 [%r1+256], 1;
@%p1 mbarrier.arrive.expect_tx.shared.b64 _, [%r1+256], 128; {MEET} add.u32 %r2, %r1, 256;
mapa.shared::cluster.u32 %r14, %r3, %r12; mapa.shared::cluster.u32 %r15, %r2, %r12;
st.async.shared::cluster.mbarrier::complete_tx::bytes.b32 [%r14], %r11, [%r15]; {{0}}
ld.shared.b32 %r9, [%r3]; st.global.b32 [%rd5], %r9; {MEET}"""


@pytest.mark.parametrize(("wait", "kinds"), [(WAIT, set()), ("", {"unwaited"})])
def test_words_that_an_mbarrier_of_another_block_counts(wait, kinds):
    assert {kind for kind, _ in told(STORE_ASYNC.format(wait), threads=32, blocks=2, cluster=(2,))} == kinds


def test_a_block_must_not_end_while_others_use_its_shared_memory():
    read = ADDRESS + NUMBERS + "st.shared.b32 [%r3], %r11; mapa.shared::cluster.u32 %r14, %r3, %r12;" + MEET
    read += "ld.shared::cluster.b32 %r9, [%r14]; st.global.b32 [%rd5], %r9;"
    assert not told(read + MEET, threads=32, blocks=2, cluster=(2,))
    ((kind, message),) = told(read, threads=32, blocks=2, cluster=(2,))[:1]
    assert kind == "unwaited"
    assert "may access shared memory of block" in message


def test_a_launch_with_another_cluster_than_the_kernel_declares():
    with pytest.raises(CannotLaunch, match="compiled for clusters of"):
        told("", blocks=4, cluster=(4,), declared=".reqnctapercluster 2, 1, 1")


# named barriers -----------------------------------------------------------------------------------------------------

ROLES = "mov.u32 %r7, 0; setp.lt.u32 %p2, %tid_x, 32;"
STEP = "add.u32 %r7, %r7, 1; setp.lt.u32 %p3, %r7, 3;"
OUTSIDE = "@!%p2 bra CONSUME; GIVE: {give} STEP @%p3 bra GIVE; ret; CONSUME: TAKE: {take} STEP @%p3 bra TAKE;"
INSIDE = "BOTH: @!%p2 bra CONSUME; {give} bra NEXT; CONSUME: {take} NEXT: STEP @%p3 bra BOTH;"
ARRIVE, SYNC = "barrier.cta.arrive {0}, 64;", "barrier.cta.sync {0}, 64;"


@pytest.mark.parametrize("loop", [OUTSIDE, INSIDE], ids=["outside of the loop", "inside"])
def test_a_barrier_arrived_at_twice_is_found_in_any_order_of_the_threads(loop):
    def run_loop(give, take):
        body = ADDRESS + ROLES + loop.replace("STEP", STEP)
        return told(body.replace("{give}", give).replace("{take}", take))

    full, empty = 1, 2
    held_back = SYNC.format(empty) + ARRIVE.format(full), ARRIVE.format(empty) + SYNC.format(full)
    assert not run_loop(*held_back)
    found = run_loop(ARRIVE.format(full), SYNC.format(full))
    assert {kind for kind, _ in found} <= {"deadlock", "barrier"}
    assert any("may come to barrier 1 too early" in message for kind, message in found if kind == "deadlock")


def test_a_barrier_that_threads_arrive_at_and_wait_in_themselves():
    """It counts them twice, as a warpgroup gives itself the first turn; an error where others count on it."""
    alone = ARRIVE.format(1) + SYNC.format(1)
    assert not told(ADDRESS + alone, threads=32)
    found = told(ADDRESS + "setp.lt.u32 %p2, %tid_x, 32; @!%p2 bra OTHERS;" + alone + "OTHERS:" + SYNC.format(1))
    assert any("may come to barrier 1 too early" in message for kind, message in found if kind == "deadlock"), found
