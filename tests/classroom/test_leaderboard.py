"""The leaderboard: ranks where a difference was measured, by GPU, with names or pseudonyms."""

import re
from dataclasses import replace

import pytest

from tests.classroom.many_answers import class_of
from tutorlib.classroom import class_command
from tutorlib.classroom.grades import Classroom, grades_of
from tutorlib.classroom.handed_in import HandedIn
from tutorlib.classroom.leaderboard import boards, pseudonyms, ranked, write_leaderboard
from tutorlib.classroom.roster import enrolled
from tutorlib.classroom.task import Graded, Judged
from tutorlib.exercises import find
from tutorlib.measuring.measurement import Measurement

HOSTILE = "<b>=cmd()</b>"


def measured(ratio: float, spread: float = 0.01, **fields) -> Measurement:
    us = 100 / ratio
    return Measurement((4096,) * 3, "bf16", us, us * 0.99, us * 1.01, "cuBLAS", 100.0, ratio, spread, 30, **fields)


def classroom(kernels: dict[str, tuple[str, dict[str, Measurement]]], status: str = "passed") -> Classroom:
    """Student → GPU, exercise → measurement."""
    submissions = {}
    for student, (gpu, timed) in kernels.items():
        judged = []
        for id, one in timed.items():
            exercise = find(id)
            outcome = exercise.outcome(status, exercise.points, "", one.as_json())
            judged.append(Judged(outcome, float(exercise.points)))
        graded = Graded(tuple(judged), (("13_hopper_gemm", "x"), ("09_gemm_baseline", "x")), gpu=gpu)
        submissions[student] = replace(class_of({student: {}}).grades[0].submission, graded=graded)
    students, _ = enrolled([HandedIn(student, "", "") for student in kernels], ())
    return grades_of(students, submissions, None)


def ranks(**kernels: Measurement) -> dict[str, int | None]:
    return {one.name: one.rank for one in ranked(kernels.items())}


def test_a_difference_within_the_spread_is_a_tie():
    assert ranks(a=measured(1.0), b=measured(0.995), c=measured(0.985), d=measured(0.98), e=measured(0.9)) == {
        "a": 1,
        "b": 1,
        "c": 3,
        "d": 3,
        "e": 5,
    }


def test_ties_are_with_the_first_of_a_rank_and_not_with_one_another():
    chain = {f"s{n}": measured(1 - 0.008 * n) for n in range(4)}
    assert ranks(**chain) == {"s0": 1, "s1": 1, "s2": 3, "s3": 3}


def test_the_larger_spread_decides():
    assert ranks(a=measured(1.0, 0.001), b=measured(0.97, 0.04), c=measured(0.94, 0.001)) == {"a": 1, "b": 1, "c": 3}


def test_what_is_too_noisy_has_no_rank_and_is_last():
    noisy = {"a": measured(1.2, 0.06), "b": measured(1.1, throttled=("power",)), "c": measured(0.9)}
    assert list(ranks(**noisy).items()) == [("c", 1), ("a", None), ("b", None)]


def test_a_board_for_each_exercise_on_each_gpu_in_the_courses_order():
    both = {"13.9": measured(0.9), "09.9": measured(0.5)}
    found = boards(
        classroom({"a": ("H200", both), "b": ("H100", {"13.9": measured(0.8)}), "c": ("", both)}), {n: n for n in "abc"}
    )
    assert [(one.gpu, one.exercise.id, [entry.name for entry in one.entries]) for one in found] == [
        ("GPU not known", "09.9", ["c"]),
        ("GPU not known", "13.9", ["c"]),
        ("H100", "13.9", ["b"]),
        ("H200", "09.9", ["a"]),
        ("H200", "13.9", ["a"]),
    ]


def test_a_wrong_kernel_has_no_place():
    assert boards(classroom({"a": ("H200", {"13.9": measured(2.0)})}, status="failed"), {"a": "a"}) == []


def test_the_page_shows_the_spread_and_escapes_names(tmp_path):
    room = classroom({HOSTILE: ("H<200>", {"13.9": measured(0.9712, 0.02)}), "b": ("H<200>", {"13.9": measured(1.3)})})
    (path,) = write_leaderboard(room, tmp_path, {HOSTILE: HOSTILE, "b": "b"})
    page = path.read_text()
    assert "97.1 ± 1.0 %" in page
    assert "&lt;b&gt;=cmd()&lt;/b&gt;" in page
    assert "<b>" not in page
    assert "<h2>H&lt;200&gt;</h2>" in page
    assert not re.search(r'style="[^"]*(-|1\d\d\.)', page)


def test_pseudonyms_hide_names_and_each_student_is_told_theirs(tmp_path):
    room = classroom({name: ("H200", {"13.9": measured(1 - n / 10)}) for n, name in enumerate(("Ann", "Bob"))})
    class_command.pages_of(room, tmp_path, "pseudonyms", b"secret")
    board = (tmp_path / "leaderboard.html").read_text()
    assert not re.search("Ann|Bob|students/", board)
    for name in ("Ann", "Bob"):
        page = (tmp_path / "students" / f"{name}.html").read_text()
        (pseudonym,) = re.findall("On the leaderboard you are <strong>(.*?)</strong>", page)
        assert pseudonym in board
    class_command.pages_of(room, tmp_path, "names", b"")
    assert re.search("Ann.*Bob", (tmp_path / "leaderboard.html").read_text(), re.DOTALL)
    assert "On the leaderboard" not in (tmp_path / "students" / "Ann.html").read_text()


def test_a_pseudonym_is_each_students_own_and_only_the_secret_leads_to_it():
    names = [f"student {n}" for n in range(2000)]
    found = pseudonyms(names, b"1")
    assert len(set(found.values())) == len(names)
    assert pseudonyms(reversed(names), b"1") == found
    other = pseudonyms(names, b"2")
    assert sum(found[name] == other[name] for name in names) < 5


@pytest.mark.parametrize("shown", ["names", "pseudonyms", None])
def test_where_nothing_was_measured_there_is_no_page(tmp_path, shown):
    (tmp_path / "leaderboard.html").write_text("of an earlier run")
    written = class_command.pages_of(class_of({"a": {"00.1": "x"}}), tmp_path, shown, b"")
    assert tmp_path / "leaderboard.html" not in written
    assert (tmp_path / "leaderboard.html").exists() == (shown is None)
    assert "leaderboard" not in (tmp_path / "students" / "a.html").read_text()
