"""The decoder layer whose linear layers are swapped, small and on the CPU: torch's results, and its operations."""

import pytest
import torch

pytest.importorskip("transformers", reason="needs transformers: pip install -e '.[models]'")

from transformers import LlamaConfig

from tutorlib.instruments.sweeps.decoder import Decoder, layer_flops, llama_8b, swapped, with_fused_mlp
from tutorlib.kernels.fused.linear import KernelLinear
from tutorlib.kernels.fused.mlp import FusedMLP

SMALL = {"hidden_size": 64, "intermediate_size": 192, "num_attention_heads": 4, "num_key_value_heads": 2}


@pytest.fixture
def decoder():
    torch.manual_seed(0)
    return Decoder(LlamaConfig(**SMALL, attn_implementation="sdpa"))


@torch.no_grad()
@pytest.mark.parametrize("change", [swapped, with_fused_mlp])
def test_a_changed_layer_has_torchs_results(decoder, change):
    x = torch.randn(9, 64)
    torch.testing.assert_close(change(decoder)(x), decoder(x), rtol=1e-4, atol=1e-5)


@torch.no_grad()
def test_a_token_sees_those_before_it_and_the_layer_adds_to_it(decoder):
    x = torch.randn(9, 64)
    torch.testing.assert_close(decoder(x[:5]), decoder(x)[:5])
    assert not torch.equal(decoder(x[1:])[-1], decoder(x)[-1])


def test_all_seven_linear_layers_are_swapped_and_torchs_stays_as_it_is(decoder):
    def swaps(module):
        return sum(type(layer) is KernelLinear for layer in module.modules())

    assert (swaps(swapped(decoder)), swaps(with_fused_mlp(decoder)), swaps(decoder)) == (7, 4, 0)
    assert type(with_fused_mlp(decoder).layer.mlp) is FusedMLP


def test_operations_are_two_for_each_weight_and_token_and_those_of_the_attention():
    with torch.device("meta"):
        layer = Decoder(llama_8b()).layer
    weights = sum(module.weight.numel() for module in layer.modules() if type(module) is torch.nn.Linear)
    assert layer_flops((1, 4096)) == 2 * weights + 2 * 4096
    assert layer_flops((512, 4096)) == 512 * 2 * weights + 2 * 512**2 * 4096
