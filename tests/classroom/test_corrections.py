"""Corrections by hand: the file, what they do to points, and those whose student or exercise is unknown."""

from pathlib import Path

import pytest

from tutorlib.classroom import CannotGrade
from tutorlib.classroom.adjustments import Correction, corrected, read_corrections
from tutorlib.classroom.hand_ins import HandedIn
from tutorlib.classroom.roster import Enrolled, Listed, directory

ANN = Enrolled(HandedIn("ann", "moodle", "7", "ann"), Listed("Ann Lee", "7", "ann@x", "2202"), "Ann Lee")
BOB = Enrolled(HandedIn("bob", "", "", "bob"), Listed("bob"), "bob")
EXERCISES = ("00.1", "02.1", "02.2", "02.10", "16.1", "16.10")


@pytest.fixture(autouse=True)
def in_a_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def read(text: str) -> tuple[dict[str, dict[str, tuple[Correction, ...]]], list[str]]:
    found: dict[str, dict[str, tuple[Correction, ...]]] = {}
    Path("c.csv").write_text(text, encoding="utf-8")
    students = directory({one: one.keys for one in (ANN, BOB)})
    return found, read_corrections(Path("c.csv"), students, EXERCISES, found)


def only(text: str) -> Correction:
    ((_, of_student),) = read(text)[0].items()
    ((one,),) = of_student.values()
    return one


@pytest.mark.parametrize(
    ("row", "points", "added"),
    [
        ("7,02.1,2,", 2, False),
        ("7,02.1,+1,", 1, True),
        ("7,02.1,-0.5,", -0.5, True),
        ("7,02.1,\u22121,", -1, True),
        ('7,02.1,"1,5",', 1.5, False),
        ("7,02.1,'+1,", 1, True),
        ("7,02.1,,well put", None, False),
    ],
)
def test_points(row, points, added):
    one = only(f"id,exercise,points,comment\n{row}\n")
    assert (one.points, one.added, one.place) == (points, added, "c.csv, line 2")


@pytest.mark.parametrize(
    ("column", "who"),
    [
        *(("id", who) for who in ("7", "2202", "ann")),
        *(("name", who) for who in ("ann", "Ann Lee", "lee, ann", "ann@x")),
        *(("student", who) for who in ("7", "ann", "Ann  Lee")),
    ],
)
def test_a_student_by_id_or_name(column, who):
    assert list(read(f'{column},exercise,points\n"{who}",02.1,2\n')[0]) == ["ann"]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (
            "who,points\n7,1\n",
            "c.csv: its columns are points, who; needed: id (or name), exercise, points, comment, by.",
        ),
        ("id,exercise\n7,02.1\n", "c.csv: its columns are exercise, id; needed: "),
        ("id,exercise,points\n7,02.1,two\n", "c.csv, line 2: 'two' are no points; write 2, +1 or -0.5."),
        ("id,exercise,points\n7,02.1,nan\n", "c.csv, line 2: 'nan' are no points"),
        ("id,exercise,points\n7,02.1,\n", "c.csv, line 2: neither points nor a comment."),
        *(
            (f"id,exercise,points\n7,{id},1\n", f"c.csv, line 2: {id!r} is no exercise; write 02.1, as text.")
            for id in ("two", "2.1", "")
        ),
    ],
)
def test_a_mistake_is_one_line(text, says):
    with pytest.raises(CannotGrade) as error:
        read(text)
    assert str(error.value).startswith(says)
    assert "\n" not in str(error.value)


def test_an_unknown_student_or_exercise_has_a_line_and_the_rest_applies():
    found, lines = read("id,name,exercise,points\n9,,02.1,2\n,cy,02.1,2\n7,,02.9,2\n7,,02.1,2\n,bob,16.10,+1\n")
    assert lines == [
        "c.csv, line 2: no student is called 9; this correction is not applied.",
        "c.csv, line 3: no student is called cy; this correction is not applied.",
        "c.csv, line 4: there is no exercise 02.9; this correction is not applied.",
    ]
    assert {student: list(ones) for student, ones in found.items()} == {"ann": ["02.1"], "bob": ["16.10"]}


def test_corrections_apply_in_their_order_and_never_below_zero():
    given = [Correction("02.1", 2, False), Correction("02.1", 1, True), Correction("02.1", None, False, "good")]
    assert corrected(0.5, given) == 3
    assert corrected(0.5, [Correction("02.1", -4, True)]) == 0
    assert corrected(0.5, []) == 0.5


def test_a_number_that_may_be_two_exercises_has_a_line():
    """A spreadsheet makes 16.1 of 16.10; 02.1 is text, as its zero tells."""
    assert read("id,exercise,points\n7,02.1,2\n7,16.10,2\n")[1] == []
    found, (line,) = read("id,exercise,points\n7,16.1,2\n")
    assert list(found["ann"]) == ["16.1"]
    assert line == "c.csv, line 2: this corrects 16.1; write 16.10 if a spreadsheet dropped the zero."
