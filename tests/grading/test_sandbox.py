"""The sandbox of a student's process: what it sees, what it can write, and that nothing outlives the grader."""

import ast
import errno
import importlib
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import grimp
import psutil
import pytest
from typer.testing import CliRunner

from tests.trial_course import Course, make_course
from tutorlib.cli import app
from tutorlib.compiling import programs
from tutorlib.compiling.cpp import compile_cpp, compile_cuda
from tutorlib.compiling.errors import CompileFailed
from tutorlib.grading import sandbox
from tutorlib.paths import NOTEBOOKS, ROOT, SOLUTIONS

needs_bubblewrap = pytest.mark.skipif(bool(sandbox.why_open()), reason="needs bubblewrap")


@pytest.fixture(scope="module")
def course(tmp_path_factory) -> Course:
    return make_course(tmp_path_factory.mktemp("course"), {90: 5})


def behind_the_wall(folder: Path, code: str) -> str:
    """What this Python code prints."""
    done = started_inside(folder, code)
    assert not done.returncode, done.stderr
    return done.stdout.strip()


def started_inside(folder: Path, code: str, **options) -> subprocess.CompletedProcess:
    """The end of this Python code in a sandbox. options: of `sandbox.sandboxed_command`."""
    python = [sys.executable, "-c", code]
    command = sandbox.sandboxed_command(python, folder, {"PYTHONPATH": str(ROOT)}, **options)
    return subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL)


@needs_bubblewrap
def test_inside_there_are_the_course_and_its_figures_and_nothing_else_of_it(tmp_path):
    seen = behind_the_wall(tmp_path, f"import os, tutorlib; print(sorted(os.listdir({str(ROOT)!r})))")
    assert set(eval(seen)) <= {"tutorlib", "figures", ".venv"}


LOOK = """
from pathlib import Path
import tutorlib
package = Path(tutorlib.__file__).parent
course = {*package.parent.iterdir()} - {package, package.parent / "figures", package.parent / ".venv"}
known = [*package.glob("exercises/[!j]*.py"), *package.glob("exercises/words/*.toml")]
known += [*package.glob("c*ss*"), *package.glob("grading/sandbox.py")]
seen = [*course, *(one for one in known if one.name != "__init__.py")]
raise ValueError(f"seen: {[str(one) for one in seen if one]}")
"""


@needs_bubblewrap
@pytest.mark.parametrize("place", ["{venv}/src", "{venv}/lib/python3.11/site-packages", "/usr/local/src", "{venv}"])
def test_an_answer_sees_what_is_listed_wherever_the_course_is(tmp_path, place):
    """In a virtual environment and in a folder of the system's, with Python's packages elsewhere."""
    venv = tmp_path / "venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", venv], check=True)
    root = Path(place.format(venv=venv), f"course-{os.getpid()}")
    if not os.access(root.parent if root.parent.exists() else root.parents[1], os.W_OK):
        pytest.skip(f"{root.parent} cannot be written to")
    try:
        root.mkdir(parents=True)
        course = make_course(root, {90: 2})
        (root / ".git").mkdir()
        path = course.submit(tmp_path, 90, {1: LOOK, 2: "def answer(n):\n    return n + 2"})
        packages = os.pathsep.join((str(root), *filter(lambda one: one.endswith("site-packages"), sys.path)))
        command = [venv / "bin" / "python", "-m", "tutorlib", "grade", path, "--format", "json"]
        done = subprocess.run(command, cwd=root, env=os.environ | {"PYTHONPATH": packages}, capture_output=True)
        assert done.stdout, done.stderr
        first, second = json.loads(done.stdout)["exercises"]
        assert (first["message"], second["points"]) == ("your cell fails: ValueError: seen: []", 2)
    finally:
        shutil.rmtree(root)


def place_of(module: str, name: str) -> str:
    """The module that defines what a page imports; faces load it when it is first used."""
    with suppress(ModuleNotFoundError):
        return importlib.import_module(f"{module}.{name}").__name__
    return getattr(getattr(importlib.import_module(module), name), "__module__", module)


def test_what_is_listed_of_the_package_is_what_pages_and_judges_import():
    listed = {path for path in sandbox.course() if path.is_relative_to(ROOT / "tutorlib")}
    graph = grimp.build_graph("tutorlib", cache_dir=None)
    imported = {
        (node.module, alias.name)
        for path in SOLUTIONS.glob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("tutorlib")
        for alias in node.names
    }
    named = {module for module, _ in imported} | {place_of(*one) for one in imported}
    judges = {name for name in graph.modules if ".exercises.judges." in name}
    needed = (named | judges | {"tutorlib.grading.page_process"}) & graph.modules
    needed = needed.union(*map(graph.find_upstream_modules, needed)) - {"tutorlib.exercises"}
    files = {name: ROOT.joinpath(*name.split(".")) for name in needed}
    missing = [name for name, file in files.items() if not listed & {file, *file.parents, file.with_suffix(".py")}]
    assert [name for name in missing if not (files[name] / "__init__.py").exists()] == []


@needs_bubblewrap
@pytest.mark.parametrize("way", ["os.unlink(file.name)", "file.truncate(2**40)", "os.link(file.name, file.name + '-')"])
def test_files_fill_no_disk(tmp_path, monkeypatch, way):
    """Not those that no folder names, nor those that are all holes, nor those with two names."""
    monkeypatch.setattr(sandbox, "SCRATCH", 2**22)
    fill = (
        "import os\nkept = []\n"
        f"def fill(n):\n    file = open(f'file-{{n}}', 'wb')\n    kept.append(file)\n    {way}\n"
        "    file.write(bytes(2**20))\n    file.flush()\n"
        "try:\n    for n in range(10):\n        fill(n)\nexcept OSError as error:\n    print(error.errno)"
    )
    before = os.statvfs(tmp_path).f_bfree
    assert int(behind_the_wall(tmp_path, fill)) in (errno.ENOSPC, errno.EFBIG)
    assert before - os.statvfs(tmp_path).f_bfree < 2**30 // 4096  # others write to this disk, too
    assert not list(tmp_path.iterdir())


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
    assert not list(tmp_path.iterdir())


@needs_bubblewrap
@pytest.mark.parametrize("compiler", [compile_cpp, compile_cuda])
def test_a_compiler_reads_no_file_but_the_systems(tmp_path, monkeypatch, compiler):
    """Its errors quote what it reads."""
    secret = tmp_path / "secret.txt"
    secret.write_text("SECRET here;")
    monkeypatch.setattr(programs, "_sandbox", sandbox.sandboxed_compiler)
    with pytest.raises(CompileFailed, match="secret") as refused:
        compiler(f'#include "{secret}"')
    assert "SECRET" not in str(refused.value.lines)


@needs_bubblewrap
@pytest.mark.usefixtures("nothing_kept")
def test_a_compiler_behind_the_wall_compiles(monkeypatch):
    monkeypatch.setattr(programs, "_sandbox", sandbox.sandboxed_compiler)
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
    inside = sandbox.sandboxed_command(["sh", "-c", COUNT], tmp_path, {})
    crowd = [sys.executable, "-c", CROWD, str(sandbox.PROCESSES + 50), *inside]
    started = int(subprocess.run(crowd, capture_output=True, text=True, check=True).stdout)
    assert sandbox.PROCESSES - 20 < started < sandbox.PROCESSES


def below(process: subprocess.Popen) -> list[psutil.Process]:
    return psutil.Process(process.pid).children(recursive=True)


def lines_below(process: subprocess.Popen) -> str:
    return str([one.info["cmdline"] for one in psutil.process_iter(["cmdline"]) if one in below(process)])


def test_a_killed_grader_leaves_no_process(course, tmp_path, tmp_path_factory):
    temporary = tmp_path_factory.mktemp("t")
    path = course.submit(tmp_path, 90, {1: "import time\n\ntime.sleep(600)"})
    env = {**os.environ, "PYTHONPATH": str(course.root), "TMPDIR": str(temporary)}
    command = [sys.executable, "-m", "tutorlib", "grade", path, *(["--no-sandbox"] if sandbox.why_open() else [])]
    grader = subprocess.Popen(command, cwd=course.root, env=env)
    wait_for(lambda: [one for one in temporary.rglob("log") if "page_process import main" in lines_below(grader)])
    left_over = below(grader)
    grader.send_signal(signal.SIGKILL)
    grader.wait()
    wait_for(lambda: all(map(ended, left_over)))


def ended(process: psutil.Process) -> bool:
    """It may end between the two questions."""
    try:
        return not process.is_running() or process.status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


def wait_for(condition, looks: int = 2400) -> None:
    for _ in range(looks):
        if condition():
            return
        time.sleep(0.05)
    pytest.fail(f"looked {looks} times in vain")
