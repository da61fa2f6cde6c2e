"""Attention's kernels on torch tensors: compiled once for each configuration, for all sizes and strides."""

import json
from collections import defaultdict
from dataclasses import asdict, dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import cuda.tile as ct
import torch
from cutlass import BFloat16, Float32, Int32, cute
from cutlass.cute.runtime import make_fake_tensor
from torch import Tensor

from tutorlib.kernels.attention import tiles
from tutorlib.kernels.attention.hopper import make_attention
from tutorlib.kernels.attention.roles import COURSE, AttentionParts
from tutorlib.kernels.attention.schedule import MMA_M, AttentionConfig
from tutorlib.kernels.hopper.launch import compile_for_torch, max_clusters
from tutorlib.machine import device

TILES = Path(__file__).with_name("tiles.json")
MOST_RUNS = 64  # of a sequence's keys
PART_ELEMENTS = 64 * 128  # that a block adds up without spilling
SMEM = 226 * 1024  # for tiles, beside the barriers


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


ANYWHERE = {"tile_forward": Tile(128, 128), "decode_parts": Tile(tiles.ROWS, 64, num_worker_warps=4, occupancy=2)}


@cache
def measured_tiles() -> dict[tuple[str, int, bool], Tile]:
    """(kernel, head_dim, causal) → the tile that was fastest on an H100 or an H200."""
    chosen = json.loads(TILES.read_text(encoding="utf-8"))["chosen"]
    return {(row.pop("kernel"), row.pop("d"), row.pop("causal")): Tile(**row) for row in chosen}


def tile_of(kernel: str, head_dim: int, causal: bool) -> Tile:
    """For this kernel on the GPU at hand."""
    found = device.gpu()
    measured = measured_tiles() if found and found.arch == "90" else {}
    return measured.get((kernel, head_dim, causal), Tile(64, 64) if head_dim > 128 else ANYWHERE[kernel])


@cache
def hinted(kernel: str, tile: Tile) -> Any:
    """The kernel with the tile's hints, compiled once for each signature."""
    return getattr(tiles, kernel).replace_hints(**tile.hints)


class Choice(NamedTuple):
    """A configuration, or the tile of cuTile's decoding kernel, and the runs into which it splits a sequence's keys."""

    config: AttentionConfig | Tile
    splits: int = 1


@cache
def choose(q_shape: tuple[int, ...], keys: int, causal: bool, sms: int) -> Choice:
    """The fastest by `cost_us`. Under a causal mask keys are not split: query i sees keys 0 … i, of however many.

    The decoding kernel starts sooner, the other one reads faster.
    """
    batch, heads, queries, d = q_shape
    if queries <= tiles.ROWS and not causal and 4 * batch * heads * keys * d <= DECODE_BYTES:
        return decode_choice(batch * heads, keys, sms, tile_of("decode_parts", power_of_two(d), False))
    choices = [
        Choice(config, splits)
        for config in attention_configs(d, causal)
        for splits in ({1} if causal else runs_of(-(-keys // config.tile_n)))
    ]
    return min(choices, key=lambda choice: cost_us(choice, q_shape, keys, sms))


def decode_choice(sequences: int, keys: int, sms: int, tile: Tile) -> Choice:
    """As many runs as all SMs hold at once. sequences: of keys, batch · kv_heads."""
    blocks = tile.occupancy * sms // sequences
    return Choice(tile, max(splits for splits in runs_of(-(-keys // tile.tn)) if splits <= max(blocks, 1)))


def runs_of(blocks: int) -> set[int]:
    """The numbers of runs, of equal length but for the last, into which so many blocks can be split."""
    return {-(-blocks // -(-blocks // splits)) for splits in range(1, min(blocks, MOST_RUNS) + 1)}


DECODE_BYTES = 2**26  # of K and V
START_US = 2.0  # of a tile
STEP_US = {64: (0.78, 1.04), 128: (1.18, 1.5), 192: (1.7, 2.2)}  # by tile_m, of 128 keys: softmax; products at d = 128
ADD_US, ROW_US = 4.0, 0.0037  # of adding parts: its launch, and each row of O at d = 128


def cost_us(choice: Choice, q_shape: tuple[int, ...], keys: int, sms: int) -> float:
    """Waves of tiles, times a tile's start and its steps; and the time to add parts. The constants: on an H200.

    Causal tiles, the longest first, take as long as the longest, or an SM's share of all and an uneven end.
    """
    (config, splits), (batch, heads, queries, _) = choice, q_shape
    wide, part = config.head_dim / 128, config.tile_n / 128
    softmax, products = STEP_US[config.tile_m]
    step = max(softmax, products * wide) * part
    tiles = -(-queries // config.tile_m) * heads * batch * splits
    most = -(-keys // (config.tile_n * splits))
    longest = START_US + most * step
    if config.causal:
        mean = START_US + (min(queries, keys) + config.tile_m) / config.tile_n / 2 * step
        return max(longest, tiles / sms * mean + longest / 4)
    return -(-tiles // sms) * longest + (ADD_US + ROW_US * wide * batch * heads * queries if splits > 1 else 0)


@cache
def attention_configs(head_dim: int, causal: bool) -> tuple[AttentionConfig, ...]:
    """Those whose accumulators fit in registers, with as many keys in a step, up to 128, as shared memory has room for.

    Columns from head_dim to the next multiple of 64 are zeros that TMA adds.
    """
    padded = -(-head_dim // 64) * 64
    found = []
    for tile_m in (64, 128, 192) if padded == 64 else (64, 128):
        config = AttentionConfig(padded, tile_m, causal=causal, pingpong=tile_m == 128, persistent=padded <= 128)
        room = SMEM - 2 * tile_m * padded * config.q_stages
        found.append(replace(config, tile_n=min(room // (4 * padded * config.stages) // 16 * 16, 128)))
    return tuple(found)


def attention_fakes(config: AttentionConfig) -> tuple[Any, ...]:
    """Stand-ins for q, k, v, o (batch, heads, tokens, head_dim) of any strides that TMA takes, lse, scale and queue."""

    def tensor() -> Any:
        sizes = (*(cute.sym_int() for _ in range(3)), cute.sym_int(divisibility=8))
        strides = (*(cute.sym_int64(divisibility=8) for _ in range(3)), 1)
        return make_fake_tensor(BFloat16, sizes, strides, assumed_align=16)

    lse = make_fake_tensor(
        Float32, tuple(cute.sym_int() for _ in range(3)), (cute.sym_int64(), cute.sym_int64(), 1), assumed_align=4
    )
    counter = make_fake_tensor(Int32, (cute.sym_int(),), (1,), assumed_align=4) if config.persistent else None
    return *(tensor() for _ in "qkvo"), lse, Float32(1), counter, Int32(1)


@cache
def compiled_attention(config: AttentionConfig, parts: AttentionParts) -> Any:
    return compile_for_torch(make_attention(config, parts), *attention_fakes(config))


def forward_into(
    o: Tensor, lse: Tensor, q: Tensor, k: Tensor, v: Tensor, scale: float, causal: bool, choice: Choice | None = None
) -> None:
    """On a Hopper GPU, for bf16 of head_dim ≤ 256 with strides that are multiples of 16 bytes. lse: fp32.

    The few queries of all heads that share K and V become the rows of one tile: o and lse must be contiguous then.
    choice: the fastest that is known, unless given.
    """
    (batch, heads, queries, d), (kv_heads, keys) = q.shape, k.shape[1:3]
    if few(queries) and heads > kv_heads and not causal:
        rows = batch, kv_heads, heads // kv_heads * queries, d
        o, lse, q = o.view(rows), lse.view(rows[:3]), q.reshape(rows)
    config, splits = choice or choose(tuple(q.shape), keys, causal, max_clusters(1))
    parts, logs = o, lse
    if splits > 1:
        logs = lse.new_empty(batch * splits, *lse.shape[1:])
        parts = (lse if isinstance(config, Tile) else o).new_empty(*logs.shape, d)
    by_run = [x.unflatten(0, (batch, splits)).transpose(1, 2) for x in (parts, logs)]
    if isinstance(config, Tile):
        sizes = scale * tiles.LOG2_E, q.shape[2], -(-keys // (config.tn * splits)), config.tn, power_of_two(d)
        grid, kernel = (splits, q.shape[1], batch), hinted("decode_parts", config)
        ct.launch(torch.cuda.current_stream(), grid, kernel, (q, k, v, *by_run, *sizes))
    else:
        configured_into(config, parts, logs, q, k, v, scale)
    if splits > 1:
        add_parts(o, lse, *by_run)


def few(queries: int) -> bool:
    """Whether a tile of the forward kernel has rows for those of several heads."""
    return 2 * queries <= MMA_M


def add_parts(o: Tensor, lse: Tensor, parts: Tensor, logs: Tensor) -> None:
    """parts: (batch, heads, splits, rows, d), each normalized by itself. logs: their lse."""
    batch, heads, splits, rows, d = parts.shape
    padded = power_of_two(splits)
    together = max(min(PART_ELEMENTS // (padded * power_of_two(d)), power_of_two(rows)), 1)
    grid = -(-rows // together), heads, batch
    sizes = padded, together, power_of_two(d)
    ct.launch(torch.cuda.current_stream(), grid, tiles.decode_add, (parts, logs, o, lse, *sizes))


def power_of_two(n: int) -> int:
    """The least that is not below n: cuTile's tiles have no other sizes."""
    return 1 << (n - 1).bit_length()


def configured_into(
    config: AttentionConfig,
    o: Tensor,
    lse: Tensor,
    q: Tensor,
    k: Tensor,
    v: Tensor,
    scale: float,
    parts: AttentionParts = COURSE,
) -> None:
    """As `forward_into`, in this configuration, which is causal as the tensors are; its head_dim is at least theirs."""
    counter = next_counter() if config.persistent else None
    compiled_attention(config, parts)(q, k, v, o, lse, scale, counter, max_clusters(1))


spare_counters: dict[int, list[Tensor]] = defaultdict(list)  # of a device


def next_counter() -> Tensor:
    """A counter (1,) at 0, as each kernel leaves it: this stream's, or a captured graph's own for each launch."""
    device, spare = torch.cuda.current_device(), spare_counters[torch.cuda.current_device()]
    if torch.cuda.is_current_stream_capturing():
        return spare.pop() if spare else make_counters(1)  # which every replay zeroes
    if not spare:
        spare.extend(make_counters(1024).split(1))
    return counter_of(device, torch.cuda.current_stream().cuda_stream)


def make_counters(count: int) -> Tensor:
    return torch.zeros(count, dtype=torch.int32, device="cuda")


@cache
def counter_of(device: int, stream: int) -> Tensor:
    return make_counters(1)


def forward_by_tiles(
    o: Tensor, lse: Tensor, q: Tensor, k: Tensor, v: Tensor, scale: float, causal: bool, tile: Tile | None = None
) -> None:
    """As `forward_into`, by cuTile. tile: the fastest that was measured, unless given."""
    (batch, heads, queries, d), kv_heads = q.shape, k.shape[1]
    d = power_of_two(d)
    tile = tile or tile_of("tile_forward", d, causal)
    grid = -(-queries // tile.tm), heads, batch
    sizes = heads // kv_heads, causal, tile.tm, tile.tn, d
    ct.launch(
        torch.cuda.current_stream(), grid, hinted("tile_forward", tile), (q, k, v, o, lse, scale * tiles.LOG2_E, *sizes)
    )
