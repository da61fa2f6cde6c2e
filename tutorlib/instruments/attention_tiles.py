"""Tiles and hints of the cuTile attention kernels, timed: python -m tutorlib.instruments.attention_tiles RESULTS.json

Each configuration is compiled, on all cores, compared with cuDNN's results and timed beside cuDNN; the file has them
from the fastest on. It takes four minutes of a GPU and does not change the kernels: the tiles that they use are in
`kernels/attention/tile_sizes.py`, and the results for those in figures/data/explored/h100_attention_tiles.json.
"""

import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from datetime import date
from itertools import product
from pathlib import Path
from statistics import median
from typing import Any

import cuda.tile as ct
import torch
from torch import Tensor

from tutorlib.kernels.attention import launch
from tutorlib.kernels.attention.tile_sizes import Tile, hinted
from tutorlib.measuring.results import write_json
from tutorlib.problems.attention import attend, gradients

MOST = {4: 224, 8: 160}  # accumulators of a thread, at most, by warps: it has 255 registers or 168
LEAST = 64
PROBLEMS = ((4, 16, 128, False), (4, 16, 128, True), (4, 32, 64, False), (4, 32, 64, True))  # batch, heads, d, causal
TOKENS, CALLS, ROUNDS = 4096, 8, 5


# Kernel → the fp32 elements of a block's accumulators, for tm, tn and d.
KERNELS: dict[str, Callable[[int, int, int], int]] = {
    "tile_forward": lambda tm, tn, d: tm * (tn + d),
    "backward_keys": lambda tm, tn, d: tn * (tm + 2 * d),
    "backward_queries": lambda tm, tn, d: tm * (tn + d),
}


def tiles_to_try(kernel: str, d: int) -> Iterator[Tile]:
    """Every configuration whose accumulators are LEAST to MOST for each thread.

    Clusters are for the forward kernel alone: backward_keys with two CTAs, as tileiras 13.4.92 compiles it for an H100,
    ends in a misaligned address, which no later kernel of the process survives.
    """
    ctas = (1, 2) if kernel == "tile_forward" else (1,)
    for sizes in product((64, 128, 256), (64, 128), (8, 4), ctas, (1, 2)):
        tile = Tile(*sizes)
        threads = 32 * tile.num_worker_warps * tile.num_ctas
        if LEAST <= KERNELS[kernel](tile.tm, tile.tn, d) * tile.occupancy / threads <= MOST[tile.num_worker_warps]:
            yield tile


def milliseconds(call: Callable[[], Any]) -> float:
    """Of one call: the median of some rounds of calls back to back."""
    found = []
    for _ in range(ROUNDS):
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        for _ in range(CALLS):
            call()
        end.record()
        end.synchronize()
        found.append(start.elapsed_time(end) / CALLS)
    return median(found)


class TileBench:
    """One problem's tensors, and what its kernels have to compute."""

    def __init__(self, batch: int, heads: int, d: int, causal: bool) -> None:
        self.q, self.k, self.v, self.do = (
            torch.randn(batch, heads, TOKENS, d, device="cuda", dtype=torch.bfloat16) for _ in range(4)
        )
        self.d, self.causal, self.scale = d, causal, d**-0.5
        self.o, self.lse = launch.attention_forward(self.q, self.k, self.v, self.scale, causal)
        self.exact = launch.backward(self.do, self.q, self.k, self.v, self.o, self.lse, self.scale, causal)
        self.delta = (self.o.float() * self.do.float()).sum(-1)
        self.torch_ms = {
            "tile_forward": milliseconds(lambda: attend("CUDNN_ATTENTION", causal, self.q, self.k, self.v)),
            "backward": milliseconds(lambda: gradients("CUDNN_ATTENTION", causal, self.q, self.k, self.v, self.do)),
        }

    def arguments(self, kernel: str) -> tuple[tuple[Any, ...], tuple[Tensor, ...], tuple[Tensor, ...]]:
        """The arguments before the constants, which of them are results, and what these should be."""
        dq, dk, dv = self.exact
        if kernel == "tile_forward":
            out: tuple[Tensor, ...] = (torch.empty_like(self.o), torch.empty_like(self.lse))
            return (self.q, self.k, self.v, *out, self.scale * launch.LOG2_E), out, (self.o, self.lse)
        inputs, exact = (self.q, self.k, self.v, self.do, self.lse, self.delta), (dk, dv) if "keys" in kernel else (dq,)
        out = tuple(map(torch.empty_like, exact))
        return (*inputs, *out, self.scale), out, exact

    def call_on(self, arguments: tuple[Any, ...], kernel: str, tile: Tile) -> Callable[[], None]:
        (batch, heads, tokens, _), along = self.q.shape, tile.tn if kernel == "backward_keys" else tile.tm
        grid = -(-tokens // along), heads, batch
        constants = 1, self.causal, tile.tm, tile.tn, self.d
        return lambda: ct.launch(torch.cuda.current_stream(), grid, hinted(kernel, tile), (*arguments, *constants))


def tried(bench: TileBench, kernel: str) -> list[dict[str, Any]]:
    """Every configuration of a kernel, from the fastest on; those that fail last."""
    arguments, out, exact = bench.arguments(kernel)
    calls = {tile: bench.call_on(arguments, kernel, tile) for tile in tiles_to_try(kernel, bench.d)}

    def compiles(call: Callable[[], None]) -> str:
        try:
            call()
        except Exception as error:  # a compiler's
            return f"{type(error).__name__}: {error}".splitlines()[0]
        return ""

    with ThreadPoolExecutor() as pool:
        failures = dict(zip(calls, pool.map(compiles, calls.values()), strict=True))
    torch.cuda.synchronize()
    rows = []
    for tile, call in calls.items():
        row = {"kernel": kernel, "d": bench.d, "causal": bench.causal, **asdict(tile)}
        if why := failures[tile]:
            rows.append(row | {"failed": why})
            continue
        for tensor in out:
            tensor.fill_(torch.nan)
        call()
        off = max(float((got.float() - want.float()).abs().max()) for got, want in zip(out, exact, strict=True))
        rows.append(row | {"ms": round(milliseconds(call), 4), "off": off})
    return sorted(rows, key=lambda row: row.get("ms", 1e9))


def main(path: Path) -> None:
    results: dict[str, Any] = {"gpu": torch.cuda.get_device_name(), "date": date.today().isoformat(), "tokens": TOKENS}
    results |= {"torch": [], "tried": []}
    for batch, heads, d, causal in PROBLEMS:
        bench = TileBench(batch, heads, d, causal)
        results["torch"].append({"d": d, "causal": causal, **bench.torch_ms})
        for kernel in KERNELS:
            rows = tried(bench, kernel)
            results["tried"] += rows
            print(f"d = {d}, causal = {causal}, cuDNN {bench.torch_ms}", *rows[:3], sep="\n", flush=True)
            write_json(path, results)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
