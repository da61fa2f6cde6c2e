"""A limit on a kernel's work is near what the solution takes: it is no guess, and no right answer meets it by far."""

from math import inf

import pytest

from tests.pages.changed import right_answers
from tutorlib.checking.kernel import KernelExercise
from tutorlib.checking.served import Served
from tutorlib.checking.simulating import each_launch
from tutorlib.checking.work_limits import WorkLimits, count_issued
from tutorlib.exercises import find, of_notebook
from tutorlib.failure import Flaw
from tutorlib.paths import notebook_names
from tutorlib.simulate.ptx.report import Issued, Report


def name_of(id):
    return next(name for name in notebook_names() if name.startswith(id[:2]))


LIMITED = [
    exercise.id
    for name in notebook_names()
    for exercise in of_notebook(name)
    if isinstance(exercise, KernelExercise) and exercise.limits != WorkLimits()
]


@pytest.mark.parametrize("id", LIMITED)
def test_the_solution_is_near_each_limit(id):
    exercise = find(id)
    simulator = exercise.simulator(exercise.evidence(Served(right_answers(name_of(id))[id])))
    ((_, reports),) = each_launch(exercise.problem, simulator, [exercise.size_counted])
    for opcode, most in exercise.limits.at_most:
        assert count_issued(reports, opcode) <= most <= 4 * count_issued(reports, opcode), opcode
    for opcode, most in exercise.limits.unrolled:
        assert most == max(one.warps for report in reports for one in report.issued if one.opcode.startswith(opcode))
    for opcode, most in exercise.limits.lines:
        accesses = (one for report in reports for one in report.accesses if one.opcode.startswith(opcode))
        assert most == max(one.lines / one.warps for one in accesses)
    for opcode, least in exercise.limits.at_least:
        assert count_issued(reports, opcode) / 2 <= least <= count_issued(reports, opcode), opcode
    busy, warps = sum(report.busy for report in reports), sum(report.warps for report in reports)
    assert busy / 2 <= exercise.limits.busy * warps <= busy or not exercise.limits.busy
    if exercise.limits.budget < inf:
        assert 4 * count_issued(reports, "") <= exercise.limits.budget <= 16 * count_issued(reports, "")
    overlap = max((report.overlap for report in reports), default=0.0)
    assert overlap / 2 <= exercise.limits.overlap <= overlap or not exercise.limits.overlap
    ahead = max((report.ahead for report in reports), default=0.0)
    assert ahead / 2 <= exercise.limits.ahead <= ahead or not exercise.limits.ahead
    assert exercise.limits.exceeded(reports) is None


def launch(blocks=4, overlap=0.5, **issued):
    """One launch that issues these opcodes so often."""
    opcodes = tuple(Issued(opcode, None, times) for opcode, times in issued.items())
    return [Report((), (), blocks, opcodes, busy=4, reloaded=0.5, reread=0.5, restored=64, overlap=overlap)]


@pytest.mark.parametrize(
    ("limits", "kind"),
    [
        (WorkLimits(at_most=(("bar", 7),)), "too many"),
        (WorkLimits(at_most=(("", 24),)), "too many"),
        (WorkLimits(unrolled=(("bar", 4),)), "too many"),
        (WorkLimits(looped=(("bar", 3),)), "too many"),
        (WorkLimits(budget=24), "too many"),
        (WorkLimits(at_least=(("mma", 1),)), "too few"),
        (WorkLimits(blocks=5), "too few blocks"),
        (WorkLimits(warps=9), "too few"),
        (WorkLimits(busy=0.6), "too few"),
        (WorkLimits(reloaded=0.4), "too many"),
        (WorkLimits(reread=0.4), "too many"),
        (WorkLimits(restored=False), "too many"),
        (WorkLimits(overlap=0.6), "no copies in flight"),
        (WorkLimits(ahead=0.6), "no copies in flight"),
        (WorkLimits(fetched=0.6), "no copies in flight"),
        (WorkLimits(groups=1), "no copies in flight"),
    ],
)
def test_each_limit_is_found_by_its_kind(limits, kind):
    said = limits.exceeded(launch(bar=8, add=17))
    assert isinstance(said, Flaw)
    assert [failure.kind for failure in said.failures] == [kind]


def test_at_the_limits_nothing_is_said():
    limits = WorkLimits(
        at_most=(("bar", 8), ("", 25)),
        at_least=(("add", 17),),
        looped=(("bar", 1),),
        blocks=4,
        warps=8,
        budget=25,
        overlap=0.5,
    )
    assert limits.exceeded(launch(bar=8, add=17)) is None
