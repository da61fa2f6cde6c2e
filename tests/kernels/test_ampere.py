"""The ladder's GEMM of notebooks 10 to 13: configurations, results, main loops, and the same kernel in CUDA C++."""

from collections.abc import Iterator
from itertools import product

import pytest
import torch

from tutorlib.checking.cute import CuteExercise
from tutorlib.checking.running import find_simulated_fault
from tutorlib.compiling.compiled import opcodes
from tutorlib.compiling.dsls import compile_cute
from tutorlib.compiling.errors import CompileFailed
from tutorlib.compiling.spec import TensorSpec
from tutorlib.kernels import ConfigError
from tutorlib.kernels.ampere.config import GemmConfig
from tutorlib.kernels.ampere.gemm import make_gemm
from tutorlib.kernels.ampere.main_loops import TUNED, multistage, single_buffer
from tutorlib.kernels.cpp import THREE_STAGES
from tutorlib.kernels.ladder import AMPERE_RUNGS
from tutorlib.measuring.simulated_launchers import simulated_cute
from tutorlib.problems.catalogue import gemm
from tutorlib.simulate.ptx.languages.cuda import compile_cuda, simulate_cuda

BROKEN = [
    (((128, 128, 48), (2, 2), 4), "tile K = 48: 32 or a multiple of 64"),
    (((128, 128, 16), (2, 2), 2), "tile K = 16: 32 or a multiple of 64"),
    (((100, 128, 32), (2, 2), 2), "tile M = 100: 2 warps of 16 rows each cover multiples of 32"),
    (((128, 96, 64), (2, 2), 2), "tile N = 96: 2 warps of 32 columns each cover multiples of 64"),
    (((96, 96, 64), (1, 3), 2), "warps 1×3: powers of two"),
    (((16, 256, 64), (1, 8), 2), "256 threads fetch 32 rows of K = 64 at a time, so M and N are multiples of 32"),
    (((256, 256, 32), (8, 8), 2), "are 2,048 threads; a block has at most 1,024"),
    (((256, 128, 32), (2, 2), 3), "each thread would keep 256 accumulators, and it has 255 registers. More warps"),
    (((128, 128, 64), (2, 2), 9), "9 × 32,768 bytes of shared memory are 294,912; a block has at most 232,448"),
    (((128, 128), (2, 2), 2), r"tile = \(128, 128\): it is 3 whole numbers, 1 or more"),
    ((128, (2, 2), 2), "tile = 128:"),
    (((128, 128, 64), (2, 0), 2), r"warps = \(2, 0\): it is 2 whole numbers, 1 or more"),
    (((128, 128, 64), 4, 2), "warps = 4:"),
    (((128, 128, 64), (2, 2), 0), "stages = "),
    (((128, 128.0, 64), (2, 2), 2), "tile = "),
    (((128, "128", 64), (2, 2), 2), "tile = "),
]
SIMULATED = [  # N = 32 × warps; one warp; an M, an N that is no power of two; rows of a copy fewer than a swizzle's
    GemmConfig((128, 64, 64), (2, 2), 3),
    GemmConfig((64, 96, 32), (2, 1), 2),
    GemmConfig((48, 64, 64), (1, 2), 2),
    GemmConfig((16, 64, 128), (1, 1), 1),
    GemmConfig((192, 96, 32), (4, 1), 4),
]


def space() -> Iterator[GemmConfig]:
    """Every accepted configuration of a few sizes of each kind, with as many stages as fit but five at most."""
    tiles = product((16, 48, 64, 128, 192, 256), (32, 64, 96, 128, 256), (32, 64, 128, 192))
    for tile, warps in product(tiles, product((1, 2, 4, 8), repeat=2)):
        for stages in (5, 3, 2, 1):
            try:
                yield GemmConfig(tile, warps, stages)
            except ConfigError:
                continue
            break


ACCEPTED = list(space())


def host(config: GemmConfig):
    return make_gemm(config, single_buffer if config.stages == 1 else multistage)


def compile_at_its_edges(config: GemmConfig):
    m, n, k = (size + 8 for size in config.tile)
    return compile_cute(host(config), [TensorSpec(shape, "bf16") for shape in ((m, k), (n, k), (m, n))], "sm_90a")


@pytest.mark.parametrize(("arguments", "says"), BROKEN)
def test_what_cannot_work_is_refused_in_a_sentence(arguments, says):
    with pytest.raises(ConfigError, match=says) as refused:
        GemmConfig(*arguments)
    assert "\n" not in str(refused.value)


def test_lists_are_tuples():
    assert GemmConfig([128, 256, 32], [2, 4], 4) == GemmConfig((128, 256, 32), (2, 4), 4)


def test_the_space_is_large():
    assert len(ACCEPTED) > 300


SAMPLED = [*ACCEPTED[7::61], *(pytest.param(config, marks=pytest.mark.long) for config in ACCEPTED[3::7])]


@pytest.mark.parametrize("config", SAMPLED, ids=str)
def test_a_sample_of_what_is_accepted_compiles(config):
    assert compile_at_its_edges(config).threads == config.threads


@pytest.mark.parametrize("config", SIMULATED, ids=str)
def test_a_sample_of_what_is_accepted_is_right_where_nothing_divides(config):
    m, n, k = config.tile
    simulated = simulated_cute(host(config), gemm("bf16"))
    assert find_simulated_fault(gemm("bf16"), simulated, (m + 1, n - 8, 2 * k + 8)) is None


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
    assert compiled(RUNGS["10 one buffer"].host, (384, 256, 128)).ptx.count("setp") < 10
    assert compiled(RUNGS["10 one buffer"].host, (385, 256, 128)).ptx.count("setp") > 10


@pytest.mark.parametrize("k", [1, 7, 127, 129, 4])
def test_rows_that_do_not_start_at_16_bytes_are_refused_in_words(k):
    says = f"K = {k}: rows must start at multiples of 16 bytes, so K must be a multiple of 8"
    with pytest.raises(CompileFailed, match=says):
        compiled(RUNGS["13 three stages"].host, (128, 128, k))


@pytest.mark.gpu("80")
@pytest.mark.parametrize("name", RUNGS)
def test_each_rung_is_right_at_mixed_sizes(name):
    exercise = CuteExercise(
        id="00.0", title=name, points=1, problem=gemm("bf16"), shapes=tuple(TRIPLES), requires=("mma.sync",)
    )
    outcome = exercise.grade(RUNGS[name].host)
    assert outcome.status == "passed", outcome.message


SPECS = [TensorSpec((1024, 1024), "bf16")] * 3
SMALL = GemmConfig((64, 64, 32), (2, 2), 3)


@pytest.mark.parametrize("shape", [(65, 56, 200), (64, 64, 32)], ids=str)  # several K tiles, and fewer than stages
def test_it_is_right_where_nothing_divides(shape):
    assert find_simulated_fault(gemm("bf16"), simulated_cute(make_gemm(SMALL, multistage), gemm("bf16")), shape) is None


def test_the_tuned_kernel_spills_nothing():
    assert compile_cute(make_gemm(TUNED, multistage), SPECS, "sm_90a").spill_bytes == 0


TWIN = GemmConfig(THREE_STAGES.tile, (2, 2), THREE_STAGES.stages)


@pytest.mark.parametrize("shape", [(256, 256, 160), (128, 128, 32)])  # more K tiles than stages, and fewer
def test_it_multiplies_and_nothing_is_noticed(shape):
    m, n, k = shape
    a, b = (torch.randn(rows, k, generator=torch.Generator().manual_seed(0)).bfloat16() for rows in (m, n))
    c = torch.full((m, n), torch.nan).bfloat16()
    arguments = {"a": a, "b": b, "c": c, "m": m, "n": n, "k": k}
    report = simulate_cuda(
        THREE_STAGES.source, THREE_STAGES.grid(shape), (THREE_STAGES.threads, 1, 1), arguments, THREE_STAGES.smem_bytes
    )
    torch.testing.assert_close(c.float(), a.float() @ b.float().mT, rtol=2**-7, atol=0.02)
    assert not report.findings
    assert not [access for access in report.accesses if access.wasted]  # no bank conflict, whole sectors


def test_it_has_the_instructions_of_its_python_twin():
    theirs = opcodes(compile_cute(make_gemm(TWIN, multistage), [TensorSpec((4096, 4096), "bf16")] * 3).ptx)
    ours = opcodes(compile_cuda(THREE_STAGES.source))
    assert (TWIN.smem_bytes, TWIN.threads) == (THREE_STAGES.smem_bytes, THREE_STAGES.threads)
    for name in ("cp.async", "ldmatrix.x4", "mma.sync", "st.global.v4", "wait_group", "bar.sync"):
        assert ours.count(name) == theirs.count(name) > 0, name
