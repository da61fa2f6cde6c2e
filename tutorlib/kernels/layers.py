"""nn.Linear and a Llama layer's MLP on notebook 15's GEMM, as operators that torch knows."""

import warnings
from collections import Counter
from functools import cache
from itertools import islice, repeat
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd import forward_ad
from torch.nn import functional
from torch.nn.functional import silu

from tutorlib.kernels.hopper.choose import choose
from tutorlib.kernels.hopper.torch_gemm import Kind, address_problem, kind_of, majors_of, problem_of
from tutorlib.problems.differences import count

left_to_torch: Counter[str] = Counter()  # a product and the reason → calls


def multiply(a: Tensor, b: Tensor, bias: Tensor | None = None) -> Tensor:
    """A (M, K) · Bᵀ with B (N, K), plus bias (N,): accumulated in fp32 or better, rounded once.

    On a Hopper GPU the kernel of notebook 15, with the bias in its epilogue; torch multiplies what the kernel cannot
    take, and `report` lists it. On the CPU torch's product in fp32 (fp64 stays fp64), which has the same contract:
    the kernel's result differs only by the order of additions.
    """
    if not a.is_cuda:
        wide = torch.promote_types(a.dtype, torch.float32)
        return functional.linear(a.to(wide), b.to(wide), None if bias is None else bias.to(wide)).to(a.dtype)
    if a.device.index != torch.cuda.current_device():
        with torch.cuda.device(a.device):
            return multiply(a, b, bias)
    a, b = a.detach(), b.detach()
    if why := why_torch(a, b, bias):
        leave_to_torch(a, b, why)
        return functional.linear(a, b, bias)
    from tutorlib.kernels.hopper.fused import linear_bias
    from tutorlib.kernels.hopper.torch_gemm import gemm

    return gemm(a, b) if bias is None else linear_bias(a, b, bias)


def why_torch(a: Tensor, b: Tensor, bias: Tensor | None = None) -> str:
    """Why the kernel cannot multiply these matrices on a GPU; "" where it can."""
    operands = {"a": a, "b": b} if bias is None else {"a": a, "b": b, "bias": bias}
    problems = (address_problem(name, operand.data_ptr()) for name, operand in operands.items())
    of_bias = None if bias is None else bias.dtype
    return why_torch_for(kind_of("a", a), kind_of("b", b), of_bias) or next(filter(None, problems), "")


@cache
def why_torch_for(a: Kind, b: Kind, bias: torch.dtype | None) -> str:
    from tutorlib.kernels.hopper.launch import max_clusters
    from tutorlib.kernels.hopper.torch_gemm import HOPPER

    if torch.cuda.get_device_capability(a.device) != HOPPER:
        return f"{torch.cuda.get_device_name(a.device)} is no Hopper GPU"
    m, n = a.shape[0], b.shape[0]
    if problem := problem_of(a, b, Kind((m, n), (n, 1), a.dtype, a.device, False)):
        return problem
    if not bias:
        return ""
    if bias != torch.bfloat16 or majors_of(a, b) != ("k", "k") or not m:
        return "a bias is added in the epilogue where all is bf16 with contiguous rows"
    plain = choose(m, n, a.shape[1], max_clusters(1))
    if plain.transposed or plain.split_k > 1:  # another configuration would be slower than torch
        return "few rows are multiplied in slices of K, and their kernel has no epilogue for a bias"
    return ""


def leave_to_torch(a: Tensor, b: Tensor, why: str) -> None:
    """Keep what torch multiplies, and say so once."""
    product = f"{tuple(b.shape)} {str(a.dtype).removeprefix('torch.')}: {why}"
    if product not in left_to_torch:
        warnings.warn(f"torch multiplies by the weight {product}", stacklevel=2)
    left_to_torch[product] += 1


def report() -> list[str]:
    """The products that torch computed in place of the operator or its kernel: the reason, the number of calls."""
    return [f"weight {product} ({count(calls, 'call')})" for product, calls in left_to_torch.items()]


def as_rows(x: Tensor) -> Tensor:
    """x (…, K) as (rows, K), K = 0 included; a view that keeps its strides where torch has one."""
    return x if x.ndim == 2 else x[None].flatten(0, -2)


@torch.library.custom_op("tutorlib::linear", mutates_args=())
def linear(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """x (…, in) · weightᵀ + bias, where weight is (out, in) and bias (out,)."""
    return multiply(as_rows(x), weight, bias).view(*x.shape[:-1], weight.shape[0])


@linear.register_fake
def linear_fake(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """A tensor like the result, without data."""
    return x.new_empty(*x.shape[:-1], weight.shape[0])


def dgrad(grad: Tensor, weight: Tensor) -> Tensor:
    """∂/∂x: grad (…, out) · weight, summed over out, so that weightᵀ (in, out) is the B of a GEMM."""
    return linear(grad, weight.mT)


def wgrad(grad: Tensor, x: Tensor) -> Tensor:
    """∂/∂weight: gradᵀ · x (out, in), summed over all rows, so that both are transposed."""
    return linear(as_rows(grad).mT, as_rows(x).mT)


def save_operands(ctx: Any, inputs: tuple[Tensor, ...], output: Tensor) -> None:
    ctx.save_for_backward(*inputs[:2])


def linear_backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
    x, weight = ctx.saved_tensors
    wants_x, wants_weight, *wants_bias = ctx.needs_input_grad  # of the arguments that were passed
    return (
        dgrad(grad, weight) if wants_x else None,
        wgrad(grad, x) if wants_weight else None,
        *(as_rows(grad).sum(0) if wanted else None for wanted in wants_bias),
    )


linear.register_autograd(linear_backward, setup_context=save_operands)
for device in ("cpu", "cuda"):
    linear.register_autocast(device, torch.bfloat16)


@linear.register_vmap
def linear_of_each(info: Any, in_dims: tuple[int | None, ...], x: Tensor, weight: Tensor, bias: Any = None) -> Any:
    """vmap's rule: one product where x alone has the mapped mode, otherwise a product for each of its elements."""
    if not any(dim is not None for dim in in_dims[1:]):
        return linear(x.movedim(in_dims[0] or 0, 0), weight, bias), 0
    given = zip((x, weight, bias), (*in_dims, None), strict=False)
    each = zip(*(repeat(it) if dim is None else it.unbind(dim) for it, dim in given), strict=False)
    return torch.stack([linear(*operands) for operands in islice(each, info.batch_size)]), 0


def why_plain(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> str:
    """Why a layer leaves its product to torch, which multiplies or refuses it; "" where the operator takes it."""
    device, others = x.device.type, [weight] if bias is None else [weight, bias]
    if device not in ("cpu", "cuda") or x.is_nested or not x.ndim or any(hasattr(it, "device_mesh") for it in others):
        return "the operator takes plain tensors on a CPU or a GPU"
    if differentiated_otherwise():
        return "the operator has no derivative in forward mode, nor one for torch.func"
    if not torch.is_autocast_enabled(device):
        return "" if all(it.dtype == x.dtype for it in others) else "the operator takes operands of one dtype"
    return "" if torch.get_autocast_dtype(device) == torch.bfloat16 else "the operator's rule for autocast is bf16"


def differentiated_otherwise() -> bool:
    """Whether forward mode is active, or a transform of torch.func other than vmap, for which there is a rule."""
    functorch = torch._C._functorch
    if torch.compiler.is_compiling():  # torch.compile traces none of a transform's properties
        return forward_ad._current_level >= 0 or transforms() > 0
    stack = functorch.get_interpreter_stack() or ()
    return forward_ad._current_level >= 0 or any(it.key() != functorch.TransformType.Vmap for it in stack)


@torch.compiler.assume_constant_result  # torch.compile 2.11 cannot trace the call; it compiles anew for each stack
def transforms() -> int:
    """How many of torch.func's transforms are active."""
    return torch._C._functorch.get_dynamic_layer_stack_depth()


@torch.fx.wrap  # a traced model calls it, as it would nn.Linear
def product(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """x (…, in) · weightᵀ + bias by the operator, or by torch, which `report` lists where it is not compiled."""
    why = why_plain(x, weight, bias)
    result = functional.linear(x, weight, bias) if why else linear(x, weight, bias)
    if why and not torch.compiler.is_compiling():
        leave_to_torch(x, weight, why)
    return result


class KernelLinear(nn.Linear):
    """nn.Linear, the same parameters, on the operator."""

    def forward(self, x: Tensor) -> Tensor:
        return product(x, self.weight, self.bias)


def use_kernels(module: nn.Module) -> nn.Module:
    """The module itself; every nn.Linear in it has become a KernelLinear.

    A layer stays the object that it is, with its parameters, hooks and mode, wherever the model uses it. A subclass of
    nn.Linear stays as it is, but for one that `torch.nn.utils.parametrize` made: its parametrizations go on.
    """
    for layer in module.modules():
        if type(layer) is nn.Linear:
            layer.__class__ = KernelLinear
        elif type(layer).__bases__ == (nn.Linear,) and nn.utils.parametrize.is_parametrized(layer):
            type(layer).__bases__ = (KernelLinear,)  # the class is this layer's own
    return module


# The MLP --------------------------------------------------------------------------------------------------------------

PIECE = 8  # rows of gate's and of up's weights in turn, which a Hopper thread then holds together
LLAMA_8B = (4096, 14336)  # hidden, features of Llama 3 8B


class LlamaMLP(nn.Module):
    """y = down(silu(gate(x)) · up(x)); x (…, hidden), as the models of this family have it."""

    def __init__(self, hidden: int, features: int, **kinds: Any) -> None:
        super().__init__()
        self.gate_proj = nn.Linear(hidden, features, bias=False, **kinds)
        self.up_proj = nn.Linear(hidden, features, bias=False, **kinds)
        self.down_proj = nn.Linear(features, hidden, bias=False, **kinds)

    def forward(self, x: Tensor) -> Tensor:
        return self.down_proj(silu(self.gate_proj(x)) * self.up_proj(x))


def interleave(gate: Tensor, up: Tensor, width: int = PIECE) -> Tensor:
    """(2F, K): `width` rows of gate (F, K) and of up in turn. width divides F."""
    pieces = [weight.unflatten(0, (-1, width)) for weight in (gate, up)]  # (F / width, width, K)
    return torch.stack(pieces, 1).flatten(0, 2)


def separate(gate_up: Tensor, width: int = PIECE, mode: int = 0) -> tuple[Tensor, Tensor]:
    """gate and up of what `interleave` made, or of a product with it, along this mode."""
    mode %= gate_up.ndim
    gate, up = gate_up.unflatten(mode, (-1, 2, width)).unbind(mode + 1)
    return gate.flatten(mode, mode + 1), up.flatten(mode, mode + 1)


@torch.library.custom_op("tutorlib::swiglu", mutates_args=())
def swiglu_linear(x: Tensor, gate_up: Tensor) -> Tensor:
    """silu(gate(x)) · up(x) (…, F) of x (…, K), where gate_up (2F, K) is interleaved by PIECE; rounded once.

    Where the kernel cannot run, torch computes it: on the CPU in fp32, on a GPU in x's dtype.
    """
    rows = as_rows(x.detach()).contiguous()
    why = fusing_problem(rows, gate_up.detach()) if x.is_cuda else "there is no GPU"
    if not why:
        from tutorlib.kernels.hopper.fused import linear_swiglu

        with torch.cuda.device(x.device):
            result = linear_swiglu(rows, gate_up.detach())
    elif x.is_cuda:
        leave_to_torch(rows, gate_up, why)
        result = swiglu_of(rows @ gate_up.mT)
    else:
        wide = torch.promote_types(x.dtype, torch.float32)
        result = swiglu_of(multiply(rows.to(wide), gate_up.to(wide))).to(x.dtype)
    return result.view(*x.shape[:-1], gate_up.shape[0] // 2)


def fusing_problem(rows: Tensor, gate_up: Tensor) -> str:
    """Why the gated kernel cannot take these matrices on a GPU; "" where it can."""
    if rows.dtype != torch.bfloat16 or not gate_up.is_contiguous() or not len(rows):
        return "the gated epilogue is compiled for bf16 with contiguous rows"
    return why_torch(rows, gate_up)


def swiglu_of(gate_up: Tensor) -> Tensor:
    gate, up = separate(gate_up, mode=-1)
    return silu(gate) * up


@swiglu_linear.register_fake
def swiglu_fake(x: Tensor, gate_up: Tensor) -> Tensor:
    return x.new_empty(*x.shape[:-1], gate_up.shape[0] // 2)


def swiglu_backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, Tensor | None]:
    x, gate_up = ctx.saved_tensors
    both = before_gate(grad, x, gate_up)
    wants_x, wants_weights = ctx.needs_input_grad
    return dgrad(both, gate_up) if wants_x else None, wgrad(both, x) if wants_weights else None


def before_gate(grad: Tensor, x: Tensor, gate_up: Tensor) -> Tensor:
    """∂L/∂(x · gate_upᵀ) (…, 2F), interleaved, of grad = ∂L/∂(silu(gate) · up) (…, F).

    gate and up are multiplied again, in place of being kept: 4F bytes less for each row of bf16.
    """
    alone = grad.is_cuda and not torch.is_grad_enabled() and not torch.compiler.is_compiling()
    return (in_one_kernel if alone else gate_gradient)(grad, linear(x, gate_up))


def gate_gradient(grad: Tensor, both: Tensor) -> Tensor:
    """The same of both = x · gate_upᵀ, element by element in fp32 or better, rounded once."""
    wide = torch.promote_types(both.dtype, torch.float32)
    gate, up = both.to(wide).unflatten(-1, (-1, 2, PIECE)).unbind(-2)  # flattened, it compiles to loads of two bytes
    grad, sigmoid = grad.to(wide).unflatten(-1, (-1, PIECE)), gate.sigmoid()
    grads = grad * up * sigmoid * (1 + gate * (1 - sigmoid)), grad * gate * sigmoid
    return torch.stack(grads, -2).flatten(-3).to(both.dtype)


@torch.library.custom_op("tutorlib::gate_gradient", mutates_args=())
def in_one_kernel(grad: Tensor, both: Tensor) -> Tensor:
    """`gate_gradient` as torch.compile makes it: no matrix between its operations is written."""
    return compiled_gradient()(grad, both)


@in_one_kernel.register_fake
def gradient_fake(grad: Tensor, both: Tensor) -> Tensor:
    return torch.empty_like(both)


@cache
def compiled_gradient() -> Any:
    return torch.compile(gate_gradient, dynamic=False)  # by default, a second size compiles for any size: slower


swiglu_linear.register_autograd(swiglu_backward, setup_context=save_operands)
for device in ("cpu", "cuda"):
    swiglu_linear.register_autocast(device, torch.bfloat16)


class FusedMLP(nn.Module):
    """A LlamaMLP as two GEMMs, the first of them gated; its parameters are gate_up, interleaved, and down."""

    def __init__(self, plain: LlamaMLP) -> None:
        super().__init__()
        self.gate_up = nn.Parameter(interleave(plain.gate_proj.weight.detach(), plain.up_proj.weight.detach()))
        self.down = nn.Parameter(plain.down_proj.weight.detach())

    def forward(self, x: Tensor) -> Tensor:
        plain = why_plain(x, self.gate_up)
        return product(swiglu_of(product(x, self.gate_up)) if plain else swiglu_linear(x, self.gate_up), self.down)
