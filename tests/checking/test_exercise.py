"""The template that all exercises share: what becomes of a verdict, and of what is no verdict."""

from dataclasses import dataclass, replace

import pytest

from tests.stand_ins import copied
from tutorlib.checking.exercise import Answer, Exercise, Unwritten, Verdict, WrongKind, not_run
from tutorlib.compiling.errors import CompileFailed, ToolMissing
from tutorlib.exercises import of_notebook
from tutorlib.failure import Fail, Flaw
from tutorlib.paths import notebook_names
from tutorlib.problems.work import KernelFault


@dataclass(frozen=True, kw_only=True)
class Judged(Exercise):
    """Its answer is a function that gives the verdict, or raises."""

    def judge(self, answer: Answer) -> Verdict:
        return answer()


THREE = Judged(id="99.1", title="three", points=3)


def raising(error):
    def judge():
        raise error

    return judge


@pytest.mark.parametrize(
    ("points", "status", "earned"),
    [(3, "passed", 3), (2.99, "partial", 2.5), (1.5, "partial", 1.5), (0.49, "failed", 0), (0, "failed", 0)],
)
def test_points_are_rounded_down_to_a_half_and_say_the_status(points, status, earned):
    outcome = THREE.grade(lambda: Verdict(points))
    assert (outcome.status, outcome.points, outcome.max_points) == (status, earned, 3)


def test_a_passed_exercise_says_its_line_and_any_other_what_the_verdict_says():
    assert THREE.grade(lambda: Verdict(3)).message == THREE.passed_line == "✓ 99.1 three: 3 points"
    assert THREE.grade(lambda: Verdict(3, ("fast",))).message == "✓ 99.1 three: 3 points\n  fast"
    assert THREE.grade(lambda: Verdict(1, ("1 of 3 right", "the rest"))).message == (
        "✗ 99.1 three: 1 of 3 right\n  the rest"
    )
    assert THREE.grade(lambda: not_run("no GPU here")).message == "– 99.1 three: no GPU here"


def test_what_was_not_run_may_have_points_for_what_was():
    outcome = THREE.grade(lambda: not_run("speed not run", points=2))
    assert (outcome.status, outcome.points) == ("not_run", 2)


def test_a_measurement_goes_along_as_json():
    outcome = THREE.grade(lambda: Verdict(3, measurement=copied(0.95)))
    assert outcome.measurement == copied(0.95).as_json()
    assert THREE.grade(lambda: Verdict(3)).measurement is None


@pytest.mark.parametrize(
    ("error", "status", "says"),
    [
        (Unwritten(), "failed", "✗ 99.1 three: not written yet"),
        (NotImplementedError("Exercise 99.1"), "failed", "✗ 99.1 three: not written yet"),
        (NotImplementedError("complex numbers"), "failed", "✗ 99.1 three: NotImplementedError: complex numbers"),
        (WrongKind("3 is not a function."), "failed", "✗ 99.1 three: 3 is not a function."),
        (CompileFailed("line 3, `x`: no"), "failed", "✗ 99.1 three: it does not compile.\n  line 3, `x`: no"),
        (KernelFault("it crashed."), "error", "✗ 99.1 three: it crashed."),
        (KernelFault("still running", "timeout"), "timeout", "✗ 99.1 three: still running"),
        (ToolMissing("there is no gcc here"), "not_run", "– 99.1 three: not run: there is no gcc here"),
        (
            ModuleNotFoundError("No module named 'cutlass'", name="cutlass"),
            "not_run",
            "– 99.1 three: not run: the package cutlass is missing",
        ),
    ],
    ids=lambda part: type(part).__name__ if isinstance(part, Exception) else None,
)
def test_a_fault_that_is_not_the_answers_own_logic_becomes_an_outcome(error, status, says):
    outcome = THREE.grade(raising(error))
    assert (outcome.status, outcome.points, outcome.message) == (status, 0, says)


def test_a_fault_of_the_course_is_not_hidden():
    with pytest.raises(ZeroDivisionError):
        THREE.grade(raising(ZeroDivisionError()))


@pytest.mark.parametrize("name", notebook_names())
def test_every_exercise_is_graded_by_the_template(name):
    for exercise in of_notebook(name):
        assert type(exercise).grade is Exercise.grade


def test_an_exercise_without_a_judgement_cannot_be_made():
    with pytest.raises(TypeError, match="abstract"):
        Exercise(id="99.1", title="three", points=3)


def test_a_remedy_is_chosen_by_the_kind_of_failure_and_not_by_its_words():
    remedies = {Fail.CASE(name="large"): "Large numbers add alike.", Fail.CASE(): "Add."}
    exercise = replace(THREE, remedies=remedies)
    large, small = (Flaw(words, Fail.CASE(name=words)) for words in ("large", "small"))
    assert exercise.grade(lambda: Verdict(0, ("0 of 2", "large"))).remedy == ""
    assert exercise.grade(lambda: Verdict(0, ("0 of 2", large))).remedy == "Large numbers add alike."
    assert exercise.grade(lambda: Verdict(0, ("0 of 2", small))).remedy == "Add."
