"""Notebook 08's vector addition in Tile C++, and the program in one file around it."""

import textwrap

import numpy as np

from tutorlib.compiling.cpp import HEADER

MAIN = """\
// Adds two vectors, whose length is the first argument, and compares each element of the result.
int main(int count, char** arguments) {
    int n = count > 1 ? std::atoi(arguments[1]) : 1000000;
    std::vector<float> a(n), b(n), c(n, -1.0f);
    for (int i = 0; i < n; i++) a[i] = i % 251, b[i] = 3.0f * (i % 127);
    add_on_gpu(a.data(), b.data(), c.data(), n);
    int wrong = 0;
    for (int i = 0; i < n; i++) {
        float sum = i % 251 + 3.0f * (i % 127);
        if (!(c[i] == sum) && ++wrong == 1) std::printf("c[%d] is %g and should be %g\\n", i, c[i], sum);
    }
    std::printf("%d of %d elements right\\n", n - wrong, n);
    return wrong > 0;
}
"""

JUDGED_MAIN = """\
// Adds two vectors of n elements, drawn from a seed (both are arguments), and writes the result in binary.
int main(int, char** arguments) {
    unsigned n = std::strtoul(arguments[1], nullptr, 10), state = std::strtoul(arguments[2], nullptr, 10);
    std::vector<float> a(n), b(n), c(n, -1.0f);
    auto draw = [&state] { return float((state = state * 1664525u + 1013904223u) >> 20); };
    for (unsigned i = 0; i < n; i++) a[i] = draw(), b[i] = draw();
    add_on_gpu(a.data(), b.data(), c.data(), n);
    std::fwrite(c.data(), sizeof(float), n, stdout);
}
"""


def drawn_vectors(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """The judged main's two vectors: whole numbers below 2^12, in float32."""
    powers = np.full(2 * n, 1664525, np.uint32).cumprod(dtype=np.uint32)  # modulo 2^32, as the states are
    added = np.concatenate(([1], powers[:-1])).cumsum(dtype=np.uint32) * np.uint32(1013904223)
    drawn = ((powers * np.uint32(seed) + added[: 2 * n]) >> np.uint32(20)).astype(np.float32)
    return drawn[::2].copy(), drawn[1::2].copy()


def program(kernel: str, host: str, main: str = MAIN) -> str:
    """The source of the whole program. kernel: that of vector_add. host: that of add_on_gpu."""
    includes = "#include <cstdio>\n#include <cstdlib>\n#include <vector>\n"
    return "\n".join([includes + HEADER, *(textwrap.dedent(part).strip("\n") + "\n" for part in (kernel, host)), main])


def in_tiles(tile: int) -> str:
    """A vector addition in tiles of this size, for vectors that they divide."""
    views = "\n".join(
        f"auto {x.upper()} = ct::partition_view{{ct::tensor_span{{{x}, ct::extents{{n}}}}, ct::shape{{{tile}_ic}}}};"
        for x in "abc"
    )
    return f"""\
__tile_global__ void vector_add(const float* a, const float* b, float* c, int n) {{
{views}
int i = ct::bid().x;
C.store_masked(A.load_masked(i) + B.load_masked(i), i);
}}"""
