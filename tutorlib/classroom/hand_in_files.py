"""A student's files, from folders and zips, read in a child process with limits. Nothing is unpacked on disk.

A zip counts as a folder that has its name. Hidden files, environments and what macOS adds are left out.
"""

import os
import stat
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import NamedTuple

from tutorlib.classroom.handed_in import CANVAS, LINK, MOODLE, HandedIn, Upload, as_label, hidden, is_notebook, is_zip
from tutorlib.grading.limited_process import Allowance, Exceeded, in_child
from tutorlib.grading.submission import LARGEST_NOTEBOOK
from tutorlib.paths import notebook_names
from tutorlib.problems.wrong import count

UNPACKING = Allowance(computing_s=30, memory=2**31, size=2**28, patience_s=600)  # of one student's files
LARGEST_HAND_IN = 2**27  # bytes of one student's notebooks
MOST_NOTEBOOKS = 300  # that one student's newest answers are looked for in
DEEPEST = 20  # folders in folders on disk
MOST_NOTES = 100  # lines for the report of one student's files
NAMED = 3  # files that a line about a hand-in without a notebook names
ARCHIVES = (".tar", ".gz", ".tgz", ".bz2", ".xz", ".7z", ".rar")


class Unreadable(Exception):
    """A file that cannot be had. Why, in a few words."""


class Found(NamedTuple):
    """A file on disk or in a zip. label: its place, as it can be printed. modified: seconds since 1970.

    read: gives as many bytes as it is asked for; raises Unreadable.
    """

    label: str
    modified: float
    upload: Upload
    read: Callable[[int], bytes]

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
    """What a student handed in, read in a child process."""
    try:
        return in_child(UNPACKING, everything_of, student)
    except Exceeded as error:
        return Files(notes=(f"None of the files is read: reading them {error}.",))


def everything_of(student: HandedIn) -> Files:
    """The newest notebooks."""
    unread: dict[tuple[str, str], list[str]] = {}
    room, others = LARGEST_HAND_IN, list[str]()
    notebooks = list[tuple[str, bytes]]()
    all_files = sorted((one for upload in student.uploads for one in found_in(upload)), key=lambda one: one.age)
    notes = [f"{one.label}: handed in late." for one in student.uploads if one.late]
    parts = (one.label.split("/")[1] for one in all_files if "/" in one.label)
    if len({found["id"] for part in parts if (found := MOODLE.fullmatch(part) or CANVAS.fullmatch(part))}) > 1:
        notes.append("By their names, these are files of several students. Is it the zip of a class? Unpack it.")
    for one in reversed(all_files):
        if is_notebook(one.name) or is_zip(one.name) or one.name.lower().endswith(ARCHIVES):
            if room <= 0 or len(notebooks) == MOST_NOTEBOOKS:
                most = f"{LARGEST_HAND_IN // 2**20} MB" if room <= 0 else f"{MOST_NOTEBOOKS} notebooks"
                notes.append(f"{one.label}: it and all that is older are left out: more than {most} were handed in.")
                break
            if content := read_or_note(one, LARGEST_NOTEBOOK, unread, least=1):
                room -= len(content)
                notebooks.append((one.label, content))
        elif Path(one.name).stem not in notebook_names():  # the text that jupytext keeps beside a page
            others.append(one.label)
    for (_, why), labels in unread.items():
        first, *more = sorted(labels)
        notes.append(f"{first}{f' and {len(more)} more' * bool(more)}: {why}.")
    if others and notebooks:
        rest = f" and {len(others) - NAMED} more" if len(others) > NAMED else ""
        notes.append(f"not taken along: {', '.join(sorted(others)[:NAMED])}{rest}. The grader takes notebooks.")
    elif all_files and not (notebooks or unread):
        names = ", ".join(label.rpartition("/")[2] for label in sorted(others)[:NAMED])
        notes.append(f"There is no notebook in this hand-in, only {names}{', …' * (len(others) > NAMED)}.")
    if (left := len(notes) - MOST_NOTES) > 0:
        notes[MOST_NOTES:] = [f"{count(left, 'more line')} about files."]
    return Files(tuple(notebooks[::-1]), tuple(notes))


def read_or_note(one: Found, most: int, unread: dict[tuple[str, str], list[str]], least: int = 0) -> bytes | None:
    """The file's bytes; None, and its label among the unread ones of its upload, where it cannot be had."""
    try:
        content = one.read(most + 1)
        if least <= len(content) <= most:
            return content
        size = f"{most // 2**20} MB" if most >= 2**20 else f"{most // 2**10} kB"
        why = f"larger than {size}" if content else "an empty file"
    except Unreadable as error:
        why = str(error)
    unread.setdefault((one.upload.label, why), []).append(one.label)
    return None


def found_in(upload: Upload) -> Iterator[Found]:
    """The files of an upload, none of them read yet."""
    if not upload.path.is_dir():
        yield from found_at(upload.path, upload.label, upload)
    for here, inside, files in os.walk(upload.path):
        place = Path(here).relative_to(upload.path.parent)
        inside[:] = sorted(name for name in inside if not hidden(name)) if len(place.parts) < DEEPEST else []
        links = [name for name in inside if Path(here, name).is_symlink()]
        for name in sorted(name for name in (*files, *links) if not hidden(name)):
            yield from found_at(Path(here, name), as_label(str(place / name)), upload)


def found_at(path: Path, label: str, upload: Upload) -> Iterator[Found]:
    """The file there; of a zip the files in it."""
    entry = path.lstat()
    if stat.S_ISREG(entry.st_mode) and is_zip(path.name) and entry.st_size:
        try:
            yield from members(zipfile.ZipFile(path), label, upload)
            return
        except Exception:  # zipfile fails in many ways, and says so in its own words
            why = "damaged, or not a zip"
    elif stat.S_ISLNK(entry.st_mode):
        why = LINK.rstrip(".")
    elif not stat.S_ISREG(entry.st_mode):
        why = "neither a file nor a folder"
    else:
        why = "" if not path.name.lower().endswith(ARCHIVES) else "an archive that is not opened; ask for a .zip"
    yield Found(label, entry.st_mtime, upload, partial(refuse, why) if why else partial(read_file, path))


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
        read = partial(read_member, archive, member)
        if member.flag_bits & 1:
            read = partial(refuse, "locked with a password; ask for it without one")
        elif is_zip(member.filename):
            read = partial(refuse, "a zip in a zip; ask for the notebooks themselves")
        elif member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):  # others unpack all at once
            read = partial(refuse, "packed in an unusual way; ask for an ordinary zip")
        yield Found(f"{label}/{as_label('/'.join(parts))}", modified, upload, read)


def refuse(why: str, most: int) -> bytes:
    raise Unreadable(why)


def read_file(path: Path, most: int) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(most)
    except OSError as error:
        raise Unreadable(error.strerror or "cannot be read") from None


def read_member(archive: zipfile.ZipFile, member: zipfile.ZipInfo, most: int) -> bytes:
    try:
        with archive.open(member) as file:
            return file.read(most)
    except MemoryError:
        raise
    except Exception:  # a damaged member fails in many ways
        raise Unreadable("damaged; it cannot be unpacked") from None
