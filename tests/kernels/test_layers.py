"""nn.Linear and the MLP on the course's kernels: operators, gradients, and models whose layers were swapped."""

import copy
import io
from collections import Counter

import pytest
import torch
from torch import nn
from torch.func import functional_call, grad, hessian, jacfwd, jacrev, jvp, vmap

from tests.kernels.layer_models import MODELS, Trial
from tutorlib.kernels import layers as linear_layers
from tutorlib.kernels.hopper import launch
from tutorlib.kernels.hopper.torch_gemm import Kind
from tutorlib.kernels.layers import (
    FusedMLP,
    KernelLinear,
    LlamaMLP,
    linear,
    separate,
    swiglu_linear,
    use_kernels,
    why_torch_for,
)


@pytest.fixture
def mlp() -> LlamaMLP:
    torch.manual_seed(0)
    return LlamaMLP(16, 48)


def test_opcheck_and_gradients():
    torch.manual_seed(0)
    tensors = [torch.randn(shape).requires_grad_() for shape in ((2, 3, 8), (4, 8), (4,))]
    torch.library.opcheck(linear, tensors[:2])
    gated = tensors[0], torch.randn(32, 8).requires_grad_()
    for operator, operands in ((linear, tensors), (swiglu_linear, gated)):
        torch.library.opcheck(operator, operands)
        wide = [tensor.detach().double().requires_grad_() for tensor in operands]
        assert torch.autograd.gradcheck(operator, wide)
        assert torch.autograd.gradgradcheck(operator, wide)


def jagged(layer):
    rows = [torch.ones(rows, 8) for rows in (2, 3)]
    return layer(torch.nested.nested_tensor(rows, layout=torch.jagged)).to_padded_tensor(0.0)


X = torch.linspace(-1, 1, 24).view(3, 8)


def of_parameters(layer):
    """(parameters, a function of parameters and x: a number), as torch.func's transforms take them."""
    return dict(layer.named_parameters()), lambda p, x: functional_call(layer, p, (x,)).square().sum()


def without_features(out, features):
    def use(layer):
        layer.weight = nn.Parameter(layer.weight.detach()[:out, :features].clone())
        layer.bias = nn.Parameter(layer.bias.detach()[:out].clone())
        x = X[:, :features].clone().requires_grad_()
        layer(x).sum().backward()
        return x.grad, layer.weight.grad, layer.bias.grad

    return use


def compiled(function, **options):
    torch._dynamo.reset()
    return torch.compile(function, backend="aot_eager", fullgraph=True, **options)


def pickled(layer):
    torch.save(layer, file := io.BytesIO())
    return torch.load(io.BytesIO(file.getvalue()), weights_only=False)(X)


USES = {
    "vmap": lambda layer: torch.vmap(layer, in_dims=1)(torch.arange(48.0).view(2, 3, 8)),
    "an empty batch": lambda layer: layer(torch.ones(0, 8)),
    "no features": without_features(4, 0),
    "no results": without_features(0, 8),
    "meta": lambda layer: copy.deepcopy(layer).to("meta")(torch.ones(3, 8, device="meta")).shape,
    "jagged": jagged,
    "a transposed x": lambda layer: layer(torch.linspace(-1, 1, 24).view(8, 3).mT),
    "a strided x": lambda layer: layer(torch.linspace(-1, 1, 48).view(3, 16)[:, ::2]),
    "fp16": lambda layer: layer.half()(X.half()),
    "complex": lambda layer: layer.to(torch.complex64)(X.to(torch.complex64)),
    "jvp": lambda layer: jvp(layer, (X,), (X,)),
    "jvp of a bias": lambda layer: jvp(
        lambda bias: functional_call(layer, {"bias": bias}, (X,)), (torch.ones(4),), (torch.ones(4),)
    ),
    "jvp, compiled": lambda layer: compiled(lambda x: jvp(layer, (x,), (x,)))(X),
    "jacrev": lambda layer: jacrev(layer)(X),
    "jacfwd": lambda layer: jacfwd(layer)(X),
    "hessian": lambda layer: hessian(of_parameters(layer)[1])(of_parameters(layer)[0], X),
    "gradients of each sample": lambda layer: vmap(grad(of_parameters(layer)[1]), (None, 0))(
        of_parameters(layer)[0], X
    ),
    "compiled for any batch": lambda layer: [compiled(layer, dynamic=True)(X[:rows]) for rows in (2, 3)],
    "traced by fx": lambda layer: torch.fx.symbolic_trace(nn.Sequential(layer))(X),
    "exported": lambda layer: torch.export.export(layer, (X,)).module()(X),
    "pickled": pickled,
    "weight_norm afterwards": lambda layer: nn.utils.parametrizations.weight_norm(layer)(X),
}
WRONG = {  # x, and the change of the layer
    "two dtypes": (X.bfloat16(), lambda layer: layer),
    "a bias of another dtype": (X, lambda layer: setattr(layer, "bias", nn.Parameter(layer.bias.detach().double()))),
    "integers": (X.long(), lambda layer: layer),
    "a scalar": (X[0, 0], lambda layer: layer),
    "too few columns": (X[:, :7], lambda layer: layer),
}


@pytest.mark.filterwarnings("ignore:torch multiplies")
@pytest.mark.parametrize("use", USES.values(), ids=USES)
def test_a_layer_gives_what_nn_linear_gives(use):
    plain = nn.Linear(8, 4)
    swapped = use_kernels(copy.deepcopy(plain))
    torch.testing.assert_close(use(swapped), use(plain), rtol=2e-3, atol=1e-4)


@pytest.mark.parametrize(("x", "change"), WRONG.values(), ids=WRONG)
def test_a_layer_refuses_what_nn_linear_refuses(x, change):
    plain = nn.Linear(8, 4)
    for layer in (plain, swapped := use_kernels(copy.deepcopy(plain))):
        change(layer)
    with pytest.raises(RuntimeError) as expected:
        plain(x)
    with pytest.raises(RuntimeError) as got:
        swapped(x)
    assert str(got.value) == str(expected.value)


def test_vmap_over_weights_and_biases():
    x, weights, biases = torch.randn(3, 5, 8), torch.randn(3, 4, 8), torch.randn(4, 3)
    got = torch.vmap(linear, in_dims=(0, 0, 1))(x, weights, biases)
    torch.testing.assert_close(got, torch.baddbmm(biases.mT[:, None], x, weights.mT))


def test_swapped_modules_share_parameters_and_results(mlp):
    plain = copy.deepcopy(mlp)
    swapped = use_kernels(mlp)
    assert {type(child) for child in swapped.children()} == {KernelLinear}
    assert list(swapped.state_dict()) == list(plain.state_dict())
    x = torch.randn(2, 5, 16)
    torch.testing.assert_close(swapped(x), plain(x))
    for module in (swapped, plain):
        module(x).square().sum().backward()
    for got, wanted in zip(swapped.parameters(), plain.parameters(), strict=True):
        torch.testing.assert_close(got.grad, wanted.grad)


def test_a_bias_is_added_before_the_result_is_rounded():
    x, weight, bias = (torch.randn(shape).bfloat16() for shape in ((64, 512), (32, 512), (32,)))
    exact = x.double() @ weight.double().mT + bias.double()
    torch.testing.assert_close(linear(x, weight, bias).double(), exact, rtol=2**-8, atol=1e-4)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
@pytest.mark.parametrize("biased", [True, False])
def test_autocast_gives_what_nn_linear_gives(dtype, biased):
    layer, x = nn.Linear(8, 4, bias=biased), torch.randn(3, 8)
    with torch.autocast("cpu", dtype):
        expected = layer(x)
        got = use_kernels(layer)(x)
    assert got.dtype == expected.dtype
    torch.testing.assert_close(got, expected)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_autocast_gives_what_the_plain_mlp_gives(mlp, dtype):
    x, fused = torch.randn(3, 16), FusedMLP(mlp)
    with torch.autocast("cpu", dtype):
        got, expected = fused(x), mlp(x)
    assert got.dtype == expected.dtype == dtype
    torch.testing.assert_close(got, expected, rtol=2**-5, atol=2**-7)


def test_a_layer_stays_the_object_that_it_is():
    """Its hooks go on, and a layer that the model uses twice, or that is the whole model, is one layer."""
    shared, seen = nn.Linear(8, 8), []
    shared.register_forward_hook(lambda *_: seen.append("forward"))
    shared.register_full_backward_hook(lambda *_: seen.append("backward"))
    model = nn.Sequential(shared, nn.ReLU(), shared)
    assert use_kernels(model)[0] is model[2] is shared
    assert type(shared) is KernelLinear
    assert use_kernels(shared) is shared
    model(torch.randn(3, 8, requires_grad=True)).sum().backward()
    assert seen == ["forward", "forward", "backward", "backward"]


def test_parametrizations_go_on():
    model = nn.Sequential(nn.utils.parametrizations.weight_norm(nn.Linear(8, 4)), nn.Linear(4, 4))
    x = torch.randn(3, 8)
    expected = model(x)
    model[0].parametrizations.weight.original0.grad = None
    swapped = use_kernels(model)
    assert isinstance(swapped[0], KernelLinear)
    torch.testing.assert_close(swapped(x), expected)
    swapped(x).sum().backward()
    assert swapped[0].parametrizations.weight.original0.grad is not None
    nn.utils.parametrize.remove_parametrizations(swapped[0], "weight")
    assert type(swapped[0]) is KernelLinear
    torch.testing.assert_close(swapped(x), expected)


def kind(*shape, dtype=torch.bfloat16):
    return Kind(shape, (shape[1], 1), dtype, torch.device("cuda", 0), False)


@pytest.mark.parametrize(
    ("rows", "out", "dtype", "bias", "why"),
    [
        (512, 1024, torch.bfloat16, torch.bfloat16, ""),
        (256, 4096, torch.bfloat16, torch.bfloat16, ""),
        (8, 4096, torch.bfloat16, None, ""),
        (8, 4096, torch.bfloat16, torch.bfloat16, "slices of K"),
        (512, 1001, torch.bfloat16, None, "pad N with zeros"),
        (512, 1024, torch.float32, None, "gemm multiplies bf16"),
        (512, 1024, torch.float16, None, ""),
        (512, 1024, torch.float16, torch.float16, "where all is bf16"),
        (0, 1024, torch.bfloat16, torch.bfloat16, "contiguous rows"),
    ],
)
def test_what_the_kernel_takes_on_a_hopper_gpu(monkeypatch, rows, out, dtype, bias, why):
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda device=None: (9, 0))
    monkeypatch.setattr(launch, "max_clusters", lambda size: 132)
    told = why_torch_for.__wrapped__(kind(rows, 4096, dtype=dtype), kind(out, 4096, dtype=dtype), bias)
    assert why in told
    assert bool(why) == bool(told)


def test_on_another_gpu_torch_multiplies(monkeypatch):
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda device=None: (8, 0))
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda device=None: "A100")
    told = why_torch_for.__wrapped__(kind(512, 4096), kind(1024, 4096), None)
    assert told == "A100 is no Hopper GPU"


@pytest.mark.filterwarnings("error:torch multiplies")
def test_torch_says_once_what_it_multiplies_and_the_report_lists_it(monkeypatch):
    monkeypatch.setattr(linear_layers, "left_to_torch", Counter())
    a, b = torch.zeros(3, 10), torch.zeros(10, 10)
    with pytest.warns(UserWarning, match=r"\(10, 10\) float32: of odd sizes"):
        linear_layers.leave_to_torch(a, b, "of odd sizes")
    for _ in range(2):
        linear_layers.leave_to_torch(a, b, "of odd sizes")  # a second warning would be an error
    assert linear_layers.report() == ["weight (10, 10) float32: of odd sizes (3 calls)"]


class Scaled(nn.Linear):
    """A layer of somebody's own."""


def test_a_subclass_is_left_alone():
    assert type(use_kernels(nn.Sequential(Scaled(8, 4)))[0]) is Scaled


def test_the_fused_module_is_the_plain_one(mlp):
    x = torch.randn(2, 5, 16)
    fused = FusedMLP(mlp)
    torch.testing.assert_close(fused(x), mlp(x))
    for module in (fused, mlp):
        module(x).square().sum().backward()
    gate, up = separate(fused.gate_up.grad)
    torch.testing.assert_close(gate, mlp.gate_proj.weight.grad)
    torch.testing.assert_close(up, mlp.up_proj.weight.grad)
    torch.testing.assert_close(fused.down.grad, mlp.down_proj.weight.grad)


@pytest.fixture(params=MODELS.values(), ids=MODELS)
def trial(request) -> Trial:
    torch.manual_seed(0)
    return request.param()


@pytest.fixture
def swapped(trial) -> nn.Module:
    """With the same weights."""
    return use_kernels(copy.deepcopy(trial.model))


def test_every_linear_layer_is_swapped(trial, swapped):
    linear = [name for name, module in trial.model.named_modules() if type(module) is nn.Linear]
    assert linear
    assert [name for name, module in swapped.named_modules() if type(module) is KernelLinear] == linear
    assert list(swapped.state_dict()) == list(trial.model.state_dict())


def test_three_training_steps_have_the_same_losses(trial, swapped):
    plain, ours = (
        trial.losses(model, torch.optim.AdamW(model.parameters(), lr=1e-3), 3) for model in (trial.model, swapped)
    )
    assert ours == pytest.approx(plain, rel=1e-4)
    assert plain[-1] < plain[0]


def test_it_is_one_graph_for_torch_compile(trial, swapped):
    compiled = torch.compile(swapped, fullgraph=True, backend="aot_eager")
    got, expected = (trial.logits_of(model, trial.inputs) for model in (compiled, trial.model))
    torch.testing.assert_close(got, expected, rtol=1e-4, atol=1e-5)


def test_under_autocast_it_has_the_dtypes_of_torchs_own(trial, swapped):
    with torch.autocast("cpu", torch.bfloat16):
        got, expected = (trial.logits_of(model, trial.inputs) for model in (swapped, trial.model))
    assert got.dtype == expected.dtype
    torch.testing.assert_close(got, expected, rtol=2**-5, atol=2**-5)
