"""Wrong answers to notebook 09: a load with predicates, a fetch, a multiplication."""

from functools import partial

import cutlass
from cutlass import cute
from cutlass.cute.nvgpu import CopyUniversalOp

from tests.pages.change import derive, swap, without
from tutorlib.kernels.ampere import moves, thread_share

# 09.10 ----------------------------------------------------------------------------------------------------------

WHOLE = "    if path.places is None:\n        cute.copy(path.tiled_copy, source, target)\n        return\n"
INSIDE = "cute.elem_less(path.places[0, row, vector, k_tile], path.limit)"
COMMIT = "\n    cute.arch.cp_async_commit_group()"
WAIT = COMMIT + "\n    cute.arch.cp_async_wait_group(0)"
COPY = "    cute.copy(path.tiled_copy, source, target, pred=inside)"


loads = partial(derive, moves.load)


def the_course_s_load(path, k_tile, buffer):
    """Calls it."""
    moves.load(path, k_tile, buffer)


@cute.jit
def skips_what_is_outside(path, k_tile, buffer):
    """An `if` in place of a predicate: shared memory keeps what it had."""
    source, target = path.source[None, None, None, k_tile], path.target[None, None, None, buffer]
    if cutlass.const_expr(path.places is None):
        cute.copy(path.tiled_copy, source, target)
    else:
        for row in cutlass.range_constexpr(cute.size(target, mode=[1])):
            for vector in cutlass.range_constexpr(cute.size(target, mode=[2])):
                if cute.elem_less(path.places[0, row, vector, k_tile], path.limit):
                    cute.copy(path.tiled_copy, source[None, row, vector], target[None, row, vector])


def stores_zeros(path, k_tile, buffer):
    """Right, and stores zeros where cp.async has written zeros."""
    source, target = path.source[None, None, None, k_tile], path.target[None, None, None, buffer]
    if path.places is None:
        cute.copy(path.tiled_copy, source, target)
        return
    _, rows, vectors = (cute.size(target, mode=[mode]) for mode in range(3))
    inside, outside = (cute.make_rmem_tensor((1, rows, vectors), cutlass.Boolean) for _ in range(2))
    for row in range(rows):
        for vector in range(vectors):
            within = cute.elem_less(path.places[0, row, vector, k_tile], path.limit)
            inside[0, row, vector], outside[0, row, vector] = within, within ^ True
    zeros = cute.make_fragment_like(target)
    zeros.fill(0)
    cute.copy(path.tiled_copy, source, target, pred=inside)
    store = cute.make_copy_atom(CopyUniversalOp(), target.element_type, num_bits_per_copy=128)
    cute.copy(store, zeros, target, pred=outside)


LOADS = [
    loads(
        "unguarded",
        "Copies what is outside, too.",
        swap(
            WHOLE,
            WHOLE.replace("    if path.places is None:\n        ", "    ").replace("        return", "    return"),
        ),
    ),
    loads("rows_alone", "K is not compared.", swap(INSIDE, "path.places[0, row, vector, k_tile][0] < path.limit[0]")),
    loads(
        "columns_alone",
        "M and N are not compared.",
        swap(INSIDE, "path.places[0, row, vector, k_tile][1] < path.limit[1]"),
    ),
    loads(
        "first_k_tile_s_places", "Each K tile is judged by the first.", swap("row, vector, k_tile]", "row, vector, 0]")
    ),
    loads("first_row_for_all", "One row's place for all.", swap("[0, row, vector, k_tile]", "[0, 0, vector, k_tile]")),
    loads(
        "first_vector_for_all", "One vector's place for a row.", swap("[0, row, vector, k_tile]", "[0, row, 0, k_tile]")
    ),
    loads("limit_turned", "Rows against columns.", swap("path.limit)", "path.limit[::-1])")),
    loads("turned_round", "Copies where it is outside.", swap(INSIDE, INSIDE + " ^ True")),
    loads("all_inside", "A predicate that is always true.", swap(INSIDE, "True")),
    loads("always_the_first_buffer", "All tiles into one.", swap("None, buffer]", "None, 0]")),
    loads(
        "always_the_first_k_tile",
        "The same tile again and again.",
        swap("path.source[None, None, None, k_tile]", "path.source[None, None, None, 0]"),
    ),
    loads("backwards", "From shared memory to global.", swap("source, target, pred", "target, source, pred")),
    loads("never_copies", "Computes a predicate, and that is all.", without(COPY)),
    loads("always_compares", "Also where there is nothing to compare.", swap(WHOLE, "")),
    loads("waits_at_once", "Commits its copies and waits for them.", swap(COPY, COPY + WAIT)),
    loads("commits", "Commits a group, which is the loop's task.", swap(COPY, COPY + COMMIT)),
    skips_what_is_outside,
    stores_zeros,
    the_course_s_load,
]

# 09.11 ----------------------------------------------------------------------------------------------------------

BOTH = "    for r in (steps.rA, steps.rB):\n"
MEET = "    cute.arch.sync_threads()\n"
FROM, TO = "r.tXsX[None, None, k_block, buffer]", "r.tXrX[None, None, k_block]"


fetches = partial(derive, moves.fetch)


def the_course_s_fetch(steps, k_block, buffer):
    """Calls it."""
    thread_share.Steps.fetch(steps, k_block, buffer)


def one_copy_for_both(steps, k_block, buffer):
    """B's registers by A's ldmatrix."""
    for r in (steps.rA, steps.rB):
        cute.copy(steps.rA.s2r, r.tXsX[None, None, k_block, buffer], r.tXrX[None, None, k_block])


def every_k_block(steps, k_block, buffer):
    """All K blocks, each time that one is asked for."""
    for r in (steps.rA, steps.rB):
        for block in range(cute.size(r.tXrX, mode=[2])):
            cute.copy(r.s2r, r.tXsX[None, None, block, buffer], r.tXrX[None, None, block])


FETCHES = [
    fetches("a_alone", "Leaves B out.", swap(BOTH, "    for r in (steps.rA,):\n")),
    fetches("b_alone", "Leaves A out.", swap(BOTH, "    for r in (steps.rB,):\n")),
    fetches("always_the_first_buffer", "Does not ask for the buffer.", swap(FROM, FROM.replace("buffer", "0"))),
    fetches(
        "always_the_first_k_block", "K block 0, into the right registers.", swap(FROM, FROM.replace("k_block", "0"))
    ),
    fetches(
        "one_set_of_registers", "All K blocks into the first one's registers.", swap(TO, TO.replace("k_block", "0"))
    ),
    fetches("numbers_exchanged", "The buffer for the K block.", swap("k_block, buffer]", "buffer, k_block]")),
    fetches("the_mma_s_view", "Fills tCrX.", swap("r.tXrX", "r.tCrX")),
    fetches("backwards", "From registers to shared memory.", swap(f"{FROM}, {TO}", f"{TO}, {FROM}")),
    fetches("one_block_on", "The next block.", swap(FROM, FROM.replace("k_block", "(k_block + 1) % 4"))),
    fetches("without_ldmatrix", "Ordinary loads.", swap("cute.copy(r.s2r, ", "cute.autovec_copy(")),
    fetches("copies_nothing", "Slices, and no copy.", swap("cute.copy(r.s2r, ", "print(")),
    fetches("meets_the_others", "A barrier, which is the loop's task.", swap(BOTH, MEET + BOTH)),
    one_copy_for_both,
    every_k_block,
    the_course_s_fetch,
]

# 09.12 ----------------------------------------------------------------------------------------------------------

GEMM = "cute.gemm(steps.tiled_mma, steps.tCrC, a, b, steps.tCrC)"


products = partial(derive, moves.multiply)


def the_course_s_multiply(steps, k_block):
    """Calls it."""
    moves.multiply(steps, k_block)


def every_k_block_each_time(steps, k_block):
    """All K blocks, each time that one is asked for."""
    for block in range(cute.size(steps.rA.tCrX, mode=[2])):
        a, b = steps.rA.tCrX[None, None, block], steps.rB.tCrX[None, None, block]
        cute.gemm(steps.tiled_mma, steps.tCrC, a, b, steps.tCrC)


PRODUCTS = [
    products(
        "adds_to_zeros",
        "Each K block starts anew.",
        swap(
            GEMM,
            "zeros = cute.make_fragment_like(steps.tCrC)\n    zeros.fill(0.0)\n    cute.gemm(steps.tiled_mma, steps.tCrC, a, b, zeros)",
        ),
    ),
    products(
        "into_new_registers",
        "The sum is thrown away.",
        swap(GEMM, "cute.gemm(steps.tiled_mma, cute.make_fragment_like(steps.tCrC), a, b, steps.tCrC)"),
    ),
    products("operands_exchanged", "B · A.", swap("tCrC, a, b,", "tCrC, b, a,")),
    products("a_twice", "A · A.", swap("tCrC, a, b,", "tCrC, a, a,")),
    products(
        "always_the_first_k_block",
        "K block 0.",
        swap(
            "rA.tCrX[None, None, k_block], steps.rB.tCrX[None, None, k_block]",
            "rA.tCrX[None, None, 0], steps.rB.tCrX[None, None, 0]",
        ),
    ),
    products(
        "b_s_first_k_block",
        "B's block 0 for every block of A.",
        swap("rB.tCrX[None, None, k_block]", "rB.tCrX[None, None, 0]"),
    ),
    products("ldmatrix_s_view", "tXrX.", swap("rB.tCrX", "rB.tXrX")),
    products("ldmatrix_s_views", "tXrX of both.", swap("rA.tCrX", "rA.tXrX"), swap("rB.tCrX", "rB.tXrX")),
    products(
        "from_shared_memory",
        "As if mma.sync read its operands there.",
        swap("rA.tCrX[None, None, k_block]", "rA.tXsX[None, None, k_block, 0]"),
    ),
    products("twice", "Adds each product twice.", swap(GEMM, f"{GEMM}\n    {GEMM}")),
    products("multiplies_nothing", "Slices, and no product.", without(GEMM)),
    products("meets_the_others", "A barrier, which is the loop's task.", swap("    cute.gemm", MEET + "    cute.gemm")),
    products(
        "adds_by_itself",
        "The tensor cores add to zeros, and threads add that to the accumulators.",
        swap(
            GEMM,
            "product = cute.make_fragment_like(steps.tCrC)\n    product.fill(0.0)\n"
            "    cute.gemm(steps.tiled_mma, product, a, b, product)\n"
            "    steps.tCrC.store(steps.tCrC.load() + product.load())",
        ),
    ),
    every_k_block_each_time,
    the_course_s_multiply,
]

WRONG = {"09.10": LOADS, "09.11": FETCHES, "09.12": PRODUCTS}
