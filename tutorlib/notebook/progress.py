"""The record of a student's checks on this machine: the result and time of each, never the answer.

One SQLite file for all notebooks. Every check adds a row, and the best one counts, so that a later, worse attempt
loses nothing. If the file cannot be written, a check says so once and goes on.
"""

import os
import sqlite3
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import platformdirs

from tutorlib.checking.exercise import Outcome, Status

PROGRESS = "TUTORLIB_PROGRESS"  # environment variable: another file for the record; "" for none
TIMEOUT_S = 1.0  # the longest wait for another notebook that writes
VERSION = 1
SCHEMA = """
create table if not exists attempts (
    id integer primary key,
    exercise text not null,
    status text not null,
    points real not null,
    max_points integer not null,
    utc text not null
)
"""

_complained = False


class NoRecord(Exception):
    """The record cannot be read or written. One line: the file and the reason."""


@dataclass(frozen=True)
class Attempt:
    """The result of one check."""

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
    return platformdirs.user_data_path("tutorlib") / "progress.sqlite"


@contextmanager
def opened(path: Path) -> Iterator[sqlite3.Connection]:
    """The record, created if missing. Raises NoRecord, also for errors while it is open."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with closing(sqlite3.connect(path, timeout=TIMEOUT_S, isolation_level=None)) as db:
            (version,) = db.execute("pragma user_version").fetchone()
            if version > VERSION:
                raise NoRecord(f"{path}: written by a newer version of the course")
            if version < VERSION:
                db.execute("pragma journal_mode = wal")
                db.execute(SCHEMA)
                db.execute(f"pragma user_version = {VERSION}")
            yield db
    except (OSError, sqlite3.Error) as error:
        raise NoRecord(f"{path}: {getattr(error, 'strerror', None) or error}") from None


def record(outcome: Outcome) -> None:
    """Add an attempt. If that fails, a line on stderr says so once; it raises nothing."""
    global _complained
    path = file()
    if path is None:
        return
    row = (outcome.id, outcome.status, outcome.points, outcome.max_points, datetime.now(UTC).isoformat("T", "seconds"))
    try:
        with opened(path) as db:
            db.execute("insert into attempts (exercise, status, points, max_points, utc) values (?, ?, ?, ?, ?)", row)
    except NoRecord as error:
        if not _complained:
            print(f"Your points are not recorded: {error}.", file=sys.stderr)
        _complained = True


def best() -> dict[str, Attempt]:
    """Exercise id → its best attempt: most points, and among equals the last. Raises NoRecord."""
    path = file()
    if path is None or not path.exists():
        return {}
    with opened(path) as db:
        rows = db.execute("select exercise, status, points, max_points, utc from attempts order by points, id")
        return {exercise: Attempt(*rest) for exercise, *rest in rows}


def forget(notebook: str = "") -> int:
    """Delete the attempts at a notebook, "02", or the whole record, even a damaged one. Returns their number.

    Raises NoRecord.
    """
    path = file()
    if path is None or not path.exists():
        return 0
    try:
        with opened(path) as db:
            return db.execute("delete from attempts where exercise like ?", (f"{notebook}%",)).rowcount
    except NoRecord:
        if notebook:
            raise
        return remove(path)


def remove(path: Path) -> int:
    """Delete the file of an unreadable record. Raises NoRecord if that fails."""
    try:
        for one in (path, path.with_name(path.name + "-wal"), path.with_name(path.name + "-shm")):
            one.unlink(missing_ok=True)
    except OSError as error:
        raise NoRecord(f"{path}: {error.strerror}") from None
    return 0
