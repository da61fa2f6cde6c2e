"""Unusual right answers to notebook 19."""

import math

import numpy as np

from tests.pages.change import swap
from tests.pages.n19_attention_tiles.attention_tiles import changed, step

attend, causal, attention, combine, grad_q = (changed(id) for id in ("19.2", "19.4", "19.5", "19.6", "19.7"))
FIRST_LOOP = "for n in range(unmasked):"


def by_counting(m, tm, tn, keys):
    """Looks at each tile."""
    queries, every = range(m * tm, (m + 1) * tm), range(math.ceil(keys / tn))
    whole = [n for n in every if (n + 1) * tn <= keys and (n + 1) * tn - 1 <= queries[0]]
    return len(whole), len([n for n in every if n * tn <= queries[-1]])


def by_numpy_numbers(m, tm, tn, keys):
    """NumPy's integers in a list."""
    return [np.int64(min(m * tm + 1, keys)) // tn, np.ceil(min(m * tm + tm, keys) / tn).astype(int)]


def by_shifted_division(m, tm, tn, keys):
    """Adds tn - 1, and takes the smaller of two quotients."""
    return min((m * tm + 1) // tn, keys // tn), min((m * tm + tm + tn - 1) // tn, (keys + tn - 1) // tn)


RIGHT = {
    "19.1": [
        step(
            "reshaped",
            "Reduces without keepdims.",
            swap("ct.max(s, 1, keepdims=True)", "ct.max(s, 1)[:, None]"),
            swap("ct.sum(p, 1, keepdims=True)", "ct.reshape(ct.sum(p, 1), (s.shape[0], 1))"),
        ),
        step(
            "exponentials_written_twice",
            "The compiler computes them once.",
            swap("ct.sum(p, 1", "ct.sum(ct.exp2(s - new, flush_to_zero=True), 1"),
        ),
        step(
            "by_the_differences",
            "The factor from how far the maximum rises.",
            swap("ct.exp2(largest - new,", "ct.exp2(-(new - largest),"),
        ),
    ],
    "19.2": [
        attend("by_the_reciprocal", "One division for each row.", ("acc / total", "acc * (1.0 / total)")),
        attend(
            "backwards",
            "From the last tile of keys to the first.",
            ("(n, 0)", "(k.shape[0] // tn - 1 - n, 0)", 2),
        ),
        attend(
            "fused_scale",
            "The maximum before the scale: a score costs one fused multiply-add.",
            (" * scale\n", "\n"),
            (
                "p, factor, largest, total = online_step(s, largest, total)",
                """new = ct.maximum(largest, ct.max(s, 1, keepdims=True))
        p = ct.exp2(s * scale - new * scale, flush_to_zero=True)
        factor = ct.exp2((largest - new) * scale, flush_to_zero=True)
        largest, total = new, total * factor + ct.sum(p, 1, keepdims=True)""",
            ),
        ),
        attend(
            "added_after",
            "The product by itself, added to the rescaled accumulator.",
            ("v_tile, acc * factor)", "v_tile, ct.zeros((tm, d), ct.float32)) + acc * factor"),
        ),
    ],
    "19.3": [by_counting, by_numpy_numbers, by_shifted_division],
    "19.4": [
        causal(
            "two_selections",
            "Masks twice.",
            (
                "ct.where(seen, s, -math.inf)",
                "ct.where(column < keys, ct.where(column <= row, s, -math.inf), -math.inf)",
            ),
        ),
        causal(
            "added",
            "Adds -inf, or 0.",
            ("ct.where(seen, s, -math.inf)", "s + ct.where(seen, 0.0, -math.inf)"),
        ),
        causal(
            "backwards",
            "The whole tiles from the last to the first.",
            (FIRST_LOOP, "for back in range(unmasked):\n        n = unmasked - 1 - back"),
        ),
        causal("lowest_number", "Masks with the lowest number of fp32.", ("-math.inf)", "-3.4028235e38)", 1)),
        causal("differences", "Compares the difference with 0.", ("column <= row", "row - column >= 0")),
    ],
    "19.5": [
        attention(
            "counts_the_blocks",
            "The number of blocks from the number of queries.",
            ("ct.num_blocks(0) - 1 - ct.bid(0)", "ct.cdiv(q.shape[2], tm) - 1 - ct.bid(0)"),
        ),
        attention(
            "two_selections",
            "Masks twice.",
            (
                "ct.where(seen, s, -math.inf)",
                "ct.where(column < keys, ct.where(column <= row, s, -math.inf), -math.inf)",
            ),
        ),
        attention(
            "group_by_sizes", "The group from the shapes.", ("head // group", "head // (q.shape[1] // k.shape[1])")
        ),
    ],
    "19.6": [
        combine(
            "shares_first",
            "Divides the weights.",
            (
                "part * weights, 0, keepdims=True) / ct.sum(weights)",
                "part * (weights / ct.sum(weights)), 0, keepdims=True)",
            ),
        ),
        combine(
            "through_lse",
            "The log-sum-exp of all parts, then each one's share.",
            (
                "part * weights, 0, keepdims=True) / ct.sum(weights)",
                "part * ct.exp2(logs - ct.max(logs) - ct.log2(ct.sum(weights))), 0, keepdims=True)",
            ),
        ),
        combine(
            "guarded", "A row without any part.", ("logs - ct.max(logs)", "logs - ct.maximum(ct.max(logs), -1e30)")
        ),
        combine("not_flushed", "Of a few numbers in a block.", (", flush_to_zero=True", "")),
        combine("along_the_axis", "Keeps the axis.", ("ct.max(logs)", "ct.max(logs, 0, keepdims=True)")),
    ],
    "19.7": [
        grad_q(
            "scaled_before", "The scale goes into dS.", ("dp - shared)", "dp - shared) * scale"), ("acc * scale", "acc")
        ),
        grad_q(
            "lse_through_division",
            "Divides by 2^lse.",
            (
                "ct.exp2(s - logs, flush_to_zero=True)",
                "ct.exp2(s, flush_to_zero=True) / ct.exp2(logs, flush_to_zero=True)",
            ),
        ),
        grad_q("multiplied_out", "P dP - P delta.", ("p * (dp - shared)", "p * dp - p * shared")),
    ],
}
