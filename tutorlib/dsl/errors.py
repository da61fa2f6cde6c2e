"""What the DSLs' errors say, and about which lines."""

import re
from typing import Any


def cute_message(error: Exception) -> str:
    """The cause of an error of the CuTe DSL in one line, without its colors and boxes."""
    from cutlass.base_dsl.common import DSLBaseError

    if not isinstance(error, DSLBaseError):
        return f"{type(error).__name__}: {error}"
    cause = str(error.cause or "")
    if "Verification failed" in cause:  # "… error: "source"("file":line:col): 'cute.memref.store' op expects …"
        return re.sub(r".*?error: (unknown|\".*?\"\(.*?\)): ", "", cause.split("\n note:")[0], flags=re.DOTALL)
    return error.message


def places_of(error: BaseException) -> list[tuple[Any, Any]]:
    """File and line of each place that an error names, the likeliest first; None where it leaves one out."""
    places = [(getattr(error, "filename", None), getattr(error, "line", None))]
    if (loc := getattr(error, "loc", None)) is not None:  # cuTile
        places.append((loc.filename, loc.line))
    places += reversed(re.findall(r'"([^"]+\.py)":(\d+):\d+', str(getattr(error, "cause", ""))))
    return places
