"""The cost of launches, as `tutor sweep launches` recorded it: figures/data/sweeps/GPU_launches.json."""

import json
from typing import Any

from tutorlib.paths import SWEEPS

NAME = "launches"
TORCH = "torch.add"
LATER, DONE, READY = "later calls", "later calls until done", "a new process"


def recorded_launches() -> list[dict[str, Any]]:
    """The records, a dictionary for each GPU."""
    return [json.loads(path.read_text(encoding="utf-8")) for path in sorted(SWEEPS.glob(f"*_{NAME}.json"))]
