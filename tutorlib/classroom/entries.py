"""Every file below a folder, and inside the zips there: nothing is unpacked, and nothing larger than it may be is read.

A zip counts as a folder that has its name. Hidden files and what macOS adds are no files.
"""

import io
import os
import stat
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import BinaryIO

LARGEST_NOTEBOOK = 2**25  # bytes; one with many pictures has 2**20
LARGEST_ZIP = 2**28  # bytes of a zip inside another,
MOST_PACKED = 50  # times the bytes that it takes there: a zip of work can hardly be packed again
MOST_FILES = 5000  # in one zip, hidden ones and those of environments not counted
DEEPEST = 20  # folders in folders; and zips in zips count ten each
ZIP_DEPTH = 10


class Unreadable(Exception):
    """A file that cannot be had. Why, in a few words."""


@dataclass(frozen=True)
class Entry:
    """A file, by its place below the folder: ("alice.zip", "work", "00_start.ipynb").

    modified: seconds since 1970, as its folder or zip has it. read: its bytes; raises Unreadable.
    why_not: why it cannot be read, where that is plain beforehand.
    """

    parts: tuple[str, ...]
    modified: float
    read: Callable[[], bytes]
    why_not: str = ""

    @property
    def label(self) -> str:
        """Its place, as it can be printed and stored."""
        letters = legible("/".join(self.parts))
        return "".join(c if c.isprintable() else " " if c.isspace() else "\N{REPLACEMENT CHARACTER}" for c in letters)


def entries(path: Path, without: Path | None = None, parts: tuple[str, ...] = ()) -> Iterator[Entry]:
    """The files below a folder, or inside a zip, by name; those below `without` are left out.

    What is no file, and what no file can be read from, is an entry whose `read` says so.
    """
    if path.is_file():
        yield from zipped(lambda: path.open("rb"), parts, path.stat().st_mtime)
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
        elif one.is_dir():
            deep = len(place) > DEEPEST
            yield from [broken(place, "too many folders in folders")] if deep else entries(here, without, place)
        else:
            yield from file_entries(here, place)


def file_entries(path: Path, parts: tuple[str, ...]) -> Iterator[Entry]:
    """The entry of a file, or those inside it where it is a zip."""
    try:
        found = path.lstat()
    except OSError as error:
        yield broken(parts, error.strerror or "cannot be read")
        return
    if not stat.S_ISREG(found.st_mode):
        yield broken(parts, "neither a file nor a folder")
    elif path.suffix.lower() == ".zip":
        yield from zipped(lambda: path.open("rb"), parts, found.st_mtime)
    else:
        yield Entry(parts, found.st_mtime, lambda: read_at_most(lambda: path.open("rb"), LARGEST_NOTEBOOK))


def zipped(opened: Callable[[], BinaryIO], parts: tuple[str, ...], modified: float, depth: int = 1) -> Iterator[Entry]:
    """What a zip holds; where it cannot be read, or holds too much, one entry that says so."""
    try:
        with opened() as file, zipfile.ZipFile(file) as archive:
            members = [one for one in archive.infolist() if not one.is_dir() and not nobodys(one.filename)]
    except Exception as error:  # zipfile fails in many ways
        yield broken(parts, f"not a zip: {error}")
        return
    if len(members) > MOST_FILES:
        yield broken(parts, f"a zip of more than {MOST_FILES} files")
        return
    if not members:
        yield broken(parts, "nothing is in this zip")
    for member in members:
        inner = path_within(member.filename)
        place = (*parts, *inner)
        if not inner:
            continue
        if ".." in inner or member.filename.startswith("/"):
            yield broken(place, "its name leads out of its zip")
        elif member.filename.lower().endswith(".zip"):
            if depth * ZIP_DEPTH >= DEEPEST:
                yield broken(place, "too many zips in zips")
                continue
            if member.file_size > MOST_PACKED * max(member.compress_size, 2**14):
                yield broken(place, "a zip that swells when it is unpacked")
                continue
            content = bounded(opened, member, LARGEST_ZIP)
            yield from zipped(lambda content=content: io.BytesIO(content()), place, when(member), depth + 1)  # type: ignore[misc]
        else:
            yield Entry(place, when(member), bounded(opened, member, LARGEST_NOTEBOOK))


def bounded(opened: Callable[[], BinaryIO], member: zipfile.ZipInfo, most: int) -> Callable[[], bytes]:
    """Reads one member of a zip, whatever size it claims to have."""

    def read_member() -> bytes:
        with opened() as file, zipfile.ZipFile(file) as archive:
            return read_at_most(lambda: archive.open(member), most)  # type: ignore[arg-type, return-value]

    return read_member


def read_at_most(opened: Callable[[], BinaryIO], most: int) -> bytes:
    """What a file holds. Raises Unreadable, also where that is more than `most` bytes."""
    try:
        with opened() as file:
            content = file.read(most + 1)
    except OSError as error:
        raise Unreadable(error.strerror or "cannot be read") from None
    except Exception as error:  # a damaged or encrypted member fails in many ways
        raise Unreadable(f"cannot be unpacked: {error}") from None
    if len(content) > most:
        raise Unreadable(f"larger than {most // 2**20} MB")
    return content


def legible(name: str) -> str:
    """A name as text: bytes in it that are no UTF-8, as of an older system, are written as \\xe9."""
    return name.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def broken(parts: tuple[str, ...], why: str) -> Entry:
    def refuse() -> bytes:
        raise Unreadable(why)

    return Entry(parts, 0.0, refuse, why)


def path_within(name: str) -> tuple[str, ...]:
    """The folders and the name of a zip's member."""
    return tuple(part for part in name.replace("\\", "/").split("/") if part not in ("", "."))


def nobodys(name: str) -> bool:
    """Whether a zip's member lies in what is hidden, or in an environment of Python's."""
    return any(part == "site-packages" or (part != ".." and hidden(part)) for part in path_within(name))


def hidden(name: str) -> bool:
    """Whether a file or folder is nobody's work: .ipynb_checkpoints, ._00_start.ipynb, __MACOSX."""
    return name.startswith((".", "__MACOSX"))


def when(member: zipfile.ZipInfo) -> float:
    """A member's time, to two seconds, as zips have it; 0 where it is none."""
    try:
        return datetime(*member.date_time).timestamp()
    except ValueError:
        return 0.0
