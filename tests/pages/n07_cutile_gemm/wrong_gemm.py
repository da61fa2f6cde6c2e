"""Wrong answers to notebook 07: the GEMM, and the persistent one."""

from tests.pages.change import derive, swap, without
from tests.pages.n07_cutile_gemm.cutile_gemms import GEMM, PERSISTENT, TF32
from tests.pages.table import says

WRONG = {
    "07.1": [
        says("does what you are asked to write")(
            derive(
                GEMM,
                "a_tile_of_product",
                "Calls the page's own walk along K.",
                swap(
                    "total = ct.zeros((tm, tn), ct.float32)",
                    "total = tile_gemm.tile_of_product(a, b, m, n, tm, tn, tk)",
                ),
            )
        ),
        says("in tfloat32, where bfloat16 is asked for")(
            derive(
                GEMM,
                "multiplied_in_tf32",
                "Casts bf16 to tf32: right, at half the tensor cores' speed.",
                swap("padding_mode=ZERO)", "padding_mode=ZERO).astype(ct.tfloat32)", times=2),
            )
        ),
        says("products of elements; ")(
            derive(
                GEMM,
                "multiplied_twice",
                "Computes everything a second time, and takes half of the sum.",
                swap("(columns), total)", "(columns), ct.mma(rows, ct.transpose(columns), total))"),
                swap("total.astype(c.dtype)", "(0.5 * total).astype(c.dtype)"),
            )
        ),
        says("at 64×64×64 its blocks load 16,384 elements of a; 8,192 are enough")(
            derive(
                GEMM,
                "loaded_twice",
                "Loads A's tile a second time in each step.",
                swap(
                    "(columns), total)",
                    "(columns), total)\n        rows = ct.load(a, (m, k), (tm, tk), padding_mode=ZERO)",
                ),
            )
        ),
        says("it loads or stores single elements of a.")(
            derive(
                GEMM,
                "gathered",
                "Gathers the elements of A's tile, which no TMA carries.",
                swap(
                    "ct.load(a, (m, k), (tm, tk), padding_mode=ZERO)",
                    "ct.gather(a, (m * tm + ct.arange(tm, dtype=ct.int32)[:, None],\n"
                    "                             k * tk + ct.arange(tk, dtype=ct.int32)[None, :]))",
                ),
            )
        ),
        says("it loads or stores single elements of c.")(
            derive(
                GEMM,
                "scattered",
                "Scatters the elements of C's tile.",
                swap(
                    "ct.store(c, (m, n), total.astype(c.dtype))",
                    "ct.scatter(c, (m * tm + ct.arange(tm, dtype=ct.int32)[:, None],\n"
                    "                   n * tn + ct.arange(tn, dtype=ct.int32)[None, :]), total.astype(c.dtype))",
                ),
            )
        ),
        says("right, but it loads tiles of 4,096 elements of a; the given tile has 1,024")(
            derive(
                GEMM,
                "steps_of_64",
                "Ignores tk.",
                swap("a.shape[1], tk)", "a.shape[1], 64)"),
                swap("(tm, tk)", "(tm, 64)"),
                swap("(tn, tk)", "(tn, 64)"),
            )
        ),
        derive(GEMM, "no_padding", "Adds up what is beyond the end of K.", swap(", padding_mode=ZERO", "", times=2)),
        derive(
            GEMM,
            "whole_steps_only",
            "Leaves out the last step where tk does not divide K.",
            swap("ct.cdiv(a.shape[1], tk)", "a.shape[1] // tk"),
        ),
        derive(
            GEMM,
            "steps_of_another_size",
            "Walks as far as A has rows, which is K for square matrices only.",
            swap("a.shape[1]", "a.shape[0]"),
        ),
        derive(
            GEMM,
            "sums_in_bf16",
            "Rounds the sum to the output's dtype after every step.",
            swap("(columns), total)", "(columns), total).astype(c.dtype).astype(ct.float32)"),
        ),
        derive(
            GEMM,
            "wrong_row_of_b",
            "Takes row m of B's tiles instead of row n.",
            swap("load(b, (n, k)", "load(b, (m, k)"),
        ),
        derive(
            GEMM,
            "not_transposed",
            "Multiplies with B's tile as it lies, which has the wrong shape.",
            swap("ct.transpose(columns)", "columns"),
        ),
        derive(
            GEMM,
            "elements_for_tiles",
            "Steps through K in elements: most of these tiles lie outside of the matrix.",
            swap("ct.cdiv(a.shape[1], tk)", "0, a.shape[1], tk"),
        ),
        says("right, but it does more than it must", "it has stored before")(
            derive(
                GEMM,
                "stores_in_the_loop",
                "Stores the sum so far after every step.",
                swap("\n    ct.store", "\n        ct.store"),
            )
        ),
        says("That is the last step's product alone")(
            derive(
                GEMM,
                "no_sum",
                "Starts from zero in every step.",
                swap("(columns), total)", "(columns), ct.zeros((tm, tn), ct.float32))"),
            )
        ),
        says("The first step along K is missing")(
            derive(
                GEMM,
                "starts_at_one",
                "Leaves out the first step.",
                swap("range(ct.cdiv(a.shape[1], tk))", "range(1, ct.cdiv(a.shape[1], tk))"),
            )
        ),
        derive(
            GEMM,
            "one_step_short",
            "Leaves out the last step, whole or not.",
            swap("range(ct.cdiv(a.shape[1], tk))", "range(ct.cdiv(a.shape[1], tk) - 1)"),
        ),
        derive(
            GEMM,
            "one_step_more",
            "Reads a tile beyond K, which happens to be zero.",
            swap("range(ct.cdiv(a.shape[1], tk))", "range(ct.cdiv(a.shape[1], tk) + 1)"),
        ),
        derive(GEMM, "same_step", "Loads B's first tile in every step.", swap("load(b, (n, k)", "load(b, (n, 0)")),
        derive(GEMM, "index_turned", "Takes (k, m) for A's index.", swap("load(a, (m, k)", "load(a, (k, m)")),
        derive(GEMM, "stores_turned", "Stores to tile (n, m).", swap("store(c, (m, n)", "store(c, (n, m)")),
        derive(
            GEMM,
            "blocks_turned",
            "Takes x for the columns' axis.",
            swap("ct.bid(0), ct.bid(1)", "ct.bid(1), ct.bid(0)"),
        ),
        derive(
            GEMM,
            "padding_one",
            "Pads with infinity.",
            swap("padding_mode=ZERO", "padding_mode=ct.PaddingMode.POS_INF", times=2),
        ),
        says("does not compile")(
            derive(
                GEMM,
                "bf16_accumulator",
                "An accumulator in bf16, which mma has not.",
                swap("ct.float32", "ct.bfloat16"),
            )
        ),
    ],
    "07.4": [
        derive(
            PERSISTENT,
            "one_tile_each",
            "A block stops after its first tile.",
            swap("rows * columns, ct.num_blocks(0)", "ct.bid(0) + 1"),
        ),
        derive(
            PERSISTENT,
            "whole_rounds_only",
            "Leaves out the last round, in which only some of the blocks have a tile.",
            swap("rows * columns, ", "rows * columns // ct.num_blocks(0) * ct.num_blocks(0), "),
        ),
        derive(
            PERSISTENT,
            "everybody_does_everything",
            "Steps by one instead of by the number of blocks, and one tile too far.",
            swap("rows * columns, ct.num_blocks(0)", "rows * columns + 1"),
            swap("grouped(tile, rows, columns, group)", "tile % rows, tile // rows"),
        ),
        derive(
            PERSISTENT,
            "in_raster_order",
            "Computes the right tiles in the order of their rows: `grouped` is not asked.",
            swap("grouped(tile, rows, columns, group)", "tile // columns, tile % columns"),
        ),
        derive(
            PERSISTENT,
            "strips_of_one_row",
            "Calls `grouped` with a group of its own.",
            swap("grouped(tile, rows, columns, group)", "grouped(tile, rows, columns, 1)"),
        ),
        derive(
            PERSISTENT,
            "neighbors_in_one_block",
            "Gives each block consecutive tiles, so that blocks which run together share nothing.",
            swap(
                "    for tile in range(ct.bid(0), rows * columns, ct.num_blocks(0)):",
                "    share = ct.cdiv(rows * columns, ct.num_blocks(0))\n"
                "    for tile in range(ct.bid(0) * share, min(ct.bid(0) * share + share, rows * columns)):",
            ),
        ),
        derive(
            PERSISTENT,
            "all_tiles_in_each_block",
            "Goes through all tiles that follow its first: right, and most of them are computed again.",
            swap("rows * columns, ct.num_blocks(0)", "rows * columns"),
        ),
        derive(
            TF32,
            "sum_goes_on",
            "Does not start the sum anew for the next tile.",
            without("total = ct.zeros("),
            swap("    for tile in", "    total = ct.zeros((tm, tn), ct.float32)\n    for tile in"),
        ),
        says("not in the order that is asked for", "in strips of 2 rows", "yours gives them to block")(
            derive(
                PERSISTENT,
                "raster_order",
                "Down the columns, in place of strips.",
                swap("grouped(tile, rows, columns, group)", "tile % rows, tile // rows"),
            )
        ),
        says("not in the order that is asked for")(
            derive(
                PERSISTENT,
                "row_after_row",
                "Along the rows, in place of strips.",
                swap("grouped(tile, rows, columns, group)", "tile // columns, tile % columns"),
            )
        ),
        says("not in the order that is asked for")(
            derive(PERSISTENT, "strips_of_one", "Strips of one row.", swap("columns, group)", "columns, 1)"))
        ),
        says("not in the order that is asked for")(
            derive(
                PERSISTENT,
                "a_run_for_each",
                "Gives each block neighboring tiles.",
                swap(
                    "range(ct.bid(0), rows * columns, ct.num_blocks(0))",
                    "range(ct.bid(0) * ct.cdiv(rows * columns, ct.num_blocks(0)), min(rows * columns, (ct.bid(0) + 1) * ct.cdiv(rows * columns, ct.num_blocks(0))))",
                ),
            )
        ),
        derive(
            PERSISTENT,
            "rows_for_columns",
            "Counts the columns with tm.",
            swap("ct.cdiv(c.shape[1], tn)", "ct.cdiv(c.shape[1], tm)"),
        ),
        derive(
            PERSISTENT,
            "floors",
            "Leaves out tiles that hang over.",
            swap("ct.cdiv(c.shape[0], tm), ct.cdiv(c.shape[1], tn)", "c.shape[0] // tm, c.shape[1] // tn"),
        ),
        derive(PERSISTENT, "from_zero", "Every block starts at tile 0.", swap("range(ct.bid(0),", "range(0,")),
        derive(
            PERSISTENT,
            "second_tile_first",
            "Starts one round late.",
            swap("range(ct.bid(0),", "range(ct.bid(0) + ct.num_blocks(0),"),
        ),
        derive(PERSISTENT, "turned", "Exchanges row and column.", swap("m, n = grouped", "n, m = grouped")),
        derive(
            PERSISTENT,
            "sizes_of_a",
            "Takes C's columns for A's.",
            swap("ct.cdiv(c.shape[1], tn)", "ct.cdiv(a.shape[1], tn)"),
        ),
        derive(
            PERSISTENT,
            "rounded_first",
            "Rounds to bf16 twice, and stores bf16 of an integer.",
            swap("product.astype(c.dtype)", "product.astype(ct.int32).astype(c.dtype)"),
        ),
    ],
}
