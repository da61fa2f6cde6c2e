"""Tensors that a simulated kernel reads and writes."""

import math

import torch


def randn(*shape, dtype=torch.float32):
    return torch.randn(shape, generator=torch.Generator().manual_seed(sum(shape))).to(dtype)


def out(*shape, dtype=torch.float32):
    return torch.full(shape, math.nan).to(dtype)
