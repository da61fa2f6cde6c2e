"""The instructor's files in the folder of the results, which every run reads: roster.csv; rules.toml, when notebooks
were due and what lateness costs; and corrections*.csv, points and comments by hand.
"""

import re
import tomllib
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta, tzinfo
from pathlib import Path
from typing import NamedTuple

from tutorlib.classroom import CannotGrade
from tutorlib.classroom.files import read_csv, read_text
from tutorlib.classroom.hand_ins import HandedIn
from tutorlib.classroom.roster import Directory, Enrolled, directory, enrolled, find_in, read_roster
from tutorlib.exercises import of_notebook
from tutorlib.paths import notebook_names
from tutorlib.problems.differences import count

DAY = timedelta(days=1)
MOODLE_TIMES = (  # of its worksheet, in English as Australia, Britain and the United States write it
    "%A, %d %B %Y, %I:%M %p",
    "%A, %B %d, %Y, %I:%M %p",
    "%A, %d %B %Y, %H:%M",
    "%d %B %Y, %I:%M %p",
)
COLUMNS = {
    "id": ("id", "student"),
    "name": ("name", "student", "id"),
    **{name: (name,) for name in ("exercise", "points", "comment", "by")},
}
POINTS = re.compile(r"[+-]?\d+(\.\d+)?")


# Late penalties -------------------------------------------------------------------------------------------------------


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
    """An ISO time, or a time as Moodle's worksheet has it; None where it is neither.

    Without an offset it is in this zone; a date alone is its last minute.
    """
    plain = " ".join(written.replace("\N{NARROW NO-BREAK SPACE}", " ").split())
    for read in (
        datetime.fromisoformat,
        *(lambda text, form=form: datetime.strptime(text, form) for form in MOODLE_TIMES),
    ):
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


# Corrections ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Correction:
    """Points that an instructor gave by hand to an answer of an exercise.

    points: that count in place of the grader's, or, where `added`, that are added to them; None: a comment alone.
    """

    exercise: str
    points: float | None
    added: bool
    comment: str = ""
    by: str = ""
    place: str = ""

    @property
    def text(self) -> str:
        """ "+1: a good idea (JD)"."""
        points = "" if self.points is None else f"{self.points:+g}" if self.added else f"set to {self.points:g}"
        said = ": ".join(filter(None, (points, self.comment)))
        return f"{said} ({self.by})" if self.by else said


def corrected(points: float, corrections: Iterable[Correction]) -> float:
    """The points with these corrections on top, in their order; never below 0."""
    for correction in corrections:
        if correction.points is not None:
            points = points + correction.points if correction.added else correction.points
    return max(points, 0.0)


def read_corrections(
    path: Path,
    students: Directory[Enrolled],
    exercises: Collection[str],
    found: dict[str, dict[str, tuple[Correction, ...]]],
) -> Iterator[str]:
    """Add a CSV file's corrections to `found`: student → exercise → corrections.

    Its columns: id or name, exercise, points, comment, by. exercises: those that there are. Yields a line for each
    correction whose student or exercise there is not. Raises CannotGrade.
    """
    columns, rows = read_csv(path, COLUMNS)
    if not {"id", "name", "student"} & columns or not {"points", "comment"} & columns:
        needed = "id (or name), exercise, points, comment, by"
        raise CannotGrade(f"{path.name}: its columns are {', '.join(sorted(columns))}; needed: {needed}.")
    for row in rows:
        correction = read_row(row)
        id, student = correction.exercise, find_in(students, row["id"], row["name"])
        if isinstance(student, str):
            yield f"{correction.place}: {student}; this correction is not applied."
        elif id not in exercises:
            yield f"{correction.place}: there is no exercise {id}; this correction is not applied."
        else:
            of_student = found.setdefault(student.student.student, {})
            of_student[id] = (*of_student.get(id, ()), correction)


def read_row(row: dict[str, str]) -> Correction:
    """The correction in a row. Raises CannotGrade."""
    place, id = row["place"], row["exercise"]
    written = row["points"].replace(",", ".").replace("\N{MINUS SIGN}", "-")
    if written and not POINTS.fullmatch(written):
        raise CannotGrade(f"{place}: {row['points']!r} are no points; write 2, +1 or -0.5.")
    if not (written or row["comment"]):
        raise CannotGrade(f"{place}: neither points nor a comment.")
    if not re.fullmatch(r"\d\d\.\d+", id):
        raise CannotGrade(f"{place}: {id!r} is no exercise; write 02.1, as text.")
    points = float(written) if written else None
    return Correction(id, points, written[:1] in ("+", "-"), row["comment"], row["by"], place)


# All files ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Adjustments:
    """The instructor's changes to the grader's verdicts. corrections: student → exercise → corrections."""

    rules: Rules = field(default_factory=Rules)
    corrections: Mapping[str, Mapping[str, tuple[Correction, ...]]] = field(default_factory=dict)


def prepared(students: list[HandedIn], folder: Path) -> tuple[list[Enrolled], Adjustments, list[str]]:
    """The class by its roster, what comes on top of its points, and lines that an instructor must hear of.

    Raises CannotGrade.
    """
    roster, rules = folder / "roster.csv", folder / "rules.toml"
    class_, lines = enrolled(students, read_roster(roster) if roster.exists() else ())
    late = read_rules(rules) if rules.exists() else Rules()
    for student in class_:
        late.due_of(student)  # to hear of a bad extension before anything is graded
    called = directory({student: student.keys for student in class_})
    corrections: dict[str, dict[str, tuple[Correction, ...]]] = {}
    exercises = [exercise.id for name in notebook_names() for exercise in of_notebook(name)]
    for file in sorted(folder.glob("corrections*.csv")):
        lines += read_corrections(file, called, exercises, corrections)
    return class_, Adjustments(late, corrections), lines
