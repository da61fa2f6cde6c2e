"""The seed of random inputs. A grading run fixes one, keeps it secret until the run is over, and then names it, so
that the inputs can be drawn again.
"""

import secrets
from random import Random
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torch import Generator

_fixed: int | None = None


def fix_seed(seed: int) -> None:
    """Use this seed for all random inputs of this process."""
    global _fixed
    _fixed = seed


def new_seed() -> int:
    return secrets.randbits(48)


def fresh_rng(draw: str = "") -> Random:
    """A separate generator for each `draw`: one exercise's inputs reveal nothing about the next one's."""
    return Random(f"{new_seed() if _fixed is None else _fixed} {draw}")


def fresh_generator(device: str = "cpu") -> "Generator":
    """One of torch's."""
    import torch

    generator = torch.Generator(device)
    return generator.manual_seed(new_seed() if _fixed is None else _fixed)
