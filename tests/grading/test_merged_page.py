"""A submission's code cells sorted, what runs of them, and honest oddities, which have full points."""

import json
import os
import subprocess
import sys

import nbformat
import pytest
from nbformat import v4

from tests.honest import ANSWERS
from tests.strangers import FULL, HandIn, of_the_honest, strangers_course, together
from tests.trial_course import Course, cell, make_course
from tutorlib.grading.judge_process import PageCell
from tutorlib.grading.merged_page import START, page_with
from tutorlib.grading.submission import CodeCell

STUB = '{}\n# YOUR CODE HERE (about 1 line)\nraise NotImplementedError("Exercise 90.{}")'


def pristine():
    exercises = [
        part
        for k in (1, 2)
        for part in (
            PageCell(f"answer-90-{k}", f"def f{k}(n):\n    " + STUB.format("", k), "answer", f"90.{k}"),
            PageCell(f"check-90-{k}", f'check("90.{k}", f{k})', "check", f"90.{k}"),
        )
    ]
    return [PageCell("import", "from tutorlib import check"), *exercises]


IMPORT = CodeCell("import", "", "from tutorlib import check")
CHECKS = [CodeCell(f"check-90-{k}", "", f'check("90.{k}", f{k})') for k in (1, 2)]
SECOND = CodeCell("answer-90-2", "90.2", "def f2(n):\n    return 2")
ONE = "def f1(n):\n    m = n + 1\n    return m"
HEAD, REST = "def f1(n):\n    m = n + 1", "    return m"


def answer(text, id="answer-90-1"):
    return CodeCell(id, "90.1", text)


def other(text):
    return CodeCell("mine", "", text)


def sort(*cells):
    return page_with("90_trial", [IMPORT, *cells, CHECKS[0], SECOND, CHECKS[1]], pristine())


STUB_OF_ONE = STUB.format("def f1(n):", 1)
UNMARKED = [other(ONE), other("f2 = f1"), other('check("90.1", f1)')]


@pytest.mark.parametrize(
    ("cells", "text"),
    [
        ([answer(ONE)], ONE),
        ([answer(ONE), answer(STUB_OF_ONE, "copy")], ONE),
        ([answer("# " + ONE.replace("\n", "\n# "), "copy"), answer(ONE)], ONE),
        ([answer(HEAD), answer(REST, "rest")], ONE),
        ([answer("import math"), answer(ONE, "more")], f"import math\n{ONE}"),
        ([answer("f1 = 3"), other("x = 1"), answer(ONE, "again")], f"f1 = 3\n{ONE}"),  # the last definition counts
        (UNMARKED, ONE),
        ([other("f1: int = 3"), *UNMARKED, other("f1 == 3")], ONE),
    ],
)
def test_the_text_of_an_answer(cells, text):
    found = sort(*cells)
    assert (found.answers["90.1"].strip(), found.left_out) == (text, {})


def test_a_merged_cell_is_the_answer_to_each_exercise_in_it():
    merged = f'{ONE}\n\ncheck("90.1", f1)\n\ndef f2(n):\n    return 2'
    found = page_with("90_trial", [IMPORT, answer(merged), CHECKS[1]], pristine())
    assert found.answers == {"90.1": merged, "90.2": merged}
    assert not any(found.added.values())


@pytest.mark.parametrize(
    ("cells", "why"),
    [
        ([], "its answer cell was deleted"),
        ([answer("# nothing yet")], "not written yet"),
    ],
)
def test_why_there_is_no_answer(cells, why):
    assert sort(*cells).left_out["90.1"].startswith(why)


def test_an_unsolved_copy_without_its_mark_is_not_run():
    stub = next(one for one in pristine() if one.id == "answer-90-1").source
    assert not any(sort(answer(ONE), other(stub)).added.values())


def test_each_cell_of_the_students_own_has_its_place():
    found = page_with(
        "90_trial",
        [
            other("first = 1"),
            CodeCell("import", "", "from tutorlib import check\nimport math"),
            other("helper = 2"),
            answer(ONE),
            other("%time f1(3)"),
            CHECKS[0],
            SECOND,
            CodeCell("gone", "", 'check("90.2", f2)'),
            other("!ls"),
        ],
        pristine(),
    )
    assert dict(found.added) == {
        START: ["first = 1", "from tutorlib import check\nimport math"],
        "import": ["helper = 2"],
        "answer-90-1": ["%time f1(3)"],
        "check-90-2": ["!ls"],
    }


@pytest.fixture(scope="module")
def course(tmp_path_factory) -> Course:
    return make_course(tmp_path_factory.mktemp("course"), {90: 6})


def test_added_cells_run_and_harm_nobody(course, tmp_path):
    """Helpers, shell commands, errors, a changed import cell, a cell that hangs, one that ends its kernel."""
    answers = {
        1: "def answer(n):\n    return helper(n, 1)",
        2: "def answer(n):\n    print('log', n)\n    return helper(n, 2)",
        3: "def answer(n):\n    return math.floor(n) + 3",
        4: "def answer(n):\n    return late(n)",
        5: "def answer(n):\n    return n + 5",
        6: "import warnings\n\n\ndef answer(n):\n    warnings.warn('right all the same')\n    return n + 6",
    }
    path = course.submit(tmp_path, 90, answers)
    notebook = nbformat.read(path, as_version=4)
    notebook.cells[0].source += "\nimport math\nfrom nowhere import nothing"
    own = [
        "!ls",
        "%%bash\nfalse",
        "%nomagic",
        "1 / 0",
        "def helper(n, k):\n    return n + k",
        "exit()",
        "# NBVAL_SKIP\nx = 1",
    ]
    for n, text in enumerate(own):
        notebook.cells.insert(1 + n, v4.new_code_cell(text))
    place = notebook.cells.index(cell(notebook, "answer-90-5"))
    notebook.cells.insert(place, v4.new_code_cell("while True:\n    pass"))
    notebook.cells.insert(place, v4.new_code_cell("import os\nos._exit(0)"))
    notebook.cells.append(v4.new_code_cell("def late(n):\n    return n + 4"))
    nbformat.write(notebook, path)
    graded = course.tutor("grade", path, "--format", "json", "--timeout", 10)
    outcomes = json.loads(graded.stdout)["exercises"]
    assert [one["points"] for one in outcomes] == [2, 2, 2, 0, 2, 2], outcomes


# Honest oddities: tests/honest.py ------------------------------------------------------------------------------------

TOGETHER = 62
# Others feel these
ALONE = ("files", "files that nobody may read", "another temporary folder", "a flat stack", "%env and %cd")
SHARED = {name: answer for name, answer in ANSWERS.items() if name not in ALONE}
if not os.environ.get("TUTORLIB_LONG"):
    SHARED = dict([*SHARED.items()][::4])
AROUND = [odd for odd in of_the_honest() if not odd.name.startswith("honest/answers/")]
READ = """
import json, sys, warnings
from pathlib import Path
from tutorlib.grading.merged_page import merged_page
from tutorlib.grading.submission import BadSubmission, read_submission

for path in sys.argv[1:]:
    try:
        (submitted,) = read_submission([Path(path)])
        grafted = merged_page(submitted)
        print(json.dumps([sorted(grafted.answers), grafted.left_out]))
    except BadSubmission as error:
        print(json.dumps([[], str(error)]))
"""


@pytest.fixture(scope="module")
def odd_course(tmp_path_factory) -> Course:
    return strangers_course(tmp_path_factory.mktemp("odd"), {TOGETHER: len(SHARED)})


@pytest.fixture(scope="module")
def all_together(odd_course, tmp_path_factory) -> dict[str, dict]:
    """Exercise → its outcome: the odd answers on one page."""
    path = together(TOGETHER, odd_course.student(TOGETHER), [*SHARED.values()], tmp_path_factory.mktemp("together"))
    done = odd_course.tutor("grade", path, "--format", "json")
    assert done.stdout, done.stderr
    return {outcome["id"]: outcome for outcome in json.loads(done.stdout)["exercises"]}


@pytest.mark.parametrize(("k", "name"), list(enumerate(SHARED, 1)), ids=str)
def test_an_odd_answer_among_others_has_full_points(all_together, k, name):
    outcome = all_together[f"{TOGETHER}.{k}"]
    assert outcome["points"] == 2, f"{name}: {outcome['message']}"


@pytest.fixture(scope="module")
def read(odd_course, tmp_path_factory) -> dict[str, list]:
    """Oddity → the exercises whose answers are found, and what is said of the others."""
    folders = [tmp_path_factory.mktemp("odd") for _ in AROUND]
    files = [odd.write(odd_course.student(60), folder) for odd, folder in zip(AROUND, folders, strict=True)]
    command = [sys.executable, "-P", "-W", "ignore", "-c", READ, *map(str, files)]
    env = {**os.environ, "PYTHONPATH": str(odd_course.root)}
    done = subprocess.run(command, cwd=odd_course.root, env=env, capture_output=True, text=True, check=True)
    return dict(zip([odd.name for odd in AROUND], map(json.loads, done.stdout.splitlines()), strict=True))


@pytest.mark.parametrize("name", [odd.name for odd in AROUND])
def test_both_answers_are_found_on_an_odd_page(read, name):
    found, of_the_others = read[name]
    assert found == ["60.1", "60.2"], of_the_others


def some_by_themselves() -> list[HandIn]:
    """Those that others feel, and some of those whose answers are found on their pages."""
    return [odd for odd in of_the_honest() if odd.name.removeprefix("honest/answers/") in ALONE] + AROUND[::8]


@pytest.mark.long
@pytest.mark.parametrize("odd", some_by_themselves(), ids=lambda odd: odd.name)
def test_an_oddity_by_itself_has_full_points(odd_course, odd: HandIn, tmp_path):
    done = odd_course.tutor("grade", odd.write(odd_course.student(60), tmp_path), "--format", "json")
    assert done.stdout, done.stderr
    outcomes = json.loads(done.stdout)["exercises"]
    assert [outcome["points"] for outcome in outcomes] == [*FULL], [outcome["message"] for outcome in outcomes]
