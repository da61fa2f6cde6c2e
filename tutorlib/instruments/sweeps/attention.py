"""The sweeps of notebooks 19 and 20, beside torch's attention."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import torch
from torch import Tensor

from tutorlib.instruments.sweeps.sweep import Candidate, Sweep
from tutorlib.kernels.attention.launch import (
    Tile,
    backward_into,
    configured_into,
    decode_into,
    forward_by_tiles,
    forward_into,
    tile_of,
)
from tutorlib.kernels.attention.schedule import AttentionConfig
from tutorlib.machine.features import WGMMA
from tutorlib.measuring.launchers import HostLauncher
from tutorlib.problems.attention import attention_problem, decoding_problem, gradient_problem
from tutorlib.problems.problem import Shape

TOKENS = 16384  # of all sequences together, as FlashAttention-3's paper has it
LENGTHS = (4096, 16384, 1024, 8192, 2048)
HEADS = ((16, 16, 128), (32, 32, 64), (16, 2, 128))  # heads, those of K and V, head_dim: eight share one in the last
PAIRS = 6  # a reference takes a hundred times as long as what it checks
timed = partial(Sweep, pairs=PAIRS)


def shapes() -> tuple[Shape, ...]:
    """(batch, heads, kv_heads, queries, keys, head_dim)."""
    return tuple((TOKENS // n, h, g, n, n, d) for n in LENGTHS for h, g, d in HEADS)


def forward_by(by: Callable[..., None], causal: bool) -> HostLauncher:
    def call(q: Tensor, k: Tensor, v: Tensor, o: Tensor) -> None:
        lse = torch.empty(q.shape[:3], device=q.device)
        by(o, lse, q, k, v, q.shape[3] ** -0.5, causal)

    return HostLauncher(call)


def attention_sweep(causal: bool) -> Sweep:
    candidates = (
        Candidate("CuTe", forward_by(forward_into, causal), needs=WGMMA),
        Candidate("cuTile", forward_by(forward_by_tiles, causal)),
    )
    return timed(attention_problem(causal), candidates, shapes(), seconds=150)


attention_full, attention_causal = partial(attention_sweep, False), partial(attention_sweep, True)


# Levers ---------------------------------------------------------------------------------------------------------

LEVERS = {
    "ping-pong": "pingpong",
    "overlap": "overlap",
    "few masks": "few_masks",
    "longest first": "longest_first",
    "persistent": "persistent",
}
STACKS: tuple[tuple[str, ...], ...] = (  # a tree: each has one lever more than one above it
    (),
    ("ping-pong",),
    ("ping-pong", "overlap"),
    ("ping-pong", "overlap", "few masks"),
    ("ping-pong", "overlap", "few masks", "longest first"),
    tuple(LEVERS),
    ("overlap",),
    ("few masks",),
    ("longest first",),
    ("persistent",),
)


def levered(levers: tuple[str, ...], head_dim: int = 128) -> AttentionConfig:
    """Two consumer warpgroups, causal, with these levers pulled and none of the others."""
    return AttentionConfig(
        head_dim, 128, 128, causal=True, **{field: lever in levers for lever, field in LEVERS.items()}
    )


def attention_levers() -> Sweep:
    """Each lever alone and on top of others, causal. A candidate's levers are a fact, as in `hopper_levers`."""

    def with_levers(levers: tuple[str, ...]) -> Callable[..., None]:
        def into(o: Tensor, lse: Tensor, q: Tensor, k: Tensor, v: Tensor, scale: float, causal: bool) -> None:
            configured_into(levered(levers, q.shape[3]), o, lse, q, k, v, scale)

        return into

    candidates = tuple(
        Candidate(
            " + ".join(levers) or "plain",
            forward_by(with_levers(levers), True),
            facts={"levers": list(levers)},
            needs=WGMMA,
        )
        for levers in STACKS
    )
    sizes = tuple((4, heads, kv_heads, 4096, 4096, d) for heads, kv_heads, d in HEADS[:2])
    return timed(attention_problem(causal=True), candidates, sizes, seconds=170)


# Tiles ----------------------------------------------------------------------------------------------------------

TWO_BLOCKS = {"num_worker_warps": 4, "occupancy": 2}  # on an SM: one's softmax beside the other's mma
TILES = {
    "128×128, 4 warps": Tile(128, 128, num_worker_warps=4),
    "128×128, 8 warps": Tile(128, 128),
    "256×128, a cluster of two": Tile(256, 128, num_ctas=2),
    "128×128, a cluster of two, two on an SM": Tile(128, 128, num_ctas=2, **TWO_BLOCKS),
    "64×128, two on an SM": Tile(64, 128, **TWO_BLOCKS),
    "64×64, two on an SM": Tile(64, 64, **TWO_BLOCKS),
}


def attention_tuning() -> Sweep:
    """cuTile's forward kernel by tile and hints, causal."""
    candidates = [
        Candidate(name, forward_by(partial(forward_by_tiles, tile=tile), True)) for name, tile in TILES.items()
    ]
    sizes = tuple((4, heads, kv_heads, 4096, 4096, d) for heads, kv_heads, d in HEADS[:2])
    return timed(attention_problem(causal=True), tuple(candidates), sizes, seconds=120)


# Decoding and gradients -----------------------------------------------------------------------------------------

KEYS_IN_MEMORY = 2**16  # of all sequences together, of 16 heads of 128
BLOCKS_PER_SM = (2, 1, 4)


def decode() -> Sweep:
    """One query for each sequence, by the number of blocks for each SM."""

    def candidate(blocks: int) -> Candidate:
        def call(q: Tensor, k: Tensor, v: Tensor, o: Tensor) -> None:
            tile = replace(tile_of("decode_parts", q.shape[3], False), occupancy=blocks)
            decode_into(o, q, k, v, q.shape[3] ** -0.5, tile)

        return Candidate(f"{blocks} block{'s' * (blocks > 1)} per SM", HostLauncher(call))

    heads = ((16, 16, 128, 1), (64, 8, 128, 2), (64, 8, 64, 4))  # the last: times as many keys, for as many bytes
    sizes = tuple(
        (more * KEYS_IN_MEMORY // n, h, g, 1, n, d) for n in (4096, 16384, 1024, 65536) for h, g, d, more in heads
    )
    return timed(decoding_problem(), tuple(map(candidate, BLOCKS_PER_SM)), sizes, seconds=150)


def attention_backward() -> Sweep:
    """The three cuTile kernels, causal and not."""

    def by_tiles(causal: bool) -> HostLauncher:
        def call(
            q: Tensor, k: Tensor, v: Tensor, do: Tensor, o: Tensor, lse: Tensor, dk: Tensor, dv: Tensor, dq: Tensor
        ) -> None:
            backward_into(dq, dk, dv, do, q, k, v, o, lse, q.shape[3] ** -0.5, causal)

        return HostLauncher(call)

    candidates = tuple(
        Candidate(name, by_tiles(causal), problem=gradient_problem(causal))
        for name, causal in (("cuTile", False), ("cuTile, causal", True))
    )
    return timed(gradient_problem(), candidates, shapes(), seconds=170)
