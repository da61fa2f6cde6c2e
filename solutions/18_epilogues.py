# ---
# jupyter:
#   tutorlib:
#     minutes: 95
#     summary: Epilogues as functions of values; bias, GELU and a residual; SwiGLU in one GEMM; a reduction of your own.
# ---

# %% [markdown]
# # 18 · Epilogues
#
# A model rarely needs A · Bᵀ alone: a bias, an activation or a residual follows the product. A separate kernel reads
# and writes all of C for it. At 4,096 tokens and 14,336 features, as in Llama 3 8B, that is 235 MB. An H200 needs 56 µs
# for it at notebook 05's 4.2 TB/s; the GEMM takes about 600. In the GEMM's epilogue, C is already in registers.
#
# > **After this page you can** write an epilogue as a function of a thread's values, fetch the operands that it needs,
# > fuse a gate by reordering the weights, estimate what an epilogue costs, and write one of your own that reduces over
# > a block.
# >
# > **It takes** about 95 minutes, on any machine: without a GPU, kernels are simulated. A Hopper GPU times them. After
# > 18.3 is a good place to stop.

# %%
import cutlass
import cutlass.cute as cute
from cutlass import Float32
from cutlass.memory import SmemAllocator

from tutorlib import (
    TensorSpec, all_sweep_results, by, check, compile_cute, opcodes, show_costs, show_gate, show_gate_registers,
    show_layout, show_source, show_sweep,
)  # fmt: skip
from tutorlib.notebook.fused_kernels import (
    CONFIG, Accumulators, Fusion, LoadedStores, make_elementwise, make_gemm, show_fused_speeds, single_buffer,
    with_epilogue, with_gate,
)  # fmt: skip

# %% [markdown]
# ## Values, not memory
#
# A `cute.Tensor` refers to memory: a pointer and a layout. Its `.load()` returns a TensorSSA: a thread's numbers as an
# immutable *value*, which `.store(values)` writes to a tensor. An epilogue needs:
#
# | | |
# |---|---|
# | `x + y`, `0.5 * x`, `-x` | element by element; a scalar is broadcast |
# | `x > 0.0` | a boolean per element; no branch |
# | `cute.where(x > 0.0, x, y)` | selects, element by element |
# | `cute.math.tanh(x)`, `exp`, `rsqrt` | of each element; `fastmath=True` makes them faster and less accurate |
# | `x.to(BFloat16)` | converted, rounded to nearest even |
#
# The next cell counts instructions for four elements. **Predict**: ReLU is a comparison and a select. How many
# instructions does an element take, and how many branches?

# %%
from collections import Counter

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
# The comparison and the select have become one `max`. The branch is the kernel's own. With `fastmath`, tanh is one
# instruction in place of more than a dozen. In machine code a `div` is several, among them an `rcp`.
#
# Special functions (`tanh`, `ex2`, `rcp`) are the expensive part of an epilogue: an SM executes 128 fp32 additions or
# multiplications per cycle, but only 16 special functions. The checks of this page allow one tanh or one exponential
# for each result.
#
# **Exercise 18.1** (about 2 lines). GELU in its tanh form:
#
# > gelu(x) = x/2 · (1 + tanh(√(2/π) · (x + 0.044715 · x³)))
#
# Write `gelu(x)` for values in fp32; √(2/π) is 0.7978846. Some of the check's x are large: if you write tanh with
# exponentials, what happens at x = 30?


# %%
def gelu(x):
    ### BEGIN SOLUTION (about 2 lines)
    inner = 0.7978845608028654 * (x + 0.044715 * x * x * x)
    return 0.5 * x * (1.0 + cute.math.tanh(inner, fastmath=True))
    ### END SOLUTION


# %%
check("18.1", gelu)

# %%
from math import pi, sqrt, tanh


def by_horner(x):
    half, u = 0.5 * x, x * (0.7978845608 + 0.0356774081 * (x * x))
    return half + half * cute.math.tanh(u, fastmath=True)


print("your gelu      ", arithmetic(gelu))
print("Horner's form  ", arithmetic(by_horner))
for x in (3, -3):
    exact = x / 2 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x**3)))
    error = abs(x) / 2 * 2**-11
    print(f"gelu({x}) = {exact:.5f}, by the fast tanh up to {error:.5f} off: {error / abs(exact):.2%}")

# %% [markdown]
# At x = 30, e²ᵘ overflows to ∞, where u is tanh's argument. (e²ᵘ − 1) / (e²ᵘ + 1) is then ∞/∞, NaN; 1 − 2 / (e²ᵘ + 1)
# is 1, as it should be.
#
# The fast tanh is off by up to 2⁻¹¹ of itself (PTX ISA). For negative x, 1 + tanh cancels, and the error stays: a small
# gelu(x) loses most of its digits, which the check allows.
#
# What does GELU cost? A tile of 128×256 has 32,768 results, whose tanh takes 2,048 cycles at 16 per cycle. At their
# datasheet rate the tensor cores take 1,024 cycles for a K tile of 64, so 65,536 with K = 4096. tanh adds 3% if the
# tensor cores wait for it. The formula as it is written takes seven other instructions for an element, 1,792 cycles at
# 128 per cycle, nearly 3% more if they do not overlap with tanh. With K = 8192, each number is half as large.
#
# ## Where the bias is
#
# The next goal is GELU(A · Bᵀ + bias). A thread's accumulators are scattered over rows and columns of the tile: which
# of the bias's N numbers does each need? In notebook 10, `partition_C` found the accumulators' places in C, and it
# works on any matrix of C's shape. So view the bias as one, without a copy.
#
# **Exercise 18.2** (about 2 lines). Write `every_row(bias, rows)`, which returns a tensor of shape (rows, N) over the
# memory of `bias` (N,), in which every row is the bias. `cute.make_tensor(bias.iterator, layout)` makes a tensor of
# this memory, and `cute.make_layout(shape, stride=…)` a layout.


# %%
def every_row(bias, rows):
    ### BEGIN SOLUTION (about 2 lines)
    columns = cute.size(bias)
    return cute.make_tensor(bias.iterator, cute.make_layout((rows, columns), stride=(0, 1)))
    ### END SOLUTION


# %%
check("18.2", every_row)

# %% [markdown]
# With a stride of 0, the coordinate moves and the offset does not, as in (4,8):(0,1):

# %%
show_layout("(4,8):(0,1)")

# %% [markdown]
# The kernel around your function is notebook 10's, with a 64×64 tile for the simulator. It partitions your matrix,
# called D, like C: tCgD refers to D's elements for a thread's accumulators.
#
# ## An epilogue is a function
#
# The work between the accumulators and the store becomes a parameter of the kernel, `op`, which the compiler inlines.
# `fetch` loads a thread's share of D into fp32 registers, and `store`, notebook 10's, rounds `acc.tCrC` and writes it
# to C.

# %%
show_source(Fusion)

# %% [markdown]
# Bias and GELU are then one line. Both arguments are a thread's values in fp32; only `store` rounds, once, where
# torch's three operators round three times:


# %%
def bias_gelu(acc, bias):
    return gelu(acc + bias)


# %% [markdown]
# ## A residual, and the edges
#
# In a residual block, C = A · Bᵀ + D, where D (M, N) is the block's input. The loads must stop at the edges of C:
# beyond them, the memory belongs to another tensor.
#
# **Exercise 18.3** (about 6 lines). Write `fetch(acc)`, which returns D's elements for a thread's accumulators, in fp32
# registers of their shape. It loads each element inside C once, loads nothing outside, and needs no barrier. Registers
# of elements outside C may hold anything, since they are never stored. At hand:
#
# | | |
# |---|---|
# | `acc.tCrC` | the thread's accumulators, fp32 |
# | `acc.tCgD` | its share of D, bf16, in memory |
# | `acc.coordinates` | the (row, column) of each of its elements |
# | `acc.shape` | (M, N) of C |
# | `cute.make_rmem_tensor(shape, Float32)` | new registers |
# | `cute.elem_less(a, b)` | whether a < b in every mode |
#
# tCrC, tCgD and coordinates have one shape; each takes a single index, from 0 to `cute.size(…)` − 1. What does the
# compiler know, and what only the running thread: how many accumulators a thread has, or which of them are inside C? (A
# loop over `cutlass.range_constexpr(n)` is unrolled.)


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
check("18.3", fetch)

# %% [markdown]
# This is correct, but takes a 2-byte load for each element. Where all tiles are full, `fetch_operand`, the default of
# `Fusion`, loads 8 adjacent columns at once. This is a good place to stop.
#
# ## SwiGLU: two columns become one
#
# A Llama MLP is down(silu(gate(x)) · up(x)), where silu(g) = g / (1 + e⁻ᵍ). Here · multiplies element by element, and
# gate, up and down are linear layers. silu(gate(x)) · up(x) is called SwiGLU.
#
# gate(x) and up(x) are GEMMs with the same A, so one GEMM with B = gate stacked on up computes both. But then column j
# of gate(x) and column j of up(x) are in different blocks, and their product needs both in one *thread*.
#
# B's rows may be in any order, so reorder the weights. The picture has 32 columns of a row of a Hopper tile, for two
# orders of B's rows. A cell shows the thread that holds the accumulator, and its column of gate (g) or up (u); T0's are
# outlined.

# %%
show_gate(32, 8)

# %% [markdown]
# In the second order, B has 8 rows of gate, then the same 8 of up, then the next 8 of gate. T0 holds g0 and u0, g1 and
# u1: whole pairs. The best *width* depends on the accumulator layout.
#
# **Exercise 18.4** (about 1 line). Write `interleaving(features, width)`: (shape, stride) of the layout that maps a row
# of the interleaved matrix to a row of gate stacked on up, where row r < features is gate's and row features + r is
# up's. Both are tuples of three numbers, the fastest mode first. `width` divides `features`.


# %%
def interleaving(features, width):
    ### BEGIN SOLUTION (about 1 line)
    return (width, 2, features // width), (1, features, width)
    ### END SOLUTION


# %%
check("18.4", interleaving)

# %% [markdown]
# In notebook 10's kernel, as the checks simulate it, with four warps one above the other, T0 holds columns 0 to 7 and
# T1 columns 8 to 15. Four lanes cover 32 columns, so T0's next columns are 32 to 39. The width is 32: a warp's first
# step along N is gate, the second up. T0's accumulators, with their registers, for one atom along M:

# %%
show_gate_registers()

# %% [markdown]
# **Exercise 18.5** (about 6 lines). Write `gated(tCrC)` for width 32. tCrC has a thread's accumulators, fp32 registers
# of shape ((2, 2), atoms, (4, rest)), compact, with the first mode fastest: a pair of columns in each of two rows; the
# atoms along M; along N the 4 atoms of a warp's step, and its steps. Return fp32 registers of shape ((2, 2), atoms, (4,
# rest // 2)) with silu(gate) · up.
#
# A tensor that begins n elements later is `cute.make_tensor(tCrC.iterator + n, layout)`. Which of a thread's registers
# are gate, which are up, and how far is a pair apart? And which form of silu is safe, if some of the check's numbers
# are large?


# %%
def gated(tCrC):
    ### BEGIN SOLUTION (about 6 lines)
    pairs, atoms, (neighbors, rest) = tCrC.shape
    half = cute.make_layout((pairs, atoms, (neighbors, rest // 2)))
    gate = cute.make_tensor(tCrC.iterator, half).load()
    up = cute.make_tensor(tCrC.iterator + cute.size(half), half).load()
    result = cute.make_rmem_tensor(half.shape, Float32)
    result.store(0.5 * gate * (1.0 + cute.math.tanh(0.5 * gate, fastmath=True)) * up)
    return result
    ### END SOLUTION


# %%
check("18.5", gated)

# %% [markdown]
# g / (1 + e⁻ᵍ) is safe for large numbers: where e⁻ᵍ overflows to ∞, the result is −0. g · eᵍ / (1 + eᵍ) is the same
# function, but becomes NaN where eᵍ overflows. Both take two special functions, `ex2` and the division's `rcp`. The
# course uses a third form, g/2 · (1 + tanh(g/2)), with one; 1 + tanh cancels for negative g as in GELU.
#
# ## What the epilogues cost
#
# Your estimates for GELU at K = 8192, without the bias, are 1.6% for tanh alone and 2.9% if nothing overlaps.
# **Predict**: which of GELU and the residual will cost more than estimated? And what will SwiGLU cost, which stores
# half as much? The next cell estimates the residual, by the bytes of D at 4.2 TB/s. *Time added* is what each fused
# kernel takes beyond the plain GEMM, timed in turn. The plain GEMM and rows without a comma use the configuration that
# the course's model chose.

# %%
(h200,) = (swept for swept in all_sweep_results("fused_epilogues") if swept.gpu == "NVIDIA H200")
for point in sorted(h200.points, key=lambda point: (point.measurement.shape, point.name)):
    timed = point.measurement
    if timed.baseline != "the plain GEMM" or "no clusters" in point.name:
        continue
    estimate = 2 * timed.shape[0] * timed.shape[1] / 4.2e6 / timed.baseline_us if "residual" in point.name else 0
    said = f"D's bytes {estimate:+.1%}, " if estimate else ""
    print(f"{by(timed.shape):16} {point.name:32} {said}time added {1 / timed.ratio - 1:+.1%}")

# %% [markdown]
# - *bias + GELU, cooperative*, a 128×256 tile, is within your estimates: +1.8% at K = 8192 (1.6 to 2.9%), and +5.1% at
#   K = 4096 (3.1 to 5.9%). So is the same tile beside the plain GEMM in it, below: 2.3 and 4.2%. The chosen
#   configurations cost about 1.5%.
# - *SwiGLU* is faster than the plain GEMM: it stores half as much, and needs only one tanh for two accumulators.
# - *residual* costs twice what D's bytes do at K = 4096, and 1.5 times at K = 8192. Do the tensor cores wait for the
#   latency of its loads, which an epilogue issues when the accumulators are ready? In *D by TMA* each warp loads its
#   share of a tile of D before that tile's main loop, into the buffers from which C leaves later:

# %%
show_source(LoadedStores.ask)

# %% [markdown]
# *D in the epilogue* is the same kernel, but loads D in the epilogue. Loading it during the main loop gains about 1.5%
# and 0.8%: latency is the smaller part. The rest is probably room in shared memory. Buffers for a whole tile of D, 32
# KiB for each warpgroup, leave five stages of a 128×128 tile, which loads more of A and B for each result than the
# plain GEMM's 256×160. At 8192³ *residual*, with a 128×256 tile that reads D late, is far ahead of both.
#
# What do others need? *cuBLAS* is `torch.addmm`, which first copies D to C; *cuBLAS in place* is `d.addmm_`, where D
# may be overwritten; *cuBLASLt* has an epilogue of its own (`torch._addmm_activation`). The rows with *ping-pong* and
# *cooperative* compare with the plain GEMM in the same configuration. Below 1 the rival wins.

# %%
show_costs("fused_epilogues", "NVIDIA H200", ("bias + GELU", "residual", "residual, D by TMA", "SwiGLU"))

# %%
show_sweep("fused_rivals")

# %% [markdown]
# Fused GELU and SwiGLU beat torch's ways by 7 to 18%, and cuBLASLt's GELU by 5% and 1%. With both kernels in one
# configuration, GELU adds 4.2% and 2.3% to a cooperative kernel, but 1.0% and 0.3% in ping-pong, where one warpgroup's
# epilogue overlaps the other's multiplications. A residual beats `torch.addmm` only because of the copy: cuBLAS in
# place wins by 4 to 6% at 4096×14336×4096, and is level at 8192³. So fuse what saves a pass over C, and leave a
# residual that may be overwritten to cuBLAS.
#
# On a Hopper GPU, the next cell times your own `bias_gelu` and `gated` at 4096×14336×4096, relative to torch and to the
# course's epilogues. It times your `fetch` in notebook 10's kernel, where on an H200 it is as fast as `fetch_operand`.
# Each row is a run of its own, so one kernel has two times.

# %%
gelu_kernel, gate_kernel = with_epilogue(bias_gelu), with_gate(gated)

# %%
show_fused_speeds(gelu_kernel, gate_kernel, fetch)

# %% [markdown]
# ## An epilogue of your own
#
# To convert C to FP8 you need a scale, and for it the largest |C| of the matrix, which is known only when the GEMM is
# over: in time for the scale of the next training step (*delayed scaling*). Each block finds the maximum of its tile,
# and a second, tiny kernel reduces these.
#
# **Exercise 18.6** (about 20 lines). From an empty cell, write `tile_amax(a, b, amax)`, a `@cute.jit` host function,
# and the epilogue of its kernel, also `@cute.jit`. a is (M, K) and b (N, K), both bf16. `amax` is fp32 and has one
# element for each 64×64 tile of A · Bᵀ, (tiles along M, tiles along N): the largest |element| of the tile. C is not
# stored. A warp reduces by shuffles, at most five. Apart from the main loop's barriers, a block may use one. At hand:
#
# | | |
# |---|---|
# | `make_gemm(CONFIG, single_buffer, epilogue=f)` | notebook 10's host function (a, b, c); each thread calls f(acc) |
# | `acc: Accumulators` | of one of 128 threads, which compute a 64×64 tile |
# | `acc.tCrC` | the thread's accumulators, 0 outside the matrix (after a bias they would not be) |
# | `x.reduce(cute.ReductionOp.MAX, 0.0, reduction_profile=0)` | the largest of a thread's values, at least 0.0 |
# | `gC = acc.gC` | the block's tile of c; write it before an `if`, in which `acc.gC[…] = …` would assign to `acc` |
# | `cute.arch.shuffle_sync_bfly(x, offset=n)` | x of the lane whose number is the own one XOR n |
# | `cute.arch.fmax(x, y)` | the larger of two numbers |
# | `SmemAllocator().allocate_tensor(Float32, layout, byte_alignment=16)` | in shared memory, apart from sA and sB |
# | `cute.arch.thread_idx()`, `cute.arch.sync_threads()` | as in notebook 02 |
#
# Two questions first. `make_gemm` takes a c of shape (M, N), rounded up to whole tiles if you like, and gives each
# block its tile of it. M and N may be nested, such as (64, tiles): which layout over amax's memory has one address for
# all elements of a tile? And four warps find four maxima: who writes them where, who reads them, and what separates the
# two?


# %%
# tile_amax(a, b, amax): a (M, K), b (N, K) in bf16, amax (tiles along M, tiles along N) in fp32.
### BEGIN SOLUTION (about 20 lines)
@cute.jit
def largest(acc: Accumulators):
    thread, _, _ = cute.arch.thread_idx()
    values, gC = acc.tCrC.load(), acc.gC
    partial = SmemAllocator().allocate_tensor(Float32, cute.make_layout(4), byte_alignment=16)
    mine = cute.where(values < 0.0, -values, values).reduce(cute.ReductionOp.MAX, 0.0, 0)
    for step in cutlass.range_constexpr(5):
        mine = cute.arch.fmax(mine, cute.arch.shuffle_sync_bfly(mine, offset=1 << step))
    partial[thread // 32] = mine
    cute.arch.sync_threads()
    for warp in cutlass.range_constexpr(4):
        mine = cute.arch.fmax(mine, partial[warp])
    if thread == 0:
        gC[0] = mine


@cute.jit
def tile_amax(a: cute.Tensor, b: cute.Tensor, amax: cute.Tensor):
    tiles_m, tiles_n = amax.shape
    one_for_each_tile = cute.make_layout(((64, tiles_m), (64, tiles_n)), stride=((0, tiles_n), (0, 1)))
    c = cute.make_tensor(amax.iterator, one_for_each_tile)
    make_gemm(CONFIG, single_buffer, epilogue=largest)(a, b, c)


### END SOLUTION


# %%
check("18.6", tile_amax)

# %% [markdown]
# With strides of 0, all elements of a tile have one address, so thread 0 may write any of them. Each warp writes its
# maximum to shared memory, and thread 0 reads all four after the barrier.
#
# CUTLASS composes such functions as an *epilogue visitor tree*: your `every_row` is its row broadcast, `fetch` its
# auxiliary load, this exercise its scalar reduction.
#
# ## What to remember
#
# - An epilogue is a function of values in registers, and rounding comes last.
# - Partition an operand's matrix like C; a stride of 0 turns a vector into a matrix.
# - If one thread needs two columns of the result, reorder the weights so that it gets both.
# - Estimate an epilogue by its special functions and its bytes, relative to a tile's main loop. Its registers and
#   shared memory may cost more than both.
#
# Next: [notebook 19](19_layers.ipynb) makes layers of these kernels.
#
# ## Test yourself
#
# <details><summary>1. GELU's tanh costs a GEMM with K = 4096 about 3% if the tensor cores wait for it. What does it
# cost with K = 1024, and what would you change?</summary>
#
# About 12%: the main loop takes a quarter of the time. Use ping-pong: it hides an epilogue that is shorter than a
# tile's main loop, except in the last wave.
#
# </details>
#
# <details><summary>2. Gate and up are interleaved with width 8 on Hopper. Would width 4 do? And width 16?</summary>
#
# With 4, a group of 8 columns is half gate, half up. A thread has two adjacent columns of it, so either gate or up: the
# product would need a shuffle. With 16, two groups are gate and the next two are up, and a thread has two columns in
# all four: that works, with other indices, if the tile's N is a multiple of 32. <code>show_gate(16, 4)</code> draws
# both.
#
# </details>
#
# <details><summary>3. At 8192³ loading D under the main loop gains 0.8%, and yet the kernel is slower than one with a
# larger tile that loads D late. Why?</summary>
#
# A tile of D waits in shared memory, which the stages need, or a larger tile. The hidden latency is probably shorter
# than the time of the smaller tile's extra loads of A and B.
#
# </details>
