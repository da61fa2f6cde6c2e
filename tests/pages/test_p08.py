"""Notebook 08: what the page says of the compiler; 08.6's results come from launches alone, whatever else it does."""

import re
from pathlib import Path

import pytest

from tests.checking.elsewhere import answer_to
from tests.pages.p08 import ADD, PROMISING, program
from tests.stand_ins import H200
from tutorlib.compiling.cpp import compile_cpp
from tutorlib.course.source import parse
from tutorlib.exercises import find
from tutorlib.exercises.judges import p08 as judge
from tutorlib.exercises.judges.cuda_host import TIME_LIMIT_S, ProgramRun
from tutorlib.exercises.p08 import tma_carries
from tutorlib.kernels.cpp import Variant
from tutorlib.machine import device
from tutorlib.paths import SOLUTIONS


@pytest.fixture(scope="module")
def page():
    """The solved notebook's functions, by name."""
    names = {}
    for cell in parse(SOLUTIONS / "08_tile_cpp.py"):
        if cell.kind == "code" and re.search(r"(?m)^(def|import|from) ", cell.solved):
            exec(cell.solved, names)
    return names


@pytest.mark.parametrize(
    ("arch", "has"),
    [
        ("sm_80", {"mma.sync", "cp.async"}),
        ("sm_90", {"wgmma", "cp.async.bulk.tensor"}),
        ("sm_100", {"tcgen05", "cp.async.bulk.tensor"}),
    ],
)
def test_the_persistent_gemm_compiles_for_each_family(page, arch, has):
    assert has <= compile_cpp(page["persistent_gemm"](), arch).instructions


@pytest.mark.parametrize("sizes", [(96, 64, 40), (96, 60, 40), (96, 64, 36)])
def test_what_tma_carries_is_what_the_compiler_says(sizes):
    compiled = compile_cpp(Variant(divisible=0, sizes=sizes).source)
    lines = compiled.source.split("\n")
    carried = {lines[remark.line - 1] for remark in compiled.remarks if remark.text.startswith("TMA")}
    by_tma = "".join(name for name in "abc" if any(f"{name.upper()}." in line for line in carried))
    assert by_tma == tma_carries(*sizes, 2)


def test_without_restrict_every_load_waits_for_the_one_before(page):
    assert page["fetching"](compile_cpp(PROMISING)) == "wait → load → load"
    assert page["fetching"](compile_cpp(Variant(restrict=False).source)) == "wait → load → wait → load → wait"


def test_a_large_tile_spills_and_eight_warps_mend_it():
    large = (128, 256, 64)
    assert compile_cpp(Variant(large, group=8).source).stack_bytes > 1000
    assert compile_cpp(Variant(large, group=8, warps=8).source).stack_bytes == 0


def instructions(compiled):
    """The PTX without its comments, which have the Tile IR."""
    return [line for line in compiled.ptx.split("\n") if not line.startswith(("//", "%", "\t.loc"))]


@pytest.mark.parametrize("source", [ADD, PROMISING], ids=["add", "gemm"])
def test_a_store_without_a_mask_is_the_same_code_so_it_is_no_wrong_answer(source):
    unmasked = source.replace("C.store_masked", "C.store")
    assert unmasked != source
    assert instructions(compile_cpp(unmasked)) == instructions(compile_cpp(source))


def test_the_persistent_gemm_gets_a_block_for_each_multiprocessor(monkeypatch):
    monkeypatch.setattr(device, "gpu", lambda: H200)
    assert find("08.5").grid((4096, 4096, 4096)) == (132,)


@pytest.mark.gpu("80", calibrated=True)
def test_a_slow_kernel_loses_points_on_a_calibrated_gpu():
    """It takes a step too few where K is large."""
    outcome = find("08.4").grade(program(PROMISING.replace("(k + 63) / 64", "(k + 63) / 65")))
    assert outcome.status == "partial"
    assert find("08.4").correctness_points <= outcome.points < outcome.max_points


# 08.6 --------------------------------------------------------------------------------------------------------------

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


@pytest.mark.parametrize("simulated", [True, False])
def test_who_never_ends_is_not_waited_for_again_and_again(monkeypatch, simulated):
    limits = []

    def run(program, args, key, limit_s):
        limits.append(limit_s)
        return ProgramRun("it does not end", endless=True)

    monkeypatch.setattr(judge, "run_program", run)
    exercise = find("08.6")
    wrongs = exercise.faults(Path("program"), simulated)
    assert len(wrongs) == len(exercise.numbers)
    assert limits == [TIME_LIMIT_S] + [judge.AGAIN_S] * (len(wrongs) - 1)
