"""The roster: the students of the class, and the owner of each hand-in.

A student's hand-in is found by the id that Moodle or Canvas puts into its name, then by the student's name.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from tutorlib.classroom.handed_in import HandedIn, System, tidy_name
from tutorlib.classroom.tables import BadTable, TableRow, rows_of

NO_STUDENTS = {"points possible", "student, test", "test student"}  # Canvas's second row and its Student View
COLUMNS = {  # of `Listed` → as Moodle's worksheet, Moodle's participants, Canvas's gradebook and others call them
    "id": ("identifier", "id"),
    "name": ("full name", "student", "name"),
    "email": ("email address", "email", "e-mail", "mail"),
    "number": ("id number", "sis user id"),
    "login": ("sis login id",),
    "section": ("section", "group", "groups"),
    "handed_in": ("handed in", "last modified (submission)"),
    "extension": ("extension",),
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
        """What a folder or a file of the student's may be called."""
        return [self.name, self.id, self.number, self.login, self.email, self.email.partition("@")[0]]


@dataclass(frozen=True)
class Roster:
    """The students of a class, in the file's order. notes: lines about the file."""

    students: tuple[Listed, ...]
    notes: tuple[str, ...] = ()


def read_roster(text: str, file: str) -> Roster:
    """The roster in a CSV text: Moodle's or Canvas's export as it is, or columns id, name, email.

    Raises BadTable, also where two students cannot be told apart.
    """
    columns, rows = rows_of(text, file)
    there = set(columns)
    system: System = ""
    if there & {"identifier", "full name"} or there >= {"first name", "last name"}:
        system = "moodle"
    elif there >= {"student", "id"}:
        system = "canvas"
    elif not there & {"id", "name"}:
        raise BadTable(f"{file}: its columns are {', '.join(filter(None, columns)) or 'nameless'}; needed: {FORMATS}.")
    students: dict[tuple[str, str], Listed] = {}
    notes = []
    for one in (listed(row, system) for row in rows if row["student"].casefold() not in NO_STUDENTS):
        other = students.setdefault((one.id, "" if one.id else one.name.casefold()), one)
        if one.id and other.name != one.name:
            raise BadTable(f"{one.place}: {one.name} has the id {one.id} of {other.name} ({other.place}).")
        if not one.id and one.email.casefold() != other.email.casefold():
            raise BadTable(f"{one.place}: a second {one.name} ({other.place}); use a roster that has ids.")
        if one is not other:
            notes.append(f"{one.place}: {one.name} is on the roster twice; this line is left out.")
    if not students:
        raise BadTable(f"{file}: no student is on it.")
    for name, times in Counter(one.name for one in students.values()).items():
        if times > 1:
            ids = ", ".join(one.id or "no id" for one in students.values() if one.name == name)
            notes.append(f"{times} students on the roster are called {name} ({ids}): they are told apart by id alone.")
    return Roster(tuple(students.values()), tuple(notes))


def listed(row: TableRow, system: System) -> Listed:
    """The student in a row. Raises BadTable."""
    fields = {field: row.first(*columns) for field, columns in COLUMNS.items()}
    name = fields["name"] or f"{row['first name']} {row['last name']}".strip()
    if system == "moodle" and (written := fields["id"]):
        fields["id"] = re.sub(r"\D+", "", written)
        if not fields["id"]:
            raise BadTable(f"{row.place}: the identifier {written!r} is not Moodle's, like Participant 4711.")
        name = name or f"Participant {fields['id']}"
    if "@" in fields["login"]:
        fields["email"] = fields["email"] or fields["login"]
    if not (name := name or fields["id"]):
        raise BadTable(f"{row.place}: neither an id nor a name.")
    return Listed(**fields | {"name": tidy_name(name)}, place=row.place, system=system)


# Finding a student ------------------------------------------------------------------------------------------------

Student = TypeVar("Student")


class Directory(Generic[Student]):
    """Students by id and by name. A name that several have finds none of them."""

    def __init__(self) -> None:
        self.by_id: dict[str, list[Student]] = {}
        self.by_name: dict[str, list[Student]] = {}

    def add(self, student: Student, ids: Iterable[str], names: Iterable[str]) -> None:
        for id in {id.casefold() for id in ids if id}:
            self.by_id.setdefault(id, []).append(student)
        for spelled in {spelled for name in names for spelled in spellings(name)}:
            self.by_name.setdefault(spelled, []).append(student)

    def find(self, id: str, name: str) -> Student | str:
        """The student with the id, or else with the name; or a few words why there is none."""
        candidates = self.by_id.get(id.casefold(), []) if id else []
        if not candidates and name:
            candidates = self.by_name.get(letters(name), [])
        if len(candidates) == 1:
            return candidates[0]
        called = name or id
        return f"several students are called {called}; give the id" if candidates else f"no student is called {called}"


def letters(name: str) -> str:
    """A name's letters and digits alone, without accents, in lower case: Canvas spells names so in names of files."""
    plain = unicodedata.normalize("NFKD", name).casefold()
    return "".join(c for c in plain if c.isalnum())


def spellings(name: str) -> set[str]:
    """A name's letters, begun at each of its words: "Liddell, Alice" is "Alice Liddell", and "liddellalice"."""
    words = [found for word in re.split(r"[\s,]+", name) if (found := letters(word))]
    return {"".join(words[n:] + words[:n]) for n in range(len(words))}


@dataclass(frozen=True)
class Enrolled:
    """A student of the class: what was handed in, and the line of the roster. name: unique in the class."""

    student: HandedIn
    listed: Listed | None
    name: str


def enrolled(students: Iterable[HandedIn], rosters: Sequence[Roster]) -> tuple[list[Enrolled], list[str]]:
    """The class by name: each hand-in with its line of a roster, and those who handed in nothing; lines about both.

    Without a roster the class is those who handed in.
    """
    students = list(students)
    if not rosters:
        return [Enrolled(one, None, one.student) for one in students], []
    directory: Directory[Listed] = Directory()
    all_listed = [one for roster in rosters for one in roster.students]
    for one in all_listed:
        systems = [one.system] if one.system else ["", "moodle", "canvas"]
        directory.add(one, [f"{system} {one.id}" for system in systems if one.id], one.names)
    owners: dict[Listed, HandedIn] = {}
    lines = [line for roster in rosters for line in roster.notes]
    by_id = {one.student: f"{one.system} {one.id}" for one in students}  # Moodle's 4711 is not Canvas's
    for student in sorted(students, key=lambda one: by_id[one.student] not in directory.by_id):
        found = directory.find(by_id[student.student], student.written)  # first by id: no name takes what an id has
        if isinstance(found, str):
            lines.append(f"{student.student}: not on the roster ({found}). The hand-in is graded all the same.")
        elif owners.setdefault(found, student) is not student:
            lines.append(
                f"{student.student}: not on the roster as another student: {found.name} has handed in as "
                f"{owners[found].student}. Both are graded; put them into one folder if they are one student's."
            )
    of_student = {owner.student: one for one, owner in owners.items()}
    pairs = [(student, of_student.get(student.student)) for student in students]
    pairs += [(absent(one, by_id), one) for one in all_listed if one not in owners]
    called = Counter(one.name if one else student.student for student, one in pairs)
    found_all: dict[str, Enrolled] = {}
    for student, line in pairs:
        name = line.name if line else student.student
        if called[name] > 1:
            name = f"{name} ({(line.id or line.email or line.place) if line else 'not on the roster'})"
        while name in found_all:  # as where a student's folder is called so
            name = f"{name} (another)"
        found_all[name] = Enrolled(student, line, name)
    return [found_all[name] for name in sorted(found_all)], lines


def absent(one: Listed, taken: dict[str, str]) -> HandedIn:
    """Who handed in nothing, under a name that no hand-in has."""
    name = f"{one.name} ({one.id or one.place})" if one.name in taken else one.name
    taken[name] = ""
    return HandedIn(name, one.system, one.id)


def directory_of(students: Iterable[Enrolled]) -> Directory[Enrolled]:
    """The class by every id and name that a student has."""
    directory: Directory[Enrolled] = Directory()
    for one in students:
        listed = one.listed or Listed("")
        names = [one.name, one.student.student, one.student.written, *listed.names]
        directory.add(one, [one.student.id, listed.id, listed.number], names)
    return directory
