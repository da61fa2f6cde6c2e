"""Wrong answers to notebook 15: the TiledMma and the copy out of tensor memory."""

from tests.pages.change import derive, swap, without
from tests.pages.n15_blackwell_gemm.blackwell_loops import several
from tests.pages.table import says
from tutorlib.kernels.blackwell.parts import issue, make_t2r, make_umma

GROUP = "tcgen05.CtaGroup.TWO if pair else tcgen05.CtaGroup.ONE"
ADDS = "True if k_block else Boolean(first) == Boolean(False)"
GEMM = "        cute.gemm(tiled_mma, acc, tCrA[None, None, k_block], tCrB[None, None, k_block], acc)"


def mma(name, what, *words, makes=(), issues=()):
    """The course's two functions with these changes."""
    functions = (
        derive(make_umma, f"{name}_umma", what, *makes) if makes else make_umma,
        derive(issue, f"{name}_issue", what, *issues) if issues else issue,
    )
    return several(name, what, *words, functions=functions)


MMA = [
    mma("one_k_block", "16 of 64 along K.", issues=[swap("range_constexpr(cute.size(tCrA, mode=[2]))", "range_constexpr(1)")]),
    mma(
        "five_k_blocks",
        "One that does not exist.",
        issues=[swap("range_constexpr(cute.size(tCrA, mode=[2]))", "range_constexpr(cute.size(tCrA, mode=[2]) + 1)")],
    ),
    mma(
        "first_block_twice",
        "K block 0 of a first K tile, twice: the second time it overwrites the same.",
        "78 tcgen05.mma instructions",
        issues=[
            swap(
                "    for k_block",
                "    if first:\n"
                "        tiled_mma.set(tcgen05.Field.ACCUMULATE, False)\n"
                "        cute.gemm(tiled_mma, acc, tCrA[None, None, 0], tCrB[None, None, 0], acc)\n"
                "    for k_block",
            )
        ],
    ),
    mma("four_k_blocks", "The page's number of K blocks.", issues=[swap("cute.size(tCrA, mode=[2])", "4")]),
    mma("never_adds", "Each multiplication overwrites.", issues=[swap(ADDS, "False")]),
    mma("always_adds", "Nothing ever overwrites.", issues=[swap(ADDS, "True")]),
    mma("opposite_of_first", "Adds where it should overwrite.", issues=[swap("Boolean(first) == Boolean(False)", "Boolean(first)")]),
    mma("first_for_all", "All K blocks of a first K tile overwrite.", issues=[swap(ADDS, "Boolean(first) == Boolean(False)")]),
    mma("first_ignored", "K block 0 overwrites, in every K tile.", issues=[swap(ADDS, "k_block > 0")]),
    mma("never_set", "The predicate is never set.", issues=[without("tiled_mma.set(")]),
    mma("set_after", "The predicate is set after the multiplication.", issues=[lambda lines: [*lines[:-2], lines[-1], lines[-2]]]),
    mma("same_k_block", "The first K block of A, four times.", issues=[swap("tCrA[None, None, k_block]", "tCrA[None, None, 0]")]),
    mma(
        "operands_exchanged",
        "B for A.",
        issues=[swap("tCrA[None, None, k_block], tCrB[None, None, k_block]", "tCrB[None, None, k_block], tCrA[None, None, k_block]")],
    ),
    mma("elected", "One lane calls what elects its thread itself.", issues=[swap(GEMM, "        with cute.arch.elect_one():\n    " + GEMM)]),
    mma("one_block_of_a_pair", "Never a pair.", makes=[swap(GROUP, "tcgen05.CtaGroup.ONE")]),
    mma("always_a_pair", "Always a pair.", makes=[swap(GROUP, "tcgen05.CtaGroup.TWO")]),
    mma("k_of_the_tile", "64 along K in one instruction.", makes=[swap("(*tile[:2], 16)", "tile")]),
    mma("this_tile_alone", "Numbers for the tile.", makes=[swap("(*tile[:2], 16)", "(128, 256, 16)")]),
    mma("half_of_n", "An instruction of half the columns.", makes=[swap("(*tile[:2], 16)", "(tile[0], tile[1] // 2, 16)")]),
    mma("rows_of_a_block", "128 rows for a pair, too.", makes=[swap("(*tile[:2], 16)", "(128, tile[1], 16)")]),
    mma("fp16", "Another type of 16 bits.", makes=[swap("BFloat16, Float32", "cutlass.Float16, Float32")]),
    mma("narrow_accumulators", "bf16 accumulators.", makes=[swap("BFloat16, Float32", "BFloat16, BFloat16")]),
    mma("mn_major", "B contiguous along N.", "as major in", makes=[swap("smem, k_major, k_major", "smem, k_major, OperandMajorMode.MN")]),
    mma("a_from_tensor_memory", "A from where nothing is.", makes=[swap("OperandSource.SMEM", "OperandSource.TMEM")]),
    mma("the_op", "The op for the TiledMma.", "should be a cute.TiledMma", makes=[swap("return cute.make_tiled_mma(op)", "return op")]),
    mma("returns_nothing", "No TiledMma.", "should be a cute.TiledMma", makes=[swap("return cute.make_tiled_mma(op)", "cute.make_tiled_mma(op)")]),
]  # fmt: skip


def t2r(name, what, *changes_and_words):
    words = [part for part in changes_and_words if isinstance(part, str)]
    changes = [part for part in changes_and_words if not isinstance(part, str)]
    return says(*words)(derive(make_t2r, name, what, *changes))


SOURCE = "parts[None, None, 0, None, None]"
TARGET = "mine.partition_D(cute.make_identity_tensor((ROWS, BOX[1]))).shape"
RESULT = "return t2r, tTtC, tTrC"

T2R = [
    t2r("one_column", "64 loads of a column each.", swap("Repetition.x64", "Repetition.x1")),
    t2r("eight_columns", "Eight loads for one.", swap("Repetition.x64", "Repetition.x8")),
    t2r("too_many_columns", "128 columns at once.", swap("Repetition.x64", "Repetition.x128")),
    t2r("no_slice", "Every thread as thread 0.", swap("get_slice(thread)", "get_slice(0)")),
    t2r("slice_of_the_lane", "Every warp as warp 0.", swap("get_slice(thread)", "get_slice(thread % 32)")),
    t2r("slice_of_the_warp", "The warp's number for the thread's.", swap("get_slice(thread)", "get_slice(thread // 32)")),
    t2r("first_part_only", "One part.", swap(SOURCE, "parts[None, None, 0, 0, None]"), "it should be (values, 1, 1, parts"),
    t2r("first_accumulator_only", "One accumulator.", swap(SOURCE, "parts[None, None, 0, None, 0]"), "it should be (values, 1, 1, parts"),
    t2r("all_modes", "The mode of parts along M is kept.", swap(SOURCE, "parts"), "it should be (values, 1, 1, parts"),
    t2r("not_divided", "All columns as one part.", swap("(ROWS, BOX[1]))  #", "(ROWS, cute.size(acc, mode=[1])))  #")),
    t2r("parts_of_32", "Parts of 32 columns.", swap("(ROWS, BOX[1]))  #", "(ROWS, 32))  #")),
    t2r("not_partitioned", "The parts as they are.", swap(f"mine.partition_S({SOURCE})", f"{SOURCE}")),
    t2r("source_as_target", "partition_D for partition_S.", swap("partition_S", "partition_D")),
    t2r("registers_of_all_parts", "All accumulators in registers.", swap(TARGET, f"mine.partition_D({SOURCE}).shape")),
    t2r("registers_of_a_row", "As many registers as the tile has columns.", swap(TARGET, "cute.size(acc, mode=[1])"), "registers"),
    t2r("flat_registers", "64 registers in one mode.", swap(TARGET, "64"), "tTrC has the shape 64"),
    t2r("bf16_registers", "Rounded registers.", swap(".shape, Float32)", ".shape, BFloat16)"), "fp32 registers"),
    t2r("target_in_tensor_memory", "The source as the target.", swap("tTrC = cute.make_rmem_tensor(" + TARGET + ", Float32)", "tTrC = tTtC"), "fp32 registers"),
    t2r("sixteen_lanes", "Another shape of tcgen05.ld.", swap("Ld32x32bOp(tcgen05.Repetition.x64)", "Ld16x256bOp(tcgen05.Repetition.x8)")),
    t2r("another_order", "The tensors first.", swap(RESULT, "return tTtC, tTrC, t2r"), "a TiledCopy and two Tensors"),
    t2r("two_things", "No copy.", swap(RESULT, "return tTtC, tTrC"), "three things"),
    t2r("the_atom", "The atom for the copy.", swap(RESULT, "return atom, tTtC, tTrC")),
    t2r("nothing", "Returns nothing.", without(RESULT), "three things"),
]  # fmt: skip

WRONG = {"15.7": MMA, "15.12": T2R}
