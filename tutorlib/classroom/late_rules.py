"""Late penalties: when each notebook was due, when it was handed in, and the points that lateness costs."""

import math
import re
import tomllib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta, tzinfo
from typing import Any
from zoneinfo import ZoneInfo

from tutorlib.classroom.handed_in import HandedIn
from tutorlib.classroom.roster import Enrolled
from tutorlib.classroom.tables import BadTable
from tutorlib.paths import notebook_names
from tutorlib.problems.wrong import count

DAY = timedelta(days=1)
MOODLE_TIMES = (  # of its worksheet, in English as Australia, Britain and the United States write it
    "%A, %d %B %Y, %I:%M %p",
    "%A, %B %d, %Y, %I:%M %p",
    "%A, %d %B %Y, %H:%M",
    "%d %B %Y, %I:%M %p",
)
Amount = Callable[[float], float]  # the points that a notebook can give → points
ONE_DOWNLOAD = timedelta(hours=1)  # the hand-ins of a class are further apart than this


@dataclass(frozen=True)
class Rules:
    """What lateness costs.

    due: when all notebooks are due that `dues` does not have; None: never. time_zone: of times that have none of their
    own. penalty: for each started day. grace_hours: how late is not late. free_days: for each student. cap: the most
    that one notebook loses.
    """

    due: datetime | None = None
    dues: Mapping[str, datetime] = field(default_factory=dict)
    time_zone: tzinfo = UTC
    penalty: Amount = lambda possible: 0.0
    grace_hours: float = 0
    free_days: int = 0
    cap: Amount = lambda possible: possible

    def due_of(self, notebook: str, student: Enrolled) -> datetime | None:
        """When the student's notebook is due: no earlier than the extension on the roster."""
        due = self.dues.get(notebook, self.due)
        extension = extension_of(student, self.time_zone)
        return max(due, extension) if due and extension else due


@dataclass(frozen=True)
class HandInTime:
    """When a notebook was handed in, and what says so. utc: None where only Canvas's mark LATE tells.

    marked: whether there is that mark.
    """

    utc: datetime | None
    source: str
    marked: bool = False


@dataclass(frozen=True)
class LateNotebook:
    """A notebook that was handed in late.

    days: started days after it was due. free: how many of them the student's free days paid for. penalty: points; the
    notebook never loses more than it got.
    """

    notebook: str
    days: int
    free: int
    penalty: float
    handed_in: HandInTime
    due: datetime

    @property
    def text(self) -> str:
        """All of it in a line, in the time zone of the due date."""
        days = f"{count(self.days, 'day')} late{f' ({self.free} free)' if self.free else ''}"
        utc, zone = self.handed_in.utc, self.due.tzinfo
        when = f"handed in {utc.astimezone(zone):%Y-%m-%d %H:%M %Z}" if utc else "no time is known"
        costs = f"−{count(self.penalty, 'point')}: {when} (by {self.handed_in.source})"
        return f"{self.notebook[:2]} is {days}, {costs}, due {self.due:%Y-%m-%d %H:%M %Z}"


# Reading ----------------------------------------------------------------------------------------------------------


def read_rules(text: str, file: str) -> Rules:
    """The rules in a TOML text. Raises BadTable."""
    try:
        found = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise BadTable(f"{file}: not TOML: {error}.") from None
    rules: dict[str, Any] = {}

    def read(place: str, key: str, value: Any, readers: Mapping[str, Callable[[Any], Any]]) -> Any:
        if key not in readers:
            raise BadTable(f"{file}: {place}there is no rule {key}; there are {', '.join(readers)}.")
        try:
            return readers[key](value)
        except (ValueError, TypeError, AttributeError) as error:
            raise BadTable(f"{file}: {place}{key} = {value!r}: {error}.") from None

    def moment(value: Any) -> datetime:
        if not isinstance(value, datetime):
            raise ValueError("no date with a time; write due = 2026-11-20T23:59:00+01:00, without quotation marks")
        if value.tzinfo is None and "time_zone" not in rules:
            raise ValueError("due has no time zone; write time_zone = 'Europe/Berlin', or add an offset like +01:00")
        return value if value.tzinfo else value.replace(tzinfo=rules["time_zone"])

    def of_notebooks(tables: Any) -> dict[str, datetime]:
        dues = {}
        for typed, table in tables.items():
            names = [name for name in notebook_names() if typed in (name, name[:2])]
            if not names:
                raise BadTable(f"{file}: there is no notebook {typed}; there are {', '.join(notebook_names())}.")
            if not isinstance(table, dict):
                raise ValueError(f"write [notebooks.{typed}], and below it due = …")
            for key, value in table.items():
                dues[names[0]] = read(f"[notebooks.{typed}]: ", key, value, {"due": moment})
        return dues

    readers: dict[str, Callable[[Any], Any]]
    readers = {"due": moment, "penalty": amount, "cap": amount, "grace_hours": nonnegative, "free_days": whole_days}
    readers |= {"time_zone": zone_named, "notebooks": of_notebooks}
    for key, value in sorted(found.items(), key=lambda item: item[0] != "time_zone"):
        rules[key] = read("", key, value, readers)
    dues = rules.pop("notebooks", {})
    zone = next((one.tzinfo for one in (rules.get("due"), *dues.values()) if one), UTC)
    return Rules(**{"time_zone": zone, "dues": dues} | rules)


def zone_named(name: Any) -> ZoneInfo:
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError):  # it looks for a file of that name
        raise ValueError("no time zone of that name; write it like Europe/Berlin") from None


def amount(value: Any) -> Amount:
    """Of 2 (points) or "10%"."""
    if isinstance(value, str):
        if not (found := re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*%\s*", value)):
            raise ValueError('neither points, like 2, nor a percentage, like "10%"')
        return lambda possible: float(found[1]) * possible / 100
    points = nonnegative(value)
    return lambda possible: points


def nonnegative(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < math.inf:
        raise ValueError("not a number from 0 upwards")
    return value


def whole_days(value: Any) -> int:
    if nonnegative(value) != int(value):
        raise ValueError("not a whole number from 0 upwards")
    return int(value)


# When a notebook was due and handed in ----------------------------------------------------------------------------


def time_in(said: str, zone: tzinfo) -> datetime | None:
    """An ISO time, or one of Moodle's worksheet. Without an offset it is in this zone; a date alone is its last minute.

    None where it is neither.
    """
    plain = " ".join(said.replace("\N{NARROW NO-BREAK SPACE}", " ").split())
    for read in (datetime.fromisoformat, *(lambda text, one=one: datetime.strptime(text, one) for one in MOODLE_TIMES)):
        try:
            found = read(plain)
        except ValueError:
            continue
        found += DAY - timedelta(minutes=1) if len(plain) == len("2026-11-20") else timedelta()
        return found if found.tzinfo else found.replace(tzinfo=zone)
    return None


def extension_of(student: Enrolled, zone: tzinfo) -> datetime | None:
    """The later deadline that the roster gives a student. Raises BadTable."""
    if not (student.listed and student.listed.extension):
        return None
    if found := time_in(student.listed.extension, zone):
        return found
    raise BadTable(f"{student.listed.place}: {student.listed.extension!r} is no time; write 2026-11-27 23:59.")


def hand_in_time(student: Enrolled, file: str, rules: Rules, one_download: bool) -> HandInTime | None:
    """When the notebook in a file was handed in; None where that is unknown.

    In this order: the roster, such as Moodle's worksheet; Canvas's mark; the time of the file as the course system or
    the disk has it, and not of what is inside a student's own zip. one_download: whether the times in Moodle's zip are
    that of its download.
    """
    hand_in, listed = student.student, student.listed
    arrival = hand_in.arrivals.get(file)
    if listed and (told := time_in(listed.handed_in, rules.time_zone)):
        return HandInTime(told, "Moodle's worksheet" if listed.system == "moodle" else "the roster")
    if hand_in.system == "canvas":
        late = bool(arrival and arrival.late)
        extended = listed and listed.extension  # of which the mark does not know
        return None if late and extended else HandInTime(None, "Canvas's mark", late)
    if arrival and arrival.at and not (hand_in.system == "moodle" and one_download):
        return HandInTime(datetime.fromtimestamp(arrival.at, UTC), "the file's time")
    return None


def of_one_download(students: Iterable[HandedIn]) -> bool:
    """Whether Moodle's files bear the time of their download, as newer Moodles have it: all students' are alike."""
    moodle = [student for student in students if student.system == "moodle" and student.arrivals]
    at = [arrival.at for student in moodle for arrival in student.arrivals.values()]
    return len(moodle) > 1 and max(at) - min(at) < ONE_DOWNLOAD.total_seconds()


# What it costs ----------------------------------------------------------------------------------------------------


def late_notebooks(
    rules: Rules,
    student: Enrolled,
    handed_in: Mapping[str, HandInTime],
    points: Mapping[str, tuple[float, float]],
) -> tuple[LateNotebook, ...]:
    """The notebooks that are late. points: notebook → the points that it got and those that it can give.

    A student's free days are spent on the earliest due date first; a day pays for all notebooks that were due together.
    """
    days: dict[datetime, dict[str, int]] = {}
    for name, time in handed_in.items():
        if (due := rules.due_of(name, student)) and (late := days_late(time, due, rules)):
            days.setdefault(due, {})[name] = late
    left, found = rules.free_days, []
    for due, together in sorted(days.items()):
        free = min(left, max(together.values()))
        left -= free
        for name, late in together.items():
            got, possible = points[name]
            costs = min(max(0, late - free) * rules.penalty(possible), rules.cap(possible), max(got, 0.0))
            found.append(LateNotebook(name, late, min(free, late), round(costs, 2), handed_in[name], due))
    return tuple(sorted(found, key=lambda one: one.notebook))


def days_late(time: HandInTime, due: datetime, rules: Rules) -> int:
    """Started days after it was due; 0 within the hours of grace. A mark without a time counts a day."""
    if time.utc is None:
        return int(time.marked)
    after = time.utc - due
    return 0 if after <= timedelta(hours=rules.grace_hours) else -(-after // DAY)
