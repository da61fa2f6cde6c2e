"""The MLP over several GPUs: columns of gate and up, rows of down, one sum at the end."""

from torch import Tensor


def shard(gate: Tensor, up: Tensor, down: Tensor, rank: int, world: int) -> tuple[Tensor, Tensor, Tensor]:
    """One rank's part of the weights: features rank·F/world on. gate, up (F, H) → (F / world, H), down (H, F) →
    (H, F / world), each with contiguous rows of its own.

    silu(gate) · up goes feature by feature, so that no rank needs another's; down's product is then a sum over
    features, of which each rank has its share: an all-reduce adds them. Raises ValueError.
    """
    features = gate.shape[0]
    if features % world:
        raise ValueError(f"{features} features do not divide among {world} ranks")
    gate, up = (weight.chunk(world)[rank].clone() for weight in (gate, up))
    return gate, up, down.chunk(world, 1)[rank].contiguous()
