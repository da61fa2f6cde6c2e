# ---
# jupyter:
#   tutorlib:
#     minutes: 90
#     summary: Why one tile can be 32 times slower than another, and two cures; ldmatrix and mma.
# ---

# %% [markdown]
# # 03 · Swizzles: shared memory without bank conflicts
#
# A matrix kernel reads every element of its tiles many times. It reads them from **shared memory**, a small, fast
# memory that the threads of a block share. Each SM, the processor on which a block runs, has its own, which can deliver
# 128 bytes per clock. Whether it does depends on the *addresses* that the 32 threads of a warp access together: under
# another layout, the same tile can take 32 times as long to read.
#
# On this page you count that cost and learn the two cures, padding and swizzling. Then you look at the instructions
# that need them, `ldmatrix` and `mma`. Their operands are distributed over the threads of a warp, and the distribution
# is again a layout.
#
# > **After this page you can** count the wavefronts of an access, choose a padding or a swizzle for a tile, compute the
# > address of an element of a swizzled tile, and tell which lane of a warp holds which element of a matrix product.
# >
# > **It takes** about 90 minutes, without a GPU.

# %%
from tensor_layouts import Layout, Swizzle, compose, cosize
from tensor_layouts.atoms_nv import SM80_16x8x16_F32BF16BF16F32_TN as mma
from tensor_layouts.layout_utils import tile_to_shape

from tutorlib import check, explain, explore_swizzle, layout, memory, show_banks, show_swizzle, show_tv

# %% [markdown]
# ## Thirty-two banks
#
# Shared memory consists of 32 **banks**, each 4 bytes wide. Consecutive words are in consecutive banks, and after 128
# bytes the banks repeat: the byte at address `a` is in bank `a // 4 % 32`. In one pass, which the profiler calls a
# **wavefront**, each bank delivers one word. **Lanes** (the threads of a warp) that read the *same* word share it at no
# cost. Two *different* words of one bank take two wavefronts: a **bank conflict**.
#
# Take a 32×32 tile of fp32, stored by rows; here are its first four rows. The number in a cell is its bank, and each
# color is four neighboring banks, 16 bytes. A warp reads row 0, one word per lane:

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
# for 16 bytes. Conflicts arise only within a group, and the groups' wavefronts add up. Sixteen bytes per lane therefore
# take at least 4 wavefronts, but they deliver four times as much as 4 bytes per lane.
#
# This is a model of the hardware. Notebook 05 tests it: it times a transpose with these conflicts and without.
#
# **Exercise 03.1** (about 7 lines). Write `wavefronts(addresses, width)`, the number of wavefronts of one access.
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
check("03.1", wavefronts)

# %% [markdown]
# From here on the page counts with `memory.wavefronts`, which takes offsets in elements, as layouts give them.
#
# **Keep this:** count *different words in one bank*, group by group. Padding and swizzles place elements so that the
# count is one.

# %% [markdown]
# ## Padding
#
# The oldest cure makes the rows a little longer than necessary. With a stride of 33 instead of 32, each row starts one
# bank further, and a column uses all 32 banks.

# %%
show_banks("(32,32):(33,1)", access=[(lane, 0) for lane in range(32)])

# %% [markdown]
# Rows are still free of conflicts. The price is memory: one word per row.
#
# For vectors the price is higher, because a 16-byte access needs a 16-byte aligned address. Take the tile that feeds
# the tensor cores from notebook 09 on, 128×64 values of bf16 (2 bytes). Eight lanes at a time read 16 bytes each, from
# the same columns of eight consecutive rows. Before you run the cell: which of these strides avoids all conflicts, and
# why not 65?

# %%
for stride in (64, 65, 66, 68, 72, 80):
    aligned = stride * 2 % 16 == 0
    column = [stride * row for row in range(8)]
    cost = memory.wavefronts(column, element_bytes=2, vector=8) if aligned else "not aligned"
    print(f"stride {stride}: {cost:>11}   {128 * (stride - 64) * 2:5} bytes of padding")

# %% [markdown]
# **Exercise 03.2** (about 4 lines). Write `padded_stride(columns, element_bytes, vector_bytes)`: the smallest row
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
check("03.2", padded_stride)

# %% [markdown]
# **Keep this:** a padded stride, counted in vectors, is odd. For the bf16 tile that costs one eighth more memory, in
# kernels that are short of it. Moreover, TMA, the copy engine of notebooks 05 and 13, cannot pad: it writes the rows of
# a tile one directly after the other. So fast kernels use the other cure.

# %% [markdown]
# ## Swizzling: move chunks inside their row
#
# Eight lanes times 16 bytes are one wavefront. So divide each row into **chunks** of 16 bytes: the banks are eight
# slots for chunks, drawn in eight colors. The left picture is a tile of 8×8 chunks, stored by rows; the number in a
# cell is the offset of its chunk, counted in chunks. Each column has one color, so it takes eight wavefronts to read.
#
# Now leave every chunk in its row, but store chunk `c` of row `r` in slot `c ^ r` (XOR), as on the right. No two rows
# use the same order. Each row still has all colors, and now each column does, too. No memory is wasted.

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
# The picture above is ⟨3,0,3⟩ on chunks. Usually an offset counts elements. A chunk has eight of bf16, so three more
# bits come below the chunk's, M = 3, and the same swizzle is ⟨3,3,3⟩:
#
#     bit of the offset     8 7 6     5 4 3     2 1 0
#     its meaning            row      chunk    element       a row of 64 bf16 is 128 bytes
#                           Y Y Y     Z Z Z     · · ·
#     after ⟨3,3,3⟩         Y Y Y     Z ⊕ Y     · · ·
#
# To which offset does the first element of each row move? Say the first three before you run the cell.

# %%
S = Swizzle(3, 3, 3)
print([64 * row for row in range(8)])
print([S(64 * row) for row in range(8)])

# %% [markdown]
# **Exercise 03.3** (about 2 lines). Write `swizzle(b, m, s, offset)`: the offset after Swizzle⟨b,m,s⟩. (CuTe allows
# negative S, too; here S ≥ B.)


# %%
def swizzle(b, m, s, offset):
    ### BEGIN SOLUTION (about 2 lines)
    upper = (offset >> (m + s)) & (2**b - 1)
    return offset ^ (upper << m)
    ### END SOLUTION


# %%
check("03.3", swizzle)

# %% [markdown]
# XOR makes this safe. Y itself never changes, so a second application restores the offset: a swizzle is its own
# inverse. Hence no two offsets collide, and within a period of 2^(M+S+B) offsets each is used exactly once.

# %%
period = range(2 ** (3 + 3 + 3))
print("its own inverse:", all(S(S(offset)) == offset for offset in period))
print("a permutation:  ", sorted(S(offset) for offset in period) == list(period))

# %% [markdown]
# Try it. The explorer opens with the tile of the diagram. How many wavefronts does the access take with B = 0, 1, 2?
# Then type the layout (8,32):(32,1), a tile of half the width: how many bits does it need? And there, in row 1, what
# does M = 2 do to the 16 bytes of a lane? The answers are below it.

# %%
explore_swizzle()

# %% [markdown]
# With B = 0, 1 and 2 the access takes 8, 4 and 2 wavefronts. The narrower tile needs two bits. With M = 2 the two
# halves of a chunk trade places in its odd rows, so an access of 16 bytes no longer finds its elements in order.
#
# **Keep this:** a swizzle maps offsets to offsets. It is composed with a layout on its right, `S ∘ L`. The code that
# writes the tile and the code that reads it use the same `S ∘ L`, and neither depends on its details.

# %% [markdown]
# ## In a kernel
#
# So far you have counted the wavefronts of given addresses. Here is a kernel that computes its own: one warp transposes
# 32×32 values of fp32 through shared memory. It writes rows of the tile and reads columns. You need not understand CuTe
# kernels yet; look at the two lines with `tile[…]`, and at those that define `stored`, the tile's layout.

# %%
import torch
from cutlass import Float32, const_expr, cute, range_constexpr
from cutlass.memory import SmemAllocator


def transposing(row_stride, bits):
    """A transpose through a tile with this row stride, swizzled by ⟨bits,0,5⟩ where bits is not 0."""

    @cute.kernel
    def kernel(src: cute.Tensor, dst: cute.Tensor):
        stored = cute.make_layout((32, 32), stride=(row_stride, 1))
        if const_expr(bits):
            stored = cute.make_composed_layout(cute.make_swizzle(bits, 0, 5), 0, stored)
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
# `explain` runs it in a simulator, on any machine, and prints for each line of the source the cost of its accesses and
# the least possible cost: shared memory in wavefronts, global memory in **sectors** of 32 bytes. (The compiler joins
# four consecutive reads of a row into one of 16 bytes if the tile's layout allows it.) Which line will `explain` mark,
# and by what factor are its wavefronts too many?

# %%
src, dst = torch.randn(32, 32), torch.zeros(32, 32)
explain(transposing(row_stride=32, bits=0), src, dst)

# %% [markdown]
# The marked line is the transposed read. The upper pictures are a timeline of the block; the last one shows one access
# of the marked line. A number is a thread, a column is a bank, a row is 128 bytes of shared memory, and each shade is a
# wavefront. A thread reads 16 bytes, so it uses four banks. The hardware serves eight threads at a time, and all eight
# need the same four banks, so they take eight wavefronts instead of one. The four groups take 32 instead of 4, a factor
# of 8. (4-byte reads would take 32 instead of one.)
#
# Now apply the two cures: the kernel is the same, the layout is not. How many wavefronts will the read take, and what
# else will change?

# %%
explain(transposing(row_stride=33, bits=0), src, dst)

# %%
explain(transposing(row_stride=32, bits=5), src, dst)

# %% [markdown]
# Both cures reduce the transposed read to the fewest possible wavefronts, at the price of more instructions. No line is
# marked, so the pictures show an access of each line that uses shared memory. The read is that of column 0, for which
# the two tiles agree: lane *i* is in bank *i*. For another column, padding shifts this diagonal, and the swizzle
# permutes it. In neither tile are four words of a row aligned and contiguous, so each is read alone, and for the
# swizzled tile the kernel also computes an address for each. The swizzle is ⟨5,0,5⟩: single words move, so M = 0; they
# use all 32 banks, so B = 5; and a row is 32 words, so S = 5.

# %% [markdown]
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
# Shorter rows have fewer conflicts, because several of them fit side by side into the banks; and they have fewer slots
# to which a chunk can move. Both numbers are the same, so a swizzle within the row is always just enough. Three
# questions determine it:
#
# - **M**: how many elements must stay together? Those of one 16-byte chunk.
# - **B**: how many chunks of a row can trade places?
# - **S**: how far above them are the bits that distinguish colliding rows? Rows collide if they are 128 bytes apart.
#
# **Exercise 03.4** (about 3 lines). Write `choose_swizzle(row_bytes, element_bytes)`: the tuple `(B, M, S)` with the
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
check("03.4", choose_swizzle)

# %% [markdown]
# TMA and Hopper's tensor cores offer these three swizzles and call them 128B, 64B and 32B, after the length of a row.
# If offsets count bytes, they are ⟨3,4,3⟩, ⟨2,4,3⟩ and ⟨1,4,3⟩, and so CUTLASS defines its `Layout_K_SW128_Atom` and
# siblings. Here is the one for 64 bytes. Two neighboring rows have the same order: they are side by side in the banks
# and cannot collide.

# %%
show_swizzle((2, 3, 3), "(8,32):(32,1)")

# %% [markdown]
# **Keep this:** M is log₂ of the elements in a 16-byte chunk, B is log₂ of the chunks in a row, and S is log₂ of the
# chunks in 128 bytes, so 3.

# %% [markdown]
# ## The swizzled 128-byte atom
#
# Notebooks 09 to 12 follow an article by Eric Schreiber,
# [Demystifying CuTe](https://schreibereric.substack.com/p/demystifying-cute-how-to-write-a). It defines the layout of
# its shared memory as an **atom**, a small layout that is repeated over the tile:
#
# > swizzled_128B_atom  =  Swizzle⟨3,3,3⟩ ∘ (8,(8,8)):(8,(1,64))
#
# You can read this layout. It has eight rows, and a column is a pair (element in the chunk, which chunk). The next
# element is 1 away. The next *row* is 8 elements away: its chunk follows directly. The next *chunk* is 64 elements
# away, 128 bytes. So the chunks are not stored row by row but column by column, and each column of eight chunks fills
# the banks exactly once:

# %%
show_swizzle((3, 3, 3), "(8,(8,8)):(8,(1,64))")

# %% [markdown]
# Even on the left, without the swizzle, every column has all eight colors; but every row has only one. Is the swizzle
# necessary, then? That depends on the access pattern. `ldmatrix`, which loads the tensor cores' operands, reads eight
# chunks down a column. But the tile also has to be written, and eight lanes that copy one row of 64 values from global
# memory write along the row. Predict the numbers:

# %%
for name in ("(8,(8,8)):(8,(1,64))", "(8,64):(64,1)"):
    plain = layout(name)
    for what, atom in (("plain", plain), ("swizzled", compose(S, plain))):
        read = memory.wavefronts([atom(row, 0) for row in range(8)], element_bytes=2, vector=8)
        write = memory.wavefronts([atom(0, 8 * chunk) for chunk in range(8)], element_bytes=2, vector=8)
        print(f"{name:21} {what:9} read down a column: {read}   write along a row: {write}")

# %% [markdown]
# The atom stored by columns is slow to write, the one stored by rows is slow to read, and the *same* swizzle fixes
# both: it frees accesses along rows and down columns of conflicts. (In notebook 13 TMA and Hopper's tensor cores access
# shared memory themselves, and they expect the atom stored by rows.)
#
# The atom is 64 values wide because ⟨3,3,3⟩ permutes eight chunks of 16 bytes, 128 bytes in all: one row of the 32
# banks. A tile with 32 values per row needs the 64-byte swizzle above, and an atom of that width.
#
# A tile of 128×64 is sixteen of these atoms, one below the other. `tile_to_shape` repeats the atom, and since it has
# 512 elements, the next one starts at offset 512. The swizzle does not change, because its period is 512 elements, too.

# %%
atom = layout("(8,(8,8)):(8,(1,64))")
tile = compose(S, tile_to_shape(atom, (128, 64)))
print(tile)

# %% [markdown]
# **Exercise 03.5** (about 4 lines). Write `tile_offset(row, column)`: the offset, in elements, of an element of that
# swizzled 128×64 tile, in plain integer arithmetic. This is the arithmetic that a kernel executes.


# %%
def tile_offset(row, column):
    ### BEGIN SOLUTION (about 4 lines)
    which_atom, r = divmod(row, 8)
    chunk, element = divmod(column, 8)
    place = r ^ chunk
    return 512 * which_atom + 64 * chunk + 8 * place + element
    ### END SOLUTION


# %%
check("03.5", tile_offset)

# %% [markdown]
# The CuTe DSL agrees. It evaluates such layouts while it traces the function, on any machine. The `0` in the middle of
# its output is an offset that is added before the swizzle. The stride of a mode of extent 1 has no effect: it is 0 here
# and 8192 above.

# %%
import cutlass.cute as cute


@cute.jit
def real_tile():
    plain = cute.make_layout((8, (8, 8)), stride=(8, (1, 64)))
    swizzled = cute.make_composed_layout(cute.make_swizzle(3, 3, 3), 0, plain)
    real = cute.tile_to_shape(swizzled, (128, 64), order=(0, 1))
    print(real)
    print("row 77, column 30:", real((77, 30)), "and tensor_layouts says", tile(77, 30))


real_tile()

# %% [markdown]
# ## Thread-value layouts of `mma`
#
# The tile is read for a tensor-core instruction. `mma.m16n8k16` multiplies a 16×16 matrix A by a 16×8 matrix B and adds
# the 16×8 product to C. No thread holds a whole matrix. The elements are in *registers*, some in each of the 32 lanes,
# and the hardware specifies which.
#
# This assignment is a thread-value layout, as in notebook 02. It maps (lane, value) not to memory but to the tile: its
# result is the index of an element, first mode fastest, so row + 16·column for C. (In the picture T is the lane and V
# its value; the colors repeat after eight lanes.)

# %%
show_tv(mma.c_layout, (16, 8))

# %% [markdown]
# You can read `((4,8),(2,2)):((32,1),(16,8))` from the picture. Lanes 0 to 3 are in one row, two columns apart: stride
# 2·16 = 32. Lane 4 is one row further down: 1. Value 1 is one column to the right of value 0: 16. Value 2 is 8 rows
# down: 8. Which element is value 3 of lane 5?

# %%
index = mma.c_layout(5, 3)
print("index", index, "= row", index % 16, "column", index // 16)

# %% [markdown]
# **Exercise 03.6** (about 3 lines). Write `c_coordinate(lane, value)`: the (row, column), in the 16×8 tile, of a lane's
# value, 0 to 3. A kernel needs it to store its accumulators.


# %%
def c_coordinate(lane, value):
    ### BEGIN SOLUTION (about 3 lines)
    row = lane // 4 + 8 * (value // 2)
    column = 2 * (lane % 4) + value % 2
    return row, column
    ### END SOLUTION


# %%
check("03.6", c_coordinate)

# %% [markdown]
# Now compose. Suppose a kernel stores C by rows, `(16,8):(8,1)`. The TV layout maps (lane, value) to the element, and
# the memory layout maps the element to its offset, so memory ∘ TV maps (lane, value) to the offset. Which stride of the
# result tells you that a lane can write two values at once?

# %%
print(compose(layout("(16,8):(8,1)"), mma.c_layout))

# %% [markdown]
# The stride 1: values 0 and 1 have neighboring offsets, so one store can write these 8 bytes of fp32.
#
# **Keep this:** a TV layout maps each thread's values to elements. Compose a memory layout with it, memory ∘ TV, and
# you have the address of every value of every thread. CuTe's `TiledCopy` and `TiledMMA` are built on this step.
#
# ## The operands A and B
#
# A is 16×16, and k numbers its columns. Each lane holds eight values. Two neighbors along K share a 32-bit register,
# and the four registers belong to the four quarters of the tile. In which order?

# %%
show_tv(mma.a_layout, (16, 16), title="A of mma.m16n8k16: 32 lanes × 8 values")

# %% [markdown]
# **Exercise 03.7** (about 1 line). Write `a_fragment()`: A's TV layout, as a `Layout` from (lane, value) to
# row + 16·k. Its shape can be `((4,8),(2,2,2))`; you find the strides.


# %%
def a_fragment():
    ### BEGIN SOLUTION (about 1 line)
    return Layout(((4, 8), (2, 2, 2)), ((32, 1), (16, 8, 128)))
    ### END SOLUTION


# %%
check("03.7", a_fragment)

# %% [markdown]
# CuTe describes B as an N×K matrix, the transpose of the 16×8 factor: like A with half the rows. So row n of the
# picture is column n of that factor, and n = lane // 4. Each lane has four values along K.

# %%
show_tv(mma.b_layout, (8, 16))

# %% [markdown]
# ## ldmatrix
#
# The values of A that a lane holds are its **fragment**. Ordinary loads need four instructions to fill it, 4 bytes per
# lane each; `ldmatrix` needs one. It loads 8×8 matrices of 2-byte elements, whose rows are 16 contiguous bytes each.
# Eight lanes supply the addresses of the eight rows. The hardware then distributes every row to four lanes, two
# elements to each, regardless of which lane supplied the address:

# %%
show_tv("(8,8):(1,8)", (8, 8), title="addresses: each lane supplies that of one row")

# %%
show_tv("((4,8),2):((16,1),8)", (8, 8), title="values: each lane receives a quarter of a row")

# %% [markdown]
# With `.x4` it loads four matrices: lanes 0–7 supply the addresses of the rows of matrix 0, lanes 8–15 those of matrix
# 1, and so on. Each lane receives four registers, register j from matrix j. Compare the second picture with a quarter
# of A above. They agree, so one `ldmatrix.x4` fills the fragments of a 16×16 tile, if each lane supplies the right
# address.
#
# **Exercise 03.8** (about 1 line). Write `ldmatrix_row(lane)`. This lane supplies the address of eight elements of a
# row of the 16×16 tile: return the (row, column) of the first. Register j must receive values 2j and 2j + 1 of A's
# fragment.


# %%
def ldmatrix_row(lane):
    ### BEGIN SOLUTION (about 1 line)
    return lane % 16, 8 * (lane // 16)
    ### END SOLUTION


# %%
check("03.8", ldmatrix_row)

# %% [markdown]
# ## The cures compared
#
# Compare all layouts of the 128×64 tile of bf16. A warp writes four rows, 16 bytes per lane, as with `cp.async`, the
# asynchronous copy of notebook 05; a warp reads four 8×8 matrices, as with `ldmatrix.x4`. Both move 512 bytes, so 4
# wavefronts are the minimum.

# %%
write = [(row, 8 * chunk) for row in range(4) for chunk in range(8)]
read = [(8 * i + row, 8 * j) for i in range(2) for j in range(2) for row in range(8)]

tiles = {
    "stored by rows": Layout((128, 64), (64, 1)),
    "padded to 72": Layout((128, 64), (72, 1)),
    "atoms, plain": tile_to_shape(atom, (128, 64)),
    "stored by rows, swizzled": compose(S, Layout((128, 64), (64, 1))),
    "atoms, swizzled": tile,
}
print(f"{'tile':26}write  read   bytes")
for name, stored in tiles.items():
    costs = [memory.wavefronts([stored(*at) for at in lanes], element_bytes=2, vector=8) for lanes in (write, read)]
    print(f"{name:26}{costs[0]:5}{costs[1]:6}{2 * cosize(stored):8}")

# %% [markdown]
# One XOR saves a factor of eight in wavefronts. (The bytes are the cosize, which leaves out the padding of the last
# row.) In notebook 05 you time it in a transpose, and from notebook 09 on the tiles of A and B in shared memory are
# swizzled.
#
# ## What to remember
#
# - An access takes as many wavefronts as the fullest bank has different words, summed over groups of 32, 16 or 8 lanes.
# - Padding: an odd stride, counted in vectors. It costs memory.
# - Swizzle⟨B,M,S⟩: row bits XORed into chunk bits. It costs no memory, and is its own inverse.
# - A TV layout tells which lane holds which element. `ldmatrix` distributes rows of 16 bytes accordingly.
# - memory ∘ TV gives the address of every value of every thread.
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
# <details><summary>3. Why can one <code>ldmatrix.x4</code> load A's fragment although a lane receives elements of rows
# whose addresses other lanes supplied?</summary>
#
# Because addresses and values have different TV layouts. A lane supplies the address of a whole row of 16 bytes, and
# the hardware distributes each row to four lanes. The TV layout of the values is the fragment's.
#
# </details>
