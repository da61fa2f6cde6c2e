# ---
# jupyter:
#   tutorlib:
#     minutes: 75
#     summary: Attention in CuTe, its softmax hidden under the tensor cores' work, faster than cuDNN's with a mask.
# ---

# %% [markdown]
# # 23 · Attention on Hopper
#
# For each head, attention computes O = softmax(Q Kᵀ · scale) V: two GEMMs with a softmax between them. The tensor cores
# wait for the softmax, and the softmax waits for them. How can both work at the same time?
#
# This page's answer is FlashAttention-3's ([Shah et al., 2024](https://arxiv.org/abs/2407.08608)).
#
# > **After this page you can** use the accumulators of one wgmma as an operand of the next, write an online softmax in
# > registers, run a softmax under wgmmas in flight, and make two warpgroups take turns at the tensor cores.
# >
# > **It takes** about 75 minutes, on any machine; without a Hopper GPU the kernels are simulated.

# %%
import cutlass
import cutlass.cute as cute
from cutlass import BFloat16, Float32
from cutlass.cute.nvgpu import warpgroup

from tutorlib import check, show_attention, show_figure, show_levers, show_source, show_wgmma
from tutorlib.kernels.attention import (
    by_row, p_operand, pass_turn, quad_reduce, softmax_first, step_together, take_turn,
)  # fmt: skip

# %% [markdown]
# ## Count before you schedule
#
# A thread block of the kernel has 128 queries, 64 for each of two consumer warpgroups. It walks over the keys, 128 at a
# time: a **block of keys**, the kernel's `n_block`. For each one, a warpgroup computes S = Q Kᵀ, a tile of 64×128
# scores, then P, their exponentials, then O += P V. Exponentials have a unit of their own; row maxima, row sums and
# scaling use the fp32 units. We add both up, as if nothing overlapped within a warpgroup. For one warpgroup and one
# block of keys:

# %%
HEAD_DIM, ROWS, KEYS = 128, 64, 128
MULTIPLY_ADDS = 2048  # of bf16 in a cycle, by the tensor cores of an SM: the datasheet's 989 TFLOP/s
EXPONENTIALS, FP32 = 16, 128  # in a cycle of an SM (CUDA C++ Programming Guide, throughput of native arithmetic)
product = ROWS * KEYS * HEAD_DIM / MULTIPLY_ADDS
exponentials = ROWS * KEYS / EXPONENTIALS
others = (3 * ROWS * KEYS + ROWS * HEAD_DIM) / FP32  # of a score: maximum, scaling, sum; O is rescaled
print(f"S: {product:.0f} cycles, P V: {product:.0f}; softmax: exponentials {exponentials:.0f}, the rest {others:.0f}")

# %% [markdown]
# Count in ticks of 256 cycles: for a warpgroup alone, S takes 2, P V 2, the softmax 3.
#
# Each step computes S of one block of keys and P V of the block visited before. Wgmmas are asynchronous, so a kernel
# chooses what a warpgroup waits for before its softmax:
#
# - *together*: it issues P V and S, and waits for both.
# - *turns for both*: it issues S and P V, and waits for S only. The two warpgroups take turns at issuing both, which is
#   called **ping-pong**.
#
# The charts show three blocks of keys, from the last to the first: S1 is S of keys 1, P1 is P V of keys 1. The rows
# `wg 0` and `wg 1` are the warpgroups' softmaxes. All charts follow one rule: the tensor cores execute the group of
# wgmmas that was issued first. Groups issued at the same time alternate and take twice as long. Softmaxes that overlap
# run at half speed. **Predict:** *together* starts once with both warpgroups in step, and once with
# warpgroup 1 a tick later. How many ticks does this delay save?

# %%
show_attention("together, in step", "together, apart", "turns for both")

# %% [markdown]
# In step, the tensor cores are idle during each softmax. A tick apart, one warpgroup multiplies during the other's
# softmax, and 42 ticks become 27: the delay saves 15. *turns for both* needs 26, although its warpgroups start at
# once: their turns keep them apart. With the 32 blocks of 4,096 keys, the same rule gives 448, 259 and 258 ticks. The
# model counts the units' work only, not the time in which a warpgroup issues, waits, or rounds P.
#
# You will write *turns for both*. The roles are those of notebook 15. The producer warp loads Q once, and K and V
# into a ring of two stages each, in the order in which your step reads them: K of a block, then V of the block before.
# Each of two consumer warpgroups reads its 64 rows of Q from shared memory, and keeps S, P and O in registers.
#
# ## From accumulators to an operand
#
# P is the A operand of P V, and a wgmma can read A from registers. S is the accumulator of Q Kᵀ. If each thread's
# accumulators are exactly the elements of A that the instruction reads from that thread, P never has to move. Here are
# a warpgroup's accumulators, the first 32 columns: on the left, the warp and registers of each 8×8 block; on the right,
# the lanes within one block.

# %%
show_wgmma(32)

# %% [markdown]
# The A operand of one wgmma has 64 rows and 16 columns, a K block. (K is the dimension that this GEMM sums over: for
# P V, the keys.) PTX [assigns](https://docs.nvidia.com/cuda/parallel-thread-execution/#wgmma-64n16-a) its elements to
# the threads as the picture assigns the first 16 columns: the 8 elements of a thread are its registers 0 to 7, in this
# order, rounded to bf16. Registers 8 to 15 are its elements of the second K block. So each thread rounds its own
# accumulators and has its operand: no element moves to another thread.
#
# The accumulators of 64×N have the layout ((2, 2, N/8), 1, 1):((1, 2, 4), 0, 0): two neighbors, two rows, N/8 groups of
# 8 columns. The softmax needs a view of them by row, and the MMA a view of the rounded ones as an A operand,
# ((2, 2, 2), 1, K blocks):

# %%
show_source(by_row, p_operand)

# %% [markdown]
# V's rows are contiguous along head_dim, but P V sums over keys. Such an operand is **MN-major**, and Hopper's wgmma
# reads it directly if its elements have 16 bits.
#
# While a group of wgmmas is in flight, the threads may not write its operand in registers, nor read or write its
# accumulators.
#
# ## The softmax, two rows at a time
#
# A thread has parts of two rows of S, and shares each with three neighbors: lanes 4r to 4r + 3 hold rows r and r + 8 of
# their warp's 16. As in notebook 22, a row needs the maximum m of its scores so far, and the sum of their exponentials
# relative to it: `online.rmax[row]` and `online.rsum[row]` are a thread's registers for them. When a block raises the
# maximum to m′, the sum and O are multiplied by 2^((m − m′)·scale).
#
# TMA fills the rows of K past the last key with zeros, and a causal mask hides the keys after a query. `me.mask` sets
# these scores to −∞ in registers, since each thread can compute query and key of each of its accumulators. As in 22.2,
# only blocks at the diagonal or at the last key need it, so the kernel compiles its step twice, with and without.
#
# The kernel visits the blocks of keys from the last to the first, so the masked ones come first. `softmax_first`, the
# course's, handles the block visited first, which has no earlier maximum. Yours is for all others.
#
# **Exercise 23.1** (about 8 lines). Write `softmax_step(online, rows, p_rows, factors)`, the softmax of one block, for
# a thread's two rows, 0 and 1. `rows` and `p_rows` are views `by_row` of S and P. The function updates
# `online.rmax[row]` and `online.rsum[row]`, stores P, and puts O's factor into `factors[row]`. Allowed: two shuffles a
# row; one multiply-add and one `ex2` a score. The GPU's exponential has base 2, and `online.scale` includes log2(e).
# The loop, its load and its store are there. In the check, the kernel is causal: 128 queries, and 128 keys in blocks of
# 32, so in a block some rows see no key.
#
# | at hand | |
# |---|---|
# | `s.reduce(cute.ReductionOp.MAX, start, 0)` | the largest of `start` and all elements of s; with `ADD`, their sum |
# | `quad_reduce(value, cute.arch.fmax)` | the largest value of a row's four lanes, by two shuffles; all four get it |
# | `cute.math.exp2(x, fastmath=True)` | one `ex2.approx.ftz`; without it, more, since subnormals are kept |
# | `a if x == y else b` | chooses between two numbers at run time |
# | `-Float32.inf` | −∞ |


# %%
@cute.jit
def softmax_step(online, rows, p_rows, factors):
    for row in cutlass.range_constexpr(2):
        s = rows[row, None].load()  # this thread's scores of the row
        ### BEGIN SOLUTION (about 8 lines)
        before = online.rmax[row]
        top = quad_reduce(s.reduce(cute.ReductionOp.MAX, before, 0), cute.arch.fmax)
        base = Float32(0) if top == -Float32.inf else top * online.scale
        factor = cute.math.exp2(before * online.scale - base, fastmath=True)
        p = cute.math.exp2(s * online.scale - base, fastmath=True)
        online.rmax[row] = top
        online.rsum[row] = p.reduce(cute.ReductionOp.ADD, online.rsum[row] * factor, 0)
        factors[row] = factor
        ### END SOLUTION
        p_rows[row, None].store(p.to(p_rows.element_type))


# %%
check("23.1", softmax_step)

# %% [markdown]
# In the check's first three blocks some rows have seen no key: their maximum is −∞, and (−∞) − (−∞) would be NaN. So
# subtract 0: 2^(−∞) is 0. With 128 queries and blocks of 128 keys, every row sees a key in the block visited first.
#
# ## The consumer's step
#
# After S of the last block and its softmax, a warpgroup repeats the **step**: S, P V of the block before, softmax. P V
# of block 0 is left at the end.
#
# `me` is the warpgroup's view of the kernel. `me.tSrS` is a thread's S, `me.tOrP` its P in bf16, an operand, and
# `me.tOrO` its O. A step begins with P of the block before in `me.tOrP`, and ends with P of its own block there.
#
# Two **named barriers** make the warpgroups take turns: barrier `TURN_BARRIER` + g admits warpgroup g. It completes
# when `number_of_threads` threads have arrived, counting those that wait. Here are the step of *together*, and turns:

# %%
show_source(step_together, take_turn, pass_turn)

# %% [markdown]
# **Exercise 23.2** (about 14 lines). Rewrite the step as `step(me, k_state, v_state, n_block, masked)`, so that the
# softmax runs while P V is in flight. A warpgroup issues both groups within one turn, passes the turn directly after,
# and frees each stage as soon as nothing reads it.
#
# | at hand | |
# |---|---|
# | `me.take_turn()`, `me.pass_turn()` | wait for this warpgroup's turn; give the other one its turn |
# | `me.issue_s(k_state)`, `me.issue_o(v_state)` | wait for the full stage; commit S = Q Kᵀ or O += P V as a group |
# | `warpgroup.wait_group(n)` | waits until at most the n newest groups are in flight |
# | `me.free_k(k_state)`, `me.free_v(v_state)` | free the stage; the caller of `step` advances the state |
# | `me.mask(n_block)` | sets hidden scores in `me.tSrS` to −∞ |
# | `me.softmax_step(p, factors)` | your 23.1 on `me.tSrS`: P in fp32 into `p`, two factors into `factors` |
# | `me.rescale(factors)` | multiplies O's two rows |


# %%
@cute.jit
def step(me, k_state, v_state, n_block, masked: cutlass.Constexpr):
    ### BEGIN SOLUTION (about 14 lines)
    me.take_turn()
    me.issue_s(k_state)
    me.issue_o(v_state)
    me.pass_turn()
    warpgroup.wait_group(1)
    me.free_k(k_state)
    if cutlass.const_expr(masked):
        me.mask(n_block)
    p, factors = cute.make_rmem_tensor(me.tSrS.shape, Float32), cute.make_rmem_tensor(2, Float32)
    me.softmax_step(p, factors)
    warpgroup.wait_group(0)
    me.free_v(v_state)
    me.rescale(factors)
    me.tOrP.store(p.load().to(BFloat16))
    ### END SOLUTION


# %%
check("23.2", step)

# %% [markdown]
# O is rescaled *after* P V: the P of the block before, like O, was computed with the old maximum.
#
# ## Your kernel
#
# A tile of queries has `tile.n_blocks` blocks of keys. The last one needs the mask; of the others, blocks 0 to
# `tile.unmasked` − 1 need none. This cell has the steps after the last block, all of them calls of your `step`:


# %%
from cutlass.pipeline import PipelineUserType, make_pipeline_state


@cute.jit
def steps(me, tile, k_state, v_state):
    """Blocks n_blocks - 2 to 0; returns the state of V's ring after them."""
    for number in cutlass.range(tile.n_blocks - 1 - tile.unmasked, unroll=1):
        step(me, k_state, v_state, tile.n_blocks - 2 - number, True)
        k_state.advance()
        v_state.advance()
    for number in cutlass.range(tile.unmasked, unroll=1):
        step(me, k_state, v_state, tile.unmasked - 1 - number, False)
        k_state.advance()
        v_state.advance()
    return v_state


# %% [markdown]
# **Exercise 23.3** (about 14 lines). Complete `consume(me, tile, q_full)`, a consumer warpgroup's work on one tile of
# queries, up to the last P V. The caller divides O by the row sums and stores it. S of the block visited first takes a
# turn; the P V left at the end needs none. Each turn is passed directly after its wgmmas are issued. A tile may have
# one block. The thread block ends after its tile, so a barrier may be left with an arrival for which no warpgroup
# waits.
#
# | at hand | |
# |---|---|
# | `me.group` | the warpgroup's number, 0 or 1 |
# | `softmax_first(me.softmax, rows, p_rows)` | the last block's softmax; both are views `by_row`, of S and `me.tOrP` |
# | `me.softmax` | the object that 23.1 calls `online` |
# | `steps(me, tile, k_state, v_state)` | the cell above |
# | `me.take_turn()` and the others | as in `step`; a state's stage is freed once, then `state.advance()` |
#
# On a Hopper GPU, the check times the kernel, causal, beside torch's attention on cuDNN. For the last point, your speed
# over cuDNN's must be 95% of what the course's parts reached.


# %%
@cute.jit
def consume(me, tile, q_full):
    k_state = make_pipeline_state(PipelineUserType.Consumer, me.config.stages)
    v_state = make_pipeline_state(PipelineUserType.Consumer, me.config.stages)
    me.tOrO.fill(0)
    cute.arch.mbarrier_wait(q_full, 0)
    ### BEGIN SOLUTION (about 14 lines)
    if me.group == 1:
        me.pass_turn()
    me.take_turn()
    me.issue_s(k_state)
    me.pass_turn()
    warpgroup.wait_group(0)
    me.free_k(k_state)
    k_state.advance()
    me.mask(tile.n_blocks - 1)
    softmax_first(me.softmax, by_row(me.tSrS), by_row(me.tOrP))
    v_state = steps(me, tile, k_state, v_state)
    me.issue_o(v_state)
    warpgroup.wait_group(0)
    me.free_v(v_state)
    ### END SOLUTION


my_kernel = softmax_step, step, consume

# %%
check("23.3", my_kernel)

# %% [markdown]
# One warpgroup passes before its own first turn. If neither did, both would wait forever.
#
# The course's kernel is also **persistent**: a thread block takes tile after tile, and loads the next tile's Q, K and V
# while its consumers finish this one.
#
# ## Measured
#
# The picture has the course's kernels, this page's in CuTe and notebook 22's in cuTile, beside torch's attention on
# cuDNN. Each run has 16,384 tokens, as sequences of 1,024 to 16,384. In the middle, 16 heads share 2 heads of K and V:

# %%
show_figure("attention_ladder")

# %% [markdown]
# With a causal mask the CuTe kernel is 12% to 18% faster than cuDNN's at head_dim 128, and 5% to 16% at 64. Without
# one, it is between 1% slower and 6% faster at 128, and between 3% slower and 11% faster at 64. FlashAttention-3 was
# not timed.
#
# How much did each **lever** bring, with a causal mask? Each row of the table adds one to the row above it; *turns for
# both* replaces *turns for S*. *few masks* masks only the blocks that need it, and *longest first* starts the tiles
# with the most keys first. In *hidden P V* a warpgroup issues S, waits for it, and issues P V, to run under the
# softmax; in *turns for S*, the warpgroups take turns at issuing S. A gain within the noise is left blank. Your kernel
# has the levers of the row *turns for both*; the check times it without the logarithms of the row sums, which the
# table's kernels store for the backward pass. The columns are batch × heads × heads of K and V × queries × keys ×
# head_dim:

# %%
show_levers("attention_levers")

# %% [markdown]
# *turns for both* brings most at head_dim 128, 7.2%, and *persistent* at 64, 10.5%. (At 64, the 8.2% of *turns for
# both* are relative to *turns for S*, which had lost 4.4%; relative to *hidden P V* it gains 3.5%.)
#
# At 128, *turns for both* is 7.5% faster than the row *longest first*, whose step is still *together*. For the longest
# tile, with 32 blocks of keys, the charts' rule promises 74% over *together* in step and 0.4% over *together* apart: it
# does not explain 7.5%. By the rule the tensor cores are busy for 256 of 258 ticks, yet the kernel reaches 66% of the
# datasheet's 989 TFLOP/s. The clock under load is part of it (0.91 in notebook 14), and half of each diagonal block,
# which is computed and not counted (3%). At 64 the products take half as long, 512 cycles for a block of keys, and the
# softmax 736: by this count, it is the limit then. Why *hidden P V* gains only there, and *turns for S* loses, is not
# known.
#
# ## What to remember
#
# - Accumulators of one wgmma, rounded, are the A operand of the next: no element leaves its thread. An operand in
#   registers is in use until its group is complete, like a stage of shared memory.
# - Each group of wgmmas frees different resources. Issue the group that the next computation needs first, and wait for
#   that group only.
# - At head_dim 128, exponentials take half as many cycles as the GEMMs. In the charts a warpgroup's own P V covers part
#   of its softmax; for the rest the tensor cores need the other's wgmmas. Turns keep the two apart.
#
# This is the last page. Next: [the contents](contents.ipynb), for pages that you skipped.
#
# ## Test yourself
#
# <details><summary>1. Why may <code>free_k</code> come before the softmax, but <code>free_v</code> only after
# <code>wait_group(0)</code>?</summary>
#
# S, which reads K, is complete after wait_group(1). P V, the newer group, may read V until wait_group(0).
#
# </details>
#
# <details><summary>2. Why does each thread keep its own part of a row's sum, but all four need the same
# maximum?</summary>
#
# Exponentials relative to one maximum may be added in any order, also at the end. With different maxima, the parts
# could not be added, and the four threads would rescale their columns of O by different factors.
#
# </details>
#
# <details><summary>3. Before ping-pong's first turn, one warpgroup passes. What if both did?</summary>
#
# Then there are two turns, and both warpgroups may issue at once. And if one of them passes twice before the other has
# waited, a turn is lost, and the kernel hangs.
#
# </details>
