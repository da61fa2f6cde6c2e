"""Setting up: what make prints, the devcontainer, the Dockerfile without Docker, and one set of pins."""

import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from fnmatch import fnmatch
from importlib import metadata

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet

from tutorlib.notebook.progress import PROGRESS
from tutorlib.paths import ROOT

READY = "make .venv/.ready"
PYTHON = """#!/bin/sh
case "$*" in
  "-m venv .venv") mkdir -p .venv/bin && cp "$0" .venv/bin/python ;;
  "-m pip install "*) cat "$SAYS"; exit "$STATUS" ;;
esac
"""
PIP = """\
Collecting torch==2.13.0
  Downloading https://example.org/torch-2.13.0-cp312-cp312-linux_x86_64.whl (190.5 MB)
  Downloading typer-0.29.2-py3-none-any.whl (56 kB)
  Using cached nvidia_cutlass_dsl_libs-4.8.1.whl (91.7 MB)
  Downloading jupyterlab-4.6.6-py3-none-any.whl.metadata (16 kB)
Installing collected packages: torch, typer
"""


@pytest.fixture
def copy(tmp_path):
    """The files that `COPY . .` takes, with a python that installs nothing."""
    left_out = (ROOT / ".dockerignore").read_text(encoding="utf-8").split()
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    for name in filter(None, listed.split("\0")):
        if not any(fnmatch(f"{name}/", f"{pattern}/*") for pattern in left_out) and (ROOT / name).is_file():
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, tmp_path / name)
    python = tmp_path / "python"
    python.write_text(PYTHON)
    python.chmod(0o755)
    return tmp_path


def run(command, folder, pip=PIP, status=0):
    """A shell command in a folder, pip's output and status given."""
    (folder / "said").write_text(pip)
    environment = {"PATH": os.environ["PATH"], "SAYS": str(folder / "said"), "STATUS": str(status)}
    environment["PYTHON"] = str(folder / "python")
    return subprocess.run(command, cwd=folder, shell=True, env=environment, capture_output=True, text=True, check=False)


def test_readme_starts_with_the_commands_that_set_up_a_fresh_machine_and_ci_runs_the_second():
    start = (ROOT / "README.md").read_text(encoding="utf-8").split("## Start\n")[1].split("\n## ")[0]
    shown = re.findall(r"^(make \w+)  +# (.*)$", start.split("```")[1], re.MULTILINE)
    targets = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    assert [command for command, _ in shown] == ["make lab", "make test"]
    assert {"lab", "test", "grade"} <= {*targets}
    assert "make grade" in shown[0][1]
    assert "minutes" in shown[1][1]
    ci = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    assert re.search(r"^make (-j 2 )?test\b", ci, re.MULTILINE)


class TestMake:
    def test_it_says_what_it_takes_and_does(self, copy):
        done = run(READY, copy)
        first, *steps, last = done.stdout.splitlines()
        assert "2.8 GB" in first
        assert "minutes" in first
        assert [step[:6] for step in steps if step[:1].isdigit()] == ["1 of 4", "2 of 4", "3 of 4", "4 of 4"]
        assert [step.strip() for step in steps if step.startswith(" ")] == [
            "Downloading torch-2.13.0-cp312-cp312-linux_x86_64.whl, 190.5 MB",
            "Using cached nvidia_cutlass_dsl_libs-4.8.1.whl, 91.7 MB",
            "Installing them: about a minute",
        ]
        assert "tutor doctor" in last
        assert run(READY, copy).stdout == "make: '.venv/.ready' is up to date.\n"


def stages():
    """The Dockerfile: stage → its instructions, (name, rest)."""
    text = re.sub(r"\\\n", " ", (ROOT / "Dockerfile").read_text(encoding="utf-8"))
    found = {}
    for line in filter(None, text.splitlines()):
        if not line.startswith("#"):
            name, rest = line.split(maxsplit=1)
            if name == "FROM":
                found[rest.rpartition(" AS ")[2] if " AS " in rest else ""] = steps = []
            steps.append((name, rest))
    return found


def values(instruction, stage=""):
    return [rest for name, rest in stages()[stage] if name == instruction]


class TestDockerfile:
    def test_its_python_is_one_that_the_course_runs_on(self):
        (image,) = values("FROM", "base")
        project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
        python = re.fullmatch(r"python:(3\.\d+) AS base", image)[1]
        assert SpecifierSet(project["requires-python"]).contains(python)

    def test_points_are_kept_where_the_notebooks_are(self):
        (folder,) = values("WORKDIR")
        (setting,) = values("ENV")
        assert setting.startswith(f"{PROGRESS}={folder}/notebooks/")
        assert f":{folder}/notebooks " in (ROOT / "Dockerfile").read_text(encoding="utf-8")


class TestDevcontainer:
    SETTINGS = json.loads(
        re.sub(r"^\s*//.*$", "", (ROOT / ".devcontainer" / "devcontainer.json").read_text(), flags=re.MULTILINE)
    )

    def test_it_is_a_stage_of_the_dockerfile(self):
        build = self.SETTINGS["build"]
        assert (ROOT / ".devcontainer" / build["dockerfile"]).resolve() == ROOT / "Dockerfile"
        assert (ROOT / ".devcontainer" / build["context"]).resolve() == ROOT
        assert build["target"] in stages()


def test_an_installed_package_has_its_data():
    listed = subprocess.run(["git", "ls-files", "-z", "tutorlib"], cwd=ROOT, capture_output=True, text=True, check=True)
    data = {ROOT / name for name in filter(None, listed.stdout.split("\0")) if not name.endswith((".py", ".md"))}
    packed = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["setuptools"]["package-data"]
    folders = {ROOT.joinpath(*package.split(".")): patterns for package, patterns in packed.items()}
    assert data <= {path for folder, patterns in folders.items() for one in patterns for path in folder.glob(one)}


PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def test_conda_has_the_same_pins():
    conda = yaml.safe_load((ROOT / "environment.yml").read_text(encoding="utf-8"))
    (pip,) = [entry["pip"] for entry in conda["dependencies"] if isinstance(entry, dict)]
    assert pip == [*PROJECT["dependencies"], "-e ."]


def test_every_dependency_is_pinned():
    everything = [
        *PROJECT["dependencies"],
        *(line for extra in ("dev", "site") for line in PROJECT["optional-dependencies"][extra]),
    ]
    assert [line for line in everything if not re.fullmatch(r"[\w-]+(\[\w+\])?==[\w.]+", line)] == []


def test_nothing_wants_another_cuda_toolkit_than_torch_does():
    """torch's CUDA build has one of its own, and pip finds no version for both."""
    wanting = []
    for line in PROJECT["dependencies"]:
        package, extra = re.match(r"([\w-]+)(?:\[(\w+)\])?", line).groups()
        for wanted in map(Requirement, metadata.requires(package) or []):
            needed = wanted.marker is None or wanted.marker.evaluate({"extra": extra or ""})
            if package != "torch" and needed and wanted.name == "cuda-toolkit":
                wanting.append(line)
    assert wanting == []


def test_make_refuses_an_old_python_in_one_line(tmp_path):
    """The version test of the Makefile, run with another version in place of sys.version_info."""
    line = next(line for line in (ROOT / "Makefile").read_text().splitlines() if "version_info" in line)
    code = re.search(r"-c '(.*)'", line)[1].replace("$(PYTHON)", "python3")
    for version, accepted in [((3, 10), False), ((3, 11), True), ((3, 13), True), ((3, 14), False)]:
        script = code.replace("sys.version_info[:2]", repr(version))
        done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
        assert (done.returncode == 0) == accepted
        assert len(done.stderr.splitlines()) == (0 if accepted else 1)
