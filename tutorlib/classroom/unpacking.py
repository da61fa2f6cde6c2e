"""The limits on unpacking one student's zips, all together: bytes, files and seconds."""

import time
import zipfile
from collections.abc import Callable, Hashable
from contextlib import ExitStack
from types import TracebackType
from typing import BinaryIO

from tutorlib.grading.limited_process import Allowance

UNPACKING = Allowance(computing_s=30, memory=2**31, size=2**28, patience_s=600)  # of the process that does it
MOST_BYTES = 2**29  # read and unpacked; a class's largest honest hand-ins have 2**27
MOST_LISTED = 200_000  # files in the lists of zips, also hidden ones: an environment has some 10,000
MOST_SECONDS = 20.0  # of this thread's computing: what the two above cannot bound, as where bzip2 packed
LARGEST_LIST = 2**24  # bytes that a zip's list of its files takes
CHUNK = 2**20  # bytes


class Unreadable(Exception):
    """A file that cannot be had. Why, in a few words."""


class TooMuch(Unreadable):
    """Nothing more is unpacked for this student."""


class Unpacking:
    """A student's zips while they are open, each opened once. What is left may be spent; then it raises TooMuch."""

    def __init__(self) -> None:
        self.bytes, self.listed = MOST_BYTES, MOST_LISTED
        self.until = time.thread_time() + MOST_SECONDS
        self.archives: dict[Hashable, zipfile.ZipFile] = {}
        self.closing = ExitStack()

    def __enter__(self) -> "Unpacking":
        return self

    def __exit__(self, kind: type | None, error: BaseException | None, traceback: TracebackType | None) -> None:
        self.archives.clear()
        self.closing.close()

    def spend(self, bytes: int = 0, listed: int = 0) -> None:
        self.bytes -= bytes
        self.listed -= listed
        if min(self.bytes, self.listed) < 0 or time.thread_time() > self.until:
            raise TooMuch("the hand-ins unpack to more than any class needs")

    def archive(self, key: Hashable, opened: Callable[[], BinaryIO]) -> zipfile.ZipFile:
        """The zip of this key, opened. Raises Unreadable."""
        if key not in self.archives:
            self.spend()
            file = self.closing.enter_context(opened())
            try:
                archive = self.closing.enter_context(zipfile.ZipFile(Metered(file, self)))
            except Unreadable:
                raise
            except Exception:  # zipfile fails in many ways, and says so in its own words
                raise Unreadable("damaged, or not a zip") from None
            self.spend(listed=len(archive.infolist()))
            self.archives[key] = archive
        return self.archives[key]

    def read(self, opened: Callable[[], BinaryIO], most: int) -> bytes:
        """What a file holds. Raises Unreadable, also where that is more than `most` bytes."""
        content = bytearray()
        try:
            with opened() as file:
                while len(content) <= most and (chunk := file.read(min(CHUNK, most + 1 - len(content)))):
                    content += chunk
                    self.spend(bytes=len(chunk))
        except Unreadable:
            raise
        except OSError as error:
            raise Unreadable(error.strerror or "cannot be read") from None
        except NotImplementedError:
            raise Unreadable("packed by a method that cannot be unpacked; ask for an ordinary zip") from None
        except MemoryError:  # bz2 and lzma unpack all that they are given at once
            raise Unreadable("cannot be unpacked: it needs more memory than is given to it") from None
        except Exception:  # a damaged member fails in many ways
            raise Unreadable("damaged; it cannot be unpacked") from None
        if len(content) > most:
            raise Unreadable(f"larger than {most // 2**20} MB")
        return bytes(content)


class Metered:
    """A zip's own file, as `zipfile` reads it: what is read is spent."""

    def __init__(self, file: BinaryIO, unpacking: Unpacking) -> None:
        self.file, self.unpacking = file, unpacking
        self.seek, self.tell, self.seekable = file.seek, file.tell, file.seekable

    def read(self, size: int = -1) -> bytes:
        content = self.file.read(size if 0 <= size <= LARGEST_LIST else LARGEST_LIST + 1)
        self.unpacking.spend(bytes=len(content))
        if len(content) > LARGEST_LIST:  # nothing but a list is read in one piece
            raise Unreadable("a zip with more files than any hand-in needs")
        return content
