"""Notebook 18: every bug has its evidence and its places; tests/pages/p18.txt has the originals, which fail."""

import numpy as np
import pytest
import torch

from tests.pages.p18 import NAMES
from tutorlib.exercises import find, of_notebook
from tutorlib.exercises.judges.p18 import CAUSES, Diagnosis, DiagnosisExercise
from tutorlib.kernels.bugs.catalogue import BUGS
from tutorlib.notebook.hunt import output_of, patch, show_bug

DIAGNOSES = [exercise for exercise in of_notebook("18_bug_hunt") if isinstance(exercise, DiagnosisExercise)]


def test_every_bug_is_on_the_page():
    assert [exercise.bug.name for exercise in DIAGNOSES] == list(NAMES)
    assert set(NAMES) == BUGS.keys()
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
    [("18.9", 26, "cute.arch.sync_threads()"), ("18.11", 28, "__syncthreads();"), ("18.13", 33, "commit_group()")],
)
def test_lines_that_are_known_by_their_number(id, line, text):
    assert line in find(id).places
    assert text in find(id).bug.source.splitlines()[line - 1]


def test_symmetric_weights_hide_bug_1():
    """As the report says: the diagnosis is right, and an identity shows nothing."""
    data = (np.random.randn(32, 32), np.eye(32), np.random.randn(32))
    found = find("18.1").grade(lambda: Diagnosis(line=22, cause="majors swapped", shape=(32, 32, 32), data=data))
    assert "nothing goes wrong" in found.message


def test_small_integers_hide_bug_4():
    a, b = (torch.randint(-8, 9, (4, 1)).float() for _ in range(2))
    assert torch.equal(output_of("matmul_fp32", (4, 4, 1), a, b), a @ b.mT)


def test_patch_changes_one_place():
    source = show_bug("histogram").source
    assert patch(source, "mine[t] = 0", "mine[t] = 1").count("mine[t] = 1") == 1
    with pytest.raises(ValueError, match=r"occurs 2 times, in lines 12, 21"):
        patch(source, "__syncthreads();", "")
    with pytest.raises(ValueError, match="does not occur"):
        patch(source, "sync_threads()", "")


def test_a_mend_that_does_not_apply_is_told_in_one_line():
    message = find("18.6").grade(lambda source: patch(source, "sync_threads()", "")).message
    assert "raised ValueError: 'sync_threads()' does not occur" in message
    assert "should return the fixed source, a string" in find("18.6").grade(lambda source: None).message
    assert "no longer has linear" in find("18.2").grade(lambda source: "import torch\n").message
    assert "does not compile" in find("18.2").grade(lambda source: "def linear(:\n").message


def test_a_listing_has_numbers():
    listing = show_bug("histogram")
    assert repr(listing).splitlines()[10] == " 11    if (t < BINS) mine[t] = 0;"
    assert "mine" in listing._repr_html_()
