"""Page 19: answers that are whole functions, and what rows of p19.txt are made of."""

import copy

import cutlass
import torch
from cutlass import BFloat16, Float32, cute
from torch import nn

from tests.pages.table import right, wrong
from tutorlib.kernels.ampere.thread_share import Accumulators
from tutorlib.kernels.layers import KernelLinear


@right("19.1")
def turned_round(grad, x, weight, gemm):
    """The weight's gradient as the transpose of another GEMM."""
    rows = grad.reshape(-1, grad.shape[-1]).contiguous()
    dw = gemm(x.reshape(-1, x.shape[-1]).t().contiguous(), rows.t().contiguous())
    return gemm(rows, weight.t().contiguous()).reshape(x.shape), dw.t()


@wrong("19.4", "unlike the course's")
def new_layers(module):
    """Old parameters in new layers, under every name; the module itself stays."""
    if type(module) is nn.Linear:
        module.__class__ = KernelLinear
    for path, child in list(module.named_modules(remove_duplicate=False)):
        if path and type(child) is nn.Linear:
            new = KernelLinear(child.in_features, child.out_features, child.bias is not None, device="meta")
            new.weight, new.bias = child.weight, child.bias
            parent, _, name = path.rpartition(".")
            setattr(module.get_submodule(parent), name, new.train(child.training))
    return module


@right("19.3")
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
