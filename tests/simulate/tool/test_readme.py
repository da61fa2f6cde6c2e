"""README.md shows what the tool prints, and names every kind of finding."""

import re
import shlex

import pytest
from typer.testing import CliRunner

from tutorlib.cli import app
from tutorlib.failure import Hazard
from tutorlib.paths import ROOT

README = (ROOT / "tutorlib/simulate/README.md").read_text(encoding="utf-8")
NO_FAULT = {Hazard.REPEAT, Hazard.ZEROS}


def blocks(language):
    return re.findall(rf"```{language}\n(.*?)```", README, re.DOTALL)


@pytest.fixture
def example(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "reverse.py"
    file.write_text(blocks("python")[0])
    return file


def test_the_example_prints_what_is_shown(example):
    command, shown = blocks("console")[0].removeprefix("$ ").split("\n", 1)
    done = CliRunner().invoke(app, shlex.split(command)[1:])
    assert (done.exit_code, done.stdout) == (1, shown)


def test_the_barrier_that_it_lacks_mends_it(example):
    example.write_text(example.read_text().replace("    dst[block", "    cute.arch.sync_threads()\n    dst[block"))
    done = CliRunner().invoke(app, ["simulate", "reverse.py::reverse", "--arg", "512:fp32", "--arg", "512:fp32:out"])
    assert done.exit_code == 0


def test_every_kind_of_finding_is_in_the_table():
    table = README.partition("## What is checked")[2].partition("## Limits")[0]
    assert {kind for kind in Hazard if f"`{kind}`" not in table} == NO_FAULT
