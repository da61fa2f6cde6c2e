"""08.6's program: its results come from launches alone, whatever else its code does, before main or after."""

import pytest

from tests.checking.elsewhere import answer_to
from tutorlib.exercises import find
from tutorlib.exercises.judges import p08 as judge

LOOP = "for (int i = 0; i < n; i++) c[i] = a[i] + b[i];"
ONE_LAUNCH = """
    float *x, *y, *z;
    cudaMalloc(&x, n * sizeof(float)); cudaMalloc(&y, n * sizeof(float)); cudaMalloc(&z, n * sizeof(float));
    vector_add<<<(n + 1023) / 1024, 1>>>(x, y, z, n);
    cudaFree(x); cudaFree(y); cudaFree(z);
"""


def in_cpp(body, above=""):
    return lambda: f"{above}\nvoid add_on_gpu(const float* a, const float* b, float* c, int n) {{ {body} }}"


ON_THE_HOST = {
    "a loop": in_cpp(LOOP),
    "a launch of anything, and a loop": in_cpp(ONE_LAUNCH + LOOP),
    "a constructor that reads stdin": in_cpp(
        LOOP,
        """
        #include <unistd.h>
        struct Early { char seen[4096]; long n; Early() { n = read(0, seen, 0); } } early;
        """,
    ),
    "a constructor that starts a thread": in_cpp(
        LOOP,
        """
        #include <thread>
        struct Early { std::thread other; Early() : other([] {}) { other.detach(); } } early;
        """,
    ),
    "at exit": in_cpp(
        LOOP + " std::atexit([] { std::fflush(stdout); });",
    ),
    "a main of its own": in_cpp(
        LOOP, "#define main(...) other(__VA_ARGS__) { return 0; } int main(int, char** arguments)"
    ),
    "another fwrite": in_cpp(LOOP, "#define fwrite(from, size, n, to) fwrite(from, size, n, to)"),
    "one number": in_cpp("for (int i = 0; i < n; i++) c[i] = 4096;"),
    "its own line to the GPU": in_cpp(
        "write(0, &n, 4); write(0, a, 4 * n); write(0, b, 4 * n); read(0, c, 4 * n);", "#include <unistd.h>"
    ),
    "the same, with what it can read first": in_cpp(
        "write(0, early.seen, 16); write(0, &n, 4); write(0, a, 4 * n); write(0, b, 4 * n); read(0, c, 4 * n);",
        """
        #include <fcntl.h>
        #include <unistd.h>
        struct Early { char seen[16] = {}; Early() { fcntl(0, F_SETFL, O_NONBLOCK); auto n = read(0, seen, 16); } };
        Early early;
        """,
    ),
    "the operands": in_cpp("for (int i = 0; i < n; i++) c[i] = a[i];"),
}


@pytest.mark.usefixtures("no_gpu")
@pytest.mark.parametrize("name", ON_THE_HOST)
def test_what_the_host_computes_is_no_result(name):
    outcome = find("08.6").grade(ON_THE_HOST[name])
    assert outcome.points == 0, outcome.message


@pytest.mark.usefixtures("no_gpu")
def test_who_adds_on_the_host_is_told_so():
    message = find("08.6").grade(in_cpp(LOOP)).message
    assert "n = 5000: c[0] is a[0] + b[0], but no launch of vector_add computed it." in message


@pytest.mark.usefixtures("no_gpu")
def test_a_runtime_library_of_ones_own_does_not_link():
    above = (
        'extern "C" cudaError_t cudaLaunchKernel(const void*, dim3, dim3, void**, size_t, cudaStream_t) { return {}; }'
    )
    assert "does not compile" in find("08.6").grade(in_cpp(LOOP, above)).message


@pytest.mark.usefixtures("no_gpu")
def test_a_program_that_ends_early_has_written_nothing():
    assert judge.CUT_OFF in find("08.6").grade(in_cpp("std::exit(0);")).message


@pytest.mark.usefixtures("no_gpu")
def test_in_pieces_and_in_place_are_right():
    pieces = """
        float *x, *y;
        cudaMalloc(&x, n * sizeof(float)); cudaMalloc(&y, n * sizeof(float));
        cudaMemcpy(x, a, n * sizeof(float), cudaMemcpyHostToDevice);
        cudaMemcpy(y, b, n * sizeof(float), cudaMemcpyHostToDevice);
        for (int i = 0; i < n; i += 1024) vector_add<<<1, 1>>>(x + i, y + i, x + i, n - i < 1024 ? n - i : 1024);
        if (cudaGetLastError() != cudaSuccess) std::abort();
        cudaMemcpy(c, x, n * sizeof(float), cudaMemcpyDeviceToHost);
        cudaFree(x); cudaFree(y);
    """
    assert find("08.6").grade(in_cpp(pieces)).status == "passed"


@pytest.mark.usefixtures("no_gpu")
def test_the_courses_program_is_right():
    assert find("08.6").grade(answer_to("08.6")).status == "passed"
