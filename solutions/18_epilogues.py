# ---
# jupyter:
#   tutorlib:
#     minutes: 74
#     summary: Epilogues as functions of values; bias, GELU and a residual; SwiGLU in one GEMM; a reduction of your own.
# ---

# %% [markdown]
# # 18 · Epilogues
#
# A model rarely needs A · Bᵀ alone: a bias, an activation or a residual follows the product. A separate kernel reads
# and writes all of C for it. At 4,096 tokens and 14,336 features, as in Llama 3 8B, that is 235 MB, 56 µs at notebook
# 05's 4.2 TB/s; the GEMM takes about 600. In the GEMM's epilogue, C is already in registers.
#
# > **After this page you can** write an epilogue as a function of a thread's values, view its operands as matrices,
# > fuse a gate by reordering the weights, estimate what an epilogue costs, and write one that reduces over a block.
# >
# > **It takes** about 74 minutes, on any machine: without a GPU, kernels are simulated. A Hopper GPU times them.

# %%
import cutlass
import cutlass.cute as cute
from cutlass import Float32
from cutlass.memory import SmemAllocator

from tutorlib import (
    TensorSpec, all_sweep_results, check, compile_cute, opcodes, show_gate, show_gate_registers, show_source,
    show_sweep,
)  # fmt: skip
from tutorlib.notebook.fused_kernels import (
    CONFIG, Accumulators, Fusion, make_elementwise, make_gemm, show_fused_speeds, single_buffer, with_epilogue,
    with_gate,
)  # fmt: skip

# %% [markdown]
# ## Values, not memory
#
# A `cute.Tensor` refers to memory: a pointer and a layout. Its `.load()` returns a TensorSSA: a thread's numbers as an
# immutable *value*, which `.store(values)` writes to a tensor. `x + y`, `0.5 * x` and `x > 0.0` work element by
# element, and so do `cute.where(x > 0.0, x, y)`, `cute.math.tanh(x)` and `cute.math.exp(x)`. The next cell counts
# their instructions for four elements. Its last line is GELU in its tanh form, the course's:
#
# > gelu(x) = x/2 · (1 + tanh(√(2/π) · (x + 0.044715 · x³)))

# %%
from collections import Counter

MATH = {"max": r"max\.", "mul": r"mul\.f32", "add": r"add\.f32", "fma": r"fma\.", "div": r"div\."}
MATH |= {"select": r"selp\.", "ex2": r"ex2\.", "rcp": r"rcp\.", "tanh": r"tanh\."}


def arithmetic(op):
    """What the compiler makes of four elements."""
    specs = [TensorSpec((512,), "fp32")] * 2
    found = Counter(opcodes(compile_cute(make_elementwise(op), specs).ptx, MATH))
    return ", ".join(f"{number} {name}" for name, number in found.items())


def gelu(x):
    inner = 0.7978845608028654 * (x + 0.044715 * x * x * x)
    return 0.5 * x * (1.0 + cute.math.tanh(inner, fastmath=True))


print("relu           ", arithmetic(lambda x: cute.where(x > 0.0, x, 0.0)))
print("x / (1 + e⁻ˣ)  ", arithmetic(lambda x: x / (1.0 + cute.math.exp(-x))))
print("tanh           ", arithmetic(cute.math.tanh))
print("tanh, fast     ", arithmetic(lambda x: cute.math.tanh(x, fastmath=True)))
print("gelu           ", arithmetic(gelu))

# %% [markdown]
# A comparison and a select have become one `max`. With `fastmath`, tanh is one instruction, off by up to 2⁻¹¹ of tanh's
# value. A `div` becomes several instructions in machine code, among them an `rcp`.
#
# Special functions (`tanh`, `ex2`, `rcp`) are the expensive part of an epilogue: an SM executes 128 fp32 additions or
# multiplications per cycle, but only 16 special functions. A tile of 128×256 has 32,768 results, whose tanh takes 2,048
# cycles. At their datasheet rate the tensor cores take 1,024 cycles for a K tile of 64, so 65,536 with K = 4096. If the
# tensor cores wait for the epilogue, tanh adds 3%. GELU's seven other instructions per element take 1,792 cycles,
# nearly 3% more if they do not overlap with tanh.
#
# ## Where the bias is
#
# The next goal is GELU(A · Bᵀ + bias). A thread's accumulators are scattered over rows and columns of the tile: which
# of the bias's N numbers does each need? In notebook 10, `partition_C` found the accumulators' places in C, and it
# works on any matrix of C's shape. So view the bias as one, without a copy: with a stride of 0 along the rows, every
# row has the same offsets.


# %%
def every_row(bias, rows):
    return cute.make_tensor(bias.iterator, cute.make_layout((rows, cute.size(bias)), stride=(0, 1)))


# %% [markdown]
# **Exercise 18.1** (about 3 lines). A diffusion model multiplies the tokens of several images by one weight, and gives
# each image a bias of its own. One small GEMM computes the biases for three layers, a row-major matrix with a row for
# each image and 3N columns. `bias` is one layer's part of it, of shape (images, N).
#
# A has the first image's tokens, then the second's, and so on. Write `every_image(bias, tokens)`, where an image has
# `tokens` rows of A. Return the bias as a matrix of shape (images · tokens, N), whose element (m, n) is the bias of row
# m's image in column n. Nothing is copied. `tokens` divides the tile's 64 rows, or is a multiple of them.


# %%
def every_image(bias, tokens):
    ### BEGIN SOLUTION (about 3 lines)
    images, columns = bias.shape
    layout = cute.make_layout(((tokens, images), columns), stride=((0, bias.stride[0]), 1))
    return cute.make_tensor(bias.iterator, layout)
    ### END SOLUTION


# %%
check("18.1", every_image)

# %% [markdown]
# A row is a pair: the token, with stride 0, and the image, with stride `bias.stride[0]`, 3N here. Notebook 10's kernel
# partitions your matrix, called D, like C.
#
# ## An epilogue is a function
#
# The work between the accumulators and the store becomes a parameter of the kernel, `op`, which the compiler inlines.
# `fetch_operand` loads a thread's share of D into fp32 registers. Outside C's bounds it loads nothing: that memory may
# be another tensor's. `store`, notebook 10's, rounds `acc.tCrC` and writes it to C.

# %%
show_source(Fusion)

# %% [markdown]
# Bias and GELU are then one line. A residual, C = A · Bᵀ + D with a whole matrix D, is `acc + d`. Values are fp32 until
# `store` rounds them, once; torch's three operators round three times.


# %%
def bias_gelu(acc, bias):
    return gelu(acc + bias)


# %% [markdown]
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
# In the second order, B has 8 rows of gate, then the same 8 of up, then the next 8 of gate. T0 holds the pairs g0 and
# u0, g1 and u1.
#
# **Exercise 18.2** (about 1 line). Write `interleaving(features, width)`: (shape, stride) of the layout that maps a row
# of the interleaved matrix to a row of gate stacked on up, where row r < features is gate's and row features + r is
# up's. `width` rows of gate and of up alternate; it divides `features`.


# %%
def interleaving(features, width):
    ### BEGIN SOLUTION (about 1 line)
    return (width, 2, features // width), (1, features, width)
    ### END SOLUTION


# %%
check("18.2", interleaving)

# %% [markdown]
# In the kernel that the check simulates, the tile is 64×128, its four warps are one above the other, and the width
# is 32. T0 holds columns 0 to 7 and T1 columns 8 to 15, as in notebook 10. Four lanes cover 32 columns, a *step* along
# N; T0's next columns are 32 to 39. T0's accumulators in the first two steps, and their register numbers:

# %%
show_gate_registers()

# %% [markdown]
# **Exercise 18.3** (about 7 lines). Write `gated(tCrC)`. tCrC has a thread's accumulators, fp32 registers of shape
# ((2, 2), atoms, (n, steps)): a pair of columns in each of two rows; the atoms along M; along N the n atoms of a step,
# and the steps. Return fp32 registers of shape ((2, 2), atoms, (n, steps // 2)) with silu(gate) · up, in the order of
# the features. The width is that of a step. `gated` has no decorator, so its loops are Python's, over `range`. Some of
# the check's numbers are large.
#
# `cute.make_rmem_tensor(shape, Float32)` makes new registers, and `tCrC[None, None, (None, 0)]` is step 0 of tCrC.


# %%
def gated(tCrC):
    ### BEGIN SOLUTION (about 7 lines)
    pairs, atoms, (n, steps) = tCrC.shape
    result = cute.make_rmem_tensor((pairs, atoms, (n, steps // 2)), Float32)
    for step in range(steps // 2):
        gate = tCrC[None, None, (None, 2 * step)].load()
        up = tCrC[None, None, (None, 2 * step + 1)].load()
        result[None, None, (None, step)].store(0.5 * gate * (1.0 + cute.math.tanh(0.5 * gate, fastmath=True)) * up)
    return result
    ### END SOLUTION


# %%
check("18.3", gated)

# %% [markdown]
# g / (1 + e⁻ᵍ) is safe for large numbers: where e⁻ᵍ overflows to ∞, the result is −0. g · eᵍ / (1 + eᵍ) becomes NaN
# where eᵍ overflows. Both take two special functions, `ex2` and the division's `rcp`. The course uses a third form, g/2
# · (1 + tanh(g/2)), with one; its error is up to |g| · 2⁻¹².
#
# The width is 8 on Hopper. There a wrapper calls your function with 8 accumulators of gate and the 8 of up, two steps:
# in each step, two columns in each of two rows, from two groups of 8 columns.
#
# ## What the epilogues cost
#
# In a *cooperative* kernel the tensor cores wait for the epilogue, so your estimates should hold. In *ping-pong*, one
# warpgroup's epilogue runs under the other's main loop, and should cost almost nothing. A residual needs D's bytes, at
# 4.2 TB/s. A gated epilogue saves half of C's bytes, and takes one tanh and four other instructions for two
# accumulators. (N is the width of gate and up together, so C has N/2 columns.) **Predict** which estimate is furthest
# off, in percentage points. The next cell prints them beside the time that each epilogue adds to the plain GEMM in the
# same configuration:


# %%
def estimates(shape, plain_us):
    m, n, k = shape
    tile = 1024 * k / 64  # cycles of a 128×256 tile's main loop
    tanh, other = 128 * 256 / 16 / tile, 128 * 256 / 128 / tile  # one for each accumulator
    matrix = 2 * m * n / 4.2e6 / plain_us  # C or D, read or written
    return {  # without the other instructions, and with them
        "bias + GELU, cooperative": (tanh, tanh + 8 * other),  # the eighth adds the bias
        "bias + GELU, ping-pong": (0,),
        "residual, cooperative": (matrix,),
        "SwiGLU, cooperative": (tanh / 2 - matrix / 2, tanh / 2 + 2 * other - matrix / 2),
    }


(h200,) = (swept for swept in all_sweep_results("fused_epilogues") if swept.gpu == "NVIDIA H200")
for point in h200.at((4096, 14336, 4096)):
    timed, (kernel, other) = point.measurement, point.name.split(", beside ")
    shown = estimates(timed.shape, timed.baseline_us)
    if kernel in shown and other == "the plain GEMM":
        estimate = " to ".join(f"{part:+.1%}" for part in shown[kernel])
        added = f"{1 / timed.ratio - 1:+.1%} ±{timed.spread / 2:.1%}"
        times = f"{timed.median_us:.0f} µs, plain {timed.baseline_us:.0f} µs"
        print(f"{kernel:25} {times}: estimate {estimate:14} measured {added}")

# %% [markdown]
# GELU is within its range. In ping-pong it adds 1.1%; the last tiles' epilogues, which nothing hides, explain less than
# half. SwiGLU is at the low end of its range, and faster than the plain GEMM, since it stores half as much. The SMs ran
# at about 1,600 MHz, where the main loops alone take 556 of the plain 597 µs; relative to all 597, GELU's range is 2.9%
# to 5.8%.
#
# The residual is furthest off: 7.7% in place of 4.7%. The missing 18 µs are 1.3 µs for each of an SM's 13.6 tiles.
# Latency is a likely part: the epilogue issues its loads of D only when the accumulators are ready. In ping-pong,
# loading D by TMA before the main loop saved 1.9%.
#
# The next table has the configurations that the course's model chose, beside torch.compile, cuBLAS and cuBLASLt's own
# epilogue. For a residual, *cuBLAS* is `torch.addmm`, which first copies D to C; *cuBLAS in place* is `d.addmm_`, where
# D may be overwritten. Above 1 the fused kernel is faster.

# %%
show_sweep("fused_rivals")

# %% [markdown]
# Fused GELU is faster than torch.compile and cuBLASLt's, and SwiGLU than eager torch; notebook 19 compares it with
# torch.compile. A residual beats `torch.addmm` only because of the copy: cuBLAS in place is 6% faster at
# 4096×14336×4096, and level at 8192³. So fuse an activation or a gate, and leave a residual that may be overwritten to
# cuBLAS, which fuses it too.
#
# On a Hopper GPU, the next cell times your `gated`, and the GELU above, at 4096×14336×4096, each in turn with the
# course's kernel. Both use the model's choice, ping-pong with smaller tiles than above:

# %%
show_fused_speeds(with_epilogue(bias_gelu), with_gate(gated))

# %% [markdown]
# ## An epilogue of your own
#
# To convert C to FP8 you need a scale, and for it the largest |C| of the matrix, which is known only after the GEMM:
# too late for this C, in time for the next training step's (*delayed scaling*). Each block finds the maximum of its
# tile, and a second, tiny kernel reduces these.
#
# **Exercise 18.4** (about 17 lines). From an empty cell, write `tile_amax(a, b, amax)`, a `@cute.jit` host function,
# and the epilogue of its kernel, also `@cute.jit`. a is (M, K) and b (N, K), both bf16. `amax` is fp32, compact and
# row-major, and has one element for each 64×64 tile of A · Bᵀ, (tiles along M, tiles along N): the largest |element| of
# the tile. C is not stored. Apart from the main loop's barriers, a block may use one. At hand:
#
# | | |
# |---|---|
# | `make_gemm(CONFIG, single_buffer, epilogue=f)` | notebook 10's host function (a, b, c); each thread calls f(acc) |
# | `acc: Accumulators` | of one of 128 threads, which compute a 64×64 tile |
# | `acc.tCrC` | the thread's accumulators, 0 outside the matrix |
# | `x.reduce(cute.ReductionOp.MAX, 0.0, 0)` | the largest of 0.0 and a thread's values x, over all modes |
# | `cute.arch.warp_reduction_max(x)` | the largest x of a warp's lanes, by five shuffles; all lanes get it |
# | `cute.arch.fmax(x, y)` | the larger of two numbers |
# | `SmemAllocator().allocate_tensor(Float32, layout, byte_alignment=16)` | in shared memory, apart from sA and sB |
# | `gC = acc.gC` | the block's tile of c; read it before any `if`: inside one, assigning to `acc.gC[…]` is an error |
# | `cute.arch.thread_idx()`, `cute.arch.sync_threads()` | as in notebook 02 |
#
# `make_gemm` takes a c of M × N elements, each rounded up to whole tiles if you like, and gives each block its tile of
# it.


# %%
# tile_amax(a, b, amax): a (M, K), b (N, K) in bf16, amax (tiles along M, tiles along N) in fp32.
### BEGIN SOLUTION (about 17 lines)
@cute.jit
def largest(acc: Accumulators):
    thread, _, _ = cute.arch.thread_idx()
    values, gC = acc.tCrC.load(), acc.gC
    partial = SmemAllocator().allocate_tensor(Float32, cute.make_layout(4), byte_alignment=16)
    mine = cute.where(values < 0.0, -values, values).reduce(cute.ReductionOp.MAX, 0.0, 0)
    partial[thread // 32] = cute.arch.warp_reduction_max(mine)
    cute.arch.sync_threads()
    if thread == 0:
        for warp in cutlass.range_constexpr(4):
            mine = cute.arch.fmax(mine, partial[warp])
        gC[0] = mine


@cute.jit
def tile_amax(a: cute.Tensor, b: cute.Tensor, amax: cute.Tensor):
    tiles_m, tiles_n = amax.shape
    one_for_each_tile = cute.make_layout(((64, tiles_m), (64, tiles_n)), stride=((0, tiles_n), (0, 1)))
    c = cute.make_tensor(amax.iterator, one_for_each_tile)
    make_gemm(CONFIG, single_buffer, epilogue=largest)(a, b, c)


### END SOLUTION


# %%
check("18.4", tile_amax)

# %% [markdown]
# With strides of 0, all elements of a tile have one address, so thread 0 may write any of them.
#
# ## What to remember
#
# - An epilogue is a function of values in registers, and rounding comes last.
# - Partition an operand's matrix like C; a stride of 0 turns a vector into a matrix.
# - If one thread needs two columns of the result, reorder the weights so that it gets both.
# - Estimate an epilogue by its special functions and its bytes, relative to a tile's main loop.
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
# <details><summary>2. Gate and up are interleaved with width 8 on Hopper. Would width 4 do?</summary>
#
# No. A group of 8 columns would be half gate, half up. A thread has two adjacent columns of it, so either gate or up:
# the product would need a shuffle.
#
# </details>
#
# <details><summary>3. At g = −6, the course's silu may be off by 10%. Why, and which form avoids it?</summary>
#
# 1 + tanh(g/2) is a small difference, but has all of tanh's error. g / (1 + e⁻ᵍ) cancels nothing; it takes one special
# function more.
#
# </details>
