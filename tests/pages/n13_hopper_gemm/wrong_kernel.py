"""Wrong answers to notebook 13's epilogue and to its whole kernel: by what the compiler made of them, or simulated."""

from functools import partial

from cutlass import BFloat16, cute

from tests.pages.change import copy_of, derive, move_last, swap, without, without_first
from tests.pages.table import says
from tutorlib.course.answers import load_answers
from tutorlib.kernels.hopper import first, first_parts
from tutorlib.kernels.hopper.config import HopperConfig
from tutorlib.kernels.hopper.first_parts import store_by_tma
from tutorlib.kernels.hopper.first_share import Accumulators
from tutorlib.kernels.hopper.specialized import load_steps, make_specialized, multiply_steps
from tutorlib.kernels.ladder import LADDER

# 13.8 epilogue --------------------------------------------------------------------------------------------------


@says("without stmatrix")
@cute.jit
def vectors(acc: Accumulators):
    """Ordinary stores to shared memory."""
    acc.tRrC.store(acc.tCrC.load().to(BFloat16))
    cute.arch.sync_threads()
    cute.autovec_copy(acc.tRrC, acc.tRsC)
    cute.arch.fence_proxy("async.shared", space="cta")
    cute.arch.sync_warp()
    cute.copy(acc.tma, acc.tSsC, acc.tSgC)
    cute.arch.cp_async_bulk_commit_group()
    cute.arch.cp_async_bulk_wait_group(0, read=True)


@says("the course's store_by_tma")
@cute.jit
def the_courses_epilogue(acc: Accumulators):
    """Leans on the course's own."""
    store_by_tma(acc)


@says("not a @cute.jit function")
def not_compiled_epilogue(acc):
    """No @cute.jit."""


epilogue = partial(derive, store_by_tma)
ROUND = "    acc.tRrC.store(acc.tCrC.load().to(BFloat16))\n"
FENCE = 'cute.arch.fence_proxy("async.shared", space="cta")'
SEND = "cute.copy(acc.tma, acc.tSsC, acc.tSgC)"
EPILOGUES = [
    vectors,
    the_courses_epilogue,
    not_compiled_epilogue,
    epilogue(
        "waits_for_each_box",
        "One box in flight at a time.",
        swap(
            f"    {SEND}\n    cute.arch.cp_async_bulk_commit_group()\n    cute.arch.cp_async_bulk_wait_group(0, read=True)",
            "    for box in range(cute.size(acc.tSsC, mode=[1])):\n"
            "        cute.copy(acc.tma, acc.tSsC[None, box], acc.tSgC[None, box])\n"
            "        cute.arch.cp_async_bulk_commit_group()\n"
            "        cute.arch.cp_async_bulk_wait_group(0, read=True)",
        ),
        words=("cp.async.bulk.wait_group instructions",),
    ),
    epilogue("fences_again", "Six fences for one.", swap(f"    {FENCE}\n", f"    {FENCE}\n" * 6)),
    epilogue("no_barrier", "Writes where the other warpgroup still reads.", without("sync_threads()")),
    epilogue("the_warp_for_the_block", "sync_warp for sync_threads.", swap("sync_threads()", "sync_warp()")),
    epilogue("barrier_behind_stmatrix", "Meets when it is too late.", move_last("sync_threads()", "acc.stmatrix")),
    epilogue("no_proxy_fence", "TMA may see what was there before.", without("fence_proxy")),
    epilogue("fence_before_stmatrix", "Fences what nobody has written yet.", move_last("fence_proxy", "sync_threads")),
    epilogue("fence_behind_the_copy", "Too late.", move_last("fence_proxy", "acc.tma")),
    epilogue(
        "of_global_memory", "The other half of the async proxy.", swap('"async.shared", space="cta"', '"async.global"')
    ),
    epilogue("of_aliases", "Another proxy.", swap('"async.shared", space="cta"', '"alias"')),
    epilogue("of_threads_alone", "A fence of memory, of no proxy.", swap(FENCE, "cute.arch.fence_acq_rel_cta()")),
    epilogue("no_meeting", "Other lanes may be late.", without("sync_warp()")),
    epilogue("meeting_behind_the_copy", "Too late.", move_last("sync_warp()", "acc.tma")),
    epilogue("ends_at_once", "Shared memory is gone before TMA has read it.", without("wait_group(0")),
    epilogue(
        "one_group_left", "wait_group(1): the one there is may be in flight.", swap("wait_group(0", "wait_group(1")
    ),
    epilogue("never_commits_stores", "Waits for no group.", without("commit_group()")),
    epilogue("commits_too_early", "An empty group, and then the copy.", move_last(SEND, "commit_group()")),
    epilogue(
        "waits_as_for_cp_async",
        "The wait of another kind of copy.",
        swap("cp_async_bulk_wait_group(0, read=True)", "cp_async_wait_group(0)"),
    ),
    epilogue("sends_nothing", "Stays in shared memory.", without("cute.copy(acc.tma")),
    epilogue(
        "sends_first",
        "TMA, and then stmatrix.",
        without_first("acc.stmatrix"),
        swap(f"    {SEND}\n", f"    {SEND}\n    cute.copy(acc.stmatrix, acc.tRrC, acc.tRsC)\n"),
    ),
    epilogue(
        "sends_one_box",
        "The first 64 columns.",
        swap("acc.tSsC, acc.tSgC", "acc.tSsC[None, 0], acc.tSgC[None, 0]"),
        words=("all in columns 64 to 255",),
    ),
    epilogue(
        "one_box_everywhere",
        "The first box to all four places.",
        swap(SEND, "for box in range(4):\n        cute.copy(acc.tma, acc.tSsC[None, 0], acc.tSgC[None, box])"),
    ),
    epilogue("sends_twice", "Each box is stored twice.", swap(f"    {SEND}\n", f"    {SEND}\n    {SEND}\n")),
    epilogue(
        "writes_twice",
        "Each box is written twice.",
        swap(
            "    cute.copy(acc.stmatrix, acc.tRrC, acc.tRsC)\n", "    cute.copy(acc.stmatrix, acc.tRrC, acc.tRsC)\n" * 2
        ),
    ),
    epilogue("loads_for_stores", "From C to shared memory.", swap("acc.tSsC, acc.tSgC", "acc.tSgC, acc.tSsC")),
    epilogue("not_rounded", "The registers of before.", swap(ROUND, "")),
    epilogue(
        "rounds_too_late",
        "Stores what has not been rounded yet.",
        swap(ROUND, ""),
        swap("    cute.arch.fence_proxy", f"{ROUND}    cute.arch.fence_proxy"),
    ),
    epilogue("rounds_to_fp16", "Another type of 16 bits.", swap("BFloat16", "cutlass.Float16")),
    epilogue("does_not_round", "fp32 into bf16.", swap(".to(BFloat16)", "")),
    epilogue(
        "not_as_the_mma_has_them", "The registers themselves.", swap("acc.stmatrix, acc.tRrC", "acc.stmatrix, acc.tCrC")
    ),
    epilogue(
        "the_block_for_the_warp",
        "sync_threads for sync_warp: every warp waits for the slowest.",
        swap("sync_warp()", "sync_threads()"),
    ),
    epilogue(
        "meets_at_the_end",
        "A barrier after the last wait.",
        swap("wait_group(0, read=True)", "wait_group(0, read=True)\n    cute.arch.sync_threads()"),
    ),
    epilogue(
        "one_warpgroup_sends",
        "The other one's rows stay.",
        swap(f"    {SEND}", f"    if cute.arch.thread_idx()[0] < 128:\n        {SEND}"),
        words=("all in rows ≥ 64",),
    ),
]

# 13.9 gemm ------------------------------------------------------------------------------------------------------

PAGE = load_answers("13_hopper_gemm")
OWN = copy_of(first)  # as if it were the reader's


@says("is not a @cute.jit function")
def not_compiled(a, b, c):
    """No @cute.jit."""


@says("launches no kernel")
@cute.jit
def launches_nothing(a: cute.Tensor, b: cute.Tensor, c: cute.Tensor):
    """No kernel."""


def named(host, name, what, *words):
    host.__name__, host.__doc__ = name, what
    return says(*words)(host)


def with_parts(name: str, what: str, **parts):
    """The page's kernel, which calls these functions in place of the reader's."""
    made = derive(PAGE["13.9"], name, what)
    made.__wrapped__.__globals__.update(parts)
    return made


host = partial(derive, PAGE["13.9"])
kernel = partial(host, within="hopper_kernel")
STEPS = "main_loop(Steps(k_tiles, full, empty, warp == 0, a, b, tiled_mma, tCrA, tCrB, tCrC, multiply))"
GRID, BLOCK = "grid=(tiles[0] * tiles[1], 1, 1)", "block=(THREADS, 1, 1)"
HOSTS = [
    not_compiled,
    launches_nothing,
    named(
        next(rung.host for rung in LADDER if rung.name == "tuned"),
        "mma_sync",
        "Notebook 12's kernel.",
        "without cp.async.bulk.tensor",
    ),
    named(OWN.make_first_gemm(OWN.Parts(epilogue=vectors)), "ordinary_stores", "No stmatrix.", "without stmatrix"),
    named(
        OWN.make_first_gemm(stages=5), "five_stages", "240 KiB of shared memory.", "a block on sm_90a can have 232,448"
    ),
    named(first.make_first_gemm(), "the_courses_kernel", "The course's own.", "calls make_first_gemm"),
    named(
        make_specialized(HopperConfig((128, 256, 64)), load_steps, multiply_steps),
        "page_14s_kernel",
        "The course's persistent kernel.",
        "calls make_specialized",
    ),
    host(
        "whole_tiles_alone",
        "// for ceil_div.",
        swap("cute.ceil_div(c.shape[0], bM), cute.ceil_div(c.shape[1], bN)", "c.shape[0] // bM, c.shape[1] // bN"),
        words=("all in columns ≥ 256",),
    ),
    host(
        "tiles_exchanged",
        "Tiles across, then down.",
        swap(
            "tiles = cute.ceil_div(c.shape[0], bM), cute.ceil_div(c.shape[1], bN)",
            "tiles = cute.ceil_div(c.shape[1], bN), cute.ceil_div(c.shape[0], bM)",
        ),
    ),
    host(
        "sizes_of_the_operands_exchanged",
        "M by bN.",
        swap("c.shape[0], bM), cute.ceil_div(c.shape[1], bN)", "c.shape[0], bN), cute.ceil_div(c.shape[1], bM)"),
    ),
    host(
        "two_directions",
        "A grid of two directions, of which the kernel reads one.",
        swap(GRID, "grid=(tiles[0], tiles[1], 1)"),
    ),
    host("one_row_of_tiles", "A block for each tile of the first row.", swap(GRID, "grid=(tiles[1], 1, 1)")),
    host("one_block", "A grid of one block.", swap(GRID, "grid=(1, 1, 1)")),
    host("a_block_too_many", "One more.", swap(GRID, "grid=(tiles[0] * tiles[1] + 1, 1, 1)")),
    host("one_warpgroup", "128 threads.", swap(BLOCK, "block=(THREADS // 2, 1, 1)"), words=("all in rows ≥ 64",)),
    host("three_warpgroups", "384 threads.", swap(BLOCK, "block=(THREADS + 128, 1, 1)")),
    host("not_launched", "The kernel is called and not launched.", without("kernel.launch")),
    host(
        "b_in_boxes_of_a",
        "B's box is A's.",
        swap("cute.select(layout_b, [0, 1]), (bN, bK)", "cute.select(layout_a, [0, 1]), (bM, bK)"),
    ),
    host("b_is_a", "A's descriptor for B.", swap("described(b)", "described(a)"), words=("384×264×200",)),
    host("all_of_c_at_once", "One box for the whole tile of C.", swap("out_layout(*BOX), BOX)", "layout_c, (bM, bN))")),
    host("boxes_of_32_rows", "A box of two warps.", swap("out_layout(*BOX), BOX)", "out_layout(32, 64), (32, 64))")),
    host("loads_c", "C's order is a load.", swap("make_tiled_tma_atom(store,", "make_tiled_tma_atom(load,")),
    host(
        "known_rows",
        "The matrix itself, whose rows the compiler knows.",
        swap("described(c)", "c"),
        words=("A mode of size 1",),
    ),
    host(
        "descriptors_exchanged",
        "B for A in the kernel.",
        swap("hopper_kernel(tma_a, mA, tma_b, mB,", "hopper_kernel(tma_b, mB, tma_a, mA,"),
    ),
    host(
        "layouts_exchanged",
        "B's ring for A's.",
        swap("layout_a, layout_b, layout_c, tiles", "layout_b, layout_a, layout_c, tiles"),
    ),
    host(
        "other_stages",
        "A ring that is larger than its barriers.",
        swap("ring_layout(bM, bK, STAGES)", "ring_layout(bM, bK, STAGES + 1)"),
    ),
]
KERNELS = [
    kernel("every_warp_loads", "All are told that they load.", swap("warp == 0, a", "warp >= 0, a")),
    kernel("nobody_loads", "Warp 8, which there is not.", swap("warp == 0, a", "warp == 8, a")),
    kernel("a_warp_of_each_group_loads", "Warps 0 and 4.", swap("warp == 0, a", "warp % 4 == 0, a")),
    kernel("a_thread_loads", "Thread 0 in place of its warp.", swap("warp == 0, a", "thread == 0, a")),
    kernel("a_group_loads", "The whole first warpgroup.", swap("warp == 0, a", "group == 0, a")),
    kernel(
        "barriers_exchanged",
        "empty for full.",
        swap("full, empty, warp", "empty, full, warp"),
        words=("lacks 7 of 8 arrivals",),
    ),
    kernel(
        "fragments_exchanged",
        "B's descriptors for A's.",
        swap("tCrA, tCrB, tCrC, multiply", "tCrB, tCrA, tCrC, multiply"),
    ),
    kernel(
        "group_for_thread",
        "The warpgroup's number for its first thread.",
        swap("group * 128", "group"),
        words=("all in rows ≥ 64",),
    ),
    kernel("all_the_first_group", "Thread 0 for all.", swap("group * 128", "0"), words=("all in rows ≥ 64",)),
    kernel("k_of_the_box", "The columns of a box for the number of K tiles.", swap("gA, mode=[2])", "gA, mode=[1])")),
    kernel("k_tiles_fixed", "64 K tiles, as many as 4096 has.", swap("cute.size(gA, mode=[2])", "64")),
    kernel("whole_k_tiles", "// for ceil_div.", swap("cute.size(gA, mode=[2])", "cute.size(mA, mode=[1]) // bK")),
    with_parts("the_courses_loop", "Leans on the course's own.", main_loop=first_parts.main_loop),
    with_parts("the_courses_group", "Leans on the course's own.", multiply=first_parts.multiply),
    with_parts("in_one_stage", "The loop without a ring.", main_loop=PAGE["13.12"]),
    kernel("no_init", "The mbarriers are never initialized.", without("    init_barriers(")),
    kernel(
        "empty_for_one_warp", "One arrival frees a stage.", swap("STAGES, THREADS // 32, thread", "STAGES, 1, thread")
    ),
    kernel(
        "one_pair_of_barriers",
        "One stage's mbarriers.",
        swap("STAGES, THREADS // 32, thread", "1, THREADS // 32, thread"),
    ),
    kernel(
        "unfenced",
        "Initialized in the kernel, without the fence.",
        swap(
            "    init_barriers(full, empty, STAGES, THREADS // 32, thread)",
            "    if thread == 0:\n"
            "        for stage in cutlass.range_constexpr(STAGES):\n"
            "            cute.arch.mbarrier_init(full + stage, 1)\n"
            "            cute.arch.mbarrier_init(empty + stage, THREADS // 32)\n"
            "    cute.arch.sync_threads()",
        ),
    ),
    kernel(
        "needless_barrier",
        "A barrier of the block between the loop and the epilogue.",
        swap("    store_by_tma(", "    cute.arch.sync_threads()\n    store_by_tma("),
    ),
    kernel(
        "needless_barrier_of_the_cluster",
        "The same, of a cluster that is this block alone.",
        swap("    store_by_tma(", "    cute.arch.cluster_arrive()\n    cute.arch.cluster_wait()\n    store_by_tma("),
    ),
    kernel("no_loop", "Stores what was in the registers.", without("main_loop(")),
    kernel("no_epilogue", "Nothing is stored.", without("store_by_tma(")),
    kernel("stores_first", "The epilogue before the loop.", move_last("    main_loop(", "store_by_tma(")),
    kernel("b_out_of_a", "sA for sB.", swap("boxes(tma_b, sB, gB)", "boxes(tma_b, sA, gB)")),
    kernel("a_of_b", "A's descriptor, B's matrix.", swap("boxes(tma_a, sA, gA)", "boxes(tma_a, sA, gB)")),
    kernel(
        "first_warps_rows",
        "The group's first thread for the accumulators.",
        swap("tiled_mma, thread, tma_c", "tiled_mma, group * 128, tma_c"),
    ),
]
WRONG = {"13.8": EPILOGUES, "13.9": [*HOSTS, *KERNELS]}
