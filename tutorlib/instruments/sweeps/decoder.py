"""A whole decoder layer of Llama 3 8B, transformers' class, with its nn.Linear swapped, beside torch's."""

import copy
from collections.abc import Callable
from functools import cache
from importlib.util import find_spec
from typing import Any

import torch
from torch import Tensor, nn

from tutorlib.instruments.sweeps.mlp import forward_flops
from tutorlib.instruments.sweeps.sweep import Candidate, Sweep
from tutorlib.kernels.fused.linear import use_kernels
from tutorlib.kernels.fused.mlp import LLAMA_8B, FusedMLP
from tutorlib.kernels.nvidia_example import NoExample
from tutorlib.machine.features import WGMMA
from tutorlib.measuring.launchers import HostLauncher
from tutorlib.problems.problem import Operand, Problem, Shape

HIDDEN, FEATURES = LLAMA_8B
HEADS, KV_HEADS, HEAD = 32, 8, 128  # of Llama 3 8B
PAIRS = 12
SMALL = 2**-4  # of x: what it is added to is then no smaller, and a wrong part of it is seen


def llama_8b() -> Any:
    from transformers import LlamaConfig

    return LlamaConfig(
        hidden_size=HIDDEN,
        intermediate_size=FEATURES,
        num_attention_heads=HEADS,
        num_key_value_heads=KV_HEADS,
        attn_implementation="sdpa",
    )


class Decoder(nn.Module):
    """A decoder layer of this LlamaConfig, with random weights: y (T, H) of the T tokens x (T, H) of one sequence."""

    def __init__(self, config: Any) -> None:
        from transformers.models.llama.modeling_llama import LlamaDecoderLayer, LlamaRotaryEmbedding

        super().__init__()
        self.layer = LlamaDecoderLayer(config, layer_idx=0)
        self.rotary = LlamaRotaryEmbedding(config)
        self.angles: dict[tuple[int, torch.dtype], Any] = {}  # a model's layers share them: no part of a layer's time

    def forward(self, x: Tensor) -> Tensor:
        if (key := (len(x), x.dtype)) not in self.angles:
            self.angles[key] = self.rotary(x, torch.arange(len(x), device=x.device)[None])
        return self.layer(x[None], position_embeddings=self.angles[key])[0]


def swapped(decoder: Decoder) -> Decoder:
    return use_kernels(copy.deepcopy(decoder))


def with_fused_mlp(decoder: Decoder) -> Decoder:
    """The same, and the MLP as two GEMMs, the first of them gated."""
    fused = swapped(decoder)
    fused.layer.mlp = FusedMLP(decoder.layer.mlp)
    return fused


@cache
def torchs_layer() -> Decoder:
    torch.manual_seed(0)
    with torch.device("cuda"):
        return Decoder(llama_8b()).to(torch.bfloat16)


@cache
def in_fp32() -> Decoder:
    return copy.deepcopy(torchs_layer()).float()


@torch.no_grad()
def twice_torchs_error(result: Tensor, inputs: tuple[Tensor, ...], out: Any) -> Tensor:
    """A dozen roundings to bf16 follow one another: what torch's layer is off by at most, with a factor for chance."""
    return 2 * (torchs_layer()(inputs[0].bfloat16()).float() - result).abs().max()


def layer_flops(shape: Shape) -> int:
    """The MLP's and the attention's GEMMs, and scores and values of the half of all pairs that causality leaves."""
    tokens, hidden = shape
    projections = 2 * tokens * hidden * (2 * HEADS + 2 * KV_HEADS) * HEAD
    return forward_flops((tokens, hidden, 2 * FEATURES)) + projections + 2 * tokens**2 * HEADS * HEAD


def into(y: Tensor, decoder: Decoder, x: Tensor) -> None:
    with torch.no_grad():
        y.copy_(decoder(x))


def decoder_problem() -> Problem:
    """y (T, H) of x (T, H); the weights are the same in every call."""
    return Problem(
        name="decoder_layer",
        dims="TH",
        inputs=(Operand("x", "TH", "bf16", scale=SMALL),),
        output=Operand("y", "TH", "bf16"),
        reference=torch.no_grad()(lambda x: in_fp32()(x)),
        bound=twice_torchs_error,
        baseline=lambda y, x: into(y, torchs_layer(), x),
        baseline_name="torch",
        flops=layer_flops,
    )


def decoder_layer() -> Sweep:
    """Forward, at three lengths of a prompt. Raises NoExample."""
    if find_spec("transformers") is None:
        raise NoExample("pip install -e '.[models]'")

    def candidate(name: str, change: Callable[[Decoder], Decoder]) -> Candidate:
        changed = cache(lambda: change(torchs_layer()))
        return Candidate(name, HostLauncher(lambda x, y: into(y, changed(), x)), needs=WGMMA)

    candidates = (
        candidate("nn.Linear swapped", swapped),
        candidate("and the MLP as two GEMMs, the first gated", with_fused_mlp),
    )
    shapes = tuple((tokens, HIDDEN) for tokens in (2048, 512, 8192))
    return Sweep(decoder_problem(), candidates, shapes, pairs=PAIRS, pairs_if_large=PAIRS, seconds=25)
