# ---
# jupyter:
#   tutorlib:
#     minutes: 160
#     summary: Attention in CuTe, its softmax hidden under the tensor cores' work, behind torch's operator.
# ---

# %% [markdown]
# # 23 · Attention on Hopper
#
# For each head, attention computes O = softmax(Q Kᵀ · scale) V: two GEMMs with a softmax between them. In notebook 15
# the tensor cores ran through a GEMM without a pause. Here they wait for the softmax, and the softmax waits for them.
# How can both work at the same time?
#
# The answer of this page is that of FlashAttention-3 ([Shah et al., 2024](https://arxiv.org/abs/2407.08608)). You write
# the parts of one kernel: `check` compiles the course's kernel with your part in it and simulates it. At the end
# you write all that a consumer warpgroup does around them.
#
# > **After this page you can** use the accumulators of one wgmma as an operand of the next, write an online softmax in
# > registers, mask it there, order a producer's loads for an overlapped consumer, run a softmax under wgmmas in flight,
# > and make two warpgroups take turns at the tensor cores.
# >
# > **It takes** about 160 minutes, on any machine. Without a Hopper GPU the kernels are simulated; with one they are
# > timed.

# %%
import cutlass
import cutlass.cute as cute
import torch
from cutlass.cute.nvgpu import warpgroup

from tutorlib import (
    all_sweep_results, check, show_attention, show_figure, show_ladder, show_levers, show_source, show_sweep,
    show_tiles, show_wgmma,
)  # fmt: skip
from tutorlib.kernels.attention import (
    TURN_BARRIER, AttentionParts, OnlineSoftmax, attend_tile, left_to_torch,
    scaled_dot_product_attention, softmax_first,
)  # fmt: skip

# %% [markdown]
# ## Count before you schedule
#
# A thread block of the kernel has 128 queries, 64 for each of two consumer warpgroups. It walks over the keys, 128 at a
# time: a **block of keys**, the kernel's `n_block`. For each one, a warpgroup computes S = Q Kᵀ, a tile of 64×128
# scores, then P, their exponentials, then O += P V. Exponentials have a unit of their own. **Predict:** how long do the
# exponentials take, as a fraction of the time that the tensor cores need?

# %%
HEAD_DIM, ROWS, KEYS = 128, 64, 128
MULTIPLY_ADDS = 2048  # of bf16 in a cycle, by the tensor cores of an SM: the datasheet's 989 TFLOP/s
EXPONENTIALS = 16  # in a cycle of an SM (CUDA C++ Programming Guide, throughput of native arithmetic instructions)
gemms = 2 * ROWS * KEYS * HEAD_DIM / MULTIPLY_ADDS
exponentials = ROWS * KEYS / EXPONENTIALS
print(f"S and P V: {gemms:.0f} cycles; exponentials: {exponentials:.0f} cycles")

# %% [markdown]
# Half the time, not counting maxima, sums, rounding and rescaling. If the tensor cores waited for every softmax, they
# would idle for a third of the time or more.
#
# The pictures show three blocks of keys; the kernel visits the last one first. The rows `wg 0` and `wg 1` show when the
# two warpgroups compute their softmax, and the row `mma` shows the tensor cores: S1 is S of block 1, P1 is P V of block
# 1, each for both warpgroups. (A column is a tick; the lengths are chosen for the drawing, and two softmaxes at once
# are as long as one.)

# %%
show_attention("together", "together, overlap")

# %% [markdown]
# In the upper picture, both warpgroups wait for all of their wgmmas before each softmax. They need not: wgmmas are
# asynchronous, and the softmax of block 1 needs S of block 1 only. Issue S of block 1, then P V of block 2, and wait
# for S alone: the softmax of block 1 runs while P V of block 2 is in flight. This is **overlap**, the lower picture.
#
# A softmax takes longer than P V (its exponentials alone take as long), so the tensor cores still idle, unless the
# other warpgroup uses them. If it is at the same point of its loop, as drawn, it does not. **Ping-pong** keeps them
# apart: they take turns at issuing, so that one computes its softmax while the other multiplies. Now S and P appear
# twice, first for warpgroup 0, then for 1:

# %%
show_attention("ping-pong, overlap")

# %% [markdown]
# Your kernel will do both. Its roles are those of notebook 15:
#
# | | producer warp | each of two consumer warpgroups |
# |---|---|---|
# | Q | loads 128 rows once | waits once, reads its 64 rows from shared memory in every S |
# | K | a ring of two stages | waits, issues S, frees the stage when S is complete |
# | V | a ring of its own | waits, issues P V, frees the stage when P V is complete |
# | S, P, O | | in registers all the time |
#
# ## From accumulators to an operand
#
# P is the A operand of P V, and a wgmma can read A from registers. S is the accumulator of Q Kᵀ. If each thread's
# accumulators are exactly the elements of A that the instruction reads from that thread, P never has to move. Are they?
# Here are the accumulators of a warpgroup (the first 32 columns):

# %%
show_wgmma(32)

# %% [markdown]
# The A operand of one wgmma has 64 rows and 16 columns, a K block. (K is the dimension that this GEMM sums over: for
# P V, the keys.) PTX defines which 8 elements of a K block a thread holds, two bf16 in each register:
#
# | elements | row | columns in the K block |
# |---|---|---|
# | 0, 1 | 16·warp + lane // 4 | 2·(lane % 4), and the next |
# | 2, 3 | 8 rows below | the same |
# | 4, 5 | as 0, 1 | 8 columns to the right |
# | 6, 7 | as 2, 3 | 8 columns to the right |
#
# **Exercise 23.1** (about 3 lines). Write `a_register(row, column)` → (thread, K block, element): the place of element
# (row, column) of P in the A operand. P is 64×N, and `thread` is 0 to 127, the thread's number in the warpgroup.


# %%
def a_register(row, column):
    ### BEGIN SOLUTION (about 3 lines)
    k_block, column = divmod(column, 16)
    thread = 32 * (row // 16) + 4 * (row % 8) + column % 8 // 2
    return thread, k_block, column % 2 + 2 * (row // 8 % 2) + 4 * (column // 8)
    ### END SOLUTION


# %%
check("23.1", a_register)

# %% [markdown]
# Here is your operand, drawn like the accumulators. Compare the two pictures: the same warp and lane hold each element,
# and 8·(K block) + element is the number of the accumulator's register.

# %%
show_wgmma(32, a_register)

# %% [markdown]
# So no data move: accumulators and operand are two layouts of the same registers. A thread's accumulators have the
# layout ((2, 2, N/8), 1, 1):((1, 2, 4), 0, 0): two neighbors, two rows, N/8 groups of 8 columns. The softmax needs them
# by row, and the MMA as an A operand.
#
# **Exercise 23.2** (about 4 lines). Derive both views of a thread's accumulators for 64×N. Each is a
# `cute.make_tensor(acc.iterator, cute.make_layout(shape, stride=…))` in a plain function, called while the kernel is
# traced; `cute.size(acc)` is the number of elements, N/2.
#
# - `by_row(acc)`: (2 rows, (2, N/8) columns), so that `by_row(acc)[0, None]` is this thread's part of its first row,
#   from left to right.
# - `p_operand(p)`: ((2, 2, 2), 1, N/16), as the MMA reads A: the 8 elements of a K block, one tile of 64 rows, the K
#   blocks.


# %%
def by_row(acc):
    ### BEGIN SOLUTION (about 2 lines)
    columns = 2, cute.size(acc) // 4
    return cute.make_tensor(acc.iterator, cute.make_layout((2, columns), stride=(2, (1, 4))))
    ### END SOLUTION


def p_operand(p):
    ### BEGIN SOLUTION (about 2 lines)
    shape = (2, 2, 2), 1, cute.size(p) // 8
    return cute.make_tensor(p.iterator, cute.make_layout(shape, stride=((1, 2, 4), 0, 8)))
    ### END SOLUTION


views = by_row, p_operand

# %%
check("23.2", views)

# %% [markdown]
# V is stored as (keys, head_dim) with head_dim contiguous. P V sums over keys, so the contiguous mode of its B operand
# is N, not K. Such an operand is **MN-major**, and Hopper's wgmma reads it directly if it is bf16: V is never
# transposed.
#
# **Exercise 23.3** (about 6 lines). Write `add_pv(pv, acc, p, v, stage)`: O += P V as *one* group of wgmmas, issued and
# not waited for. Every wgmma adds to `acc`, which is zero at first; O was just rescaled, and P just rounded, by the
# threads themselves.
#
# | at hand | |
# |---|---|
# | `pv` | the tiled MMA; `pv.set(warpgroup.Field.ACCUMULATE, …)` says whether it adds to the accumulators |
# | `acc` | the accumulators of O |
# | `p` | ((2, 2, 2), 1, K blocks), in registers; `cute.size(p, mode=[2])` K blocks |
# | `v` | (one wgmma's operand, 1, K blocks, stages), in shared memory |
# | `cute.gemm(pv, acc, a, b, acc)` | a wgmma for one K block of a and b |
# | `warpgroup.commit_group()` | closes the group of wgmmas issued so far |
# | `warpgroup.fence()` | orders a thread's register accesses before the wgmmas that follow |


# %%
@cute.jit
def add_pv(pv, acc, p, v, stage):
    ### BEGIN SOLUTION (about 6 lines)
    warpgroup.fence()
    pv.set(warpgroup.Field.ACCUMULATE, True)
    for k_block in cutlass.range_constexpr(cute.size(p, mode=[2])):
        cute.gemm(pv, acc, p[None, None, k_block], v[None, None, k_block, stage], acc)
    warpgroup.commit_group()
    ### END SOLUTION


# %%
check("23.3", add_pv)

# %% [markdown]
# Without the fence, a wgmma may read P's registers, or add to O's, before the threads' own writes. And while the group
# is in flight, these registers may not be written again.
#
# ## The softmax, two rows at a time
#
# A thread has parts of two rows of S, and shares each with three neighbors: lanes 4r to 4r + 3 hold rows r and r + 8 of
# their warp's 16. As in notebook 22, a row keeps the maximum m of its scores so far, and the sum of their exponentials
# relative to it. When a block raises the maximum to m′, the sum and O are multiplied by e^(m − m′).
#
# Two details save instructions. The GPU's exponential has base 2, so `softmax.scale` includes log2(e): p = 2^((s −
# m)·scale) takes one multiply-add and one `ex2`. And each thread keeps the sum of its own part of the row only; the
# four threads add up their parts once, at the end.
#
# The kernel visits the blocks of keys from the last to the first. The last one has no maximum before it, and it is the
# only one that may extend past the last key. Its softmax is a function of its own, which the course provides:

# %%
show_source(softmax_first, OnlineSoftmax)

# %% [markdown]
# If a row has seen no key yet, its maximum is −∞, and (−∞) − (−∞) is NaN. A base of 0 avoids the NaN: 2^(−∞) is 0. The
# blocks after it need the same care: in `check`, some rows see no key of the first three blocks.
#
# **Exercise 23.4** (about 14 lines). Write two functions.
#
# - `quad_reduce(value, op)` combines a value over the four lanes of a row, for an associative and commutative `op`; all
#   four get the result, with two shuffles.
# - `softmax_step(softmax, rows, p_rows, factors)` does what `softmax_first` does, for a block with a maximum before it.
#   It updates `softmax.rmax` and `softmax.rsum`, writes P into `p_rows`, and each row's factor, 2^((m − m′)·scale),
#   into `factors[row]`; the caller rescales O with it. `rows` and `p_rows` are views by row. The check counts the
#   instructions for each score.
#
# | at hand | |
# |---|---|
# | `cute.arch.shuffle_sync_bfly(value, offset=n)` | the value of lane (own lane XOR n) |
# | `s.reduce(op, start, 0)` | all elements of s and `start` as one number; `op` is `cute.ReductionOp.MAX` or `ADD` |
# | `cute.math.exp2(x, fastmath=True)` | one `ex2.approx.ftz`; without it, more, since subnormals are kept |
# | `cute.arch.fmax` | the larger of two |


# %%
from cutlass import BFloat16, Float32, Int32


# %%
@cute.jit
def quad_reduce(value, op: cutlass.Constexpr):
    ### BEGIN SOLUTION (about 3 lines)
    value = op(value, cute.arch.shuffle_sync_bfly(value, offset=1))
    value = op(value, cute.arch.shuffle_sync_bfly(value, offset=2))
    return value
    ### END SOLUTION


@cute.jit
def softmax_step(softmax, rows, p_rows, factors):
    ### BEGIN SOLUTION (about 11 lines)
    for row in cutlass.range_constexpr(2):
        s = rows[row, None].load()
        before = softmax.rmax[row]
        top = quad_reduce(s.reduce(cute.ReductionOp.MAX, before, 0), cute.arch.fmax)
        base = Float32(0) if top == -Float32.inf else top * softmax.scale
        factor = cute.math.exp2(before * softmax.scale - base, fastmath=True)
        p = cute.math.exp2(s * softmax.scale - base, fastmath=True)
        softmax.rmax[row] = top
        softmax.rsum[row] = p.reduce(cute.ReductionOp.ADD, softmax.rsum[row] * factor, 0)
        factors[row] = factor
        p_rows[row, None].store(p.to(p_rows.element_type))
    ### END SOLUTION


softmax = quad_reduce, softmax_step

# %%
check("23.4", softmax)

# %% [markdown]
# ## Masks where they are needed
#
# TMA fills the rows of K past the last key with zeros. A zero is a valid score, so these columns of S must become −∞
# before the softmax. With a causal mask, query i sees keys 0 to i, and the scores of later keys become −∞, too.
#
# S is in registers, so each thread must know which query and which key each of its accumulators belongs to.
#
# **Exercise 23.5** (about 8 lines). Write `hidden(thread, m_block, n_block, keys, tile, causal)`: the numbers of the
# thread's accumulators that become −∞, in ascending order, as a list. `tile` is (queries, keys): S is that of queries
# m_block·tile[0] and on, and of keys n_block·tile[1] and on; `keys` is the number of keys. `thread` counts through the
# consumer warpgroups, of which each has 64 rows: warpgroup 1 begins with thread 128.


# %%
def hidden(thread, m_block, n_block, keys, tile, causal):
    ### BEGIN SOLUTION (about 8 lines)
    warp, lane = divmod(thread, 32)
    found = []
    for number in range(tile[1] // 2):
        query = m_block * tile[0] + 16 * warp + lane // 4 + 8 * (number // 2 % 2)
        key = n_block * tile[1] + 8 * (number // 4) + 2 * (lane % 4) + number % 2
        if key >= keys or (causal and key > query):
            found.append(number)
    return found
    ### END SOLUTION


# %%
check("23.5", hidden)

# %% [markdown]
# As in 22.3, blocks that all rows of a tile see whole need no mask, and blocks that no row sees are not computed.
# **Predict:** in a causal kernel with 4,096 queries and keys, what fraction of the blocks needs the mask?

# %%
TILE, TOKENS = (128, 128), 4096


# %%
def key_blocks(m_block):
    first = m_block * TILE[0]
    return -(-(first + TILE[0]) // TILE[1]), (first + 1) // TILE[1]  # visited, without a mask


counted = [key_blocks(m_block) for m_block in range(TOKENS // TILE[0])]
blocks, unmasked = (sum(column) for column in zip(*counted, strict=True))
print(f"{blocks} blocks, {blocks - unmasked} of them masked; without causal {(TOKENS // TILE[0]) ** 2}")

# %% [markdown]
# One masked block of keys for each tile of queries: the last, which `softmax_first` handles. Tiles with fewer keys than
# queries have more. So the kernel compiles its step twice, with and without mask, and has a loop for each.
#
# ## The producer
#
# With overlap, a consumer reads K of block n, then K of block n − 1, and only then V of block n. If the producer loads
# in another order, the consumers wait for K behind a V that they read later, or both wait for each other.
#
# **Exercise 23.6** (about 12 lines). Write `produce(loads, n_blocks)`, which the producer warp runs: Q and all blocks
# of K and V from n_blocks − 1 to 0, in the order in which the consumers read them. There is at least one block, and
# `n_blocks` is known only at run time, so the loop is a `cutlass.range(…, unroll=1)`.
#
# | at hand | |
# |---|---|
# | `loads.load_q()` | announces Q's bytes and issues its copy |
# | `loads.load_k(n_block, state)` | waits for the empty stage, announces the bytes, issues the copy |
# | `loads.load_v(n_block, state)` | the same, in V's ring |
# | `make_pipeline_state(kind, loads.stages)` | a state for a ring; kind is `PipelineUserType.Producer` |
# | `state.advance()` | moves to the ring's next stage |


# %%
from cutlass.pipeline import PipelineUserType, make_pipeline_state


# %%
@cute.jit
def produce(loads, n_blocks):
    ### BEGIN SOLUTION (about 12 lines)
    k_state = make_pipeline_state(PipelineUserType.Producer, loads.stages)
    v_state = make_pipeline_state(PipelineUserType.Producer, loads.stages)
    loads.load_q()
    loads.load_k(n_blocks - 1, k_state)
    k_state.advance()
    for number in cutlass.range(n_blocks - 1, unroll=1):
        loads.load_k(n_blocks - 2 - number, k_state)
        loads.load_v(n_blocks - 1 - number, v_state)
        k_state.advance()
        v_state.advance()
    loads.load_v(Int32(0), v_state)
    ### END SOLUTION


# %%
check("23.6", produce)

# %% [markdown]
# ## The consumer's step
#
# After S of the last block and its softmax, everything a warpgroup does repeats. That is a **step**: S of this block, P
# V of the block before, the softmax of this block (S0, P1, softmax 0). P V of block 0 is left at the end:

# %%
show_attention("ping-pong, overlap")

# %% [markdown]
# First you write the step, and later what comes before, between and after the steps. `me` is the warpgroup's view of
# the kernel; `me.tSrS` is a thread's registers of S, `me.tOrP` those of P as bf16. A step begins with P of the block
# before in `me.tOrP`, and ends with P of its own block there. In between, two groups of wgmmas are in flight. Each
# frees different resources when it completes:
#
# | the group | reads | once it is complete |
# |---|---|---|
# | S of this block | Q, the stage of K | its stage of K is free, and S may be masked and exponentiated |
# | P V of the block before | `tOrP`, the stage of V | its stage of V is free, O may be rescaled, `tOrP` overwritten |
#
# **Exercise 23.7** (about 15 lines). Write `step(me, k_state, v_state, n_block, masked)`.
#
# - The softmax runs while P V is in flight. In which order must you issue the two groups?
# - Both groups are issued within one turn, and the turn is passed on directly after.
# - Each stage is freed as soon as nothing reads it.
# - The mask is applied only if `masked`, which is a compile-time constant. The caller advances the states.
#
# | at hand | |
# |---|---|
# | `me.take_turn()`, `me.pass_turn()` | wait for this warpgroup's turn; give the other one its turn (23.8) |
# | `me.issue_s(k_state)`, `me.issue_o(v_state)` | wait for the full stage, issue S or P V, commit it as a group |
# | `warpgroup.wait_group(n)` | waits until at most the n newest groups are in flight |
# | `me.free_k(k_state)`, `me.free_v(v_state)` | arrive at the stage's `empty` |
# | `me.mask(n_block)` | S becomes −∞ where a row does not see a key |
# | `me.softmax_step(p, factors)` | your 23.4 on S; fills p and factors |
# | `cute.make_rmem_tensor(shape, Float32)` | for `p`, of the shape `me.tSrS.shape`, and for `factors`, of shape 2 |
# | `me.rescale(factors)` | multiplies O |
# | `me.tOrP.store(p.load().to(BFloat16))` | rounds P for the next step |


# %%
@cute.jit
def step(me, k_state, v_state, n_block, masked: cutlass.Constexpr):
    ### BEGIN SOLUTION (about 15 lines)
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
check("23.7", step)

# %% [markdown]
# S is issued first, so `wait_group(1)` waits for S alone, and the softmax runs while P V is in flight. O is rescaled
# *after* P V of the block before: that P was computed relative to the old maximum, like everything in O. Overlap costs
# registers: S, the bf16 P that the wgmmas are still reading, and O are all live at once. And O is rescaled in every
# step, by 1 where no maximum grew: that takes no branch, but it takes cycles.

# %%
print(f"to rescale O: {ROWS * HEAD_DIM / 128:.0f} cycles of the SM's 128 fp32 units; exponentials: {exponentials:.0f}")
for name, elements in [("S", ROWS * KEYS), ("O", ROWS * HEAD_DIM), ("P in bf16", ROWS * KEYS // 2)]:
    print(f"{name}: {elements // 128} registers of each thread")

# %% [markdown]
# ## Taking turns
#
# Nothing so far makes the warpgroups alternate. Two **named barriers** will: barrier `TURN_BARRIER` + g admits
# warpgroup g. A warpgroup waits at its own barrier before it issues, and afterward arrives at the other's *without
# waiting*.
#
# **Exercise 23.8** (about 2 lines). Write `take_turn(me)` and `pass_turn(me)`; `me.group` is 0 or 1, a run-time value.
# `cute.arch.barrier(barrier_id=…, number_of_threads=…)` arrives and waits. `cute.arch.barrier_arrive(…)`, with the same
# arguments, only arrives. A barrier completes when `number_of_threads` threads have arrived, those that wait included.


# %%
def take_turn(me):
    ### BEGIN SOLUTION (about 1 line)
    cute.arch.barrier(barrier_id=TURN_BARRIER + me.group, number_of_threads=256)
    ### END SOLUTION


def pass_turn(me):
    ### BEGIN SOLUTION (about 1 line)
    cute.arch.barrier_arrive(barrier_id=TURN_BARRIER + 1 - me.group, number_of_threads=256)
    ### END SOLUTION


turns = take_turn, pass_turn

# %%
check("23.8", turns)

# %% [markdown]
# ## Your kernel
#
# **Exercise 23.9** (about 40 lines). From an empty cell, write two functions.
#
# - `consume(me, tile, q_full)`, a `@cute.jit` function: all that a consumer warpgroup does with one tile of queries. It
#   waits for Q and visits blocks `tile.n_blocks` − 1 to 0; blocks 0 to `tile.unmasked` − 1 need no mask. Both are
#   run-time values, and a tile may have one block. The last block is always masked: `tile.unmasked` is at most
#   `tile.n_blocks` − 1. You end when P V of block 0, which needs no turn, is complete and its stage is free. The caller
#   divides O by the sums and stores it.
# - `my_parts()`: returns `AttentionParts(by_row=by_row, …)` with your functions in its slots `by_row`, `p_operand`,
#   `add_pv`, `quad_reduce`, `softmax_step`, `produce`, `step`, `take_turn`, `pass_turn` and `consume`.
#
# Three questions first. What of a step does the last block need, which has no P before it and no maximum? Which blocks
# remain for a step with the mask, and which for one without? And count arrivals at the barriers of 23.8: who must pass
# a turn before anyone has taken one?
#
# | at hand | |
# |---|---|
# | `q_full` | the mbarrier of Q, in its phase 0: `cute.arch.mbarrier_wait(q_full, 0)` |
# | `make_pipeline_state(PipelineUserType.Consumer, me.config.stages)` | a state for the ring of K or V |
# | `me.tSrS`, `me.tOrP`, `me.tOrO` | S; P, rounded; O, which `me.tOrO.fill(0)` sets to zero |
# | `softmax_first(me.softmax, rows, p_rows)` | the softmax of the last block, above; both arguments are views by row |
# | `step(…)`, and all that it has at hand | your 23.7 |
#
# On a Hopper GPU your kernel is timed, causal, beside torch's attention on cuDNN. The last point is for at least 95% of
# the speed of the course's parts.


# %%
# consume(me, tile, q_full), and my_parts() → AttentionParts
### BEGIN SOLUTION (about 40 lines)
@cute.jit
def consume(me, tile, q_full):
    k_state = make_pipeline_state(PipelineUserType.Consumer, me.config.stages)
    v_state = make_pipeline_state(PipelineUserType.Consumer, me.config.stages)
    me.tOrO.fill(0)
    cute.arch.mbarrier_wait(q_full, 0)
    if me.group == 1:
        pass_turn(me)
    take_turn(me)
    me.issue_s(k_state)
    pass_turn(me)
    warpgroup.wait_group(0)
    me.free_k(k_state)
    k_state.advance()
    me.mask(tile.n_blocks - 1)
    softmax_first(me.softmax, by_row(me.tSrS), by_row(me.tOrP))
    for number in cutlass.range(tile.n_blocks - 1 - tile.unmasked, unroll=1):
        step(me, k_state, v_state, tile.n_blocks - 2 - number, True)
        k_state.advance()
        v_state.advance()
    for number in cutlass.range(tile.unmasked, unroll=1):
        step(me, k_state, v_state, tile.unmasked - 1 - number, False)
        k_state.advance()
        v_state.advance()
    if me.group == 0:
        take_turn(me)
    me.issue_o(v_state)
    warpgroup.wait_group(0)
    me.free_v(v_state)


def my_parts():
    return AttentionParts(
        by_row, p_operand, add_pv, quad_reduce, softmax_step, produce, step, take_turn, pass_turn, consume
    )


### END SOLUTION

# %%
check("23.9", my_parts)

# %%
show_ladder("23.9")

# %% [markdown]
# The course's consumers also take the pass that is left over when they end, so that a thread block's next tile would
# find the barriers as this one did. This is the caller of `consume`:

# %%
show_source(attend_tile)

# %% [markdown]
# ## From tile to tile
#
# A thread block of your kernel computes one tile of queries and ends. Its registers fill the SM, so the next one starts
# only when it has ended, and until its first loads have arrived, the tensor cores idle. A **persistent** thread block,
# as in notebook 15, takes tile after tile: the producer warp loads the next tile's Q, K and V while the consumers
# finish this one. In these pictures the numbers are tiles of queries, `Q` marks the wait for a tile's first data and
# `O` a warpgroup's epilogue.

# %%
show_tiles("a thread block for each tile", "persistent")

# %% [markdown]
# Under a causal mask tiles differ in length, so take the longest of each sequence first. Then either assign tile i to
# SM i mod 132 ("in turns"), or let each SM draw the next tile when it is done with one. **Predict** for both, with 4
# sequences of 4,096 tokens and 16 heads: how much later than with a perfect division does the last SM end?

# %%
SMS, HEADS, BATCHES = 132, 16, 4


# %%
def last_end(lengths, draws):
    ends = [0] * SMS
    for number, length in enumerate(lengths):
        sm = ends.index(min(ends)) if draws else number % SMS
        ends[sm] += length
    return max(ends) / (sum(lengths) / SMS)


lengths = [blocks for _ in range(BATCHES) for blocks, _ in reversed(counted) for _ in range(HEADS)]
print(f"in turns: {last_end(lengths, draws=False) - 1:.1%} later; drawn: {last_end(lengths, draws=True) - 1:.1%}")

# %% [markdown]
# So the tiles are drawn, sequence by sequence, so that the thread blocks share its K and V in L2. The producer warp
# draws by an atomic increment of a counter in global memory.
#
# ## Behind torch's operator
#
# The course has registered this kernel as you registered yours in 19.4: as a custom op with a fake and a backward. (The
# backward pass is 22's, up to d = 128 in CuTe: the last bits of dQ change from run to run.) Models call a function with
# the signature of torch's. It passes on to torch the calls that the kernel cannot handle, and counts them by reason.

# %%
show_source(scaled_dot_product_attention)

# %% [markdown]
# Here is a small attention layer, once with torch's function and once with the operator. On the CPU the operator
# computes with torch: this tests the wiring, not the kernel. The last call's head_dim is left to torch.


# %%
from torch.nn import functional


class Attention(torch.nn.Module):
    def __init__(self, heads, head_dim, attend):
        super().__init__()
        self.qkv = torch.nn.Linear(heads * head_dim, 3 * heads * head_dim)
        self.out = torch.nn.Linear(heads * head_dim, heads * head_dim)
        self.heads, self.attend = heads, attend

    def forward(self, x):
        q, k, v = self.qkv(x).unflatten(-1, (3, self.heads, -1)).permute(2, 0, 3, 1, 4)
        return self.out(self.attend(q, k, v, is_causal=True).transpose(1, 2).flatten(2))


torch.manual_seed(0)
x = torch.randn(2, 100, 128)
theirs = Attention(2, 64, functional.scaled_dot_product_attention)
ours = Attention(2, 64, scaled_dot_product_attention)
ours.load_state_dict(theirs.state_dict())
for layer in (theirs, ours):
    layer(x).square().mean().backward()
pairs = [(a.grad, b.grad) for a, b in zip(theirs.parameters(), ours.parameters(), strict=True)]
print(f"largest relative difference of a gradient: {max((a - b).norm() / a.norm() for a, b in pairs):.0e}")
scaled_dot_product_attention(*torch.randn(3, 1, 2, 8, 20))
print("left to torch:", dict(left_to_torch))

# %% [markdown]
# ## Measured
#
# The pictures show the speed of the course's kernels beside torch's attention on cuDNN, by length of the sequences,
# with 16,384 tokens in all.

# %%
show_figure("attention_ladder")

# %%
for mask in ("full", "causal"):
    for swept in all_sweep_results(f"attention_{mask}"):
        for head_dim in (128, 64):
            found = [point.measurement for point in swept.of_kernel("CuTe") if point.measurement.shape[-1] == head_dim]
            ratios, fastest = [each.ratio for each in found], max(each.tflops for each in found)
            beside = f"{min(ratios):.3f} to {max(ratios):.3f} of cuDNN's speed, up to {fastest:.0f} TFLOP/s"
            print(f"{swept.gpu}, {swept.date}, {mask}, head_dim {head_dim}: {beside}")

# %% [markdown]
# With a causal mask the CuTe kernel is ahead everywhere, by 12% to 18% at head_dim 128. Without one, it lies between 3%
# behind and 14% ahead. FlashAttention-3, not timed here, reports up to 740 TFLOP/s on an H100, in fp16.
#
# Which of the ideas brought how much? Each is a **lever**: the table pulls it alone and on top of others, in the causal
# kernel. From *plain* to the first *persistent*, each row adds a lever to those of the row above; the last four rows
# pull one alone. Yours is the row above the first *persistent*. *few masks* is the mask only in the blocks that need
# it, *longest first* the order of the tiles, *persistent* one thread block for each SM. **Predict** which is worth
# most, and whether ping-pong and overlap add up.

# %%
show_levers("attention_levers")

# %% [markdown]
# The masks are worth most. A kernel whose only step is the masked one spends a comparison and a select on every score,
# in the units that also compute the maxima and the sums.
#
# Together, ping-pong and overlap gain some 6% at head_dim 128 and some 10% at 64, more than the sum of what each gains
# alone. The count at the top of the page allowed up to 1.5 times the speed, for a kernel that waits for all its wgmmas
# before each softmax. *plain* does not: it waits for S, then issues P V of the block before, under which the softmax
# runs: the lower picture, but for a gap between S and P V, which the lever *overlap* removes. In *ping-pong* alone a
# turn covers S, but not P V, which is issued later; it loses 1.6% and 3.5%, probably by waiting. With both, a turn
# covers all that a warpgroup issues in a step, and the other's softmax runs under it.
#
# *together* is the kernel of the first picture, timed beside *plain* at the same shapes:

# %%
show_sweep("attention_waits")

# %% [markdown]
# *together* is faster, by 5% at head_dim 128 and 8% at 64! The picture keeps both in step. On the SM they
# probably drift apart, and one's products run under the other's softmax anyway: then *plain* hides nothing new, and it
# waits twice in a step. (*plain* was 0.922 and 0.776 four days before: compare within a table only.)
#
# ## What to remember
#
# - Accumulators of one wgmma, rounded, are the A operand of the next, in the same registers: two layouts of one tensor.
#   An operand in registers is in use until its group is complete, like a stage of shared memory.
# - Each group of wgmmas frees different resources. Issue the group that the next computation needs first, and wait for
#   that group only.
# - At head_dim 128, exponentials take half as many cycles as the GEMMs. The order of issue and the turns hide them.
#   Taking needless masks out of the softmax gained more.
# - Give the rare case its own code: the masked blocks their own step, the first block its own softmax.
#
# ## Test yourself
#
# <details><summary>1. Why may <code>free_k</code> come before the softmax, but <code>free_v</code> only after
# <code>wait_group(0)</code>?</summary>
#
# S reads K, and S is complete after wait_group(1). P V, the newer group, reads V and may be in flight until
# wait_group(0).
#
# </details>
#
# <details><summary>2. Why does each thread keep its own part of a row's sum, but all four need the same
# maximum?</summary>
#
# Exponentials relative to one maximum may be added in any order, so also at the end. With different maxima the parts
# could not be added, and the four threads, which share a row of O, would rescale their columns by different factors.
#
# </details>
#
# <details><summary>3. Before ping-pong's first turn, one warpgroup passes. What if both did?</summary>
#
# Then there are two turns: both warpgroups take their first one at once, and each pass admits the other to its next
# turn, even while the first still issues.
#
# </details>
