"""The workflow that grades on push, its steps executed one after the other as a runner would, without GitHub."""

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import nbformat
import pytest
import yaml

from tutorlib.grading import sandbox
from tutorlib.paths import ROOT

WORKFLOW = ROOT / "docs" / "classroom" / "grade.yml"
RIGHT = "def ceil_div(n, tile):\n    return -(-n // tile)"
WRONG = "def ceil_div(n, tile):\n    return '<b>|`no`|</b>\\n::error::x'"
GIT = {f"GIT_{who}_{what}": "x@y.z" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}


@dataclass
class Runner:
    """A GitHub runner's workspace. done: step → its exit status. log: what the steps printed."""

    workspace: Path
    environment: dict[str, str]
    done: dict[str, int]
    log: str = ""

    def job(self, steps: list[dict], uses: dict[str, Callable[[dict], None]]) -> None:
        """Execute a job's steps in order; after one that fails, those alone that run always."""
        for step in steps:
            if any(self.done.values()) and step.get("if") != "always()":
                continue
            if "uses" in step:
                uses[step["uses"].partition("@")[0]](step.get("with", {}))
                self.done[step["name"]] = 0
            else:
                env = self.environment | {name: str(value) for name, value in step.get("env", {}).items()}
                command = ["bash", "--noprofile", "--norc", "-e", "-c", step["run"]]
                ran = subprocess.run(command, cwd=self.workspace, env=env, capture_output=True, text=True, timeout=600)
                self.done[step["name"]] = ran.returncode
                self.log += ran.stdout + ran.stderr

    @property
    def summary(self) -> str:
        path = Path(self.environment["GITHUB_STEP_SUMMARY"])
        return path.read_text() if path.exists() else ""


@pytest.fixture(scope="module")
def workflow() -> dict:
    return yaml.safe_load(WORKFLOW.read_text())


@pytest.fixture(scope="module")
def course(tmp_path_factory) -> Path:
    """The course as it is checked out at a tag."""
    root = tmp_path_factory.mktemp("course")
    for name in ("tutorlib", "solutions", "figures", "docs"):
        shutil.copytree(ROOT / name, root / name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", root)
    return root


def push(tmp_path: Path, answer: str | None) -> Path:
    """A student's repository with this answer; None: with no notebook."""
    folder = tmp_path / "student"
    (folder / "notebooks").mkdir(parents=True)
    (folder / "README.md").touch()
    if answer is not None:
        notebook = nbformat.read(ROOT / "notebooks" / "00_start.ipynb", as_version=4)
        next(cell for cell in notebook.cells if cell.id == "answer-00-1").source = answer
        nbformat.write(notebook, folder / "notebooks" / "00_start.ipynb")
    for command in (["init", "-q"], ["add", "."], ["commit", "-q", "-m", "my answers"]):
        subprocess.run(["git", *command], cwd=folder, env=os.environ | GIT, check=True)
    return folder


def run(workflow: dict, course: Path, tmp_path: Path, answer: str | None) -> Runner:
    """The job of the workflow on a runner where the course is installed; `sudo` only writes down what it is told."""
    bin, workspace, student = tmp_path / "bin", tmp_path / "workspace", push(tmp_path, answer)
    bin.mkdir()
    workspace.mkdir()
    wall = " --no-sandbox" if sandbox.why_open() else ""
    for name, text in {
        "sudo": f'echo "$@" >> {tmp_path}/sudo',
        "python": f'exec {sys.executable} "$@"',
        "tutor": f'exec {sys.executable} -m tutorlib "$@"{wall}',
    }.items():
        (bin / name).write_text(f"#!/bin/sh\n{text}\n")
        (bin / name).chmod(0o755)
    environment = os.environ | {
        "PATH": f"{bin}:{os.environ['PATH']}",
        "PYTHONPATH": str(course),
        "COURSE_INSTALLED": "yes",
        "GITHUB_STEP_SUMMARY": str(tmp_path / "summary.md"),
    }
    runner = Runner(workspace, environment, {})

    def check_out(given: dict) -> None:
        source = course if "repository" in given else student
        if source == student:
            subprocess.run(["git", "clone", "-q", str(student), str(workspace / given["path"])], check=True)
        else:
            assert given["repository"] == "${{ env.COURSE }}"
            (workspace / given["path"]).symlink_to(course)

    def set_up_python(given: dict) -> None:
        assert given["python-version"] == "3.11"
        assert (workspace / given["cache-dependency-path"]).is_file()

    def upload(given: dict) -> None:
        if (workspace / given["path"]).exists():
            shutil.copytree(workspace / given["path"], tmp_path / "artifact")

    uses = {"actions/checkout": check_out, "actions/setup-python": set_up_python, "actions/upload-artifact": upload}
    (job,) = workflow["jobs"].values()
    runner.job(job["steps"], uses)
    return runner


def test_a_right_answer_has_all_points(workflow, course, tmp_path):
    runner = run(workflow, course, tmp_path, RIGHT)
    assert set(runner.done.values()) == {0}, runner.log
    assert list(runner.done) == [step["name"] for step in workflow["jobs"]["grade"]["steps"]]
    assert re.search(r"00\.1 .*ceil_div .*passed", runner.summary)
    assert json.loads((tmp_path / "artifact" / "scores.json").read_text())["points"] == 2
    told = (tmp_path / "sudo").read_text().splitlines()
    assert told[-2:] == ["apt-get install -qq bubblewrap", "sysctl -w kernel.apparmor_restrict_unprivileged_userns=0"]


def test_a_wrong_answer_fails_the_job_and_says_why(workflow, course, tmp_path):
    runner = run(workflow, course, tmp_path, WRONG)
    assert {name for name, status in runner.done.items() if status} == {"Grade"}
    assert re.search(r"00\.1 .*ceil_div .*failed", runner.summary)
    assert (tmp_path / "artifact" / "scores.json").exists()


def test_without_a_notebook_nothing_is_graded(workflow, course, tmp_path):
    runner = run(workflow, course, tmp_path, None)
    assert runner.done["Grade"]
    assert "student/notebooks: " in runner.log
    assert "Traceback" not in runner.log
    assert runner.summary.split() == ["```", "```"]
