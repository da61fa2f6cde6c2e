"""Unusual right answers to notebook 16."""

import copy

import cutlass
import torch
from cutlass import Float32, cute
from torch import nn

from tests.pages.table import answer
from tutorlib.kernels.ampere.thread_share import Accumulators
from tutorlib.kernels.fused.linear import KernelLinear

# 16.1 -----------------------------------------------------------------------------------------------------------


def by_sigmoid(x):
    """1 + tanh(u) is 2·sigmoid(2u), and 1/(1 + inf) is 0."""
    return x / (1.0 + cute.math.exp(-1.5957691216 * x * (1.0 + 0.044715 * x * x)))


def by_where(x):
    """exp of what is never positive, and a choice of the sign."""
    u = 0.7978845608 * (x + 0.044715 * x * x * x)
    small = cute.math.exp(cute.where(u > 0.0, -2.0 * u, 2.0 * u))
    tanh = (1.0 - small) / (1.0 + small)
    return 0.5 * x * (1.0 + cute.where(u > 0.0, tanh, -tanh))


def precise(x):
    """The compiler's slow tanh."""
    return 0.5 * x * (1.0 + cute.math.tanh(x * (0.7978845608 + 0.0356774081 * x * x)))


def by_erf(x):
    """The exact GELU, which is nearer than tanh.approx comes."""
    return 0.5 * x * (1.0 + cute.math.erf(0.7071067812 * x))


# 16.2 -----------------------------------------------------------------------------------------------------------


def composed(bias, rows):
    """Composition with a layout that forgets the row."""
    return cute.composition(bias, cute.make_layout((rows, cute.size(bias)), stride=(0, 1)))


def with_a_mode(bias, rows):
    """The bias's own layout, with a mode of stride 0 before it."""
    (columns,) = bias.shape
    return cute.make_tensor(bias.iterator, cute.make_layout((rows, columns), stride=(0, *bias.stride)))


def prepended(bias, rows):
    """CuTe's own function for a mode more."""
    return cute.make_tensor(bias.iterator, cute.prepend(bias.layout, cute.make_layout(rows, stride=0)))


# 16.3 -----------------------------------------------------------------------------------------------------------


def by_factors(acc, bias):
    """Without tanh."""
    return by_sigmoid(bias + acc)


def by_reciprocal(acc, bias):
    """exp2, and the constants multiplied out."""
    x = acc + bias
    return x / (1.0 + cute.math.exp2(x * (-2.302208198 - 0.1029432397 * x * x), fastmath=True))


@cute.jit
def in_a_jit(acc, bias):
    """A function with the decorator."""
    return precise(acc + bias)


# 16.4 -----------------------------------------------------------------------------------------------------------


@cute.jit
def in_its_own_dtype(acc: Accumulators):
    """Loads in bf16, converts all at once."""
    loaded = cute.make_fragment_like(acc.tCgD)
    loaded.fill(0)
    for n in cutlass.range_constexpr(cute.size(loaded)):
        if cute.elem_less(acc.coordinates[n], acc.shape):
            loaded[n] = acc.tCgD[n]
    wide = cute.make_rmem_tensor(acc.tCrC.shape, Float32)
    wide.store(loaded.load().to(Float32))
    return wide


@cute.jit
def row_and_column(acc: Accumulators):
    """Both compared by hand."""
    registers = cute.make_rmem_tensor(acc.tCrC.shape, Float32)
    for n in cutlass.range_constexpr(cute.size(registers)):
        row, column = acc.coordinates[n]
        registers[n] = Float32(0.0)
        if row < acc.shape[0] and column < acc.shape[1]:
            registers[n] = Float32(acc.tCgD[n])
    return registers


@cute.jit
def nothing_outside(acc: Accumulators):
    """Registers that are set only where there is something to load."""
    registers = cute.make_fragment_like(acc.tCrC)
    for n in cutlass.range_constexpr(cute.size(registers)):
        if cute.elem_less(acc.coordinates[n], acc.shape):
            registers[n] = acc.tCgD[n].to(Float32)
    return registers


@cute.jit
def vectors_where_whole(acc: Accumulators):
    """As the course has it."""
    registers = cute.make_rmem_tensor(acc.tCrC.shape, Float32)
    registers.fill(0.0)
    if cutlass.const_expr(acc.whole):
        loaded = cute.make_fragment_like(acc.tCgD)
        cute.autovec_copy(acc.tCgD, loaded)
        registers.store(loaded.load().to(Float32))
    else:
        for n in cutlass.range_constexpr(cute.size(registers)):
            if cute.elem_less(acc.coordinates[n], acc.shape):
                registers[n] = acc.tCgD[n].to(Float32)
    return registers


# 16.5 -----------------------------------------------------------------------------------------------------------


@cute.jit
def larger_of_both_ends(values, partial: cute.Tensor, thread):
    """max(largest, -smallest), shuffles in the other direction, and one lane that writes."""
    high = values.reduce(cute.ReductionOp.MAX, -Float32.inf, 0)
    low = values.reduce(cute.ReductionOp.MIN, Float32.inf, 0)
    mine = cute.arch.fmax(high, -low)
    for step in cutlass.range_constexpr(5):
        mine = cute.arch.fmax(mine, cute.arch.shuffle_sync_bfly(mine, offset=16 >> step))
    if thread % 32 == 0:
        partial[thread // 32] = mine
    cute.arch.sync_threads()
    left, right = cute.arch.fmax(partial[0], partial[1]), cute.arch.fmax(partial[2], partial[3])
    return cute.arch.fmax(left, right)


@cute.jit
def by_the_library(values, partial: cute.Tensor, thread):
    """CuTe's own reduction of a warp."""
    mine = cute.where(values > 0.0, values, -values).reduce(cute.ReductionOp.MAX, 0.0, 0)
    mine = cute.arch.warp_reduction_max(mine)
    partial[thread // 32] = mine
    cute.arch.sync_threads()
    return partial.load().reduce(cute.ReductionOp.MAX, 0.0, 0)


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


# 16.7 -----------------------------------------------------------------------------------------------------------


def element_by_element(tCrC):
    """Index arithmetic, one number at a time."""
    pairs, atoms, (neighbors, rest) = tCrC.shape
    result = cute.make_rmem_tensor((pairs, atoms, (neighbors, rest // 2)), Float32)
    half = cute.size(result)
    for n in range(half):
        g = tCrC[n]
        result[n] = g / (Float32(1.0) + cute.math.exp(-g)) * tCrC[n + half]
    return result


def by_division(tCrC):
    """g / (1 + exp(-g)): where g is very negative that is g / inf, and 0 is right."""
    pairs, atoms, (neighbors, rest) = tCrC.shape
    half = cute.make_layout((pairs, atoms, (neighbors, rest // 2)))
    gate, up = (cute.make_tensor(tCrC.iterator + n * cute.size(half), half).load() for n in range(2))
    result = cute.make_rmem_tensor(half.shape, Float32)
    result.store(gate / (1.0 + cute.math.exp(-gate)) * up)
    return result


def flat(tCrC):
    """Both halves as vectors, and the result's shape at the end."""
    pairs, atoms, (neighbors, rest) = tCrC.shape
    result = cute.make_rmem_tensor((pairs, atoms, (neighbors, rest // 2)), Float32)
    size = cute.size(result)
    both = cute.make_tensor(tCrC.iterator, cute.make_layout((size, 2)))
    gate, up = both[None, 0].load(), both[None, 1].load()
    sigmoid = 0.5 + 0.5 * cute.math.tanh(0.5 * gate)
    cute.make_tensor(result.iterator, cute.make_layout(size)).store(gate * sigmoid * up)
    return result


# 16.8 -----------------------------------------------------------------------------------------------------------


def turned_round(grad, x, weight, gemm):
    """The weight's gradient as the transpose of another GEMM."""
    rows = grad.reshape(-1, grad.shape[-1]).contiguous()
    dw = gemm(x.reshape(-1, x.shape[-1]).t().contiguous(), rows.t().contiguous())
    return gemm(rows, weight.t().contiguous()).reshape(x.shape), dw.t()


def by_einops(grad, x, weight, gemm):
    """movedim, and a list."""
    g, v = (t.unflatten(0, (1, -1)).flatten(0, -2) for t in (grad, x))
    return [
        gemm(g.contiguous(), weight.movedim(0, 1).contiguous()).view_as(x),
        gemm(*(t.movedim(0, 1).clone(memory_format=torch.contiguous_format) for t in (g, v))),
    ]


def weight_first(grad, x, weight, gemm):
    """dx as the transpose of a GEMM."""
    g, v = grad.flatten(0, -2), x.flatten(0, -2)
    dw = gemm(g.mT.clone(memory_format=torch.contiguous_format), v.mT.clone(memory_format=torch.contiguous_format))
    return gemm(weight.mT.contiguous(), g.contiguous()).mT.reshape(x.shape), dw


# 16.10 ----------------------------------------------------------------------------------------------------------


def by_paths(module):
    """All at once, by their full names."""
    for path, child in list(module.named_modules()):
        if type(child) is nn.Linear:
            new = copy.copy(child)
            new.__class__ = KernelLinear
            parent, _, name = path.rpartition(".")
            setattr(module.get_submodule(parent), name, new)
    return module


def another_class(module):
    """The layers themselves stay, and become of another class."""
    for child in module.modules():
        if type(child) is nn.Linear:
            child.__class__ = KernelLinear
    return module


def by_apply(module):
    """nn.Module.apply goes through all of them."""

    def swap(parent):
        for name, child in list(parent._modules.items()):
            if type(child) is nn.Linear:
                with torch.device("meta"):
                    new = KernelLinear(child.in_features, child.out_features, bias=child.bias is not None)
                new.weight, new.bias, new.training = child.weight, child.bias, child.training
                parent._modules[name] = new

    return module.apply(swap)


# 16.11 ----------------------------------------------------------------------------------------------------------


def every_worlds_feature(gate, up, down, rank, world):
    """Each world-th feature: the same sum, in another order."""
    if gate.shape[0] % world:
        raise ValueError("features do not divide")
    return gate[rank::world].clone(), up[rank::world].clone(), down[:, rank::world].clone().contiguous()


def by_views(gate, up, down, rank, world):
    """unflatten refuses what does not divide; RuntimeError becomes ValueError."""
    try:
        parts = [weight.unflatten(0, (world, -1))[rank].clone() for weight in (gate, up, down.mT)]
    except RuntimeError as error:
        raise ValueError(str(error)) from error
    return parts[0], parts[1], parts[2].mT.contiguous()


def by_index(gate, up, down, rank, world):
    """index_select copies by itself."""
    part, rest = divmod(len(gate), world)
    if rest:
        raise ValueError(f"{rest} features are left over")
    mine = torch.arange(part) + rank * part
    return tuple(weight.index_select(mode, mine) for weight, mode in ((gate, 0), (up, 0), (down, 1)))


RIGHT = {
    "16.1": [by_sigmoid, by_where, precise, by_erf],
    "16.2": [composed, with_a_mode, prepended],
    "16.3": [by_factors, by_reciprocal, in_a_jit],
    "16.4": [in_its_own_dtype, row_and_column, nothing_outside, vectors_where_whole],
    "16.5": [larger_of_both_ends, by_the_library, downwards],
    "16.6": [
        answer("lists", "Lists.", lambda f, w: ([w, 2, f // w], [1, f, w])),
        answer("split_modes", "A mode of its own for every factor.", lambda f, w: ((1, w, 2, f // w), (5, 1, f, w))),
        answer(
            "no_mode_of_one",
            "Pieces of one row have no mode.",
            lambda f, w: ((2, f), (f, 1)) if w == 1 else ((w, 2, f // w), (1, f, w)),
        ),
    ],
    "16.7": [element_by_element, by_division, flat],
    "16.8": [turned_round, by_einops, weight_first],
    "16.9": [
        answer(
            "like_a_view",
            "A view has the shape; empty_like has its dtype and device.",
            lambda x, w: torch.empty_like(
                x[..., :1].expand(*x.shape[:-1], w.shape[0]), memory_format=torch.contiguous_format
            ),
        ),
        answer(
            "torch_empty",
            "Everything said.",
            lambda x, w: torch.empty((*x.shape[:-1], w.size(0)), dtype=x.dtype, device=x.device),
        ),
        answer("zeros", "Zeros of no data.", lambda x, w: x.new_zeros(x.shape[:-1] + w.shape[:1])),
    ],
    "16.10": [by_paths, another_class, by_apply],
    "16.11": [every_worlds_feature, by_views, by_index],
}
