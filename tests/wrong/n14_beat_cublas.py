"""Wrong answers to notebook 14, told by a rehearsal, by what they return, or by the course's model of a GEMM's time."""

from dataclasses import replace
from math import ceil

from tests.wrong.change import copy_of, derive, swap, without_first, without_last
from tutorlib.exercises.hopper import costs, feeding, tiles
from tutorlib.kernels.hopper.config import HopperConfig
from tutorlib.kernels.hopper.specialised import load_steps, multiply_steps
from tutorlib.models import hopper_gemm, l2, work

costs, feeding, tiles = map(copy_of, (costs, feeding, tiles))

# 14.3 -----------------------------------------------------------------------------------------------------------


def wrong_way_round(warpgroups, need):
    """setmaxnreg the wrong way round: a hang."""
    return hopper_gemm.register_split(warpgroups, need)[::-1]


def shares_the_whole_file(warpgroups, need):
    """65,536 over all threads is rounded down first; the rest is nobody's."""
    producer = max(24, -(-need // 8) * 8)
    return producer, (65_536 // 128 - producer) // warpgroups // 8 * 8


def any_number(warpgroups, need):
    """Not multiples of 8."""
    producer = max(24, need)
    return producer, ((warpgroups + 1) * hopper_gemm.at_launch(warpgroups) - producer) // warpgroups


def fewer_than_24(warpgroups, need):
    """No thread can have so few."""
    producer = -(-need // 8) * 8
    return producer, ((warpgroups + 1) * hopper_gemm.at_launch(warpgroups) - producer) // warpgroups // 8 * 8


def as_at_the_start(warpgroups, need):
    """Nothing moves."""
    return hopper_gemm.at_launch(warpgroups), hopper_gemm.at_launch(warpgroups)


def rounds_up(warpgroups, need):
    """More than the pool has."""
    producer = max(24, -(-need // 8) * 8)
    return producer, -(-((warpgroups + 1) * hopper_gemm.at_launch(warpgroups) - producer) // warpgroups // 8) * 8


# 14.4 -----------------------------------------------------------------------------------------------------------


def only_wgmma(tile, cluster):
    """Forgets what TMA writes."""
    m, n, k = tile
    return m // 64 * (64 + n) * k * 2, hopper_gemm.step_bytes(tile, cluster)[1]


def b_read_once(tile, cluster):
    """As if all warpgroups read B together."""
    m, n, k = tile
    return 2 * (m + n) * k * 2, hopper_gemm.step_bytes(tile, cluster)[1]


def shares_along_the_wrong_side(tile, cluster):
    """A's tile is the same along N."""
    return hopper_gemm.step_bytes(tile, cluster)[0], hopper_gemm.step_bytes(tile, cluster[::-1])[1]


def no_multicast(tile, cluster):
    """Every block asks L2 for all of it."""
    return hopper_gemm.step_bytes(tile, (1, 1))


def counts_elements(tile, cluster):
    """Elements in place of bytes."""
    return tuple(bytes // 2 for bytes in hopper_gemm.step_bytes(tile, cluster))


# 14.5 -----------------------------------------------------------------------------------------------------------


def the_other_matrix(rank, cluster, rows, mode):
    """A and B exchanged."""
    return hopper_gemm.multicast(rank, cluster, rows, 1 - mode)


def not_to_itself(rank, cluster, rows, mode):
    """A mask without the block's own bit."""
    first, count, mask = hopper_gemm.multicast(rank, cluster, rows, mode)
    return first, count, mask & ~(1 << rank)


def all_of_it(rank, cluster, rows, mode):
    """Every block loads the whole tile for all."""
    return 0, rows, hopper_gemm.multicast(rank, cluster, rows, mode)[2]


def to_everybody(rank, cluster, rows, mode):
    """The whole cluster receives."""
    return *hopper_gemm.multicast(rank, cluster, rows, mode)[:2], (1 << cluster[0] * cluster[1]) - 1


def ranks_along_n(rank, cluster, rows, mode):
    """The other order of ranks: right for a cluster that is one block wide or high."""
    return feeding.by_rows(rank, cluster, rows, mode)


# 14.6 -----------------------------------------------------------------------------------------------------------


def remainder(m, n, tile, cluster, at_once):
    """A full last wave has none."""
    waves, last = hopper_gemm.count_waves(m, n, tile, cluster, at_once)
    return waves, last % at_once


def by_area(m, n, tile, cluster, at_once):
    """Forgets that tiles hang over C's edge."""
    clusters = ceil(m * n / (tile[0] * cluster[0] * tile[1] * cluster[1]))
    return ceil(clusters / at_once), (clusters - 1) % at_once + 1


def counts_blocks(m, n, tile, cluster, at_once):
    """Blocks, where clusters are asked for."""
    return hopper_gemm.count_waves(m, n, tile, (1, 1), at_once)


def half_a_cluster(m, n, tile, cluster, at_once):
    """Lets clusters begin where a block's tile does."""
    clusters = ceil(ceil(m / tile[0]) * ceil(n / tile[1]) / (cluster[0] * cluster[1]))
    return ceil(clusters / at_once), (clusters - 1) % at_once + 1


def one_wave_more(m, n, tile, cluster, at_once):
    """Divides and adds one."""
    clusters = ceil(m / (tile[0] * cluster[0])) * ceil(n / (tile[1] * cluster[1]))
    return clusters // at_once + 1, clusters % at_once


# 14.7 -----------------------------------------------------------------------------------------------------------


def neighbours_in_turn(block, cluster, clusters, grid, group):
    """A cluster's own tiles are neighbours, those at work together are not."""
    return tiles.in_a_row(block, cluster, clusters, grid, group)


def first_block_only(block, cluster, clusters, grid, group):
    """All blocks of a cluster compute the same tile."""
    return hopper_gemm.walk(block - block % (cluster[0] * cluster[1]), cluster, clusters, grid, group)


def cluster_tiles(block, cluster, clusters, grid, group):
    """Places in cluster tiles."""
    return [(m // cluster[0], n // cluster[1]) for m, n in hopper_gemm.walk(block, cluster, clusters, grid, group)]


def every_block_for_itself(block, cluster, clusters, grid, group):
    """Blocks of a cluster work on different cluster tiles."""
    tiles = range(block, grid[0] * grid[1], clusters)
    return [(m * cluster[0], n * cluster[1]) for m, n in (l2.grouped(tile, *grid, group) for tile in tiles)]


def one_tile_each(block, cluster, clusters, grid, group):
    """Not persistent."""
    return hopper_gemm.walk(block, cluster, clusters, grid, group)[:1]


# 14.8 -----------------------------------------------------------------------------------------------------------


def whole_tiles(cluster, clusters, tiles, k_tiles):
    """No sharing."""
    return work.whole_tiles(cluster, clusters, tiles, k_tiles)


def forgets_the_rest(cluster, clusters, tiles, k_tiles):
    """Shares of equal length, and the last K tiles are nobody's."""
    share = tiles * k_tiles // clusters
    return [item for item in pieces(cluster * share, cluster * share + share, k_tiles) if item[0] < tiles]


def rest_to_the_last(cluster, clusters, tiles, k_tiles):
    """The last cluster has all that is left."""
    share = tiles * k_tiles // clusters
    end = tiles * k_tiles if cluster == clusters - 1 else (cluster + 1) * share
    return pieces(cluster * share, end, k_tiles)


def across_tiles(cluster, clusters, tiles, k_tiles):
    """Does not cut where a tile ends."""
    share, longer = divmod(tiles * k_tiles, clusters)
    begin = cluster * share + min(cluster, longer)
    tile, first = divmod(begin, k_tiles)
    return [(tile, first, first + share + (1 if cluster < longer else 0))]


def splits_every_tile(cluster, clusters, tiles, k_tiles):
    """Split-K of every tile: even, and cut far more often than needed."""
    turn = [(tile, k) for tile in range(tiles) for k in range(k_tiles)][cluster::clusters]
    return [(tile, k, k + 1) for tile, k in turn]


def counts_from_one(cluster, clusters, tiles, k_tiles):
    """Numbers tiles from 1."""
    return [(tile + 1, begin, end) for tile, begin, end in work.stream_k(cluster, clusters, tiles, k_tiles)]


def pieces(begin, end, k_tiles):
    """The line from begin to end, cut where tiles end."""
    found = []
    while begin < end:
        tile, first = divmod(begin, k_tiles)
        last = min(k_tiles, first + end - begin)
        found.append((tile, first, last))
        begin += last - first
    return found


# 14.9 -----------------------------------------------------------------------------------------------------------


def divides(x, scales, block):
    """The scale's inverse."""
    return hopper_gemm.dequantise(x, 1 / scales, block)


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
    return hopper_gemm.dequantise(x, scales, block).bfloat16()


def rounds_on_the_way(x, scales, block):
    """Rounded to bf16, and in fp32 again."""
    return hopper_gemm.dequantise(x, scales, block).bfloat16().float()


# 14.10 ----------------------------------------------------------------------------------------------------------


def no_start(config, m, n, k, sm):
    """Forgets launch and end."""
    return hopper_gemm.gemm_time(config, m, n, k, replace(sm, start=0.0))


def arithmetic_alone(config, m, n, k, sm):
    """As if L2 cost nothing."""
    return hopper_gemm.gemm_time(config, m, n, k, replace(sm, l2_bytes=1e12))


def shared_memory_is_free(config, m, n, k, sm):
    """As if shared memory had no limit."""
    return hopper_gemm.gemm_time(config, m, n, k, replace(sm, smem_bytes=1e12))


def part_of_a_wave(config, m, n, k, sm):
    """Does not round waves up."""
    return hopper_gemm.gemm_time(replace(config, stream_k=True), m, n, k, replace(sm, share=0.0))


def sharing_is_free(config, m, n, k, sm):
    """Stream-K without its price."""
    return hopper_gemm.gemm_time(config, m, n, k, replace(sm, share=0.0))


def memory_is_free(config, m, n, k, sm):
    """Forgets device memory."""
    return hopper_gemm.gemm_time(config, m, n, k, replace(sm, hbm_bytes=1e12))


def as_they_come(config, m, n, k, sm):
    """Forgets what `transposed` exchanges."""
    return hopper_gemm.gemm_time(replace(config, transposed=False), m, n, k, sm)


def exchanging_is_free(config, m, n, k, sm):
    """Split-K without its price."""
    return hopper_gemm.gemm_time(config, m, n, k, replace(sm, exchange=0.0))


def all_of_k(config, m, n, k, sm):
    """Every block of a cluster that splits K has all of it."""
    return hopper_gemm.gemm_time(config, m, n, k * config.split_k, sm)


def parts_beside_the_cluster(config, m, n, k, sm):
    """Forgets that the parts of K are blocks, too: more clusters than there is room for."""
    return hopper_gemm.gemm_time(config, m, n, k, replace(sm, sms=sm.sms * config.split_k))


def clusters_anywhere(config, m, n, k, sm):
    """Divides the SMs, as if GPCs were whole numbers of clusters."""
    return hopper_gemm.gemm_time(config, m, n, k, costs.Anywhere(**vars(sm)))


# 14.11, 14.12 ---------------------------------------------------------------------------------------------------


def a_tuple():
    """Not a HopperConfig."""
    return (128, 256, 64), (2, 1)


def too_many_registers():
    """256×256 sums are more than two warpgroups can hold."""
    return HopperConfig(tile=(256, 256, 64))


def for_another_dtype():
    """The exercise's matrices are bf16."""
    return HopperConfig(tile=(128, 256, 128), dtype="e4m3")


def with_stamps():
    """A trace costs time, and wants a buffer."""
    return HopperConfig(trace=True)


def by_shape(m, n, k):
    """Takes a shape, where none is given."""
    return HopperConfig()


def the_best_of_4096(m, n, k):
    """One configuration for all: far too few tiles for 512×768."""
    return HopperConfig(cluster=(2, 1), defer_stores=True)


def many_small_ones(m, n, k):
    """The smallest tile everywhere: as many bytes from L2 as operations allow."""
    return HopperConfig(tile=(64, 64, 64))


def by_a_list(m, n, k):
    """Knows three sizes."""
    return {2048: HopperConfig(), 4096: HopperConfig(cluster=(2, 1)), 8192: HopperConfig(stream_k=True)}[m]


def nothing(m, n, k):
    """Chooses nothing."""


def two_of_them(m, n, k):
    """Two, to be tried."""
    return HopperConfig(), HopperConfig(stream_k=True)


WRONG = {
    "14.3": [wrong_way_round, shares_the_whole_file, any_number, fewer_than_24, as_at_the_start, rounds_up],
    "14.4": [only_wgmma, b_read_once, shares_along_the_wrong_side, no_multicast, counts_elements],
    "14.5": [the_other_matrix, not_to_itself, all_of_it, to_everybody, ranks_along_n],
    "14.6": [remainder, by_area, counts_blocks, half_a_cluster, one_wave_more],
    "14.7": [neighbours_in_turn, first_block_only, cluster_tiles, every_block_for_itself, one_tile_each],
    "14.8": [whole_tiles, forgets_the_rest, rest_to_the_last, across_tiles, splits_every_tile, counts_from_one],
    "14.9": [
        divides,
        repeats_the_pattern,
        whole_blocks_only,
        rows_and_columns_exchanged,
        rounds_to_bf16,
        rounds_on_the_way,
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
    ],
    "14.11": [a_tuple, too_many_registers, for_another_dtype, with_stamps, by_shape],
    "14.12": [the_best_of_4096, many_small_ones, by_a_list, nothing, two_of_them],
}
