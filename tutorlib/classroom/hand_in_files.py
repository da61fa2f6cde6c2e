"""The files of a folder and of its zips: listed without unpacking, and read up to a limit. Nothing is written.

A zip counts as a folder that has its name. Hidden files, environments and what macOS adds are left out. Zips are only
opened in child processes (`grading.limited_process`), whose limits a zip bomb exceeds; what crosses is plain data.
"""

import io
import os
import stat
import zipfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

from tutorlib.grading.limited_process import Allowance
from tutorlib.grading.submission import LARGEST_NOTEBOOK

UNPACKING = Allowance(computing_s=30, memory=2**31, size=2**28, patience_s=600)  # of one student's zips
LARGEST_ZIP = 2**28  # bytes of a zip inside another
MOST_ZIPS = 2  # zips in zips
DEEPEST = 20  # folders in folders on disk
EMPTY = "an empty file"
ARCHIVES = (".tar", ".gz", ".tgz", ".bz2", ".xz", ".7z", ".rar")
UNOPENED = "an archive that is not opened; ask for a .zip, or for the notebooks themselves"
LOCKED = "locked with a password; ask for it without one"


class Unreadable(Exception):
    """A file that cannot be had. Why, in a few words."""


@dataclass(frozen=True)
class Entry:
    """A file, by its place below the folder: ("alice.zip", "work", "00_start.ipynb").

    modified: seconds since 1970, as its folder or zip has it. path: on disk, its own or that of the zip that it is in;
    members: then its name in there, or in the zips in there. why_not: why it cannot be read, if listing shows it.
    """

    parts: tuple[str, ...]
    modified: float
    path: Path
    members: tuple[str, ...] = ()
    why_not: str = ""

    @property
    def is_zip(self) -> bool:
        return not self.why_not and (self.path.name, *self.members)[-1].lower().endswith(".zip")

    @property
    def label(self) -> str:
        """Its place, as it can be printed and stored."""
        letters = legible("/".join(self.parts))
        return "".join(c if c.isprintable() else " " if c.isspace() else "\N{REPLACEMENT CHARACTER}" for c in letters)


def entries(folder: Path, without: Path | None = None) -> Iterator[Entry]:
    """The files below a folder but for those below `without`; or the one file that `folder` is."""
    if folder.is_file():
        yield file_entry(folder, ())
    for here, inside, files in os.walk(folder):
        place = Path(here).relative_to(folder).parts
        links = [name for name in inside if Path(here, name).is_symlink()]
        for name in sorted([*files, *links]):
            if not hidden(name):
                yield file_entry(Path(here, name), (*place, name))
        below = [name for name in inside if not hidden(name) and name not in links and Path(here, name) != without]
        inside[:] = sorted(below) if len(place) < DEEPEST else []


def file_entry(path: Path, parts: tuple[str, ...]) -> Entry:
    try:
        found = path.lstat()
    except OSError as error:
        return Entry(parts, 0.0, path, why_not=error.strerror or "cannot be read")
    if stat.S_ISLNK(found.st_mode):
        why = "a link, which is not followed"
    elif not stat.S_ISREG(found.st_mode):
        why = "neither a file nor a folder"
    else:
        why = why_unread(path.name, found.st_size)
    return Entry(parts, found.st_mtime, path, why_not=why)


def why_unread(name: str, size: int) -> str:
    return EMPTY if not size else UNOPENED if name.lower().endswith(ARCHIVES) else ""


class HandInReader:
    """Reads files, and opens each zip once. Only for a child process with limits, and for what is in no zip."""

    def __init__(self) -> None:
        self.opened: dict[tuple[Path, tuple[str, ...]], zipfile.ZipFile] = {}

    def archive(self, path: Path, members: tuple[str, ...]) -> zipfile.ZipFile:
        """The zip on disk, or the one that these members lead to. Raises Unreadable."""
        if (path, members) not in self.opened:
            try:
                content = io.BytesIO(self.read(path, members, LARGEST_ZIP)) if members else path.open("rb")
                self.opened[path, members] = zipfile.ZipFile(content)
            except (Unreadable, MemoryError):
                raise
            except Exception:  # zipfile fails in many ways, and says so in its own words
                raise Unreadable("damaged, or not a zip") from None
        return self.opened[path, members]

    def read(self, path: Path, members: tuple[str, ...] = (), most: int = LARGEST_NOTEBOOK) -> bytes:
        """The bytes of a file. Raises Unreadable, also where it has more than `most`."""
        try:
            file = self.archive(path, members[:-1]).open(members[-1]) if members else path.open("rb")
            with file:
                content = file.read(most + 1)
        except Unreadable:
            raise
        except OSError as error:
            raise Unreadable(error.strerror or "cannot be read") from None
        except MemoryError:  # bz2 and lzma unpack all that they are given at once
            raise Unreadable("cannot be unpacked: it needs more memory than is given to it") from None
        except Exception:  # a damaged member fails in many ways
            raise Unreadable("damaged; it cannot be unpacked") from None
        if len(content) > most:
            raise Unreadable(f"larger than {most // 2**20} MB")
        return content

    def unpacked(self, entry: Entry) -> list[Entry]:
        """The files in a zip, and not those of the zips in it; if it cannot be read, one entry that says so."""
        try:
            found = self.archive(entry.path, entry.members).infolist()
        except Unreadable as error:
            return [replace(entry, why_not=str(error))]
        files = [member_entry(entry, one) for one in found if not one.is_dir() and not unassigned(one.filename)]
        return files or [replace(entry, why_not="an empty zip")]


def member_entry(entry: Entry, member: zipfile.ZipInfo) -> Entry:
    """The entry of a zip's member. Its time is exact to two seconds; 0 where it is none."""
    try:
        modified = datetime(*member.date_time).timestamp()
    except ValueError:
        modified = 0.0
    found = Entry(
        (*entry.parts, *path_within(member.filename)), modified, entry.path, (*entry.members, member.filename)
    )
    why = LOCKED if member.flag_bits & 1 else why_unread(member.filename, member.file_size)
    if found.is_zip and len(found.members) >= MOST_ZIPS:
        why = "too many zips in zips"
    return replace(found, why_not=why)


def legible(name: str) -> str:
    """A name as text: bytes in it that are no UTF-8, as of an older system, are written as \\xe9."""
    return name.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def path_within(name: str) -> tuple[str, ...]:
    """The folders and the name of a zip's member, which lead out of it nowhere."""
    return tuple(part for part in name.replace("\\", "/").split("/") if part not in ("", ".", ".."))


def unassigned(name: str) -> bool:
    """Whether a zip's member has no name, or lies in what is hidden or in an environment of Python's."""
    parts = path_within(name)
    return not parts or any(part == "site-packages" or hidden(part) for part in parts)


def hidden(name: str) -> bool:
    """Whether a tool made a file or folder: .ipynb_checkpoints, ._00_start.ipynb, __MACOSX."""
    return name.startswith((".", "__MACOSX"))


def lines_about(left_out: Iterable[tuple[Entry, str]]) -> list[str]:
    """A line for each reason why files are left out, and for each zip (or folder) that they are in."""
    groups: dict[tuple[tuple[str, ...], str], list[Entry]] = {}
    for entry, why in left_out:
        folder = (entry.path.name,) if entry.members else entry.parts[:-1]
        groups.setdefault((folder, why), []).append(entry)
    lines = []
    for (_, why), (first, *others) in groups.items():
        more = f" and {len(others)} more in this {'zip' if first.members else 'folder'}" if others else ""
        lines.append(f"{first.label}{more}: {why}.")
    return lines
