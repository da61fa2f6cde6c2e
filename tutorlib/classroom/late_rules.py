"""Late penalties: when the notebooks were due, when each was handed in, and the points that lateness costs."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta, tzinfo
from pathlib import Path
from typing import NamedTuple

from tutorlib.classroom import CannotGrade
from tutorlib.classroom.roster import Enrolled
from tutorlib.classroom.tables import read_text
from tutorlib.problems.differences import count

DAY = timedelta(days=1)
MOODLE_TIMES = (  # of its worksheet, in English as Australia, Britain and the United States write it
    "%A, %d %B %Y, %I:%M %p",
    "%A, %B %d, %Y, %I:%M %p",
    "%A, %d %B %Y, %H:%M",
    "%d %B %Y, %I:%M %p",
)


@dataclass(frozen=True)
class Rules:
    """The late penalty. due: the deadline of all notebooks, or None. percent: of a notebook's points, for each started
    day.
    """

    due: datetime | None = None
    percent: float = 0.0

    def due_of(self, student: Enrolled) -> datetime | None:
        """When the student's notebooks are due: no earlier than the extension on the roster. Raises CannotGrade."""
        if not (self.due and (written := student.listed.extension)):
            return self.due
        if extension := time_in(written, self.due.tzinfo):
            return max(self.due, extension)
        raise CannotGrade(f"{student.listed.place}: {written!r} is no time; write 2026-11-27 23:59.")


class LateNotebook(NamedTuple):
    """A notebook that was handed in late. penalty: points, of those that it got. text: all of it in a line."""

    notebook: str
    penalty: float
    text: str


def moment(time: datetime) -> str:
    return f"{time:%Y-%m-%d %H:%M %Z}"


def read_rules(path: Path) -> Rules:
    """The rules in a TOML file. Raises CannotGrade."""
    try:
        found = tomllib.loads(read_text(path))
    except tomllib.TOMLDecodeError as error:
        raise CannotGrade(f"{path.name}: not TOML: {error}.") from None
    if unknown := sorted(found.keys() - {"due", "penalty"}):
        raise CannotGrade(f"{path.name}: there is no rule {unknown[0]}; there are due and penalty.")
    due, percent = found.get("due"), found.get("penalty", 0)
    if not (isinstance(due, datetime) and due.tzinfo):
        raise CannotGrade(f"{path.name}: due: no time with an offset; write due = 2026-11-20T23:59:00+01:00, unquoted.")
    if isinstance(percent, bool) or not (isinstance(percent, int | float) and 0 <= percent <= 100):
        raise CannotGrade(f"{path.name}: penalty: no percentage; write penalty = 10.")
    return Rules(due, percent)


def time_in(written: str, zone: tzinfo | None) -> datetime | None:
    """An ISO time, or one of Moodle's worksheet. Without an offset it is in this zone; a date alone is its last minute.

    None where it is neither.
    """
    plain = " ".join(written.replace("\N{NARROW NO-BREAK SPACE}", " ").split())
    for read in (datetime.fromisoformat, *(lambda text, one=one: datetime.strptime(text, one) for one in MOODLE_TIMES)):
        try:
            found = read(plain)
        except ValueError:
            continue
        found += DAY - timedelta(minutes=1) if len(plain) == len("2026-11-20") else timedelta()
        return found if found.tzinfo else found.replace(tzinfo=zone)
    return None


def lateness(student: Enrolled, file: str, due: datetime) -> tuple[int, str] | None:
    """The started days after the deadline, and the evidence in words; None if the time is unknown.

    The roster's time counts, such as that of Moodle's worksheet, or else Canvas's mark on the file, which gives no time
    and counts as one day. The time of a file on disk is that of a download or a copy, so it says nothing.
    """
    listed, system = student.listed, student.student.system
    if time := time_in(listed.handed_in, due.tzinfo):
        source = "Moodle's worksheet" if listed.system == "moodle" else "the roster"
        return max(0, -(-(time - due) // DAY)), f"handed in {moment(time.astimezone(due.tzinfo))} (by {source})"
    late = any(upload.late for upload in student.student.uploads if upload.label == file.partition("/")[0])
    if system != "canvas" or (late and listed.extension):  # the mark ignores extensions
        return None
    return int(late), "no time is known (by Canvas's mark)"


def late_notebooks(
    rules: Rules, student: Enrolled, files: Mapping[str, str], points: Mapping[str, tuple[float, float]]
) -> tuple[tuple[LateNotebook, ...], tuple[str, ...]]:
    """The notebooks that are late, and those of which nothing says when they came. Raises CannotGrade.

    files: notebook → its file. points: notebook → the points that it got, of which it never loses more, and those that
    it can give.
    """
    late, unknown = list[LateNotebook](), list[str]()
    if not (due := rules.due_of(student)):
        return (), ()
    for name, file in files.items():
        if (found := lateness(student, file, due)) is None:
            unknown.append(name)
        elif days := found[0]:
            got, possible = points[name]
            costs = round(min(days * rules.percent / 100 * possible, max(got, 0.0)), 2)
            says = f"−{count(costs, 'point')}: {found[1]}, due {moment(due)}"
            late.append(LateNotebook(name, costs, f"{name[:2]} is {count(days, 'day')} late, {says}"))
    return tuple(late), tuple(unknown)
