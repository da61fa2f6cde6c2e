"""A kernel exercise crosses to the answer's process without what would help an answer."""

import os
from dataclasses import fields, replace

import pytest
from msgpack import packb

from tutorlib.checking.kernel import KernelExercise
from tutorlib.exercises import find, of_notebook
from tutorlib.grading.sent_exercise import KEPT_BACK, rebuilt, sent_form
from tutorlib.grading.wire import EXERCISES, RECORDS, TAGS, CannotCross, Reader, Writer
from tutorlib.paths import notebook_names

KERNELS = [one.id for name in notebook_names() for one in of_notebook(name) if isinstance(one, KernelExercise)]


def sent(exercise: KernelExercise) -> tuple[bytes, list]:
    """The message, and the functions that stay with the judge."""
    kept: list = []

    def handle(function):
        kept.append(function)
        return "mine", len(kept) - 1

    return Writer(handle, records=EXERCISES).message(sent_form(exercise)), kept


@pytest.mark.parametrize("id", KERNELS)
def test_an_exercise_crosses_without_hints_and_keeps_its_functions_with_the_judge(id):
    exercise = find(id)
    message, kept = sent(exercise)
    got = rebuilt(*Reader(kept.__getitem__, kept.__getitem__, EXERCISES).value(message))
    assert type(got) is type(exercise)
    assert (got.hints, got.remedies) == ((), {})
    for one in fields(exercise):
        if one.init and one.name not in (*KEPT_BACK, "library"):
            assert getattr(got, one.name) == getattr(exercise, one.name), one.name
    assert exercise.problem.reference in kept
    texts = [*exercise.hints, *exercise.remedies.values()]
    assert not [text for text in texts if text.encode() in message]


def test_the_judge_makes_no_exercise_of_what_an_answers_process_sends():
    message, kept = sent(find("04.4"))
    with pytest.raises(CannotCross):
        Reader(kept.__getitem__, kept.__getitem__, RECORDS).value(message)


def test_a_function_near_the_answer_is_the_courses_own():
    exercise = find("16.1")
    message, kept = sent(exercise)
    assert exercise.part.kernel not in kept
    assert packb([TAGS["function"], "tutorlib.exercises.n16_fusion.judge.host_functions", "elementwise"]) in message
    message, kept = sent(replace(exercise, part=replace(exercise.part, kernel=os.system)))
    with pytest.raises(CannotCross, match="not for the process of an answer"):
        Reader(kept.__getitem__, kept.__getitem__, EXERCISES).value(message)
