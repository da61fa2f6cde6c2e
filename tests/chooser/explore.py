"""Times many configurations at shapes like a model's: python -m tests.chooser.explore OUT.jsonl SHAPES [SEED]

SHAPES: how many are drawn; or "unseen": weights of models that no measurement was fitted to. Each line of the file is a
measurement as `fit` reads it. The model draws up the list; beside it is cuBLAS, in one run, and every result is
compared with cuBLAS' own. The fastest are timed twice, more often the second time.
"""

import json
import random
import sys
from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path
from statistics import median
from typing import Any

import torch

from tutorlib.instruments.table import unseen
from tutorlib.kernels.hopper.choose import short_list
from tutorlib.kernels.hopper.config import HopperConfig
from tutorlib.kernels.hopper.launch import launcher, max_clusters
from tutorlib.kernels.hopper.tune import (
    Problem,
    compile_all,
    folder,
    loaded,
    matrices,
    settings,
    side_stream,
    times,
)

CLOSE = 1.1  # times the fastest nominee's time: those up to it are timed again, more often
FINAL_ROUNDS = 21
WIDTHS = (512, 768, 1024, 1152, 1536, 2048, 2880, 3072, 4096, 4304, 5120, 6144, 7168, 8192, 11008, 14336, 25600, 28672)
LARGEST = 2**39  # operations: what is larger takes long to time, and many waves make all shapes alike
TOLERANCE = 2e-2  # two results rounded to bf16 whose sums were added in other orders


def shapes(count: int, seed: int) -> Iterator[Problem]:
    """Rows from 1 to 16,384, half of them powers of 2; N and K as models have them, or between 512 and 30,000.

    None is of `unseen`, which shows what was learned from the others.
    """
    draw, found, held_out = random.Random(seed), 0, {*unseen()}
    while found < count:
        rows = draw.uniform(0, 14)
        m = 2 ** round(rows) if draw.random() < 0.5 else round(2**rows)
        n, k = (draw.choice(WIDTHS) if draw.random() < 0.75 else 8 * round(2 ** draw.uniform(6, 11.9)) for _ in "nk")
        if 2 * m * n * k < LARGEST and (m, n, k) not in held_out:
            found += 1
            yield Problem(m, n, k)


def cublas(a: torch.Tensor, b: torch.Tensor, c: torch.Tensor) -> None:
    torch.matmul(a, b.mT, out=c)


def explore(problem: Problem, configs: Sequence[HopperConfig], where: Path) -> Iterator[dict[str, Any]]:
    """Their times at a shape. Raises AssertionError where a result is wrong."""
    sets = matrices(problem)
    with torch.cuda.stream(side_stream()):
        calls = [launcher(config, *problem[:3], compiled=loaded(config, where)) for config in configs]
    a, b, c = sets[0]
    reference = a @ b.mT
    for config, call in zip(configs, calls, strict=True):
        torch.cuda.synchronize()
        with torch.cuda.stream(side_stream()):
            call(a, b, c.fill_(torch.nan))
        torch.cuda.synchronize()
        torch.testing.assert_close(c, reference, rtol=TOLERANCE, atol=TOLERANCE * problem.k**0.5, msg=str(config))
    taken = times(calls, sets)
    close = [n for n, us in enumerate(taken) if us <= CLOSE * min(taken)]
    baseline, *again = times([cublas, *(calls[n] for n in close)], sets, FINAL_ROUNDS)
    drift = median(us / taken[n] for n, us in zip(close, again, strict=True))
    taken = [us * drift for us in taken]
    for n, us in zip(close, again, strict=True):
        taken[n] = us
    facts = {"shape": problem[:3], "baseline_us": round(baseline, 3), "gpu": torch.cuda.get_device_name()}
    for config, us in zip(configs, taken, strict=True):
        yield {"config": settings(config), "us": round(us, 3)} | facts


def main(file: str, count: str, seed: str = "1") -> None:
    where = folder()
    drawn = shapes(int(count), int(seed)) if count != "unseen" else (Problem(*shape) for shape in unseen())
    nominated = {problem: short_list(*problem[:3], max_clusters(1), *problem[3:]) for problem in drawn}
    compile_all(chain.from_iterable(nominated.values()), where)
    with Path(file).open("a", encoding="utf-8") as out:
        for problem, configs in nominated.items():
            for line in explore(problem, configs, where):
                print(json.dumps(line), file=out, flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
