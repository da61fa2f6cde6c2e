"""Bad submissions: one clear line for each, and what is forgiven."""

from pathlib import Path

import nbformat
import pytest
from nbformat import v4
from typer.testing import CliRunner

from tutorlib.cli import app
from tutorlib.exercises import of_notebook
from tutorlib.grading.submission import read_submission
from tutorlib.paths import NOTEBOOKS


def tutor_grade(*paths: Path):
    return CliRunner().invoke(app, ["grade", *map(str, paths)])


def notebook_of(*cells) -> str:
    return nbformat.writes(v4.new_notebook(cells=list(cells)))


def without_marks(text: str) -> str:
    notebook = nbformat.reads(text, as_version=4)
    for one in notebook.cells:
        one.metadata, one.id = {}, one.id.replace("answer", "cell")
    return nbformat.writes(notebook)


def with_another_answer(text: str) -> str:
    other = v4.new_code_cell("", metadata={"tutorlib": {"exercise": "01.1", "role": "answer"}})
    return notebook_of(*nbformat.reads(text, as_version=4).cells, other)


START = (NOTEBOOKS / "00_start.ipynb").read_text()


@pytest.mark.parametrize(
    ("name", "text", "says"),
    [
        ("answers.py", "print()", "not a notebook; its name should end in .ipynb"),
        ("cut.ipynb", START[:700], "its JSON ends early or is damaged"),
        ("empty.ipynb", "", "its JSON ends early or is damaged"),
        ("picture.ipynb", "\udcff\udcfe", "its JSON ends early or is damaged"),
        ("list.ipynb", "[1, 2]", "there are no notebook cells in it"),
        ("object.ipynb", '{"cells": 3, "nbformat": 4}', "there are no notebook cells in it"),
        ("cells.ipynb", '{"cells": [{}], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}', "no notebook cells"),
        ("other.ipynb", notebook_of(v4.new_code_cell("1 + 1")), "it has no answer cells"),
        ("no-ids.ipynb", without_marks(START).replace("check(", "verify("), "it has no answer cells"),
        ("later.ipynb", START.replace("00.", "77."), "answers notebook 77, which this course does not have"),
        ("two.ipynb", with_another_answer(START), "holds answers to several notebooks, 00 and 01"),
    ],
)
def test_a_bad_file_is_one_clear_line(tmp_path, name, text, says):
    path = tmp_path / name
    path.write_bytes(text.encode(errors="surrogateescape"))
    result = tutor_grade(path)
    assert result.exit_code == 2
    assert result.stdout == ""
    assert result.stderr.count("\n") == 1
    assert str(path) in result.stderr
    assert says in result.stderr


@pytest.mark.parametrize(
    ("name", "says"), [("gone.ipynb", "there is no such file."), ("", "there is no notebook in this folder.")]
)
def test_a_missing_file_and_an_empty_folder(tmp_path, name, says):
    result = tutor_grade(tmp_path / name)
    assert (result.exit_code, result.stderr) == (2, f"{tmp_path / name}: {says}\n")


def test_a_notebook_handed_in_twice_is_refused_and_one_named_twice_is_not(tmp_path):
    for name in ("a.ipynb", "b.ipynb"):
        (tmp_path / name).write_text(START)
    result = tutor_grade(tmp_path)
    assert result.exit_code == 2
    assert "a.ipynb answers 00_start too; hand in one of them" in result.stderr
    assert len(read_submission([tmp_path / "a.ipynb", tmp_path / "a.ipynb"])) == 1


def test_a_folder_may_hold_other_notebooks(tmp_path):
    (tmp_path / "a.ipynb").write_text(notebook_of(v4.new_code_cell("1 + 1")))
    (tmp_path / "b.ipynb").write_text(START)
    assert [one.name for one in read_submission([tmp_path])] == ["00_start"]


def test_answers_are_found_by_id_where_the_metadata_is_gone(tmp_path):
    notebook = nbformat.reads(START, as_version=4)
    for one in notebook.cells:
        one.metadata = {}
    (tmp_path / "a.ipynb").write_text(nbformat.writes(notebook))
    assert read_submission([tmp_path])[0].answers.keys() == {one.id for one in of_notebook("00_start")}


def test_a_folder_that_cannot_be_made(tmp_path):
    (tmp_path / "file").touch()
    result = CliRunner().invoke(app, ["grade", str(NOTEBOOKS / "00_start.ipynb"), "--out", str(tmp_path / "file")])
    assert (result.exit_code, result.stderr) == (2, f"{tmp_path / 'file'}: cannot be made: File exists\n")
