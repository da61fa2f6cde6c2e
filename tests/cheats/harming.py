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


# %% borrowed_line
# Everything that the kernel has open is replaced by an endless source of zeros.
def answer(n):
    zero = os.open("/dev/zero", os.O_RDWR)
    for fd in range(3, 64):
        if fd != zero:
            os.dup2(zero, fd)
    return 0


# %% clock_stands_still
# The clocks of the process stand still, and then run backwards, beside a wrong answer.
from itertools import count

for name in ("time", "monotonic", "perf_counter", "process_time"):
    setattr(time, name, count(0, -1).__next__)
time.sleep = lambda seconds: None


# %% closed_files
# Everything that the kernel has open is closed, the line to its judge included.
def answer(n):
    os.closerange(3, 4096)
    return 0


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


# %% ends_at_exit
# What is registered for the end of the process does not end.
import atexit

atexit.register(time.sleep, 3141)


def answer(n):
    raise SystemExit


# %% ends_by_abort
# The process ends as a failed assertion in C does, and would leave a core file.
def answer(n):
    os.abort()


# %% ends_in_the_cell
# The process ends before there is an answer, as if all were well.
os._exit(0)


# %% fifo_for_results
# The file to which outcomes are written becomes a pipe that nobody reads: whoever opens it waits forever.
path = os.environ.get("TUTORLIB_RESULTS", "results.jsonl")
with suppress(OSError):
    os.remove(path)
with suppress(OSError):
    os.mkfifo(path)


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


# %% first_in_line
# First wherever there is a line: real-time priority, the least niceness, every core, memory that is never swapped.
# deserves: 2
with suppress(OSError):
    os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(99))
with suppress(OSError):
    os.nice(-20)
with suppress(OSError):
    os.sched_setaffinity(0, range(os.cpu_count()))
ctypes.CDLL(None).mlockall(3)


def answer(n):
    return n + 1, 2 * n


# %% flood_of_messages
# A hundred thousand small outputs, each a message of its own.
from IPython.display import clear_output


def answer(n):
    for k in range(100_000):
        display(k)
        clear_output()
    return 0


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


# %% huge_results
# A file of results of 900 MB in one line, of which no byte is on the disk.
with suppress(OSError), open(os.environ.get("TUTORLIB_RESULTS", "results.jsonl"), "ab") as file:
    file.truncate(900 * 2**20)


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


# %% interrupted_everybody
# SIGINT and SIGTERM, which the grader takes for the instructor's, to every process that this one can see.
for process in Path("/proc").glob("[0-9]*"):
    if int(process.name) not in (1, os.getpid()):
        for number in (signal.SIGINT, signal.SIGTERM):
            with suppress(OSError):
                os.kill(int(process.name), number)


# %% killed_ancestors
# SIGKILL to all who stand above this process, the eldest first.
line, pid = [], os.getppid()
while pid > 1:
    line.append(pid)
    pid = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
for pid in reversed(line):
    with suppress(OSError):
        os.kill(pid, 9)


# %% killed_by_its_limits
# The kernel sends itself past limits that end a process: of processor time, of file size, of its stack.
def answer(n):
    resource.setrlimit(resource.RLIMIT_CPU, (1, 1))
    resource.setrlimit(resource.RLIMIT_STACK, (2**16, 2**16))
    sys.setrecursionlimit(10**9)
    return answer(n)


# %% killed_everybody
# SIGKILL to every process that this one can see.
with suppress(OSError):
    os.kill(-1, 9)


# %% killed_parent
# SIGKILL to whoever started this process.
with suppress(OSError):
    os.kill(os.getppid(), 9)


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


# %% left_profile
# What Jupyter, IPython and the shell run when they start, left for whoever grades next.
homes = {Path.home(), Path(os.environ.get("IPYTHONDIR", "x")), Path(os.environ.get("JUPYTER_CONFIG_DIR", "x"))}
files = (
    ".ipython/profile_default/startup/00.py",
    "profile_default/startup/00.py",
    ".jupyter/jupyter_server_config.py",
    ".bash_aliases_left",
)
for home in homes:
    for name in files:
        with suppress(OSError):
            (home / name).parent.mkdir(parents=True, exist_ok=True)
            (home / name).write_text("import builtins\nbuiltins.left_behind = True\n")


# %% links
# Links left in the scratch folder lead out of it: whoever cleans up or reads there follows them.
course = Path(tutorlib.__path__[0]).parent
results = os.environ.get("TUTORLIB_RESULTS", "results.jsonl")
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


# %% lowered_limits
# The limits of this process are lowered until it can open nothing and start nothing.
def answer(n):
    resource.setrlimit(resource.RLIMIT_NOFILE, (3, 3))
    resource.setrlimit(resource.RLIMIT_NPROC, (0, 0))
    return 0


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


# %% never_reads
# Questions to the judge without an end, whose replies nobody reads: whoever writes them waits.
from tutorlib.grading.wire import Writer

send_bytes = Connection.send_bytes
question = Writer(lambda function: ("mine", 0)).message(["call", 99, (), {}])


def send(self, message, *args):
    for _ in range(100_000):
        send_bytes(self, question)
    time.sleep(3141)


Connection.send_bytes = send


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


# %% pth_file
# A line that every Python of this installation runs when it starts, left where Python looks for it.
import site

line = "import builtins; builtins.left_behind = True\n"
folders = [*site.getsitepackages(), site.getusersitepackages(), *sys.path]
for folder in filter(None, folders):
    for name in ("left_behind.pth", "sitecustomize.py", "usercustomize.py"):
        with suppress(OSError):
            Path(folder).mkdir(parents=True, exist_ok=True)
            (Path(folder) / name).write_text(line)


# %% raised_limits
# The limits of this process are lifted, and then used.
for name in ("RLIMIT_DATA", "RLIMIT_AS", "RLIMIT_FSIZE", "RLIMIT_NPROC", "RLIMIT_CPU"):
    with suppress(ValueError, OSError):
        resource.setrlimit(getattr(resource, name), (resource.RLIM_INFINITY, resource.RLIM_INFINITY))

kept = []


def answer(n):
    for _ in range(64):
        kept.append(bytearray(2**30))
    return 0


# %% rewritten_course
# The course's own judgement is rewritten on disk, for this and every later submission.
package = Path(tutorlib.__path__[0])
passed = "\n    Exercise.grade_served = lambda self, answer: self.outcome('passed', self.points, self.passed_line)\n"
for file in ("checking/exercise.py", "exercises/__init__.py", "checking/values.py"):
    with suppress(OSError), (package / file).open("a") as course:
        course.write("\nwith __import__('contextlib').suppress(NameError):" + passed)


# %% rewritten_page
# The page that the next student starts from is rewritten, and so is its solution.
root = Path(tutorlib.__path__[0]).parent
for path in [*root.glob("notebooks/*"), *root.glob("solutions/*")]:
    with suppress(OSError):
        path.write_text(path.read_text().replace("return", "return 0 #"))


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


# %% swapped_process
# Another program takes this process's place and says nothing.
def answer(n):
    os.execvp("sleep", ["sleep", "3141"])


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


# %% typed_at_the_terminal
# A command typed into the terminal of whoever grades.
import fcntl
import termios

for path in ("/dev/tty", "/dev/console", *(f"/proc/{os.getppid()}/fd/{fd}" for fd in range(3))):
    with suppress(OSError):
        terminal = os.open(path, os.O_RDWR | os.O_NOCTTY)
        for letter in b"touch left_behind\n":
            fcntl.ioctl(terminal, termios.TIOCSTI, bytes([letter]))


# %% unlinked_files
# Files that no folder names any more, files that are all holes, and a file under a thousand names fill the disk.
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


# %% zombies
# Two hundred children that have ended, and that nobody waits for, beside a right answer.
# deserves: 2
for _ in range(200):
    if not os.fork():
        os._exit(0)


def answer(n):
    return n + 1, 2 * n
