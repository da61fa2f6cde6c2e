"""Lists every file in a folder and in its zips, without unpacking, and reads files up to a limit.

A zip counts as a folder that has its name. Hidden files and what macOS adds are no files. `handed_in` and `run` open
zips in child processes with limits alone (`grading.limited_process`): what crosses are entries.
"""

import io
import os
import stat
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from pathlib import Path
from typing import BinaryIO

from tutorlib.classroom.unpacking import TooMuch, Unpacking, Unreadable
from tutorlib.grading.submission import LARGEST_NOTEBOOK

LARGEST_ZIP = 2**28  # bytes of a zip inside another,
MOST_PACKED = 50  # times the bytes that it takes there: a zip of work can hardly be packed again
MOST_FILES = 5000  # in one zip, hidden ones and those of environments not counted; or below one folder of the first
DEEPEST = 20  # folders in folders; and zips in zips count ten each
ZIP_DEPTH = 10
EMPTY = "an empty file"
LOCKED = "locked with a password; ask for it without one"


@dataclass(frozen=True, eq=False)
class OnDisk:
    """A file of this machine."""

    path: Path

    def open(self, unpacking: Unpacking) -> BinaryIO:
        return self.path.open("rb")

    def read(self, unpacking: Unpacking) -> bytes:
        return unpacking.read(lambda: self.open(unpacking), LARGEST_NOTEBOOK)


@dataclass(frozen=True, eq=False)
class Packed:
    """A zip. source: where it is. depth: 1, or one more than that of the zip it is in."""

    source: "OnDisk | ZipMember"
    depth: int

    def archive(self, unpacking: Unpacking) -> zipfile.ZipFile:
        return unpacking.archive(self, lambda: self.source.open(unpacking))


@dataclass(frozen=True, eq=False)
class ZipMember:
    """What a zip holds under one name. most: bytes of it that are read, whatever size it claims to have."""

    packed: Packed
    info: zipfile.ZipInfo
    most: int

    def open(self, unpacking: Unpacking) -> BinaryIO:
        return io.BytesIO(self.read(unpacking))

    def read(self, unpacking: Unpacking) -> bytes:
        opened = lambda: self.packed.archive(unpacking).open(self.info)  # noqa: E731
        return unpacking.read(opened, self.most)  # type: ignore[arg-type]


@dataclass(frozen=True)
class Entry:
    """A file, by its place below the folder: ("alice.zip", "work", "00_start.ipynb"). Plain data, also where it is.

    modified: seconds since 1970, as its folder or zip has it. why_not: why it cannot be read, where that is plain
    beforehand. packed: where it is a zip; see `unpacked`.
    """

    parts: tuple[str, ...]
    modified: float
    source: OnDisk | ZipMember | None = None
    why_not: str = ""
    packed: Packed | None = None

    def read(self, unpacking: Unpacking) -> bytes:
        """Its bytes. Raises Unreadable."""
        if not self.source or self.packed:
            raise Unreadable(self.why_not or "a zip")
        return self.source.read(unpacking)

    @property
    def label(self) -> str:
        """Its place, as it can be printed and stored."""
        letters = legible("/".join(self.parts))
        return "".join(c if c.isprintable() else " " if c.isspace() else "\N{REPLACEMENT CHARACTER}" for c in letters)


def entries(path: Path, without: Path | None = None, parts: tuple[str, ...] = ()) -> Iterator[Entry]:
    """The files below a folder, by name, or the one zip that `path` is; those below `without` are left out.

    What is no file, and what no file can be read from, is an entry whose `why_not` says so.
    """
    if path.is_file():
        yield from file_entries(path, parts)
        return
    try:
        inside = sorted(os.scandir(path), key=lambda one: one.name)
    except OSError as error:
        yield broken(parts, error.strerror or "cannot be read")
        return
    for one in inside:
        place, here = (*parts, one.name), path / one.name
        if hidden(one.name) or here == without:
            continue
        if one.is_symlink():
            yield broken(place, "a link, which is not followed")
        elif not one.is_dir():
            yield from file_entries(here, place)
        elif len(place) > DEEPEST:
            yield broken(place, "too many folders in folders")
        else:
            below = entries(here, without, place)
            yield from islice(below, None if parts else MOST_FILES)
            if not parts and next(below, None):
                yield broken((*place, "..."), f"more than {MOST_FILES} files; the others are left out")


def file_entries(path: Path, parts: tuple[str, ...]) -> Iterator[Entry]:
    """The entry of a file."""
    try:
        found = path.lstat()
    except OSError as error:
        yield broken(parts, error.strerror or "cannot be read")
        return
    if not stat.S_ISREG(found.st_mode):
        yield broken(parts, "neither a file nor a folder")
    elif not found.st_size:
        yield broken(parts, EMPTY)
    elif path.suffix.lower() == ".zip":
        yield zip_entry(parts, found.st_mtime, OnDisk(path), 1)
    else:
        yield Entry(parts, found.st_mtime, OnDisk(path))


def zip_entry(parts: tuple[str, ...], modified: float, source: OnDisk | ZipMember, depth: int) -> Entry:
    return Entry(parts, modified, source, packed=Packed(source, depth))


def unpacked(entry: Entry, unpacking: Unpacking) -> Iterator[Entry]:
    """What a zip holds, and not what the zips in it hold; where it cannot be read, one entry that says so.

    Raises TooMuch.
    """
    assert entry.packed
    parts, packed = entry.parts, entry.packed
    try:
        found = packed.archive(unpacking).infolist()
    except TooMuch:
        raise
    except OSError as error:
        yield broken(parts, error.strerror or "cannot be read")
        return
    except Unreadable as error:
        yield broken(parts, str(error))
        return
    members = [one for one in found if not one.is_dir() and not unassigned(one.filename)]
    if len(members) > MOST_FILES:
        yield broken(parts, f"a zip of more than {MOST_FILES} files")
        return
    if not members:
        yield broken(parts, "an empty zip")
    for member in members:
        inner = path_within(member.filename)
        place = (*parts, *inner)
        if not inner:
            continue
        if ".." in inner or member.filename.startswith("/"):
            yield broken(place, "its name leads out of its zip")
        elif len(inner) > DEEPEST:
            yield broken((*parts, *inner[:2], inner[-1]), "too many folders in folders")
        elif member.flag_bits & 1:
            yield broken(place, LOCKED)
        elif not member.file_size:
            yield broken(place, EMPTY)
        elif not member.filename.lower().endswith(".zip"):
            yield Entry(place, when(member), ZipMember(packed, member, LARGEST_NOTEBOOK))
        elif packed.depth * ZIP_DEPTH >= DEEPEST:
            yield broken(place, "too many zips in zips")
        elif member.file_size > MOST_PACKED * max(member.compress_size, 2**14):
            yield broken(place, "a zip that swells when it is unpacked")
        else:
            yield zip_entry(place, when(member), ZipMember(packed, member, LARGEST_ZIP), packed.depth + 1)


def legible(name: str) -> str:
    """A name as text: bytes in it that are no UTF-8, as of an older system, are written as \\xe9."""
    return name.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def broken(parts: tuple[str, ...], why: str) -> Entry:
    return Entry(parts, 0.0, why_not=why)


def path_within(name: str) -> tuple[str, ...]:
    """The folders and the name of a zip's member."""
    return tuple(part for part in name.replace("\\", "/").split("/") if part not in ("", "."))


def unassigned(name: str) -> bool:
    """Whether a zip's member lies in what is hidden, or in an environment of Python's."""
    return any(part == "site-packages" or (part != ".." and hidden(part)) for part in path_within(name))


def hidden(name: str) -> bool:
    """Whether a tool made a file or folder: .ipynb_checkpoints, ._00_start.ipynb, __MACOSX."""
    return name.startswith((".", "__MACOSX"))


def when(member: zipfile.ZipInfo) -> float:
    """A member's time, to two seconds, as zips have it; 0 where it is none."""
    try:
        return datetime(*member.date_time).timestamp()
    except ValueError:
        return 0.0
