"""Wrong answers to notebook 14's questions of which tiles run when: waves, stream-K."""

from math import ceil

from tests.pages.solved import changed, solution
from tests.pages.table import answer

CEIL = {"ceil": ceil}
count_waves, stream_k = (solution(id, CEIL) for id in ("14.6", "14.8"))

# 14.6 -------------------------------------------------------------------------------------------------------------


def remainder(m, n, tile, cluster, at_once):
    """A full last wave has none."""
    waves, last = count_waves(m, n, tile, cluster, at_once)
    return waves, last % at_once


def by_area(m, n, tile, cluster, at_once):
    """Forgets that tiles hang over C's edge."""
    clusters = ceil(m * n / (tile[0] * cluster[0] * tile[1] * cluster[1]))
    return ceil(clusters / at_once), (clusters - 1) % at_once + 1


def counts_blocks(m, n, tile, cluster, at_once):
    """Blocks, where clusters are asked for."""
    return count_waves(m, n, tile, (1, 1), at_once)


def half_a_cluster(m, n, tile, cluster, at_once):
    """Lets clusters begin where a block's tile does."""
    clusters = ceil(ceil(m / tile[0]) * ceil(n / tile[1]) / (cluster[0] * cluster[1]))
    return ceil(clusters / at_once), (clusters - 1) % at_once + 1


def one_wave_more(m, n, tile, cluster, at_once):
    """Divides and adds one."""
    clusters = ceil(m / (tile[0] * cluster[0])) * ceil(n / (tile[1] * cluster[1]))
    return clusters // at_once + 1, clusters % at_once


# 14.8 -------------------------------------------------------------------------------------------------------------


def whole_tiles(cluster, clusters, tiles, k_tiles):
    """No sharing."""
    return [(tile, 0, k_tiles) for tile in range(cluster, tiles, clusters)]


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
    return [(tile + 1, begin, end) for tile, begin, end in stream_k(cluster, clusters, tiles, k_tiles)]


def one_list_for_all(cluster, clusters, tiles, k_tiles, items=[]):  # noqa: B006
    """A default list, which is kept from call to call."""
    items += stream_k(cluster, clusters, tiles, k_tiles)
    return items


def pieces(begin, end, k_tiles):
    """The line from begin to end, cut where tiles end."""
    found = []
    while begin < end:
        tile, first = divmod(begin, k_tiles)
        last = min(k_tiles, first + end - begin)
        found.append((tile, first, last))
        begin += last - first
    return found


CLUSTERS = "ceil(m / (tile[0] * cluster[0])) * ceil(n / (tile[1] * cluster[1]))"

WRONG = {
    "14.6": [
        remainder,
        by_area,
        counts_blocks,
        half_a_cluster,
        one_wave_more,
        changed("14.6", CEIL, "on_an_h200", "As many clusters as 132 SMs hold, whatever is said.", "    waves", "    at_once = 132 // (cluster[0] * cluster[1])\n    waves", "`at_once`. It is not always"),
        changed("14.6", CEIL, "whole_tiles_only", "Leaves out what hangs over the edge.", CLUSTERS, "(m // (tile[0] * cluster[0])) * (n // (tile[1] * cluster[1]))"),
        changed("14.6", CEIL, "exchanged", "M by N's tile.", "ceil(m / (tile[0] * cluster[0])) * ceil(n / (tile[1] * cluster[1]))", "ceil(n / (tile[0] * cluster[0])) * ceil(m / (tile[1] * cluster[1]))", "M goes with tile[0]"),
        changed("14.6", CEIL, "cluster_exchanged", "The cluster's sides exchanged.", CLUSTERS, "ceil(m / (tile[0] * cluster[1])) * ceil(n / (tile[1] * cluster[0]))"),
        changed("14.6", CEIL, "whole_waves", "Full waves only.", "ceil(clusters / at_once)", "max(1, clusters // at_once)"),
        changed("14.6", CEIL, "idle_ones", "Those that have nothing to do in the last one.", "clusters - (waves - 1) * at_once", "waves * at_once - clusters"),
        changed("14.6", CEIL, "blocks_at_work", "Blocks in the last one.", "clusters - (waves - 1) * at_once", "(clusters - (waves - 1) * at_once) * cluster[0] * cluster[1]"),
        changed("14.6", CEIL, "waves_alone", "One number.", "return waves, clusters - (waves - 1) * at_once", "return waves"),
        changed("14.6", CEIL, "not_rounded", "A part of a wave.", "ceil(clusters / at_once)", "clusters / at_once"),
        changed("14.6", CEIL, "of_k", "Divides N by the tile's K.", "(tile[1] * cluster[1])", "(tile[2] * cluster[1])"),
    ],
    "14.8": [
        whole_tiles,
        forgets_the_rest,
        rest_to_the_last,
        across_tiles,
        splits_every_tile,
        counts_from_one,
        changed("14.8", {}, "always_a_part", "An empty part for those who have no share.", "    while begin < end:\n", "    while begin < end or not items:\n", "which is none of"),
        changed("14.8", {}, "lengths", "How many, where the end is asked for.", "items.append((tile, first, last))", "items.append((tile, first, last - first))"),
        changed("14.8", {}, "the_last_one", "The last K tile, not one past it.", "items.append((tile, first, last))", "items.append((tile, first, last - 1))"),
        changed("14.8", {}, "begins_too_early", "Forgets that those before may have one more.", "cluster * share + min(cluster, longer)", "cluster * share", "both compute"),
        changed("14.8", {}, "one_too_many_are_longer", "<= for <.", "if cluster < longer", "if cluster <= longer", "both compute"),
        changed("14.8", {}, "rounded_up", "Shares rounded up: the last has less, or nothing.", "share, longer = divmod(tiles * k_tiles, clusters)", "share, longer = -(-tiles * k_tiles // clusters), 0"),
        answer("tiles_and_k_exchanged", "K tiles for tiles.", lambda cluster, clusters, tiles, k_tiles: stream_k(cluster, clusters, k_tiles, tiles)),
        changed("14.8", {}, "every_tile_in_two", "Cuts each part in the middle.", "items.append((tile, first, last))", "items += [(tile, first, (first + last) // 2), (tile, (first + last) // 2, last)][first + 1 == last :]", "and 5 suffice"),
        one_list_for_all,
        answer("floats", "Shares that are not whole.", lambda cluster, clusters, tiles, k_tiles: [(0, cluster * k_tiles / clusters, (cluster + 1) * k_tiles / clusters)]),
    ],
}  # fmt: skip
