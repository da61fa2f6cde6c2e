"""Measurements of the solutions, and `tutor doctor`."""

import os
import subprocess
import sys
from dataclasses import replace

import nbformat
import pytest
import torch
from typer.testing import CliRunner

from tests.stand_ins import H200, MACHINE, copied
from tests.trial_course import make_course
from tutorlib.cli import app
from tutorlib.course.measure_solutions import (
    code_sha256,
    collect,
    grade_solutions,
    save_targets,
    timed_exercises,
    usable_ratios,
)
from tutorlib.exercises import find, of_notebook
from tutorlib.machine import device
from tutorlib.measuring import results
from tutorlib.measuring.results import Result, Results
from tutorlib.paths import SOLUTIONS

LADDER = [exercise for exercise in of_notebook("05_copy_kernels") if exercise.needs]
TIERED = [exercise for exercise in LADDER if exercise.tiers]


def reached(exercise, measured=None):
    """A passed exercise, measured if it is timed."""
    measured = measured or copied(0.98)
    return exercise.outcome("passed", exercise.points, "✓", measurement=measured.as_json())


@pytest.fixture
def h200(monkeypatch, tmp_path):
    """An H200 on which nothing was measured yet."""
    monkeypatch.setattr(device, "this_machine", lambda: MACHINE)
    monkeypatch.setattr(results, "DATA", tmp_path)


class TestGradeSolutions:
    def test_a_notebook_that_needs_no_gpu_gets_all_its_points(self):
        found = [(one.id, one.status, one.points) for one in grade_solutions("00_start")]
        assert found == [(one.id, "passed", one.points) for one in of_notebook("00_start")]


@pytest.mark.usefixtures("h200")
class TestCollect:
    def test_the_results_of_a_notebook_with_its_code(self):
        found = collect({"05_copy_kernels": [reached(one) for one in LADDER]})
        assert found.machine == MACHINE
        assert found.notebooks == {"05_copy_kernels": code_sha256("05_copy_kernels")}
        assert found.exercises["05.1"] == Result("passed", find("05.1").points, find("05.1").points, (copied(0.98),))

    def test_notebooks_that_did_not_run_stay_and_those_that_did_are_replaced(self):
        collect({"05_copy_kernels": [reached(one) for one in LADDER]}).write()
        merged = collect({"00_start": [find("00.1").outcome("passed", 2, "✓")]})
        assert list(merged.notebooks) == ["00_start", "05_copy_kernels"]
        assert list(merged.exercises)[:2] == ["00.1", LADDER[0].id]
        merged.write()
        again = collect({"05_copy_kernels": [reached(LADDER[0])]})
        assert [id for id in again.exercises if id.startswith("05")] == [LADDER[0].id]


class TestTargets:
    def test_the_ratios_of_the_exercises_with_tiers(self):
        assert timed_exercises("05_copy_kernels") == TIERED
        ratios, problems = usable_ratios(reached(one) for one in LADDER)
        assert ratios == dict.fromkeys((one.id for one in TIERED), 0.98)
        assert problems == []

    def test_noise_and_gaps_are_no_targets(self):
        noisy, missing, *others = TIERED
        outcomes = [reached(noisy, copied(0.98, spread=0.2)), missing.outcome("failed", 0, "it is wrong")]
        ratios, problems = usable_ratios([*outcomes, *map(reached, others)])
        assert list(ratios) == [one.id for one in others]
        assert problems == [
            f"{noisy.id} {noisy.title}: too noisy, run it again",
            f"{missing.id} {missing.title}: not measured: it is wrong",
        ]

    def test_one_whose_baseline_is_off_is_not_recorded_and_a_line_says_so(self, h200):
        graded, other = TIERED[:2]
        outcomes = [reached(one, copied(0.98, usual_us=200.0)) for one in (graded, other)]
        assert [found.measurements for found in collect({"05_copy_kernels": outcomes}).exercises.values()] == [(), ()]
        ratios, problems = usable_ratios(outcomes)
        assert ratios == {}
        assert [line.partition(": torch copy_ took")[0] for line in problems] == [
            f"{one.id} {one.title}: not recorded, measure it again" for one in (graded, other)
        ]

    @pytest.mark.parametrize(
        ("before", "overwrite", "written"),
        [(None, False, True), ("NVIDIA H200", False, True), ("NVIDIA H100", False, False), ("NVIDIA H100", True, True)],
    )
    def test_another_gpus_targets_are_overwritten_only_where_that_is_asked_for(
        self, h200, monkeypatch, before, overwrite, written
    ):
        saved = []
        monkeypatch.setattr(results, "load_targets", lambda: {"sm_90": {"gpu": before}} if before else {})
        monkeypatch.setattr(results, "save_targets", lambda arch, machine, date, ratios: saved.append((arch, ratios)))
        assert save_targets([reached(TIERED[0])], overwrite) == []
        assert saved == ([("sm_90", {TIERED[0].id: 0.98})] if written else [])


def test_the_hash_is_of_the_code_alone(tmp_path):
    def sha(text):
        (tmp_path / "00_start.py").write_text(text)
        return code_sha256("00_start", tmp_path)

    source = (SOLUTIONS / "00_start.py").read_text(encoding="utf-8")
    assert sha(source) == sha(source.replace("# # 00", "# # Zero"))
    assert sha(source) != sha(source + "\n# %%\nprint(1)\n")


# An exercise whose every answer is right and whose speed is the recorded one, on a GPU that this machine need not have.
TIMED = """
from tutorlib.checking.exercise import Exercise, Verdict
from tutorlib.machine.features import MMA_SYNC
from tutorlib.measuring.results import recorded


class Timed(Exercise):
    def judge(self, answer):
        if answer(0) == 3:
            return Verdict(self.points, (str(recorded(self.id, (16384, 16384))),))
        return Verdict(0, ("wrong",))


EXERCISES = tuple(Timed(id=f"90.{k}", title="answer", points=2, needs=MMA_SYNC) for k in (1, 2))
"""
EXECUTE = """
from nbclient.exceptions import CellExecutionError
from tutorlib.course import measure_solutions
from tutorlib.measuring.results import data_file
try:
    measure_solutions.execute_page("90_trial", data_file("NVIDIA H200"))
except CellExecutionError as failure:
    print(failure.ename, failure.evalue)
"""


@pytest.fixture(scope="module")
def course(tmp_path_factory):
    """A trial course in whose data exercise 90.1 has a measurement and 90.2 has none."""
    course = make_course(tmp_path_factory.mktemp("evidence") / "course", {90: 2})
    (course.root / "tutorlib" / "exercises" / "p90.py").write_text(TIMED)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(results, "DATA", course.root / "figures" / "data")
        measured = Result("passed", 2, 2, (copied(0.95),))
        pages = {"90_trial": "abc"}
        Results(MACHINE, "2026-11-20", pages, {"90.1": measured, "90.2": replace(measured, measurements=())}).write()
    return course


class TestExecutePage:
    """In a copy of the course, since a page is executed by a kernel of its own."""

    def executed(self, course, answer):
        """The error of executing the page, the text that its checks printed, and whether its file is unchanged."""
        notebook = course.root / "solutions" / "90_trial.ipynb"
        page = nbformat.read(notebook, as_version=4)
        for cell in page.cells:
            if cell.id.startswith("answer"):
                cell.source = f"def answer(n):\n    return {answer}"
        nbformat.write(page, notebook)
        before = notebook.read_text()
        env = {**os.environ, "PYTHONPATH": str(course.root)}
        done = subprocess.run(
            [sys.executable, "-c", EXECUTE], cwd=course.root, env=env, capture_output=True, text=True, check=True
        )
        printed = [
            output.text
            for cell in nbformat.read(notebook, as_version=4).cells
            for output in cell.get("outputs", ())
            if cell.id.startswith("check")
        ]
        return done.stdout.strip(), printed, notebook.read_text() == before

    def test_a_page_prints_the_recorded_numbers(self, course):
        _, printed, _ = self.executed(course, 3)
        assert printed == [
            f"✓ 90.1 answer: 2 points\n  {copied(0.95)}\n",
            "✓ 90.2 answer: 2 points\n  None\n",
        ]

    def test_a_page_that_fails_stays_as_it_was(self, course):
        said, _, unchanged = self.executed(course, 4)
        assert said == "CheckFailed ✗ 90.1 answer: wrong"
        assert unchanged


# The doctor ----------------------------------------------------------------------------------------------------------


@pytest.fixture
def machine(monkeypatch):
    """Makes this machine one with the given GPU, driver and torch build."""

    def make(gpu=None, driver=None, cuda=None, packages=None):
        monkeypatch.setattr(device, "gpu", lambda: gpu)
        monkeypatch.setattr(device, "driver_version", lambda: driver)
        monkeypatch.setattr(torch.version, "cuda", cuda)
        if packages is not None:
            monkeypatch.setattr(device, "packages", lambda: packages)
        monkeypatch.setattr(results, "load_targets", lambda: {})

    return make


def said():
    result = CliRunner().invoke(app, ["doctor"])
    assert result.exit_code == 0
    return result.output


MISSING = {"torch": "2.13.0", "nvidia-cutlass-dsl": None}


@pytest.mark.parametrize(
    ("made", "says"),
    [
        ({}, "GPU      no GPU here\n"),
        ({}, "layouts (00, 01, 03, 04): everything"),
        ({}, "Blackwell kernels: results, in the simulator; not speed (no GPU here)"),
        ({}, "next     00.1 ceil_div in 00 · Start here; `make lab` opens the contents page\n"),
        ({"gpu": H200}, "NVIDIA H200, sm_90, 132 SMs, 140 GiB, driver 580.0"),
        ({"gpu": H200}, "Hopper kernels: results and speed"),
        ({"gpu": H200}, "Blackwell kernels: results, in the simulator; not speed (this GPU is sm_90"),
        ({"driver": "470.82.01", "cuda": "13.0"}, "driver 470.82.01 is there, and torch (CUDA 13.0) finds no GPU: is"),
        ({"driver": "580.95"}, "this torch is a build without CUDA"),
        ({"packages": MISSING}, "packages nvidia-cutlass-dsl is missing: install"),
        ({"packages": MISSING}, "next     repair the line 'packages' above, then run `tutor doctor` again\n"),
    ],
)
def test_a_machine(machine, made, says):
    machine(**made)
    assert says in said()


@pytest.mark.parametrize("command", ["calibrate", "evidence"])
def test_measuring_without_a_gpu_says_so(command, machine):
    machine()
    result = CliRunner().invoke(app, [command])
    assert result.exit_code == 2
    assert "This needs a GPU: no GPU here." in result.output
