"""Models of other libraries, small, from a configuration, with random weights: pip install -e '.[models]'.

Each is a Trial: a model, inputs, and its loss for them.
"""

from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

import pytest
import torch
from torch import Tensor, nn

CLASSES = 10


@dataclass
class Trial:
    """logits_of: takes a model like this one and the inputs."""

    model: nn.Module
    inputs: Tensor
    labels: Tensor
    logits_of: Callable[[nn.Module, Tensor], Tensor] = lambda model, inputs: model(inputs)

    def loss_of(self, model: nn.Module) -> Tensor:
        logits = self.logits_of(model, self.inputs)
        return nn.functional.cross_entropy(logits.flatten(0, -2).float(), self.labels.flatten())

    def losses(self, model: nn.Module, optimizer: torch.optim.Optimizer, steps: int) -> list[float]:
        """Of a model like this one before each of these steps of training."""
        found = []
        for _ in range(steps):
            loss = self.loss_of(model)
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
            found.append(float(loss.detach()))
        return found

    def to(self, device: str, dtype: torch.dtype) -> "Trial":
        inputs = self.inputs.to(device, dtype if self.inputs.is_floating_point() else None)
        return Trial(self.model.to(device, dtype), inputs, self.labels.to(device), self.logits_of)


def package(name: str) -> Any:
    """The package; the test is skipped if it is not installed."""
    if find_spec("torchvision"):
        try:
            import torchvision  # noqa: F401
        except RuntimeError:  # its operators are compiled for another build of torch; models do without them
            for operator in ("nms", "qnms"):
                schema = "(Tensor dets, Tensor scores, float iou_threshold) -> Tensor"
                torch.library.define(f"torchvision::{operator}", schema)
    return pytest.importorskip(name, reason=f"needs {name}: pip install -e '.[models]'")


def logits(model: nn.Module, inputs: Tensor) -> Tensor:
    return model(inputs).logits


def llama(width: int = 64) -> Trial:
    """Grouped heads, and a vocabulary that is no multiple of 8: its last layer is torch's on a GPU."""
    transformers = package("transformers")
    config = transformers.LlamaConfig(
        vocab_size=1001,
        hidden_size=width,
        intermediate_size=width * 11 // 4,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=64,
    )
    tokens = torch.randint(0, 1001, (2, 17))
    return Trial(transformers.LlamaForCausalLM(config), tokens, tokens, logits)


def images() -> dict[str, Tensor]:
    return {"inputs": torch.randn(2, 3, 32, 32), "labels": torch.randint(0, CLASSES, (2,))}


def vit(width: int = 64) -> Trial:
    """transformers' own: biases everywhere, and a number of classes that is no multiple of 8."""
    transformers = package("transformers")
    config = transformers.ViTConfig(
        hidden_size=width,
        num_hidden_layers=2,
        num_attention_heads=4,
        intermediate_size=2 * width,
        image_size=32,
        patch_size=8,
        num_labels=CLASSES,
    )
    return Trial(transformers.ViTForImageClassification(config), **images(), logits_of=logits)


MODELS = {"Llama": llama, "ViT": vit}
