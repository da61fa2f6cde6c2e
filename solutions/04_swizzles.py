# ---
# jupyter:
#   tutorlib:
#     minutes: 60
#     summary: Why a tile can take 32 passes to read where one is enough, and two cures, padding and swizzling.
# ---

# %% [markdown]
# # 04 · Swizzles: shared memory without bank conflicts
#
# A matrix kernel reads every element of its tiles many times. It reads them from **shared memory**. Each SM's shared
# memory can deliver 128 bytes per clock. Whether it does depends on the *addresses* that the 32 threads of a warp
# access together: under another layout, an access can take 32 passes where one is enough.
#
# On this page you count that cost and learn the two cures, padding and swizzling. Both change the tile's layout, and no
# other line of the kernel. Notebook 05's transpose through a swizzled tile has 0.90 of the speed of torch's copy on an
# H200.
#
# > **After this page you can** count the wavefronts of an access, choose a padding or a swizzle for a tile, and compute
# > the address of an element of a swizzled tile.
# >
# > **It takes** about 60 minutes, without a GPU.

# %%
from tensor_layouts import Layout, Swizzle, compose, cosize
from tensor_layouts.layout_utils import tile_to_shape

from tutorlib import (
    check, counters, explain, explore_swizzle, layout, memory, show_banks, show_sweep, show_swizzle,
)  # fmt: skip

# %% [markdown]
# ## Thirty-two banks
#
# Shared memory consists of 32 **banks**, each 4 bytes wide. Consecutive words are in consecutive banks, and after 128
# bytes the banks repeat: the byte at address `a` is in bank `a // 4 % 32`. In one pass, which the profiler calls a
# **wavefront**, each bank delivers one word. **Lanes** (the threads of a warp) that read the *same* word share it at no
# cost. Two *different* words of one bank take two wavefronts: a **bank conflict**.
#
# Here are the first four rows of a 32×32 tile of fp32, stored by rows. The number in a cell is its bank, and each color
# is four neighboring banks, 16 bytes. A warp reads row 0, one word per lane:

# %%
show_banks("(4,32):(32,1)", access=[(0, lane) for lane in range(32)])

# %% [markdown]
# Each lane has a bank of its own: one wavefront. Now the warp reads column 0, as a transpose would. How many
# wavefronts?

# %%
show_banks("(32,32):(32,1)", access=[(lane, 0) for lane in range(32)])

# %% [markdown]
# It takes 32. A row is 32 words, so all words of a column are in the same bank, which delivers them one by one.
#
# A lane can also read 8 or 16 bytes at once. A warp then needs 256 or 512 bytes, more than the banks deliver in one
# wavefront, so the hardware serves it in groups of consecutive lanes: two groups of 16 for 8 bytes, four groups of 8
# for 16 bytes. Conflicts arise only within a group, and the groups' wavefronts add up. At the end of the page an H200
# tests this model.
#
# **Exercise 04.1** (about 7 lines). Write `wavefronts(addresses, width)`, the number of wavefronts of one access.
# `addresses` are byte addresses, one for each lane, multiples of `width`; `width` is the number of bytes that each lane
# reads: 1, 2, 4, 8 or 16. There may be fewer than 32 lanes.


# %%
def wavefronts(addresses, width):
    ### BEGIN SOLUTION (about 7 lines)
    together = min(32, 128 // width)
    total = 0
    for first in range(0, len(addresses), together):
        words = {address // 4 for address in addresses[first : first + together]}
        used = [word % 32 for word in words]
        total += max(used.count(bank) for bank in used)
    return total
    ### END SOLUTION


# %%
check("04.1", wavefronts)

# %% [markdown]
# From here on the page counts with `memory.wavefronts`, which takes offsets in elements, as layouts give them.
# (Notebook 05 imports it as `wavefronts`.)
#
# **Keep this:** count *different words in one bank*, group by group.

# %% [markdown]
# ## Padding
#
# One cure makes the rows longer than necessary. With a stride of 33 instead of 32, each row starts one bank further,
# and a column uses all 32 banks.

# %%
show_banks("(32,32):(33,1)", access=[(lane, 0) for lane in range(32)])

# %% [markdown]
# The price is memory: one word per row. For vectors the price is higher, because a 16-byte access needs a 16-byte
# aligned address. Take the tile that feeds the tensor cores from notebook 10 on, 128×64 values of bf16 (2 bytes). Eight
# lanes at a time read 16 bytes each, from the same columns of eight consecutive rows. **Predict** which of these
# strides avoids all conflicts. Why not 65?

# %%
for stride in (64, 65, 66, 68, 72, 80):
    aligned = stride * 2 % 16 == 0
    column = [stride * row for row in range(8)]
    cost = memory.wavefronts(column, element_bytes=2, vector=8) if aligned else "not aligned"
    print(f"stride {stride}: {cost:>11}   {128 * (stride - 64) * 2:5} bytes of padding")

# %% [markdown]
# **Exercise 04.2** (about 4 lines). Write `padded_stride(columns, element_bytes, vector_bytes)`: the smallest row
# stride, in elements, that holds the columns, aligns every row to a vector, and lets the lanes of a warp read a column
# of vectors, one from each row, without a conflict. `vector_bytes` is 4, 8 or 16, and `element_bytes` divides it. For
# `(32, 4, 4)` the stride is 33.


# %%
def padded_stride(columns, element_bytes, vector_bytes):
    ### BEGIN SOLUTION (about 4 lines)
    vectors = -(-columns * element_bytes // vector_bytes)
    if vectors % 2 == 0:
        vectors += 1
    return vectors * vector_bytes // element_bytes
    ### END SOLUTION


# %%
check("04.2", padded_stride)

# %% [markdown]
# For the bf16 tile, padding costs one eighth more memory, in kernels that are short of it. TMA, the copy engine of
# Hopper GPUs, cannot pad: it writes the rows of a tile one directly after the other.

# %% [markdown]
# ## Swizzling: move chunks inside their row
#
# Eight lanes times 16 bytes are one wavefront. So divide each row into **chunks** of 16 bytes: the banks are eight
# slots for chunks, drawn in eight colors. The left picture is a tile of 8×8 chunks, stored by rows; the number in a
# cell is the offset of its chunk, counted in chunks. Each column has one color, so it takes eight wavefronts to read.
#
# Now leave every chunk in its row, but store chunk `c` of row `r` in slot `c ^ r` (XOR), as on the right. Each row
# still has all colors, and now each column does, too. No memory is wasted.

# %%
show_swizzle((3, 0, 3), "(8,8):(8,1)", element_bytes=16)

# %% [markdown]
# The offset of a chunk is `8*r + c`: its bits 3 to 5 are `r`, its bits 0 to 2 are `c`. So you can compute `c ^ r` from
# the offset alone: XOR bits 3–5 into bits 0–2. CuTe calls such a function **Swizzle⟨B,M,S⟩**:
#
# - it has two groups of **B** bits each, an upper group Y and a lower group Z, and replaces Z with Z ⊕ Y (⊕ is XOR);
# - the lower group starts at bit **M**; the M bits below it never change;
# - the upper group is **S** bits above the lower one, at bit M + S.
#
# The picture above is ⟨3,0,3⟩ on chunks. Usually an offset counts elements. A chunk is eight bf16 elements, so
# the bits of the chunk's number begin at bit 3, M = 3, and the same swizzle is ⟨3,3,3⟩:
#
#     bit of the offset     8 7 6     5 4 3     2 1 0
#     its meaning            row      chunk    element       a row of 64 bf16 is 128 bytes
#                           Y Y Y     Z Z Z     · · ·
#     after ⟨3,3,3⟩         Y Y Y     Z ⊕ Y     · · ·
#
# The offset of each row's first element, before and after:

# %%
S = Swizzle(3, 3, 3)
print([64 * row for row in range(8)])
print([S(64 * row) for row in range(8)])

# %% [markdown]
# **Exercise 04.3** (about 2 lines). Write `swizzle(b, m, s, offset)`: the offset after Swizzle⟨b,m,s⟩, for
# S ≥ B.


# %%
def swizzle(b, m, s, offset):
    ### BEGIN SOLUTION (about 2 lines)
    upper = (offset >> (m + s)) & (2**b - 1)
    return offset ^ (upper << m)
    ### END SOLUTION


# %%
check("04.3", swizzle)

# %% [markdown]
# XOR makes this safe. Y itself never changes, because the groups do not overlap (S ≥ B). So a second application
# restores the offset, and no two offsets collide.
#
# In the explorer, how many wavefronts does the access take with B = 0, 1, 2? Then type the layout (8,32):(32,1), a tile
# of half the width: how many bits does it need?

# %%
explore_swizzle()

# %% [markdown]
# With B = 0, 1 and 2 the access takes 8, 4 and 2 wavefronts. The narrower tile needs two bits.
#
# **Keep this:** a swizzle maps offsets to offsets. It is composed with a layout on its right, `S ∘ L`. The code that
# writes the tile and the code that reads it use the same `S ∘ L`, and neither depends on its details.

# %% [markdown]
# ## In a kernel
#
# This kernel computes its own addresses: one warp transposes 32×32 values of fp32 through shared memory. It writes rows
# of the tile and reads columns. Look at the two lines with `tile[…]`, and at `stored`, the tile's layout.
# (`make_composed_layout(S, 0, L)` is S ∘ L; the 0 is added before the swizzle.)

# %%
import torch
from cutlass import Float32, const_expr, cute, range_constexpr
from cutlass.memory import SmemAllocator


def transposing(row_stride, swizzled_by=()):
    """A transpose through a tile with this row stride, swizzled by ⟨B,M,S⟩ if it is given."""

    @cute.kernel
    def kernel(src: cute.Tensor, dst: cute.Tensor):
        stored = cute.make_layout((32, 32), stride=(row_stride, 1))
        if const_expr(len(swizzled_by) > 0):
            stored = cute.make_composed_layout(cute.make_swizzle(*swizzled_by), 0, stored)
        tile = SmemAllocator().allocate_tensor(Float32, stored, byte_alignment=128)
        lane, _, _ = cute.arch.thread_idx()
        for row in range_constexpr(32):
            tile[row, lane] = src[row, lane]
        cute.arch.sync_threads()
        for row in range_constexpr(32):
            dst[row, lane] = tile[lane, row]

    @cute.jit
    def transpose(src: cute.Tensor, dst: cute.Tensor):
        kernel(src, dst).launch(grid=(1, 1, 1), block=(32, 1, 1))

    return transpose


# %% [markdown]
# `explain` simulates it and prints for each line the cost of its accesses and the least possible cost: shared memory in
# wavefronts, global memory in **sectors** of 32 bytes. It marks lines that take more than they need. By the picture
# above each of the 32 column reads takes 32 wavefronts, but the compiler joins four reads of a row into one of 16
# bytes. **Predict:** how many wavefronts do the 8 reads that are left take?

# %%
src, dst = torch.randn(32, 32), torch.zeros(32, 32)
explain(transposing(row_stride=32), src, dst)

# %% [markdown]
# The marked line is the transposed read: 8 reads take 256 wavefronts. The strip shows the warp's instructions in order,
# the picture below it one of these reads: a number is a thread, a column is a bank, a row is 128 bytes, and each shade
# is a wavefront. Threads 0 to 7, the first group, need the same four banks, so they take eight wavefronts instead of
# one; so does each other group.
#
# Now pad. In exercise 04.2 the stride for single words is 33, for vectors of 16 bytes 36. Which needs fewer
# instructions?

# %%
for row_stride in (33, 36):
    print("row stride", row_stride)
    explain(transposing(row_stride), src, dst)

# %% [markdown]
# Both need the fewest possible wavefronts. Under a stride of 33 four words are not aligned, so each is read alone. A
# stride of 36 keeps the vectors.
#
# Now swizzle, first ⟨5,0,5⟩: single words move, so M = 0; they use all 32 banks, so B = 5; and a row is 32 words, so
# S = 5. Then ⟨3,2,3⟩, which keeps vectors of four words together. **Predict:** is it as good as the stride of 36?

# %%
for swizzled_by in ((5, 0, 5), (3, 2, 3)):
    print("swizzled by", swizzled_by)
    explain(transposing(32, swizzled_by), src, dst)

# %% [markdown]
# It is not: four wavefronts for each of 32 reads. With either swizzle the compiler reads every word alone, at an
# address of its own: three times as many instructions. Under ⟨3,2,3⟩ the 32 words of a column are in eight banks, four
# in each. A swizzle must fit the accesses that the compiler makes. Here is column 5 under ⟨5,0,5⟩:

# %%
show_banks(compose(Swizzle(5, 0, 5), layout("(32,32):(32,1)")), access=[(lane, 5) for lane in range(32)])

# %% [markdown]
# A fast kernel moves whole chunks, and each needs one address. The next kernel writes and reads the tile by
# instructions of 16 bytes. How many wavefronts does ⟨3,2,3⟩ take now?


# %%
from cutlass.cute.nvgpu import CopyUniversalOp


def by_chunks(swizzled_by):
    """The transpose by accesses of 16 bytes to the tile, which is swizzled by ⟨B,M,S⟩."""

    @cute.kernel
    def kernel(src: cute.Tensor, dst: cute.Tensor):
        rows = cute.make_layout((32, 32), stride=(32, 1))
        stored = cute.make_composed_layout(cute.make_swizzle(*swizzled_by), 0, rows)
        tile = SmemAllocator().allocate_tensor(Float32, stored, byte_alignment=128)
        lane, _, _ = cute.arch.thread_idx()
        atom = cute.make_copy_atom(CopyUniversalOp(), Float32, num_bits_per_copy=128)
        four = cute.make_rmem_tensor(4, Float32)
        for row in range_constexpr(0, 32, 4):
            chunk = (row + lane // 8, lane % 8)
            cute.copy(atom, cute.local_tile(src, (1, 4), chunk)[0, None], four)
            cute.copy(atom, four, cute.local_tile(tile, (1, 4), chunk)[0, None])
        cute.arch.sync_threads()
        for n in range_constexpr(8):
            cute.copy(atom, cute.local_tile(tile, (1, 4), (lane, n))[0, None], four)
            for k in range_constexpr(4):
                dst[4 * n + k, lane] = four[k]

    @cute.jit
    def transpose(src: cute.Tensor, dst: cute.Tensor):
        kernel(src, dst).launch(grid=(1, 1, 1), block=(32, 1, 1))

    return transpose


for swizzled_by in ((0, 2, 3), (3, 2, 3)):
    print("swizzled by", swizzled_by)
    explain(by_chunks(swizzled_by), src, dst)

# %% [markdown]
# No conflict is left, and the swizzle costs 143 − 72 instructions, not 341 − 118. In a loop over tiles they are
# executed once, because the addresses depend on the lane alone.
#
# ## Which B, M and S?
#
# Tiles are not always 128 bytes wide. How many wavefronts do eight chunks down a column take if the rows are shorter,
# one directly after the other in memory, without a swizzle?

# %%
for row_bytes in (128, 64, 32):
    row = row_bytes // 2  # elements of bf16
    cost = memory.wavefronts([row * n for n in range(8)], element_bytes=2, vector=8)
    print(f"rows of {row_bytes:3} bytes: {cost} wavefronts for 8 rows, {row_bytes // 16} chunks to choose from")

# %% [markdown]
# Several shorter rows fit side by side into the banks. A row of 128 bytes has 8 chunks, and 8 rows collide; a row of 64
# bytes has 4, and 4 rows collide. So a swizzle within the row is always just enough. Three questions determine it:
#
# - **M**, a log₂: how many elements must stay together?
# - **B**, a log₂: how many chunks of a row can trade places?
# - **S**, in bits: how far above the chunk's bits are the bits that distinguish colliding rows?
#
# **Exercise 04.4** (about 3 lines). Write `choose_swizzle(row_bytes, element_bytes)`: the tuple `(B, M, S)` with the
# fewest bits that reads eight chunks down any column in one wavefront. `row_bytes` is 32, 64 or 128; an element has
# 1, 2 or 4 bytes.


# %%
def choose_swizzle(row_bytes, element_bytes):
    ### BEGIN SOLUTION (about 3 lines)
    def log2(n):
        return n.bit_length() - 1

    return log2(row_bytes // 16), log2(16 // element_bytes), log2(128 // 16)
    ### END SOLUTION


# %%
check("04.4", choose_swizzle)

# %% [markdown]
# TMA and Hopper's tensor cores offer these three swizzles and call them 128B, 64B and 32B, after the length of a row.
# They swizzle bits of the *address*, S ∘ L those of the offset. Both agree if the tile begins at a multiple of 1,024
# bytes, eight rows of 128. Here is the one for 64 bytes: two neighboring rows, side by side in the banks, have the same
# order.

# %%
show_swizzle((2, 3, 3), "(8,32):(32,1)")

# %% [markdown]
# ## A tile of atoms
#
# A tensor-core kernel accesses a tile in two ways. ldmatrix, which loads the tensor cores' operands into registers as
# each lane's **fragment** (notebook 10), reads eight chunks down a column. But the tile must also be written, and eight
# lanes that copy one row of 64 values from global memory write along the row.
#
# An **atom** is a small layout that is repeated over a tile. The one above, (8,64):(64,1), is stored by rows. An
# article by Eric Schreiber, [Demystifying CuTe](https://schreibereric.substack.com/p/demystifying-cute-how-to-write-a),
# has one that is stored by columns:
#
# > swizzled_128B_atom  =  Swizzle⟨3,3,3⟩ ∘ (8,(8,8)):(8,(1,64))
#
# A column is a pair (element in the chunk, which chunk). The next element is 1 away. The next *row* is 8 elements away:
# its chunk follows directly. The next *chunk* is 64 elements away, 128 bytes. In the picture a cell is a whole chunk,
# so only the second number of a pair changes.

# %%
show_swizzle((3, 3, 3), "(8,(8,8)):(8,(1,64))")

# %% [markdown]
# Even without the swizzle, on the left, every column has all eight colors; but every row has only one. **Predict** the
# numbers:

# %%
for name in ("(8,(8,8)):(8,(1,64))", "(8,64):(64,1)"):
    plain = layout(name)
    for what, atom in (("plain", plain), ("swizzled", compose(S, plain))):
        read = memory.wavefronts([atom(row, 0) for row in range(8)], element_bytes=2, vector=8)
        write = memory.wavefronts([atom(0, 8 * chunk) for chunk in range(8)], element_bytes=2, vector=8)
        print(f"{name:21} {what:9} read down a column: {read}   write along a row: {write}")

# %% [markdown]
# The atom stored by columns is slow to write, the one stored by rows is slow to read, and the *same* swizzle fixes
# both. Swizzled, neither is better. The kernels of this course store atoms by rows, as TMA does: its 128B and the
# article's atom, despite the name, have only the swizzle in common.
#
# A tile of 64 columns is a stack of these atoms, one below the other. An atom has 512 elements, so the next one starts
# at offset 512. That is bit 9, and ⟨3,3,3⟩ uses bits 3 to 8 only, so each atom is swizzled alike. In a wider tile, the
# next 64 columns are another stack, behind the whole first one.
#
# **Exercise 04.5** (about 4 lines). Write `tile_offset(row, column)`: the offset, in elements, of an element of a tile
# of such stacks, in plain integer arithmetic, as a kernel computes it. The tile has 128 rows and any number of columns;
# its atoms are stored by rows, and swizzled.


# %%
def tile_offset(row, column):
    ### BEGIN SOLUTION (about 4 lines)
    stack, within = divmod(column, 64)
    chunk, element = divmod(within, 8)
    place = chunk ^ row % 8
    return 128 * 64 * stack + 64 * row + 8 * place + element
    ### END SOLUTION


# %%
check("04.5", tile_offset)

# %% [markdown]
# In code you compose: `tile_to_shape` repeats the atom. The CuTe DSL agrees.

# %%
atom = layout("(8,64):(64,1)")
tile = compose(S, tile_to_shape(atom, (128, 128)))


@cute.jit
def real_tile():
    plain = cute.make_layout((8, 64), stride=(64, 1))
    swizzled = cute.make_composed_layout(cute.make_swizzle(3, 3, 3), 0, plain)
    real = cute.tile_to_shape(swizzled, (128, 128), order=(0, 1))
    print(real)
    print("row 77, column 94:", real((77, 94)), "and tensor_layouts says", tile(77, 94))


real_tile()

# %% [markdown]
# ## The cures compared
#
# Compare all layouts of the 128×64 tile of bf16. A warp writes four rows, 16 bytes per lane, and reads four 8×8
# matrices, as with `ldmatrix`. Both move 512 bytes, so 4 wavefronts are the minimum.

# %%
write = [(row, 8 * chunk) for row in range(4) for chunk in range(8)]
read = [(8 * i + row, 8 * j) for i in range(2) for j in range(2) for row in range(8)]

atom = layout("(8,(8,8)):(8,(1,64))")  # the article's
tiles = {
    "by rows": Layout((128, 64), (64, 1)),
    "by rows, padded to 72": Layout((128, 64), (72, 1)),
    "by columns": tile_to_shape(atom, (128, 64)),
    "by rows, swizzled": compose(S, Layout((128, 64), (64, 1))),
    "by columns, swizzled": compose(S, tile_to_shape(atom, (128, 64))),
}
print(f"{'tile':22}write  read   bytes   predicted µs")
for name, stored in tiles.items():
    costs = [memory.wavefronts([stored(*at) for at in lanes], element_bytes=2, vector=8) for lanes in (write, read)]
    predicted = 980 * 4 * 32 * sum(costs) / 1980  # passes · blocks · accesses · wavefronts, at 1,980 MHz
    print(f"{name:22}{costs[0]:5}{costs[1]:6}{2 * cosize(stored):8}{predicted:15.0f}")

# %% [markdown]
# One XOR saves a factor of eight in a read's wavefronts. (`cosize` leaves out the last row's padding.)
#
# Is the model right? A kernel takes tiles through shared memory 980 times, each time by 32 such writes and 32 such
# reads, with four tiles on an SM. The predicted time is that of one clock cycle for a wavefront. Compare:

# %%
show_sweep("tile_layouts", read=counters.SHARED_READ, written=counters.SHARED_WRITTEN)

# %% [markdown]
# The GPU counts exactly the model's wavefronts: 8 times as many reads *by rows*, 8 times as many writes *by columns*.
# The times are 2 to 6% above the predicted ones. From notebook 10 on the tiles of A and B are swizzled.
#
# ## What to remember
#
# - An access takes as many wavefronts as the fullest bank has different words, summed over groups of 32, 16 or 8 lanes.
# - Padding: an odd stride, counted in vectors. It costs memory.
# - Swizzle⟨B,M,S⟩: row bits XORed into chunk bits. It costs no memory. It costs instructions: word by word, the
#   transposing warp executed 361 instead of 118.
# - A chunk is what a lane reads at once. M is log₂ of its elements, B of the chunks in a row of up to 128 bytes, S of
#   the chunks in 128 bytes: 3 for 16-byte chunks, 5 for words. In longer rows S grows by log₂(row / 128).
#
# ## Test yourself
#
# <details><summary>1. All lanes of a warp read word 5 of shared memory. How many wavefronts does that take? And how
# many if half of the lanes read word 5 and half word 37?</summary>
#
# One wavefront: the lanes share a word. Then two: 5 and 37 are different words of one bank, 37 = 5 + 32.
#
# </details>
#
# <details><summary>2. Rows of 128 bytes of fp8, read by 16-byte chunks down a column. Which Swizzle?</summary>
#
# ⟨3,4,3⟩: a chunk has 16 elements, so M = 4; a row has eight chunks, so B = 3; colliding rows are 128 bytes apart,
# eight chunks, so S = 3.
#
# </details>
#
# <details><summary>3. A kernel writes an 8×64 tile through ⟨3,3,3⟩ ∘ (8,64):(64,1), and its author forgets the swizzle
# where it is read. Which elements are right nevertheless?</summary>
#
# Those of row 0, whose upper bits are 0, so nothing moves. The others are in other chunks of their rows.
#
# </details>
