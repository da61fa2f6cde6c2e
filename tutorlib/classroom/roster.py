"""The roster: the students of the class, and the owner of each hand-in.

A student's hand-in is found by the id that Moodle or Canvas puts into its name, then by the student's name.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Generic, TypeVar

from tutorlib.classroom.handed_in import HandedIn, System, tidy_name
from tutorlib.classroom.tables import BadTable, TableRow, rows_of

POINTS_POSSIBLE = "points possible"  # Canvas's second row, which is no student
TEST_STUDENT = {"student, test", "test student"}  # Canvas's Student View
FORMATS = (
    "id,name,email; Moodle's grading worksheet or participants (Identifier or Full name or First name, Last name); "
    "Canvas's gradebook (Student, ID)"
)


@dataclass(frozen=True)
class Listed:
    """A student on the roster.

    id: what Moodle ("4711" of "Participant 4711") or Canvas puts into the names of files, or the file's own.
    number: the university's (Moodle's ID number, Canvas's SIS User ID). handed_in: Moodle's time of the submission, as
    its worksheet has it. place: the line of the file. system: whose id it is.
    """

    name: str
    id: str = ""
    email: str = ""
    number: str = ""
    login: str = ""
    section: str = ""
    handed_in: str = ""
    place: str = ""
    system: System = ""

    @property
    def names(self) -> list[str]:
        """What a folder or a file may be called beside the student's name."""
        return [self.id, self.number, self.login, self.email, self.email.partition("@")[0]]


@dataclass(frozen=True)
class Roster:
    """The students of a class, in the file's order. notes: lines about the file."""

    students: tuple[Listed, ...]
    notes: tuple[str, ...] = ()


def read_roster(text: str, file: str) -> Roster:
    """The roster in a CSV text: Moodle's or Canvas's export as it is, or columns id, name, email. Raises BadTable."""
    columns, rows = rows_of(text, file)
    system: System = ""
    read: Callable[[TableRow], Listed | None]
    if "identifier" in columns:
        system, read = "moodle", of_moodle
    elif "student" in columns and "id" in columns:
        system, read = "canvas", of_canvas
    elif {"first name", "last name"} <= set(columns) or "full name" in columns:
        system, read = "moodle", of_participants
    elif "name" in columns or "id" in columns:
        read = of_plain
    else:
        raise BadTable(f"{file}: its columns are {', '.join(filter(None, columns)) or 'nameless'}; needed: {FORMATS}.")
    found = [one for row in rows if (one := read(row))]
    for one in found:
        if not (one.name or one.id):
            raise BadTable(f"{one.place}: neither an id nor a name.")
    if not found:
        raise BadTable(f"{file}: no student is on it.")
    return without_duplicates(found, system)


def of_moodle(row: TableRow) -> Listed:
    """Of the grading worksheet; one that hides names has identifiers alone."""
    id = re.sub(r"\D+", "", row["identifier"])
    if not id:
        raise BadTable(f"{row.place}: the identifier {row['identifier']!r} is not Moodle's, like Participant 4711.")
    names = tidied(row["full name"]) or f"Participant {id}"
    return Listed(
        names,
        id,
        row["email address"],
        row["id number"],
        section=row.first("group", "groups"),
        handed_in=row["last modified (submission)"],
        place=row.place,
    )


def of_participants(row: TableRow) -> Listed:
    """Of Moodle's participants page or its grade export, which have no identifiers."""
    name = tidied(row["full name"] or f"{row['first name']} {row['last name']}")
    return Listed(name, "", row["email address"], row["id number"], section=row["groups"], place=row.place)


def of_canvas(row: TableRow) -> Listed | None:
    name = row["student"]
    if name.casefold() == POINTS_POSSIBLE or name.casefold() in TEST_STUDENT or not (name or row["id"]):
        return None
    login = row["sis login id"]
    email = login if "@" in login else ""
    return Listed(tidied(name), row["id"], email, row["sis user id"], login, row["section"], place=row.place)


def of_plain(row: TableRow) -> Listed:
    id, name = row["id"], tidied(row["name"])
    return Listed(name or id, id, row.first("email", "e-mail", "mail"), section=row["section"], place=row.place)


def tidied(name: str) -> str:
    return tidy_name(name) if name.strip() else ""


def without_duplicates(found: list[Listed], system: System) -> Roster:
    """The roster with each student once. Raises BadTable where two students cannot be told apart."""
    students: dict[tuple[str, str], Listed] = {}
    by_id: dict[str, Listed] = {}
    notes = []
    for one in found:
        key = (one.id, "" if one.id else one.name.casefold())
        if one.id and (other := by_id.get(one.id)) and other.name != one.name:
            raise BadTable(f"{one.place}: {one.name} has the id {one.id} of {other.name} ({other.place}).")
        if other := students.get(key):
            if not one.id and one.email.casefold() != other.email.casefold():
                raise BadTable(f"{one.place}: a second {one.name} ({other.place}); use a roster that has ids.")
            notes.append(f"{one.place}: {one.name} is on the roster twice; this line is left out.")
            continue
        students[key] = by_id[one.id] = one
    names = Counter(one.name for one in students.values())
    for name in [name for name, times in names.items() if times > 1]:
        ids = ", ".join(one.id or "no id" for one in students.values() if one.name == name)
        notes.append(
            f"{names[name]} students on the roster are called {name} ({ids}): they are told apart by id alone."
        )
    return Roster(tuple(replace(one, system=system) for one in students.values()), tuple(notes))


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
        directory.add(one, [f"{system} {one.id}" for system in systems if one.id], [one.name, *one.names])
    owners: dict[Listed, HandedIn] = {}
    lines = [line for roster in rosters for line in roster.notes]
    for by_id in (True, False):  # no name takes what an id has
        for student in students:
            id_there = f"{student.system} {student.id}"  # Moodle's 4711 is not Canvas's
            if by_id != (id_there in directory.by_id):
                continue
            found = directory.find(id_there, student.written)
            if isinstance(found, str):
                lines.append(f"{student.student}: not on the roster ({found}). The hand-in is graded all the same.")
            elif found in owners:
                lines.append(
                    f"{student.student}: not on the roster as another student: {found.name} has handed in as "
                    f"{owners[found].student}. Both are graded; put them into one folder if they are one student's."
                )
            else:
                owners[found] = student
    listed = {id(student): one for one, student in owners.items()}
    taken = {student.student for student in students}
    pairs = [(student, listed.get(id(student))) for student in students]
    pairs += [(absent(one, taken), one) for one in all_listed if one not in owners]
    called = Counter(one.name if one else student.student for student, one in pairs)
    found_all = []
    names: set[str] = set()
    for student, line in pairs:
        name = line.name if line else student.student
        if called[name] > 1:
            name = f"{name} ({(line.id or line.email or line.place) if line else 'not on the roster'})"
        while name in names:  # as where a student's folder is called so
            name = f"{name} (another)"
        names.add(name)
        found_all.append(Enrolled(student, line, name))
    return sorted(found_all, key=lambda one: one.name), lines


def directory_of(students: Iterable[Enrolled]) -> Directory[Enrolled]:
    """The class by every id and name that a student has."""
    directory: Directory[Enrolled] = Directory()
    for one in students:
        names = [one.name, one.student.student, one.student.written]
        ids = [one.student.id]
        if listed := one.listed:
            names += [listed.name, *listed.names]
            ids += [listed.id, listed.number]
        directory.add(one, ids, names)
    return directory


def absent(one: Listed, taken: set[str]) -> HandedIn:
    """Who handed in nothing, under a name that no hand-in has."""
    name = one.name
    if name in taken:
        name = f"{name} ({one.id or one.place})"
    taken.add(name)
    return HandedIn(name, one.system, one.id)
