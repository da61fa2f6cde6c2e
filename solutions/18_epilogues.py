# ---
# jupyter:
#   tutorlib:
#     minutes: 90
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
# > **It takes** about 90 minutes, on any machine: without a GPU, kernels are simulated. A Hopper GPU times them.

# %%
import cutlass
import cutlass.cute as cute
from cutlass import Float32
from cutlass.memory import SmemAllocator

from tutorlib import (
    TensorSpec, all_sweep_results, by, check, compile_cute, opcodes, show_gate, show_gate_registers, show_layout,
    show_source, show_sweep,
)  # fmt: skip
from tutorlib.notebook.fused_kernels import (
    CONFIG, Accumulators, Fusion, make_elementwise, make_gemm, show_fused_speeds, single_buffer, with_epilogue,
    with_gate,
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
# The next cell counts instructions for four elements. ReLU is a comparison and a select.

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
# The comparison and the select have become one `max`; the branch is the kernel's own. With `fastmath`, tanh is one
# instruction, off by up to 2⁻¹¹ of tanh's value. A `div` becomes several in machine code, among them an `rcp`.
#
# Special functions (`tanh`, `ex2`, `rcp`) are the expensive part of an epilogue: an SM executes 128 fp32 additions or
# multiplications per cycle, but only 16 special functions. The checks of this page allow one call of `tanh` or `exp`
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
print("your gelu:", arithmetic(gelu))

# %% [markdown]
# At x = 30, e²ᵘ overflows to ∞, where u is tanh's argument. (e²ᵘ − 1) / (e²ᵘ + 1) is then ∞/∞, NaN; 1 − 2 / (e²ᵘ + 1)
# is 1. As written, the formula takes tanh and seven other instructions per element. The fast tanh limits GELU's error
# to |x| · 2⁻¹². That is 1% of GELU at x = −2, and 20% at −3, where GELU is −0.0036.
#
# A tile of 128×256 has 32,768 results, whose tanh takes 2,048 cycles at 16 per cycle. At their datasheet rate the
# tensor cores take 1,024 cycles for a K tile of 64, so 65,536 with K = 4096. If the tensor cores wait for it, tanh adds
# 3%. The seven others take 1,792 cycles, nearly 3% more if they do not overlap with tanh.
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
# **Exercise 18.2** (about 3 lines). A diffusion model multiplies the tokens of several images by one weight, and gives
# each image a bias of its own. A has the first image's tokens, then the second's, and so on. Write `every_image(bias,
# tokens)`: bias is (images, N), compact and row-major, and an image has `tokens` rows. Return the bias as a matrix of
# shape (images · tokens, N), whose element (m, n) is the bias of row m's image in column n. Nothing is copied, and no
# division is left for the kernel to do.


# %%
def every_image(bias, tokens):
    ### BEGIN SOLUTION (about 3 lines)
    images, columns = bias.shape
    layout = cute.make_layout(((tokens, images), columns), stride=((0, columns), 1))
    return cute.make_tensor(bias.iterator, layout)
    ### END SOLUTION


# %%
check("18.2", every_image)

# %% [markdown]
# A row is a pair: the token, with stride 0, and the image, with stride N. Two images of three tokens, four columns:

# %%
show_layout("((3,2),4):((0,4),1)")

# %% [markdown]
# The kernel around your function is notebook 10's. It partitions your matrix, called D, like C.
#
# ## An epilogue is a function
#
# The work between the accumulators and the store becomes a parameter of the kernel, `op`, which the compiler inlines.
# `fetch_operand` loads a thread's share of D into fp32 registers. Outside C's bounds it loads nothing: that memory may
# be another tensor's. `store`, notebook 10's, rounds `acc.tCrC` and writes it to C.

# %%
show_source(Fusion)

# %% [markdown]
# Bias and GELU are then one line. Both arguments are a thread's values in fp32; only `store` rounds, once, where
# torch's three operators round three times. A residual, C = A · Bᵀ + D with a whole matrix D, is `acc + d`.


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
# **Exercise 18.3** (about 1 line). Write `interleaving(features, width)`: (shape, stride) of the layout that maps a row
# of the interleaved matrix to a row of gate stacked on up, where row r < features is gate's and row features + r is
# up's. Both are tuples of three numbers, the fastest mode first. `width` divides `features`.


# %%
def interleaving(features, width):
    ### BEGIN SOLUTION (about 1 line)
    return (width, 2, features // width), (1, features, width)
    ### END SOLUTION


# %%
check("18.3", interleaving)

# %% [markdown]
# In the kernel that the checks simulate, a 64×64 tile and four warps one above the other, T0 holds columns 0 to 7 and
# T1 columns 8 to 15. Four lanes cover 32 columns, so T0's next columns are 32 to 39. The width is 32: a warp's first
# step along N holds gate, its second up. With one atom along M, T0's accumulators and their register numbers:

# %%
show_gate_registers()

# %% [markdown]
# **Exercise 18.4** (about 6 lines). Write `gated(tCrC)` for width 32. tCrC has a thread's accumulators, fp32 registers
# of shape ((2, 2), atoms, (4, rest)), compact, with the first mode fastest: a pair of columns in each of two rows; the
# atoms along M; along N the 4 atoms of a warp's step, and its steps. Return fp32 registers of shape ((2, 2), atoms, (4,
# rest // 2)) with silu(gate) · up.
#
# A tensor that begins n elements later is `cute.make_tensor(tCrC.iterator + n, layout)`; `cute.make_rmem_tensor(shape,
# Float32)` makes new registers. Which of a thread's registers are gate, which are up, and how far is a pair apart? And
# which form of silu is safe, if some of the check's numbers are large?


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
check("18.4", gated)

# %% [markdown]
# g / (1 + e⁻ᵍ) is safe for large numbers: where e⁻ᵍ overflows to ∞, the result is −0. g · eᵍ / (1 + eᵍ) becomes NaN
# where eᵍ overflows. Both take two special functions, `ex2` and the division's `rcp`. The course uses a third form, g/2
# · (1 + tanh(g/2)), with one. Its error is up to |g| · 2⁻¹², which exceeds bf16's largest rounding error below g ≈
# −2.8.
#
# The width is 8 on Hopper. There a wrapper copies 8 accumulators of gate and the 8 of up into registers of shape
# ((2, 2), 2, (1, 2)) and calls your function: gate is again the first half.
#
# ## What the epilogues cost
#
# In a *cooperative* kernel the tensor cores wait for the epilogue, so your estimates should hold. In *ping-pong*, one
# warpgroup's epilogue runs under the other's main loop, and should cost nothing. A residual needs D's bytes, at 4.2
# TB/s; a gated epilogue saves half of C's, and takes one tanh for two accumulators (N counts gate and up). **Predict**
# which of these estimates fails. The next cell prints them beside the time that each epilogue adds to the plain GEMM
# *in the same configuration*, measured in turn. Compare times only between equal tiles:


# %%
def estimates(shape, plain_us):
    m, n, k = shape
    tile = 1024 * k / 64  # cycles of a 128×256 tile's main loop
    tanh, other = 128 * 256 / 16 / tile, 128 * 256 / 128 / tile  # one for each accumulator
    matrix = 2 * m * n / 4.2e6 / plain_us  # C or D, read or written
    return {
        "bias + GELU, cooperative": (tanh, tanh + 8 * other),  # the eighth adds the bias
        "residual, cooperative": (matrix,),
        "gate · up, cooperative": (-matrix / 2,),
        "SwiGLU, cooperative": (tanh / 2 - matrix / 2,),
    }


TILES = {"bias + GELU, ping-pong": "128×192", "residual, ping-pong": "128×128", "residual by TMA, ping-pong": "128×128"}
(h200,) = (swept for swept in all_sweep_results("fused_epilogues") if swept.gpu == "NVIDIA H200")
for point in sorted(h200.points, key=lambda point: point.measurement.shape):
    timed, (kernel, other) = point.measurement, point.name.split(", beside ")
    estimate = " to ".join(f"{part:+.1%}" for part in estimates(timed.shape, timed.baseline_us).get(kernel, (0,)))
    kernel = f"{kernel:27} {TILES.get(kernel, '128×256')}"
    added = f"{1 / timed.ratio - 1:+.1%} ±{timed.spread / 2:.1%}"
    if other == "the plain GEMM":
        print(f"{by(timed.shape):16} {kernel} {timed.median_us:5.0f} µs, estimate {estimate:14} measured {added}")
    else:
        print(f"{by(timed.shape):16} {kernel} beside *{other}*: {added}")

# %% [markdown]
# GELU is within its range, the gated epilogues within 0.4 points of their estimates. *gate · up*, SwiGLU without silu,
# shows the saved stores alone; with its tanh, SwiGLU is still faster than the plain GEMM. Ping-pong hides all of GELU
# but 1.1% and 0.4%.
#
# The residual fails. It costs 1.6 and 1.8 times D's bytes in a cooperative kernel, and 3.9% and 2.0% in ping-pong,
# where it should cost nothing. Do the tensor cores wait for the latency of its loads, which an epilogue issues when the
# accumulators are ready? In *by TMA* each warp loads its share of a tile of D before that tile's main loop, into the
# buffers from which C leaves later. Compared with the same kernel that loads D in its epilogue, it takes 1.8% and 0.9%
# less: loading early, by TMA, saves a little less than half of the cost.
#
# The next table has the configurations that the course's model chose, such as a 128×176 ping-pong tile for GELU at
# 4096×14336×4096, beside torch.compile, cuBLAS and cuBLASLt's own epilogue. For a residual, *cuBLAS* is `torch.addmm`,
# which first copies D to C; *cuBLAS in place* is `d.addmm_`, where D may be overwritten. Above 1 the fused kernel is
# faster.

# %%
show_sweep("fused_rivals")

# %% [markdown]
# Fused GELU is 15% and 11% faster than torch.compile, and 5% and 1% faster than cuBLASLt's. SwiGLU is 18% and 7.5%
# faster than eager torch, a weaker rival: notebook 19 has torch.compile. A residual beats `torch.addmm` only because of
# the copy: cuBLAS in place is 6% faster at 4096×14336×4096, and level at 8192³. So fuse what saves a pass over C, and
# leave a residual that may be overwritten to cuBLAS.
#
# On a Hopper GPU, the next cell times your own `bias_gelu` and `gated` at 4096×14336×4096, each in turn with one rival
# per row:

# %%
gelu_kernel, gate_kernel = with_epilogue(bias_gelu), with_gate(gated)

# %%
show_fused_speeds(gelu_kernel, gate_kernel)

# %% [markdown]
# ## An epilogue of your own
#
# To convert C to FP8 you need a scale, and for it the largest |C| of the matrix, which is known only when the GEMM is
# over: in time for the scale of the next training step (*delayed scaling*). Each block finds the maximum of its tile,
# and a second, tiny kernel reduces these.
#
# **Exercise 18.5** (about 20 lines). From an empty cell, write `tile_amax(a, b, amax)`, a `@cute.jit` host function,
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
# | `gC = acc.gC` | the block's tile of c; take it out first: inside an `if`, `acc.gC[…] = …` assigns to `acc` |
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
check("18.5", tile_amax)

# %% [markdown]
# With strides of 0, all elements of a tile have one address, so thread 0 may write any of them. Each warp writes its
# maximum to shared memory, and thread 0 reads all four after the barrier.
#
# ## What to remember
#
# - An epilogue is a function of values in registers, and rounding comes last.
# - Partition an operand's matrix like C; a stride of 0 turns a vector into a matrix.
# - If one thread needs two columns of the result, reorder the weights so that it gets both.
# - Estimate an epilogue by its special functions and its bytes, relative to a tile's main loop. A matrix operand costs
#   more.
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
# product would need a shuffle. With 16, two groups are gate and the next two are up: that works, with other indices, if
# the tile's N is a multiple of 32. <code>show_gate(16, 4)</code> draws both.
#
# </details>
#
# <details><summary>3. At g = −6, the course's silu may be off by 10%. Why, and which form avoids it?</summary>
#
# 1 + tanh(g/2) is a small difference, but has all of tanh's error. g / (1 + e⁻ᵍ) cancels nothing; it takes one special
# function more.
#
# </details>
