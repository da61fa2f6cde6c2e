# ---
# jupyter:
#   tutorlib:
#     minutes: 120
#     summary: Attention in CuTe, its softmax hidden under the tensor cores' work, behind torch's operator.
# ---

# %% [markdown]
# # 20 · Attention on Hopper
#
# For each head, attention computes O = softmax(Q Kᵀ · scale) V: two GEMMs with a softmax between them. Notebook 14
# keeps the tensor cores busy through a GEMM. Here they need the softmax's results, and the softmax needs theirs. How
# can they work at the same time?
#
# You write the parts of one kernel, as in notebook 14: `check` compiles the course's kernel with your part in it and
# simulates it. At the end the kernel consists of your parts, and an operator puts it behind torch's
# `scaled_dot_product_attention`.
#
# > **After this page you can** use accumulators as the operand of the next wgmma, write an online softmax in registers,
# > schedule two warpgroups so that one's softmax runs under the other's wgmmas, and register a kernel with torch.
# >
# > **It takes** about 120 minutes, on any machine. Without a Hopper GPU the kernels are simulated; with one they are
# > timed.

# %%
import cutlass
import cutlass.cute as cute
import torch
from cutlass import BFloat16, Float32, Int32
from cutlass.cute.nvgpu import warpgroup
from cutlass.pipeline import PipelineUserType, make_pipeline_state
from torch.nn import functional

from tutorlib import check
from tutorlib.draw import show_attention
from tutorlib.kernels.attention.hopper import attention_kernel, consume_blocks
from tutorlib.kernels.attention.operator import attention, left_to_torch, scaled_dot_product_attention
from tutorlib.kernels.attention.parts import softmax_first
from tutorlib.kernels.attention.roles import TURN_BARRIER, BlockLoads, OnlineSoftmax, make_mmas
from tutorlib.kernels.attention.slots import AttentionParts
from tutorlib.notebook.measured import show_figure, show_levers, show_sweep
from tutorlib.notebook.source import show_source

# %% [markdown]
# ## Count before you schedule
#
# A block of the kernel has 128 queries, 64 for each of two consumer warpgroups. It walks over the keys in blocks of
# 128. For each block of keys a warpgroup computes S = Q Kᵀ, a tile of 64×128 scores, then P, their exponentials, then O
# += P V. **Predict:** which share of the tensor cores' time do the exponentials alone take?

# %%
HEAD_DIM, ROWS, KEYS = 128, 64, 128
MULTIPLY_ADDS = 2048  # of bf16 in a cycle, by the tensor cores of an SM: the datasheet's 989 TFLOP/s
EXPONENTIALS = 16  # in a cycle of an SM (CUDA C++ Programming Guide, throughput of native arithmetic instructions)
gemms = 2 * ROWS * KEYS * HEAD_DIM / MULTIPLY_ADDS
exponentials = ROWS * KEYS / EXPONENTIALS
print(f"S and P V: {gemms:.0f} cycles; exponentials: {exponentials:.0f} cycles")

# %% [markdown]
# Half, and the maxima, the sums, the rounding and the rescaling come on top. If the tensor cores waited for the
# softmax, they would idle a third of the time or more. Neither unit can be made faster. So both have to be busy at
# once.
#
# The pictures show three blocks of keys, 0 to 2. The rows `wg 0` and `wg 1` are the softmax of the two warpgroups,
# `mma` the tensor cores; S1 is S of block 1, P1 is P V of block 1. (The lengths are chosen for the drawing.)

# %%
show_attention("together", "ping-pong")

# %% [markdown]
# In the first schedule both warpgroups issue their wgmmas at the same time, so both wait for them, and then both
# compute exponentials while the tensor cores idle. Ping-pong shifts one warpgroup against the other: one's softmax
# runs while the other multiplies.
#
# The second way is inside a warpgroup. S of block 1 needs nothing from block 0's softmax. Issue it *before* P V of
# block 0, and the softmax of block 1 can begin while P V of block 0 is still in flight: **overlap**.

# %%
show_attention("together, overlap", "ping-pong, overlap")

# %% [markdown]
# The kernel has both. Its roles are those of notebook 14:
#
# | | producer warp | each of two consumer warpgroups |
# |---|---|---|
# | Q | loads 128 rows once | waits once, reads its 64 rows from shared memory in every S |
# | K | a ring of two stages | waits, issues S, frees the stage when S is complete |
# | V | a ring of its own | waits, issues P V, frees the stage when P V is complete |
# | S, P, O | | in registers from beginning to end |
#
# K and V have rings of their own because a stage of K is free long before the V of the same keys: S needs K alone.

# %% [markdown]
# ## From accumulators to an operand
#
# P is the A operand of P V, and a wgmma may take A from registers. S is the accumulator of Q Kᵀ. If each thread's
# accumulators are the very elements that the A operand wants from it, P never has to move.
#
# From notebook 13: element (row, column) of a 64×N accumulator belongs to thread 32·(row // 16) + 4·(row % 8) + (column
# % 8) // 2, in register column % 2 + 2·(row // 8 % 2) + 4·(column // 8). The A operand of a wgmma has 64 rows and 16
# columns of K, a K block. Its registers hold two bf16 each; counted by elements, PTX defines for a thread and one K
# block:
#
# | elements | row | columns in the K block |
# |---|---|---|
# | 0, 1 | 16·warp + lane // 4 | 2·(lane % 4), and the next |
# | 2, 3 | 8 rows below | the same |
# | 4, 5 | as 0, 1 | 8 columns to the right |
# | 6, 7 | as 2, 3 | 8 columns to the right |
#
# **Exercise 20.1** (about 3 lines). Write `a_register(row, column)` → (thread, K block, element): where the A operand
# wants element (row, column) of P. P is 64×N, and `thread` counts 0 to 127 through the warpgroup.


# %%
def a_register(row, column):
    ### BEGIN SOLUTION (about 3 lines)
    k_block, column = divmod(column, 16)
    thread = 32 * (row // 16) + 4 * (row % 8) + column % 8 // 2
    return thread, k_block, column % 2 + 2 * (row // 8 % 2) + 4 * (column // 8)
    ### END SOLUTION


# %%
check("20.1", a_register)


# %% [markdown]
# Compare with the accumulators: the same thread, and 8·(K block) + element is the number of the accumulator.


# %%
def accumulator(row, column):
    return 32 * (row // 16) + 4 * (row % 8) + column % 8 // 2, column % 2 + 2 * (row // 8 % 2) + 4 * (column // 8)


places = [(row, column) for row in range(64) for column in range(128)]
wanted = {place: a_register(*place) for place in places}
print(all(accumulator(*place) == (thread, 8 * block + e) for place, (thread, block, e) in wanted.items()))

# %% [markdown]
# So no data have to move: the two are views of the same registers, two layouts. A thread's accumulators come with the
# shape ((2, 2, N/8), 1, 1): two neighbors, two rows, N/8 column groups. The softmax wants them by row, and the MMA as
# an A operand.
#
# **Exercise 20.2** (about 4 lines). Write both views, each a `cute.make_tensor(acc.iterator, cute.make_layout(shape,
# stride=…))` of a thread's accumulators for 64×N. They are plain functions, called while the kernel is traced.
#
# - `by_row(acc)`: (2 rows, (2, N/8) columns), so that `by_row(acc)[0, None]` is all that this thread has of its first
#   row, from left to right.
# - `p_operand(p)`: ((2, 2, 2), 1, N/16), as the MMA reads A: the 8 elements of a K block, one block of 64 rows, the K
#   blocks.
#
# `cute.size(acc)` is the number of elements, N/2.


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
check("20.2", views)

# %% [markdown]
# Which mode of V is contiguous? P V sums over keys, so keys are the K mode of this GEMM. V is stored (keys, head_dim),
# with head_dim contiguous: of the B operand, (N, K) = (head_dim, keys), it is the mode N that is contiguous. Hopper's
# wgmma reads such a bf16 operand directly: **MN-major**. The kernel describes V to TMA as (head_dim, keys), gives it an
# MN-major shared-memory layout, and says so to the MMA. No transpose takes place.

# %%
show_source(make_mmas)

# %% [markdown]
# **Exercise 20.3** (about 6 lines). Write `add_pv(pv, acc, p, v, stage)`: issue O += P V as one group of wgmmas, and do
# not wait. `pv` is the tiled MMA, `acc` the accumulators of O, `p` the operand ((2, 2, 2), 1, K blocks), `v` the
# fragment (V, 1, K blocks, stages) in shared memory. `acc` always holds something to add to: zeros at first. It is
# 13.10's `multiply`, but now threads have just written an operand's registers. Which of the calls covers that?


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
check("20.3", add_pv)

# %% [markdown]
# The fence orders a thread's own register accesses before the wgmmas that use these registers: here the rounded P, and
# O, which was rescaled. As long as the group is in flight, neither may be written again.
#
# ## The softmax, two rows at a time
#
# A thread has two rows of S, and shares each with three neighbors: lanes 4r to 4r + 3 hold row r of their warp's 16,
# and row r + 8. For a row whose keys come in blocks, keep the maximum so far and the sum of exponentials relative to
# it. When a block raises the maximum from m to m′, everything summed so far, the sum and O, is multiplied by e^(m −
# m′).
#
# Two details save instructions. The GPU's exponential has base 2, so the scale of the logits includes log2(e): p =
# 2^((s − m)·scale) takes one multiply-add and one `ex2`. And of the sum each thread keeps its own part: all four parts
# are scaled by the same factors, so they need to be added only once, at the end.
#
# The first block has no maximum before it. This is the course's part for it:

# %%
show_source(softmax_first, OnlineSoftmax)

# %% [markdown]
# If a row has seen no key at all, its maximum is −∞, and (−∞) − (−∞) is NaN. A base of 0 avoids that: 2^(−∞) is 0.
#
# **Exercise 20.4** (about 14 lines). Write two functions.
#
# - `quad_reduce(value, op)` combines a value over the four lanes of a row, for an associative and commutative `op`; all
#   four get the result. `cute.arch.shuffle_sync_bfly(value, offset=n)` returns the value of the lane whose number
#   differs by the bit n.
# - `softmax_step(softmax, rows, p_rows, factors)` is `softmax_first` for a later block. It updates `softmax.rmax` and
#   `softmax.rsum`, writes P into `p_rows`, and writes the factor of each row, e^(m − m′) by the scaled base 2, into
#   `factors[row]`: the caller rescales O with it. `rows` and `p_rows` are views by row. `s.reduce(op, start, 0)` with
#   `cute.ReductionOp.MAX` or `ADD` begins at `start`.


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
check("20.4", softmax)

# %% [markdown]
# ## Masks where they are needed
#
# TMA fills the rows behind the last key with zeros. A zero is a valid score, so these columns of S must become −∞
# before the softmax. With a causal mask, query i sees keys 0 to i, and three kinds of blocks are left of a tile of
# queries: those that all of its rows see, those that some rows see in part, and those that no row sees. Only the second
# kind needs the mask, and the third is not computed.
#
# **Exercise 20.5** (about 5 lines). Write `key_blocks(m_block, keys, tile, causal)` → (blocks, unmasked) for the tile
# of queries number `m_block`, with `tile` = (queries, keys). Its block n has the keys n·tile[1] and following. `blocks`
# is the number of blocks that the tile has to compute, 0 to blocks − 1; the first `unmasked` of them need no mask.


# %%
def key_blocks(m_block, keys, tile, causal):
    ### BEGIN SOLUTION (about 5 lines)
    blocks, unmasked = -(-keys // tile[1]), keys // tile[1]
    if causal:
        first = m_block * tile[0]
        blocks, unmasked = min(blocks, -(-(first + tile[0]) // tile[1])), min(unmasked, (first + 1) // tile[1])
    return blocks, unmasked
    ### END SOLUTION


# %%
check("20.5", key_blocks)

# %% [markdown]
# **Predict:** of all blocks of a causal kernel with 4,096 queries and keys, which part needs the mask? And which part
# of the non-causal work is left?

# %%
TILE, TOKENS = (128, 128), 4096
counted = [key_blocks(m_block, TOKENS, TILE, True) for m_block in range(TOKENS // TILE[0])]
blocks, unmasked = (sum(column) for column in zip(*counted, strict=True))
print(f"{blocks} blocks, {blocks - unmasked} of them masked; without causal {(TOKENS // TILE[0]) ** 2}")

# %% [markdown]
# One block for each tile of queries. So the kernel compiles its step twice, with and without the mask, and walks from
# the last block to the first: the masked ones come first, and no step asks which kind it is. (For the last block it
# always calls the mask: it may be cut off.) The tiles at the bottom have the most blocks, so with a causal mask the
# grid starts with them.
#
# ## The producer
#
# A consumer takes K of block n − 1, then K of block n − 2 *before* V of block n − 1: that is the overlap. The producer
# loads in this order, K one block ahead of V.
#
# **Exercise 20.6** (about 12 lines). Write `produce(loads, n_blocks)`, which the producer warp runs: Q, then K and V of
# the blocks n_blocks − 1 to 0, K one block ahead. `loads.load_q()`, `loads.load_k(n_block, state)` and
# `loads.load_v(n_block, state)` wait for an empty stage, announce the bytes and issue the copy. `loads.stages` is the
# number of stages of each ring. There is at least one block, and `n_blocks` is only known at run time:
# `cutlass.range(…, unroll=1)`.

# %%
show_source(BlockLoads)


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
check("20.6", produce)

# %% [markdown]
# ## The consumer's step
#
# This is the loop around the step you are about to write. Before it, S of the last block is computed and its softmax
# taken; after it, P V of block 0 is left.

# %%
show_source(consume_blocks)

# %% [markdown]
# So a step begins with P of the block before in `me.tOrP`, and ends with P of its own block there. In between two
# groups of wgmmas are in flight, and each ends at another time:
#
# | the group | reads | once it is complete |
# |---|---|---|
# | S of this block | Q, the stage of K | its stage of K is free, and S may be masked and exponentiated |
# | P V of the block before | `tOrP`, the stage of V | its stage of V is free, O may be rescaled, `tOrP` overwritten |
#
# `warpgroup.wait_group(n)` returns when at most the n newest groups are in flight. Which order of the two groups gives
# the softmax something to hide under?
#
# **Exercise 20.7** (about 15 lines). Write `step(me, k_state, v_state, n_block, masked)`.
#
# - `me.take_turn()`, `me.pass_turn()`: around the wgmmas that are issued.
# - `me.issue_s(k_state)`, `me.issue_o(v_state)`: wait for the stage, issue and commit a group.
# - `me.free_k(k_state)`, `me.free_v(v_state)`: arrive at `empty`.
# - `me.mask(n_block)`: S becomes −∞ where a row does not see a key; only if `masked`, which is a compile-time constant.
# - `me.softmax_step(p, factors)`: your 20.4 on S. `p` is a register tensor of the shape `me.tSrS.shape`, in fp32;
#   `factors` one of 2 fp32: `cute.make_rmem_tensor(shape, Float32)`.
# - `me.rescale(factors)`: multiplies O.
# - `me.tOrP.store(p.load().to(BFloat16))` rounds P for the next step.
#
# The caller advances the states.


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
check("20.7", step)

# %% [markdown]
# O is rescaled *after* P V of the block before: that block was exponentiated relative to the old maximum, like
# everything in O. The price of the overlap is registers: S, P in fp32, the bf16 P that is still being read, and O. (If
# you round P before `wait_group(0)`, the kernel stays right: the compiler gives the new values other registers, which
# costs more of them.)

# %%
for name, elements in [("S", ROWS * KEYS), ("O", ROWS * HEAD_DIM), ("P in bf16", ROWS * KEYS // 2)]:
    print(f"{name}: {elements // 128} registers of each thread")

# %% [markdown]
# P in fp32 can take the registers of S, which is not used again. The producer's warpgroup returns the
# registers that it does not need, as in 14.13.
#
# ## Taking turns
#
# Nothing so far makes the warpgroups alternate. Two **named barriers** do: barrier `TURN_BARRIER` + g is warpgroup g's
# turn. A warpgroup waits at its own barrier before it issues, and afterwards arrives at the other's *without waiting*.
# Each barrier completes when all 256 threads have come: 128 that wait and 128 that arrive.
#
# **Exercise 20.8** (about 2 lines). Write `take_turn(me)` and `pass_turn(me)`; `me.group` is 0 or 1, a run-time value.
# `cute.arch.barrier(barrier_id=…, number_of_threads=…)` waits, `cute.arch.barrier_arrive(…)` takes the same arguments
# and does not.


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
check("20.8", turns)

# %% [markdown]
# Count the arrivals in `consume_blocks` above. Before anyone has passed a turn, warpgroup 0 would wait forever, so
# warpgroup 1 arrives once before its first turn. At the end no warpgroup waits for warpgroup 1's last pass: so
# warpgroup 0 takes a turn once more. Leave out either, and the kernel hangs, or a barrier is left half full when the
# block ends.
#
# ## Your kernel
#
# **Exercise 20.9** (about 1 line). Write `my_parts()`, which returns `AttentionParts` with your functions in its
# slots: `by_row`, `p_operand`, `add_pv`, `quad_reduce`, `softmax_step`, `produce`, `step`, `take_turn`, `pass_turn`. On
# a Hopper GPU it is timed, causal, beside torch's attention on cuDNN.


# %%
def my_parts():
    ### BEGIN SOLUTION (about 1 line)
    return AttentionParts(by_row, p_operand, add_pv, quad_reduce, softmax_step, produce, step, take_turn, pass_turn)
    ### END SOLUTION


# %%
check("20.9", my_parts)

# %% [markdown]
# What is left of the kernel is the set-up: tensors, rings, registers, and the store of O through the rows of Q in
# shared memory, which no warp but its own has read.

# %%
show_source(attention_kernel)

# %% [markdown]
# ## Behind torch's operator
#
# A kernel is useful once a model can call it without a change. A **custom op** (`torch.library.custom_op`) has a name
# that `torch.compile` treats as one operation. `register_fake` tells shapes and dtypes without computing anything, and
# `register_autograd` connects the backward kernels, which are cuTile's. Around it is a function with the signature of
# `torch.nn.functional.scaled_dot_product_attention`. It leaves to torch what the kernel cannot do, and counts why.

# %%
show_source(scaled_dot_product_attention)

# %% [markdown]
# On a machine without a GPU the operator computes by torch, so a model can be tested anywhere. Here is a layer of a
# small transformer, with torch's function and then with ours. **Predict:** how far do the gradients differ?


# %%
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
print("left to torch:", dict(left_to_torch))

# %% [markdown]
# And three training steps. The last call has a head_dim that the kernel does not know, so torch gets it:

# %%
optimizer = torch.optim.SGD(ours.parameters(), lr=0.1)
for _ in range(3):
    optimizer.zero_grad()
    loss = ours(x).square().mean()
    loss.backward()
    optimizer.step()
    print(f"loss {loss:.4f}")
scaled_dot_product_attention(*torch.randn(3, 1, 2, 8, 32))
print("left to torch:", dict(left_to_torch))

# %% [markdown]
# `opcheck` tests the registration: that the fake version agrees with the real one, and that autograd is registered as
# it has to be.

# %%
inputs = [torch.randn(1, 2, 16, 64, requires_grad=True) for _ in range(3)]
torch.library.opcheck(attention, (*inputs, 0.125, True))

# %% [markdown]
# ## Measured
#
# The tables compare the course's kernels, in CuTe and in cuTile, with torch's attention on cuDNN. A shape is (batch,
# heads, heads of K and V, queries, keys, head_dim). **Predict** before you look: at which head_dim is it harder to keep
# up, given the count at the top of this page? And is a causal kernel at its best with short sequences or with long
# ones?

# %%
show_sweep("attention_full")

# %%
show_sweep("attention_causal")

# %% [markdown]
# The same over the length of the sequences, in TFLOP/s:

# %%
show_figure("attention_ladder")

# %% [markdown]
# Which of the ideas brought how much? Each is a **lever**: the table pulls it alone, and on top of others, in the
# causal kernel. few masks: the mask only in the blocks that need it; longest first: the order of the grid.
# **Predict** which is worth most, and whether ping-pong and overlap add up.

# %%
show_levers("attention_levers")

# %% [markdown]
# With head_dim 64 both GEMMs halve, and the exponentials stay:

# %%
for head_dim in (64, 128):
    share = exponentials / (gemms * head_dim / HEAD_DIM)
    print(f"head_dim {head_dim}: exponentials take {share:.0%} of the GEMMs' cycles")

# %% [markdown]
# ## What to remember
#
# - Accumulators of one wgmma, rounded, are the A operand of the next, in the same registers: two layouts of one tensor.
#   An operand in registers is in use until its group is complete, like a stage of shared memory.
# - Each group of wgmmas frees something else. Issue the one that the next computation needs first, and wait for it
#   alone.
# - Exponentials cost half as many cycles as the GEMMs at head_dim 128. Ping-pong and overlap hide them; neither makes
#   them fewer.
# - Do the rare case in code of its own: the mask in its own step, the first block in its own softmax.
#
# ## Test yourself
#
# <details><summary>1. Why may <code>free_k</code> come before the softmax, but <code>free_v</code> only after
# <code>wait_group(0)</code>?</summary>
#
# K is read by S, which is complete after wait_group(1). V is read by P V, the newer group, which may be in flight until
# wait_group(0).
#
# </details>
#
# <details><summary>2. Why does each thread keep its own part of a row's sum, but all four need the same
# maximum?</summary>
#
# A sum of exponentials relative to one maximum may be added in any order, also at the end. Parts relative to different
# maxima could not be added, and O's rows have one factor for all columns, which are spread over the four threads.
#
# </details>
#
# <details><summary>3. In ping-pong, warpgroup 1 calls <code>pass_turn</code> once before its first turn. What if both
# did?</summary>
#
# Then both begin their first turn at once, and each later pass admits the other again while it is still issuing:
# nothing keeps the two apart.
#
# </details>
