"""Page 16: answers that are whole functions, and what rows of p16.txt are made of."""

import copy

import cutlass
import torch
from cutlass import BFloat16, Float32, cute
from torch import nn

from tests.pages.table import right, wrong
from tutorlib.kernels.ampere.thread_share import Accumulators
from tutorlib.kernels.layers import KernelLinear


def inner(x):
    return 0.7978845608 * (x + 0.044715 * x * x * x)


def tanh(x):
    return cute.math.tanh(x, fastmath=True)


def gelu(x):
    return 0.5 * x * (1.0 + tanh(inner(x)))


def both_ways(x):
    """The mean of GELU by tanh and by an exponential."""
    return 0.5 * (gelu(x) + x / (1.0 + cute.math.exp(-2.0 * inner(x))))


def bias_matrix(stride):
    return lambda bias, rows: cute.make_tensor(bias.iterator, cute.make_layout((rows, cute.size(bias)), stride=stride))


def rounds(x):
    return x.to(BFloat16).to(Float32)


def of_a_thread(values):
    return cute.where(values < 0.0, -values, values).reduce(cute.ReductionOp.MAX, 0.0, 0)


def of_a_warp(mine):
    for step in (16, 8, 4, 2, 1):
        mine = cute.arch.fmax(mine, cute.arch.shuffle_sync_bfly(mine, offset=step))
    return mine


def of_all(partial):
    return partial.load().reduce(cute.ReductionOp.MAX, 0.0, 0)


@wrong("16.5", "race", lesson=True)
def without_a_barrier(values, partial, thread):
    """Reads what another warp may not have written."""
    partial[thread // 32] = of_a_warp(of_a_thread(values))
    return of_all(partial)


@wrong("16.5", "wrong elements")
@cute.jit
def signed(values, partial: cute.Tensor, thread):
    """The largest, and not the largest |value|."""
    partial[thread // 32] = of_a_warp(values.reduce(cute.ReductionOp.MAX, 0.0, 0))
    cute.arch.sync_threads()
    return of_all(partial)


@wrong("16.5", "race, wrong elements", lesson=True)
@cute.jit
def no_shuffles(values, partial: cute.Tensor, thread):
    """One thread of each warp, whichever writes last."""
    partial[thread // 32] = of_a_thread(values)
    cute.arch.sync_threads()
    return of_all(partial)


@wrong("16.5", "too many")
@cute.jit
def two_barriers(values, partial: cute.Tensor, thread):
    """Empties `partial` first, which every warp overwrites."""
    partial[thread // 32] = 0.0
    cute.arch.sync_threads()
    partial[thread // 32] = of_a_warp(of_a_thread(values))
    cute.arch.sync_threads()
    return of_all(partial)


def silu(g):
    return 0.5 * g * (1.0 + tanh(0.5 * g))


def gating(op):
    """op: of the two halves' values."""

    def gated(tCrC):
        pairs, atoms, (neighbors, rest) = tCrC.shape
        half = cute.make_layout((pairs, atoms, (neighbors, rest // 2)))
        first, second = (cute.make_tensor(tCrC.iterator + n * cute.size(half), half).load() for n in range(2))
        result = cute.make_rmem_tensor(half.shape, Float32)
        result.store(op(first, second))
        return result

    return gated


def by_sigmoid(x):
    """1 + tanh(u) is 2·sigmoid(2u), and 1/(1 + inf) is 0."""
    return x / (1.0 + cute.math.exp(-1.5957691216 * x * (1.0 + 0.044715 * x * x)))


@right("16.3")
def by_reciprocal(acc, bias):
    """exp2, and the constants multiplied out."""
    x = acc + bias
    return x / (1.0 + cute.math.exp2(x * (-2.302208198 - 0.1029432397 * x * x), fastmath=True))


@right("16.4")
@cute.jit
def nothing_outside(acc: Accumulators):
    """Registers that are set only where there is something to load."""
    registers = cute.make_fragment_like(acc.tCrC)
    for n in cutlass.range_constexpr(cute.size(registers)):
        if cute.elem_less(acc.coordinates[n], acc.shape):
            registers[n] = acc.tCgD[n].to(Float32)
    return registers


@right("16.5")
@cute.jit
def downwards(values, partial: cute.Tensor, thread):
    """shuffle_sync_down: only lane 0 has the largest, and only it writes."""
    mine = (values * values).reduce(cute.ReductionOp.MAX, 0.0, 0)
    mine = cute.math.sqrt(mine)
    for step in cutlass.range_constexpr(5):
        mine = cute.arch.fmax(mine, cute.arch.shuffle_sync_down(mine, offset=16 >> step))
    if thread % 32 == 0:
        partial[thread // 32] = mine
    cute.arch.sync_threads()
    found = Float32(0.0)
    for warp in cutlass.range_constexpr(cute.size(partial)):
        found = cute.arch.fmax(found, partial[warp])
    return found


@right("16.7")
def by_division(tCrC):
    """g / (1 + exp(-g)): where g is very negative that is g / inf, and 0 is right."""
    pairs, atoms, (neighbors, rest) = tCrC.shape
    half = cute.make_layout((pairs, atoms, (neighbors, rest // 2)))
    gate, up = (cute.make_tensor(tCrC.iterator + n * cute.size(half), half).load() for n in range(2))
    result = cute.make_rmem_tensor(half.shape, Float32)
    result.store(gate / (1.0 + cute.math.exp(-gate)) * up)
    return result


@right("16.8")
def turned_round(grad, x, weight, gemm):
    """The weight's gradient as the transpose of another GEMM."""
    rows = grad.reshape(-1, grad.shape[-1]).contiguous()
    dw = gemm(x.reshape(-1, x.shape[-1]).t().contiguous(), rows.t().contiguous())
    return gemm(rows, weight.t().contiguous()).reshape(x.shape), dw.t()


@right("16.10")
def another_class(module):
    """The layers themselves stay, and become of another class."""
    for child in module.modules():
        if type(child) is nn.Linear:
            child.__class__ = KernelLinear
    return module


def layer_backward(dz, x, weight, gemm):
    rows, of_x = dz.reshape(-1, dz.shape[-1]), x.reshape(-1, x.shape[-1])
    return gemm(rows, weight.t().contiguous()).reshape(x.shape), gemm(rows.t().contiguous(), of_x.t().contiguous())


@right("16.12")
def by_sigmoids(grad, x, weight, bias, gemm):
    """1 + tanh(u) is 2·sigmoid(2u); the bias's gradient comes first."""
    z = torch.unflatten(gemm(x.flatten(0, -2), weight), 0, grad.shape[:-1]) + bias
    s = torch.sigmoid(1.5957691216057308 * z * (1.0 + 0.044715 * z.square()))
    dz = grad * (s + z * s * (1 - s) * 1.5957691216057308 * (1.0 + 0.134145 * z.square()))
    db = torch.einsum("...n->n", dz)
    return *layer_backward(dz, x, weight, gemm), db


@right("16.13")
def by_the_lower_interface(name, forward, fake, backward):
    """define and impl, and torch.ops' own object."""
    torch.library.define(name, torch.library.infer_schema(forward, mutates_args=()))
    torch.library.impl(name, "default", forward)
    torch.library.register_fake(name, fake)
    torch.library.register_autograd(
        name,
        lambda ctx, grad: backward(grad, *ctx.saved_tensors),
        setup_context=lambda ctx, inputs, output: ctx.save_for_backward(*inputs),
    )
    for device in "cpu", "cuda":
        torch.library.register_autocast(name, device, torch.bfloat16)
    namespace, _, short = name.partition("::")
    return getattr(getattr(torch.ops, namespace), short)


@right("16.14")
class ByIndex(nn.Module):
    """Rows by their numbers, and down's parameter without its layer."""

    def __init__(self, plain, gated_linear):
        super().__init__()
        features = plain.gate_proj.out_features
        rows = torch.arange(2 * features).view(2, -1, 8).transpose(0, 1).reshape(-1)
        both = torch.cat((plain.gate_proj.weight, plain.up_proj.weight))
        self.weights = nn.Parameter(both.detach()[rows])
        self.down = plain.down_proj.weight
        self.operator = gated_linear

    def forward(self, x):
        return nn.functional.linear(self.operator(x, self.weights), self.down)
