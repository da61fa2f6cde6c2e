"""The supervisor: who a student's processes are on the host, what they reach of it and take of it."""

import json
import signal
import subprocess
import sys

import psutil
import pytest

from tests.grading.test_sandbox import behind_the_wall, ended, needs_bubblewrap, started_inside, wait_for
from tests.trial_course import Course, make_course
from tutorlib.compiling import programs
from tutorlib.compiling.cpp import compile_cuda
from tutorlib.compiling.errors import CompileFailed
from tutorlib.compiling.programs import COMPILER_MEMORY, OVER_MEMORY
from tutorlib.grading import sandbox, supervisor

pytestmark = needs_bubblewrap


@pytest.fixture(scope="module")
def course(tmp_path_factory) -> Course:
    return make_course(tmp_path_factory.mktemp("course"), {90: 3})


WRITABLE = """
import os
found = []
for top in ("/proc", "/sys", "/dev"):
    for folder, below, files in os.walk(top):
        if folder == "/proc":
            below[:] = [name for name in below if not name.isdigit() and name not in ("self", "thread-self")]
        if folder == "/dev":
            below[:] = [name for name in below if name not in ("shm", "fd")]
        for name in files:
            path = os.path.join(folder, name)
            try:
                os.close(os.open(path, os.O_WRONLY | os.O_NONBLOCK))
            except OSError:
                continue
            found.append(path)
print(*found, sep="\\n")
"""
NODES = ("full", "null", "ptmx", "random", "tty", "urandom", "zero", "pts/ptmx", "stdin", "stdout", "stderr")
HARMLESS = {f"/dev/{name}" for name in NODES}


@pytest.mark.parametrize("gpu", [False, True])
def test_no_file_of_the_kernels_opens_for_writing(tmp_path, monkeypatch, gpu):
    """Those of /sys are there beside a GPU's devices."""
    monkeypatch.setattr(sandbox, "DEVICES", ("/dev/null",) if gpu else ())
    assert set(behind_the_wall(tmp_path, WRITABLE).split()) <= HARMLESS
    assert (behind_the_wall(tmp_path, "import os; print(os.path.exists('/sys/kernel'))") == "True") is gpu
    assert int(behind_the_wall(tmp_path, "print(open('/proc/sys/kernel/pid_max').read())")) > 0


IDENTITY = """
import os
status = dict(line.split(":", 1) for line in open("/proc/self/status"))
capabilities = (int(status[f"Cap{kind}"], 16) for kind in ("Inh", "Prm", "Eff", "Amb"))
print(os.getuid(), os.getgid(), os.getgroups(), *capabilities)
print(*(open(f"/proc/self/{kind}_map").read().split() for kind in ("uid", "gid")))
print(os.listdir("/proc/self/fd"))
"""


def test_nobody_in_the_sandbox_is_root_or_may_become_it(tmp_path):
    who, *_ = behind_the_wall(tmp_path, IDENTITY).splitlines()
    assert who == "1000 1000 [1000] 0 0 0 0" or who == "1000 1000 [] 0 0 0 0"


@pytest.mark.skipif(supervisor.user_of_its_own() is None, reason="needs root, of a machine with other users")
def test_graded_by_root_it_is_a_user_of_its_own(tmp_path):
    users = {int(behind_the_wall(tmp_path, IDENTITY).splitlines()[1].split("'")[9]) for _ in range(2)}
    assert len(users) == 2
    assert not {user for user in users if user < 61184}


def test_only_three_files_are_open(tmp_path):
    """0, 1, 2 and the one that lists them: not bubblewrap's."""
    assert eval(behind_the_wall(tmp_path, IDENTITY).splitlines()[2]) == ["0", "1", "2", "3"]


PROCESS_1 = """
import ctypes, glob, os
libc = ctypes.CDLL(None, use_errno=True)
print(os.listdir("/proc/1"), [libc.ptrace(how, 1, 0, 0) for how in (16, 0x4206)])  # PTRACE_ATTACH, PTRACE_SEIZE
libc.prctl(0x59616D61, -1, 0, 0, 0)
print([path for path in glob.glob(os.path.join("/proc/*", "root", "proc/1/*"))])
"""


def test_nothing_reads_or_traces_process_1(tmp_path):
    assert behind_the_wall(tmp_path, PROCESS_1).splitlines() == ["[] [-1, -1]", "[]"]


SEARCH = """
import os

found = [f"{name}={value}" for name, value in os.environ.items()]
for folder, below, files in os.walk("/proc"):
    below[:] = [name for name in below if folder != "/proc" or name.isdigit()]
    for name in files:
        if name in ("environ", "cmdline", "maps", "stat", "status", "mem"):
            try:
                with open(os.path.join(folder, name), "rb") as file:
                    found.append(file.read(2**20).decode(errors="replace").replace("\\0", " "))
            except (OSError, OverflowError):
                pass
open("found", "w").write(" ".join(found))
raise ValueError(" ".join(text for text in found if "Name:" not in text and "-" not in text[:30])[:20000])
"""
TOKEN = "s3cr3t-t0k3n-0f-the-gr4d3r"


@pytest.mark.parametrize("command", ["grade", "class"])
def test_a_token_of_the_graders_is_in_nothing_that_comes_back(course, tmp_path, command):
    (tmp_path / "in" / "alice").mkdir(parents=True)
    course.submit(tmp_path / "in" / "alice", 90, {1: SEARCH})
    options = ("--format", "json") if command == "grade" else ()
    done = course.tutor(command, tmp_path / "in", "--out", tmp_path / "out", *options, GITHUB_TOKEN=TOKEN)
    written = [file.read_bytes() for file in (tmp_path / "out").rglob("*") if file.is_file()]
    assert any(b"LOGNAME=student" in one for one in written), done.stderr  # it did look
    assert not [one for one in (*written, done.stdout.encode(), done.stderr.encode()) if TOKEN.encode() in one]


def test_bubblewrap_has_few_variables(tmp_path, monkeypatch):
    """Seen from outside, in all of a sandbox's processes; only the supervisor, outside of it, has the grader's."""
    monkeypatch.setenv("GITHUB_TOKEN", TOKEN)
    command = sandbox.sandboxed_command(["sleep", "600"], tmp_path, {})
    with subprocess.Popen(command) as started:
        try:
            below = psutil.Process(started.pid)
            wait_for(lambda: any(one.name() == "sleep" for one in below.children(recursive=True)))
            variables = [one.environ().keys() for one in below.children(recursive=True)]
            assert len(variables) == 3
            assert all(names <= {*sandbox.PASSED_ON, "LOGNAME", "PWD"} for names in variables)
            assert TOKEN not in str([one.cmdline() for one in (below, *below.children(recursive=True))])
        finally:
            started.kill()


def test_a_killed_supervisor_takes_the_sandbox_with_it(tmp_path):
    started = subprocess.Popen(sandbox.sandboxed_command(["sleep", "600"], tmp_path, {}))
    supervised = psutil.Process(started.pid)
    wait_for(lambda: any(one.name() == "sleep" for one in supervised.children(recursive=True)))
    below = supervised.children(recursive=True)
    started.send_signal(signal.SIGKILL)
    started.wait()
    wait_for(lambda: all(map(ended, below)))


MANY = """
import os, time
for _ in range(6):
    if not os.fork():
        kept = b"x" * (2**20 * 100)
        time.sleep(600)
"""
DEV_ZERO = """
import mmap
with open("/dev/zero", "r+b") as zero:
    shared = mmap.mmap(zero.fileno(), 2**20 * 900)
while shared.tell() < len(shared):
    shared.write(b"x" * 2**20)
"""
FILES = """
open("/dev/shm/file", "wb").write(bytes(2**20 * 200))
open("file", "wb").write(bytes(2**20 * 400))
"""
WAIT = "\nimport time\nfor _ in range(1200): time.sleep(0.05)\nprint('went on')"


TAKES = {"many": MANY, "dev/zero": DEV_ZERO, "files": FILES}


@pytest.mark.parametrize("takes", TAKES.values(), ids=TAKES)
def test_the_processes_of_a_sandbox_have_a_limit_together(tmp_path, takes):
    """Each of these stays below the limit of a process."""
    done = started_inside(tmp_path, takes + WAIT, memory=2**29)
    assert (done.stdout, done.returncode) == ("", OVER_MEMORY), done.stderr


def test_a_lower_limit_of_the_graders_counts(tmp_path):
    command = sandbox.sandboxed_command([sys.executable, "-c", MANY + WAIT], tmp_path, {})
    assert subprocess.run(["prlimit", f"--data={2**29}", *command]).returncode == OVER_MEMORY


SHARING = """
import os, time
kept = b"x" * (2**20 * 300)
children = []
for _ in range(6):
    if not (child := os.fork()):
        time.sleep(3)
        os._exit(0)
    children.append(child)
for child in children:
    os.waitpid(child, 0)
print("done")
"""


def test_what_processes_share_counts_once(tmp_path):
    done = started_inside(tmp_path, SHARING, memory=2**29)
    assert (done.stdout, done.returncode) == ("done\n", 0), done.stderr


@pytest.mark.parametrize(
    ("code", "status"), [("raise SystemExit(3)", 3), ("import os; os.kill(os.getpid(), 9)", 137), ("", 0)]
)
def test_the_status_is_the_commands(tmp_path, code, status):
    assert started_inside(tmp_path, code).returncode == status


GREEDY = """
import os, time

for _ in range(30):
    if not os.fork():
        kept = b"x" * 2**29
        time.sleep(600)
time.sleep(600)
"""


def test_an_answer_whose_processes_take_too_much_memory_is_told_so(course, tmp_path):
    """And the one after it is graded."""
    greedy = GREEDY.replace("2**29", str(sandbox.MEMORY // 20))
    path = course.submit(tmp_path, 90, {1: greedy, 2: "def answer(n):\n    return n + 2"})
    first, second, _ = json.loads(course.tutor("grade", path, "--format", "json").stdout)["exercises"]
    assert first["message"] == "it ended the notebook's process (its processes used more than 8 GB of memory together)"
    assert (first["points"], second["points"]) == (0, 2)


TEMPLATES = """
template <int N, int M> struct B { static constexpr long v = B<N - 1, 2 * M>::v + B<N - 1, 2 * M + 1>::v; };
template <int M> struct B<0, M> { static constexpr long v = M; };
long x = B<24, 1>::v;
"""


@pytest.mark.usefixtures("nothing_kept")
@pytest.mark.parametrize("source", ['#include "/dev/zero"', '#include "/dev/urandom"', TEMPLATES])
def test_a_compilers_memory_has_a_limit(monkeypatch, source):
    monkeypatch.setattr(programs, "_sandbox", sandbox.sandboxed_compiler)
    monkeypatch.setattr(sandbox, "COMPILER_MEMORY", 2**29)  # it takes seconds to use more
    monkeypatch.setattr(programs, "COMPILER_MEMORY", 2**29)
    with pytest.raises(CompileFailed) as refused:
        compile_cuda(source)
    assert str(refused.value) == "the compiler used more than 0.5 GB of memory"
    assert COMPILER_MEMORY == 2**31


@pytest.mark.usefixtures("nothing_kept")
def test_a_compilers_time_has_a_limit(monkeypatch):
    monkeypatch.setattr(programs, "_sandbox", sandbox.sandboxed_compiler)
    monkeypatch.setattr(programs, "LIMIT_S", 1.0)
    with pytest.raises(CompileFailed, match="nvcc is not done with it after 1 s"):
        compile_cuda(TEMPLATES)


@pytest.mark.usefixtures("nothing_kept")
def test_a_compiler_reads_no_file_but_the_systems(tmp_path, monkeypatch):
    secret = tmp_path / "secret.txt"
    secret.write_text("SECRET here;")
    monkeypatch.setattr(programs, "_sandbox", sandbox.sandboxed_compiler)
    with pytest.raises(CompileFailed, match="secret") as refused:
        compile_cuda(f'#include "{secret}"')
    assert "SECRET" not in str(refused.value)


def test_what_a_compiler_prints_has_a_limit(tmp_path):
    script = tmp_path / "prints.py"
    script.write_text(f"import sys\nfor _ in range(100): sys.stderr.write('x' * {programs.MOST_PRINTED // 10})")
    done = programs.run_compiler([sys.executable, script], tmp_path)
    assert len(done.stderr) == programs.MOST_PRINTED


NEW_NAMESPACES = """
import ctypes
libc = ctypes.CDLL(None)
print([libc.unshare(flag) for flag in (0x20000, 0x2000000, 0x4000000, 0x8000000, 0x10000000, 0x20000000, 0x40000000)])
"""


def test_no_process_has_a_namespace_of_its_own(tmp_path):
    assert behind_the_wall(tmp_path, NEW_NAMESPACES) == str([-1] * 7)


USUAL = """
import asyncio, concurrent.futures, ctypes, multiprocessing, resource, socket, subprocess, sys, threading
from multiprocessing import shared_memory
import torch

def work(n):
    return n + 1

if __name__ == "__main__":
    with concurrent.futures.ProcessPoolExecutor(2) as pool:
        print(*pool.map(work, range(3)))
    print(subprocess.run([sys.executable, "-c", "print(4)"], capture_output=True, text=True).stdout.strip())
    shared = shared_memory.SharedMemory(create=True, size=4096)
    shared.buf[:1] = b"5"
    print(bytes(shared.buf[:1]).decode())
    shared.close()
    shared.unlink()
    print(torch.zeros(3).share_memory_().sum().item(), ctypes.CFUNCTYPE(ctypes.c_int)(lambda: 6)())
    print(asyncio.run(asyncio.to_thread(work, 6)), resource.getrlimit(resource.RLIMIT_CORE))
"""


def test_what_programs_use_is_there(tmp_path):
    """Processes, threads, memory that they share, callbacks, a loop of asyncio."""
    write = f"open('usual.py', 'w').write({USUAL!r})"
    said = behind_the_wall(tmp_path, f"{write}; import runpy; runpy.run_path('usual.py', run_name='__main__')")
    assert said.splitlines() == ["1 2 3", "4", "5", "0.0 6", "7 (0, 0)"]
