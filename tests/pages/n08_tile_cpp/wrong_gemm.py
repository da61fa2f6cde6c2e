"""Wrong answers to notebook 08: the GEMMs."""

from tests.pages.n08_tile_cpp.tile_cpp import FIRST, PERSISTENT, PROMISING, answer
from tutorlib.kernels.cpp.gemm import Variant

WRONG = {
    "08.2": [
        answer("untransposed", "Multiplies (M, K) by (N, K).", FIRST, "ct::transpose(y)", "y"),
        answer(
            "promises",
            "Promises multiples of 8, where sizes can be any.",
            Variant(restrict=False, aligned=False).source,
            says="it promises that m is a multiple of 8, but a size may be any number",
        ),
        answer("no_product", "Stores zeros.", FIRST, "acc = ct::mma(x, ct::transpose(y), acc);", ""),
        answer("no_cast", "Stores float sums as bf16.", FIRST, "ct::element_cast<bf16>(acc)", "acc"),
        answer(
            "tile_of_100",
            "A tile of 100 rows.",
            FIRST,
            "ct::shape{128_ic, 64_ic}};\nauto B",
            "ct::shape{100_ic, 64_ic}};\nauto B",
            says="does not compile",
        ),
        answer(
            "sums_in_bf16",
            "An accumulator in bf16.",
            FIRST,
            "ct::tile<float,",
            "ct::tile<bf16,",
            says="does not compile",
        ),
        answer(
            "no_k",
            "Leaves out k.",
            FIRST.replace("(k + 63) / 64", "64").replace("k}", "4096}"),
            ", int k",
            "",
            says="pointer, pointer, pointer, integer, integer, integer",
        ),
        answer(
            "no_c",
            "Leaves out an input.",
            FIRST,
            "const bf16* b, ",
            "const bf16* b, const bf16* bias, ",
            says="the kernel's parameters should be",
        ),
        answer(
            "floats",
            "Takes fp32 matrices, which no tensor core multiplies.",
            FIRST.replace("bf16", "float"),
            says="without wgmma",
        ),
        answer(
            "elementwise",
            "Adds the tiles.",
            FIRST,
            "acc = ct::mma(x, ct::transpose(y), acc);",
            "acc = acc + ct::element_cast<float>(ct::zeros<ct::tile<bf16, ct::shape<128, 128>>>());",
            says="without wgmma",
        ),
        answer(
            "python_loop",
            "A range of Python's.",
            FIRST,
            "ct::irange(0, (k + 63) / 64)",
            "range((k + 63) / 64)",
            says="does not compile",
        ),
        answer(
            "plain_sum",
            "Gives mma no sum.",
            FIRST,
            "ct::transpose(y), acc)",
            "ct::transpose(y))",
            says="does not compile",
        ),
    ],
    "08.4": [
        answer(
            "c_unmasked",
            "Promises that every tile of C is whole.",
            PROMISING,
            "C.store_masked",
            "C.store",
            says="no load or store of c has a mask",
        ),
        answer("silent", "Promises nothing.", FIRST),
        answer("pointers_only", "Promises nothing of the sizes.", Variant(divisible=0).source),
        answer("sizes_only", "Promises nothing of the pointers.", Variant(aligned=False).source),
        answer("too_little", "Promises multiples of 4.", Variant(divisible=4).source),
        answer(
            "dropped",
            "Drops what assume_aligned gives back.",
            PROMISING,
            "a = ct::assume_aligned(a",
            "auto d = ct::assume_aligned(a",
        ),
        answer(
            "a_alone",
            "Promises nothing of b and c.",
            PROMISING.replace("b = ct::assume_aligned(b, 16_ic); c = ct::assume_aligned(c, 16_ic);", ""),
            says="not every load and store goes by TMA",
        ),
        answer(
            "not_the_output",
            "Promises nothing of c.",
            PROMISING,
            "c = ct::assume_aligned(c, 16_ic);",
            "",
            says="base pointer not 16-byte aligned",
        ),
        answer(
            "not_n",
            "Promises nothing of n, which is C's pitch.",
            PROMISING,
            "n = ct::assume_divisible(n, 8_ic);",
            "",
            says="not every load and store goes by TMA",
        ),
        answer(
            "not_k", "Promises nothing of k, the pitch of A and B.", PROMISING, "k = ct::assume_divisible(k, 8_ic);", ""
        ),
        answer(
            "m_for_k",
            "Promises the number of rows.",
            PROMISING,
            "k = ct::assume_divisible(k, 8_ic);",
            "m = ct::assume_divisible(m, 16_ic);",
        ),
        answer(
            "eight_bytes",
            "Pointers in multiples of 8.",
            PROMISING.replace("16_ic", "8_ic"),
            says="not every load and store goes by TMA",
        ),
        answer(
            "promises_too_much",
            "Promises that the tile divides K and N.",
            PROMISING.replace("assume_divisible(n, 8_ic)", "assume_divisible(n, 64_ic)"),
            "assume_divisible(k, 8_ic)",
            "assume_divisible(k, 64_ic)",
            says="it promises that n is a multiple of 64, but sizes are multiples of 8 only",
        ),
        answer(
            "pages",
            "Promises pointers in multiples of 4,096 bytes.",
            PROMISING.replace("16_ic", "4096_ic"),
            says="GPU memory begins at multiples of 256 bytes",
        ),
        answer(
            "two_for_k",
            "Multiples of 2 along K.",
            PROMISING,
            "ct::assume_divisible(k, 8_ic)",
            "ct::assume_divisible(k, 2_ic)",
        ),
        answer(
            "thrown_away",
            "Promises, and does not use what it gets back.",
            PROMISING,
            "k = ct::assume_divisible",
            "auto d = ct::assume_divisible",
        ),
        answer(
            "four_for_n",
            "Multiples of 4 along N.",
            PROMISING,
            "ct::assume_divisible(n, 8_ic)",
            "ct::assume_divisible(n, 4_ic)",
            says="not every load and store goes by TMA",
        ),
        answer(
            "a_number",
            "A number that is not known when it is compiled.",
            PROMISING,
            "ct::assume_divisible(k, 8_ic)",
            "ct::assume_divisible(k, 8)",
            says="does not compile",
        ),
    ],
    "08.5": [
        answer(
            "promises_too_much",
            "Promises multiples of 64.",
            Variant(divisible=64, group=8, persistent=True).source,
            says="it promises that m is a multiple of 64, but sizes are multiples of 8 only",
        ),
        answer("spilling", "A tile of 128×256 for 4 warps.", Variant((128, 256, 64), group=8, persistent=True).source),
        answer("unpromised", "Promises nothing of the sizes.", Variant(divisible=0, group=8, persistent=True).source),
        answer(
            "high_tile",
            "A tile of 256×128 for 4 warps.",
            Variant((256, 128, 64), group=8, persistent=True).source,
            says="of its tile in local memory",
        ),
        answer(
            "huge_tile",
            "A tile of 256×256 for one CTA.",
            Variant((256, 256, 64), group=8, persistent=True, warps=8).source,
            says="in local memory",
        ),
        answer(
            "not_n",
            "Promises nothing of n.",
            PERSISTENT,
            "n = ct::assume_divisible(n, 8_ic);",
            "",
            says="not every load and store goes by TMA",
        ),
        answer("not_c", "Promises nothing of c.", PERSISTENT, "c = ct::assume_aligned(c, 16_ic);", ""),
        answer("no_group", "Forgets to declare a size.", PERSISTENT, "int height", "height", says="does not compile"),
        answer(
            "more_parameters",
            "Takes the number of blocks, too.",
            PERSISTENT,
            ", int k)",
            ", int k, int blocks)",
            says="the kernel's parameters should be",
        ),
    ],
}


STEP = "acc = ct::mma(x, ct::transpose(y), acc);"
STORED = STEP + "\nC.store_masked(ct::element_cast<bf16>(acc), i, j);"


def in_quarters(source: str) -> str:
    """A block's tile in four quarters of 64×64, one after the other."""
    quarters = source.replace("128_ic", "64_ic").replace("ct::shape<128, 128>", "ct::shape<64, 64>")
    loop = "for (int part : ct::irange(0, 4)) {\nint i = 2 * int(ct::bid().x) + part / 2;\n"
    loop += "int j = 2 * int(ct::bid().y) + part % 2;\nif (64 * i >= m || 64 * j >= n) continue;"
    return quarters.replace("int i = ct::bid().x, j = ct::bid().y;", loop).rstrip() + "\n}"


def in_order(row: str, column: str) -> str:
    """The persistent kernel with another order. row, column: of tile number `block`, in C++."""
    place = "block % (8 * across)"
    source = PERSISTENT.replace(f"first + {place} % height", row).replace(f"{place} / height", column)
    assert place not in source
    return source


WRONG_WHEN_RUN = {
    "08.2": [
        answer(
            "in_quarters",
            "Four tiles of 64×64 for one of 128×128, each with its own loads.",
            in_quarters(FIRST),
            says="4,096 ld.global instructions; 2,048 are enough",
        ),
        answer(
            "a_step_too_many",
            "Goes on beyond K, where all is zero.",
            FIRST,
            "(k + 63) / 64",
            "(k + 127) / 64",
            says="mma.sync instructions; 2,048 are enough",
        ),
        answer(
            "multiplied_twice",
            "Adds each product twice, and halves the sum.",
            FIRST.replace("element_cast<bf16>(acc)", "element_cast<bf16>(0.5f * acc)"),
            "acc = ct::mma(x, ct::transpose(y), acc);",
            "acc = ct::mma(x, ct::transpose(y), ct::mma(x, ct::transpose(y), acc));",
            says="mma.sync instructions; 2,048 are enough",
        ),
        answer(
            "stores_in_the_loop",
            "Stores the accumulators after each step.",
            FIRST,
            STEP,
            STORED,
            says="st.global instructions; 1,024 are enough (most of them at line 12",
        ),
        answer(
            "stores_zeros",
            "Multiplies and stores something else.",
            FIRST,
            "ct::element_cast<bf16>(acc), i, j",
            "ct::zeros<ct::tile<bf16, ct::shape<128, 128>>>(), i, j",
        ),
        answer(
            "one_step_too_many",
            "Adds a step beyond K, which the mask makes zero; it reads B's next row.",
            FIRST,
            "ct::extents{m, k}",
            "ct::extents{m, k + 1}",
        ),
        answer(
            "no_tail",
            "Drops the last, partial step along K.",
            FIRST,
            "(k + 63) / 64",
            "k / 64",
            says="The last step along K is missing, the one that is only partly filled.",
        ),
        answer(
            "exchanged",
            "x counts across, y down.",
            FIRST,
            "i = ct::bid().x, j = ct::bid().y",
            "j = ct::bid().x, i = ct::bid().y",
        ),
        answer(
            "last_step",
            "Keeps the last product alone.",
            FIRST,
            "ct::transpose(y), acc)",
            "ct::transpose(y), ct::zeros<decltype(acc)>())",
            says="That is the last step's product alone: give ct::mma the accumulator",
        ),
        answer("wrong_extents", "Takes M for the rows of B.", FIRST, "ct::extents{n, k}", "ct::extents{m, k}"),
        answer("index_turned", "Takes (step, i) for A's index.", FIRST, "load_masked(i, step)", "load_masked(step, i)"),
        answer(
            "late",
            "Starts with the second step.",
            FIRST,
            "ct::irange(0,",
            "ct::irange(1,",
            says="of 3 sizes right",
        ),
        answer(
            "a_unmasked",
            "Beyond K, A is undefined.",
            FIRST,
            "A.load_masked",
            "A.load",
            says="no load or store of a has a mask",
        ),
        answer(
            "b_unmasked",
            "Beyond K, B is undefined.",
            FIRST,
            "B.load_masked",
            "B.load",
            says="no load or store of b has a mask",
        ),
    ],
    "08.4": [
        answer(
            "in_quarters",
            "Four tiles of 64×64 for one of 128×128, each with its own loads.",
            in_quarters(PROMISING),
            says="instructions; 1,024 are enough",
        ),
        answer(
            "aliased",
            "Does not rule out that C overlaps A and B.",
            Variant(restrict=False).source,
            says="without what the exercise is about: 128 times a warp waits for the tile that it has just begun to load",
        ),
        answer(
            "c_unrestricted",
            "Promises it of A and B alone.",
            PROMISING,
            "bf16* __restrict__ c",
            "bf16* c",
            says="a store to C may change A or B",
        ),
        answer("stores_in_the_loop", "Stores after each step.", PROMISING, STEP, STORED, says="512 are enough"),
        answer(
            "no_tail",
            "Drops the last, partial step along K.",
            PROMISING,
            "(k + 63) / 64",
            "k / 64",
            says="The last step along K is missing, the one that is only partly filled.",
        ),
    ],
    "08.5": [
        answer(
            "aliased",
            "Does not rule out that C overlaps A and B.",
            Variant(restrict=False, group=8, persistent=True).source,
            says="no load is in flight during the arithmetic",
        ),
        answer(
            "column_by_column",
            "Takes the tiles in plain order.",
            in_order("block % down", "block / down"),
            says="column by column, each over all rows of C. In strips of 8 rows",
        ),
        answer(
            "row_by_row",
            "Takes the tiles along C's rows.",
            in_order("block / across", "block % across"),
            says="row by row, each over all columns of C",
        ),
        answer("strips_of_one", "Strips of one row.", Variant(group=1, persistent=True).source, says="row by row"),
        answer(
            "stores_in_the_loop",
            "Stores after each step.",
            Variant((128, 64, 64), group=8, persistent=True).source,
            STEP,
            STORED,
            says="6,192 are enough",
        ),
        answer(
            "everything",
            "Every block goes through all of the tiles after its own.",
            PERSISTENT,
            "int(ct::num_blocks().x)",
            "1",
        ),
        answer(
            "high_strips", "Takes every strip for 8 rows high.", PERSISTENT, "down - first < 8 ? down - first : 8", "8"
        ),
        answer(
            "one_round",
            "Each block computes one tile and stops.",
            PERSISTENT,
            "down * across, int(ct::num_blocks().x)",
            "(down * across < int(ct::bid().x) + 1 ? down * across : int(ct::bid().x) + 1), 1",
        ),
        answer("floors", "Leaves out tiles that hang over.", PERSISTENT, "(m + 127) / 128", "m / 128"),
        answer(
            "sum_goes_on",
            "Does not start the sum anew.",
            PERSISTENT.replace("auto acc = ct::zeros<ct::tile<float, ct::shape<128, 128>>>();", ""),
            "for (int block",
            "auto acc = ct::zeros<ct::tile<float, ct::shape<128, 128>>>();\nfor (int block",
        ),
        answer(
            "late",
            "Starts with its second tile.",
            PERSISTENT,
            "irange(int(ct::bid().x),",
            "irange(int(ct::bid().x) + int(ct::num_blocks().x),",
        ),
        answer("width_by_m", "Counts the columns by m.", PERSISTENT, "(n + 127) / 128", "(m + 127) / 128"),
    ],
}


TOO_SLOW = {
    "08.4": [
        answer("steps_of_65", "A step too few where K is large.", PROMISING, "(k + 63) / 64", "(k + 63) / 65"),
    ],
}
