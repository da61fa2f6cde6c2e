"""Wrong answers to notebook 08.

WRONG: those that any machine can tell, by what they return, by not compiling or by the code that comes out.
WRONG_WHEN_RUN: kernels that compile well and compute the wrong numbers, or compute them twice: a GPU tells, or the
simulator. TOO_SLOW: those that are right and slow.
"""

from collections.abc import Callable

from tutorlib.kernels.cpp.gemm import Variant

ADD = """
__tile_global__ void vector_add(const float* a, const float* b, float* c, int n) {
    auto A = ct::partition_view{ct::tensor_span{a, ct::extents{n}}, ct::shape{1024_ic}};
    auto B = ct::partition_view{ct::tensor_span{b, ct::extents{n}}, ct::shape{1024_ic}};
    auto C = ct::partition_view{ct::tensor_span{c, ct::extents{n}}, ct::shape{1024_ic}};
    int i = ct::bid().x;
    C.store_masked(A.load_masked(i) + B.load_masked(i), i);
}
"""
FIRST = Variant(restrict=False, aligned=False, divisible=0).source
PROMISING = Variant().source
PERSISTENT = Variant(group=8, persistent=True).source


def answer(name: str, says: str, source: object, old: str = "", new: str = "") -> Callable[[], object]:
    """An answer that returns this source, with something changed in it. `says`: what is wrong with it."""
    assert not old or old in source

    def wrong():
        return source.replace(old, new) if old else source

    wrong.__name__, wrong.__doc__ = name, says
    return wrong


# 08.3 -----------------------------------------------------------------------------------------------------------


def by_rows(m, n, k, element_bytes):
    """Takes the number of rows for the pitch."""
    return "".join(name for name, rows in zip("abc", (m, n, m), strict=True) if rows * element_bytes % 16 == 0)


def in_elements(m, n, k, element_bytes):
    """Counts 16 elements, not 16 bytes."""
    return "".join(name for name, columns in zip("abc", (k, k, n), strict=True) if columns % 16 == 0)


def eight_elements(m, n, k, element_bytes):
    """Right for bf16 only."""
    return "".join(name for name, columns in zip("abc", (k, k, n), strict=True) if columns % 8 == 0)


def b_by_its_n(m, n, k, element_bytes):
    """Takes B for a (K, N) matrix."""
    return "".join(name for name, columns in zip("abc", (k, n, n), strict=True) if columns * element_bytes % 16 == 0)


def whole_matrix(m, n, k, element_bytes):
    """Asks for the size of the whole matrix, not of a row."""
    sizes = zip("abc", (m * k, n * k, m * n), strict=True)
    return "".join(name for name, size in sizes if size * element_bytes % 16 == 0)


def all_or_nothing(m, n, k, element_bytes):
    """Does not say which of the three."""
    return "abc" if k * element_bytes % 16 == 0 and n * element_bytes % 16 == 0 else ""


WRONG = {
    "08.1": [
        answer("nothing", "Returns no source.", None),
        answer("a_thousand", "A tile of 1000 elements.", ADD, "1024_ic", "1000_ic"),
        answer("no_size", "Leaves out the parameter n.", ADD.replace("{n}", "{1024_ic}"), ", int n", ""),
        answer(
            "other_order", "Takes n first.", ADD.replace(", int n)", ")"), "const float* a,", "int n, const float* a,"
        ),
        answer("not_tile", "Not a tile kernel.", ADD, "__tile_global__", "__device__"),
        answer("misspelt", "A member that does not exist.", ADD, "A.load_masked", "A.load_mask"),
    ],
    "08.2": [
        answer("untransposed", "Multiplies (M, K) by (N, K).", FIRST, "ct::transpose(y)", "y"),
        answer("no_product", "Stores zeros.", FIRST, "acc = ct::mma(x, ct::transpose(y), acc);", ""),
        answer("no_cast", "Stores float sums as bf16.", FIRST, "ct::element_cast<bf16>(acc)", "acc"),
    ],
    "08.3": [by_rows, in_elements, eight_elements, b_by_its_n, whole_matrix, all_or_nothing],
    "08.4": [
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
    ],
    "08.5": [
        answer("spilling", "A tile of 128×256 for 4 warps.", Variant((128, 256, 64), group=8, persistent=True).source),
        answer("unpromised", "Promises nothing of the sizes.", Variant(divisible=0, group=8, persistent=True).source),
    ],
}

WRONG_WHEN_RUN = {
    "08.1": [
        answer("stores_nothing", "Does nothing.", ADD, "C.store_masked(A.load_masked(i) + B.load_masked(i), i);", ""),
        answer("twice_a", "Forgets b.", ADD, "+ B.load", "+ A.load"),
        answer("one_tile_on", "Stores a tile further on.", ADD, "B.load_masked(i), i);", "B.load_masked(i), i + 1);"),
        answer("half_tiles", "Tiles of half the size for the same grid.", ADD, "1024_ic", "512_ic"),
        answer("difference", "Subtracts.", ADD, ") + B", ") - B"),
        answer("same_tile", "Every block takes the first tile.", ADD, "ct::bid().x", "0"),
    ],
    "08.2": [
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
        answer("no_tail", "Drops the last, partial step along K.", FIRST, "(k + 63) / 64", "k / 64"),
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
        ),
        answer("wrong_extents", "Takes M for the rows of B.", FIRST, "ct::extents{n, k}", "ct::extents{m, k}"),
    ],
    "08.5": [
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
    ],
}

TOO_SLOW = {
    "08.4": [answer("aliased", "Does not rule out that C overlaps A and B.", Variant(restrict=False).source)],
}
