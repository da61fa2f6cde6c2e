# ---
# jupyter:
#   tutorlib:
#     minutes: 120
#     summary: Epilogues as functions, SwiGLU in one GEMM, a layer that torch takes for its own, an MLP over two GPUs.
# ---

# %% [markdown]
# # 16 · Fusion: from a GEMM to a layer
#
# Nobody wants A · Bᵀ. People want a layer of a model, and there the product is followed by a bias, an activation, a sum
# with what was there before. As kernels of their own these read and write all of C once more each, for an arithmetic
# that takes no time at all. In the epilogue C is in registers already.
#
# Here C gets company there. Then the kernel leaves the notebook: it becomes an operator that torch differentiates,
# compiles, casts and captures, a Llama MLP is made of it, and the MLP is split over two GPUs.
#
# > **After this page you can** write an epilogue as a function of a thread's values, find an operand's element for each
# > of them, fuse a gate by putting weights into another order, derive both gradients of a linear layer as GEMMs,
# > register a kernel as torch's operator, and split an MLP over GPUs with one all-reduce.
# >
# > **It takes** about 120 minutes, on any machine, where kernels are simulated; a Hopper GPU times them, and two show
# > the last section.

# %%
from collections import Counter

import cutlass
import cutlass.cute as cute
import torch
from cutlass import Float32
from torch import nn

from tutorlib import check
from tutorlib.compiling.cute import compile_cute
from tutorlib.compiling.ptx import opcodes
from tutorlib.compiling.spec import TensorSpec
from tutorlib.draw import show_layout
from tutorlib.kernels.ampere.thread_share import Accumulators
from tutorlib.kernels.fused.ampere import Fusion, make_elementwise
from tutorlib.kernels.fused.linear import KernelLinear, linear, multiply
from tutorlib.kernels.fused.mlp import FusedMLP, LlamaMLP
from tutorlib.kernels.hopper.fusion import FusedStores, GatedStores
from tutorlib.notebook.fusion import show_as_a_module, show_costs, show_parallel
from tutorlib.notebook.measured import show_figure
from tutorlib.notebook.source import show_source

# %% [markdown]
# ## Values, not memory
#
# A `cute.Tensor` is a place: a pointer and a layout. What `.load()` gives is no place any more. It is a **TensorSSA**:
# a thread's numbers as a *value*, with a shape and a dtype, which nothing can change. Operators make new values of old
# ones, element by element; `.store(values)` puts them somewhere.
#
# | | |
# |---|---|
# | `x + y`, `0.5 * x`, `-x` | element by element; a number is one for all |
# | `x > 0.0` | a value of truths; no branch |
# | `cute.where(x > 0.0, x, y)` | picks for each element |
# | `cute.math.tanh(x)`, `exp`, `rsqrt` | of each element |
# | `x.to(BFloat16)` | converted, rounded to nearest even |
# | `x.reduce(cute.ReductionOp.ADD, 0.0, 0)` | one number of all of them |
# | `x.broadcast_to(shape)`, `x.reshape(shape)` | as NumPy |
#
# SSA is static single assignment, the compiler's own form. So there is no array that must be filled and no loop that
# must be unrolled: what you write *is* what the compiler works on. Before you run the next cell: ReLU is a comparison
# and a choice. How many instructions will an element take, and how many branches?

# %%
MATH = {"max": r"max\.", "mul": r"mul\.f32", "add": r"add\.f32", "fma": r"fma\.", "div": r"div\."}
MATH |= {"select": r"selp\.", "ex2": r"ex2\.", "rcp": r"rcp\.", "tanh": r"tanh\.", "branch": r"bra\b"}


def arithmetic(op):
    """What the compiler makes of four elements; the one branch asks whether a thread has any."""
    specs = [TensorSpec((512,), "fp32")] * 2
    found = Counter(opcodes(compile_cute(make_elementwise(op), specs).ptx, MATH))
    return ", ".join(f"{number} {name}" for name, number in found.items())


print("relu           ", arithmetic(lambda x: cute.where(x > 0.0, x, 0.0)))
print("x / (1 + e⁻ˣ)  ", arithmetic(lambda x: x / (1.0 + cute.math.exp(-x))))
print("tanh           ", arithmetic(cute.math.tanh))
print("tanh, fast     ", arithmetic(lambda x: cute.math.tanh(x, fastmath=True)))

# %% [markdown]
# The comparison and the choice have become `max`. The two kinds of tanh are worth a look, since epilogues are short of
# exactly this. An SM has 128 lanes for additions and 16 for special functions, so one `tanh.approx` costs as much as
# eight multiplications, and it is wrong by 2⁻¹¹ at most (PTX ISA). That is an *absolute* error, harmless near 1, where
# rounding to bf16 costs 2⁻⁸. In gelu's left tail it is not: at x = −3, 1 + tanh is about 0.002, and an error of 2⁻¹¹ is
# a fifth of it, in a result of −0.004.
#
# **Exercise 16.1** (about 2 lines). GELU, as transformers use it, with tanh:
#
# > gelu(x) = x/2 · (1 + tanh(√(2/π) · (x + 0.044715 · x³)))
#
# Write `gelu(x)` for values in fp32. (GELU by erf is nearer than tanh.approx, and passes too.) The checker's
# x are large here and there. What happens to yours at x = 30 if you write tanh with exponentials?


# %%
def gelu(x):
    ### BEGIN SOLUTION (about 2 lines)
    inner = 0.7978845608028654 * (x + 0.044715 * x * x * x)
    return 0.5 * x * (1.0 + cute.math.tanh(inner, fastmath=True))
    ### END SOLUTION


# %%
check("16.1", gelu)

# %%
print("your gelu      ", arithmetic(gelu))

# %% [markdown]
# Count what a tile costs. A tile of 128×256 has 32,768 results, at 16 special functions in a cycle 2,048 cycles.
# At the datasheet's rate tensor cores take 1,024 cycles for a K tile of 64, so with K = 4096 the tile takes 65,536:
# GELU would be 3 % of the time if they waited for it. Who makes them not wait? Notebook 14's ping-pong does, and
# so do two blocks on one SM.
#
# ## Where the bias is
#
# GELU(A · Bᵀ + bias): bias has N numbers, and a thread's accumulators are scattered over rows and columns of the tile.
# Notebook 09 found their places in C with `partition_C`. It would find them in any matrix of C's shape, and a bias is
# one, if you look at it rightly: all rows are the same. No copy is needed, only a layout.
#
# **Exercise 16.2** (about 2 lines). Write `every_row(bias, rows)`, which returns a tensor of the shape (rows, N) over
# the memory of `bias` (N,), in which every row is the bias. `cute.make_tensor(iterator, layout)` makes it.


# %%
def every_row(bias, rows):
    ### BEGIN SOLUTION (about 2 lines)
    columns = cute.size(bias)
    return cute.make_tensor(bias.iterator, cute.make_layout((rows, columns), stride=(0, 1)))
    ### END SOLUTION


# %%
check("16.2", every_row)

# %% [markdown]
# A stride of 0: the coordinate moves, the offset does not. In one picture, (4,8):(0,1):

# %%
show_layout("(4,8):(0,1)")

# %% [markdown]
# The kernel around it is notebook 09's, with a small tile of 64×64, so that the simulator is quick. It cuts this matrix
# as it cuts C: `local_tile`, the order of columns, `partition_C`. The result, tCgD, gives for each of a thread's
# accumulators the address of its operand.
#
# ## An epilogue is a function
#
# The work between the accumulators and the store is now a parameter of the kernel:

# %%
show_source(Fusion)

# %% [markdown]
# It takes values and returns values: the compiler inlines it, and what it does not do costs nothing.
#
# **Exercise 16.3** (about 1 line). Write `bias_gelu(acc, bias)`: both are a thread's values in fp32, of one shape.


# %%
def bias_gelu(acc, bias):
    ### BEGIN SOLUTION (about 1 line)
    return gelu(acc + bias)
    ### END SOLUTION


# %%
check("16.3", bias_gelu)

# %% [markdown]
# Look at what is *not* there: a rounding between the sum, the bias and GELU. torch's three operators round three times.
# The checker's bound allows one, so an epilogue that rounds before it adds fails here, and rightly so.
#
# ## A residual, and the edges
#
# C = A · Bᵀ + D, where D (M, N) is what the block of layers began with. Now every element is a load of its own, and at
# the edges of C there is nothing to load: beyond the last row the memory belongs to another tensor.
#
# **Exercise 16.4** (about 6 lines). Write `fetch(acc)`, which returns registers in fp32 of the shape of `acc.tCrC`
# with what lies at `acc.tCgD`. What they hold where that is outside of C is never stored; but it must not be loaded.
# `acc.coordinates` has the (row, column) of each, and `acc.shape` is C's. All three are indexed by one number, from 0
# to `cute.size(…)`. Which accumulators a thread has is known at compile time; which of them are inside C is not.


# %%
@cute.jit
def fetch(acc: Accumulators):
    ### BEGIN SOLUTION (about 6 lines)
    registers = cute.make_rmem_tensor(acc.tCrC.shape, Float32)
    registers.fill(0.0)
    for n in cutlass.range_constexpr(cute.size(registers)):
        if cute.elem_less(acc.coordinates[n], acc.shape):
            registers[n] = acc.tCgD[n].to(Float32)
    return registers
    ### END SOLUTION


# %%
check("16.4", fetch)

# %% [markdown]
# Right, and slow where tiles are whole: one load of 2 bytes for each element. The course's `fetch` takes 8 neighbors
# at once there, `cute.autovec_copy`.
#
# On Hopper D comes in pairs. A wgmma leaves a thread two neighbors of a row, two more 8 rows below, then the next 8
# columns (notebook 13's picture); rows of D are loaded as pairs of bf16, and a bias once for both rows: the layout
# (2,2,2):(1,0,2), neighbors, rows, pieces. The stride of 0 again, in registers.

# %%
show_source(FusedStores)

# %% [markdown]
# ## A number of the whole tile
#
# FP8 needs a scale, and a scale needs the largest |C| there is. That is no function of one element. Each block finds
# the largest of its tile, and a second, tiny kernel the largest of these. (Or `atomicMax` on one number: as the bits of
# a positive float are ordered like integers, an integer's atomic does it. With 2,048 tiles that is 2,048 blocks that
# queue for one address, after a reset that the host must not forget.)
#
# **Exercise 16.5** (about 8 lines). Write `largest(values, partial, thread)`: the largest |value| of the block, which
# thread 0 must return; others may return what they like. `values` are a thread's accumulators in fp32, `partial` is
# shared memory with an fp32 for each warp, `thread` the thread's number. Within a warp, `cute.arch.shuffle_sync_bfly(x,
# offset=n)` is x of the lane whose number differs in the bit n, and `cute.arch.fmax` the larger of two.


# %%
@cute.jit
def largest(values, partial: cute.Tensor, thread):
    ### BEGIN SOLUTION (about 8 lines)
    mine = cute.where(values < 0.0, -values, values).reduce(cute.ReductionOp.MAX, 0.0, 0)
    for step in cutlass.range_constexpr(5):
        mine = cute.arch.fmax(mine, cute.arch.shuffle_sync_bfly(mine, offset=1 << step))
    partial[thread // 32] = mine
    cute.arch.sync_threads()
    for warp in cutlass.range_constexpr(cute.size(partial)):
        mine = cute.arch.fmax(mine, partial[warp])
    return mine
    ### END SOLUTION


# %%
check("16.5", largest)

# %% [markdown]
# How does thread 0 know where its number goes? The result has one element for each tile, and the kernel around yours
# looks at it as a matrix of C's shape, ((64, tiles), (64, tiles)):((0, tiles), (0, 1)). All elements of a tile are one
# place.
#
# ## SwiGLU: two columns become one
#
# A Llama MLP is down(silu(gate(x)) · up(x)), silu(g) = g / (1 + e⁻ᵍ). Gate and up are GEMMs with the same A, so one
# GEMM with B = gate stacked on up computes both. But then gate's column j is in one block and up's in another,
# thousands of columns away, and the product of the two needs them in one *thread*.
#
# Move the weights, not the results. B's rows may stand in any order that both can be found in: `width` rows of gate,
# then the same rows of up, then the next of gate. Which width? That is a question to the accumulator's layout:
#
# - Here, a warp's step along N is 32 columns, and a tile of 64 has two steps. With width 32 a thread's first half is
#   gate, and its second half is up, of the same columns.
# - On Hopper a thread has pairs in pieces of 8 columns. With width 8 every other piece is up, whatever the tile.
#
# **Exercise 16.6** (about 1 line). Write `interleaving(features, width)`: (shape, stride) of the layout from the
# interleaved matrix's row to the row of gate over up, where row r < features is gate's and row features + r is up's.
# Both are tuples of three numbers, the fastest mode first. `width` divides `features`.


# %%
def interleaving(features, width):
    ### BEGIN SOLUTION (about 1 line)
    return (width, 2, features // width), (1, features, width)
    ### END SOLUTION


# %%
check("16.6", interleaving)

# %% [markdown]
# In torch that is a view and one copy, made once, when the model is loaded: `torch.stack` of both as (features / width,
# width, K), along a new mode 1.
#
# **Exercise 16.7** (about 6 lines). Write `gated(tCrC)`. tCrC are a thread's accumulators, registers in fp32 of the
# shape (pairs, atoms, (neighbors, rest)), compact, with the first mode fastest. Return registers in fp32 of the shape
# (pairs, atoms, (neighbors, rest // 2)) with silu(gate) · up. A part of a tensor that begins further on is
# `cute.make_tensor(tCrC.iterator + elements, layout)`. Again the checker's numbers are large now and then.


# %%
def gated(tCrC):
    ### BEGIN SOLUTION (about 6 lines)
    pairs, atoms, (neighbours, rest) = tCrC.shape
    half = cute.make_layout((pairs, atoms, (neighbours, rest // 2)))
    gate = cute.make_tensor(tCrC.iterator, half).load()
    up = cute.make_tensor(tCrC.iterator + cute.size(half), half).load()
    result = cute.make_rmem_tensor(half.shape, Float32)
    result.store(0.5 * gate * (1.0 + cute.math.tanh(0.5 * gate, fastmath=True)) * up)
    return result
    ### END SOLUTION


# %%
check("16.7", gated)

# %% [markdown]
# Gate and up themselves are never written, and so never read again: at 4,096 tokens and 14,336 features 470 MB of
# traffic are gone. On Hopper the epilogue makes 8 results of 16 accumulators; everything after that (rounding,
# stmatrix, TMA) is notebook 14's, for a tile half as wide.

# %%
show_source(GatedStores)

# %% [markdown]
# ### Measured
#
# Each epilogue beside notebook 14's GEMM that rounds and does nothing else: a speed of 0.97 says that it costs 3 %.
# Then beside torch's way to the same result. Which of the three will cost most, at K = 4096 and at K = 8192?

# %%
show_costs("fused_epilogues")

# %% [markdown]
# Cooperative warpgroups show what an epilogue costs, and the residual costs most: it alone reads a matrix as large as
# C. By your count GELU's cost should be half at twice the K. The two cooperative rows are nearer to each other: what
# they stand beside is a plain GEMM with a configuration of its own, and two configurations differ by a percent even
# with nothing in their epilogues. Ping-pong hides GELU only as long as there is a next tile to multiply; at the smaller
# size the last wave is what shows, and stream-K shares that wave out. SwiGLU costs nothing to speak of: it stores half
# of what the plain GEMM stores.
#
# So the best tile for a GEMM is not the best one for its epilogue. The rows with no comma in their name chose by
# themselves, by notebook 14's model with your count of a tile's work added: all of it where warpgroups cooperate, none
# in ping-pong as long as it is shorter than a tile's multiplication. Where that is more than the model can tell apart,
# ping-pong has the preference. The op's registers count too: with a tile of 208 columns GELU would be spilled.
#
# One row is never chosen: *residual, ping-pong, no clusters* is what the model alone takes for the fastest, and it is
# the slowest of all. Blocks without a cluster share L2's answers only while they are in step (notebook 14), and
# probably waiting for D, each for its own rows, brings them out of it. The model was fitted to GEMMs that do nothing
# but round, and knows nothing of that. So the course's function takes clusters where an op reads a matrix. Never
# believe a model where it has not been measured.

# %%
show_figure("fusion")

# %% [markdown]
# (The panels on the right belong to the sections that follow. All show speed: more is better.)
#
# ## A layer that torch takes for its own
#
# A kernel behind a Python function works until you call `backward()`, `torch.compile` or `autocast`: each of them needs
# to know something that no kernel says. A `torch.library.custom_op` is the place to say it.
#
# | who asks | what is registered | what it is |
# |---|---|---|
# | eager | the function itself | GPU: notebook 14's `gemm` |
# | `torch.compile`, `torch.export` | `register_fake` | shape, dtype and device of the result, without data |
# | autograd | `register_autograd` | the backward, of operators again |
# | `autocast` | `register_autocast` | the dtype to cast to |
# | `torch.cuda.graph` | nothing | the launch must be on the current stream, and not wait |
#
# On the CPU there is no notebook 14, so the operator must decide what to be there. It is torch's product in fp32,
# rounded once, the same contract as the kernel's; only the order of the additions differs.

# %%
show_source(multiply)

# %% [markdown]
# ### The backward: two more GEMMs
#
# y = x · Wᵀ, so y_mn = Σ_k x_mk · w_nk. Autograd gives you grad_mn = ∂L/∂y_mn. Then
#
# > ∂L/∂x_mk = Σ_n grad_mn · w_nk  and  ∂L/∂w_nk = Σ_m grad_mn · x_mk
#
# A GEMM is Σ over the *last* mode of both its matrices, and so far their rows were contiguous. In the first of these
# the sum runs over n, grad's last mode and W's first; in the second over m, the first of both. So one has a transposed
# operand, the other two. A kernel that takes one of the four combinations, as notebook 13's does, needs copies for the
# others. The course's takes all four: wgmma reads bf16 from shared memory in both directions, and what changes is
# notebook 13's atom, with `MN` in the place of `K`, TMA's box, which is cut out of the matrix as it lies, and a word
# to the MMA. (FP8 it reads along K only.) That a view is transposed shows in its strides, so `gemm(grad, weight.mT)`
# is all there is to write.
#
# **Exercise 16.8** (about 5 lines). Write `linear_backward(grad, x, weight, gemm)`, which returns (∂L/∂x, ∂L/∂weight).
# x is (…, in) with any number of modes, weight (out, in), grad (…, out). `gemm(a, b)` is A · Bᵀ of two matrices with
# contiguous rows, and it says so where they are not. Use it twice, and torch for nothing but views and copies.


# %%
def linear_backward(grad, x, weight, gemm):
    ### BEGIN SOLUTION (about 5 lines)
    grads, rows = grad.flatten(0, -2), x.flatten(0, -2)  # (M, out), (M, in)
    dx = gemm(grads.contiguous(), weight.mT.contiguous())  # sums over out: B is (in, out)
    dw = gemm(grads.mT.contiguous(), rows.mT.contiguous())  # sums over M: (out, M) and (in, M)
    return dx.view(x.shape), dw
    ### END SOLUTION


# %%
check("16.8", linear_backward)

# %% [markdown]
# The course registers the same, with the operator itself in the place of gemm. So the backward is made of operators
# that torch knows: it compiles, and it has a backward of its own. `gradcheck` compares with differences in fp64:

# %%
x, weight = (torch.randn(shape, dtype=torch.float64, requires_grad=True) for shape in ((2, 3, 8), (4, 8)))
print("first derivatives: ", torch.autograd.gradcheck(linear, (x, weight)))
print("second derivatives:", torch.autograd.gradgradcheck(linear, (x, weight)))

# %% [markdown]
# ### The fake: what is known without data
#
# When torch.compile traces a model, tensors have shapes and no data; sizes may be symbols, `s0` instead of 5. Each
# operator is asked: given these, what comes out? An answer that looks at data fails, one that asks for a size's
# *value* makes torch compile again for each new size, and one that is wrong is worse than both. The compiler
# believes it.
#
# **Exercise 16.9** (about 1 line). Write `linear_fake(x, weight)`: a tensor like the result of `linear`, contiguous,
# without computing it.


# %%
def linear_fake(x, weight):
    ### BEGIN SOLUTION (about 1 line)
    return x.new_empty(*x.shape[:-1], weight.shape[0])
    ### END SOLUTION


# %%
check("16.9", linear_fake)

# %% [markdown]
# `torch.library.opcheck` asks all such questions at once: the schema (nothing changed in place, no input handed back),
# the registration of autograd, the fake against the real result, and forward and backward traced with symbolic sizes.

# %%
x, weight = torch.randn(2, 3, 8, requires_grad=True), torch.randn(4, 8, requires_grad=True)
torch.library.opcheck(linear, (x, weight))

# %% [markdown]
# ### Into a model
#
# `KernelLinear` is an nn.Linear with another forward. A model has hundreds of nn.Linear.
#
# **Exercise 16.10** (about 8 lines). Write `use_kernels(module)`: put a KernelLinear in the place of every nn.Linear
# below the module, however deep, and return the module. Parameters stay the same objects (why?), names and modes stay
# as they are, and a subclass of nn.Linear is left alone: it was written for a reason.


# %%
def use_kernels(module):
    ### BEGIN SOLUTION (about 8 lines)
    for name, child in module.named_children():
        if type(child) is nn.Linear:
            new = KernelLinear(child.in_features, child.out_features, child.bias is not None, device="meta")
            new.weight, new.bias = child.weight, child.bias
            setattr(module, name, new.train(child.training))
        else:
            use_kernels(child)
    return module
    ### END SOLUTION


# %%
check("16.10", use_kernels)

# %% [markdown]
# A small Llama MLP, swapped. Compiled it is one graph; cast it is bf16; and its fused form, whose first GEMM is gated,
# gives what the plain one gives. The 8B model's has 4,096 and 14,336 in the place of 64 and 192.

# %%
torch.manual_seed(16)
plain = LlamaMLP(64, 192)
x = torch.randn(8, 64)
expected = plain(x)
fused = FusedMLP(plain)
swapped = use_kernels(plain)
print("graph breaks:", torch._dynamo.explain(swapped)(x).graph_break_count)
with torch.autocast("cpu", torch.bfloat16):
    print("under autocast:", swapped(x).dtype)
for name, module in {"swapped": swapped, "two GEMMs, the first gated": fused}.items():
    print(f"{name}: off by {float((module(x) - expected).abs().max()):.1e} of {float(expected.abs().max()):.2f}")

# %% [markdown]
# A CUDA graph takes it, too. Two things could prevent that: a launch on another stream than the current one, and memory
# that is got while capturing and given back before the replay. `gemm` launches on torch's stream, and it keeps what it
# shares for each stream.
#
# ### Measured
#
# The 8B model's MLP at bf16 beside torch's, one operator after the other. Each is checked before it is timed. Where do
# you expect the gain, and how large can it be? (Three GEMMs of 4,096 tokens are 1.44 · 10¹² operations, so 2 ms.)

# %%
show_costs("mlp_forward")

# %%
show_as_a_module()

# %% [markdown]
# (A shape is tokens × hidden × gate's and up's features together.) Swapping nn.Linear gains what notebook 14's GEMM
# gains on cuBLAS, and no more. The gate is worth more than that: gate and up are not written and read again, and
# silu and the product are no kernels any more. A call costs the host more than torch's, as a custom op of Python does;
# a graph takes that away.
#
# Forward and backward, with all gradients: nine GEMMs, and in six of them an operand is transposed. The operator
# multiplies those as they lie. The other rows leave the backward to cuBLAS, which has kernels for it, too, or copy
# first, so that all rows are contiguous. Predict what the copies cost: they move 1.6 GB at 4,096 tokens. (The
# optimizer's step is the same kernels on both sides, so it stands on neither.)

# %%
show_costs("mlp_training")

# %% [markdown]
# Compare what the copies cost with what 1.6 GB take at notebook 05's bandwidth. It is many times more: a copy that
# transposes is not a copy, as 05's transposes showed. (≈ at 8,192 tokens: the pairs of that row lie further apart than
# it does from torch.)
#
# ## Two GPUs, one all-reduce
#
# A model too large for a GPU, or too slow on one, is split. Cut the MLP so that as little as possible is said between
# GPUs. Gate and up can be cut by rows, which are features: each rank computes its features for all tokens, and the
# activation goes feature by feature, so nothing is said. Down *sums* over features: each rank sums over its own, and
# the result is the sum of what all have. One all-reduce of (tokens, hidden), and no more.
#
# Cut it the other way round, gate by its columns, and the accumulators would have to meet *before* silu, since
# silu(a + b) is not silu(a) + silu(b).
#
# **Exercise 16.11** (about 6 lines). Write `shard(gate, up, down, rank, world)`: the part of the weights that `rank` of
# `world` ranks has, gate and up (features / world, hidden), down (hidden, features / world). Each is a tensor of its
# own with contiguous rows, or the whole would stay in memory. Features that do not divide are a ValueError.


# %%
def shard(gate, up, down, rank, world):
    ### BEGIN SOLUTION (about 6 lines)
    features = gate.shape[0]
    if features % world:
        raise ValueError(f"{features} features do not divide among {world} ranks")
    part = features // world
    mine = slice(rank * part, (rank + 1) * part)
    return gate[mine].clone(), up[mine].clone(), down[:, mine].clone(memory_format=torch.contiguous_format)
    ### END SOLUTION


# %%
check("16.11", shard)

# %% [markdown]
# And backward? Each rank's x is whole, and its gradient is the sum over ranks of what each finds: one all-reduce again,
# on the other side of the MLP. `python -m tutorlib.instruments.parallel` runs the forward on two GPUs of a host, with
# the gated kernel and NCCL, and compares result and time with one GPU's.
#
# **Predict** the speed-up at 512 tokens and at 8,192. The all-reduce moves 2 bytes for each of tokens · 4,096 numbers,
# both ways, over links of 450 GB/s each way.

# %%
show_parallel()

# %% [markdown]
# Half of the whole's time plus the all-reduce is nearly what the split takes. The all-reduce's part shrinks as tokens
# grow: its bytes grow with them as the arithmetic does, but not the time to begin. Even at 8,192 it takes nearly twice
# what 450 GB/s would allow.
#
# ## What to remember
#
# - An epilogue is a function of values in registers, and rounding comes last. A thread finds the operands of its
#   accumulators by cutting their tensor as C is cut; a stride of 0 makes a row into a matrix.
# - If two numbers must meet in a thread, put the weights into an order in which they do. It is done once.
# - A kernel becomes a layer by what is said *about* it: a fake, a backward made of operators, a dtype, a stream.
#
# ## Test yourself
#
# <details><summary>1. GELU costs a GEMM with K = 4096 about 3 % if tensor cores wait for it. What does it cost with
# K = 1024, and what would you change?</summary>
#
# Four times as much: the epilogue is as long as before and the main loop a quarter. Ping-pong lets one warpgroup
# multiply while the other is in its epilogue, so that the cost disappears as long as the epilogue is shorter than a
# tile's multiplication.
#
# </details>
#
# <details><summary>2. Gate and up are interleaved with width 8 on Hopper. Would width 4 do? And width 16?</summary>
#
# With 4, a piece of 8 columns holds gate in its first half and up in its second. A thread has two neighbors of a
# piece, so it has gate or up and not both: the product would need a shuffle. With 16 gate's columns are two pieces and
# up's the next two, all in one thread: that works, with other indices, if the tile's N is a multiple of 32.
#
# </details>
#
# <details><summary>3. Your fake returns <code>torch.empty</code> of the right shape on the CPU. Which of the five
# notice, and when?</summary>
#
# Eager does not, since it never asks. torch.compile does, on a GPU: it plans with a tensor on the wrong device and
# fails, or moves data, while it traces. opcheck on the GPU notices at once; opcheck on the CPU cannot.
#
# </details>
