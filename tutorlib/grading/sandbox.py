"""The wall around a student's process: bubblewrap.

Inside there is no network, no other process and no file but Python, its packages, the system's libraries and the
course's package, all of them read-only; a scratch folder in memory, of limited size, which goes with the process; and
one folder on disk, the door, for the sockets through which the process is spoken to.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from glob import glob
from pathlib import Path
from types import MappingProxyType

from tutorlib.checking.program import MOST_PRINTED
from tutorlib.paths import FIGURES, ROOT

SCRATCH = 2**30  # bytes that may be written to the scratch folder
SHARED = 2**28  # bytes of shared memory
PROCESSES = 512 + 8 * (os.cpu_count() or 1)  # at a time, threads counted: torch and OpenBLAS have some for each core
SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/nix/store")
SETTINGS = ("ld.so.cache", "ld.so.conf", "ld.so.conf.d", "alternatives", "fonts", "localtime", "ssl")  # of /etc
UNSEEN = ("solutions", "tests", "notebooks")  # of the course
DEVICES = ("/dev/nvidia*", "/dev/dxg")
PASSED_ON = (
    *("PATH", "LANG", "LANGUAGE", "LC_ALL", "LC_CTYPE", "TZ", "LD_LIBRARY_PATH", "OMP_NUM_THREADS"),
    "CUDA_VISIBLE_DEVICES",  # the GPU that this submission has to itself
)
NOBODY = {"LOGNAME": "student"}  # there is no /etc/passwd inside, and torch's compiler asks who it works for
INSTALL = "bubblewrap is missing: install it (apt-get install bubblewrap)"


@cache
def why_open() -> str:
    """Why no process can be walled in on this machine, in one line; "" where one can."""
    if not shutil.which("bwrap"):
        return INSTALL
    trial = ["bwrap", *APART, *system(), "--proc", "/proc", "--", sys.executable, "-c", ""]
    done = subprocess.run(trial, capture_output=True, text=True, check=False)
    if not done.returncode:
        return ""
    said = done.stderr.strip().splitlines() or [f"exit code {done.returncode}"]
    return f"bubblewrap is there and does not work (0.8 or newer is needed): {said[-1]}"


APART = (
    *("--unshare-all", "--unshare-user", "--disable-userns", "--cap-drop", "ALL"),
    *("--die-with-parent", "--new-session", "--clearenv"),
)


def walled(
    command: Iterable[str],
    scratch: Path,
    door: Path,
    environment: Mapping[str, str],
    hidden: Iterable[Path] = (),
    replaced: Mapping[Path, Path] = MappingProxyType({}),
) -> list[str]:
    """The command that starts another one behind the wall, in the scratch folder.

    scratch: where the process finds a folder of its own; what is there outside it does not see, but for `door`, a
    folder within, which both sides write to. environment: variables that are set inside, beside those PASSED_ON.
    hidden: files and folders of packages that are empty inside. replaced: files of packages → the files in their place.
    """
    return [
        *("bwrap", *APART, *system(), *course(hidden)),
        *(part for path, file in replaced.items() for part in ("--ro-bind", str(file), str(path))),
        *("--proc", "/proc", "--dev", "/dev", *devices()),
        *("--size", str(SHARED), "--tmpfs", "/dev/shm", "--remount-ro", "/dev"),
        *("--size", str(SCRATCH), "--tmpfs", str(scratch), "--bind", str(door), str(door)),
        *("--remount-ro", "/", "--chdir", str(scratch)),
        *variables(environment),
        *("--", *limited(command)),
    ]


def walled_compiler(command: Iterable[str], folder: Path) -> list[str]:
    """The command that starts a compiler behind a wall: it sees the system's files, and a folder that it works in."""
    return [
        *("bwrap", *APART, *system(), *unseen(), "--proc", "/proc", "--dev", "/dev"),
        *("--bind", str(folder), str(folder), "--remount-ro", "/", "--chdir", str(folder)),
        *variables({"TMPDIR": str(folder)}),
        *("--", *command),
    ]


@contextmanager
def program_walled(program: Path) -> Iterator[list[str]]:
    """The command that runs a program, which is built of a student's source, behind a wall of its own."""
    with tempfile.TemporaryDirectory(prefix="tutor-wall-") as folder:
        door = Path(folder, "door")
        door.mkdir()
        shutil.copy(program, door)
        yield ["prlimit", f"--fsize={MOST_PRINTED}", *walled([str(door / program.name)], Path(folder), door, {})]


def variables(more: Mapping[str, str]) -> Iterator[str]:
    """Those PASSED_ON, and more."""
    passed_on = {name: os.environ[name] for name in PASSED_ON if name in os.environ}
    for name, value in (NOBODY | passed_on | dict(more)).items():
        yield from ("--setenv", name, value)


def limited(command: Iterable[str]) -> list[str]:
    """The command with at most PROCESSES processes, if it is started behind the wall.

    In front of it this user's other processes would count, too. Root's are never limited: see `plugin.WatchedKernel`.
    """
    return ["prlimit", f"--nproc={PROCESSES}", *command]


def system() -> Iterator[str]:
    """What Python and the compilers need of the machine."""
    for folder in map(Path, SYSTEM):
        if folder.is_symlink():
            yield from ("--symlink", os.readlink(folder), str(folder))
        elif folder.exists():
            yield from ("--ro-bind", str(folder), str(folder))
    for name in SETTINGS:
        yield from ("--ro-bind-try", f"/etc/{name}", f"/etc/{name}")
    for prefix in dict.fromkeys((sys.base_prefix, sys.base_exec_prefix, sys.prefix, sys.exec_prefix)):
        if not prefix.startswith("/usr"):
            yield from ("--ro-bind", prefix, prefix)


def course(hidden: Iterable[Path]) -> Iterator[str]:
    """The course's package and the figures that its pages show: no solutions, no tests, no notebooks."""
    for folder in (ROOT / "tutorlib", FIGURES):
        yield from ("--ro-bind-try", str(folder), str(folder))
    yield from unseen()
    for path in hidden:
        if path.is_dir():
            yield from ("--tmpfs", str(path), "--remount-ro", str(path))
        else:
            yield from ("--ro-bind", os.devnull, str(path))  # no device opens behind a bind: it cannot be read


def unseen() -> Iterator[str]:
    """What would be seen of the course where it lies below a folder of the system's."""
    for name in UNSEEN:
        if (ROOT / name).is_dir() and ROOT.is_relative_to("/usr"):
            yield from ("--tmpfs", str(ROOT / name))


def devices() -> Iterator[str]:
    """The GPU's, where there is one, and what its driver tells of itself."""
    found = [device for pattern in DEVICES for device in sorted(glob(pattern))]
    for device in found:
        yield from ("--dev-bind", device, device)
    if found:
        yield from ("--ro-bind-try", "/sys", "/sys")
