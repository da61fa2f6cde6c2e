"""The lines of the reader's code in the DSLs' errors."""

import re
from typing import Any


def places_of(error: BaseException) -> list[tuple[Any, Any]]:
    """File and line of each place that an error names, the likeliest first; None where it leaves one out."""
    places = [(getattr(error, "filename", None), getattr(error, "line", None))]
    if (loc := getattr(error, "loc", None)) is not None:  # cuTile
        places.append((loc.filename, loc.line))
    places += reversed(re.findall(r'"([^"]+\.py)":(\d+):\d+', str(getattr(error, "cause", ""))))
    return places
