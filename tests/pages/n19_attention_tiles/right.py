"""Unusual right answers to notebook 19."""

import math

import numpy as np

from tests.pages.change import derive, swap
from tests.pages.n19_attention_tiles.attention_tiles import RIGHT as SOLVED
from tests.pages.n19_attention_tiles.attention_tiles import changed, step

attend, causal, attention, combine, grad_q = (changed(id) for id in ("19.2", "19.4", "19.5", "19.6", "19.7"))
FIRST_SCORES = "ct.mma(queries, ct.transpose(ct.load(k, (0, 0), (tn, d))), ct.zeros((tm, tn), ct.float32)) * scale"
PART_BY_PART = """\
    largest = ct.full((1, 1), -math.inf, ct.float32)
    total, average = ct.zeros((1, 1), ct.float32), ct.zeros((1, d), ct.float32)
    for n in range(parts.shape[0]):
        log = ct.load(lse, (n, row), (1, 1))
        new = ct.maximum(largest, log)
        factor, weight = ct.exp2(largest - new, flush_to_zero=True), ct.exp2(log - new, flush_to_zero=True)
        part = ct.reshape(ct.load(parts, (n, row, 0), (1, 1, d)), (1, d))
        largest, total, average = new, total * factor + weight, average * factor + part * weight
    ct.store(o, (row, 0), average / total)"""
FIRST_LOOP = "for n in range(unmasked):"


def part_by_part(lines):
    """combine as a loop."""
    return [*lines[: lines.index("    row = ct.bid(0)") + 1], *PART_BY_PART.split("\n")]


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
        attend(
            "loaded_in_the_other_order",
            "The load transposes K.",
            ("ct.transpose(k_tile)", "k_tile"),
            ("ct.load(k, (n, 0), (tn, d))", "ct.load(k, (0, n), (d, tn), order=(1, 0))"),
        ),
        attend(
            "scores_transposed",
            "K Qᵀ.",
            (
                "ct.mma(queries, ct.transpose(k_tile), ct.zeros((tm, tn), ct.float32))",
                "ct.transpose(ct.mma(k_tile, ct.transpose(queries), ct.zeros((tn, tm), ct.float32)))",
            ),
        ),
        attend(
            "rescaled_when_needed",
            "Where no maximum has grown, all factors are 1.",
            ("v_tile, acc * factor)", "v_tile, acc)"),
            ("        v_tile", "        if ct.min(factor) < 1.0:\n            acc = acc * factor\n        v_tile"),
        ),
        attend(
            "next_scores_first",
            "The next tile's scores before this one's softmax.",
            ("k.shape[0] // tn):", "k.shape[0] // tn - 1):"),
            ("    for n", f"    later = {FIRST_SCORES}\n    for n"),
            (
                "        k_tile = ct.load(k, (n, 0), (tn, d))\n        s =",
                "        s, k_tile = later, ct.load(k, (n + 1, 0), (tn, d))\n        later =",
            ),
            (
                "    ct.store",
                """    p, factor, largest, total = online_step(later, largest, total)
    acc = ct.mma(p.astype(v.dtype), ct.load(v, (k.shape[0] // tn - 1, 0), (tn, d)), acc * factor)
    ct.store""",
            ),
        ),
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
            "one_loop",
            "A branch around the mask.",
            ("in range(unmasked):", "in range(0):"),
            ("range(unmasked, end)", "range(end)"),
            (
                "        seen =",
                "        if n >= unmasked:\n            s = ct.where((column < keys) & (column <= row), s, -math.inf)\n        seen =",
            ),
            ("ct.where(seen, s, -math.inf)", "s"),
        ),
        attention(
            "adds_the_mask",
            "A mask of numbers.",
            ("ct.where(seen, s, -math.inf)", "s + (seen.astype(ct.float32) - 1.0) * 3e38"),
        ),
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
        derive(SOLVED["19.6"], "part_by_part", "An online step for each part.", part_by_part),
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
