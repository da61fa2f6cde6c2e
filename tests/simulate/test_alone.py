"""The simulator without the course: the packages that packaging/simulator/pyproject.toml publishes, by themselves."""

import os
import shutil
import subprocess
import sys
import sysconfig
import tomllib
from pathlib import Path

import pytest

from tests.simulate.tool.sources import DOUBLE
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
