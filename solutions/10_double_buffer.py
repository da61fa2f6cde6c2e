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
# are idle, and while they compute, no load is in flight. This notebook gives shared memory a second buffer, so that the
# next tile travels while this one is multiplied; and then does the same once more, one level further in, with the
# registers.
#
# The kernel stays as it is. Its layouts get one more mode, and the main loop is new: that is all you write.
#
# > **After this page you can** say which of memory, arithmetic and buffers limits a pipeline, write its prologue and
# > its loop with one barrier a step, and fetch registers ahead.
# >
# > **It takes** about 45 minutes, on any machine; a GPU from sm_80 on for the speed.

# %%
import cutlass
import cutlass.cute as cute
import torch

from tutorlib import check, explain
from tutorlib.compiling.cute import compile_cute
from tutorlib.compiling.ptx import counts, story
from tutorlib.compiling.spec import TensorSpec
from tutorlib.draw import show_timeline
from tutorlib.explorers.timeline import explore_timeline
from tutorlib.kernels.ampere import main_loops as course
from tutorlib.kernels.ampere.config import GemmConfig
from tutorlib.kernels.ampere.gemm import make_gemm
from tutorlib.kernels.ampere.layouts import smem_layout
from tutorlib.kernels.ampere.thread_share import Steps, make_mma
from tutorlib.models.pipeline import Timeline
from tutorlib.notebook.measured import show_figure, show_ladder

# %% [markdown]
# ## The idea, in time
#
# Two lanes: the copies, one row for each buffer, and the arithmetic. Dots are *latency*, a copy that was issued and of
# which nothing has arrived; then it *transfers*; then the tile is used. Colors are tiles.

# %%
show_timeline(*(Timeline(stages, latency=4, transfer=2, compute=3, tiles=6) for stages in (1, 2)))

# %% [markdown]
# With two buffers, the copy of tile 1 is issued right at the start, and the copy of tile 2 as soon as tile 0 is done
# with. In this example the arithmetic still waits at times. Move the sliders: which of the three has to be how slow
# for two buffers to be enough? When does a third one help, and when does none?

# %%
explore_timeline(stages=2, latency=4, transfer=2, compute=3)

# %% [markdown]
# **Exercise 10.1** (about 2 lines). Write `period(stages, latency, transfer, compute)`: how many ticks one tile takes
# in the long run. Three things can be the slowest: the arithmetic, which does one tile at a time; the memory, which
# delivers one at a time; and a buffer, which goes through latency, transfer and compute before it can be filled again.
# What it returns need not be whole.


# %%
def period(stages, latency, transfer, compute):
    ### BEGIN SOLUTION (about 2 lines)
    round_trip = latency + transfer + compute
    return float(max(compute, transfer, round_trip / stages))
    ### END SOLUTION


# %%
check("10.1", period)

# %% [markdown]
# ## One more mode
#
# Where do the buffers lie? In the same layouts, with a third mode, the **stage**. Compare (CuTe prints a swizzle, an
# offset and a layout; read the strides of the last one):


# %%
@cute.jit
def look():
    print("one stage: ", smem_layout(128, 64, 1))
    print("two stages:", smem_layout(128, 64, 2))


look()

# %% [markdown]
# Nothing else moved: a stage is a whole tile, 8,192 elements on, and the swizzle pattern of a tile (1,024 bytes) fits
# into it a whole number of times. So each buffer has the same banks as before.
#
# There was one trap in notebook 09, and here it would shut. The registers for A and B are made from the partition of
# `sA` and `sB`, and these have a stage mode. Registers hold one tile's operands, four K blocks of them, and not one
# set for each buffer; so you took the mode away first, with `[None, None, None, 0]`. With the mode left in, this is
# what the fragment of A would be:


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
# Tile *k* lies in buffer *k* % 2. Before the loop the first tile's load is issued (the **prologue**). A step of the
# loop then
#
# 1. waits for tile *k*, and passes the barrier;
# 2. issues the load of tile *k* + 1, into the other buffer, and commits;
# 3. multiplies tile *k*.
#
# The words are those of notebook 09: `steps.load(k_tile, buffer)`, `steps.fetch(k_block, buffer)`,
# `steps.multiply(k_block)`, `steps.k_tiles` and `steps.k_blocks`; `cp_async_commit_group()`, `cp_async_wait_group(0)`
# and `sync_threads()` of `cute.arch`; `range` for K tiles and `cutlass.range_constexpr` for K blocks.
#
# **Think first**, then write: in notebook 09 a step needed two barriers, *it is there* and *it is free*. How many does
# this one need? What does a thread know that has passed the barrier of step 1? (A barrier too many is safe, and it
# costs half the points.)
#
# **Exercise 10.2** (about 12 lines). The main loop for two buffers, `double_buffer(steps)`. Tile *k* + 1 may not exist;
# `if` with a condition that is only known at run time works inside a `@cute.jit` function. The rehearsal counts the
# copies in flight while you compute, so it also catches a loop that is right and waits too early.


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
# One. Who has passed it knows two things: every thread's copies of tile *k* have arrived, and every thread has finished
# step *k* − 1, so none still reads the buffer that tile *k* + 1 goes to. Put the load *before* the wait and the second
# half is gone: the rehearsal will tell you.
#
# </details>
#
# Two pictures of one block with four K tiles, simulated: notebook 09's loop, and yours. C issues copies, w waits for
# them, R is ldmatrix, M the arithmetic, | a barrier. Where do the C stand?

# %%
a, b, c = torch.randn(128, 256).bfloat16(), torch.randn(128, 256).bfloat16(), torch.zeros(128, 128).bfloat16()
explain(make_gemm(GemmConfig(), course.single_buffer), a, b, c)

# %%
explain(make_gemm(GemmConfig(stages=2), double_buffer), a, b, c)

# %% [markdown]
# Above, every C is followed by its own w: nothing happens until it is over. Below, between a C and its w stands all the
# arithmetic of a tile. (The simulator knows the order of instructions; it does not know how long they take.)
#
# ## The same again, in registers
#
# Inside a tile there is a smaller load-wait-compute: `ldmatrix` brings a K block's operands from shared memory, and the
# mma that needs them waits until they are there. The cure is the same. Fetch K block *b* + 1, *then* multiply block
# *b*: its operands were fetched a block ago. Registers are the buffers: `fetch(b, …)` fills the registers of block *b*,
# and each block has its own.
#
# Are there enough? 16 registers for A and 16 for B in each of four K blocks, and 128 accumulators: 256, and a thread
# can have
# 255. It fits all the same, because not all live at once. A block's operands are dead when its mma are issued, so two
# blocks are alive: the one that is multiplied and the one that is fetched. The compiler sees that, and below it says
# what it needed.
#
# What about the last block of a tile? The next one is block 0 of the *next tile*, so before that fetch the next tile
# must have arrived. The wait and the barrier move there, in front of the last multiplication of a tile: its operands
# are in registers already, so when the barrier opens there is arithmetic to do at once.
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
# Which K block is a tile's last is known while compiling, so ask with `if cutlass.const_expr(…)`. In the last step
# there is no tile k + 1; fetching what is left in its buffer does no harm if it is never multiplied. This time keep the
# number of the buffer that is read in a variable, which turns over in every step. It is the same number as k % 2, but
# the assembler, which is free to move the copies among the arithmetic, made a better schedule of it when this page was
# written.


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
# Your GEMM, with the entry point that it always has:

# %%
gemm = make_gemm(GemmConfig(stages=2), register_pipeline)

# %% [markdown]
# ## What the compiler made of it
#
# The course's two loops side by side. In the first, every run of `ldmatrix` is followed by the mma that need it. In the
# second, find the wait and the barrier: they stand *inside* the arithmetic, and what is fetched before a run of mma
# belongs to the next one.

# %%
SQUARE = [TensorSpec((4096, 4096), "bf16")] * 3
for name, kernel in {
    "one buffer": make_gemm(GemmConfig(), course.single_buffer),
    "two, with registers fetched ahead": make_gemm(GemmConfig(stages=2), course.multistage),
}.items():
    compiled = compile_cute(kernel, SQUARE)
    print(f"{name}: {compiled}\n{story(compiled.ptx)}\n{counts(compiled.ptx)}\n")

# %% [markdown]
# (PTX is not the last word: the assembler that makes machine code of it may move an `ldmatrix` ahead of an mma by
# itself, within a tile. Across a barrier it may not, and that is the fetch that matters most.)
#
# What did it cost? Twice the shared memory. Does that reduce the number of blocks that an SM can hold? Registers say
# two blocks here, and two blocks' buffers fit. Notebook 12 makes an exercise of it.
#
# ## The ladder so far

# %%
show_ladder("09", "10")

# %%
show_figure("gemm_ladder_10")

# %% [markdown]
# As published, on an A100, the second buffer brought the ladder from 101 % to 111 % of cuBLAS at 2048³ (Schreiber,
# [Demystifying CuTe](https://schreibereric.substack.com/p/demystifying-cute-how-to-write-a)). On Hopper read it against
# the rung below, since cuBLAS has other instructions there. (The dip at 3072 has nothing to do with buffers: notebook
# 11 counts it out.)
#
# ## What to remember
#
# - A second buffer turns *load, wait, compute* into *issue the next load, compute this tile*.
# - One tile takes the longest of three: its arithmetic, its transfer, and a buffer's round over the number of buffers.
# - The barrier that says *it is there* also says *the other one is free*: one a step is enough.
# - Every level of memory has such a pipeline: global to shared by tiles, shared to registers by K blocks.
#
# Next: which tile a block takes, and nothing else.
#
# ## Test yourself
#
# <details><summary>1. Latency 8, transfer 2, compute 3. How many buffers are needed until one more brings
# nothing?</summary>
#
# A round is 13, and the slowest of the other two is 3: 13 / stages ≤ 3 from 5 stages on.
#
# </details>
#
# <details><summary>2. A colleague moves the load of tile k + 1 to the end of the step, after the arithmetic. Is it
# safe? Is it any good?</summary>
#
# Safe: the barrier of the step has freed the buffer. But no load is in flight while tile k is multiplied, so it is
# notebook 09's rhythm with twice the memory.
#
# </details>
#
# <details><summary>3. Why is an empty group committed in the last step?</summary>
#
# So that a wait counts the same in every step. With `wait_group(0)` it would do no harm to leave it out; with more
# stages, where the newest groups may stay open, it would.
#
# </details>
