# ---
# jupyter:
#   tutorlib:
#     minutes: 170
#     summary: Fifteen broken kernels, all but one with its author's report. You find the line, prove it, and fix it.
# ---

# %% [markdown]
# # 18 · A bug hunt
#
# A colleague sends you forty lines and one sentence: "the last rows are wrong", "it has been hanging since Tuesday",
# "it works on my machine". You did not write the code, and it looks fine. How do you find the bug, and how do you
# *know* that you have found it?
#
# The reports on this page are made up; the bugs are not. Each is a mistake that people make in kernels like these, in
# CuTe, in cuTile and in CUDA C++.
#
# > **After this page you can** reduce a failure to a small case, choose the tool that detects it, name that tool's
# > blind spots, and fix a kernel that you did not write.
# >
# > **It takes** about 170 minutes, on any machine: the kernels are simulated, and a GPU, if you have one, runs the
# > fixed ones, too.

# %%
import torch

from tutorlib import check, explain
from tutorlib.compiling.errors import CompileFailed
from tutorlib.kernels.bugs.catalogue import BUGS
from tutorlib.notebook.hunt import CAUSES, Diagnosis, as_it_is, output_of, patch, show_bug, show_verdicts

# %% [markdown]
# ## A method
#
# 1. **Read the symptom.** Where is it wrong: a column, a tail, everywhere? Always, or since something changed? Above
#    all: where is it *right*? The difference between the right cases and the wrong ones tells more than the failure
#    alone.
# 2. **Make it small.** One block, one tile, two steps of the loop. A bug that appears at 17 but not at 16 nearly tells
#    you its line.
# 3. **Ask the tool that can see it.** Each detects one kind of fault and is blind to the others; a clean report proves
#    nothing about those.
# 4. **Predict, then look.** "If it is this, then row 3 holds row 2's values." A hypothesis that predicts nothing is
#    worthless.
# 5. **Fix one thing**, and test at the size that failed, at one that passed, and at an odd one.
#
# | symptom | ask first | what it says |
# |---|---|---|
# | does not compile | the message, from its end | the line, and what the compiler could not prove |
# | illegal address, misaligned | memcheck; `explain` | the thread, the address, the line |
# | wrong in a pattern | inputs that encode their position | which element was used instead |
# | wrong beyond a size | the two sizes around the limit | which loop, edge or stage begins there |
# | nearly right | the error beside the type's rounding | what was rounded, and when |
# | different numbers in each run | racecheck (shared memory); `explain` | two lines that access the same location |
# | right, except on a busy GPU | `explain` | which block loads data that another stores, unordered |
# | garbage, or NaN, at times | initcheck; `explain` | which memory was read before it was written |
# | NaN for some inputs only | inputs at the edges: all negative, all equal, huge | which assumption fails |
# | hangs | synccheck, then cuda-gdb; `explain` | which threads wait, at which line |
# | right, and slow | ncu; `explain` | wavefronts and sectors beside what is needed |
#
# ## The tools
#
# **`explain`** simulates a kernel and reports every violation of the rules, whether or not the result is right. It is
# slow, so give it a small case.
#
# **compute-sanitizer** comes with the CUDA toolkit and watches a kernel on a GPU:
#
# | `compute-sanitizer --tool` | sees | does not see |
# |---|---|---|
# | `memcheck` | accesses outside of allocations, misaligned ones | an overrun within one allocation |
# | `racecheck` | two threads that access the same *shared* memory with no barrier between | global memory |
# | `synccheck` | barriers that some threads do not reach, invalid barriers | a missing barrier |
# | `initcheck` | reads of uninitialized *global* memory; in newer versions of *shared* memory, too | registers |
#
# torch allocates memory from the driver in large blocks, and memcheck treats each block as one allocation. So set
# `PYTORCH_NO_CUDA_MEMORY_CACHING=1`; otherwise an overrun can land in the next tensor, and no tool reports it. Compile
# kernels with `-lineinfo` (nvcc) or `--generate-line-info` (the CuTe DSL's `options=`), or you get addresses instead of
# lines.
#
# **`printf`** of C++ and `cute.printf` print from the kernel, at run time; Python's `print` in a `@cute.jit` function
# prints while it is *compiled*, which shows layouts and their static properties. At run time, let only one thread
# print.
#
# **cuda-gdb** is for a kernel that hangs: `cuda-gdb -p PID` attaches to the process, `info cuda kernels` lists the
# running kernels, `info cuda warps` shows where each warp of the SM is, `cuda block 0 thread 64` switches to a thread
# and `bt` shows its line. **ncu** reads hardware counters. You need neither on this page.
#
# ## How this page is graded
#
# Each bug has two exercises. For the **diagnosis**, you return `Diagnosis(line=…, cause=…, shape=…)`: the line's number
# or its text, one of the causes below, and an input that exposes the bug. The checker runs the broken kernel on that
# input. If nothing goes wrong there, you get no points, even if the line and cause are right. An input that exposes the
# bug earns one point; begin with that, and leave `line` and `cause` at `None`. They are graded as a pair: a right pair
# earns the other three points, and a wrong pair costs the first one as well. `check` does not say which of the two was
# wrong, and after three wrong pairs it judges no other until your fix of that bug passes. The causes:

# %%
for name, meaning in CAUSES.items():
    print(f"{name:23}{meaning}")

# %% [markdown]
# For the **fix**, you get the source as a string and return it corrected. `patch(source, old, new)` changes one place;
# you may also return a string of your own. The checker compiles it and tests it like every kernel of the course: shapes
# with tails, a result that is known exactly, and the simulator's rules. Fix the kernel, do not rewrite it: work done
# with tensor cores, shared memory or asynchronous copies must still use them. A pipeline that no longer has copies in
# flight while it computes, a redundant barrier, or a new bank conflict costs a point.
#
# If a statement is missing, either line next to the gap is right.
#
# ## Wrong, and the same every time
#
# These need no tool but the right input.
#
# ### Bug 1: a linear layer
#
# > "The cuTile forward pass of our linear layer. I tested it with w = the identity and no bias, and y matches x bit for
# > bit. With the trained weights it is garbage, the same garbage every time."

# %%
show_bug("linear")

# %% [markdown]
# `explain` on an exercise's kernel prints whether the result is right, then its findings. `as_it_is` is a fix that
# changes nothing.

# %%
picture = explain("18.2", as_it_is, shape=(32, 32, 32))

# %% [markdown]
# The result is wrong, yet no rule is broken: the kernel computes something else, flawlessly. So choose an *input* that
# reveals what. A single 1 in a weight matrix of zeros picks one element of x, and its position in y shows how w was
# read. `output_of` simulates a broken kernel on your inputs, in the order of its parameters.

# %%
x = (torch.arange(32) + 1).repeat(32, 1).bfloat16()  # x[m, k] = k + 1
w = torch.zeros(32, 32).bfloat16()
w[0, 5] = 1  # so y[:, 0] should be x[:, 5], which is 6
y = output_of("linear", (32, 32, 32), x, w, torch.zeros(32).bfloat16())
print({(0, n): y[0, n].item() for n in range(32) if y[0, n] != 0})

# %% [markdown]
# **Exercises 18.1 and 18.2** (about 5 lines and 1). The shape is (M, N, K). A `Diagnosis` can also have
# `data=`, the inputs as NumPy arrays; without it they are random.


# %%
def diagnose_linear():
    ### BEGIN SOLUTION (about 5 lines)
    return Diagnosis(
        line="sums = ct.mma(tile_x, tile_w, sums)",
        cause="majors swapped",
        shape=(32, 32, 32),
    )
    ### END SOLUTION


# %%
check("18.1", diagnose_linear)


# %%
def fix_linear(source):
    ### BEGIN SOLUTION (about 1 line)
    return patch(source, "ct.mma(tile_x, tile_w, sums)", "ct.mma(tile_x, ct.transpose(tile_w), sums)")
    ### END SOLUTION


# %%
check("18.2", fix_linear)

# %% [markdown]
# Square tiles hid it: with T×T on both sides, the shapes match in either orientation. Test with tiles that differ, and
# never with a symmetric matrix.
#
# ### Bug 2: a GEMM of any size
#
# > "Plain fp32 in CUDA C++, no tricks. 40×50×64 is right, 40×50×60 is wrong nearly everywhere. memcheck complained
# > about the last row, so I allocated one more row. Now memcheck is quiet and the result is as wrong as before."

# %%
show_bug("sgemm")

# %% [markdown]
# **Exercises 18.3 and 18.4** (about 5 lines and 2). Make it smaller than 40×50×60: what is the smallest (M, N, K) that
# fails?


# %%
def diagnose_sgemm():
    ### BEGIN SOLUTION (about 5 lines)
    return Diagnosis(
        line="sA[y][x] = row < m ?",
        cause="unguarded tail",
        shape=(2, 1, 1),
    )
    ### END SOLUTION


# %%
check("18.3", diagnose_sgemm)


# %%
def fix_sgemm(source):
    ### BEGIN SOLUTION (about 2 lines)
    source = patch(source, "= row < m ?", "= row < m && k0 + x < k ?")
    return patch(source, "= b_row < n ?", "= b_row < n && k0 + x < k ?")
    ### END SOLUTION


# %%
check("18.4", fix_sgemm)

# %% [markdown]
# Beyond the end of a row is the next row: valid memory, full of numbers, so memcheck does not object. The last row's
# overrun was the only part of the bug that memcheck could see, and the extra row hid it.
#
# ### Bug 3: a histogram
#
# > "It passed every test. Since we let the autotuner choose the number of threads, the bright half of the bins is off
# > now and then. The launch is valid for any T, and the loops run to the end for any T; I checked."

# %%
show_bug("histogram")

# %% [markdown]
# The shape is (M, N, T): rows, elements per row, threads per block. So your input includes the *launch* configuration.
#
# **Exercises 18.5 and 18.6** (about 5 lines and 3).


# %%
def diagnose_histogram():
    ### BEGIN SOLUTION (about 5 lines)
    return Diagnosis(
        line="if (t < BINS) mine[t] = 0;",
        cause="never initialised",
        shape=(1, 100, 128),
    )
    ### END SOLUTION


# %%
check("18.5", diagnose_histogram)


# %%
def fix_histogram(source):
    ### BEGIN SOLUTION (about 3 lines)
    every_bin = "for (int bin = t; bin < BINS; bin += blockDim.x) mine[bin] = 0;"
    return patch(source, "if (t < BINS) mine[t] = 0;", every_bin)
    ### END SOLUTION


# %%
check("18.6", fix_histogram)

# %% [markdown]
# Uninitialized shared memory holds whatever the previous block left there, often zeros.
#
# ### Bug 4: a GEMM for a solver
#
# > "The solver stalls at a residual of 1e-4. The GEMM agrees with float64 to three or four digits, and fp32 should give
# > six. I suspected the accumulators and split K into short slices: no change. By the way, with matrices of small
# > integers it is exact."

# %%
show_bug("matmul_fp32")

# %% [markdown]
# *Nearly right* can be measured. Compare the error with the rounding of each type that could cause it: 2⁻⁸ for bf16,
# 2⁻¹¹ for tf32 and fp16, 2⁻²⁴ for fp32. Take K = 1, so that nothing is summed.

# %%
a, b = torch.randn(4, 1), torch.randn(4, 1)
c = output_of("matmul_fp32", (4, 4, 1), a, b)
error = ((c - a @ b.mT) / (a @ b.mT)).abs().max().item()
print(f"largest relative error of a single product: {error:.1e}; 2⁻²⁴ is {2**-24:.1e}, 2⁻¹¹ is {2**-11:.1e}")

# %% [markdown]
# **Exercises 18.7 and 18.8** (about 5 lines and 2).


# %%
def diagnose_matmul():
    ### BEGIN SOLUTION (about 5 lines)
    return Diagnosis(
        line="tile_a = ct.load(",
        cause="factors rounded",
        shape=(4, 4, 1),
    )
    ### END SOLUTION


# %%
check("18.7", diagnose_matmul)


# %%
def fix_matmul(source):
    ### BEGIN SOLUTION (about 2 lines)
    return source.replace(".astype(ct.tfloat32)", "")
    ### END SOLUTION


# %%
check("18.8", fix_matmul)

# %% [markdown]
# The fixed kernel multiplies without tensor cores, at a fraction of the speed. Accuracy or speed: the author who wrote
# "fp32" above it decides.
#
# ## Threads that do not wait for each other
#
# From here on results may be right by luck, and more runs prove nothing: on another GPU, at another clock, or next to
# another block on the SM, the order changes.
#
# ### Bug 5: rows divided by their largest
#
# > "My first kernel in CuTe. The tree is from a textbook. It used to work with 32 threads. With 128 it is wrong, and a
# > friend says that it hangs on his machine."

# %%
show_bug("largest")

# %% [markdown]
# Does the barrier hold back a thread that skips the branch? If it does, thread 64 begins the turn with half = 32 only
# after thread 0 has passed the barrier of the turn with half = 64. Let both threads print:

# %%
talking = patch(
    BUGS["largest"].source,
    "        if t < half:\n",
    "        if t == 64:\n            cute.printf('thread 64 begins half = {}', half)\n        if t < half:\n",
)
barrier = "            cute.arch.sync_threads()\n"
passed = "            if t == 0:\n                cute.printf('thread 0 passed the barrier of half = {}', half)\n"
output_of("largest", (1, 64), source=patch(talking, barrier, barrier + passed))

# %% [markdown]
# Thread 64 has gone through all seven turns before thread 0 passes the first barrier.
#
# **Exercises 18.9 and 18.10** (about 5 lines and 1). The shape is (M, N).


# %%
def diagnose_largest():
    ### BEGIN SOLUTION (about 5 lines)
    return Diagnosis(
        line=26,
        cause="barrier in a branch",
        shape=(1, 64),
    )
    ### END SOLUTION


# %%
check("18.9", diagnose_largest)


# %%
def fix_largest(source):
    ### BEGIN SOLUTION (about 1 line)
    return patch(source, "            cute.arch.sync_threads()", "        cute.arch.sync_threads()")
    ### END SOLUTION


# %%
check("18.10", fix_largest)

# %% [markdown]
# In Python, indentation alone can be a bug. At such a barrier, the outcome depends on what the other threads do next:
# if they reach another barrier, the hardware treats the two as one, and the threads continue out of step; if they exit,
# they no longer count; if they wait for something else, the block hangs. One bug has three symptoms, and none is
# guaranteed. Follow the rule: all threads of the block must reach every block barrier.
#
# ### Bug 6: a matrix times a vector
#
# > "Two stages along K by cp.async, like in the book. K = 128 is right. K = 256 is wrong, with any matrix. If I wait
# > for everything (`__pipeline_wait_prior(0)`) it is still wrong, so it is not the wait."

# %%
show_bug("gemv")

# %% [markdown]
# That experiment rules out one cause. **Exercises 18.11 and 18.12** (about 5 lines and 2). The shape is
# (M, K). `printf` works in `source=` of `output_of`, too; `#include <cstdio>` declares it.


# %%
def diagnose_gemv():
    ### BEGIN SOLUTION (about 5 lines)
    return Diagnosis(
        line="int stage = 0;",
        cause="wrong stage",
        shape=(1, 256),
    )
    ### END SOLUTION


# %%
check("18.11", diagnose_gemv)


# %%
def fix_gemv(source):
    ### BEGIN SOLUTION (about 2 lines)
    last = "sW[stage][i];\n    __syncthreads();\n"
    return patch(source, last, last + "    stage ^= 1;\n")
    ### END SOLUTION


# %%
check("18.12", fix_gemv)

# %% [markdown]
# An index that never changes is right for the first tile, so every test with a single tile passes. Test a ring with at
# least one more tile than it has stages.
#
# ### Bug 7: the end of a split-K GEMM
#
# > "It adds S partial results, in three stages, with one cp.async for each part. On my GPU it has never been wrong. In
# > the nightly run, about once a week, the last part is missing."

# %%
show_bug("sum_parts")

# %% [markdown]
# The picture below shows the loop's last steps: compare the buffers with the reads.

# %%
explain("18.14", as_it_is, shape=(4, 256))

# %% [markdown]
# **Exercises 18.13 and 18.14** (about 5 lines and 2). The shape is (S, N). What is the smallest S that exposes the bug?


# %%
def diagnose_sum_parts():
    ### BEGIN SOLUTION (about 5 lines)
    return Diagnosis(
        line="cute.arch.cp_async_wait_group(STAGES - 1)",
        cause="copy not waited for",
        shape=(1, 256),
    )
    ### END SOLUTION


# %%
check("18.13", diagnose_sum_parts)


# %%
def fix_sum_parts(source):
    ### BEGIN SOLUTION (about 2 lines)
    commit = "    cute.arch.cp_async_commit_group()\n        cute.arch.cp_async_wait_group"
    return patch(source, commit, commit.removeprefix("    "))
    ### END SOLUTION


# %%
check("18.14", fix_sum_parts)

# %% [markdown]
# This is notebook 12's rule: commit one group in every step, even an empty one, or "all but the newest two" refers to a
# different tile while the ring drains. Even S = 1 exposes it: only one group exists, so the wait covers none. Whether
# the copy has landed by the time of the read is then a matter of luck.
#
# ### Bug 8: an epilogue
#
# > "bf16 on the tensor cores through `nvcuda::wmma`. Stores were slow, so now the tile goes through shared memory and
# > each warp stores whole rows. I put a barrier in between, of course. I think it is right. racecheck disagrees."

# %%
show_bug("tile_gemm")

# %% [markdown]
# **Exercises 18.15 and 18.16** (about 5 lines and 1).


# %%
def diagnose_tile_gemm():
    ### BEGIN SOLUTION (about 5 lines)
    return Diagnosis(
        line="__syncwarp();",
        cause="read too early",
        shape=(32, 32, 16),
    )
    ### END SOLUTION


# %%
check("18.15", diagnose_tile_gemm)


# %%
def fix_tile_gemm(source):
    ### BEGIN SOLUTION (about 1 line)
    return patch(source, "__syncwarp();", "__syncthreads();")
    ### END SOLUTION


# %%
check("18.16", fix_tile_gemm)

# %% [markdown]
# `__syncwarp()` orders what the threads of one warp do. Ask of each barrier: which threads wrote, which threads read,
# and does it cover both?
#
# ### Bug 9: RMS norm
#
# > "A persistent kernel: four blocks process all rows in turn. A thousand runs on my GPU gave the same bits a thousand
# > times. The reviewer rejected it and did not say why."
#
# The launch is `min(M, 4)` blocks of 128 threads.

# %%
show_bug("rms_norm")

# %% [markdown]
# The simulator's result is right, too. A thousand equal results show that a thousand runs had a harmless order; they do
# not show that every order is harmless. **Exercises 18.17 and 18.18** (about 5 lines and 2). Your input must make the
# simulator report a hazard.


# %%
def diagnose_rms_norm():
    ### BEGIN SOLUTION (about 5 lines)
    return Diagnosis(
        line="if (t % 32 == 0) partial[t / 32] = squares;",
        cause="overwritten too early",
        shape=(5, 32),
    )
    ### END SOLUTION


# %%
check("18.17", diagnose_rms_norm)


# %%
def fix_rms_norm(source):
    ### BEGIN SOLUTION (about 2 lines)
    last_read = "total += partial[warp];\n"
    return patch(source, last_read, last_read + "    __syncthreads();\n")
    ### END SOLUTION


# %%
check("18.18", fix_rms_norm)

# %% [markdown]
# A barrier orders the accesses before it *and* after it. For every loop, ask both questions: may I read what was
# written, and may I overwrite, one iteration later, what was read?
#
# ### Bug 10: a stream by TMA
#
# > "Two stages, filled by TMA, each with an mbarrier. A block with one tile is right. With more, it is sometimes wrong
# > and usually never returns."

# %%
show_bug("stream")

# %% [markdown]
# You need a Hopper GPU to run it, but not to understand it. **Exercises 18.19 and 18.20** (about 5 lines and 1). The
# shape is (M, N); a block has a column of tiles of 16×64.


# %%
def diagnose_stream():
    ### BEGIN SOLUTION (about 5 lines)
    return Diagnosis(
        line="cute.arch.mbarrier_wait(full + stage, tile % 2)",
        cause="wrong phase",
        shape=(32, 64),
    )
    ### END SOLUTION


# %%
check("18.19", diagnose_stream)


# %%
def fix_stream(source):
    ### BEGIN SOLUTION (about 1 line)
    return patch(source, "tile % 2)", "tile // STAGES % 2)")
    ### END SOLUTION


# %%
check("18.20", fix_stream)

# %% [markdown]
# A wait with the wrong parity either returns at once, if the preceding phase is the last one that completed, or waits
# for a phase that never completes. The outcome depends on whether the bytes have landed, so on timing. PTX defines the
# parities 0 and 1 alone, so reduce the round modulo 2.
#
# ## It refuses, it crashes, it crawls
#
# ### Bug 11: large tensors
#
# > "It compiled until I made it safe for tensors beyond 2^31 elements. All my sizes are small, and they fit into any
# > integer type. The number is the same one as before!"

# %%
show_bug("scale_rows")

# %% [markdown]
# Read a message from its end: what the compiler needed, what it knew, and only then where.

# %%
try:
    output_of("scale_rows", (3, 260))
except CompileFailed as error:
    print(*error.lines, sep="\n")

# %% [markdown]
# It needs 16-byte alignment and can prove only 4: the size of one element. So ask what the compiler knows. `print` in
# the host function runs during compilation, possibly several times; `?` is a number known only at run time.

# %%
asking = patch(BUGS["scale_rows"].source, "    layout =", "    print('x:', x.layout)\n    layout =")
try:
    output_of("scale_rows", (3, 260), source=asking)
except CompileFailed:
    print("(and then it fails as before)")

# %% [markdown]
# **Exercises 18.21 and 18.22** (about 5 lines and 2). Keep the 64 bits, and the vectors of 16 bytes.


# %%
def diagnose_scale_rows():
    ### BEGIN SOLUTION (about 5 lines)
    return Diagnosis(
        line="pitch = cutlass.Int64(x.shape[1])",
        cause="lost divisibility",
        shape=(2, 64),
    )
    ### END SOLUTION


# %%
check("18.21", diagnose_scale_rows)


# %%
def fix_scale_rows(source):
    ### BEGIN SOLUTION (about 2 lines)
    wide = "cutlass.Int64(x.shape[1])"
    return patch(source, wide, f"cute.assume({wide}, divby=VECTOR)")
    ### END SOLUTION


# %%
check("18.22", fix_scale_rows)

# %% [markdown]
# A value and its type are different things. The value fit. The fact "a multiple of 4" belongs to the type, and the
# conversion made a new type without it; the proof of 16-byte alignment was lost. `x.stride[0]` was available all along,
# in 64 bits and with its divisibility.
#
# ### Bug 12: sums of rows
#
# > "Misaligned address, immediately, with more than one row. The global addresses are multiples of 16; I printed them.
# > It started with the padding, which I added because of the profiler."

# %%
show_bug("row_sums")

# %% [markdown]
# **Exercises 18.23 and 18.24** (about 5 lines and 1). The shape is (M, N).


# %%
def diagnose_row_sums():
    ### BEGIN SOLUTION (about 5 lines)
    return Diagnosis(
        line="constexpr int PITCH",
        cause="misaligned",
        shape=(2, 32),
    )
    ### END SOLUTION


# %%
check("18.23", diagnose_row_sums)


# %%
def fix_row_sums(source):
    ### BEGIN SOLUTION (about 1 line)
    return patch(source, "COLUMNS + 1", "COLUMNS + VECTOR")
    ### END SOLUTION


# %%
check("18.24", fix_row_sums)

# %% [markdown]
# One number has two constraints: cp.async needs rows that begin at multiples of 16 bytes, and the reads need
# neighboring rows in different banks. Four extra columns can satisfy both if the compiler reads the aligned rows 16
# bytes at a time; `explain("18.24", fix_row_sums)` counts the wavefronts of your version. A swizzle (notebook 03)
# needs no padding.
#
# ### Bug 13: channels last
#
# > "Right at every size, and much slower than a copy of as many bytes. Reads and writes are coalesced, I made
# > sure of that."

# %%
show_bug("channels_last")

# %% [markdown]
# On a GPU, `ncu --metrics l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum` counts bank conflicts. Here `explain`
# counts wavefronts, from the addresses:

# %%
explain("18.26", as_it_is, shape=(32, 32))

# %% [markdown]
# **Exercises 18.25 and 18.26** (about 5 lines and 1). The shape is (C, P); your input must show the waste.


# %%
def diagnose_channels_last():
    ### BEGIN SOLUTION (about 5 lines)
    return Diagnosis(
        line="__shared__ float tile[T][T];",
        cause="bank conflicts",
        shape=(32, 32),
    )
    ### END SOLUTION


# %%
check("18.25", diagnose_channels_last)


# %%
def fix_channels_last(source):
    ### BEGIN SOLUTION (about 1 line)
    return patch(source, "tile[T][T];", "tile[T][T + 1];")
    ### END SOLUTION


# %%
check("18.26", fix_channels_last)

# %% [markdown]
# ## Blocks that do not wait for each other
#
# ### Bug 14: a bias's gradient
#
# > "One launch in place of two. The last block to finish adds up what all four stored, always in the same order, so the
# > result is the same bit for bit. It was, a million times. Since we share the GPU with other jobs, one result in
# > thousands lacks a slice. racecheck is silent, and there is a barrier before the counter and one after it."

# %%
show_bug("column_sums")

# %% [markdown]
# The simulator runs the blocks in order, so its result is always right; read its finding. **Exercises 18.27 and 18.28**
# (about 5 lines and 6). The shape is (M, N).


# %%
def diagnose_column_sums():
    ### BEGIN SOLUTION (about 5 lines)
    return Diagnosis(
        line="last = atomicAdd(",
        cause="blocks not ordered",
        shape=(4, 128),
    )
    ### END SOLUTION


# %%
check("18.27", diagnose_column_sums)


# %%
def fix_column_sums(source):
    ### BEGIN SOLUTION (about 6 lines)
    count = "last = atomicAdd(&finished[strip], 1) == SLICES - 1;"
    ordered = f"""if (t == 0) {{
    __threadfence();
    {count}
    __threadfence();
  }}"""
    return patch(source, f"if (t == 0) {count}", ordered)
    ### END SOLUTION


# %%
check("18.28", fix_column_sums)

# %% [markdown]
# `__syncthreads()` orders the threads of one block, and an `atomicAdd` orders nothing but itself: PTX calls it
# *relaxed*. The other block can see the counter's new value before the sums that were stored earlier, or use a value
# from its own L1 cache that is older than the counter. Two fences prevent it, one in each block:
#
# > store the data · **fence** · write the flag &nbsp;&nbsp;&nbsp;&nbsp; read the flag · **fence** · load the data
#
# PTX calls the left half a *release* pattern and the right half an *acquire* pattern. The barriers stay: they put the
# other threads' stores before thread 0's fence, and their loads after it. Split-K, stream-K and every "last block"
# reduction depend on these two fences.
#
# ## Without a report
#
# ### Bug 15: softmax
#
# This kernel has passed its tests for a year, and it has no report and no hints. Is every line right for every input?

# %%
show_bug("softmax")

# %% [markdown]
# **Exercises 18.29 and 18.30** (about 6 lines and 4). The shape is (M, N).


# %%
def diagnose_softmax():
    ### BEGIN SOLUTION (about 6 lines)
    return Diagnosis(
        line="return of_warp(lane < WARPS ? partial[lane] : 0.0f, op);",
        cause="wrong identity",
        shape=(1, 8),
        data=[torch.full((1, 8), -1000.0).numpy()],
    )
    ### END SOLUTION


# %%
check("18.29", diagnose_softmax)


# %%
def fix_softmax(source):
    ### BEGIN SOLUTION (about 4 lines)
    source = patch(source, "Op op, float *partial", "Op op, float neutral, float *partial")
    source = patch(source, ": 0.0f, op);", ": neutral, op);")
    source = patch(source, "Max(), tops", "Max(), -INFINITY, tops")
    return patch(source, "Add(), totals", "Add(), 0.0f, totals")
    ### END SOLUTION


# %%
check("18.30", fix_softmax)

# %% [markdown]
# A helper written for sums was reused for a maximum; 0 is neutral for a sum and not for a maximum. Softmax hides the
# mistake: whatever is subtracted from a row cancels, as long as no exponential overflows and not all of them underflow.
# In a row that a mask has made very negative throughout, all of them are 0, and 0 / 0 is NaN. Random numbers around 0
# never get there.
#
# ## What compute-sanitizer says
#
# The recorded verdicts of its four tools, at the size of each report. The column heads name the GPU, the date and
# compute-sanitizer's version. Before you look: for which bugs will all four be silent?

# %%
show_verdicts()

# %% [markdown]
# `linear` and `matmul_fp32` break no rule, `channels_last` is right but slow, and `histogram` leaves bins in *shared*
# memory unset, which this version of initcheck did not report. On a kernel that hangs, like `stream`, the tools report
# nothing until it ends. Bug 14 is out of racecheck's sight, because it is a race in global memory, and bug 15 breaks no
# rule either.
#
# ## What to remember
#
# - The inputs that work tell as much as those that fail. Find two neighboring inputs, one of each.
# - Inputs that encode their position (a single 1 among zeros, a ramp) are better than random ones for locating a bug,
#   and worse for testing.
# - A right result is no proof. A race is a property of the program, not of a run.
# - Every tool checks one thing, and its silence covers only that.
# - A barrier orders one block. Two blocks need a flag, with a fence before it is written and one after it is read.
# - Random numbers test the middle of the range. Test its edges, too.
# - Fix the cause. If a change makes the symptom go away and you cannot say why, put it back.
#
# ## Test yourself
#
# <details><summary>1. A kernel reads 4 bytes past the end of a row. When does memcheck report it?</summary>
#
# When the row is the last one and ends its allocation, as it does with torch's caching turned off. Otherwise these
# bytes are the next row or another tensor, and reading them is legal but wrong.
#
# </details>
#
# <details><summary>2. You add a <code>printf</code>, and the bug is gone. What have you learned?</summary>
#
# The bug probably depends on timing: printing slows one thread down and changes what the compiler keeps in registers.
# So look for a missing barrier or wait, with racecheck or the simulator, not for wrong arithmetic.
#
# </details>
#
# <details><summary>3. A reduction is right with 32 threads and wrong with 64. Which causes of the list come to
# mind first?</summary>
#
# Those that need a second warp: read too early, overwritten too early, a barrier in a branch, `__syncwarp` in place of
# `__syncthreads`. Or a hard-coded 32: a wrong coordinate, or the partial result of only one warp.
#
# </details>
