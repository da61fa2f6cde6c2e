"""Wrong answers to notebook 08: the vector add, what TMA carries, and a program."""

from tests.pages.n08_tile_cpp.tile_cpp import ADD, COPY_A, COPY_BACK, HOST, LAUNCH, answer
from tests.pages.table import answer as answered


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
        answer(
            "loads_unmasked",
            "Promises that every tile of A is whole.",
            ADD,
            "A.load_masked",
            "A.load",
            says="no load or store of a has a mask",
        ),
        answer("tiles_of_2048", "Leaves half of the blocks idle.", ADD, "1024_ic", "2048_ic", says="3 of 5 blocks"),
        answer(
            "all_in_every_block",
            "Every block adds everything.",
            ADD,
            "int i = ct::bid().x;",
            "for (int i : ct::irange(0, (n + 1023) / 1024))",
            says="which block 4 stores too",
        ),
        answer(
            "tiles_of_8",
            "A block of 1,024 elements, eight at a time.",
            ADD.replace("1024_ic", "8_ic"),
            "int i = ct::bid().x;",
            "for (int i : ct::irange(128 * int(ct::bid().x), 128 * int(ct::bid().x) + 128))",
            says="320 are enough",
        ),
        answer(
            "in_double",
            "Adds in double precision.",
            ADD,
            "A.load_masked(i) + B.load_masked(i)",
            "ct::element_cast<float>(ct::element_cast<double>(A.load_masked(i)) + ct::element_cast<double>(B.load_masked(i)))",
            says="cvt.f64 instructions; 0 are enough",
        ),
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
        answer(
            "to_stdout",
            "Prints the error to stdout.",
            HOST,
            "std::fprintf(stderr, ",
            "std::printf(",
            says="nothing to stderr",
        ),
        answer(
            "asks_in_vain",
            "Asks for the error and ignores it.",
            HOST,
            'if (cudaError_t error = cudaGetLastError()) std::fprintf(stderr, "%s\\n", cudaGetErrorString(error));',
            "cudaGetLastError();",
            says="nothing to stderr",
        ),
        answer(
            "leaves_at_an_error",
            "Prints the error and returns before it frees anything.",
            HOST,
            'std::fprintf(stderr, "%s\\n", cudaGetErrorString(error));',
            '{ std::fprintf(stderr, "%s\\n", cudaGetErrorString(error)); return; }',
            says="does not free its memory then",
        ),
        answer(
            "copied_twice",
            "Copies a twice.",
            HOST,
            COPY_A,
            2 * COPY_A,
            says="80000 bytes, where each operand has to go to the GPU once",
        ),
        answer("back_twice", "Copies the sums back twice.", HOST, COPY_BACK, 2 * COPY_BACK, says="the sums back once"),
        answer(
            "cleared",
            "Clears the memory for the sums.",
            HOST,
            COPY_A,
            "cudaMemset(z, 0, bytes);" + COPY_A,
            says="cudaMemset",
        ),
        answer(
            "element_by_element",
            "A copy for each element.",
            HOST,
            COPY_A,
            "for (int i = 0; i < n; i++) cudaMemcpy(x + i, a + i, 4, cudaMemcpyHostToDevice);",
            says="are called 5002 times",
        ),
        answer(
            "gives_up",
            "Returns where n is large.",
            HOST,
            "float *x, *y, *z;",
            "if (n > 200000) return;\n    float *x, *y, *z;",
            says="n = 1000000: c[0] is -1",
        ),
        answer(
            "always_prints",
            "Prints the error where there is none.",
            HOST,
            "if (cudaError_t error = cudaGetLastError()) ",
            "auto error = cudaGetLastError(); ",
            says="no launch has failed",
        ),
        answer(
            "no_reason",
            "Prints that there was an error, and not which.",
            HOST,
            '"%s\\n", cudaGetErrorString(error)',
            '"failed\\n"',
            says="does not print the error",
        ),
        answer(
            "ready_for_no_elements",
            "Returns at n = 0, and ignores the error of any launch.",
            HOST.replace("float *x", "if (n == 0) return;\n    float *x"),
            'if (cudaError_t error = cudaGetLastError()) std::fprintf(stderr, "%s\\n", cudaGetErrorString(error));',
            "cudaGetLastError();",
            says="nothing to stderr",
        ),
        answer(
            "launched_again",
            "Adds once more, after the copy.",
            HOST,
            COPY_BACK,
            COPY_BACK + LAUNCH,
            says="never copied",
        ),
        answer(
            "an_event",
            "Calls a function that the page does not name.",
            HOST,
            "float *x, *y, *z;",
            "cudaEvent_t event;\n    cudaEventCreate(&event);\n    float *x, *y, *z;",
            says="`cudaEventCreate` is neither in your source nor in the libraries",
        ),
        answer("launched_twice", "Adds twice.", HOST, LAUNCH, LAUNCH + LAUNCH, says="two launches write the same sums"),
        answer(
            "one_size_for_all",
            "Allocates as much for every n.",
            HOST,
            "cudaMalloc(&x, bytes)",
            "cudaMalloc(&x, 1 << 20)",
            says="its size should follow from n",
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
        answer(
            "never_asks",
            "Does not ask for the launch's error.",
            HOST,
            '    if (cudaError_t error = cudaGetLastError()) std::fprintf(stderr, "%s\\n", cudaGetErrorString(error));\n',
            "",
            says="a launch that the GPU refuses goes unnoticed",
        ),
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
}
