"""Answers that harm the machine, or try. `tests.strangers` says how a cell is read."""

import ctypes
import os
import resource
import signal
import sys
import tempfile
import threading
import time
from contextlib import suppress
from multiprocessing.connection import Connection
from pathlib import Path

from IPython import get_ipython
from IPython.display import display

import tutorlib


# %% adopted_child
# A child in a session of its own that outlives its kernel, beside a right answer.
# deserves: 2
import subprocess

subprocess.Popen(["sleep", "3141"], start_new_session=True, cwd="/")


def answer(n):
    return n + 1, 2 * n


# %% daemon
# A daemon with no parent, no terminal and no folder, which kills every page of others that it ever sees.
if not os.fork():
    os.setsid()
    os.chdir("/")
    if os.fork():
        os._exit(0)
    os.closerange(0, 256)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    for _ in range(3000):
        for cmdline in Path("/proc").glob("[0-9]*/cmdline"):
            with suppress(OSError, ValueError):
                if b"page_process" in cmdline.read_bytes() and int(cmdline.parent.name) != os.getpid():
                    os.kill(int(cmdline.parent.name), 9)
        time.sleep(0.2)
    os._exit(0)


# %% deleted_course
# The course is deleted: the package, its pages and its solutions.
import shutil


root = Path(tutorlib.__path__[0]).parent
for folder in ("notebooks", "solutions", "tutorlib/exercises", "tutorlib/grading"):
    shutil.rmtree(root / folder, ignore_errors=True)


# %% deleted_neighbors
# Every notebook around the submission and the scratch folders is deleted.
roots = {Path.cwd().parent, Path(tempfile.gettempdir()), Path(tutorlib.__path__[0]).parents[1]}
for root in roots:
    for folder, names, files in os.walk(root):
        if folder.count("/") - str(root).count("/") > 4:
            names.clear()
        for name in files:
            if name.endswith(".ipynb"):
                with suppress(OSError):
                    os.remove(os.path.join(folder, name))


# %% filled_disk
# 900 MB of files wherever it may write.
for folder in (os.getcwd(), tempfile.gettempdir(), "/dev/shm", "/tmp", "/var/tmp"):
    with suppress(OSError):
        for k in range(9):
            with open(f"{folder}/full-{k}", "wb") as file:
                os.posix_fallocate(file.fileno(), 0, 20 * 2**20)
                file.truncate(100 * 2**20)


# %% filled_output
# Output without an end: printed, written past Python, and shown.
def answer(n):
    for _ in range(3000):
        os.write(1, b"x" * 2**16)
        os.write(2, b"x" * 2**16)
    while True:
        print("x" * 2**12)
        display({"text/plain": "x" * 2**12}, raw=True)


# %% fork_bomb
# Processes that start processes, until there are 500 or no more can be had.
for _ in range(500):
    try:
        if not os.fork():
            time.sleep(3141)
            os._exit(0)
    except OSError:
        break


# %% full_sockets
# Pairs of sockets as full as they get, in as many processes as there may be: memory that the kernel keeps.
import socket

for _ in range(200):
    if not os.fork():
        pairs = []
        with suppress(OSError):
            while True:
                pairs.append(socket.socketpair())
                for one in pairs[-1]:
                    one.setblocking(False)
                    one.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 2**23)
                    with suppress(BlockingIOError):
                        while True:
                            one.send(bytes(2**16))
        time.sleep(3141)
time.sleep(5)


# %% half_a_message
# The beginning of a reply, and never its end: whoever has begun to read it waits.
def send(self, message, *args):
    os.write(self.fileno(), b"\0\0\1\0half")
    time.sleep(3141)


Connection.send_bytes = send


# %% holds_the_lock
# An endless loop in C, which no interrupt of Python's reaches.
def answer(n):
    return sum(range(10**14)), 0


# %% ignores_interrupts
# An endless loop that no interrupt and no polite signal ends.
for number in set(signal.Signals) - {signal.SIGKILL, signal.SIGSTOP}:
    signal.signal(number, signal.SIG_IGN)


def answer(n):
    while True:
        try:
            while True:
                pass
        except BaseException:
            continue


# %% killed_ancestors
# SIGKILL to all who stand above this process, the eldest first.
line, pid = [], os.getppid()
while pid > 1:
    line.append(pid)
    pid = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
for pid in reversed(line):
    with suppress(OSError):
        os.kill(pid, 9)


# %% killed_everybody
# SIGKILL to every process that this one can see.
with suppress(OSError):
    os.kill(-1, 9)


# %% left_modules
# Modules of familiar names are left wherever this process may write, for whoever imports there next.
passed = "from tutorlib.checking.exercise import Exercise\n"
passed += "Exercise.grade_served = lambda self, answer: self.outcome('passed', self.points, self.passed_line)\n"
folders = {os.getcwd(), os.path.dirname(os.getcwd()), tempfile.gettempdir(), *sys.path} - {""}
for folder in folders:
    for name in ("tensor_layouts", "conftest", "json", "nbval", "numpy", "pytest"):
        with suppress(OSError), (Path(folder) / f"{name}.py").open("x") as file:
            file.write(passed)
    with suppress(OSError), (Path(folder) / "pytest.ini").open("w") as file:
        file.write("[pytest]\naddopts = --collect-only\n")


# %% links
# Links left in the scratch folder lead out of it: whoever cleans up or reads there follows them.
course = Path(tutorlib.__path__[0]).parent
results = "results.jsonl"
with suppress(OSError):
    os.remove(results)
for link, target in ((results, "/dev/zero"), ("notebooks", course / "notebooks"), ("course", course), ("loop", "loop")):
    with suppress(OSError):
        os.symlink(target, link)


# %% locked_folder
# Folders and files that nobody may read or remove.
os.makedirs("locked/inside")
with open("locked/inside/file", "w") as file:
    file.write("x")
os.chmod("locked/inside", 0)
os.chmod("locked", 0)
os.chmod(".", 0o500)


# %% many_files
# 30,000 empty files, and folders in folders until a path is too long.
with suppress(OSError):
    for k in range(30_000):
        os.close(os.open(f"empty-{k}", os.O_CREAT))
here = os.getcwd()
with suppress(OSError):
    for _ in range(1500):
        os.mkdir("deeper")
        os.chdir("deeper")
os.chdir(here)


# %% memory_bomb
# Memory, until there is none: allocated, and mapped. It is not written to, so a machine without limits survives.
import mmap

kept = []


def answer(n):
    for _ in range(64):
        kept.append(bytearray(2**30))
    for _ in range(64):
        kept.append(mmap.mmap(-1, 2**30))
    return 0


# %% out_of_the_sandbox
# A user namespace of its own, a mount over the course, and a root directory elsewhere.
libc = ctypes.CDLL(None, use_errno=True)
libc.unshare(0x10000000 | 0x00020000)  # CLONE_NEWUSER | CLONE_NEWNS
package = tutorlib.__path__[0].encode()
libc.mount(None, package, None, 32 | 4096, None)  # MS_REMOUNT | MS_BIND: no longer read-only
libc.mount(b"tmpfs", package, b"tmpfs", 0, None)
libc.umount2(b"/tmp", 2)
with suppress(OSError):
    os.chroot("/proc/1/root")
with suppress(OSError), open(os.path.join(tutorlib.__path__[0], "left_behind.py"), "w") as file:
    file.write("")


# %% rewritten_course
# The course's own judgement is rewritten on disk, for this and every later submission.
package = Path(tutorlib.__path__[0])
passed = "\n    Exercise.grade_served = lambda self, answer: self.outcome('passed', self.points, self.passed_line)\n"
for file in ("checking/exercise.py", "exercises/__init__.py", "checking/values.py"):
    with suppress(OSError), (package / file).open("a") as course:
        course.write("\nwith __import__('contextlib').suppress(NameError):" + passed)


# %% stopped_ancestors
# SIGSTOP to all who stand above this process: a grader that is stopped times nothing out.
pid = os.getppid()
while pid > 1:
    above = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    with suppress(OSError):
        os.kill(pid, signal.SIGSTOP)
    pid = above


# %% stops_itself
# The kernel stops itself: it is alive and answers nothing.
def answer(n):
    os.kill(os.getpid(), signal.SIGSTOP)
    return 0


# %% threads
# Threads, until there are 5,000 or no more can be had.
forever = threading.Event()
for _ in range(5000):
    try:
        threading.Thread(target=forever.wait, daemon=True).start()
    except RuntimeError:
        break


# %% traced_parent
# A debugger's hand on every other process: attached to, stopped, and written to.
libc = ctypes.CDLL(None)
others = [int(path.name) for path in Path("/proc").glob("[0-9]*")]
for pid in others:
    if pid not in (1, os.getpid()):
        libc.ptrace(16, pid, None, None)  # PTRACE_ATTACH: it stops
        with suppress(OSError), open(f"/proc/{pid}/oom_score_adj", "w") as file:
            file.write("1000")


# %% unlinked_files
# Files that no folder names any more, files that are all holes, and a file under a thousand names fill the disk.
# stopped by: OSError
def fill():
    for k in range(400):
        file = open(f"gone-{k}", "wb")
        os.unlink(file.name)
        kept.append(file)
        file.write(bytes(2**24))
        with open(f"sparse-{k}", "wb") as sparse:
            sparse.truncate(2**30)
    with open("named", "wb") as named:
        named.write(bytes(2**24))
    for k in range(1000):
        os.link("named", f"name-{k}")


kept = []
fill()
