"""Exercises, the registry, and what check and hint say."""

import json
import re
import subprocess
import sys
from collections import Counter
from dataclasses import replace

import pytest

from tutorlib import CheckFailed, check, hint
from tutorlib.course import SOLUTIONS, notebook_names
from tutorlib.exercise import Case, Exercise, Mistake, Wrong, equals, law, same
from tutorlib.exercises import UnknownExercise, find, of_notebook


def double(n):
    return 2 * n


DOUBLE = Exercise(
    id="99.1",
    title="double",
    points=3,
    cases=(
        equals("small", [(1,), (2,)], double, [Mistake("You squared it.", lambda n: n * n)]),
        law("even", [(7,), (8,)], lambda got, n: None if got % 2 == 0 else f"{got} is odd"),
    ),
)


def test_a_right_answer_has_all_points_and_one_line():
    outcome = DOUBLE.grade(double)
    assert (outcome.status, outcome.points, outcome.message) == ("passed", 3, "✓ 99.1 double: 3 points")


def test_partial_credit_counts_cases_and_rounds_down_to_a_half():
    outcome = DOUBLE.grade(lambda n: 2)
    assert (outcome.status, outcome.points) == ("partial", 1.5)
    assert replace(DOUBLE, points=1).grade(lambda n: 2).points == 0.5


def test_a_message_says_which_call_what_it_gave_and_the_likely_mistake():
    def square(n):
        return n * n

    assert DOUBLE.grade(square).message.splitlines() == [
        "✗ 99.1 double: 0 of 2 cases right",
        "  small: square(1) gives 1: it should give 2.",
        "  You squared it.",
    ]


def test_an_exception_is_named_with_its_line():
    def broken(n):
        return n / 0

    message = DOUBLE.grade(broken).message
    line = broken.__code__.co_firstlineno + 1
    assert f"broken(1) raised ZeroDivisionError: division by zero (line {line} of your answer)" in message


def test_what_is_not_a_function_is_said_to_be_none():
    assert DOUBLE.grade(7).message == "✗ 99.1 double: 7 is not a function."


def test_an_unwritten_answer_is_not_an_error():
    def stub(n):
        raise NotImplementedError("Exercise 99.1")

    assert DOUBLE.grade(stub).message == "✗ 99.1 double: not written yet"


@pytest.mark.parametrize(("got", "want"), [(True, 1), (1.0, 1), ([1], (1,)), ((1, 2), (1, 2, 3)), (None, 0)])
def test_what_is_equal_but_of_another_kind_is_not_the_same(got, want):
    assert not same(got, want)


def test_a_case_can_judge_by_itself():
    named = Exercise("99.2", "named", 1, (Case("its name", lambda f: None if f.__name__ == "f" else Wrong("no f")),))
    assert named.grade(lambda: 0).message.endswith("its name: no f")


def test_check_prints_or_raises_without_a_traceback(capsys):
    check("00.1", lambda n, tile: -(-n // tile))
    assert capsys.readouterr().out == "✓ 00.1 ceil_div: 2 points\n"
    with pytest.raises(CheckFailed) as error:
        check("00.1", lambda n, tile: n // tile)
    assert error.value._render_traceback_() == str(error.value).splitlines()


def test_what_a_right_answer_prints_is_dropped_and_what_a_wrong_one_prints_is_shown(capsys):
    def noisy(n, tile):
        print("n is", n)
        return -(-n // tile)

    def noisy_and_wrong(n, tile):
        print("n is", n)
        return 0

    check("00.1", noisy)
    assert capsys.readouterr().out == "✓ 00.1 ceil_div: 2 points\n"
    with pytest.raises(CheckFailed, match="It printed:\n    n is 128"):
        check("00.1", noisy_and_wrong)


def test_after_the_second_failure_a_check_gives_a_hint(monkeypatch):
    monkeypatch.setattr(sys.modules["tutorlib.check"], "_failures", Counter())
    messages = []
    for _ in range(2):
        with pytest.raises(CheckFailed) as error:
            check("01.1", lambda coord, stride: 0)
        messages.append(str(error.value))
    assert "Hint" not in messages[0]
    assert f"Hint: {find('01.1').hints[0]}" in messages[1]


def test_hints_come_in_tiers_and_the_last_one_stays(capsys):
    hints = find("00.1").hints
    for _ in range(len(hints) + 1):
        hint("00.1")
    said = capsys.readouterr().out.splitlines()
    assert said == [*(f"Hint {n} of {len(hints)}: {text}" for n, text in enumerate(hints, 1)), said[-2]]


def test_while_grading_outcomes_are_recorded(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("TUTORLIB_RESULTS", str(tmp_path / "results"))
    check("00.1", lambda n, tile: -(-n // tile))
    with pytest.raises(CheckFailed):
        check("00.1", lambda n, tile: 0)
    first, second = map(json.loads, (tmp_path / "results").read_text(encoding="utf-8").splitlines())
    assert (first["id"], first["status"], first["points"]) == ("00.1", "passed", 2)
    assert (second["status"], second["points"]) == ("failed", 0)


@pytest.mark.parametrize(
    ("id", "says"),
    [("00.9", "notebook 00_start has 00.1 to 00.1"), ("77.1", "no notebook 77"), ("2.3", 'like "02.3"'), (7, "like")],
)
def test_an_unknown_id_says_which_there_are(id, says):
    with pytest.raises(UnknownExercise, match=re.escape(says)):
        find(id)


@pytest.mark.parametrize("name", notebook_names())
def test_exercises_are_numbered_in_order_and_have_hints(name):
    exercises = of_notebook(name)
    assert [exercise.id for exercise in exercises] == [f"{name[:2]}.{n}" for n in range(1, len(exercises) + 1)]
    assert all(exercise.hints and exercise.points > 0 for exercise in exercises)
    assert all(exercise.cases or exercise.shapes for exercise in exercises)


def test_the_failure_that_the_first_page_shows_is_what_check_says():
    def ceil_div(n, tile):
        return n // tile

    text = (SOLUTIONS / "00_start.py").read_text(encoding="utf-8")
    for line in find("00.1").grade(ceil_div).message.splitlines():
        assert f"#     {line}\n" in text


def test_in_a_kernel_a_failed_check_shows_its_message_alone():
    code = (
        "from IPython.core.interactiveshell import InteractiveShell as S; s = S.instance();"
        "s.run_cell('from tutorlib import check\\ncheck(\"00.1\", lambda n, tile: n // tile)')"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "✗ 00.1 ceil_div" in done.stdout
    assert "Traceback" not in done.stdout + done.stderr
