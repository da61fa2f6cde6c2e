# ---
# jupyter:
#   tutorlib:
#     minutes: 90
#     summary: Why one tile can be 32 times slower than another, and two cures; ldmatrix and mma.
# ---

# %% [markdown]
# # 03 · Swizzles: shared memory without bank conflicts
#
# A matrix kernel reads every element of its tiles many times, and it reads them from **shared memory**: a block's own
# scratchpad, next to the arithmetic units. It can deliver 128 bytes per clock. Whether it does depends on one thing
# only, the *addresses* that the 32 threads of a warp access together. The same tile, stored under another layout, can
# take 32 times as long to read.
#
# On this page you count that cost, learn the two cures, padding and swizzling, and then look at the instructions that
# need them: `ldmatrix` and `mma`, whose operands are scattered over the threads of a warp in a pattern that is, again,
# a layout.
#
# > **After this page you can** count the wavefronts of an access, choose a padding or a swizzle for any tile, see both
# > at work in a kernel, and tell which lane of a warp holds which element of a matrix product.
# >
# > **It takes** about 90 minutes, on any machine.

# %%
from tensor_layouts import Layout, Swizzle, compose, cosize
from tensor_layouts.atoms_nv import SM80_16x8x16_F32BF16BF16F32_TN as mma
from tensor_layouts.layout_utils import tile_to_shape

from tutorlib import check, explain
from tutorlib.draw import show_banks, show_swizzle, show_tv
from tutorlib.explorers.layouts import explore_swizzle
from tutorlib.layouts.notation import layout
from tutorlib.models import banks

# %% [markdown]
# ## Thirty-two banks
#
# Shared memory is 32 **banks**, each 4 bytes wide, side by side. Consecutive words go to consecutive banks and after
# 128 bytes they start over: the byte at address `a` is in bank `a // 4 % 32`. In one pass, which the profiler calls a
# **wavefront**, each bank delivers one of its words. Lanes (the threads of a warp) that read the *same* word share it
# at no cost. Two *different* words of one bank need two wavefronts: a **bank conflict**.
#
# Take a 32×32 tile of fp32, stored by rows; here are its first four. The number in a cell is its bank, and each color
# is four neighboring banks, 16 bytes. A warp reads row 0, one word per lane:

# %%
show_banks("(4,32):(32,1)", access=[(0, lane) for lane in range(32)])

# %% [markdown]
# All 32 banks work, one wavefront. Now the warp reads column 0, as a transpose would. How many wavefronts?

# %%
show_banks("(32,32):(32,1)", access=[(lane, 0) for lane in range(32)])

# %% [markdown]
# A row is 32 words, so all words of a column are in the same bank, which delivers them one by one.
#
# A lane can also read 8 or 16 bytes at once. A warp then needs 256 or 512 bytes, more than the banks deliver in one
# wavefront, so the hardware serves it in groups of consecutive lanes: two halves of 16 lanes for 8 bytes, four quarters
# of 8 lanes for 16 bytes. Conflicts arise only inside a group, and the groups' wavefronts add up. Sixteen bytes per
# lane therefore cost at least 4 wavefronts, which is no loss, since they deliver four times as much.
#
# This is a model of the hardware. Notebook 05 puts it to the test: a transpose with these conflicts and without, timed.
#
# **Exercise 03.1** (about 7 lines). Write `wavefronts(addresses, width)`. `addresses` are byte addresses, one for each
# lane, multiples of `width`; `width` is how many bytes each lane reads: 1, 2, 4, 8 or 16. There may be fewer than 32
# lanes.


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
# From here on we count with `banks.wavefronts`, which takes offsets in elements, as layouts give them.
#
# **Keep this:** count *different words in one bank*, group by group. The rest of this page is about placing elements so
# that the count is one.

# %% [markdown]
# ## Padding
#
# The oldest cure is to make the rows a little longer than they need to be. With a stride of 33 instead of 32, each row
# starts one bank further on, and a column visits all of them.

# %%
show_banks("(32,32):(33,1)", access=[(lane, 0) for lane in range(32)])

# %% [markdown]
# Rows are still free of conflicts. The price is memory: one word per row.
#
# For vectors the price goes up, because a 16-byte access needs a 16-byte aligned address. Take the tile that will
# feed the tensor cores from notebook 09 on, 128×64 values of bf16 (2 bytes), of which eight lanes at a time read 16
# bytes each, one below the other. Before you run the cell: which of these strides is any good, and why not 65?

# %%
for stride in (64, 65, 66, 68, 72, 80):
    aligned = stride * 2 % 16 == 0
    column = [stride * row for row in range(8)]
    cost = banks.wavefronts(column, element_bytes=2, vector=8) if aligned else "not aligned"
    print(f"stride {stride}: {cost:>11}   {128 * (stride - 64) * 2:5} bytes of padding")

# %% [markdown]
# **Exercise 03.2** (about 4 lines). Write `padded_stride(columns, element_bytes, vector_bytes)`: the smallest row
# stride, in elements, that holds the columns, keeps every row aligned to a vector and lets lanes read a column of
# vectors without a conflict. `vector_bytes` is 4, 8 or 16. For `(32, 4, 4)` it is 33.


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
# kernels that are short of it; and TMA, the copy engine of notebook 13, writes the rows of a tile back to back and
# knows no padding. So fast kernels use the other cure.

# %% [markdown]
# ## Swizzling: move chunks inside their row
#
# Eight lanes times 16 bytes are one wavefront. So think in **chunks** of 16 bytes: the banks form eight slots for
# chunks, drawn in eight colors. Below is a tile of 8×8 chunks, stored by rows. Each column has one color, and reading
# down it takes eight wavefronts.
#
# Now leave every chunk in its row, and store chunk `c` of row `r` in slot `c ^ r` (XOR). No two rows use the same
# order. Each row still has all colors, and now each column has them, too. No memory is wasted.

# %%
show_swizzle((3, 0, 3), "(8,8):(8,1)", element_bytes=16)

# %% [markdown]
# The offset of a chunk is `8*r + c`: its bits 3 to 5 are `r`, its bits 0 to 2 are `c`. So `c ^ r` needs neither a row
# nor a column, only the offset: XOR bits 3–5 into bits 0–2. CuTe calls that **Swizzle⟨B,M,S⟩**:
#
# - **B** bits take part, twice: an upper group Y and a lower group Z, and Z becomes Z ⊕ Y;
# - the lower group starts at bit **M**; the M bits below it never change;
# - the upper group is **S** bits above the lower one, at bit M + S.
#
# The picture above is ⟨3,0,3⟩ on chunks. Offsets usually count elements, and a chunk has eight of bf16. Their three
# bits go below, M = 3, and the same swizzle is ⟨3,3,3⟩:
#
#     bit of the offset     8 7 6     5 4 3     2 1 0
#     what it says           row      chunk    element       a row of 64 bf16 is 128 bytes
#                           Y Y Y     Z Z Z     · · ·
#     after ⟨3,3,3⟩         Y Y Y     Z ⊕ Y     · · ·
#
# Where does the first element of each row go? Say the first three before you run it.

# %%
S = Swizzle(3, 3, 3)
print([64 * row for row in range(8)])
print([S(64 * row) for row in range(8)])

# %% [markdown]
# **Exercise 03.3** (about 2 lines). Write `swizzle(b, m, s, offset)`. (CuTe allows negative S, too; here S ≥ B.)


# %%
def swizzle(b, m, s, offset):
    ### BEGIN SOLUTION (about 2 lines)
    upper = (offset >> (m + s)) & (2**b - 1)
    return offset ^ (upper << m)
    ### END SOLUTION


# %%
check("03.3", swizzle)

# %% [markdown]
# XOR makes this safe. Y itself never changes, so applying the swizzle twice gives the offset back: a swizzle is its own
# inverse. Hence no two offsets collide, and within a period of 2^(M+S+B) offsets each is used exactly once.

# %%
period = range(2 ** (3 + 3 + 3))
print("its own inverse:", all(S(S(offset)) == offset for offset in period))
print("a permutation:  ", sorted(S(offset) for offset in period) == list(period))

# %% [markdown]
# Try it. It opens with the tile of the diagram. What does the access cost with B = 0, 1, 2? Then type the layout
# (8,32):(32,1), a tile of half the width: how many bits does it need? And what does M = 2 do to the 16 bytes of a lane?

# %%
explore_swizzle()

# %% [markdown]
# **Keep this:** a swizzle is a function from offsets to offsets, composed with a layout on its right: `S ∘ L`. The code
# that writes the tile and the code that reads it use the same `S ∘ L`, and neither needs to know its details.

# %% [markdown]
# ## In a kernel
#
# So far you have counted addresses. Here is a kernel that issues them: one warp transposes 32×32 values of fp32 through
# shared memory. It writes rows of the tile and reads columns. You need not know CuTe's kernels yet; look at the two
# lines with `tile[…]`, and at the one that sets the tile's layout.

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
# the cost without a conflict: shared memory in wavefronts, global memory in **sectors** of 32 bytes. (The compiler
# joins four consecutive reads of a row into one of 16 bytes where the tile's layout allows it.) Which line is marked,
# and by what factor is it too slow?

# %%
src, dst = torch.randn(32, 32), torch.zeros(32, 32)
explain(transposing(row_stride=32, bits=0), src, dst)

# %% [markdown]
# The marked line is the transposed read, and the lower picture is one access of it. The numbers are threads, a column
# is a bank, and a row is 128 bytes of shared memory. A thread reads 16 bytes here, so it covers four banks. Eight
# threads are served at a time, and all eight need the same four banks, so they take eight wavefronts instead of one: a
# factor of 8, where 4-byte reads would cost 32. The dark ones wait. Now the two cures; the kernels are identical except
# for the layout:

# %%
explain(transposing(row_stride=33, bits=0), src, dst)

# %%
explain(transposing(row_stride=32, bits=5), src, dst)

# %% [markdown]
# Both lines are down to the wavefronts that they need. The price shows in the instruction count: in neither tile do
# four words of a row stay aligned and contiguous, so the compiler reads them one by one; for the swizzled tile it also
# computes an address for each. Look once more at ⟨5,0,5⟩: words one by one, so M = 0; all 32 banks, so B = 5; and rows
# of 32 words, so S = 5.

# %% [markdown]
# ## Which B, M and S?
#
# Tiles are not always 128 bytes wide. Here is what reading eight chunks down a column costs, for shorter rows, one
# after the other in memory and without a swizzle:

# %%
for row_bytes in (128, 64, 32):
    row = row_bytes // 2  # elements of bf16
    cost = banks.wavefronts([row * n for n in range(8)], element_bytes=2, vector=8)
    print(f"rows of {row_bytes:3} bytes: {cost} wavefronts for 8 rows, {row_bytes // 16} chunks to choose from")

# %% [markdown]
# Shorter rows have fewer conflicts, because several of them fit side by side into the banks, and they offer fewer slots
# to move a chunk to. Both shrink together, so a swizzle inside the row is always just enough. Three questions decide
# it:
#
# - **M**: how many elements must stay together? Those of one 16-byte chunk.
# - **B**: how many chunks of a row can trade places?
# - **S**: how far up are the bits that distinguish colliding rows? Rows collide when they are 128 bytes apart.
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
# These are the three swizzle modes of TMA and of Hopper's tensor cores, named 128B, 64B and 32B after the row. Counted
# in bytes they are ⟨3,4,3⟩, ⟨2,4,3⟩ and ⟨1,4,3⟩; CUTLASS's `Layout_K_SW128_Atom` and its siblings spell them like that.
# Here is the one for 64 bytes. Two neighboring rows share an order: they are side by side in the banks and cannot
# collide.

# %%
show_swizzle((2, 3, 3), "(8,32):(32,1)")

# %% [markdown]
# **Keep this:** M is log₂ of the elements in a 16-byte chunk, B is log₂ of the chunks in a row, and S is log₂ of the
# chunks in the 128 bytes of all banks, so 3 as long as chunks have 16 bytes.

# %% [markdown]
# ## The swizzled 128-byte atom
#
# Eric Schreiber's [Demystifying CuTe](https://schreibereric.substack.com/p/demystifying-cute-how-to-write-a), whose
# ladder of GEMMs the notebooks from 09 on climb, defines its shared memory like this:
#
# > swizzled_128B_atom  =  Swizzle⟨3,3,3⟩ ∘ (8,(8,8)):(8,(1,64))
#
# You can decode the layout. It has eight rows, and a column is a pair (element in the chunk, which chunk). The next
# element is 1 away. The next *row* is 8 elements away: its chunk follows directly. The next *chunk* is 64 elements
# away, 128 bytes. So this tile is not stored by rows at all. Its chunks are stored column by column, and each column of
# eight chunks fills the banks exactly once:

# %%
show_swizzle((3, 3, 3), "(8,(8,8)):(8,(1,64))")

# %% [markdown]
# On the left every column is in all eight colors already, and every row in one. Is the swizzle needed, then? That
# depends on the access pattern. The tensor cores' `ldmatrix` reads eight rows down a column. But the tile also has to
# be written, and eight lanes that copy one row of 64 values from global memory write along the row. Predict the
# numbers:

# %%
for name in ("(8,(8,8)):(8,(1,64))", "(8,64):(64,1)"):
    plain = layout(name)
    for what, atom in (("plain", plain), ("swizzled", compose(S, plain))):
        read = banks.wavefronts([atom(row, 0) for row in range(8)], element_bytes=2, vector=8)
        write = banks.wavefronts([atom(0, 8 * chunk) for chunk in range(8)], element_bytes=2, vector=8)
        print(f"{name:21} {what:9} read down a column: {read}   write along a row: {write}")

# %% [markdown]
# The atom stored by columns is slow to write, the one stored by rows is slow to read, and the *same* swizzle fixes
# both: it only permutes chunks within 128 bytes, and frees row and column accesses of conflicts. (The hardware of
# notebook 13 that accesses shared memory by itself, TMA and Hopper's tensor cores, expects the one stored by rows.)
#
# Why is the atom 64 values wide? ⟨3,3,3⟩ permutes eight chunks of 16 bytes, which are 128 bytes, all 32 banks. How many
# values of bf16 is that?

# %%
print(32 * 4 // 2)

# %% [markdown]
# With K = 32 it works as well, as you saw above, but with another swizzle and another atom.
#
# A tile of 128×64 is sixteen of these atoms, one below the other. `tile_to_shape` repeats it, and since an atom has 512
# elements, the next one starts 512 further on. The swizzle stays as it is: it repeats with the same period.

# %%
atom = layout("(8,(8,8)):(8,(1,64))")
tile = compose(S, tile_to_shape(atom, (128, 64)))
print(tile)

# %% [markdown]
# **Exercise 03.5** (about 4 lines). Write `tile_offset(row, column)`: the offset, in elements, of an element of that
# 128×64 tile, with plain integer arithmetic. A kernel computes its addresses like this.


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
# The real CuTe DSL agrees. It evaluates such layouts while it traces the function, on any machine. The `0` in the
# middle of its output is an offset that could be added before the swizzle; and the stride of a mode with one element
# means nothing, 0 here and 8192 above.

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
# ## Thread-value layouts
#
# Now for the consumer of the tile. The tensor core instruction `mma.m16n8k16` multiplies a 16×16 matrix A with a 16×8
# matrix B and adds the 16×8 result to C. No thread holds a whole matrix. The elements are in *registers*, some in each
# of the 32 lanes, and the hardware fixes which.
#
# That assignment is a function of two arguments, the lane and the number of its value, and CuTe writes it as a layout
# of two modes: a **thread-value layout**, TV for short. It does not map to memory but to the tile: its result is the
# index of an element, counted down the columns, so row + 16·column for C. (T is the lane, V its value; the colors
# repeat after eight lanes.)

# %%
show_tv(mma.c_layout, (16, 8))

# %% [markdown]
# Read `((4,8),(2,2)):((32,1),(16,8))` from the picture. Lane 0 to 3: along the row, two columns each, so 2·16 = 32.
# Lane 4 is one row down: 1. Value 1 is beside value 0: 16. Value 2 is 8 rows down: 8. Which element is value 3 of
# lane 5?

# %%
index = mma.c_layout(5, 3)
print("index", index, "= row", index % 16, "column", index // 16)

# %% [markdown]
# **Exercise 03.6** (about 3 lines). You will need this whenever an accumulator is written to memory. Write
# `c_coordinate(lane, value)`: the (row, column) of a lane's value, 0 to 3, in the 16×8 tile.


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
# Now compose. Suppose C is to be stored by rows, `(16,8):(8,1)`. The TV layout leads from (lane, value) to the element,
# the memory layout from the element to its offset, so memory ∘ TV leads from (lane, value) to the offset. Which of the
# strides in the result tells you that a lane can write two values at once?

# %%
print(compose(layout("(16,8):(8,1)"), mma.c_layout))

# %% [markdown]
# The stride 1: values 0 and 1 go to neighboring places, and 8 bytes of fp32 can leave in one store.
#
# **Keep this:** a TV layout maps each thread's values to elements. Compose a memory layout with it, memory ∘ TV, and
# you have the address of every value of every thread. CuTe's `TiledCopy` and `TiledMMA` are built on this one step.
#
# ## The operands A and B
#
# A has 16 rows by 16 of K, eight values in each lane. Two neighbors along K share a 32-bit register; the four
# registers are the four quarters of the tile. In which order?

# %%
show_tv(mma.a_layout, (16, 16), title="A of mma.m16n8k16: 32 lanes × 8 values")

# %% [markdown]
# **Exercise 03.7** (about 1 line). Write `a_fragment()`: A's TV layout, as a `Layout` from (lane, value) to
# row + 16·k. Its shape can be `((4,8),(2,2,2))`; the strides are yours.


# %%
def a_fragment():
    ### BEGIN SOLUTION (about 1 line)
    return Layout(((4, 8), (2, 2, 2)), ((32, 1), (16, 8, 128)))
    ### END SOLUTION


# %%
check("03.7", a_fragment)

# %% [markdown]
# CuTe describes B as an N×K matrix, like A with half the rows: lane // 4 is the column n, and each lane has four values
# along K.

# %%
show_tv(mma.b_layout, (8, 16))

# %% [markdown]
# ## ldmatrix
#
# Filling A's fragment with ordinary loads takes four 4-byte loads in each lane. `ldmatrix` does it in one instruction.
# It moves 8×8 matrices of 2-byte elements, whose rows are 16 contiguous bytes each. Eight lanes supply the addresses of
# the eight rows. Then the hardware hands every row to four lanes, two elements to each, regardless of which lane
# supplied the address:

# %%
show_tv("(8,8):(1,8)", (8, 8), title="addresses: each lane supplies one row's")

# %%
show_tv("((4,8),2):((16,1),8)", (8, 8), title="values: each lane receives a quarter of a row")

# %% [markdown]
# With `.x4` it moves four matrices: lanes 0–7 give the rows of matrix 0, lanes 8–15 of matrix 1, and so on; and each
# lane receives four registers, register j from matrix j. Compare the second picture with a quarter of A above. They
# agree, so one `ldmatrix.x4` fills the fragment of a 16×16 tile, if each lane points to the right row.
#
# **Exercise 03.8** (about 1 line). Write `ldmatrix_row(lane)`: the (row, column) in the 16×16 tile where the eight
# elements start whose address this lane supplies, so that register j holds values 2j and 2j + 1 of A's fragment.


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
# Put the pieces together for the 128×64 tile of bf16. A warp writes four rows, 16 bytes a lane, as `cp.async` will; a
# warp reads four 8×8 matrices, as `ldmatrix.x4` will. Both move 512 bytes, so 4 wavefronts are the minimum.

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
    costs = [banks.wavefronts([stored(*at) for at in lanes], element_bytes=2, vector=8) for lanes in (write, read)]
    print(f"{name:26}{costs[0]:5}{costs[1]:6}{2 * cosize(stored):8}")

# %% [markdown]
# A factor of eight, for one XOR. In notebook 05 you measure it in a transpose, and from notebook 09 on every tile is
# swizzled like this.
#
# ## What to remember
#
# - Cost = different words in one bank, summed over groups of 32, 16 or 8 lanes.
# - Padding: an odd stride, counted in vectors. It costs memory.
# - Swizzle⟨B,M,S⟩: row bits XORed into chunk bits. It costs no memory, and is its own inverse.
# - A TV layout says which lane holds which element. `ldmatrix` distributes eight rows of 16 bytes accordingly.
# - memory ∘ TV gives every address that every thread needs.
#
# ## Test yourself
#
# <details><summary>1. A warp reads 32 words of 4 bytes, all of them word 5. And now half of the lanes word 5, half word
# 37. What does each cost?</summary>
#
# One wavefront: the lanes share a word. Then two: 5 and 37 are different words of one bank, 37 = 5 + 32.
#
# </details>
#
# <details><summary>2. Rows of 128 bytes of fp8, read by 16-byte chunks down a column. Which Swizzle?</summary>
#
# ⟨3,4,3⟩: a chunk has 16 elements, so M = 4; a row has eight chunks, so B = 3; rows collide 128 bytes apart, eight
# chunks up, so S = 3.
#
# </details>
#
# <details><summary>3. Why can one <code>ldmatrix.x4</code> load A's fragment although a lane receives elements of rows
# whose addresses other lanes supplied?</summary>
#
# Because addresses and values are two TV layouts. A lane supplies the address of a whole row of 16 bytes, and the
# hardware hands each row to four lanes. The second layout is the fragment's.
#
# </details>
