"""Wrong answers to notebook 04.

WRONG: those that any machine can tell, by what they do on the CPU, by not compiling or by the loads they lack.
WRONG_ON_GPU: kernels that compile well and compute something else.
"""

import cutlass
from cutlass import cute

THREADS = 128

# 04.1 -----------------------------------------------------------------------------------------------------------


@cute.jit
def overwrites(alpha: cutlass.Float32, x: cute.Tensor, y: cute.Tensor):
    """Forgets what y held."""
    for i in range(cute.size(x)):
        y[i] = alpha * x[i]


@cute.jit
def scales_the_sum(alpha: cutlass.Float32, x: cute.Tensor, y: cute.Tensor):
    """Multiplies y too."""
    for i in range(cute.size(x)):
        y[i] = alpha * (x[i] + y[i])


@cute.jit
def leaves_the_last(alpha: cutlass.Float32, x: cute.Tensor, y: cute.Tensor):
    """Ends one element early."""
    for i in range(cute.size(x) - 1):
        y[i] = alpha * x[i] + y[i]


@cute.jit
def one_too_many(alpha: cutlass.Float32, x: cute.Tensor, y: cute.Tensor):
    """Writes past the end."""
    for i in range(cute.size(y) + 1):
        y[i] = alpha * x[0] + y[i]


@cute.jit
def six_elements(alpha: cutlass.Float32, x: cute.Tensor, y: cute.Tensor):
    """Right for six elements only."""
    for i in range(6):
        y[i] = alpha * x[i] + y[i]


@cute.jit
def unrolled(alpha: cutlass.Float32, x: cute.Tensor, y: cute.Tensor):
    """Compiles for static layouts only."""
    for i in cutlass.range_constexpr(cute.size(x)):
        y[i] = alpha * x[i] + y[i]


def not_jitted(alpha, x, y):
    """Is torch's own, on the CPU."""
    y += alpha * x


# 04.2 -----------------------------------------------------------------------------------------------------------


@cute.jit
def backwards(coefficients: cutlass.Constexpr, x: cute.Tensor, y: cute.Tensor):
    """Takes the coefficients highest first."""
    for i in range(cute.size(x)):
        value = coefficients[0]
        for power in cutlass.range_constexpr(1, len(coefficients)):
            value = value * x[i] + coefficients[power]
        y[i] = value


@cute.jit
def no_constant(coefficients: cutlass.Constexpr, x: cute.Tensor, y: cute.Tensor):
    """Stops before the constant."""
    for i in range(cute.size(x)):
        value = cutlass.Float32(coefficients[-1])
        for power in cutlass.range_constexpr(len(coefficients) - 2, 0, -1):
            value = value * x[i] + coefficients[power]
        y[i] = value


@cute.jit
def run_time_loop(coefficients: cutlass.Constexpr, x: cute.Tensor, y: cute.Tensor):
    """Asks a Python tuple for an element that only the run knows."""
    for i in range(cute.size(x)):
        value = cutlass.Float32(0.0)
        for power in range(len(coefficients)):
            value = value * x[i] + coefficients[power]
        y[i] = value


@cute.jit
def lines_only(coefficients: cutlass.Constexpr, x: cute.Tensor, y: cute.Tensor):
    """Knows two coefficients."""
    for i in range(cute.size(x)):
        y[i] = coefficients[0] + coefficients[1] * x[i]


# 04.3 -----------------------------------------------------------------------------------------------------------


def once_a_call(layouts, dynamic):
    """Counts calls."""
    return len(layouts)


def once_at_all(layouts, dynamic):
    """Believes that dynamic layouts are all alike."""
    return 1 if dynamic else len(set(layouts))


def once_a_rank(layouts, dynamic):
    """Forgets where the stride 1 stands."""
    return len({len(shape) for shape, _ in layouts}) if dynamic else len(set(layouts))


def once_a_shape(layouts, dynamic):
    """Forgets the strides of static layouts."""
    return len({(len(s), d.index(1)) for s, d in layouts} if dynamic else {s for s, _ in layouts})


def ignores_dynamic(layouts, dynamic):
    """Counts static layouts in either case."""
    return len(set(layouts))


# Kernels --------------------------------------------------------------------------------------------------------


@cute.jit
def my_element():
    thread, _, _ = cute.arch.thread_idx()
    block, _, _ = cute.arch.block_idx()
    return block * THREADS + thread


def blocks_for(tensor, each):
    return (cute.ceil_div(cute.size(tensor), each), 1, 1)


@cute.kernel
def add_kernel(a: cute.Tensor, b: cute.Tensor, c: cute.Tensor):
    i = my_element()
    c[i] = a[i] + b[i]


@cute.jit
def launches_nothing(a: cute.Tensor, b: cute.Tensor, c: cute.Tensor):
    """Forgets to launch."""


@cute.jit
def calls_without_launch(a: cute.Tensor, b: cute.Tensor, c: cute.Tensor):
    """Names the kernel and does not launch it."""
    add_kernel(a, b, c)


@cute.kernel
def old_names_kernel(a: cute.Tensor, b: cute.Tensor, c: cute.Tensor):
    i = cute.thread_idx().x
    c[i] = a[i] + b[i]


@cute.jit
def old_names(a: cute.Tensor, b: cute.Tensor, c: cute.Tensor):
    """Uses names from old articles."""
    old_names_kernel(a, b, c).launch(grid=(1, 1, 1), block=(THREADS, 1, 1))


@cute.kernel
def returning_kernel(a: cute.Tensor, b: cute.Tensor, c: cute.Tensor):
    i = my_element()
    if i >= cute.size(c):
        return
    c[i] = a[i] + b[i]


@cute.jit
def returns_early(a: cute.Tensor, b: cute.Tensor, c: cute.Tensor):
    """Leaves the kernel early, as one would in C++."""
    returning_kernel(a, b, c).launch(grid=blocks_for(c, THREADS), block=(THREADS, 1, 1))


@cute.kernel
def leaky_scalar_kernel(x: cute.Tensor, y: cute.Tensor):
    i = my_element()
    if i < cute.size(x):
        y[i] = x[i] if x[i] > 0 else x[i] * 0.125


@cute.jit
def leaky_scalar(x: cute.Tensor, y: cute.Tensor):
    """Right, with one element a thread."""
    leaky_scalar_kernel(x, y).launch(grid=blocks_for(x, THREADS), block=(THREADS, 1, 1))


@cute.kernel
def leaky_strided_kernel(x: cute.Tensor, y: cute.Tensor):
    thread, _, _ = cute.arch.thread_idx()
    block, _, _ = cute.arch.block_idx()
    for value in cutlass.range_constexpr(4):
        i = (block * 4 + value) * THREADS + thread
        if i < cute.size(x):
            y[i] = x[i] if x[i] > 0 else x[i] * 0.125


@cute.jit
def leaky_strided(x: cute.Tensor, y: cute.Tensor):
    """Gives each thread four elements that do not lie together."""
    leaky_strided_kernel(x, y).launch(grid=blocks_for(x, 4 * THREADS), block=(THREADS, 1, 1))


# Kernels that compile -------------------------------------------------------------------------------------------


@cute.jit
def one_block(a: cute.Tensor, b: cute.Tensor, c: cute.Tensor):
    """Launches a single block."""
    add_kernel(a, b, c).launch(grid=(1, 1, 1), block=(THREADS, 1, 1))


@cute.kernel
def every_block_the_same_kernel(a: cute.Tensor, b: cute.Tensor, c: cute.Tensor):
    i, _, _ = cute.arch.thread_idx()
    c[i] = a[i] + b[i]


@cute.jit
def every_block_the_same(a: cute.Tensor, b: cute.Tensor, c: cute.Tensor):
    """Forgets which block it is."""
    every_block_the_same_kernel(a, b, c).launch(grid=blocks_for(c, THREADS), block=(THREADS, 1, 1))


@cute.jit
def unguarded(a: cute.Tensor, b: cute.Tensor, c: cute.Tensor):
    """Rounds the grid up and guards nothing."""
    add_kernel(a, b, c).launch(grid=blocks_for(c, THREADS), block=(THREADS, 1, 1))


@cute.kernel
def guarded_kernel(a: cute.Tensor, b: cute.Tensor, c: cute.Tensor):
    i = my_element()
    if i < cute.size(c):
        c[i] = a[i] + b[i]


@cute.jit
def rounds_down(a: cute.Tensor, b: cute.Tensor, c: cute.Tensor):
    """Guards well, and leaves the rest to nobody."""
    grid = (cute.size(c) // THREADS, 1, 1)
    guarded_kernel(a, b, c).launch(grid=grid, block=(THREADS, 1, 1))


@cute.kernel
def off_by_one_kernel(a: cute.Tensor, b: cute.Tensor, c: cute.Tensor):
    i = my_element()
    if i < cute.size(c) - 1:
        c[i] = a[i] + b[i]


@cute.jit
def off_by_one(a: cute.Tensor, b: cute.Tensor, c: cute.Tensor):
    """Guards one element too many."""
    off_by_one_kernel(a, b, c).launch(grid=blocks_for(c, THREADS), block=(THREADS, 1, 1))


@cute.kernel
def relu_kernel(x: cute.Tensor, y: cute.Tensor):
    i = my_element()
    if 4 * i < cute.size(x):
        four = cute.local_tile(x, (4,), (i,)).load()
        cute.local_tile(y, (4,), (i,)).store(cute.where(four > 0, four, cute.full_like(four, 0)))


@cute.jit
def relu(x: cute.Tensor, y: cute.Tensor):
    """Does not leak."""
    relu_kernel(x, y).launch(grid=blocks_for(x, 4 * THREADS), block=(THREADS, 1, 1))


@cute.kernel
def unguarded_leaky_kernel(x: cute.Tensor, y: cute.Tensor):
    i = my_element()
    four = cute.local_tile(x, (4,), (i,)).load()
    cute.local_tile(y, (4,), (i,)).store(cute.where(four > 0, four, four * 0.125))


@cute.jit
def unguarded_leaky(x: cute.Tensor, y: cute.Tensor):
    """Guards nothing."""
    unguarded_leaky_kernel(x, y).launch(grid=blocks_for(x, 4 * THREADS), block=(THREADS, 1, 1))


WRONG = {
    "04.1": [overwrites, scales_the_sum, leaves_the_last, one_too_many, six_elements, unrolled, not_jitted],
    "04.2": [backwards, no_constant, run_time_loop, lines_only],
    "04.3": [once_a_call, once_at_all, once_a_rank, once_a_shape, ignores_dynamic],
    "04.4": [launches_nothing, calls_without_launch, old_names],
    "04.5": [returns_early],
    "04.6": [leaky_scalar, leaky_strided],
}

WRONG_ON_GPU = {
    "04.4": [one_block, every_block_the_same],
    "04.5": [unguarded, rounds_down, off_by_one, every_block_the_same],
    "04.6": [relu, unguarded_leaky],
}
