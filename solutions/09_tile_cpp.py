# ---
# jupyter:
#   tutorlib:
#     minutes: 80
#     appendix: 10
#     summary: The same kernels in C++, where the compiler knows only the facts that you promise it.
# ---

# %% [markdown]
# # 09 · Tiles in C++
#
# [*CUDA Tile C++*](https://docs.nvidia.com/cuda/cuda-programming-guide/02-basics/writing-tile-kernels.html) brings the
# model of the last pages to C++: arrays, tiles, blocks, and no threads. A tile kernel can share a file with ordinary
# CUDA kernels, and the compiler behind it is cuTile's.
#
# This page is about one difference. When Python launches a cuTile kernel, it first inspects your tensors and passes
# facts to the compiler: this pointer is a multiple of 16 bytes, and so is that stride. A C++ kernel is compiled before
# any tensor exists, so **you** state those facts in the source. A GEMM that states none is correct, and on an H200 it
# runs at 5% of cuBLAS's speed; with the same facts as in Python it is about as fast as in Python.
#
# Each answer is a Python function that returns C++ source. `check` compiles it with the `nvcc` that came with this
# course (13.4; Tile C++ came with CUDA 13.3), inspects the code, and runs it, or simulates it if there is no GPU. All
# you must install is a C++ compiler, which nvcc uses as its preprocessor. No later page needs this one: skip it if you
# write no C++.
#
# > **After this page you can** write a tile kernel in C++, promise the compiler the facts that it cannot know, find in
# > its remarks and its code which fact it lacks, and give a GEMM persistent blocks that share rows of tiles.
# >
# > **It takes** about 80 minutes, on any machine with a C++ compiler; its appendix about 10 more. A GPU adds the speed.

# %%
import re

import torch

from tutorlib import (
    BLOCK_SIZE, HEADER, TENSOR_BUSY, TensorSpec, Timeline, check, compile_cpp, compile_cutile, race, run_cpp,
    show_ladder, show_sweep, show_timeline, write_program,
)  # fmt: skip
from tutorlib.kernels.cpp import PROMISES, SILENT, WAYS, Variant, in_tiles

# %% [markdown]
# See what Python's facts do: we compile the kernel of 07.1 for rows of 8,192 bytes, then for 8,184 bytes, not a
# multiple of 16.

# %%
from tutorlib.kernels.cutile import plain

for k in (4096, 4092):
    a, c = TensorSpec((4096, k), "bf16"), TensorSpec((4096, 4096), "bf16")
    made = compile_cutile(plain, [a, a, c, 128, 128, 64], "sm_90")
    by_tma = len(re.findall(r"cp\.async\.bulk\.tensor\S*\.global\.tile", made.ptx))
    print(f"K = {k}: {by_tma} loads by TMA, {made.ptx.count('ld.global'):3} by threads, {made}")

# %% [markdown]
# ## A whole kernel
#
# The course puts these lines before every source on this page:

# %%
print(HEADER)

# %% [markdown]
# The next cell has one:
#
# - `__tile_global__` is the C++ counterpart of `@ct.kernel`. The parameters are plain pointers and numbers.
# - A **`tensor_span`** is a pointer with a shape, `ct::extents`, row-major unless you say otherwise. In Python the
#   array knew its shape; here you state it.
# - A **`partition_view`** cuts the span into tiles of one `ct::shape`. `1024_ic` is a compile-time constant; tile sizes
#   are powers of two here as well.
# - `A.load_masked(i)` loads tile i and pads elements outside the span, with zeros by default. `C.store_masked(tile, i)`
#   drops elements outside the span. With the plain `load` and `store` you promise that the tile is entirely inside the
#   span; nothing verifies that.
#
# In C++ the launch is `vector_add<<<blocks, 1>>>(a, b, c, n)`. It asks for **tile blocks** of 1 thread, but the
# compiler decides how many threads a block has. `run_cpp` launches the kernel from Python.


# %%
def vector_add():
    return r"""
    __tile_global__ void vector_add(const float* a, const float* b, float* c, int n) {
        auto A = ct::partition_view{ct::tensor_span{a, ct::extents{n}}, ct::shape{1024_ic}};
        auto B = ct::partition_view{ct::tensor_span{b, ct::extents{n}}, ct::shape{1024_ic}};
        auto C = ct::partition_view{ct::tensor_span{c, ct::extents{n}}, ct::shape{1024_ic}};
        int i = ct::bid().x;
        C.store_masked(A.load_masked(i) + B.load_masked(i), i);
    }
    """


place = "cuda" if torch.cuda.is_available() else "cpu"
a, b = torch.randn(5000, device=place), torch.randn(5000, device=place)
c = torch.full_like(a, torch.nan)
if run_cpp(vector_add(), (5,), a, b, c, len(c)):  # 5 blocks of 1,024 elements
    print("c is a + b:", torch.equal(c, a + b))

# %% [markdown]
# NVIDIA's first example of Tile C++ has tiles of 8 elements. **Predict** how much faster larger ones are. The left part
# of the table is the compiler's report for Hopper. The right part was measured with 2²⁷ elements, in turn with torch's
# addition.

# %%
race({f"tiles of {tile}": in_tiles(tile) for tile in (8, 64, 1024, 8192)}, "cpp_vectors")

# %% [markdown]
# Divide the times of the small tiles by their numbers of blocks, 2²⁴ and 2²¹: 0.6 ns for either. The limit is the rate
# at which the GPU launches blocks. From tiles of 1,024 on, it is bandwidth.
#
# ## A GEMM
#
# | cuTile | Tile C++ |
# |---|---|
# | `a` of shape (m, k), in tiles of (128, 64) | `ct::tensor_span{a, ct::extents{m, k}}`, `ct::shape{128_ic, 64_ic}` |
# | `ct.load(a, (i, step), (128, 64), padding_mode=ZERO)` | `A.load_masked(i, step)` |
# | `ct.store(c, (i, j), tile)` | `C.store_masked(tile, i, j)` |
# | `ct.zeros((128, 128), ct.float32)` | `ct::zeros<ct::tile<float, ct::shape<128, 128>>>()` |
# | `acc = ct.mma(x, ct.transpose(y), acc)` | `acc = ct::mma(x, ct::transpose(y), acc)` |
# | `acc.astype(c.dtype)` | `ct::element_cast<bf16>(acc)` |
# | `for step in range(steps):` | `for (int step : ct::irange(0, steps))` |
# | `ct.bid(1)` | `ct::bid().y` |
#
# A colleague has translated the GEMM of 07.1. C (m, n) = A (m, k) · Bᵀ, with B (n, k), all row-major; block
# (`ct::bid().x`, `ct::bid().y`) computes the tile in row x and column y of tiles. At 4096³ the result is right.


# %%
def draft():
    return r"""
    __tile_global__ void gemm(const bf16* a, const bf16* b, bf16* c, int m, int n, int k) {
        auto A = ct::partition_view{ct::tensor_span{a, ct::extents{m, k}}, ct::shape{128_ic, 64_ic}};
        auto B = ct::partition_view{ct::tensor_span{b, ct::extents{m, k}}, ct::shape{128_ic, 64_ic}};
        auto C = ct::partition_view{ct::tensor_span{c, ct::extents{m, n}}, ct::shape{128_ic, 128_ic}};
        int i = ct::bid().x, j = ct::bid().y;
        auto none = ct::zeros<ct::tile<float, ct::shape<128, 128>>>();
        auto acc = none;
        for (int step : ct::irange(0, k / 64)) {
            auto x = A.load(i, step);
            auto y = B.load_masked(j, step);
            acc = acc + ct::mma(x, ct::transpose(y), none);
        }
        C.store_masked(ct::element_cast<bf16>(acc), i, j);
    }
    """


# %% [markdown]
# **Exercise 09.1** (about 4 lines). Write `first_gemm()`, which returns the draft made as good as 07.1: m, n and k can
# be any positive numbers, no load leaves its matrix, and the tensor cores do all of the additions. Four lines change.
# Before you run the check, say for each at which sizes its fault shows, if at any.


# %%
def first_gemm():
    ### BEGIN SOLUTION (about 4 lines)
    source = draft().replace("ct::tensor_span{b, ct::extents{m, k}}", "ct::tensor_span{b, ct::extents{n, k}}")
    source = source.replace("k / 64", "(k + 63) / 64")
    source = source.replace("A.load(", "A.load_masked(")
    return source.replace("acc + ct::mma(x, ct::transpose(y), none)", "ct::mma(x, ct::transpose(y), acc)")
    ### END SOLUTION


# %%
check("09.1", first_gemm)

# %% [markdown]
# <details><summary>At which sizes each fault shows</summary>
#
# B's m rows: C is wrong when n > m, and loads may leave B when n < m. k / 64: when 64 does not divide k. `A.load`: once
# the steps are right, it reads past A's columns at such k; past its rows, when 128 does not divide m. The addition
# outside the mma: at no size; it is only slower.
#
# </details>
#
# ## The compiler's remarks
#
# Your kernel is correct for every size. Is it fast? The compiler gives a first answer without a GPU: for each load,
# store and mma it emits a **remark** that names the instruction it chose, or why it could not choose a better one.
# `compile_cpp` asks for remarks with this command. Outside of the course it prints them with the file and the line:
#
#     nvcc -std=c++20 --enable-tile -arch sm_90 -tilecubin -lineinfo -Xtileiras --remarks=all -o gemm.cubin gemm.cu
#
# Here `SILENT` is a kernel like yours, which promises nothing. Its source, with the line numbers that remarks quote,
# and the remarks, each below its line:

# %%
silent = compile_cpp(SILENT.source)
print("\n".join(f"{number:2}  {line}" for number, line in enumerate(silent.source.split("\n"), 1)))

# %%
print(silent.remarked)

# %% [markdown]
# The mma uses tensor cores, but the loads do not use TMA: the threads load the elements into registers, then store them
# to shared memory.
#
# The remark names the reason, "base pointer not 16-byte aligned": as far as the compiler knows, a pointer may hold any
# address. State the fact with the first of the three **promises** of this page:
#
#     a = ct::assume_aligned(a, 16_ic);
#
# It returns the same pointer and costs no instruction. If the promise is false, the kernel may read the wrong data or
# crash. With this promise for a, b and c the remarks change. (`Variant` writes the source of your GEMM with promises to
# choose from.)

# %%
aligned = Variant(restrict=False, divisible=0)
print(compile_cpp(aligned.source).remarked)

# %% [markdown]
# Still no TMA, now because of the *stride*. Three of TMA's rules concern alignment:
#
# | | in bytes |
# |---|---|
# | the address of the first element | a multiple of 16 |
# | the distance from one row to the next | a multiple of 16 |
# | a row of the tile | a multiple of 16 |
#
# The second promise is about integers:
#
#     k = ct::assume_divisible(k, 8_ic);
#
# A kernel with this promise is valid only for such sizes, so promise as little as you need.
#
# ## The promise that no remark asks for
#
# With both promises every remark says TMA, and yet the kernel reaches only 22% of cuBLAS's speed. The compiler gives
# the loads to producer warps. Below are the waits and loads of their loop: first in this kernel, then in one with a
# third promise. *Wait for it* waits at the mbarrier of the load just issued.


# %%
def fetching(compiled):
    """The loop of the warps that fetch tiles: its waits and loads, in order."""
    _, *loops = compiled.ptx.split("setmaxnreg.dec")
    if not loops:
        return "no producer warps: all threads load"
    shown, loading = [], ""
    event = r"try_wait\S*\s+\S+ \[(\S+)\]|cp\.async\.bulk\.tensor\S*\.global\.tile.*?\}\], \[(\S+)\]"
    for waits_at, completes in re.findall(event, loops[0]):
        shown.append("load" if completes else "wait for it" if waits_at == loading else "wait for a free buffer")
        loading = completes
    return " → ".join(shown)


for restrict in (False, True):
    made = compile_cpp(Variant(restrict=restrict).source)
    print(f"{made.smem_bytes // 1024} KiB of shared memory: {fetching(made)}")

# %% [markdown]
# Both kernels have room for five stages of 32 KiB and for the tile of C, another 32 KiB. The second kernel waits only
# until a buffer is free, so it can have loads for four stages in flight while the tensor cores use the fifth. The first
# waits until each load has arrived before it issues the next. In the picture, of four buffers, a number stands for A's
# and B's tile of a step:

# %%
show_timeline(*(Timeline(4, latency=4, transfer=1, compute=2, tiles=6, one_by_one=slow) for slow in (True, False)))

# %% [markdown]
# At 4096³ the busiest SM computes 8 tiles of 64 steps, each with two loads. The slow kernel takes 794.9 µs, 0.78 µs for
# each load; the fast one 200.0 µs, 0.20 for each. If a load takes equally long in both, about four loads, of the eight
# that fit, are in flight.
#
# For all the compiler knows, C's memory may overlap with A's or B's. The third promise is a keyword after a pointer's
# type, as in `const bf16* __restrict__ a`: the kernel writes through no other pointer to the memory that it accesses
# through this one. **Predict** which of a, b and c need it for the second loop.
#
# <details><summary>Which?</summary>
#
# All three, with this compiler (13.4): `fetching` shows it.
#
# </details>
#
# **Exercise 09.2** (about 5 lines). Write `gemm()`, which returns `first_gemm()` with the promises that it needs; tiles
# and launch stay. TMA carries every load and every store, and the loop that fetches tiles does not wait for a load that
# it has just issued. Promise only what is true: GPU memory begins at multiples of 256 bytes, and all sizes are now
# multiples of 8, not of the tile. To see what the compiler makes of your source, print `compile_cpp(gemm()).remarked`
# and `fetching(compile_cpp(gemm()))`.


# %%
def gemm():
    ### BEGIN SOLUTION (about 5 lines)
    promises = [f"{pointer} = ct::assume_aligned({pointer}, 16_ic);" for pointer in "abc"]
    promises += [f"{size} = ct::assume_divisible({size}, 8_ic);" for size in "nk"]
    source = first_gemm().replace("bf16* ", "bf16* __restrict__ ")
    return source.replace("auto A", "\n".join(promises) + "\nauto A")
    ### END SOLUTION


# %%
check("09.2", gemm)

# %% [markdown]
# ## The value of each promise
#
# The table is for 4096³ in bf16. A "+" adds a promise to the line above; each of the last three is the kernel of the
# line "+ `__restrict__`" with one change. Each fraction compares with the cuBLAS runs beside it, 174 to 179 µs. Nsight
# Compute counted two columns in separate runs: *threads* is the block size, *tensor* the percentage of an SM's cycles
# in which its tensor cores work. **Predict**: how much time do masks cost when TMA does the masking, and how much do
# compile-time sizes save?

# %%
race(PROMISES, "cpp_promises", threads=BLOCK_SIZE, tensor=TENSOR_BUSY)

# %%
for name in ("nothing", "+ multiples of 8", "  multiples of 4 instead"):
    made = compile_cpp(PROMISES[name].source)
    counts = [f"{made.ptx.count(word):3} {word}" for word in ("ld.global.b16", "cp.async.ca")]
    print(f"{name:24} {', '.join(counts)}; {fetching(made)}")

# %% [markdown]
# Alone, `__restrict__` gains nothing, and alignment 8%: as in *nothing*, the threads load elements of 2 bytes one by
# one. Alignment and multiples of 8 together bring TMA, and `__restrict__` then makes the kernel four times as fast.
# Multiples of 4 are too weak for TMA, but let the threads copy 8 bytes at once by `cp.async`: that kernel is 2.5 times
# as fast as TMA without a pipeline. Python does not pass this fact: in the first cell, at K = 4092, the threads load
# element by element. Masks cost nothing; compile-time sizes gain nothing.
#
# ## The last tenth
#
# With all promises, the kernel runs at 89% of cuBLAS's speed. Three techniques of notebook 07 close most of it:
#
# - **The order of the tiles**, strips of 8 rows as in [07.2](07_cutile_gemm.ipynb), so that loads hit L2.
# - **Persistence.** `ct::num_blocks().x` is the number of blocks, and `ct::irange(first, end, step)` takes a step. Its
#   three arguments must have the same type.
# - **Hints**, an attribute in front of `__tile_global__`. The first number is the target architecture (900 is Hopper);
#   0 means all of them. A CGA is a cluster.
#
# | hint | |
# |---|---|
# | `[[ cutile::hint(0, occupancy=2) ]]` | two blocks on an SM |
# | `[[ cutile::hint(0, num_worker_warps_per_cta=8) ]]` | eight consumer warps share the accumulators |
# | `[[ cutile::hint(0, num_cta_in_cga=2) ]]` | two CTAs of a cluster work on one tile |
#
# A persistent vector addition:

# %%
few_blocks = r"""
[[ cutile::hint(0, occupancy=2) ]]
__tile_global__ void vector_add(const float* a, const float* b, float* c, int n) {
    auto A = ct::partition_view{ct::tensor_span{a, ct::extents{n}}, ct::shape{1024_ic}};
    auto B = ct::partition_view{ct::tensor_span{b, ct::extents{n}}, ct::shape{1024_ic}};
    auto C = ct::partition_view{ct::tensor_span{c, ct::extents{n}}, ct::shape{1024_ic}};
    for (int i : ct::irange(int(ct::bid().x), (n + 1023) / 1024, int(ct::num_blocks().x)))
        C.store_masked(A.load_masked(i) + B.load_masked(i), i);
}
"""
c = torch.full_like(a := torch.randn(5000, device=place), torch.nan)
if run_cpp(few_blocks, (4,), a, a, c, len(c)):
    print("c is a + a:", torch.equal(c, a + a))

# %% [markdown]
# The table has fractions of cuBLAS's speed at 4096³ and at 8192³. In the rows with *2 CTAs*, each CTA has eight
# consumer warps; an indented row changes one thing in the last row that is not indented. **Predict**: what do two
# blocks on an SM gain, and what do steps of 128 along K cost?

# %%
show_sweep("cpp_ways")

# %%
for way in ("persistent, 256×256, 2 CTAs", "  steps of 128"):
    print(f"{way:27} {compile_cpp(WAYS[way].source).smem_bytes:,} bytes of shared memory")

# %% [markdown]
# - **128×256** spills with four consumer warps, as in notebook 07, which makes the kernel sixteen times slower.
# - **The order** pays at 8192 only; at 4096 its gain is within the spread.
# - **Persistence** gains more at 4096 than at 8192: with fewer steps in a tile, the gap is a larger share of the time
#   between tiles. **Two blocks on an SM** hide part of that time, too, and gain 4% at 4096; at 8192 nothing beyond the
#   ±.
# - **Steps of 128** lose more than a quarter, as in notebook 07: a CTA's stage grows from 48 to 96 KiB, so at most two
#   fit, not four.
# - Only **256×256 over two CTAs** passes cuBLAS, by 1.4%, and only at 8192.
#
# ## Your fastest kernel
#
# **Exercise 09.3** (about 28 lines, two thirds of them from 09.2). Write the persistent `gemm`, with the parameters of
# 09.2, for sizes that are multiples of 8. `print(gemm())` shows what you have. New is:
#
# - any number of blocks computes all of C, each tile once, in the order of 07.2: strips of 8 rows of
#   tiles, each column by column (the last strip may be lower);
# - TMA carries every load and store, and no load is waited for right after it is issued;
# - the tensor cores do all of the additions, and no accumulator spills to local memory.
#
# The tile shape and the hints are yours. It is launched with one block per SM, or with one per two SMs if you hint
# `num_cta_in_cga=2`: a grid counts clusters.


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
check("09.3", persistent_gemm)

# %% [markdown]
# The lines of *persistent, 256×256, 2 CTAs* that the 2-D grid lacks:

# %%
first, fastest = (WAYS[way].source.split("\n") for way in ("2-D grid", "persistent, 256×256, 2 CTAs"))
print("\n".join(line for line in fastest if line not in first))

# %% [markdown]
# The solutions, timed in turn with cuBLAS. Where 09.2 has an ≈, trust *+ `__restrict__`* above:

# %%
show_ladder("09")

# %% [markdown]
# ## What to remember
#
# - The compiler can use only facts that it can prove or that you promise: aligned pointers, row strides in multiples of
#   16 bytes, and memory that no other pointer writes. TMA needs the first two; without the third there is no pipeline.
# - No GPU checks a promise. If it is false, the kernel may read the wrong data or crash.
# - The compiler's remarks name the instruction for each load, store and mma, or the reason for a slower one. Read them
#   first. They do not mention `__restrict__`.
# - A kernel in C++ serves a library without Python.
#
# Next: [10](10_gemm_baseline.ipynb).
#
# ## Test yourself
#
# <details><summary>1. Your GEMM promises aligned pointers and multiples of 8, and the remarks show TMA everywhere. It
# runs far below cuBLAS's speed. What do you check?</summary>
#
# `__restrict__`: the remarks do not mention it. Unless all three pointers have it, this compiler makes a kernel that
# waits for each load before it issues the next.
#
# </details>
#
# <details><summary>2. How can a library that accepts any number of columns use TMA?</summary>
#
# With two kernels: it launches the one with promises only where they hold.
#
# </details>
#
# <details><summary>3. A persistent kernel with <code>num_cta_in_cga=2</code> is launched with 132 blocks on 132
# SMs. Its result is correct. What is wrong with the launch?</summary>
#
# A grid counts clusters, and each takes two SMs: 66 run, and the other 66, with half of the tiles, wait until these
# finish. Launch 66.
#
# </details>

# %% [markdown]
# ## Appendix: a program of your own
#
# A C++ program replaces torch with a launch and four functions of the CUDA runtime:
#
#     cudaMalloc(&x, bytes);                                  // x: a pointer that host code must not dereference
#     cudaMemcpy(to, from, bytes, cudaMemcpyHostToDevice);    // or cudaMemcpyDeviceToHost; returns after the copy
#     kernel<<<blocks, 1>>>(arguments);                       // returns at once, before the kernel has finished
#     cudaGetLastError();                                     // cudaSuccess, which is 0, or the last error
#     cudaFree(x);
#
# If the GPU refused a launch, only `cudaGetLastError` tells you. A fault inside the kernel appears in the result of the
# copy. This function of *host* pointers computes c = a + b with `vector_add`:


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
        cudaError_t error = cudaGetLastError();
        if (!error) error = cudaMemcpy(c, z, bytes, cudaMemcpyDeviceToHost);
        if (error) std::fprintf(stderr, "vector_add: %s\n", cudaGetErrorString(error));
        for (float* pointer : {x, y, z}) cudaFree(pointer);
    }
    """


# %% [markdown]
# The next cell writes the kernel, this function and a `main` that tests them to one file. The command that it prints
# builds a program.

# %%
write_program("vector_add.cu", vector_add, add_on_gpu)
