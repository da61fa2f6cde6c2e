"""Notebook 07's kernels on a GPU: what the interpreter gives is what the GPU gives, within twice the bound."""

import cuda.tile as ct
import pytest
import torch

from tutorlib.course.answers import load_answers
from tutorlib.exercises import find
from tutorlib.kernels.cutile.fp8 import slabs, straight_slabs, tiled
from tutorlib.kernels.cutile.gemm import Config, persistent
from tutorlib.simulate.cutile import run

pytestmark = pytest.mark.gpu("90")

ANSWERS = ("07.1", "07.4", "07.6", "07.7")


@pytest.fixture(scope="module")
def answers():
    return load_answers("07_cutile_gemm")


def agree(kernel, id, shape, grid, constants):
    """Interpret a kernel and launch it, on the same random inputs of an exercise's problem."""
    problem = find(id).problem
    inputs = problem.random(shape, torch.Generator().manual_seed(0))
    c = torch.full(problem.shape_of(problem.output, shape), torch.nan).to(
        torch.float32 if id == "07.6" else torch.bfloat16
    )
    on_gpu = [tensor.cuda() for tensor in (*inputs, c)]
    report = run(kernel, grid, (*inputs, c, *constants))
    ct.launch(torch.cuda.current_stream(), grid, kernel, (*on_gpu, *constants))
    _, allowed = problem.expected(inputs, shape)
    assert not report.findings
    assert ((on_gpu[-1].cpu().double() - c.double()).abs() <= 2 * allowed).all()


@pytest.mark.parametrize(("id", "shape"), [(id, shape) for id in ANSWERS for shape in find(id).shapes])
def test_the_answers(answers, id, shape):
    exercise = find(id)
    agree(answers[id], id, shape, exercise.grid(shape), exercise.constants(shape))


@pytest.mark.parametrize(
    "config", [Config(128, 128), Config(128, 256, num_worker_warps=8), Config(256, 256, num_ctas=2)]
)
def test_the_kernel_that_is_swept(config):
    agree(persistent.replace_hints(**config.hints), "07.4", (600, 520, 200), (2,), config.constants)


@pytest.mark.parametrize(
    ("kernel", "constants"),
    [
        (slabs, (128, 128, False, 3, 6, True)),
        (slabs, (64, 128, True, 0, 0, False)),
        (straight_slabs, (128, 64, 3, 7)),
        (tiled, (64, 256, 128, True)),
        (tiled, (128, 128, 128, False)),
    ],
)
def test_the_ways_to_do_320_rows(kernel, constants):
    agree(kernel.replace_hints(num_worker_warps=8), "07.7", (320, 400, 272), (2,), constants)
