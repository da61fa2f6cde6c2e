"""Answers that share a cell, on the course's own pages."""

from copy import deepcopy
from itertools import pairwise

import nbformat
import pytest
from nbformat import v4

from tests.grading.test_cells import CHECKS, IMPORT, ONE, STUB, pristine
from tutorlib.grading.merge_submission import pristine_page
from tutorlib.grading.repaired_json import with_marks
from tutorlib.grading.sorted_cells import sort_cells
from tutorlib.grading.split_cells import AnswerPart, answer_parts, split_at_checks
from tutorlib.grading.submission import CodeCell, code_cells
from tutorlib.paths import SOLUTIONS, notebook_names

CHECKED = {"90.1": "f1", "90.2": "f2", "90.3": "f3"}
TWO = "def f2(n):\n    return 2"
IDS = [f"answer-90-{k}" for k in (1, 2)]


@pytest.mark.parametrize(
    ("cell", "missing", "parts"),
    [
        (f'{ONE}\ncheck("90.1", f1)', [], [("90.1", ONE)]),
        (f'{ONE}\ncheck("90.1", f1)\n\n{TWO}', ["90.2"], [("90.1", ONE), ("90.2", f"\n{TWO}")]),
        (f'{ONE}\n{TWO}\ncheck("90.2", f2)', ["90.2"], [("90.1", ONE), ("90.2", TWO)]),
        (f"{ONE}\n{TWO}", ["90.2"], [("90.1", ONE), ("90.2", TWO)]),
        (f"{TWO}\n{ONE}", ["90.2"], [("90.2", TWO), ("90.1", f"{TWO}\n{ONE}")]),
        (f"{ONE}\n{TWO}\nf3 = f2", ["90.2", "90.3"], [("90.1", ONE), ("90.2", TWO), ("90.3", "f3 = f2")]),
        (f'{ONE}\ncheck("90.1", f1)\n1 / 0', [], [("90.1", ONE), ("", "1 / 0")]),
        (f'{ONE}\ncheck("90.1", f1)\ndef f2(n)\n    return 2\ncheck("90.2", f2)', ["90.2"], None),
        (f'{ONE}\ndef f2(n)\n    return 2\ncheck("90.2", f2)', ["90.2"], None),
        (f"{ONE}\n{TWO}", [], [("90.1", f"{ONE}\n{TWO}")]),
        (f'x = """\ncheck("90.2", f2)\n"""\n{ONE}', ["90.2"], [("90.1", f'x = """\ncheck("90.2", f2)\n"""\n{ONE}')]),
        (f'if True:\n    check("90.2", f2)\n{ONE}', [], [("90.1", f'if True:\n    check("90.2", f2)\n{ONE}')]),
    ],
)
def test_a_cell_is_cut_where_one_answer_ends(cell, missing, parts):
    found = answer_parts(cell, "90.1", CHECKED, missing)
    broken = [("90.1", ONE), ("90.2", "def f2(n)\n    return 2")]
    assert found == [AnswerPart(*part) for part in parts or broken]


def test_a_mark_of_a_check_in_another_page_cuts_nothing():
    assert split_at_checks('check("91.1", f)\nx = 1', CHECKED) == [('check("91.1", f)\nx = 1', "")]


def pairs():
    for name in notebook_names():
        code = [one for one in pristine_page(SOLUTIONS / f"{name}.py").cells if one.id.startswith("answer-")]
        yield from ((name, one.id, two.id) for one, two in pairwise(code))


@pytest.mark.parametrize("name", notebook_names())
def test_each_two_neighbors_of_the_course_s_pages_can_be_merged(name):
    """With everything between them, paragraphs too, and the checks of both."""
    solved = nbformat.read(SOLUTIONS / f"{name}.ipynb", as_version=4)
    pristine = pristine_page(SOLUTIONS / f"{name}.py")
    apart = sort_cells(code_cells(solved), pristine)
    for _, first, second in [pair for pair in pairs() if pair[0] == name]:
        page = deepcopy(solved)
        ids = [one.id for one in page.cells]
        start, end = ids.index(first), ids.index(second.replace("answer", "check"))
        page.cells[start].source = "\n\n".join(one.source for one in page.cells[start : end + 1])
        del page.cells[start + 1 : end + 1]
        found = sort_cells(code_cells(page), pristine)
        assert found.answers.keys() == apart.answers.keys(), found.unusable
        one, two = (id.removeprefix("answer-").replace("-", ".") for id in (first, second))
        assert found.answers[one].strip() == apart.answers[one].strip()
        assert found.answers[two].strip().endswith(apart.answers[two].strip())
        assert {id: found.answers[id] for id in found.answers.keys() - {one, two}} == {
            id: text for id, text in apart.answers.items() if id not in (one, two)
        }


@pytest.mark.parametrize("kind", ["raw", "markdown"])
@pytest.mark.parametrize("marked", [True, False])
def test_an_answer_that_is_text_now_says_so(kind, marked):
    page = pristine()
    page.cells[1] = (v4.new_raw_cell if kind == "raw" else v4.new_markdown_cell)(ONE, metadata=page.cells[1].metadata)
    page.cells[1].id = "answer-90-1"
    page.cells[3].source = TWO
    if not marked:
        for n, one in enumerate(page.cells):
            one.metadata, one.id = {}, f"c{n}"
    found = sort_cells(code_cells(with_marks(page)), pristine())
    assert f"its answer cell is {kind} text" in found.unusable["90.1"]
    assert found.answers == {"90.2": TWO}


def test_a_copy_that_is_code_counts_beside_one_that_is_text():
    cells = [IMPORT, CodeCell(IDS[0], "90.1", ONE, "raw"), CodeCell("copy", "90.1", ONE), *CHECKS]
    assert sort_cells(cells, pristine()).answers["90.1"] == ONE


def test_an_answer_below_a_cell_that_was_left_as_it_was():
    stub = "def f1(n):\n    " + STUB.format("", 1)
    cells = [IMPORT, CodeCell(IDS[0], "90.1", stub), CodeCell("mine", "", ONE), *CHECKS]
    assert sort_cells(cells, pristine()).answers["90.1"].endswith(ONE)


@pytest.mark.parametrize("name", notebook_names())
def test_a_page_as_students_get_it_has_no_answer_anywhere(name):
    """Nor after its own cells were edited: none of them is taken for an answer."""
    pristine = pristine_page(SOLUTIONS / f"{name}.py")
    page = deepcopy(pristine)
    for one in page.cells:
        if one.cell_type == "code" and one.metadata.get("tutorlib", {}).get("role") != "answer":
            one.source += "\n# mine"
    found = sort_cells(code_cells(page), pristine)
    assert set(found.unusable.values()) <= {"not written yet"}
    assert not found.answers
    assert not any(found.added.values())
