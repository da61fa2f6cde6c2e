"""The sweeps of notebooks 19 and 20, beside torch's attention on cuDNN."""

from functools import partial

import torch
from torch import Tensor

from tutorlib.instruments.sweeps.sweep import Candidate, Sweep
from tutorlib.kernels.attention.launch import forward_by_tiles, forward_into
from tutorlib.machine.features import WGMMA
from tutorlib.measuring.launchers import HostLauncher
from tutorlib.problems.attention import attention_problem
from tutorlib.problems.problem import Shape

TOKENS = 16384  # of all sequences together, as FlashAttention-3's paper has it
LENGTHS = (4096, 16384, 1024, 8192, 2048)
PAIRS = 6  # a reference takes a hundred times as long as what it checks


def shapes(lengths: tuple[int, ...] = LENGTHS) -> tuple[Shape, ...]:
    """(batch, heads, kv_heads, queries, keys, head_dim): heads of 128 and of 64, then eight heads to one of K and V."""
    heads = [(16, 16, 128), (32, 32, 64), (16, 2, 128)]
    return tuple((TOKENS // n, h, g, n, n, d) for n in lengths for h, g, d in heads)


def host(causal: bool, by: object) -> HostLauncher:
    def call(q: Tensor, k: Tensor, v: Tensor, o: Tensor) -> None:
        lse = torch.empty(q.shape[:3], device=q.device)
        by(o, lse, q, k, v, q.shape[3] ** -0.5, causal)  # type: ignore[operator]

    return HostLauncher(call)


def attention_sweep(causal: bool) -> Sweep:
    candidates = (
        Candidate("CuTe", host(causal, forward_into), needs=WGMMA),
        Candidate("cuTile", host(causal, forward_by_tiles)),
    )
    problem = attention_problem(causal)
    return Sweep(problem, candidates, shapes(), pairs=PAIRS, pairs_if_large=PAIRS, seconds=90)


attention_full, attention_causal = partial(attention_sweep, False), partial(attention_sweep, True)
