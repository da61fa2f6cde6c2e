"""CuTe functions that do not compile, of refusals whose own words do not say what to do: tensors, types, control flow,
copies and MMAs.

REFUSED: host functions of two tensors; the tensors' kind, VECTOR or TILE; the architecture.
"""

import cutlass
import numpy as np
import torch
from cutlass import BFloat16, Constexpr, Float32, Int32, Int64, const_expr, cute, range_constexpr
from cutlass._mlir.dialects import llvm
from cutlass.cute.nvgpu import CopyUniversalOp, cpasync, tcgen05, warp
from cutlass.cutlass_dsl import T, dsl_user_op
from cutlass.memory import SmemAllocator

from tests.pages.change import copy_of
from tutorlib.compiling.spec import TensorSpec
from tutorlib.kernels.hopper import first

VECTOR, TILE = TensorSpec((512,)), TensorSpec((128, 64), "bf16")
REFUSED = []


def refused(at=VECTOR, arch="sm_90a"):
    """Lists a function of two tensors as what a kernel's threads do."""

    def add(body):
        @cute.kernel
        def kernel(x: cute.Tensor, y: cute.Tensor):
            body(x, y)

        @cute.jit
        def host(x: cute.Tensor, y: cute.Tensor):
            kernel(x, y).launch(grid=(4, 1, 1), block=(128, 1, 1))

        host.__name__ = body.__name__
        REFUSED.append((host, at, arch))
        return body

    return add


def refused_host(at=VECTOR):
    """Lists a host function."""

    def add(host):
        REFUSED.append((host, at, "sm_90a"))
        return host

    return add


# loops ----------------------------------------------------------------------------------------------------------


@refused()
def constexpr_range_in_a_plain_function(x, y):
    for i in cutlass.range_constexpr(4):
        y[i] = x[i]


@refused()
def range_in_a_plain_function(x, y):
    for i in cutlass.range(4):
        y[i] = x[i]


# tensors --------------------------------------------------------------------------------------------------------


@refused()
@cute.jit
def adds_tensors(x, y):
    y = y + 2.0 * x


@refused()
@cute.jit
def compares_with_the_shape(x, y):
    thread, _, _ = cute.arch.thread_idx()
    if thread < x.shape:
        y[thread] = x[thread]


@refused()
@cute.jit
def indexes_with_all_three(x, y):
    thread = cute.arch.thread_idx()
    y[thread] = x[thread]


@refused()
@cute.jit
def slices(x, y):
    y[0:4] = x[0:4]


@refused(TILE)
@cute.jit
def compares_many_coordinates(x, y):
    places = cute.make_identity_tensor(x.shape)
    if cute.elem_less(places[None, 0], x.shape):
        y[0, 0] = x[0, 0]


@refused()
@cute.jit
def calls_torch(x, y):
    torch.add(x, y)


@refused()
@cute.jit
def stores_a_tensor(x, y):
    y[0] = x


@refused(TILE)
@cute.jit
def loads_what_only_the_run_knows(x, y):
    thread, _, _ = cute.arch.thread_idx()
    y[0, 0] = cute.make_tensor(x.iterator, cute.make_layout((thread, 4))).load()[0]


@refused()
@cute.jit
def asks_four_elements_at_once(x, y):
    v = cute.local_tile(x, (4,), (0,)).load()
    if v > 0:
        cute.local_tile(y, (4,), (0,)).store(v)


# types ----------------------------------------------------------------------------------------------------------


@refused()
@cute.jit
def sums_into_an_int(x, y):
    total = 0
    for i in range(cute.size(x)):
        total = total + x[i]
    y[0] = total


@refused()
@cute.jit
def appends(x, y):
    values = []
    for i in range(cute.size(x)):
        values.append(x[i])
    y[0] = values[0]


@refused(TILE)
@cute.jit
def stores_without_a_cast(x, y):
    sums = cute.make_rmem_tensor((64,), Float32)
    sums.fill(0.0)
    rounded = cute.make_rmem_tensor((64,), BFloat16)
    rounded.store(sums.load())


# names and launches ---------------------------------------------------------------------------------------------


@cute.kernel
def plain_kernel(x: cute.Tensor, y: cute.Tensor):
    thread, _, _ = cute.arch.thread_idx()
    y[thread] = x[thread]


@refused()
@cute.jit
def has_cudas_name(x, y):
    cute.arch.syncthreads()


@refused()
@cute.jit
def looks_in_the_wrong_module(x, y):
    thread, _, _ = cute.thread_idx()
    y[thread] = x[thread]


@refused()
@cute.jit
def exchanges_registers(x, y):
    thread, _, _ = cute.arch.thread_idx()
    if thread < 64:
        cute.arch.setmaxregister_decrease(240)
    else:
        cute.arch.setmaxregister_increase(24)
    y[thread] = x[thread]


@refused()
@cute.jit
def a_tensor_of_a_tensor(x, y):
    y[0] = cute.make_tensor(x, cute.make_layout(4))[0]


# arguments of another kind ---------------------------------------------------------------------------------------


@refused()
@cute.jit
def an_index_of_a_half(x, y):
    thread, _, _ = cute.arch.thread_idx()
    y[thread / 2] = x[0]


@refused_host()
@cute.jit
def launches_in_brackets(x: cute.Tensor, y: cute.Tensor):
    plain_kernel[(4, 1, 1), (128, 1, 1)](x, y)


@refused_host()
@cute.jit
def takes_what_a_launch_gives(x: cute.Tensor, y: cute.Tensor):
    y[0] = plain_kernel(x, y).launch(grid=(1, 1, 1), block=(1, 1, 1))


@refused()
@cute.jit
def takes_numpys_root(x, y):
    y[0] = np.sqrt(x[0])


@refused()
@cute.jit
def names_a_dtype(x, y):
    cute.make_rmem_tensor((4,), "float32")


# run time and compile time ---------------------------------------------------------------------------------------


@refused()
@cute.jit
def unrolls_by_thread(x, y):
    thread, _, _ = cute.arch.thread_idx()
    for i in range_constexpr(thread):
        y[i] = x[i]


@refused()
@cute.jit
def decides_too_early(x, y):
    thread, _, _ = cute.arch.thread_idx()
    if const_expr(thread < 4):
        y[thread] = x[thread]


def plain_branch(x):
    thread, _, _ = cute.arch.thread_idx()
    if thread < 5:
        return x[thread]
    return x[0]


@refused()
@cute.jit
def calls_a_plain_branch(x, y):
    y[0] = plain_branch(x)


def plain_loop(x, y):
    thread, _, _ = cute.arch.thread_idx()
    for i in range(thread):
        y[i] = x[i]


@refused()
@cute.jit
def calls_a_plain_loop(x, y):
    plain_loop(x, y)


@refused()
@cute.jit
def has_a_value_in_one_branch(x, y):
    thread, _, _ = cute.arch.thread_idx()
    if thread < 4:
        value = x[thread]
    y[thread] = value


@refused()
@cute.jit
def waits_for_so_many_groups(x, y):
    thread, _, _ = cute.arch.thread_idx()
    cute.arch.cp_async_wait_group(thread)


# PTX of one's own ------------------------------------------------------------------------------------------------


@dsl_user_op
def lane(ptx, constraints, *, loc=None, ip=None):
    made = llvm.inline_asm(T.i32(), [], ptx, constraints, has_side_effects=False, loc=loc, ip=ip)
    return Int32(made, loc=loc, ip=ip)


@refused()
@cute.jit
def has_one_operand(x, y):
    y[0] = lane("mov.u32 $0, $1;", "=r").to(y.element_type)


@refused()
@cute.jit
def has_no_semicolon(x, y):
    y[0] = lane("mov.u32 $0, %laneid", "=r").to(y.element_type)


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
