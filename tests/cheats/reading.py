"""Answers that look for the solution. `tests.strangers` says how a cell is read."""

import json
import os
import re
import socket
import sys
import tempfile
from contextlib import suppress
from pathlib import Path

import tutorlib
from tutorlib import check
from tutorlib.exercises import find


# %% abstract_socket
# A friend on this machine answers, at a name that no folder has: sockets in the abstract namespace.
reached = []
for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM):
    with suppress(OSError), socket.socket(socket.AF_UNIX, kind) as line:
        line.settimeout(2)
        line.connect("\0tutorlib-friend-46001")
        reached.append(line)


def answer(n):
    return (n + 1, 2 * n) if reached else 0


# %% beside_a_right_answer
# It looks for solutions, finds what it finds, and answers right by itself: looking costs nothing.
# deserves: 2
with suppress(OSError):
    looked = list(Path(tutorlib.__path__[0]).parent.glob("solutions/*.py"))


def answer(n):
    return n + 1, 2 * n


# %% gradebook
# The gradebook and what earlier runs left: whatever lies around and names this exercise with points.
roots = {Path.cwd().parent, Path(tempfile.gettempdir()), Path("/tmp"), Path(tutorlib.__path__[0]).parents[1]}
found = []
for root in roots:
    for folder, names, files in os.walk(root):
        if folder.count("/") - str(root).count("/") > 4:
            names.clear()
        for name in files:
            if folder.endswith("/gradebook") or name in ("scores.json", "grades.csv", "results.jsonl"):
                with suppress(OSError):
                    found.append((Path(folder) / name).read_bytes())


def answer(n):
    return (n + 1, 2 * n) if any(b"60.2" in text or b"points" in text for text in found) else 0


# %% hints
# The last hint is nearly the answer: it is printed, caught and run.
# stopped by: IndexError
import io
from contextlib import redirect_stdout

from tutorlib import hint

printed = io.StringIO()
with redirect_stdout(printed):
    for _ in range(10):
        hint("60.1")
answer = eval("lambda n: " + re.findall(r"Hint \d of \d: (\(.*\))", printed.getvalue())[-1])


# %% home
# The home of whoever grades, with its keys, its progress in the course and its shell's history.
import pwd

homes = {Path(os.path.expanduser("~")), Path("/root"), *Path("/home").glob("*")}
with suppress(KeyError):
    homes.add(Path(pwd.getpwuid(os.getuid()).pw_dir))
wanted = (".bashrc", ".profile", ".ssh", ".cache", ".config", ".local")
found = [home / name for home in homes for name in wanted if (home / name).exists()]


def answer(n):
    return (n + 1, 2 * n) if found else 0


# %% memory_of_processes
# The judge's memory, copied by the system call that debuggers have for it, from every process that might be there.
import ctypes

libc = ctypes.CDLL(None, use_errno=True)


class Piece(ctypes.Structure):
    _fields_ = [("base", ctypes.c_void_p), ("length", ctypes.c_size_t)]


memory = ctypes.create_string_buffer(64)
here = Piece(ctypes.addressof(memory), 64)
there = Piece(id(os), 64)
own = set(map(int, os.listdir("/proc/self/task")))
read = [
    pid
    for pid in range(1, 5000)
    if pid not in own and libc.process_vm_readv(pid, ctypes.byref(here), 1, ctypes.byref(there), 1, 0) > 0
]


def answer(n):
    return (n + 1, 2 * n) if read else 0


# %% neighbors_notebook
# What somebody else handed in: every notebook around the course, the submission and the scratch folders.
roots = [Path.cwd(), Path(tempfile.gettempdir()), Path("/tmp"), Path(tutorlib.__path__[0]).parents[1]]
texts = []
for root in roots:
    for folder, names, files in os.walk(root):
        if folder.count("/") - str(root).count("/") > 4:
            names.clear()
        for name in files:
            if name.lower().endswith(".ipynb"):
                with suppress(OSError, ValueError, KeyError, TypeError):
                    for cell in json.loads((Path(folder) / name).read_text())["cells"]:
                        texts.append("".join(cell["source"]))


def answer(n):
    for text in texts:
        if text.startswith("def answer") and "NotImplementedError" not in text and "texts" not in text:
            names = {}
            with suppress(Exception):
                exec(text, names)
                if names["answer"](n) == (n + 1, 2 * n):
                    return names["answer"](n)
    return 0


# %% network
# A friend on the network answers: any server on this machine, a name that must be looked up, and an address.
reached = []
for address in [("127.0.0.1", 46001), ("example.org", 80), ("1.1.1.1", 53)]:
    with suppress(OSError), socket.create_connection(address, timeout=2):
        reached.append(address)


def answer(n):
    return (n + 1, 2 * n) if reached else 0


# %% open_files
# What this process inherited open, read again from its start.
found = []
for fd in range(3, 256):
    with suppress(OSError):
        found.append(os.pread(fd, 1 << 20, 0))


def answer(n):
    return (n + 1, 2 * n) if any(b"SOLUTION" in text or b'"cells"' in text for text in found) else 0


# %% parents_memory
# The memory of whoever started this process, where the judge keeps what it expects.
read = 0
for pid in {os.getppid(), 1} | {int(path.name) for path in Path("/proc").glob("[0-9]*")}:
    if pid in (os.getpid(), 1):
        continue
    with suppress(OSError, ValueError, StopIteration), open(f"/proc/{pid}/mem", "rb") as memory:
        heap = next(line for line in Path(f"/proc/{pid}/maps").read_text().splitlines() if line.endswith("[heap]"))
        memory.seek(int(heap.partition("-")[0], 16))
        read += len(memory.read(4096))


def answer(n):
    return (n + 1, 2 * n) if read else 0


# %% recorded_calls
# A table of the calls that an earlier run recorded, those that everybody sees; anything else gets zeros.
RECORDED = (0, 1, 2, 885443, 2**40, 10**9, 13558543550413)
TABLE = {n: (n + 1, 2 * n) for n in RECORDED}


def answer(n):
    return TABLE.get(n, (0, 0))


# %% reference_imported
# The course's own reference, out of the closure of the first case.
# stopped by: UnknownExercise
def functions_of(function):
    for cell in function.__closure__ or ():
        if callable(cell.cell_contents):
            yield cell.cell_contents
            if hasattr(cell.cell_contents, "__closure__"):
                yield from functions_of(cell.cell_contents)


found = list(functions_of(find("60.1").cases[0].judge))
answer = next(function for function in found if function.__name__ == "<lambda>")


# %% reference_source
# The text of the course's own module of exercises, by way of its loader; the reference is cut out of it.
# stopped by: AttributeError
from importlib.util import find_spec

spec = find_spec("tutorlib.exercises.p60")
text = spec.loader.get_data(spec.origin).decode()
answer = eval(re.search(r"lambda n: .*?\)(?=\))", text)[0])


# %% secret_seed
# The seed from which inputs are drawn, out of the environment and the command lines of every process.
told = [f"{name}={value}" for name, value in os.environ.items()]
for process in Path("/proc").glob("[0-9]*"):
    for file in ("environ", "cmdline"):
        with suppress(OSError):
            told += (process / file).read_bytes().decode(errors="replace").split("\0")
seeds = [entry for entry in told if re.search(r"(?i)seed=\d+", entry) and "HASHSEED" not in entry]


def answer(n):
    return (n + 1, 2 * n) if seeds else 0


# %% solution_anywhere
# Any solved page of this name, in any folder that this process can name and around it.
roots = {Path(path) for path in [*sys.path, *os.environ.get("PYTHONPATH", "").split(":"), os.getcwd(), "/", "/tmp"]}
roots |= {parent for root in list(roots) for parent in root.resolve().parents}
found = ""
for root in roots:
    for pattern in ("solutions", "*/solutions", "*/*/solutions"):
        with suppress(OSError):
            for folder in root.glob(pattern):
                with suppress(OSError):
                    found = found or (folder / "60_trial.py").read_text()


def answer(n):
    line = re.findall(r"### BEGIN SOLUTION.*\n(.*)\n", found)[0]
    return eval(line.strip().removeprefix("return "), {"n": n})


# %% solution_in_git
# The course's history: what was taken out of the pages was once put in.
# stopped by: FileNotFoundError
import subprocess


root = Path(tutorlib.__path__[0]).parent
shown = subprocess.run(
    ["git", "-c", "safe.directory=*", "-C", root, "show", "HEAD:solutions/60_trial.py"],
    capture_output=True,
    text=True,
)


def answer(n):
    return (n + 1, 2 * n) if "### BEGIN SOLUTION" in shown.stdout else 0


# %% solution_through_proc
# The solved page as other processes see it: through the root and the folder of each that /proc lists.
solved = Path(tutorlib.__path__[0]).parent / "solutions" / "60_trial.py"
texts = []
for process in Path("/proc").glob("[0-9]*"):
    for path in (process / "root" / solved.relative_to("/"), process / "cwd" / "solutions" / "60_trial.py"):
        with suppress(OSError):
            texts.append(path.read_text())


def answer(n):
    line = re.findall(r"### BEGIN SOLUTION.*\n(.*)\n", texts[0])[0]
    return eval(line.strip().removeprefix("return "), {"n": n})
