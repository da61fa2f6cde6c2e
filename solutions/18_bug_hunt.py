# ---
# jupyter:
#   tutorlib:
#     minutes: 150
#     summary: Thirteen broken kernels, each with what its author saw. You find the line, prove it, and mend it.
# ---

# %% [markdown]
# # 18 · A bug hunt
#
# A colleague sends you forty lines and one sentence: "the last rows are wrong", "it hangs since Tuesday", "it is right
# on my machine". You did not write them, and they look fine. How do you find what is wrong, and how do you *know* that
# you have found it?
#
# The reports on this page are made up; the bugs are not. Each is a mistake that people make in kernels like these, in
# CuTe, in cuTile and in CUDA C++.
#
# > **After this page you can** make a failure small, choose the tool that sees it, say what that tool cannot see, and
# > mend a kernel that you did not write.
# >
# > **It takes** about 150 minutes, on any machine, where the kernels are simulated; a GPU runs the mended ones, too.

# %%
import torch

from tutorlib import check, explain
from tutorlib.compiling.errors import CompileFailed
from tutorlib.kernels.bugs.catalogue import BUGS
from tutorlib.notebook.hunt import CAUSES, Diagnosis, as_it_is, output_of, patch, show_bug, show_verdicts

# %% [markdown]
# ## A method
#
# 1. **Read the symptom.** Where is it wrong: a column, a tail, everywhere? Always, or since something changed? And
#    above all: where is it *right*? What that case has in common tells more than the failure.
# 2. **Make it small.** One block, one tile, two steps of the loop. A bug that is gone at 16 and there at 17 has
#    told you its line.
# 3. **Ask the tool that can see it.** Each sees one kind of fault and is blind for the others; a silent tool proves
#    nothing about the rest.
# 4. **Predict, then look.** "If it is this, then row 3 holds row 2's values." A guess that predicts nothing is not one.
# 5. **Mend one thing**, and check at the size that failed, at the size that did not, and at an ugly one.
#
# | symptom | ask first | what it says |
# |---|---|---|
# | does not compile | the message, from its end | the line, and what the compiler could not prove |
# | illegal address, misaligned | memcheck; `explain` | the thread, the address, the line |
# | wrong in a pattern | inputs that name their place | which element came instead |
# | wrong beyond a size | the two sizes around the limit | which loop, edge or stage begins there |
# | nearly right | the error beside the type's rounding | what was rounded, and when |
# | other numbers in each run | racecheck; `explain` | two lines that meet in one place |
# | garbage, or NaN, at times | initcheck (global memory only); `explain` | what was read before it was written |
# | hangs | synccheck, then cuda-gdb; `explain` | which threads wait, at which line |
# | right, and slow | ncu; `explain` | wavefronts and sectors beside what is needed |
#
# ## The tools
#
# **`explain`** simulates a kernel and notices what breaks the rules, whether or not the result came out right. It is
# slow, so it wants the failure small.
#
# **compute-sanitizer** comes with the CUDA toolkit and watches a kernel on a GPU:
#
# | `compute-sanitizer --tool` | sees | does not see |
# |---|---|---|
# | `memcheck` | accesses outside of allocations, misaligned ones | an overrun within one allocation |
# | `racecheck` | two threads in one place of *shared* memory with no barrier between | global memory |
# | `synccheck` | barriers that not all threads reach, invalid ones | a barrier that is missing |
# | `initcheck` | reads of *global* memory that nobody wrote | shared memory, registers |
#
# torch takes memory from the driver in large pieces, and to memcheck a piece is one allocation. So set
# `PYTORCH_NO_CUDA_MEMORY_CACHING=1`, or an overrun ends in the next tensor and no tool says a word. Kernels need
# `-lineinfo` (nvcc) or `--generate-line-info` (the CuTe DSL's `options=`), or you get addresses in place of lines.
#
# **`printf`** of C++ and `cute.printf` print from the kernel, at run time; Python's `print` in a `@cute.jit` function
# prints while it is *compiled*, which shows layouts and what the compiler knows of them. Let one thread print.
#
# **cuda-gdb** is for a kernel that hangs: `cuda-gdb -p PID` attaches to the process, `info cuda kernels` says what
# runs, `info cuda warps` where each warp of the SM stands, `cuda block 0 thread 64` goes to a thread and `bt` shows its
# line. **ncu** counts. Neither is needed on this page.
#
# ## How this page is graded
#
# Each bug has two exercises. For the **diagnosis** you return `Diagnosis(line=…, cause=…, shape=…)`: the line's number
# or its text, one of the causes below, and an input at which it shows. The checker runs the broken kernel on that
# input. If nothing goes wrong there, there are no points, however right the answer is elsewhere. An input that shows
# the bug earns one point; begin with that, and leave `line` and `cause` at `None`. They are judged only together: both
# right earn the other three points, and a wrong pair costs the first one as well. You are not told which of the two was
# wrong, so trial and error does not pay. The causes:

# %%
for name, meaning in CAUSES.items():
    print(f"{name:23}{meaning}")

# %% [markdown]
# For the **mend** you get the source as a string and return it mended. `patch(source, old, new)` changes one place; you
# may as well return a text of your own. The checker compiles it and treats it like every kernel of the course: shapes
# with tails, a result that is known exactly, and the simulator's objections. Mend it, do not write another one: what
# goes through tensor cores, shared memory or asynchronous copies goes through them afterwards, too. A pipeline that no
# longer has copies in flight while it computes, or a barrier that orders nothing, keeps a point back.
#
# Where a statement is missing, any line beside the gap is right.
#
# ## Wrong, and the same every time
#
# These need no tool but the right input.
#
# ### Bug 1: a linear layer
#
# > "The cuTile forward pass of our linear layer. I tested it with w = the identity and no bias, and y is x to the last
# > bit. With the trained weights it is nonsense, always the same nonsense."

# %%
show_bug("linear")

# %% [markdown]
# `explain` on an exercise's kernel prints whether the result is right, then what it noticed. `as_it_is` stands for a
# mend that changes nothing.

# %%
picture = explain("18.2", as_it_is, shape=(32, 32, 32))

# %% [markdown]
# Wrong, and no rule broken: the kernel does, without a flaw, something else. Then let the *input* speak. One 1 in a
# weight matrix of zeros picks a single element of x, and where it comes out says how w was read. `output_of` simulates
# a broken kernel on inputs of yours, in the order of its parameters.

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
def mend_linear(source):
    ### BEGIN SOLUTION (about 1 line)
    return patch(source, "ct.mma(tile_x, tile_w, sums)", "ct.mma(tile_x, ct.transpose(tile_w), sums)")
    ### END SOLUTION


# %%
check("18.2", mend_linear)

# %% [markdown]
# Square tiles hid it: with T×T on both sides every shape fits, whichever way round. Test with tiles that differ, and
# never with a symmetric matrix.
#
# ### Bug 2: a GEMM of any size
#
# > "Plain fp32 in CUDA C++, no tricks. 40×50×64 is right, 40×50×60 is wrong nearly everywhere. memcheck has something
# > to say about the last row, so I allocated one row more. Now memcheck is quiet and the result is as wrong as before."

# %%
show_bug("sgemm")

# %% [markdown]
# **Exercises 18.3 and 18.4** (about 5 lines and 2). Make it smaller than 40×50×60: which is the smallest
# (M, N, K) that you can think of?


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
def mend_sgemm(source):
    ### BEGIN SOLUTION (about 2 lines)
    source = patch(source, "= row < m ?", "= row < m && k0 + x < k ?")
    return patch(source, "= b_row < n ?", "= b_row < n && k0 + x < k ?")
    ### END SOLUTION


# %%
check("18.4", mend_sgemm)

# %% [markdown]
# Behind a row's end lies the next row: memory that is yours, with numbers in it. memcheck cannot object to that. What
# it said about the last row was the only visible corner of the bug, and the additional row painted over it.
#
# ### Bug 3: a histogram
#
# > "It went through all tests. Since the autotuner may choose the number of threads, the bright half of the bins is odd
# > now and then. The launch is fine with any T, the loops run to the end for any T, I checked that."

# %%
show_bug("histogram")

# %% [markdown]
# The problem's shape is (M, N, T): rows, elements of a row, threads of a block. So your input is a *launch*, too.
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
def mend_histogram(source):
    ### BEGIN SOLUTION (about 3 lines)
    every_bin = "for (int bin = t; bin < BINS; bin += blockDim.x) mine[bin] = 0;"
    return patch(source, "if (t < BINS) mine[t] = 0;", every_bin)
    ### END SOLUTION


# %%
check("18.6", mend_histogram)

# %% [markdown]
# Shared memory holds what the previous block left there, often zeros. initcheck watched global memory alone in the
# version recorded below; newer versions can watch shared memory, too.
#
# ### Bug 4: a GEMM for a solver
#
# > "The solver stalls at a residual of 1e-4. The GEMM agrees with float64 to three or four digits, and fp32 should give
# > six. I suspected the accumulators and split K into short slices: no change at all. With matrices of small integers
# > it is exact, by the way."

# %%
show_bug("matmul_fp32")

# %% [markdown]
# *Nearly right* has a number. Compare the error with the rounding of the types that could have caused it: 2⁻⁸ for bf16,
# 2⁻¹¹ for tf32 and fp16, 2⁻²⁴ for fp32. Take K = 1: then there is no sum at all.

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
def mend_matmul(source):
    ### BEGIN SOLUTION (about 2 lines)
    return source.replace(".astype(ct.tfloat32)", "")
    ### END SOLUTION


# %%
check("18.8", mend_matmul)

# %% [markdown]
# The mended kernel multiplies without tensor cores, at a small part of the speed. That is a decision for the author who
# wrote "fp32" above it, and now it can be taken.
#
# ## Threads that do not wait for each other
#
# From here on results may be right by luck, and more runs prove nothing: another GPU, another clock, another neighbor
# on the SM, and the order is another.
#
# ### Bug 5: rows divided by their largest
#
# > "My first kernel in CuTe. The tree is from a textbook. It worked once with 32 threads. With 128 it is wrong, and a
# > friend says that on his machine it hangs."

# %%
show_bug("largest")

# %% [markdown]
# What does a thread do that is not in the branch? Let it tell:

# %%
talking = patch(
    BUGS["largest"].source,
    "        if t < half:\n",
    "        if t == 64:\n            cute.printf('thread 64 passes by, half = {}', half)\n        if t < half:\n",
)
output_of("largest", (1, 64), source=talking)

# %% [markdown]
# Where it waits, there would be nothing to see until the others came.
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
def mend_largest(source):
    ### BEGIN SOLUTION (about 1 line)
    return patch(source, "            cute.arch.sync_threads()", "        cute.arch.sync_threads()")
    ### END SOLUTION


# %%
check("18.10", mend_largest)

# %% [markdown]
# In Python, an indentation is a bug. What happens at such a barrier depends on what the other threads do next: where
# they come by another barrier, the two are taken for one and all go on out of step; where they end, they no longer
# count; where they wait for something else, the block hangs. So one bug has three symptoms, and none is promised. The
# rule is what counts: a barrier of the block stands where all of its threads come by.
#
# ### Bug 6: a matrix times a vector
#
# > "Two stages along K by cp.async, like in the book. K = 128 is right. K = 256 is wrong, with any matrix. If I wait
# > for everything (`__pipeline_wait_prior(0)`) it is still wrong, so it is not the wait."

# %%
show_bug("gemv")

# %% [markdown]
# That rules out one cause, and well. **Exercises 18.11 and 18.12** (about 5 lines and 2). The shape is (M, K).
# `printf` works in `source=` of `output_of`, too; `#include <cstdio>` declares it.


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
def mend_gemv(source):
    ### BEGIN SOLUTION (about 2 lines)
    last = "sW[stage][i];\n    __syncthreads();\n"
    return patch(source, last, last + "    stage ^= 1;\n")
    ### END SOLUTION


# %%
check("18.12", mend_gemv)

# %% [markdown]
# An index that stands still is right for the first tile, and so is every test with a single tile. Test a ring with at
# least one tile more than it has stages.
#
# ### Bug 7: the end of a split-K GEMM
#
# > "It adds S partial results, three stages, one cp.async for each. On my GPU it has never been wrong. In the nightly
# > run the last part is missing, once a week."

# %%
show_bug("sum_parts")

# %% [markdown]
# The picture below shows the loop's last steps: look at the buffers beside the reads.

# %%
explain("18.14", as_it_is, shape=(4, 256))

# %% [markdown]
# **Exercises 18.13 and 18.14** (about 5 lines and 2). The shape is (S, N). Which is the smallest S that shows it?


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
def mend_sum_parts(source):
    ### BEGIN SOLUTION (about 2 lines)
    commit = "    cute.arch.cp_async_commit_group()\n        cute.arch.cp_async_wait_group"
    return patch(source, commit, commit.removeprefix("    "))
    ### END SOLUTION


# %%
check("18.14", mend_sum_parts)

# %% [markdown]
# It is notebook 12's rule: one group in every step, or "all but the newest two" names another tile where the ring
# drains. Without the wait, the copy had landed by the time it was read, or it had not.
#
# ### Bug 8: an epilogue
#
# > "bf16 on the tensor cores through `nvcuda::wmma`. Stores were slow, so now the tile goes through shared memory and a
# > warp stores whole rows. I put a barrier in between, of course. It is right, I think. racecheck is not happy."

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
def mend_tile_gemm(source):
    ### BEGIN SOLUTION (about 1 line)
    return patch(source, "__syncwarp();", "__syncthreads();")
    ### END SOLUTION


# %%
check("18.16", mend_tile_gemm)

# %% [markdown]
# `__syncwarp()` orders what the threads of one warp do. Ask of each barrier: who wrote, who reads, and does it wait
# for both?
#
# ### Bug 9: RMS norm
#
# > "A persistent kernel: four blocks take all rows in turn. A thousand runs on my GPU, a thousand times the same bits.
# > Review refuses it and does not say why."
#
# The launch is `min(M, 4)` blocks of 128 threads.

# %%
show_bug("rms_norm")

# %% [markdown]
# The result is right here, too. Equal results in a thousand runs say that a thousand runs had the same order; they do
# not say that the order is safe. **Exercises 18.17 and 18.18** (about 5 lines and 2). Your input is one at which
# the simulator objects.


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
def mend_rms_norm(source):
    ### BEGIN SOLUTION (about 2 lines)
    last_read = "total += partial[warp];\n"
    return patch(source, last_read, last_read + "    __syncthreads();\n")
    ### END SOLUTION


# %%
check("18.18", mend_rms_norm)

# %% [markdown]
# A barrier protects what comes before it *and* what comes after. Of a loop ask both questions: may I read what was
# written, and may I write what was read, a turn later?
#
# ### Bug 10: a stream by TMA
#
# > "Two stages, filled by TMA, each with an mbarrier. A block with one tile is right. With more it is sometimes wrong
# > and mostly does not come back."

# %%
show_bug("stream")

# %% [markdown]
# It needs a Hopper to run, and none to be understood. **Exercises 18.19 and 18.20** (about 5 lines and 1). The
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
def mend_stream(source):
    ### BEGIN SOLUTION (about 1 line)
    return patch(source, "tile % 2)", "tile // STAGES % 2)")
    ### END SOLUTION


# %%
check("18.20", mend_stream)

# %% [markdown]
# A wait for the wrong parity either passes at once, when the phase before is still the last one that ended, or waits
# for a round that never comes. Which of the two depends on whether the bytes have landed, so on the clock.
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
# A message is read from its end: what was needed, what was known, and only then where.

# %%
try:
    output_of("scale_rows", (3, 260))
except CompileFailed as error:
    print(*error.lines, sep="\n")

# %% [markdown]
# It needs 16 bytes and is sure of 4: of one element's size, and of nothing else. So ask what the compiler knows.
# `print` in the host function runs while it is compiled, which may be several times; `?` is a number that is known at
# run time only.

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
def mend_scale_rows(source):
    ### BEGIN SOLUTION (about 2 lines)
    wide = "cutlass.Int64(x.shape[1])"
    return patch(source, wide, f"cute.assume({wide}, divby=VECTOR)")
    ### END SOLUTION


# %%
check("18.22", mend_scale_rows)

# %% [markdown]
# Value and type are two things. The value fitted. What the compiler knew beside it, "a multiple of 4", belongs to the
# type, and the conversion made a new one; with it went the proof that 16 bytes are aligned. `x.stride[0]` would have
# been there, in 64 bits and with all that is known of it.
#
# ### Bug 12: sums of rows
#
# > "Misaligned address, at once, with more than one row. The global addresses are multiples of 16, I printed them. It
# > came with the padding, which the profiler had asked for."

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
def mend_row_sums(source):
    ### BEGIN SOLUTION (about 1 line)
    return patch(source, "COLUMNS + 1", "COLUMNS + VECTOR")
    ### END SOLUTION


# %%
check("18.24", mend_row_sums)

# %% [markdown]
# Two wishes for one number: cp.async wants rows that begin at multiples of 16 bytes, the reads want neighboring rows
# in different banks. Four columns more can grant both, since aligned rows are read 16 bytes at a time; what yours costs
# `explain("18.24", mend_row_sums)` counts. A swizzle (notebook 03) needs no padding.
#
# ### Bug 13: channels last
#
# > "Right at every size, and much slower than a copy of as many bytes. Reads and writes are coalesced, I made
# > sure of that."

# %%
show_bug("channels_last")

# %% [markdown]
# On a GPU, `ncu --metrics l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum` counts what shared memory did in vain.
# Here `explain` counts wavefronts, from the addresses:

# %%
explain("18.26", as_it_is, shape=(32, 32))

# %% [markdown]
# **Exercises 18.25 and 18.26** (about 5 lines and 1). The shape is (C, P); your input must waste something.


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
def mend_channels_last(source):
    ### BEGIN SOLUTION (about 1 line)
    return patch(source, "tile[T][T];", "tile[T][T + 1];")
    ### END SOLUTION


# %%
check("18.26", mend_channels_last)

# %% [markdown]
# ## What compute-sanitizer says
#
# Its four tools, each on every bug, at the size of the report. Before you look: for which bugs will all four be silent?

# %%
show_verdicts()

# %% [markdown]
# On four bugs all are silent: `histogram`'s bins in *shared* memory are never set, `linear` and `matmul_fp32` break no
# rule, and `channels_last` is right and slow. Of a kernel that hangs, as `stream` does, they say nothing until it ends.
#
# ## What to remember
#
# - Where it is right tells as much as where it is wrong. Find the two inputs next to each other.
# - Inputs that name their place, one 1 among zeros, a ramp, beat random ones for finding, and lose for testing.
# - A result is no proof. A race is a property of the program, not of the run.
# - Every tool watches one thing, and its silence is about that.
# - Mend the cause. If a change makes the symptom go away and you cannot say why, put it back.
#
# ## Test yourself
#
# <details><summary>1. A kernel reads 4 bytes behind the end of a row. When does memcheck see it?</summary>
#
# When the row is the last one of its allocation, and nothing else of the same allocation follows: with torch's caching
# turned off. Elsewhere these bytes are the next row, and reading them is legal and wrong.
#
# </details>
#
# <details><summary>2. You add a <code>printf</code>, and the bug is gone. What have you learned?</summary>
#
# That it depends on timing: printing slows one thread down and keeps values from being kept in registers. So look for
# a missing barrier or wait, with racecheck or the simulator, not for wrong arithmetic.
#
# </details>
#
# <details><summary>3. A reduction is right with 32 threads and wrong with 64. Which causes of the list come to
# mind first?</summary>
#
# One warp goes in step where two do not: read too early, overwritten too early, a barrier in a branch, `__syncwarp` for
# `__syncthreads`. And a constant 32 somewhere: a wrong coordinate, the partial result of one warp only.
#
# </details>
