"""The cost of first and later calls, as `tutor sweep launches` recorded it: figures/data/sweeps/GPU_launches.json."""

import json
from typing import Any

from tutorlib.paths import SWEEPS

NAME = "launches"
TORCH = "torch.add"
FIRST, LATER, DONE, READY = "first calls", "later calls", "later calls until done", "a new process"


def recorded_launches() -> list[dict[str, Any]]:
    """The records, a dictionary for each machine, those with a GPU first."""
    found = [json.loads(path.read_text(encoding="utf-8")) for path in sorted(SWEEPS.glob(f"*_{NAME}.json"))]
    return sorted(found, key=lambda one: one["machine"]["gpu"] is None)
