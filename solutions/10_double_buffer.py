# ---
# jupyter:
#   tutorlib:
#     minutes: 45
#     summary: The next tile travels while this one is multiplied; then the same again, in registers.
# ---

# %% [markdown]
# # 10 · Two buffers
#
# The GEMM of notebook 09 works in a strict rhythm: load a tile, wait, compute, load. While it loads, the tensor cores
# are idle, and while they compute, no load is in flight. This page gives shared memory a second buffer, so that the
# next tile arrives while this one is multiplied. Then it does the same one level closer to the tensor cores, with the
# registers.
#
# The kernel stays as it is, and so do its layouts, except that their last mode, the stage, has size 2. All that you
# write is the main loop.
#
# > **After this page you can** say whether memory, arithmetic or the number of buffers limits a pipeline, write its
# > prologue and its loop with one barrier a step, and fetch registers ahead.
# >
# > **It takes** about 45 minutes, on any machine; a GPU from sm_80 on for the speed.

# %%
import cutlass
import cutlass.cute as cute
import torch

from tutorlib import (
    TensorSpec, Timeline, check, compile_cute, counts, explain, explore_timeline, show_figure, show_ladder,
    show_timeline, story,
)  # fmt: skip
from tutorlib.kernels.ampere import GemmConfig, Steps, main_loops as course, make_gemm, make_mma, smem_layout

# %% [markdown]
# ## The idea, in time
#
# The picture has two kinds of rows: the copies, one row for each buffer (*buf*), and the arithmetic (*math*). Dots are
# *latency*: the copy is issued and nothing has arrived. On gray it arrives: this is the *transfer*. Colors are tiles: a
# pale one has arrived and waits, and in its full color a tile is used.

# %%
show_timeline(*(Timeline(stages, latency=4, transfer=2, compute=3, tiles=6) for stages in (1, 2)))

# %% [markdown]
# With two buffers, the copy of tile 1 is issued right at the start, and the copy of tile 2 as soon as tile 0 has been
# multiplied. In this example the arithmetic still waits at times. Move the sliders: when are two buffers enough? When
# does a third one help, and when does no number of buffers?

# %%
explore_timeline(stages=2, latency=4, transfer=2, compute=3)

# %% [markdown]
# **Exercise 10.1** (about 2 lines). Write `period(stages, latency, transfer, compute)`: the number of ticks that one
# tile takes in the long run. Three things can be the slowest: the arithmetic, which does one tile at a time; the
# memory, which delivers one at a time; and a buffer, which goes through latency, transfer and compute before it can be
# filled again. The result need not be a whole number.


# %%
def period(stages, latency, transfer, compute):
    ### BEGIN SOLUTION (about 2 lines)
    round_trip = latency + transfer + compute
    return float(max(compute, transfer, round_trip / stages))
    ### END SOLUTION


# %%
check("10.1", period)

# %% [markdown]
# <details><summary>When are two buffers enough, and when does no number help?</summary>
#
# Two are enough where (latency + transfer + compute) / 2 ≤ max(transfer, compute). Where they are not, a third one
# helps. No number of buffers makes a tile take less than max(transfer, compute).
#
# </details>
#
# ## The stage mode
#
# Where are the two buffers? In the third mode of the layouts, the **stage**, which had size 1 in notebook 09. Compare
# (CuTe prints a swizzle, an offset and a layout; read the strides of the last one):


# %%
@cute.jit
def look():
    print("one stage: ", smem_layout(128, 64, 1))
    print("two stages:", smem_layout(128, 64, 2))


look()

# %% [markdown]
# Nothing else has moved: the second stage is a whole tile further on, 8,192 elements, and the swizzle's pattern (1,024
# bytes) fits into a tile a whole number of times. So each buffer uses the banks as before.
#
# This mode set the trap of notebook 09. The fragments for A and B are made from partitions of `sA` and `sB`, which
# have a stage mode. Registers hold one tile's operands, four K blocks of them, and not one set for each buffer; so you
# removed that mode first, with `[None, None, None, 0]`. The `Steps` that your loop gets have done that. With the mode
# left in, the fragment of A would be this:


# %%
@cute.jit
def fragments():
    mma = make_mma(GemmConfig(), cutlass.BFloat16)
    tile = mma.get_slice(0).partition_A(cute.make_identity_tensor((128, 64, 2)))
    print("shape with stages:   ", tile.shape, "=", cute.size(tile), "elements in registers")
    print("shape without stages:", tile[None, None, None, 0].shape, "=", cute.size(tile[None, None, None, 0]))


fragments()

# %% [markdown]
# ## Double buffering
#
# Tile *k* goes into buffer *k* % 2. Before the loop the first tile's load is issued (the **prologue**). A step of the
# loop then
#
# 1. waits for tile *k*, and passes the barrier;
# 2. issues the load of tile *k* + 1, into the other buffer, and commits;
# 3. multiplies tile *k*.
#
# The calls are those of notebook 09: `steps.load(k_tile, buffer)`, `steps.fetch(k_block, buffer)`,
# `steps.multiply(k_block)`, `steps.k_tiles` and `steps.k_blocks`; `cp_async_commit_group()`, `cp_async_wait_group(0)`
# and `sync_threads()` of `cute.arch`; `range` for K tiles and `cutlass.range_constexpr` for K blocks.
#
# **Think first**, then write: notebook 09 needed two barriers in a step, *the data has arrived* and *the buffer is
# free*. How many does this loop need? What does a thread know once it has passed the barrier of step 1? (The check
# allows two.)
#
# **Predict**, too: on a machine with a GPU the check times your loop at 4096³. How much faster than notebook 09's will
# it be?
#
# **Exercise 10.2** (about 12 lines). The main loop for two buffers, `double_buffer(steps)`. Tile *k* + 1 may not exist:
# inside a `@cute.jit` function `if` works with a condition that is known only at run time. The simulator looks at each
# read of shared memory for a copy in flight. So it also catches a loop whose results are right but which waits too
# early.


# %%
@cute.jit
def double_buffer(steps: Steps):
    ### BEGIN SOLUTION (about 12 lines)
    steps.load(0, 0)
    cute.arch.cp_async_commit_group()
    for k_tile in range(steps.k_tiles):
        cute.arch.cp_async_wait_group(0)
        cute.arch.sync_threads()
        if k_tile + 1 < steps.k_tiles:
            steps.load(k_tile + 1, (k_tile + 1) % 2)
        cute.arch.cp_async_commit_group()
        for k_block in cutlass.range_constexpr(steps.k_blocks):
            steps.fetch(k_block, k_tile % 2)
            steps.multiply(k_block)
    ### END SOLUTION


# %%
check("10.2", double_buffer)

# %% [markdown]
# <details><summary>How many barriers, then?</summary>
#
# One. A thread that has passed it knows two things: every thread's copies of tile *k* have arrived, and every thread
# has finished step *k* − 1, so none still reads the buffer that tile *k* + 1 goes into. If you put the load *before*
# the wait, the second is no longer certain: the check will tell you.
#
# </details>
#
# Your loop is not quite the model above, which refills a buffer the moment it is free. Your loop issues the next load
# only when tile *k* has arrived, so a single load is in flight, and a step takes *latency + transfer* or *compute*,
# whichever is longer: 6 ticks in the example above, where the model has 4.5. (To refill at once takes one more barrier,
# after the arithmetic.) Where *compute* ≥ *latency + transfer*, the two agree: a step takes *compute*.
#
# Here are two pictures of one block with four K tiles, simulated: notebook 09's loop, and yours. C issues copies, c
# commits them, w waits for them, R is ldmatrix, M the arithmetic, | a barrier. Find each C and its w. (In your loop the
# last c closes an empty group. The two lower panels show the banks, as in notebook 09; the second buffer changes
# nothing there.)

# %%
a, b, c = torch.randn(128, 256).bfloat16(), torch.randn(128, 256).bfloat16(), torch.zeros(128, 128).bfloat16()
explain(make_gemm(GemmConfig(), course.single_buffer), a, b, c)

# %%
explain(make_gemm(GemmConfig(stages=2), double_buffer), a, b, c)

# %% [markdown]
# In the first picture each C is followed at once by its own w: every copy is waited for before anything else happens.
# In the second, only tile 0 is waited for at once; from tile 1 on, the whole arithmetic of a tile lies between a C and
# its w. (The simulator knows the order of instructions; it does not know how long they take.)
#
# ## The same again, in registers
#
# Within a tile there is a smaller load, wait, compute: `ldmatrix` brings a K block's operands from shared memory, and
# the mma that needs them waits until they are there. The remedy is the same. Fetch K block *b* + 1, *then* multiply
# block *b*, whose operands were fetched one block ago. The buffers are registers: `fetch(b, …)` fills those of block
# *b*, and each block has its own.
#
# Are there enough registers? Each of four K blocks takes 16 for A and 16 for B, and there are 128 accumulators: 256 in
# all, and a thread can have 255. It fits all the same, because not all are live at once. A block's operands are dead
# once its mmas are issued, so two blocks are live: the one being multiplied and the one being fetched. The compiler
# sees that; below, it reports the number of registers. Fetch all four before the first multiplication, and it cannot:
# compiled for sm_80, that loop spills. (To see it, write the loop after the exercise, and put it into the cell below
# that compiles.)
#
# The last block of a tile is special. The block after it is block 0 of the *next tile*, so that tile must have arrived
# before the fetch. The wait and the barrier therefore move to the last block, in front of its multiplication: its
# operands are in registers already, so when the barrier opens there is arithmetic to do at once. One barrier is still
# enough: by then every thread has fetched all blocks of tile k, so step k + 1 may load tile k + 2 into tile k's buffer.
#
# | in step k | fetch | multiply |
# |---|---|---|
# | first, load tile k + 1 and commit | | |
# | block 0 | block 1 of tile k | block 0 |
# | block 1 | block 2 of tile k | block 1 |
# | block 2 | block 3 of tile k | block 2 |
# | block 3: wait, barrier | block 0 of tile k + 1 | block 3 |
#
# **Exercise 10.3** (about 21 lines). Write that, as `register_pipeline(steps)`. The prologue ends with the first fetch.
# A tile's last K block is known at compile time, so test for it with `if cutlass.const_expr(…)`. In the last step there
# is no tile k + 1; a fetch from its buffer does no harm if its operands are never multiplied. Keep the index of the
# buffer that is read in a variable, and flip it in every step (k % 2 is equally right; notebook 12 continues with the
# variable).


# %%
@cute.jit
def register_pipeline(steps: Steps):
    ### BEGIN SOLUTION (about 21 lines)
    steps.load(0, 0)
    cute.arch.cp_async_commit_group()
    cute.arch.cp_async_wait_group(0)
    cute.arch.sync_threads()
    steps.fetch(0, 0)
    read = 0
    for k_tile in range(steps.k_tiles):
        if k_tile + 1 < steps.k_tiles:
            steps.load(k_tile + 1, 1 - read)
        cute.arch.cp_async_commit_group()
        for k_block in cutlass.range_constexpr(steps.k_blocks):
            if cutlass.const_expr(k_block + 1 < steps.k_blocks):
                steps.fetch(k_block + 1, read)
            else:
                read = 1 - read
                cute.arch.cp_async_wait_group(0)
                cute.arch.sync_threads()
                steps.fetch(0, read)
            steps.multiply(k_block)
    ### END SOLUTION


# %%
check("10.3", register_pipeline)

# %% [markdown]
# This is your GEMM, with the same entry point as always:

# %%
gemm = make_gemm(GemmConfig(stages=2), register_pipeline)

# %% [markdown]
# ## What the compiler made of it
#
# Here are notebook 09's loop and one with both of this page's pipelines. They are the course's; to see yours, put
# `gemm` in place of the second. In the first, each group of `ldmatrix` is followed by the mmas that need it. In the
# second, find the wait and the barrier: they are *inside* the arithmetic, and the operands fetched before a group of
# mmas belong to the next group.

# %%
SQUARE = [TensorSpec((4096, 4096), "bf16")] * 3
for name, kernel in {
    "one buffer": make_gemm(GemmConfig(), course.single_buffer),
    "two, with registers fetched ahead": make_gemm(GemmConfig(stages=2), course.multistage),
}.items():
    compiled = compile_cute(kernel, SQUARE)
    print(f"{name}: {compiled}\n{story(compiled.ptx)}\n{counts(compiled.ptx)}\n")

# %% [markdown]
# (PTX is not the last word: `ptxas`, which turns it into machine code, may move an `ldmatrix` ahead of an mma within a
# tile. It may not move one across a barrier: only you can place that fetch.)
#
# What did it cost? Twice the shared memory. Does an SM now hold fewer blocks? No: registers allow two blocks, and the
# buffers of two, 2 · 65,536 bytes, fit into its shared memory. Notebook 12 makes an exercise of it.
#
# ## The ladder so far

# %%
show_ladder("09", "10")

# %%
show_figure("gemm_ladder_10")

# %% [markdown]
# In the table the second buffer gains 9 to 11%, and registers fetched ahead 6 to 7% more; the figure's *10 two
# buffers* has both. Why so little, when the first picture halves the time of a tile? Its ticks are an example, your
# loop refills a buffer later than the model does, and the picture shows one block alone. An SM holds two: while one
# waits, the other multiplies, so notebook 09's loop had already filled a part of the gaps.
#
# As published, on an A100, the second buffer took Schreiber's ladder from 101% to 111% of cuBLAS at 2048³
# ([Demystifying CuTe](https://schreibereric.substack.com/p/demystifying-cute-how-to-write-a)). On Hopper cuBLAS uses
# other instructions, so compare each rung with the one before it, and with NVIDIA's example for these instructions: in
# the figure, *10 two buffers* is level with it or slightly ahead. (Notebook 11 explains the dip at 3072.)
#
# ## What to remember
#
# - A second buffer turns *load, wait, compute* into *issue the next load, compute this tile*.
# - At best, a tile takes as long as the slowest of three: its arithmetic, its transfer, and a buffer's round divided by
#   the number of buffers.
# - The barrier that says *the data has arrived* also says *the other buffer is free*: one a step is enough.
# - Each level of the memory hierarchy can have such a pipeline: global to shared by tiles, shared to registers by K
#   blocks.
#
# Next: which block computes which tile, and nothing else.
#
# ## Test yourself
#
# <details><summary>1. Latency 8, transfer 2, compute 3. From how many buffers on does one more bring
# nothing?</summary>
#
# A round is 13, and the slower of the other two is 3: 13 / stages ≤ 3 from 5 stages on.
#
# </details>
#
# <details><summary>2. A colleague moves the load of tile k + 1 to the end of the step, after the arithmetic. Is it
# safe? Does it help?</summary>
#
# Safe: the barrier of the step has freed the buffer. But no load is in flight while tile k is multiplied, so it is
# notebook 09's rhythm with twice the memory.
#
# </details>
#
# <details><summary>3. The course's loop commits a group in the last step, too, though that group is empty.
# Why?</summary>
#
# So that a wait means the same in every step. With `wait_group(0)` the empty group makes no difference; with more
# stages, where the newest groups may remain in flight, it does.
#
# </details>
