"""The interleavings of a rehearsal: which warps go first, and when hardware completes its operations."""

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import permutations
from typing import Any, Literal

Order = Callable[[list[Any]], Any]
Landing = Literal["late", "early", "some"]
SEEDS = range(3)


@dataclass(frozen=True)
class Interleaving:
    """choose: one of the warps that can go on.

    landing: of loads and commits: when no warp can go on without, as soon as they are issued, or now and then, as
    `some` says. last_first: whether commits go before loads that are older.
    """

    choose: Order
    landing: Landing = "late"
    some: Callable[[], bool] = lambda: False
    last_first: bool = False


def by_rank(roles: Sequence[Any], last_block_first: bool = False) -> Order:
    """The warps whose role comes first go first."""
    sign = -1 if last_block_first else 1
    return partial(min, key=lambda warps: (roles.index(warps.role), sign * warps.block))


def interleavings(roles: Sequence[Any], has_commits: bool = False) -> list[Interleaving]:
    """The roles in each order, the given one first; then random orders.

    has_commits: whether hardware completes commits besides loads, possibly out of order.
    """
    ranks = list(permutations(roles))
    ends = ranks[0], ranks[-1]
    fixed = [Interleaving(by_rank(rank)) for rank in ranks]
    if has_commits:
        fixed += [Interleaving(by_rank(rank, last_block_first=True), last_first=True) for rank in ends]
    fixed += [Interleaving(by_rank(rank), "early") for rank in ends]
    for seed in SEEDS:
        rng = random.Random(seed)
        some = partial(now_and_then, rng)
        fixed.append(Interleaving(rng.choice, "some", some, has_commits and bool(seed % 2)))
    return fixed


def now_and_then(rng: random.Random) -> bool:
    return rng.random() < 0.2
