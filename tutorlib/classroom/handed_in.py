"""The hand-ins by student: a folder, a zip or a file for each, also under Moodle's and Canvas's names."""

import re
import unicodedata
from collections import deque
from collections.abc import Collection
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

from tutorlib.classroom.hand_in_files import (
    EMPTY,
    UNPACKING,
    Entry,
    HandInReader,
    entries,
    hidden,
    legible,
    lines_about,
)
from tutorlib.grading.limited_process import Exceeded, in_child
from tutorlib.grading.local_modules import MOST_MODULES, is_module, is_other, line_of
from tutorlib.paths import notebook_names
from tutorlib.problems.wrong import count

MOODLE = re.compile(r"(?P<name>.+?)_(?P<id>\d+)_assignsubmission_[a-z]+_?(?P<file>.*)", re.DOTALL)
CANVAS = re.compile(
    r"(?P<name>[^_]+)(?P<late>_LATE)?_(?P<id>\d+)_(?P<attempt>\d+)_(?P<file>.+)", re.DOTALL | re.IGNORECASE
)
STRAY = "whose is it? Put it into a folder that has its student's name."
ONE_STUDENTS = "one student's, by where it lies, with names of others in it. Is it a class's? Grade it by itself."
NO_NOTEBOOK = "neither a notebook nor a zip; left out."
NAMED = 3  # files that a line about a hand-in without a notebook names
MOST_NOTES = 100  # lines for the report of one student's files
System = Literal["", "moodle", "canvas"]


@dataclass(frozen=True)
class Owner:
    """The owner of a file. written: the name as the file or folder has it. id: the student's in Moodle or Canvas.

    late: whether Canvas marks the file so. attempt: Canvas counts uploads upwards. download: the file's or folder's
    name where Moodle or Canvas chose it. at: when the file came, in seconds since 1970, as the course system or the
    disk has it; for a file in a student's own zip, when the zip did; 0: unknown.
    """

    written: str
    system: System = ""
    id: str = ""
    late: bool = False
    attempt: int = 0
    download: str = ""
    at: float = 0.0

    @property
    def name(self) -> str:
        return tidy_name(self.written)


@dataclass
class HandedIn:
    """What one student handed in.

    student: unique in the class. written: the name in the files' names. notebooks: files that may be notebooks, the
    oldest first. notes: lines for the report. arrivals: by the label of each file. download: the name
    that Moodle or Canvas gave to the newest of the files, or ""; a report goes back under it. modules: Python
    files, which notebooks beside them may import.
    """

    student: str
    system: System
    id: str
    written: str = ""
    notebooks: list[Entry] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    arrivals: dict[str, Owner] = field(default_factory=dict)
    download: str = ""
    modules: list[Entry] = field(default_factory=list)


class NothingHandedIn(Exception):
    """There is nothing to grade. One line."""


def handed_in(folder: Path, without: Path | None = None) -> tuple[list[HandedIn], list[str]]:
    """Each student's hand-in, by name, and a line for each file without an owner.

    folder: or the one zip that Moodle or Canvas gives for a class. without: a folder that is none of it.
    Raises NothingHandedIn.
    """
    if not folder.exists():
        raise NothingHandedIn(f"{folder}: there is no such folder.")
    if folder.is_file() and folder.suffix.lower() != ".zip":
        raise NothingHandedIn(f"{folder}: neither a folder nor a zip; name the folder of what was handed in.")
    belongs: dict[tuple[str, System, str], list[tuple[Owner, Entry]]] = {}
    stray = []
    for name in folders(folder, without):
        if own := owner((name, "")):
            belongs[own.name, own.system, own.id] = []  # an empty one is a student's too
    found = [inner for entry in entries(folder, without) for inner in first_of(entry)]
    whole, others = zips_of_classes(found, not belongs)
    stray += [f"{legible(name)}: {ONE_STUDENTS}" for name in sorted(others)]
    for entry in found:
        if own := owner(entry.parts, whole):
            own_zip = entry.members and entry.path != folder and entry.parts[0] not in whole
            came = replace(own, at=entry.path.stat().st_mtime if own_zip else entry.modified)
            belongs.setdefault((own.name, own.system, own.id), []).append((came, entry))
        elif not entry.parts:
            raise NothingHandedIn(f"{folder}: {entry.why_not}.")
        else:
            stray.append(f"{entry.label}: {STRAY if is_notebook(entry.parts[-1]) else NO_NOTEBOOK}")
    if not belongs:
        raise NothingHandedIn(f"{folder}: there are no hand-ins: it holds no folder, zip or notebook of a student.")
    names = [name for name, *_ in belongs]
    students = []
    for (name, system, id), files in sorted(belongs.items()):
        student = name if names.count(name) == 1 else f"{name} ({id or 'no id'})"
        students.append(looked_through(HandedIn(student, system, id, name), files))
    return students, stray


def first_of(entry: Entry) -> list[Entry]:
    """The entry; of a zip whose names may say whose is what, what it holds."""
    if not is_opened(entry):
        return [entry]
    try:
        return in_child(UNPACKING, opened_zip, entry)
    except Exceeded as error:
        return [replace(entry, why_not=f"unpacking it {error}")]


def is_opened(entry: Entry) -> bool:
    return entry.is_zip and len(entry.parts) <= 1 and not (entry.parts and of_system(entry.parts[0]))


def opened_zip(entry: Entry) -> list[Entry]:
    """What a zip holds; of a class's zip, also what the zips in it hold."""
    inside = HandInReader().unpacked(entry)
    return [two for one in inside for two in (opened_zip(one) if is_opened(one) else [one])]


def looked_through(found: HandedIn, files: list[tuple[Owner, Entry]]) -> HandedIn:
    """`one_students`, and where there are zips in a child process with limits."""
    if not any(entry.is_zip for _, entry in files):
        return one_students(found, files)
    try:
        return in_child(UNPACKING, one_students, found, files)
    except Exceeded as error:
        found.notes.append(f"The zips are not opened: unpacking them {error}.")
        return one_students(found, [(own, entry) for own, entry in files if not entry.is_zip])


def one_students(found: HandedIn, files: list[tuple[Owner, Entry]]) -> HandedIn:
    """A student's files put in order: what may be a notebook, and a line for each that is late or cannot be opened."""
    if len(spelled := {own.written for own, _ in files}) > 1:
        found.notes.append(f"One student's by name, in different spellings: {', '.join(map(ascii, sorted(spelled)))}.")
    found.arrivals = {entry.label: own for own, entry in files}
    reader, left, all_files = HandInReader(), deque(files), []
    while left:
        own, entry = left.popleft()
        if entry.is_zip:
            left.extendleft((own, inner) for inner in reader.unpacked(entry))
        else:
            all_files.append((own, entry))
    bad: list[tuple[Entry, str]] = []
    others: list[Entry] = []
    for own, entry in sorted(all_files, key=age):
        name = entry.parts[-1]
        found.arrivals[entry.label] = own
        found.download = own.download
        if own.late:
            found.notes.append(f"{entry.label}: handed in late.")
        if entry.why_not and (entry.why_not != EMPTY or is_notebook(name) or name.lower().endswith(".zip")):
            bad.append((entry, entry.why_not))
        elif is_notebook(name):
            found.notebooks.append(entry)
        elif is_other(name):
            (found.modules if is_module(name) else others).append(entry)
    found.modules.sort(key=lambda entry: len(entry.parts))  # those right beside a notebook count first
    others += found.modules[MOST_MODULES:]
    del found.modules[MOST_MODULES:]
    found.notes += lines_about(bad)
    if found.notebooks and others:
        found.notes.append(line_of(entry.label for entry in others))
    elif all_files and not (found.notebooks or bad):
        found.notes.append(no_notebook([entry for _, entry in all_files]))
    if (more := len(found.notes) - MOST_NOTES) > 0:
        found.notes[MOST_NOTES:] = [f"{count(more, 'more line')} about files."]
    return found


def no_notebook(files: list[Entry]) -> str:
    """The line about a hand-in that holds no notebook."""
    names = [entry.label.rpartition("/")[2] for entry in files]
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    return f"There is no notebook in this hand-in, only {', '.join(names[:NAMED])}{more}."


def age(file: tuple[Owner, Entry]) -> tuple[int, float, bool, str]:
    """Files sorted by it: the oldest first; of the same age a copy's name comes first, so that it loses."""
    own, entry = file
    return own.attempt, entry.modified, Path(entry.parts[-1]).stem in notebook_names(), entry.label


def folders(folder: Path, without: Path | None) -> list[str]:
    """The names of the folders right below."""
    inside = sorted(folder.iterdir()) if folder.is_dir() else []
    return [one.name for one in inside if one.is_dir() and not (one.is_symlink() or hidden(one.name) or one == without)]


def zips_of_classes(found: list[Entry], alone: bool) -> tuple[set[str], set[str]]:
    """The zips that hold a whole class each; and those that could, but lie beside what single students handed in.

    A student must not hand in for another by packing a zip with that name. alone: whether there is no student's folder.
    """
    inside: dict[str, list[bool]] = {}
    for entry in found:
        if len(entry.parts) > 1 and entry.parts[0].lower().endswith(".zip") and not of_system(entry.parts[0]):
            inside.setdefault(entry.parts[0], []).append(of_system(entry.parts[1]) is not None)
    whole = {name for name, named in inside.items() if all(named)}
    single = [entry for entry in found if owner(entry.parts) and not entry.why_not and entry.parts[0] not in whole]
    if single or not alone:
        whole = set()
    return whole, {name for name, named in inside.items() if any(named)} - whole


def owner(parts: tuple[str, ...], whole: Collection[str] = ()) -> Owner | None:
    """Whose the file with this path is; None where that does not say. whole: zips that hold a whole class."""
    if parts and parts[0] in whole:
        parts = parts[1:]
    if not parts:
        return None
    first = parts[0]
    if own := of_system(first):
        return own
    if len(parts) > 1 or first.lower().endswith(".zip"):
        return Owner(first[:-4] if first.lower().endswith(".zip") else first)
    return of_file(re.split(r"\.ipynb\b", first, flags=re.IGNORECASE)[0]) if is_notebook(first) else None


def is_notebook(name: str) -> bool:
    """Whether a file's name says so, also where a browser has added to it: 00_start.ipynb.txt, .ipynb.json."""
    return any(suffix.lower() == ".ipynb" for suffix in Path(name).suffixes[-2:])


def of_system(part: str) -> Owner | None:
    """The owner that a name of Moodle's or Canvas's tells."""
    if found := MOODLE.fullmatch(part):
        return Owner(found["name"], "moodle", found["id"], download=part)
    if found := CANVAS.fullmatch(part):
        return Owner(found["name"], "canvas", found["id"], bool(found["late"]), int(found["attempt"]), part)
    return None


def place_beside(entry: Entry) -> str:
    """Where a file was handed in, without what Moodle and Canvas put in front of its name or behind it."""
    *folders, name = entry.parts
    if found := MOODLE.fullmatch(name) or CANVAS.fullmatch(name):
        name = re.sub(r"-\d+(?=\.py$)", "", found["file"])
    return "/".join((*folders, name))


def of_file(stem: str) -> Owner | None:
    """ "alice" owns alice.ipynb and alice_00_start.ipynb; 00_start.ipynb has no owner."""
    for name in notebook_names():
        if stem.startswith(name):
            return None
        stem = re.sub(rf"[ _-]+{re.escape(name)}.*", "", stem)
    return Owner(stem)


def tidy_name(name: str) -> str:
    """A name in one spelling: composed letters, single spaces, nothing that does not print. See `legible`."""
    letters = (c if c.isprintable() else " " for c in unicodedata.normalize("NFC", legible(name)))
    return " ".join("".join(letters).split()) or "nameless"
