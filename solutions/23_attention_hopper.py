# ---
# jupyter:
#   tutorlib:
#     minutes: 135
#     summary: Attention in CuTe, its softmax hidden under the tensor cores' work, faster than cuDNN's with a mask.
# ---

# %% [markdown]
# # 23 · Attention on Hopper
#
# For each head, attention computes O = softmax(Q Kᵀ · scale) V: two GEMMs with a softmax between them. In notebook 15
# the tensor cores ran through a GEMM without a pause. Here they wait for the softmax, and the softmax waits for them.
# How can both work at the same time?
#
# The answer of this page is that of FlashAttention-3 ([Shah et al., 2024](https://arxiv.org/abs/2407.08608)). You write
# the parts of one kernel: `check` compiles the course's kernel with your part in it and simulates it. At the end you
# write all that a consumer warpgroup does.
#
# > **After this page you can** use the accumulators of one wgmma as an operand of the next, write an online softmax in
# > registers, mask it there, order a producer's loads for an overlapped consumer, run a softmax under wgmmas in flight,
# > and make two warpgroups take turns at the tensor cores.
# >
# > **It takes** about 135 minutes, on any machine, with a good place to stop in the middle. Without a Hopper GPU the
# > kernels are simulated; with one they are timed.

# %%
import cutlass
import cutlass.cute as cute
from cutlass import BFloat16, Float32, Int32
from cutlass.cute.nvgpu import warpgroup

from tutorlib import (
    all_sweep_results, check, show_attention, show_figure, show_ladder, show_levers, show_source, show_tiles,
    show_wgmma,
)  # fmt: skip
from tutorlib.kernels.attention import (
    TURN_BARRIER, AttentionParts, softmax_first, step_together,
)  # fmt: skip

# %% [markdown]
# ## Count before you schedule
#
# A thread block of the kernel has 128 queries, 64 for each of two consumer warpgroups. It walks over the keys, 128 at a
# time: a **block of keys**, the kernel's `n_block`. For each one, a warpgroup computes S = Q Kᵀ, a tile of 64×128
# scores, then P, their exponentials, then O += P V. Exponentials have a unit of their own; row maxima, row sums and
# scaling use the fp32 units. **Predict:** how long does one warpgroup's softmax take, compared with its S and P V?

# %%
HEAD_DIM, ROWS, KEYS = 128, 64, 128
MULTIPLY_ADDS = 2048  # of bf16 in a cycle, by the tensor cores of an SM: the datasheet's 989 TFLOP/s
EXPONENTIALS, FP32 = 16, 128  # in a cycle of an SM (CUDA C++ Programming Guide, throughput of native arithmetic)
product = ROWS * KEYS * HEAD_DIM / MULTIPLY_ADDS
exponentials = ROWS * KEYS / EXPONENTIALS
others = (3 * ROWS * KEYS + ROWS * HEAD_DIM) / FP32  # of a score: maximum, scaling, sum; O is rescaled
print(f"S: {product:.0f} cycles, P V: {product:.0f}; softmax: exponentials {exponentials:.0f}, the rest {others:.0f}")

# %% [markdown]
# In ticks of 256 cycles: S and P V take 2 each, and a softmax 3, for a warpgroup that has the units to itself. In the
# pictures, two warpgroups in step take twice as long for each; shorter overlaps are neglected.
#
# The pictures show three blocks of keys; the kernel visits the last one first. The rows `wg 0` and `wg 1` show when the
# two warpgroups compute their softmax, and the row `mma` shows the tensor cores: S1 is S of keys 1, P1 is P V of keys
# 1. In the first two pictures the warpgroups are in step.

# %%
show_attention("together", "plain")

# %% [markdown]
# In *together*, a warpgroup waits for all of its wgmmas before each softmax. It need not: wgmmas are asynchronous, and
# the softmax of keys 1 needs S1 only. In *plain*, it runs while P2 is in flight. That hides a part of it: a softmax
# takes longer than P V.
#
# The other warpgroup can fill the rest. Below, each warpgroup multiplies while the other computes its softmax:

# %%
show_attention("together, apart", "ping-pong + overlap")

# %% [markdown]
# Once apart, even *together* keeps the tensor cores busy, but nothing keeps it apart. **Ping-pong** does so by rule:
# the warpgroups take turns at issuing wgmmas. **Overlap** puts all that a step issues into one turn: S of the new keys,
# and then, without a wait in between, P V of the keys before. In pseudo-code, a step:
#
# | *together* | *plain* | *ping-pong + overlap* |
# |---|---|---|
# | issue P V and S | issue S | **wait for my turn**; issue S, **then P V**; **pass the turn** |
# | wait for both | wait for S; issue P V | wait for S |
# | softmax | softmax | softmax |
# | | wait for P V | wait for P V |
#
# You will write the third column. The roles are those of notebook 15:
#
# | | producer warp | each of two consumer warpgroups |
# |---|---|---|
# | Q | loads 128 rows once | waits once, reads its 64 rows from shared memory in every S |
# | K | a ring of two stages | waits, issues S, frees the stage when S is complete |
# | V | a ring of its own | waits, issues P V, frees the stage when P V is complete |
# | S, P, O | | in registers all the time |
#
# Why 128 keys? During overlap, S, O and the bf16 P that the wgmmas are reading are all live. As in notebook 15, a
# consumer's thread has 240 registers; a thread block has 227 KiB of shared memory. **Predict** which blocks of keys
# fit:

# %%
for keys in (64, 128, 192, 256):
    registers = (ROWS * keys + ROWS * HEAD_DIM + ROWS * keys // 2) // 128
    shared = 2 * HEAD_DIM * (128 + 2 * 2 * keys) // 1024
    print(
        f"{keys} keys: {registers} registers of each thread for S, O and P; {shared} KiB for Q, two stages of K, of V"
    )

# %% [markdown]
# 256 keys do not fit. 192 leave 32 registers for row maxima, row sums and addresses. 64 would rescale O twice as often.
# And a third consumer warpgroup would leave each thread 160 registers, as many as S, O and P take with 128 keys.
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
# The cell computes (thread, K block, element) for element (row, column) of P by this table, and draws it like the
# accumulators. **Predict:** does each element belong to the thread that has it in the other picture?


# %%
def a_register(row, column):
    k_block, column = divmod(column, 16)
    thread = 32 * (row // 16) + 4 * (row % 8) + column % 8 // 2
    return thread, k_block, column % 2 + 2 * (row // 8 % 2) + 4 * (column // 8)


show_wgmma(32, a_register)

# %% [markdown]
# The same warp and lane hold each element, and 8·(K block) + element is the number of the accumulator's register.
# So no data move: accumulators and operand are two layouts of the same registers. A thread's accumulators have the
# layout ((2, 2, N/8), 1, 1):((1, 2, 4), 0, 0): two neighbors, two rows, N/8 groups of 8 columns. The softmax needs them
# by row, and the MMA as an A operand.
#
# **Exercise 23.1** (about 4 lines). Derive both views of a thread's accumulators for 64×N. Each is a
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
check("23.1", views)

# %% [markdown]
# V is stored as (keys, head_dim) with head_dim contiguous. P V sums over keys, so the contiguous mode of its B operand
# is N, not K. Such an operand is **MN-major**, and Hopper's wgmma reads it directly if it is bf16: V is never
# transposed. This function issues O += P V, one group of wgmmas, and does not wait:


# %%
@cute.jit
def add_pv(pv, acc, p, v, stage):
    warpgroup.fence()
    pv.set(warpgroup.Field.ACCUMULATE, True)
    for k_block in cutlass.range_constexpr(cute.size(p, mode=[2])):
        cute.gemm(pv, acc, p[None, None, k_block], v[None, None, k_block, stage], acc)
    warpgroup.commit_group()


# %% [markdown]
# The threads have just written P and rescaled O. Without the fence, a wgmma may read these registers before the writes.
# While the group is in flight, they may not be written again.
#
# ## The softmax, two rows at a time
#
# A thread has parts of two rows of S, and shares each with three neighbors: lanes 4r to 4r + 3 hold rows r and r + 8 of
# their warp's 16. As in notebook 22, a row keeps the maximum m of its scores so far (`softmax.rmax[row]`), and the sum
# of their exponentials relative to it (`softmax.rsum[row]`). When a block raises the maximum to m′, the sum and O are
# multiplied by e^(m − m′).
#
# Two details save instructions. The GPU's exponential has base 2, so `softmax.scale` includes log2(e): p = 2^((s −
# m)·scale) takes one multiply-add and one `ex2`. And each thread keeps the sum of its own part of the row only; the
# four threads add up their parts once, at the end.
#
# The kernel visits the blocks of keys from the last to the first. The last one has no maximum before it, and it is the
# only one that may extend past the last key. Its softmax is a function of its own, which the course provides:

# %%
show_source(softmax_first)

# %% [markdown]
# If a row has seen no key yet, its maximum is −∞, and (−∞) − (−∞) is NaN. A base of 0 avoids the NaN: 2^(−∞) is 0. The
# blocks visited after it need the same care: in `check`, some rows see no key of the first three.
#
# **Exercise 23.2** (about 9 lines). Two functions.
#
# - `quad_reduce(value, op)` combines a value over the four lanes of a row, for an associative and commutative `op`; all
#   four get the result, with two shuffles.
# - `softmax_step` does the same as `softmax_first` for the blocks after it. Which of its lines change? The caller
#   multiplies O by `factor`, and `p` is this row's part of P. The check counts the instructions for each score.
#
# | at hand | |
# |---|---|
# | `cute.arch.shuffle_sync_bfly(value, offset=n)` | the value of lane (own lane XOR n) |
# | `s.reduce(op, start, 0)` | all elements of s and `start` as one number; `op` is `cute.ReductionOp.MAX` or `ADD` |
# | `cute.math.exp2(x, fastmath=True)` | one `ex2.approx.ftz`; without it, more, since subnormals are kept |
# | `cute.arch.fmax` | the larger of two |


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
    for row in cutlass.range_constexpr(2):
        s = rows[row, None].load()
        before = softmax.rmax[row]
        ### BEGIN SOLUTION (about 6 lines)
        top = quad_reduce(s.reduce(cute.ReductionOp.MAX, before, 0), cute.arch.fmax)
        base = Float32(0) if top == -Float32.inf else top * softmax.scale
        factor = cute.math.exp2(before * softmax.scale - base, fastmath=True)
        p = cute.math.exp2(s * softmax.scale - base, fastmath=True)
        softmax.rmax[row] = top
        softmax.rsum[row] = p.reduce(cute.ReductionOp.ADD, softmax.rsum[row] * factor, 0)
        ### END SOLUTION
        factors[row] = factor
        p_rows[row, None].store(p.to(p_rows.element_type))


softmax = quad_reduce, softmax_step

# %%
check("23.2", softmax)

# %% [markdown]
# ## Masks where they are needed
#
# TMA fills the rows of K past the last key with zeros. A zero is a valid score, so these columns of S must become −∞
# before the softmax. With a causal mask, query i sees keys 0 to i, and the scores of later keys become −∞, too.
#
# S is in registers, so each thread must know which query and which key each of its accumulators belongs to.
#
# **Exercise 23.3** (about 8 lines). Write `hidden(thread, m_block, n_block, keys, tile, causal)`: the numbers of the
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
check("23.3", hidden)

# %% [markdown]
# As in 22.2, blocks that all rows of a tile see whole need no mask, and blocks that no row sees are not computed.
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
# One masked block of keys for each tile of queries. With 128 queries and 128 keys it is the last, which `softmax_first`
# handles. Tiles with fewer keys than queries have more, so the kernel compiles its step twice, with and without mask,
# and has a loop for each.
#
# This is a good place to stop.
#
# ## The producer
#
# With overlap, a consumer reads K of block n, then K of block n − 1, and only then V of block n. If the producer loads
# in another order, the consumers wait for K behind a V that they read later, or both wait for each other.
#
# **Exercise 23.4** (about 12 lines). Write `produce(loads, n_blocks)`, which the producer warp runs: Q and all blocks
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
check("23.4", produce)

# %% [markdown]
# ## The consumer's step
#
# After S of the last block and its softmax, everything a warpgroup does repeats. That is a **step**: S of this block, P
# V of the block before, the softmax of this block. P V of block 0 is left at the end.
#
# `me` is the warpgroup's view of the kernel. Tensors are named as in notebook 14: `me.tSrS` is a thread's registers of
# S, `me.tOrP` its P in bf16, as an operand of O, and `me.tOrO` its accumulators of O. A step begins with P of the block
# before in `me.tOrP`, and ends with P of its own block there. This is the step of *together*:

# %%
show_source(step_together)

# %% [markdown]
# **Exercise 23.5** (about 15 lines). Rewrite it as `step(me, k_state, v_state, n_block, masked)`, so that the softmax
# runs while P V is in flight. Both groups are issued within one turn, and the turn is passed on directly after. Each
# stage is freed as soon as nothing reads it. What does each of the two groups read, and which lines must wait for
# which of them?
#
# | at hand | |
# |---|---|
# | `me.take_turn()`, `me.pass_turn()` | wait for this warpgroup's turn; give the other one its turn (23.6) |
# | `me.issue_s(k_state)`, `me.issue_o(v_state)` | wait for the full stage, issue S or P V, commit it as a group |
# | `warpgroup.wait_group(n)` | waits until at most the n newest groups are in flight |


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
check("23.5", step)

# %% [markdown]
# `wait_group(1)` waits for S alone, since S was issued first. O is rescaled *after* P V of the block before: that P was
# computed relative to the old maximum, like everything in O. O is rescaled in every step, by 1 where no maximum grew.
#
# ## Taking turns
#
# Nothing so far makes the warpgroups alternate. Two **named barriers** will: barrier `TURN_BARRIER` + g admits
# warpgroup g. A warpgroup waits at its own barrier before it issues, and afterward arrives at the other's *without
# waiting*.
#
# **Exercise 23.6** (about 2 lines). Write `take_turn(me)` and `pass_turn(me)`; `me.group` is 0 or 1, a run-time value.
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
check("23.6", turns)

# %% [markdown]
# ## Your kernel
#
# **Exercise 23.7** (about 27 lines). From an empty cell, write `consume(me, tile, q_full)`, a `@cute.jit` function: all
# that a consumer warpgroup does with one tile of queries. It waits for Q and visits blocks `tile.n_blocks` − 1 to 0;
# blocks 0 to `tile.unmasked` − 1 need no mask. Both are run-time values, and a tile may have one block. The last block
# is always masked: `tile.unmasked` is at most `tile.n_blocks` − 1. You end when P V of block 0, which needs no turn, is
# complete and its stage is free. The caller then divides O by the sums and stores it.
#
# Three questions first. What of a step does the last block need, which has no P before it and no maximum? Which blocks
# remain for a step with the mask, and which for one without? And count arrivals at the barriers of 23.6: who must pass
# a turn before anyone has taken one?
#
# | at hand | |
# |---|---|
# | `q_full` | the mbarrier of Q, in its phase 0: `cute.arch.mbarrier_wait(q_full, 0)` |
# | `make_pipeline_state(PipelineUserType.Consumer, me.config.stages)` | a state for the ring of K or V |
# | `me.tSrS`, `me.tOrP`, `me.tOrO` | S; P, rounded; O, which `me.tOrO.fill(0)` sets to zero |
# | `softmax_first(me.softmax, rows, p_rows)` | the softmax of the last block, above; both arguments are views by row |
# | `step(…)`, and all that it has at hand | your 23.5 |
#
# The check fills every slot of the kernel with your functions, by `my_parts`. On a Hopper GPU your kernel is timed,
# causal, beside torch's attention on cuDNN. The last point needs 95% of the ratio to cuDNN that the course's parts
# reached.


# %%
def my_parts():
    return AttentionParts(
        by_row, p_operand, add_pv, quad_reduce, softmax_step, produce, step, take_turn, pass_turn, consume
    )


# consume(me, tile, q_full)
### BEGIN SOLUTION (about 27 lines)
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


### END SOLUTION


# %%
check("23.7", my_parts)

# %%
show_ladder("23.7")

# %% [markdown]
# ## From tile to tile
#
# A thread block of your kernel computes one tile of queries and ends. Its registers fill the SM, so the next one starts
# only when it has ended, and until its first loads have arrived, the tensor cores idle. A **persistent** thread block,
# as in notebook 15, takes tile after tile: the producer warp loads the next tile's Q, K and V while the consumers
# finish this one. (After its last turn, warpgroup 0 takes the pass that is left over, so that the next tile finds the
# barriers as this one did.) The numbers are tiles of queries, `Q` marks the wait for a tile's first data and `O` a
# warpgroup's epilogue.

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
# The tiles are therefore drawn, one sequence after another, so that the thread blocks share its K and V in L2. The
# producer warp draws by an atomic increment of a counter in global memory.
#
# The course's kernel is registered as in 19.3: as a custom op with a fake and a backward, the CuTe kernel at the end of
# notebook 22. Models call `tutorlib.kernels.attention.scaled_dot_product_attention`, which has the signature of
# torch's, and passes on to torch the calls that the kernel cannot handle.
#
# ## Measured
#
# The speed of the course's kernels beside torch's attention on cuDNN, by length of the sequences, with 16,384 tokens in
# all:

# %%
show_figure("attention_ladder")

# %%
for mask in ("full", "causal"):
    for swept in all_sweep_results(f"attention_{mask}"):
        for head_dim in (128, 64):
            found = [point.measurement for point in swept.of_kernel("CuTe") if point.measurement.shape[-1] == head_dim]
            ratios, best = [each.ratio for each in found], max(found, key=lambda each: each.tflops)
            peak = SMS * MULTIPLY_ADDS * 2 * best.counted_mhz / 1e6  # at the clock that it ran at
            beside = f"{min(ratios):.3f} to {max(ratios):.3f} of cuDNN's speed"
            print(f"{swept.gpu}, {swept.date}, {mask}, head_dim {head_dim}: {beside}")
            print(
                f"  up to {best.tflops:.0f} TFLOP/s at {best.counted_mhz:,} MHz, {best.tflops / peak:.0%} of the peak"
            )

# %% [markdown]
# With a causal mask the CuTe kernel is ahead everywhere, by 12% to 18% at head_dim 128. Without one, it is between 3%
# behind and 14% ahead. (FlashAttention-3 was not timed here.) At head_dim 64 the exponentials take as long as the
# GEMMs: the peak is out of reach unless the rest of the softmax runs beside both.
#
# Which of the ideas brought how much? Each is a **lever**. In the first rows of the table, each lever is added to those
# of the row above. *few masks* is the mask only in the blocks that need it, *longest first* the order of the tiles. The
# last rows have the schedule's levers alone, in a kernel that masks every block. The row above *persistent* has your
# kernel's levers. (`check` gave 1.117 on the course's H200: your kernel, which stores no log-sum-exp, took 0.6% less
# time, and cuDNN 0.9% more.) **Predict** which lever is worth most.

# %%
show_levers("attention_levers")

# %% [markdown]
# In the first rows *overlap* brings most at head_dim 128, 7.2%, and *persistent* at 64, 10.5%. *plain* gains nothing at
# 128 and 6.0% at 64. Ping-pong alone gains nothing at 128 and loses 4.4% at 64, probably because its turn covers S, and
# P V is issued out of turn. With *overlap* a turn covers both, and the three together gain 7.5% and 9.6%.
#
# If every block is masked, *plain* loses 4.7% and 10.2%, and the three together gain 5% at 128 and lose 1.4% at 64.
# Turns, added to *overlap*, bring 1.7% and 6.4% there.
#
# No picture predicts these gains: *together* takes 42 ticks in step and 26 apart, and turns take 25. Without turns, the
# warpgroups are probably apart part of the time.
#
# ## What to remember
#
# - Accumulators of one wgmma, rounded, are the A operand of the next, in the same registers: two layouts of one tensor.
#   An operand in registers is in use until its group is complete, like a stage of shared memory.
# - Each group of wgmmas frees different resources. Issue the group that the next computation needs first, and wait for
#   that group only.
# - At head_dim 128, exponentials take half as many cycles as the GEMMs. Two warpgroups that alternate hide them, and
#   turns keep them apart.
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
