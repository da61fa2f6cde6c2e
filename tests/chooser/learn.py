"""Learns what the chooser's model misses: python -m tests.chooser.learn RESULTS.jsonl TRIED.jsonl [--write]

It learns from the shapes of the first file, and says how the choice at those of the second is without it and with it;
--write puts the trees into trees.npz. The files are as `fit` reads them.
"""

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from tests.chooser.fit import SMS, Timed, read, usable
from tutorlib.kernels.hopper.choose import finished
from tutorlib.kernels.hopper.cost import cost
from tutorlib.kernels.hopper.learned import FILE, Trees, features

COUNT, LEVELS = 1600, 7  # of trees, and of comparisons in each
RATE = 0.08  # of what a leaf would add that goes into the sum
BINS = 24  # into which a feature's values are sorted
DAMPING = 0.2  # shapes' weight by which each leaf is pulled to 0
NEAR = 0.08  # over the fastest one's time, as a fraction: a candidate so much slower counts for 1/e
DOUBT = 0.03  # the same over the least estimate, for what it costs to choose a slow one
FAR_OFF = 0.3  # over the fastest one's time: slower candidates cost no more
EXACT = 0.03  # logarithm by which an estimate may be off before its error counts linearly
ERRORS = 3.0  # weight of the errors beside the cost of the choice
SEEN = 0.5  # part of the shapes that a tree is grown from, drawn anew for each


class Sample(NamedTuple):
    """For each measurement: its features, its shape's number, the logarithm of the estimate, and the time."""

    x: np.ndarray
    shape: np.ndarray
    estimate: np.ndarray
    us: np.ndarray

    def of(self, rows: np.ndarray) -> "Sample":
        """Some measurements; shapes are numbered anew."""
        x, shape, estimate, us = (each[rows] for each in self)
        return Sample(x, np.unique(shape, return_inverse=True)[1], estimate, us)

    def slower(self) -> np.ndarray:
        """By how much each is slower than the fastest at its shape, as a fraction."""
        best = np.full(self.shape.max() + 1, np.inf)
        np.minimum.at(best, self.shape, self.us)
        return self.us / best[self.shape] - 1

    def mean(self, of: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """For each measurement the weighted mean at its shape."""
        return (np.bincount(self.shape, weights * of) / np.bincount(self.shape, weights))[self.shape]

    def regrets(self, estimates: np.ndarray) -> np.ndarray:
        """For each shape by how much the candidate that these prefer is slower than the fastest."""
        order = np.lexsort((estimates, self.shape))
        return self.slower()[order[np.unique(self.shape[order], return_index=True)[1]]]


def sample(measured: Sequence[Timed]) -> Sample:
    numbers: dict[tuple[int, ...], int] = {}
    rows, shapes, estimates, times = [], [], [], []
    for config, (shape, _), us in measured:
        as_chosen = finished(config, *shape[:2], SMS)
        rows.append([*features(as_chosen, *shape, SMS).values()])
        shapes.append(numbers.setdefault(shape, len(numbers)))
        estimates.append(np.log(cost(config, *shape)))
        times.append(us)
    return Sample(np.array(rows, float), np.array(shapes), np.array(estimates), np.array(times))


def edges(values: np.ndarray) -> np.ndarray:
    """Between the bins of a feature: at most BINS, of as many measurements each."""
    known = np.unique(values)
    between = (known[1:] + known[:-1]) / 2
    if len(known) > BINS:
        between = np.unique(np.quantile(values, np.linspace(0, 1, BINS + 1)[1:-1]))
    return np.array([float(f"{edge:.5g}") for edge in between])


def slopes(data: Sample, missed: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The loss's first derivative, and a bound for its second, by each estimate's logarithm.

    The loss: what the choice costs on the average, if it falls on a candidate with a probability that decreases with
    the estimate; and the errors of the estimates beside each other. Both count each shape alike.
    """
    slower = data.slower()
    near = np.exp(-slower / NEAR)
    log = np.log(data.us) - data.estimate
    off = missed - (log - data.mean(log, near))
    weight = near / np.bincount(data.shape, near)[data.shape] * ERRORS / np.maximum(abs(off), EXACT)
    least = np.full(data.shape.max() + 1, np.inf)
    np.minimum.at(least, data.shape, data.estimate + missed)
    tempting = np.exp((least[data.shape] - data.estimate - missed) / DOUBT)
    lost = np.minimum(slower, FAR_OFF)
    more = tempting / np.bincount(data.shape, tempting)[data.shape] * (lost - data.mean(lost, tempting)) / DOUBT
    return weight * off - more, weight + abs(more) / DOUBT / 2


def learn(data: Sample) -> Trees:
    """Newton's boosting: each tree takes what reduces the loss most, level by level, and adds a part of it."""
    bounds = [edges(column) for column in data.x.T]
    bins = [np.searchsorted(each, column) for each, column in zip(bounds, data.x.T, strict=True)]
    missed, grown, draw = np.zeros(len(data.x)), [], np.random.default_rng(0)
    for _ in range(COUNT):
        seen = (draw.random(data.shape.max() + 1) < SEEN)[data.shape]
        first, second = (each * seen for each in slopes(data, missed))
        leaf, picked = np.zeros(len(missed), int), []
        for _ in range(LEVELS):
            _, feature, at = max(gains(leaf, bins, bounds, first, second))
            picked.append((feature, bounds[feature][at]))
            leaf = 2 * leaf + (bins[feature] > at)
        sums = (np.bincount(leaf, each, 2**LEVELS) for each in (first, second + 1e-6))
        values = np.float32(-RATE * np.divide(next(sums), next(sums) + DAMPING))
        missed += values[leaf]
        grown.append((picked, values))
    splits = np.array([picked for picked, _ in grown])
    return Trees(splits[..., 0].astype(np.uint8), splits[..., 1], np.array([values for _, values in grown]))


def gains(
    leaf: np.ndarray, bins: Sequence[np.ndarray], bounds: Sequence[np.ndarray], first: np.ndarray, second: np.ndarray
) -> Iterator[tuple[float, int, int]]:
    """(gain, feature, edge): each feature's best comparison, if every leaf is split by it."""
    leaves = leaf.max() + 1
    for feature, (each, between) in enumerate(zip(bins, bounds, strict=True)):
        if len(between):
            cells = leaf * BINS + each
            below, weight = (
                np.bincount(cells, of, leaves * BINS).reshape(leaves, BINS).cumsum(1) for of in (first, second)
            )
            above, other = below[:, -1:] - below, weight[:, -1:] - weight
            gain = (below**2 / (weight + DAMPING) + above**2 / (other + DAMPING)).sum(0)[: len(between)]
            yield float(gain.max()), feature, int(gain.argmax())


def described(data: Sample, missed: np.ndarray | float) -> str:
    regrets = data.regrets(data.estimate + missed)
    within = np.mean(regrets <= 0.03)
    return (
        f"{within:.1%} within 3% of the fastest, 95% within {np.quantile(regrets, 0.95):.1%}, all {regrets.max():.0%}"
    )


def main(arguments: Sequence[str]) -> None:
    data, tried = (sample(usable(read(Path(name)))) for name in arguments[:2])
    trees = learn(data)
    for known, what in ((data, "known"), (tried, "tried")):
        print(f"{known.shape.max() + 1:,} shapes {what}, by the model alone: {described(known, 0)}")
        print(f"with what was learned: {described(known, trees(known.x))}")
    if "--write" in arguments:
        np.savez_compressed(FILE, **trees._asdict())


if __name__ == "__main__":
    main(sys.argv[1:])
