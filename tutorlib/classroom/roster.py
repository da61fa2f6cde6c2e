"""The roster: the students of the class, and the owner of each hand-in.

A student's hand-in is found by the id that Moodle or Canvas puts into its name, then by the student's name.
"""

import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

from tutorlib.classroom import CannotGrade
from tutorlib.classroom.files import read_csv
from tutorlib.classroom.hand_ins import HandedIn, System, tidy_name

NO_STUDENTS = {"points possible", "student, test", "test student"}  # Canvas's second row and its Student View
COLUMNS = {  # field of `Listed` → its column in Moodle's worksheet and participants, Canvas's gradebook, other tables
    "id": ("identifier", "id"),
    "name": ("full name", "student", "name"),
    "email": ("email address", "email", "e-mail", "mail"),
    "number": ("id number", "sis user id"),
    "login": ("sis login id",),
    "section": ("section", "group", "groups"),
    "handed_in": ("handed in", "last modified (submission)"),
    "extension": ("extension",),
    "first": ("first name",),
    "last": ("last name",),
}
FORMATS = (
    "id,name,email; Moodle's grading worksheet or participants (Identifier or Full name or First name, Last name); "
    "Canvas's gradebook (Student, ID)"
)


@dataclass(frozen=True)
class Listed:
    """A student on the roster.

    id: what Moodle ("4711" of "Participant 4711") or Canvas puts into the names of files, or the file's own.
    number: the university's (Moodle's ID number, Canvas's SIS User ID). handed_in: the time of the submission, as
    Moodle's worksheet has it. extension: a later deadline. place: the line of the file. system: whose id it is.
    """

    name: str
    id: str = ""
    email: str = ""
    number: str = ""
    login: str = ""
    section: str = ""
    handed_in: str = ""
    extension: str = ""
    place: str = ""
    system: System = ""

    @property
    def names(self) -> list[str]:
        """The names that the student's folder or file may have."""
        return [self.name, self.id, self.number, self.login, self.email, self.email.partition("@")[0]]


def read_roster(path: Path) -> list[Listed]:
    """The students in a CSV file: Moodle's or Canvas's export as it is, or columns id, name, email.

    Raises CannotGrade, also where two students cannot be told apart.
    """
    columns, rows = read_csv(path, COLUMNS)
    system: System = ""
    if columns & {"identifier", "full name"} or columns >= {"first name", "last name"}:
        system = "moodle"
    elif columns >= {"student", "id"}:
        system = "canvas"
    elif not columns & {"id", "name"}:
        raise CannotGrade(f"{path.name}: its columns are {', '.join(sorted(columns)) or 'none'}; needed: {FORMATS}.")
    students: dict[str, Listed] = {}
    for entry in (listed(row, system) for row in rows if row["name"].casefold() not in NO_STUDENTS):
        if (other := students.setdefault(entry.id or entry.name.casefold(), entry)) is not entry:
            raise CannotGrade(f"{entry.place}: {entry.name} has the {'id' if entry.id else 'name'} of {other.place}.")
    if not students:
        raise CannotGrade(f"{path.name}: no student is on it.")
    return list(students.values())


def listed(row: dict[str, Any], system: System) -> Listed:
    """The student in a row. Raises CannotGrade."""
    full_name = f"{row.pop('first')} {row.pop('last')}".strip()
    if not (name := row["name"] or full_name or row["id"]):
        raise CannotGrade(f"{row['place']}: neither an id nor a name.")
    if system == "moodle":
        row["id"] = re.sub(r"\D+", "", row["id"])
    if "@" in row["login"]:
        row["email"] = row["email"] or row["login"]
    return Listed(**row | {"name": tidy_name(name)}, system=system)


# Finding a student ------------------------------------------------------------------------------------------------

Student = TypeVar("Student")
Directory = Mapping[str, list[Student]]  # what a student may be called, as `id_key` and `letters` write it → who may be


def directory(keys: Mapping[Student, Iterable[str]]) -> Directory[Student]:
    """Students by every key that each has."""
    found = defaultdict(list)
    for student, of_student in keys.items():
        for key in set(of_student):
            found[key].append(student)
    return found


def find_in(students: Directory[Student], id: str, name: str) -> Student | str:
    """The student with the id, or else with the name; or a few words why no student or several have it."""
    candidates = (id and students.get(id_key(id))) or (name and students.get(letters(name))) or []
    if len(candidates) == 1:
        return candidates[0]
    called = name or id
    return f"several students are called {called}; give the id" if candidates else f"no student is called {called}"


def id_key(id: str) -> str:
    return f"#{id.casefold()}"


def letters(name: str) -> str:
    """A name's letters and digits alone, without accents, in lower case: Canvas spells names so in names of files."""
    plain = unicodedata.normalize("NFKD", name).casefold()
    return "".join(c for c in plain if c.isalnum())


def spellings(names: Iterable[str]) -> set[str]:
    """The names' letters, begun at each of their words: "Liddell, Alice" is "Alice Liddell", and "liddellalice"."""
    words = [[*filter(None, map(letters, re.split(r"[\s,]+", name)))] for name in names]
    return {"".join(of_name[n:] + of_name[:n]) for of_name in words for n in range(len(of_name))}


@dataclass(frozen=True)
class Enrolled:
    """A student of the class: what was handed in, and the line of the roster, or what the hand-in tells of it.

    name: unique in the class.
    """

    student: HandedIn
    listed: Listed
    name: str

    @property
    def keys(self) -> set[str]:
        """Every id and name that the student has, for a directory."""
        ids = {id_key(id) for id in (self.student.id, self.listed.id, self.listed.number) if id}
        return ids | spellings([self.name, self.student.student, self.student.written, *self.listed.names])


def enrolled(students: Iterable[HandedIn], roster: Iterable[Listed]) -> tuple[list[Enrolled], list[str]]:
    """The class by name: each hand-in with its line of the roster, and those who handed in nothing; lines about both.

    Without a roster the class is those who handed in.
    """
    students, roster = list(students), list(roster)
    if not roster:
        return [Enrolled(student, told_by(student), student.student) for student in students], []
    keys = {}
    for entry in roster:
        systems = [entry.system] if entry.system else ["", "moodle", "canvas"]  # Moodle's 4711 is not Canvas's
        keys[entry] = {id_key(f"{system} {entry.id}") for system in systems if entry.id} | spellings(entry.names)
    by_key, owners, lines = directory(keys), dict[Listed, HandedIn](), list[str]()
    ids = {student: f"{student.system} {student.id}" for student in students}
    for student in sorted(students, key=lambda student: id_key(ids[student]) not in by_key):  # first by id
        found = find_in(by_key, ids[student], student.written)
        if isinstance(found, str):
            lines.append(f"{student.student}: not on the roster ({found}). The hand-in is graded all the same.")
        elif owners.setdefault(found, student) is not student:
            lines.append(
                f"{student.student}: not on the roster as another student: {found.name} has handed in as "
                f"{owners[found].student}. Both are graded; put them into one folder if they are one student's."
            )
    of_student = {owner.student: entry for entry, owner in owners.items()}
    pairs = [(student, of_student.get(student.student)) for student in students]
    absent = (entry for entry in roster if entry not in owners)
    pairs += [(HandedIn(f"{entry.place}\n", entry.system, entry.id), entry) for entry in absent]  # no hand-in's name
    called = Counter((line or told_by(student)).name for student, line in pairs)
    class_ = []
    for student, line in pairs:
        there = told_by(student)
        if line:
            there = replace(line, id=line.id or student.id, system=student.system or line.system)
        more = f" ({(line.id or line.place) if line else 'not on the roster'})" * (called[there.name] > 1)
        class_.append(Enrolled(student, there, f"{there.name}{more}"))
    return sorted(class_, key=lambda student: student.name), lines


def told_by(student: HandedIn) -> Listed:
    """A student who is on no roster, by the names of the uploads."""
    return Listed(student.student, student.id, system=student.system)
