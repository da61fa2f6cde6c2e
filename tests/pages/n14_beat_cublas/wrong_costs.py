"""Wrong answers to notebook 14's exercises on scales and on the model of a GEMM's time."""

from dataclasses import replace
from math import ceil

from tests.pages.change import copy_of
from tests.pages.solved import changed, solution
from tests.pages.table import answer
from tutorlib.exercises.n14_beat_cublas import time_model as costs
from tutorlib.kernels.hopper.config import HopperConfig
from tutorlib.models.work import Sm

costs = copy_of(costs)
PAGE = {"ceil": ceil, "step_bytes": solution("14.4", {})}
cost, right_dequantize = solution("14.10", PAGE), solution("14.9", {})

# 14.9 -------------------------------------------------------------------------------------------------------------


def divides(x, scales, block):
    """The scale's inverse."""
    return right_dequantize(x, 1 / scales, block)


def repeats_the_pattern(x, scales, block):
    """repeat in place of repeat_interleave: blocks become stripes."""
    rows, columns = x.shape
    return x.float() * scales.repeat(block)[:rows, :columns]


def whole_blocks_only(x, scales, block):
    """Fails where a block is cut off."""
    return x.float() * scales.repeat_interleave(block[0], 0).repeat_interleave(block[1], 1)


def rows_and_columns_exchanged(x, scales, block):
    """block[1] rows."""
    rows, columns = x.shape
    return x.float() * scales.repeat_interleave(block[1], 0)[:rows].repeat_interleave(block[0], 1)[:, :columns]


def rounds_to_bf16(x, scales, block):
    """A reference that rounds."""
    return right_dequantize(x, scales, block).bfloat16()


def rounds_on_the_way(x, scales, block):
    """Rounded to bf16, and in fp32 again."""
    return right_dequantize(x, scales, block).bfloat16().float()


# 14.10 ------------------------------------------------------------------------------------------------------------


def no_start(config, m, n, k, sm):
    """Forgets launch and end."""
    return cost(config, m, n, k, replace(sm, start=0.0))


def arithmetic_alone(config, m, n, k, sm):
    """As if L2 cost nothing."""
    return cost(config, m, n, k, replace(sm, l2_bytes=1e12))


def shared_memory_is_free(config, m, n, k, sm):
    """As if shared memory had no limit."""
    return cost(config, m, n, k, replace(sm, smem_bytes=1e12))


def part_of_a_wave(config, m, n, k, sm):
    """Does not round waves up."""
    return cost(replace(config, stream_k=True), m, n, k, replace(sm, share=0.0))


def sharing_is_free(config, m, n, k, sm):
    """Stream-K without its price."""
    return cost(config, m, n, k, replace(sm, share=0.0))


def memory_is_free(config, m, n, k, sm):
    """Forgets device memory."""
    return cost(config, m, n, k, replace(sm, hbm_bytes=1e12))


def as_they_come(config, m, n, k, sm):
    """Forgets what `transposed` exchanges."""
    return cost(replace(config, transposed=False), m, n, k, sm)


def exchanging_is_free(config, m, n, k, sm):
    """Split-K without its price."""
    return cost(config, m, n, k, replace(sm, exchange=0.0))


def all_of_k(config, m, n, k, sm):
    """Every block of a cluster that splits K has all of it."""
    return cost(config, m, n, k * config.split_k, sm)


def parts_beside_the_cluster(config, m, n, k, sm):
    """Forgets that the parts of K are blocks, too: more clusters than there is room for."""
    return cost(config, m, n, k, replace(sm, sms=sm.sms * config.split_k))


def clusters_anywhere(config, m, n, k, sm):
    """Divides the SMs, as if GPCs were whole numbers of clusters."""
    return cost(config, m, n, k, costs.Anywhere(**vars(sm)))


def makes_all_scales_one(x, scales, block):
    """Writes over its arguments, with which it would be compared."""
    scales[:] = 1
    return x.float()


def block_from_the_shapes(x, scales, block):
    """Divides x among the scales evenly: wrong where the last block is cut off."""
    down, across = (-(-size // count) for size, count in zip(x.shape, scales.shape, strict=True))
    return right_dequantize(x, scales, (down, across))


CUT = "[:rows, :columns]"
TILES = "ceil(m / (tile_m * cluster_m)) * ceil(n / (tile_n * cluster_n))"


def padded(x, scales, block):
    """Keeps what hangs over the edge."""
    spread = scales.repeat_interleave(block[0], 0).repeat_interleave(block[1], 1)
    spread[: x.shape[0], : x.shape[1]] *= x.float()
    return spread


def wrong_scales(name, what, old, new, *words):
    return changed("14.9", {}, name, what, old, new, *words)


def wrong_cost(name, what, old, new, *words):
    return changed("14.10", PAGE, name, what, old, new, *words)


WRONG = {
    "14.9": [
        divides,
        repeats_the_pattern,
        whole_blocks_only,
        rows_and_columns_exchanged,
        rounds_to_bf16,
        rounds_on_the_way,
        answer("writes_over_scales", makes_all_scales_one.__doc__, makes_all_scales_one, "changed x or scales"),
        block_from_the_shapes,
        wrong_scales("in_e4m3", "e4m3 is not multiplied.", "x.float() *", "x *", "raised"),
        wrong_scales("in_fp16", "Scales and elements in fp16.", f"x.float() * spread{CUT}", f"(x.half() * spread{CUT}.half()).float()"),
        wrong_scales("first_scale", "One scale for all.", f"spread{CUT}", "scales[0, 0]"),
        wrong_scales("rows_alone", "Scales are repeated along the rows, and broadcast along the columns.", ".repeat_interleave(block[1], 1)", "[:, :1]"),
        wrong_scales("always_128_columns", "Blocks of 128 columns.", "repeat_interleave(block[1], 1)", "repeat_interleave(128, 1)"),
        wrong_scales("a_list", "Numbers in lists.", f"x.float() * spread{CUT}", f"(x.float() * spread{CUT}).tolist()", "a tensor counts as one"),
        answer("with_padding", padded.__doc__, padded, "it should have the shape"),
        wrong_scales("from_the_end", "Cut at the wrong end.", CUT, "[-rows:, -columns:]"),
        wrong_scales("scales_alone", "Forgets x.", "x.float() * ", ""),
        wrong_scales("codes", "The bits of e4m3, as numbers.", "x.float()", "x.view(__import__('torch').uint8).float()"),
    ],
    "14.10": [
        no_start,
        arithmetic_alone,
        shared_memory_is_free,
        part_of_a_wave,
        sharing_is_free,
        memory_is_free,
        as_they_come,
        exchanging_is_free,
        all_of_k,
        parts_beside_the_cluster,
        clusters_anywhere,
        answer("an_h200s", "Whatever the GPU is.", lambda config, m, n, k, sm: cost(config, m, n, k, Sm())),
        wrong_cost("rate_by_heart", "The tensor cores' rate as a number.", "sm.flops", "3_900.0"),
        wrong_cost("clusters_along_m", "Clusters are one tile wide.", TILES, "ceil(m / (tile_m * cluster_m)) * ceil(n / tile_n)"),
        wrong_cost("rounded_to_tiles", "Rounds up to tiles of blocks, then to clusters.", TILES, "ceil(ceil(m / tile_m) * ceil(n / tile_n) / (cluster_m * cluster_n))"),
        wrong_cost("steps_of_64", "64 of K in every step.", "ceil(k / tile_k /", "ceil(k / 64 /"),
        wrong_cost("parts_rounded_down", "A rest of K is left out.", "ceil(k / tile_k / config.split_k)", "ceil(k / tile_k) // config.split_k"),
        wrong_cost("exchange_of_any_size", "Adding up takes as long for a small tile.", "    cycles = rounds * (k_tiles * step + results * area) + shared", "    cycles = rounds * (k_tiles * step + sm.store * area + (results - sm.store)) + shared"),
        wrong_cost("share_of_any_size", "Giving away takes as long for a small tile.", "sm.share * area *", "sm.share *"),
        wrong_cost("stores_of_any_size", "Results take as long for a small tile.", "results * area", "results"),
        wrong_cost("shares_once", "One part of each tile is given away.", "max(1, 1 / rounds)", "1"),
        wrong_cost("parts_of_any_length", "Parts may be shorter than 4 K tiles.", "max(tiles / clusters, 4 / k_tiles)", "tiles / clusters"),
        wrong_cost("all_at_once", "As if loads came beside the multiplication for nothing.", "max(2 * tile_m * tile_n * tile_k / sm.flops, smem / sm.smem_bytes) + from_l2 / sm.l2_bytes", "max(2 * tile_m * tile_n * tile_k / sm.flops, smem / sm.smem_bytes, from_l2 / sm.l2_bytes)"),
        wrong_cost("one_after_the_other", "Shared memory after the tensor cores.", "max(2 * tile_m * tile_n * tile_k / sm.flops, smem / sm.smem_bytes)", "2 * tile_m * tile_n * tile_k / sm.flops + smem / sm.smem_bytes"),
        wrong_cost("memory_afterwards", "Device memory's time is added.", "max(cycles / sm.clock, 2 * (m * k + n * k + m * n) / sm.hbm_bytes)", "cycles / sm.clock + 2 * (m * k + n * k + m * n) / sm.hbm_bytes"),
        wrong_cost("elements", "Elements in the place of bytes.", "2 * (m * k", "1 * (m * k"),
        wrong_cost("cluster_exchanged_too", "The tile and its cluster change places with A and B.", "    smem, from_l2", "    if config.transposed:\n        cluster_m, cluster_n = cluster_n, cluster_m\n    smem, from_l2"),
        wrong_cost("in_cycles", "Not in µs.", "cycles / sm.clock,", "cycles,"),
        wrong_cost("start_at_least", "The start only where it is longer.", "sm.start + max(", "max(sm.start, "),
        answer("a_text", "With its unit.", lambda *args: f"{cost(*args)} µs", "it should be a number"),
        answer("of_the_default", "Another configuration than the given.", lambda config, *args: cost(HopperConfig(), *args)),
    ],
}  # fmt: skip
