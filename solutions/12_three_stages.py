# ---
# jupyter:
#   tutorlib:
#     minutes: 65
#     appendix: 30
#     summary: A main loop for any number of stages, what a stage costs, and your whole kernel beside NVIDIA's.
# ---

# %% [markdown]
# # 12 · Three stages, and how many more?
#
# With two buffers the next tile has as long to arrive as this one takes to multiply. If memory is late once, because
# other blocks compete for it, the tensor cores stall. A third buffer keeps two tiles in flight: then memory must keep
# up on *average*, and no longer for each tile.
#
# You write the loop for any number of stages. Then you work out the cost of a stage, look for the fastest
# configuration, and put everything that you have written since page 09 into one kernel.
#
# > **After this page you can** write a pipeline of any depth, say what a stage costs and where it pays, tune a GEMM by
# > arithmetic before you measure, and say when to leave all this to cuBLAS.
# >
# > **It takes** about 65 minutes, on any machine; a GPU times the kernels; its appendix about 30 more.

# %%
import cutlass
import cutlass.cute as cute
import torch
from cutlass.cute.nvgpu import cpasync, warp
from cutlass.cute.nvgpu.cpasync import LoadCacheMode
from cutlass.memory import SmemAllocator

from tutorlib import check, explain
from tutorlib.compiling.cute import compile_cute
from tutorlib.compiling.ptx import story
from tutorlib.compiling.spec import TensorSpec
from tutorlib.draw import show_timeline
from tutorlib.explorers.timeline import explore_timeline
from tutorlib.kernels.ampere import main_loops as course
from tutorlib.kernels.ampere.config import GemmConfig
from tutorlib.kernels.ampere.epilogues import store_elements
from tutorlib.kernels.ampere.gemm import make_gemm
from tutorlib.kernels.ampere.layouts import with_rest
from tutorlib.kernels.ampere.operands import Operand
from tutorlib.kernels.ampere.thread_share import Accumulators, GlobalToShared, Steps
from tutorlib.kernels.rules import ConfigError
from tutorlib.models import l2
from tutorlib.models.occupancy import A100, H100
from tutorlib.models.occupancy import blocks_per_sm as fit
from tutorlib.models.pipeline import Timeline
from tutorlib.notebook.measured import show_figure, show_ladder, show_speeds, show_sweep
from tutorlib.notebook.trials import show_beside

# %% [markdown]
# ## The idea, in time
#
# Here is a memory with a long latency, and two, three and four buffers. Follow one color from its first dot to its use.

# %%
show_timeline(*(Timeline(stages, latency=6, transfer=1, compute=3, tiles=8) for stages in (2, 3, 4)))

# %% [markdown]
# **Predict:** from how many stages on does one more bring nothing here? Use the formula of page 10, then move the
# slider.

# %%
explore_timeline(stages=3, latency=6, transfer=1, compute=3)

# %% [markdown]
# ## Counting groups
#
# Tile *k* goes into buffer *k* % STAGES, and the loads run STAGES − 1 tiles ahead: the **prologue** issues the loads of
# tiles 0 … STAGES − 2, and step *k* issues that of tile *k* + STAGES − 1, into the buffer that tile *k* − 1 has just
# left.
#
# `cp_async_wait_group(n)` waits until at most the *n* newest groups are in flight. The prologue commits STAGES − 1
# groups and needs the oldest: STAGES − 2 may stay in flight. Step *k* commits one more, and needs tile *k* + 1: again
# the newest STAGES − 2 may stay in flight. The number never changes, because
#
# > **one group is committed in every step**,
#
# whether anything was left to load or not. At the end of K nothing is left. If the commit were inside the `if`, the
# newest STAGES − 2 groups would be the last tiles themselves, and the loop would multiply data that has not arrived.
# (In the article that this ladder follows, the printed loop has the commit, `cp_async_fence`, inside the `if`; its
# author's kernel has it outside. The printed loop gives right results as long as the last tiles happen to arrive in
# time. The rehearsal refuses it.)
#
# **Exercise 12.1** (about 23 lines). Write it for any `steps.stages` from 2 on; with 2 it is page 10's loop.
# Fetch registers ahead as there, and keep two buffers' numbers: the one to read, and the one to write. The rehearsal
# runs it with 2, 3, 4 and 5 stages, also where K has fewer tiles than there are stages.


# %%
@cute.jit
def multistage(steps: Steps):
    ### BEGIN SOLUTION (about 23 lines)
    for k_tile in cutlass.range_constexpr(steps.stages - 1):
        if cutlass.const_expr(k_tile < steps.k_tiles):
            steps.load(k_tile, k_tile)
        cute.arch.cp_async_commit_group()
    cute.arch.cp_async_wait_group(steps.stages - 2)
    cute.arch.sync_threads()
    steps.fetch(0, 0)
    read, write = 0, steps.stages - 1
    for k_tile in range(steps.k_tiles):
        ahead = k_tile + steps.stages - 1
        if ahead < steps.k_tiles:
            steps.load(ahead, write)
        cute.arch.cp_async_commit_group()
        write = read
        for k_block in cutlass.range_constexpr(steps.k_blocks):
            if cutlass.const_expr(k_block + 1 < steps.k_blocks):
                steps.fetch(k_block + 1, read)
            else:
                read = (read + 1) % steps.stages
                cute.arch.cp_async_wait_group(steps.stages - 2)
                cute.arch.sync_threads()
                steps.fetch(0, read)
            steps.multiply(k_block)
    ### END SOLUTION


# %%
check("12.1", multistage)

# %% [markdown]
# In the PTX, the operand of `cp.async.wait_group` shows the depth. (The last line is the sequence with four stages.)

# %%
SQUARE = [TensorSpec((4096, 4096), "bf16")] * 3
for stages in (2, 3, 4):
    compiled = compile_cute(make_gemm(GemmConfig((128, 128, 32), stages=stages), course.multistage), SQUARE)
    waits = [line.split()[-1].rstrip(";") for line in compiled.ptx.splitlines() if "cp.async.wait_group" in line]
    print(f"{stages} stages: wait_group {', '.join(waits)}; {compiled}")
print(story(compiled.ptx))

# %% [markdown]
# Here are the warps of a small block with three stages, simulated. Find the prologue: two tiles (C) in two groups (c),
# and one wait (w). Then every step is the same: load and commit, fetch (R) and multiply (M), wait, barrier (|), and
# once more fetch and multiply. Which steps load nothing, and do they commit a group?

# %%
a, b = (torch.randn(64, 256).bfloat16() for _ in range(2))
c = torch.zeros(64, 64).bfloat16()
explain(make_gemm(GemmConfig((64, 64, 32), stages=3), course.multistage), a, b, c)

# %% [markdown]
# ## The cost of a stage
#
# A stage costs shared memory. One of 128×128×64 takes 32 KiB, and an SM has a fixed amount for all of its blocks
# together. When a block's share passes a threshold, the SM holds one block fewer, and loses warps that could have
# worked while others wait.
#
# Four things limit the number of blocks: shared memory (each block also loses `sm.reserved` bytes to the system);
# registers; the number of threads; and the number of blocks itself. An SM has `sm.partitions` partitions, each with its
# own scheduler and an equal part of the registers. A warp runs in one partition, which allocates registers to it in
# units of `sm.piece`: it gets 32 × `registers`, rounded up to such a unit. The warps of a block may be in any of the
# partitions.

# %%
print(A100)
print(H100)

# %% [markdown]
# **Exercise 12.2** (about 5 lines). Write `blocks_per_sm(sm, smem_bytes, registers, threads)`: how many blocks one SM
# holds, if each block takes `smem_bytes` bytes of shared memory and has `threads` threads (a multiple of 32), with
# `registers` registers each.


# %%
def blocks_per_sm(sm, smem_bytes, registers, threads):
    ### BEGIN SOLUTION (about 5 lines)
    of_a_warp = -(-32 * registers // sm.piece) * sm.piece
    warps = sm.registers // sm.partitions // of_a_warp * sm.partitions
    by_shared = sm.shared // (smem_bytes + sm.reserved)
    return min(by_shared, warps // (threads // 32), sm.threads // threads, sm.blocks)
    ### END SOLUTION


# %%
check("12.2", blocks_per_sm)

# %% [markdown]
# Now the configurations. The compiler reports the registers; the rest is arithmetic. Which limit applies where?

# %%
CONFIGS = [
    GemmConfig((128, 128, 64), (2, 2), 2),
    GemmConfig((128, 128, 64), (2, 2), 3),
    GemmConfig((128, 128, 64), (2, 2), 4),
    GemmConfig((128, 128, 32), (2, 2), 4),
    GemmConfig((128, 256, 32), (2, 4), 3),
    GemmConfig((128, 256, 32), (2, 4), 4),
]
print("tile         warps  stages  registers  shared KiB  blocks per SM: A100  H100  warps per SM: A100  H100")
for config in CONFIGS:
    compiled = compile_cute(make_gemm(config, course.multistage), SQUARE)
    on = [fit(sm, config.smem_bytes, compiled.registers, config.threads) for sm in (A100, H100)]
    warps = [blocks * config.threads // 32 for blocks in on]
    print(
        f"{'×'.join(map(str, config.tile)):12} {config.warps!s:6} {config.stages:6} {compiled.registers:10}"
        f"{config.smem_bytes / 1024:12.0f} {on[0]:19} {on[1]:5} {warps[0]:19} {warps[1]:5}"
    )

# %% [markdown]
# With tiles of 128×128, registers allow two blocks. So on an H100 a third stage of 128×128×64 costs nothing; on an
# A100, with less shared memory, it costs a block. The fourth stage costs an H100 one, too. With 128×256, registers
# leave room for one block of eight warps from the start, and no stage in the table costs another one.
#
# (As published, on an A100, a third stage took an SM from three blocks of 48 KB to two of 72 KB, and was still worth it
# at 2048³. Which tile fits these numbers? A stage of 128×128×64 is 32 KB; one of 128×64×64 is 24.)
#
# ## Where a stage pays
#
# At 4096³ two stages of 128×128×64 and three differ by about 1 %. Is the third one useless? **Predict** from the table
# above and from the purpose of a stage: what fills the pause while a block waits for its tile?
#
# - With two blocks on each SM, the *other block* does. A third buffer has little left to fill.
# - At 1024³ C has 64 tiles, and the GPU has 132 SMs. Each block is alone.
# - With tiles of K = 32 a buffer lasts half as long, so it is used up sooner.
#
# So look at 1024³, and at a K of 256, which is four tiles of 64 (`tutor sweep gemm_depth`):

# %%
show_speeds("gemm_depth")

# %% [markdown]
# At 1024³ the third stage of 128×128×64 gains about 40 %, because no second block fills the pauses. With K = 32 the
# fourth stage pays, too. The last column shows the price: *four* stages of 128×128×64 are slower than three, and no
# faster than two of half the length. One block runs on an SM where there were two.
#
# This is the lesson of the page: **a pause is filled by another tile of your own, or by another block.** The first
# costs buffers, the second registers and shared memory, and they compete for the SM.
#
# ## The fastest configuration
#
# Stages, tile and warps depend on each other. A larger tile needs fewer bytes for its arithmetic (09.1). A thread keeps
# its accumulators in registers, of which it has at most 255, so a larger tile needs more warps. A shorter step along K
# makes room for more stages, and costs more barriers. The heat map shows the measurements (`tutor sweep gemm_stages`,
# then `tutor plots gemm_stages`); the small numbers are warps × blocks on an SM.

# %%
show_figure("gemm_stages")

# %% [markdown]
# The lesson is in this map, too. A block of 128×256×32 is alone on its SM, and a third stage makes it almost half as
# fast again. Two blocks of 128×128×64 fill each other's pauses, and there the third stage brings nothing. The best five
# configurations differ by about 1 %: take any of them.
#
# Not every configuration compiles. `GemmConfig` knows the rules, and says which one is broken:

# %%
for tile, warps, stages in [((128, 128, 48), (2, 2), 4), ((256, 128, 32), (2, 2), 3), ((128, 128, 64), (2, 2), 9)]:
    try:
        GemmConfig(tile, warps, stages)
    except ConfigError as rule:
        print(rule)

# %% [markdown]
# **Exercise 12.3** (about 1 line). Write `tuned()`, which returns the `GemmConfig` that is fastest at 4096³ on your
# GPU; if you have none, the fastest in the map. It must not spill. The check compiles it with the course's loop and
# page 11's order of blocks.


# %%
def tuned():
    ### BEGIN SOLUTION (about 1 line)
    return GemmConfig(tile=(128, 256, 32), warps=(2, 4), stages=4)
    ### END SOLUTION


# %%
check("12.3", tuned)

# %% [markdown]
# ## Your kernel, whole
#
# On page 09 you wrote a kernel's parts, on 11 the order of its blocks, and above its loop. Here they meet, in one cell.
# A few parts still come from the course. Most of them you read on page 09: `Steps` and `GlobalToShared`, whose methods
# call `cute.copy` and `cute.gemm`; `Operand` and `Accumulators`, which hold tensors; and `store_elements`. Only
# `with_rest` is new: it keeps a mode of size 1 in its place.
#
# **Exercise 12.4** (bring your functions; about 27 lines for the kernel). Copy your functions, by the numbers in the
# comments, and from 09.9 also the lines that were given. These things change:
#
# - `columns` gets the configuration: 09.7's *warps* and *tile_n* are `config.warps[1]` and `config.tile[1]`.
# - `make_copy_g2s` has no `cache`: it is always `LoadCacheMode.GLOBAL`. Write `cpasync.CopyG2SOp`, and 64 and 8 in
#   place of `LINE` and `VECTOR`.
# - In the kernel, the tile comes from `in_groups`, and the loop is `multistage`. Put `with_rest(…)` around both
#   partitions `math.partition_C(…)`: where a tile has 32 columns for each warp, CuTe would drop the last mode.
# - The configuration comes from `tuned()`, and the check compares your launch with it.


# %%
def smem_layout(rows, k, stages):  # 09.2
    ### BEGIN SOLUTION (about 4 lines)
    width = min(k, 64)
    swizzle = cute.make_swizzle(3 if width == 64 else 2, 3, 3)
    atom = cute.make_composed_layout(swizzle, 0, cute.make_layout((8, width), stride=(width, 1)))
    return cute.tile_to_shape(atom, (rows, k, stages), (0, 1, 2))
    ### END SOLUTION


def make_copy_g2s(config, dtype):  # 09.4
    ### BEGIN SOLUTION (about 4 lines)
    lanes = min(config.tile[2], 64) // 8
    atom = cute.make_copy_atom(cpasync.CopyG2SOp(cache_mode=LoadCacheMode.GLOBAL), dtype, num_bits_per_copy=128)
    threads = cute.make_layout((config.threads // lanes, lanes), stride=(lanes, 1))
    return cute.make_tiled_copy_tv(atom, threads, cute.make_layout((1, 8)))
    ### END SOLUTION


def make_mma(config, dtype):  # 09.5
    ### BEGIN SOLUTION (about 3 lines)
    m, n = config.warps
    op = warp.MmaF16BF16Op(dtype, cutlass.Float32, (16, 8, 16))
    return cute.make_tiled_mma(op, cute.make_layout((m, n, 1)), permutation_mnk=(16 * m, 16 * n, 16))
    ### END SOLUTION


def make_operands(tiled_mma, thread, sA, sB):  # 09.6
    ### BEGIN SOLUTION (about 10 lines)
    math = tiled_mma.get_slice(thread)
    tCrA = tiled_mma.make_fragment_A(math.partition_A(sA)[None, None, None, 0])
    tCrB = tiled_mma.make_fragment_B(math.partition_B(sB)[None, None, None, 0])
    ldmatrix = cute.make_copy_atom(warp.LdMatrix8x8x16bOp(transpose=False, num_matrices=4), sA.element_type)
    for_a, for_b = cute.make_tiled_copy_A(ldmatrix, tiled_mma), cute.make_tiled_copy_B(ldmatrix, tiled_mma)
    of_a, of_b = for_a.get_slice(thread), for_b.get_slice(thread)
    return (
        Operand(tCrA, for_a, of_a.partition_S(sA), of_a.retile(tCrA)),
        Operand(tCrB, for_b, of_b.partition_S(sB), of_b.retile(tCrB)),
    )
    ### END SOLUTION


def columns(config):  # 09.7
    ### BEGIN SOLUTION (about 2 lines)
    across = config.warps[1]
    return cute.make_layout((2, 4, across, 4, config.tile[1] // (32 * across)), stride=(1, 8, 32, 2, 32 * across))
    ### END SOLUTION


@cute.jit
def store(acc: Accumulators):  # 09.8
    registers = acc.rounded()
    if cutlass.const_expr(acc.whole):
        cute.autovec_copy(registers, acc.tCgC)
    else:
        (_, rows), atoms, (_, rest) = registers.shape
        for m in cutlass.range_constexpr(atoms):
            for row in cutlass.range_constexpr(rows):
                for n in cutlass.range_constexpr(rest):
                    eight = ((None, row), m, (None, n))
                    if cutlass.const_expr(not acc.aligned):
                        store_elements(registers[eight], acc.tCgC[eight], acc.coordinates[eight], acc.shape)
                    else:
                        ### BEGIN SOLUTION (about 2 lines)
                        if cute.elem_less(acc.coordinates[(0, row), m, (0, n)], acc.shape):
                            cute.autovec_copy(registers[eight], acc.tCgC[eight])
                        ### END SOLUTION


def in_groups(block, rows, across):  # 11.4
    ### BEGIN SOLUTION (about 1 line)
    return l2.grouped(block, rows, across, 8 if rows > 32 else rows)
    ### END SOLUTION


@cute.kernel
def my_kernel(mA: cute.Tensor, mB: cute.Tensor, mC: cute.Tensor, config: cutlass.Constexpr):  # 09.9
    thread, _, _ = cute.arch.thread_idx()
    block, _, _ = cute.arch.block_idx()
    bM, bN, bK = config.tile
    ### BEGIN SOLUTION (about 27 lines)
    m, n = in_groups(block, *config.grid(*mC.shape))
    order = columns(config)

    def tile_of(matrix, rows, at):  # (rows, bK, k_tiles), and its coordinates
        places = cute.make_identity_tensor(matrix.shape)
        return [cute.local_tile(each, (rows, bK), (at, None)) for each in (matrix, places)]

    (gA, cA), (gB, cB) = tile_of(mA, bM, m), tile_of(mB, bN, n)
    gB, cB = (cute.composition(each, (order, None, None)) for each in (gB, cB))
    gC, cC = (cute.local_tile(each, (bM, bN), (m, n)) for each in (mC, cute.make_identity_tensor(mC.shape)))
    memory = SmemAllocator()
    sA = memory.allocate_tensor(mA.element_type, smem_layout(bM, bK, config.stages), byte_alignment=128)
    sB = memory.allocate_tensor(mB.element_type, smem_layout(bN, bK, config.stages), byte_alignment=128)

    g2s = make_copy_g2s(config, mA.element_type)
    mine = g2s.get_slice(thread)

    def into_smem(matrix, g, s, c, rows):
        whole = matrix.shape[0] % rows == 0 and matrix.shape[1] % bK == 0
        places, limit = (None, None) if whole else (mine.partition_S(c), matrix.shape)
        return GlobalToShared(g2s, mine.partition_S(g), mine.partition_D(s), places, limit)

    tiled_mma = make_mma(config, mA.element_type)
    math = tiled_mma.get_slice(thread)
    tCgC, tCcC = (with_rest(math.partition_C(cute.composition(each, (None, order)))) for each in (gC, cC))
    tCrC = tiled_mma.make_fragment_C(tCgC)
    tCrC.fill(0.0)
    a, b = into_smem(mA, gA, sA, cA, bM), into_smem(mB, gB, sB, cB, bN)
    rA, rB = make_operands(tiled_mma, thread, sA, sB)
    multistage(Steps(cute.size(gA, mode=[2]), a, b, rA, rB, tiled_mma, tCrC))
    store(Accumulators(tCrC, tCgC, tCcC, gC, mC.shape, config, math))
    ### END SOLUTION


@cute.jit
def my_gemm(a: cute.Tensor, b: cute.Tensor, c: cute.Tensor):
    config = tuned()
    ### BEGIN SOLUTION (about 3 lines)
    rows, across = config.grid(*c.shape)
    my_kernel(a, b, c, config).launch(grid=(rows * across, 1, 1), block=(config.threads, 1, 1))
    ### END SOLUTION


# %%
check("12.4", my_gemm)

# %% [markdown]
# Your kernel beside cuBLAS and NVIDIA's own kernel for these instructions, measured now:

# %%
show_beside({"yours": my_gemm}, sizes=(1024, 2048, 4096, 8192))

# %% [markdown]
# ## The ladder
#
# The rungs are the course's kernels; yours is in the table above, measured on your GPU. The last rung, `12 loads
# spread`, issues its loads later in each step. The appendix tells how it was found.

# %%
show_ladder("09", "10", "11", "12")

# %%
show_figure("gemm_ladder_12")

# %% [markdown]
# The dotted red line is mma.sync with nothing to wait for; cuBLAS, with other instructions, exceeds it. At small sizes
# *three stages* is ahead of *tuned*, which was tuned at 4096: its tiles are twice as large, so there are half as many
# for all the SMs. In the table, *multistage* and the register pipeline differ by 1 %, in opposite directions on the two
# GPUs: at 4096 the third stage brings nothing that this measurement can see. The next figure adds the roofs of the
# datasheet and the rungs of pages 13 and 14:

# %%
show_figure("roofline")

# %% [markdown]
# At the left end no kernel is near a roof, neither memory's nor that of the tensor cores: there is too little work for
# 132 SMs, and each kernel also needs time that does not shrink with it, for its launch, first load and last store.
#
# On a Hopper GPU the course leaves mma.sync here. cuBLAS's WGMMA reads operands from shared memory by itself, without
# `ldmatrix` and without registers for them, and it is faster than mma.sync alone could be. The pipeline that you have
# built stays right. On page 13 its parts get new names: TMA for cp.async, mbarrier for wait_group and barrier.
#
# ## When to use cuBLAS
#
# For a plain GEMM: always, or until you have done page 14. cuBLAS has many kernels and a heuristic that picks one for
# the shape; you have one kernel. At small sizes, where the figure goes down, it can use a technique that ours lacks:
# several blocks take a slice of K each and add their results (**split-K**), so that a C of few tiles leaves no SM idle.
#
# Write your own where the GEMM is not plain: the epilogue transforms C before it leaves the registers, operands are in
# a form that no library takes (packed, gathered, scaled by block), two GEMMs share a tile (attention). Or where the
# library's heuristic picks badly for a shape that matters to you: measure, as above, at *your* sizes. The author of the
# published kernel says himself that it did so well at 2048³ partly because cuBLAS is weak there.
#
# The appendix has the machine code of the loop, the trials that led to the last rung, and the same kernel in C++.
#
# ## What to remember
#
# - One group is committed in every step. Then "all but the newest STAGES − 2" names the same tile each time.
# - A pause is filled by another buffer of yours or by another block. They compete for shared memory and registers.
# - Stages pay most where a block is alone on its SM (small C, the last wave, a large tile), and where a tile is short
#   along K.
# - Tune by arithmetic first: registers, shared memory, blocks. Then measure, and write down what did not work.
#
# ## Test yourself
#
# <details><summary>1. Five stages, 3 K tiles. How many groups does the prologue commit, and which wait comes
# first?</summary>
#
# Four, one of them empty. Then `wait_group(3)`: of the four groups the oldest, tile 0, must have arrived.
#
# </details>
#
# <details><summary>2. A block of 256 threads has 226 registers a thread and 96 KiB of shared memory. How many fit on an
# H100's SM, and which limit is it?</summary>
#
# A warp takes 32 · 226 = 7,232 registers, rounded up to 7,424. A partition of 16,384 holds two such warps, the SM
# eight, and the block has eight: one block, by the registers. Shared memory would allow two.
#
# </details>
#
# <details><summary>3. You double the stages, and the kernel gets slower. Name two reasons that you can check without a
# GPU.</summary>
#
# One block fewer fits on an SM: put the new shared memory into 12.2's formula. Or K has fewer tiles than there are
# stages, and the prologue's last steps load nothing: count K tiles.
#
# </details>

# %% [markdown]
# ## Appendix: What the machine runs
#
# PTX is not the last word. `ptxas` turns it into machine code, SASS, and moves instructions as it sees fit. `nvdisasm`
# prints the result (`pip install nvidia-cuda-nvdisasm`). Its names: LDGSTS is `cp.async`, LDGDEPBAR closes a group,
# DEPBAR waits for groups, LDSM is `ldmatrix`, HMMA is `mma.sync`. Here is one step of the main loop, for the course's
# loop and for one that issues the loads *after* the first K block is multiplied, without an `if`:

# %%
from tutorlib.compiling.errors import ToolMissing
from tutorlib.compiling.sass import SASS_OPCODES, disassemble, main_loop_of
from tutorlib.kernels.ampere.schedules import SPREAD, TUNED, make_loop

LOOPS = {"loads first": course.multistage, "loads spread": make_loop(SPREAD)}
for name, main_loop in LOOPS.items():
    compiled = compile_cute(make_gemm(TUNED, main_loop), SQUARE, "sm_90a")
    try:
        print(f"{name}: {story(main_loop_of(disassemble(compiled.cubin)), SASS_OPCODES)}\n")
    except ToolMissing as missing:
        print(missing)

# %% [markdown]
# Three things to read:
#
# - **HMMA are everywhere.** The compiler puts a load between two of them, where an issue slot is free. The order in
#   your source is a suggestion; barriers and waits are binding.
# - **When does the first LDSM come?** Its operands are needed half a step later. With the loads first, all LDGSTS come
#   before it; count the HMMA that are issued until then. In the second loop it comes almost at once.
# - **After the barrier** come HMMA first: registers were fetched ahead, so the tensor cores do not wait.
#
# **Predict:** which one is faster?

# %% [markdown]
# ## Appendix: The trials
#
# The table has speeds relative to NVIDIA's example for these instructions, `tensorop_gemm.py`, whose tiles are
# 128×128×32 in four stages (`tutor sweep gemm_tries`, with TUTORLIB_CUTLASS set to a checkout of CUTLASS). Each row
# changes something in *tuned*, the configuration marked in the heat map:

# %%
show_sweep("gemm_tries")

# %% [markdown]
# Take the two changes one at a time. With the loads behind the first K block, and the `if` still there, the loop is a
# little faster; without the `if`, and with the loads first, it is slower than before. Both together gain more than
# either, at every size. And now a longer step along K pays at the larger sizes, though it brought nothing while the
# loads came first: it has half the barriers, and four K blocks behind which loads can hide. That is the ladder's last
# rung.
#
# Tiles of 192 looked best on paper, since they read shared memory least. They leave no registers to fetch ahead with,
# and that costs more than it saves. Most trials bring nothing. Keep the table of them all the same, so that they are
# not tried again. (A blank was not measured.)
#
# You can make the same change in your kernel: in your `multistage`, move the loads behind the first `steps.multiply`,
# run the cell of your kernel once more, and look at its table again. To remove the `if` as well, load the last tile
# once more where none is left, and wait for all groups after the loop. The rehearsal of 12.1 accepts such a loop, too.

# %% [markdown]
# ## Appendix: The same kernel in C++
#
# CuTe was a C++ library first, and most of the code that you will read is written in it. Everything on these four pages
# has its counterpart there. Eric Schreiber ported his three-stage kernel from C++ to Python, and published for 2048³ on
# an A100 (these are his numbers): 149 TFLOP/s, where PyTorch has 128 and NVIDIA's own example in the Python DSL 142; a
# run of 0.1155 ms in Python and 0.1158 ms in C++; some 650 lines instead of 850. Do these numbers agree with one
# another?

# %%
from collections import namedtuple

from IPython.display import Code, Markdown, display

from tutorlib.kernels.cpp import three_stages
from tutorlib.simulate.ptx.languages.cpp import compile_cuda, simulate_cuda

Published = namedtuple("Published", "what ms")
for what, ms in (Published("Python", 0.1155), Published("C++", 0.1158)):
    print(f"{what}: {2 * 2048**3 / (ms * 1e-3) / 1e12:.0f} TFLOP/s")
print(f"{149 / 128:.0%} of PyTorch, {149 / 142:.0%} of NVIDIA's example")

# %%
TWINS = [  # what, in Python, in C++
    ("a number known at compile time", "`8`", "`Int<8>{}`"),
    (
        "a layout",
        "`cute.make_layout((8, 64), stride=(64, 1))`",
        "`make_layout(make_shape(Int<8>{}, Int<64>{}), make_stride(Int<64>{}, Int<1>{}))`",
    ),
    (
        "swizzle ∘ layout",
        "`cute.make_composed_layout(cute.make_swizzle(3, 3, 3), 0, atom)`",
        "`composition(Swizzle<3,3,3>{}, atom)`",
    ),
    (
        "repeat an atom",
        "`cute.tile_to_shape(atom, (128, 64, 3), (0, 1, 2))`",
        "`tile_to_shape(atom, make_shape(Int<128>{}, Int<64>{}, Int<3>{}))`",
    ),
    (
        "a kernel's parameters",
        "`@cute.kernel`, types of the arguments, `cutlass.Constexpr`",
        "`template <class SmemLayoutA, …> __global__`",
    ),
    ("the block's tile", "`cute.local_tile(mA, (128, 64), (m, None))`", "`local_tile(mA, tiler, make_coord(m, _))`"),
    ("keep a mode, pick from another", "`tAgA[None, None, None, k_tile]`", "`tAgA(_, _, _, k_tile)`"),
    (
        "one thread's share",
        "`tiled_copy.get_slice(thread).partition_S(gA)`",
        "`tiled_copy.get_slice(threadIdx.x).partition_S(gA)`",
    ),
    (
        "shared memory",
        "`SmemAllocator().allocate_tensor(dtype, layout, 128)`",
        "`extern __shared__`, then `make_tensor(make_smem_ptr(p), layout)`, offsets by hand",
    ),
    (
        "cp.async",
        "`CopyG2SOp(cache_mode=LoadCacheMode.GLOBAL)`, `num_bits_per_copy=128`",
        "`SM80_CP_ASYNC_CACHEGLOBAL<uint128_t>`",
    ),
    ("ldmatrix", "`warp.LdMatrix8x8x16bOp(num_matrices=4)`", "`SM75_U32x4_LDSM_N`"),
    ("mma", "`warp.MmaF16BF16Op(BFloat16, Float32, (16, 8, 16))`", "`SM80_16x8x16_F32BF16BF16F32_TN`"),
    (
        "ldmatrix as the mma wants it",
        "`cute.make_tiled_copy_A(atom, tiled_mma)`",
        "`make_tiled_copy_A(atom, tiled_mma)`",
    ),
    (
        "copy, multiply",
        "`cute.copy(tiled_copy, src, dst)`, `cute.gemm(mma, d, a, b, c)`",
        "`copy(tiled_copy, src, dst)`, `gemm(mma, a, b, c)`",
    ),
    (
        "close a group, wait, barrier",
        "`cp_async_commit_group()`, `cp_async_wait_group(1)`, `sync_threads()`",
        "`cp_async_fence()`, `cp_async_wait<1>()`, `__syncthreads()`",
    ),
    ("unrolled loop", "`for k in cutlass.range_constexpr(4)`", "`#pragma unroll`, or `CUTE_UNROLL`"),
    ("decided at compile time", "`if cutlass.const_expr(…)`", "`if constexpr (…)`"),
]
table = "\n".join(f"| {what} | {python} | {cpp} |" for what, python, cpp in TWINS)
display(Markdown(f"| what | Python | C++ |\n|---|---|---|\n{table}"))

# %% [markdown]
# Here is the whole kernel, without CuTe, for tiles of 128×128×32 in three stages. It is worth one slow reading: `place`
# is the swizzle, `column` is 09's permutation, and the loop is 12.1's, line by line.

# %%
display(Code(three_stages.SOURCE, language="cpp"))

# %% [markdown]
# nvcc compiles it. The cell prints the sequence of its instructions beside that of the Python twin, and its error at a
# small size, simulated:

# %%
twin = make_gemm(GemmConfig(three_stages.TILE, (2, 2), three_stages.STAGES), course.multistage)
print("Python:", story(compile_cute(twin, SQUARE).ptx))
print("C++:   ", story(compile_cuda(three_stages.SOURCE)))
m, n, k = shape = (128, 128, 160)
a, b = (torch.randn(rows, k).bfloat16() for rows in (m, n))
c = torch.full((m, n), torch.nan).bfloat16()
launched = {"a": a, "b": b, "c": c, "m": m, "n": n, "k": k}
report = simulate_cuda(
    three_stages.SOURCE, three_stages.grid(shape), (three_stages.THREADS, 1, 1), launched, three_stages.SMEM_BYTES
)
print("largest error:", (c.float() - a.float() @ b.float().mT).abs().max().item(), "findings:", len(report.findings))

# %% [markdown]
# Both have the same copies, waits, barriers and products. CuTe saves you every line with `lane / 16` in it.
#
# Four things to watch when you go from one to the other:
#
# - `None` keeps a mode here. In NumPy an index `None` *adds* one; they have nothing to do with each other.
# - In C++ a number in a layout is known at compile time because its *type* says so; in Python, because it is a Python
#   number. Both end in the same layouts, static or dynamic, and the difference matters as much: `cp.async` of 16 bytes
#   needs strides that are known, and so do fragments in registers.
# - A plain `for … in range(…)` inside `@cute.jit` is a loop of the *kernel*. A loop that the compiler unrolls, so that
#   its index can select registers, is `range_constexpr`. In C++ both are written `for`, and the pragma tells them
#   apart.
# - There is no C++ underneath. The DSL reads the function's syntax tree, builds MLIR from it and compiles that to PTX
#   and machine code. It takes about a second, so you can try a configuration in a cell of a notebook. Schreiber names
#   this faster turnaround as Python's gain, and inline assembly as the advantage that C++ keeps.
