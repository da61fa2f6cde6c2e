"""compute-sanitizer's reports on notebook 18's kernels, as `tutor sweep sanitizer` recorded them."""

import json
from typing import Any

from tutorlib.paths import SWEEPS

NAME = "sanitizer"
TOOLS = ("memcheck", "racecheck", "synccheck", "initcheck")


def recorded_verdicts() -> list[dict[str, Any]]:
    """The records, a dictionary for each GPU."""
    return [json.loads(path.read_text(encoding="utf-8")) for path in sorted(SWEEPS.glob(f"*_{NAME}.json"))]
