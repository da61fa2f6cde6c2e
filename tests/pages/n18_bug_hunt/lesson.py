"""The one thing each exercise of page 18 teaches, and answers without it."""

from tests.pages.changed import right_answers
from tests.pages.lesson import Lesson, named
from tests.pages.n18_bug_hunt.hunting import NAMES, SHOWS, diagnosed, diagnosis, fixed
from tests.pages.table import answer
from tutorlib.exercises import find
from tutorlib.kernels.bugs.catalogue import BUGS

RIGHT = right_answers("18_bug_hunt")
SYNC = "cute.arch.sync_threads()"


def halves(name):
    """The right line alone, and the right cause alone."""
    exercise = find(diagnosed(name))
    shows = BUGS[name].wrong_at, *SHOWS.get(name, ())
    return (
        diagnosis(f"only_the_line_of_{name}", "no cause", exercise.lines[0], None, *shows),
        diagnosis(f"only_the_cause_of_{name}", "no line", None, exercise.cause, *shows),
    )


def doubled(name):
    """The solution with each barrier of the block twice."""
    right = RIGHT[fixed(name)]

    def fix(source):
        text = right(source)
        return text.replace("__syncthreads();", "__syncthreads(); __syncthreads();").replace(SYNC, f"{SYNC}; {SYNC}")

    return answer(f"doubled_barriers_{name}", "each barrier twice", fix)


BARRIERS = (
    "sgemm",
    "histogram",
    "largest",
    "gemv",
    "tile_gemm",
    "rms_norm",
    "row_sums",
    "channels_last",
    "column_sums",
    "softmax",
)
PIPELINES = {
    "gemv": ("fetches_afterwards", "waits_for_all", "one_stage"),
    "sum_parts": ("wait_for_all", "two_stages", "meets_in_vain", "one_stage"),
    "stream": ("always_phase_0", "no_wait", "one_stage", "fetches_afterwards", "beyond_1", "needless_barrier"),
}
OTHERS = {
    "linear": ("no_tensor_cores", "x_transposed", "row_by_row"),
    "sgemm": ("one_side_guarded", "no_tiles", "no_padding"),
    "histogram": ("of_128", "in_global_memory", "every_thread_clears_all"),
    "matmul_fp32": ("a_alone", "fp16"),
    "largest": ("no_branch", "a_warps_barrier", "twice_in_each_turn", "no_tree"),
    "tile_gemm": ("a_fence", "twice"),
    "rms_norm": ("barrier_too_early", "one_row_each", "each_thread_for_itself"),
    "scale_rows": ("narrow_copies", "more_than_is_true", "meets_in_vain"),
    "row_sums": ("no_padding", "eight_more", "no_cp_async"),
    "channels_last": ("two_columns_more", "no_shared_memory"),
    "column_sums": ("fence_before_the_flag_alone", "fence_behind_the_flag_alone", "a_blocks_fence", "atomic_sums"),
    "softmax": ("a_large_number", "zeros_still", "no_maximum", "whole_rows_of_softmax"),
}
LESSONS = {
    diagnosed(name): Lesson("an input that shows it, the line and the cause, all three", halves(name)) for name in NAMES
} | {
    fixed(name): Lesson(
        "the fault fixed, and what made the kernel fast kept",
        (
            *named(fixed(name), f"original_{name}", *(PIPELINES | OTHERS)[name]),
            *([doubled(name)] if name in BARRIERS else ()),
        ),
    )
    for name in NAMES
}
