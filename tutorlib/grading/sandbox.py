"""The sandbox of a student's process: what the process sees, as options of bubblewrap, which `supervisor` starts.

It sees what is listed here, read-only, wherever the course and Python are: the system's libraries and programs, Python
and its packages, and those modules of `tutorlib` that an answer needs. It has a scratch folder in memory, of
limited size, which goes with the process. The grader speaks to it through its standard input.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from glob import glob
from pathlib import Path

from tutorlib.compiling.programs import COMPILER_MEMORY, OVER_MEMORY
from tutorlib.grading import supervisor
from tutorlib.grading.supervisor import SandboxSettings
from tutorlib.paths import FIGURES, ROOT

SCRATCH = 2**30  # bytes that may be written to the scratch folder
SHARED = 2**28  # bytes of shared memory
LARGEST_FILE = 2**30  # bytes of one file
MEMORY = 2**33  # bytes that the processes of a sandbox may use together
COMPILER_FILE = 2**28  # bytes of one file that a compiler writes
PROCESSES = 512 + 8 * (os.cpu_count() or 1)  # at a time, threads counted: torch and OpenBLAS have some for each core
SYSTEM = (
    *("/usr", "/lib*", "/bin", "/sbin", "/nix/store"),
    *("/etc/ld.so.*", "/etc/alternatives", "/etc/fonts", "/etc/localtime", "/etc/ssl"),
)
ANSWERS_NEED = (  # of tutorlib; `exercises` has references and hints beside them
    *("__init__.py", "failure.py", "half_precision.*", "paths.py"),
    *("checking", "compiling", "draw", "dsl", "kernels", "layouts", "machine", "measuring", "models"),
    *("notebook", "problems", "simulate", "explorers"),
    *("exercises/__init__.py", "exercises/words/__init__.py", "exercises/judges"),
    *(f"grading/{name}.py" for name in ("__init__", "page_process", "wire")),
)
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
    packages = {"PYTHONPATH": os.pathsep.join((str(ROOT), *on_path()))}
    trial = sandboxed_command([sys.executable, "-c", "import tutorlib"], Path("/tmp/trial"), packages)
    done = subprocess.run(trial, capture_output=True, text=True, check=False)
    if not done.returncode:
        return ""
    said = done.stderr.strip().splitlines() or [f"exit code {done.returncode}"]
    return f"bubblewrap is there and does not work (0.8 or newer is needed): {said[-1]}"


def sandboxed_command(
    command: Iterable[str], scratch: Path, environment: Mapping[str, str], memory: int = MEMORY
) -> list[str]:
    """The command that starts another one in a sandbox, in the scratch folder.

    scratch: where the process finds an empty folder of its own, in memory. environment: variables that are set inside,
    beside those PASSED_ON. memory: bytes that a process may allocate, and that all of them together may use.
    """
    options = [
        *(*seen([*system(), *course()]), *PROC, "--dev", "/dev", *devices()),
        *("--perms", "1777", "--size", str(SHARED), "--tmpfs", SHARED_MEMORY, "--remount-ro", "/dev"),
        *(*way_to(scratch), "--perms", "1777", "--size", str(SCRATCH), "--tmpfs", str(scratch)),
        *("--remount-ro", "/", "--chdir", str(scratch)),
        *variables(environment),
    ]
    return supervised(options, command, memory, LARGEST_FILE, [SHARED_MEMORY, str(scratch)])


def sandboxed_compiler(command: Iterable[str], folder: Path) -> list[str]:
    """The command that starts a compiler in a sandbox: it sees the system's files, and a folder that it works in."""
    options = [
        *(*seen(system()), *PROC, "--dev", "/dev", "--remount-ro", "/dev"),
        *(*way_to(folder), "--bind", str(folder), str(folder), "--remount-ro", "/", "--chdir", str(folder)),
        *variables({name: os.environ[name] for name in SEARCHED if name in os.environ} | {"TMPDIR": str(folder)}),
    ]
    return supervised(options, command, COMPILER_MEMORY, COMPILER_FILE, [], str(folder))


def supervised(
    options: Iterable[str], command: Iterable[str], memory: int, file: int, tmpfs: list[str], given: str = ""
) -> list[str]:
    """The command that starts another one in bubblewrap. options: bubblewrap's. The others: see `SandboxSettings`."""
    settings = SandboxSettings(memory, OVER_MEMORY, PROCESSES, file, tmpfs, given)
    return [sys.executable, "-I", "-S", supervisor.__file__, settings.as_argument(), *options, "--", *command]


def variables(more: Mapping[str, str]) -> Iterator[str]:
    """Those PASSED_ON, and more."""
    passed_on = {name: os.environ[name] for name in PASSED_ON if name in os.environ}
    yield "--clearenv"
    for name, value in (NOBODY | passed_on | dict(more)).items():
        yield from ("--setenv", name, value)


def seen(paths: Iterable[Path]) -> Iterator[str]:
    """These files and folders of the machine, where they are. Of the course's folder nothing else is there, even where
    a folder around it is listed.
    """
    listed = {ROOT, *paths}
    folders = {folder for path in listed for folder in path.parents[:-1]}
    for path in sorted(listed | folders):  # a folder comes before what it holds
        if path == ROOT:
            yield from ("--perms", "0755", "--tmpfs", str(path))
        elif path not in listed:
            yield from ("--dir", str(path))
        elif path.is_symlink() and path.is_dir() and not path.is_relative_to(ROOT):  # /lib is one on most machines
            yield from ("--symlink", os.readlink(path), str(path))
        else:
            yield from ("--ro-bind-try", str(path), str(path))
    yield from ("--remount-ro", str(ROOT))


def way_to(path: Path) -> Iterator[str]:
    """The folders above a path, open to every user: bubblewrap's own would be open to the grader's alone."""
    for above in reversed(path.parents[:-1]):
        yield from ("--dir", str(above))


def system() -> Iterator[Path]:
    """The paths that Python and the compilers need."""
    for pattern in SYSTEM:
        yield from map(Path, glob(pattern))
    yield from map(Path, (sys.base_prefix, sys.base_exec_prefix, sys.prefix, sys.exec_prefix))
    for folder in map(Path, on_path()):
        if any(folder.glob("*.dist-info")) and not ROOT.is_relative_to(folder):
            yield folder


def course() -> Iterator[Path]:
    """The figures that pages show, and of the course's package what an answer needs."""
    yield FIGURES
    yield from (path for name in ANSWERS_NEED for path in (ROOT / "tutorlib").glob(name))


def on_path() -> list[str]:
    """The folders of this process's own PYTHONPATH: a machine may have its packages there."""
    return [os.path.abspath(folder) for folder in os.environ.get("PYTHONPATH", "").split(os.pathsep) if folder]


def devices() -> Iterator[str]:
    """The GPU's, where there is one, and what its driver tells of itself."""
    found = [device for pattern in DEVICES for device in sorted(glob(pattern))]
    for device in found:
        yield from ("--dev-bind", device, device)
    if found:
        yield from ("--ro-bind-try", "/sys", "/sys")
