"""Wrong answers to notebook 13.

WRONG: those that any machine can tell: by what they return, by a rehearsal, or by what the compiler made of them.
WRONG_WHEN_RUN: parts and kernels that compile well and give a wrong C: a GPU tells, or the simulator.
"""

from cutlass import BFloat16, cute
from cutlass.cute.nvgpu import cpasync, warpgroup
from cutlass.cute.nvgpu.warpgroup import SmemLayoutAtomKind

from tests.wrong.change import copy_of, derive, swap, without, without_first, without_last
from tutorlib.exercises import n13_hopper_gemm
from tutorlib.kernels.hopper.first import Parts, make_first_gemm
from tutorlib.kernels.hopper.first_parts import boxes, main_loop, ring_layout, store_by_tma, wgmma_fragments
from tutorlib.kernels.hopper.first_share import Sums
from tutorlib.kernels.ladder import LADDER

RIGHT_ONES = copy_of(n13_hopper_gemm)
right_holder, right_bytes = RIGHT_ONES.holder, RIGHT_ONES.tma_bytes

# 13.1 ring_layout -----------------------------------------------------------------------------------------------


def row_major(rows, k, stages):
    """No swizzle."""
    return cute.make_layout((rows, k, stages), stride=(k, 1, rows * k))


def counted_in_elements(rows, k, stages):
    """Notebook 09's swizzle, in elements, where bytes are meant."""
    atom = cute.make_composed_layout(cute.make_swizzle(3, 3, 3), 0, cute.make_layout((8, k), stride=(k, 1)))
    return cute.tile_to_shape(atom, (rows, k, stages), (0, 1, 2))


def always_128_bytes(rows, k, stages):
    """Swizzles over more bytes than a row has."""
    atom = warpgroup.make_smem_layout_atom(SmemLayoutAtomKind.K_SW128, BFloat16)
    return cute.tile_to_shape(atom, (rows, k, stages), (0, 1, 2))


# 13.2 tma_bytes -------------------------------------------------------------------------------------------------


def counts_what_is_inside(shape, tile, place):
    """Zeros are not counted."""
    return (right_bytes(shape, tile, place)[0],) * 2


def counts_elements(shape, tile, place):
    """Elements for bytes."""
    return tuple(n // 2 for n in right_bytes(shape, tile, place))


def reads_all(shape, tile, place):
    """Reads what is outside of the matrix."""
    return (right_bytes(shape, tile, place)[1],) * 2


def negative_outside(shape, tile, place):
    """A tile that is outside has fewer than no rows."""
    down, across = (min(step, size - at * step) for size, step, at in zip(shape, tile, place, strict=True))
    return 2 * down * across, 2 * tile[0] * tile[1]


def counted_then_read(shape, tile, place):
    """The pair exchanged."""
    return right_bytes(shape, tile, place)[::-1]


# 13.3 boxes -----------------------------------------------------------------------------------------------------


def ungrouped(tma, s, g):
    """Rows and K stay two modes."""
    return cpasync.tma_partition(tma, 0, cute.make_layout(1), s, g)


def one_tensor(tma, s, g):
    """Shared memory alone."""
    return boxes(tma, s, g)[0]


# 13.4 holder ----------------------------------------------------------------------------------------------------


def rows_dealt_out(m, n):
    """Row after row to one warp after the other."""
    return 32 * (m % 4) + 4 * (m // 4 % 8) + n % 8 // 2, n % 2 + 2 * (m // 32) + 4 * (n // 8)


def a_thread_for_each_row(m, n):
    """256 threads."""
    return 4 * m + n % 8 // 2, n % 2 + 2 * (n // 8)


def halves_last(m, n):
    """The rows 8 below come after all columns."""
    return right_holder(m, n)[0], n % 2 + 2 * (n // 8) + 64 * (m % 16 // 8)


def pairs_apart(m, n):
    """Columns 0 and 4 to one thread."""
    return right_holder(m, n // 8 * 8)[0] + n % 4, n % 8 // 4 + 2 * (m % 16 // 8) + 4 * (n // 8)


def lanes(m, n):
    """The lane, not the thread."""
    return right_holder(m % 16, n)


# 13.5 fragments -------------------------------------------------------------------------------------------------


def shared_memory_itself(tiled_mma, thread, sA, sB):
    """No descriptors: what partition_A and partition_B give."""
    math = tiled_mma.get_slice(thread)
    _, _, tCrC = wgmma_fragments(tiled_mma, thread, sA, sB)
    return math.partition_A(sA), math.partition_B(sB), tCrC


def no_sums(tiled_mma, thread, sA, sB):
    """Operands alone."""
    return wgmma_fragments(tiled_mma, thread, sA, sB)[:2]


# 13.6 ring ------------------------------------------------------------------------------------------------------


def turns_every_step(step, stages, producer):
    """Another phase in each step."""
    return step % stages, (step + producer) % 2


def all_consumers(step, stages, producer):
    """The producer waits as the consumer does."""
    return step % stages, step // stages % 2


def phases_exchanged(step, stages, producer):
    """The consumer begins with 1, the producer with 0."""
    return step % stages, (step // stages + (not producer)) % 2


def counts_rounds(step, stages, producer):
    """The round for its parity."""
    return step % stages, step // stages + producer


def never_wraps(step, stages, producer):
    """The step for the stage."""
    return step, (step // stages + producer) % 2


# 13.8 epilogue --------------------------------------------------------------------------------------------------


@cute.jit
def vectors(sums: Sums):
    """Ordinary stores to shared memory."""
    sums.tRrC.store(sums.tCrC.load().to(BFloat16))
    cute.arch.sync_threads()
    cute.autovec_copy(sums.tRrC, sums.tRsC)
    cute.arch.fence_proxy("async.shared", space="cta")
    cute.arch.sync_warp()
    cute.copy(sums.tma, sums.tSsC, sums.tSgC)
    cute.arch.cp_async_bulk_commit_group()
    cute.arch.cp_async_bulk_wait_group(0, read=True)


# 13.9 gemm ------------------------------------------------------------------------------------------------------


def not_compiled(a, b, c):
    """No @cute.jit."""


@cute.jit
def launches_nothing(a: cute.Tensor, b: cute.Tensor, c: cute.Tensor):
    """No kernel."""


def kernel(name, says, **parts):
    """The course's host function with one part exchanged, under a name of its own."""
    host = make_first_gemm(Parts(**parts))
    return named(host, name, says)


def named(host, name, says):
    host.__name__, host.__doc__ = name, says
    return host


WAIT_FULL = "cute.arch.mbarrier_wait(steps.full + state.index, state.phase)"
EXPECT = "mbarrier_arrive_and_expect_tx(steps.full + stage, steps.stage_bytes)"
ARRIVE = "        with cute.arch.elect_one():\n            cute.arch.mbarrier_arrive(steps.empty + before.index)\n"

WRONG = {
    "13.1": [
        row_major,
        counted_in_elements,
        always_128_bytes,
        derive(ring_layout, "stages_inside", "Stages run fastest, between the rows.", swap("(0, 1, 2)", "(1, 2, 0)")),
        derive(ring_layout, "one_stage_only", "One stage, whatever is asked for.", swap("k, stages)", "k, 1)")),
        derive(ring_layout, "columns_contiguous", "M-major atoms.", swap('f"K_SW{2 * k}"', 'f"MN_SW{2 * k}"')),
    ],
    "13.2": [counts_what_is_inside, counts_elements, reads_all, negative_outside, counted_then_read],
    "13.3": [
        ungrouped,
        one_tensor,
        derive(
            boxes,
            "sides_exchanged",
            "The matrix for shared memory.",
            swap("(s, 0, 2), cute.group_modes(g, 0, 2)", "(g, 0, 2), cute.group_modes(s, 0, 2)"),
        ),
        derive(boxes, "stages_in_the_box", "Groups all modes of shared memory.", swap("(s, 0, 2)", "(s, 0, 3)")),
        derive(boxes, "rows_alone", "The box is its rows.", swap("0, 2)", "0, 1)", times=2)),
        derive(
            boxes,
            "first_k_tile",
            "Knows the first K tile alone.",
            swap("(g, 0, 2)", "(g[None, None, (None, 0)], 0, 2)"),
        ),
    ],
    "13.4": [rows_dealt_out, a_thread_for_each_row, halves_last, pairs_apart, lanes],
    "13.5": [
        shared_memory_itself,
        no_sums,
        derive(wgmma_fragments, "rounds_every_sum", "Sums in bf16.", swap("Float32", "BFloat16")),
        derive(
            wgmma_fragments,
            "a_tile_for_each_thread",
            "As many registers as the tile has sums.",
            swap("tiled_mma.partition_shape_C(tile)", "tile"),
        ),
        derive(
            wgmma_fragments,
            "all_the_sums",
            "A whole tile of sums in each thread's order, twice.",
            swap("cute.size(sB, mode=[0]))", "2 * cute.size(sB, mode=[0]))"),
        ),
    ],
    "13.6": [turns_every_step, all_consumers, phases_exchanged, counts_rounds, never_wraps],
    "13.7": [
        derive(
            main_loop,
            "waits_for_the_other_phase",
            "Full of the round before.",
            swap(WAIT_FULL, WAIT_FULL.replace("state.phase", "state.phase ^ 1"), times=2),
        ),
        derive(
            main_loop,
            "always_phase_0",
            "The first round's phase for ever.",
            swap(WAIT_FULL, WAIT_FULL.replace("state.phase", "0"), times=2),
        ),
        derive(main_loop, "no_fence", "wgmma before the registers are ready.", without_first("warpgroup.fence()")),
        derive(main_loop, "no_last_wait", "The sums are read while wgmmas still write them.", without("wait_group(0)")),
        derive(
            main_loop,
            "frees_too_early",
            "Arrives for a stage that wgmmas still read.",
            swap("wait_group(1)", "wait_group(2)"),
        ),
        derive(
            main_loop,
            "expects_a_alone",
            "Announces fewer bytes than come.",
            swap("steps.stage_bytes", "steps.stage_bytes // 3"),
            within="fill_stage",
        ),
        derive(
            main_loop,
            "announces_nothing",
            "Loads without an arrival.",
            swap(f"    with cute.arch.elect_one():\n        cute.arch.{EXPECT}\n", ""),
            within="fill_stage",
        ),
        derive(
            main_loop,
            "every_lane_announces",
            "32 arrivals for 1.",
            swap("    with cute.arch.elect_one():\n        cute.arch", "    if True:\n        cute.arch"),
            within="fill_stage",
        ),
        derive(
            main_loop,
            "overwrites_a_stage",
            "Does not wait for empty.",
            without("steps.empty + before.index, before.phase"),
        ),
        derive(main_loop, "never_frees", "No arrival on empty.", swap(ARRIVE, "")),
        derive(
            main_loop,
            "fills_the_next_stage",
            "Loads into the stage that is being read.",
            swap("fill_stage(steps, ahead, before.index)", "fill_stage(steps, ahead, state.index)"),
        ),
        derive(
            main_loop,
            "adds_to_garbage",
            "Keeps what was in the registers.",
            swap("multiply(state.index, True)", "multiply(state.index, False)"),
        ),
        derive(main_loop, "never_commits", "wait_group has nothing to wait for.", without_last("commit_group()")),
        derive(main_loop, "one_ahead", "A K tile too far.", swap("k_tile - 1 + steps.stages", "k_tile + steps.stages")),
        derive(
            main_loop,
            "one_short",
            "Drops the last K tile.",
            swap("cutlass.range(1, steps.k_tiles,", "cutlass.range(1, steps.k_tiles - 1,"),
        ),
        derive(
            main_loop,
            "in_step",
            "Right, and the tensor cores pause after every K tile.",
            swap("wait_group(1)", "wait_group(0)"),
        ),
    ],
    "13.8": [
        vectors,
        derive(store_by_tma, "no_barrier", "Writes where the other warpgroup still reads.", without("sync_threads()")),
        derive(store_by_tma, "no_proxy_fence", "TMA may see what was there before.", without("fence_proxy")),
        derive(store_by_tma, "no_meeting", "Other lanes may be late.", without("sync_warp()")),
        derive(store_by_tma, "ends_at_once", "Shared memory is gone before TMA has read it.", without("wait_group(0")),
        derive(store_by_tma, "never_commits_stores", "Waits for no group.", without("commit_group()")),
        derive(store_by_tma, "sends_nothing", "Stays in shared memory.", without("cute.copy(sums.tma")),
    ],
    "13.9": [
        not_compiled,
        launches_nothing,
        named(next(rung.host for rung in LADDER if rung.name == "tuned"), "mma_sync", "Notebook 12's kernel."),
        kernel("ordinary_stores", "No stmatrix.", epilogue=vectors),
        named(make_first_gemm(stages=5), "five_stages", "240 KiB of shared memory."),
    ],
}

WRONG_WHEN_RUN = {
    "13.5": [
        derive(
            wgmma_fragments,
            "first_rows_twice",
            "Both warpgroups multiply the first one's rows.",
            swap("get_slice(thread)", "get_slice(0)"),
        ),
        derive(
            wgmma_fragments,
            "operands_exchanged",
            "B's descriptors for A's.",
            swap("return tCrA, tCrB", "return tCrB, tCrA"),
        ),
    ],
}
