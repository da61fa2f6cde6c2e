"""The solutions' ratios to the baseline, by GPU architecture: tiers are fractions of them.

targets.json, written by `tutor calibrate`: {"sm_90": {"gpu": …, "driver": …, "date": …, "ratios": {"05.3": 0.99}}}.
"""

import json
from functools import cache
from pathlib import Path
from typing import Any

FILE = Path(__file__).with_name("targets.json")


@cache
def load() -> dict[str, dict[str, Any]]:
    return json.loads(FILE.read_text(encoding="utf-8")) if FILE.exists() else {}


def target(arch: str, id: str) -> float | None:
    """The calibrated ratio of an exercise on "sm_90"; None if it was never calibrated."""
    return load().get(arch, {}).get("ratios", {}).get(id)


def save(arch: str, machine: dict[str, Any], date: str, ratios: dict[str, float]) -> None:
    """Write the targets of one architecture; the others stay. Exercises not measured now keep their targets."""
    targets = load()
    kept = targets.get(arch, {}).get("ratios", {})
    entry = {
        "gpu": machine["gpu"],
        "driver": machine["driver"],
        "date": date,
        "ratios": dict(sorted({**kept, **ratios}.items())),
    }
    FILE.write_text(json.dumps(dict(sorted({**targets, arch: entry}.items())), indent=2) + "\n", encoding="utf-8")
    load.cache_clear()
