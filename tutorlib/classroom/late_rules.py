"""Late penalties: when each notebook was due, when it was handed in, and the points that lateness costs."""

import math
import re
import tomllib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, timedelta, tzinfo
from typing import Any
from zoneinfo import ZoneInfo

from tutorlib.classroom.handed_in import HandedIn
from tutorlib.classroom.roster import Directory, Enrolled
from tutorlib.classroom.tables import BadTable, rows_of
from tutorlib.paths import notebook_names
from tutorlib.problems.wrong import count

DAY = timedelta(days=1)
KEYS = ("due", "time_zone", "penalty", "grace_hours", "free_days", "cap", "late_mark_days", "handed_in", "notebooks")
MOODLE_TIMES = (  # of its worksheet, in English as Australia, Britain and the United States write it
    "%A, %d %B %Y, %I:%M %p",
    "%A, %B %d, %Y, %I:%M %p",
    "%A, %d %B %Y, %H:%M",
    "%d %B %Y, %I:%M %p",
)
ONE_DOWNLOAD = timedelta(hours=1)  # what a class hands in is further apart than this


@dataclass(frozen=True)
class Amount:
    """Points, or a percentage of those that a notebook can give."""

    number: float
    percent: bool

    def of(self, possible: float) -> float:
        """In points. possible: the notebook's."""
        return self.number * possible / 100 if self.percent else self.number


@dataclass(frozen=True)
class Rules:
    """What lateness costs.

    due: when all notebooks are due that `dues` does not have; None: never. zone: of times that have none of their own.
    penalty: for each started day. grace: how late is not late. free_days: for each student. cap: the most that one
    notebook loses. late_mark_days: what a mark of Canvas's counts that says no time. times: the name of the CSV file.
    """

    due: datetime | None = None
    dues: Mapping[str, datetime] = field(default_factory=dict)
    zone: tzinfo | None = None
    penalty: Amount = Amount(0, False)
    grace: timedelta = timedelta()
    free_days: int = 0
    cap: Amount = Amount(100, True)
    late_mark_days: int = 1
    times: str = ""

    def due_of(self, notebook: str) -> datetime | None:
        return self.dues.get(notebook, self.due)


@dataclass(frozen=True)
class LateNotebook:
    """A notebook that was handed in late.

    days: started days after it was due. free: how many of them the student's free days paid for. penalty: points, as
    the rules have it; the notebook never loses more than it got. handed_in: the time, or ""; source: what says so.
    """

    notebook: str
    days: int
    free: int
    penalty: float
    handed_in: str
    due: str
    source: str

    @property
    def text(self) -> str:
        """All of it in a line."""
        days = f"{count(self.days, 'day')} late{f' ({self.free} free)' if self.free else ''}"
        when = f"handed in {self.handed_in}" if self.handed_in else "no time is known"
        costs = f"−{count(self.penalty, 'point')}"
        return f"{self.notebook[:2]} is {days}, {costs}: {when} (by {self.source}), due {self.due}"


@dataclass(frozen=True)
class HandInTime:
    """When a notebook was handed in, and what says so. utc: None where only a mark of Canvas's does.

    marked: whether that mark says late.
    """

    utc: datetime | None
    source: str
    marked: bool = False


# What the instructor's CSV says: student and notebook ("" for all) → when it was handed in, and in which line.
HandInTimes = Mapping[tuple[str, str], HandInTime]


# Reading ----------------------------------------------------------------------------------------------------------


def read_rules(text: str, file: str) -> Rules:
    """The rules in a TOML text. Raises BadTable."""
    try:
        found = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise BadTable(f"{file}: not TOML: {error}.") from None
    check_keys(file, found, KEYS)

    def read(key: str, reads: Callable[[Any], Any], otherwise: Any) -> Any:
        try:
            return reads(found[key]) if key in found else otherwise
        except (ValueError, TypeError) as error:
            raise BadTable(f"{file}: {key} = {found[key]!r}: {error}.") from None

    zone = read("time_zone", zone_named, None)
    dues: dict[str, datetime] = {}
    for typed, table in read("notebooks", dict, {}).items():
        names = [name for name in notebook_names() if typed in (name, name[:2])]
        if not names:
            raise BadTable(f"{file}: there is no notebook {typed}; there are {', '.join(notebook_names())}.")
        if not isinstance(table, dict):
            raise BadTable(f"{file}: write [notebooks.{typed}], and below it due = …")
        check_keys(f"{file}: [notebooks.{typed}]", table, ("due",))
        try:
            dues |= {name: moment(due, zone) for name in names for due in table.values()}
        except ValueError as error:
            raise BadTable(f"{file}: [notebooks.{typed}]: {error}.") from None
    due = read("due", lambda value: moment(value, zone), None)
    zone = zone or next((one.tzinfo for one in (due, *dues.values()) if one), None)
    return Rules(
        due,
        dues,
        zone,
        read("penalty", amount, Amount(0, False)),
        timedelta(hours=read("grace_hours", nonnegative, 0)),
        read("free_days", count_of_days, 0),
        read("cap", amount, Amount(100, True)),
        read("late_mark_days", count_of_days, 1),
        read("handed_in", str, ""),
    )


def check_keys(place: str, found: Iterable[str], keys: Iterable[str]) -> None:
    for key in found:
        if key not in keys:
            raise BadTable(f"{place}: there is no rule {key}; there are {', '.join(keys)}.")


def zone_named(name: str) -> ZoneInfo:
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError):  # it looks for a file of that name
        raise ValueError("no time zone of that name; write it like Europe/Berlin") from None


def moment(value: Any, zone: tzinfo | None) -> datetime:
    if not isinstance(value, datetime):
        kind = "has no time" if isinstance(value, date) else "is no date"
        raise ValueError(f"due {kind}; write due = 2026-11-20T23:59:00+01:00, without quotation marks")
    if value.tzinfo is None and zone is None:
        raise ValueError("due has no time zone; write time_zone = 'Europe/Berlin', or add an offset like +01:00")
    return value if value.tzinfo else value.replace(tzinfo=zone)


def amount(value: Any) -> Amount:
    """Of 2 (points) or "10%"."""
    if isinstance(value, str):
        if not (found := re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*%\s*", value)):
            raise ValueError('neither points, like 2, nor a percentage, like "10%"')
        return Amount(float(found[1]), True)
    return Amount(nonnegative(value), False)


def nonnegative(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < math.inf:
        raise ValueError("not a number from 0 upwards")
    return value


def count_of_days(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise ValueError("not a whole number from 0 upwards")
    return value


# When a notebook was handed in ------------------------------------------------------------------------------------


def read_times(text: str, file: str, directory: Directory[Enrolled]) -> tuple[HandInTimes, list[str]]:
    """The times in a CSV text with columns id or name, utc, and perhaps notebook; lines about those of no student.

    Raises BadTable.
    """
    columns, rows = rows_of(text, file)
    if "utc" not in columns or not {"id", "name", "student"} & set(columns):
        raise BadTable(f"{file}: its columns are {', '.join(columns)}; needed: id (or name), utc, perhaps notebook.")
    found: dict[tuple[str, str], HandInTime] = {}
    lines = []
    for row in rows:
        try:
            utc = datetime.fromisoformat(row["utc"])
        except ValueError:
            raise BadTable(f"{row.place}: {row['utc']!r} is no time; write 2026-11-20T22:59:00Z.") from None
        notebooks = [""]
        if typed := row["notebook"]:
            notebooks = [name for name in notebook_names() if typed.zfill(2) in (name, name[:2])]
            if not notebooks:
                raise BadTable(f"{row.place}: there is no notebook {typed}.")
        student = directory.find(row.first("id", "student"), row.first("name", "student", "id"))
        if isinstance(student, str):
            lines.append(f"{row.place}: {student}; this time is not used.")
            continue
        for notebook in notebooks:
            key = student.student.student, notebook
            if key in found:
                raise BadTable(f"{row.place}: a second time for {student.name}.")
            found[key] = HandInTime(utc if utc.tzinfo else utc.replace(tzinfo=UTC), row.place)
    return found, lines


def moodle_time(said: str, zone: tzinfo | None) -> datetime | None:
    """A time of Moodle's worksheet, which is in the time zone of the teacher who exported it."""
    plain = " ".join(said.replace("\N{NARROW NO-BREAK SPACE}", " ").split())
    for format in MOODLE_TIMES:
        try:
            return datetime.strptime(plain, format).replace(tzinfo=zone)
        except ValueError:
            continue
    return None


def hand_in_times(
    student: Enrolled, notebooks: Iterable[tuple[str, str]], rules: Rules, times: HandInTimes, one_download: bool
) -> dict[str, HandInTime]:
    """Notebook → when it was handed in. notebooks: names, and the files that were graded.

    What counts, in this order: the instructor's CSV; Moodle's worksheet, where it is the roster; Canvas's mark; the
    time of the file as the course system or the disk has it, and not of what is inside a student's own zip.
    one_download: whether the times in Moodle's zip are that of its download.
    """
    found = {}
    hand_in = student.student
    worksheet = moodle_time(student.listed.handed_in, rules.zone) if student.listed else None
    for name, file in notebooks:
        told = times.get((hand_in.student, name)) or times.get((hand_in.student, ""))
        arrival = hand_in.arrivals.get(file)
        if told:
            found[name] = told
        elif worksheet:
            found[name] = HandInTime(worksheet, "Moodle's worksheet")
        elif hand_in.system == "canvas":
            found[name] = HandInTime(None, "Canvas's mark", bool(arrival and arrival.late))
        elif arrival and arrival.at and not (hand_in.system == "moodle" and one_download):
            found[name] = HandInTime(datetime.fromtimestamp(arrival.at, UTC), "the file's time")
    return found


def of_one_download(students: Iterable[HandedIn]) -> bool:
    """Whether Moodle's files bear the time of their download, as newer Moodles have it: all students' are alike."""
    moodle = [student for student in students if student.system == "moodle" and student.arrivals]
    at = [arrival.at for student in moodle for arrival in student.arrivals.values()]
    return len(moodle) > 1 and max(at) - min(at) < ONE_DOWNLOAD.total_seconds()


# What it costs ----------------------------------------------------------------------------------------------------


def late_notebooks(
    rules: Rules, handed_in: Mapping[str, HandInTime], possible: Mapping[str, float]
) -> tuple[LateNotebook, ...]:
    """The notebooks that are late. possible: notebook → the points that it can give.

    A student's free days are spent on the earliest due date first; a day pays for all notebooks that were due together.
    """
    days = {}
    for name, time in handed_in.items():
        if (due := rules.due_of(name)) and (late := days_late(time, due, rules)):
            days[due, name] = late
    left = rules.free_days
    found = []
    for due in sorted({due for due, _ in days}):
        together = {name: late for (when, name), late in days.items() if when == due}
        free = min(left, max(together.values()))
        left -= free
        found += [one_late(rules, name, handed_in[name], due, late, free, possible) for name, late in together.items()]
    return tuple(sorted(found, key=lambda one: one.notebook))


def days_late(time: HandInTime, due: datetime, rules: Rules) -> int:
    """Started days after it was due; 0 within the hours of grace."""
    if time.utc is None:
        return rules.late_mark_days if time.marked else 0
    after = time.utc - due
    return 0 if after <= rules.grace else -(-after // DAY)


def one_late(
    rules: Rules, name: str, time: HandInTime, due: datetime, days: int, free: int, possible: Mapping[str, float]
) -> LateNotebook:
    free = min(free, days)
    most = possible.get(name, 0.0)
    penalty = round(min((days - free) * rules.penalty.of(most), rules.cap.of(most)), 2)
    zone = rules.zone or UTC
    handed_in = "" if time.utc is None else local_time(time.utc, zone)
    return LateNotebook(name, days, free, penalty, handed_in, local_time(due, zone), time.source)


def local_time(time: datetime, zone: tzinfo) -> str:
    return f"{time.astimezone(zone):%Y-%m-%d %H:%M %Z}"


def at_most(late: LateNotebook, points: float) -> LateNotebook:
    """The same, with no more penalty than the notebook has points."""
    return replace(late, penalty=min(late.penalty, max(points, 0.0)))
