"""A diagnosis is judged by evidence: what counts, what costs, what cannot be tried. On the histogram: it is quick."""

import sys
from collections import Counter

import numpy as np
import pytest
import torch

from tests.pages.changed import right_answers
from tutorlib import CheckFailed, check
from tutorlib.exercises import find
from tutorlib.exercises.judges.p18 import Diagnosis

HISTOGRAM = find("18.5")
LINE, CAUSE, SHAPE = "if (t < BINS) mine[t] = 0;", "uninitialized", (1, 40, 64)


def outcome(line, cause, shape, **data):
    return HISTOGRAM.grade(lambda: Diagnosis(line=line, cause=cause, shape=shape, **data))


@pytest.mark.parametrize(
    ("line", "cause", "points", "words"),
    [
        (LINE, CAUSE, 4, "✓"),
        ("mine[t]  =  0", CAUSE, 4, "✓"),
        (11, CAUSE, 4, "✓"),
        (None, None, 1, "say where and why"),
        (LINE, None, 1, "say where and why"),
        (None, CAUSE, 1, "say where and why"),
        (14, None, 1, "say where and why"),
        (None, "lost updates", 1, "say where and why"),
        (LINE, "lost updates", 0, "the cause or both are wrong"),
        (14, CAUSE, 0, "the cause or both are wrong"),
        (14, "lost updates", 0, "the cause or both are wrong"),
    ],
)
def test_points(line, cause, points, words):
    found = outcome(line, cause, SHAPE)
    assert found.points == points
    assert words in found.message
    assert points == 4 or CAUSE not in found.message, "the message must not name the cause"


def test_numpys_integers_are_integers():
    assert outcome(LINE, CAUSE, (np.int64(1), np.int32(40), 64)).points == 4


def said(line, cause):
    """The message but for its evidence, which is that of random inputs."""
    return outcome(line, cause, SHAPE).message.splitlines()[-1]


def test_trying_tells_nothing_of_a_half():
    """The right line with a wrong cause reads as a wrong line does, and either alone as none: only pairs are tried."""
    alone = {said(line, cause) for line, cause in ((LINE, None), (14, None), (None, CAUSE))}
    pairs = {said(line, cause) for line, cause in ((LINE, "lost updates"), (14, CAUSE))}
    assert len(alone) == len(pairs) == 1


@pytest.mark.parametrize("shape", [(1, 40, 256), (3, 4, 1024)])
def test_without_evidence_nothing_counts(shape):
    found = outcome(LINE, CAUSE, shape)
    assert found.points == 0
    assert "nothing goes wrong" in found.message


def test_data_of_ones_own():
    """Shared memory is read before it is written whatever is counted; the data only have to fit."""
    assert outcome(LINE, CAUSE, (1, 4, 64), data=[np.zeros((1, 4), int)]).points == 4
    assert "the inputs should be x (1, 4)." in outcome(LINE, CAUSE, (1, 4, 64), data=[np.zeros(4)]).message
    assert "should be a list of torch tensors" in outcome(LINE, CAUSE, (1, 4, 64), data=[[[0, 1, 2, 3]]]).message


@pytest.mark.parametrize("data", [torch.zeros(1, 4), [torch.zeros(1, 4)], [torch.zeros(1, 4, dtype=torch.int32)]])
def test_torchs_tensors_are_data_too(data):
    assert outcome(LINE, CAUSE, (1, 4, 64), data=data).points == 4


def test_numpys_line_number_is_a_number():
    assert outcome(np.int64(11), CAUSE, SHAPE).points == 4


@pytest.mark.parametrize(
    ("id", "shape", "data"),
    [
        ("18.1", (1, 1, 1), ((1, 1), (1, 1), (1,))),
        ("18.3", (2, 2, 16), ((2, 16), (2, 16))),
        ("18.7", (1, 1, 1), ((1, 1), (1, 1))),
        ("18.17", (1, 1), ((1, 1),)),
        ("18.23", (1, 32), ((1, 32),)),
        ("18.25", (1, 1), ((1, 1),)),
        ("18.29", (1, 2), ((1, 2),)),
    ],
)
@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_data_without_a_finite_right_result_show_nothing(id, shape, data, value):
    """A softmax of equal infinities is NaN, and so is whatever any kernel makes of NaN."""
    exercise = find(id)
    given = [np.full(size, value) for size in data]
    found = exercise.grade(lambda: Diagnosis(line=exercise.lines[0], cause=exercise.cause, shape=shape, data=given))
    assert found.points == 0
    assert "NaN or infinite elements" in found.message


@pytest.mark.parametrize("value", [1e-30, 1e30])
def test_products_beyond_fp32_show_nothing(value):
    data = np.full((1, 16), value), np.array([[value, -value] * 8])
    if value < 1:
        data = data[:1] * 2
    found = find("18.3").grade(lambda: Diagnosis(line=13, cause="unguarded tail", shape=(1, 1, 16), data=data))
    assert found.points == 0
    assert "leaves the range of fp32" in found.message


@pytest.mark.parametrize("value", [256, -1])
def test_data_outside_the_contract_show_nothing(value):
    found = outcome(LINE, CAUSE, (1, 4, 64), data=[np.full((1, 4), value)])
    assert found.points == 0
    assert "outside the kernel's contract" in found.message


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ((LINE, "bad luck", SHAPE), "no cause is called 'bad luck'"),
        ((LINE, ["lost updates"], SHAPE), "no cause is called ['lost updates']"),
        ((LINE, CAUSE, "1×40×64"), "yours is '1×40×64'"),
        (("no such line", CAUSE, SHAPE), "is on no line"),
        (("__syncthreads();", CAUSE, SHAPE), "is on lines 12, 21: give a number"),
        ((99, CAUSE, SHAPE), "no line 99"),
        (("", CAUSE, SHAPE), "is on no line"),
        ((LINE, CAUSE, (1, 40)), "the shape is (M, N, T), positive integers"),
        ((LINE, CAUSE, (0, 40, 64)), "positive integers"),
        ((LINE, CAUSE, (1, 40, 33)), "1×40×33 is outside the kernel's contract: T is a multiple of 32"),
        ((LINE, CAUSE, (1, 2**20, 64)), "make it small, 65,536 at most"),
    ],
)
def test_what_cannot_be_tried(fields, words):
    found = outcome(*fields)
    assert found.points == 0
    assert words in found.message
    assert len(found.message.splitlines()) == 1


def test_a_diagnosis_is_plain_data():
    """`tutor grade` judges it outside of the notebook's process, and nothing else gets there."""
    assert type(Diagnosis(line=LINE, cause=CAUSE, shape=SHAPE)) is dict


def test_answers_of_another_kind():
    assert "should return a Diagnosis" in HISTOGRAM.grade(lambda: ("line", "cause")).message
    assert "should return a Diagnosis" in HISTOGRAM.grade(lambda: Diagnosis(line=LINE, cause=CAUSE)).message
    assert "is not a function" in HISTOGRAM.grade(3).message
    assert "raised ZeroDivisionError" in HISTOGRAM.grade(lambda: 1 / 0).message


def test_a_placeholder_is_not_written_yet():
    def unwritten():
        raise NotImplementedError("Exercise 18.5")

    assert "not written yet" in HISTOGRAM.grade(unwritten).message
    assert "not written yet" in find("18.6").grade(lambda source: unwritten()).message


def test_after_three_wrong_pairs_the_fix_comes_first(monkeypatch):
    module = sys.modules[check.__module__]
    monkeypatch.setattr(module, "_guesses", Counter())
    monkeypatch.setattr(module, "_passed", set())
    monkeypatch.setenv("TUTORLIB_PROGRESS", "")

    def message(line):
        with pytest.raises(CheckFailed) as failed:
            check("18.5", lambda: Diagnosis(line=line, cause="lost updates", shape=SHAPE))
        return str(failed.value)

    assert "say where and why" in message(None)
    assert all("the cause or both are wrong" in message(line) for line in (12, 14, 15))
    assert "Solve 18.6 first" in message(16)
    check("18.6", right_answers("18_bug_hunt")["18.6"])
    assert "the cause or both are wrong" in message(16)
