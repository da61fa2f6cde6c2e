"""A student's files, from folders and zips, read in a child process with limits. Nothing is unpacked on disk.

A zip counts as a folder that has its name. Hidden files, environments and what macOS adds are left out.
"""

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

UNPACKING = Allowance(computing_s=30, memory=2**31, size=2**28, patience_s=600)  # of one student's files
MOST_NOTEBOOKS = 300  # that one student's newest answers are looked for in
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
    """A student's files, read in a child process."""
    try:
        return in_child(UNPACKING, everything_of, student)
    except Exceeded as error:
        return Files(notes=(f"None of the files is read: reading them {error}.",))


def everything_of(student: HandedIn) -> Files:
    """The newest notebooks."""
    unread: dict[tuple[str, str], list[str]] = {}  # upload and reason → labels
    others, notebooks = list[str](), list[tuple[str, bytes]]()
    all_files = sorted((file for upload in student.uploads for file in found_in(upload)), key=lambda file: file.age)
    notes = [f"{upload.label}: handed in late." for upload in student.uploads if upload.late]
    parts = (file.label.split("/")[1] for file in all_files if "/" in file.label)
    if len({found["id"] for part in parts if (found := MOODLE.fullmatch(part) or CANVAS.fullmatch(part))}) > 1:
        notes.append("By their names, these are files of several students. Is it the zip of a class? Unpack it.")
    for file in reversed(all_files):
        if is_notebook(file.name) or is_zip(file.name) or file.name.lower().endswith(ARCHIVES):
            if len(notebooks) == MOST_NOTEBOOKS:
                notes.append(
                    f"{file.label}: it and all older files are left out: more than {MOST_NOTEBOOKS} notebooks."
                )
                break
            if content := read_or_note(file, LARGEST_NOTEBOOK, unread, least=1):
                notebooks.append((file.label, content))
        elif Path(file.name).stem not in notebook_names():  # the text that jupytext keeps beside a page
            others.append(file.label)
    for (_, why), labels in unread.items():
        first, *more = sorted(labels)
        notes.append(f"{first}{f' and {len(more)} more' * bool(more)}: {why}.")
    if others and notebooks:
        rest = f" and {len(others) - NAMED} more" if len(others) > NAMED else ""
        notes.append(f"not taken along: {', '.join(sorted(others)[:NAMED])}{rest}. The grader takes notebooks.")
    elif all_files and not (notebooks or unread):
        names = ", ".join(label.rpartition("/")[2] for label in sorted(others)[:NAMED])
        notes.append(f"There is no notebook in this hand-in, only {names}{', …' * (len(others) > NAMED)}.")
    return Files(tuple(notebooks[::-1]), tuple(notes))


def read_or_note(file: Found, most: int, unread: dict[tuple[str, str], list[str]], least: int = 0) -> bytes | None:
    """The file's bytes; None, with its label added to `unread`, if it cannot be read or its size is out of bounds."""
    try:
        content = file.read(most + 1)
        if least <= len(content) <= most:
            return content
        size = f"{most // 2**20} MB" if most >= 2**20 else f"{most // 2**10} kB"
        why = f"larger than {size}" if content else "an empty file"
    except Unreadable as error:
        why = str(error)
    unread.setdefault((file.upload.label, why), []).append(file.label)
    return None


def found_in(upload: Upload) -> Iterator[Found]:
    """The files of an upload, unread. Links are not followed."""
    for path in sorted(upload.path.rglob("*")) if upload.path.is_dir() else [upload.path]:
        place = path.relative_to(upload.path.parent)
        if any(map(hidden, place.parts[1:])) or (path.is_dir() and not path.is_symlink()):
            continue
        label = as_label(str(place))
        if is_zip(path.name) and path.is_file() and not path.is_symlink():
            yield from members(path, label, upload)
        else:
            yield Found(label, path.lstat().st_mtime, upload, partial(read_file, path))


def members(path: Path, label: str, upload: Upload) -> Iterator[Found]:
    """The files of a zip, not those of the zips in it; the zip itself if it cannot be opened."""
    try:
        archive = zipfile.ZipFile(path)
    except Exception:  # zipfile fails in many ways
        yield Found(label, path.stat().st_mtime, upload, refuse)
        return
    for member in archive.infolist():
        parts = [part for part in member.filename.replace("\\", "/").split("/") if part not in ("", ".", "..")]
        if member.is_dir() or not parts or any(map(hidden, parts)):
            continue
        try:
            modified = datetime(*member.date_time).timestamp()
        except ValueError:
            modified = 0.0
        yield Found(f"{label}/{as_label('/'.join(parts))}", modified, upload, partial(read_member, archive, member))


def refuse(most: int) -> bytes:
    raise Unreadable("damaged, or not a zip")


def read_file(path: Path, most: int) -> bytes:
    """The first `most` bytes of a file on disk. Raises Unreadable."""
    if path.is_symlink():
        raise Unreadable(LINK.rstrip("."))
    if not path.is_file():
        raise Unreadable("neither a file nor a folder")
    if path.name.lower().endswith(ARCHIVES):
        raise Unreadable("an archive that is not opened; ask for a .zip")
    try:
        with path.open("rb") as file:
            return file.read(most)
    except OSError as error:
        raise Unreadable(error.strerror or "cannot be read") from None


def read_member(archive: zipfile.ZipFile, member: zipfile.ZipInfo, most: int) -> bytes:
    """The first `most` bytes of a file in a zip. Raises Unreadable."""
    if is_zip(member.filename):
        raise Unreadable("a zip in a zip; ask for the notebooks themselves")
    try:
        with archive.open(member) as file:
            return file.read(most)
    except MemoryError:
        raise
    except Exception:  # a damaged or encrypted member fails in many ways
        raise Unreadable("damaged, or locked with a password; it cannot be unpacked") from None
