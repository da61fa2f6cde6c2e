"""CuTe functions that do not compile, each with words of what the course says to do about it.

Here: tensors, types, names and launches. refused_arguments, refused_copies and refused_times add to REFUSED.

REFUSED: host functions of two tensors. `at` says of which kind: VECTOR or TILE.
"""

import cutlass
import torch
from cutlass import BFloat16, Float32, cute
from cutlass.memory import SmemAllocator

from tutorlib.compiling.spec import TensorSpec

VECTOR, TILE = TensorSpec((512,)), TensorSpec((128, 64), "bf16")
REFUSED = []  # (host function, tensor, words)


def refused(words, at=VECTOR, arch="sm_90a"):
    """Lists a jitted function of two tensors as what a kernel's threads do."""

    def add(body):
        @cute.kernel
        def kernel(x: cute.Tensor, y: cute.Tensor):
            body(x, y)

        @cute.jit
        def host(x: cute.Tensor, y: cute.Tensor):
            kernel(x, y).launch(grid=(4, 1, 1), block=(128, 1, 1))

        host.__name__, host.arch = body.__name__, arch
        REFUSED.append((host, at, words))
        return body

    return add


def refused_host(words, at=VECTOR):
    """Lists a host function."""

    def add(host):
        REFUSED.append((host, at, words))
        return host

    return add


# loops ----------------------------------------------------------------------------------------------------------


@refused("need a function with @cute.jit")
def constexpr_range_in_a_plain_function(x, y):
    for i in cutlass.range_constexpr(4):
        y[i] = x[i]


@refused("loop with Python's range")
def range_in_a_plain_function(x, y):
    for i in cutlass.range(4):
        y[i] = x[i]


# tensors --------------------------------------------------------------------------------------------------------


@refused("The tensor has no mode 3", TILE)
@cute.jit
def a_mode_too_many(x: cute.Tensor, y: cute.Tensor):
    cute.printf(cute.size(x, mode=[3]))


@refused("compute with the value that `x.load()` gives")
@cute.jit
def adds_tensors(x, y):
    y = y + 2.0 * x


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


# types ----------------------------------------------------------------------------------------------------------


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


@refused("Are the two exchanged?")
@cute.jit
def exchanges_registers(x, y):
    thread, _, _ = cute.arch.thread_idx()
    if thread < 64:
        cute.arch.setmaxregister_decrease(240)
    else:
        cute.arch.setmaxregister_increase(24)
    y[thread] = x[thread]


@refused("cute.make_tensor takes a pointer, and a tensor's is `x.iterator`")
@cute.jit
def a_tensor_of_a_tensor(x, y):
    y[0] = cute.make_tensor(x, cute.make_layout(4))[0]
