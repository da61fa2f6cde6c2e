"""Wrong fixes in notebook 18: each bug left as it was, fixed at the shown size, by half, or with another algorithm."""

from tests.pages.changed import right_answers
from tests.pages.n18_bug_hunt.hunting import FENCE, NAMES, ORDERED, PADDED, READ, STORED, TICKET, fix, fixed, original
from tests.pages.table import answer

A_TILE, B_TILE = (f"(T{side}, TK), padding_mode=ZERO).astype(ct.tfloat32)" for side in "MN")
LOOP = "  for (int i = threadIdx.x; i < T * T / 2; i += THREADS) {"
TREE = """        if t < half:
            largest[t] = cute.arch.fmax(largest[t], largest[t + half])
            cute.arch.sync_threads()
"""
COPY = """            cute.copy(load, gP[0, None, coming], ring[None, t, coming % STAGES])
            cute.arch.cp_async_commit_group()
        cute.arch.cp_async_wait_group(STAGES - 1)
"""
AHEAD = """        if tile + STAGES < tiles:
            with cute.arch.elect_one():
                cute.arch.mbarrier_arrive_and_expect_tx(full + stage, stage_bytes)
            cute.copy(load, from_x[None, tile + STAGES], to_ring[None, stage], tma_bar_ptr=full + stage)
"""
NEXT = """        if tile + 1 < tiles:
            with cute.arch.elect_one():
                cute.arch.mbarrier_arrive_and_expect_tx(full + (tile + 1) % STAGES, stage_bytes)
            cute.copy(load, from_x[None, tile + 1], to_ring[None, (tile + 1) % STAGES], tma_bar_ptr=full + (tile + 1) % STAGES)
"""
MENDED = right_answers("18_bug_hunt")
AGAIN = "for (int lanes = 16; lanes > 0; lanes /= 2)"


def wasteful(bug, name, what, *changes, says=()):
    """The page's fix of the bug with changes that leave it right."""
    changed = fix(name, what, *changes, says=says)
    return answer(name, what, lambda source: changed(MENDED[fixed(bug)](source)), *says)


FIXES = {
    "linear": (
        wasteful(
            "linear",
            "x_loaded_twice",
            "half of each of two equal tiles",
            ("        sums = ct.mma", "        tile_x = tile_x * 0.5 + ct.load(x, (row, step), (T, T), padding_mode=ZERO) * 0.5\n        sums = ct.mma"),
            says=("loaded before",),
        ),
        wasteful("linear", "a_step_of_padding", "a step beyond K", ("(x, 1, (T, T)))", "(x, 1, (T, T)) + 1)"), says=("mma instructions",)),
        fix(
            "x_transposed",
            "the other factor is transposed",
            ("ct.mma(tile_x, tile_w, sums)", "ct.mma(ct.transpose(tile_x), tile_w, sums)"),
        ),
        fix("exchanged", "w times x", ("ct.mma(tile_x, tile_w, sums)", "ct.mma(tile_w, tile_x, sums)")),
        fix(
            "other_tile",
            "the coordinates exchanged, and the tile is still not",
            ("ct.load(w, (column, step)", "ct.load(w, (step, column)"),
        ),
        fix(
            "order_alone",
            "the load exchanges the modes and is asked for the tile by the old ones",
            ("ct.load(w, (column, step), (T, T),", "ct.load(w, (column, step), (T, T), order=(1, 0),"),
        ),
        fix(
            "no_tensor_cores",
            "products one by one, by another algorithm",
            (
                "sums = ct.mma(tile_x, tile_w, sums)",
                "products = ct.reshape(tile_x.astype(ct.float32), (T, 1, T)) * ct.reshape(tile_w.astype(ct.float32), (1, T, T))\n"
                "        sums = sums + ct.sum(products, 2)",
            ), says=("without tensor cores",)),
        *(
            fix(
                name,
                "fixed, and the order for L2 is gone",
                ("ct.mma(tile_x, tile_w, sums)", "ct.mma(tile_x, ct.transpose(tile_w), sums)"),
                ("row, column = group * GROUP + place % height, place // height", f"row, column = {order}"),
                says=(f"the tile {tile}",),
            )
            for name, order, tile in (
                ("row_by_row", "ct.bid(0) // columns, ct.bid(0) % columns", "(1, 0) of y was block 1's and is now block 2's"),
                ("column_by_column", "ct.bid(0) % rows, ct.bid(0) // rows", "(0, 1) of y was block 2's and is now block 3's"),
            )
        ),
    ),
    "sgemm": (
        wasteful(
            "sgemm",
            "in_double",
            "sums in fp64",
            ("float sum = 0.0f;", "double sum = 0.0;"),
            ("sum += sA[y][i]", "sum += (double)sA[y][i]"),
            says=("cvt.f64",),
        ),
        wasteful(
            "sgemm",
            "one_warp_loads",
            "a warp loads both tiles for all",
            ("    sA[y][x] =", "    if (y < 2) for (int r = y; r < T; r += 2) {\n      const int row = blockIdx.y * T + r, b_row = blockIdx.x * T + r;\n      sA[r][x] ="),
            ("    sB[y][x] =", "      sB[r][x] ="),
            ("    __syncthreads();\n    for", "    }\n    __syncthreads();\n    for"),
            says=("80 of its 96 warps",),
        ),
        fix(
            "one_side_guarded",
            "a's tail is 0, b's is read from outside all the same",
            ("= row < m ?", "= row < m && k0 + x < k ?"),
            says=("outside b",),
        ),
        fix(
            "off_by_one",
            "one column too many",
            ("= row < m ?", "= row < m && k0 + x <= k ?"),
            ("= b_row < n ?", "= b_row < n && k0 + x <= k ?"),
        ),
        fix("no_tail", "what is left of K is not multiplied at all", ("k0 < k;", "k0 + T <= k;")),
        fix(
            "shown_size",
            "60 is the report's K",
            ("= row < m ?", "= row < m && k0 + x < 60 ?"),
            ("= b_row < n ?", "= b_row < n && k0 + x < 60 ?"),
        ),
        fix("inner_loop", "right sums, and the loads still reach beyond", ("i < T; i++)", "i < T && k0 + i < k; i++)")),
        fix(
            "guarded_by_rows",
            "K's tail asked of the wrong sizes",
            ("= row < m ?", "= row < m && k0 + x < m ?"),
            ("= b_row < n ?", "= b_row < n && k0 + x < n ?"),
        ),
        fix(
            "no_padding",
            "the tail is guarded, and the padding gone",
            ("= row < m ?", "= row < m && k0 + x < k ?"),
            ("= b_row < n ?", "= b_row < n && k0 + x < k ?"),
            ("sA[T][T + 1], sB[T][T + 1]", "sA[T][T], sB[T][T]"),
            says=("threads meet in a bank",),
        ),
        fix(
            "no_tiles",
            "right, from global memory for each product",
            ("sum += sA[y][i] * sB[x][i];", "if (row < m && column < n && k0 + i < k) sum += a[(size_t)row * k + k0 + i] * b[(size_t)column * k + k0 + i];"),
            ("    sA[y][x] = row < m ? a[(size_t)row * k + k0 + x] : 0.0f;\n", ""),
            ("    sB[y][x] = b_row < n ? b[(size_t)b_row * k + k0 + x] : 0.0f;\n", ""),
            says=("without ld.shared",),
        ),
    ),
    "histogram": (
        fix(
            "twice_as_many",
            "two bins for each thread, whatever their number",
            ("mine[t] = 0;", "mine[t] = mine[(t + blockDim.x) % BINS] = 0;"),
            says=("2 of 3 sizes right",),
        ),
        fix(
            "of_128",
            "as many threads as the report has",
            ("if (t < BINS) mine[t] = 0;", "for (int bin = t; bin < BINS; bin += 128) mine[bin] = 0;"),
            says=("2 of 3 sizes right",),
        ),
        fix(
            "four_bins_each",
            "64 threads, and beyond the last bin with more",
            ("if (t < BINS) mine[t] = 0;", "for (int bin = 4 * t; bin < 4 * t + 4; bin++) mine[bin] = 0;"),
        ),
        fix(
            "one_at_a_time",
            "mended, and each thread loads one number where it loaded four",
            ("if (t < BINS) mine[t] = 0;", "for (int bin = t; bin < BINS; bin += blockDim.x) mine[bin] = 0;"),
            ("i < columns / 4; i += blockDim.x", "i < columns; i += blockDim.x"),
            ("    const int4 four = in[i];\n", "    const int4 four = {reinterpret_cast<const int *>(in)[i], 0, 0, 0};\n"),
            *((f"    atomicAdd(&mine[four.{part}], 1);\n", "") for part in "yzw"),
            says=("ld.global instructions; 36 are enough",),
        ),
        fix(
            "every_thread_clears_all",
            "each bin is cleared as many times as there are threads",
            ("if (t < BINS) mine[t] = 0;", "for (int bin = 0; bin < BINS; bin++) mine[bin] = 0;"),
            says=("st.shared",),
        ),
        fix(
            "no_barrier",
            "zeros that come when others count already",
            ("if (t < BINS) mine[t] = 0;\n  __syncthreads();", "for (int bin = t; bin < BINS; bin += blockDim.x) mine[bin] = 0;"),
        ),
        fix("clears_at_the_end", "zeros for the block that comes next", ("out[bin] = mine[bin];", "{ out[bin] = mine[bin]; mine[bin] = 0; }")),
        fix(
            "fewer_bins",
            "as many bins as threads",
            ("bin < BINS; bin += blockDim.x) out[bin] = mine[bin];", "bin < BINS; bin += blockDim.x) out[bin] = bin < blockDim.x ? mine[bin] : 0;"),
        ),
        fix(
            "in_global_memory",
            "counts where they are stored",
            ("if (t < BINS) mine[t] = 0;", "for (int bin = t; bin < BINS; bin += blockDim.x) out[bin] = 0;"),
            *((f"atomicAdd(&mine[four.{part}], 1);", f"atomicAdd(&out[four.{part}], 1);") for part in "xyzw"),
            ("  for (int bin = t; bin < BINS; bin += blockDim.x) out[bin] = mine[bin];\n", ""),
            says=("without ld.shared",),
        ),
    ),
    "matmul_fp32": (
        wasteful(
            "matmul_fp32",
            "a_loaded_twice",
            "half of each of two equal tiles",
            ("        sums = ct.mma", "        tile_a = tile_a * 0.5 + ct.load(a, (row, step), (TM, TK), padding_mode=ZERO) * 0.5\n        sums = ct.mma"),
            says=("cp.async",),
        ),
        wasteful(
            "matmul_fp32",
            "as_fp64",
            "more digits than asked for",
            ("(tile_a, ct.transpose(tile_b), sums)", "(tile_a.astype(ct.float64), ct.transpose(tile_b).astype(ct.float64), sums)"),
            ("(TM, TN), ct.float32)", "(TM, TN), ct.float64)"),
            ("(row, column), sums)", "(row, column), sums.astype(ct.float32))"),
            says=("cvt.f64",),
        ),
        wasteful("matmul_fp32", "stores_in_each_step", "sums that are not complete", ("    ct.store", "        ct.store"), says=("st.global",)),
        fix(
            "fp16",
            "fp16 has as few digits as tf32",
            (A_TILE, A_TILE.replace("tfloat32", "float16")),
            (B_TILE, B_TILE.replace("tfloat32", "float16")),
        ),
        fix("a_alone", "one factor is still rounded", (A_TILE, A_TILE.replace(".astype(ct.tfloat32)", ""))),
        fix(
            "b_through_tf32",
            "both are fp32, and one was tf32 before",
            (A_TILE, A_TILE.replace(".astype(ct.tfloat32)", "")),
            (B_TILE, B_TILE + ".astype(ct.float32)"),
        ),
        fix("sums_apart", "shorter sums of rounded factors", ("sums = ct.mma(tile_a, ct.transpose(tile_b), sums)", "sums = sums + ct.mma(tile_a, ct.transpose(tile_b), ct.zeros((TM, TN), ct.float32))")),
    ),
    "largest": (
        fix("no_barrier_in_the_tree", "the barrier is gone, and its purpose with it", ("            cute.arch.sync_threads()\n", "")),
        fix(
            "barrier_first",
            "all threads come by, before the turn: the last one's result is read too early",
            (TREE, "        cute.arch.sync_threads()\n" + TREE.replace("            cute.arch.sync_threads()\n", "")),
        ),
        fix(
            "a_warps_barrier",
            "__syncwarp for __syncthreads",
            ("            cute.arch.sync_threads()", "        cute.arch.sync_warp()"),
        ),
        fix(
            "no_branch",
            "all threads compute, beyond the end and while others do",
            (TREE, "        largest[t] = cute.arch.fmax(largest[t], largest[t + half])\n        cute.arch.sync_threads()\n"),
        ),
        fix(
            "twice_in_each_turn",
            "a second barrier right behind the first",
            ("            cute.arch.sync_threads()\n", "        cute.arch.sync_threads()\n        cute.arch.sync_threads()\n"),
            says=("orders nothing",),
        ),
        fix(
            "no_tree",
            "each thread looks at all 128 maxima",
            (TREE, "        mine = mine\n    for other in cutlass.range(THREADS):\n        mine = cute.arch.fmax(mine, largest[other])\n"),
            ("x[row, column] / largest[0]", "x[row, column] / mine"),
            says=("ld.shared instructions; 300 are enough",),
        ),
        fix(
            "whole_rows",
            "each thread reads the whole row",
            ("cutlass.range(t, x.shape[1], THREADS):\n        mine", "cutlass.range(x.shape[1]):\n        mine"),
            (TREE, "        mine = mine\n"),
            ("x[row, column] / largest[0]", "x[row, column] / mine"),
            says=("ld.global instructions; 160 are enough",),
        ),
        fix("one_turn_fewer", "the last turn left out", ("range_constexpr(7)", "range_constexpr(6)"), ("            cute.arch.sync_threads()", "        cute.arch.sync_threads()")),
    ),
    "gemv": (
        wasteful("gemv", "w_for_each_warp", "four warps copy the same", ("if (warp == 0) __pipe", "__pipe"), says=("cp.async",)),
        wasteful(
            "gemv",
            "reduced_in_each_step",
            "a warp adds up its lanes' sums four times",
            ("    __syncthreads();\n    stage ^= 1;", f"    {AGAIN} sum += __shfl_xor_sync(~0u, sum, lanes);\n    if (lane) sum = 0.0f;\n    __syncthreads();\n    stage ^= 1;"),
            says=("shfl",),
        ),
        fix(
            "turned_before_reading",
            "the stages change places between fetching and reading",
            ("    __pipeline_wait_prior(1);\n", "    __pipeline_wait_prior(1);\n    stage ^= 1;\n"),
        ),
        fix("counts_on", "a third stage that there is not", ("sW[stage][i];\n    __syncthreads();\n", "sW[stage][i];\n    __syncthreads();\n    stage += 1;\n")),
        fix("waits_for_all", "as the report tried", ("__pipeline_wait_prior(1);", "__pipeline_wait_prior(0);")),
        fix(
            "fetches_afterwards",
            "waits for the tile, computes, then fetches the next one",
            ("    if (step + 1 < steps) fetch(step + 1, stage ^ 1);\n    __pipeline_commit();\n    __pipeline_wait_prior(1);\n", "    __pipeline_wait_prior(0);\n"),
            ("sW[stage][i];\n    __syncthreads();\n", "sW[stage][i];\n    stage ^= 1;\n    if (step + 1 < steps) fetch(step + 1, stage);\n    __pipeline_commit();\n    __syncthreads();\n"),
            says=("while a copy is in flight",),
        ),
        fix(
            "one_stage",
            "no second stage to mix up",
            ("sX[2][WARPS][STEP], sW[2][STEP]", "sX[1][WARPS][STEP], sW[1][STEP]"),
            ("if (step + 1 < steps) fetch(step + 1, stage ^ 1);", "if (step > 0) fetch(step, stage);"),
            ("__pipeline_wait_prior(1);", "__pipeline_wait_prior(0);"),
            says=("two stages take 5,120",),
        ),
        fix("fetches_into_the_same", "the next tile into the stage that is read", ("fetch(step + 1, stage ^ 1)", "fetch(step + 1, stage)")),
        fix(
            "one_barrier_fewer",
            "the stages turn, and the next fetch does not wait for those who read",
            ("sW[stage][i];\n    __syncthreads();\n", "sW[stage][i];\n    stage ^= 1;\n"),
        ),
        fix(
            "no_copies",
            "another algorithm, without stages",
            ("sX[stage][warp][i] * sW[stage][i]", "x[(size_t)row * k + step * STEP + i] * w[step * STEP + i]"),
            ("if (row < rows) __pipeline_memcpy_async(&sX[stage][warp][mine], &x[(size_t)row * k + at], 16);", ""),
            ("if (warp == 0) __pipeline_memcpy_async(&sW[stage][mine], &w[at], 16);", ""),
        ),
        fix(
            "copies_for_nothing",
            "all is copied, and read from global memory",
            ("sX[stage][warp][i] * sW[stage][i]", "x[(size_t)row * k + step * STEP + i] * w[step * STEP + i]"),
            says=("without ld.shared",),
        ),
    ),
    "sum_parts": (
        wasteful("sum_parts", "warps_meet", "each thread reads its own copies", ("        total.store", "        cute.arch.sync_warp()\n        total.store"), says=("bar.warp.sync",)),
        fix(
            "one_group_fewer",
            "one group fewer may be open: enough for the last part but one",
            ("wait_group(STAGES - 1)", "wait_group(STAGES - 2)"),
            says=("no wait has covered its group",),
        ),
        fix(
            "last_part_alone",
            "everything is waited for at the last part, and the one before it has none of that",
            (COPY, COPY + "        if part == count - 1:\n            cute.arch.cp_async_wait_group(0)\n"),
        ),
        fix("one_stage", "a part is copied and waited for", ("4, 3\n", "4, 1\n"), says=("two stages take 2,048",)),
        fix("two_stages", "a shorter ring, each copy waited for", ("4, 3\n", "4, 2\n"), ("wait_group(STAGES - 1)", "wait_group(0)"), says=("while a copy is in flight",)),
        fix("wait_for_all", "right, with no copy in flight", ("wait_group(STAGES - 1)", "wait_group(0)"), says=("while a copy is in flight",)),
        fix("meets_in_vain", "a barrier that orders nothing", (COPY, COPY.replace("    cute.arch.cp_async_commit", "cute.arch.cp_async_commit") + "        cute.arch.sync_threads()\n"), says=("0 are enough",)),
        fix("a_barrier", "a barrier waits for threads, not for copies", ("cp_async_wait_group(STAGES - 1)", "sync_threads()")),
        fix("one_more_open", "a group in every step, and one too many left open", (COPY, COPY.replace("    cute.arch.cp_async_commit", "cute.arch.cp_async_commit").replace("STAGES - 1)", "STAGES)"))),
        fix("no_ring", "added from global memory, without copies", ("ring[None, t, part % STAGES].load()", "gP[0, None, part].load()"), says=("without ld.shared",)),
    ),
    "tile_gemm": (
        wasteful("tile_gemm", "a_fence_too", "the barrier orders the writes already", ("__syncthreads();", "__threadfence_block();\n  __syncthreads();"), says=("membar/fence",)),
        wasteful("tile_gemm", "both_barriers", "the block's, and the warp's", ("__syncthreads();", "__syncwarp();\n  __syncthreads();"), says=("12 are enough",)),
        fix("a_fence", "a fence orders a thread's own writes and waits for no other thread", ("__syncwarp();", "__threadfence_block();"), says=("with no barrier between",)),
        fix("twice", "two of what does not help", ("__syncwarp();", "__syncwarp();\n  __syncwarp();")),
        fix("a_nap", "time for the others, and no barrier", ("__syncwarp();", "for (volatile int wait = 0; wait < 100; wait = wait + 1);")),
        fix("stored_by_each_warp", "each warp stores the whole tile", ("__syncwarp();", "__syncthreads();"), ("i = threadIdx.x; i < T * T / 2; i += THREADS", "i = threadIdx.x % 32; i < T * T / 2; i += 32"), says=("st.global instructions; 48 are enough",)),
        fix("multiplied_twice", "a second product, of zeros", ("__syncwarp();", "__syncthreads();"), ("    wmma::mma_sync(sums, part_a, part_b, sums);\n", "    wmma::mma_sync(sums, part_a, part_b, sums);\n    wmma::fill_fragment(part_a, 0.0f);\n    wmma::mma_sync(sums, part_a, part_b, sums);\n"), says=("wmma.mma instructions; 36 are enough",)),
        fix("in_a_branch", "one warp waits for all", ("__syncwarp();", "if (warp == 0) __syncthreads();")),
        fix("behind_it", "a barrier after the last read", ("= pair;\n  }\n", "= pair;\n  }\n  __syncthreads();\n")),
    ),
    "rms_norm": (
        wasteful(
            "rms_norm",
            "one_warp",
            "the others only meet it",
            ("i = t; i < columns; i += THREADS) squares", "i = t; t < 32 && i < columns; i += 32) squares"),
            ("i = t; i < columns; i += THREADS) out", "i = t; t < 32 && i < columns; i += 32) out"),
            says=("4 of its 16 warps",),
        ),
        wasteful("rms_norm", "divides_each", "a division for each element", ("in[i] * scale", "in[i] / sqrtf(total / columns + 1e-5f)"), says=("div.rn",)),
        fix(
            "each_thread_for_itself",
            "no sharing to go wrong: every thread adds up the whole row",
            ("for (int i = t; i < columns; i += THREADS) squares += in[i] * in[i];", "for (int i = 0; i < columns; i++) squares += in[i] * in[i];"),
            ("    squares = warp_sum(squares);\n    if (t % 32 == 0) partial[t / 32] = squares;\n    __syncthreads();\n", ""),
            ("    for (int warp = 0; warp < WARPS; warp++) total += partial[warp];\n", "    total = squares;\n"),
            says=("ld.global",),
        ),
        fix(
            "barrier_too_early",
            "two barriers before the sums are read, none behind",
            ("    float total = 0.0f;\n", "    __syncthreads();\n    float total = 0.0f;\n"),
            says=("may still be reading",),
        ),
        fix("a_warps_barrier", "other warps go on", ("out[i] = in[i] * scale;\n", "out[i] = in[i] * scale;\n    __syncwarp();\n")),
        fix("a_fence", "a fence waits for no other thread", ("out[i] = in[i] * scale;\n", "out[i] = in[i] * scale;\n    __threadfence_block();\n")),
        fix("one_row_each", "the rows beyond the fourth are left out", ("row < rows; row += gridDim.x", "row < rows; row += rows")),
        fix("in_a_branch", "who has a column meets the others", ("out[i] = in[i] * scale;\n", "out[i] = in[i] * scale;\n    if (t < columns) __syncthreads();\n")),
    ),
    "stream": (
        wasteful("stream", "a_fence_too", "no thread writes what TMA reads", ("        cute.arch.sync_warp()\n        if", "        cute.arch.fence_proxy('async.shared', space='cta')\n        cute.arch.sync_warp()\n        if"), says=("fence.proxy",)),
        fix("always_phase_0", "right for the first round of the ring", ("tile % 2)", "0)"), says=("2 of 3 sizes right",)),
        fix("by_stages", "the same number under another name", ("tile % 2)", "tile % STAGES)")),
        fix("a_tile_later", "the parity of the tile that follows", ("tile % 2)", "(tile + 1) // STAGES % 2)")),
        fix("no_wait", "reads what may not be there", ("        cute.arch.mbarrier_wait(full + stage, tile % 2)\n", "")),
        fix("the_other_parity", "as a producer waits", ("tile % 2)", "(tile // STAGES + 1) % 2)")),
        fix("beyond_1", "the round itself, whose lowest bit is the parity", ("tile % 2)", "tile // STAGES)"), says=("a parity is 0 or 1",)),
        fix(
            "fetches_afterwards",
            "the next tile is fetched when this one is done",
            ("for tile in cutlass.range_constexpr(STAGES):\n        if tile < tiles:", "for tile in cutlass.range_constexpr(1):\n        if tile < tiles:"),
            ("tile % 2)", "tile // STAGES % 2)"),
            (AHEAD, NEXT),
            says=("while a copy is in flight",),
        ),
        fix("needless_barrier", "a barrier of the block, which is one warp", ("tile % 2)", "tile // STAGES % 2)"), ("cute.arch.sync_warp()\n        if tile", "cute.arch.sync_threads()\n        if tile"), says=("0 are enough",)),
        fix("one_stage", "no ring, no trouble", ("(16, 64), 2, 32", "(16, 64), 1, 32"), says=("two stages take 8,192",)),
    ),
    "scale_rows": (
        wasteful(
            "scale_rows",
            "one_warp",
            "half of the threads have nothing to do",
            ("range(t, x.shape[1] // VECTOR, THREADS)", "range(t if t < 32 else x.shape[1], x.shape[1] // VECTOR, 32)"),
            says=("3 of its 6 warps",),
        ),
        fix("narrow_copies", "it compiles, an element at a time", ("num_bits_per_copy=128", "num_bits_per_copy=32"), says=("without ld.global.v4",)),
        fix("back_to_32_bits", "the number before it was made safe", ("cutlass.Int64(x.shape[1])", "x.shape[1]"), says=("still uses a product of 32 bits",)),
        fix("half_of_it", "8 of 16 bytes are proved", ("cutlass.Int64(x.shape[1])", "cute.assume(cutlass.Int64(x.shape[1]), divby=2)")),
        fix("assumed_before", "known of the number that is converted then", ("cutlass.Int64(x.shape[1])", "cutlass.Int64(cute.assume(x.shape[1], divby=VECTOR))")),
        fix("shown_size", "260 is the report's N", ("cutlass.Int64(x.shape[1])", "260")),
        fix("more_than_is_true", "260 is no multiple of 8", ("cutlass.Int64(x.shape[1])", "cute.assume(cutlass.Int64(x.shape[1]), divby=8)"), says=("that 8 divides", "with 260 columns the promise is broken")),
        fix("by_each_thread", "every thread moves the whole row", ("cutlass.Int64(x.shape[1])", "x.stride[0]"), ("range(t, x.shape[1] // VECTOR, THREADS)", "range(x.shape[1] // VECTOR)"), says=("13 are enough",)),
        fix("meets_in_vain", "a barrier that orders nothing", ("cutlass.Int64(x.shape[1])", "x.stride[0]"), ("gY[0, None, vector])\n", "gY[0, None, vector])\n    cute.arch.sync_threads()\n"), says=("0 are enough",)),
        fix("column_major", "strides exchanged", ("stride=(pitch, 1)", "stride=(1, cutlass.Int64(x.shape[0]))")),
    ),
    "row_sums": (
        fix("eight_bytes", "rows begin at multiples of 8 bytes", ("COLUMNS + 1", "COLUMNS + 2"), says=("multiple of 16",)),
        fix("no_padding", "aligned, and all rows begin in one bank", ("COLUMNS + 1", "COLUMNS"), says=("threads meet in a bank",)),
        fix("eight_more", "32 bytes: two threads to a bank", ("COLUMNS + 1", "COLUMNS + 8"), says=("threads meet in a bank",)),
        fix("sixteen_more", "64 bytes: four threads to a bank", ("COLUMNS + 1", "COLUMNS + 16"), says=("threads meet in a bank",)),
        fix("a_row_more", "two rows in one: aligned, and in one bank", ("COLUMNS + 1", "2 * COLUMNS"), says=("threads meet in a bank",)),
        fix("first_of_four", "four bytes of sixteen are copied", ("VECTOR * sizeof(float))", "sizeof(float))")),
        fix(
            "no_cp_async",
            "aligned or not, an ordinary load",
            ("__pipeline_memcpy_async(&tile[row][at], from, VECTOR * sizeof(float));", "for (int i = 0; i < VECTOR; i++) tile[row][at + i] = from[i];"),
            says=("without cp.async",),
        ),
        fix(
            "copies_for_nothing",
            "aligned copies, and sums from global memory",
            ("COLUMNS + 1", "COLUMNS"),
            ("sum += tile[t][i];", "sum += x[(size_t)(first + t) * columns + column + i];"),
            says=("without ld.shared",),
        ),
    ),
    "channels_last": (
        fix("two_columns_more", "two threads to a bank", ("tile[T][T];", "tile[T][T + 2];"), says=("threads meet in a bank",)),
        fix("a_row_more", "the padding at the wrong mode", ("tile[T][T];", "tile[T + 1][T];"), says=("threads meet in a bank",)),
        fix("moved", "the conflicts are those of the writes now", ("tile[r][t] =", "tile[t][r] ="), ("= tile[t][r];", "= tile[r][t];"), says=("threads meet in a bank",)),
        fix(
            "no_shared_memory",
            "no conflicts, and stores that use a small part of each sector",
            ("      tile[r][t] = x[(size_t)(channel + r) * pixels + pixel + t];", "      y[(size_t)(pixel + t) * channels + channel + r] = x[(size_t)(channel + r) * pixels + pixel + t];"),
            ("      y[(size_t)(pixel + r) * channels + channel + t] = tile[t][r];", "      ;"),
        ),
        fix("read_swizzled", "only who reads knows of the swizzle", ("= tile[t][r];", "= tile[t][r ^ t];")),
    ),
    "column_sums": (
        wasteful("column_sums", "a_third_barrier", "all threads have read `last` already", ("  sum = 0.0f;\n  for", "  __syncthreads();\n  sum = 0.0f;\n  for"), says=("66 are enough",)),
        fix(
            "a_fence_for_each_row",
            "ordered, and a fence in the loop over the rows",
            (TICKET, ORDERED),
            ("sum += x[(size_t)row * columns + column];", "{ sum += x[(size_t)row * columns + column]; __threadfence(); }"),
            says=("membar instructions; 64 are enough",),
        ),
        fix("fence_before_the_flag_alone", "half of it: stores are there when the counter is", (STORED, STORED + FENCE), says=("no fence of the loading block",)),
        fix("fence_behind_the_flag_alone", "the other half", (READ, FENCE + READ), says=("no fence lies between this store",)),
        fix("a_blocks_fence", "fences for the threads of a block", (STORED, STORED + FENCE.replace("()", "_block()")), (READ, FENCE.replace("()", "_block()") + READ), says=("no fence lies between this store",)),
        fix("fences_nothing", "a fence before there is something to publish", (STORED, FENCE + STORED), (READ, FENCE + READ), says=("no fence lies between this store",)),
        fix("no_barrier", "thread 0 publishes its own sum, and those of the threads that it did not meet", (STORED + "  __syncthreads();\n", STORED), (TICKET, ORDERED), says=("no fence lies between this store",)),
        fix("volatile", "no register keeps it, and nothing orders it", ("__device__ float partial", "__device__ volatile float partial"), says=("no fence lies between this store",)),
        fix("one_more_barrier", "barriers wait for a block's own threads", (READ, "  __syncthreads();\n" + READ), says=("no fence lies between this store",)),
        fix(
            "atomic_sums",
            "one sum for all, in whatever order blocks come",
            (STORED, "  atomicAdd(&partial[0][column], sum);\n"),
            (TICKET, ORDERED),
            ("  for (int other = 0; other < SLICES; other++) sum += partial[other][column];\n", "  sum = partial[0][column];\n  partial[0][column] = 0.0f;\n"),
            says=("still uses atomic additions of floats",),
        ),
        fix(
            "one_block",
            "the first block does all",
            ("int row = slice; row < rows; row += SLICES", "int row = 0; row < rows; row++"),
            ("  partial[slice][column] = sum;\n", "  if (slice > 0) return;\n  y[column] = sum;\n  return;\n"),
            says=("without atom",),
        ),
    ),
    "softmax": (
        wasteful(
            "softmax",
            "reduced_twice",
            "all lanes have the maximum already",
            ("  top = of_block(", "  top = of_warp(top, Max());\n  top = of_block("),
            says=("shfl",),
        ),
        fix(
            "whole_rows_of_softmax",
            "each thread looks for the row's maximum by itself",
            ("for (int i = threadIdx.x; i < columns; i += THREADS) top =", "for (int i = 0; i < columns; i++) top ="),
            ("  top = of_block(top, Max(), tops);\n", ""),
            says=("ld.global instructions; 240 are enough",),
        ),
        fix("exponentials_twice", "the sum takes two for each number", (PADDED, PADDED.replace("0.0f", "op(1.0f, 1.0f) == 1.0f ? -INFINITY : 0.0f")), ("total += expf(in[i] - top);", "total += expf(0.5f * (in[i] - top)) * expf(0.5f * (in[i] - top) + 0.0f);"), says=("ex2 instructions; 100 are enough",)),
        fix("a_large_number", "lower than most", (PADDED, PADDED.replace("0.0f", "op(1.0f, 1.0f) == 1.0f ? -1000.0f : 0.0f"))),
        fix("zeros_still", "the lanes' own maximum starts lower, and the padding is what it was", ("top = -INFINITY", "top = -3e38f")),
        fix("of_both", "the maximum's neutral value, for sums, too", (PADDED, PADDED.replace("0.0f", "-INFINITY"))),
        fix("all_lanes", "each value eight times: no harm to a maximum", (PADDED, "partial[lane % WARPS], op")),
        fix("no_maximum", "exponentials as they are", ("expf(in[i] - top);", "expf(in[i]);"), ("expf(in[i] - top) / total", "expf(in[i]) / total")),
        fix("guarded", "NaN becomes 0", ("out[i] = expf(in[i] - top) / total;", "out[i] = total > 0.0f ? expf(in[i] - top) / total : 0.0f;")),
    ),
}  # fmt: skip
WRONG = {fixed(name): (original(name), *FIXES[name]) for name in NAMES}
