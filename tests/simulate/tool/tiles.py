"""cuTile, as a project outside of the course has it."""

import cuda.tile as ct
import torch

TILE = 128


@ct.kernel
def add(a, b, c, first: ct.Constant[int]):
    at = ct.bid(0)
    ct.store(c, (at,), ct.load(a, (at,), (TILE,)) + ct.load(b, (at + first,), (TILE,)))


def summed(a, b, first=0):
    if not a.is_cuda:
        raise ValueError("a must be on a GPU")
    c = torch.empty_like(a, device="cuda")
    ct.launch(torch.cuda.current_stream(), (a.numel() // TILE,), add, (a, b, c, first))
    return c


def both(a, b):
    return summed(a, b), summed(b, a)


def launches_nothing(a):
    return a
