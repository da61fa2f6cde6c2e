"""README.md shows what the tool prints, and names every kind of finding."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tutorlib.failure import Hazard
from tutorlib.paths import ROOT

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
