"""Models that nobody here wrote, with their nn.Linear swapped: the same results, losses and gradients as torch's own.

They are built from a configuration, small and with random weights: pip install -e '.[models]'.
"""

import copy

import pytest
import torch

from tutorlib.kernels.fused.linear import KernelLinear, use_kernels

transformers = pytest.importorskip("transformers", reason="needs transformers: pip install -e '.[models]'")


def llama():
    """Grouped heads, and a vocabulary that is no multiple of 8: its last layer is torch's on a GPU."""
    config = transformers.LlamaConfig(
        vocab_size=1001,
        hidden_size=64,
        intermediate_size=176,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=64,
    )
    tokens = torch.randint(0, 1001, (2, 17))
    return transformers.LlamaForCausalLM(config), {"input_ids": tokens, "labels": tokens}


def vit():
    """Biases everywhere, 10 classes."""
    config = transformers.ViTConfig(
        hidden_size=64,
        num_hidden_layers=2,
        num_attention_heads=4,
        intermediate_size=128,
        image_size=32,
        patch_size=8,
        num_labels=10,
    )
    pixels, labels = torch.randn(2, 3, 32, 32), torch.randint(0, 10, (2,))
    return transformers.ViTForImageClassification(config), {"pixel_values": pixels, "labels": labels}


@pytest.fixture(params=[llama, vit], ids=["Llama", "ViT"])
def models(request):
    """(torch's own, swapped, inputs), with the same weights."""
    torch.manual_seed(0)
    plain, inputs = request.param()
    return plain, use_kernels(copy.deepcopy(plain)), inputs


def test_every_linear_layer_is_swapped(models):
    plain, swapped, _ = models
    linear = [name for name, module in plain.named_modules() if type(module) is torch.nn.Linear]
    assert linear
    assert [name for name, module in swapped.named_modules() if type(module) is KernelLinear] == linear
    assert list(swapped.state_dict()) == list(plain.state_dict())


def test_three_training_steps_have_the_same_losses(models):
    *pair, inputs = models
    losses = []
    for model in pair:
        optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
        losses.append([])
        for _ in range(3):
            loss = model(**inputs).loss
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
            losses[-1].append(float(loss.detach()))
    assert losses[0] == pytest.approx(losses[1], rel=1e-4)
    assert losses[0][-1] < losses[0][0]


def test_it_is_one_graph_for_torch_compile(models):
    plain, swapped, inputs = models
    compiled = torch.compile(swapped, fullgraph=True, backend="aot_eager")
    torch.testing.assert_close(compiled(**inputs).logits, plain(**inputs).logits, rtol=1e-4, atol=1e-5)


def test_under_autocast_it_has_the_dtypes_of_torchs_own(models):
    plain, swapped, inputs = models
    with torch.autocast("cpu", torch.bfloat16):
        got, expected = swapped(**inputs), plain(**inputs)
    assert got.logits.dtype == expected.logits.dtype
    torch.testing.assert_close(got.logits, expected.logits, rtol=2**-5, atol=2**-5)
