"""Unusual right answers to notebook 15: the parts around the loops, and the kernels made of them."""

import cutlass
from cutlass import BFloat16, Boolean, Float32, cute
from cutlass.cute.nvgpu import OperandMajorMode, tcgen05
from cutlass.utils import blackwell_helpers

from tests.pages.change import swap, without
from tests.pages.n15_blackwell_gemm.blackwell_loops import several
from tests.pages.n15_blackwell_gemm.wrong_kernels import DRAIN, LAUNCH, RELEASE, STORED, host, kernel, pair
from tutorlib.kernels.blackwell.parts import make_umma

# 15.7 mma -------------------------------------------------------------------------------------------------------


def from_an_atom(tile, pair):
    m, n, _ = tile
    op = tcgen05.MmaF16BF16Op(
        BFloat16,
        Float32,
        instruction_shape=(m, n, 16),
        cta_group=[tcgen05.CtaGroup.ONE, tcgen05.CtaGroup.TWO][pair],
        a_src=tcgen05.OperandSource.SMEM,
        a_major_mode=OperandMajorMode.K,
        b_major_mode=OperandMajorMode.K,
    )
    return cute.make_tiled_mma(cute.make_mma_atom(op))


@cute.jit
def first_block_apart(tiled_mma: cute.TiledMma, acc: cute.Tensor, tCrA: cute.Tensor, tCrB: cute.Tensor, first: Boolean):
    tiled_mma.set(tcgen05.Field.ACCUMULATE, first == Boolean(False))
    cute.gemm(tiled_mma, acc, tCrA[None, None, 0], tCrB[None, None, 0], acc)
    tiled_mma.set(tcgen05.Field.ACCUMULATE, True)
    for k_block in cutlass.range_constexpr(1, cute.size(tCrA, mode=[2])):
        cute.gemm(tiled_mma, acc, tCrA[None, None, k_block], tCrB[None, None, k_block], acc)


@cute.jit
def set_before_each(tiled_mma: cute.TiledMma, acc: cute.Tensor, tCrA: cute.Tensor, tCrB: cute.Tensor, first: Boolean):
    adds = Boolean(True)
    if first:
        adds = Boolean(False)
    for k_block in cutlass.range_constexpr(tCrA.shape[2]):
        tiled_mma.set(tcgen05.Field.ACCUMULATE, adds)
        cute.gemm(tiled_mma, acc, tCrA[None, None, k_block], tCrB[None, None, k_block], acc)
        adds = Boolean(True)


@cute.jit
def one_k_block(tiled_mma: cute.TiledMma, acc: cute.Tensor, a: cute.Tensor, b: cute.Tensor, adds: Boolean):
    tiled_mma.set(tcgen05.Field.ACCUMULATE, adds)
    cute.gemm(tiled_mma, acc, a, b, acc)


@cute.jit
def in_a_helper(tiled_mma: cute.TiledMma, acc: cute.Tensor, tCrA: cute.Tensor, tCrB: cute.Tensor, first: Boolean):
    for k in cutlass.range_constexpr(cute.size(tCrB, mode=[2])):
        one_k_block(tiled_mma, acc, tCrA[None, None, k], tCrB[None, None, k], Boolean(k > 0) | ~Boolean(first))


@cute.jit
def loops_in_a_branch(tiled_mma: cute.TiledMma, acc: cute.Tensor, tCrA: cute.Tensor, tCrB: cute.Tensor, first: Boolean):
    if first:
        for k_block in cutlass.range_constexpr(cute.size(tCrA, mode=[2])):
            tiled_mma.set(tcgen05.Field.ACCUMULATE, k_block > 0)
            cute.gemm(tiled_mma, acc, tCrA[None, None, k_block], tCrB[None, None, k_block], acc)
    else:
        for k_block in cutlass.range_constexpr(cute.size(tCrA, mode=[2])):
            tiled_mma.set(tcgen05.Field.ACCUMULATE, True)
            cute.gemm(tiled_mma, acc, tCrA[None, None, k_block], tCrB[None, None, k_block], acc)


@cute.jit
def rolled(tiled_mma: cute.TiledMma, acc: cute.Tensor, tCrA: cute.Tensor, tCrB: cute.Tensor, first: Boolean):
    for k_block in cutlass.range(cute.size(tCrA, mode=[2]), unroll=1):
        tiled_mma.set(tcgen05.Field.ACCUMULATE, k_block > 0 or not first)
        cute.gemm(tiled_mma, acc, tCrA[None, None, k_block], tCrB[None, None, k_block], acc)


@cute.jit
def all_k_blocks(tiled_mma: cute.TiledMma, acc: cute.Tensor, tCrA: cute.Tensor, tCrB: cute.Tensor, first: Boolean):
    """cute.gemm loops over the K blocks, and adds from the second one on."""
    tiled_mma.set(tcgen05.Field.ACCUMULATE, ~Boolean(first))
    cute.gemm(tiled_mma, acc, tCrA, tCrB, acc)


def by_nvidias_helper(tile, pair):
    group = tcgen05.CtaGroup.TWO if pair else tcgen05.CtaGroup.ONE
    k_major = OperandMajorMode.K
    return blackwell_helpers.make_trivial_tiled_mma(BFloat16, k_major, k_major, Float32, group, tile[:2])


# 15.12 make_t2r -------------------------------------------------------------------------------------------------


def by_the_tile(acc, thread):
    """local_tile for the parts; the registers from the source's first mode."""
    parts = cute.local_tile(acc, (128, 64), (0, None, None))  # (128, 64, parts, accumulators)
    op = tcgen05.Ld32x32bOp(tcgen05.Repetition(64), tcgen05.Pack.NONE)
    t2r = tcgen05.make_tmem_copy(cute.make_copy_atom(op, Float32), parts[None, None, 0, 0])
    tTtC = t2r.get_slice(thread).partition_S(parts)
    return t2r, tTtC, cute.make_rmem_tensor(((64, 1), 1, 1), Float32)


def slices_last(acc, thread):
    """Partitions all modes, and drops that of one part along M then; the registers like a tensor of coordinates."""
    parts = cute.flat_divide(acc, (128, 64))
    atom = cute.make_copy_atom(tcgen05.Ld32x32bOp(tcgen05.Repetition.x64), acc.element_type)
    t2r = tcgen05.make_tmem_copy(atom, parts[None, None, 0, 0, 0])
    mine = t2r.get_slice(thread)
    tTtC = mine.partition_S(parts)[None, None, None, 0, None, None]
    coordinates = mine.partition_D(cute.make_identity_tensor((128, 64)))
    return t2r, tTtC, cute.make_rmem_tensor(coordinates.shape, cutlass.Float32)


def as_a_list(acc, thread):
    """Divides by a tiler of the shape of acc; returns a list."""
    parts = cute.flat_divide(acc, (128, 64, 1))[None, None, 0, 0, None, None]  # (128, 64, parts, accumulators)
    atom = cute.make_copy_atom(tcgen05.Ld32x32bOp(tcgen05.Repetition.x64), Float32)
    t2r = tcgen05.make_tmem_copy(atom, parts[None, None, 0, 0])
    mine = t2r.get_slice(thread % 128)
    like = cute.make_layout((128, 64), stride=(64, 1))
    tTrC = cute.make_rmem_tensor(mine.partition_D(cute.make_identity_tensor(like.shape)).shape, Float32)
    return [t2r, mine.partition_S(parts), tTrC]


# 15.14 make_pair_gemm -------------------------------------------------------------------------------------------

BARRIER = "    cute.arch.cluster_arrive()\n    cute.arch.cluster_wait()"

RIGHT = {
    "15.7": [
        several("apart", "The first K block apart; the op by keywords.", functions=(from_an_atom, first_block_apart)),
        several("a_variable", "A run-time variable that the first K block changes.", functions=(make_umma, set_before_each)),
        several("a_helper", "A jit function for one K block.", functions=(from_an_atom, in_a_helper)),
        several("branch", "A loop in each branch: eight instructions, of which four run.", functions=(make_umma, loops_in_a_branch)),
        several("loop", "A loop that is not unrolled: one instruction, which runs four times.", functions=(make_umma, rolled)),
        several("at_once", "One call of cute.gemm; NVIDIA's helper for the op.", functions=(by_nvidias_helper, all_k_blocks)),
        several("listed", "A list of functions.", functions=[make_umma, first_block_apart]),
    ],
    "15.12": [by_the_tile, slices_last, as_a_list],
    "15.13": [
        kernel(
            "drains_in_the_mma_warp",
            "The warp that multiplies waits for empty.",
            without(DRAIN),
            swap("        parts.multiply(steps)", f"        parts.multiply(steps)\n{DRAIN}"),
        ),
        kernel(
            "roles_exchanged",
            "Warp 4 loads, warp 5 multiplies.",
            swap("== 5", "== 9"),
            swap("== 4", "== 5"),
            swap("== 9", "== 4"),
        ),
        kernel(
            "nested_branches",
            "One branch inside another.",
            swap("    if block.warp == 4:\n", "    elif block.warp == 4:\n"),
            swap("    if block.warp < 4:\n", "    else:\n"),
        ),
        kernel(
            "taken_out_first",
            "The loops under names of its own.",
            swap("    steps = block.steps_in(acc)", "    loops = parts.produce, parts.multiply, parts.store\n    steps = block.steps_in(acc)"),
            *(swap(f"parts.{role}(", f"loops[{at}](") for at, role in enumerate(("produce", "multiply", "store"))),
        ),
        kernel(
            "waits_after_the_release",
            "A block's last waits come when its tensor memory is free again, the TMA's for complete stores.",
            swap(DRAIN, "        pass"),
            swap(STORED, "        pass"),
            swap(RELEASE, f"{RELEASE}\n    if block.warp == 5:\n{DRAIN}\n    if block.warp < 4:\n        cute.arch.cp_async_bulk_wait_group(0)"),
        ),
        host(
            "equal_shares",
            "No more blocks than it takes for each to have as many tiles as the busiest.",
            swap("min(tiles_m * tiles_n, sms)", "cute.ceil_div(tiles_m * tiles_n, cute.ceil_div(tiles_m * tiles_n, sms))"),
        ),
        host(
            "parts_made_in_place",
            "Makes the parts where it needs them.",
            swap("alone_parts)", "Parts(make_umma, issue, make_t2r, allocate, release, produce, multiply, store))"),
        ),
        host(
            "by_hand",
            "Rounds up by hand, in Python's integers; an explicit cluster of one.",
            swap("cute.ceil_div(c.shape[0], bM), cute.ceil_div(c.shape[1], bN)", "-(-c.shape[0] // bM), -(-c.shape[1] // bN)"),
            swap(LAUNCH, "kernel.launch(grid=[blocks, 1, 1], block=[32 * 6, 1, 1], cluster=[1, 1, 1])"),
        ),
    ],
    "15.14": [
        pair(
            "another_warp",
            "Warp 0 allocates.",
            swap("if warp == 4:", "if warp == 0:"),
            within="pair_allocate",
        ),
        pair(
            "meets_twice",
            "Each block meets before both do.",
            swap(BARRIER, f"    cute.arch.sync_threads()\n{BARRIER}"),
            within="pair_release",
        ),
        pair(
            "relinquishes_later",
            "Relinquishes after the barrier.",
            swap("        cute.arch.relinquish_tmem_alloc_permit(is_two_cta=True)\n", ""),
            swap("cluster_wait()", "cluster_wait()\n    if warp == 4:\n        cute.arch.relinquish_tmem_alloc_permit(True)"),
            within="pair_allocate",
        ),
        pair(
            "relaxed_arrival",
            "Each block meets first, so that its arrival in the cluster need not release.",
            swap("    cute.arch.cluster_arrive()", "    cute.arch.sync_threads()\n    cute.arch.cluster_arrive_relaxed()"),
            within="pair_allocate",
        ),
        pair(
            "fenced_arrival",
            "A fence of the cluster, and arrivals that need not release.",
            swap("cluster_arrive()", "fence_acq_rel_cluster()\n    cute.arch.cluster_arrive_relaxed()"),
            within="pair_release",
        ),
        pair(
            "clusters_from_blocks",
            "Counts blocks first.",
            swap("clusters = min(tiles_m * tiles_n, sms // 2)", "blocks = min(2 * tiles_m * tiles_n, sms // 2 * 2)\n        clusters = blocks // 2"),
        ),
    ],
}  # fmt: skip
