"""Answers without an end: their check ends, its line says so, and the notebook is as it was."""

import signal
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from tutorlib.checking import patience
from tutorlib.checking.exercise import Exercise, Verdict
from tutorlib.checking.patience import grade_patiently
from tutorlib.checking.values import ValueExercise, equals
from tutorlib.machine.features import TMA

DOUBLE = ValueExercise(
    id="99.1", title="double", points=2, cases=(equals("small", [(1,)], lambda n: 2 * n), equals("0", [(0,)], abs))
)


@pytest.fixture(autouse=True)
def impatient(monkeypatch):
    monkeypatch.setattr(patience, "SECONDS", 0.2)
    monkeypatch.setattr(patience, "AGAIN_S", 0.05)


def endless(n):
    while True:
        n += 1


def catches_every_exception(n):
    while True:
        try:
            endless(n)
        except Exception:
            continue


def catches_its_end_once(n):
    try:
        endless(n)
    except BaseException:
        endless(n)


@pytest.mark.parametrize("answer", [endless, catches_every_exception, catches_its_end_once])
def test_an_answer_that_never_ends_is_ended(answer):
    outcome = grade_patiently(DOUBLE, answer)
    assert outcome.status == "timeout"
    assert f"{answer.__name__}(1) was ended after 0.2 s (line " in outcome.message


def test_afterwards_everything_is_as_it_was():
    handler = signal.getsignal(signal.SIGALRM)
    assert grade_patiently(DOUBLE, endless).status == "timeout"
    assert signal.getsignal(signal.SIGALRM) is handler
    assert signal.getitimer(signal.ITIMER_REAL) == (0, 0)
    assert grade_patiently(DOUBLE, lambda n: 2 * n).status == "passed"


def test_on_another_thread_nothing_is_limited():
    with ThreadPoolExecutor() as pool:
        assert pool.submit(grade_patiently, DOUBLE, lambda n: 2 * n).result().status == "passed"


class Slow(Exercise):
    """Its judge takes longer than an answer may."""

    def judge(self, served):
        for _ in range(500):
            served.answer(20_000)
        return Verdict(self.points)


def test_the_judge_of_a_kernel_has_no_limit():
    slow = Slow(id="99.2", title="slow", points=1)
    count = lambda n: sum(n * n for n in range(n))  # noqa: E731
    assert grade_patiently(slow, count).status == "timeout"
    assert grade_patiently(replace(slow, needs=TMA), count).status == "passed"
