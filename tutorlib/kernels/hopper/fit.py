"""Fits the chooser's constants to measurements: python -m tutorlib.kernels.hopper.fit RESULTS.jsonl … [--write]

Each line of a file is a measurement: {"gpu": …, "config": HopperConfig's settings that are not the default, "shape":
[M, N, K], "us": …}; others are passed over. --write puts the constants into constants.json, for `choose`.
"""

import json
import math
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import asdict, fields, replace
from pathlib import Path
from typing import Any, NamedTuple

from tutorlib.kernels.hopper.choose import CLUSTERS, FILE, Constants, cost, fitted
from tutorlib.kernels.hopper.config import BYTES, HopperConfig

STEPS = (1.3, 1 / 1.3, 1.1, 1 / 1.1, 1.03, 1 / 1.03)  # of the search, for each constant


class Timed(NamedTuple):
    config: HopperConfig
    shape: tuple[int, int, int]
    us: float


def usable(results: Iterable[dict[str, Any]]) -> list[Timed]:
    """The measurements among them that the model has an estimate for."""
    found = []
    for result in results:
        if "us" in result and len(result.get("shape", ())) == 3 and result.get("regime", "cool") == "cool":
            settings = {k: tuple(v) if isinstance(v, list) else v for k, v in (result.get("config") or {}).items()}
            found.append(Timed(HopperConfig(**settings), tuple(result["shape"]), result["us"]))
    return [
        timed
        for timed in found
        if is_like_a_candidate(timed.config) and math.isfinite(cost(timed.config, *timed.shape))
    ]


def is_like_a_candidate(config: HopperConfig) -> bool:
    """Whether the model knows all that matters about it: K tiles of 128 bytes, no more than two blocks in a cluster."""
    return config.tile[2] * BYTES[config.dtype] == 128 and config.cluster in CLUSTERS and not config.block_scaled


def miss(measured: Sequence[Timed], constants: Constants) -> float:
    """Mean of |log(estimate / measured)|, in which every shape weighs the same: 0.05 is 5 %."""
    shapes = Counter(timed.shape for timed in measured)
    logs = (
        math.log(cost(timed.config, *timed.shape, constants=constants) / timed.us) / shapes[timed.shape]
        for timed in measured
    )
    return sum(map(abs, logs)) / len(shapes)


def is_possible(constants: Constants) -> bool:
    """Whether tensor cores stay below their rate, and stores that wait for the next tile cost no more than others."""
    return constants.mma_efficiency <= 1 and constants.deferred <= constants.store


def loss(measured: Sequence[Timed], constants: Constants) -> float:
    """What the estimates miss by, and what following them costs: the mean logarithm of the regret."""
    regrets = regret(measured, constants).values()
    return miss(measured, constants) + sum(map(math.log, regrets)) / len(regrets)


def fit(measured: Sequence[Timed], constants: Constants) -> Constants:
    """Coordinate search, from these constants to those that lose least."""
    best, improved = loss(measured, constants), True
    while improved:
        improved = False
        for field in fields(Constants):
            for step in STEPS:
                tried = replace(constants, **{field.name: getattr(constants, field.name) * step})
                if is_possible(tried) and (now := loss(measured, tried)) < best - 1e-6:
                    constants, best, improved = tried, now, True
    return constants


def regret(measured: Sequence[Timed], constants: Constants) -> dict[tuple[int, int, int], float]:
    """For each shape: the time of that of its configurations which the model prefers, over the fastest one's."""
    by_shape = defaultdict(list)
    for config, shape, us in measured:
        by_shape[shape].append((cost(config, *shape, constants=constants), us))
    return {shape: min(found)[1] / min(us for _, us in found) for shape, found in by_shape.items()}


def main(arguments: Sequence[str]) -> None:
    files = [Path(name) for name in arguments if name != "--write"]
    results = [json.loads(line) for file in files for line in file.read_text(encoding="utf-8").splitlines()]
    measured = usable(results)
    print(f"{len(measured)} measurements; the estimates miss by {miss(measured, fitted()):.1%}")
    constants = fit(measured, fitted())
    left = miss(measured, constants)
    print(f"fitted: by {left:.1%}")
    for name, value in asdict(constants).items():
        print(f"{name} = {value:.4g}")
    for shape, factor in sorted(regret(measured, constants).items()):
        print(f"{'×'.join(map(str, shape)):16} the preferred one takes {factor:.3f} of the fastest one's time")
    if "--write" in arguments:
        gpus = sorted({result["gpu"] for result in results if "gpu" in result})
        rounded = {name: float(f"{value:.4g}") for name, value in asdict(constants).items()}
        stored = {"gpus": gpus, "points": len(measured), "miss": round(left, 4), "constants": rounded}
        FILE.write_text(json.dumps(stored, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
