# ---
# jupyter:
#   tutorlib:
#     minutes: 125
#     appendix: 15
#     summary: Epilogues as functions, SwiGLU in one GEMM, kernels as operators that torch knows, an MLP over two GPUs.
# ---

# %% [markdown]
# # 16 · Fusion: from a GEMM to a layer
#
# A model rarely needs A · Bᵀ alone. In a layer, a bias, an activation or a residual follows the product. A separate
# kernel reads and writes all of C for it: at 4,096 tokens and 14,336 features, as in Llama 3 8B, that is 235 MB, an
# estimated 56 µs on an H200, where the GEMM takes about 600 µs. In the epilogue, C is already in registers.
#
# On this page you move that work into the epilogue, and make your kernels layers of a Llama MLP.
#
# > **After this page you can** write an epilogue as a function of a thread's values and fetch its operands, fuse a
# > gate by reordering the weights, derive the gradients of a fused layer as GEMMs, register a kernel as an operator of
# > torch and put it into a model, and split an MLP's weights so that its GPUs need one all-reduce. After the appendix,
# > you can also reduce over a block in an epilogue.
# >
# > **It takes** about 125 minutes, and its appendix about 15 more, on any machine: without a GPU, kernels are
# > simulated. A Hopper GPU times them. Do the exercises in the order of the page, not of their numbers.

# %%
import cutlass
import cutlass.cute as cute
import torch
from cutlass import Float32

from tutorlib import TensorSpec, check, compile_cute, opcodes, show_costs, show_layout, show_source
from tutorlib.notebook.fused_kernels import (
    Accumulators, FusedStores, Fusion, GatedStores, KernelLinear, LlamaMLP, before_gate, choose, linear,
    make_elementwise, multiply, show_fused_speeds, with_epilogue, with_gate,
)  # fmt: skip

# %% [markdown]
# ## Values, not memory
#
# A `cute.Tensor` refers to memory: a pointer and a layout. `.load()` returns something else, a **TensorSSA**: a
# thread's numbers as an immutable *value*, with a shape and a dtype. Operators make new values from old ones, element
# by element; `.store(values)` writes them to a tensor.
#
# | | |
# |---|---|
# | `x + y`, `0.5 * x`, `-x` | element by element; a scalar is broadcast |
# | `x > 0.0` | a boolean per element; no branch |
# | `cute.where(x > 0.0, x, y)` | selects, element by element |
# | `cute.math.tanh(x)`, `exp`, `rsqrt` | of each element; `fastmath=True` makes them faster and less accurate |
# | `x.to(BFloat16)` | converted, rounded to nearest even |
# | `x.reduce(cute.ReductionOp.ADD, 0.0, 0)` | their sum, starting from 0.0; the last 0: over all modes; also `MAX` |
# | `x.broadcast_to(shape)`, `x.reshape(shape)` | as in NumPy |
#
# SSA is static single assignment, the form in which compilers represent programs. There is no loop to unroll: you write
# an expression, and the compiler optimizes it. The next cell counts the instructions for four elements. ReLU is a
# comparison and a select. **Predict**: how many instructions does an element take, and how many branches?

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
# The comparison and the select have become one `max` for each element. The branch is the kernel's own. In the second
# line, most of the `fma`s belong to `exp`, which is more than one `ex2` without `fastmath`. The assembler makes several
# instructions of each `div`.
#
# Special functions are the expensive part of an epilogue: an SM executes 128 fp32 additions or multiplications per
# cycle, but only 16 special functions, so one `tanh.approx` costs as much as eight multiplications.
#
# The relative error of `tanh.approx` is at most 2⁻¹¹ (PTX ISA). Where tanh is near 1, that is harmless, since rounding
# to bf16 alone costs up to 2⁻⁸. In GELU's left tail it is not: at x = −3, 1 + tanh is about 0.0024, and an error of
# 2⁻¹¹ is a fifth of that. But the result there is −0.004, and its absolute error at most 0.0007; at x = −5 it is at
# most 0.0012.
#
# **Exercise 16.1** (about 2 lines). GELU in its tanh form:
#
# > gelu(x) = x/2 · (1 + tanh(√(2/π) · (x + 0.044715 · x³)))
#
# Write `gelu(x)` for values in fp32; √(2/π) is 0.7978846. The erf form, which this one approximates, passes too. Some
# of the check's x are large: if you write tanh with exponentials, what happens at x = 30?


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
# At x = 30, tanh's argument u is so large that e²ᵘ overflows to ∞. Written as (e²ᵘ − 1) / (e²ᵘ + 1), tanh becomes ∞/∞,
# which is NaN; as 1 − 2 / (e²ᵘ + 1) it becomes 1, as it should.
#
# Now estimate what GELU costs a tile. A tile of 128×256 has 32,768 results; at 16 special functions per cycle, their
# tanh alone takes 2,048 cycles. At the datasheet's rate the tensor cores take 1,024 cycles for a K tile of 64, so with
# K = 4096 the tile takes 65,536: tanh adds 3% if the tensor cores wait for it.
#
# The other instructions, seven per element if you write the formula as it stands, take 1,792 cycles at 128 per cycle.
# Other units execute them, so they can overlap with tanh; without any overlap they add nearly 3% more. Notebook 14's
# ping-pong can keep the tensor cores busy meanwhile.
#
# ## Where the bias is
#
# The next goal is GELU(A · Bᵀ + bias). The bias has N numbers, and a thread's accumulators are scattered over rows and
# columns of the tile: which number belongs to which accumulator? In notebook 09, `partition_C` found the accumulators'
# places in C. It works on any matrix of C's shape, and you can view the bias as one whose rows are all the same. That
# takes no copy, only a layout.
#
# **Exercise 16.2** (about 2 lines). Write `every_row(bias, rows)`, which returns a tensor of shape (rows, N) over the
# memory of `bias` (N,), in which every row is the bias. `cute.make_tensor(iterator, layout)` makes it.


# %%
def every_row(bias, rows):
    ### BEGIN SOLUTION (about 2 lines)
    columns = cute.size(bias)
    return cute.make_tensor(bias.iterator, cute.make_layout((rows, columns), stride=(0, 1)))
    ### END SOLUTION


# %%
check("16.2", every_row)

# %% [markdown]
# With a stride of 0, the coordinate moves and the offset does not. The picture shows (4,8):(0,1):

# %%
show_layout("(4,8):(0,1)")

# %% [markdown]
# The kernel around your function is notebook 09's, with a small tile of 64×64 to keep the simulator fast. It partitions
# this matrix, called D, exactly as it partitions C: `local_tile`, notebook 09's permutation of the columns,
# `partition_C`. The result, tCgD, has the address of D's element for each of a thread's accumulators.
#
# ## An epilogue is a function
#
# The work between the accumulators and the store becomes a parameter of the kernel, `op`. In the code, `acc` is a
# thread's share of the tile: `acc.tCrC` are its accumulators, and `acc.tCgD` is its share of D in memory. `fetch` loads
# that share into fp32 registers, and `store`, notebook 09's, rounds `acc.tCrC` and writes it to C.

# %%
show_source(Fusion)

# %% [markdown]
# `op` takes values and returns values. The compiler inlines it, so there is no call to pay for. If `op` ignores its
# operand, the compiler also removes the loads of `fetch`.
#
# **Exercise 16.3** (about 1 line). Write `bias_gelu(acc, bias)`: both are a thread's values in fp32, of the same shape.


# %%
def bias_gelu(acc, bias):
    ### BEGIN SOLUTION (about 1 line)
    return gelu(acc + bias)
    ### END SOLUTION


# %%
check("16.3", bias_gelu)

# %% [markdown]
# As three torch operators, the same layer rounds three times. Your epilogue rounds once, and the check's bound allows
# no more.
#
# ## A residual, and the edges
#
# In a residual block, C = A · Bᵀ + D, where D (M, N) is the block's input. Now every element needs a load of its own,
# and the loads must stop at the edges of C: beyond them, the memory belongs to another tensor.
#
# **Exercise 16.4** (about 6 lines). Write `fetch(acc)`, which returns fp32 registers in the shape of `acc.tCrC`, loaded
# from `acc.tCgD` and converted. `cute.make_rmem_tensor(shape, Float32)` makes registers. Do not load elements outside
# C; their registers may hold anything, since they are never stored. `acc.coordinates` has the (row, column) of each
# element, `acc.shape` is C's shape, and `cute.elem_less` compares the two.
#
# tCrC, tCgD and coordinates all take a single index, from 0 to `cute.size(…)` − 1. How many accumulators a thread has
# is known at compile time; which of them are inside C is not.


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
# This is correct, but slow: one 2-byte load per element. Where all tiles are full, the course's `fetch` loads 8
# adjacent columns at once, with `cute.autovec_copy`.
#
# On Hopper, a wgmma gives a thread two adjacent columns of a row, the same columns 8 rows below, then the same in the
# next group of 8 columns (notebook 13's picture). So the course loads D in pairs of bf16, with `pair`. It loads a bias
# once for both rows, with the layout (2,2,2):(1,0,2): columns, rows, groups. Here is the stride of 0 again, this time
# in registers.

# %%
show_source(FusedStores.of_row)

# %% [markdown]
# ## SwiGLU: two columns become one
#
# A Llama MLP is down(silu(gate(x)) · up(x)), where silu(g) = g / (1 + e⁻ᵍ). Here · multiplies element by element, and
# gate, up and down are linear layers without biases: x is (tokens, hidden), the weights of gate and up are (features,
# hidden), and down's is (hidden, features). silu(gate(x)) · up(x) is called SwiGLU.
#
# gate(x) and up(x) are GEMMs with the same A, so one GEMM with B = gate stacked on up computes both. But then column j
# of gate(x) and column j of up(x) are in different blocks, and their product needs both in one *thread*.
#
# Move the weights, not the results. B's rows may be in any order: take `width` rows of gate, then the same rows of up,
# then the next `width` rows of gate. The accumulator layout determines the width:
#
# - In notebook 09's kernel, which the checks simulate, a warp steps along N by 32 columns, and a tile of 64 has two
#   steps. With width 32, the first half of a thread's accumulators is gate and the second half is up, for the same
#   columns.
# - On Hopper, a thread has two columns in every group of 8. With width 8, the groups alternate between gate and up, for
#   every tile whose N is a multiple of 16.
#
# **Exercise 16.6** (about 1 line). Write `interleaving(features, width)`: (shape, stride) of the layout that maps a row
# of the interleaved matrix to a row of gate stacked on up, where row r < features is gate's and row features + r is
# up's. Both are tuples of three numbers, the fastest mode first. `width` divides `features`.


# %%
def interleaving(features, width):
    ### BEGIN SOLUTION (about 1 line)
    return (width, 2, features // width), (1, features, width)
    ### END SOLUTION


# %%
check("16.6", interleaving)

# %% [markdown]
# In torch this takes views and one copy, once, when you load the model: view both as (features / width, width, K), and
# `torch.stack` them along a new dimension 1.
#
# **Exercise 16.7** (about 6 lines). Write `gated(tCrC)`. tCrC holds a thread's accumulators in fp32 registers of shape
# (pairs, atoms, (neighbors, rest)), compact, with the first mode fastest. `pairs` is a pair of columns in each of two
# rows, and `atoms` counts the atoms along M. Along N, `neighbors` counts the 4 atoms of a warp's step, and `rest` its
# steps: the first half of `rest` is gate, and the second half is up.
#
# Return fp32 registers of shape (pairs, atoms, (neighbors, rest // 2)) with silu(gate) · up.
# `cute.make_tensor(tCrC.iterator + n, layout)` is a tensor that begins n elements later. Again, some of the check's
# numbers are large.


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
check("16.7", gated)

# %% [markdown]
# g / (1 + e⁻ᵍ) is safe for large numbers: where e⁻ᵍ overflows to ∞, the result is −0. g · eᵍ / (1 + eᵍ) is the same
# function, but becomes NaN where eᵍ overflows. The course's `gated` uses a third form, g/2 · (1 + tanh(g/2)), in which
# one tanh takes the place of an `ex2` and a `div`. At g = −10, tanh's 2⁻¹¹ allows an error of 0.0024, where silu is
# −0.0005.
#
# gate(x) and up(x) never reach memory. At 4,096 tokens and 14,336 features each is 117 MB in bf16, so writing and
# reading both would be 470 MB of traffic. If silu is a separate kernel, writing and reading its result adds 235 MB: 705
# in all.
#
# On Hopper the epilogue turns 16 accumulators into 8 results, and C's tile is half as wide. In a group of 8 columns a
# thread has 4 accumulators, and two groups make one group of results. So the 16 have the shape (4, 2, 2): accumulators,
# gate or up, groups of results. `first` is the number of the first of the 8 results.

# %%
show_source(GatedStores)

# %% [markdown]
# ## What the epilogues cost
#
# The table times fused kernels in turn with a baseline. Each such pair of runs gives a ratio, *speed* is the median of
# the ratios, and *time added* is 1 / speed − 1. Between short rounds the GPU rests (*cool*). The times are less exact
# than the ratios: on the H100, the same SwiGLU kernel takes 598 and 594 µs.
#
# *configuration* has notebook 14's terms: the schedule, a tile's M×N, the cluster, and stream-K. If a row's name has no
# comma, the course's function `choose_fused` chose it. A shape is M×N×K, and 8192 means that all three are 8192. For
# SwiGLU, N counts gate's and up's columns together, so N = 14336 is half of Llama's layer.
#
# - *the plain GEMM* is notebook 14's, whose epilogue only rounds.
# - *torch.compile* compiles GELU(A · Bᵀ + bias) in its default mode. cuBLASLt's own GELU epilogue is not compared.
# - *cuBLAS* is `torch.addmm`: torch copies D to C, and cuBLAS computes A · Bᵀ + beta · C in place, with beta = 1.
# - *torch* runs two GEMMs for SwiGLU, and a kernel each for silu and the product.
#
# You have an estimate for GELU. With K = 8192 it is half as large: 1.6% for tanh alone, 2.9% if nothing overlaps. For
# the residual, take the bandwidth: at 8192, D is 134 MB, which an H100 loads in 45 µs at notebook 05's 2.98 TB/s, and
# an H200 in 32 µs at 4.20 TB/s. That is 3.3% and 2.4% of the plain GEMM's time. **Predict**: which of the two will cost
# more than its estimate? And what will SwiGLU cost, which stores half as much as the plain GEMM?

# %%
show_costs("fused_epilogues")

# %% [markdown]
# Some rows at 8192 have the plain GEMM's configuration, so only the epilogue differs:
#
# - *bias + GELU, cooperative* adds 2.4% on the H100 and 2.2% on the H200, between your two numbers.
# - *residual* adds 5.3% and 4.2%, at least one and a half times the estimate. In a cooperative kernel all warpgroups
#   reach the epilogue together, so they probably wait for the latency of their loads as well.
# - *SwiGLU* is 0.6% and 0.7% faster. It needs one tanh for two accumulators, half of GELU's 1.6%; storing half as much
#   probably saves more.
#
# Ping-pong hides much of GELU: one warpgroup's epilogue overlaps the other's multiplications. *bias + GELU* is such a
# kernel, and adds 1.1 to 1.4% at both shapes. *bias + GELU, ping-pong* is the same kernel without stream-K, and at
# 4096×14336×4096 it adds 5%. The difference is the last wave: 2,400 tiles of 128×192 are 18.2 waves of 132 SMs and take
# the time of 19, 4.5% more. At 8192 there are 20.8 waves, which take 21, and stream-K hardly matters.
#
# GELU and SwiGLU are 8 to 21% faster than torch's separate kernels. The residual is 3 to 5% faster than `torch.addmm`,
# but only because of the copy. At 4096×14336×4096 it moves 235 MB, which takes the H100 79 µs at 2.98 TB/s. Without it,
# cuBLAS would take 1.052 · 666 − 79 = 622 µs, less than our kernel's 666.
#
# The plain GEMM's configuration is what notebook 14's `choose` returns:

# %%
for shape in ((4096, 14336, 4096), (8192, 8192, 8192)):
    plain = choose(*shape)
    print(shape, plain.schedule, plain.tile, "cluster", plain.cluster, "stream-K" if plain.stream_k else "")

# %% [markdown]
# At 4096×14336×4096 the residual adds 11.5% on the H100 and 8.9% on the H200, twice as much as at 8192. A tile's
# epilogue is the same there, and its main loop takes half the time. Llama's residual belongs to down, 4096×4096×14336:
# D is 34 MB there, 8 µs at 4.2 TB/s, with as many multiplications.
#
# The row *residual, ping-pong, no clusters* is a warning. At 4096×14336×4096 notebook 14's model expects it to be the
# fastest for a residual, and it is the slowest row everywhere. A likely reason, not tested here: blocks without a
# cluster share data in L2 only while they run in step, and they fall out of step when each waits for its own rows of D.
# The model was fitted to plain GEMMs, so `choose_fused` requires clusters if an op reads a matrix.
#
# <details><summary>What else does <code>choose_fused</code> know of an op?</summary>
#
# It adds your estimate of the epilogue to the time that notebook 14's model predicts: all of it for cooperative
# warpgroups, and nothing for ping-pong, as long as the epilogue is shorter than a tile's main loop. If the op takes
# more than 1.5% of the time, it prefers ping-pong among all configurations within 3% of the fastest. So at 8192 it
# chooses ping-pong for GELU, and `choose` a cooperative kernel for the plain GEMM. It also counts the op's registers:
# in a tile of 128×208 GELU would spill, so it gets 128×192.
#
# </details>
#
# ## A layer that torch treats as its own
#
# A kernel behind a Python function works until you call `backward()`, `torch.compile` or `autocast`. Each of them needs
# to know something about the kernel, and you register that with an **operator**, a **custom op**, which
# `torch.library.custom_op` makes:
#
# | caller | you register | which is |
# |---|---|---|
# | eager mode | `custom_op(name, forward, mutates_args=())` | the function itself, which launches the kernel |
# | `torch.compile`, `torch.export` | `register_fake(fake)` | shape, dtype and device of the result, without data |
# | autograd | `register_autograd(backward, setup_context=keep)` | the backward, built from operators |
# | `autocast` | `register_autocast(device, dtype)` | the dtype to cast to |
# | `torch.cuda.graph` | nothing | but the launch must use the current stream and must not synchronize |
#
# You write all of these for GELU(x · Wᵀ + bias) with your own epilogue, beginning with the backward.
#
# ### The backward: two more GEMMs
#
# First without bias and GELU: y = x · Wᵀ, so y_mn = Σ_k x_mk · w_nk. Autograd gives you grad_mn = ∂L/∂y_mn. Then
#
# > ∂L/∂x_mk = Σ_n grad_mn · w_nk  and  ∂L/∂w_nk = Σ_m grad_mn · x_mk
#
# Our GEMM sums over the *last* mode of both matrices. In the first gradient the sum runs over n, grad's last mode and
# W's first; in the second it runs over m, the first mode of both. So the first GEMM has one transposed operand, and the
# second has two. A kernel that requires contiguous rows, as notebook 13's does, needs transposing copies of them.
#
# wgmma takes bf16 operands from shared memory K-major or MN-major, so the course's kernel reads transposed operands as
# they are. In the exercise `gemm` is like notebook 13's, so that you see which copies the course's kernel saves.
#
# **Exercise 16.8** (about 5 lines). Write `linear_backward(grad, x, weight, gemm)`, which returns (∂L/∂x, ∂L/∂weight).
# x is (…, in) with two or more dimensions, weight (out, in), grad (…, out). `gemm(a, b)` is A · Bᵀ of two matrices with
# contiguous rows, and raises an error for others. Call it twice, and use torch only for views and for the copies that
# `gemm` needs.


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
# ### What fusion did not keep
#
# Now with the epilogue: y = gelu(z), where z = x · Wᵀ + bias. By the chain rule ∂L/∂z = grad · gelu′(z), and from z
# down it is the linear layer again. But gelu′ needs z, which existed only in registers. There are two ways to get it
# back, with these prices at 4,096 tokens and 14,336 features:
#
# - The kernel stores z along with y, and the backward reads it. That keeps 117 MB a layer in memory, and takes about 56
#   µs at 4.2 TB/s.
# - The backward computes x · Wᵀ again, a third GEMM. That takes no memory, and about 600 µs.
#
# You compute it again, because then the kernel needs no second output; it is right if memory is what you lack.
#
# **Exercise 16.12** (about 6 lines). Write `linear_gelu_backward(grad, x, weight, bias, gemm)`: the gradients of x,
# weight and bias (out,) as a tuple. GELU has its tanh form, tanh′ = 1 − tanh², and `gemm` is that of `linear_backward`.
# The checker's tensors are fp64. Call `gemm` three times in all; your `linear_backward` makes two of the calls. For the
# third, x may need a copy, too. The rest is elementwise, and one sum.


# %%
def linear_gelu_backward(grad, x, weight, bias, gemm):
    ### BEGIN SOLUTION (about 6 lines)
    z = gemm(x.flatten(0, -2).contiguous(), weight).view(grad.shape) + bias
    tanh = torch.tanh(0.7978845608028654 * (z + 0.044715 * z**3))
    inner = 0.7978845608028654 * (1 + 3 * 0.044715 * z**2)  # the derivative of tanh's argument
    dz = grad * (0.5 * (1 + tanh) + 0.5 * z * (1 - tanh**2) * inner)
    return *linear_backward(dz, x, weight, gemm), dz.flatten(0, -2).sum(0)
    ### END SOLUTION


# %%
check("16.12", linear_gelu_backward)

# %% [markdown]
# In bf16, 1 − tanh² would lose its digits where tanh is near ±1: there, convert z and grad to fp32 for the elementwise
# part, and dz back. `before_gate`, below, does so.
#
# You could fuse the elementwise part, too: grad · gelu′(z) is an epilogue of the GEMM that computes z, with grad as its
# operand, like the residual's D.
#
# ### The fake: what is known without data
#
# When torch.compile traces a model, tensors have shapes and no data; sizes may be symbols, `s0` instead of 5. Each
# operator must state the shape, dtype and device of its result: the function that does so is its **fake**. A fake that
# reads data fails, and so does one that calls a kernel. A fake that asks for a size's *value* makes torch recompile for
# each new size. A wrong fake is the worst: the compiler trusts it.
#
# **Exercise 16.9** (about 1 line). Write `linear_fake(x, weight)`: a new tensor like the result of a linear layer,
# contiguous, without computing anything.


# %%
def linear_fake(x, weight):
    ### BEGIN SOLUTION (about 1 line)
    return x.new_empty(*x.shape[:-1], weight.shape[0])
    ### END SOLUTION


# %%
check("16.9", linear_fake)

# %% [markdown]
# ### The registration
#
# `custom_op` reads the types of the arguments and of the result from forward's annotations. `mutates_args` names the
# arguments that forward writes to. For autograd torch calls two functions. `setup_context(ctx, inputs, output)` runs
# after forward and keeps what the backward will need; `inputs` is a tuple of all the operator's arguments.
# `backward(ctx, grad)` returns one gradient per input.
#
# Tensors kept with `ctx.save_for_backward(*tensors)` come back as `ctx.saved_tensors`, and backward raises an error if
# one was changed in place in the meantime. If a tensor is kept as an attribute of ctx, backward silently uses the new
# numbers.
#
# **Exercise 16.13** (about 8 lines). Write `register(name, forward, fake, backward)`, which makes the operator `name`
# ("namespace::name") with everything in the table, and returns it. `forward` and `fake` take the operator's inputs, all
# of them tensors; `backward` takes (grad, *inputs) and returns their gradients. Under autocast the operator casts to
# bf16, on the CPU and on CUDA devices; `register_autocast` registers one device type per call.


# %%
def register(name, forward, fake, backward):
    ### BEGIN SOLUTION (about 8 lines)
    operator = torch.library.custom_op(name, forward, mutates_args=())
    operator.register_fake(fake)

    def keep(ctx, inputs, output):
        ctx.save_for_backward(*inputs)

    operator.register_autograd(lambda ctx, grad: backward(grad, *ctx.saved_tensors), setup_context=keep)
    for device in ("cpu", "cuda"):
        operator.register_autocast(device, torch.bfloat16)
    return operator
    ### END SOLUTION


# %%
check("16.13", register)

# %% [markdown]
# Now register your own kernel. `with_epilogue(bias_gelu)` puts your epilogue into a GEMM and returns a function of
# torch tensors. In bf16 a Hopper GPU runs it in notebook 14's kernel, and the CPU simulates it in notebook 09's, as
# your checks do. These kernels do not take fp32 or fp64: there torch computes GELU(x · Wᵀ + bias).
#
# How does a kernel become a function of torch tensors? On a Hopper GPU these lines of the course do it, abridged:
#
# ```python
# @cache
# def compile_fused(config, fusion, rank):
#     stream = make_fake_stream(use_tvm_ffi_env_stream=True)
#     gemm, options = make_fused(config, fusion), f"--gpu-arch {ARCH} --enable-tvm-ffi"
#     return cute.compile(gemm, *fused_fakes(config, fusion, rank), Int32(1), stream, options=options)
#
#
# def launch_fused(fusion, a, b, operand, c, config):
#     compiled, clusters = compile_fused(config, fusion, operand.ndim), max_clusters(config.cluster_size)
#     compiled(a, b, operand, c, *scratch(config, clusters), clusters)
# ```
#
# `fused_fakes` are tensors without data or sizes, so the kernel is compiled once for all shapes. TVM-FFI (notebook 17)
# converts torch's tensors during the call, without copying them, and launches on torch's current stream. `scratch` is
# stream-K's workspace, which stays allocated. Nothing synchronizes.
#
# The backward calls `linear`, the course's operator for A · Bᵀ, which is registered like yours. It has to be an
# operator, because torch.compile traces the backward without data, too. `linear` flattens x to a matrix and calls
# `multiply`, in the next cell: notebook 14's `gemm` on a Hopper GPU, and torch for what `gemm` cannot take. It reads
# transposed views as they are, but your `linear_backward` copies them. To train with this layer, write a second version
# without `.contiguous()`.

# %%
show_source(multiply)

# %%
from torch import Tensor, nn

# %%
gelu_kernel = with_epilogue(bias_gelu)


def forward(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    rows = x.reshape(-1, x.shape[-1])
    return gelu_kernel(rows, weight, bias).view(*x.shape[:-1], weight.shape[0])


def fake(x, weight, bias):
    return linear_fake(x, weight)


def backward(grad, x, weight, bias):
    return linear_gelu_backward(grad, x, weight, bias, linear)


linear_gelu = register("page16::linear_gelu", forward, fake, backward)

# %% [markdown]
# `torch.library.opcheck` tests four things: that no input is modified in place or returned, that autograd is registered
# where torch expects it, that the fake agrees with the real result, and that forward and backward can be traced with
# symbolic sizes. `gradcheck` compares the backward with finite differences in fp64. The backward is made of operators,
# so torch can differentiate it in turn, and `gradgradcheck` checks the result.

# %%
x, weight, bias = (torch.randn(shape, requires_grad=True) for shape in ((2, 3, 8), (16, 8), (16,)))
for question, verdict in torch.library.opcheck(linear_gelu, (x, weight, bias)).items():
    print(f"{question}: {verdict}")
wide = [tensor.detach().double().requires_grad_() for tensor in (x, weight, bias)]
print("first derivatives: ", torch.autograd.gradcheck(linear_gelu, wide))
print("second derivatives:", torch.autograd.gradgradcheck(linear_gelu, wide))

# %% [markdown]
# These tests ran in fp32 and fp64, where torch computes the result: they test your backward, your fake and your
# registration, but not your kernel.
#
# The next cell compiles a function that contains the operator. `fullgraph=True` raises an error where torch would have
# to leave the graph and go back to Python (a *graph break*). The backend `aot_eager` traces forward and backward as the
# default one does, but generates no code. Then autocast converts fp32 to bf16, so your epilogue runs, in the simulator.
# In the last line, compare the error with half the distance between adjacent bf16 numbers at the largest result, which
# is what rounding it may cost: from 4 to 8, that is 2⁻⁶.


# %%
from torch.nn import functional


def by_torch(x, weight, bias):
    return functional.gelu(functional.linear(x, weight, bias), approximate="tanh")


def loss_of(layer):
    return lambda *tensors: layer(*tensors).square().mean()


compiled = torch.compile(loss_of(linear_gelu), fullgraph=True, backend="aot_eager")
mine, theirs = (torch.autograd.grad(loss(x, weight, bias), weight)[0] for loss in (compiled, loss_of(by_torch)))
print(f"compiled, weight's gradient: off by {float((mine - theirs).abs().max()):.1e}")
with torch.no_grad(), torch.autocast("cpu", torch.bfloat16):
    mine, theirs = linear_gelu(x, weight, bias), functional.linear(x, weight, bias)
    exact = by_torch(*(tensor.double() for tensor in (x, weight, bias)))
print(f"under autocast: {mine.dtype}, and nn.Linear {theirs.dtype}")
print(f"your epilogue in bf16: off by {float((mine - exact).abs().max()):.1e} of {float(exact.abs().max()):.2f}")

# %% [markdown]
# The compiled gradient and torch's, both in fp32, differ only by rounding. Your epilogue's error may exceed half the
# distance, because x, weight and bias were rounded, too, by up to 2⁻⁸: about 2⁻⁷ of each product.
#
# ### Into a model
#
# A model has hundreds of nn.Linear modules, and you want to replace them without touching its code. `KernelLinear` is a
# subclass of it with the same constructor and parameters; its forward calls `linear`.
#
# **Exercise 16.10** (about 8 lines). Write `use_kernels(module)`: replace every nn.Linear below the module, at any
# depth, with a KernelLinear, and return the module. Parameters stay the same objects, to which an optimizer may hold
# references, names and training modes are kept, and subclasses of nn.Linear are left alone.


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
# The course's own `use_kernels` assigns each layer's `__class__` instead, which preserves hooks, and layers that a
# model uses in several places. If the kernel cannot handle a layer's size or dtype, torch computes it, with a warning.
#
# ### Your gate in a module
#
# The fused Llama MLP needs a second operator: `gated_linear(x, gate_up)` is silu(gate(x)) · up(x), where `gate_up` has
# gate's and up's rows interleaved with Hopper's width, 8. It is registered exactly like the first, with your `gated` in
# its kernel. `with_gate` gives a Hopper thread's 16 accumulators the layout that your `gated` expects. For the
# simulator it interleaves the rows with width 32. The backward, too, multiplies again instead of keeping gate(x) and
# up(x):

# %%
show_source(before_gate)

# %%
gate_kernel = with_gate(gated)


def gated_forward(x: Tensor, gate_up: Tensor) -> Tensor:
    return gate_kernel(x.reshape(-1, x.shape[-1]), gate_up).view(*x.shape[:-1], gate_up.shape[0] // 2)


def gated_fake(x, gate_up):
    return x.new_empty(*x.shape[:-1], gate_up.shape[0] // 2)


def gated_backward(grad, x, gate_up):
    return linear_backward(before_gate(grad, x, gate_up), x, gate_up, linear)


gated_linear = register("page16::gated_linear", gated_forward, gated_fake, gated_backward)

# %% [markdown]
# On a Hopper GPU, the next cell times your two kernels at 4096×14336×4096, relative to torch and to the course's
# epilogues in the same GEMMs. Expect the course's speed within 1%, since only the expressions can differ. If yours is
# slower, count the instructions of your GELU with `arithmetic`, and look for a division in your silu.

# %%
show_fused_speeds(gelu_kernel, gate_kernel)

# %% [markdown]
# The course's GELU saves multiplications: it has x · (a + b · x²) inside, and h + h · tanh with h = x/2 outside.
#
# A module holds the interleaved weights. It makes them once, from a plain MLP; from then on the optimizer trains them
# and `state_dict()` saves them.
#
# **Exercise 16.14** (about 3 and about 1 line). Complete the module `GatedMLP`. `GatedMLP(plain, gated_linear)` takes a
# `LlamaMLP`, whose layers `gate_proj`, `up_proj` and `down_proj` have no biases, and an operator. Its `forward(x)` is
# `down_proj` of `gated_linear(x, gate_up)`. Its parameters are gate_up (2 · features, hidden), interleaved with width
# 8, and what `plain.down_proj` has; it keeps nothing else of `plain`. x may have any number of dimensions.


# %%
class GatedMLP(nn.Module):
    def __init__(self, plain, gated_linear):
        super().__init__()
        ### BEGIN SOLUTION (about 3 lines)
        gate, up = (layer.weight.detach().unflatten(0, (-1, 8)) for layer in (plain.gate_proj, plain.up_proj))
        self.gate_up = nn.Parameter(torch.stack((gate, up), 1).flatten(0, 2))
        self.gated_linear, self.down_proj = gated_linear, plain.down_proj
        ### END SOLUTION

    def forward(self, x):
        ### BEGIN SOLUTION (about 1 line)
        return self.down_proj(self.gated_linear(x, self.gate_up))
        ### END SOLUTION


# %%
check("16.14", GatedMLP)

# %% [markdown]
# The next cell compares a plain MLP with both of yours: its layers swapped by your `use_kernels`, and your `GatedMLP`.
# **Predict**: how many graph breaks, which dtype under autocast, and which results will differ? Llama 3 8B has 4,096
# and 14,336 in place of 64 and 192.

# %%
torch.manual_seed(16)
plain = LlamaMLP(64, 192)
x = torch.randn(8, 64)
expected = plain(x)
expected.square().mean().backward()
down_gradient = plain.down_proj.weight.grad.clone()
fused = use_kernels(GatedMLP(plain, gated_linear))
for name, module in {"swapped": use_kernels(plain), "gated": fused}.items():
    module.zero_grad()
    y = module(x)
    y.square().mean().backward()
    off, of_gradient = (y - expected).abs().max(), (module.down_proj.weight.grad - down_gradient).abs().max()
    print(f"{name}: graph breaks {torch._dynamo.explain(module)(x).graph_break_count}", end=", ")
    print(f"off by {float(off):.1e} of {float(expected.abs().max()):.2f}, gradient by {float(of_gradient):.1e}")
    with torch.autocast("cpu", torch.bfloat16):
        y = module(x)
    print(f"  under autocast {y.dtype}, off by {float((y - expected).abs().max()):.1e}")

# %% [markdown]
# In fp32 there is no difference, because on the CPU torch computes the products of all three modules. The compared
# gradient is down's, which depends only on the gate's forward: no cell tests `gated_backward`. Of its two parts, 16.8
# checked `linear_backward`, and a `gradcheck` in tests/kernels/test_layers.py covers `before_gate`. Under
# autocast the gated one runs your kernel, in the simulator.
#
# After a first call, which compiles, a CUDA graph can capture the model, too: `gemm` launches on torch's current
# stream, does not synchronize, and keeps its workspace alive for the replay.
#
# ### Measured
#
# The table compares Llama 3 8B's MLP in bf16 with torch's in eager mode. *two GEMMs, the first gated* is what your
# `GatedMLP` computes, with the course's kernels.
#
# Where do you expect the gain, and how large can it be? Three GEMMs of 4,096 tokens are 1.44 · 10¹² operations, about 2
# ms. The kernels for silu and for the product, which the fused gate does not need, read and write 587 MB, five times
# 117. The other 117 of the 705 MB above are one store less in the GEMM's epilogue.

# %%
show_costs("mlp_forward")

# %% [markdown]
# Swapping nn.Linear gains 2 to 3%, which notebook 14's GEMM gains over cuBLAS. The gated MLP is 11% faster than torch:
# at 4,096 tokens, 2.6% is that GEMM, and 1,901 / 1,758, or 8%, is the gate. Against torch.compile it gains 7%. The gate
# saves 143 µs, and at notebook 05's 4.2 TB/s, 587 MB take 140 µs: nearly all of it is the two kernels that disappear.
# torch.compile makes one kernel of silu and the product, which still reads gate(x) and up(x).
#
# In training, the gated MLP saves memory rather than time: its backward computes gate(x) and up(x) again, two GEMMs
# more beside nine.
#
# ## Two GPUs, one all-reduce
#
# How do you split the MLP so that the GPUs communicate as little as possible? Split gate and up by rows, which are
# features: each GPU, a *rank*, computes its features for all tokens, and the activation works feature by feature. Down
# *sums* over features: each rank sums over its own, and the result is the sum over ranks. That takes one
# **all-reduce**, which adds the ranks' matrices, here (tokens, hidden), and gives every rank the sum.
#
# If you split gate by columns instead, its partial sums need an all-reduce *before* silu, since silu(a + b) is not
# silu(a) + silu(b).
#
# **Exercise 16.11** (about 6 lines). Write `shard(gate, up, down, rank, world)`, which returns the part of the three
# weights that `rank` holds, of `world` ranks: gate and up (features / world, hidden), and down (hidden, features /
# world); rank 0 has the first features. Return new tensors with contiguous rows: a view would keep the whole weight in
# memory. If `world` does not divide the features, raise a ValueError.


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
# In the backward pass every rank computes one term of x's gradient: one all-reduce again, on the other side of the MLP.
# Each rank rounds its sum to bf16 before the all-reduce.
#
# ## What to remember
#
# - An epilogue is a function of values in registers, and rounding comes last. A thread finds the operands of its
#   accumulators by partitioning their matrix like C; a stride of 0 turns a vector into a matrix.
# - If one thread needs two columns of the result, reorder the weights so that it gets both. You do it once.
# - If fusion does not store an intermediate result, the backward must compute it again.
# - A kernel becomes a layer once you register facts *about* it: a fake, a backward made of operators, an autocast
#   dtype. And it must launch on the current stream.
#
# ## Test yourself
#
# <details><summary>1. GELU's tanh costs a GEMM with K = 4096 about 3% if the tensor cores wait for it. What does it
# cost with K = 1024, and what would you change?</summary>
#
# About 12%: the epilogue takes as long as before, and the main loop a quarter of the time. Use ping-pong: one warpgroup
# multiplies while the other is in its epilogue, which hides the cost as long as the epilogue is shorter than a tile's
# main loop, except in the last wave.
#
# </details>
#
# <details><summary>2. Gate and up are interleaved with width 8 on Hopper. Would width 4 do? And width 16?</summary>
#
# With 4, the first half of a group of 8 columns is gate and the second half is up. A thread has two adjacent columns of
# a group, so it has either gate or up: the product would need a shuffle. With 16, two groups are gate and the next two
# are up, and a thread has two columns in all four: that works, with other indices, if the tile's N is a multiple of 32.
#
# </details>
#
# <details><summary>3. Your fake returns a <code>torch.empty</code> with the right shape and dtype, but always on the
# CPU. Which of the table's callers can notice, and when?</summary>
#
# Only torch.compile and torch.export, and only for tensors on a GPU: the compiler goes on with a result on the wrong
# device, and fails at the first operator that combines it with a tensor on the GPU. The others never call the fake.
# opcheck on a GPU finds it at once; opcheck on the CPU cannot.
#
# </details>

# %% [markdown]
# ## Appendix: One number for a whole tile
#
# To convert C to FP8 you need a scale, and for the scale you need the largest |C| of the whole matrix, which no
# function of single elements can compute. So each block finds the maximum of its tile, and a second, tiny kernel
# reduces these. By then the GEMM has stored C in bf16, and a later pass converts it; or it was scaled by the maximum of
# the previous training step (*delayed scaling*).
#
# An `atomicMax` on one number would do as well, since the bits of nonnegative floats are ordered like integers. But
# then that number must be reset before each launch.
#
# **Exercise 16.5** (about 8 lines). Write `largest(values, partial, thread)`: the largest |value| of the block. All its
# threads call the function. Thread 0 must return the maximum; the others may return anything. `values` are a thread's
# accumulators in fp32, a TensorSSA; `partial` is shared memory with one fp32 per warp, and `thread` is the thread's
# index. Within a warp, `cute.arch.shuffle_sync_bfly(x, offset=n)` returns x from lane (own lane XOR n), and
# `cute.arch.fmax` the larger of two values.


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
# How does thread 0 know where to store the maximum? By a stride of 0 once more. The result has one element per tile,
# R × S of them, and the surrounding kernel views it as a matrix of C's shape, ((64, R), (64, S)):((0, S), (0, 1)). All
# elements of a tile have the same address, and thread 0 stores to any of them.
