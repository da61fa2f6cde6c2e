"""Notebook 21: every bug has its evidence and its places, and a diagnosis is judged by evidence.

Most diagnoses are of the RMS norm, which is quick. tests/pages/p21.txt has the broken originals, which fail as fixes.
"""

import numpy as np
import pytest
import torch

from tutorlib.exercises import find, of_notebook
from tutorlib.exercises.judges.p21 import CAUSES, Diagnosis, DiagnosisExercise
from tutorlib.kernels.bugs.catalogue import BUGS
from tutorlib.notebook.hunt import patch, show_bug

DIAGNOSES = [exercise for exercise in of_notebook("21_bug_hunt") if isinstance(exercise, DiagnosisExercise)]
RMS_NORM = find("21.3")
LINE, CAUSE, SHAPE = "if (t % 32 == 0) partial[t / 32] = squares;", "overwritten too early", (5, 1)


# The bugs ---------------------------------------------------------------------------------------------------------


def test_every_bug_is_on_the_page():
    named = [exercise.bug.name for exercise in of_notebook("21_bug_hunt")]
    assert {*named, "sgemm"} == BUGS.keys()  # which the page finds itself
    assert len({exercise.cause for exercise in DIAGNOSES}) == len(DIAGNOSES), "a cause tells nothing about another bug"


@pytest.mark.parametrize("exercise", DIAGNOSES, ids=lambda exercise: exercise.bug.name)
def test_what_an_exercise_knows_of_its_bug(exercise):
    listing = exercise.bug.source.splitlines()
    assert len(listing) <= 60
    assert exercise.cause in CAUSES
    assert 1 <= len(exercise.places) <= 7
    assert all(listing[place - 1].strip() for place in exercise.places)
    for shape in filter(None, (exercise.bug.wrong_at, exercise.bug.right_at, *exercise.bug.fix_shapes)):
        assert exercise.objection(shape) == ""


def test_random_inputs_that_hide_a_fault_by_chance_are_drawn_again(monkeypatch):
    """The result of 1×1×2 is one number, which one draw in 40 puts near the right one: 21.1 lost 4 points."""
    tried = []

    def shown_once(self, found):
        tried.append(found)
        return "wrong" if len(tried) == 3 else ""

    monkeypatch.setattr(DiagnosisExercise, "shown_once", shown_once)
    assert find("21.1").shown({"shape": (1, 1, 2)}) == "wrong"
    assert find("21.1").shown({"shape": (1, 1, 2), "data": (np.ones((1, 2)), np.ones((1, 2)), np.zeros(1))}) == ""
    assert len(tried) == 4


def test_patch_changes_one_place():
    source = show_bug("rms_norm").source
    assert patch(source, "total = 0.0f", "total = 1.0f").count("total = 1.0f") == 1
    with pytest.raises(ValueError, match=r"occurs 2 times, in lines 19, 27"):
        patch(source, "i = t;", "")
    with pytest.raises(ValueError, match="does not occur"):
        patch(source, "sync_threads()", "")


def test_a_listing_has_numbers():
    listing = show_bug("rms_norm")
    assert repr(listing).splitlines()[10] == f" 11    {listing.source.splitlines()[10].strip()}"
    assert "partial" in listing._repr_html_()


# Diagnoses --------------------------------------------------------------------------------------------------------


def outcome(line, cause, shape, **data):
    return RMS_NORM.grade(lambda: Diagnosis(line=line, cause=cause, shape=shape, **data))


@pytest.mark.parametrize(
    ("line", "cause", "points", "words"),
    [
        (LINE, CAUSE, 4, "✓"),
        (np.int64(21), CAUSE, 4, "✓"),
        (None, None, 1, "say where and why"),
        (LINE, None, 1, "say where and why"),
        (None, CAUSE, 1, "say where and why"),
        (LINE, "lost updates", 0, "the cause or both are wrong"),
        (10, CAUSE, 0, "the cause or both are wrong"),
    ],
)
def test_only_pairs_are_tried_and_a_message_names_no_cause(line, cause, points, words):
    found = outcome(line, cause, (np.int64(5), np.int32(1)))
    assert found.points == points
    assert words in found.message
    assert points == 4 or CAUSE not in found.message


def test_the_last_point_is_for_the_smallest_input():
    found = outcome(LINE, CAUSE, (6, 1))
    assert found.points == RMS_NORM.points - 1
    assert "smallest input" in found.message


@pytest.mark.parametrize("shape", [(4, 40), (1, 1024)])
def test_without_evidence_nothing_counts(shape):
    found = outcome(LINE, CAUSE, shape)
    assert found.points == 0
    assert "nothing goes wrong" in found.message


@pytest.mark.parametrize(
    "data", [[np.zeros((5, 1), int)], torch.zeros(5, 1), [torch.zeros(5, 1, dtype=torch.int32)]], ids=range(3)
)
def test_data_of_ones_own(data):
    """The race is there whatever the numbers are; the data only have to fit."""
    assert outcome(LINE, CAUSE, SHAPE, data=data).points == 4


@pytest.mark.parametrize(
    ("data", "words"),
    [
        ([np.zeros(4)], "the inputs should be x (5, 1)."),
        ([[[0, 1, 2, 3]]], "should be a list of torch tensors"),
    ],
)
def test_data_that_cannot_be_tried(data, words):
    found = outcome(LINE, CAUSE, SHAPE, data=data)
    assert found.points == 0
    assert words in found.message


@pytest.mark.parametrize(
    ("id", "shape", "data", "words"),
    [
        ("21.1", (1, 1, 1), (np.full((1, 1), np.nan), np.ones((1, 1)), np.ones(1)), "NaN or infinite elements"),
        ("21.8", (1, 2), (np.full((1, 2), np.inf),), "NaN or infinite elements"),
        ("21.1", (1, 1, 2), (np.full((1, 2), 1e30), np.array([[1e30, -1e30]]), np.ones(1)), "leaves the range of fp32"),
    ],
)
def test_data_without_a_right_result_show_nothing(id, shape, data, words):
    """A softmax of equal infinities is NaN, and so is whatever any kernel makes of NaN."""
    exercise = find(id)
    found = exercise.grade(lambda: Diagnosis(line=exercise.lines[0], cause=exercise.cause, shape=shape, data=data))
    assert found.points == 0
    assert words in found.message


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ((LINE, "bad luck", SHAPE), "no cause is called 'bad luck'"),
        ((LINE, ["lost updates"], SHAPE), "no cause is called ['lost updates']"),
        ((LINE, CAUSE, "5×8"), "yours is '5×8'"),
        (("no such line", CAUSE, SHAPE), "is on no line"),
        (("i = t;", CAUSE, SHAPE), "is on lines 19, 27: give a number"),
        ((99, CAUSE, SHAPE), "no line 99"),
        ((LINE, CAUSE, (5, 8, 64)), "the shape is (M, N), positive integers"),
        ((LINE, CAUSE, (0, 8)), "positive integers"),
        ((LINE, CAUSE, (5, 2**20)), "make it small, 65,536 at most"),
    ],
)
def test_what_cannot_be_tried(fields, words):
    found = outcome(*fields)
    assert found.points == 0
    assert words in found.message
    assert len(found.message.splitlines()) == 1


def test_answers_of_another_kind():
    assert "should return a Diagnosis" in RMS_NORM.grade(lambda: ("line", "cause")).message
    assert "should return a Diagnosis" in RMS_NORM.grade(lambda: Diagnosis(line=LINE, cause=CAUSE)).message
    assert "is not a function" in RMS_NORM.grade(3).message
    assert "raised ZeroDivisionError" in RMS_NORM.grade(lambda: 1 / 0).message
    assert type(Diagnosis(line=LINE, cause=CAUSE, shape=SHAPE)) is dict, "plain data alone reaches the judge"


# Fixes ------------------------------------------------------------------------------------------------------------


def test_a_fix_of_another_kind():
    def unwritten(source=""):
        raise NotImplementedError("Exercise 21.3")

    message = find("21.4").grade(lambda source: patch(source, "sync_threads()", "")).message
    assert "raised ValueError: 'sync_threads()' does not occur" in message
    assert "should return the fixed source, a string" in find("21.4").grade(lambda source: None).message
    assert "no longer has scale_rows" in find("21.2").grade(lambda source: "import torch\n").message
    assert "does not compile" in find("21.2").grade(lambda source: "def linear(:\n").message
    assert "not written yet" in RMS_NORM.grade(unwritten).message
    assert "not written yet" in find("21.4").grade(unwritten).message
