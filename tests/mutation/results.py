"""What became of the mutants, exercise by exercise, as the command wrote it; and why those that survive may."""

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

FILE = Path(__file__).with_name("results.json")

OWN = "each thread reads what it copied itself, so that no other thread has to be waited for"
HARMLESS: dict[tuple[str, str], str] = {  # exercise and mutant → why it is as right as the solution
    ("04.6", "`four > 0` off by one"): "0 times the slope is 0",
    ("05.5", "`cute.arch.cp_async_wait_group(0)` one statement later"): OWN,
    ("05.5", "without `cute.arch.sync_threads()`"): OWN,
    ("05.5", "`cute.arch.sync_threads()` one statement earlier"): OWN,
    ("05.7", "5 → 6 in `cute.make_swizzle(5, 0, 6)`"): "Swizzle(6, 0, 6) is free of conflicts, too",
    ("08.1", "a load without its mask: `C.store_masked(A.load_masked(i) + B.load_masked(i), i);`"): (
        "the compiler asks for the bounds all the same, and what it leaves unset beyond them is stored nowhere"
    ),
    ("12.1", "`cute.arch.cp_async_wait_group(steps.stages - 2)` one statement earlier"): (
        "the statement before it computes the number of a stage, which waits for nothing"
    ),
    ("16.5", "one more in `cutlass.range_constexpr(5)`"): "the lane 32 further on does not exist: a lane gets its own",
    ("16.5", "`values < 0.0` off by one"): "-0 is no smaller than 0",
    ("17.10", "always, without `if lane == 0`"): "every lane has the total, and all write it to one place",
}


def read() -> dict[str, Any]:
    """Exercise → {"outcomes": {outcome: how many}, "survived": [mutant, …]}."""
    found: dict[str, Any] = json.loads(FILE.read_text(encoding="utf-8")) if FILE.exists() else {}
    return found


def keep(exercise: str, outcomes: Mapping[str, int], survived: Sequence[str]) -> None:
    """Write down one exercise's; the others stay."""
    found = read() | {exercise: {"outcomes": dict(sorted(outcomes.items())), "survived": list(survived)}}
    ordered = dict(sorted(found.items(), key=lambda item: tuple(map(int, item[0].split(".")))))
    FILE.write_text(json.dumps(ordered, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")


def survivors() -> Iterator[tuple[str, str, str]]:
    """Exercise, mutant, and why it may survive, or ""."""
    for exercise, found in read().items():
        for what in found["survived"]:
            yield exercise, what, HARMLESS.get((exercise, what), "")
