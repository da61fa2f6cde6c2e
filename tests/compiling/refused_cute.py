"""CuTe functions that do not compile, each with words of what the course says to do about it.

REFUSED: host functions of two tensors. `at` says of which kind: VECTOR or TILE.
"""

import math

import torch
from cutlass import BFloat16, Boolean, Float32, Int64, const_expr, cute, range_constexpr
from cutlass.cute.nvgpu import CopyUniversalOp, cpasync, warp
from cutlass.memory import SmemAllocator

from tutorlib.compiling.spec import TensorSpec

VECTOR, TILE = TensorSpec((512,)), TensorSpec((128, 64), "bf16")
REFUSED = []  # (host function, tensor, words)


def refused(words, at=VECTOR):
    """Lists a jitted function of two tensors as what a kernel's threads do."""

    def add(body):
        @cute.kernel
        def kernel(x: cute.Tensor, y: cute.Tensor):
            body(x, y)

        @cute.jit
        def host(x: cute.Tensor, y: cute.Tensor):
            kernel(x, y).launch(grid=(4, 1, 1), block=(128, 1, 1))

        host.__name__ = body.__name__
        REFUSED.append((host, at, words))
        return body

    return add


def refused_host(words, at=VECTOR):
    """Lists a host function."""

    def add(host):
        REFUSED.append((host, at, words))
        return host

    return add


# tensors --------------------------------------------------------------------------------------------------------


@refused("compute with the value that `x.load()` gives")
@cute.jit
def adds_tensors(x, y):
    y = y + 2.0 * x


@refused("compute with the value that `x.load()` gives")
@cute.jit
def adds_tensors_in_place(x, y):
    y += 2.0 * x


@refused("`cute.size(x)` is a tensor's number of elements")
@cute.jit
def takes_the_length(x, y):
    y[0] = x[len(x) - 1]


@refused("A shape is a tuple")
@cute.jit
def compares_with_the_shape(x, y):
    thread, _, _ = cute.arch.thread_idx()
    if thread < x.shape:
        y[thread] = x[thread]


@refused("that is a tuple of three")
@cute.jit
def indexes_with_all_three(x, y):
    thread = cute.arch.thread_idx()
    y[thread] = x[thread]


@refused("that is a tuple of three")
@cute.jit
def repeats_the_tuple(x, y):
    i = cute.arch.block_idx() * 128 + cute.arch.thread_idx()
    y[i] = x[i]


@refused("it takes one number for each, `a[row, column]`")
@cute.jit
def too_many_indices(x, y):
    y[0, 0] = x[0, 0]


@refused("takes no Python slice")
@cute.jit
def slices(x, y):
    y[0:4] = x[0:4]


@refused("One coordinate is wanted here", TILE)
@cute.jit
def compares_many_coordinates(x, y):
    places = cute.make_identity_tensor(x.shape)
    if cute.elem_less(places[None, 0], x.shape):
        y[0, 0] = x[0, 0]


@refused("torch computes with its own tensors")
@cute.jit
def calls_torch(x, y):
    torch.add(x, y)


@refused("is an index missing?")
@cute.jit
def stores_a_tensor(x, y):
    y[0] = x


@refused("cut a piece of fixed size", TILE)
@cute.jit
def loads_what_only_the_run_knows(x, y):
    thread, _, _ = cute.arch.thread_idx()
    y[0, 0] = cute.make_tensor(x.iterator, cute.make_layout((thread, 4))).load()[0]


@refused("cut a piece of fixed size", TILE)
@cute.jit
def allocates_what_only_the_run_knows(x, y):
    thread, _, _ = cute.arch.thread_idx()
    SmemAllocator().allocate_tensor(x.element_type, cute.make_layout((thread, 64)))


@refused("a coordinate of 2 numbers, (down, across)", TILE)
@cute.jit
def counts_tiles_in_one_direction(x, y):
    block, _, _ = cute.arch.block_idx()
    y[0, 0] = cute.local_tile(x, (64, 64), (block,))[0, 0]


# types ----------------------------------------------------------------------------------------------------------


@refused("`value` is Int32 before and Float32 after")
@cute.jit
def begins_as_an_int(x, y):
    thread, _, _ = cute.arch.thread_idx()
    value = 0
    if thread < 4:
        value = x[thread]
    y[thread] = value


@refused("`total` is Int32 before and Float32 after. Begin with the type that it keeps: `cutlass.Float32(…)`")
@cute.jit
def sums_into_an_int(x, y):
    total = 0
    for i in range(cute.size(x)):
        total = total + x[i]
    y[0] = total


@refused("or is `//` meant where `/` stands")
@cute.jit
def halves_into_a_float(x, y):
    step = 64
    while step > 0:
        y[step] = x[step]
        step = step / 2


@refused("`values` is a Python list")
@cute.jit
def appends(x, y):
    values = []
    for i in range(cute.size(x)):
        values.append(x[i])
    y[0] = values[0]


@refused("Both sides need one type")
@cute.jit
def an_int_or_a_float(x, y):
    thread, _, _ = cute.arch.thread_idx()
    y[thread] = x[thread] if thread < 4 else 0


@refused("`cute.full_like(v, 0)` is like v")
@cute.jit
def where_of_two_types(x, y):
    value = x.load()
    y.store(cute.where(value > 0, value, 0))


@refused("`.to(cutlass.BFloat16)` to the value, which is Float32", TILE)
@cute.jit
def stores_without_a_cast(x, y):
    sums = cute.make_rmem_tensor((64,), Float32)
    sums.fill(0.0)
    rounded = cute.make_rmem_tensor((64,), BFloat16)
    rounded.store(sums.load())


@refused("The tensor has the shape (512,) and the value (4,)")
@cute.jit
def stores_a_piece_into_the_whole(x, y):
    y.store(cute.local_tile(x, (4,), (0,)).load())


@refused("shapes that do not fit each other")
@cute.jit
def multiplies_four_by_eight(x, y):
    y[0] = (cute.local_tile(x, (4,), (0,)).load() * cute.local_tile(x, (8,), (0,)).load())[0]


@refused("A loop counts in whole numbers")
@cute.jit
def loops_to_a_half(x, y):
    for i in range(cute.size(x) / 2):
        y[i] = x[i]


# two times ------------------------------------------------------------------------------------------------------


@refused("use `range`")
@cute.jit
def unrolls_by_thread(x, y):
    thread, _, _ = cute.arch.thread_idx()
    for i in range_constexpr(thread):
        y[i] = x[i]


@refused("a plain `if`")
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


@refused("Put @cute.jit above it")
@cute.jit
def calls_a_plain_branch(x, y):
    y[0] = plain_branch(x)


def plain_loop(x, y):
    thread, _, _ = cute.arch.thread_idx()
    for i in range(thread):
        y[i] = x[i]


@refused("A helper with loops takes @cute.jit")
@cute.jit
def calls_a_plain_loop(x, y):
    plain_loop(x, y)


@refused("int() can go")
@cute.jit
def makes_an_int(x, y):
    thread, _, _ = cute.arch.thread_idx()
    y[int(thread)] = x[thread]


@refused("a list becomes cute.make_rmem_tensor")
@cute.jit
def indexes_a_list(x, y):
    thread, _, _ = cute.arch.thread_idx()
    y[thread] = [1.0, 2.0, 3.0][thread]


@refused("math.exp is cute.math.exp")
@cute.jit
def calls_math(x, y):
    y[0] = math.exp(x[0])


@refused("What only the run knows needs an `if`")
@cute.jit
def asserts(x, y):
    thread, _, _ = cute.arch.thread_idx()
    assert thread < 4
    y[thread] = x[thread]


@refused("cannot be left by `break`")
@cute.jit
def breaks(x, y):
    for i in range(cute.size(x)):
        if i > 4:
            break
        y[i] = x[i]


@refused("cannot be left by `return`")
@cute.jit
def returns_early(x, y):
    thread, _, _ = cute.arch.thread_idx()
    if thread > 4:
        return
    y[thread] = x[thread]


@refused("`value` has no value here: is it misspelled, or made only inside a branch")
@cute.jit
def has_a_value_in_one_branch(x, y):
    thread, _, _ = cute.arch.thread_idx()
    if thread < 4:
        value = x[thread]
    y[thread] = value


@refused("write `a // b` and `a % b`")
@cute.jit
def calls_divmod(x, y):
    thread, _, _ = cute.arch.thread_idx()
    row, column = divmod(thread, 5)
    y[row] = x[column]


@refused("so the compiler must know it")
@cute.jit
def waits_for_so_many_groups(x, y):
    thread, _, _ = cute.arch.thread_idx()
    cute.arch.cp_async_wait_group(thread)


# names and launches ---------------------------------------------------------------------------------------------


@cute.kernel
def plain_kernel(x: cute.Tensor, y: cute.Tensor):
    thread, _, _ = cute.arch.thread_idx()
    y[thread] = x[thread]


@refused_host("`plain_kernel(…).launch(grid=(…, 1, 1), block=(…, 1, 1))`")
@cute.jit
def forgets_to_launch(x: cute.Tensor, y: cute.Tensor):
    plain_kernel(x, y)


@refused_host("`n // size`, or `cute.ceil_div(n, size)`")
@cute.jit
def launches_a_fraction(x: cute.Tensor, y: cute.Tensor):
    plain_kernel(x, y).launch(grid=(cute.size(x) / 128, 1, 1), block=(128, 1, 1))


@refused_host("The call has other arguments than the function takes")
@cute.jit
def forgets_an_argument(x: cute.Tensor, y: cute.Tensor):
    plain_kernel(x).launch(grid=(4, 1, 1), block=(128, 1, 1))


@refused_host("A host function needs @cute.jit above it")
def forgets_the_decorator(x, y):
    plain_kernel(x, y).launch(grid=(4, 1, 1), block=(128, 1, 1))


@refused("`cute.arch` has no `syncthreads`. Did you mean `cute.arch.sync_threads`?")
@cute.jit
def has_cudas_name(x, y):
    cute.arch.syncthreads()


@refused("It is `cute.arch.thread_idx`.")
@cute.jit
def looks_in_the_wrong_module(x, y):
    thread, _, _ = cute.thread_idx()
    y[thread] = x[thread]


@refused("`with cute.arch.elect_one():`, with parentheses")
@cute.jit
def forgets_parentheses(x, y):
    with cute.arch.elect_one:
        y[0] = x[0]


@refused("`cute.make_composed_layout(swizzle, offset, layout)`")
@cute.jit
def forgets_the_offset(x, y):
    cute.make_composed_layout(cute.make_swizzle(3, 3, 3), cute.make_layout(64))


# copies and MMAs ------------------------------------------------------------------------------------------------


@cute.jit
def part_of(op, x, threads, values, bits):
    """(a TiledCopy, this thread's part of x)."""
    thread, _, _ = cute.arch.thread_idx()
    atom = cute.make_copy_atom(op, x.element_type, num_bits_per_copy=bits)
    tiled = cute.make_tiled_copy_tv(atom, cute.make_ordered_layout(threads, order=(1, 0)), cute.make_layout(values))
    return tiled, tiled.get_slice(thread).partition_S(x)


@refused("The 8 elements of one access must lie side by side", TILE)
@cute.jit
def vectors_down_a_column(x, y):
    tiled, part = part_of(CopyUniversalOp(), x, (16, 8), (8, 1), 128)
    cute.copy(tiled, part, cute.make_fragment_like(part))


@refused("is it one thread's part (partition_S, partition_D) that is copied?", TILE)
@cute.jit
def copies_the_whole_tile(x, y):
    tiled, _ = part_of(CopyUniversalOp(), x, (16, 8), (1, 8), 128)
    cute.copy(tiled, x, y)


@refused("cute.make_fragment_like(the other side)", TILE)
@cute.jit
def registers_in_a_row(x, y):
    tiled, part = part_of(CopyUniversalOp(), x, (16, 8), (1, 8), 128)
    cute.copy(tiled, part, cute.make_rmem_tensor((64,), x.element_type))


@refused("(1, M, N) where the partition is (V, M, N)", TILE)
@cute.jit
def one_predicate_for_all(x, y):
    tiled, part = part_of(CopyUniversalOp(), x, (16, 8), (1, 8), 128)
    cute.copy(tiled, part, cute.make_fragment_like(part), pred=cute.make_rmem_tensor((1,), Boolean))


@refused("cp.async writes to shared memory alone", TILE)
@cute.jit
def cp_async_into_registers(x, y):
    tiled, part = part_of(cpasync.CopyG2SOp(), x, (16, 8), (1, 8), 128)
    cute.copy(tiled, part, cute.make_fragment_like(part))


@refused("cp.async reads global memory alone", TILE)
@cute.jit
def cp_async_out_of_shared_memory(x, y):
    thread, _, _ = cute.arch.thread_idx()
    tiled, _ = part_of(cpasync.CopyG2SOp(), x, (16, 8), (1, 8), 128)
    tile = SmemAllocator().allocate_tensor(x.element_type, cute.make_ordered_layout((128, 64), order=(1, 0)), 128)
    cute.copy(tiled, tiled.get_slice(thread).partition_S(tile), tiled.get_slice(thread).partition_D(tile))


@refused("num_bits_per_copy is 32, 64 or 128", TILE)
@cute.jit
def cp_async_of_two_bytes(x, y):
    tiled, part = part_of(cpasync.CopyG2SOp(), x, (16, 8), (1, 1), 16)
    thread, _, _ = cute.arch.thread_idx()
    tile = SmemAllocator().allocate_tensor(x.element_type, cute.make_ordered_layout((128, 64), order=(1, 0)))
    cute.copy(tiled, part, tiled.get_slice(thread).partition_D(tile))


@refused(
    "An access of 16 bytes needs an address that is a multiple of 16, and here the compiler can be sure of 8", TILE
)
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


@refused_host("A TMA load goes from the matrix to shared memory", TILE)
@cute.jit
def fetches_backwards(x: cute.Tensor, y: cute.Tensor):
    rows = cute.make_layout((128, 64), stride=(64, 1))
    load, tma_x = cpasync.make_tiled_tma_atom(cpasync.CopyBulkTensorTileG2SOp(), x, rows, (128, 64))
    backwards_kernel(load, tma_x, rows).launch(grid=(1, 1, 1), block=(32, 1, 1))


@refused("ldmatrix reads shared memory", TILE)
@cute.jit
def ldmatrix_from_global_memory(x, y):
    thread, _, _ = cute.arch.thread_idx()
    tiled_mma = cute.make_tiled_mma(warp.MmaF16BF16Op(BFloat16, Float32, (16, 8, 16)))
    ldmatrix = cute.make_copy_atom(warp.LdMatrix8x8x16bOp(transpose=False, num_matrices=4), BFloat16)
    s2r = cute.make_tiled_copy_A(ldmatrix, tiled_mma).get_slice(thread)
    registers = tiled_mma.make_fragment_A(tiled_mma.get_slice(thread).partition_A(x))
    cute.copy(ldmatrix, s2r.partition_S(x), s2r.retile(registers))


@refused("a coordinate of two numbers with a shape of two", TILE)
@cute.jit
def compares_with_one_size(x, y):
    if cute.elem_less(cute.make_identity_tensor(x.shape)[0, 0], x.shape[0]):
        y[0, 0] = x[0, 0]


@refused("cute.gemm(tiled_mma, D, A, B, C)", TILE)
@cute.jit
def exchanges_a_and_b(x, y):
    thread, _, _ = cute.arch.thread_idx()
    tiled_mma = cute.make_tiled_mma(warp.MmaF16BF16Op(BFloat16, Float32, (16, 8, 16)))
    math = tiled_mma.get_slice(thread)
    a, b = tiled_mma.make_fragment_A(math.partition_A(x)), tiled_mma.make_fragment_B(math.partition_B(x))
    sums = tiled_mma.make_fragment_C(math.partition_C(cute.local_tile(y, (128, 64), (0, 0))))
    cute.gemm(tiled_mma, sums, b, a, sums)


@refused("`cute.where(v > 0, this, that)` chooses for each element")
@cute.jit
def asks_four_elements_at_once(x, y):
    v = cute.local_tile(x, (4,), (0,)).load()
    if v > 0:
        cute.local_tile(y, (4,), (0,)).store(v)


@refused("a value, and its elements cannot be assigned to")
@cute.jit
def assigns_to_what_it_loaded(x, y):
    v = cute.local_tile(x, (4,), (0,)).load()
    v[0] = v[1]
    cute.local_tile(y, (4,), (0,)).store(v)


@refused("store() takes a value with as many elements as the tensor")
@cute.jit
def stores_one_number(x, y):
    cute.local_tile(y, (4,), (0,)).store(0.0)
