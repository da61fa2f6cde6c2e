# ---
# jupyter:
#   tutorlib:
#     minutes: 70
#     summary: The same kernels in C++, where the compiler knows only the facts that you promise it.
# ---

# %% [markdown]
# # 09 · Tiles in C++
#
# [*CUDA Tile C++*](https://docs.nvidia.com/cuda/cuda-programming-guide/02-basics/writing-tile-kernels.html) brings the
# model of the last pages to C++: arrays, tiles, blocks, and no threads. The compiler is cuTile's.
#
# When Python launches a cuTile kernel, it first inspects your tensors and passes facts to the compiler: this pointer is
# a multiple of 16 bytes, and so is that stride. A C++ kernel is compiled before any tensor exists, so **you** state
# those facts in the source. A GEMM that states none is correct, but on an H200 it runs at 5% of cuBLAS's speed; with
# the same facts it is as fast as in Python.
#
# Each answer is a Python function that returns C++ source. `check` compiles it with the course's `nvcc` (13.4),
# inspects the code, and runs it, or simulates it if there is no GPU. You must install only a C++ compiler, which nvcc
# uses as its preprocessor. No later page needs this one: skip it if you write no C++.
#
# > **After this page you can** write a tile kernel in C++, find in the compiler's remarks and its code which fact it
# > lacks, and promise no more than is true.
# >
# > **It takes** about 70 minutes, on any machine with a C++ compiler: 10 to read, 26 for cells, 34 for the exercises.

# %%
import re

import pandas
import torch

from tutorlib import (
    TensorSpec, Timeline, check, compile_cpp, compile_cutile, fetching, run_cpp, show_sweep, show_timeline,
)  # fmt: skip
from tutorlib.kernels.cpp import PROMISES

# %% [markdown]
# Compile 07.1's kernel for rows of 8,184 bytes, which is not a multiple of 16, and then for rows of 8,192.

# %%
from tutorlib.kernels.cutile import plain

for k in (4092, 4096):
    a, c = TensorSpec((4096, k), "bf16"), TensorSpec((4096, 4096), "bf16")
    in_python = compile_cutile(plain, [a, a, c, 128, 128, 64], "sm_90")
    by_tma = len(re.findall(r"cp\.async\.bulk\.tensor\S*\.global\.tile", in_python.ptx))
    print(f"K = {k}: {by_tma} loads by TMA, {in_python.ptx.count('ld.global'):3} by threads")

# %% [markdown]
# Without the fact about the stride, threads copy element by element: 128 loads a thread in a step, which the code has
# twice. A launch tests strides for 16 bytes only: the compiler does not learn that 8,184 is a multiple of 8.
#
# ## A whole program
#
# - `__tile_global__` is the C++ counterpart of `@ct.kernel`. The parameters are plain pointers and numbers.
# - A **`tensor_span`** is a pointer with a shape, `ct::extents`, row-major unless you say otherwise.
# - A **`partition_view`** cuts the span into tiles of one `ct::shape`. `1024_ic` is a compile-time constant; tile sizes
#   are powers of two here as well.
# - `A.load_masked(i)` loads tile i and pads elements outside the span, with zeros by default. `C.store_masked(tile, i)`
#   drops elements outside the span. With the plain `load` and `store` you promise that the tile is entirely inside the
#   span; nothing verifies that.
#
# In `<<<blocks, 1>>>` the 1 is a formality: the compiler decides how many threads a **tile block** has. Saved
# as `add.cu`, the program is built with `nvcc -std=c++20 --enable-tile -arch sm_90 -o add add.cu`. Here `run_cpp`
# launches its kernel from Python. Later sources have only the kernel: the course adds lines 2 to 4, `<cuda_bf16.h>` and
# `using bf16 = __nv_bfloat16;`.


# %%
ADD = r"""
#include <cstdio>
#include <cuda_tile.h>
namespace ct = cuda::tiles;
using namespace ct::literals;

__tile_global__ void vector_add(const float* a, const float* b, float* c, int n) {
    auto A = ct::partition_view{ct::tensor_span{a, ct::extents{n}}, ct::shape{1024_ic}};
    auto B = ct::partition_view{ct::tensor_span{b, ct::extents{n}}, ct::shape{1024_ic}};
    auto C = ct::partition_view{ct::tensor_span{c, ct::extents{n}}, ct::shape{1024_ic}};
    int i = ct::bid().x;
    C.store_masked(A.load_masked(i) + B.load_masked(i), i);
}

int main() {
    int n = 5000;
    float *a, *b, *c;
    for (float** array : {&a, &b, &c})
        if (cudaMallocManaged(array, n * sizeof(float))) return 1;
    for (int i = 0; i < n; i++) a[i] = i, b[i] = 2 * i;
    vector_add<<<(n + 1023) / 1024, 1>>>(a, b, c, n);
    if (cudaDeviceSynchronize()) return 1;
    printf("c[4999] is %g\n", c[4999]);
}
"""
place = "cuda" if torch.cuda.is_available() else "cpu"
a, b = torch.randn(5000, device=place), torch.randn(5000, device=place)
c = torch.full_like(a, torch.nan)
if run_cpp(ADD, (5,), a, b, c, len(c)):  # 5 blocks of 1,024 elements
    print("c is a + b:", torch.equal(c, a + b))

# %% [markdown]
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
# A colleague has translated the GEMM of 07.1. C (m, n) = A (m, k) · Bᵀ, with B (n, k), all row-major. Block
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
# **Exercise 09.1** (about 4 lines). The draft has faults. Write `first_gemm()`, which returns the corrected source, as
# good as 07.1: m, n and k can be any positive numbers, no load leaves its matrix, and the tensor cores do all of the
# additions. Before you run the check, say for each fault at which sizes it shows, if at any.


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
# outside the mma: at no size. C is right, only slower: the threads do additions that the tensor cores could do.
#
# </details>
#
# ## The compiler's remarks
#
# Your kernel is correct for every size. For each load, store and mma the compiler emits a **remark** that
# names the instruction it chose, or why it could not choose a better one. `compile_cpp` asks for remarks with this
# command, which needs no GPU:
#
#     nvcc -std=c++20 --enable-tile -arch sm_90 -tilecubin -lineinfo -Xtileiras --remarks=all -o gemm.cubin gemm.cu
#
# `PROMISES` has kernels like yours, by what they promise. The first promises nothing:

# %%
print(compile_cpp(PROMISES["nothing"].source).remarked)

# %% [markdown]
# The loads do not use TMA: the threads load the elements into registers, then store them to shared memory.
#
# The remark names the reason, "base pointer not 16-byte aligned": as far as the compiler knows, a pointer may hold any
# address. State the fact with the first of the three **promises** of this page:
#
#     a = ct::assume_aligned(a, 16_ic);
#
# It costs no instruction. If the promise is false, the kernel may read the wrong data or crash. With this promise for
# a, b and c the remarks change:

# %%
print(compile_cpp(PROMISES["aligned pointers"].source).remarked)

# %% [markdown]
# Still no TMA, now because of the *stride*. For TMA three things must be multiples of 16 bytes: the address of the
# first element, the distance from one row to the next, and the length of the tile's row. The second promise is about a
# size; the strides follow from it:
#
#     k = ct::assume_divisible(k, 8_ic);
#
# A kernel with this promise is valid only for such sizes, so promise as little as you need.
#
# ## The promise that no remark asks for
#
# With both promises every remark below says TMA, and yet the kernel reaches only 22% of cuBLAS's speed. The compiler
# gives the loads to producer warps. `fetching` lists the waits and loads of their loop; *wait for it* waits at the
# mbarrier of the load just issued.

# %%
made = compile_cpp(PROMISES["+ multiples of 8"].source)
print(made.remarked)
print(f"{made.smem_bytes // 1024} KiB of shared memory: {fetching(made)}")

# %% [markdown]
# The kernel has room for five stages of 32 KiB and for the tile of C, but it waits until each load has arrived before
# it issues the next. The lower loop in the picture waits only until a buffer is free. In this model a number is a step
# along K, its two loads drawn as one. Its latency and compute time are fitted to Nsight Compute's counts: tensor cores
# busy for 20.9% of the time in this kernel, 86.5% in one that does not wait. **Predict:** which fact about a, b and c
# does the compiler lack?

# %%
show_timeline(*(Timeline(5, latency=8, transfer=1, compute=2, tiles=8, one_by_one=slow) for slow in (True, False)))

# %% [markdown]
# C's memory could overlap with A's or B's. The third promise excludes this. It is a keyword after a pointer's type, as
# in `const bf16* __restrict__ a`: while the kernel runs, memory accessed through this pointer is either never written,
# or accessed only through it. By this rule, which pointers need the keyword?

# %%
for pointers in ("c", "ab", "abc"):
    promised = re.sub(rf"bf16\* (?=[{pointers}],)", "bf16* __restrict__ ", PROMISES["+ multiples of 8"].source)
    print(f"__restrict__ on {pointers:3}: {fetching(compile_cpp(promised))}")
print(f"07.1 in cuTile     : {fetching(in_python)}")

# %% [markdown]
# By the rule c alone suffices, or a and b: then no store to C can change A or B. This compiler needs all three. (In
# fact no load needs to wait: the only store follows the loop.)
#
# cuTile always makes this promise: it compiles every launch as if no two arrays overlapped.
#
# **Exercise 09.2** (about 5 lines). Write `gemm()`, which returns `first_gemm()` with the promises that it needs; tiles
# and launch stay. TMA carries every load and every store, and the loop that fetches tiles does not wait for a load that
# it has just issued. Promise only what is true: a, b and c are whole allocations, aligned to 256 bytes, and all sizes
# are now multiples of 8, not of the tile. To see what the compiler makes of your source, print
# `compile_cpp(gemm()).remarked` and `fetching(compile_cpp(gemm()))`.


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
# The table is for 4096³ in bf16. A "+" adds a promise to the line above; *multiples of 4 instead*
# changes one of "+ `__restrict__`".

# %%
show_sweep("cpp_promises")

# %% [markdown]
# Alone, `__restrict__` gains nothing, and alignment 8%: the threads still load elements of 2 bytes one by one.
# Alignment and multiples of 8 together bring TMA, and `__restrict__` then makes the kernel four times as fast.
#
# Multiples of 4 are too weak for TMA, but let the threads copy 8 bytes at once by `cp.async`. That kernel is 2.5 times
# as fast as TMA without a pipeline. It is also right at K = 4092: there C++ can state a fact that Python does not pass.
#
# ## The same kernels in both languages
#
# The order of the tiles, persistence and hints exist in C++, too. `ct::num_blocks().x` is the number of blocks,
# `ct::irange(first, end, step)` takes a step, and a hint is an attribute in front of `__tile_global__`, such as
# `[[ cutile::hint(0, num_worker_warps_per_cta=8, num_cta_in_cga=2) ]]`. (0 means every architecture, and a CGA is a
# cluster.) The table has the rungs of notebook 07 in Tile C++ with all promises, and in cuTile, as fractions of
# cuBLAS's speed:

# %%
rungs = {
    "2-D grid": "a block for each tile",
    "strips": "in strips of 8 rows",
    "strips, 128×256": "tiles of 128×256, spilled",
    "strips, 128×256, 8 warps": "128×256, 8 warps",
    "persistent": "persistent, 128×128",
    "persistent, 256×256, 2 CTAs": "persistent, 256×256, 2 CTAs",
}
cpp, python = (show_sweep(name).droplevel(0, axis=1) for name in ("cpp_ways", "tile_rungs"))
columns = {}
for size in ("4096", "8192"):
    columns[size, "Tile C++"] = list(cpp.loc[list(rungs), size])
    columns[size, "cuTile"] = list(python.loc[list(rungs.values()), size])
pandas.DataFrame(columns, index=list(rungs))

# %% [markdown]
# No rung differs by more than 2% of cuBLAS's speed, less than two sessions may (4%, notebook 07): with the same three
# facts the language hardly matters. Both fall to 6% where the accumulators spill, and pass cuBLAS only with 256×256
# over two CTAs at 8192.
#
# ## A kernel of your own
#
# The gradient of a layer's weights is C = Aᵀ·B. A (k, m) and B (k, n) have a row for each of k tokens; C is (m, n).
# All are row-major.
#
# **Exercise 09.3** (about 17 lines). From an empty cell: write `gradient()`, which returns the source of this kernel,
# with the parameters and the grid of 09.2. k may be any positive number; m and n are multiples of 8. TMA carries every
# load and every store, no load is waited for right after it is issued, and the tensor cores do all of the additions.
# Promise nothing that can be false. (For bf16, wgmma can read either operand transposed.)


# %%
def gradient():
    ### BEGIN SOLUTION (about 17 lines)
    return r"""
    __tile_global__ void gemm(const bf16* __restrict__ a, const bf16* __restrict__ b, bf16* __restrict__ c,
                              int m, int n, int k) {
        a = ct::assume_aligned(a, 16_ic);
        b = ct::assume_aligned(b, 16_ic);
        c = ct::assume_aligned(c, 16_ic);
        m = ct::assume_divisible(m, 8_ic);
        n = ct::assume_divisible(n, 8_ic);
        auto A = ct::partition_view{ct::tensor_span{a, ct::extents{k, m}}, ct::shape{64_ic, 128_ic}};
        auto B = ct::partition_view{ct::tensor_span{b, ct::extents{k, n}}, ct::shape{64_ic, 128_ic}};
        auto C = ct::partition_view{ct::tensor_span{c, ct::extents{m, n}}, ct::shape{128_ic, 128_ic}};
        int i = ct::bid().x, j = ct::bid().y;
        auto acc = ct::zeros<ct::tile<float, ct::shape<128, 128>>>();
        for (int step : ct::irange(0, (k + 63) / 64))
            acc = ct::mma(ct::transpose(A.load_masked(step, i)), B.load_masked(step, j), acc);
        C.store_masked(ct::element_cast<bf16>(acc), i, j);
    }
    """
    ### END SOLUTION


# %%
check("09.3", gradient)

# %%
made = compile_cpp(gradient())
print(made.remarked)
print(fetching(made))

# %% [markdown]
# A's rows and B's rows are m and n elements long, so these are the strides; k is only the number of rows. A tile of
# 64×128 takes two loads by TMA, which copies rows of at most 128 bytes into a swizzled tile.
#
# ## A promise that is false
#
# At K = 68, as at 4,092, rows are a multiple of 8 bytes, not of 16. A's row i is full of the number i, and B of ones,
# so a wrong row of C shows a wrong row of A. **Predict:** which kernel is wrong, and from which row on?

# %%
a = torch.arange(128.0, device=place).bfloat16()[:, None].repeat(1, 68)
b = torch.ones(128, 68, device=place).bfloat16()
for promise in ("  multiples of 4 instead", "+ __restrict__"):
    c = torch.full((128, 128), torch.nan, device=place).bfloat16()
    try:
        if run_cpp(PROMISES[promise].source, (1, 1), a, b, c, 128, 128, 68):
            wrong = (~torch.isclose(c.float(), a.float() @ b.float().mT, rtol=0.01)).any(1).nonzero().flatten().tolist()
            print(f"{promise.strip()}: {len(wrong)} wrong rows", *wrong[:1], sep=", the first: ")
    except Exception as error:  # of the driver, which may refuse the launch
        print(f"{promise.strip()}: {error}")

# %% [markdown]
# The H200 ran the false promise without an error. A's row 1 begins at byte 136. No copy of 16 bytes, by a thread or by
# TMA, can begin there.
#
# ## What to remember
#
# - The compiler can use only facts that it can prove or that you promise: aligned pointers, row strides in multiples of
#   16 bytes, and memory that no other pointer writes. TMA needs the first two; without the third there is no pipeline.
# - Nothing checks a promise. cuTile makes the third for you.
# - The compiler's remarks name the instruction for each load, store and mma, or the reason for a slower one.
#
# Next: [10](10_gemm_baseline.ipynb).
#
# ## Test yourself
#
# <details><summary>1. The remarks show TMA everywhere, yet your GEMM is slow. What do you check?</summary>
#
# `__restrict__`, on all three pointers: the remarks do not mention it.
#
# </details>
#
# <details><summary>2. How can a library that multiplies by A (m, k) for any k use TMA?</summary>
#
# With two kernels, and a choice at the launch:
#
#     if (k % 8 == 0) promising<<<grid, 1>>>(a, b, c, m, n, k);
#     else general<<<grid, 1>>>(a, b, c, m, n, k);
#
# </details>
#
# <details><summary>3. C = A·Bᵀ as in 09.2, but n may be any number. Which loads and stores can still use TMA?</summary>
#
# The loads: A's and B's rows have k elements. C's rows have n, so threads store C.
#
# </details>
