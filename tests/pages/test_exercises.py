"""Exercises by id, and what is said of an id that nobody has; a rule's bound is near what the solution takes."""

import re
from functools import cache

import pytest

from tests.pages.answers import made_when_used
from tutorlib.checking.answer import Served
from tutorlib.checking.facts import (
    Rule,
    ahead,
    blocks,
    busy,
    fetched,
    first_broken,
    groups,
    issued,
    looped,
    overlap,
    reread,
    unrolled,
    warps,
)
from tutorlib.checking.kernel import KernelExercise
from tutorlib.checking.running import find_simulated_fault
from tutorlib.course.answers import load_answers
from tutorlib.exercises import UnknownExercise, find, of_notebook, pages
from tutorlib.failure import Flaw
from tutorlib.measuring.kernel_work import Work
from tutorlib.paths import notebook_names
from tutorlib.simulate.ptx.report import Issued, Report


@pytest.mark.usefixtures("trial")
class TestATrialCourse:
    def test_exercises_are_found_by_id_and_by_notebook(self):
        assert pages() == ("90",)
        assert [exercise.id for exercise in of_notebook("90_trial")] == ["90.1", "90.2", "90.3"]
        assert find("90.2") is of_notebook("90_trial")[1]

    def test_a_notebook_without_a_module_has_no_exercises(self):
        assert of_notebook("91_prose") == ()

    @pytest.mark.parametrize(
        ("id", "says"),
        [
            ("90.9", "notebook 90 has 90.1 to 90.3"),
            ("77.1", "no notebook 77"),
            ("9.3", 'like "03.1"'),
            (7, "like"),
        ],
    )
    def test_an_unknown_id_says_which_there_are(self, id, says):
        with pytest.raises(UnknownExercise, match=re.escape(says)):
            find(id)


def test_every_module_belongs_to_a_notebook():
    assert pages() == tuple(name[:2] for name in notebook_names())


@pytest.mark.parametrize("name", notebook_names())
def test_exercises_are_numbered_in_order_and_have_hints(name):
    exercises = of_notebook(name)
    assert [exercise.id for exercise in exercises] == [f"{name[:2]}.{n}" for n in range(1, len(exercises) + 1)]
    assert all(exercise.points > 0 for exercise in exercises)
    without_hints = {"21.8"}  # the last bug: by then the reader needs none
    assert {exercise.id for exercise in exercises if not exercise.hints} <= without_hints
    tried_with = ("cases", "shapes", "numbers", "bug")
    assert all(any(getattr(exercise, name, ()) for name in tried_with) for exercise in exercises)


# Rules --------------------------------------------------------------------------------------------------------------

LOOSE = (reread, blocks)  # of which a solution may have far less, or far more


RULED = [
    exercise.id
    for name in notebook_names()
    for exercise in of_notebook(name)
    if isinstance(exercise, KernelExercise) and exercise.rules
]


@cache
def answers(number):
    return load_answers(next(name for name in notebook_names() if name.startswith(number)))


@pytest.mark.parametrize("id", RULED)
def test_the_solution_is_near_each_bound(id):
    exercise = find(id)
    with made_when_used():
        simulator = exercise.simulator(exercise.evidence(Served(answers(id[:2])[id])))
        find_simulated_fault(exercise.problem, simulator, exercise.size_counted, patterned=False)
    reports = simulator.reports
    assert not first_broken(exercise.rules, reports)
    for rule in (rule for rule in exercise.rules if isinstance(rule, Rule)):
        have, want = rule.numbers(reports)
        if rule.fact in LOOSE or rule.fact.grows:
            continue
        assert have / 2 <= want if rule.at_least else want <= 4 * have, rule.fact.says


def launch(blocks=4, overlap=0.5, **issued):
    """One launch that issues these opcodes so often."""
    opcodes = tuple(Issued(opcode, None, times) for opcode, times in issued.items())
    return [Report((), (), blocks, opcodes, heard=Work(4, 0.5, overlap))]


@pytest.mark.parametrize(
    ("rule", "kind"),
    [
        (issued("bar") <= 7, "too many"),
        (issued("") <= 24, "too many"),
        (issued("bar") <= issued("mma"), "too many"),
        (unrolled("bar") <= 4, "too many"),
        (looped("bar") >= 3, "too many"),
        (issued("mma") >= 1, "too few"),
        (blocks >= 5, "too few blocks"),
        (blocks <= 3, "too many"),
        (warps >= 9, "too few"),
        (busy >= 0.6, "too few"),
        (reread <= 0.4, "too many"),
        (overlap >= 0.6, "no copies in flight"),
        (ahead >= 0.6, "no copies in flight"),
        (fetched >= 0.6, "no copies in flight"),
        (groups >= 1, "no copies in flight"),
    ],
)
def test_a_broken_rule_is_found_by_its_kind(rule, kind):
    said = rule(launch(bar=8, add=17))
    assert isinstance(said, Flaw)
    assert [failure.kind for failure in said.failures] == [kind]


def test_a_message_has_the_number_and_the_bound():
    reports = launch(bar=8, mma=4)
    assert (issued("bar") <= 7)(reports) == "its warps issue 8 bar instructions; at most 7 will do."
    assert (overlap >= 0.6)(
        reports
    ) == "50% of its reads of shared memory go on while a copy is in flight; it takes 60% or more."
    assert (issued("") <= 1)(reports).startswith("every thread does far more than its share")


def test_at_the_bounds_nothing_is_said():
    rules = (issued("bar") <= 8, issued("add") >= 17, looped("bar") >= 1, blocks >= 4, warps >= 8, overlap >= 0.5)
    assert not first_broken(rules, launch(bar=8, add=17))


def test_what_is_no_function_is_told_so():
    assert "is not a function" in find("20.2").grade(3).message
