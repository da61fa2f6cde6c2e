"""Wrong diagnoses in notebook 18: without evidence, of a neighboring cause or line, or of none that there is."""

import numpy as np

from tests.pages.n18_bug_hunt.hunting import beside, diagnosed, diagnosis, guess, neither, unproven

DIAGNOSES = {
    "linear": (
        guess("linear", "sums = ct.mma(tile_x, tile_w, sums)", "wrong coordinate"),
        beside("linear", "tile_x = ct.load(", "majors swapped"),
        neither("linear", "ct.store(y, (row, column)", "unguarded edge"),
        unproven("linear", "sums = ct.mma(tile_x, tile_w, sums)", "majors swapped", 1, 1, 1),
        diagnosis(
            "symmetric_weights",
            "an input that no exchange of rows and columns changes",
            22,
            "majors swapped",
            (32, 32, 32),
            np.ones((32, 32)),
            np.eye(32) + np.ones((32, 32)),
            np.zeros(32),
            says=("nothing goes wrong",),
        ),
    ),
    "sgemm": (
        unproven("sgemm", "sA[y][x] = row < m ?", "unguarded tail"),
        guess("sgemm", "sA[y][x] = row < m ?", "unguarded edge"),
        beside("sgemm", "if (row < m && column < n)", "unguarded tail"),
        neither("sgemm", "sum += sA[y][i] * sB[x][i];", "wrong coordinate"),
    ),
    "histogram": (
        unproven("histogram", "if (t < BINS) mine[t] = 0;", "uninitialized"),
        guess("histogram", "mine[t] = 0", "lost updates"),
        beside("histogram", "__shared__ int mine[BINS];", "uninitialized"),
        neither("histogram", "out[bin] = mine[bin];", "read too early"),
    ),
    "matmul_fp32": (
        guess("matmul_fp32", "tile_a = ct.load(", "accumulators rounded"),
        beside("matmul_fp32", "sums = ct.mma(", "inputs rounded"),
        neither("matmul_fp32", "sums = ct.zeros(", "accumulators rounded"),
        diagnosis(
            "small_integers",
            "factors that tf32 has exactly",
            "tile_a = ct.load(",
            "inputs rounded",
            (4, 4, 1),
            np.arange(4.0).reshape(4, 1),
            np.ones((4, 1)),
            says=("nothing goes wrong",),
        ),
    ),
    "largest": (
        guess("largest", 26, "read too early", "some threads wait forever"),
        beside("largest", "largest[t] = mine", "barrier in a branch"),
        neither("largest", "half = THREADS >> (turn + 1)", "wrong coordinate"),
        diagnosis("no_shape", "a shape of another kernel", 26, "barrier in a branch", (4, 300, 1), says=("the shape is",)),
    ),
    "gemv": (
        unproven("gemv", "int stage = 0;", "wrong stage"),
        guess("gemv", "int stage = 0;", "copy not waited for"),
        beside("gemv", "__pipeline_wait_prior(1);", "wrong stage"),
        neither("gemv", "__pipeline_wait_prior(1);", "copy not waited for"),
    ),
    "sum_parts": (
        guess("sum_parts", "if coming < count:", "wrong stage"),
        beside("sum_parts", "if part < count:", "copy not waited for"),
        neither("sum_parts", "ring[None, t, coming % STAGES]", "overwritten too early"),
        diagnosis("no_part", "no shape at all", 33, "copy not waited for", (0, 256), says=("positive integers",)),
    ),
    "tile_gemm": (
        guess("tile_gemm", "__syncwarp();", "overwritten too early", "the simulator reports a violation"),
        beside("tile_gemm", "wmma::mma_sync(", "read too early"),
        neither("tile_gemm", "wmma::load_matrix_sync(part_b,", "majors swapped"),
        diagnosis(
            "odd_size", "the kernel promises nothing there", "__syncwarp();", "read too early", (33, 32, 16),
            says=("outside the kernel's contract",),
        ),
    ),
    "rms_norm": (
        unproven("rms_norm", "total += partial[warp];", "overwritten too early"),
        guess("rms_norm", "total += partial[warp];", "read too early", "the simulator reports a violation"),
        beside("rms_norm", "__shared__ float partial[WARPS];", "overwritten too early"),
        neither("rms_norm", "float squares = 0.0f;", "not reset"),
    ),
    "stream": (
        unproven("stream", "cute.arch.mbarrier_wait(", "wrong phase"),
        guess("stream", "cute.arch.mbarrier_wait(", "wrong stage"),
        beside("stream", "stage = tile % STAGES", "wrong phase"),
        neither("stream", "cute.arch.mbarrier_init(full + stage, 1)", "uninitialized"),
    ),
    "scale_rows": (
        guess("scale_rows", "pitch = cutlass.Int64(x.shape[1])", "index overflow", "does not compile"),
        beside("scale_rows", "cute.copy(wide, gX[0, None, vector], mine)", "lost divisibility"),
        neither("scale_rows", "wide = cute.make_copy_atom(", "misaligned"),
        diagnosis(
            "beyond_31_bits", "as large as the colleague fears", "pitch =", "lost divisibility", (2, 2**31),
            says=("make it small",),
        ),
    ),
    "row_sums": (
        unproven("row_sums", "constexpr int PITCH", "misaligned"),
        guess("row_sums", "constexpr int PITCH", "bank conflicts"),
        beside("row_sums", "constexpr int ROWS", "misaligned"),
        neither("row_sums", "sum += tile[t][i];", "bank conflicts"),
    ),
    "channels_last": (
        guess("channels_last", "__shared__ float tile[T][T];", "uncoalesced", "6,656 wavefronts where 456 would do"),
        beside("channels_last", "__syncthreads();", "bank conflicts"),
        neither("channels_last", "pixel + r < pixels", "uncoalesced"),
        unproven("channels_last", "tile[T][T];", "bank conflicts", 1, 1),
    ),
    "column_sums": (
        guess("column_sums", "sum += partial[other][column];", "read too early", "the simulator reports a violation"),
        beside("column_sums", "sum += x[(size_t)row * columns + column];", "blocks not ordered"),
        neither("column_sums", "if (t == 0) finished[strip] = 0;", "not reset"),
        diagnosis(
            "odd_size", "the kernel promises nothing there", "last = atomicAdd(", "blocks not ordered", (4, 100),
            says=("outside the kernel's contract",),
        ),
    ),
    "softmax": (
        unproven("softmax", "return of_warp(lane < WARPS", "wrong identity"),
        guess("softmax", "return of_warp(lane < WARPS", "uninitialized", "is nan"),
        beside("softmax", "float top = -INFINITY", "wrong identity"),
        neither("softmax", "totals[WARPS];", "overwritten too early"),
        diagnosis(
            "large_and_positive", "numbers of which the largest is above 0", "return of_warp(lane < WARPS",
            "wrong identity", (1, 8), np.full((1, 8), 1000.0), says=("nothing goes wrong",),
        ),
    ),
}  # fmt: skip
WRONG = {diagnosed(name): answers for name, answers in DIAGNOSES.items()}
