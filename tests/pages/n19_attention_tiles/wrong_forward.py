"""Wrong answers to notebook 19: the online step, one head, masks, heads and groups."""

from tests.pages.change import derive, swap
from tests.pages.n19_attention_tiles.attention_tiles import RIGHT, by_block_0, changed, step
from tests.pages.table import says

attend, causal, attention = (changed(id) for id in ("19.2", "19.4", "19.5"))
MORE = says("right, but it does more than it must")
FACTOR = "ct.exp2(largest - new, flush_to_zero=True)"
WEIGHTS = "ct.exp2(s - new, flush_to_zero=True)"
TOTAL = "total * factor + ct.sum(p, 1, keepdims=True)"
ROUNDED = "(acc * factor).astype(ct.bfloat16).astype(ct.float32))"
CUDA_CORES = (
    "ct.mma(p.astype(v.dtype), v_tile, acc * factor)",
    "acc * factor + ct.sum(p[:, :, None] * v_tile.astype(ct.float32)[None, :, :], 1)",
)


SCORES = "ct.mma(queries, ct.transpose(k_tile), ct.zeros((tm, tn), ct.float32)) * scale"
TWO_EXPONENTIALS = """new = ct.maximum(largest, ct.max(s, 1, keepdims=True))
        half = 0.5 * (s - new)
        p = ct.exp2(half, flush_to_zero=True) * ct.exp2((s - new) - half, flush_to_zero=True)
        factor = ct.exp2(largest - new, flush_to_zero=True)
        largest, total = new, total * factor + ct.sum(p, 1, keepdims=True)"""
ONE_MASK_MORE = (
    ("in range(unmasked):", "in range(max(unmasked - 1, 0)):"),
    ("range(unmasked, end)", "range(max(unmasked - 1, 0), end)"),
)
SCORES_TWICE = (f"s = {SCORES}\n        column", f"s = 0.5 * ({SCORES}) + 0.5 * {SCORES}\n        column")


def in_e(id, name):
    """online_step with a natural exponential, in the kernel of an exercise."""
    what, change = "Multiples of log(2).", swap(WEIGHTS, "ct.exp((s - new) * 0.6931471805599453)")
    return MORE(derive(RIGHT[id], name, what, change, within="online_step"))


def unflushed(id, name):
    what, change = "Keeps subnormal numbers.", swap(", flush_to_zero=True", "", 2)
    return MORE(derive(RIGHT[id], name, what, change, within="online_step"))


def tiles(m, tm, tn, keys, *, whole=None, end=None):
    """The solution's numbers with one of them in place."""
    right = min(m * tm + 1, keys) // tn, -(-min((m + 1) * tm, keys) // tn)
    return (right[0] if whole is None else whole), (right[1] if end is None else end)


def masks_everywhere(m, tm, tn, keys):
    """No tile is whole."""
    return tiles(m, tm, tn, keys, whole=0)


def visits_all(m, tm, tn, keys):
    """Skips nothing."""
    return tiles(m, tm, tn, keys, end=-(-keys // tn))


def whole_for_the_last_query(m, tm, tn, keys):
    """Whole for the last query of the block, not for the first."""
    return tiles(m, tm, tn, keys, whole=min((m + 1) * tm, keys) // tn)


def first_querys_end(m, tm, tn, keys):
    """Ends where the first query's keys end."""
    return tiles(m, tm, tn, keys, end=-(-min(m * tm + 1, keys) // tn))


def not_its_own_key(m, tm, tn, keys):
    """The block's first query does not see its own key: wrong where that is a tile's last."""
    return tiles(m, tm, tn, keys, whole=min(m * tm, keys) // tn)


def forgets_the_end_of_k(m, tm, tn, keys):
    """Lets an incomplete tile of keys go unmasked."""
    return tiles(m, tm, tn, keys, whole=min((m * tm + 1) // tn, -(-keys // tn)))


def beyond_the_end_of_k(m, tm, tn, keys):
    """Visits tiles that do not exist."""
    return tiles(m, tm, tn, keys, end=-(-((m + 1) * tm) // tn))


def rounds_the_end_down(m, tm, tn, keys):
    """Leaves out the last, incomplete tile."""
    return tiles(m, tm, tn, keys, end=min((m + 1) * tm, keys) // tn)


def rounds_whole_up(m, tm, tn, keys):
    """Takes a tile that the first query sees in part for whole."""
    return tiles(m, tm, tn, keys, whole=-(-min(m * tm + 1, keys) // tn))


def in_keys(m, tm, tn, keys):
    """Numbers of keys, not of tiles."""
    return min(m * tm + 1, keys), min((m + 1) * tm, keys)


def masked_and_visited(m, tm, tn, keys):
    """The number of masked tiles, in place of those that are whole."""
    whole, end = tiles(m, tm, tn, keys)
    return end - whole, end


def tiles_of_queries(m, tm, tn, keys):
    """Exchanges tm and tn."""
    return tiles(m, tn, tm, keys)


def end_first(m, tm, tn, keys):
    """The two numbers exchanged."""
    return tiles(m, tm, tn, keys)[::-1]


WRONG = {
    "19.1": [
        step("never_rescaled", "A factor of 1.", swap(FACTOR, "ct.exp2(new - new)")),
        step("inverse_factor", "The factor's reciprocal.", swap("largest - new", "new - largest")),
        step("old_maximum", "Weights relative to the old maximum, -inf at first.", swap("s - new", "s - largest")),
        step(
            "each_tiles_own_maximum",
            "The maximum may fall again, and the factor overflows.",
            swap("ct.maximum(largest, ct.max(s, 1, keepdims=True))", "ct.max(s, 1, keepdims=True)"),
        ),
        step(
            "maximum_of_the_tile",
            "One maximum for all rows: a row far below it has no weights left.",
            swap("ct.max(s, 1, keepdims=True)", "ct.max(s)"),
        ),
        step("total_not_rescaled", "Only the accumulator is rescaled.", swap("total * factor", "total")),
        step("keeps_the_old_maximum", "Returns the old maximum.", swap("factor, new,", "factor, largest,")),
        step("no_maximum", "Subtracts nothing.", swap("s - new", "s"), swap("largest - new", "new - new")),
        step("natural", "e, although the scores are multiples of log2(e).", swap(WEIGHTS, "ct.exp(s - new)")),
        step("total_of_the_last_tile", "Forgets the earlier tiles' total.", swap("total * factor + ", "")),
        step(
            "total_rescaled_too_late",
            "Rescales the new terms too.",
            swap(TOTAL, f"({TOTAL.replace('* factor ', '')}) * factor"),
        ),
        step(
            "total_in_bf16",
            "Rounds the total after each tile.",
            swap(TOTAL, f"({TOTAL}).astype(ct.bfloat16).astype(ct.float32)"),
        ),
        unflushed("19.1", "not_flushed"),
        in_e("19.1", "through_exp"),
        MORE(
            step(
                "maximum_twice",
                "Reduces each row for its maximum a second time.",
                swap("    p =", "    new = ct.maximum(new, ct.max(s + 0.0, 1, keepdims=True))\n    p ="),
            )
        ),
        MORE(
            step(
                "factor_for_each_score",
                "As many factors as scores.",
                swap(
                    FACTOR,
                    "ct.max(ct.exp2(ct.broadcast_to(largest, s.shape) - new, flush_to_zero=True), 1, keepdims=True)",
                ),
            )
        ),
        step("counts", "Counts the keys in place of their weights.", swap("ct.sum(p, 1", "ct.sum(p * 0 + 1.0, 1")),
    ],
    "19.2": [
        attend("not_rescaled", "The accumulator keeps its old maximum.", ("acc * factor", "acc")),
        attend("rescaled_too_late", "The new product is rescaled too.", ("acc * factor)", "acc) * factor")),
        attend("unscaled", "Forgets the scale.", (" * scale", "")),
        attend("scaled_twice", "Scales twice.", (" * scale", " * scale * scale")),
        attend("undivided", "Does not divide by the total.", ("acc / total", "acc")),
        attend("divides_in_each_step", "Divides in each step.", ("acc * factor)", "acc * factor) / total")),
        attend("v_for_k", "Scores with V.", ("ct.load(k, (n, 0)", "ct.load(v, (n, 0)")),
        attend("first_tile_of_v", "The same tile of V in each step.", ("ct.load(v, (n, 0)", "ct.load(v, (0, 0)")),
        attend("leaves_out_the_last", "One step too few.", ("k.shape[0] // tn", "k.shape[0] // tn - 1")),
        attend("as_many_keys_as_queries", "Counts the queries.", ("k.shape[0]", "q.shape[0]")),
        attend("steps_of_tm", "Counts tiles of tm keys.", ("k.shape[0] // tn", "k.shape[0] // tm")),
        attend("linear", "Scores in place of weights.", ("p.astype", "s.astype")),
        attend("p_of_one_query", "Every block has the first queries.", ("ct.load(q, (m, 0)", "ct.load(q, (0, 0)")),
        MORE(
            attend(
                "loads_k_twice",
                "Loads each tile of K a second time.",
                ("ct.transpose(k_tile)", "ct.transpose(ct.load(k, (n, 0), (tn, d)) * 0.5 + k_tile * 0.5)"),
            )
        ),
        MORE(
            attend(
                "one_tile_of_all_keys",
                "No loop: a tile as wide as any of the check's sequences.",
                ("range(k.shape[0] // tn)", "range(1)"),
                ("(n, 0), (tn, d))", "(n, 0), (256, d), padding_mode=ZERO)", 2),
                ("(tm, tn)", "(tm, 256)"),
                (
                    "(s, largest",
                    "(ct.where(ct.arange(256, dtype=ct.int32)[None, :] < k.shape[0], s, -math.inf), largest",
                ),
            )
        ),
        MORE(
            attend(
                "two_exponentials",
                "A weight is a product of two.",
                ("p, factor, largest, total = online_step(s, largest, total)", TWO_EXPONENTIALS),
            )
        ),
        MORE(
            attend(
                "normalized_in_each_step",
                "The accumulator is an average all the time.",
                ("        p, factor", "        before = total\n        p, factor"),
                (
                    "p.astype(v.dtype), v_tile, acc * factor)",
                    "(p / total).astype(v.dtype), v_tile, acc * (factor * before / total))",
                ),
                ("(acc / total)", "acc"),
            )
        ),
        attend("tiles_of_16", "Counts tiles of 16 keys.", ("k.shape[0] // tn", "k.shape[0] // 16")),
        by_block_0("19.2", "one_block_2"),
        MORE(
            attend(
                "scaled_queries",
                "Rounds the queries again, with their scale.",
                ("    for n", "    queries = (queries.astype(ct.float32) * scale).astype(q.dtype)\n    for n"),
                (" * scale\n        p", "\n        p"),
            )
        ),
        MORE(attend("acc_in_bf16", "Rounds the accumulator in each step.", ("acc * factor)", ROUNDED))),
        MORE(
            attend(
                "p_in_fp16",
                "V may not fit.",
                ("p.astype(v.dtype), v_tile", "p.astype(ct.float16), v_tile.astype(ct.float16)"),
            )
        ),
        MORE(attend("stores_in_each_step", "Stores in the loop.", ("\n    ct.store", "\n        ct.store"))),
        in_e("19.2", "through_exp_2"),
        unflushed("19.2", "not_flushed_2"),
        says("without what the exercise is about")(
            attend("on_cuda_cores", "Only one product by tensor cores.", CUDA_CORES)
        ),
    ],
    "19.3": [
        masks_everywhere,
        visits_all,
        whole_for_the_last_query,
        first_querys_end,
        not_its_own_key,
        forgets_the_end_of_k,
        beyond_the_end_of_k,
        rounds_the_end_down,
        rounds_whole_up,
        in_keys,
        masked_and_visited,
        tiles_of_queries,
        end_first,
    ],
    "19.4": [
        MORE(
            causal(
                "p_in_tf32",
                "A product of twice the width, at half the rate.",
                (
                    "ct.mma(p.astype(v.dtype), v_tile,",
                    "ct.mma(p.astype(ct.tfloat32), v_tile.astype(ct.tfloat32),",
                    2,
                ),
            )
        ),
        causal("masks_with_a_number", "Scores may be lower.", ("s, -math.inf)", "s, -1e9)")),
        causal(
            "ends_k_with_a_number",
            "Only the diagonal has -inf.",
            (
                "ct.where(seen, s, -math.inf)",
                "ct.where(column <= row, ct.where(column < keys, s, -1e9), -math.inf)",
            ),
        ),
        in_e("19.4", "through_exp_4"),
        unflushed("19.4", "not_flushed_4"),
        MORE(
            causal(
                "masks_everywhere",
                "One loop, all of it with masks.",
                ("in range(unmasked):", "in range(0):"),
                ("range(unmasked, end)", "range(end)"),
            )
        ),
        causal("acc4_in_bf16", "Rounds the accumulator in each step.", ("acc * factor)", ROUNDED, 2)),
        MORE(
            causal(
                "factor_in_bf16",
                "Rounds the factors.",
                ("acc * factor)", "acc * factor.astype(ct.bfloat16).astype(ct.float32))", 2),
            )
        ),
        MORE(causal("masks_one_more", "Also the last tile that every query sees whole.", *ONE_MASK_MORE)),
        MORE(causal("scores_twice", "Multiplies a second time.", SCORES_TWICE)),
        MORE(causal("visits_all", "Visits what no query sees.", ("(unmasked, end)", "(unmasked, ct.cdiv(keys, tn))"))),
        causal("no_end_of_k", "Padding counts as keys.", ("(column < keys) & (column <= row)", "column <= row")),
        causal("not_causal", "Masks the end of K only.", ("(column < keys) & (column <= row)", "column < keys")),
        causal("not_itself", "A query does not see its own key.", ("column <= row", "column < row")),
        causal("the_future", "Sees the later keys.", ("column <= row", "column >= row")),
        causal("row_in_the_block", "Rows count from the block's first.", ("m * tm + ct.arange", "ct.arange")),
        causal("column_in_the_tile", "Columns count from the tile's first.", ("n * tn + ct.arange", "ct.arange")),
        causal("masked_by_zero", "A score of 0 has a weight.", ("s, -math.inf)", "s, 0.0)")),
        causal("one_tile_too_few", "Leaves out the last tile.", ("range(unmasked, end)", "range(unmasked, end - 1)")),
        causal("whole_tiles_twice", "The second loop begins at 0.", ("range(unmasked, end)", "range(end)")),
        causal(
            "undetermined_v",
            "Weight 0 times an undetermined number.",
            ("ct.load(v, (n, 0), (tn, d), padding_mode=ZERO)", "ct.load(v, (n, 0), (tn, d))"),
        ),
        causal("unmasked_step", "Computes the mask and does not use it.", ("ct.where(seen, s, -math.inf)", "s")),
        causal("not_rescaled", "Rescales in neither loop.", ("acc * factor", "acc", 2)),
        causal(
            "without_the_first_loop",
            "Leaves the whole tiles out.",
            ("in range(unmasked):", "in range(0):"),
        ),
    ],
    "19.5": [
        says("which see more keys")(
            attention(
                "shortest_first",
                "Blocks in the order of their rows.",
                ("ct.num_blocks(0) - 1 - ct.bid(0)", "ct.bid(0)"),
            )
        ),
        MORE(attention("acc5_in_bf16", "Rounds the accumulator in each step.", ("acc * factor)", ROUNDED, 2))),
        says("which starts after it")(
            attention(
                "from_both_ends",
                "The longest, the shortest, the second longest.",
                (
                    "ct.num_blocks(0) - 1 - ct.bid(0)",
                    "ct.num_blocks(0) - 1 - ct.bid(0) // 2 if ct.bid(0) % 2 == 0 else ct.bid(0) // 2",
                ),
            )
        ),
        attention("masks_5_with_a_number", "Scores may be lower.", ("s, -math.inf)", "s, -1e9)")),
        in_e("19.5", "through_exp_5"),
        unflushed("19.5", "not_flushed_5"),
        attention("a_head_each", "No groups.", ("head // group", "head")),
        attention("interleaved", "Neighboring heads have different K.", ("head // group", "head % k.shape[1]")),
        attention("first_kv_head", "All heads share one.", ("head // group", "0")),
        attention(
            "heads_and_batch", "Exchanges two axes of the grid.", ("ct.bid(1), ct.bid(2)", "ct.bid(2), ct.bid(1)")
        ),
        attention("first_batch", "All sequences have the first one's K.", ("ct.load(k, (batch,", "ct.load(k, (0,", 2)),
        attention("v_of_the_head", "V without groups.", ("ct.load(v, (batch, kv_head", "ct.load(v, (batch, head", 2)),
        attention("counts_heads", "Takes the heads for the keys.", ("k.shape[2]", "k.shape[1]")),
        attention("not_causal", "Masks the end of K only.", ("(column < keys) & (column <= row)", "column < keys")),
        attention("no_end_of_k", "Padding counts as keys.", ("(column < keys) & (column <= row)", "column <= row")),
        attention("unscaled", "Forgets the scale.", (" * scale", "", 2)),
        attention("undivided", "Does not divide by the total.", ("acc / total", "acc")),
        MORE(
            attention(
                "masks_everywhere",
                "One loop, all of it with masks.",
                ("in range(unmasked):", "in range(0):"),
                ("range(unmasked, end)", "range(end)"),
            )
        ),
        MORE(attention("masks_one_more_5", "Also the last tile that every query sees whole.", *ONE_MASK_MORE)),
        MORE(attention("scores_twice_5", "Multiplies a second time.", SCORES_TWICE)),
        MORE(
            attention(
                "adds_a_mask_everywhere",
                "One loop, with a mask that is added.",
                ("in range(unmasked):", "in range(0):"),
                ("range(unmasked, end)", "range(end)"),
                ("ct.where(seen, s, -math.inf)", "s + (seen.astype(ct.float32) - 1.0) * 3e38"),
            )
        ),
        MORE(
            attention("visits_all", "Visits what no query sees.", ("(unmasked, end)", "(unmasked, ct.cdiv(keys, tn))"))
        ),
        attention(
            "stores_elsewhere",
            "Head and batch exchanged in the store.",
            ("ct.store(o, (batch, head", "ct.store(o, (head, batch"),
        ),
    ],
}
