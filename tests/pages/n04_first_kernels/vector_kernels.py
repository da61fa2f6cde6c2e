"""More wrong answers to notebook 04: kernels."""

from tests.pages.change import derive, swap, without_first
from tests.pages.n04_first_kernels.first_kernels import SOLVED, add, add_any, add_bias, leaky_relu, row_max

ADD = "c[i] = a[i] + b[i]"
INDEX = "i = my_element()"
GUARD = "if i < cute.size(c)"
GRID = "grid=(cute.size(c) // THREADS, 1, 1)"
PIECE = "if 4 * i < cute.size(x)"
BOTH = "if m < x.shape[0] and n < x.shape[1]"
HALF_OF_THE_THREADS = """\
    thread, _, _ = cute.arch.thread_idx()
    block, _, _ = cute.arch.block_idx()
    if thread < THREADS // 2:
        for n in cutlass.range_constexpr(2):
            i = block * THREADS + thread + n * (THREADS // 2)
            GUARDED"""
TREE = "    for step in cutlass.range_constexpr(1, THREADS.bit_length()):\n        half = THREADS >> step"
TREE_BARRIER = "        cute.arch.sync_threads()\n"


MORE = {
    "04.4": [
        derive(
            SOLVED["04.4"],
            "one_block_more",
            "Rounds up what is whole.",
            swap("// THREADS", "// THREADS + 1"),
            words=("lies outside",),
        ),
        derive(SOLVED["04.4"], "one_block_less", "Leaves out the last.", swap("// THREADS", "// THREADS - 1")),
        derive(
            SOLVED["04.4"],
            "half_a_block",
            "64 threads a block.",
            swap("block=(THREADS,", "block=(THREADS // 2,"),
            words=("never wrote",),
        ),
        derive(
            SOLVED["04.4"], "two_blocks_in_one", "256 threads a block.", swap("block=(THREADS,", "block=(2 * THREADS,")
        ),
        derive(
            SOLVED["04.4"],
            "blocks_down",
            "The grid in y; all blocks have x = 0.",
            swap(GRID, "grid=(1, cute.size(c) // THREADS, 1)"),
        ),
        derive(
            SOLVED["04.4"],
            "fractions_of_blocks",
            "Divides with /.",
            swap("// THREADS", "/ THREADS"),
            words=("cute.ceil_div(n, size)",),
        ),
        add(
            "block_for_thread",
            "Thread and block exchanged.",
            swap(
                INDEX,
                "thread, _, _ = cute.arch.thread_idx()\n    "
                "block, _, _ = cute.arch.block_idx()\n    i = thread * THREADS + block",
            ),
        ),
        add("the_block_alone", "All threads of a block are one.", swap(INDEX, "i, _, _ = cute.arch.block_idx()")),
        add("the_second_direction", "thread_idx's y.", swap(INDEX, "_, i, _ = cute.arch.thread_idx()")),
        add(
            "a_tuple_for_a_number",
            "Does not take the tuple apart.",
            swap(INDEX, "i = cute.arch.thread_idx()"),
            words=("that is a tuple of three",),
        ),
        add(
            "in_two_stores",
            "Stores a, then the sum.",
            swap(ADD, "c[i] = a[i]\n    c[i] = c[i] + b[i]"),
            words=("256 st.global instructions; 128 are enough",),
        ),
        add(
            "every_block_adds_all",
            "Coalesced, and every block does all of the work.",
            swap(INDEX, "thread, _, _ = cute.arch.thread_idx()"),
            swap(ADD, f"for i in range(thread, cute.size(c), THREADS):\n        {ADD}"),
            words=("stores too",),
        ),
        add(
            "needless_barrier",
            "Waits for the threads of its block, of which it needs none.",
            swap(ADD, f"{ADD}\n    cute.arch.sync_threads()"),
            words=("bar.sync/st.shared instructions; 0 are enough",),
        ),
        add(
            "there_and_back",
            "Doubles the sum, and halves it.",
            swap(ADD, "c[i] = (a[i] + b[i]) * 2.0 * 0.5"),
            words=("instructions; 128 are enough",),
        ),
        add(
            "half_of_the_threads",
            "64 of a block's threads add two elements each.",
            swap(f"    {INDEX}\n    {ADD}", HALF_OF_THE_THREADS.replace("GUARDED", ADD)),
            words=("64 of its 128 warps do all of the work",),
        ),
        add("from_the_end", "Writes backwards.", swap("c[i] =", "c[cute.size(c) - 1 - i] =")),
        add("multiplies", "a·b.", swap("a[i] + b[i]", "a[i] * b[i]")),
        add("keeps_c", "Adds to what c held.", swap(ADD, "c[i] = c[i] + a[i] + b[i]")),
    ],
    "04.5": [
        add_any(
            "half_of_the_threads",
            "64 of a block's threads add two elements each.",
            swap(
                f"    {INDEX}\n    {GUARD}:\n        {ADD}",
                HALF_OF_THE_THREADS.replace("GUARDED", f"{GUARD}:\n                {ADD}"),
            ),
            words=("15 of its 32 warps do all of the work",),
        ),
        add_any(
            "needless_barrier",
            "A barrier after the guarded line.",
            swap(f"        {ADD}", f"        {ADD}\n    cute.arch.sync_threads()"),
            words=("bar.sync/st.shared instructions; 0 are enough",),
        ),
        add_any("one_too_far", "<= for <.", swap(GUARD, "if i <= cute.size(c)"), words=("lies outside",)),
        add_any(
            "guards_the_thread",
            "Asks about the thread, not the element.",
            swap(GUARD, "thread, _, _ = cute.arch.thread_idx()\n    if thread < cute.size(c)"),
        ),
        add_any("guards_whole_blocks", "Leaves out the rest.", swap(GUARD, "if i < cute.size(c) // THREADS * THREADS")),
        add_any("the_other_side", "> for <.", swap(GUARD, "if i > cute.size(c)")),
        add_any("guards_by_the_length", "Python's len.", swap(GUARD, "if i < len(c)"), words=("`cute.size(x)`",)),
        add_any(
            "guards_by_the_shape", "A tuple is no number.", swap(GUARD, "if i < c.shape"), words=("A shape is a tuple",)
        ),
        add_any(
            "decides_while_compiling",
            "const_expr.",
            swap(GUARD, "if cutlass.const_expr(i < cute.size(c))"),
            words=("a plain `if`",),
        ),
        add_any(
            "clamps",
            "The threads without an element write the last one, all of them, of other numbers.",
            swap(GUARD, "if True"),
            swap(ADD, "c[min(i, cute.size(c) - 1)] = a[min(i, cute.size(c) - 1)]"),
        ),
        add_any(
            "clamps_both",
            "No predicate: the threads without an element all compute the last one.",
            swap(f"    {GUARD}:\n        {ADD}", f"    i = min(i, cute.size(c) - 1)\n    {ADD}"),
            words=("32 st.global instructions; 29 are enough",),
        ),
        derive(
            add_any(
                "workers",
                "A loop over elements a grid apart.",
                swap(f"    {GUARD}:\n", "    for i in range(i, cute.size(c), 2 * THREADS):\n"),
            ),
            "two_workers",
            "Two blocks, whatever the size.",
            swap("cute.ceil_div(cute.size(c), THREADS)", "2"),
            words=("most SMs are idle",),
        ),
        add_any("subtracts_any", "a - b.", swap("a[i] + b[i]", "a[i] - b[i]")),
        derive(
            SOLVED["04.5"], "a_single_block", "One block for all.", swap("cute.ceil_div(cute.size(c), THREADS)", "1")
        ),
        derive(
            SOLVED["04.5"],
            "rounds_up_the_threads",
            "Too few blocks: ceil_div by 256.",
            swap("size(c), THREADS", "size(c), 2 * THREADS"),
        ),
        derive(
            SOLVED["04.5"],
            "threads_for_blocks",
            "As many blocks as threads.",
            swap("cute.ceil_div(cute.size(c), THREADS)", "THREADS"),
        ),
    ],
    "04.6": [
        leaky_relu("leaks_a_quarter", "x / 4.", swap("0.125", "0.25")),
        leaky_relu("leaks_upwards", "-x / 8.", swap("0.125", "-0.125")),
        leaky_relu("leaks_everything", "Does nothing to x.", swap("four * 0.125", "four")),
        leaky_relu(
            "takes_the_first_piece",
            "All threads have piece 0.",
            swap("local_tile(x, (4,), (i,))", "local_tile(x, (4,), (0,))"),
        ),
        leaky_relu(
            "writes_the_first_piece",
            "All threads write piece 0.",
            swap("local_tile(y, (4,), (i,))", "local_tile(y, (4,), (0,))"),
        ),
        leaky_relu("one_piece_on", "Off by one.", swap("local_tile(x, (4,), (i,))", "local_tile(x, (4,), (i + 1,))")),
        leaky_relu(
            "pieces_of_pieces",
            "Multiplies the piece by four, as for elements.",
            swap("local_tile(x, (4,), (i,))", "local_tile(x, (4,), (4 * i,))"),
        ),
        leaky_relu(
            "an_int_beside_floats", "cute.where of two types.", swap("four * 0.125", "0"), words=("cute.full_like",)
        ),
        leaky_relu(
            "guards_too_little",
            "One piece beyond the end.",
            swap(PIECE, "if 4 * i <= cute.size(x)"),
            words=("lies outside",),
        ),
        leaky_relu(
            "leaks_in_memory",
            "Stores x / 8 everywhere, reads it again and stores the rest.",
            swap(
                "cute.local_tile(y, (4,), (i,)).store(leaked)",
                "mine, again = cute.local_tile(y, (4,), (i,)), cute.local_tile(x, (4,), (i,))\n        "
                "mine.store(four * 0.125)\n        mine.store(cute.where(again.load() > 0, again.load(), mine.load()))",
            ),
            words=("are enough",),
        ),
        leaky_relu("guards_too_much", "Leaves out the last piece.", swap(PIECE, "if 4 * i + 4 < cute.size(x)")),
        leaky_relu(
            "pieces_of_two",
            "Two elements a thread.",
            swap("(4,), (i,)", "(2,), (i,)", times=2),
            words=("ld.global.v4",),
        ),
        derive(
            SOLVED["04.6"], "too_few_blocks", "Counts a thread as eight elements.", swap("4 * THREADS", "8 * THREADS")
        ),
        leaky_relu(
            "assigns_into_a_value",
            "A TensorSSA never changes.",
            swap("leaked = cute.where(four > 0, four, four * 0.125)", "leaked = four\n        leaked[0] = 0.0"),
        ),
    ],
    "04.7": [
        add_bias("one_guard", "Asks about the row alone.", swap(BOTH, "if m < x.shape[0]")),
        add_bias("the_other_guard", "Asks about the column alone.", swap(BOTH, "if n < x.shape[1]")),
        add_bias("guards_exchanged", "Rows against columns.", swap(BOTH, "if m < x.shape[1] and n < x.shape[0]")),
        add_bias("no_guard", "None at all.", swap(BOTH, "if True"), words=("lies outside",)),
        add_bias("or_for_and", "Either will do.", swap(" and ", " or ")),
        add_bias("bias_of_rows", "bias[m].", swap("bias[n]", "bias[m]")),
        add_bias(
            "blocks_exchanged",
            "The block's row for its column.",
            swap("block_across, block_down, _", "block_down, block_across, _"),
        ),
        add_bias("square_blocks", "32 rows in a block of 8.", swap("block_down * BLOCK[1]", "block_down * BLOCK[0]")),
        add_bias("transposes", "y[n, m].", swap("y[m, n]", "y[n, m]")),
        add_bias("forgets_the_bias", "y = x.", swap(" + bias[n]", "")),
        add_bias("the_first_row", "x[0, n].", swap("x[m, n] +", "x[0, n] +")),
        add_bias(
            "the_block_alone_2d",
            "Forgets the threads of a direction.",
            swap("block_down * BLOCK[1] + down", "block_down * BLOCK[1]"),
        ),
        add_bias("one_index", "x[n].", swap("x[m, n] +", "x[n] +")),
        derive(
            SOLVED["04.7"],
            "grid_down_first",
            "(down, across).",
            swap(
                "(cute.ceil_div(columns, BLOCK[0]), cute.ceil_div(rows, BLOCK[1]), 1)",
                "(cute.ceil_div(rows, BLOCK[1]), cute.ceil_div(columns, BLOCK[0]), 1)",
            ),
        ),
        derive(
            SOLVED["04.7"],
            "rounds_down_2d",
            "Whole blocks only.",
            swap("cute.ceil_div(columns, BLOCK[0])", "columns // BLOCK[0]"),
        ),
        derive(
            add_bias(
                "by_division",
                "One number for each thread, taken apart.",
                swap("across, down, _ =", "thread, _, _ ="),
                swap("block_across, block_down, _ =", "block, _, _ ="),
                swap("m = block_down * BLOCK[1] + down", "m = (block * 256 + thread) // x.shape[1]"),
                swap("n = block_across * BLOCK[0] + across", "n = (block * 256 + thread) % x.shape[1]"),
            ),
            "a_launch_of_one_direction",
            "A row of blocks of 256 threads.",
            swap("grid=grid, block=BLOCK", "grid=(cute.ceil_div(cute.size(x), 256), 1, 1), block=(256, 1, 1)"),
            words=("without what the exercise is about", "8 rows of 32 columns"),
        ),
        add_bias(
            "clamps_the_row",
            "The threads below the last row all compute it.",
            swap(f"    {BOTH}", "    m = min(m, x.shape[0] - 1)\n    if n < x.shape[1]"),
            words=("at 5×100 its warps issue 32 st.global instructions; 20 are enough",),
        ),
        derive(
            add_bias(
                "walks_down",
                "Each thread has the eight rows of the block.",
                swap(
                    f"    m = block_down * BLOCK[1] + down\n    n = block_across * BLOCK[0] + across\n    {BOTH}:\n        ",
                    "    n = block_across * BLOCK[0] + across\n    for k in range(BLOCK[1]):\n"
                    f"        m = block_down * BLOCK[1] + k\n        {BOTH}:\n            ",
                ),
            ),
            "blocks_of_one_warp",
            "Blocks of 32 threads, with eight elements each.",
            swap("block=BLOCK", "block=(32, 1, 1)"),
            words=("16 warps do all of the work; a kernel that does as asked has 128",),
        ),
        derive(
            SOLVED["04.7"], "blocks_of_one_direction", "A block of 256 in x.", swap("block=BLOCK", "block=(256, 1, 1)")
        ),
    ],
    "04.8": [
        row_max(
            "half_of_the_threads",
            "64 of the threads visit all elements.",
            swap(
                "    for n in range(thread, x.shape[1], THREADS):\n        largest",
                "    for n in range(thread, x.shape[1] if thread < THREADS // 2 else 0, THREADS // 2):\n        largest",
            ),
            words=("10 of its 20 warps do all of the work",),
        ),
        row_max(
            "thread_0_alone",
            "After the barrier one thread looks at all.",
            swap(
                TREE
                + "\n        if thread < half:\n            partial[thread] = max(partial[thread], partial[thread + half])\n        cute.arch.sync_threads()\n    if thread == 0:\n",
                "    if thread == 0:\n        for n in cutlass.range(1, THREADS):\n            partial[0] = max(partial[0], partial[n])\n",
            ),
        ),
        row_max(
            "no_tree",
            "After the barrier one thread reads all, unrolled: four numbers with each load.",
            swap(
                TREE
                + "\n        if thread < half:\n            partial[thread] = max(partial[thread], partial[thread + half])\n        cute.arch.sync_threads()\n    if thread == 0:\n        maxima[row] = partial[0]",
                "    best = partial[0]\n    for n in cutlass.range_constexpr(1, THREADS):\n        best = max(best, partial[n])\n    if thread == 0:\n        maxima[row] = best",
            ),
            words=("4,500 are enough",),
        ),
        row_max(
            "looks_twice",
            "Goes through the row a second time.",
            swap(
                "    partial[thread] = largest\n",
                "    for n in range(thread, x.shape[1], THREADS):\n        largest = max(largest, x[row, n])\n"
                "    partial[thread] = largest\n",
            ),
            words=("320 ld.global instructions",),
        ),
        row_max(
            "all_store_the_maximum",
            "128 threads store the same number.",
            swap("if thread == 0", "if thread >= 0"),
            words=("20 st.global instructions; 5 are enough",),
        ),
        row_max(
            "starts_from_a_float",
            "The lowest finite number, and rows of -inf.",
            swap("-cutlass.Float32.inf", "cutlass.Float32(-3.4e38)"),
            words=("should be -inf",),
        ),
        row_max(
            "threads_far_apart",
            "A tree with strides between its threads: bank conflicts.",
            swap(
                TREE,
                "    for step in cutlass.range_constexpr(1, THREADS.bit_length()):\n        half = 1 << (step - 1)",
            ),
            swap("if thread < half:", "if thread < (THREADS >> step):\n            i = 2 * half * thread"),
            swap(
                "partial[thread] = max(partial[thread], partial[thread + half])",
                "partial[i] = max(partial[i], partial[i + half])",
            ),
            words=("threads meet in a bank",),
        ),
        row_max("starts_from_zero", "A row of negative numbers.", swap("-cutlass.Float32.inf", "cutlass.Float32(0)")),
        row_max(
            "starts_from_an_int",
            "0 is an Int32.",
            swap("-cutlass.Float32.inf", "0"),
            words=("Begin with the type that it keeps",),
        ),
        row_max(
            "no_first_barrier",
            "Reads what others may not have written yet.",
            without_first("sync_threads()"),
            words=("with no barrier between",),
        ),
        row_max("no_barrier_in_the_tree", "The first alone.", swap(TREE_BARRIER, "")),
        row_max(
            "barrier_in_the_branch",
            "Half of the threads wait for the others, who never come.",
            swap(TREE_BARRIER, "            cute.arch.sync_threads()\n"),
            words=("would hang",),
        ),
        row_max("one_step_less", "Leaves two numbers.", swap("THREADS.bit_length())", "THREADS.bit_length() - 1)")),
        row_max(
            "begins_with_a_quarter", "Leaves out the upper half.", swap("range_constexpr(1,", "range_constexpr(2,")
        ),
        row_max(
            "the_first_128",
            "No loop over the row.",
            swap("range(thread, x.shape[1], THREADS)", "range(thread, min(x.shape[1], THREADS), THREADS)"),
        ),
        row_max("a_part_of_the_row", "Begins one round late.", swap("range(thread, x", "range(thread + THREADS, x")),
        row_max(
            "reads_past_the_row",
            "Rounds the row up.",
            swap(
                "range(thread, x.shape[1], THREADS)",
                "range(thread, cute.ceil_div(x.shape[1], THREADS) * THREADS, THREADS)",
            ),
        ),
        row_max("smallest", "min for max.", swap("max(largest, x[row, n])", "min(largest, x[row, n])")),
        row_max(
            "adds_up",
            "A sum.",
            swap("max(partial[thread], partial[thread + half])", "partial[thread] + partial[thread + half]"),
        ),
        row_max("takes_the_neighbor", "partial[thread + 1].", swap("partial[thread + half]", "partial[thread + 1]")),
        row_max(
            "everybody_writes",
            "Each thread stores its own number.",
            swap("if thread == 0", "if thread >= 0"),
            swap("= partial[0]", "= partial[thread]"),
        ),
        row_max("of_the_first_row", "Every block has row 0.", swap("x[row, n]", "x[0, n]")),
        row_max("each_alone", "Nobody combines anything.", swap("partial[0]", "largest")),
        row_max(
            "unrolls_the_row",
            "range_constexpr with a thread's number.",
            swap("for n in range(", "for n in cutlass.range_constexpr("),
            words=("use `range`",),
        ),
    ],
}
