"""Wrong answers to notebook 05.

WRONG: those that any machine can tell, by what they return, by not compiling or by the instructions they lack.
WRONG_ON_GPU: kernels that compile well and move the wrong bytes, or move them too slowly.
"""

import cutlass
from cutlass import cute
from cutlass.cute.nvgpu import CopyUniversalOp, cpasync
from cutlass.memory import SmemAllocator

TILE = (128, 64)
THREADS = 128
TURN = 64

# 05.1 -----------------------------------------------------------------------------------------------------------


def one_sector_each(offsets, element_bytes, vector=1):
    """Does not share a sector among threads."""
    return len(offsets)


def bytes_over_32(offsets, element_bytes, vector=1):
    """Right only for a warp in one piece."""
    return -(-len(offsets) * element_bytes * vector // 32)


def cache_lines(offsets, element_bytes, vector=1):
    """Counts lines of 128 bytes."""
    return len({o * element_bytes // 128 for o in offsets})


def first_element_only(offsets, element_bytes, vector=1):
    """Forgets all but the first element of a vector."""
    return len({o * element_bytes // 32 for o in offsets})


def first_and_last_sector(offsets, element_bytes, vector=1):
    """Forgets the sectors between a wide vector's ends."""
    ends = [(o * element_bytes, (o + vector) * element_bytes - 1) for o in offsets]
    return len({byte // 32 for pair in ends for byte in pair})


def one_past_the_end(offsets, element_bytes, vector=1):
    """Takes in the byte after the vector."""
    spans = [(o * element_bytes // 32, (o + vector) * element_bytes // 32) for o in offsets]
    return len({n for first, last in spans for n in range(first, last + 1)})


# Kernels --------------------------------------------------------------------------------------------------------


def grid_for(tensor, tile=TILE):
    return (cute.ceil_div(tensor.shape[1], tile[1]), cute.ceil_div(tensor.shape[0], tile[0]), 1)


def tile_of_block(tensor):
    across, down, _ = cute.arch.block_idx()
    return cute.local_tile(tensor, TILE, (down, across))


def rows_of_vectors(atom, vector, tile=TILE, threads=THREADS):
    lanes = tile[1] // vector
    lay = cute.make_ordered_layout((threads // lanes, lanes), order=(1, 0))
    return cute.make_tiled_copy_tv(atom, lay, cute.make_ordered_layout((1, vector), order=(1, 0)))


@cute.kernel
def unguarded_kernel(src: cute.Tensor, dst: cute.Tensor):
    thread, _, _ = cute.arch.thread_idx()
    across, down, _ = cute.arch.block_idx()
    row = down * TILE[0] + thread
    for n in cutlass.range(TILE[1], unroll_full=True):
        if row < src.shape[0]:
            dst[row, across * TILE[1] + n] = src[row, across * TILE[1] + n]


@cute.jit
def unguarded_columns(src: cute.Tensor, dst: cute.Tensor):
    """Guards the rows and not the columns: it wraps into the next row, and writes past the end after the last."""
    unguarded_kernel(src, dst).launch(grid=grid_for(src), block=(THREADS, 1, 1))


@cute.kernel
def one_row_short_kernel(src: cute.Tensor, dst: cute.Tensor):
    thread, _, _ = cute.arch.thread_idx()
    across, down, _ = cute.arch.block_idx()
    column = across * TILE[1] + thread % TILE[1]
    for m in cutlass.range(0, TILE[0], 2, unroll_full=True):
        row = down * TILE[0] + m
        if row < src.shape[0] and column < src.shape[1]:
            dst[row, column] = src[row, column]


@cute.jit
def every_other_row(src: cute.Tensor, dst: cute.Tensor):
    """Both halves of the block copy the same row."""
    one_row_short_kernel(src, dst).launch(grid=grid_for(src), block=(THREADS, 1, 1))


@cute.kernel
def scalar_kernel(src: cute.Tensor, dst: cute.Tensor, tiled: cute.TiledCopy):
    thread, _, _ = cute.arch.thread_idx()
    mine = tiled.get_slice(thread)
    from_src = mine.partition_S(tile_of_block(src))
    registers = cute.make_fragment_like(from_src)
    cute.copy(tiled, from_src, registers)
    cute.copy(tiled, registers, mine.partition_D(tile_of_block(dst)))


@cute.jit
def one_element_vectors(src: cute.Tensor, dst: cute.Tensor):
    """Coalesced, but each access moves one element."""
    atom = cute.make_copy_atom(CopyUniversalOp(), src.element_type, num_bits_per_copy=src.element_type.width)
    scalar_kernel(src, dst, rows_of_vectors(atom, 1)).launch(grid=grid_for(src), block=(THREADS, 1, 1))


@cute.jit
def vectors_down_a_column(src: cute.Tensor, dst: cute.Tensor):
    """Vectors along the mode that is not contiguous: no 128-bit access can do that."""
    atom = cute.make_copy_atom(CopyUniversalOp(), src.element_type, num_bits_per_copy=128)
    threads = cute.make_layout((2, 64), stride=(64, 1))
    tiled = cute.make_tiled_copy_tv(atom, threads, cute.make_layout((8, 1)))
    scalar_kernel(src, dst, tiled).launch(grid=grid_for(src), block=(THREADS, 1, 1))


@cute.jit
def whole_tiles_only(src: cute.Tensor, dst: cute.Tensor):
    """No predicates: writes beyond the edges of a matrix that is not made of whole tiles."""
    atom = cute.make_copy_atom(CopyUniversalOp(), src.element_type, num_bits_per_copy=128)
    scalar_kernel(src, dst, rows_of_vectors(atom, 8)).launch(grid=grid_for(src), block=(THREADS, 1, 1))


@cute.jit
def through_registers(src: cute.Tensor, dst: cute.Tensor):
    """A right copy without cp.async."""
    atom = cute.make_copy_atom(CopyUniversalOp(), src.element_type, num_bits_per_copy=128)
    scalar_kernel(src, dst, rows_of_vectors(atom, 8)).launch(grid=grid_for(src), block=(THREADS, 1, 1))


@cute.kernel
def impatient_kernel(src: cute.Tensor, dst: cute.Tensor, load: cute.TiledCopy, store: cute.TiledCopy):
    thread, _, _ = cute.arch.thread_idx()
    row_major = cute.make_layout(TILE, stride=(TILE[1], 1))
    tile = SmemAllocator().allocate_tensor(src.element_type, row_major, byte_alignment=128)
    loads, stores = load.get_slice(thread), store.get_slice(thread)
    cute.copy(load, loads.partition_S(tile_of_block(src)), loads.partition_D(tile))
    cute.arch.cp_async_commit_group()
    cute.arch.sync_threads()
    from_tile = stores.partition_S(tile)
    registers = cute.make_fragment_like(from_tile)
    cute.copy(store, from_tile, registers)
    cute.copy(store, registers, stores.partition_D(tile_of_block(dst)))


@cute.jit
def never_waits(src: cute.Tensor, dst: cute.Tensor):
    """Reads the tile before the copies of cp.async have arrived."""
    asynchronous = cute.make_copy_atom(cpasync.CopyG2SOp(), src.element_type, num_bits_per_copy=128)
    plain = cute.make_copy_atom(CopyUniversalOp(), src.element_type, num_bits_per_copy=128)
    impatient_kernel(src, dst, rows_of_vectors(asynchronous, 8), rows_of_vectors(plain, 8)).launch(
        grid=grid_for(src), block=(THREADS, 1, 1)
    )


@cute.kernel
def turning_kernel(
    src: cute.Tensor,
    dst: cute.Tensor,
    tiled: cute.TiledCopy,
    tile_layout: cute.Layout | cute.ComposedLayout,
    turned_layout: cute.Layout | cute.ComposedLayout,
    barrier: cutlass.Constexpr,
):
    thread, _, _ = cute.arch.thread_idx()
    across, down, _ = cute.arch.block_idx()
    mine = tiled.get_slice(thread)
    memory = SmemAllocator().allocate_array(src.element_type, TURN * TURN)
    from_src = mine.partition_S(cute.local_tile(src, (TURN, TURN), (down, across)))
    registers = cute.make_fragment_like(from_src)
    cute.copy(tiled, from_src, registers)
    cute.copy(tiled, registers, mine.partition_D(cute.make_tensor(memory, tile_layout)))
    if cutlass.const_expr(barrier):
        cute.arch.sync_threads()
    cute.copy(tiled, mine.partition_S(cute.make_tensor(memory, turned_layout)), registers)
    cute.copy(tiled, registers, mine.partition_D(cute.local_tile(dst, (TURN, TURN), (across, down))))


def turn(src, dst, tile_layout, turned_layout, barrier=True):
    atom = cute.make_copy_atom(CopyUniversalOp(), src.element_type, num_bits_per_copy=src.element_type.width)
    tiled = rows_of_vectors(atom, 1, (TURN, TURN), 256)
    turning_kernel(src, dst, tiled, tile_layout, turned_layout, barrier).launch(
        grid=grid_for(src, (TURN, TURN)), block=(256, 1, 1)
    )


@cute.jit
def no_barrier(src: cute.Tensor, dst: cute.Tensor):
    """Reads what other threads write, without waiting for them."""
    turn(
        src,
        dst,
        cute.make_layout((TURN, TURN), stride=(TURN, 1)),
        cute.make_layout((TURN, TURN), stride=(1, TURN)),
        barrier=False,
    )


@cute.jit
def tiles_not_turned(src: cute.Tensor, dst: cute.Tensor):
    """Puts each tile in its transposed place and leaves its elements as they were."""
    plain = cute.make_layout((TURN, TURN), stride=(TURN, 1))
    turn(src, dst, plain, plain)


@cute.jit
def swizzled_on_one_side(src: cute.Tensor, dst: cute.Tensor):
    """Writes swizzled and reads plain."""
    plain, turned = (cute.make_layout((TURN, TURN), stride=stride) for stride in ((TURN, 1), (1, TURN)))
    turn(src, dst, cute.make_composed_layout(cute.make_swizzle(5, 0, 6), 0, plain), turned)


@cute.jit
def identity_swizzle(src: cute.Tensor, dst: cute.Tensor):
    """Right, and as slow as without: Swizzle⟨0, 0, 6⟩ changes nothing."""
    plain, turned = (cute.make_layout((TURN, TURN), stride=stride) for stride in ((TURN, 1), (1, TURN)))
    swizzle = cute.make_swizzle(0, 0, 6)
    turn(src, dst, cute.make_composed_layout(swizzle, 0, plain), cute.make_composed_layout(swizzle, 0, turned))


WRONG = {
    "05.1": [
        one_sector_each,
        bytes_over_32,
        cache_lines,
        first_element_only,
        first_and_last_sector,
        one_past_the_end,
    ],
    "05.4": [one_element_vectors, vectors_down_a_column],
    "05.5": [through_registers],
    "05.6": [through_registers, no_barrier],
    "05.8": [through_registers],
}

WRONG_ON_GPU = {
    "05.2": [unguarded_columns],
    "05.3": [every_other_row],
    "05.4": [whole_tiles_only],
    "05.5": [never_waits],
    "05.6": [tiles_not_turned],
    "05.7": [swizzled_on_one_side, identity_swizzle],
}
