# ---
# jupyter:
#   tutorlib:
#     minutes: 105
#     summary: The same kernels in C++, where the compiler knows only what you promise it.
# ---

# %% [markdown]
# # 08 · Tiles in C++
#
# Most of the world's GPU code is C++, in code bases that will not be rewritten. *CUDA Tile C++* brings the model of the
# last two pages there: arrays, tiles, blocks, and no threads. A tile kernel can stand in the same file as ordinary CUDA
# kernels, and the compiler behind it is the one that cuTile uses.
#
# One thing is different, and this page is about it. When Python launches a cuTile kernel, it looks at your tensors
# first and tells the compiler what it saw: this pointer is a multiple of 16 bytes, so is that stride. A C++ kernel is
# compiled before there is any tensor. Whatever the compiler shall know, **you** say in the source; and a GEMM that
# says nothing runs at a small fraction of cuBLAS's speed, though every line of it is right.
#
# You write C++ as a string: each answer is a Python function that returns the source. `check` compiles it with the
# `nvcc` that came with this course, looks at what became of it, and runs it; where there is no GPU it simulates it. No
# CUDA installation is needed, only a C++ compiler for nvcc's preprocessor.
#
# > **After this page you can** write a tile kernel in C++, tell the compiler what it cannot know, read its remarks,
# > and put a kernel and the code that launches it into a program of your own.
# >
# > **It takes** about 105 minutes, on any machine with a C++ compiler; a GPU adds the speed.

# %%
import re

import torch

from tutorlib import check
from tutorlib.compiling.cpp import HEADER, compile_cpp
from tutorlib.compiling.errors import CompileFailed
from tutorlib.draw import show_block_order
from tutorlib.kernels.cpp.gemm import PROMISES, SILENT, WAYS, Variant
from tutorlib.kernels.cpp.vector_add import in_tiles
from tutorlib.measuring.counters import BLOCK_SIZE, STALLED, TENSOR_BUSY
from tutorlib.models.l2 import grouped, raster
from tutorlib.notebook.measured import show_ladder
from tutorlib.notebook.tile_cpp import race, write_program
from tutorlib.notebook.trials import run_cpp

# %% [markdown]
# ## A whole kernel
#
# Each source on this page begins after these lines, so you need not write them:

# %%
print(HEADER)

# %% [markdown]
# And this is a kernel. Compare it with `double` of notebook 06:
#
# - `__tile_global__` marks what `@ct.kernel` marks in Python. The parameters are plain pointers and numbers.
# - A **`tensor_span`** is a pointer with a shape, `ct::extents`, row-major unless you say otherwise. In Python the
#   array knew its shape; here you attach it.
# - A **`partition_view`** cuts the span into tiles of one `ct::shape`. `256_ic` is a number that is known at compile
#   time; tile sizes are powers of two here as well.
# - `X.load_masked(i)` is tile number i; what lies outside the span is padded, with zeros by default.
#   `Y.store_masked(tile, i)` drops what lies outside. The plain `load` and `store` are for tiles that lie inside as a
#   whole: there you promise it, and nothing checks it. (The compiler of CUDA 13.4 makes the same code of both here, so
#   neither does `check`. The language does not promise that.)
#
# The host starts one *tile block* for each tile, in C++ with the brackets that every CUDA programmer knows:
#
#     twice<<<4, 1>>>(x, y, n);
#
# That is 4 tile blocks of 1 thread. How many threads a block really has, the compiler decides; the launch says 1.
# `run_cpp` below does the same from Python, and at the end of the page you write the launch in C++.

# %%
twice = r"""
__tile_global__ void twice(const float* x, float* y, int n) {
    auto X = ct::partition_view{ct::tensor_span{x, ct::extents{n}}, ct::shape{256_ic}};
    auto Y = ct::partition_view{ct::tensor_span{y, ct::extents{n}}, ct::shape{256_ic}};
    int i = ct::bid().x;
    Y.store_masked(2.0f * X.load_masked(i), i);
}
"""

x = torch.arange(1000, dtype=torch.float32)
x = x.cuda() if torch.cuda.is_available() else x
y = torch.full_like(x, torch.nan)
if run_cpp(twice, (4,), x, y, len(x)):
    print("y is 2x:", torch.equal(y, 2 * x))

# %% [markdown]
# nvcc's complaints about templates are long. Where the course knows what one means it says that, with your line, and
# `check` quotes nvcc below:

# %%
try:
    compile_cpp(twice.replace("256_ic", "96_ic"))
except CompileFailed as error:
    print(error)

# %% [markdown]
# **Exercise 08.1** (about 10 lines). Write the kernel
#
#     __tile_global__ void vector_add(const float* a, const float* b, float* c, int n)
#
# with c = a + b, for any n. It is launched with one block for every 1,024 elements: (n + 1023) / 1024 of them.


# %%
def vector_add():
    ### BEGIN SOLUTION (about 10 lines)
    return r"""
    __tile_global__ void vector_add(const float* a, const float* b, float* c, int n) {
        auto A = ct::partition_view{ct::tensor_span{a, ct::extents{n}}, ct::shape{1024_ic}};
        auto B = ct::partition_view{ct::tensor_span{b, ct::extents{n}}, ct::shape{1024_ic}};
        auto C = ct::partition_view{ct::tensor_span{c, ct::extents{n}}, ct::shape{1024_ic}};
        int i = ct::bid().x;
        C.store_masked(A.load_masked(i) + B.load_masked(i), i);
    }
    """
    ### END SOLUTION


# %%
check("08.1", vector_add)

# %% [markdown]
# NVIDIA's own first example of Tile C++ adds vectors in tiles of 8 elements, and then advises far larger ones
# (*Develop High-Performance GPU Kernels in C++ with NVIDIA CUDA Tile*, NVIDIA Developer Blog, 2026). **Predict** what
# that is worth. For all four tiles below the compiler chose blocks of 128 threads: how many elements has each? The
# left part of the table is what the compiler says, for Hopper. The right part was measured with 2²⁷ elements, in turns
# with torch's addition; `tutor sweep cpp_vectors` measures it on your GPU.

# %%
race({f"tiles of {tile}": in_tiles(tile) for tile in (8, 64, 1024, 8192)}, "cpp_vectors")

# %% [markdown]
# ## A GEMM
#
# Matrices are as vectors, with two of everything: `ct::extents{m, k}`, `ct::shape{128_ic, 64_ic}`,
# `A.load_masked(i, step)`, `C.store_masked(tile, i, j)`. Three more pieces, and you can write one:
#
# - `ct::zeros<ct::tile<float, ct::shape<128, 128>>>()` is a tile of zeros; its type says element and shape.
# - `acc = ct::mma(x, y, acc)` adds the product of an (M, K) tile and a (K, N) tile to an (M, N) tile. Our B is (N, K),
#   so its tiles need `ct::transpose(y)`. For bf16 that moves nothing: tensor cores read 16-bit operands in either
#   order. For tf32 and fp8 they do not, and a transpose of the wrong operand costs a rearrangement.
# - `ct::element_cast<bf16>(acc)` rounds the accumulators to the output's type. `for (int step : ct::irange(0, steps))`
#   is the loop that the compiler can pipeline.
#
# **Exercise 08.2** (about 14 lines). Write
#
#     __tile_global__ void gemm(const bf16* a, const bf16* b, bf16* c, int m, int n, int k)
#
# C (m, n) = A (m, k) · Bᵀ, B (n, k), all row-major, accumulated in float. Tiles of C are 128×128, steps along K are 64.
# `ct::bid().x` counts the tiles down, `ct::bid().y` across. No size need be a multiple of anything.


# %%
def first_gemm():
    ### BEGIN SOLUTION (about 14 lines)
    return r"""
    __tile_global__ void gemm(const bf16* a, const bf16* b, bf16* c, int m, int n, int k) {
        auto A = ct::partition_view{ct::tensor_span{a, ct::extents{m, k}}, ct::shape{128_ic, 64_ic}};
        auto B = ct::partition_view{ct::tensor_span{b, ct::extents{n, k}}, ct::shape{128_ic, 64_ic}};
        auto C = ct::partition_view{ct::tensor_span{c, ct::extents{m, n}}, ct::shape{128_ic, 128_ic}};
        int i = ct::bid().x, j = ct::bid().y;
        auto acc = ct::zeros<ct::tile<float, ct::shape<128, 128>>>();
        for (int step : ct::irange(0, (k + 63) / 64)) {
            auto x = A.load_masked(i, step);
            auto y = B.load_masked(j, step);
            acc = ct::mma(x, ct::transpose(y), acc);
        }
        C.store_masked(ct::element_cast<bf16>(acc), i, j);
    }
    """
    ### END SOLUTION


# %%
check("08.2", first_gemm)

# %% [markdown]
# ## What the compiler made of it
#
# It is right, for every size. Is it fast? The compiler can tell before any GPU has seen it: it leaves a **remark** at
# each load, store and mma about the instruction it chose, or about why it could not choose a better one. This is a
# kernel like yours, compiled for Hopper:

# %%
print(compile_cpp(SILENT.source).remarked)

# %% [markdown]
# The arithmetic is what you would want, tensor cores. The loads are not. On Hopper a tile should come by TMA, the
# engine of notebook 05: one thread issues the copy, the hardware does the work, and the tensor cores are fed while no
# thread waits. Here every thread fetches its elements one by one through registers, and puts them into shared memory.
#
# Why? "base pointer not 16-byte aligned": the compiler does not know it, and a pointer could be anything. So you tell
# it, with the first of two **promises**:
#
#     a = ct::assume_aligned(a, 16_ic);
#
# It costs no instruction. It gives back the same pointer, and the compiler believes that its address is a multiple of
# 16. If you lie, the kernel reads something else or crashes. With this promise for a, b and c the remarks change:

# %%
aligned = Variant(restrict=False, divisible=0)
print(compile_cpp(aligned.source).remarked)

# %% [markdown]
# Still no TMA, for another reason: the *stride*. The engine's descriptor holds the distance from one row to the next
# in units of 16 bytes, so every row must begin at a multiple of 16 bytes, not only the first. And that depends on a
# number that your kernel gets at run time.
#
# **Exercise 08.3** (about 3 lines). Write `tma_carries(m, n, k, element_bytes)`: which of A (m, k), B (n, k) and
# C (m, n), row-major and without gaps, TMA can carry, as a string: "abc" for all of them, "c" for C alone, "" for none.
# Their first elements are aligned.


# %%
def tma_carries(m, n, k, element_bytes):
    ### BEGIN SOLUTION (about 3 lines)
    columns = {"a": k, "b": k, "c": n}
    return "".join(name for name, length in columns.items() if length * element_bytes % 16 == 0)
    ### END SOLUTION


# %%
check("08.3", tma_carries)

# %% [markdown]
# The second promise is about integers, and again it gives the number back: `k = ct::assume_divisible(k, 8_ic);`. A
# kernel that makes it is for such sizes only; a library has a second, slower one for all others, and picks at the
# launch.
#
# How much must you promise? In between there is a middle ground, `cp.async` of 8 bytes, which the compiler calls
# *Ldgsts*. Promise multiples of 4 elements, and look:

# %%
print(compile_cpp(Variant(divisible=4).source).remarked)

# %% [markdown]
# **Exercise 08.4** (about 20 lines). Your GEMM again, launched in the same way, with the promises that make all three
# matrices go by TMA. All sizes are multiples of 8 now, and need not be multiples of the tile.
#
# Two promises about numbers, and a third about the whole: write the parameters as `const bf16* __restrict__ a`, and so
# on. It says that nothing which is read through one pointer is written through another. The remarks do not mention
# it. **Predict** what it is worth, before you read on.


# %%
def gemm():
    ### BEGIN SOLUTION (about 20 lines)
    return r"""
    __tile_global__ void gemm(const bf16* __restrict__ a, const bf16* __restrict__ b, bf16* __restrict__ c,
                              int m, int n, int k) {
        a = ct::assume_aligned(a, 16_ic);
        b = ct::assume_aligned(b, 16_ic);
        c = ct::assume_aligned(c, 16_ic);
        n = ct::assume_divisible(n, 8_ic);
        k = ct::assume_divisible(k, 8_ic);
        auto A = ct::partition_view{ct::tensor_span{a, ct::extents{m, k}}, ct::shape{128_ic, 64_ic}};
        auto B = ct::partition_view{ct::tensor_span{b, ct::extents{n, k}}, ct::shape{128_ic, 64_ic}};
        auto C = ct::partition_view{ct::tensor_span{c, ct::extents{m, n}}, ct::shape{128_ic, 128_ic}};
        int i = ct::bid().x, j = ct::bid().y;
        auto acc = ct::zeros<ct::tile<float, ct::shape<128, 128>>>();
        for (int step : ct::irange(0, (k + 63) / 64)) {
            auto x = A.load_masked(i, step);
            auto y = B.load_masked(j, step);
            acc = ct::mma(x, ct::transpose(y), acc);
        }
        C.store_masked(ct::element_cast<bf16>(acc), i, j);
    }
    """
    ### END SOLUTION


# %%
check("08.4", gemm)

# %% [markdown]
# ## What each promise is worth
#
# The table is about 4096³ in bf16 (`tutor sweep cpp_promises`). "+" adds to the line above; the last three change one
# thing in the line "+ `__restrict__`". What do masks cost when TMA does the masking? And what does the compiler gain
# when it knows the sizes as constants?
#
# Three columns come from Nsight Compute. *threads* is the size of a block, which the compiler chose. *tensor* is the
# percentage of an SM's cycles in which its tensor cores work. *stalled* adds up the cycles in which warps wait for
# memory, each warp for itself, and divides by the number of instructions that were issued.

# %%
race(PROMISES, "cpp_promises", threads=BLOCK_SIZE, tensor=TENSOR_BUSY, stalled=STALLED)

# %% [markdown]
# Is it as you expected? A promise alone changes little; it takes all three to get the fast path, TMA. `__restrict__`
# does nothing for a kernel that promises nothing else, and decides about one that has TMA. The remarks are silent on
# it, but the PTX shows why. The compiler gives the loads to threads of their own. This is the loop that they run,
# reduced to what matters: where it waits, and where it starts a load.


# %%
def fetching(compiled):
    """The loop of the threads that fetch tiles: its waits and loads, in order."""
    loop = compiled.ptx.split("setmaxnreg.dec")[1]
    found = re.findall(r"(mbarrier\.try_wait)|(cp\.async\.bulk\.tensor\S*\.global\.tile)", loop)
    return " → ".join("wait" if waits else "load" for waits, _ in found)


# %%
for title in ("+ __restrict__", "+ multiples of 8"):
    print(f"{title:18} {fetching(compile_cpp(PROMISES[title].source))}")

# %% [markdown]
# With `__restrict__` the loop waits once, until there is room in shared memory, and starts both loads; while they are
# on their way it is already at the next step. Without it, the compiler cannot rule out that C lies where A or B does.
# It pipelines nothing then: start a load, wait until it has arrived, start the next.
#
# ## What is left to gain
#
# What is left is not about single loads. Three things you know from the last page have C++ names:
#
# - **The order of the tiles.** Blocks that run together should share rows of A and columns of B, so that L2 has them.
# - **Persistence.** Start as many blocks as there are SMs, and let each go through many tiles: while one tile is
#   stored, the loads of the next can begin. `ct::num_blocks().x` is the number of blocks, and `ct::irange(first, end,
#   step)` has steps, too. It wants three numbers of one type, `int(ct::bid().x)` for example.
# - **Hints**, an attribute in front of the kernel. The first number is the architecture that it is for, as in
#   `__CUDA_ARCH__` (900 is Hopper), and 0 is all of them:
#
#       [[ cutile::hint(0, occupancy=2) ]]                 two blocks on a multiprocessor
#       [[ cutile::hint(0, num_worker_warps_per_cta=8) ]]  so many warps share the accumulator
#       [[ cutile::hint(0, num_cta_in_cga=2) ]]            two blocks of a cluster work on one tile
#
# This is the order in which the exercise below visits the tiles: strips of 8 rows, each strip column by column. Each
# number is a tile's place in the order; the first wave of blocks reads the green rows and columns.

# %%
show_block_order((16, 16), {"a plain 2-D grid": raster, "in strips of 8 rows": grouped}, in_flight=64)

# %% [markdown]
# Now predict again. A tile of 128×256 does twice the work of 128×128 for one and a half times the loads. Why may it be
# far slower all the same? Look at the stack: where do the numbers go that a thread's 255 registers cannot hold?
#
# The columns on the right are fractions of cuBLAS's speed at 4096³ and at 8192³ (`tutor sweep cpp_ways`). The last
# three rows are what was tried to get past cuBLAS: two CTAs on two SMs share a tile of 256×256, in strips of 8 rows,
# then of 4, then with steps of 128 along K.

# %%
race(WAYS, "cpp_ways")

# %% [markdown]
# **Exercise 08.5** (about 28 lines). Write the persistent GEMM, with the parameters and promises of 08.4. It is
# launched with one block for each SM (for two, with `num_cta_in_cga=2`: a grid counts clusters). Tile shape and hints
# are yours, but no accumulator may go to local memory (the *stack* of the table).
#
# With `down` and `across` tiles in all, block number `block` of the strip order is found like this. A strip has
# 8 · across tiles; its first row is 8 · (number of the strip); the last strip may have fewer than 8 rows. Inside a
# strip, count down its rows first.


# %%
def persistent_gemm():
    ### BEGIN SOLUTION (about 28 lines)
    return r"""
    __tile_global__ void gemm(const bf16* __restrict__ a, const bf16* __restrict__ b, bf16* __restrict__ c,
                              int m, int n, int k) {
        a = ct::assume_aligned(a, 16_ic);
        b = ct::assume_aligned(b, 16_ic);
        c = ct::assume_aligned(c, 16_ic);
        n = ct::assume_divisible(n, 8_ic);
        k = ct::assume_divisible(k, 8_ic);
        auto A = ct::partition_view{ct::tensor_span{a, ct::extents{m, k}}, ct::shape{128_ic, 64_ic}};
        auto B = ct::partition_view{ct::tensor_span{b, ct::extents{n, k}}, ct::shape{128_ic, 64_ic}};
        auto C = ct::partition_view{ct::tensor_span{c, ct::extents{m, n}}, ct::shape{128_ic, 128_ic}};
        int down = (m + 127) / 128, across = (n + 127) / 128;
        for (int block : ct::irange(int(ct::bid().x), down * across, int(ct::num_blocks().x))) {
            int strip = block / (8 * across), place = block % (8 * across);
            int height = down - 8 * strip < 8 ? down - 8 * strip : 8;
            int i = 8 * strip + place % height, j = place / height;
            auto acc = ct::zeros<ct::tile<float, ct::shape<128, 128>>>();
            for (int step : ct::irange(0, (k + 63) / 64)) {
                auto x = A.load_masked(i, step);
                auto y = B.load_masked(j, step);
                acc = ct::mma(x, ct::transpose(y), acc);
            }
            C.store_masked(ct::element_cast<bf16>(acc), i, j);
        }
    }
    """
    ### END SOLUTION


# %%
check("08.5", persistent_gemm)

# %% [markdown]
# ## In Nsight Compute
#
# A profiler sees a tile kernel as it sees any other, and answers what the source leaves open: how many threads the
# compiler gave a block, which registers and how much shared memory they have, and what they wait for. Put a kernel
# that passed into a file, without the lines that every source begins with, and let `ncu` watch one launch of it, with
# the sizes and the grid of an exercise:
#
#     ncu --set detailed -k regex:gemm python -m tutorlib.notebook.tile_cpp 08.5 my_gemm.cu
#
# In its window, on the page *Details*, stands *Launch Statistics*: the block size there is the compiler's choice, for
# the launch said 1. NVIDIA's post shows a section of its own for such kernels, *Tile Statistics*, in the version of
# CUDA 13.3; version 2025.3, of CUDA 13.0, does not have it yet.
#
# `--set detailed` counts a few thousand things; the three of the table above are among them. Which of its rows would
# you have found without the remarks, from *tensor* and *stalled* alone?

# %% [markdown]
# ## A program of your own
#
# Python launched every kernel so far. In a C++ program your code has to do what torch did: get memory on the GPU, move
# the data there and back, launch. Five functions of the CUDA runtime are enough:
#
#     cudaMalloc(&x, bytes);                                  // x: a pointer that host code must not follow
#     cudaMemcpy(to, from, bytes, cudaMemcpyHostToDevice);    // or cudaMemcpyDeviceToHost; it waits until all is there
#     kernel<<<blocks, 1>>>(arguments);                       // returns at once: the GPU works on
#     cudaGetLastError();                                     // cudaSuccess, or what went wrong before
#     cudaFree(x);
#
# Everything in one stream happens in order, and these all use the same one. So a copy back begins when the kernel
# has ended, and nothing else has to wait.
#
# **Exercise 08.6** (about 12 lines). Write
#
#     void add_on_gpu(const float* a, const float* b, float* c, int n)
#
# for pointers to the *host's* memory: c = a + b, with the `vector_add` of 08.1. Give back all the memory that you got.


# %%
def add_on_gpu():
    ### BEGIN SOLUTION (about 12 lines)
    return r"""
    void add_on_gpu(const float* a, const float* b, float* c, int n) {
        size_t bytes = n * sizeof(float);
        float *x, *y, *z;
        for (float** pointer : {&x, &y, &z}) cudaMalloc(pointer, bytes);
        cudaMemcpy(x, a, bytes, cudaMemcpyHostToDevice);
        cudaMemcpy(y, b, bytes, cudaMemcpyHostToDevice);
        vector_add<<<(n + 1023) / 1024, 1>>>(x, y, z, n);
        cudaMemcpy(c, z, bytes, cudaMemcpyDeviceToHost);
        for (float* pointer : {x, y, z}) cudaFree(pointer);
    }
    """
    ### END SOLUTION


# %%
check("08.6", add_on_gpu)

# %% [markdown]
# (Without a GPU, `check` links your program with a runtime library of its own: memory of "the GPU" has addresses that
# nothing is mapped to, and a launch is a loop that adds.)
#
# Your kernel, your function and a `main` that tries them now become a file, and one line builds it. Nothing of this
# course is in it.

# %%
write_program("vector_add.cu", vector_add, add_on_gpu)

# %% [markdown]
# ## The way so far, measured
#
# The answers of this notebook's solutions, each in turns with cuBLAS (torch's own addition for 08.1). `tutor evidence
# 08` on your GPU adds yours.

# %%
show_ladder("08")

# %% [markdown]
# ## What to remember
#
# - A C++ kernel is compiled before there is any tensor. What the compiler cannot prove, it cannot use: promise aligned
#   pointers, pitches in multiples of 16 bytes, and memory that nothing else writes. One promise alone changes little.
# - A promise is not checked. If it does not hold, the kernel reads something else or crashes.
# - The compiler's remarks say which instruction each load, store and mma became, or what it missed. Read them first.
# - A grid counts tile blocks, and clusters where a tile has two CTAs. The launch says `<<<blocks, 1>>>`.
# - Host code never follows a pointer of the GPU's, and a launch returns before the kernel has run.
#
# ## Test yourself
#
# <details><summary>1. Your GEMM promises aligned pointers and multiples of 8, and the remarks show TMA everywhere. It
# runs far below cuBLAS's speed. What do you look at?</summary>
#
# At `__restrict__`: the remarks do not mention it. Without it the compiler must suppose that storing C changes A or B,
# so it waits for each load before it starts the next.
#
# </details>
#
# <details><summary>2. A library gets matrices with any number of columns. How can it use TMA at all?</summary>
#
# With two kernels. One promises `assume_divisible(k, 8_ic)` and is launched when the pitch and the pointers keep that
# promise; the other one promises nothing. The host looks at the numbers before each launch.
#
# </details>
#
# <details><summary>3. A persistent kernel with <code>num_cta_in_cga=2</code> is launched with 132 blocks on 132 SMs. It
# is right. What is wrong?</summary>
#
# A grid counts clusters, and each takes two SMs: 66 run, and the other 66 wait until these have ended. They share the
# tiles evenly all the same, so the second half of the work starts anew, with empty shared memory, and the last wave
# comes twice.
#
# </details>
