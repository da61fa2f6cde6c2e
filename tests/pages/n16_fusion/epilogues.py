"""Wrong epilogues of notebook 16: the simulator tells them, or a GPU."""

import cutlass
from cutlass import BFloat16, Float32, cute

from tests.pages.change import derive, swap, without
from tests.pages.changed import right_answers
from tests.pages.table import answer, says

# 16.1 gelu ------------------------------------------------------------------------------------------------------


def inner(x):
    return 0.7978845608 * (x + 0.044715 * x * x * x)


def tanh(x):
    return cute.math.tanh(x, fastmath=True)


def gelu(x):
    return 0.5 * x * (1.0 + tanh(inner(x)))


@says("nan")
def overflows(x):
    """tanh by exponentials: inf / inf where x is large."""
    large = cute.math.exp(2.0 * inner(x))
    return 0.5 * x * (1.0 + (large - 1.0) / (large + 1.0))


def both_ways(x):
    """The mean of GELU by tanh and by an exponential."""
    return 0.5 * (gelu(x) + x / (1.0 + cute.math.exp(-2.0 * inner(x))))


@says("compute the same numbers")
def arithmetic_doubled(x):
    """One tanh, and everything around it twice."""
    u, v = inner(x), x * (0.7978845608 + 0.0356774081 * (x * x))
    t = tanh(0.5 * (u + v))
    return 0.5 * (0.5 * x * (1.0 + t) + (0.5 * x + 0.5 * x * t))


@says("compute the same numbers")
def of_a_copy(x):
    """All of it once more, of x + 0, which the compiler cannot take for x."""
    copy = x + 0.0
    t = tanh(0.5 * (inner(x) + inner(copy)))
    return 0.5 * (0.5 * x * (1.0 + t) + 0.5 * copy * (1.0 + (t + 0.0)))


GELUS = [
    overflows,
    arithmetic_doubled,
    of_a_copy,
    answer("doubled", "Twice the special functions.", both_ways, "tanh/ex2"),
    answer("no_cube", "Forgets the cubic term.", lambda x: 0.5 * x * (1.0 + tanh(0.7978845608 * x))),
    answer("square", "x² for x³.", lambda x: 0.5 * x * (1.0 + tanh(0.7978845608 * (x + 0.044715 * x * x)))),
    answer(
        "sigmoid",
        "The quick approximation, wrong by 0.02.",
        lambda x: x / (1.0 + cute.math.exp(-1.702 * x)),
        "quicker approximation",
    ),
    answer("silu", "SiLU.", lambda x: x / (1.0 + cute.math.exp(-x))),
    answer("relu", "ReLU.", lambda x: cute.where(x > 0.0, x, 0.0)),
    answer("no_half", "Twice as large.", lambda x: x * (1.0 + tanh(inner(x)))),
    answer(
        "pi_over_two", "√(π/2) for √(2/π).", lambda x: 0.5 * x * (1.0 + tanh(1.2533141373 * (x + 0.044715 * x * x * x)))
    ),
    answer("minus", "1 - tanh.", lambda x: 0.5 * x * (1.0 - tanh(inner(x)))),
    answer("rounded", "bf16 in between.", lambda x: (0.5 * x * (1.0 + tanh(inner(x)))).to(BFloat16).to(Float32)),
]

# 16.2 every_row -------------------------------------------------------------------------------------------------


def bias_matrix(name, what, stride, *words):
    def view(bias, rows):
        return cute.make_tensor(bias.iterator, cute.make_layout((rows, cute.size(bias)), stride=stride))

    return answer(name, what, view, *words)


def columns_first(bias, rows):
    """(N, rows)."""
    return cute.make_tensor(bias.iterator, cute.make_layout((cute.size(bias), rows), stride=(1, 0)))


def one_further(bias, rows):
    """Begins with the second number."""
    return cute.make_tensor(bias.iterator + 1, cute.make_layout((rows, cute.size(bias)), stride=(0, 1)))


def row_major(bias, rows):
    """As if there were M rows of them in memory."""
    columns = cute.size(bias)
    return cute.make_tensor(bias.iterator, cute.make_layout((rows, columns), stride=(columns, 1)))


def of_one_tile(bias, rows):
    """As many rows as a tile has, whatever is asked for."""
    return cute.make_tensor(bias.iterator, cute.make_layout((64, cute.size(bias)), stride=(0, 1)))


ROWS = [
    row_major,
    of_one_tile,
    columns_first,
    one_further,
    bias_matrix("every_column", "The row's number picks.", (1, 0)),
    bias_matrix("one_number", "The first for all.", (0, 0)),
    bias_matrix("diagonals", "Both move it.", (1, 1)),
    bias_matrix("every_other", "Two apart.", (0, 2)),
    answer(
        "rows_for_columns",
        "As many columns as C has rows.",
        lambda bias, rows: cute.make_tensor(bias.iterator, cute.make_layout((rows, rows), stride=(0, 1))),
    ),
    answer("as_it_was", "No matrix at all.", lambda bias, rows: bias),
    answer(
        "one_row",
        "A single row, which any row's number leads to.",
        lambda bias, rows: cute.make_tensor(bias.iterator, cute.make_layout((1, cute.size(bias)), stride=(0, 1))),
        "shape (1, 64); the shape should be (64, 64)",
    ),
]

# 16.3 bias_gelu -------------------------------------------------------------------------------------------------


def rounds(x):
    return x.to(BFloat16).to(Float32)


BIASED = [
    answer("around_tanh", "All but tanh twice.", lambda acc, bias: arithmetic_doubled(acc + bias), "the same numbers"),
    answer("gelu_doubled", "GELU twice.", lambda acc, bias: both_ways(acc + bias), "tanh/ex2"),
    answer("no_bias", "GELU alone.", lambda acc, bias: gelu(acc)),
    answer("bias_afterwards", "The bias after GELU.", lambda acc, bias: gelu(acc) + bias),
    answer("no_gelu", "The bias alone.", lambda acc, bias: acc + bias),
    answer("minus_the_bias", "Takes it away.", lambda acc, bias: gelu(acc - bias)),
    answer("times_the_bias", "A scale.", lambda acc, bias: gelu(acc * bias)),
    answer("rounds_first", "As three operators do.", lambda acc, bias: gelu(rounds(rounds(acc) + bias))),
    answer("rounds_the_sums", "bf16 before the bias.", lambda acc, bias: gelu(rounds(acc) + bias)),
    answer("bias_twice", "The bias before GELU and after it.", lambda acc, bias: gelu(acc + bias) + bias),
    answer("gelu_of_each", "GELU of each, then added.", lambda acc, bias: gelu(acc) + gelu(bias)),
    answer("relu_in_its_place", "ReLU.", lambda acc, bias: cute.where(acc + bias > 0.0, acc + bias, 0.0)),
]

# 16.4 fetch -----------------------------------------------------------------------------------------------------

FETCH = right_answers("16_fusion")["16.4"]
INSIDE = "cute.elem_less(acc.coordinates[n], acc.shape)"
LOOP = f"""    for n in cutlass.range_constexpr(cute.size(registers)):
        if {INSIDE}:
            registers[n] = acc.tCgD[n].to(Float32)
"""


def asking(name, what, condition):
    """FETCH with another condition on what it reads."""
    return derive(FETCH, name, what, swap(INSIDE, condition))


FETCHES = [
    derive(FETCH, "no_edges", "Reads beyond the matrix.", without("fill(0.0)"), swap(f"if {INSIDE}", "if True")),
    asking("rows_alone", "Looks at the row, and not at the column.", "acc.coordinates[n][0] < acc.shape[0]"),
    asking("columns_alone", "Looks at the column, and not at the row.", "acc.coordinates[n][1] < acc.shape[1]"),
    asking(
        "one_row_short", "Leaves the last row out.", INSIDE.replace("acc.shape", "(acc.shape[0] - 1, acc.shape[1])")
    ),
    asking("first_of_all", "Asks whether the first is inside, and takes all.", INSIDE.replace("[n]", "[0]")),
    derive(
        FETCH,
        "the_sums_again",
        "Fetches the accumulators.",
        without("fill(0.0)"),
        swap(LOOP, "    registers.store(acc.tCrC.load())\n"),
    ),
    derive(
        FETCH,
        "twice",
        "Loads each element twice, with a barrier in between.",
        swap(LOOP, LOOP + "    cute.arch.sync_threads()\n" + LOOP),
        words=("ld.global",),
    ),
    derive(
        FETCH,
        "needless_barrier",
        "A barrier of the block, where each thread loads for itself.",
        swap(LOOP, LOOP + "    cute.arch.sync_threads()\n"),
        words=("bar.sync",),
    ),
    derive(FETCH, "only_zeros", "Fetches nothing.", swap(LOOP, "")),
    derive(FETCH, "out_of_c", "Reads C, which is not written yet.", swap("acc.tCgD", "acc.tCgC")),
    asking(
        "one_column_short",
        "Leaves the last column out.",
        INSIDE.replace("acc.shape", "(acc.shape[0], acc.shape[1] - 1)"),
    ),
    asking(
        "either_inside",
        "Row or column inside is not both.",
        "acc.coordinates[n][0] < acc.shape[0] or acc.coordinates[n][1] < acc.shape[1]",
    ),
]

# 16.5 largest ---------------------------------------------------------------------------------------------------


def of_a_thread(values):
    return cute.where(values < 0.0, -values, values).reduce(cute.ReductionOp.MAX, 0.0, 0)


def of_a_warp(mine):
    for step in (16, 8, 4, 2, 1):
        mine = cute.arch.fmax(mine, cute.arch.shuffle_sync_bfly(mine, offset=step))
    return mine


def of_all(partial):
    return partial.load().reduce(cute.ReductionOp.MAX, 0.0, 0)


@says("no barrier")
def without_a_barrier(values, partial, thread):
    """Reads what another warp may not have written."""
    partial[thread // 32] = of_a_warp(of_a_thread(values))
    return of_all(partial)


@cute.jit
def signed(values, partial: cute.Tensor, thread):
    """The largest, and not the largest |value|."""
    partial[thread // 32] = of_a_warp(values.reduce(cute.ReductionOp.MAX, 0.0, 0))
    cute.arch.sync_threads()
    return of_all(partial)


@cute.jit
def its_own_warp(values, partial: cute.Tensor, thread):
    """Warp 0's."""
    mine = of_a_warp(of_a_thread(values))
    partial[thread // 32] = mine
    cute.arch.sync_threads()
    return mine


@cute.jit
def not_the_last_warp(values, partial: cute.Tensor, thread):
    """All warps but one."""
    mine = of_a_warp(of_a_thread(values))
    partial[thread // 32] = mine
    cute.arch.sync_threads()
    for warp in cutlass.range_constexpr(cute.size(partial) - 1):
        mine = cute.arch.fmax(mine, partial[warp])
    return mine


@cute.jit
def no_shuffles(values, partial: cute.Tensor, thread):
    """One thread of each warp, whichever writes last."""
    partial[thread // 32] = of_a_thread(values)
    cute.arch.sync_threads()
    return of_all(partial)


@cute.jit
def four_steps(values, partial: cute.Tensor, thread):
    """Half a warp."""
    mine = of_a_thread(values)
    for step in cutlass.range_constexpr(4):
        mine = cute.arch.fmax(mine, cute.arch.shuffle_sync_bfly(mine, offset=1 << step))
    partial[thread // 32] = mine
    cute.arch.sync_threads()
    return of_all(partial)


@cute.jit
def added(values, partial: cute.Tensor, thread):
    """The sum of all."""
    mine = cute.where(values < 0.0, -values, values).reduce(cute.ReductionOp.ADD, 0.0, 0)
    for step in cutlass.range_constexpr(5):
        mine = mine + cute.arch.shuffle_sync_bfly(mine, offset=1 << step)
    partial[thread // 32] = mine
    cute.arch.sync_threads()
    return partial.load().reduce(cute.ReductionOp.ADD, 0.0, 0)


@cute.jit
def every_fourth_thread(values, partial: cute.Tensor, thread):
    """The place of another warp: the thread modulo their number."""
    partial[thread % cute.size(partial)] = of_a_warp(of_a_thread(values))
    cute.arch.sync_threads()
    return of_all(partial)


@cute.jit
def one_place(values, partial: cute.Tensor, thread):
    """All warps write to the first place."""
    partial[0] = of_a_warp(of_a_thread(values))
    cute.arch.sync_threads()
    return partial[0]


@cute.jit
def begins_with_one(values, partial: cute.Tensor, thread):
    """Never below 10."""
    partial[thread // 32] = of_a_warp(cute.where(values < 0.0, -values, values).reduce(cute.ReductionOp.MAX, 1000.0, 0))
    cute.arch.sync_threads()
    return of_all(partial)


@cute.jit
def two_barriers(values, partial: cute.Tensor, thread):
    """Empties `partial` first, which every warp overwrites."""
    partial[thread // 32] = 0.0
    cute.arch.sync_threads()
    partial[thread // 32] = of_a_warp(of_a_thread(values))
    cute.arch.sync_threads()
    return of_all(partial)


@cute.jit
def in_turns(values, partial: cute.Tensor, thread):
    """No shuffles: a warp's lanes take turns at shared memory, with a barrier for each."""
    mine = of_a_thread(values)
    if thread % 32 == 0:
        partial[thread // 32] = Float32(0.0)
    cute.arch.sync_threads()
    for lane in cutlass.range(32, unroll=1):
        if thread % 32 == lane:
            partial[thread // 32] = cute.arch.fmax(mine, partial[thread // 32])
        cute.arch.sync_threads()
    return of_all(partial)


@cute.jit
def from_every_lane(values, partial: cute.Tensor, thread):
    """31 shuffles, where five make a tree."""
    mine = of_a_thread(values)
    best = mine
    for offset in cutlass.range_constexpr(1, 32):
        best = cute.arch.fmax(best, cute.arch.shuffle_sync_bfly(mine, offset=offset))
    partial[thread // 32] = best
    cute.arch.sync_threads()
    return of_all(partial)


@cute.jit
def barrier_in_each_step(values, partial: cute.Tensor, thread):
    """A warp's lanes need no barrier of the block."""
    mine = of_a_thread(values)
    for step in cutlass.range_constexpr(5):
        mine = cute.arch.fmax(mine, cute.arch.shuffle_sync_bfly(mine, offset=1 << step))
        cute.arch.sync_threads()
    partial[thread // 32] = mine
    cute.arch.sync_threads()
    return of_all(partial)


@says("bar.sync")
@cute.jit
def twice_over(values, partial: cute.Tensor, thread):
    """The whole reduction, and once more."""
    for _ in cutlass.range_constexpr(2):
        cute.arch.sync_threads()
        partial[thread // 32] = of_a_warp(of_a_thread(values))
        cute.arch.sync_threads()
    return of_all(partial)


LARGEST = [
    two_barriers,
    in_turns,
    twice_over,
    from_every_lane,
    barrier_in_each_step,
    without_a_barrier,
    signed,
    its_own_warp,
    not_the_last_warp,
    every_fourth_thread,
    no_shuffles,
    four_steps,
    added,
    one_place,
    begins_with_one,
]

# 16.7 gated -----------------------------------------------------------------------------------------------------


def silu(g):
    return 0.5 * g * (1.0 + tanh(0.5 * g))


def gating(name, what, op, *words):
    """op: of the two halves' values."""

    def gated(tCrC):
        pairs, atoms, (neighbors, rest) = tCrC.shape
        half = cute.make_layout((pairs, atoms, (neighbors, rest // 2)))
        first, second = (cute.make_tensor(tCrC.iterator + n * cute.size(half), half).load() for n in range(2))
        result = cute.make_rmem_tensor(half.shape, Float32)
        result.store(op(first, second))
        return result

    return answer(name, what, gated, *words)


def neighbors_in_turn(tCrC):
    """As if gate and up were neighbors."""
    pairs, atoms, (neighbors, rest) = tCrC.shape
    result = cute.make_rmem_tensor((pairs, atoms, (neighbors, rest // 2)), Float32)
    for n in range(cute.size(result)):
        g = tCrC[2 * n]
        result[n] = g / (Float32(1.0) + cute.math.exp(-g)) * tCrC[2 * n + 1]
    return result


GATES = [
    neighbors_in_turn,
    gating(
        "silu_doubled",
        "The mean of silu by tanh and by an exponential.",
        lambda gate, up: 0.5 * (silu(gate) + gate / (1.0 + cute.math.exp(-gate))) * up,
        "tanh/ex2",
    ),
    gating(
        "product_doubled",
        "The product in two orders.",
        lambda gate, up: 0.5 * (silu(gate) * up + up * gate * 0.5 * (1.0 + tanh(0.5 * gate))),
        "compute the same numbers",
    ),
    gating("exchanged", "Up gates.", lambda gate, up: silu(up) * gate),
    gating("sigmoid_alone", "GLU: no factor gate.", lambda gate, up: up * (0.5 + 0.5 * tanh(0.5 * gate))),
    gating("gelu_gate", "GeGLU.", lambda gate, up: gelu(gate) * up),
    gating("no_up", "Forgets up.", lambda gate, up: silu(gate)),
    gating("summed", "Adds.", lambda gate, up: silu(gate) + up),
    gating("silu_of_both", "Both through silu.", lambda gate, up: silu(gate) * silu(up)),
    gating("product_inside", "silu of the product.", lambda gate, up: silu(gate * up)),
    gating("rounds_gate", "Rounds in between.", lambda gate, up: rounds(silu(gate)) * up),
    gating(
        "large_overflows",
        "e^g / (1 + e^g).",
        lambda gate, up: gate * (cute.math.exp(gate) / (1.0 + cute.math.exp(gate))) * up,
        "nan",
    ),
]
