"""cuTile's kernels and GEMMs on a GPU."""

import cuda.tile as ct
import pytest
import torch

from tests.checking.test_languages import gathering_transpose, persistent_transpose, two_pass_softmax
from tests.pages.answers import WRONG
from tests.pages.table import by_name
from tests.simulate.cutile.test_memory import copy, gemm
from tutorlib.course.answers import load_answers
from tutorlib.exercises import find
from tutorlib.kernels.cutile import Config, persistent, slabs
from tutorlib.problems.problem import torch_dtype
from tutorlib.simulate.cutile import run

pytestmark = pytest.mark.gpu("80")


def randn(*shape, dtype=torch.float32):
    return torch.randn(shape, generator=torch.Generator().manual_seed(0)).to(dtype)


def unary(f):
    @ct.kernel
    def kernel(x, y):
        ct.store(y, (ct.bid(0), 0), f(ct.load(x, (ct.bid(0), 0), (4, 32), padding_mode=ct.PaddingMode.ZERO)))

    return kernel


def mma(dtype, acc):
    @ct.kernel
    def kernel(a, b, c):
        x, y = ct.load(a, (0, 0), (64, 64)).astype(dtype), ct.load(b, (0, 0), (64, 64)).astype(dtype)
        ct.store(c, (0, 0), ct.mma(x, y, ct.zeros((64, 64), acc)).astype(ct.float32))

    return kernel


@ct.kernel
def integers(x, y):
    tile = ct.load(x, (0,), (64,))
    ct.store(y, (0,), tile // 7 * 100 + tile % -5 + ct.cdiv(tile, 3) + (tile >> 1) + (tile ^ 21))


@ct.kernel
def histogram(x, counts):
    ct.atomic_add(counts, ct.load(x, (ct.bid(0),), (32,)) & 7, 1)


@ct.kernel
def row_statistics(x, y):
    tile = ct.load(x, (ct.bid(0), 0), (1, 64), padding_mode=ct.PaddingMode.NEG_INF)
    ct.store(y, (ct.bid(0), 0), ct.max(tile, 1, keepdims=True))
    ct.store(y, (ct.bid(0), 1), ct.argmax(tile, 1, keepdims=True).astype(ct.float32))
    filled = ct.where(tile < -1e30, 0.0, tile)
    ct.store(y, (ct.bid(0), 2), ct.extract(ct.cumsum(filled, 1), (0, 40), (1, 1)))
    ct.store(y, (ct.bid(0), 3), ct.sum(filled * filled, 1, keepdims=True))


def kernels():
    """Name, kernel, grid, arguments; the last tensor is the output."""
    bf16, matrix = torch.bfloat16, randn(10, 30)
    yield "copy", copy, (3, 2), (matrix, torch.zeros(10, 30), 4, 16)
    a, b = randn(150, 100, dtype=bf16), randn(90, 100, dtype=bf16)
    yield "gemm", gemm, (3, 2), (a, b, torch.zeros(150, 90), 64, 64, 32)
    yield "persistent_transpose", persistent_transpose, (2, 2), (matrix, torch.zeros(30, 10), 4, 8)
    yield "gathering_transpose", gathering_transpose, (3, 4), (matrix, torch.zeros(30, 10), 4, 8)
    yield "softmax", two_pass_softmax, (10,), (matrix * 10, torch.zeros(10, 30), 32)
    yield "integers", integers, (1,), (torch.arange(-30, 34, dtype=torch.int32), torch.zeros(64, dtype=torch.int32))
    numbers = torch.arange(0, 1920, 3, dtype=torch.int32)
    yield "histogram", histogram, (20,), (numbers, torch.zeros(8, dtype=torch.int32))
    yield "row_statistics", row_statistics, (10,), (randn(10, 50), torch.zeros(10, 4))
    for f in (ct.exp, ct.exp2, ct.log, ct.log2, ct.sqrt, ct.rsqrt, ct.sin, ct.cos, ct.tanh, ct.floor, ct.ceil):
        yield f.__name__, unary(f), (3,), (matrix.abs() + 0.25, torch.zeros(10, 30))
        yield f"{f.__name__} fp16", unary(f), (3,), ((matrix.abs() + 0.25).half(), torch.zeros(10, 30).half())
    for dtype in (ct.float16, ct.bfloat16, ct.float32, ct.tfloat32, ct.float8_e4m3fn, ct.float8_e5m2):
        yield f"mma {dtype}", mma(dtype, ct.float32), (1,), (randn(64, 64) * 4, randn(64, 64), torch.zeros(64, 64))
    yield "mma fp16, fp16", mma(ct.float16, ct.float16), (1,), (randn(64, 64), randn(64, 64), torch.zeros(64, 64))


TOLERANCE = {"mma fp16, fp16": 2e-2, "mma float8_e4m3fn": 2e-3, "mma float8_e5m2": 2e-3}  # sums with fewer bits


def cases():
    """As parameters; cuTile does fp8 on Hopper and later."""
    for case in kernels():
        yield pytest.param(*case, id=case[0], marks=[pytest.mark.gpu("90")] if "float8" in case[0] else [])


@pytest.mark.parametrize(("name", "kernel", "grid", "args"), list(cases()))
def test_the_interpreter_gives_what_the_gpu_gives(name, kernel, grid, args):
    on_gpu = tuple(arg.cuda() if isinstance(arg, torch.Tensor) else arg for arg in args)
    ct.launch(torch.cuda.current_stream(), grid, kernel, on_gpu)
    torch.cuda.synchronize()
    assert not run(kernel, grid, args).findings
    got, want = ([arg for arg in given if isinstance(arg, torch.Tensor)][-1].cpu() for given in (args, on_gpu))
    half = got.dtype == torch.float16
    tolerance = TOLERANCE.get(name, 2e-3 if half else 2e-5)
    torch.testing.assert_close(got, want, rtol=tolerance, atol=tolerance * max(1.0, float(want.abs().max()) / 10))


@pytest.mark.parametrize(("id", "answer"), [("06.1", persistent_transpose), ("06.1", gathering_transpose)])
def test_a_right_answer_passes_here_too(id, answer):
    outcome = find(id).grade(answer)
    assert outcome.message == find(id).passed_line


@pytest.mark.parametrize("answer", by_name({id: WRONG[id] for id in WRONG if id.startswith("06")}))
def test_a_wrong_answer_fails_here_too(answer):
    assert find(answer.exercise).grade(answer.function).points < find(answer.exercise).points


ANSWERS = ("07.1", "07.3", "08.1", "08.3")


@pytest.fixture(scope="module")
def answers():
    return load_answers("07_cutile_gemm") | load_answers("08_cutile_fp8")


def agree(kernel, id, shape, grid, constants):
    """Interpret a kernel and launch it, on the same random inputs of an exercise's problem."""
    problem = find(id).problem
    inputs = problem.random(shape, torch.Generator().manual_seed(0))
    c = torch.full(problem.shape_of(problem.output, shape), torch.nan, dtype=torch_dtype(problem.output.dtype))
    on_gpu = [tensor.cuda() for tensor in (*inputs, c)]
    report = run(kernel, grid, (*inputs, c, *constants))
    ct.launch(torch.cuda.current_stream(), grid, kernel, (*on_gpu, *constants))
    _, allowed = problem.expected(inputs, shape)
    assert not report.findings
    assert ((on_gpu[-1].cpu().double() - c.double()).abs() <= 2 * allowed).all()


@pytest.mark.gpu("90")
@pytest.mark.parametrize(("id", "shape"), [(id, shape) for id in ANSWERS for shape in find(id).shapes])
def test_the_answers(answers, id, shape):
    exercise = find(id)
    agree(answers[id], id, shape, exercise.grid(shape), exercise.constants(shape))


@pytest.mark.parametrize(
    "config", [Config(128, 128), Config(128, 256, num_worker_warps=8), Config(256, 256, num_ctas=2)]
)
@pytest.mark.gpu("90")
def test_the_kernel_that_is_swept(config):
    agree(persistent.replace_hints(**config.hints), "07.3", (600, 520, 200), (2,), config.constants)


@pytest.mark.parametrize(
    ("kernel", "constants"),
    [
        (slabs, (128, 128, False, 3, 6, True)),
        (slabs, (64, 128, True, 0, 0, False)),
    ],
)
@pytest.mark.gpu("90")
def test_the_ways_to_do_320_rows(kernel, constants):
    agree(kernel.replace_hints(num_worker_warps=8), "08.3", (320, 400, 272), (2,), constants)
