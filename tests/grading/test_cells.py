"""A submission's code cells sorted, and what runs of them."""

import json

import nbformat
import pytest
from nbformat import v4

from tests.trial_course import Course, cell, make_course
from tutorlib.grading.repaired_json import with_marks
from tutorlib.grading.sorted_cells import START, sort_cells
from tutorlib.grading.submission import CodeCell, code_cells

STUB = '{}\n# YOUR CODE HERE (about 1 line)\nraise NotImplementedError("Exercise 90.{}")'


def pristine():
    def coded(id, text, **role):
        made = v4.new_code_cell(text, metadata={"tutorlib": role} if role else {})
        made.id = id
        return made

    exercises = [
        part
        for k in (1, 2)
        for part in (
            coded(f"answer-90-{k}", f"def f{k}(n):\n    " + STUB.format("", k), exercise=f"90.{k}", role="answer"),
            coded(f"check-90-{k}", f'check("90.{k}", f{k})', exercise=f"90.{k}", role="check"),
        )
    ]
    return v4.new_notebook(cells=[coded("import", "from tutorlib import check"), *exercises])


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
    return sort_cells([IMPORT, *cells, CHECKS[0], SECOND, CHECKS[1]], pristine())


@pytest.mark.parametrize(
    "cells",
    [
        [answer(ONE)],
        [answer(ONE), answer(ONE, "copy")],
        [answer(ONE), answer(ONE + "\n", "copy")],
        [answer(ONE), answer(STUB.format("def f1(n):", 1), "copy")],
        [answer("# " + ONE.replace("\n", "\n# "), "copy"), answer(ONE)],
        [answer(HEAD), answer(REST, "rest")],
        [answer(HEAD), other(REST)],
    ],
)
def test_copies_and_halves_of_an_answer_are_one(cells):
    found = sort(*cells)
    assert (found.answers["90.1"].strip(), found.unusable) == (ONE, {})
    assert not any(found.added.values())


def test_a_helper_in_a_cell_of_the_same_mark_runs_with_the_answer():
    assert sort(answer("import math"), answer(ONE, "more")).answers["90.1"] == f"import math\n{ONE}"


def test_an_unsolved_copy_without_its_mark_is_not_run():
    stub = next(one for one in pristine().cells if one.id == "answer-90-1").source
    assert not any(sort(answer(ONE), other(stub)).added.values())


@pytest.mark.parametrize(
    ("cells", "why"),
    [
        ([], "answer cell deleted"),
        ([answer("# nothing yet")], "not written yet"),
        ([answer("def f1(n):\n  return 1\n return 2")], "IndentationError in line 3"),
        (
            [answer(ONE), other("x = 1"), answer("def f1(n):\n    return 3", "again")],
            "there are 2 answer cells for 90.1",
        ),
        ([answer("x = " + "(" * 300 + ")" * 300)], "of your answer"),
        ([answer("x = '\0'")], "null bytes"),
    ],
)
def test_what_cannot_be_run_is_said(cells, why):
    assert why in sort(*cells).unusable["90.1"]


@pytest.mark.parametrize("above", ["\n" * 500_000, " \t" * 200_000 + "\n", "%time 1\n" * 2000, "# ?%!\n" * 50_000])
def test_a_long_text_is_looked_through_in_no_time(above):
    """Once, whatever stands in it: time for its square would be hours."""
    text = f"{above}def answer(n):\n    return n"
    assert sort(answer(text)).answers["90.1"] == text


def test_what_python_warns_of_is_not_the_instructors(recwarn):
    sort(answer("def answer(n):\n    return n is 1, '\\d'"))
    assert not [one for one in recwarn.list if one.category is SyntaxWarning]


def test_each_cell_of_the_students_own_has_its_place():
    found = sort_cells(
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
        START: ["first = 1"],
        "import": ["helper = 2"],
        "answer-90-1": ["%time f1(3)"],
        "answer-90-2": [],
        "check-90-2": ["!ls"],
    }
    assert found.changed == {"import": "from tutorlib import check\nimport math"}


def test_answers_without_marks_are_known_by_their_checks():
    bare = [v4.new_code_cell(one.source) for one in pristine().cells]
    assert [one.exercise for one in code_cells(with_marks(v4.new_notebook(cells=bare)))] == ["", "90.1", "", "90.2", ""]


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
