"""Notebook 16's kernels on a Hopper GPU: right at all kinds of edges, and taken by torch as its own."""

import pytest
import torch

from tutorlib.checking.running import find_fault
from tutorlib.measuring.launchers import HostLauncher
from tutorlib.problems.fused import linear_add, linear_gelu, linear_swiglu

pytestmark = pytest.mark.gpu("90a")
SHAPES = ((512, 512, 512), (129, 208, 72), (1, 64, 1000), (2048, 4096, 256))


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("name", ["BIAS_GELU", "ADD", "SWIGLU"])
def test_a_fused_epilogue_is_right(name, shape):
    from tutorlib.kernels.fused import hopper

    problem = {"BIAS_GELU": linear_gelu(), "ADD": linear_add(), "SWIGLU": linear_swiglu(hopper.PIECE)}[name]

    def host(a, b, *others):
        *operand, c = others
        hopper.launch_fused(getattr(hopper, name), a, b, operand[0] if operand else None, c)

    assert find_fault(problem, HostLauncher(host), shape) is None


@pytest.mark.parametrize("shape", [(2048, 4096, 256), (64, 4096, 4096), (512, 1024, 4096)], ids=str)
def test_a_bias_is_added_before_the_result_is_rounded(shape):
    from tutorlib.kernels.fused.linear import linear, report

    m, n, k = shape
    torch.manual_seed(0)
    x, weight, bias = (torch.randn(size, device="cuda").bfloat16() for size in ((m, k), (n, k), (n,)))
    exact = x.double() @ weight.double().mT + bias.double()
    before = report()
    torch.testing.assert_close(linear(x, weight, bias).double(), exact, rtol=2**-8, atol=2**-9 * k**0.5)
    assert report() == before  # the kernel computed it


def test_the_fused_mlp_trains():
    from tutorlib.kernels.fused.mlp import FusedMLP, LlamaMLP, separate

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
    from tutorlib.kernels.fused.linear import use_kernels
    from tutorlib.kernels.fused.mlp import LlamaMLP

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
