"""Exercises about what a function returns: cases, partial credit, messages and the mistakes that they name."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
import torch

from tests.checking.elsewhere import Unwatched
from tutorlib.checking.randomness import beside, judging_for_points
from tutorlib.checking.values import Case, Mistake, ValueExercise, equals, law, same
from tutorlib.exercises import of_notebook
from tutorlib.paths import notebook_names
from tutorlib.problems.differences import Wrong, count


def double(n):
    return 2 * n


DOUBLE = ValueExercise(
    id="99.1",
    title="double",
    points=3,
    cases=(
        equals("small", [(1,), (2,), (3,)], double, [Mistake("You squared it.", lambda n: n * n)]),
        law("even", [(7,), (8,)], lambda got, n: None if got % 2 == 0 else f"{got} is odd"),
    ),
)


def test_a_right_answer_has_all_points_and_one_line():
    outcome = DOUBLE.grade(double)
    assert (outcome.status, outcome.points, outcome.message) == ("passed", 3, "✓ 99.1 double: 3 points")


def test_partial_credit_counts_cases_and_rounds_down_to_a_half():
    outcome = DOUBLE.grade(rounded_up)
    assert (outcome.status, outcome.points) == ("partial", 1.5)
    assert replace(DOUBLE, points=1).grade(rounded_up).points == 0.5


def rounded_up(n):
    """Even, and seldom double."""
    return n + n % 2


def refuses_all(n):
    raise ValueError("no")


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (lambda n: 2, "returns 2 whatever it is given"),
        (lambda n: [], "returns [] whatever it is given"),
        (refuses_all, "raises ValueError whatever it is given"),
        (lambda n: n, "returns its argument 1 unchanged"),
    ],
)
def test_an_answer_that_ignores_its_arguments_has_no_points_where_it_fits(answer, said):
    fits = law("anything", [(4,), (5,)], lambda got, n: None)
    refusing = Case("refuses", lambda answer: None)
    exercise = replace(DOUBLE, cases=(DOUBLE.cases[0], fits, refusing))
    outcome = exercise.grade(answer)
    assert (outcome.status, outcome.points) == ("failed", 0)
    assert outcome.message.splitlines()[0].endswith("0 of 3 cases right")
    assert f"Your answer {said}." in outcome.message


def test_an_answer_without_arguments_may_be_a_constant():
    pair = (equals("small", [()], lambda: 3), law("odd", [()], lambda got: None if got % 2 else "even"))
    assert replace(DOUBLE, cases=pair).grade(lambda: 5).points == 1.5


def test_a_constant_is_right_where_it_is_asked_for():
    assert replace(DOUBLE, cases=(equals("zero", [(1,), (2,)], lambda n: 0),)).grade(lambda n: 0).status == "passed"


def test_a_graded_answer_is_tried_on_calls_that_no_table_has():
    calls = beside([(1,), (2,)], lambda rng: (rng.randint(3, 10**6),))
    exercise = replace(DOUBLE, cases=(equals("any", calls, double),))
    table = {1: 2, 2: 4}.get
    assert exercise.grade(table).status == "passed"
    with judging_for_points():
        assert exercise.grade(double).status == "passed"
        assert exercise.grade(table).points == 0


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


@pytest.mark.parametrize(
    ("got", "want"),
    [
        *((got, 3) for got in (np.int64(3), 3.0, np.float64(3), torch.tensor(3), torch.tensor(3.0), Fraction(6, 2))),
        ([0.5, 1, 2], [0.5, 1.0, 2.0]),
        (np.True_, True),
        (np.array([3, 1]), (3, 1)),
        ((np.int32(3), (Fraction(1),)), (3, [1])),
        (np.array([[3, 1]]), ((3, 1),)),
        (np.array([3.0, 1.0]), (3, 1)),
        (Fraction(2**60 + 1), 2**60 + 1),
    ],
)
def test_one_value_of_several_kinds(got, want):
    assert same(got, want)


@pytest.mark.parametrize(
    ("got", "want"),
    [
        *((True, 1), (1.5, 1), ("1", 1), ((1, 2), (1, 2, 3)), (None, 0), (2, 2.5), (True, 1.0), (np.int64(1), True)),
        *((np.array([3.5, 1.0]), (3, 1)), (torch.tensor(3), 4), (torch.tensor([3]), 3), (Fraction(2**60 + 1), 2**60)),
    ],
)
def test_values_that_differ(got, want):
    assert not same(got, want)


def test_a_case_can_judge_by_itself():
    by_name = Case("its name", lambda f: None if f.__name__ == "f" else Wrong("no f"))
    named = ValueExercise(id="99.2", title="named", points=1, cases=(by_name,))
    assert named.grade(lambda: 0).message.endswith("its name: no f")


# What is told apart ----------------------------------------------------------------------------------------------

ADDED = Mistake("You added.", lambda a, b: a + b)
PRODUCTS = ValueExercise(
    id="99.3",
    title="times",
    points=2,
    cases=(
        equals("small", [(1, 2), (2, 2), (2, 3)], lambda a, b: a * b, [ADDED]),
        equals("large", [(5, 7), (8, 9)], lambda a, b: a * b, [ADDED]),
    ),
)


def test_a_mistake_is_named_where_it_explains_everything_that_is_wrong():
    assert "You added." in PRODUCTS.grade(lambda a, b: a + b).message


@pytest.mark.parametrize(
    "answer",
    [
        lambda a, b: a + b if a < 2 else a * b,  # once, which may be chance
        lambda a, b: a + b if a < 5 else a - b,  # not where numbers are large
        lambda a, b: a + b if (a, b) != (2, 3) else 0,
    ],
)
def test_a_mistake_is_not_named_where_another_answer_looks_like_it_now_and_then(answer):
    assert "You added." not in PRODUCTS.grade(answer).message


def test_a_value_that_contains_itself_is_compared_with_nothing():
    def endless(n):
        values = []
        values.append(values)
        return values

    message = DOUBLE.grade(endless).message
    assert "endless(1) gives a value that is too large to be compared, or nested too deeply" in message


def test_an_array_is_a_value():
    exercise = replace(DOUBLE, cases=(equals("an array", [(2**15,)], np.arange),))
    assert exercise.grade(lambda n: np.arange(n)).status == "passed"


def test_more_elements_than_a_float_counts_are_told_as_many():
    assert count(2**2000, "element") == "more than 2^62 elements"


KNOWN = {
    f"{exercise.id} {mistake.says[:40]}": (exercise, mistake)
    for name in notebook_names()
    for exercise in of_notebook(name)
    if isinstance(exercise, ValueExercise)
    for case in exercise.cases
    for mistake in case.mistakes
}


@pytest.mark.parametrize("name", KNOWN)
def test_a_known_mistake_is_named(name):
    exercise, mistake = KNOWN[name]
    plain = replace(exercise, through=None)  # of 10.3 a mistake gives a layout of tensor_layouts
    assert mistake.says in plain.grade_served(Unwatched(mistake.answer)).message
