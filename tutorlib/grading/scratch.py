"""Temporary folders of a run. The next run removes those of a run that was killed."""

import fcntl
import os
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

PREFIX = "tutor-grade-"
LONGEST = 64  # characters of a folder in which sockets can have their names: the system allows them 107 in all
YOUNG_S = 60.0  # a folder of this age may be without its lock still


@contextmanager
def scratch_folder() -> Iterator[Path]:
    """A new folder, in TMPDIR or, where that has a long name, in /tmp. It is locked for as long as its owner lives."""
    parent = Path(tempfile.gettempdir()).resolve()
    if len(str(parent)) > LONGEST:
        parent = Path("/tmp")
    remove_abandoned(parent)
    folder = Path(tempfile.mkdtemp(prefix=PREFIX, dir=parent))
    lock = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield folder
    finally:
        remove_whole(folder)
        os.close(lock)


def remove_abandoned(parent: Path) -> None:
    """Remove this user's folders whose owner was killed."""
    for folder in parent.glob(f"{PREFIX}*"):
        with suppress(OSError):  # gone meanwhile, locked, or another user's
            seen = folder.lstat()
            if seen.st_uid != os.getuid() or folder.is_symlink() or time.time() - seen.st_mtime < YOUNG_S:
                continue
            lock = os.open(folder, os.O_RDONLY | os.O_NOFOLLOW)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                remove_whole(folder)
            finally:
                os.close(lock)


def remove_whole(folder: Path) -> None:
    """Remove a folder, however deep its folders are (shutil's way ends where Python's stack does) and whoever may read
    them.
    """
    for command in (("rm", "-rf"), ("chmod", "-R", "u+rwx"), ("rm", "-rf")):
        if folder.exists():
            subprocess.run([*command, str(folder)], stderr=subprocess.DEVNULL, check=False)
