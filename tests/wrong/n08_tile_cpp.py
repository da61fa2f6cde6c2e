"""Wrong answers to notebook 08.

WRONG: those that any machine can tell, by what they return, by not compiling or by the code that comes out.
WRONG_WHEN_RUN: kernels that compile well and compute the wrong numbers, or compute them twice: a GPU tells, or the
simulator. TOO_SLOW: those that are right and slow.
"""

from collections.abc import Callable

from tests.wrong.table import answer as answered
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
LAUNCH = "vector_add<<<(n + 1023) / 1024, 1>>>(x, y, z, n);"
HOST = """
void add_on_gpu(const float* a, const float* b, float* c, int n) {
    float *x, *y, *z;
    size_t bytes = n * sizeof(float);
    cudaMalloc(&x, bytes);
    cudaMalloc(&y, bytes);
    cudaMalloc(&z, bytes);
    cudaMemcpy(x, a, bytes, cudaMemcpyHostToDevice);
    cudaMemcpy(y, b, bytes, cudaMemcpyHostToDevice);
    LAUNCH
    cudaMemcpy(c, z, bytes, cudaMemcpyDeviceToHost);
    cudaFree(x);
    cudaFree(y);
    cudaFree(z);
}
""".replace("LAUNCH", LAUNCH)


def answer(name: str, what: str, source: object, old: str = "", new: str = "", says: str = "") -> Callable[[], object]:
    """An answer that returns this source, with something changed in it.

    what: is wrong with it. says: words that the message about it must have.
    """
    assert not old or old in source

    def wrong():
        return source.replace(old, new) if old else source

    wrong.__name__, wrong.__doc__ = name, what
    wrong.says = (says,) if says else ()
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


def pitches(a, b, c, size=None):
    """An answer to 08.3 from the length of each matrix's row. size: of an element, where it is not the one given."""

    def carries(m, n, k, element_bytes):
        sizes = {"m": m, "n": n, "k": k}
        rows = zip("abc", (sizes[name] for name in (a, b, c)), strict=True)
        return "".join(name for name, length in rows if length * (size or element_bytes) % 16 == 0)

    return carries


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
        answer("empty", "An empty source.", "", says="has 0 __tile_global__ functions"),
        answer("two", "Two kernels.", ADD + ADD.replace("vector_add", "other"), says="has 2 __tile_global__ functions"),
        answer(
            "real_size",
            "The size as a float.",
            ADD,
            "int n",
            "float n",
            says="yours are pointer, pointer, pointer, f32",
        ),
        answer("no_semicolon", "Forgets one.", ADD, "ct::bid().x;", "ct::bid().x", says="does not compile"),
        answer("lines", "A list of lines.", ADD.splitlines(), says="a string"),
        answer("constant_output", "c is const.", ADD, "float* c", "const float* c", says="does not compile"),
        answer(
            "threads",
            "Asks for its thread.",
            ADD,
            "ct::bid().x",
            "blockIdx.x * blockDim.x + threadIdx.x",
            says="does not compile",
        ),
        answer(
            "simt",
            "A kernel for threads.",
            "__global__ void vector_add(const float* a, const float* b, float* c, int n) {}",
            says="has 0 __tile_global__ functions",
        ),
        answer("bytes", "Bytes, not a string.", ADD.encode(), says="a string"),
        answer(
            "no_view",
            "Loads from the span.",
            ADD,
            "A.load_masked(i)",
            "ct::tensor_span{a, ct::extents{n}}.load_masked(i)",
            says="does not compile",
        ),
    ],
    "08.2": [
        answer("untransposed", "Multiplies (M, K) by (N, K).", FIRST, "ct::transpose(y)", "y"),
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
    "08.3": [
        by_rows,
        in_elements,
        eight_elements,
        b_by_its_n,
        whole_matrix,
        all_or_nothing,
        answered("c_by_k", "C's rows have K elements.", pitches("k", "k", "k"), "should give"),
        answered("a_by_m", "A's rows have M elements.", pitches("m", "k", "n")),
        answered("always_bf16", "Two bytes for every element.", pitches("k", "k", "n", size=2), "2 bytes only"),
        answered("always_fp32", "Four bytes for every element.", pitches("k", "k", "n", size=4)),
        answered("everything", "All three.", lambda m, n, k, element_bytes: "abc"),
        answered("nothing", "None.", lambda m, n, k, element_bytes: ""),
        answered(
            "a_list",
            "A list of names.",
            lambda m, n, k, size: [x for x, row in zip("abc", (k, k, n), strict=True) if row * size % 16 == 0],
            "should give",
        ),
        answered("a_set", "Names in upper case.", lambda m, n, k, size: pitches("k", "k", "n")(m, n, k, size).upper()),
        answered(
            "from_16_bytes",
            "Asks for 16 bytes at least.",
            lambda m, n, k, size: "".join(x for x, row in zip("abc", (k, k, n), strict=True) if row * size >= 16),
        ),
        answered(
            "eight_bytes",
            "Multiples of 8 bytes.",
            lambda m, n, k, size: "".join(x for x, row in zip("abc", (k, k, n), strict=True) if row * size % 8 == 0),
        ),
        answered(
            "the_others",
            "Those that TMA does not carry.",
            lambda m, n, k, size: "".join(x for x, row in zip("abc", (k, k, n), strict=True) if row * size % 16),
        ),
    ],
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
    "08.6": [
        answer("rounds_down", "No block for what is left.", HOST, "(n + 1023) / 1024", "n / 1024", says="c[4096]"),
        answer(
            "a_block_too_many",
            "One block more than elements need.",
            HOST,
            "(n + 1023) / 1024",
            "n / 1024 + 1",
            says="have no elements",
        ),
        answer(
            "threads",
            "256 threads for each block.",
            HOST,
            ", 1>>>",
            ", 256>>>",
            says="launched with 1 thread for each block",
        ),
        answer(
            "a_block_for_each", "A block for each element.", HOST, "(n + 1023) / 1024", "n", says="have no elements"
        ),
        answer("one_block", "One block.", HOST, "(n + 1023) / 1024", "1"),
        answer(
            "keeps_memory", "Frees two of three.", HOST, "cudaFree(z);", "", says="1 of the allocations are never freed"
        ),
        answer(
            "hosts_pointers",
            "Gives the kernel the host's pointers.",
            HOST,
            "(x, y, z, n)",
            "(a, b, c, n)",
            says="a pointer to the host's memory",
        ),
        answer(
            "loop",
            "Adds on the host, with the GPU's pointers.",
            HOST,
            LAUNCH,
            "for (int i = 0; i < n; i++) z[i] = x[i] + y[i];",
            says="it crashes",
        ),
        answer(
            "never_back",
            "Does not copy the sums back.",
            HOST,
            "cudaMemcpy(c, z, bytes, cudaMemcpyDeviceToHost);",
            "",
            says="c[0] is -1",
        ),
        answer(
            "backwards",
            "Exchanges to and from.",
            HOST,
            "cudaMemcpy(c, z,",
            "cudaMemcpy(z, c,",
            says="from the host to the GPU",
        ),
        answer(
            "in_elements",
            "Counts elements where bytes are asked for.",
            HOST,
            "n * sizeof(float)",
            "n",
            says="cudaMalloc bytes",
        ),
        answer("b_stays", "Does not copy b.", HOST, "cudaMemcpy(y, b, bytes, cudaMemcpyHostToDevice);", ""),
        answer("other_name", "Another name.", HOST, "add_on_gpu", "add", says='"add_on_gpu" is undefined'),
        answer("python", "A function of Python's.", lambda a, b, c, n: None, says="it should return the source"),
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
        answer(
            "one_short",
            "Leaves out the last element.",
            ADD,
            "ct::tensor_span{c, ct::extents{n}}",
            "ct::tensor_span{c, ct::extents{n - 1}}",
        ),
        answer("other_axis", "Counts along y, where there is one block.", ADD, "ct::bid().x", "ct::bid().y"),
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
        answer("index_turned", "Takes (step, i) for A's index.", FIRST, "load_masked(i, step)", "load_masked(step, i)"),
        answer("late", "Starts with the second step.", FIRST, "ct::irange(0,", "ct::irange(1,"),
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
    "08.4": [answer("aliased", "Does not rule out that C overlaps A and B.", Variant(restrict=False).source)],
}
