"""Setting up the course, and the sample of tests that runs."""

import json
import re
import subprocess
import sys
import tomllib
from importlib import metadata

import yaml
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet

from tests import sample
from tests.sample import BUDGET_S, CHEAP_S, costs_of, of_commit, write_costs
from tutorlib.notebook.standing import PROGRESS
from tutorlib.paths import ROOT


def test_readme_starts_with_the_commands_that_set_up_a_fresh_machine_and_ci_runs_the_second():
    start = (ROOT / "README.md").read_text(encoding="utf-8").split("## Start\n")[1].split("\n## ")[0]
    shown = re.findall(r"^(make \w+)  +# (.*)$", start.split("```")[1], re.MULTILINE)
    targets = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    assert [command for command, _ in shown] == ["make lab", "make test"]
    assert {"lab", "test"} <= {*targets}
    assert "minutes" in shown[1][1]
    ci = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    assert re.search(r"^make (-j 2 )?test\b", ci, re.MULTILINE)


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


# The sample ----------------------------------------------------------------------------------------------------------

CHEAP = [f"a.py::test_cheap[{n}]" for n in range(5)]
COSTLY = [f"b.py::test_costly[{n}]" for n in range(40)]
ONE = ["c.py::test_long_one"]
KNOWN = {"a.py::test_cheap": CHEAP_S / 5} | dict.fromkeys(("b.py::test_costly", "c.py::test_long_one"), BUDGET_S / 10)
ALL = [*CHEAP, *COSTLY, *ONE]


def test_cheap_tests_run_with_every_commit_and_the_others_within_the_budget():
    for commit in range(50):
        taken = of_commit(ALL, str(commit), KNOWN)
        assert taken >= set(CHEAP)
        costs = costs_of(ALL, KNOWN)
        assert sum(costs[one] for one in taken - set(CHEAP)) <= BUDGET_S


def test_a_commit_has_one_sample_and_all_commits_together_every_case():
    assert of_commit(ALL, "a", KNOWN) == of_commit(ALL, "a", KNOWN) != of_commit(ALL, "b", KNOWN)
    assert set().union(*(of_commit(ALL, str(commit), KNOWN) for commit in range(100))) == set(ALL)


def test_what_ran_has_a_new_line_and_the_rest_keeps_its_own(tmp_path, monkeypatch):
    monkeypatch.setattr(sample, "COSTS", tmp_path / "costs.json")
    write_costs({"a": [1.0, 2.0], "b": [3.0]})
    write_costs({"b": [0.001], "c": [0.5]})
    assert json.loads(sample.COSTS.read_text()) == {"a": 1.5, "c": 0.5}
