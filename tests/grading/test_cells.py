"""A submission's code cells sorted, and what runs of them."""

import json

import nbformat
import pytest
from nbformat import v4

from tests.trial_course import Course, cell, make_course
from tutorlib.grading.judge_process import PageCell
from tutorlib.grading.merged_page import START, code_in
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
    return code_in([IMPORT, *cells, CHECKS[0], SECOND, CHECKS[1]], pristine())


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
    assert (found.answers["90.1"].strip(), found.unusable) == (text, {})


def test_a_merged_cell_is_the_answer_to_each_exercise_in_it():
    merged = f'{ONE}\n\ncheck("90.1", f1)\n\ndef f2(n):\n    return 2'
    found = code_in([IMPORT, answer(merged), CHECKS[1]], pristine())
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
    assert sort(*cells).unusable["90.1"].startswith(why)


def test_an_unsolved_copy_without_its_mark_is_not_run():
    stub = next(one for one in pristine() if one.id == "answer-90-1").source
    assert not any(sort(answer(ONE), other(stub)).added.values())


def test_each_cell_of_the_students_own_has_its_place():
    found = code_in(
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
