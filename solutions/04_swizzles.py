# ---
# jupyter:
#   tutorlib:
#     minutes: 70
#     summary: Why a tile can take 32 passes to read where one is enough, and two cures, padding and swizzling.
# ---

# %% [markdown]
# # 04 · Swizzles: shared memory without bank conflicts
#
# A matrix kernel reads every element of its tiles many times, from **shared memory**. Each SM's shared memory can
# deliver 128 bytes per clock. Whether it does depends on the *addresses* that the 32 threads of a warp access together:
# in one layout an access takes 32 passes, in another it takes one.
#
# On this page you count that cost and learn the two cures, padding and swizzling. Both change the tile's layout, and no
# other line of the kernel.
#
# > **After this page you can** count the wavefronts of an access, choose a padding or a swizzle for a tile, and compute
# > the address of an element of a swizzled tile.
# >
# > **It takes** about 70 minutes, without a GPU.

# %%
from tensor_layouts import Layout, Swizzle, compose
from tensor_layouts.layout_utils import tile_to_shape

from tutorlib import (
    all_sweep_results, check, counters, explain, explore_swizzle, layout, memory, show_banks, show_swizzle,
)  # fmt: skip

# %% [markdown]
# ## Thirty-two banks
#
# Shared memory consists of 32 **banks**, each 4 bytes wide. Consecutive words are in consecutive banks, and after 128
# bytes the banks repeat: the byte at address `a` is in bank `a // 4 % 32`. In one pass, which the profiler calls a
# **wavefront**, each bank delivers one word. **Lanes** (the threads of a warp) that read the *same* word share it at no
# cost. Two *different* words of one bank take two wavefronts: a **bank conflict**.
#
# Here are eight rows of a tile of fp32, 32 words each, stored by rows. The number in a cell is its bank, and each color
# is four neighboring banks, 16 bytes. A warp reads row 0, one word per lane:

# %%
show_banks("(8,32):(32,1)", access=[(0, lane) for lane in range(32)])

# %% [markdown]
# Each lane has a bank of its own: one wavefront. Now eight lanes read column 0, as a transpose would. How many
# wavefronts?

# %%
show_banks("(8,32):(32,1)", access=[(lane, 0) for lane in range(8)])

# %% [markdown]
# It takes eight. A row is 32 words, so all words of a column are in the same bank, which delivers them one by one. The
# 32 lanes of a warp would take 32 wavefronts.
#
# A lane can also read 8 or 16 bytes at once. A warp then needs 256 or 512 bytes, more than the banks deliver in one
# wavefront, so the hardware serves it in groups of consecutive lanes: two groups of 16 for 8 bytes, four groups of 8
# for 16 bytes. Conflicts arise only within a group, and the groups' wavefronts add up. At the end of the page an H200
# tests this model for accesses of 16 bytes.
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
#
# ## Padding
#
# One cure makes the rows longer than necessary. With a stride of 33 instead of 32, each row starts one bank further,
# and a column of 32 rows uses all 32 banks. Here are the first eight rows:

# %%
show_banks("(8,32):(33,1)", access=[(lane, 0) for lane in range(8)])

# %% [markdown]
# The price is memory: one word per row. For vectors the price is higher, because a 16-byte access needs a 16-byte
# aligned address. Take the tile that feeds the tensor cores from notebook 10 on, 128×64 values of bf16 (2 bytes). Eight
# lanes at a time read 16 bytes each, from the same columns of eight consecutive rows. **Predict** which of these
# strides avoids all conflicts.

# %%
for stride in (64, 65, 66, 68, 72, 80):
    aligned = stride * 2 % 16 == 0
    column = [stride * row for row in range(8)]
    cost = memory.wavefronts(column, element_bytes=2, vector=8) if aligned else "not aligned"
    print(f"stride {stride}: {cost:>11}   {128 * (stride - 64) * 2:5} bytes of padding")

# %% [markdown]
# 72 elements are 9 vectors of 16 bytes. The banks hold 8 vectors, so with an odd number in a row, eight rows begin at
# eight different places in the banks. With an even number, as 10 for 80, some rows share a place.
#
# So padding costs this tile one eighth more memory. And TMA, the copy engine of Hopper GPUs, cannot pad: it writes the
# rows of a tile one directly after the other.
#
# ## Swizzling: move chunks inside their row
#
# Eight lanes times 16 bytes are one wavefront. So divide each row into **chunks** of 16 bytes: the banks are eight
# slots for chunks, drawn in eight colors. The left picture is a tile of 8×8 chunks, stored by rows. The number in a
# cell is the offset of its chunk, counted in chunks. Each column has one color, so reading a column takes eight
# wavefronts.
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
mixed = Swizzle(3, 3, 3)
print([64 * row for row in range(8)])
print([mixed(64 * row) for row in range(8)])

# %% [markdown]
# In integer arithmetic that is `offset ^ (offset >> (M + S) & (1 << B) - 1) << M`. XOR makes it safe: Y itself never
# changes, because the groups do not overlap (S ≥ B). So a second application restores the offset, and no two offsets
# collide.
#
# In the explorer, set B to 0, 1 and 2: how many wavefronts does the access take?

# %%
explore_swizzle()

# %% [markdown]
# It takes 8, 4 and 2: each bit halves the cost.
#
# A swizzle maps offsets to offsets, so it is applied after a layout: σ ∘ L. The code that writes the tile and the code
# that reads it use the same σ ∘ L, so you can exchange σ without touching either.
#
# ## In a kernel
#
# One warp transposes 32×32 values of fp32 through shared memory. It writes rows of the tile and reads columns, each by
# accesses of 16 bytes, the `.load()` and `.store()` of notebook 02. `stored` is the tile's layout.
# (`make_composed_layout(σ, 0, L)` is σ ∘ L; the 0 is an offset, added to L's before σ.)

# %%
import torch
from cutlass import Float32, cute, range_constexpr
from cutlass.memory import SmemAllocator


def transposing(row_stride, swizzled_by):
    """A transpose through a tile with this row stride, swizzled by ⟨B,M,S⟩."""

    @cute.kernel
    def kernel(src: cute.Tensor, dst: cute.Tensor):
        rows = cute.make_layout((32, 32), stride=(row_stride, 1))
        stored = cute.make_composed_layout(cute.make_swizzle(*swizzled_by), 0, rows)
        tile = SmemAllocator().allocate_tensor(Float32, stored, byte_alignment=128)
        lane, _, _ = cute.arch.thread_idx()
        for row in range_constexpr(0, 32, 4):
            chunk = (row + lane // 8, lane % 8)
            four = cute.local_tile(src, (1, 4), chunk).load()
            cute.local_tile(tile, (1, 4), chunk).store(four)
        cute.arch.sync_threads()
        for n in range_constexpr(8):
            four = cute.local_tile(tile, (1, 4), (lane, n)).load()
            for k in range_constexpr(4):
                dst[4 * n + k, lane] = four[k]

    @cute.jit
    def transpose(src: cute.Tensor, dst: cute.Tensor):
        kernel(src, dst).launch(grid=(1, 1, 1), block=(32, 1, 1))

    return transpose


# %% [markdown]
# `explain` simulates it and prints for each line the cost of its accesses and the least possible cost: shared memory in
# wavefronts, global memory in **sectors** of 32 bytes. It marks lines that take more than they need. **Predict:** how
# many wavefronts do the 8 reads of the tile take without padding and swizzle, in four groups of 8 lanes each?

# %%
src, dst = torch.randn(32, 32), torch.zeros(32, 32)
explain(transposing(row_stride=32, swizzled_by=(0, 2, 3)), src, dst)

# %% [markdown]
# The marked line takes 256. The strip shows the warp's memory instructions in order; equal ones in a row are one box.
# The picture below it is one of these reads: a number is a thread, a column is a bank, a row is 128 bytes, and each
# shade is a wavefront. Threads 0 to 7, the first group, need the same four banks, so they take eight wavefronts instead
# of one; so does each other group.
#
# Now the two cures: a stride of 36 words, which is 9 vectors, and ⟨3,2,3⟩, which keeps four words together. Then
# ⟨5,0,5⟩, a swizzle for single words. **Predict:** which of the three have a conflict, and which still need only 8 read
# instructions?

# %%
for row_stride, swizzled_by in ((36, (0, 2, 3)), (32, (3, 2, 3)), (32, (5, 0, 5))):
    print(f"\nrow stride {row_stride}, swizzled by {swizzled_by}")
    explain(transposing(row_stride, swizzled_by), src, dst)

# %% [markdown]
# None has a conflict. But ⟨5,0,5⟩ scatters a lane's four words, so the compiler moves each word alone: 32 reads and 32
# writes instead of 8 each. A layout must fit the accesses: M keeps together the elements that a lane moves at once.
#
# Padding takes 77 instructions, hardly more than the plain layout's 72. ⟨3,2,3⟩ takes 143, for the XORs of its
# addresses. They cost time only where instructions limit a kernel, not wavefronts.
#
# ## Which B, M and S?
#
# ⟨3,3,3⟩ is made for rows of 128 bytes. Does it help in tiles with shorter and longer rows? The cell reads eight chunks
# down a column, one row directly after the other in memory.

# %%
for row_bytes in (32, 64, 128, 256, 512):
    column = [row_bytes // 2 * row for row in range(8)]  # of bf16
    plain, swizzled = (
        memory.wavefronts(offsets, element_bytes=2, vector=8) for offsets in (column, list(map(mixed, column)))
    )
    print(f"rows of {row_bytes:3} bytes: {plain} wavefronts, swizzled {swizzled}")

# %% [markdown]
# Shorter rows fit side by side into the banks, so fewer of them collide, and fewer bits would do. In longer rows the
# bits that ⟨3,3,3⟩ mixes in are partly bits of the chunk. Three questions lead to the right swizzle:
#
# - **M**, a log₂: how many elements must stay together?
# - **B**, a log₂: how many rows collide?
# - **S**, in bits: how far above the chunk's lowest bit are the bits that distinguish colliding rows?
#
# **Exercise 04.2** (about 4 lines). Write `choose_swizzle(row_bytes, element_bytes, vector_bytes)`: the tuple `(B, M,
# S)` with the fewest bits for a tile whose lanes each read one vector, down any column, one from each row. A group of
# lanes then takes one wavefront. The three arguments are powers of two: `row_bytes` is 32 or more, and `vector_bytes`
# is 4, 8 or 16, and at least `element_bytes`.


# %%
def choose_swizzle(row_bytes, element_bytes, vector_bytes):
    ### BEGIN SOLUTION (about 4 lines)
    def log2(n):
        return n.bit_length() - 1

    b, s = log2(min(row_bytes, 128) // vector_bytes), log2(max(row_bytes, 128) // vector_bytes)
    return b, log2(vector_bytes // element_bytes), s
    ### END SOLUTION


# %%
check("04.2", choose_swizzle)

# %% [markdown]
# For chunks of 16 bytes, TMA and Hopper's tensor cores offer the swizzles for rows of 128, 64 and 32 bytes, and call
# them 128B, 64B and 32B. They swizzle bits of the *address*, σ ∘ L those of the offset. Both agree where the tile
# begins at a multiple of 1,024, 512 or 256 bytes.
#
# ## A tile of atoms
#
# The swizzles end at rows of 128 bytes. A wider tile is made of **atoms**, small layouts that are repeated over it. The
# atom for bf16 is ⟨3,3,3⟩ ∘ (8,64):(64,1): a row is 128 bytes, so a group of eight lanes can also write a row in one
# wavefront.
#
# Atoms below each other are a **stack** of 64 columns; a wider tile has several stacks. For 128×128, CuTe's
# `tile_to_shape` returns
#
#     S<3,3,3> o 0 o ((8,16),(64,2)):((64,512),(1,8192))
#
# **Exercise 04.3** (about 4 lines). An fp8 element has one byte. Write `tile_offset(row, column)` for the same kind of
# tile in fp8, with 128 rows and any number of columns: atoms of eight rows of 128 bytes, whose chunks of 16 bytes are
# swizzled. It returns the offset, in elements, in plain integer arithmetic, as a kernel computes it.


# %%
def tile_offset(row, column):
    ### BEGIN SOLUTION (about 4 lines)
    stack, within = divmod(column, 128)
    chunk, element = divmod(within, 16)
    place = chunk ^ row % 8
    return 128 * 128 * stack + 128 * row + 16 * place + element
    ### END SOLUTION


# %%
check("04.3", tile_offset)

# %% [markdown]
# The fp8 atom is ⟨3,4,3⟩ ∘ (8,128):(128,1). It has 1,024 elements, so each begins at a multiple of 1,024, bit 10.
# ⟨3,4,3⟩ uses bits 4 to 9 only: it swizzles each atom alike. In code you compose: `tile_to_shape` repeats the atom,
# here the one for bf16.

# %%
atom = layout("(8,64):(64,1)")
tile = compose(mixed, tile_to_shape(atom, (128, 128)))


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
# Compare five layouts of the 128×64 tile of bf16. In the two layouts *by columns*, chunks that are neighbors in a row
# lie 128 bytes apart, as in the atom of Eric Schreiber's [Demystifying
# CuTe](https://schreibereric.substack.com/p/demystifying-cute-how-to-write-a). A warp writes four rows, 16 bytes per
# lane, and reads four 8×8 matrices, as `ldmatrix` does in notebook 10. Both move 512 bytes, so 4 wavefronts are the
# minimum.
#
# Each of 528 blocks (four on an SM) repeats this 980 times: 32 writes and 32 reads of 512 bytes. The model predicts one
# clock cycle for each wavefront. **Predict:** which layouts are slow to write, which to read?

# %%
write = [(row, 8 * chunk) for row in range(4) for chunk in range(8)]
read = [(8 * i + row, 8 * j) for i in range(2) for j in range(2) for row in range(8)]

atom = layout("(8,(8,8)):(8,(1,64))")  # Schreiber's
tiles = {
    "by rows": Layout((128, 64), (64, 1)),
    "by rows, padded to 72": Layout((128, 64), (72, 1)),
    "by columns": tile_to_shape(atom, (128, 64)),
    "by rows, swizzled": compose(mixed, Layout((128, 64), (64, 1))),
    "by columns, swizzled": compose(mixed, tile_to_shape(atom, (128, 64))),
}

# %%
for swept in all_sweep_results("tile_layouts"):
    print(f"{swept.gpu:24}  M wavefronts written     M wavefronts read                   µs")
    print(" " * 24 + "   predicted   counted" * 2 + "   predicted  measured")
    for point in swept.points:
        model = [  # in millions
            528 * 980 * 32 * memory.wavefronts([tiles[point.name](*at) for at in lanes], 2, 8) / 1e6
            for lanes in (write, read)
        ]
        found = [swept.counters[point.name][name] / 1e6 for name in (counters.SHARED_WRITTEN, counters.SHARED_READ)]
        model.append(sum(model) * 1e6 / 132 / 1980)  # µs: 132 SMs at 1,980 MHz
        found.append(point.measurement.median_us)
        print(f"{point.name:24}" + "".join(f"{a:12,.1f}{b:10,.1f}" for a, b in zip(model, found, strict=True)))

# %% [markdown]
# The GPU counts the model's wavefronts to all digits shown, and the times are 2 to 6% above the predicted ones. In
# either order, one XOR makes the slow direction eight times cheaper, and the kernel 4.3 times faster. The swizzled tile
# takes as long as the padded one, and no more memory than the plain one. Swizzled, both orders are equally good; the
# kernels of this course store atoms by rows, as TMA does.
#
# ## What to remember
#
# - An access takes as many wavefronts as the fullest bank has different words, summed over groups of 32, 16 or 8 lanes.
# - Padding: make the row stride an odd number of vectors. It costs memory.
# - Swizzle⟨B,M,S⟩: row bits XORed into chunk bits. It costs no memory, but instructions for addresses.
# - M is log₂ of the elements that a lane moves at once, B of the rows that collide, and S the distance from the chunk's
#   bits to the bits of those rows.
#
# Next: [05](05_copy_kernels.ipynb), where your transpose reads its columns through a swizzled tile.
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
# <details><summary>2. Rows of 64 bytes of fp32, read by 16-byte chunks down a column. Which Swizzle?</summary>
#
# ⟨2,2,3⟩: a chunk has 4 elements, so M = 2; a row has four chunks, so B = 2; colliding rows are 128 bytes apart,
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
