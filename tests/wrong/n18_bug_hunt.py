"""Wrong answers to notebook 18: each bug left as it was, mends that miss it, diagnoses without evidence or at random."""

from collections.abc import Callable

from tests.wrong.table import answer
from tutorlib.checking.diagnosis import Diagnosis
from tutorlib.kernels.bugs.catalogue import BUGS
from tutorlib.notebook.hunt import as_it_is, patch

NAMES = (
    "linear", "sgemm", "histogram", "matmul_fp32", "largest", "gemv", "sum_parts", "tile_gemm", "rms_norm", "stream",
    "scale_rows", "row_sums", "channels_last",
)  # fmt: skip


def original(name: str) -> Callable:
    def unchanged(source: str) -> str:
        return as_it_is(source)

    return answer(f"original_{name}", "the broken kernel itself", unchanged)


def mend(name: str, what: str, *changes: tuple[str, str], says: tuple[str, ...] = ()) -> Callable:
    def mended(source: str) -> str:
        for old, new in changes:
            source = patch(source, old, new)
        return source

    return answer(name, what, mended, *says)


def diagnosis(
    name: str, what: str, line: str | int, cause: str, shape: tuple, *data: object, says: tuple[str, ...] = ()
) -> Callable:
    given = {"data": data} if data else {}
    return answer(name, what, lambda: Diagnosis(line=line, cause=cause, shape=shape, **given), *says)


def unproven(name: str, line: str | int, cause: str) -> Callable:
    """Line and cause are right, and the input is one at which the kernel is."""
    what = "right about the kernel, at a shape where nothing shows"
    return diagnosis(f"unproven_{name}", what, line, cause, BUGS[name].right_at, says=("nothing goes wrong",))


def guess(name: str, line: str | int, cause: str, says: str = "shows it") -> Callable:
    """The input shows it, the line is right, the cause is another."""
    return diagnosis(
        f"guess_{name}",
        "a wrong cause",
        line,
        cause,
        BUGS[name].wrong_at,
        says=("One of line and cause is right", says),
    )


DIAGNOSES = {
    "linear": guess("linear", "sums = ct.mma(tile_x, tile_w, sums)", "wrong coordinate"),
    "sgemm": unproven("sgemm", "sA[y][x] = row < m ?", "unguarded tail"),
    "histogram": unproven("histogram", "if (t < BINS) mine[t] = 0;", "never initialised"),
    "matmul_fp32": guess("matmul_fp32", "tile_a = ct.load(", "sums rounded"),
    "largest": guess("largest", 26, "read too early", "wait for each other"),
    "gemv": unproven("gemv", "int stage = 0;", "wrong stage"),
    "sum_parts": guess("sum_parts", "if coming < count:", "wrong stage"),
    "tile_gemm": guess("tile_gemm", "__syncwarp();", "overwritten too early", "the simulator objects"),
    "rms_norm": unproven("rms_norm", "total += partial[warp];", "overwritten too early"),
    "stream": unproven("stream", "cute.arch.mbarrier_wait(", "wrong phase"),
    "scale_rows": guess("scale_rows", "pitch = cutlass.Int64(x.shape[1])", "index overflow", "does not compile"),
    "row_sums": unproven("row_sums", "constexpr int PITCH", "misaligned"),
    "channels_last": guess(
        "channels_last", "__shared__ float tile[T][T];", "uncoalesced", "6,656 wavefronts where 456 would do"
    ),
}
MENDS = {
    "linear": mend(
        "x_transposed",
        "the other factor is transposed",
        ("ct.mma(tile_x, tile_w, sums)", "ct.mma(ct.transpose(tile_x), tile_w, sums)"),
    ),
    "sgemm": mend(
        "one_side_guarded",
        "a's tail is 0, b's is read from outside all the same",
        ("= row < m ?", "= row < m && k0 + x < k ?"),
        says=("outside b",),
    ),
    "histogram": mend(
        "twice_as_many",
        "two bins for each thread, whatever their number",
        ("mine[t] = 0;", "mine[t] = mine[(t + blockDim.x) % BINS] = 0;"),
        says=("2 of 3 sizes right",),
    ),
    "matmul_fp32": mend(
        "fp16",
        "fp16 has as few digits as tf32",
        ("(TM, TK), padding_mode=ZERO).astype(ct.tfloat32)", "(TM, TK), padding_mode=ZERO).astype(ct.float16)"),
        ("(TN, TK), padding_mode=ZERO).astype(ct.tfloat32)", "(TN, TK), padding_mode=ZERO).astype(ct.float16)"),
    ),
    "largest": mend(
        "no_barrier_in_the_tree",
        "the barrier is gone, and its purpose with it",
        ("            cute.arch.sync_threads()\n", ""),
    ),
    "gemv": mend(
        "turned_before_reading",
        "the stages change places between fetching and reading",
        ("    __pipeline_wait_prior(1);\n", "    __pipeline_wait_prior(1);\n    stage ^= 1;\n"),
    ),
    "sum_parts": mend(
        "one_group_fewer",
        "one group fewer may be open: enough for the last part but one",
        ("wait_group(STAGES - 1)", "wait_group(STAGES - 2)"),
        says=("no wait has covered its group",),
    ),
    "tile_gemm": mend(
        "a_fence",
        "a fence orders a thread's own writes and waits for nobody",
        ("__syncwarp();", "__threadfence_block();"),
        says=("with no barrier between",),
    ),
    "rms_norm": mend(
        "barrier_too_early",
        "two barriers before the sums are read, none behind",
        ("    float total = 0.0f;\n", "    __syncthreads();\n    float total = 0.0f;\n"),
        says=("may still be reading",),
    ),
    "stream": mend(
        "always_phase_0",
        "right for the first round of the ring",
        ("tile % 2)", "0)"),
        says=("2 of 3 sizes right",),
    ),
    "scale_rows": mend(
        "narrow_copies",
        "it compiles, an element at a time",
        ("num_bits_per_copy=128", "num_bits_per_copy=32"),
        says=("without ld.global.v4",),
    ),
    "row_sums": mend(
        "eight_bytes", "rows begin at multiples of 8 bytes", ("COLUMNS + 1", "COLUMNS + 2"), says=("multiple of 16",)
    ),
    "channels_last": mend(
        "two_columns_more",
        "two threads to a bank",
        ("tile[T][T];", "tile[T][T + 2];"),
        says=("threads meet in a bank",),
    ),
}
MORE = {
    "18.22": (
        mend(
            "back_to_32_bits",
            "the number before somebody made it safe",
            ("cutlass.Int64(x.shape[1])", "x.shape[1]"),
            says=("still uses a product of 32 bits",),
        ),
    ),
    "18.24": (
        mend(
            "no_padding",
            "aligned, and all rows begin in one bank",
            ("COLUMNS + 1", "COLUMNS"),
            says=("threads meet in a bank",),
        ),
    ),
}
WRONG = {f"18.{2 * n + 1}": (DIAGNOSES[name],) for n, name in enumerate(NAMES)} | {
    f"18.{2 * n + 2}": (original(name), MENDS[name], *MORE.get(f"18.{2 * n + 2}", ())) for n, name in enumerate(NAMES)
}
