"""Corrections by hand, and late penalties."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tutorlib.classroom import CannotGrade
from tutorlib.classroom.adjustments import (
    Correction,
    Rules,
    corrected,
    late_notebooks,
    lateness,
    read_corrections,
    read_rules,
    time_in,
)
from tutorlib.classroom.hand_ins import HandedIn, Upload
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
    return found, [*read_corrections(Path("c.csv"), students, EXERCISES, found)]


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


# Late penalties ------------------------------------------------------------------------------------------------------

DUE = datetime(2026, 11, 20, 22, 59, tzinfo=UTC)
FILE = "ann/00_start.ipynb"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("due = ", "rules.toml: not TOML: "),
        ("deu = 2026-11-20T23:59:00Z", "rules.toml: there is no rule deu; there are due and penalty."),
        ("due = 2026-11-20T23:59:00", "due: no time with an offset; write due = 2026-11-20T23:59:00+01:00, unquoted."),
        ("due = 2026-11-20", "due: no time with an offset"),
        ('due = "Friday"', "due: no time with an offset"),
        ("penalty = 10", "due: no time with an offset"),
        *((f"due = 2026-11-20T23:59:00Z\npenalty = {p}", "penalty: no percentage; write penalty = 10.")
          for p in ("'10%'", -1, "nan", "true", 101)),
    ],
)  # fmt: skip
def test_a_mistake_in_the_rules_is_one_line(tmp_path, text, says):
    (tmp_path / "rules.toml").write_text(text)
    with pytest.raises(CannotGrade) as error:
        read_rules(tmp_path / "rules.toml")
    assert says in str(error.value)
    assert "\n" not in str(error.value)


def test_the_file(tmp_path):
    (tmp_path / "rules.toml").write_text("due = 2026-11-20T23:59:00+01:00\npenalty = 12.5\n")
    assert read_rules(tmp_path / "rules.toml") == Rules(DUE, 12.5)


def enrolled(system="", handed_in="", late=False, extension="") -> Enrolled:
    """Ann, who handed in FILE."""
    student = HandedIn("ann", system, "7", "ann", (Upload(Path("ann"), "ann", system, "7", late),))
    listed = Listed("Ann Lee", "7", handed_in=handed_in, extension=extension, place="roster.csv, line 2", system=system)
    return Enrolled(student, listed, "Ann Lee")


@pytest.mark.parametrize(
    ("hours", "got", "points"),
    [(-1, 10, None), (0, 10, None), (0.01, 10, 2), (24, 10, 2), (24.01, 10, 4), (24 * 30, 10, 10), (1, 0.5, 0.5)],
)
def test_each_started_day_costs_a_share_and_no_notebook_loses_more_than_it_has(hours, got, points):
    student = enrolled(handed_in=(DUE + timedelta(hours=hours)).isoformat())
    late, unknown = late_notebooks(Rules(DUE, 20), student, {"00_start": FILE}, {"00_start": (got, 10)})
    assert ([one.penalty for one in late], unknown) == ([points] if points else [], ())
    assert late_notebooks(Rules(), student, {"00_start": FILE}, {"00_start": (got, 10)}) == ((), ())


def test_it_is_said_in_a_line():
    (late,), _ = late_notebooks(
        Rules(DUE, 10), enrolled(handed_in="2026-11-22 12:00"), {"00_start": FILE}, {"00_start": (10, 10)}
    )
    assert late.text == (
        "00 is 2 days late, −2 points: handed in 2026-11-22 12:00 UTC (by the roster), due 2026-11-20 22:59 UTC"
    )


class TestWhichTimeCounts:
    def test_the_roster_s(self):
        assert lateness(enrolled("moodle", "Sunday, 22 November 2026, 2:14 PM"), FILE, DUE) == (
            2, "handed in 2026-11-22 14:14 UTC (by Moodle's worksheet)",
        )  # fmt: skip
        assert lateness(enrolled("canvas", "2026-11-20 14:14", late=True), FILE, DUE)[0] == 0

    def test_or_else_canvas_s_mark(self):
        assert lateness(enrolled("canvas", late=True), FILE, DUE) == (1, "no time is known (by Canvas's mark)")
        assert lateness(enrolled("canvas"), FILE, DUE) == (0, "no time is known (by Canvas's mark)")
        assert lateness(enrolled("canvas", late=True, extension="2026-12-01"), FILE, DUE) is None

    def test_or_else_none_and_the_notebook_is_on_time(self):
        ann = enrolled("moodle", "-")
        assert late_notebooks(Rules(DUE, 10), ann, {"00_start": FILE}, {"00_start": (1, 1)}) == ((), ("00_start",))

    @pytest.mark.parametrize(
        "said",
        [
            *("Sunday, 22 November 2026, 2:14 PM", "Sunday, 22 November 2026, 2:14\u202fPM"),
            *("Sunday, November 22, 2026, 2:14 PM", "Sunday, 22 November 2026, 14:14", "22 November 2026, 02:14 PM"),
            *("2026-11-22 14:14", "2026-11-22T15:14:00+01:00", "2026-11-22T14:14:00Z"),
        ],
    )
    def test_ways_of_writing_a_time(self, said):
        assert time_in(said, UTC) == datetime(2026, 11, 22, 14, 14, tzinfo=UTC)

    @pytest.mark.parametrize("said", ["", "-", "Sonntag, 22. November 2026, 14:14", "22/11/2026"])
    def test_what_is_no_time(self, said):
        assert time_in(said, UTC) is None


@pytest.mark.parametrize(
    ("extension", "late"),
    [("", 3), ("2026-11-19", 3), ("2026-11-21 23:59", 2), ("2026-11-22", 1), ("2026-11-23", 0)],
)
def test_an_extension_is_a_later_deadline_and_never_an_earlier_one(extension, late):
    student = enrolled(handed_in="2026-11-23 01:59", extension=extension)
    found, _ = late_notebooks(Rules(DUE, 10), student, {"00_start": FILE}, {"00_start": (10, 10)})
    assert sum(one.penalty for one in found) == late  # one of 10 points a day


def test_an_extension_that_is_no_time_is_a_line():
    with pytest.raises(CannotGrade, match=r"^roster\.csv, line 2: 'soon' is no time; write 2026-11-27 23:59\.$"):
        Rules(DUE).due_of(enrolled(extension="soon"))
