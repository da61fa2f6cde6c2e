"""The hand-ins of a class, and each student's files.

A hand-in is a folder, a zip or a file for each student, also under Moodle's and Canvas's names. A zip counts as a
folder that has its name. Hidden files, environments and what macOS adds are left out. Files are read in a child process
with limits, and nothing is unpacked on disk.
"""

import re
import unicodedata
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import IO, Literal, NamedTuple

from tutorlib.classroom import CannotGrade
from tutorlib.grading.limited_process import Allowance, Exceeded, in_child
from tutorlib.grading.submission import LARGEST_NOTEBOOK
from tutorlib.paths import notebook_names

MOODLE = re.compile(r"(?P<name>.+?)_(?P<id>\d+)_assignsubmission_[a-z]+_?(?P<file>.*)", re.DOTALL)
CANVAS = re.compile(
    r"(?P<name>[^_]+)(?P<late>_LATE)?_(?P<id>\d+)_(?P<attempt>\d+)_(?P<file>.+)", re.DOTALL | re.IGNORECASE
)
STRAY = "whose is it? Put it into a folder that has its student's name."
NO_NOTEBOOK = "neither a notebook nor a zip; left out."
LINK = "a link, which is not followed"
UNPACKING = Allowance(computing_s=30, patience_s=600)  # of one student's files
MOST_NOTEBOOKS = 300  # that one student's newest answers are looked for in
NAMED = 3  # files that a line about a hand-in without a notebook names
ARCHIVES = (".zip", ".tar", ".gz", ".tgz", ".bz2", ".xz", ".7z", ".rar")
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
            stray.append(f"{as_label(path.name)}: {LINK}.")
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


# Files ---------------------------------------------------------------------------------------------------------------


class Found(NamedTuple):
    """A file on disk or in a zip. label: its place, as it can be printed. modified: seconds since 1970.

    open: gives its bytes as a stream. problem: why it is not opened, or "".
    """

    label: str
    modified: float
    upload: Upload
    open: Callable[[], IO[bytes]]
    problem: str = ""

    @property
    def name(self) -> str:
        return self.label.rpartition("/")[2]

    @property
    def age(self) -> tuple[int, float, bool, str]:
        """Sorts the oldest first; of the same age a copy's name comes first, so that it loses."""
        return self.upload.attempt, self.modified, Path(self.name).stem in notebook_names(), self.label


@dataclass(frozen=True)
class Files:
    """A student's files: (label, bytes) of the notebooks, the oldest first; lines about others."""

    notebooks: tuple[tuple[str, bytes], ...] = ()
    notes: tuple[str, ...] = ()


def files_of(student: HandedIn) -> Files:
    """A student's files, read in a child process."""
    try:
        return in_child(UNPACKING, newest_files, student)
    except Exceeded as error:
        return Files(notes=(f"None of the files is read: reading them {error}.",))


def newest_files(student: HandedIn) -> Files:
    notebooks, others = list[Found](), list[str]()
    for file in sorted((file for upload in student.uploads for file in found_in(upload)), key=lambda file: file.age):
        if is_notebook(file.name) or file.name.lower().endswith(ARCHIVES):
            notebooks.append(file)
        elif Path(file.name).stem not in notebook_names():  # the text that jupytext keeps beside a page
            others.append(file.label)
    notes = [f"{upload.label}: handed in late." for upload in student.uploads if upload.late]
    if len(notebooks) > MOST_NOTEBOOKS:
        notes.append(f"Only the newest {MOST_NOTEBOOKS} of {len(notebooks)} notebooks are looked at.")
    if others:
        more = ", …" * (len(others) > NAMED)
        notes.append(f"not taken along: {', '.join(sorted(others)[:NAMED])}{more}. The grader takes notebooks.")
    read = list[tuple[str, bytes]]()
    for file in notebooks[-MOST_NOTEBOOKS:]:
        content, problem = content_of(file)
        if problem:
            notes.append(f"{file.label}: {problem}.")
        else:
            read.append((file.label, content))
    return Files(tuple(read), tuple(notes))


def content_of(file: Found) -> tuple[bytes, str]:
    """The file's bytes, and why they cannot be read, or ""."""
    if file.problem or file.name.lower().endswith(ARCHIVES):
        return b"", file.problem or "an archive that is not opened; ask for the notebooks themselves"
    try:
        with file.open() as stream:
            content = stream.read(LARGEST_NOTEBOOK + 1)
    except MemoryError:
        raise
    except OSError as error:
        return b"", error.strerror or "cannot be read"
    except Exception:  # a damaged or encrypted member fails in many ways
        return b"", "damaged, or locked with a password; it cannot be unpacked"
    if len(content) > LARGEST_NOTEBOOK:
        return b"", f"larger than {LARGEST_NOTEBOOK // 2**20} MB"
    return content, "" if content else "an empty file"


def found_in(upload: Upload) -> Iterator[Found]:
    """The files of an upload, unread. Links are not followed."""
    for path in sorted(upload.path.rglob("*")) if upload.path.is_dir() else [upload.path]:
        place = path.relative_to(upload.path.parent)
        if any(map(hidden, place.parts[1:])) or (path.is_dir() and not path.is_symlink()):
            continue
        label, modified = as_label(str(place)), path.lstat().st_mtime
        problem = LINK if path.is_symlink() else "" if path.is_file() else "neither a file nor a folder"
        if is_zip(path.name) and not problem:
            try:
                yield from members(zipfile.ZipFile(path), label, upload)
                continue
            except Exception:  # zipfile fails in many ways
                problem = "damaged, or not a zip"
        yield Found(label, modified, upload, lambda path=path: path.open("rb"), problem)  # type: ignore[misc]


def members(archive: zipfile.ZipFile, label: str, upload: Upload) -> Iterator[Found]:
    """The files of a zip, not those of the zips in it."""
    for member in archive.infolist():
        parts = [part for part in member.filename.replace("\\", "/").split("/") if part not in ("", ".", "..")]
        if member.is_dir() or not parts or any(map(hidden, parts)):
            continue
        try:
            modified = datetime(*member.date_time).timestamp()
        except ValueError:
            modified = 0.0
        yield Found(f"{label}/{as_label('/'.join(parts))}", modified, upload, partial(archive.open, member))
