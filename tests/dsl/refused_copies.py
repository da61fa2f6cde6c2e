"""CuTe functions whose copies and MMAs do not compile: vectors, parts of threads, cp.async, TMA, ldmatrix.

They join `refused_cute.REFUSED`.
"""

from cutlass import BFloat16, Constexpr, Float32, Int32, Int64, cute
from cutlass.cute.nvgpu import CopyUniversalOp, cpasync, tcgen05, warp
from cutlass.memory import SmemAllocator

from tests.dsl.refused_cute import TILE, refused, refused_host
from tests.pages.change import copy_of
from tutorlib.compiling.spec import TensorSpec
from tutorlib.kernels.hopper import first

MATRICES = TensorSpec((256, 256), "bf16")


@cute.jit
def part_of(op, x, threads, values, bits):
    """(a TiledCopy, this thread's part of x)."""
    thread, _, _ = cute.arch.thread_idx()
    atom = cute.make_copy_atom(op, x.element_type, num_bits_per_copy=bits)
    tiled = cute.make_tiled_copy_tv(atom, cute.make_ordered_layout(threads, order=(1, 0)), cute.make_layout(values))
    return tiled, tiled.get_slice(thread).partition_S(x)


@refused(TILE)
@cute.jit
def vectors_down_a_column(x, y):
    tiled, part = part_of(CopyUniversalOp(), x, (16, 8), (8, 1), 128)
    cute.copy(tiled, part, cute.make_fragment_like(part))


@refused(TILE, arch="sm_100a")
@cute.jit
def more_columns_than_there_are(x, y):
    acc = cute.make_tensor(
        cute.make_ptr(Float32, 0, cute.AddressSpace.tmem), cute.make_layout((128, 64), stride=(65536, 1))
    )
    atom = cute.make_copy_atom(tcgen05.Ld32x32bOp(tcgen05.Repetition.x128), Float32)
    tcgen05.make_tmem_copy(atom, acc)


@refused(TILE, arch="sm_100a")
@cute.jit
def allocates_for_a_pair_and_frees_alone(x, y):
    address = SmemAllocator().allocate_array(Int32, 1)
    cute.arch.alloc_tmem(32, address, is_two_cta=True)
    cute.arch.dealloc_tmem(cute.arch.retrieve_tmem_ptr(Float32, 16, address), 32)


@refused(TILE)
@cute.jit
def values_fill_half_an_access(x, y):
    tiled, part = part_of(CopyUniversalOp(), x, (16, 8), (1, 4), 128)
    cute.copy(tiled, part, cute.make_fragment_like(part))


@cute.kernel
def backwards_kernel(load: cute.CopyAtom, x: cute.Tensor, rows: cute.Layout):
    memory = SmemAllocator()
    tile, barrier = memory.allocate_tensor(BFloat16, rows, byte_alignment=128), memory.allocate_array(Int64, 1)
    box = cute.local_tile(x, (128, 64), (0, 0))
    to_tile, from_x = cpasync.tma_partition(
        load, 0, cute.make_layout(1), cute.group_modes(tile, 0, 2), cute.group_modes(box, 0, 2)
    )
    cute.copy(load, to_tile, from_x, tma_bar_ptr=barrier)


@refused_host(TILE)
@cute.jit
def fetches_backwards(x: cute.Tensor, y: cute.Tensor):
    rows = cute.make_layout((128, 64), stride=(64, 1))
    load, tma_x = cpasync.make_tiled_tma_atom(cpasync.CopyBulkTensorTileG2SOp(), x, rows, (128, 64))
    backwards_kernel(load, tma_x, rows).launch(grid=(1, 1, 1), block=(32, 1, 1))


@cute.kernel
def partition_kernel(load: cute.CopyAtom, x: cute.Tensor, rows: cute.Layout, partition: Constexpr):
    """partition: takes the copy, (box,) of shared memory and (box, tiles) of x."""
    tile = SmemAllocator().allocate_tensor(BFloat16, rows, byte_alignment=128)
    partition(load, cute.group_modes(tile, 0, 2), cute.group_modes(cute.local_tile(x, (128, 64), (0, None)), 0, 2))


def partitioned(partition):
    @refused_host(TILE)
    @cute.jit
    def host(x: cute.Tensor, y: cute.Tensor):
        rows = cute.make_layout((128, 64), stride=(64, 1))
        load, tma_x = cpasync.make_tiled_tma_atom(cpasync.CopyBulkTensorTileG2SOp(), x, rows, (128, 64))
        partition_kernel(load, tma_x, rows, partition).launch(grid=(1, 1, 1), block=(32, 1, 1))


partitioned(
    lambda load, s, g: cpasync.tma_partition(
        load, 0, cute.make_layout(1), cute.make_tensor(s.iterator, cute.make_layout((4096, 2))), g
    )
)
partitioned(lambda load, s, g: cpasync.tma_partition(load, 0, 1, s, g))
partitioned(lambda load, s, g: cpasync.tma_partition(load, 0, cute.make_layout(1), g, s))


@refused(TILE)
@cute.jit
def ldmatrix_of_columns(x, y):
    thread, _, _ = cute.arch.thread_idx()
    tiled_mma = cute.make_tiled_mma(warp.MmaF16BF16Op(BFloat16, Float32, (16, 8, 16)))
    tile = SmemAllocator().allocate_tensor(BFloat16, cute.make_layout((16, 16)), byte_alignment=128)
    ldmatrix = cute.make_copy_atom(warp.LdMatrix8x8x16bOp(transpose=False, num_matrices=4), BFloat16)
    s2r = cute.make_tiled_copy_A(ldmatrix, tiled_mma).get_slice(thread)
    registers = tiled_mma.make_fragment_A(tiled_mma.get_slice(thread).partition_A(tile))
    cute.copy(ldmatrix, s2r.partition_S(tile), s2r.retile(registers))


@refused(TILE)
@cute.jit
def accumulators_of_a_whole_tile(x, y):
    tiled_mma = cute.make_tiled_mma(warp.MmaF16BF16Op(BFloat16, Float32, (16, 8, 16)))
    part = tiled_mma.get_slice(0)
    a = tiled_mma.make_fragment_A(part.partition_A(cute.local_tile(x, (16, 16), (0, 0))))
    b = tiled_mma.make_fragment_B(part.partition_B(cute.local_tile(y, (8, 16), (0, 0))))
    whole = tiled_mma.make_fragment_C(cute.local_tile(x, (16, 8), (0, 0)))
    cute.gemm(tiled_mma, whole, a[None, None, 0], b[None, None, 0], whole)


LARGE_BLOCK = copy_of(first)
LARGE_BLOCK.THREADS = 512


@refused_host(MATRICES)
@cute.jit
def a_block_of_512_threads(x, y):
    LARGE_BLOCK.make_first_gemm()(x, x, y)


@refused_host(MATRICES)
@cute.jit
def a_box_on_its_side(x, y):
    atom = cpasync.CopyBulkTensorTileG2SOp()
    cpasync.make_tiled_tma_atom(atom, first.described(x), first.out_layout(128, 64), (64, 128))


@refused()
@cute.jit
def arrives_at_a_value(x, y):
    cute.arch.mbarrier_arrive(SmemAllocator().allocate_array(Int64, 2)[1])
