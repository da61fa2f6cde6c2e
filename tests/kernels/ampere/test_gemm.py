"""The GEMM of notebooks 09 to 12: what it compiles to, and which sizes it takes."""

import pytest

from tutorlib.checking.cute import CuteExercise
from tutorlib.compiling.dsls import compile_cute
from tutorlib.compiling.errors import CompileFailed
from tutorlib.compiling.spec import TensorSpec
from tutorlib.kernels.ampere.config import GemmConfig
from tutorlib.kernels.ampere.epilogues import store_through_smem
from tutorlib.kernels.ampere.gemm import make_gemm
from tutorlib.kernels.ampere.main_loops import single_buffer
from tutorlib.kernels.ladder import AMPERE_RUNGS
from tutorlib.problems.catalogue import gemm

RUNGS = {rung.title: rung for rung in AMPERE_RUNGS}
TRIPLES = [
    (1, 1, 8),
    (7, 129, 1000),
    (129, 7, 64),
    (1000, 127, 4096),
    (4096, 1000, 72),
    (128, 128, 128),
    (127, 64, 8),
    (64, 4096, 1000),
    (1000, 1000, 1000),
    (4096, 129, 128),
]


def compiled(kernel, shape, arch="sm_80"):
    m, n, k = shape
    return compile_cute(kernel, [TensorSpec(s, "bf16") for s in ((m, k), (n, k), (m, n))], arch)


def test_edges_cost_nothing_where_tiles_are_whole():
    assert compiled(RUNGS["09 one buffer"].host, (384, 256, 128)).ptx.count("setp") < 10
    assert compiled(RUNGS["09 one buffer"].host, (385, 256, 128)).ptx.count("setp") > 10


@pytest.mark.parametrize("k", [1, 7, 127, 129, 4])
def test_rows_that_do_not_start_at_16_bytes_are_refused_in_words(k):
    says = f"K = {k}: rows must start at multiples of 16 bytes, so K must be a multiple of 8"
    with pytest.raises(CompileFailed, match=says):
        compiled(RUNGS["12 three stages"].host, (128, 128, k))


def test_the_detour_takes_whole_tiles():
    with pytest.raises(CompileFailed, match="not made of whole tiles"):
        compiled(make_gemm(GemmConfig(), single_buffer, epilogue=store_through_smem), (129, 128, 64))


@pytest.mark.gpu("80")
@pytest.mark.parametrize("name", RUNGS)
def test_each_rung_is_right_at_mixed_sizes(name):
    exercise = CuteExercise(
        id="00.0", title=name, points=1, problem=gemm("bf16"), shapes=tuple(TRIPLES), requires=("mma.sync",)
    )
    outcome = exercise.grade(RUNGS[name].host)
    assert outcome.status == "passed", outcome.message
