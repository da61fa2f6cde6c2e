"""The sandbox of a student's process: what the process sees, as options of bubblewrap, which `supervisor` starts.

Inside there is no network, no other process and no file but Python, its packages, the system's libraries and the
course's package, all of them read-only; a scratch folder in memory, of limited size, which goes with the process; and
one folder on disk, the shared, for the sockets through which the process is spoken to.
"""

import os
import shutil
import subprocess
import sys
import tempfile
import zlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from glob import glob
from pathlib import Path

from tutorlib.checking.cuda_host.program_run import MOST_PRINTED
from tutorlib.compiling.outside import COMPILER_MEMORY, OVER_DISK, OVER_MEMORY
from tutorlib.grading import seccomp, supervisor
from tutorlib.grading.supervisor import SandboxSettings
from tutorlib.paths import FIGURES, ROOT

SCRATCH = 2**30  # bytes that may be written to the scratch folder
SHARED = 2**28  # bytes of shared memory
LARGEST_FILE = 2**30  # bytes of one file
LARGEST_SHARED_FOLDER = 2**24  # bytes in the folder that both sides share
MEMORY = 2**33  # bytes that the processes of a sandbox may use together
COMPILER_FILE = 2**28  # bytes of one file that a compiler writes
PROCESSES = 512 + 8 * (os.cpu_count() or 1)  # at a time, threads counted: torch and OpenBLAS have some for each core
Replaced = Path | tuple[Path, ...] | None
SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/nix/store")
SETTINGS = ("ld.so.cache", "ld.so.conf", "ld.so.conf.d", "alternatives", "fonts", "localtime", "ssl")  # of /etc
UNSEEN = ("solutions", "tests", "notebooks")  # of the course
DEVICES = ("/dev/nvidia*", "/dev/dxg")
PASSED_ON = (
    *("PATH", "LANG", "LANGUAGE", "LC_ALL", "LC_CTYPE", "TZ", "LD_LIBRARY_PATH", "OMP_NUM_THREADS"),
    "CUDA_VISIBLE_DEVICES",  # the GPU that this submission has to itself
)
SEARCHED = ("CPATH", "CPLUS_INCLUDE_PATH", "LIBRARY_PATH")  # gcc looks for headers and libraries there
NOBODY = {"LOGNAME": "student"}  # there is no /etc/passwd inside, and torch's compiler asks for the user's name
SHARED_MEMORY = "/dev/shm"
PROC = (  # of process 1, bubblewrap's own, there is nothing to read: its folder is empty
    *("--proc", "/proc", "--ro-bind-try", "/proc/sys", "/proc/sys"),
    *("--ro-bind-try", "/proc/pressure", "/proc/pressure"),  # every user may write there
    *("--perms", "0555", "--tmpfs", "/proc/1", "--remount-ro", "/proc/1"),
)
INSTALL = "bubblewrap is missing: install it (apt-get install bubblewrap)"


@cache
def why_open() -> str:
    """Why this machine can run no process in a sandbox, in one line; "" if it can."""
    if not shutil.which("bwrap"):
        return INSTALL
    with tempfile.TemporaryDirectory(prefix="tutor-trial-") as folder:
        shared = Path(folder, "shared")
        shared.mkdir()
        packages = {"PYTHONPATH": os.pathsep.join((str(ROOT), *on_path()))}
        trial = sandboxed_command([sys.executable, "-c", "import tutorlib"], Path(folder), shared, packages)
        done = subprocess.run(trial, capture_output=True, text=True, check=False)
    if not done.returncode:
        return ""
    said = done.stderr.strip().splitlines() or [f"exit code {done.returncode}"]
    if not os.geteuid() and (closed := [path for path in (sys.prefix, str(ROOT / "tutorlib")) if not is_open(path)]):
        return f"graded by root, students' code runs as another user, who may not read {closed[0]}: chmod -R o+rX it"
    return f"bubblewrap is there and does not work (0.8 or newer is needed): {said[-1]}"


def is_open(path: str) -> bool:
    """Whether every user may read what is in a folder, once the folders above it are out of the way."""
    return os.stat(path).st_mode & 0o005 == 0o005


def sandboxed_command(
    command: Iterable[str],
    scratch: Path,
    shared: Path,
    environment: Mapping[str, str],
    replaced: Mapping[Path, Replaced] | None = None,
    *,
    memory: int = MEMORY,
    file: int = LARGEST_FILE,
) -> list[str]:
    """The command that starts another one in a sandbox, in the scratch folder.

    scratch: where the process finds a folder of its own; what is there outside it does not see, but for `shared`, a
    folder within, which both sides write to. environment: variables that are set inside, beside those PASSED_ON.
    replaced: a file of the course's package → the one that is there instead inside; None for nothing. A folder of it →
    the only folders below that stay; `__init__.py` files do, too.
    memory: bytes that a process may allocate, and that all of them together may use. file: bytes of the largest file
    that it may write.
    """
    options = [
        *(*system(), *course(replaced or {}), *PROC, "--dev", "/dev", *devices()),
        *("--perms", "1777", "--size", str(SHARED), "--tmpfs", SHARED_MEMORY, "--remount-ro", "/dev"),
        *(*way_to(scratch), "--perms", "1777", "--size", str(SCRATCH), "--tmpfs", str(scratch)),
        *("--bind", str(shared), str(shared)),
        *("--remount-ro", "/", "--chdir", str(scratch)),
        *variables(environment),
    ]
    return supervised(options, command, shared, memory, file, LARGEST_SHARED_FOLDER, [SHARED_MEMORY, str(scratch)])


def sandboxed_compiler(command: Iterable[str], folder: Path) -> list[str]:
    """The command that starts a compiler in a sandbox: it sees the system's files, and a folder that it works in."""
    options = [
        *(*system(), *unseen(), *PROC, "--dev", "/dev", "--remount-ro", "/dev"),
        *(*way_to(folder), "--bind", str(folder), str(folder), "--remount-ro", "/", "--chdir", str(folder)),
        *variables({name: os.environ[name] for name in SEARCHED if name in os.environ} | {"TMPDIR": str(folder)}),
    ]
    return supervised(options, command, folder, COMPILER_MEMORY, COMPILER_FILE, None, [])


@contextmanager
def sandboxed_program(program: Path) -> Iterator[list[str]]:
    """The command that runs a program, which is built of a student's source, in a sandbox of its own."""
    with tempfile.TemporaryDirectory(prefix="tutor-program-") as folder:
        shared = Path(folder, "shared")
        shared.mkdir()
        shutil.copy(program, shared)
        yield sandboxed_command([str(shared / program.name)], Path(folder), shared, {}, file=MOST_PRINTED)


def supervised(
    options: Iterable[str],
    command: Iterable[str],
    shared: Path,
    memory: int,
    file: int,
    disk: int | None,
    tmpfs: list[str],
) -> list[str]:
    """The command that starts another one in bubblewrap. options: bubblewrap's. The others: see `SandboxSettings`."""
    program = zlib.compress(seccomp.filter_program()).hex()
    settings = SandboxSettings(memory, OVER_MEMORY, PROCESSES, file, tmpfs, str(shared), disk, OVER_DISK, program)
    return [sys.executable, "-I", "-S", supervisor.__file__, settings.as_argument(), *options, "--", *command]


def variables(more: Mapping[str, str]) -> Iterator[str]:
    """Those PASSED_ON, and more."""
    passed_on = {name: os.environ[name] for name in PASSED_ON if name in os.environ}
    yield "--clearenv"
    for name, value in (NOBODY | passed_on | dict(more)).items():
        yield from ("--setenv", name, value)


def shown_at(path: Path | str) -> Iterator[str]:
    """A file or folder of the machine, where it is."""
    yield from (*way_to(path), "--ro-bind-try", str(path), str(path))


def way_to(path: Path | str) -> Iterator[str]:
    """The folders above a path, open to every user: bubblewrap's own would be open to the grader's alone."""
    for above in reversed(Path(path).parents[:-1]):
        yield from ("--dir", str(above))


def system() -> Iterator[str]:
    """The paths that Python and the compilers need."""
    for folder in map(Path, SYSTEM):
        if folder.is_symlink():
            yield from ("--symlink", os.readlink(folder), str(folder))
        elif folder.exists():
            yield from shown_at(folder)
    for name in SETTINGS:
        yield from shown_at(f"/etc/{name}")
    for prefix in dict.fromkeys((sys.base_prefix, sys.base_exec_prefix, sys.prefix, sys.exec_prefix)):
        if not prefix.startswith("/usr"):
            yield from shown_at(prefix)
    for folder in map(Path, on_path()):
        if any(folder.glob("*.dist-info")) and not ROOT.is_relative_to(folder):
            yield from shown_at(folder)


def on_path() -> list[str]:
    """The folders of this process's own PYTHONPATH: a machine may have its packages there."""
    return [os.path.abspath(folder) for folder in os.environ.get("PYTHONPATH", "").split(os.pathsep) if folder]


def course(replaced: Mapping[Path, Replaced]) -> Iterator[str]:
    """The course's package and the figures that its pages show: no solutions, no tests, no notebooks."""
    for folder in (ROOT / "tutorlib", FIGURES):
        yield from shown_at(folder)
    yield from unseen()
    for path, instead in replaced.items():
        if isinstance(instead, Path):
            yield from ("--ro-bind", str(instead), str(path))
            for compiled in path.parent.glob(f"__pycache__/{path.stem}.*.pyc"):
                yield from ("--ro-bind", os.devnull, str(compiled))  # as below
        elif path.is_dir():
            packages = (*path.glob("__init__.py"), *path.glob("*/__init__.py"))  # without them nothing can be imported
            yield from ("--tmpfs", str(path))
            for shown in (*packages, *(instead or ())):
                yield from ("--dir", str(shown.parent), "--ro-bind", str(shown), str(shown))
            yield from ("--remount-ro", str(path))
        else:
            yield from ("--ro-bind", os.devnull, str(path))  # no device opens behind a bind: it cannot be read


def unseen() -> Iterator[str]:
    """The part of the course that the sandbox would show if it is below one of the system's folders."""
    for name in UNSEEN:
        if (ROOT / name).is_dir() and ROOT.is_relative_to("/usr"):
            yield from ("--tmpfs", str(ROOT / name))


def devices() -> Iterator[str]:
    """The GPU's, where there is one, and what its driver tells of itself."""
    found = [device for pattern in DEVICES for device in sorted(glob(pattern))]
    for device in found:
        yield from ("--dev-bind", device, device)
    if found:
        yield from shown_at("/sys")
