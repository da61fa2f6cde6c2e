"""The gradebook: what is in it is whole, whatever ends a write; and who need not be graded again."""

import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from tutorlib.checking.exercise import Outcome
from tutorlib.classroom import CannotGrade
from tutorlib.classroom.gradebook import Graded, Judged, Submission, open_gradebook

MEASURED = {"shape": [4096, 4096, 4096], "ratio": 0.97}


def submission(student: str, points: float = 2.0, message: str = "right") -> Submission:
    outcomes = [Outcome(f"00.{k}", "title", "passed", points, 3, message, MEASURED) for k in (1, 2, 10)]
    graded = Graded(
        tuple(Judged(one, 3.0) for one in outcomes),
        (("00_start", "a.ipynb"),),
        ("a note",),
        1.5,
        "",
        (("00.1", "def answer():\n    return '\x00\u202e'"), ("00.2", "")),
    )
    return Submission(student, "hash", ("00_start",), 2**47, "2026-01-01T00:00:00+00:00", graded)


@pytest.fixture
def path(tmp_path) -> Path:
    return tmp_path / "gradebook.sqlite"


def test_what_was_put_is_read_back(path):
    one = submission("=cmd() ünï\ud800".encode("utf-8", "replace").decode())
    with open_gradebook(path) as book:
        book.put(one)
        book.put(submission("other"))
        book.put(replace(one, seed=None, wanted=None))
    with open_gradebook(path) as book:
        assert book.submissions() == {"=cmd() ünï?": replace(one, seed=None, wanted=None), "other": submission("other")}
        book.forget(["other"])
        assert list(book.submissions()) == ["=cmd() ünï?"]
    with closing(sqlite3.connect(path)) as db:
        (row,) = db.execute("select student, points, counts, message from outcomes where exercise = '00.10'")
        assert row == ("=cmd() ünï?", 2, 3, "right")
        assert db.execute("select * from answers where exercise = '00.2'").fetchall() == [("=cmd() ünï?", "00.2", "")]
        assert db.execute("select * from notes").fetchall() == [("=cmd() ünï?", "a note")]


def test_a_full_disk_is_one_line_and_takes_nothing_away(path):
    with open_gradebook(path) as book:
        book.put(submission("before", points=3))
        pages = book.db.execute("pragma page_count").fetchone()[0]
        book.db.execute(f"pragma max_page_count = {pages + 2}")
        with pytest.raises(CannotGrade, match="database or disk is full") as error:
            book.put(submission("too much", message="x" * 10**6))
        assert "\n" not in str(error.value)
        with pytest.raises(CannotGrade):
            book.put(submission("before", message="x" * 10**6))
        assert book.submissions() == {"before": submission("before", points=3)}
    with open_gradebook(path) as book:
        book.put(submission("too much", message="x" * 10**6))
        assert list(book.submissions()) == ["before", "too much"]


@pytest.mark.parametrize(
    ("content", "wanted", "seed", "enough"),
    [
        ("hash", ("00_start",), None, True),
        ("hash", ("00_start",), 2**47, True),
        ("hash", (), None, True),
        ("other", ("00_start",), None, False),
        ("hash", ("00_start", "01_layouts"), None, False),
        ("hash", None, None, False),
        ("hash", ("00_start",), 3, False),
    ],
)
def test_who_need_not_be_graded_again(content, wanted, seed, enough):
    one = submission("s")
    assert one.answers(content, wanted, seed) is enough
    assert not replace(one, graded=replace(one.graded, failed="ended")).answers(content, wanted, seed)
