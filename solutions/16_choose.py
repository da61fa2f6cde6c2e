# ---
# jupyter:
#   tutorlib:
#     minutes: 120
#     summary: Counts and a model of the time that choose a GEMM's configuration for any shape, beside cuBLAS and QuACK.
# ---

# %% [markdown]
# # 16 · A configuration for any shape
#
# With tiles of 128×256, notebook 15's kernel is level with cuBLAS at 4096³ and has little more than half its speed at
# 1024³. Look at the figure's lower row only: *16 chosen* is the same kernel, with a configuration chosen for each size.
# On an H200 it is behind cuBLAS at no size of the figure. You write such a chooser.
#
# > **After this page you can** count waves, shares and bytes of a configuration, estimate its time from them, choose
# > one for a shape that has never been timed, and say which choices are worth a measurement.
# >
# > **It takes** about 120 minutes, on any machine. With a Hopper GPU your choices are timed.

# %%
from functools import cache
from itertools import product
from math import ceil

import torch

from tutorlib import (
    WGMMA, Sm, check, device, hopper_gemm as course, show_figure, show_model, show_sweep, tune_hopper,
)  # fmt: skip
from tutorlib.kernels.hopper import ConfigError, HopperConfig

# %%
show_figure("gemm_ladder")

# %% [markdown]
# ## Waves
#
# A **wave** is a set of tiles that run at the same time. An H200 has 132 SMs with one block each, so it holds 66
# clusters of two blocks.
#
# **Exercise 16.1** (about 3 lines). Write `count_waves(m, n, tile, cluster, at_once)` → (waves, clusters in the last
# one), where the GPU holds `at_once` clusters at a time. A cluster works on `cluster[0]` × `cluster[1]` tiles.


# %%
def count_waves(m, n, tile, cluster, at_once):
    ### BEGIN SOLUTION (about 3 lines)
    clusters = ceil(m / (tile[0] * cluster[0])) * ceil(n / (tile[1] * cluster[1]))
    waves = ceil(clusters / at_once)
    return waves, clusters - (waves - 1) * at_once
    ### END SOLUTION


# %%
check("16.1", count_waves)

# %%
import pandas

rows = {}
for size in (1024, 2048, 3072, 4096, 8192):
    for tile in [(128, 256, 64), (128, 192, 64), (256, 192, 64)]:
        waves, last = course.count_waves(size, size, tile, (2, 1), 66)
        area = tile[0] * tile[1]
        rows.setdefault(f"{size}", {})[f"{tile[0]}×{tile[1]}"] = (
            f"waves: {waves}, clusters in the last: {last}, at best {size * size / (waves * 132 * area):.0%}"
        )
pandas.DataFrame.from_dict(rows, orient="index")

# %% [markdown]
# The percentage is the largest share of the time in which the tensor cores can do useful work. It explains the figure:
# 1024 fills a quarter of one wave, and 3072 has a third wave for 12 clusters.
#
# A cluster must fit into one GPC, and an H200's GPCs have unequal numbers of SMs. **Predict:** at 2048, 128 tiles are
# 32 clusters of 2×2. What happens on a GPU that holds 31? The cell prints the waves, and the clusters in the last one.

# %%
for at_once in (33, 32, 31):
    print(f"{at_once} clusters of 2×2 at a time: {course.count_waves(2048, 2048, (128, 256, 64), (2, 2), at_once)}")
if reason := device.why_not(WGMMA):
    print(f"how many this GPU holds: {reason}")
else:
    from tutorlib.kernels.hopper.launch import max_clusters

    print(f"this GPU holds {max_clusters(2)} clusters of two blocks, {max_clusters(4)} of four")

# %% [markdown]
# The course's H200 holds 30 clusters of four, so clusters of 2×2 need a second wave there.
#
# ## Shares
#
# Stream-K has no last wave: it lays the K tiles of tiles end to end, tile 0 first, and cuts that line into one share
# for each cluster. (The kernel, and the model below, cut only the last wave or two.)
#
# **Exercise 16.2** (about 10 lines). Write `stream_k(cluster, clusters, tiles, k_tiles)`: the list of `(tile, first K
# tile, end)` that this cluster works on. All count from 0, and `end` is one past the last. Together the clusters must
# cover every K tile exactly once, their shares differ by at most one K tile, and a tile is cut only where a share ends.


# %%
def stream_k(cluster, clusters, tiles, k_tiles):
    ### BEGIN SOLUTION (about 10 lines)
    share, longer = divmod(tiles * k_tiles, clusters)
    begin = cluster * share + min(cluster, longer)
    end = begin + share + (1 if cluster < longer else 0)
    items = []
    while begin < end:
        tile, first = divmod(begin, k_tiles)
        last = min(k_tiles, first + end - begin)
        items.append((tile, first, last))
        begin += last - first
    return items
    ### END SOLUTION


# %%
check("16.2", stream_k)

# %% [markdown]
# Where C has fewer tiles than the GPU has SMs there is a second way, **split-K**: the blocks of one cluster share a
# tile's K equally and add their accumulators through distributed shared memory. In a configuration it is `split_k=2` or
# `split_k=4`.
#
# ## Bytes of a step
#
# A step along K moves one K tile on two paths. **Shared memory** moves 128 bytes per cycle: TMA writes A's and B's tile
# into it. For every 64 rows of A's tile a wgmma then reads these rows once, and *all* of B's tile. **L2** supplies each
# block's slices. The blocks of one row of a cluster share A's tile, those of one column B's.
#
# **Exercise 16.3** (about 4 lines). Write `step_bytes(tile, cluster)` → (bytes that shared memory moves, bytes that L2
# sends) for one block in one step, in bf16. `tile` is (M, N, K), `cluster` is (M, N) in blocks.


# %%
def step_bytes(tile, cluster):
    ### BEGIN SOLUTION (about 4 lines)
    (m, n, k), (cluster_m, cluster_n) = tile, cluster
    written = m + n
    read = m // 64 * (64 + n)
    return (written + read) * k * 2, (m // cluster_n + n // cluster_m) * k * 2
    ### END SOLUTION


# %%
check("16.3", step_bytes)

# %%
print("tile      cycles of the tensor cores  shared memory, bytes in a cycle   L2, bytes in a cycle")
for tile in [(128, 256, 64), (256, 128, 64), (256, 192, 64), (128, 192, 64), (128, 128, 64), (64, 256, 64)]:
    cycles = 2 * tile[0] * tile[1] * tile[2] / 4096
    smem, from_l2 = (bytes / cycles for bytes in course.step_bytes(tile, (1, 1)))
    print(f"{tile[0]:3}×{tile[1]:3} {cycles:19.0f} {smem:28.0f} {from_l2:26.0f}")

# %% [markdown]
# At the tensor cores' full rate, 4,096 operations per cycle, a tile of 128×256 takes *all* of shared memory's 128 bytes
# per cycle. One of 256×128 has the same area and needs 144.
#
# ## A model of the time
#
# No configuration is the fastest at every shape. Much of what decides can be counted:
#
# > time ≈ start + rounds · (K tiles · step + epilogue) + cost of sharing tiles
#
# The tiles that one cluster computes at the same time are a **group**. In a **round** every cluster works on one group.
# The constants have to be measured. For an H200 they are:

# %%
sm = Sm()
print(sm)

# %% [markdown]
# `flops` and `smem_bytes` are per cycle of an SM, and `l2_bytes` is the number of bytes from L2 that make a step one
# cycle longer. `store`, `share` and `exchange` are cycles for a tile of 128×256. `start` is in µs, `clock` in cycles
# per µs, `hbm_bytes` in bytes per µs. All but `sms` and `smem_bytes` were fitted together to times of kernels, so none
# of them is a measurement of what its name says.
#
# Here is one configuration by hand, 4096³ in whole tiles of 128×256 and clusters of 2×1. A step takes as long as the
# slower of the tensor cores and shared memory, and L2's bytes add to it:

# %%
smem, from_l2 = course.step_bytes((128, 256, 64), (2, 1))
tensor_cores, shared_memory, l2 = 2 * 128 * 256 * 64 / sm.flops, smem / sm.smem_bytes, from_l2 / sm.l2_bytes
step = max(tensor_cores, shared_memory) + l2
rounds, _ = course.count_waves(4096, 4096, (128, 256, 64), (2, 1), sm.at_once(2))
cycles = rounds * (4096 // 64 * step + sm.store)
print(f"a step: the larger of {tensor_cores:.0f} and {shared_memory:.0f} cycles, and {l2:.0f} for L2")
print(f"{rounds} rounds of {4096 // 64} steps and an epilogue: {sm.start + cycles / sm.clock:.1f} µs")

# %% [markdown]
# **Exercise 16.4** (about 8 lines). Complete `cost(config, m, n, k, sm)`, in µs, for the three ways to divide the
# work. It lacks a round's `k_tiles`, the `rounds`, and `shared`, the cycles for sharing tiles. Each way changes some of
# them; draw one SM's timeline before you write.
#
# - **Whole tiles**: as above. `sm.at_once(blocks)` clusters of `blocks` blocks run at a time.
# - **Split-K**: `config.split_k` blocks of one cluster compute each tile, each with an equal share of its K, rounded up
#   to whole K tiles. The cluster has that many times more blocks. Adding the accumulators is part of the epilogue.
# - **Stream-K**: shares are equal, so nothing is rounded up to whole rounds. But no part of a tile is shorter than 4 K
#   tiles, and a part's accumulators cost `sm.share` · `area` cycles to pass on and add. With a round or more, that
#   delays a cluster once. With less, all parts of a tile are added one after the other: how many clusters share a tile?
#   Count the cluster that adds, too, and do not round.


# %%
def cost(config, m, n, k, sm):
    if config.transposed:
        m, n = n, m
    (tile_m, tile_n, tile_k), (cluster_m, cluster_n) = config.tile, config.cluster
    smem, from_l2 = step_bytes(config.tile, config.cluster)
    step = max(2 * tile_m * tile_n * tile_k / sm.flops, smem / sm.smem_bytes) + from_l2 / sm.l2_bytes
    area = tile_m * tile_n / (128 * 256)
    ### BEGIN SOLUTION (about 8 lines)
    groups = ceil(m / (tile_m * cluster_m)) * ceil(n / (tile_n * cluster_n))
    k_tiles = ceil(k / tile_k / config.split_k)
    clusters = sm.at_once(cluster_m * cluster_n * config.split_k)
    if config.stream_k:
        rounds = max(groups / clusters, 4 / k_tiles)
        shared = sm.share * area * max(1, 1 / rounds)
    else:
        rounds, shared = ceil(groups / clusters), 0
    ### END SOLUTION
    epilogue = (sm.store + (sm.exchange if config.split_k > 1 else 0)) * area
    cycles = rounds * (k_tiles * step + epilogue) + shared
    return sm.start + max(cycles / sm.clock, 2 * (m * k + n * k + m * n) / sm.hbm_bytes)


# %%
check("16.4", cost)

# %% [markdown]
# How accurate is a formula with ten constants? The table has notebook 15's levers: the measured time, and the estimate
# as a multiple of it. (Squares alone, so no test of unseen shapes.)

# %%
modeled = show_model("hopper_levers", lambda config, m, n, k: course.gemm_time(config, m, n, k, Sm()))
modeled

# %% [markdown]
# It is within about 5% at 4096 and 8192, and up to 10% too high at 2048. It is wrong about multicast: it charges for
# L2's bytes and promises 3 to 5%, and the measurement shows none. But it only has to rank configurations.
#
# ## Choose
#
# The space consists of tiles, clusters, the ways to cut tiles and K, and `transposed=True`, which exchanges A and B, so
# that the kernel computes Cᵀ. `HopperConfig` refuses combinations that break a rule.

# %%
from collections import Counter

TILES = [(m, n, 64) for m in (64, 128, 256) for n in range(32, 257, 16)]
WAYS = [
    {"stream_k": stream, "defer_stores": defer, "split_k": 1, "persistent": True}
    for stream, defer in product((False, True), (True, False))
] + [{"stream_k": False, "defer_stores": False, "split_k": parts, "persistent": False} for parts in (2, 4)]
CHANGES = [
    {"tile": tile, "cluster": cluster, "transposed": transposed} | way
    for tile, cluster, transposed, way in product(TILES, [(1, 1), (2, 1), (1, 2)], (False, True), WAYS)
]
SPACE, refused = [], Counter()
for changes in CHANGES:
    try:
        SPACE.append(HopperConfig(**changes))
    except ConfigError as rule:
        refused[str(rule).split(":")[0]] += 1
print(f"{len(CHANGES)} combinations; {dict(refused)} break a rule; {len(SPACE)} are left")

# %% [markdown]
# Where device memory is the limit, many configurations cost the same:

# %%
times = [round(course.gemm_time(config, 64, 8192, 8192, Sm()), 1) for config in SPACE]
print(f"64×8192×8192: {times.count(min(times))} of {len(SPACE)} configurations have the least cost, {min(times)} µs")

# %% [markdown]
# **Exercise 16.5** (about 6 lines). Write `choose(m, n, k)`, which returns a `HopperConfig` for any shape, from your
# `cost` and `SPACE`. Any rules of your own are welcome. Of the things that you have counted, what should decide where
# costs agree to 0.1 µs?
#
# The check draws shapes at random, so a list of sizes does not help. It refuses a choice that the course's own chooser
# expects to take about twice as long as its best. A Hopper GPU times five fixed shapes, none of them a square; the
# slowest of them, relative to cuBLAS, counts. For the last two points it must reach 85 and 93% of the course's ratio.
# Without a GPU this page's model judges these five and two more: none may cost 12% more than the course's choice.


# %%
@cache
def choose(m, n, k):
    ### BEGIN SOLUTION (about 6 lines)
    def bytes_from_l2(config):
        rows, columns = (n, m) if config.transposed else (m, n)
        tiles = ceil(rows / config.tile[0]) * ceil(columns / config.tile[1])
        return tiles * step_bytes(config.tile, config.cluster)[1]

    return min(SPACE, key=lambda config: (round(cost(config, m, n, k, Sm()), 1), bytes_from_l2(config)))
    ### END SOLUTION


# %%
check("16.5", choose)

# %% [markdown]
# Where costs agree, the solution takes the fewest bytes from L2. On the course's H200 it does worst at 4224×3968×4160,
# with 0.98 of cuBLAS's speed.
#
# ## Rank, then measure
#
# This tuner times the eight configurations with the lowest estimates, and says of every other one why it was not timed.

# %%
square = [changes for changes in CHANGES if not changes["transposed"]]  # a square has nothing to exchange
table = tune_hopper(square, (8192, 8192, 8192), lambda config, m, n, k: course.gemm_time(config, m, n, k, Sm()))
table.round(1).head(12)

# %%
table.why.str.replace(r"[\d.]+", "…", regex=True).value_counts()

# %% [markdown]
# The last list counts reasons for not timing. Compare the columns *estimate* and *µs*. The eight estimates differ by
# less than 2%, less than the model's errors in the table above, so their order means nothing: on the course's H200 the
# first is not the fastest. (Two that differ in deferred stores alone tie.) Were eight enough?
#
# **Exercise 16.6** (about 3 lines). Write `contenders(estimates, ratios)`: the positions in `estimates` of all
# configurations that could be the fastest, lowest estimate first. `ratios` are estimate / measured time of kernels that
# have been timed. Assume that the ratio of every configuration lies between the least and the greatest of them. Before
# you write: a model whose estimates are all 20% too high leaves how many contenders? And one that is right or 20% too
# high?


# %%
def contenders(estimates, ratios):
    ### BEGIN SOLUTION (about 3 lines)
    fastest = min(estimates) / min(ratios)
    possible = [n for n, estimate in enumerate(estimates) if estimate / max(ratios) <= fastest]
    return sorted(possible, key=lambda n: estimates[n])
    ### END SOLUTION


# %%
check("16.6", contenders)

# %% [markdown]
# Apply it to the whole space, once with the errors at all three sizes of notebook 15's levers, once with those at 8192
# alone:

# %%
from contextlib import suppress

# %%
by_size = [[float(cell.rpartition("×")[2]) for cell in modeled[column]] for column in modeled]
estimates = [course.gemm_time(config, 8192, 8192, 8192, Sm()) for config in SPACE]
with suppress(NotImplementedError):  # until you have written it
    for name, ratios in [("2048, 4096, 8192", [r for size in by_size for r in size]), ("8192 alone", by_size[-1])]:
        count = len(contenders(estimates, ratios))
        print(f"errors at {name}, ×{min(ratios)} to ×{max(ratios)}: {count} of {len(SPACE)} could be the fastest,")
        print(f"    and the first of them is at most {max(ratios) / min(ratios) - 1:.0%} slower than it")

# %% [markdown]
# A constant error costs nothing; only the spread of the errors does. Certainty takes many measurements, a small loss
# few: the tuner above times eight. Near ties differ by 1 to 3%, and a GPU does not hold still for that: it gets slower
# while it warms up, and now and then something interrupts a call.
#
# **Exercise 16.7** (about 8 lines). Write `tuned(shape, nominees, time, kept)`, which returns the fastest of a list of
# configurations. `time(shape, nominee)` is the µs of one call. You may ask for at most ten of each nominee. Each call
# of any nominee is 0.03% slower than the one before, and one in 17 takes twice as long. `kept` is a dictionary that
# outlives the call: a shape that was tuned before is not timed again.


# %%
from statistics import median


# %%
def tuned(shape, nominees, time, kept):
    ### BEGIN SOLUTION (about 7 lines)
    if shape not in kept:
        taken = {nominee: [] for nominee in nominees}
        for _ in range(5):  # in turns, so that all get slower alike
            for nominee in nominees:
                taken[nominee].append(time(shape, nominee))
        kept[shape] = min(nominees, key=lambda nominee: median(taken[nominee]))
    return kept[shape]
    ### END SOLUTION


# %%
check("16.7", tuned)

# %% [markdown]
# The course's `gemm(a, b, tuned=True)` does this with its own model's best twelve.
#
# ## Beside cuBLAS and QuACK
#
# Your `choose` makes the kernel complete: `gemm(a, b, c)` takes any shape. With `parts=`, `launcher` takes your own
# eight functions of notebook 15.


# %%
@cache
def launch(m, n, k):
    from tutorlib.kernels.hopper.launch import launcher

    return launcher(choose(m, n, k), m, n, k)


def gemm(a, b, c):
    """C (M, N) = A (M, K) · Bᵀ with B (N, K), bf16."""
    launch(a.shape[0], b.shape[0], a.shape[1])(a, b, c)
    return c


# %%
with suppress(NotImplementedError):  # until you have written it
    for shape in [(4096, 4096, 4096), (2048, 2048, 2048), (320, 8192, 4096), (512, 512, 8192), (64, 8192, 8192)]:
        config = choose(*shape)
        tile, blocks = (f"{x}×{y}" for x, y in (config.tile[:2], config.cluster))
        way = "stream-K" if config.stream_k else f"K in {config.split_k} parts" if config.split_k > 1 else "whole tiles"
        way += ", A and B exchanged" * config.transposed
        expected = course.gemm_time(config, *shape, Sm())
        print(f"{'×'.join(map(str, shape)):15} tile {tile}, cluster {blocks}, {way}: {expected:.0f} µs expected")
    if not device.why_not(WGMMA):
        a, b = (torch.randn(size, 1000, device="cuda").bfloat16() for size in (1234, 568))
        c = gemm(a, b, torch.empty(1234, 568, dtype=torch.bfloat16, device="cuda"))
        print(f"1234×568×1000: largest error {(c.float() - a.float() @ b.float().T).abs().max():.3f}")

# %% [markdown]
# An error of up to 0.5 is bf16's own: the largest of these results are beyond 128, where neighboring bf16 numbers are 1
# apart.
#
# The measurements below have the course's own chooser (`tutorlib/kernels/hopper/choose.py`). Its model is of the same
# kind, and also counts rows of a tile beyond the matrix's edge, latency that the stages do not cover, the stores, and
# the blocks that add up a split K. [QuACK](https://github.com/Dao-AILab/quack)'s GEMM is written in the same DSL and
# tries its configurations at a shape until it has the fastest. Beside cuBLAS, on an H200:

# %%
show_sweep("gemm_quack")

# %% [markdown]
# At 8192 the chosen configuration is ahead of QuACK's; at 4096 and 2048 the two differ by less than the spread.
#
# **Shapes that it has not seen.** The model was fitted to measured times, among them those of the forty random shapes
# of seed 2026, but to none of seed 1971. **Predict** how much worse it is there.

# %%
show_figure("gemm_any")

# %% [markdown]
# The median falls from 1.037 to 1.021 of cuBLAS on the H100, and from 1.034 to 1.023 on the H200. The marked shape is
# each GPU's slowest: 0.85 on the H100, at a shape of the fit (1248×2672×3120), and about 0.78 on the H200, at a new one
# (1064×136×6080), though its pairs spread by 8%.
#
# Both figures were timed before the constants were last fitted. Here are weights of seven more models after it, which
# no constant was fitted to, chosen by the model and tuned:

# %%
from tutorlib.measuring.results import known_sweeps

for swept in known_sweeps("gemm_unseen"):
    for name in swept.names:
        ratios = [point.measurement.ratio for point in swept.of_kernel(name)]
        of = f"{len(ratios)} shapes: median {median(ratios):.3f}, least {min(ratios):.3f} of {swept.baseline}"
        print(f"{swept.gpu}, {name}, {of}")

# %% [markdown]
# **Weights of language models.** The rows of A are tokens: few when a model writes, many when it reads. With 8 and 16
# tokens the chooser exchanges A and B, so that the tokens are a wgmma's N.

# %%
show_figure("gemm_models")

# %% [markdown]
# Below 512 tokens the median is 1.13 of cuBLAS on the H100 and 1.10 on the H200, from 512 on 1.02 and 1.01.
#
# **FP8.** 320×32576×7168 in e4m3 is notebook 08's shape. Here too A and B are exchanged: 320 is 2 · 160, so tiles of
# Cᵀ of 256×160 have no residue in its columns. The kernel beside cuBLASLt, both with one scale for each matrix:

# %%
show_sweep("hopper_fp8")

# %% [markdown]
# Compare ratios, each of calls in turn with cuBLASLt: its last row is from the first kernel's run only, and the clock
# varies. That kernel is 1.2% behind, about its spread.
#
# ## What to remember
#
# - Count before you tune: waves, the shares of the last wave, and the bytes of a step on each path. The slowest path
#   limits the tensor cores.
# - A lever that gains at one size may cost at another. To choose, you need a rule that knows both.
# - A model with ten constants ranks configurations well enough to leave out most of them. Judge it at shapes that it
#   has not seen.
#
# ## Test yourself
#
# <details><summary>1. 4096×4096 in tiles of 128×256, clusters of 2×1, 66 at a time. What can stream-K bring at
# best?</summary>
#
# 256 clusters are 3.88 waves, which take as long as 4: 3%, before the hand-over is paid for.
#
# </details>
#
# <details><summary>2. 512×512×8192 has 8 tiles of 128×256 for 132 SMs. What are the two ways to occupy more SMs, and
# what does each cost?</summary>
#
# Smaller tiles, which ask L2 for more bytes for each operation; or a cut along K, by split-K or stream-K, whose
# accumulators have to be exchanged and added.
#
# </details>
#
# <details><summary>3. What does ping-pong with tiles of 128×192 pay for overlapping its epilogues?</summary>
#
# A step has three quarters of the arithmetic of one with 128×256, but five sixths of its bytes from L2. In every cycle
# L2 has to send 53 bytes instead of 48, and shared memory to move 139 instead of 128.
#
# </details>
