# ---
# jupyter:
#   tutorlib:
#     minutes: 74
#     summary: Seven broken kernels, six with a report by the author. You find the line, prove it, and fix it.
# ---

# %% [markdown]
# # 21 · A bug hunt
#
# A colleague sends you forty lines of code and one sentence: "it has been hanging since Tuesday", "it works on my
# machine". How do you find the bug, and *know* that you have found it? Each of these kernels has one bug that engineers
# really write. One is in cuTile, two are in CuTe, and four in CUDA C++.
#
# > **After this page you can** reduce a failure to a small input, trace it to a line and a cause, find races in kernels
# > whose results are right, and fix a kernel that you did not write without losing what makes it fast.
# >
# > **It takes** about 74 minutes, with a good place to stop in the middle, on any machine: the kernels are simulated,
# > and a GPU runs the fixed ones, too. **You need** notebooks 06 and 15, and must be able to read CUDA C++: pointers,
# > templates, `__shared__`, `__syncthreads()`.

# %%
import torch

from tutorlib import CompileFailed, check, explain
from tutorlib.notebook.hunt import (
    CAUSES, Diagnosis, as_it_is, output_of, patch, show_bug, show_report, show_verdicts,
)  # fmt: skip

# %% [markdown]
# ## A method
#
# 1. **Read the symptom.** Where is the result wrong, and since when? Above all, where is it *right*?
# 2. **Make it small.** Halve one size, and keep the half that still fails.
# 3. **Use the tool that can see it.** No tool detects every kind of fault.
# 4. **Predict, then look.** "If it is this, then row 3 holds row 2's values."
# 5. **Fix one thing**, and test the size that failed, one that passed, and one that no tile divides.
#
# | symptom | look first at | it tells you |
# |---|---|---|
# | does not compile | the message, from its end | what the compiler could not prove, and where, if it says so |
# | illegal address, misaligned | memcheck; `explain` | the thread, the address, the line |
# | wrong in a pattern | inputs that encode their position | which element was used instead |
# | wrong beyond a size | the two sizes around the limit | which loop, edge or stage begins there |
# | different numbers in each run | racecheck (shared memory); `explain` | two lines that access the same location |
# | NaN for some inputs only | inputs at the edges of their range | which assumption fails |
# | hangs | synccheck, then cuda-gdb; `explain` | which threads wait, at which line |
#
# ### Worked: a GEMM of any size
#
# > "Plain fp32 in CUDA C++, no tricks. 40×50×64 is right, 40×50×60 is wrong nearly everywhere. memcheck complained
# > about the last rows, so I allocated one more row of each. Now memcheck is quiet and the result as wrong as before."

# %%
show_bug("sgemm")

# %% [markdown]
# **Read the symptom.** The last row suggests the edge in M: no tile of 16 divides 40. But then 40×50×64 would be wrong,
# too, and it is right. What differs is K.
#
# **Make it small.** `output_of` simulates a broken kernel on your inputs, in the order of its parameters. **Predict**
# which of these sizes, M×N×K, give wrong results:


# %%
for shape in ((40, 50, 64), (40, 50, 60), (16, 16, 16), (16, 16, 15), (16, 16, 1)):
    (m, n, k), dice = shape, torch.Generator().manual_seed(1)
    a, b = torch.randn(m, k, generator=dice), torch.randn(n, k, generator=dice)
    right = output_of("sgemm", shape, a, b).isclose(a @ b.mT, atol=1e-4)
    print(f"{m}×{n}×{k}: {(~right).sum():4} of {m * n} elements wrong")

# %% [markdown]
# M and N need no edge. One tile is enough, with a K that 16 does not divide: the last step of the loop reads past the
# end of a row, where the next row begins. (Past an allocation the simulator has random values.) **Predict, then
# look.** With K = 1, a's first rows 2 and 3, and b's 5 and 7, c[0, 0] should be 2·5. If the loop goes on into the next
# row, it is 2·5 + 3·7:

# %%
a, b = torch.zeros(16, 1), torch.zeros(16, 1)
a[:2, 0], b[:2, 0] = torch.tensor([2.0, 3.0]), torch.tensor([5.0, 7.0])
print("c[0, 0] =", output_of("sgemm", (16, 16, 1), a, b)[0, 0].item())

# %% [markdown]
# So the cause is an **unguarded tail**, at lines 13 and 14, and the fix is `&& k0 + x < k` in both. memcheck saw only
# the reads past the last rows of a and of b, where the allocations end. The extra rows hid them. Do not silence a tool
# before you know what it saw.
#
# ## How this page is graded
#
# For a **diagnosis**, you return the line's number or its text, one of the causes below, and the shape of an input that
# exposes the bug, as in `Diagnosis(line=12, cause="not reset", shape=(16, 8, 4))`. `data=`, a list of tensors, one for
# each input, is optional; without it, the inputs are random. The check runs the broken kernel on that input:
#
# | you return | points |
# |---|---|
# | an input on which nothing goes wrong | 0 |
# | an input that exposes the bug; `line` and `cause` are `None` | 1 |
# | such an input, and the right line and cause | 3 |
# | the same with the *smallest* such input: none with fewer elements in all tensors together exposes the bug | 4 |
# | such an input, and a wrong pair; `check` does not say which of the two is wrong | 0 |
#
# The best `check` counts. For `line`, either the faulty line counts or the one where its effect shows; if a statement
# is missing, the line before or after the gap. These are the causes, more than occur here:

# %%
for name, meaning in CAUSES.items():
    print(f"{name:23}{meaning}")

# %% [markdown]
# For a **fix**, you get the source as a string and return it corrected; `patch(source, old, new)` changes one place.
# The check tests it like every kernel of the course. Do not rewrite the kernel: its TMA, atomics and wide accesses must
# stay. A fix that makes it slower costs a point: an unneeded barrier or fence, copies that no longer overlap, repeated
# loads, idle warps.
#
# ## Part 1: bugs 1 and 2
#
# ### Bug 1: a linear layer
#
# > "The cuTile forward pass of our linear layer. I tested it with w = the identity and no bias, and y matches x bit for
# > bit. With the trained weights it is garbage, the same garbage every time."

# %%
show_bug("linear")

# %% [markdown]
# **Exercise 21.1.** The shape is (M, N, K). The simulator reports no broken rule: the kernel computes another function.
# Which one?


# %%
def diagnose_linear():
    ### BEGIN SOLUTION (about 1 line)
    return Diagnosis(line="sums = ct.mma(tile_x, tile_w, sums)", cause="majors swapped", shape=(1, 1, 2))
    ### END SOLUTION


# %%
check("21.1", diagnose_linear)

# %% [markdown]
# <details><summary>When it passes</summary>
#
# `ct.mma` takes (M, K) and (K, N); w's tiles are (N, K), and nothing transposes them. With one element of K and one of
# N the tile is its own transpose. With K = 2, y[0, 0] needs w[0, 1], and the kernel reads w[1, 0], which is padding.
# Square tiles hid the bug, and so did the identity. The fix is `ct.transpose(tile_w)`. Next time: test with tiles that
# are not square, and matrices that are not symmetric.
#
# </details>
#
# ### Bug 2: large tensors
#
# > "It compiled until I made it safe for tensors beyond 2^31 elements. All my sizes are small, and they fit into any
# > integer type. The number is the same one as before!"

# %%
show_bug("scale_rows")

# %% [markdown]
# Read a message from its end: what did the compiler need, and what could it prove?

# %%
try:
    output_of("scale_rows", (3, 260))
except CompileFailed as error:
    print(*error.lines, sep="\n")

# %% [markdown]
# The copy needs 16-byte alignment, and the compiler can prove only 4 bytes. Ask what it knows: `print(x.layout)` in the
# host function prints it during compilation. There `?` is a number known only at run time, `div=4` a divisor that the
# compiler knows, and `i64` a 64-bit type. `cute.assume(n, divby=d)` returns n with a divisor that you promise.
#
# **Exercise 21.2.** Make it compile; keep the 64-bit stride and the 16-byte vectors.


# %%
def fix_scale_rows(source):
    ### BEGIN SOLUTION (about 2 lines)
    wide = "cutlass.Int64(x.shape[1])"
    return patch(source, wide, f"cute.assume({wide}, divby=VECTOR)")
    ### END SOLUTION


# %%
check("21.2", fix_scale_rows)

# %% [markdown]
# <details><summary>When it passes</summary>
#
# The value did not change. But "a multiple of 4" is a property of its *type*, and the conversion made a type without
# it. `x.stride[0]` has 64 bits and the divisor, too: printed, x's layout is `(?,?{div=4}):(?{i64 div=4},1)`. Only 4 may
# be promised: with 260 columns, 8 is false. Next time: print the type, too.
#
# </details>
#
# ## Tools for what a result does not show
#
# **compute-sanitizer** comes with the CUDA toolkit and watches a kernel on a GPU:
#
# | `compute-sanitizer --tool` | sees | does not see |
# |---|---|---|
# | `memcheck` | accesses out of bounds of an allocation, misaligned ones | an overrun within one allocation |
# | `racecheck` | a write to *shared* memory, unordered with another access; cp.async not waited for | global memory |
# | `synccheck` | barriers that some threads do not reach, invalid barriers | a missing barrier |
# | `initcheck` | reads of uninitialized *global* memory; in newer versions, of *shared* memory, too | registers |
#
# torch allocates large pieces of memory for many tensors. Set `PYTORCH_NO_CUDA_MEMORY_CACHING=1`, or memcheck misses an
# overrun into the next tensor. Compile kernels with `-lineinfo` (nvcc) or `--generate-line-info` (the CuTe DSL's
# `options=`), or you get addresses instead of lines.
#
# This is a good place to stop.
#
# ## Part 2: bugs 3 to 6
#
# From here on, a result may be right by luck, and more runs prove nothing: on another GPU the threads run in another
# order. **`explain`** simulates a kernel on one input and reports the rules that it breaks there, even if the result is
# right: races (accesses to the same memory, at least one of them a write, that nothing orders), waits that never end,
# accesses out of bounds, undefined values.
#
# ### Bug 3: RMS norm
#
# > "A persistent kernel: four blocks process all rows in turn. A thousand runs on my GPU gave the same bits a thousand
# > times. The reviewer rejected it and did not say why."
#
# The launch is `min(M, 4)` blocks of 128 threads. `explain("21.4", as_it_is, shape=(M, N))` simulates this kernel: with
# an exercise's id, it runs what your fix makes of the source, and `as_it_is` changes nothing.

# %%
show_bug("rms_norm")

# %% [markdown]
# **Exercises 21.3 and 21.4.** The shape is (M, N). Your input must make the simulator report a hazard.


# %%
def diagnose_rms_norm():
    ### BEGIN SOLUTION (about 1 line)
    return Diagnosis(line="if (t % 32 == 0) partial[t / 32] = squares;", cause="overwritten too early", shape=(5, 1))
    ### END SOLUTION


# %%
check("21.3", diagnose_rms_norm)


# %%
def fix_rms_norm(source):
    ### BEGIN SOLUTION (about 2 lines)
    last_read = "total += partial[warp];\n"
    return patch(source, last_read, last_read + "    __syncthreads();\n")
    ### END SOLUTION


# %%
check("21.4", fix_rms_norm)

# %% [markdown]
# <details><summary>When it passes</summary>
#
# A block needs a second row, so five rows are the least for four blocks; one column is enough. One more barrier is
# right, and so are two buffers in turn. Next time: in a loop, the writes must come before the reads that follow, *and*
# these reads before the writes of the next iteration.
#
# </details>
#
# ### Bug 4: a stream by TMA
#
# > "Two stages, filled by TMA, each with an mbarrier. A block with one tile is right. With more, the result is
# > sometimes wrong, and usually the kernel never returns."

# %%
show_bug("stream")

# %% [markdown]
# The colleague attached cuda-gdb to the hanging kernel with `cuda-gdb -p PID`. SYNCS.PHASECHK is the wait for an
# mbarrier's phase, here at address R3 + 0x2000. If R3 has the start of the block's shared memory, what lies 0x2000
# bytes behind it?

# %%
show_report("cuda-gdb, stream")

# %% [markdown]
# **Exercises 21.5 and 21.6.** The shape is (M, N); a block has a column of tiles of 16×64.


# %%
def diagnose_stream():
    ### BEGIN SOLUTION (about 1 line)
    return Diagnosis(line="cute.arch.mbarrier_wait(full + stage, tile % 2)", cause="wrong phase", shape=(32, 64))
    ### END SOLUTION


# %%
check("21.5", diagnose_stream)


# %%
def fix_stream(source):
    ### BEGIN SOLUTION (about 1 line)
    return patch(source, "tile % 2)", "tile // STAGES % 2)")
    ### END SOLUTION


# %%
check("21.6", fix_stream)

# %% [markdown]
# <details><summary>When it passes</summary>
#
# `ring` has 2 · 16 · 64 floats, 0x2000 bytes, and `full` follows it: the warp waits in line 41. Tile 1 is the first in
# its stage, so it should wait for phase 0, but it names parity 1. If its bytes have not landed, the barrier is still in
# phase 0, and parity 1 means the phase before, which is complete: the wait returns at once, and the warp reads too
# early. If they have landed, the barrier is in phase 1, and the wait never returns, since only the waiting warp could
# start the next copy. Next time: write down stage and parity of the first four tiles.
#
# </details>
#
# ### Bug 5: a bias's gradient
#
# > "One launch in place of two. The last block to finish adds up what all four stored, always in the same order, so the
# > result is the same bit for bit. It was, a million times. Since we share the GPU with other jobs, one result in
# > thousands lacks a slice. racecheck is silent, and there is a barrier before the counter and one after it."

# %%
show_bug("column_sums")

# %% [markdown]
# **Predict** which accesses of two blocks nothing orders. The simulator runs the blocks in order, so its result is
# always right. It still reports such a pair:

# %%
picture = explain("21.7", as_it_is, shape=(4, 128))

# %% [markdown]
# **Exercise 21.7.** Fix it. `__threadfence()` orders its thread's earlier accesses to memory before the later ones.
# Other threads' accesses that a barrier ordered before the fence count as earlier.


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
check("21.7", fix_column_sums)

# %% [markdown]
# <details><summary>When it passes</summary>
#
# `__syncthreads()` orders the threads of one block, and an `atomicAdd` orders nothing but itself: it is *relaxed*. The
# last block can see the counter's new value before the sums that another block stored earlier. Two fences prevent it,
# one in each block:
#
# > store the data · **fence** · write the flag &nbsp;&nbsp;&nbsp;&nbsp; read the flag · **fence** · load the data
#
# PTX calls the left half a *release* and the right half an *acquire* pattern. It is enough if thread 0, which has the
# flag, executes both. Keep the barriers: they order the other threads' stores before its first fence, and their loads
# after its second. The finding named only the first. Next time: run the tool on the fix, too.
#
# </details>
#
# ### Bug 6: softmax
#
# This kernel has passed its tests for a year. Is every line right for every input?

# %%
show_bug("softmax")

# %% [markdown]
# **Exercise 21.8.** The shape is (M, N), and `data=` takes the input. There are no hints.


# %%
def diagnose_softmax():
    ### BEGIN SOLUTION (about 2 lines)
    place = "return of_warp(lane < WARPS ? partial[lane] : 0.0f, op);"
    return Diagnosis(line=place, cause="wrong identity", shape=(1, 1), data=[torch.tensor([[-1000.0]])])
    ### END SOLUTION


# %%
check("21.8", diagnose_softmax)

# %% [markdown]
# <details><summary>When it passes</summary>
#
# The author reused a helper for sums to find a maximum, but 0 is the identity of addition and not of the maximum. So
# `top` is never negative. Softmax hides this: a number subtracted from the whole row cancels. But below about −87 the
# exponentials are subnormal and lose digits, and if the whole row is below −104, all are 0, and the division gives NaN.
# The helper needs the identity as a parameter. Next time: test a reduction with inputs on one side of its identity.
#
# </details>
#
# ## What compute-sanitizer says
#
# The recorded verdicts of its four tools, `sgemm` without the extra rows. A number counts reported errors:

# %%
show_verdicts()

# %% [markdown]
# All four tools are silent on three bugs. `linear` and `softmax` break no rule. `column_sums` has a race in global
# memory, which racecheck does not watch. On `stream`, all four hung.
#
# ## What to remember
#
# - Inputs that encode their position (a single 1 among zeros, a ramp) locate a bug. Random numbers test the middle of
#   the range; test its edges, too.
# - A race is a property of the program, not of a run. A tool is silent on faults that it cannot see.
# - A barrier orders one block. Two blocks need a flag and two fences.
# - If a change removes the symptom and you cannot say why, undo it and keep looking.
#
# Next: [notebook 22](22_attention_tiles.ipynb) builds attention from two GEMMs and the softmax between them.
#
# ## Test yourself
#
# <details><summary>1. A kernel reads 4 bytes past the end of a row. When does memcheck report it?</summary>
#
# If the row is the last one and its end is the end of an allocation, as with torch's caching turned off. Otherwise
# these bytes belong to the next row or another tensor, and reading them is legal but wrong.
#
# </details>
#
# <details><summary>2. You add a <code>printf</code>, and the bug is gone. What have you learned?</summary>
#
# The bug probably depends on timing: printing slows a thread. Look for a missing barrier or wait.
#
# </details>
#
# <details><summary>3. A reduction is right with 32 threads and wrong with 64. Which causes of the list come to mind
# first?</summary>
#
# Those that need a second warp: read too early (`__syncwarp` in place of `__syncthreads`), overwritten too early, a
# barrier in a branch. Or a wrong coordinate: a hard-coded 32 leaves all but one warp's result out.
#
# </details>
