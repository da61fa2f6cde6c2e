"""README: its exercise, its badges, and its table, always that of the committed data and its packages."""

import re
import tomllib
from dataclasses import replace

import pytest
from packaging.specifiers import SpecifierSet

from tests.pages.answers import named
from tests.stand_ins import MACHINE, copied
from tutorlib.course import readme
from tutorlib.course.evidence import code_sha256
from tutorlib.exercises import find, of_notebook
from tutorlib.measuring.results import Page, Result, Results, all_results
from tutorlib.paths import ROOT, SOLUTIONS

LADDER = [exercise for exercise in of_notebook("05_copy_kernels") if exercise.needs]
POINTS = sum(exercise.points for exercise in LADDER)


@pytest.fixture
def reached():
    """Notebook 05 on an H200, with the pinned packages."""
    exercises = {one.id: Result("passed", one.points, one.points, (copied(0.98, median_us=511.3),)) for one in LADDER}
    pages = {"05_copy_kernels": Page(code_sha256("05_copy_kernels"), 20.0)}
    machine = {**MACHINE, "packages": {"torch": readme.pins()["torch"], "nvidia-cutlass-dsl": None, "other": "1"}}
    return Results(machine, "2026-11-20", pages, exercises)


def blocks(language=""):
    """README's code blocks of a language."""
    text = readme.README.read_text(encoding="utf-8")
    return [code for named, code in re.findall(r"^```(\w*)\n(.*?)^```$", text, re.M | re.S) if named == language]


def test_it_begins_with_the_page_s_kernel_without_its_barrier():
    (code,) = blocks("python")
    page = (SOLUTIONS / "05_copy_kernels.py").read_text(encoding="utf-8")
    kernel = page.partition("def transpose_kernel(")[2].partition("### BEGIN SOLUTION (about 6 lines)\n")[2]
    answer = [line.strip() for line in kernel.partition("    ### END SOLUTION")[0].splitlines()]
    answer.remove("cute.arch.sync_threads()")
    assert [line.partition("  #")[0].strip() for line in code.splitlines()] == answer


def test_its_message_is_that_of_the_check():
    message = find("05.6").grade(named("05.6", "- sync_threads()").function).message

    def words(text):
        return re.sub(r"line \d+", "line", " ".join(text.split()))

    assert words(message) in map(words, blocks())


def test_its_badges_are_true():
    text = readme.README.read_text(encoding="utf-8")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    first, last = re.search(r"!\[Python 3\.(\d+) to 3\.(\d+)\]", text).groups()
    pythons = [minor for minor in range(30) if SpecifierSet(project["requires-python"]).contains(f"3.{minor}")]
    assert pythons == list(range(int(first), int(last) + 1))
    assert f"badge/python-3.{first}%20to%203.{last}-" in text
    assert f"[![license: {project['license']}](https://img.shields.io/badge/license-{project['license']}-" in text
    for workflow in re.findall(r"actions/workflows/(\w+\.yml)", text):
        assert (ROOT / ".github" / "workflows" / workflow).exists()


def test_its_links_lead_to_files():
    for path in (readme.README, *(ROOT / "docs").glob("*.md")):
        for link in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", path.read_text(encoding="utf-8")):
            assert link.startswith("../../actions/") or (path.parent / link).exists(), f"{path.name}: {link}"


def row(name, *results):
    return next(row for row in readme.table(results).splitlines() if name in row)


def test_readme_has_the_table_of_the_committed_data():
    text = readme.README.read_text(encoding="utf-8")
    assert readme.with_table(text, all_results()) == text, "run `tutor build`"


def test_a_measured_notebook(reached):
    best = LADDER[0].title
    assert row("05_copy", reached).endswith(
        f"| {POINTS} of {POINTS} points; {best}: 4.20 TB/s, 0.980 ±0.5% of torch copy_ |"
    )


def test_a_notebook_that_needs_no_gpu_and_one_that_never_ran(reached):
    assert row("00_start", reached).endswith("| all | – |")
    assert row("06_cutile", reached).endswith("| all | not run |")


def test_code_that_changed_since_with_the_points_that_the_page_had_then(reached):
    first, *_ = LADDER
    fewer = {first.id: reached.exercises[first.id]}
    old = replace(reached, notebooks={"05_copy_kernels": Page("another", 20.0)}, exercises=fewer)
    assert f"| {first.points} of {first.points} points; " in row("05_copy", old)
    assert row("05_copy", old).endswith("; *changed since* |")


class TestPins:
    def test_each_package_that_was_another_is_named_with_its_version(self, reached):
        others = {"torch": "2.0.1", "cuda-tile": "1.0.0", "nvidia-ml-py": readme.pins()["nvidia-ml-py"]}
        other = replace(reached, machine={**MACHINE, "packages": others})
        assert readme.off_pins(other) == {"torch": "2.0.1", "cuda-tile": "1.0.0"}
        assert (
            readme.table([other]).splitlines()[0].endswith("| NVIDIA H200, 2026-11-20 (torch 2.0.1, cuda-tile 1.0.0) |")
        )
