"""CuTe functions that do not compile, of refusals whose own words do not say what to do.

REFUSED: host functions of two tensors; the tensors' kind, VECTOR or TILE; the architecture. refused_copies adds to it.
"""

import cutlass
import numpy as np
import torch
from cutlass import BFloat16, Float32, Int32, const_expr, cute, range_constexpr
from cutlass._mlir.dialects import llvm
from cutlass.cutlass_dsl import T, dsl_user_op

from tutorlib.compiling.spec import TensorSpec

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
