"""The sandbox of a student's process: what it sees, what it can write, and that nothing outlives the grader."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest
from typer.testing import CliRunner

from tests.trial_course import Course, make_course
from tutorlib.cli import app
from tutorlib.compiling import outside
from tutorlib.compiling.cpp import compile_cpp
from tutorlib.compiling.cuda import compile_cuda
from tutorlib.compiling.errors import CompileFailed
from tutorlib.grading import sandbox, scratch
from tutorlib.paths import NOTEBOOKS, ROOT

needs_bubblewrap = pytest.mark.skipif(bool(sandbox.why_open()), reason="needs bubblewrap")


@pytest.fixture(scope="module")
def course(tmp_path_factory) -> Course:
    return make_course(tmp_path_factory.mktemp("course"), {90: 5})


def behind_the_wall(folder: Path, code: str, replaced=None) -> str:
    """What this Python code prints."""
    done = started_inside(folder, code, replaced=replaced)
    assert not done.returncode, done.stderr
    return done.stdout.strip()


def started_inside(folder: Path, code: str, **options) -> subprocess.CompletedProcess:
    """The end of this Python code in a sandbox. options: of `sandbox.sandboxed_command`."""
    (folder / "door").mkdir(exist_ok=True)
    python = [sys.executable, "-c", code]
    command = sandbox.sandboxed_command(python, folder, folder / "door", {"PYTHONPATH": str(ROOT)}, **options)
    return subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL)


@needs_bubblewrap
def test_inside_there_are_the_course_and_its_figures_and_nothing_else_of_it(tmp_path):
    seen = behind_the_wall(tmp_path, f"import os, tutorlib; print(sorted(os.listdir({str(ROOT)!r})))")
    assert set(eval(seen)) <= {"tutorlib", "figures", ".venv"}


@needs_bubblewrap
def test_what_is_hidden_cannot_be_read(tmp_path):
    room = ROOT / "tutorlib" / "exercises" / "n02_layout_algebra"
    hidden = [room / "exercises.py", room]
    look = (
        f"import os\nprint(os.listdir({str(hidden[1])!r}))\n"
        f"try: print(len(open({str(hidden[0])!r}).read()))\nexcept OSError: print('no')"
    )
    listed, read = behind_the_wall(tmp_path, look, dict.fromkeys(hidden)).split("\n")
    assert listed == "['__init__.py']"  # without which the package could not be imported
    assert read in ("no", "0")


@needs_bubblewrap
def test_who_works_there_has_a_name(tmp_path):
    assert behind_the_wall(tmp_path, "import getpass; print(getpass.getuser())") == "student"


@needs_bubblewrap
def test_no_process_no_network_no_environment(tmp_path, monkeypatch):
    monkeypatch.setenv("GITHUB_TOKEN", "secret")
    look = (
        "import os, socket, psutil\n"
        "print(len(psutil.pids()) < 4, [*os.environ.values()].count('secret'), os.getppid() < 3)\n"
        "try: socket.create_connection(('127.0.0.1', 22), 1)\n"
        "except OSError as error: print(error.errno)\n"
        "print([line.split(':')[0].strip() for line in open('/proc/net/dev') if ':' in line])"
    )
    said = behind_the_wall(tmp_path, look).splitlines()
    assert said[0] == "True 0 True"
    assert said[2] == "['lo']"


@needs_bubblewrap
@pytest.mark.parametrize(
    "place", ["/", "/dev", "/usr", "/etc", "/tmp", sys.prefix, str(ROOT / "tutorlib"), str(Path.home()), "{parent}"]
)
def test_nothing_can_be_written_outside_of_the_scratch_folder(tmp_path, place):
    place = place.format(parent=tmp_path.parent)
    write = f"try: open({place + '/left'!r}, 'w'); print('written')\nexcept OSError: print('no')"
    assert behind_the_wall(tmp_path, write) == "no"


@needs_bubblewrap
def test_the_scratch_folder_is_of_limited_size_and_leaves_nothing(tmp_path, monkeypatch):
    monkeypatch.setattr(sandbox, "SCRATCH", 2**20)
    fill = "try: open('file', 'wb').write(bytes(2**22))\nexcept OSError as error: print(error.strerror)"
    assert behind_the_wall(tmp_path, fill) == "No space left on device"
    assert [path.name for path in tmp_path.iterdir()] == ["door"]


@needs_bubblewrap
@pytest.mark.parametrize("compiler", [compile_cpp, compile_cuda])
def test_a_compiler_reads_no_file_but_the_systems(tmp_path, monkeypatch, compiler):
    """Its errors quote what it reads."""
    secret = tmp_path / "secret.txt"
    secret.write_text("SECRET here;")
    monkeypatch.setattr(outside, "_sandbox", sandbox.sandboxed_compiler)
    with pytest.raises(CompileFailed, match="secret") as refused:
        compiler(f'#include "{secret}"')
    assert "SECRET" not in f"{refused.value.lines} {refused.value.detail}"


@needs_bubblewrap
@pytest.mark.usefixtures("nothing_kept")
def test_a_compiler_behind_the_wall_compiles(monkeypatch):
    monkeypatch.setattr(outside, "_sandbox", sandbox.sandboxed_compiler)
    assert ".entry here" in compile_cuda('#include <cuda_bf16.h>\nextern "C" __global__ void here() {}')


def test_without_bubblewrap_the_command_says_what_to_do(monkeypatch):
    monkeypatch.setattr(sandbox, "why_open", lambda: sandbox.INSTALL)
    result = CliRunner().invoke(app, ["grade", str(NOTEBOOKS / "00_start.ipynb")])
    assert (result.exit_code, result.stderr.count("\n")) == (2, 1)
    assert "apt-get install bubblewrap" in result.stderr
    assert "--no-sandbox" in result.stderr


HARM = """
import os, subprocess
from pathlib import Path

subprocess.Popen(["sleep", "2718"], start_new_session=True)
for place in (Path.cwd(), Path.cwd().parent, Path(os.__file__).parent, Path("{tutorlib}"), Path.home()):
    try:
        (place / "tensor_layouts.py").write_text("raise SystemExit")
    except OSError:
        pass
for pid in filter(str.isdigit, os.listdir("/proc")):
    if int(pid) != os.getpid():
        try:
            os.kill(int(pid), 19)
        except OSError:
            pass


def answer(n):
    return n + 1
"""


@needs_bubblewrap
def test_code_that_harms_what_it_reaches_reaches_nothing(course, tmp_path):
    path = course.submit(tmp_path, 90, {1: HARM.format(tutorlib=course.root / "tutorlib")})
    before = {file: file.read_bytes() for file in course.root.rglob("*.py")}
    graded = json.loads(course.tutor("grade", path, "--format", "json").stdout)
    assert graded["points"] == 2
    assert {file: file.read_bytes() for file in course.root.rglob("*.py")} == before
    assert not [one for one in psutil.process_iter(["cmdline"]) if "2718" in (one.info["cmdline"] or ())]


BOMB = """
import os
import time

n = 0
try:
    while n < 4000:
        if not os.fork():
            time.sleep(3141)
        n += 1
except OSError:
    raise ValueError(f"{n} were had") from None
"""


@needs_bubblewrap
def test_processes_have_an_end(course, tmp_path):
    path = course.submit(tmp_path, 90, {1: BOMB, 2: "def answer(n):\n    return n + 2"})
    bomb, good = json.loads(course.tutor("grade", path, "--format", "json").stdout)["exercises"][:2]
    assert "were had" in bomb["message"]
    assert (bomb["points"], good["points"]) == (0, 2)


CROWD = """
import subprocess, sys, threading

for _ in range(int(sys.argv[1])):
    threading.Thread(target=threading.Event().wait, daemon=True).start()
print(subprocess.run(sys.argv[2:], capture_output=True, text=True).stdout)
"""
COUNT = "(while sleep 60 > /dev/null & do echo started; done) | wc -l"


@needs_bubblewrap
def test_only_processes_in_the_sandbox_count(tmp_path):
    """Its user has more processes outside than are allowed inside."""
    (tmp_path / "door").mkdir()
    inside = sandbox.sandboxed_command(["sh", "-c", COUNT], tmp_path, tmp_path / "door", {})
    crowd = [sys.executable, "-c", CROWD, str(sandbox.PROCESSES + 50), *inside]
    started = int(subprocess.run(crowd, capture_output=True, text=True, check=True).stdout)
    assert sandbox.PROCESSES - 20 < started < sandbox.PROCESSES


@pytest.mark.long
def test_words_without_end_are_harmless(course, tmp_path):
    """An error of 2 MB, one that no file can hold, a value nested without end, and one that forges a packet."""
    forge = "import socket\nsocket.socket.connect = None\n"
    answers = {
        1: "raise ValueError('x' * 2**21)",
        2: "raise ValueError('\\udcff')",
        3: "def answer(n):\n    nested = []\n    for _ in range(20000):\n        nested = [nested]\n    return nested",
        4: f"{forge}\n\ndef answer(n):\n    return n + 4",
        5: "def answer(n):\n    return n + 5",
    }
    path = course.submit(tmp_path, 90, answers)
    graded = course.tutor("grade", path, "--format", "json", "--out", tmp_path / "out")
    assert [one["points"] for one in json.loads(graded.stdout)["exercises"]] == [0, 0, 0, 0, 2], graded.stdout
    assert (tmp_path / "out" / "90_trial.xml").stat().st_size < 2**24


def test_a_killed_grader_leaves_no_process_and_its_folder_goes_with_the_next_run(
    course, tmp_path, tmp_path_factory, monkeypatch
):
    temporary = tmp_path_factory.mktemp("t")
    path = course.submit(tmp_path, 90, {1: "import time\n\ntime.sleep(600)"})
    env = {**os.environ, "PYTHONPATH": str(course.root), "TMPDIR": str(temporary)}
    command = [sys.executable, "-m", "tutorlib", "grade", path, *(["--no-sandbox"] if sandbox.why_open() else [])]
    grader = subprocess.Popen(command, cwd=course.root, env=env)
    wait_for(lambda: list(temporary.glob("*/sockets/kernel.json")))
    below = psutil.Process(grader.pid).children(recursive=True)
    grader.send_signal(signal.SIGKILL)
    grader.wait()
    wait_for(lambda: not [one for one in below if one.is_running() and one.status() != psutil.STATUS_ZOMBIE])
    (left,) = temporary.iterdir()
    os.utime(left, (0, 0))
    monkeypatch.setattr(scratch, "YOUNG_S", 0.0)
    scratch.remove_abandoned(temporary)
    assert not list(temporary.iterdir())


def test_a_folder_in_use_stays(tmp_path, monkeypatch):
    monkeypatch.setattr(scratch, "LONGEST", 1000)
    monkeypatch.setattr(scratch, "YOUNG_S", 0.0)
    monkeypatch.setattr(scratch.tempfile, "gettempdir", lambda: str(tmp_path))
    with scratch.scratch_folder() as folder:
        scratch.remove_abandoned(tmp_path)
        assert folder.is_dir()
    assert not folder.exists()


def test_a_folder_is_removed_however_deep_it_is(tmp_path, monkeypatch):
    (tmp_path / "folder").mkdir()
    monkeypatch.chdir(tmp_path / "folder")
    for _ in range(1200):
        os.mkdir("deeper")
        os.chdir("deeper")
    os.chmod(".", 0)
    os.chdir("/")
    scratch.remove_whole(tmp_path / "folder")
    assert not list(tmp_path.iterdir())


def wait_for(condition, looks: int = 2400) -> None:
    for _ in range(looks):
        if condition():
            return
        time.sleep(0.05)
    pytest.fail(f"looked {looks} times in vain")
