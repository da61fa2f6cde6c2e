"""Attention's kernels on torch tensors: compiled once for each configuration, for all sizes and strides."""

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any

import cuda.tile as ct
import torch
from cutlass import BFloat16, Float32, Int32, cute
from cutlass.cute.runtime import make_fake_tensor
from torch import Tensor

from tutorlib.kernels.attention import tiles
from tutorlib.kernels.attention.hopper import make_attention
from tutorlib.kernels.attention.schedule import AttentionConfig
from tutorlib.kernels.hopper.launch import compile_for_torch, max_clusters
from tutorlib.machine import device

TILES = Path(__file__).with_name("tiles.json")
DELTA_ROWS = 128
MOST_RUNS = 128  # that one block of a decoding step can add up


@dataclass(frozen=True)
class Tile:
    """tm: queries. tn: keys. The others are hints to the compiler, as `ct.kernel` has them."""

    tm: int
    tn: int
    num_worker_warps: int = 8
    num_ctas: int = 1
    occupancy: int = 1

    @property
    def hints(self) -> dict[str, int]:
        return {name: value for name, value in asdict(self).items() if name not in ("tm", "tn")}


ANYWHERE = {
    "tile_forward": Tile(128, 128),
    "backward_keys": Tile(64, 128),
    "backward_queries": Tile(128, 128),
    "decode_parts": Tile(tiles.ROWS, 64, num_worker_warps=4, occupancy=2),
}


@cache
def measured_tiles() -> dict[tuple[str, int, bool], Tile]:
    """(kernel, head_dim, causal) → the tile that was fastest on an H100 or an H200."""
    chosen = json.loads(TILES.read_text(encoding="utf-8"))["chosen"]
    return {(row.pop("kernel"), row.pop("d"), row.pop("causal")): Tile(**row) for row in chosen}


def tile_of(kernel: str, head_dim: int, causal: bool) -> Tile:
    """For this kernel on the GPU at hand."""
    found = device.gpu()
    measured = measured_tiles() if found and found.arch == "90" else {}
    return measured.get((kernel, head_dim, causal), ANYWHERE[kernel])


@cache
def hinted(kernel: str, tile: Tile) -> Any:
    """The kernel with the tile's hints, compiled once for each signature."""
    return getattr(tiles, kernel).replace_hints(**tile.hints)


def attention_config(head_dim: int, causal: bool, group: int) -> AttentionConfig:
    """The fastest of those measured on an H100 and an H200."""
    if head_dim == 64 and not causal:
        return AttentionConfig(head_dim, 192, 128, pingpong=False, group=group, persistent=True)
    return AttentionConfig(head_dim, 128, 128, causal=causal, group=group, persistent=True)


def attention_fakes(config: AttentionConfig) -> tuple[Any, ...]:
    """Stand-ins for q, k, v, o (batch, heads, tokens, head_dim) of any strides that TMA takes, lse, scale and queue."""

    def tensor() -> Any:
        sizes = (*(cute.sym_int() for _ in range(3)), config.head_dim)
        strides = (*(cute.sym_int64(divisibility=8) for _ in range(3)), 1)
        return make_fake_tensor(BFloat16, sizes, strides, assumed_align=16)

    lse = make_fake_tensor(
        Float32, tuple(cute.sym_int() for _ in range(3)), (cute.sym_int64(), cute.sym_int64(), 1), assumed_align=4
    )
    counter = make_fake_tensor(Int32, (cute.sym_int(),), (1,), assumed_align=4) if config.persistent else None
    return *(tensor() for _ in "qkvo"), lse, Float32(1), counter, Int32(1)


@cache
def compiled_attention(config: AttentionConfig) -> Any:
    return compile_for_torch(make_attention(config), *attention_fakes(config))


def forward_into(o: Tensor, lse: Tensor, q: Tensor, k: Tensor, v: Tensor, scale: float, causal: bool) -> None:
    """On a Hopper GPU, for bf16 of head_dim 64 or 128 with strides that are multiples of 16 bytes. lse: fp32."""
    configured_into(attention_config(q.shape[3], causal, q.shape[1] // k.shape[1]), o, lse, q, k, v, scale)


def configured_into(
    config: AttentionConfig, o: Tensor, lse: Tensor, q: Tensor, k: Tensor, v: Tensor, scale: float
) -> None:
    """As `forward_into`, in this configuration, whose causality, head_dim and group are those of the tensors."""
    counter = None
    if config.persistent:  # a graph that is being captured needs a counter of its own, and zeroes it in every replay
        device, stream = torch.cuda.current_device(), torch.cuda.current_stream().cuda_stream
        counter = make_counter() if torch.cuda.is_current_stream_capturing() else counter_of(device, stream)
    compiled_attention(config)(q, k, v, o, lse, scale, counter, max_clusters(1))


def make_counter() -> Tensor:
    return torch.zeros(1, dtype=torch.int32, device="cuda")


@cache
def counter_of(device: int, stream: int) -> Tensor:
    """The counter of the persistent kernels on this stream; each leaves it at 0."""
    return make_counter()


def forward_by_tiles(
    o: Tensor, lse: Tensor, q: Tensor, k: Tensor, v: Tensor, scale: float, causal: bool, tile: Tile | None = None
) -> None:
    """As `forward_into`, by cuTile. tile: the fastest that was measured, unless given."""
    (batch, heads, queries, d), kv_heads = q.shape, k.shape[1]
    tile = tile or tile_of("tile_forward", d, causal)
    grid = -(-queries // tile.tm), heads, batch
    sizes = heads // kv_heads, causal, tile.tm, tile.tn, d
    ct.launch(
        torch.cuda.current_stream(), grid, hinted("tile_forward", tile), (q, k, v, o, lse, scale * tiles.LOG2_E, *sizes)
    )


def backward(
    do: Tensor, q: Tensor, k: Tensor, v: Tensor, o: Tensor, lse: Tensor, scale: float, causal: bool
) -> tuple[Tensor, Tensor, Tensor]:
    """(dq, dk, dv)."""
    dq, dk, dv = (torch.empty_like(x) for x in (q, k, v))
    backward_into(dq, dk, dv, do, q, k, v, o, lse, scale, causal)
    return dq, dk, dv


def backward_into(
    dq: Tensor,
    dk: Tensor,
    dv: Tensor,
    do: Tensor,
    q: Tensor,
    k: Tensor,
    v: Tensor,
    o: Tensor,
    lse: Tensor,
    scale: float,
    causal: bool,
) -> None:
    """Three cuTile kernels; each adds in a fixed order."""
    (batch, heads, queries, d), (_, kv_heads, keys, _), stream = q.shape, k.shape, torch.cuda.current_stream()
    delta = torch.empty_like(lse)
    grid = -(-queries // DELTA_ROWS), heads, batch
    ct.launch(stream, grid, tiles.delta_rows, (o, do, delta, DELTA_ROWS, d))

    def launch(kernel: str, blocks: Callable[[Tile], tuple[int, int, int]], *gradients: Tensor) -> None:
        tile = tile_of(kernel, d, causal)
        sizes = heads // kv_heads, causal, tile.tm, tile.tn, d
        ct.launch(stream, blocks(tile), hinted(kernel, tile), (q, k, v, do, lse, delta, *gradients, scale, *sizes))

    launch("backward_keys", lambda tile: (-(-keys // tile.tn), kv_heads, batch), dk, dv)
    launch("backward_queries", lambda tile: (-(-queries // tile.tm), heads, batch), dq)


def decode_into(o: Tensor, q: Tensor, k: Tensor, v: Tensor, scale: float, tile: Tile | None = None) -> None:
    """One query for each sequence, o and q (batch, heads, 1, d), with at most 16 heads for one of K and V.

    The keys are split among the blocks that all SMs hold; where there is one part, it is O, and nothing is left to add.
    tile: the fastest that was measured, unless given.
    """
    (batch, heads, _, d), (_, kv_heads, keys, _) = q.shape, k.shape
    group, stream = heads // kv_heads, torch.cuda.current_stream()
    tile = tile or tile_of("decode_parts", d, False)
    sms = torch.cuda.get_device_properties(q.device).multi_processor_count
    run, splits = split_keys(-(-keys // tile.tn), batch * kv_heads, tile.occupancy * sms)
    o, q = (x.view(batch, kv_heads, group, d) for x in (o, q))
    parts = torch.empty(batch, kv_heads, splits, group, d, device=q.device) if splits > 1 else o[:, :, None]
    lse = torch.empty(batch, kv_heads, splits, group, device=q.device)
    sizes = scale * tiles.LOG2_E, group, run, tile.tn, d
    ct.launch(stream, (splits, kv_heads, batch), hinted("decode_parts", tile), (q, k, v, parts, lse, *sizes))
    if splits > 1:
        padded = 1 << (splits - 1).bit_length()
        rows = max(min(4, 64 // padded), 1)  # a block for each row costs more, and many parts of many rows spill
        grid = -(-group // rows), kv_heads, batch
        ct.launch(stream, grid, tiles.decode_add, (parts, lse, o, padded, rows, d))


def split_keys(all_tiles: int, heads: int, blocks: int) -> tuple[int, int]:
    """(tiles in a run, runs) of the keys of each of this many heads: at most so many blocks in all."""
    run = -(-all_tiles // min(max(blocks // heads, 1), MOST_RUNS))
    return run, -(-all_tiles // run)
