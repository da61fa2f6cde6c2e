"""environment.yml, pyproject.toml, the hooks and CI say the same thing."""

import re
import subprocess
import sys
import tomllib
from importlib import metadata

import yaml
from packaging.requirements import Requirement

from tutorlib.paths import ROOT

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
