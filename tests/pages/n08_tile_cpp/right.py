"""Unusual right answers to notebook 08."""

from tests.pages.n08_tile_cpp.tile_cpp import ADD, COPY_BACK, FIRST, HOST, LAUNCH, PERSISTENT, PROMISING, answer
from tests.pages.table import answer as answered
from tutorlib.kernels.cpp.gemm import Variant


def by_the_pitch(m, n, k, element_bytes):
    """Pitches in units of 16 bytes, as TMA counts them."""
    carried = ""
    for name, columns in (("a", k), ("b", k), ("c", n)):
        units, rest = divmod(columns * element_bytes, 16)
        carried += name * (units > 0 and rest == 0)
    return carried


def by_k_and_n(m, n, k, element_bytes):
    """Two questions."""
    return ("" if k * element_bytes % 16 else "ab") + ("" if n * element_bytes % 16 else "c")


MANAGED = """
void add_on_gpu(const float* a, const float* b, float* c, int n) {
    float* memory;
    cudaMallocManaged(&memory, 3 * n * sizeof(float));
    for (int i = 0; i < n; i++) memory[i] = a[i], memory[n + i] = b[i];
    vector_add<<<dim3((n - 1) / 1024 + 1), dim3(1)>>>(memory, memory + n, memory + 2 * n, n);
    if (cudaPeekAtLastError() != cudaSuccess || cudaDeviceSynchronize() != cudaSuccess) std::exit(1);
    for (int i = 0; i < n; i++) c[i] = memory[2 * n + i];
    cudaFree(memory);
}
"""

CHUNKS = """
void add_on_gpu(const float* a, const float* b, float* c, int n) {
    const int most = n < 16384 ? n : 16384;
    float *x, *y, *z;
    for (float** pointer : {&x, &y, &z}) cudaMalloc(pointer, most * sizeof(float));
    for (int i = 0; i < n; i += most) {
        int m = n - i < most ? n - i : most;
        cudaMemcpy(x, a + i, m * sizeof(float), cudaMemcpyHostToDevice);
        cudaMemcpy(y, b + i, m * sizeof(float), cudaMemcpyHostToDevice);
        vector_add<<<(m + 1023) / 1024, 1>>>(x, y, z, m);
        if (cudaError_t error = cudaGetLastError()) std::fprintf(stderr, "%s\\n", cudaGetErrorString(error));
        cudaMemcpy(c + i, z, m * sizeof(float), cudaMemcpyDeviceToHost);
    }
    for (float* pointer : {x, y, z}) cudaFree(pointer);
}
"""

RIGHT = {
    "08.1": [
        answer("helper", "A view from a lambda.", ADD, "int i = ct::bid().x;", "auto i = ct::bid().x;"),
        answer(
            "sum_turned",
            "b + a, and other names.",
            ADD.replace("vector_add", "add"),
            "A.load_masked(i) + B.load_masked(i)",
            "B.load_masked(i) + A.load_masked(i)",
        ),
        answer(
            "promising", "Promises what it need not.", ADD, "int i =", "a = ct::assume_aligned(a, 16_ic);\n    int i ="
        ),
    ],
    "08.2": [
        answer("restricted", "With one promise, which changes nothing.", Variant(aligned=False, divisible=0).source),
        answer(
            "steps_named",
            "Counts the steps before the loop.",
            FIRST,
            "for (int step : ct::irange(0, (k + 63) / 64))",
            "int steps = k / 64 + (k % 64 > 0);\nfor (int step : ct::irange(0, steps))",
        ),
        answer(
            "indices_in_place",
            "Asks for the block's index where it is needed.",
            FIRST,
            "int i = ct::bid().x, j = ct::bid().y;",
            "unsigned i = ct::bid().x;\nunsigned j = ct::bid().y;",
        ),
    ],
    "08.3": [
        by_the_pitch,
        by_k_and_n,
        answered(
            "by_filter",
            "A filter over the names.",
            lambda m, n, k, size: "".join(filter(lambda x: (n if x == "c" else k) * size % 16 == 0, "abc")),
        ),
    ],
    "08.4": [
        answer("more_aligned", "Promises as much as torch's allocator gives.", PROMISING.replace("16_ic", "32_ic")),
        answer(
            "two_promises",
            "Does not promise anything of m, which is no pitch.",
            PROMISING,
            "m = ct::assume_divisible(m, 8_ic);",
            "",
        ),
        answer(
            "masked_at_the_edge",
            "Masks only the stores of tiles that are not whole.",
            PROMISING,
            "C.store_masked(ct::element_cast<bf16>(acc), i, j);",
            "auto tile = ct::element_cast<bf16>(acc);\n"
            "if (128 * (i + 1) <= m && 128 * (j + 1) <= n) C.store(tile, i, j); else C.store_masked(tile, i, j);",
        ),
        answer("small_steps", "Steps of 32.", Variant((128, 128, 32)).source),
    ],
    "08.5": [
        answer(
            "two_at_a_time",
            "Small tiles, for a grid of any size.",
            Variant((128, 64, 64), group=8, persistent=True).source,
        ),
        answer("strips_of_4", "Other strips.", Variant(group=4, persistent=True).source),
        answer(
            "plain_for",
            "A loop of C's.",
            PERSISTENT,
            "for (int block : ct::irange(int(ct::bid().x), down * across, int(ct::num_blocks().x)))",
            "for (int block = ct::bid().x; block < down * across; block += ct::num_blocks().x)",
        ),
    ],
    "08.6": [
        answer(
            "nothing_to_add",
            "Launches nothing where there is nothing to add.",
            HOST,
            "float *x, *y, *z;",
            "if (n == 0) return;\n    float *x, *y, *z;",
        ),
        answer(
            "whole_tiles",
            "Allocates whole tiles for one of the vectors.",
            HOST,
            "cudaMalloc(&x, bytes)",
            "cudaMalloc(&x, (n + 1023) / 1024 * 4096)",
        ),
        answer(
            "pinned",
            "Copies a through pinned memory.",
            HOST,
            "cudaMemcpy(x, a, bytes, cudaMemcpyHostToDevice);",
            "float* pinned;\n    cudaMallocHost(&pinned, bytes);\n"
            "    for (int i = 0; i < n; i++) pinned[i] = a[i];\n"
            "    cudaMemcpy(x, pinned, bytes, cudaMemcpyHostToDevice);\n    cudaFreeHost(pinned);",
        ),
        answer("chunks", "Chunks of at most 16,384 elements through the same memory on the GPU.", CHUNKS),
        answer(
            "pieces_back",
            "Copies the sums back in two pieces, through memory of the host's, for device 0.",
            HOST.replace("float *x", "cudaSetDevice(0);\n    float *x"),
            COPY_BACK,
            "std::vector<float> sums(n);\n    int half = n / 2;\n"
            "    cudaMemcpy(sums.data(), z, half * sizeof(float), cudaMemcpyDeviceToHost);\n"
            "    cudaMemcpy(&sums[half], z + half, (n - half) * sizeof(float), cudaMemcpyDeviceToHost);\n"
            "    for (int i = 0; i < n; i++) c[i] = sums[i];",
        ),
        answer(
            "by_number",
            "Prints the error's number.",
            HOST,
            '"%s\\n", cudaGetErrorString(error)',
            '"error %d\\n", error',
        ),
        answer("managed", "One piece of memory that both sides may follow.", MANAGED),
        answer(
            "default_kind",
            "Lets the runtime find out the direction.",
            HOST.replace("cudaMemcpyHostToDevice", "cudaMemcpyDefault").replace(
                "cudaMemcpyDeviceToHost", "cudaMemcpyDefault"
            ),
        ),
        answer(
            "with_errors",
            "Stops at an error.",
            HOST,
            LAUNCH,
            LAUNCH + "\n    if (cudaGetLastError() != cudaSuccess) std::abort();",
        ),
    ],
}
