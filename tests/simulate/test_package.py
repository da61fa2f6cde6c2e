"""The simulator as others have it: without the course, by its README, and on public bug reports rebuilt small."""

import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tomllib
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tests.simulate.ptx.snippets import DOUBLE
from tutorlib.cli import app
from tutorlib.failure import Hazard
from tutorlib.paths import ROOT

PACKAGING = tomllib.loads((ROOT / "packaging/simulator/pyproject.toml").read_text())
TRIAL = """
import sys, torch
from tutorlib.simulate import simulate
from tests_kernels import kernels, tiles
src, dst = torch.arange(128.0), torch.zeros(128)
report = simulate(kernels.reverse, src, dst, 64)
assert torch.equal(dst, kernels.reversed_blocks(src, 64)), dst
assert not report.findings
from tutorlib.simulate.cli import app
try:
    app(["simulate", "double.ptx", "--grid", "2", *"--arg 64:fp32 --arg 64:fp32:out --arg 64".split()])
except SystemExit as end:
    assert end.code == 0
print(*sorted({name.split(".")[1] for name in sys.modules if name.startswith("tutorlib.")}))
"""


@pytest.mark.long
def test_a_kernel_is_simulated_without_the_rest(tmp_path):
    for pattern in PACKAGING["tool"]["setuptools"]["packages"]["find"]["include"]:
        for package in (ROOT / "tutorlib").glob(pattern.removeprefix("tutorlib.")):
            shutil.copytree(package, tmp_path / "tutorlib" / package.name)
    shutil.copytree(ROOT / "tests/simulate/tool", tmp_path / "tests_kernels")
    (tmp_path / "double.ptx").write_text(DOUBLE)
    packages = Path(sysconfig.get_path("purelib"))  # without its .pth files, which name the course
    paths = [tmp_path, packages, packages / "nvidia_cutlass_dsl/dsl_packages"]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(map(str, paths))}
    done = subprocess.run(
        [sys.executable, "-S", "-c", TRIAL], env=environment, cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert "doubled: 2 blocks, " in done.stdout
    assert done.stdout.splitlines()[-1] == "compiling dsl simulate"


def test_its_versions_are_the_courses():
    pins = set(tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"])
    assert set(PACKAGING["project"]["dependencies"]) <= pins


README = (ROOT / "tutorlib/simulate/README.md").read_text(encoding="utf-8")
NO_FAULT = {Hazard.REPEAT, Hazard.ZEROS}


def blocks(language):
    return re.findall(rf"```{language}\n(.*?)```", README, re.DOTALL)


def commands():
    """Each command of the README with what it shows of its output."""
    for block in blocks("console"):
        for one in block.split("$ ")[1:]:
            command, shown = one.split("\n", 1)
            yield command, shown


@pytest.fixture(scope="module")
def example(tmp_path_factory):
    file = tmp_path_factory.mktemp("readme") / "reverse.py"
    file.write_text(blocks("python")[0])
    return file


def in_shell(command, folder):
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    environment = {name: value for name, value in os.environ.items() if name != "PYTEST_CURRENT_TEST"} | {"PATH": path}
    return subprocess.run(command, shell=True, cwd=folder, env=environment, capture_output=True, text=True)


@pytest.mark.parametrize(("command", "shown"), list(commands()), ids=lambda text: text.split("\n")[0])
def test_a_command_prints_what_is_shown(example, command, shown):
    """In the README's order: later commands read what earlier ones wrote."""
    done = in_shell(command, example.parent)
    assert done.returncode == (0 if "--baseline" in command else 1), done.stderr
    if shown:
        assert done.stdout == shown
    elif ">" not in command:
        assert "✗ race: thread 0 of block 0 reads what thread 127 wrote at line 14" in done.stdout


def test_the_barrier_that_it_lacks_mends_it(example):
    mended = example.with_name("mended.py")
    mended.write_text(example.read_text().replace("    dst[block", "    cute.arch.sync_threads()\n    dst[block"))
    done = in_shell("tutor simulate -- python mended.py", example.parent)
    assert (done.returncode, done.stderr) == (0, "")


def test_every_kind_of_finding_is_in_the_table():
    table = README.partition("## What is checked")[2].partition("## Limits")[0]
    assert {kind for kind in Hazard if f"`{kind}`" not in table} == NO_FAULT


CASES = Path(__file__).parent / "cases"
X, OUT = "--arg 32:fp32", "--arg 32:fp32:out"
PAIR, PAIR_OUT = "--arg 64:fp32", "--arg 64:fp32:out"
GLOBAL = f"--arch 90 --grid 1 --block 32 {X} {OUT} {OUT}"
CLUSTER = f"--arch 90 --grid 2 --block 32 {PAIR} {PAIR_OUT}"
IN_CLUSTER = f"--arch 90a {PAIR} {PAIR_OUT} {PAIR_OUT}"


@pytest.mark.parametrize(
    ("target", "options", "kinds", "line"),
    [
        ("kernels.cu::through_global<true>", GLOBAL, set(), ""),
        ("kernels.cu::through_global<false>", GLOBAL, {"race"}, "y[threadIdx.x] = tmp"),
        ("kernels.cu::through_neighbor<true>", CLUSTER, set(), ""),
        ("kernels.cu::through_neighbor<false>", CLUSTER, {"race"}, "y[at] ="),
        ("hosts.py::InCluster(True)", IN_CLUSTER, set(), ""),
        ("hosts.py::InCluster(False)", IN_CLUSTER, {"overlap"}, "tmp["),
        ("hosts.py::Dependent(True)", f"--arch 90a {X} {OUT} {OUT}", set(), ""),
        ("hosts.py::Dependent(False)", f"--arch 90a {X} {OUT} {OUT}", {"race"}, "y[t] = tmp[t]"),
        ("hosts.py::Named(True)", f"{PAIR} {PAIR_OUT}", set(), ""),
        ("hosts.py::Named(False)", f"{PAIR} {PAIR_OUT}", {"deadlock"}, "cute.arch.barrier"),
        ("hosts.py::Arrival(True)", f"--arch 90a {X} {OUT}", set(), ""),
        ("hosts.py::Arrival(False)", f"--arch 90a {X} {OUT}", {"race"}, "y[t - THREADS] = tile"),
        ("hosts.py::Arrival(True, waits=False)", f"--arch 90a {X} {OUT}", {"race"}, "y[t - THREADS] = tile"),
        ("tiles.py::waits_for(0)", f"--grid 1 --arg 1:int32:zeros {OUT}", set(), ""),
        ("tiles.py::waits_for(9)", f"--grid 1 --arg 1:int32:zeros {OUT}", {"endless"}, "while ct.atomic_cas"),
    ],
)
def test_a_hazard_is_found_by_its_line_and_its_right_form_is_clean(monkeypatch, target, options, kinds, line):
    monkeypatch.chdir(CASES)
    done = CliRunner().invoke(app, ["simulate", target, *options.split(), "--format", "json"])
    assert done.stderr == ""
    said = json.loads(done.stdout)
    assert {finding["kind"] for finding in said["findings"]} == kinds
    assert done.exit_code == bool(said["findings"] or said["wrong"])
    assert kinds or not said["wrong"]
    if kinds:
        assert line in said["findings"][0]["text"]
