"""Tiles and hints of the cuTile attention kernels, timed: python -m tutorlib.instruments.attention_tiles [KERNEL …]

Each configuration is compiled, on all cores, and timed at several sizes, its results compared with torch's. The fastest
for each head dimension, with and without a mask, go to kernels/attention/tiles.json, which the kernels use, and all of
them to figures/data/explored/GPU_attention_tiles.json. Both files are written after each problem, which takes about a
minute of a GPU, and keep what they have of others.
"""

import json
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from datetime import date
from functools import partial
from itertools import product
from math import exp, inf, log
from operator import itemgetter
from pathlib import Path
from statistics import fmean, median
from typing import Any

import torch
from torch import Tensor

from tutorlib.kernels.attention import launch
from tutorlib.kernels.attention.tile_sizes import FILE, Tile
from tutorlib.kernels.attention.tiles import ROWS
from tutorlib.measuring.results import file_stem, write_json
from tutorlib.paths import DATA
from tutorlib.problems.attention import attend, fastest_backend, gradients

WAYS = ((8, 1, 1), (8, 2, 1), (4, 1, 1), (4, 1, 2), (4, 2, 2))  # worker warps, CTAs of a cluster, blocks on an SM
LEAST, MOST = 64, 256  # accumulators of all blocks on an SM, for each thread of one
CALLS, ROUNDS, TOO_SLOW = 4, 5, 2.0  # TOO_SLOW: of the fastest so far, from the first call on
OFF = 2**-4  # of the largest element, that a result may be off


@dataclass(frozen=True)
class AttentionSizes:
    batch: int
    heads: int
    kv_heads: int
    queries: int
    keys: int
    d: int
    causal: bool = False


def cases_of(kernel: str, d: int, causal: bool) -> tuple[AttentionSizes, ...]:
    """With as much work at d = 64 as at 128; of gradients, many heads of K and V and few."""
    more = 128 // d
    if kernel == "decode_parts":
        return tuple(
            AttentionSizes(more * batch, heads, kv, 1, n, d)
            for batch, heads, kv, n in ((16, 16, 16, 4096), (8, 64, 8, 16384))
        )
    heads = 16 * more
    return tuple(
        AttentionSizes(16384 // n, heads, kv, n, n, d, causal) for kv, n in ((heads, 4096), (heads // 8, 1024))
    )


# Kernel → the fp32 elements of a block's accumulators, for tm, tn and d.
KERNELS: dict[str, Callable[[int, int, int], int]] = {
    "tile_forward": lambda tm, tn, d: tm * (tn + d),
    "backward_keys": lambda tm, tn, d: tn * (tm + 2 * d),
    "backward_queries": lambda tm, tn, d: tm * (tn + d),
    "decode_parts": lambda tm, tn, d: tm * (tn + d),
}


def tiles_to_try(kernel: str, d: int) -> Iterator[Tile]:
    """Every configuration whose accumulators are LEAST to MOST for each thread; decoding has few of them.

    Clusters are for the forward kernel alone: backward_keys with two CTAs, as tileiras 13.4.92 compiles it for an H100,
    ends in a misaligned address, which no later kernel of the process survives.
    """
    if kernel == "decode_parts":
        for tn, warps, occupancy in product((64, 128, 256), (4, 8), (1, 2, 4)):
            yield Tile(ROWS, tn, warps, 1, occupancy)
        return
    for tm, tn, way in product((64, 128, 256), (64, 128), WAYS):
        tile = Tile(tm, tn, *way)
        threads = 32 * tile.num_worker_warps * tile.num_ctas
        within = LEAST <= KERNELS[kernel](tm, tn, d) * tile.occupancy / threads <= MOST
        if within and (tile.num_ctas == 1 or kernel == "tile_forward"):
            yield tile


def milliseconds(call: Callable[[], Any], calls: int = CALLS) -> float:
    """Of one call, of some back to back."""
    start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    start.record()
    for _ in range(calls):
        call()
    end.record()
    end.synchronize()
    return start.elapsed_time(end) / calls


class TileBench:
    """A case's tensors, and what a kernel has to compute."""

    def __init__(self, kernel: str, case: AttentionSizes) -> None:
        def random(heads: int, tokens: int) -> Tensor:
            return torch.randn(case.batch, heads, tokens, case.d, device="cuda", dtype=torch.bfloat16)

        self.kernel, self.causal, self.scale = kernel, case.causal, case.d**-0.5
        self.q, self.do = random(case.heads, case.queries), random(case.heads, case.queries)
        self.k, self.v = random(case.kv_heads, case.keys), random(case.kv_heads, case.keys)
        self.o = attend("MATH" if kernel == "decode_parts" else "CUDNN_ATTENTION", self.causal, self.q, self.k, self.v)
        self.lse = torch.empty(self.q.shape[:3], device="cuda")
        self.outputs: tuple[Tensor, ...] = (torch.empty_like(self.o),)
        self.exact: tuple[Tensor, ...] = (self.o,)
        if kernel.startswith("backward"):
            launch.forward_by_tiles(self.outputs[0], self.lse, self.q, self.k, self.v, self.scale, self.causal)
            delta = (self.o.float() * self.do.float()).sum(-1)
            self.inputs = self.q, self.k, self.v, self.do, self.lse, delta
            leaves = [x.clone().requires_grad_() for x in (self.q, self.k, self.v)]
            dq, dk, dv = torch.autograd.grad(attend("CUDNN_ATTENTION", self.causal, *leaves), leaves, self.do)
            self.exact = (dk, dv) if kernel == "backward_keys" else (dq,)
            self.outputs = tuple(map(torch.empty_like, self.exact))

    def call(self, tile: Tile) -> None:
        out, *others = self.outputs
        if self.kernel == "tile_forward":
            launch.forward_by_tiles(out, self.lse, self.q, self.k, self.v, self.scale, self.causal, tile)
        elif self.kernel == "backward_keys":
            launch.keys_gradients_into(out, others[0], self.inputs, self.scale, self.causal, tile)
        elif self.kernel == "backward_queries":
            launch.queries_gradients_into(out, self.inputs, self.scale, self.causal, tile)
        else:
            launch.decode_into(out, self.q, self.k, self.v, self.scale, tile)

    def torch_ms(self) -> float:
        """The time of torch's fastest backend, for all three gradients in the backward pass."""
        backward = self.kernel.startswith("backward")
        backend = fastest_backend(self.causal, backward, tuple(self.q.shape), tuple(self.k.shape))
        if backward:
            return milliseconds(lambda: gradients(backend, self.causal, self.q, self.k, self.v, self.do))
        return milliseconds(lambda: attend(backend, self.causal, self.q, self.k, self.v))

    def wrong(self, tile: Tile) -> bool:
        for tensor in self.outputs:
            tensor.fill_(torch.nan)
        self.call(tile)
        return any(
            not float((got.float() - want.float()).abs().max()) <= OFF * float(want.abs().max())
            for got, want in zip(self.outputs, self.exact, strict=True)
        )

    def times(self, tiles: Sequence[Tile]) -> dict[Tile, float]:
        """The median of some rounds, in ms, of those that are not too slow."""
        first = {tile: milliseconds(partial(self.call, tile), 1) for tile in tiles}
        left = [tile for tile in tiles if first[tile] < TOO_SLOW * min(first.values())]
        rounds = [{tile: milliseconds(partial(self.call, tile)) for tile in left} for _ in range(ROUNDS)]
        return {tile: median(times[tile] for times in rounds) for tile in left}


def tried(kernel: str, d: int, causal: bool) -> list[dict[str, Any]]:
    """Every configuration, from the fastest on: `slower` is the geometric mean, over the cases, of its time over the
    fastest one's."""
    benches = [TileBench(kernel, case) for case in cases_of(kernel, d, causal)]

    def compiles(tile: Tile) -> str:
        try:
            for bench in benches:
                bench.call(tile)
        except Exception as error:  # a compiler's
            return f"{type(error).__name__}: {error}".splitlines()[0]
        return ""

    candidates = list(tiles_to_try(kernel, d))
    with ThreadPoolExecutor() as pool:
        failures = dict(zip(candidates, pool.map(compiles, candidates), strict=True))
    torch.cuda.synchronize()
    right = [tile for tile in candidates if not failures[tile] and not any(bench.wrong(tile) for bench in benches)]
    by_case = [bench.times(right) for bench in benches]
    rows = []
    for tile in candidates:
        ms = [round(times[tile], 4) for times in by_case if tile in times]
        slower = inf
        if len(ms) == len(benches):
            slower = round(exp(fmean(log(times[tile] / min(times.values())) for times in by_case)), 4)
        why = failures[tile] or ("" if tile in right else "its result is wrong")
        rows.append(
            {"kernel": kernel, "d": d, "causal": causal, **asdict(tile), "ms": ms, "slower": slower, "why": why}
        )
    print(f"{kernel}, d = {d}, causal = {causal}; torch: {[round(bench.torch_ms(), 4) for bench in benches]} ms")
    rows.sort(key=lambda row: row["slower"])
    print(*rows[:4], sep="\n", flush=True)
    return rows


def keep_problem(file: Path, key: str, rows: list[dict[str, Any]], by: dict[str, str]) -> None:
    """Put a problem's rows in place of those that the file has of it."""
    had = json.loads(file.read_text(encoding="utf-8"))[key] if file.exists() else []
    problem = itemgetter("kernel", "d", "causal")
    others = [row for row in had if problem(row) != problem(rows[0])]
    write_json(file, by | {key: others + rows})


def main() -> None:
    kernels = sys.argv[1:] or list(KERNELS)
    if unknown := [name for name in kernels if name not in KERNELS]:
        raise SystemExit(f"no kernel is called {unknown[0]}; there are {', '.join(KERNELS)}")
    torch.cuda.init()
    gpu = torch.cuda.get_device_name()
    by = {"gpu": gpu, "date": date.today().isoformat()}
    explored = DATA / "explored" / f"{file_stem(gpu)}_attention_tiles.json"
    names = ("kernel", "d", "causal", "tm", "tn", *Tile(0, 0).hints)
    for kernel, d, causal in product(kernels, (128, 64), (False, True)):
        if kernel == "decode_parts" and causal:
            continue
        rows = tried(kernel, d, causal)
        keep_problem(FILE, "chosen", [{name: rows[0][name] for name in names}], by)
        keep_problem(
            explored, "tried", [row | {"slower": None if row["slower"] == inf else row["slower"]} for row in rows], by
        )


if __name__ == "__main__":
    main()
