"""Notebook 21: every bug has its evidence and its places, and a diagnosis is judged by evidence.

Most diagnoses are of the histogram, which is quick. tests/pages/p21.txt has the broken originals, which fail as fixes.
"""

import numpy as np
import pytest
import torch

from tests.pages.p21 import NAMES
from tutorlib import explain
from tutorlib.exercises import find, of_notebook
from tutorlib.exercises.judges.p21 import CAUSES, Diagnosis, DiagnosisExercise
from tutorlib.kernels.bugs.catalogue import BUGS
from tutorlib.notebook.hunt import as_it_is, output_of, patch, show_bug

DIAGNOSES = [exercise for exercise in of_notebook("21_bug_hunt") if isinstance(exercise, DiagnosisExercise)]
HISTOGRAM = find("21.3")
LINE, CAUSE, SHAPE = "if (t < BINS) mine[t] = 0;", "uninitialized", (1, 40, 64)


# The bugs ---------------------------------------------------------------------------------------------------------


def test_every_bug_is_on_the_page():
    assert [exercise.bug.name for exercise in DIAGNOSES] == list(NAMES)
    assert {*NAMES, "sgemm"} == BUGS.keys()  # which the page finds itself
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


@pytest.mark.parametrize(
    ("id", "line", "text"),
    [("21.7", 26, "cute.arch.sync_threads()"), ("21.9", 28, "__syncthreads();")],
)
def test_lines_that_are_known_by_their_number(id, line, text):
    assert line in find(id).places
    assert text in find(id).bug.source.splitlines()[line - 1]


def test_small_integers_hide_bug_3():
    a, b = (torch.randint(-8, 9, (4, 1)).float() for _ in range(2))
    assert torch.equal(output_of("matmul_fp32", (4, 4, 1), a, b), a @ b.mT)


def test_patch_changes_one_place():
    source = show_bug("histogram").source
    assert patch(source, "mine[t] = 0", "mine[t] = 1").count("mine[t] = 1") == 1
    with pytest.raises(ValueError, match=r"occurs 2 times, in lines 12, 21"):
        patch(source, "__syncthreads();", "")
    with pytest.raises(ValueError, match="does not occur"):
        patch(source, "sync_threads()", "")


def test_a_listing_has_numbers():
    listing = show_bug("histogram")
    assert repr(listing).splitlines()[10] == " 11    if (t < BINS) mine[t] = 0;"
    assert "mine" in listing._repr_html_()


# Diagnoses --------------------------------------------------------------------------------------------------------


def outcome(line, cause, shape, **data):
    return HISTOGRAM.grade(lambda: Diagnosis(line=line, cause=cause, shape=shape, **data))


@pytest.mark.parametrize(
    ("line", "cause", "points", "words"),
    [
        (LINE, CAUSE, 4, "✓"),
        (np.int64(11), CAUSE, 4, "✓"),
        (None, None, 1, "say where and why"),
        (LINE, None, 1, "say where and why"),
        (None, CAUSE, 1, "say where and why"),
        (LINE, "lost updates", 0, "the cause or both are wrong"),
        (14, CAUSE, 0, "the cause or both are wrong"),
    ],
)
def test_only_pairs_are_tried_and_a_message_names_no_cause(line, cause, points, words):
    found = outcome(line, cause, (np.int64(1), np.int32(40), 64))
    assert found.points == points
    assert words in found.message
    assert points == 4 or CAUSE not in found.message


def test_the_last_point_is_for_a_small_input():
    (bound, over), points = ((1, 7936, 64), (1, 7940, 64)), HISTOGRAM.points
    assert [outcome(LINE, CAUSE, shape).points for shape in (bound, over)] == [points, points - 1]
    assert "smaller input" in outcome(LINE, CAUSE, over).message


@pytest.mark.parametrize("shape", [(1, 40, 256), (3, 4, 1024)])
def test_without_evidence_nothing_counts(shape):
    found = outcome(LINE, CAUSE, shape)
    assert found.points == 0
    assert "nothing goes wrong" in found.message


@pytest.mark.parametrize(
    "data", [[np.zeros((1, 4), int)], torch.zeros(1, 4), [torch.zeros(1, 4, dtype=torch.int32)]], ids=range(3)
)
def test_data_of_ones_own(data):
    """Shared memory is read before it is written whatever is counted; the data only have to fit."""
    assert outcome(LINE, CAUSE, (1, 4, 64), data=data).points == 4


@pytest.mark.parametrize(
    ("data", "words"),
    [
        ([np.zeros(4)], "the inputs should be x (1, 4)."),
        ([[[0, 1, 2, 3]]], "should be a list of torch tensors"),
        ([np.full((1, 4), 256)], "outside the kernel's contract"),
    ],
)
def test_data_that_cannot_be_tried(data, words):
    found = outcome(LINE, CAUSE, (1, 4, 64), data=data)
    assert found.points == 0
    assert words in found.message


@pytest.mark.parametrize(
    ("id", "shape", "data", "words"),
    [
        ("21.1", (1, 1, 1), (np.full((1, 1), np.nan), np.ones((1, 1)), np.ones(1)), "NaN or infinite elements"),
        ("21.19", (1, 2), (np.full((1, 2), np.inf),), "NaN or infinite elements"),
        ("21.5", (1, 1, 16), (np.full((1, 16), 1e30), np.array([[1e30, -1e30] * 8])), "leaves the range of fp32"),
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
        ((LINE, CAUSE, "1×40×64"), "yours is '1×40×64'"),
        (("no such line", CAUSE, SHAPE), "is on no line"),
        (("__syncthreads();", CAUSE, SHAPE), "is on lines 12, 21: give a number"),
        ((99, CAUSE, SHAPE), "no line 99"),
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


def test_answers_of_another_kind():
    assert "should return a Diagnosis" in HISTOGRAM.grade(lambda: ("line", "cause")).message
    assert "should return a Diagnosis" in HISTOGRAM.grade(lambda: Diagnosis(line=LINE, cause=CAUSE)).message
    assert "is not a function" in HISTOGRAM.grade(3).message
    assert "raised ZeroDivisionError" in HISTOGRAM.grade(lambda: 1 / 0).message
    assert type(Diagnosis(line=LINE, cause=CAUSE, shape=SHAPE)) is dict, "plain data alone reaches the judge"


# Fixes ------------------------------------------------------------------------------------------------------------


def test_a_fix_of_another_kind():
    def unwritten(source=""):
        raise NotImplementedError("Exercise 21.3")

    message = find("21.4").grade(lambda source: patch(source, "sync_threads()", "")).message
    assert "raised ValueError: 'sync_threads()' does not occur" in message
    assert "should return the fixed source, a string" in find("21.4").grade(lambda source: None).message
    assert "no longer has linear" in find("21.2").grade(lambda source: "import torch\n").message
    assert "does not compile" in find("21.2").grade(lambda source: "def linear(:\n").message
    assert "not written yet" in HISTOGRAM.grade(unwritten).message
    assert "not written yet" in find("21.4").grade(unwritten).message


@pytest.mark.usefixtures("no_gpu")
def test_neither_the_check_nor_explain_tells_the_symptom_of_the_bug_without_a_report(capsys):
    message = find("21.20").grade(as_it_is).message
    assert "wrong for some inputs" in message
    explain("21.20", as_it_is, shape=(1, 8))
    said = message + capsys.readouterr().out
    assert "y is right" in said
    assert "nan" not in said
