"""Notebook 08's program in one file: a vector addition in Tile C++, the function that launches it, and a main."""

import textwrap

from tutorlib.compiling.cpp import HEADER

MAIN = """\
// Adds two vectors of as many elements as the first argument says, and looks at each of the sums.
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


def program(kernel: str, host: str) -> str:
    """The source of the whole program. kernel: that of vector_add. host: that of add_on_gpu."""
    includes = "#include <cstdio>\n#include <cstdlib>\n#include <vector>\n"
    return "\n".join([includes + HEADER, *(textwrap.dedent(part).strip("\n") + "\n" for part in (kernel, host)), MAIN])
