"""Wrong answers to notebook 19: the parts of a split, and the backward pass."""

from tests.pages.n19_attention_tiles.attention_tiles import by_block_0, changed
from tests.pages.table import says

combine, grad_q = changed("19.6"), changed("19.7")
MORE = says("right, but it does more than it must")
WEIGHTS = "ct.exp2(logs - ct.max(logs), flush_to_zero=True)"
IN_E = "(logs - ct.max(logs)) * 0.6931471805599453"
P, OF_E = "ct.exp2(s - logs, flush_to_zero=True)", "ct.exp(s - logs * 0.6931471805599453)"

WRONG = {
    "19.6": [
        combine(
            "padded_with_zero", "Parts that do not exist have a weight.", ("padding_mode=NEG_INF", "padding_mode=ZERO")
        ),
        combine(
            "padded_with_a_number",
            "Logarithms may be lower.",
            (
                "padding_mode=NEG_INF)",
                "padding_mode=ZERO)\n    logs = ct.where(ct.arange(splits, dtype=ct.int32)[:, None] < lse.shape[0], logs, -1e6)",
            ),
        ),
        MORE(combine("through_exp_6", "A natural exponential.", (WEIGHTS, f"ct.exp({IN_E})"))),
        combine("undetermined_lse", "Pads nothing.", (", padding_mode=NEG_INF", "")),
        combine("undetermined_parts", "Weight 0 times an undetermined number.", (", padding_mode=ZERO", "")),
        combine("no_maximum", "Subtracts nothing.", ("logs - ct.max(logs)", "logs")),
        combine("natural", "e, although lse is to base 2.", (WEIGHTS, "ct.exp(logs - ct.max(logs))")),
        combine("mean", "All parts weigh the same.", (WEIGHTS, "logs * 0 + 1.0")),
        combine("sum_of_parts", "Does not divide.", (" / ct.sum(weights)", "")),
        combine("by_number", "Divides by the number of parts.", (" / ct.sum(weights)", " / parts.shape[0]")),
        combine("lse_as_weight", "The logarithm as a weight.", (WEIGHTS, "logs")),
        combine("first_row_of_lse", "The first row's weights.", ("ct.load(lse, (0, row)", "ct.load(lse, (0, 0)")),
        combine("axes_exchanged", "Tiles of lse along its rows.", ("ct.load(lse, (0, row)", "ct.load(lse, (row, 0)")),
        combine(
            "first_row_of_parts", "The first row's parts.", ("ct.load(parts, (0, row, 0)", "ct.load(parts, (0, 0, 0)")
        ),
        combine("divided_twice", "Divides twice.", ("part * weights", "part * weights / ct.sum(weights)")),
        combine(
            "weights_in_bf16",
            "Rounds the weights.",
            (WEIGHTS, f"{WEIGHTS}.astype(ct.bfloat16).astype(ct.float32)"),
        ),
        combine(
            "maximum_at_least",
            "All weights underflow.",
            ("logs - ct.max(logs)", "logs - ct.maximum(ct.max(logs), -1e3)"),
        ),
        combine("eight_parts", "As if there were never more.", ("(splits, ", "(8, ", 3)),
        by_block_0("19.6", "one_block_6", "row"),
        MORE(combine("padded_to_128", "A tile of 128 parts, however few there are.", ("(splits, ", "(128, ", 3))),
        combine("minimum", "Subtracts the smallest, and overflows.", ("ct.max(logs)", "ct.min(logs)")),
        MORE(
            combine(
                "loads_parts_twice",
                "Loads the parts a second time.",
                (
                    "part * weights",
                    "(part * 0.5 + 0.5 * ct.reshape(ct.load(parts, (0, row, 0), (splits, 1, d), padding_mode=ZERO), (splits, d))) * weights",
                ),
            )
        ),
    ],
    "19.7": [
        grad_q("no_delta", "Forgets delta.", ("dp - shared", "dp")),
        grad_q("plus_delta", "Adds delta.", ("dp - shared", "dp + shared")),
        grad_q("delta_unweighted", "Subtracts delta from P dP.", ("p * (dp - shared)", "p * dp - shared")),
        grad_q("unscaled", "Forgets the scale at the end.", ("acc * scale", "acc")),
        grad_q("scaled_by_log2_e", "The gradient has no log2(e).", ("acc * scale", "acc * (scale * LOG2_E)")),
        grad_q("natural_scores", "Forgets log2(e) in the scores.", ("(scale * LOG2_E)", "scale")),
        grad_q("natural", "e in place of 2.", (P, "ct.exp(s - logs)")),
        MORE(grad_q("through_exp_7", "A natural exponential.", ("(scale * LOG2_E)", "scale"), (P, OF_E))),
        MORE(grad_q("through_exp_of_both", "Scales once more.", (P, "ct.exp((s - logs) * 0.6931471805599453)"))),
        MORE(
            grad_q(
                "two_exponentials_7",
                "A weight is a product of two.",
                (
                    P,
                    "ct.exp2(0.5 * (s - logs), flush_to_zero=True) * ct.exp2(s - logs - 0.5 * (s - logs), flush_to_zero=True)",
                ),
            )
        ),
        MORE(
            grad_q(
                "scores_twice_7",
                "Multiplies a second time.",
                (
                    "        dp =",
                    "        s = 0.5 * s + 0.5 * (ct.mma(q_tile, ct.transpose(k_tile), zeros) * (scale * LOG2_E))\n        p = ct.exp2(s - logs, flush_to_zero=True)\n        dp =",
                ),
            )
        ),
        MORE(grad_q("not_flushed_7", "Keeps subnormal numbers.", (", flush_to_zero=True", ""))),
        by_block_0("19.7", "one_block_7"),
        grad_q("lse_added", "Adds lse.", ("s - logs", "s + logs")),
        grad_q("unnormalized", "Forgets lse.", ("s - logs", "s")),
        grad_q("v_at_the_end", "dS V.", ("k_tile, acc)", "v_tile, acc)")),
        grad_q("p_for_ds", "P K.", ("ds.astype", "p.astype")),
        grad_q("dp_with_k", "dO Kᵀ.", ("ct.transpose(v_tile)", "ct.transpose(k_tile)")),
        grad_q("dp_of_q", "Q Vᵀ.", ("ct.mma(do_tile", "ct.mma(q_tile")),
        grad_q("leaves_out_the_last", "One step too few.", ("k.shape[0] // tn", "k.shape[0] // tn - 1")),
        grad_q("last_tile_alone", "Does not accumulate.", ("k_tile, acc)", "k_tile, ct.zeros((tm, d), ct.float32))")),
        grad_q(
            "delta_and_lse",
            "Exchanges the two.",
            ("ct.load(lse,", "ct.load(delta,"),
            ("(tm,))[:, None], ct.load(delta", "(tm,))[:, None], ct.load(lse"),
        ),
        MORE(
            grad_q(
                "acc7_in_bf16",
                "Rounds the accumulator in each step.",
                ("k_tile, acc)", "k_tile, acc).astype(ct.bfloat16).astype(ct.float32)"),
            )
        ),
        MORE(
            grad_q(
                "a_softmax_again",
                "Computes lse, which it is given, in a loop of its own.",
                (
                    "    for n in",
                    """    largest, total = ct.full((tm, 1), -math.inf, ct.float32), ct.zeros((tm, 1), ct.float32)
    for n in range(k.shape[0] // tn):
        s = ct.mma(q_tile, ct.transpose(ct.load(k, (n, 0), (tn, d))), zeros) * (scale * LOG2_E)
        p, factor, largest, total = online_step(s, largest, total)
    logs = largest + ct.log2(total)
    for n in""",
                ),
            )
        ),
        MORE(
            grad_q(
                "one_tile_of_keys",
                "No loop: a tile as wide as any of the check's sequences.",
                ("range(k.shape[0] // tn)", "range(1)"),
                ("(tn, d))", "(128, d), padding_mode=ZERO)", 2),
                ("(tm, tn)", "(tm, 128)"),
            )
        ),
        MORE(
            grad_q(
                "ds_in_fp16",
                "K may not fit.",
                ("ds.astype(k.dtype), k_tile", "ds.astype(ct.float16), k_tile.astype(ct.float16)"),
            )
        ),
        MORE(grad_q("loads_k_twice", "Loads K again.", ("k_tile, acc)", "ct.load(k, (n, 0), (tn, d)), acc)"))),
    ],
}
