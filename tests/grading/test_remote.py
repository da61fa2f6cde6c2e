"""The judge outside the kernel: which values cross, and that a reply runs no code."""

import os
import pickle
import threading

import numpy as np
import pytest
import torch
from tensor_layouts import Layout

from tutorlib.checking.values import Case, ValueExercise, equals, law
from tutorlib.course.answers import load_answers
from tutorlib.exercises import find
from tutorlib.grading import remote
from tutorlib.problems.wrong import Wrong


def judge_in_a_thread(tmp_path, exercise, answer, seconds=300.0):
    """Judge an answer that another thread serves."""
    door = tmp_path / "judge.sock"

    def start():
        threading.Thread(target=remote.serve, args=(str(door), answer), daemon=True).start()

    return remote.judge(exercise, door, start, seconds)


def exercise_of(*cases) -> ValueExercise:
    return ValueExercise(id="90.1", title="answer", points=len(cases), cases=cases)


VALUES = [3, 2.5, "text", (1, (2, 3)), [None, True], {"a": 1}, np.int64(3), Layout((4, 3), (3, 1))]
BASE = np.arange(60, dtype=np.float32).reshape(6, 10)
VIEWS = [BASE, BASE.T, BASE[::2, 3:], BASE[::-1], np.broadcast_to(BASE[0], (4, 10))]


def test_values_cross_to_the_judge_and_back(tmp_path):
    cases = [equals(str(value), [(value,)], lambda value: value) for value in VALUES]
    outcome = judge_in_a_thread(tmp_path, exercise_of(*cases), lambda value: value)
    assert outcome.status == "passed", outcome.message


def test_views_keep_their_strides(tmp_path):
    def holds(got, view):
        array, strides = got
        return None if strides == view.strides and np.array_equal(array, view) else "another view"

    case = law("views", [(view,) for view in VIEWS], holds)
    outcome = judge_in_a_thread(tmp_path, exercise_of(case), lambda view: (view, view.strides))
    assert outcome.status == "passed", outcome.message


def test_a_returned_function_is_called_where_it_lives(tmp_path):
    case = law("a function", [(3,)], lambda got, n: None if got(4) == n + 4 else "wrong")
    assert judge_in_a_thread(tmp_path, exercise_of(case), lambda n: lambda m: n + m).status == "passed"
    assert judge_in_a_thread(tmp_path, exercise_of(case), lambda n: lambda m: n - m).status == "failed"


def test_exceptions_cross_by_name(tmp_path):
    def holds_back(answer):
        try:
            answer(3)
        except ZeroDivisionError as error:
            return None if str(error) == "division by zero" else Wrong("another text")
        return Wrong("no exception")

    case = Case("raises", holds_back)
    assert judge_in_a_thread(tmp_path, exercise_of(case), lambda n: n / 0).status == "passed"
    assert judge_in_a_thread(tmp_path, exercise_of(case), lambda n: n).status == "failed"


class Stranger:
    def __eq__(self, other):
        return True


@pytest.mark.parametrize("value", [Stranger(), threading.Lock(), int, np.array([Stranger()])])
def test_other_values_equal_nothing(tmp_path, value):
    case = equals("3", [()], lambda: 3)
    assert judge_in_a_thread(tmp_path, exercise_of(case), lambda: value).status == "failed"


class Poison:
    def __init__(self, *call):
        self.call = call

    def __reduce__(self):
        return self.call


@pytest.mark.parametrize("call", [(os.mkdir, ("poisoned",)), (exec, ("import os; os.mkdir('poisoned')",))])
def test_a_reply_runs_no_code(tmp_path, monkeypatch, call):
    monkeypatch.chdir(tmp_path)
    assert pickle.loads(pickle.dumps(Poison(str, ("a",)))) == "a"
    monkeypatch.setattr(remote, "packed", lambda result, functions: pickle.dumps(("returned", Poison(*call))))
    case = equals("3", [()], lambda: 3)
    assert judge_in_a_thread(tmp_path, exercise_of(case), lambda: 3).status == "failed"
    assert not (tmp_path / "poisoned").exists()


def test_the_judge_does_not_wait_for_ever(tmp_path):
    never = threading.Event()
    case = equals("3", [()], lambda: 3)
    with pytest.raises(remote.Lost, match="no result in time"):
        judge_in_a_thread(tmp_path, exercise_of(case), lambda: never.wait(), seconds=0.2)


def test_what_cannot_cross_is_said_so(tmp_path):
    looks_inside = Case("looks inside", lambda answer: answer.kind)
    takes_a_tensor = law("a tensor", [(torch.zeros(3),)], lambda got, tensor: None)
    takes_a_lambda = law("a lambda", [(lambda: 3,)], lambda got, function: None)
    for case in (looks_inside, takes_a_tensor, takes_a_lambda):
        with pytest.raises(remote.CannotCross):
            judge_in_a_thread(tmp_path, exercise_of(case), lambda value: value)


def test_a_layout_of_cutes_cannot_cross(tmp_path):
    with pytest.raises(remote.CannotCross):
        judge_in_a_thread(tmp_path, find("09.7"), load_answers("09_gemm_baseline")["09.7"])


@pytest.mark.parametrize("returned", [Stranger(), lambda: 3])
def test_only_the_exercise_decides_what_cannot_cross(tmp_path, returned):
    """A judge that shows, looks into, or passes on what was returned: none of it may end the judging."""

    def passes_on(answer):
        return None if answer(answer(3)) == 3 else Wrong("no")

    cases = [
        equals("shown", [(3,)], lambda n: n),
        law("looked into", [(3,)], lambda got, n: None if got.kind else "no"),
        law("unpacked", [(3,)], lambda got, n: None if [*got] else "no"),
        Case("passed on", passes_on),
    ]
    for case in cases:
        assert judge_in_a_thread(tmp_path, exercise_of(case), lambda n: returned).status == "failed"
