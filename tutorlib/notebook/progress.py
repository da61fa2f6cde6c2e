"""The record of a student's checks on this machine: the result and time of each, never the answer.

One file of JSON lines for all notebooks. Every check appends a line, and the best one counts, so that a later, worse
attempt loses nothing. If the file cannot be written, a check says so once and goes on.
"""

import json
import os
import sys
from contextlib import suppress
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

import platformdirs

from tutorlib.checking.exercise import Outcome, Status

PROGRESS = "TUTORLIB_PROGRESS"  # environment variable: another file for the record; "" for none

_complained = False


class NoRecord(Exception):
    """The record cannot be read or written. One line: the file and the reason."""

    def __init__(self, path: Path, error: OSError) -> None:
        super().__init__(f"{path}: {error.strerror}")


@dataclass(frozen=True)
class Attempt:
    """The result of one check, a line of the record."""

    exercise: str
    status: Status
    points: float
    max_points: int
    utc: str


def file() -> Path | None:
    """The record's file, or None if none is kept: checks by tests and by nbval are not a student's attempts."""
    named = os.environ.get(PROGRESS)
    if named is not None:
        return Path(named) if named else None
    if "PYTEST_VERSION" in os.environ:  # pytest sets it, for the kernels that nbval starts too
        return None
    return platformdirs.user_data_path("tutorlib") / "progress.jsonl"


def record(outcome: Outcome) -> None:
    """Append an attempt. If that fails, a line on stderr says so once; it raises nothing."""
    global _complained
    if (path := file()) is None:
        return
    utc = datetime.now(UTC).isoformat("T", "seconds")
    attempt = Attempt(outcome.id, outcome.status, outcome.points, outcome.max_points, utc)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("a", encoding="utf-8") as lines:
            lines.write(json.dumps(asdict(attempt)) + "\n")
    except OSError as error:
        if not _complained:
            print(f"Your points are not recorded: {NoRecord(path, error)}.", file=sys.stderr)
        _complained = True


def attempts() -> list[Attempt]:
    """All attempts in order, without lines that a full disk cut off. Raises NoRecord."""
    path, found = file(), list[Attempt]()
    if path is None or not path.exists():
        return []
    try:
        lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError as error:
        raise NoRecord(path, error) from None
    for line in lines:
        with suppress(ValueError, TypeError):
            found.append(Attempt(**json.loads(line)))
    return found


def best() -> dict[str, Attempt]:
    """Exercise id → its best attempt: most points, and among equals the last. Raises NoRecord."""
    return {one.exercise: one for one in sorted(attempts(), key=lambda one: one.points)}


def forget(notebook: str = "") -> int:
    """Delete the attempts at a notebook, "02", or all of them. Returns their number. Raises NoRecord."""
    found = attempts()
    kept = [one for one in found if not one.exercise.startswith(notebook)]
    path = file()
    if path and len(kept) < len(found):
        try:
            path.write_text("".join(json.dumps(asdict(one)) + "\n" for one in kept), encoding="utf-8")
        except OSError as error:
            raise NoRecord(path, error) from None
    return len(found) - len(kept)
