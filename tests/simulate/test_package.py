"""The simulator as others have it: without the course, by its README, and on public bug reports rebuilt small."""

import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tomllib
from pathlib import Path

import pytest
import torch

from tests.simulate.cases import hosts, tiles
from tests.simulate.ptx.snippets import DOUBLE
from tutorlib.failure import Hazard
from tutorlib.paths import ROOT
from tutorlib.simulate import simulate

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


CASES = Path(__file__).parent / "cases/kernels.cu"
CPP = {"arch": "90", "block": (32,)}
ON_90 = {"arch": "90a"}


@pytest.mark.parametrize(
    ("kernel", "sizes", "options", "kinds", "line"),
    [
        (CASES, (32, 32, 32), {**CPP, "grid": (1,), "entry": "through_global<true>"}, set(), ""),
        (
            CASES,
            (32, 32, 32),
            {**CPP, "grid": (1,), "entry": "through_global<false>"},
            {"race"},
            "y[threadIdx.x] = tmp",
        ),
        (CASES, (64, 64), {**CPP, "grid": (2,), "entry": "through_neighbor<true>"}, set(), ""),
        (CASES, (64, 64), {**CPP, "grid": (2,), "entry": "through_neighbor<false>"}, {"race"}, "y[at] ="),
        (hosts.InCluster(True), (64, 64, 64), ON_90, set(), ""),
        (hosts.InCluster(False), (64, 64, 64), ON_90, {"overlap"}, "tmp["),
        (hosts.Dependent(True), (32, 32, 32), ON_90, set(), ""),
        (hosts.Dependent(False), (32, 32, 32), ON_90, {"race"}, "y[t] = tmp[t]"),
        (hosts.Named(True), (64, 64), {}, set(), ""),
        (hosts.Named(False), (64, 64), {}, {"deadlock"}, "cute.arch.barrier"),
        (hosts.Arrival(True), (32, 32), ON_90, set(), ""),
        (hosts.Arrival(False), (32, 32), ON_90, {"race"}, "y[t - THREADS] = tile"),
        (hosts.Arrival(True, waits=False), (32, 32), ON_90, {"race"}, "y[t - THREADS] = tile"),
        (tiles.waits_for(0), (1, 32), {"grid": (1,)}, set(), ""),
        (tiles.waits_for(9), (1, 32), {"grid": (1,)}, {"endless"}, "while ct.atomic_cas"),
    ],
)
def test_a_hazard_is_found_by_its_line_and_its_right_form_is_clean(kernel, sizes, options, kinds, line):
    first, *others = sizes
    written = [torch.full((size,), torch.nan) for size in others]
    given = torch.zeros(first, dtype=torch.int32) if first == 1 else torch.randn(first)
    report = simulate(kernel, given, *written, **options)
    assert {finding.kind for finding in report.findings} == kinds
    if kinds:
        assert line in report.findings[0].place.text
    else:
        assert not any(tensor.isnan().any() for tensor in written)
