"""Unusual right answers to notebook 18."""

import numpy as np

from tests.pages.n18_bug_hunt.hunting import (
    FENCE,
    ORDERED,
    PADDED,
    READ,
    STORED,
    TICKET,
    diagnosed,
    diagnosis,
    fix,
    fixed,
)

A_TILE, B_TILE = (f"(T{side}, TK), padding_mode=ZERO).astype(ct.tfloat32)" for side in "MN")
TREE = """        if t < half:
            largest[t] = cute.arch.fmax(largest[t], largest[t + half])
            cute.arch.sync_threads()
"""
BUTTERFLY = """        other = largest[t ^ half]
        cute.arch.sync_threads()
        largest[t] = cute.arch.fmax(largest[t], other)
        cute.arch.sync_threads()
"""
OWN_VALUE = """        other = largest[t + half] if t < half else largest[t]
        cute.arch.sync_threads()
        if t < half:
            mine = cute.arch.fmax(mine, other)
            largest[t] = mine
        cute.arch.sync_threads()
"""
COPY = """        if coming < count:
            cute.copy(load, gP[0, None, coming], ring[None, t, coming % STAGES])
            cute.arch.cp_async_commit_group()
        cute.arch.cp_async_wait_group(STAGES - 1)
"""
EVERY_STEP = COPY.replace("    cute.arch.cp_async_commit", "cute.arch.cp_async_commit")
STORES = """  for (int i = threadIdx.x; i < T * T / 2; i += THREADS) {
    const int y = i / (T / 2), x = i % (T / 2) * 2;
"""
OWN_STORES = """  for (int i = threadIdx.x % 32; i < W * W / 2; i += 32) {
    const int y = down + i / (W / 2), x = across + i % (W / 2) * 2;
"""

DIAGNOSES = {
    "linear": (
        diagnosis(
            "one_weight",
            "an input of its own, with a single weight that is not 0; the line by its number",
            22,
            "majors swapped",
            (32, 32, 32),
            np.ones((32, 32)).cumsum(1),
            np.roll(np.eye(32), 1, 0),
            np.zeros(32),
        ),
        diagnosis("at_the_load", "the load's line, at sizes that no tile divides", "tile_w = ct.load(", "majors swapped", (1, 2, 3)),
        diagnosis("numpys_numbers", "the shape as NumPy's integers", 21, "majors swapped", tuple(np.array([5, 70, 9]))),
    ),
    "sgemm": (
        diagnosis("of_b", "b's line, with spaces of its own", "sB[y][x]  =  b_row < n ?", "unguarded tail", (1, 2, 17)),
        diagnosis("ones", "data of ones: the next row is added", 13, "unguarded tail", (2, 2, 1), np.ones((2, 1)), np.ones((2, 1))),
        diagnosis("as_a_list", "the shape as a list", 14, "unguarded tail", [3, 3, 15]),
    ),
    "histogram": (
        diagnosis("bright_pixels", "a launch of one warp, and a part of the line", "mine[t] = 0", "uninitialized", (1, 4, 32), np.full((1, 4), 255)),
        diagnosis("dark_pixels", "bins that nothing is counted in are wrong, too", 11, "uninitialized", (1, 4, 224), np.zeros((1, 4), int)),
        diagnosis("the_whole_line", "as it stands there, indented", "  if (t < BINS) mine[t] = 0;", "uninitialized", (2, 8, 160)),
    ),
    "matmul_fp32": (
        diagnosis("of_b", "b's line", "tile_b = ct.load(", "inputs rounded", (1, 1, 1), np.array([[1 + 2.0**-12]]), np.ones((1, 1))),
        diagnosis("large_integers", "integers of more than eleven bits", 15, "inputs rounded", (1, 1, 1), np.array([[2049]]), np.array([[1]])),
        diagnosis("random", "two steps along K, random", 16, "inputs rounded", (3, 5, 40)),
    ),
    "largest": (
        diagnosis("the_branch", "the branch's line, one element", "if t < half:", "barrier in a branch", (1, 1)),
        diagnosis("the_turns", "a row in which all is alike: the result is right", 26, "barrier in a branch", (1, 128), np.ones((1, 128))),
        diagnosis("two_rows", "two rows with tails", 24, "barrier in a branch", (2, 129)),
    ),
    "gemv": (
        diagnosis("the_fetch", "where the other stage is filled", "fetch(step + 1, stage ^ 1)", "wrong stage", (4, 384)),
        diagnosis("the_read", "where it is read; ones and a ramp", "sum += sX", "wrong stage", (1, 256), np.ones((1, 256)), np.arange(256.0)),
        diagnosis("the_loop", "where the step goes on, and the stage could", "for (int step = 0;", "wrong stage", (2, 512)),
    ),
    "sum_parts": (
        diagnosis("two_parts", "two parts, the branch's line", "if coming < count:", "copy not waited for", (2, 256)),
        diagnosis("the_commit", "the commit's line by its number; zeros", 33, "copy not waited for", (1, 256), np.zeros((1, 256))),
        diagnosis("many", "more parts than stages", "cp_async_wait_group(", "copy not waited for", (7, 512)),
    ),
    "tile_gemm": (
        diagnosis("the_write", "the writes that are read too early", "wmma::store_matrix_sync(", "read too early", (32, 32, 32)),
        diagnosis("the_read", "the read, one tile", "const __nv_bfloat162 pair", "read too early", (32, 32, 16)),
        diagnosis("of_zeros", "zeros: the result is right, and the order is not", 26, "read too early", (32, 64, 16), np.zeros((32, 16)), np.zeros((64, 16))),
    ),
    "rms_norm": (
        diagnosis("before_the_write", "the line before the write, where a barrier would do as well", "squares = warp_sum(squares);", "overwritten too early", (5, 1)),
        diagnosis("after_the_read", "the line behind the read", "const float scale", "overwritten too early", (8, 33)),
        diagnosis("the_stores", "the row's last line", "out[i] = in[i] * scale;", "overwritten too early", (9, 128)),
    ),
    "stream": (
        diagnosis("three_tiles", "by its number; three tiles", 41, "wrong phase", (48, 64)),
        diagnosis("a_ramp", "a part of the line; data in order", "tile % 2)", "wrong phase", (32, 64), np.arange(2048.0).reshape(32, 64)),
        diagnosis("two_columns", "two blocks of two tiles", "mbarrier_wait(full + stage", "wrong phase", (32, 128)),
    ),
    "scale_rows": (
        diagnosis("the_layout", "where the number is used", "layout = cute.make_layout(", "lost divisibility", (1, 4)),
        diagnosis("by_number", "its number", 27, "lost divisibility", (3, 256)),
        diagnosis("in_part", "a part of the line", "cutlass.Int64(", "lost divisibility", (2, 12)),
    ),
    "row_sums": (
        diagnosis("the_tile", "the tile's line", "float tile[ROWS][PITCH];", "misaligned", (2, 32)),
        diagnosis("the_copy", "the copy's line", "__pipeline_memcpy_async(", "misaligned", (3, 96)),
        diagnosis("by_number", "its number, more than a block's rows", 4, "misaligned", (65, 32)),
    ),
    "channels_last": (
        diagnosis("the_read", "where they meet", "= tile[t][r];", "bank conflicts", (32, 1)),
        diagnosis("two_channels", "two channels are enough", "tile[T][T];", "bank conflicts", (2, 32)),
        diagnosis("by_number", "its number, tails on both sides", 6, "bank conflicts", (33, 40)),
    ),
    "column_sums": (
        diagnosis("the_store", "the store of the partial sums, one row", "partial[slice][column] = sum;", "blocks not ordered", (1, 128)),
        diagnosis("the_load", "their load; zeros", "sum += partial[other][column];", "blocks not ordered", (4, 128), np.zeros((4, 128))),
        diagnosis("the_barrier", "the barrier before the counter, by its number", 15, "blocks not ordered", (5, 256)),
    ),
    "softmax": (
        diagnosis("one_number", "a row of one number", "return of_warp(", "wrong identity", (1, 1), np.array([[-200.0]])),
        diagnosis("masked", "a row that is masked throughout; the line by its number", 17, "wrong identity", (2, 40), np.full((2, 40), -1e4)),
        diagnosis("the_call", "where the maximum is asked for", "of_block(top, Max(), tops)", "wrong identity", (1, 3), np.array([[-104.0, -300.0, -110.0]])),
    ),
}  # fmt: skip
FIXES = {
    "linear": (
        fix(
            "loaded_in_the_other_order",
            "the load itself exchanges the modes",
            (
                "ct.load(w, (column, step), (T, T), padding_mode=ZERO)",
                "ct.load(w, (step, column), (T, T), order=(1, 0), padding_mode=ZERO)",
            ),
        ),
        fix("permuted", "the general form of a transposition", ("ct.mma(tile_x, tile_w, sums)", "ct.mma(tile_x, ct.permute(tile_w, (1, 0)), sums)")),
        fix(
            "the_other_way_round",
            "sums of w times x transposed, turned at the end",
            ("ct.mma(tile_x, tile_w, sums)", "ct.mma(tile_w, ct.transpose(tile_x), sums)"),
            ("sums = sums + ct.reshape", "sums = ct.transpose(sums) + ct.reshape"),
        ),
    ),
    "sgemm": (
        fix(
            "early_zeros",
            "zeros first, then what there is",
            ("    sA[y][x] = row < m ? a[(size_t)row * k + k0 + x] : 0.0f;\n", "    sA[y][x] = sB[y][x] = 0.0f;\n    if (k0 + x < k && row < m) sA[y][x] = a[(size_t)row * k + k0 + x];\n"),
            ("    sB[y][x] = b_row < n ? b[(size_t)b_row * k + k0 + x] : 0.0f;\n", "    if (k0 + x < k && b_row < n) sB[y][x] = b[(size_t)b_row * k + k0 + x];\n"),
        ),
        fix(
            "shorter_last_step",
            "the last step has fewer products, and loads stay within the row",
            ("= row < m ?", "= row < m && x < k - k0 ?"),
            ("= b_row < n ?", "= b_row < n && x < k - k0 ?"),
            ("i < T; i++)", "i < min(T, k - k0); i++)"),
        ),
        fix(
            "clamped",
            "the tail's loads repeat the last column, and are multiplied by 0",
            ("= row < m ? a[(size_t)row * k + k0 + x] : 0.0f;", "= row < m && k0 + x < k ? a[(size_t)row * k + k0 + x] : 0.0f;"),
            ("b[(size_t)b_row * k + k0 + x]", "b[(size_t)b_row * k + min(k0 + x, k - 1)]"),
        ),
    ),
    "histogram": (
        fix("while_loop", "a while loop, downwards", ("if (t < BINS) mine[t] = 0;", "int left = BINS - t;\n  while (left > 0) { mine[left - 1] = 0; left -= blockDim.x; }")),
        fix(
            "four_at_once",
            "four zeros at a time",
            ("__shared__ int mine", "__shared__ __align__(16) int mine"),
            ("if (t < BINS) mine[t] = 0;", "for (int i = t; i < BINS / 4; i += blockDim.x) reinterpret_cast<int4 *>(mine)[i] = {};"),
        ),
        fix("one_warp", "the first warp clears them all", ("if (t < BINS) mine[t] = 0;", "if (t < 32)\n    for (int i = 0; i < BINS / 32; i++) mine[32 * i + t] = 0;")),
    ),
    "matmul_fp32": (
        fix("as_fp32", "a conversion that changes nothing", (A_TILE, A_TILE.replace("tfloat32", "float32")), (B_TILE, B_TILE.replace("tfloat32", "float32"))),
        fix(
            "three_products",
            "tensor cores all the same: what the rounding took away is multiplied, too",
            (A_TILE, A_TILE.replace(".astype(ct.tfloat32)", "")),
            (B_TILE, B_TILE.replace(".astype(ct.tfloat32)", "")),
            (
                "sums = ct.mma(tile_a, ct.transpose(tile_b), sums)",
                "tile_b = ct.transpose(tile_b)\n"
                "        high_a, high_b = tile_a.astype(ct.tfloat32), tile_b.astype(ct.tfloat32)\n"
                "        low_a = (tile_a - high_a.astype(ct.float32)).astype(ct.tfloat32)\n"
                "        low_b = (tile_b - high_b.astype(ct.float32)).astype(ct.tfloat32)\n"
                "        sums = ct.mma(high_a, high_b, ct.mma(low_a, high_b, ct.mma(high_a, low_b, sums)))",
            ),
        ),
        fix("no_conversion", "the loads as they are, b turned when it is loaded", (A_TILE, A_TILE.replace(".astype(ct.tfloat32)", "")), ("ct.load(b, (column, step), " + B_TILE, "ct.load(b, (step, column), (TK, TN), order=(1, 0), padding_mode=ZERO)"), ("ct.transpose(tile_b)", "tile_b")),
    ),
    "largest": (
        fix("butterfly", "every thread has a partner, and there is no branch", (TREE, BUTTERFLY)),
        fix("two_barriers", "the partner's value is taken before any thread writes", (TREE, OWN_VALUE)),
        fix("named", "cute.arch.barrier, which is the same", ("            cute.arch.sync_threads()", "        cute.arch.barrier()")),
    ),
    "gemv": (
        fix("by_the_step", "the stage is the step's parity", ("    if (step + 1 < steps) fetch", "    stage = step % 2;\n    if (step + 1 < steps) fetch")),
        fix("in_the_head", "the loop's head turns it", ("step < steps; step++)", "step < steps; step++, stage ^= 1)")),
        fix("subtracted", "1 - stage, behind the barrier", ("sW[stage][i];\n    __syncthreads();\n", "sW[stage][i];\n    __syncthreads();\n    stage = 1 - stage;\n")),
    ),
    "sum_parts": (
        fix("four_stages", "a longer ring, a group in every step", ("4, 3\n", "4, 4\n"), (COPY, EVERY_STEP)),
        fix("one_group_earlier", "waits a step sooner than it must", (COPY, EVERY_STEP.replace("STAGES - 1)", "STAGES - 2)"))),
        fix(
            "waits_where_it_drains",
            "a branch that all threads take alike: no group is left open where none is added",
            (COPY, COPY.replace("        cute.arch.cp_async_wait_group(STAGES - 1)\n", "            cute.arch.cp_async_wait_group(STAGES - 1)\n        else:\n            cute.arch.cp_async_wait_group(0)\n")),
        ),
        fix(
            "always_copies",
            "the last part is copied again where no other is left",
            (COPY, COPY.replace("        if coming < count:\n            cute.copy(load, gP[0, None, coming]", "        cute.copy(load, gP[0, None, coming if coming < count else count - 1]").replace("    cute.arch.cp_async_commit", "cute.arch.cp_async_commit")),
        ),
    ),
    "tile_gemm": (
        fix("own_quarters", "each warp stores what it has written itself", (STORES, OWN_STORES)),
        fix("named_barrier", "the barrier by its PTX", ("__syncwarp();", 'asm volatile("barrier.sync 0;" ::: "memory");')),
        fix("counted", "a barrier that counts, as well", ("__syncwarp();", "__syncthreads_count(1);")),
    ),
    "rms_norm": (
        fix(
            "two_sets_of_partials",
            "rows take turns between two arrays, so that one barrier a row is enough",
            ("float partial[WARPS];", "float partials[2][WARPS];"),
            ("    const float *in =", "    float *partial = partials[row / gridDim.x % 2];\n    const float *in ="),
        ),
        fix("before_the_write", "a barrier before the write", ("    squares = warp_sum(squares);\n", "    squares = warp_sum(squares);\n    __syncthreads();\n")),
        fix("at_the_end", "a barrier behind the stores", ("out[i] = in[i] * scale;\n", "out[i] = in[i] * scale;\n    __syncthreads();\n")),
    ),
    "stream": (
        fix("by_bits", "the bit above the stage's", ("tile % 2)", "tile >> 1 & 1)")),
        fix(
            "a_phase_that_turns",
            "a number of its own, turned when the ring begins anew",
            ("    for tile in cutlass.range(tiles, unroll=1):\n", "    phase = cutlass.Int32(0)\n    for tile in cutlass.range(tiles, unroll=1):\n"),
            ("tile % 2)", "phase)"),
            ("        cute.arch.sync_warp()\n        if tile + STAGES", "        cute.arch.sync_warp()\n        if stage == STAGES - 1:\n            phase ^= 1\n        if tile + STAGES"),
        ),
        fix("three_stages", "a longer ring", ("(16, 64), 2, 32", "(16, 64), 3, 32"), ("tile % 2)", "tile // STAGES % 2)")),
        fix("remainder", "what is left of a turn of both phases", ("tile % 2)", "tile % (2 * STAGES) // STAGES)")),
    ),
    "scale_rows": (
        fix(
            "no_layout_of_its_own",
            "the tensors' own layouts, in 64 bits and with all that is known",
            ("cute.make_tensor(x.iterator, layout), cute.make_tensor(y.iterator, layout)", "x, y"),
        ),
        fix("the_stride_that_is_there", "in 64 bits, with what is known of it", ("cutlass.Int64(x.shape[1])", "x.stride[0]")),
        fix("assumed_in_the_layout", "the number as it was, and what is known where it is used", ("stride=(pitch, 1)", "stride=(cute.assume(pitch, 4), 1)")),
    ),
    "row_sums": (
        fix("four_bytes_each", "the padding stays; copies are of one element", ("VECTOR = 4;", "VECTOR = 1;")),
        fix("four_more", "16 bytes of padding: rows of 16 bytes at a time, in all banks", ("COLUMNS + 1", "COLUMNS + 4")),
        fix("twelve_more", "48 bytes: an odd multiple of 16, too", ("COLUMNS + 1", "COLUMNS + 12")),
    ),
    "channels_last": (
        fix(
            "swizzled",
            "no padding: the column is exclusive-ored with the row",
            ("tile[r][t] =", "tile[r][t ^ r] ="),
            ("= tile[t][r];", "= tile[t][r ^ t];"),
        ),
        fix("turned", "each row begins a bank further", ("tile[r][t] =", "tile[r][(t + r) % T] ="), ("= tile[t][r];", "= tile[t][(r + t) % T];")),
        fix("three_more", "any odd pitch", ("tile[T][T];", "tile[T][T + 3];")),
    ),
    "column_sums": (
        fix("all_threads", "every thread runs both fences", (STORED, STORED + FENCE), (READ, FENCE + READ)),
        fix("acquire_and_release", "an atomic that is both", ("atomicAdd(&finished[strip], 1)", "__nv_atomic_fetch_add(&finished[strip], 1u, __NV_ATOMIC_ACQ_REL, __NV_THREAD_SCOPE_DEVICE)")),
        fix(
            "by_volatile",
            "one fence, and partial sums that no register and no L1 keeps",
            ("__device__ float partial", "__device__ volatile float partial"),
            (STORED, STORED + FENCE),
        ),
        fix("from_l2", "one fence, and loads from L2", (STORED, STORED + FENCE), ("+= partial[other][column];", "+= __ldcg(&partial[other][column]);")),
        fix("of_the_system", "wider fences than it needs", (TICKET, ORDERED.replace("__threadfence", "__threadfence_system"))),
        fix(
            "a_counter_that_wraps",
            "nothing has to set it to 0",
            (TICKET, ORDERED.replace("atomicAdd(&finished[strip], 1)", "atomicInc(&finished[strip], SLICES - 1)")),
            ("  if (t == 0) finished[strip] = 0;\n", ""),
        ),
    ),
    "softmax": (
        fix("each_lane_has_one", "no padding: the sum goes over as many lanes as there are warps", (PADDED, "lane < WARPS ? partial[lane] : op.neutral(), op"), ("return fmaxf(a, b); }", "return fmaxf(a, b); } __device__ float neutral() const { return -INFINITY; }"), ("return a + b; }", "return a + b; } __device__ float neutral() const { return 0.0f; }")),
        fix(
            "one_thread_after_another",
            "a loop over the warps' values, by all threads",
            (f"return of_warp({PADDED});", "value = partial[0];\n  for (int other = 1; other < WARPS; other++) value = op(value, partial[other]);\n  return value;"),
        ),
        fix(
            "given_by_the_caller",
            "the value is an argument",
            ("of_block(float value, Op op, float *partial)", "of_block(float value, Op op, float *partial, float neutral)"),
            (PADDED, PADDED.replace("0.0f", "neutral")),
            ("Max(), tops", "Max(), tops, -INFINITY"),
            ("Add(), totals", "Add(), totals, 0.0f"),
        ),
        fix("lowest", "the lowest number there is", (PADDED, PADDED.replace("0.0f", "op(1.0f, 1.0f) == 1.0f ? -3.402823e38f : 0.0f"))),
    ),
}  # fmt: skip
RIGHT = {diagnosed(name): answers for name, answers in DIAGNOSES.items()} | {
    fixed(name): answers for name, answers in FIXES.items()
}
