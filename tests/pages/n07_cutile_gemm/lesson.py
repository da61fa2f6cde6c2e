"""The one thing each exercise of page 07 teaches, and answers without it."""

from tests.pages.change import derive, swap
from tests.pages.lesson import Lesson, named
from tests.pages.n07_cutile_gemm.cutile_gemms import FP8, GEMM

PRODUCT = "total = ct.mma(rows, ct.transpose(columns), total)"

no_tensor_cores = derive(
    GEMM,
    "no_tensor_cores",
    "Multiplies element by element, and adds along K.",
    swap(
        PRODUCT,
        "factors = ct.reshape(rows, (tm, 1, tk)).astype(ct.float32)\n"
        "        others = ct.reshape(columns, (1, tn, tk)).astype(ct.float32)\n"
        "        total = total + ct.sum(factors * others, axis=2)",
    ),
)
accumulators_in_tf32 = derive(
    GEMM,
    "accumulators_in_tf32",
    "Rounds the accumulators to tf32 in each step.",
    swap(PRODUCT, PRODUCT + ".astype(ct.tfloat32).astype(ct.float32)"),
)
b_loaded_twice = derive(
    FP8,
    "b_loaded_twice",
    "Loads B's tile for each of the two accumulators.",
    swap(
        "lower = ct.mma(slab, ",
        "again = ct.load(b, (n, k), (tn, tk), padding_mode=ZERO)\n            lower = ct.mma(again, ",
    ),
)

known_zero = derive(
    FP8,
    "known_zero",
    "Starts from a zero that the compiler knows, so it peels the first step off the loop.",
    swap("zero = ct.bid(1)", "zero = 0"),
)
two_sets = derive(
    FP8,
    "two_sets",
    "Accumulates in ordinary registers as well, in a second set of accumulators.",
    swap(", use_fast_acc=True", "", times=2),
)

LESSONS = {
    "07.1": Lesson(
        "tiles on tensor cores, fp32 accumulators",
        (no_tensor_cores, accumulators_in_tf32, *named("07.1", "gathered", "loaded_twice")),
    ),
    "07.2": Lesson(
        "blocks in strips, so that they share rows and columns",
        named("07.2", "raster", "row_after_row", "a_list_of_tiles"),
    ),
    "07.3": Lesson(
        "the accumulators of a thread decide on warps and CTAs",
        named("07.3", "none_ever", "by_n_alone", "sixteen_ctas"),
    ),
    "07.4": Lesson("a grid of workers that walks all tiles, in strips", named("07.4", "one_tile_each", "raster_order")),
    "07.5": Lesson("registers and two stages decide on a configuration", named("07.5", "registers_only", "one_stage")),
    "07.6": Lesson(
        "fp32 rounded to tf32, other types as they are",
        named("07.6", "never_cast", "cast_to_bf16", "three_products_in_bf16"),
    ),
    "07.7": Lesson(
        "two accumulators in registers, one tile of B used twice",
        (
            b_loaded_twice,
            known_zero,
            two_sets,
            *named("07.7", "multiplied_twice", "multiplied_in_fp16", "stored_by_tma"),
        ),
    ),
    "07.8": Lesson(
        "a slice of K for each block", named("07.8", "loads_all", "one_does_it_all", "all_do_it_all", "part_zero")
    ),
    "07.9": Lesson(
        "slices where tiles are few, added by a second kernel",
        named("07.9", "one_part", "always_three", "three_sms", "added_in_large_tiles"),
    ),
}
