"""The hand-ins by student: a folder, a zip or a file for each, also under Moodle's and Canvas's names."""

import re
import unicodedata
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from tutorlib.classroom import CannotGrade
from tutorlib.paths import notebook_names

MOODLE = re.compile(r"(?P<name>.+?)_(?P<id>\d+)_assignsubmission_[a-z]+_?(?P<file>.*)", re.DOTALL)
CANVAS = re.compile(
    r"(?P<name>[^_]+)(?P<late>_LATE)?_(?P<id>\d+)_(?P<attempt>\d+)_(?P<file>.+)", re.DOTALL | re.IGNORECASE
)
STRAY = "whose is it? Put it into a folder that has its student's name."
NO_NOTEBOOK = "neither a notebook nor a zip; left out."
LINK = "a link, which is not followed."
System = Literal["", "moodle", "canvas"]


@dataclass(frozen=True)
class Upload:
    """A folder, zip or file as it lies in the class's folder, and what its name says.

    written: the student's name. id: in Moodle or Canvas. late: Canvas's mark. attempt: Canvas counts uploads upwards.
    """

    path: Path
    written: str
    system: System = ""
    id: str = ""
    late: bool = False
    attempt: int = 0

    @property
    def label(self) -> str:
        return as_label(self.path.name)


@dataclass(frozen=True)
class HandedIn:
    """One student's uploads, the newest last.

    student: unique in the class. written: the name in the uploads' names.
    """

    student: str
    system: System
    id: str
    written: str = ""
    uploads: tuple[Upload, ...] = ()


def handed_in(folder: Path, without: Path | None = None) -> tuple[list[HandedIn], list[str]]:
    """Each student's hand-in, by name, and a line for each file without an owner.

    without: a folder that is none of it. Raises CannotGrade.
    """
    if not folder.is_dir():
        raise CannotGrade(f"{folder}: no folder. Unpack the zip of a class, and name the folder.")
    belongs: dict[tuple[str, System, str], list[Upload]] = {}
    stray = []
    for path in sorted(folder.iterdir()):
        if hidden(path.name) or path == without:
            continue
        if path.is_symlink():
            stray.append(f"{as_label(path.name)}: {LINK}")
        elif own := upload_of(path):
            uploads = belongs.setdefault((tidy_name(own.written), own.system, own.id), [])
            uploads += [own] * (path.is_file() or any(path.iterdir()))  # an empty folder is a student's, too
        else:
            stray.append(f"{as_label(path.name)}: {STRAY if is_notebook(path.name) else NO_NOTEBOOK}")
    if not belongs:
        raise CannotGrade(f"{folder}: there are no hand-ins: it holds no folder, zip or notebook of a student.")
    names = [name for name, *_ in belongs]
    students = []
    for (name, system, id), uploads in sorted(belongs.items()):
        student = name if names.count(name) == 1 else f"{name} ({id or 'no id'})"
        uploads.sort(key=lambda upload: (upload.attempt, upload.path.stat().st_mtime))
        students.append(HandedIn(student, system, id, name, tuple(uploads)))
    return students, stray


def upload_of(path: Path) -> Upload | None:
    """The upload in a path; None where its name does not say whose it is."""
    name = path.name
    if found := MOODLE.fullmatch(name):
        return Upload(path, found["name"], "moodle", found["id"])
    if found := CANVAS.fullmatch(name):
        return Upload(path, found["name"], "canvas", found["id"], bool(found["late"]), int(found["attempt"]))
    if path.is_dir():
        return Upload(path, name)
    if is_zip(name):
        return Upload(path, path.stem)
    stem = re.split(r"\.ipynb\b", name, flags=re.IGNORECASE)[0]
    if not is_notebook(name) or stem.startswith(tuple(notebook_names())):
        return None
    return Upload(path, re.sub(rf"[ _-]+({'|'.join(notebook_names())}).*", "", stem))  # alice of alice_00_start.ipynb


def hidden(name: str) -> bool:
    """Whether a tool made a file or folder: .ipynb_checkpoints, ._00_start.ipynb, __MACOSX, an environment."""
    return name.startswith((".", "__MACOSX")) or name == "site-packages"


def is_zip(name: str) -> bool:
    return name.lower().endswith(".zip")


def is_notebook(name: str) -> bool:
    """Whether a file's name says so, also where a browser has added to it: 00_start.ipynb.txt, .ipynb.json."""
    return any(suffix.lower() == ".ipynb" for suffix in Path(name).suffixes[-2:])


def legible(name: str) -> str:
    """A name as text: bytes in it that are no UTF-8, as of an older system, are written as \\xe9."""
    return name.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def as_label(name: str) -> str:
    """A name as it can be printed and stored."""
    return "".join(c if c.isprintable() else " " if c.isspace() else "\N{REPLACEMENT CHARACTER}" for c in legible(name))


def tidy_name(name: str) -> str:
    """A name in one spelling: composed letters, single spaces, nothing that does not print. See `legible`."""
    letters = (c if c.isprintable() else " " for c in unicodedata.normalize("NFC", legible(name)))
    return " ".join("".join(letters).split()) or "nameless"
