"""Hopper's GEMM on a GPU: fused epilogues, operands of either major, models whose layers were swapped."""

import copy
import re
from itertools import product

import pytest
import torch
from torch import nn

from tests.kernels.layer_models import MODELS, Trial
from tutorlib.checking.running import find_fault
from tutorlib.kernels.hopper.config import HopperConfig
from tutorlib.kernels.layers import left_to_torch, report, use_kernels
from tutorlib.measuring.launchers import HostLauncher
from tutorlib.problems.fused import linear_add, linear_gelu, linear_swiglu

pytestmark = pytest.mark.gpu("90a")
SHAPES = ((512, 512, 512), (129, 208, 72), (1, 64, 1000), (2048, 4096, 256))


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("name", ["BIAS_GELU", "ADD", "SWIGLU"])
def test_a_fused_epilogue_is_right(name, shape):
    from tutorlib.kernels.hopper import fused

    problem = {"BIAS_GELU": linear_gelu(), "ADD": linear_add(), "SWIGLU": linear_swiglu(fused.PIECE)}[name]

    def host(a, b, *others):
        *operand, c = others
        fused.launch_fused(getattr(fused, name), a, b, operand[0] if operand else None, c)

    assert find_fault(problem, HostLauncher(host), shape) is None


@pytest.mark.parametrize("shape", [(2048, 4096, 256), (256, 4096, 4096), (512, 1024, 4096)], ids=str)
def test_a_bias_is_added_before_the_result_is_rounded(shape):
    from tutorlib.kernels.layers import linear, report

    m, n, k = shape
    torch.manual_seed(0)
    x, weight, bias = (torch.randn(size, device="cuda").bfloat16() for size in ((m, k), (n, k), (n,)))
    exact = x.double() @ weight.double().mT + bias.double()
    before = report()
    torch.testing.assert_close(linear(x, weight, bias).double(), exact, rtol=2**-8, atol=2**-9 * k**0.5)
    assert report() == before  # the kernel computed it


def test_the_fused_mlp_trains():
    from tutorlib.kernels.layers import FusedMLP, LlamaMLP, separate

    torch.manual_seed(0)
    plain = LlamaMLP(512, 1536, device="cuda", dtype=torch.bfloat16)
    fused, x = FusedMLP(plain), torch.randn(256, 512, device="cuda", dtype=torch.bfloat16)
    for module in (plain, fused):
        module(x).square().sum().backward()
    gate, up = separate(fused.gate_up.grad)
    for got, module in ((gate, plain.gate_proj), (up, plain.up_proj), (fused.down.grad, plain.down_proj)):
        wanted = module.weight.grad
        torch.testing.assert_close(got, wanted, rtol=2**-5, atol=2**-6 * float(wanted.abs().max()))


def test_torch_takes_the_swapped_module_compiled_cast_and_captured():
    from tutorlib.kernels.layers import LlamaMLP, use_kernels

    torch.manual_seed(0)
    plain = LlamaMLP(512, 1536, device="cuda", dtype=torch.bfloat16)
    x = torch.randn(256, 512, device="cuda", dtype=torch.bfloat16)
    expected = plain(x).detach()
    swapped, side, graph = use_kernels(plain), torch.cuda.Stream(), torch.cuda.CUDAGraph()
    with torch.no_grad(), torch.cuda.stream(side):  # what compiles or allocates once must not be captured
        swapped(x)
    torch.cuda.synchronize()
    with torch.no_grad(), torch.cuda.graph(graph, stream=side):
        captured = swapped(x)
    graph.replay()
    with torch.no_grad(), torch.autocast("cuda", torch.bfloat16):
        cast = swapped(x.float())
    for got in (torch.compile(swapped, fullgraph=True)(x), cast, captured):
        torch.testing.assert_close(got, expected, rtol=0, atol=2**-5 * float(expected.abs().max()), check_dtype=False)


MAJOR_SHAPES = ((2048, 2048, 2048), (1000, 2056, 1336), (136, 264, 71))
MAJORS = tuple(product(("k", "mn"), repeat=2))
PATHS = {
    "ping-pong, stream-K": {"tile": (128, 192, 64), "schedule": "pingpong", "cluster": (2, 1), "stream_k": True},
    "deferred, 1×2": {"cluster": (1, 2), "defer_stores": True},
    "split-K, transposed": {"tile": (128, 64, 64), "transposed": True, "persistent": False, "split_k": 2},
    "2×4, K tiles of 128": {"tile": (64, 128, 128), "cluster": (2, 4)},
    "narrow patterns": {"tile": (128, 80, 64), "cluster": (2, 2)},
}


def draw(rows, columns, major):
    made = torch.randn(rows, columns, device="cuda") * columns**-0.25
    return made.bfloat16() if major == "k" else made.mT.bfloat16().contiguous().mT


def is_close(c, a, b):
    """One rounding to bf16 of sums of numbers of size 1, which fp32 adds up in another order."""
    torch.testing.assert_close(c.float(), a.float() @ b.float().mT, rtol=2**-8, atol=2**-8)


@pytest.mark.parametrize("majors", MAJORS, ids=str)
@pytest.mark.parametrize("shape", MAJOR_SHAPES, ids=str)
def test_views_are_multiplied_as_they_lie(shape, majors):
    from tutorlib.kernels.hopper.torch_gemm import gemm

    (m, n, k), unit = shape, 1 if majors == ("mn", "mn") else 8
    k = -(-k // unit) * unit
    torch.manual_seed(0)
    a, b = draw(m, k, majors[0]), draw(n, k, majors[1])
    is_close(gemm(a, b), a, b)


@pytest.mark.parametrize("majors", [("k", "mn"), ("mn", "mn")], ids=str)
@pytest.mark.parametrize("name", PATHS)
def test_every_path_through_the_kernel(name, majors):
    from tutorlib.kernels.hopper.launch import launcher

    config = HopperConfig(**PATHS[name], majors=majors)
    m, n, k = 776, 1032, 584
    torch.manual_seed(0)
    a, b = (draw(rows, k, major) for rows, major in zip((m, n), config.callers_majors, strict=True))
    c = torch.full((m, n), torch.nan, device="cuda", dtype=torch.bfloat16)
    launcher(config, m, n, k)(a, b, c)
    is_close(c, a, b)


WIDTH = 256
STEPS = 5


@pytest.fixture(params=MODELS.values(), ids=MODELS)
def trial(request) -> Trial:
    torch.manual_seed(0)
    return request.param(WIDTH).to("cuda", torch.bfloat16)


@pytest.fixture
def swapped(trial) -> nn.Module:
    left_to_torch.clear()
    return use_kernels(copy.deepcopy(trial.model))


def test_training_has_torchs_losses(trial, swapped):
    """Within what bf16 rounds away in STEPS steps; and the kernel computes all but layers of odd sizes."""
    plain, ours = (
        trial.losses(model, torch.optim.SGD(model.parameters(), lr=1e-2), STEPS) for model in (trial.model, swapped)
    )
    print(plain, ours, *report(), sep="\n")
    assert ours == pytest.approx(plain, rel=2**-5)
    assert [line for line in report() if not re.search(r"1001|\((10|2), |, (10|2)\)|bias", line)] == []


def test_compiled_it_is_one_graph(trial, swapped):
    expected = trial.logits_of(trial.model, trial.inputs)
    got = trial.logits_of(torch.compile(swapped, fullgraph=True), trial.inputs)
    torch.testing.assert_close(got, expected, rtol=2**-5, atol=2**-5 * float(expected.detach().abs().max()))
