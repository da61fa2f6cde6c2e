"""Wrong answers to notebook 09.

WRONG: those that any machine can tell: by what they return, by a rehearsal, or by the instructions they lack.
WRONG_ON_GPU: parts that compile well and give a wrong C.
"""

import cutlass
from cutlass import cute
from cutlass.cute.nvgpu import CopyUniversalOp
from cutlass.memory import SmemAllocator
from tensor_layouts import Layout

from tutorlib.gemm import Steps, Sums, permuted

# 09.1 -----------------------------------------------------------------------------------------------------------


def each_matrix_once(m, n, k, tile_m, tile_n):
    """Shares what blocks load."""
    return 2 * k * (m + n)


def whole_tiles_only(m, n, k, tile_m, tile_n):
    """Forgets the tiles that are partly outside."""
    return (m // tile_m) * (n // tile_n) * (tile_m + tile_n) * k * 2


def elements(m, n, k, tile_m, tile_n):
    """Counts elements."""
    return -(-m // tile_m) * -(-n // tile_n) * (tile_m + tile_n) * k


def sides_exchanged(m, n, k, tile_m, tile_n):
    """Divides M by the tile's N."""
    return -(-m // tile_n) * -(-n // tile_m) * (tile_m + tile_n) * k * 2


# 09.2 -----------------------------------------------------------------------------------------------------------


def row_major(rows, k, stages):
    """No swizzle: ldmatrix meets itself in one bank group."""
    return cute.make_layout((rows, k, stages), stride=(k, 1, rows * k))


def one_bit_short(rows, k, stages):
    """Swizzle⟨2,3,3⟩ on rows of 128 bytes mixes half of what it should."""
    atom = cute.make_composed_layout(cute.make_swizzle(2, 3, 3), 0, cute.make_layout((8, 32), stride=(32, 1)))
    if k >= 64:
        atom = cute.make_composed_layout(cute.make_swizzle(2, 3, 3), 0, cute.make_layout((8, 64), stride=(64, 1)))
    return cute.tile_to_shape(atom, (rows, k, stages), (0, 1, 2))


def vectors_torn(rows, k, stages):
    """A swizzle that mixes the bits inside a vector."""
    width = min(k, 64)
    atom = cute.make_composed_layout(cute.make_swizzle(3, 0, 6), 0, cute.make_layout((8, width), stride=(width, 1)))
    return cute.tile_to_shape(atom, (rows, k, stages), (0, 1, 2))


def one_stage(rows, k, stages):
    """All stages in one place."""
    return cute.make_layout((rows, k, stages), stride=(k, 1, 0))


# 09.3 -----------------------------------------------------------------------------------------------------------


@cute.jit
def no_barrier_after_the_wait(steps: Steps):
    """Each thread waits for its own copies and reads everybody's."""
    for k_tile in range(steps.k_tiles):
        steps.load(k_tile, 0)
        cute.arch.cp_async_commit_group()
        cute.arch.cp_async_wait_group(0)
        for k_block in cutlass.range_constexpr(steps.k_blocks):
            steps.fetch(k_block, 0)
            steps.multiply(k_block)
        cute.arch.sync_threads()


@cute.jit
def no_barrier_before_the_load(steps: Steps):
    """A fast warp overwrites what a slow one still reads."""
    for k_tile in range(steps.k_tiles):
        steps.load(k_tile, 0)
        cute.arch.cp_async_commit_group()
        cute.arch.cp_async_wait_group(0)
        cute.arch.sync_threads()
        for k_block in cutlass.range_constexpr(steps.k_blocks):
            steps.fetch(k_block, 0)
            steps.multiply(k_block)


@cute.jit
def waits_for_all_but_one(steps: Steps):
    """wait_group off by one: the only group may be open."""
    for k_tile in range(steps.k_tiles):
        steps.load(k_tile, 0)
        cute.arch.cp_async_commit_group()
        cute.arch.cp_async_wait_group(1)
        cute.arch.sync_threads()
        for k_block in cutlass.range_constexpr(steps.k_blocks):
            steps.fetch(k_block, 0)
            steps.multiply(k_block)
        cute.arch.sync_threads()


@cute.jit
def never_commits(steps: Steps):
    """Waits for groups, and there are none."""
    for k_tile in range(steps.k_tiles):
        steps.load(k_tile, 0)
        cute.arch.cp_async_wait_group(0)
        cute.arch.sync_threads()
        for k_block in cutlass.range_constexpr(steps.k_blocks):
            steps.fetch(k_block, 0)
            steps.multiply(k_block)
        cute.arch.sync_threads()


@cute.jit
def drops_the_last_tile(steps: Steps):
    """One K tile short."""
    for k_tile in range(steps.k_tiles - 1):
        steps.load(k_tile, 0)
        cute.arch.cp_async_commit_group()
        cute.arch.cp_async_wait_group(0)
        cute.arch.sync_threads()
        for k_block in cutlass.range_constexpr(steps.k_blocks):
            steps.fetch(k_block, 0)
            steps.multiply(k_block)
        cute.arch.sync_threads()


@cute.jit
def always_the_first_tile(steps: Steps):
    """The K tile's index is not advanced."""
    for _ in range(steps.k_tiles):
        steps.load(0, 0)
        cute.arch.cp_async_commit_group()
        cute.arch.cp_async_wait_group(0)
        cute.arch.sync_threads()
        for k_block in cutlass.range_constexpr(steps.k_blocks):
            steps.fetch(k_block, 0)
            steps.multiply(k_block)
        cute.arch.sync_threads()


@cute.jit
def one_k_block_short(steps: Steps):
    """Leaves out the last 16 of each K tile."""
    for k_tile in range(steps.k_tiles):
        steps.load(k_tile, 0)
        cute.arch.cp_async_commit_group()
        cute.arch.cp_async_wait_group(0)
        cute.arch.sync_threads()
        for k_block in cutlass.range_constexpr(steps.k_blocks - 1):
            steps.fetch(k_block, 0)
            steps.multiply(k_block)
        cute.arch.sync_threads()


def not_compiled(steps):
    """No @cute.jit."""
    steps.load(0, 0)


# 09.4 -----------------------------------------------------------------------------------------------------------


def unchanged(warps, tile_n):
    """The identity."""
    return Layout(tile_n, 1)


def inverse(warps, tile_n):
    """From memory to the MMA."""
    return Layout((2, 4, 4, warps, tile_n // (32 * warps)), (1, 8 * warps, 2, 8, 32 * warps))


def atoms_before_values(warps, tile_n):
    """Eight neighbours, in the wrong order."""
    return Layout((2, 4, warps, 4, tile_n // (32 * warps)), (4, 8, 32, 1, 32 * warps))


def warps_overlap(warps, tile_n):
    """All warps write the same columns."""
    return Layout((2, 4, warps, 4, tile_n // (32 * warps)), (1, 8, 0, 2, 32 * warps))


# 09.5 -----------------------------------------------------------------------------------------------------------


@cute.jit
def one_by_one(sums: Sums):
    """Right, 2 bytes at a time."""
    registers = sums.rounded()
    for n in cutlass.range_constexpr(cute.size(registers)):
        if cute.elem_less(sums.coordinates[n], sums.shape):
            sums.tCgC[n] = registers[n]


@cute.jit
def unguarded(sums: Sums):
    """Writes what is outside, too."""
    cute.autovec_copy(sums.rounded(), sums.tCgC)


@cute.jit
def rows_unguarded(sums: Sums):
    """Guards the columns and not the rows."""
    registers = sums.rounded()
    (_, rows), atoms, (_, rest) = registers.shape
    for m in cutlass.range_constexpr(atoms):
        for row in cutlass.range_constexpr(rows):
            for n in cutlass.range_constexpr(rest):
                eight = ((None, row), m, (None, n))
                if sums.coordinates[(0, row), m, (0, n)][1] < sums.shape[1]:
                    cute.autovec_copy(registers[eight], sums.tCgC[eight])


@cute.jit
def through_smem(sums: Sums, write_swizzled: cutlass.Constexpr, barrier: cutlass.Constexpr):
    rows, columns, _ = sums.config.tile
    plain = cute.make_layout((rows, columns), stride=(columns, 1))
    swizzled = cute.make_composed_layout(cute.make_swizzle(3, 3, 4), 0, plain)
    memory = SmemAllocator().allocate_tensor(sums.gC.element_type, plain, byte_alignment=128).iterator
    written = cute.make_tensor(memory, swizzled if write_swizzled else plain)
    cute.autovec_copy(sums.rounded(), sums.math.partition_C(permuted(written, 1, sums.config)))
    if cutlass.const_expr(barrier):
        cute.arch.sync_threads()
    atom = cute.make_copy_atom(CopyUniversalOp(), sums.gC.element_type, num_bits_per_copy=128)
    threads = cute.make_layout((sums.config.threads // 16, 16), stride=(16, 1))
    in_rows = cute.make_tiled_copy_tv(atom, threads, cute.make_layout((1, 8)))
    thread, _, _ = cute.arch.thread_idx()
    mine = in_rows.get_slice(thread)
    from_smem = mine.partition_S(cute.make_tensor(memory, plain))
    registers = cute.make_fragment_like(from_smem)
    cute.copy(in_rows, from_smem, registers)
    cute.copy(in_rows, registers, mine.partition_D(sums.gC))


@cute.jit
def swizzled_on_one_side(sums: Sums):
    """Through shared memory: written swizzled, read plain."""
    through_smem(sums, write_swizzled=True, barrier=True)


@cute.jit
def no_barrier_in_smem(sums: Sums):
    """Through shared memory, without waiting for the others to write."""
    through_smem(sums, write_swizzled=False, barrier=False)


WRONG = {
    "09.1": [each_matrix_once, whole_tiles_only, elements, sides_exchanged],
    "09.2": [row_major, one_bit_short, vectors_torn, one_stage],
    "09.3": [
        no_barrier_after_the_wait,
        no_barrier_before_the_load,
        waits_for_all_but_one,
        never_commits,
        drops_the_last_tile,
        always_the_first_tile,
        one_k_block_short,
        not_compiled,
    ],
    "09.4": [unchanged, inverse, atoms_before_values, warps_overlap],
    "09.5": [one_by_one],
}

WRONG_ON_GPU = {"09.5": [unguarded, rows_unguarded, swizzled_on_one_side, no_barrier_in_smem]}
