"""CuTe functions that take a run-time value for a compile-time one, or the other way round.

They join `refused_cute.REFUSED`.
"""

from cutlass import const_expr, cute, range_constexpr

from tests.dsl.refused_cute import refused


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


def unrolled_by_itself(x, y):
    for i in range_constexpr(4):
        y[i] = x[i]


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


@refused("A condition that is known only at run time needs an `if`")
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


@refused("`value` has no value here: is it misspelled, or assigned only inside a run-time branch")
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


@refused("Does it come from `//`")
@cute.jit
def counts_whole_tiles(x, y):
    y[0] = x[512 % (cute.size(x) // 1024)]
