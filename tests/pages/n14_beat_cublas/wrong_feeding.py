"""Wrong answers to notebook 14's count of registers and of bytes."""

from tests.pages.solved import changed, solution
from tests.pages.table import answer
from tutorlib.models.hopper_gemm import at_launch

register_split, step_bytes = (solution(id, {}) for id in ("14.3", "14.4"))

# 14.3 -------------------------------------------------------------------------------------------------------------


def wrong_way_round(warpgroups, need):
    """setmaxnreg the wrong way round: a hang."""
    return register_split(warpgroups, need)[::-1]


def shares_the_whole_file(warpgroups, need):
    """65,536 over all threads is rounded down first; the rest is nobody's."""
    producer = max(24, -(-need // 8) * 8)
    return producer, (65_536 // 128 - producer) // warpgroups // 8 * 8


def any_number(warpgroups, need):
    """Not multiples of 8."""
    producer = max(24, need)
    return producer, ((warpgroups + 1) * at_launch(warpgroups) - producer) // warpgroups


def fewer_than_24(warpgroups, need):
    """No thread can have so few."""
    producer = -(-need // 8) * 8
    return producer, ((warpgroups + 1) * at_launch(warpgroups) - producer) // warpgroups // 8 * 8


def as_at_the_start(warpgroups, need):
    """Nothing moves."""
    return at_launch(warpgroups), at_launch(warpgroups)


def rounds_up(warpgroups, need):
    """More than the pool has."""
    producer = max(24, -(-need // 8) * 8)
    return producer, -(-((warpgroups + 1) * at_launch(warpgroups) - producer) // warpgroups // 8) * 8


# 14.4 -------------------------------------------------------------------------------------------------------------


def only_wgmma(tile, cluster):
    """Forgets what TMA writes."""
    m, n, k = tile
    return m // 64 * (64 + n) * k * 2, step_bytes(tile, cluster)[1]


def b_read_once(tile, cluster):
    """As if all warpgroups read B together."""
    m, n, k = tile
    return 2 * (m + n) * k * 2, step_bytes(tile, cluster)[1]


def shares_along_the_wrong_side(tile, cluster):
    """A's tile is the same along N."""
    return step_bytes(tile, cluster)[0], step_bytes(tile, cluster[::-1])[1]


def no_multicast(tile, cluster):
    """Every block asks L2 for all of it."""
    return step_bytes(tile, (1, 1))


def counts_elements(tile, cluster):
    """Elements in place of bytes."""
    return tuple(bytes // 2 for bytes in step_bytes(tile, cluster))


WRONG = {
    "14.3": [
        wrong_way_round,
        shares_the_whole_file,
        any_number,
        fewer_than_24,
        as_at_the_start,
        rounds_up,
        changed("14.3", {}, "need_rounded_down", "The producer has less than it needs.", "-(-need // 8) * 8", "need // 8 * 8", "round `need` up"),
        changed("14.3", {}, "without_the_producer", "The producer's warpgroup is forgotten at the start.", "128 * (warpgroups + 1)", "128 * warpgroups"),
        changed("14.3", {}, "pool_of_the_others", "The pool is that of those who multiply.", "((warpgroups + 1) * start -", "(warpgroups * start -"),
        changed("14.3", {}, "shared_with_the_producer", "What is left is divided among all.", "// warpgroups // 8", "// (warpgroups + 1) // 8"),
        changed("14.3", {}, "always_two", "What two that multiply start with.", "65_536 // (128 * (warpgroups + 1)) // 8 * 8", "168"),
        changed("14.3", {}, "not_rounded_at_the_start", "65,536 over all threads is no multiple of 8.", "(warpgroups + 1)) // 8 * 8", "(warpgroups + 1))"),
        changed("14.3", {}, "of_a_warpgroup", "Registers of a whole warpgroup.", "return producer, consumer", "return 128 * producer, 128 * consumer"),
        answer("as_in_cutlass", "What CUTLASS has for two.", lambda warpgroups, need: (40, 232)),
    ],
    "14.4": [
        only_wgmma,
        b_read_once,
        shares_along_the_wrong_side,
        no_multicast,
        counts_elements,
        changed("14.4", {}, "always_64", "As if every step were 64 of K.", "(written + read) * k * 2, (m // cluster_n + n // cluster_m) * k * 2", "(written + read) * 128, (m // cluster_n + n // cluster_m) * 128", "not always 64"),
        changed("14.4", {}, "two_wgmmas", "Two warpgroups, whatever M is.", "m // 64 * (64 + n)", "2 * (64 + n)", "M / 64 of them"),
        changed("14.4", {}, "all_of_a", "Every wgmma reads all of A.", "(64 + n)", "(m + n)"),
        changed("14.4", {}, "whole_cluster", "As if all blocks shared both tiles.", "(m // cluster_n + n // cluster_m)", "(m + n) // (cluster_m * cluster_n)"),
        changed("14.4", {}, "less_to_write", "Multicast as if it saved shared memory's bytes, too.", "written = m + n", "written = m // cluster_n + n // cluster_m", "every block still gets the whole tiles"),
        changed("14.4", {}, "l2_first", "The other way round.", "return (written + read) * k * 2, (m // cluster_n + n // cluster_m) * k * 2", "return (m // cluster_n + n // cluster_m) * k * 2, (written + read) * k * 2", "Shared memory comes first"),
        changed("14.4", {}, "of_the_cluster", "All blocks of a cluster together.", "return (written + read) * k * 2,", "return (written + read) * k * 2 * cluster_m * cluster_n,"),
        changed("14.4", {}, "fp32", "Four bytes.", "read) * k * 2, (m // cluster_n + n // cluster_m) * k * 2", "read) * k * 4, (m // cluster_n + n // cluster_m) * k * 4"),
        changed("14.4", {}, "rows_of_128", "A wgmma of 128 rows.", "m // 64 * (64 + n)", "m / 128 * (128 + n)"),
        answer("shared_memory_alone", "One number.", lambda tile, cluster: step_bytes(tile, cluster)[0]),
    ],
}  # fmt: skip
