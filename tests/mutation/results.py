"""What became of the mutants, exercise by exercise, as the command wrote it; and why those that survive may."""

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

FILE = Path(__file__).with_name("results.json")

HARMLESS: dict[tuple[str, str], str] = {}  # exercise and mutant → why it is as right as the solution


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
