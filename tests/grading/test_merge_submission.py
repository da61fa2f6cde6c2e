"""Answers put into the pristine notebook."""

import pytest

from tutorlib.grading.merge_submission import merged_page, sort
from tutorlib.grading.submission import read_submission
from tutorlib.paths import NOTEBOOKS

START = (NOTEBOOKS / "00_start.ipynb").read_text()


def test_an_answer_left_out_says_so_where_a_later_one_calls_it(tmp_path):
    (tmp_path / "a.ipynb").write_text(START.replace("raise NotImplementedError", "raise NotImplemented Error"))
    (submitted,) = read_submission([tmp_path])
    page = merged_page(submitted, sort(submitted))
    assert "SyntaxError in line 3 of your answer" in page.left_out["00.1"]
    names = {}
    (answer,) = (cell for cell in page.cells() if cell.id == "answer-00-1")
    exec(answer.source, names)
    with pytest.raises(RuntimeError, match=r"exercise 00\.1 is missing: SyntaxError in line 3"):
        names["ceil_div"](3, 2)
