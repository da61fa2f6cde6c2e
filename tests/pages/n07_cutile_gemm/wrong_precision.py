"""Wrong answers to notebook 07: tf32 and fp8."""

from tests.pages.change import derive, swap, without
from tests.pages.n07_cutile_gemm.cutile_gemms import FP8, TF32
from tests.pages.table import says

FIRST, REST = (
    f"ct.mma(slab, ct.transpose({rows}), {total}, use_fast_acc=True)"
    for rows, total in (("first", "upper"), ("rest", "lower"))
)
DTYPE = "ct.tfloat32 if a.dtype == ct.float32 else a.dtype"


WRONG = {
    "07.6": [
        says("given matrices in bf16: ")(
            derive(
                TF32,
                "accumulators_through_tf32",
                "Rounds the accumulators to tf32 in each step.",
                swap("ct.transpose(y), total)", "ct.transpose(y), total).astype(ct.tfloat32).astype(ct.float32)"),
            )
        ),
        says("products of elements; ")(
            derive(
                TF32,
                "multiplied_twice",
                "Computes everything a second time, and takes half of the sum.",
                swap("ct.transpose(y), total)", "ct.transpose(y), ct.mma(x, ct.transpose(y), total))"),
                swap("total.astype(c.dtype)", "(0.5 * total).astype(c.dtype)"),
            )
        ),
        says("in bfloat16, where tfloat32 is asked for")(
            derive(
                TF32,
                "three_products_in_bf16",
                "Splits fp32 into two numbers in bf16, and never uses tf32.",
                swap(DTYPE, "ct.bfloat16"),
                swap("padding_mode=ZERO).astype(dtype)", "padding_mode=ZERO).astype(ct.float32)", times=2),
                swap(
                    "total = ct.mma(x, ct.transpose(y), total)",
                    "y = ct.transpose(y)\n"
                    "            x0, y0 = x.astype(dtype), y.astype(dtype)\n"
                    "            x1, y1 = (x - x0.astype(ct.float32)).astype(dtype), (y - y0.astype(ct.float32)).astype(dtype)\n"
                    "            total = ct.mma(x1, y0, ct.mma(x0, y1, ct.mma(x0, y0, total)))",
                ),
            )
        ),
        derive(TF32, "through_fp32", "Leaves fp32 as it is: right, and without tensor cores.", swap(DTYPE, "a.dtype")),
        derive(TF32, "through_bf16", "Loses three bits more than tf32 does.", swap(DTYPE, "ct.bfloat16")),
        derive(TF32, "through_fp16", "Has tf32's bits and not its range.", swap(DTYPE, "ct.float16")),
        says("That is the result with operands in bf16")(
            derive(TF32, "cast_to_bf16", "Casts to bf16 where A is fp32.", swap("ct.tfloat32", "ct.bfloat16"))
        ),
        says("range of 65,504")(
            derive(TF32, "cast_to_fp16", "Casts to fp16 where A is fp32.", swap("ct.tfloat32", "ct.float16"))
        ),
        says("given matrices in bf16, ct.mma multiplies tiles in tfloat32")(
            derive(TF32, "always_tf32", "No condition: matrices in bf16 are cast, too.", swap(DTYPE, "ct.tfloat32"))
        ),
        derive(TF32, "never_cast", "Computes the dtype and does not use it.", swap(").astype(dtype)", ")", times=2)),
        derive(TF32, "through_fp8", "Four bits of fraction.", swap("ct.tfloat32", "ct.float8_e4m3fn")),
        derive(
            TF32,
            "no_sum_between_steps",
            "Starts from zero in every step.",
            swap("ct.transpose(y), total)", "ct.transpose(y), ct.zeros((tm, tn), ct.float32))"),
        ),
        derive(
            TF32,
            "sum_in_bf16",
            "Rounds the sum after every step.",
            swap("ct.transpose(y), total)", "ct.transpose(y), total).astype(ct.bfloat16).astype(ct.float32)"),
        ),
        derive(TF32, "floored", "Leaves out a partial step.", swap("ct.cdiv(a.shape[1], tk)", "a.shape[1] // tk")),
        derive(TF32, "no_padding", "Undetermined beyond K.", swap(", padding_mode=ZERO", "", times=2)),
        derive(TF32, "wrong_rows", "Takes rows m of B.", swap("load(b, (n, k)", "load(b, (m, k)")),
        derive(TF32, "steps_by_rows", "Walks as far as A has rows.", swap("a.shape[1], tk", "a.shape[0], tk")),
    ],
    "07.7": [
        derive(
            FP8,
            "first_256_rows",
            "Has only one of the two accumulators.",
            without("lower = ct.full", "rest = ct.load", "lower = ct.mma", "(4, n)"),
        ),
        derive(
            FP8,
            "tile_1_of_64",
            "Counts the second tile of A in tiles of 256: it fetches rows 64 to 127.",
            swap("(4, k), (64, tk)", "(1, k), (64, tk)"),
        ),
        derive(
            FP8,
            "still_transposed",
            "Stores tiles of C transposed as if they were not: the shapes fit, since a store takes any.",
            swap("ct.transpose(upper.astype(c.dtype))", "ct.reshape(upper.astype(c.dtype), (256, tn))"),
            swap("ct.transpose(lower.astype(c.dtype))", "ct.reshape(lower.astype(c.dtype), (64, tn))"),
        ),
        derive(
            FP8,
            "first_rows_again",
            "Loads rows 0 to 63 for the second accumulator.",
            swap("(4, k), (64, tk)", "(0, k), (64, tk)"),
        ),
        derive(
            FP8,
            "second_tile_of_256",
            "A's second tile of 256 rows is 256 to 511.",
            swap("(4, k), (64, tk)", "(1, k), (256, tk)"),
        ),
        derive(
            FP8,
            "accumulators_swapped",
            "Stores each to the other's place.",
            swap("(0, n), ct.transpose(upper", "(0, n), ct.transpose(lower"),
            swap("(4, n), ct.transpose(lower", "(4, n), ct.transpose(upper"),
        ),
        derive(
            FP8,
            "stored_to_row_1",
            "Counts C's tiles in 256 rows.",
            swap("(4, n), ct.transpose", "(1, n), ct.transpose"),
        ),
        says("a store goes by TMA")(
            derive(FP8, "stored_by_tma", "Takes the loop's shared memory.", swap(", allow_tma=False", "", times=2))
        ),
        says("in float16, where float8_e4m3fn is asked for")(
            derive(
                FP8,
                "multiplied_in_fp16",
                "Casts before it multiplies.",
                swap(
                    "(slab, ct.transpose(first), ", "(slab.astype(ct.float16), ct.transpose(first).astype(ct.float16), "
                ),
                swap(
                    "(slab, ct.transpose(rest), ", "(slab.astype(ct.float16), ct.transpose(rest).astype(ct.float16), "
                ),
                swap(", use_fast_acc=True", "", times=2),
            )
        ),
        says("products of elements; ")(
            derive(
                FP8,
                "multiplied_twice",
                "Multiplies each tile of A a second time, and takes half of the sums.",
                swap("first), upper, use_fast_acc=True)", f"first), {FIRST}, use_fast_acc=True)"),
                swap("rest), lower, use_fast_acc=True)", f"rest), {REST}, use_fast_acc=True)"),
                swap("upper.astype", "(0.5 * upper).astype"),
                swap("lower.astype", "(0.5 * lower).astype"),
            )
        ),
        derive(FP8, "upper_alone", "Never stores the second accumulator.", without("(4, n)")),
        derive(
            FP8,
            "upper_from_lower",
            "Adds the second product to the first sum.",
            swap(
                "lower = ct.mma(slab, ct.transpose(rest), lower",
                "lower = ct.mma(slab, ct.transpose(rest), ct.zeros((tn, 64), ct.float32)",
            ),
        ),
        derive(FP8, "first_step_only", "One step along K.", swap("range(ct.cdiv(a.shape[1], tk))", "range(1)")),
        derive(FP8, "floored", "Leaves out a partial step.", swap("ct.cdiv(a.shape[1], tk)", "a.shape[1] // tk")),
        derive(
            FP8,
            "one_slab",
            "Every block does its first slab and stops.",
            swap("ct.cdiv(b.shape[0], tn), ct.num_blocks(0)", "ct.bid(0) + 1"),
        ),
        derive(
            FP8,
            "everything",
            "Every block does all slabs from its own on.",
            swap("ct.cdiv(b.shape[0], tn), ct.num_blocks(0)", "ct.cdiv(b.shape[0], tn)"),
        ),
        derive(
            FP8, "wrong_slab", "Stores to the step's column.", swap("(0, n), ct.transpose", "(0, n + 1), ct.transpose")
        ),
    ],
}
