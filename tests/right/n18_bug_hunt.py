"""Unusual right answers to notebook 18."""

import numpy as np

from tests.wrong.n18_bug_hunt import diagnosis, mend

RIGHT = {
    "18.1": (
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
    ),
    "18.2": (
        mend(
            "loaded_in_the_other_order",
            "the load itself exchanges the modes",
            (
                "ct.load(w, (column, step), (T, T), padding_mode=ZERO)",
                "ct.load(w, (step, column), (T, T), order=(1, 0), padding_mode=ZERO)",
            ),
        ),
    ),
    "18.5": (
        diagnosis(
            "bright_pixels",
            "a launch of one warp, and a part of the line",
            "mine[t] = 0",
            "never initialised",
            (1, 4, 32),
            np.full((1, 4), 255),
        ),
    ),
    "18.14": (mend("wait_for_all", "right, and without overlap", ("wait_group(STAGES - 1)", "wait_group(0)")),),
    "18.18": (
        mend(
            "two_sets_of_partials",
            "rows take turns between two arrays, so that one barrier a row is enough",
            ("float partial[WARPS];", "float partials[2][WARPS];"),
            ("    const float *in =", "    float *partial = partials[row / gridDim.x % 2];\n    const float *in ="),
        ),
    ),
    "18.22": (
        mend(
            "no_layout_of_its_own",
            "the tensors' own layouts, in 64 bits and with all that is known",
            ("cute.make_tensor(x.iterator, layout), cute.make_tensor(y.iterator, layout)", "x, y"),
        ),
        mend(
            "the_stride_that_is_there",
            "in 64 bits, with what is known of it",
            ("cutlass.Int64(x.shape[1])", "x.stride[0]"),
        ),
    ),
    "18.24": (
        mend(
            "four_bytes_each",
            "the padding stays; copies are of one element",
            ("VECTOR = 4;", "VECTOR = 1;"),
        ),
        mend(
            "four_more", "16 bytes of padding: rows of 16 bytes at a time, in all banks", ("COLUMNS + 1", "COLUMNS + 4")
        ),
        mend("eight_more", "32 bytes: two threads to a bank", ("COLUMNS + 1", "COLUMNS + 8")),
    ),
    "18.26": (
        mend(
            "swizzled",
            "no padding: the column is exclusive-ored with the row",
            ("tile[r][t] =", "tile[r][t ^ r] ="),
            ("= tile[t][r];", "= tile[t][r ^ t];"),
        ),
    ),
}
