"""Wrong choices of a configuration, told by rules, by the course's model of a GEMM's time, or by the compiler."""

from tests.pages.table import answer, says
from tutorlib.kernels.hopper.choose import candidates, choose, cost
from tutorlib.kernels.hopper.config import HopperConfig
from tutorlib.models.hopper_gemm import gemm_time
from tutorlib.models.work import Sm

# 14.11, 14.12 -----------------------------------------------------------------------------------------------------


def a_tuple():
    """Not a HopperConfig."""
    return (128, 256, 64), (2, 1)


def too_many_registers():
    """256×256 accumulators are more than two warpgroups can hold."""
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


def two_rules(m, n, k):
    """Two rules in place of a model."""
    small = m * n < 2**20
    return HopperConfig(tile=(64, 64, 64) if small else (128, 256, 64), stream_k=small, transposed=m < 512 <= n)


def never_exchanged(m, n, k):
    """By the formula, but A and B keep their places."""
    ways = [config for config in candidates() if not config.transposed]
    return min(ways, key=lambda config: gemm_time(config, m, n, k, Sm()))


def by_a_list(m, n, k):
    """Knows three sizes."""
    return {2048: HopperConfig(), 4096: HopperConfig(cluster=(2, 1)), 8192: HopperConfig(stream_k=True)}[m]


def nothing(m, n, k):
    """Chooses nothing."""


def two_of_them(m, n, k):
    """Two, to be tried."""
    return HopperConfig(), HopperConfig(stream_k=True)


TIMED = ((4224, 3968, 4160), (1536, 2560, 3072), (320, 8192, 4096), (768, 1280, 16384), (8192, 512, 4096))
SIZES = (*TIMED, (512, 512, 512), (129, 200, 72), (1, 8, 4096), (64, 4096, 128))


def best(m, n, k):
    """What the course's own chooses, found anew."""
    return min(candidates(), key=lambda config: cost(config, m, n, k))


@says("the course's model expects")
def knows_all_that_are_checked(m, n, k):
    """A list of the exercise's nine sizes, and one configuration for all others."""
    return best(m, n, k) if (m, n, k) in SIZES else HopperConfig(cluster=(2, 1))


def setting(name, what, *words, **settings):
    """A wrong answer to 14.11: a configuration with these settings."""
    return answer(name, what, lambda: HopperConfig(**settings), *words)


def for_each(name, what, change, *words):
    """A wrong answer to 14.12: what `change` makes of M, N and K."""
    return answer(name, what, lambda m, n, k: change(m, n, k), *words)


WRONG = {
    "14.11": [
        a_tuple,
        too_many_registers,
        for_another_dtype,
        with_stamps,
        by_shape,
        setting("ping_pong", "A word that is none.", "'ping-pong' is none of plain, cooperative, pingpong", schedule="ping-pong", tile=(128, 192, 64)),
        setting("raster_k", "Tiles of C have no K.", "raster = 'k' is none of m, n", raster="k"),
        setting("columns_first", "Another order in memory than A and B have.", "K is contiguous", majors=("mn", "mn")),
        setting("a_fraction", "A tile that is not whole.", "(M, N, K) are whole numbers", tile=(128, 256, 64.0)),
        setting("without_k", "A tile of two sizes.", "(M, N, K) are whole numbers", tile=(128, 256)),
        setting("one_number", "A cluster's side.", "cluster = 2: (M, N) are whole numbers", cluster=2),
        setting("fp8", "A word for e4m3.", "dtype = 'fp8' is none of", dtype="fp8"),
        setting("no_place", "Not a block for each SM.", "blocks_per_sm = 0", blocks_per_sm=0),
        setting("no_lever", "The configuration to start from.", "right, but for 8192×8192×8192 the course's model expects"),
        setting("a_cluster_alone", "The lever that brings nothing at 8192.", "the page's levers have", cluster=(2, 1)),
        setting("levers_within_noise", "All of those whose gain is within the spread.", "the page's levers have", cluster=(2, 1), defer_stores=True, polls=True, raster="m"),
        setting("small_tiles", "Four times the bytes.", "the course's model expects", tile=(64, 32, 64)),
        setting("in_parts", "Split-K keeps no block.", "parts of a tile go to blocks of their own", split_k=2),
        answer("the_class", "Not an instance.", lambda: HopperConfig, "not a HopperConfig"),
        answer("settings", "Settings alone.", lambda: {"cluster": (2, 1)}, "not a HopperConfig"),
        answer("none", "Forgets return.", lambda: None, "not a HopperConfig"),
        answer("by_chance", "Raises.", lambda: [HopperConfig()][1], "IndexError"),
    ],
    "14.12": [
        the_best_of_4096,
        many_small_ones,
        two_rules,
        never_exchanged,
        by_a_list,
        nothing,
        two_of_them,
        knows_all_that_are_checked,
        for_each("the_slowest", "max for min.", lambda m, n, k: max((c for c in candidates() if cost(c, m, n, k) < 1e6), key=lambda c: cost(c, m, n, k)), "the course's model expects"),
        for_each("for_one_k", "As if K were 4096.", lambda m, n, k: best(m, n, 4096), "right, but for 512×512×512"),
        for_each("for_short_k", "As if K were 256.", lambda m, n, k: best(m, n, 256), "the course's model expects"),
        for_each("for_squares", "As if all sides were M.", lambda m, n, k: best(m, m, m), "the course's model expects"),
        for_each("sides_exchanged", "M and N change places.", lambda m, n, k: best(n, m, k), "the course's model expects"),
        for_each("in_halves", "K in two parts, everywhere.", lambda m, n, k: HopperConfig(persistent=False, split_k=2), "the course's model expects"),
        for_each("large_ones_only", "Refuses small matrices.", lambda m, n, k: {True: best}[m >= 128](m, n, k), "raised KeyError"),
        for_each("the_cost_as_well", "The cost and the configuration.", lambda m, n, k: (1.0, HopperConfig()), "not a HopperConfig"),
        for_each("columns_first", "Another order in memory.", lambda m, n, k: HopperConfig(majors=("mn", "k")), "K is contiguous"),
        for_each("for_fp16", "Another dtype.", lambda m, n, k: HopperConfig(dtype="fp16"), "A and B are bf16, not fp16"),
        answer("for_one_shape", "Takes nothing.", lambda: HopperConfig(), "raised TypeError"),
        says("calls choose of the course")(choose),
        answer("asks_the_course", "Leaves it to the course.", lambda m, n, k: choose(m, n, k), "calls choose of the course"),
    ],
}  # fmt: skip
