"""Fits the chooser's constants to measurements: python -m tests.chooser.fit RESULTS.jsonl … [--write]

Each line of a file, which may be gzipped, is a measurement: {"gpu": …, "config": HopperConfig's settings that are not
the default, "shape": [M, N, K], "us": …, "baseline_us": …}; others are passed over. The constants are an H200's; on
another GPU device memory is as much slower as its datasheet says. --write puts them into constants.json, for `choose`.
"""

import gzip
import json
import math
import sys
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import asdict, fields, replace
from pathlib import Path
from statistics import fmean, median
from typing import Any, NamedTuple

from tutorlib.kernels.hopper.choose import CLUSTERS, finished
from tutorlib.kernels.hopper.config import BYTES, ConfigError, HopperConfig
from tutorlib.kernels.hopper.cost import FILE, LINE, Constants, cost, fitted
from tutorlib.machine.features import HARDWARE

STEPS = (1.3, 1 / 1.3, 1.1, 1 / 1.1, 1.03, 1 / 1.03)  # of the search, for each constant
NEAR = 0.08  # over the fastest one's time, as a fraction: a candidate so much slower counts for 1/e
DOUBT = 0.04  # over the fastest one's estimate: the same for what it costs to choose a slow one
FAR_OFF = 0.3  # over the fastest one's time: slower candidates cost no more
UNSTEADY = 1.2  # times the usual time of a baseline, or that part of it: something else was going on
LEVEL = 0.1  # weight of what all estimates of a shape miss by together, beside the differences among them
MOST_OF_LONG = 1.05  # pairs that differ in the lines of a K tile alone differ by 2 %; choosing would make more of it
H200 = "NVIDIA H200"
SMS = 132  # of an H200 and an H100
MODELED = {"tile", "schedule", "cluster", "persistent", "split_k", "stream_k", "defer_stores", "transposed", "majors",
           "dtype", "zigzag", "polls"}  # fmt: skip

Mnk = tuple[int, int, int]  # M, N, K


class MeasuredAt(NamedTuple):
    """What configurations compete for."""

    shape: Mnk
    gpu: str = H200


class Timed(NamedTuple):
    config: HopperConfig
    place: MeasuredAt
    us: float


def read(file: Path) -> list[dict[str, Any]]:
    """A measurement for each line."""
    with (gzip.open if file.suffix == ".gz" else open)(file, "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def usable(results: Iterable[dict[str, Any]]) -> list[Timed]:
    """The measurements among them that the model has an estimate for.

    Where the baseline was timed in turns with the kernel, its own time is told as of a GPU on which the baseline takes
    as long as in the middle of all measurements of the shape; where it took UNSTEADY times as long, or as short, both
    are passed over.
    """
    found, baselines = [], defaultdict(list)
    for result in results:
        if "us" in result and len(result.get("shape", ())) == 3 and result.get("regime", "cool") == "cool":
            place = MeasuredAt(tuple(result["shape"]), result.get("gpu", H200))
            try:
                config = HopperConfig(**result.get("config") or {})
            except (ConfigError, TypeError):  # by a younger rule; or it has a setting that is gone
                continue
            given, config = config, replace(config, l2_a="normal", l2_b="normal", group=HopperConfig.group)
            as_chosen = finished(config, *place.shape[:2], SMS) == given
            if as_chosen and is_like_a_candidate(config) and math.isfinite(cost(config, *place.shape)):
                found.append((config, place, result["us"], result.get("baseline_us")))
                baselines[place].append(result.get("baseline_us") or 0.0)
    usual = {place: median(times) for place, times in baselines.items()}
    return [
        Timed(config, place, us * usual[place] / baseline if baseline else us)
        for config, place, us, baseline in found
        if not baseline or abs(math.log(baseline / usual[place])) < math.log(UNSTEADY)
    ]


def is_like_a_candidate(config: HopperConfig) -> bool:
    """Whether the model knows all that matters about it: one or two lines of K, and all else as candidates have it."""
    others = (field for field in fields(HopperConfig) if field.name not in MODELED)
    lines = config.tile[2] * BYTES[config.dtype] / LINE
    as_usual = all(getattr(config, field.name) == field.default for field in others)
    return lines in (1, 2) and config.cluster in CLUSTERS and as_usual


def by_place(measured: Sequence[Timed], constants: Constants) -> dict[MeasuredAt, list[tuple[float, float]]]:
    """For each shape on a GPU the (estimate, time) of its configurations, with the GPU's device memory."""
    known, found = {}, defaultdict(list)
    for gpu in {timed.place.gpu for timed in measured}:
        bytes_ = constants.hbm_bytes * HARDWARE[gpu].bandwidth / HARDWARE[H200].bandwidth
        known[gpu] = replace(constants, hbm_bytes=bytes_)
    for config, place, us in measured:
        found[place].append((cost(config, *place.shape, constants=known[place.gpu]), us))
    return found


def miss(measured: Sequence[Timed], constants: Constants) -> float:
    """Mean of |log(estimate / measured)|, in which every shape weighs the same: 0.05 is 5 %."""
    places = by_place(measured, constants).values()
    return fmean(fmean(abs(math.log(estimate / us)) for estimate, us in found) for found in places)


def is_possible(constants: Constants) -> bool:
    """Whether rates stay below the datasheet's, and what should cost no more than something else does not."""
    rates = constants.mma_efficiency <= 1 and constants.hbm_bytes * 1e6 <= HARDWARE[H200].bandwidth
    stages = 1 <= constants.held < 2  # the one being read at least, and two are all that some have
    of_lines = 1 <= constants.long <= MOST_OF_LONG
    return rates and stages and of_lines and constants.deferred <= constants.store


def loss(measured: Sequence[Timed], constants: Constants) -> float:
    """The error of the estimates beside each other, and the cost of following them: a mean over shapes.

    Both count the fastest configurations most: the error by their times, the cost by their estimates.
    """
    total = 0.0
    places = by_place(measured, constants).values()
    for found in places:
        best = min(us for _, us in found)
        weights = [math.exp((1 - us / best) / NEAR) for _, us in found]
        logs = [math.log(estimate / us) for estimate, us in found]
        middle = fmean(logs, weights)
        apart = fmean([abs(log - middle) for log in logs], weights)
        tempting = [
            min(math.exp((1 - estimate / best * math.exp(-middle)) / DOUBT), FAR_OFF / DOUBT) for estimate, _ in found
        ]
        cost = fmean([min(us / best - 1, FAR_OFF) for _, us in found], tempting)
        total += apart + cost + LEVEL * abs(middle)
    return total / len(places)


def fit(measured: Sequence[Timed], constants: Constants) -> Constants:
    """Coordinate search, from these constants to those that lose least."""
    best, improved = loss(measured, constants), True
    while improved:
        improved = False
        for field in fields(Constants):
            for step in STEPS:
                tried = replace(constants, **{field.name: getattr(constants, field.name) * step})
                if is_possible(tried) and (now := loss(measured, tried)) < best - 1e-5:
                    constants, best, improved = tried, now, True
    return constants


def regret(measured: Sequence[Timed], constants: Constants) -> dict[MeasuredAt, float]:
    """For each shape: the time of that of its configurations which the model prefers, over the fastest one's."""
    places = by_place(measured, constants).items()
    return {place: min(found)[1] / min(us for _, us in found) for place, found in places}


def main(arguments: Sequence[str]) -> None:
    files = [Path(name) for name in arguments if not name.startswith("--")]
    results = [result for file in files for result in read(file)]
    measured = usable(results)
    print(f"{len(measured)} measurements; the estimates miss by {miss(measured, fitted()):.1%}")
    constants = fit(measured, fitted())
    left, regrets = miss(measured, constants), regret(measured, constants)
    ranked = sorted(regrets.values())
    print(f"fitted: by {left:.1%}; regret: median {median(ranked):.3f}, largest {ranked[-1]:.3f}")
    for name, value in asdict(constants).items():
        print(f"{name} = {value:.4g}")
    for (shape, gpu), factor in sorted(regrets.items()):
        print(f"{gpu} {'×'.join(map(str, shape)):16} the preferred one takes {factor:.3f} of the fastest one's time")
    if "--write" in arguments:
        gpus = sorted({result["gpu"] for result in results if "gpu" in result})
        rounded = {name: float(f"{value:.4g}") for name, value in asdict(constants).items()}
        stored = {"gpus": gpus, "points": len(measured), "miss": round(left, 4), "constants": rounded}
        FILE.write_text(json.dumps(stored, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
