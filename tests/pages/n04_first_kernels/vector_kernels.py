"""More wrong answers to notebook 04: kernels."""

from tests.pages.change import swap, without_first
from tests.pages.n04_first_kernels.first_kernels import host, kernel

ADD = "c[i] = a[i] + b[i]"
INDEX = "i = my_element()"
GUARD = "if i < cute.size(c)"
GRID = "grid=(cute.size(c) // THREADS, 1, 1)"
PIECE = "if 4 * i < cute.size(x)"
BOTH = "if m < x.shape[0] and n < x.shape[1]"
TREE = "    for step in cutlass.range_constexpr(1, THREADS.bit_length()):\n        half = THREADS >> step"
TREE_BARRIER = "        cute.arch.sync_threads()\n"


MORE = {
    "04.4": [
        host(
            "04.4",
            "one_block_more",
            "Rounds up what is whole.",
            swap("// THREADS", "// THREADS + 1"),
            words=("lies outside",),
        ),
        host("04.4", "one_block_less", "Leaves out the last.", swap("// THREADS", "// THREADS - 1")),
        host(
            "04.4",
            "half_a_block",
            "64 threads a block.",
            swap("block=(THREADS,", "block=(THREADS // 2,"),
            words=("never wrote",),
        ),
        host("04.4", "two_blocks_in_one", "256 threads a block.", swap("block=(THREADS,", "block=(2 * THREADS,")),
        host(
            "04.4",
            "blocks_down",
            "The grid in y; all blocks have x = 0.",
            swap(GRID, "grid=(1, cute.size(c) // THREADS, 1)"),
        ),
        host(
            "04.4",
            "fractions_of_blocks",
            "Divides with /.",
            swap("// THREADS", "/ THREADS"),
            words=("cute.ceil_div(n, size)",),
        ),
        kernel(
            "04.4",
            "block_for_thread",
            "Thread and block exchanged.",
            swap(
                INDEX,
                "thread, _, _ = cute.arch.thread_idx()\n    "
                "block, _, _ = cute.arch.block_idx()\n    i = thread * THREADS + block",
            ),
        ),
        kernel(
            "04.4", "the_block_alone", "All threads of a block are one.", swap(INDEX, "i, _, _ = cute.arch.block_idx()")
        ),
        kernel("04.4", "the_second_direction", "thread_idx's y.", swap(INDEX, "_, i, _ = cute.arch.thread_idx()")),
        kernel(
            "04.4",
            "a_tuple_for_a_number",
            "Does not take the tuple apart.",
            swap(INDEX, "i = cute.arch.thread_idx()"),
            words=("that is a tuple of three",),
        ),
        kernel("04.4", "from_the_end", "Writes backwards.", swap("c[i] =", "c[cute.size(c) - 1 - i] =")),
        kernel("04.4", "multiplies", "a·b.", swap("a[i] + b[i]", "a[i] * b[i]")),
        kernel("04.4", "keeps_c", "Adds to what c held.", swap(ADD, "c[i] = c[i] + a[i] + b[i]")),
    ],
    "04.5": [
        kernel("04.5", "one_too_far", "<= for <.", swap(GUARD, "if i <= cute.size(c)"), words=("lies outside",)),
        kernel(
            "04.5",
            "guards_the_thread",
            "Asks about the thread, not the element.",
            swap(GUARD, "thread, _, _ = cute.arch.thread_idx()\n    if thread < cute.size(c)"),
        ),
        kernel(
            "04.5",
            "guards_whole_blocks",
            "Leaves out the rest.",
            swap(GUARD, "if i < cute.size(c) // THREADS * THREADS"),
        ),
        kernel("04.5", "the_other_side", "> for <.", swap(GUARD, "if i > cute.size(c)")),
        kernel(
            "04.5", "guards_by_the_length", "Python's len.", swap(GUARD, "if i < len(c)"), words=("`cute.size(x)`",)
        ),
        kernel(
            "04.5",
            "guards_by_the_shape",
            "A tuple is no number.",
            swap(GUARD, "if i < c.shape"),
            words=("A shape is a tuple",),
        ),
        kernel(
            "04.5",
            "decides_while_compiling",
            "const_expr.",
            swap(GUARD, "if cutlass.const_expr(i < cute.size(c))"),
            words=("a plain `if`",),
        ),
        kernel(
            "04.5",
            "clamps",
            "The threads without an element write the last one, all of them, of other numbers.",
            swap(GUARD, "if True"),
            swap(ADD, "c[min(i, cute.size(c) - 1)] = a[min(i, cute.size(c) - 1)]"),
        ),
        kernel("04.5", "subtracts_any", "a - b.", swap("a[i] + b[i]", "a[i] - b[i]")),
        host("04.5", "a_single_block", "One block for all.", swap("cute.ceil_div(cute.size(c), THREADS)", "1")),
        host(
            "04.5",
            "rounds_up_the_threads",
            "Too few blocks: ceil_div by 256.",
            swap("size(c), THREADS", "size(c), 2 * THREADS"),
        ),
        host(
            "04.5",
            "threads_for_blocks",
            "As many blocks as threads.",
            swap("cute.ceil_div(cute.size(c), THREADS)", "THREADS"),
        ),
    ],
    "04.6": [
        kernel("04.6", "leaks_a_quarter", "x / 4.", swap("0.125", "0.25")),
        kernel("04.6", "leaks_upwards", "-x / 8.", swap("0.125", "-0.125")),
        kernel("04.6", "leaks_everything", "Does nothing to x.", swap("four * 0.125", "four")),
        kernel(
            "04.6",
            "takes_the_first_piece",
            "All threads have piece 0.",
            swap("local_tile(x, (4,), (i,))", "local_tile(x, (4,), (0,))"),
        ),
        kernel(
            "04.6",
            "writes_the_first_piece",
            "All threads write piece 0.",
            swap("local_tile(y, (4,), (i,))", "local_tile(y, (4,), (0,))"),
        ),
        kernel(
            "04.6", "one_piece_on", "Off by one.", swap("local_tile(x, (4,), (i,))", "local_tile(x, (4,), (i + 1,))")
        ),
        kernel(
            "04.6",
            "pieces_of_pieces",
            "Multiplies the piece by four, as for elements.",
            swap("local_tile(x, (4,), (i,))", "local_tile(x, (4,), (4 * i,))"),
        ),
        kernel(
            "04.6",
            "an_int_beside_floats",
            "cute.where of two types.",
            swap("four * 0.125", "0"),
            words=("cute.full_like",),
        ),
        kernel(
            "04.6",
            "guards_too_little",
            "One piece beyond the end.",
            swap(PIECE, "if 4 * i <= cute.size(x)"),
            words=("lies outside",),
        ),
        kernel("04.6", "guards_too_much", "Leaves out the last piece.", swap(PIECE, "if 4 * i + 4 < cute.size(x)")),
        kernel(
            "04.6",
            "pieces_of_two",
            "Two elements a thread.",
            swap("(4,), (i,)", "(2,), (i,)", times=2),
            words=("ld.global.v4",),
        ),
        host("04.6", "too_few_blocks", "Counts a thread as eight elements.", swap("4 * THREADS", "8 * THREADS")),
        kernel(
            "04.6",
            "assigns_into_a_value",
            "A TensorSSA never changes.",
            swap("leaked = cute.where(four > 0, four, four * 0.125)", "leaked = four\n        leaked[0] = 0.0"),
        ),
    ],
    "04.7": [
        kernel("04.7", "one_guard", "Asks about the row alone.", swap(BOTH, "if m < x.shape[0]")),
        kernel("04.7", "the_other_guard", "Asks about the column alone.", swap(BOTH, "if n < x.shape[1]")),
        kernel("04.7", "guards_exchanged", "Rows against columns.", swap(BOTH, "if m < x.shape[1] and n < x.shape[0]")),
        kernel("04.7", "no_guard", "None at all.", swap(BOTH, "if True"), words=("lies outside",)),
        kernel("04.7", "or_for_and", "Either will do.", swap(" and ", " or ")),
        kernel("04.7", "bias_of_rows", "bias[m].", swap("bias[n]", "bias[m]")),
        kernel(
            "04.7",
            "blocks_exchanged",
            "The block's row for its column.",
            swap("block_across, block_down, _", "block_down, block_across, _"),
        ),
        kernel(
            "04.7", "square_blocks", "32 rows in a block of 8.", swap("block_down * BLOCK[1]", "block_down * BLOCK[0]")
        ),
        kernel("04.7", "transposes", "y[n, m].", swap("y[m, n]", "y[n, m]")),
        kernel("04.7", "forgets_the_bias", "y = x.", swap(" + bias[n]", "")),
        kernel("04.7", "the_first_row", "x[0, n].", swap("x[m, n] +", "x[0, n] +")),
        kernel(
            "04.7",
            "the_block_alone_2d",
            "Forgets the threads of a direction.",
            swap("block_down * BLOCK[1] + down", "block_down * BLOCK[1]"),
        ),
        kernel("04.7", "one_index", "x[n].", swap("x[m, n] +", "x[n] +")),
        host(
            "04.7",
            "grid_down_first",
            "(down, across).",
            swap(
                "(cute.ceil_div(columns, BLOCK[0]), cute.ceil_div(rows, BLOCK[1]), 1)",
                "(cute.ceil_div(rows, BLOCK[1]), cute.ceil_div(columns, BLOCK[0]), 1)",
            ),
        ),
        host(
            "04.7",
            "rounds_down_2d",
            "Whole blocks only.",
            swap("cute.ceil_div(columns, BLOCK[0])", "columns // BLOCK[0]"),
        ),
        host("04.7", "blocks_of_one_direction", "A block of 256 in x.", swap("block=BLOCK", "block=(256, 1, 1)")),
    ],
    "04.8": [
        kernel(
            "04.8",
            "thread_0_alone",
            "After the barrier one thread looks at all.",
            swap(
                TREE
                + "\n        if thread < half:\n            partial[thread] = max(partial[thread], partial[thread + half])\n        cute.arch.sync_threads()\n    if thread == 0:\n",
                "    if thread == 0:\n        for n in cutlass.range(1, THREADS):\n            partial[0] = max(partial[0], partial[n])\n",
            ),
        ),
        kernel(
            "04.8", "starts_from_zero", "A row of negative numbers.", swap("-cutlass.Float32.inf", "cutlass.Float32(0)")
        ),
        kernel(
            "04.8",
            "starts_from_an_int",
            "0 is an Int32.",
            swap("-cutlass.Float32.inf", "0"),
            words=("Begin with the type that it keeps",),
        ),
        kernel(
            "04.8",
            "no_first_barrier",
            "Reads what others may not have written yet.",
            without_first("sync_threads()"),
            words=("with no barrier between",),
        ),
        kernel("04.8", "no_barrier_in_the_tree", "The first alone.", swap(TREE_BARRIER, "")),
        kernel(
            "04.8",
            "barrier_in_the_branch",
            "Half of the threads wait for the others, who never come.",
            swap(TREE_BARRIER, "            cute.arch.sync_threads()\n"),
            words=("would hang",),
        ),
        kernel(
            "04.8", "one_step_less", "Leaves two numbers.", swap("THREADS.bit_length())", "THREADS.bit_length() - 1)")
        ),
        kernel(
            "04.8",
            "begins_with_a_quarter",
            "Leaves out the upper half.",
            swap("range_constexpr(1,", "range_constexpr(2,"),
        ),
        kernel(
            "04.8",
            "the_first_128",
            "No loop over the row.",
            swap("range(thread, x.shape[1], THREADS)", "range(thread, min(x.shape[1], THREADS), THREADS)"),
        ),
        kernel(
            "04.8", "a_part_of_the_row", "Begins one round late.", swap("range(thread, x", "range(thread + THREADS, x")
        ),
        kernel(
            "04.8",
            "reads_past_the_row",
            "Rounds the row up.",
            swap(
                "range(thread, x.shape[1], THREADS)",
                "range(thread, cute.ceil_div(x.shape[1], THREADS) * THREADS, THREADS)",
            ),
        ),
        kernel("04.8", "smallest", "min for max.", swap("max(largest, x[row, n])", "min(largest, x[row, n])")),
        kernel(
            "04.8",
            "adds_up",
            "A sum.",
            swap("max(partial[thread], partial[thread + half])", "partial[thread] + partial[thread + half]"),
        ),
        kernel(
            "04.8", "takes_the_neighbor", "partial[thread + 1].", swap("partial[thread + half]", "partial[thread + 1]")
        ),
        kernel(
            "04.8",
            "everybody_writes",
            "Each thread stores its own number.",
            swap("if thread == 0", "if thread >= 0"),
            swap("= partial[0]", "= partial[thread]"),
        ),
        kernel("04.8", "of_the_first_row", "Every block has row 0.", swap("x[row, n]", "x[0, n]")),
        kernel("04.8", "each_alone", "Nobody combines anything.", swap("partial[0]", "largest")),
        kernel(
            "04.8",
            "unrolls_the_row",
            "range_constexpr with a thread's number.",
            swap("for n in range(", "for n in cutlass.range_constexpr("),
            words=("use `range`",),
        ),
    ],
}
