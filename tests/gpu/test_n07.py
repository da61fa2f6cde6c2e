"""Notebook 07's kernels on a GPU: what the interpreter gives is what the GPU gives, within twice the bound."""

import cuda.tile as ct
import pytest
import torch

from tests.test_n07 import notebook  # noqa: F401, a fixture
from tutorlib import device, tile_gemm
from tutorlib.exercises import find
from tutorlib.simulate.cutile import run
from tutorlib.tile_fp8 import slabs, straight_slabs, tiled
from tutorlib.tile_gemm import Config

pytestmark = pytest.mark.skipif(bool(reason := device.why_not("90")), reason=reason or "")

ANSWERS = {"07.1": "gemm", "07.4": "persistent", "07.6": "gemm_tf32", "07.7": "gemm_fp8"}


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
def test_the_answers(notebook, id, shape):  # noqa: F811
    exercise = find(id)
    agree(getattr(notebook, ANSWERS[id]), id, shape, exercise.grid(shape), exercise.constants(shape))


@pytest.mark.parametrize(
    "config", [Config(128, 128), Config(128, 256, num_worker_warps=8), Config(256, 256, num_ctas=2)]
)
def test_the_kernel_that_is_swept(config):
    agree(tile_gemm.persistent.replace_hints(**config.hints), "07.4", (600, 520, 200), (2,), config.constants)


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
