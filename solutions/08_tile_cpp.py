# ---
# jupyter:
#   tutorlib:
#     minutes: 80
#     appendix: 15
#     summary: The same kernels in C++, where the compiler knows only the facts that you promise it.
# ---

# %% [markdown]
# # 08 · Tiles in C++
#
# Much of the world's GPU code is C++ that will not be rewritten in Python. *CUDA Tile C++* brings the model of the last
# two pages to it: arrays, tiles, blocks, and no threads. A tile kernel can share a file with ordinary CUDA kernels, and
# the compiler behind it is cuTile's.
#
# This page is about one difference. When Python launches a cuTile kernel, it first inspects your tensors and passes
# facts to the compiler: this pointer is a multiple of 16 bytes, and so is that stride. A C++ kernel is compiled before
# any tensor exists, so **you** state those facts in the source. A GEMM that states none is correct, and on an H200 it
# runs at 5% of cuBLAS's speed.
#
# You write C++ as a string: each answer is a Python function that returns the source. `check` compiles it with the
# `nvcc` that came with this course, inspects the compiled code, and runs it, or simulates it if there is no GPU. You
# need no CUDA installation, only a C++ compiler for nvcc's preprocessor.
#
# > **After this page you can** write a tile kernel in C++, tell which matrices TMA can carry, promise the compiler the
# > facts that it cannot know, and give a GEMM persistent blocks that share rows of tiles.
# >
# > **It takes** about 80 minutes, on any machine with a C++ compiler; its appendix about 15 more. A GPU adds the speed.

# %%
import re
from contextlib import suppress

import torch

from tutorlib import (
    BLOCK_SIZE, HEADER, STALLED, TENSOR_BUSY, CompileFailed, check, compile_cpp, grouped, race, raster, run_cpp,
    show_block_order, show_ladder, write_program,
)  # fmt: skip
from tutorlib.kernels.cpp import PROMISES, SILENT, WAYS, Variant, in_tiles

# %% [markdown]
# ## A whole kernel
#
# The course puts these lines before every source on this page, so you need not write them:

# %%
print(HEADER)

# %% [markdown]
# Here is a kernel. Compare it with `double` in notebook 06:
#
# - `__tile_global__` is the C++ counterpart of `@ct.kernel`. The parameters are plain pointers and numbers.
# - A **`tensor_span`** is a pointer with a shape, `ct::extents`, row-major unless you say otherwise. In Python the
#   array knew its shape; here you state it.
# - A **`partition_view`** cuts the span into tiles of one `ct::shape`. `256_ic` is a compile-time constant; tile sizes
#   are powers of two here as well.
# - `X.load_masked(i)` loads tile i and pads elements outside the span, with zeros by default. `Y.store_masked(tile, i)`
#   drops elements outside the span. With the plain `load` and `store` you promise that the tile is entirely inside the
#   span. Nothing verifies that promise at run time. In this course, `check` rejects a kernel in which some tensor is
#   never masked.
#
# The host launches one **tile block** per tile; in C++ that is the usual CUDA syntax:
#
#     twice<<<4, 1>>>(x, y, n);
#
# The launch asks for 4 tile blocks of 1 thread, but the compiler decides how many threads a block has. In the cell
# below, `run_cpp` launches the kernel from Python; in the appendix a C++ program launches it.

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
# nvcc's template errors are long. The course prints the line of your source and, for an error that it recognizes, a
# short explanation; `check` also quotes nvcc. Here is a tile of 96 elements:

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
# that computes c = a + b for any n. It is launched with one block per 1,024 elements: (n + 1023) / 1024 blocks.


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
# NVIDIA's own first example of Tile C++ adds vectors in tiles of 8 elements, and then advises far larger ones (*Develop
# High-Performance GPU Kernels in C++ with NVIDIA CUDA Tile*, NVIDIA Developer Blog, 2026). **Predict** how much faster
# those are. For all four tiles below the compiler chose blocks of 128 threads: how many elements does each thread get,
# and how many blocks are there? The left part of the table is the compiler's report for Hopper. The right part was
# measured with 2²⁷ elements, alternating with torch's addition; `tutor sweep cpp_vectors` measures it on your GPU.

# %%
race({f"tiles of {tile}": in_tiles(tile) for tile in (8, 64, 1024, 8192)}, "cpp_vectors")

# %% [markdown]
# A thread gets 0.06, 0.5, 8 or 64 elements, in 2²⁴, 2²¹, 2¹⁷ or 2¹⁴ blocks. A tile of 8 leaves 120 of 128 threads
# without an element, but the idle threads are not what makes it slow. Divide the times of the two small tiles by their
# numbers of blocks: 2²⁴ blocks of 8 elements and 2²¹ of 64 take the same time per block, 0.6 ns. The rate at which the
# GPU launches blocks is the limit, not memory. From tiles of 1,024 on, bandwidth is the limit, and a still larger tile
# changes nothing. (The table names its GPU; `check` measures on yours, where times and fractions differ.)
#
# ## A GEMM
#
# Matrices work like vectors, with two of everything: `ct::extents{m, k}`, `ct::shape{128_ic, 64_ic}`, `A.load_masked(i,
# step)`, `C.store_masked(tile, i, j)`. A GEMM needs four more pieces:
#
# - `ct::zeros<ct::tile<float, ct::shape<128, 128>>>()` is a tile of zeros; its type gives the element type and the
#   shape.
# - `acc = ct::mma(x, y, acc)` adds the product of an (M, K) tile and a (K, N) tile to an (M, N) tile. Our B is (N, K),
#   so its tiles need `ct::transpose(y)`, which moves no data here: K is contiguous in both operands, and tensor cores
#   read that order directly.
# - `ct::element_cast<bf16>(acc)` rounds the accumulators to the output's type.
# - `for (int step : ct::irange(0, steps))` is the loop along K.
#
# **Exercise 08.2** (about 14 lines). Write
#
#     __tile_global__ void gemm(const bf16* a, const bf16* b, bf16* c, int m, int n, int k)
#
# C (m, n) = A (m, k) · Bᵀ, B (n, k), all row-major, accumulated in float, and stored once, after the last step. Tiles
# of C are 128×128, steps along K are 64. Block (`ct::bid().x`, `ct::bid().y`) computes the tile in row x and column y
# of tiles. m, n and k can be any positive numbers, so promise nothing about them.


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
# ## The compiler's remarks
#
# Your kernel is correct for every size. Is it fast? The compiler gives a first answer without a GPU: for each load,
# store and mma it emits a **remark** that names the instruction it chose, or the reason why it could not choose a
# better one. Here are the remarks on a kernel like yours, compiled for Hopper. The number in front of a line is its
# number in the source:

# %%
print(compile_cpp(SILENT.source).remarked)

# %% [markdown]
# The mma uses tensor cores, as it should, but the loads do not use TMA. On Hopper a tile should come by TMA, the copy
# engine of notebook 05: one thread issues the copy, and the hardware carries it out while the tensor cores work on
# earlier tiles. Here the threads load the elements into registers, then store them to shared memory. They store C
# themselves, too; the remarks name no instruction for that.
#
# The remark names the reason, "base pointer not 16-byte aligned": as far as the compiler knows, a pointer may hold any
# address. State the fact with the first of the three **promises** of this page:
#
#     a = ct::assume_aligned(a, 16_ic);
#
# It costs no instruction. It returns the same pointer, and the compiler may then assume that the address is a multiple
# of 16. If the promise is false, the kernel may read the wrong data or crash. With this promise for a, b and c the
# remarks change:

# %%
aligned = Variant(restrict=False, divisible=0)
print(compile_cpp(aligned.source).remarked)

# %% [markdown]
# Still no TMA, now because of the *stride*. TMA requires a row pitch that is a multiple of 16 bytes, so that not only
# the first row but every row begins at a multiple of 16 bytes. The pitch depends on k or n, which your kernel gets at
# run time.
#
# **Exercise 08.3** (about 3 lines). Write `tma_carries(m, n, k, element_bytes)`: return the names of the matrices that
# TMA can carry among A (m, k), B (n, k) and C (m, n), row-major and without gaps, as a string: "abc" for all, "c" for C
# alone, "" for none. Their first elements are aligned.


# %%
def tma_carries(m, n, k, element_bytes):
    ### BEGIN SOLUTION (about 3 lines)
    columns = {"a": k, "b": k, "c": n}
    return "".join(name for name, length in columns.items() if length * element_bytes % 16 == 0)
    ### END SOLUTION


# %%
check("08.3", tma_carries)

# %% [markdown]
# The second promise is about integers, and it too returns its argument: `k = ct::assume_divisible(k, 8_ic);`. A kernel
# with this promise is valid only for such sizes; a library keeps a second, slower kernel for all others, and chooses at
# launch. So promise as little as you need: 8 elements of 2 bytes are the 16 bytes that TMA requires.
#
# Is there anything between that and no promise? With multiples of 4 elements, 8 bytes, the compiler finds a middle
# ground: `cp.async` of 8 bytes, which the remarks call *Ldgsts*:

# %%
print(compile_cpp(Variant(divisible=4).source).remarked)

# %% [markdown]
# **Exercise 08.4** (about 20 lines). Write the `gemm` of 08.2 again, launched in the same way, with all three promises.
# With the first two, TMA carries all three matrices. All sizes are now multiples of 8, but need not be multiples of the
# tile: `check` refuses a promise that some of its sizes break.
#
# The first two promises are about values, the third about memory: write the parameters as `const bf16* __restrict__ a`,
# and so on. It promises that the kernel writes no memory through one pointer that it reads through another. The remarks
# do not mention it. **Predict** how much faster it makes the kernel before you read on.


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
# **Predict** the remarks on your own kernel, line by line. Then delete one promise at a time in your answer to 08.4,
# run it and the cell below again, and see which remark each promise changes:

# %%
with suppress(NotImplementedError):  # until you have written gemm
    print(compile_cpp(gemm()).remarked)

# %% [markdown]
# ## The value of each promise
#
# The table is for 4096³ in bf16 (`tutor sweep cpp_promises`). A "+" adds a promise to the line above; the last three
# variants change one thing in the line "+ `__restrict__`". **Predict**: how much time do masks cost when TMA does the
# masking, and how much do compile-time sizes save?
#
# Three columns come from the profiler Nsight Compute. *threads* is the block size that the compiler chose. *tensor* is
# the percentage of an SM's cycles in which its tensor cores work. *stalled*: for each instruction issued, how many
# warp-cycles were spent waiting for memory. In the compiler's part, *loads by* threads means without TMA; in the row of
# multiples of 4 the threads issue `cp.async`.

# %%
race(PROMISES, "cpp_promises", threads=BLOCK_SIZE, tensor=TENSOR_BUSY, stalled=STALLED)

# %% [markdown]
# The promises work together. Alignment alone changes little, and `__restrict__` alone nothing. Alignment and multiples
# of 8 together bring TMA, and `__restrict__` then makes the kernel four times as fast. With TMA, masks cost nothing,
# and compile-time sizes gain nothing. Multiples of 4, too weak for TMA, still lead to `cp.async` and to more than half
# of cuBLAS's speed.
#
# The remarks do not explain `__restrict__`, but the PTX does. The compiler gives the loads to producer warps. The cell
# prints their loop, reduced to its waits and the loads that it issues.


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
# With `__restrict__` the loop waits once, until a stage in shared memory is free, and issues both loads; while they are
# in flight it goes on to the next step. Without it, the compiler cannot rule out that C overlaps A or B, so it does not
# pipeline: it issues a load, waits until the tile has arrived, and issues the next.
#
# (`check` can tell a missing `__restrict__` without a Hopper GPU: it simulates the code for sm_80, and counts the loads
# that a warp waits for as soon as it has issued them.)
#
# ## The last tenth
#
# With all promises, the kernel runs at 89% of cuBLAS's speed in the table, which is from an H200. Three techniques of
# the last page close most of the gap. Here are their C++ forms:
#
# - **The order of the tiles.** Blocks that run together should share rows of tiles of A and B, so that the loads hit
#   L2.
# - **Persistence.** Launch as many blocks as there are SMs, and let each compute many tiles: while one tile is stored,
#   the loads of the next can begin. `ct::num_blocks().x` is the number of blocks, and `ct::irange(first, end, step)`
#   takes a step. Its three arguments must have the same type: write `int(ct::bid().x)`, for example.
# - **Hints**, an attribute in front of the kernel. The first number is the target architecture, as in `__CUDA_ARCH__`
#   (900 is Hopper); 0 means all architectures:
#
#       [[ cutile::hint(0, occupancy=2) ]]                 two blocks on an SM
#       [[ cutile::hint(0, num_worker_warps_per_cta=8) ]]  eight consumer warps share the accumulators
#       [[ cutile::hint(0, num_cta_in_cga=2) ]]            two CTAs of a cluster work on one tile
#
#   (CGA, cooperative grid array, is the hardware's name of a cluster.)
#
# The exercise below takes the tiles in strips of 8 rows, each strip column by column. In the picture each number is a
# tile's position in the order, and a wave has 64 blocks. The first wave reads the rows of A's tiles and the columns of
# Bᵀ's that are green in the margins, 20 on the left, 16 on the right. (The titles say "columns of B".)

# %%
show_block_order((16, 16), {"a plain 2-D grid": raster, "in strips of 8 rows": grouped}, in_flight=64)

# %% [markdown]
# A 128×256 tile does twice the work of 128×128 for one and a half times the loads, provided that its accumulators fit;
# the column *stack* tells whether they do. **Predict**: what do two blocks on an SM gain, and what do steps of 128
# along K cost?
#
# The columns on the right are fractions of cuBLAS's speed at 4096³ and at 8192³ (`tutor sweep cpp_ways`). In the last
# three rows, two CTAs on two SMs, each with eight consumer warps, share a tile of 256×256: in strips of 8 rows, then of
# 4, then, again in strips of 8, with steps of 128 along K.

# %%
race(WAYS, "cpp_ways")

# %% [markdown]
# - **128×256** spills with four consumer warps, which makes the kernel sixteen times slower; with eight it fits.
# - **The order** pays at 8192 only; at 4096 its gain is within the spread.
# - **Persistence** gains more at 4096 than at 8192: the fewer steps a tile has, the larger is the share of the time
#   between tiles.
# - **Two blocks on an SM** hide part of that time, too, but each has half of the registers and of the shared memory; at
#   8192 they gain nothing.
# - **Steps of 128** lose more than a quarter; a likely reason is that shared memory has room for half as many stages.
# - **256×256 over two CTAs** alone passes cuBLAS, by 1%, and only at 8192. There strips of 4 cost that 1%: the 66 tiles
#   in flight are nearly square in strips of 8, and four times as wide as high in strips of 4.
#
# **Exercise 08.5** (about 28 lines). Write the persistent `gemm`, with the parameters and promises of 08.4 and in
# strips of 8 rows. It is launched with one block per SM, or with one per two SMs if you hint `num_cta_in_cga=2`: a grid
# counts clusters. You choose the tile shape and the hints, but no accumulator may spill to local memory (the table's
# *stack*).
#
# Let C have `down` rows and `across` columns of tiles. To find tile number `block` of the order: a strip has 8 · across
# tiles; its first row is 8 · (number of the strip); the last strip may have fewer than 8 rows. Inside a strip, the
# numbers run down its rows first.


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
# ## The solutions, measured
#
# Each solution of this page was timed in alternation with cuBLAS (08.1 with torch's own addition). `tutor evidence 08`
# on your GPU adds your measurements.

# %%
show_ladder("08")

# %% [markdown]
# ## What to remember
#
# - A C++ kernel is compiled before any tensor exists. The compiler can use only facts that it can prove or that you
#   promise: aligned pointers, pitches in multiples of 16 bytes, and memory that no other pointer writes. TMA needs the
#   first two; without the third there is no pipeline.
# - Nothing checks a promise at run time. If it is false, the kernel may read the wrong data or crash.
# - The compiler's remarks name the instruction for each load, store and mma, or the reason for a slower one. Read them
#   first. They do not mention `__restrict__`.
# - A grid counts tile blocks, or clusters if a tile takes two CTAs. The launch says `<<<blocks, 1>>>`.
#
# The appendix goes on with a profiler's view of a tile kernel, and with the host code of a C++ program.
#
# ## Test yourself
#
# <details><summary>1. Your GEMM promises aligned pointers and multiples of 8, and the remarks show TMA everywhere. It
# runs far below cuBLAS's speed. What do you check?</summary>
#
# `__restrict__`: the remarks do not mention it. Without it the compiler must assume that storing C may change A or B,
# so the kernel waits for each load before it issues the next.
#
# </details>
#
# <details><summary>2. A library must accept matrices with any number of columns. How can it use TMA at all?</summary>
#
# With two kernels. One promises that n and k are multiples of 8, and is launched when the pitches and the pointers
# satisfy its promises; the other promises nothing. The host checks them before each launch.
#
# </details>
#
# <details><summary>3. A persistent kernel with <code>num_cta_in_cga=2</code> is launched with 132 blocks on 132
# SMs. Its result is correct. What is wrong with the launch?</summary>
#
# A grid counts clusters, and each takes two SMs: 66 run, and the other 66 wait until these finish. The tiles are
# divided among all 132, so they run as two rounds of 66. Each round fills its pipeline anew, and ends with its own
# partly idle last turn. Launch 66.
#
# </details>

# %% [markdown]
# ## Appendix: a tile kernel in Nsight Compute
#
# Nsight Compute profiles a tile kernel like any other, and reports the choices that the source leaves to the compiler:
# threads per block, registers, shared memory. It also shows why warps stall. Save the source of a kernel that passed in
# a Python file, with the tensors and a call of `run_cpp`. This command profiles its launch:
#
#     ncu --set detailed -k regex:gemm python my_gemm.py
#
# On its *Details* page, *Launch Statistics* shows the block size that the compiler chose; the launch said 1. NVIDIA's
# post shows a section for tile kernels, *Tile Statistics*, in the version that ships with CUDA 13.3; version 2025.3,
# from CUDA 13.0, does not have it yet.
#
# `--set detailed` includes the three counters in the table of promises. **Predict**: which slow rows of that table
# could you have diagnosed without the remarks, from *tensor* and *stalled* alone? Look at the table again, then here:
#
# <details><summary>Which rows?</summary>
#
# *tensor* shows that all five are slow: their tensor cores work in 4 to 49% of the cycles, against 86% for the fast
# rows. It does not show why. *stalled* explains one of them, "+ multiples of 8": its warps wait 37 cycles per
# instruction, seven times as long as those of the fast rows. Those are the loads that the compiler does not overlap
# without `__restrict__`, which the remarks do not mention. The four rows without TMA have no more stalls than the fast
# ones: their warps are busy moving elements, and only the remarks say so.
#
# </details>

# %% [markdown]
# ## Appendix: a program of your own
#
# So far Python launched every kernel. In a C++ program your code replaces torch: it allocates memory on the GPU, copies
# the data there and back, and launches. A launch and four functions of the CUDA runtime are enough:
#
#     cudaMalloc(&x, bytes);                                  // x: a pointer that host code must not dereference
#     cudaMemcpy(to, from, bytes, cudaMemcpyHostToDevice);    // or cudaMemcpyDeviceToHost; returns after the copy
#     kernel<<<blocks, 1>>>(arguments);                       // returns at once, before the kernel has finished
#     cudaGetLastError();                                     // cudaSuccess, which is 0, or the last error
#     cudaFree(x);
#
# Operations in one stream run in order, and these all use the same stream. So the copy back starts after the kernel has
# ended, and you need no other synchronization. A launch returns nothing: if the GPU refused it, only `cudaGetLastError`
# tells you, and `cudaGetErrorString(error)` gives the reason.
#
# So this function of *host* pointers computes c = a + b with the `vector_add` of 08.1. Three blocks of memory are
# allocated and freed even where the launch fails, and the error is printed:


# %%
def add_on_gpu():
    return r"""
    void add_on_gpu(const float* a, const float* b, float* c, int n) {
        size_t bytes = n * sizeof(float);
        float *x, *y, *z;
        for (float** pointer : {&x, &y, &z}) cudaMalloc(pointer, bytes);
        cudaMemcpy(x, a, bytes, cudaMemcpyHostToDevice);
        cudaMemcpy(y, b, bytes, cudaMemcpyHostToDevice);
        vector_add<<<(n + 1023) / 1024, 1>>>(x, y, z, n);
        if (cudaError_t error = cudaGetLastError()) std::fprintf(stderr, "vector_add: %s\n", cudaGetErrorString(error));
        cudaMemcpy(c, z, bytes, cudaMemcpyDeviceToHost);
        for (float* pointer : {x, y, z}) cudaFree(pointer);
    }
    """


# %% [markdown]
# The next cell writes your kernel, this function and a `main` that tests them to one file. The command that it prints
# builds a program, which no longer depends on this course.

# %%
write_program("vector_add.cu", vector_add, add_on_gpu)
