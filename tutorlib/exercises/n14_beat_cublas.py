"""Exercises of notebook 14: two roles, registers, clusters, persistent blocks, stream-K, FP8, what to choose when."""

from collections.abc import Callable
from dataclasses import replace
from itertools import product
from math import ceil, isclose
from typing import TYPE_CHECKING, Any

from tutorlib.checking.chosen import ChosenExercise
from tutorlib.checking.exercise import Answer
from tutorlib.checking.hopper import HopperLoopExercise
from tutorlib.checking.values import Case, Mistake, ValueExercise, attempt, equals, law, shorten
from tutorlib.models import l2, work
from tutorlib.models.hopper_gemm import (
    Pair,
    at_launch,
    count_waves,
    dequantise,
    gemm_time,
    multicast,
    register_split,
    step_bytes,
    walk,
)
from tutorlib.models.work import Sm
from tutorlib.problems.catalogue import gemm
from tutorlib.problems.wrong import Wrong

if TYPE_CHECKING:
    from torch import Tensor


BENCH = (4096, 4096, 4096)
SHAPES = ((512, 512, 512), (384, 1024, 192), (129, 200, 72))
SIMULATED = ((384, 520, 328), (129, 200, 72))  # nine tiles of C and six of K, and one with all edges
Tile = tuple[int, int, int]
BLOCK_TILES: tuple[Tile, ...] = (
    (128, 256, 64),
    (256, 128, 64),
    (128, 128, 64),
    (256, 192, 64),
    (64, 256, 64),
    (128, 160, 64),
)
CLUSTERS: tuple[Pair, ...] = ((1, 1), (2, 1), (1, 2), (2, 2), (4, 1), (2, 4))

# 14.1 and 14.2 produce, consume ---------------------------------------------------------------------------------


def with_producer(produce: Answer) -> Callable[..., None]:
    """The host function gemm(a, b, c) with this producer and the course's consumers."""
    from tutorlib.kernels.hopper.config import HopperConfig
    from tutorlib.kernels.hopper.specialised import make_specialised

    return make_specialised(HopperConfig(), produce, own_consumer())


def with_consumer(consume: Answer) -> Callable[..., None]:
    """The host function gemm(a, b, c) with these consumers and the course's producer."""
    from tutorlib.kernels.hopper.config import HopperConfig
    from tutorlib.kernels.hopper.specialised import make_specialised

    return make_specialised(HopperConfig(), own_producer(), consume)


def own_producer() -> Answer:
    from tutorlib.kernels.hopper.specialised import load_steps

    return load_steps


def own_consumer() -> Answer:
    from tutorlib.kernels.hopper.specialised import multiply_steps

    return multiply_steps


# 14.3 register_split --------------------------------------------------------------------------------------------


REGISTERS = (
    Mistake(
        "That is the wrong way round: the producer comes first.",
        lambda warpgroups, need: register_split(warpgroups, need)[::-1],
    ),
    Mistake(
        "You share all 65,536. A block has what its threads start with: 65,536 over all threads, rounded down to 8.",
        lambda warpgroups, need: (
            register_split(warpgroups, need)[0],
            (65_536 // 128 - register_split(warpgroups, need)[0]) // warpgroups // 8 * 8,
        ),
    ),
    Mistake(
        "setmaxnreg takes multiples of 8: the producer's need is rounded up, what is left for the others down.",
        lambda warpgroups, need: (
            max(24, need),
            ((warpgroups + 1) * at_launch(warpgroups) - max(24, need)) // warpgroups,
        ),
    ),
    Mistake(
        "setmaxnreg gives no thread fewer than 24 registers.",
        lambda warpgroups, need: (
            -(-need // 8) * 8,
            ((warpgroups + 1) * at_launch(warpgroups) + need // -8 * 8) // warpgroups // 8 * 8,
        ),
    ),
    Mistake(
        "That is what every thread has at the start. The producer's warpgroup gives some of it away.",
        lambda warpgroups, need: (at_launch(warpgroups), at_launch(warpgroups)),
    ),
)

# 14.4 step_bytes ------------------------------------------------------------------------------------------------


BYTES = (
    Mistake(
        "TMA writes both tiles into shared memory, and wgmma reads them: count both.",
        lambda tile, cluster: (tile[0] // 64 * (64 + tile[1]) * tile[2] * 2, step_bytes(tile, cluster)[1]),
    ),
    Mistake(
        "Every 64 rows of A are a wgmma of their own, and each of them reads all of B's tile.",
        lambda tile, cluster: (2 * (tile[0] + tile[1]) * tile[2] * 2, step_bytes(tile, cluster)[1]),
    ),
    Mistake(
        "The other way round: blocks in one row of the cluster, cluster[1] of them, share the tile of A.",
        lambda tile, cluster: (step_bytes(tile, cluster)[0], step_bytes(tile, cluster[::-1])[1]),
    ),
    Mistake(
        "Multicast sends each part of a tile once for several blocks, so a block's share of L2's bytes is smaller.",
        lambda tile, cluster: step_bytes(tile, (1, 1)),
    ),
    Mistake(
        "Multicast saves L2's bytes. Into its own shared memory every block still gets the whole tiles.",
        lambda tile, cluster: (
            step_bytes(tile, (1, 1))[0] - step_bytes(tile, (1, 1))[1] + step_bytes(tile, cluster)[1],
            step_bytes(tile, cluster)[1],
        ),
    ),
    Mistake("bf16 has two bytes.", lambda tile, cluster: tuple(bytes // 2 for bytes in step_bytes(tile, cluster))),
    Mistake("Shared memory comes first, then L2.", lambda tile, cluster: step_bytes(tile, cluster)[::-1]),
)

# 14.5 multicast -------------------------------------------------------------------------------------------------


MULTICAST = (
    Mistake(
        "Blocks of a cluster are numbered along M first: rank = m + n * cluster[0].",
        lambda rank, cluster, rows, mode: by_rows(rank, cluster, rows, mode),
    ),
    Mistake(
        "That is the part and the mask of the other matrix: A's tile is the same for blocks with the same m.",
        lambda rank, cluster, rows, mode: multicast(rank, cluster, rows, 1 - mode),
    ),
    Mistake(
        "The mask has a bit for every block that receives, this one included.",
        lambda rank, cluster, rows, mode: (
            *multicast(rank, cluster, rows, mode)[:2],
            multicast(rank, cluster, rows, mode)[2] & ~(1 << rank),
        ),
    ),
    Mistake(
        "Each of the blocks that share a tile loads its own part of the rows, for all of them.",
        lambda rank, cluster, rows, mode: (0, rows, multicast(rank, cluster, rows, mode)[2]),
    ),
    Mistake(
        "Not all of the cluster's blocks want these rows: only those in the same row of it (A) or column (B).",
        lambda rank, cluster, rows, mode: (
            *multicast(rank, cluster, rows, mode)[:2],
            (1 << cluster[0] * cluster[1]) - 1,
        ),
    ),
)


def by_rows(rank: int, cluster: Pair, rows: int, mode: int) -> tuple[int, int, int]:
    """With ranks that run along N first."""
    place = rank // cluster[1], rank % cluster[1]
    part = rows // cluster[1 - mode]
    same = [r for r in range(cluster[0] * cluster[1]) if (r // cluster[1], r % cluster[1])[mode] == place[mode]]
    return place[1 - mode] * part, part, sum(1 << r for r in same)


def members(mode: int, clusters: tuple[Pair, ...]) -> list[tuple]:
    return [(rank, cluster, 128, mode) for cluster in clusters for rank in range(cluster[0] * cluster[1])]


# 14.6 count_waves -----------------------------------------------------------------------------------------------


WAVES = (
    Mistake(
        "A full last wave has `at_once` clusters, not 0.",
        lambda m, n, tile, cluster, at_once: (
            count_waves(m, n, tile, cluster, at_once)[0],
            count_waves(m, n, tile, cluster, at_once)[1] % at_once,
        ),
    ),
    Mistake(
        "A tile that C fills only partly takes as long as any other: round up along M and along N.",
        lambda m, n, tile, cluster, at_once: (
            ceil(m * n / (tile[0] * cluster[0] * tile[1] * cluster[1]) / at_once),
            (ceil(m * n / (tile[0] * cluster[0] * tile[1] * cluster[1])) - 1) % at_once + 1,
        ),
    ),
    Mistake(
        "You count blocks. `at_once` is a number of clusters, and a cluster computes cluster[0] × cluster[1] tiles.",
        lambda m, n, tile, cluster, at_once: count_waves(m, n, tile, (1, 1), at_once),
    ),
    Mistake(
        "Clusters are whole, too: round up to tiles of tile × cluster, not first to tiles of a block.",
        lambda m, n, tile, cluster, at_once: (
            ceil(ceil(m / tile[0]) * ceil(n / tile[1]) / (cluster[0] * cluster[1]) / at_once),
            (ceil(ceil(m / tile[0]) * ceil(n / tile[1]) / (cluster[0] * cluster[1])) - 1) % at_once + 1,
        ),
    ),
)
SQUARE_SIZES = (512, 1024, 2048, 4096, 8192)


def sizes_and_clusters(sizes: tuple[Pair, ...], clusters: tuple[Pair, ...]) -> list[tuple]:
    return [
        (m, n, tile, cluster, 132 // (cluster[0] * cluster[1]))
        for (m, n), tile, cluster in product(sizes, BLOCK_TILES[:4], clusters)
    ]


# 14.7 walk ------------------------------------------------------------------------------------------------------


def in_a_row(block: int, cluster: Pair, clusters: int, grid: Pair, group: int) -> list[Pair]:
    """A cluster takes neighbouring tiles one after the other."""
    number, rank = divmod(block, cluster[0] * cluster[1])
    each, more = divmod(grid[0] * grid[1], clusters)
    first = number * each + min(number, more)
    places = [l2.grouped(tile, *grid, group) for tile in range(first, first + each + (number < more))]
    return [(m * cluster[0] + rank % cluster[0], n * cluster[1] + rank // cluster[0]) for m, n in places]


WALK = (
    Mistake(
        "Your clusters take neighbouring tiles one after the other. Those that are at work *together* should be "
        "neighbours: cluster c takes c, c + clusters, c + 2 * clusters, …",
        in_a_row,
    ),
    Mistake(
        "Those are places in cluster tiles. Each is cluster[0] × cluster[1] tiles, and this block has one of them.",
        lambda block, cluster, clusters, grid, group: [
            (m // cluster[0], n // cluster[1]) for m, n in walk(block, cluster, clusters, grid, group)
        ],
    ),
    Mistake(
        "All blocks of your clusters compute the first block's tile: add the block's place in the cluster.",
        lambda block, cluster, clusters, grid, group: walk(
            block - block % (cluster[0] * cluster[1]), cluster, clusters, grid, group
        ),
    ),
    Mistake(
        "Blocks of one cluster work on one cluster tile together: the tile's number follows from the cluster's number.",
        lambda block, cluster, clusters, grid, group: [
            (m * cluster[0] + block % cluster[0], n * cluster[1] + block // cluster[0] % cluster[1])
            for m, n in walk(block, (1, 1), clusters, grid, group)
        ],
    ),
    Mistake(
        "This block's rank runs along M first: m is rank % cluster[0], n is rank // cluster[0].",
        lambda block, cluster, clusters, grid, group: [
            (m // cluster[0] * cluster[0] + block % (cluster[0] * cluster[1]) // cluster[1],
             n // cluster[1] * cluster[1] + block % (cluster[0] * cluster[1]) % cluster[1])
            for m, n in walk(block, cluster, clusters, grid, group)
        ],
    ),
)  # fmt: skip


def walks(cluster: Pair, clusters: int, grid: Pair, group: int = 8) -> list[tuple]:
    blocks = clusters * cluster[0] * cluster[1]
    return [(block, cluster, clusters, grid, group) for block in {0, 1, 2, blocks // 2, blocks - 1} if block < blocks]


# 14.8 stream_k --------------------------------------------------------------------------------------------------


def shares_work(answer: Answer, clusters: int, tiles: int, k_tiles: int) -> str | None:
    """What is wrong with the shares of all clusters together, as the end of a sentence."""
    shares = [answer(cluster, clusters, tiles, k_tiles) for cluster in range(clusters)]
    taken: dict[Pair, int] = {}
    for cluster, items in enumerate(shares):
        for tile, begin, end in items:
            if not (0 <= tile < tiles and 0 <= begin < end <= k_tiles):
                return (
                    f"cluster {cluster} has {(tile, begin, end)}, which is none of {tiles} tiles with {k_tiles} K tiles"
                )
            for k_tile in range(begin, end):
                if (tile, k_tile) in taken:
                    return f"clusters {taken[tile, k_tile]} and {cluster} both compute K tile {k_tile} of tile {tile}"
                taken[tile, k_tile] = cluster
    missing = [(t, k) for t, k in product(range(tiles), range(k_tiles)) if (t, k) not in taken]
    if missing:
        tile, k_tile = missing[0]
        return f"nobody computes K tile {k_tile} of tile {tile}, and {len(missing) - 1} others"
    lengths = [sum(end - begin for _, begin, end in items) for items in shares]
    if max(lengths) - min(lengths) > 1:
        return (
            f"cluster {lengths.index(max(lengths))} has {max(lengths)} K tiles, cluster {lengths.index(min(lengths))} "
            f"{min(lengths)}: all wait for the slowest"
        )
    pieces = sum(map(len, shares))
    if pieces > tiles + clusters - 1:
        return (
            f"the tiles are cut into {pieces} parts, and {tiles + clusters - 1} would do: every part more is a tile "
            "of sums to give away and to add"
        )
    return None


def streams(name: str, *calls: tuple[int, int, int]) -> Case:
    """calls: (clusters, tiles, k_tiles)."""

    def judge(answer: Answer) -> Any:
        for clusters, tiles, k_tiles in calls:
            first = [(cluster, clusters, tiles, k_tiles) for cluster in range(clusters)]
            shape = law(name, first, is_items)
            if found := shape.judge(answer):
                return found
            whole = law(
                name,
                first[:1],
                lambda got, cluster, *sizes: shares_work(answer, *sizes),
                (Mistake(UNEVEN, work.whole_tiles),),
            )
            if found := whole.judge(answer):
                return found
        return None

    return Case(name, judge)


UNEVEN = "That is whole tiles in turn. Lay the K tiles of all tiles end to end, and cut that line into equal parts."


def is_items(got: Any, *args: int) -> str | None:
    if isinstance(got, list) and all(isinstance(item, tuple) and [type(x) for x in item] == [int] * 3 for item in got):
        return None
    return "it should be a list of (tile, first K tile, end of the K tiles)"


# 14.9 dequantise ------------------------------------------------------------------------------------------------


def quantised(rows: int, columns: int, block: Pair, seed: int) -> tuple:
    """(x in e4m3, a scale for each block, block)."""
    import torch

    generator = torch.Generator().manual_seed(seed)
    x = torch.randn(rows, columns, generator=generator).to(torch.float8_e4m3fn)
    return x, torch.rand(ceil(rows / block[0]), ceil(columns / block[1]), generator=generator) + 0.5, block


def is_dequantised(got: Any, x: "Tensor", scales: "Tensor", block: Pair) -> str | None:
    import torch

    if not isinstance(got, torch.Tensor):
        return "it should be a tensor"
    if got.shape != x.shape:
        return f"it should have the shape {tuple(x.shape)}"
    if got.dtype not in (torch.float32, torch.float64):
        return "a reference needs fp32 or more: scales times e4m3 have more bits than bf16 or e4m3 can hold"
    want = dequantise(x, scales, block)
    wrong = ~torch.isclose(got.float(), want, rtol=1e-6, atol=0)
    if not wrong.any():
        return None
    row, column = wrong.nonzero()[0].tolist()
    at = row // block[0], column // block[1]
    return (
        f"element ({row}, {column}) is {got[row, column]:.4g}; it is {float(x[row, column]):.4g} in block {at}, whose "
        f"scale is {scales[at]:.4g}, so {want[row, column]:.4g}"
    )


def dequantises(name: str, *sizes: tuple[int, int, Pair]) -> Case:
    def judge(answer: Answer) -> Wrong | None:
        calls = [quantised(*size, seed) for seed, size in enumerate(sizes)]
        return law(name, calls, is_dequantised).judge(answer)

    return Case(name, judge)


# 14.10 cost -----------------------------------------------------------------------------------------------------


def with_changes(**changes: float) -> Answer:
    """`cost` on a machine where something takes no time, as for a formula that forgets it."""
    return lambda config, m, n, k, sm: gemm_time(config, m, n, k, replace(sm, **changes))


FORGETS: tuple[tuple[str, Answer], ...] = (
    ("You forget the start: launch, first loads and last stores are there at every size.", with_changes(start=0.0)),
    ("Bytes from L2 make a step longer, too: one cycle for every sm.l2_bytes.", with_changes(l2_bytes=1e12)),
    ("Shared memory may take longer for a step than the tensor cores.", with_changes(smem_bytes=1e12)),
    ("Between two tiles the tensor cores pause: sm.store cycles in each round.", with_changes(store=0.0)),
    ("Device memory has to deliver A and B and to take C, whatever the SMs do.", with_changes(hbm_bytes=1e12)),
    ("Stream-K is not free: a part of a tile is given away and added, sm.share cycles.", with_changes(share=0.0)),
    (
        "A transposed configuration has A and B in each other's places: exchange m and n first.",
        lambda config, m, n, k, sm: gemm_time(config, n, m, k, sm),
    ),
    (
        "Without stream-K the last round takes as long as any other, however few clusters have a tile in it: round up.",
        lambda config, m, n, k, sm: gemm_time(replace(config, stream_k=True), m, n, k, replace(sm, share=0.0)),
    ),
    (
        "With stream-K nobody waits for a last round: tiles / clusters, not rounded.",
        lambda config, m, n, k, sm: gemm_time(replace(config, stream_k=False), m, n, k, sm) + sm.share / sm.clock,
    ),
)


def forgotten(got: float, args: tuple) -> str:
    """What an answer forgets that gives this number, or ""."""
    return next((says for says, other in FORGETS if isclose(got, other(*args), rel_tol=1e-6)), "")


def costs(name: str, shapes: tuple[Tile, ...], *configs: dict[str, Any]) -> Case:
    """configs: what differs from the default one."""

    def judge(answer: Answer) -> Wrong | None:
        from tutorlib.kernels.hopper.config import HopperConfig

        for changes, shape in product(configs, shapes):
            args = (HopperConfig(**changes), *shape, Sm())
            shown = ", ".join(f"{key}={value!r}" for key, value in changes.items())
            call = f"cost(HopperConfig({shown}), {', '.join(map(str, shape))}, Sm())"
            got, fault = attempt(answer, args)
            if fault:
                return Wrong(f"{call}: {fault.what.rpartition(' raised ')[2]}")
            if isinstance(got, bool) or not isinstance(got, int | float):
                return Wrong(f"{call} gives {shorten(got)}: it should be a number of µs.")
            if not isclose(got, want := gemm_time(*args), rel_tol=1e-6):
                return Wrong(f"{call} gives {got:.3f} µs: it should be {want:.3f}.", forgotten(got, args))
        return None

    return Case(name, judge)


EXERCISES = (
    HopperLoopExercise(
        id="14.1",
        title="produce",
        points=4,
        problem=gemm("bf16"),
        shapes=SHAPES,
        simulated_shapes=SIMULATED,
        loops="produce",
        build=with_producer,
        other=own_consumer,
        hints=(
            "For each K tile: wait until its stage is empty, say how many bytes will come, start the loads.",
            "A producer's pipeline state starts with phase 1, so that the first wait for each stage passes at once.",
            "One thread of the warp arrives and announces stage_bytes: `with cute.arch.elect_one(): "
            "cute.arch.mbarrier_arrive_and_expect_tx(steps.full + state.index, steps.stage_bytes)`; then "
            "steps.load(k_tile, state.index), state.advance().",
        ),
    ),
    HopperLoopExercise(
        id="14.2",
        title="consume",
        points=5,
        problem=gemm("bf16"),
        shapes=SHAPES,
        simulated_shapes=SIMULATED,
        bench_shape=BENCH,
        tiers=(0.9,),
        loops="consume",
        build=with_consumer,
        other=own_producer,
        overlapped=True,
        hints=(
            "The first K tile stands before the loop, since steps.multiply wants to know it as a plain True or False.",
            "Each step: wait for full[stage], fence, multiply, commit; then wait_group(1), so that the multiplication "
            "*before* this one has read its stage, and tell that one's empty barrier.",
            "before = state.clone() remembers which stage that is. After the loop wait_group(0), and the last stage is "
            "free, too. Every warp arrives once: `with cute.arch.elect_one(): cute.arch.mbarrier_arrive(…)`.",
        ),
    ),
    ValueExercise(
        id="14.3",
        title="register_split",
        points=2,
        cases=(
            equals("two that multiply", [(2, need) for need in (24, 16, 30, 40, 56)], register_split, REGISTERS),
            equals("three", [(3, need) for need in (24, 31, 32, 40)], register_split, REGISTERS),
            equals("four and five", [(4, 24), (4, 33), (5, 8), (5, 30)], register_split, REGISTERS),
        ),
        hints=(
            "What each thread starts with: 65,536 over all threads, rounded down to a multiple of 8.",
            "The block's warpgroups together have (warpgroups + 1) times that. The producer keeps its need, rounded "
            "up, but not less than 24; the rest is divided among the others and rounded down.",
        ),
    ),
    ValueExercise(
        id="14.4",
        title="step_bytes",
        points=3,
        cases=(
            equals("one block", [(tile, (1, 1)) for tile in BLOCK_TILES], step_bytes, BYTES),
            equals(
                "clusters along one side", [(t, c) for t in BLOCK_TILES for c in ((2, 1), (1, 2))], step_bytes, BYTES
            ),
            equals("larger clusters", [(t, c) for t in BLOCK_TILES[:3] for c in CLUSTERS[3:]], step_bytes, BYTES),
        ),
        hints=(
            "Shared memory: both tiles are written once. Then m // 64 wgmmas read 64 rows of A each, and all of B.",
            "L2: of A's m rows a block loads m // cluster[1], of B's n rows n // cluster[0]; others bring the rest.",
        ),
    ),
    ValueExercise(
        id="14.5",
        title="multicast",
        points=3,
        cases=(
            equals("A in a row of blocks", members(0, ((1, 2), (1, 4), (1, 1))), multicast, MULTICAST),
            equals("B in a column of blocks", members(1, ((2, 1), (4, 1), (1, 2))), multicast, MULTICAST),
            equals("both modes of a 2×2", members(0, ((2, 2),)) + members(1, ((2, 2),)), multicast, MULTICAST),
            equals(
                "oblong clusters", members(0, ((2, 4), (4, 2))) + members(1, ((2, 4), (4, 2))), multicast, MULTICAST
            ),
        ),
        hints=(
            "The block's place is (rank % cluster[0], rank // cluster[0]).",
            "Blocks with the same place[mode] share the tile. There are cluster[1 - mode] of them, and this one is "
            "number place[1 - mode] among them.",
            "sum(1 << other for other in range(cluster[0] * cluster[1]) if …) is the mask.",
        ),
    ),
    ValueExercise(
        id="14.6",
        title="count_waves",
        points=2,
        cases=(
            equals(
                "squares", sizes_and_clusters(tuple((n, n) for n in SQUARE_SIZES), CLUSTERS[:1]), count_waves, WAVES
            ),
            equals(
                "clusters",
                sizes_and_clusters(((2048, 2048), (4096, 4096), (640, 1152)), CLUSTERS[1:4]),
                count_waves,
                WAVES,
            ),
            equals(
                "any size",
                sizes_and_clusters(((320, 32576), (1000, 4000), (1, 8), (4224, 3968)), CLUSTERS),
                count_waves,
                WAVES,
            ),
        ),
        hints=(
            "How many clusters does C need along M, and along N? Both are rounded up.",
            "The last of the waves has what is left, or all `at_once` where nothing is.",
        ),
    ),
    ValueExercise(
        id="14.7",
        title="walk",
        points=3,
        cases=(
            equals("single blocks", walks((1, 1), 132, (32, 16)) + walks((1, 1), 6, (4, 5), 2), walk, WALK),
            equals("clusters", walks((2, 1), 66, (16, 16)) + walks((1, 2), 5, (6, 3), 4), walk, WALK),
            equals("ragged grids", walks((2, 2), 7, (5, 11), 4) + walks((2, 1), 9, (3, 3), 8), walk, WALK),
        ),
        hints=(
            "Cluster c = block // (blocks of a cluster) takes the cluster tiles c, c + clusters, c + 2 * clusters, …",
            "l2.grouped(tile, *grid, group) is a cluster tile's place (m, n); it begins at tile m * cluster[0], "
            "n * cluster[1].",
            "Add the block's place in the cluster: rank % cluster[0], rank // cluster[0].",
        ),
    ),
    ValueExercise(
        id="14.8",
        title="stream_k",
        points=4,
        cases=(
            streams("even cuts", (4, 2, 8), (3, 3, 5), (2, 6, 4)),
            streams("cuts inside of tiles", (3, 4, 6), (5, 7, 4), (8, 3, 10)),
            streams("shares that differ by one", (4, 3, 7), (7, 5, 9), (13, 4, 11)),
            streams("an H200 at 4096 and 8192", (66, 256, 64), (132, 512, 16), (66, 1024, 8)),
        ),
        hints=(
            "Number the K tiles of all tiles: tile * k_tiles + k. Cluster c has those from one number to another.",
            "divmod(tiles * k_tiles, clusters) says how many each has, and how many clusters have one more.",
            "Go from the beginning to the end of the share: divmod(begin, k_tiles) is (tile, first K tile), and the "
            "part ends where the tile does or where the share does.",
        ),
    ),
    ValueExercise(
        id="14.9",
        title="dequantise",
        points=3,
        cases=(
            dequantises("one scale for the whole", (64, 96, (64, 96)), (5, 7, (5, 7))),
            dequantises("1×128, as for A", (6, 384, (1, 128)), (3, 256, (1, 128))),
            dequantises("128×128, as for B", (256, 384, (128, 128)), (384, 128, (128, 128))),
            dequantises("blocks that are cut off", (130, 200, (128, 128)), (9, 300, (1, 128)), (257, 40, (128, 128))),
        ),
        hints=(
            "Each scale is for block[0] rows and block[1] columns: repeat it so often.",
            "scales.repeat_interleave(block[0], 0) repeats along the rows; cut it where x ends.",
            "Convert x to fp32 first: torch does not multiply e4m3.",
        ),
    ),
    ValueExercise(
        id="14.10",
        title="cost",
        points=4,
        cases=(
            costs(
                "whole tiles",
                ((4096, 4096, 4096), (2048, 2048, 2048), (1000, 3000, 520)),
                {},
                {"cluster": (2, 1)},
                {"tile": (64, 256, 64)},
                {"tile": (128, 128, 64)},
            ),
            costs("stream-K", ((4096, 4096, 4096), (2048, 2048, 2048)), {"cluster": (2, 1), "stream_k": True}),
            costs("few tiles, long K", ((512, 512, 8192), (128, 256, 256)), {"stream_k": True}),
            costs("A and B exchanged", ((320, 8192, 4096),), {"tile": (128, 160, 64), "transposed": True}),
            costs("little arithmetic", ((8192, 8192, 64), (64, 8192, 8192)), {}, {"tile": (64, 256, 64)}),
        ),
        hints=(
            "A step takes as long as the slower of tensor cores and shared memory, and then what L2 adds.",
            "rounds is ceil(tiles / clusters) for whole tiles, tiles / clusters for stream-K, where no part is shorter "
            "than 4 K tiles: at least 4 / k_tiles.",
            "cycles = rounds * (k_tiles * step + sm.store * area) + what sharing costs; sm.start + cycles / sm.clock, "
            "unless device memory takes longer than cycles / sm.clock for 2 * (m * k + n * k + m * n) bytes.",
        ),
    ),
    ChosenExercise(
        id="14.11",
        title="fastest",
        points=4,
        problem=gemm("bf16"),
        shapes=((512, 512, 512), (129, 200, 72)),
        simulated_shapes=SIMULATED,
        timed=(BENCH,),
        tiers=(0.97, 0.99),
        hints=(
            "Start from HopperConfig(cluster=(2, 1)) and take one lever after the other.",
            "4096 has 512 tiles of 128×256 for 132 SMs: 3.9 rounds. What lies between two rounds can be hidden.",
            "Look at the table of levers: defer_stores, then the order of the tiles.",
        ),
    ),
    ChosenExercise(
        id="14.12",
        title="choose",
        points=6,
        problem=gemm("bf16"),
        by_shape=True,
        shapes=((512, 512, 512), (129, 200, 72), (1, 8, 4096), (64, 4096, 128)),
        simulated_shapes=((129, 200, 72), (64, 4096, 128)),
        timed=((4224, 3968, 4160), (1536, 2560, 3072), (320, 8192, 4096), (768, 1280, 16384), (8192, 512, 4096)),
        tiers=(0.9, 0.97),
        hints=(
            "min(candidates, key=…) with your cost is nearly all.",
            "candidates() of kernels.hopper.choose are all that break no rule; leave out what you cannot estimate.",
            "min(SPACE, key=lambda config: cost(config, m, n, k, Sm())) will do. Where several cost the same, take "
            "the one that asks L2 for least: a key may be a tuple, (round(cost(…), 1), bytes).",
        ),
    ),
)
