"""17.5 judged outside: what the student's process compiles and runs is compiled and run by the judge."""

import pytest

from tests.checking.elsewhere import Forging, answer_to
from tests.grading.test_far import judged
from tests.pages.answers import RIGHT, WRONG
from tutorlib.exercises import find
from tutorlib.exercises.n17_compile_once.judge import for_torch

pytestmark = pytest.mark.usefixtures("no_gpu")


@pytest.mark.parametrize("answer", [answer_to("17.5"), *(one.function for one in RIGHT["17.5"])])
def test_right_answers_have_what_a_machine_without_a_gpu_can_give(answer):
    assert judged("17.5", answer).points == find("17.5").points_anywhere


@pytest.mark.parametrize("answer", WRONG["17.5"], ids=lambda answer: answer.name)
def test_wrong_answers_get_what_they_get_in_a_notebook(answer):
    here, outside = find("17.5").grade(answer.function), judged("17.5", answer.function)
    assert (outside.points, outside.message) == (here.points, here.message)


def forged(compiled_by):
    """A process in which no answer runs. compiled_by: the judge's compile → a function of x and y, which gives both."""
    return type("Forged", (Forging,), {"compiled_by": lambda self, host, compile: compiled_by(compile)})


FIXED = {"dtype": "Float32", "memory": "generic", "align": 4, "shape": [6], "stride": [1]}
FREE = {**FIXED, "shape": [[32, 1, None]]}


def call(*arguments, **parts):
    return {"host": True, "tvm_ffi": True, "arguments": [*arguments], "named": {}} | parts


@pytest.mark.parametrize(
    "told",
    [
        "",
        call(FREE, FREE, host=False),
        call(FREE, FREE, tvm_ffi=False),
        call(FIXED, FIXED),
        call(FREE),
        call({**FREE, "align": 3}, FREE),
        call({**FREE, "dtype": "Numeric"}, FREE),
        call({**FREE, "dtype": "cute"}, FREE),
        call({**FREE, "memory": "smem"}, FREE),
        call({**FREE, "shape": [[33, 1, None]]}, FREE),
        call({**FREE, "shape": [1e9]}, FREE),
        call({"unknown": "Tensor"}, FREE),
        call(FREE, FREE, named={"options": "--dump-dir /"}),
    ],
)
def test_what_no_right_answer_compiles_has_no_points(told):
    outcome = judged("17.5", answer_to("17.5"), forged(lambda compile: compile(told)))
    assert (outcome.status, outcome.points) == ("failed", 0), outcome.message


def twice(compile):
    compile(call(FREE, FREE))
    return compile(call(FREE, FREE))


def without_a_run(compile):
    compile(call(FREE, FREE))
    return lambda *given: (*given[:-1], 2 * given[-2])


def run_with_others(compile):
    """One compilation for vectors of 6 elements, and what it does not double is doubled here."""
    run = compile(call(FIXED, FIXED))
    return lambda *given: (run(given[-2].new_ones(6), given[-1].new_ones(6)), 2 * given[-2])


def at_another_address(compile):
    """Copies that begin at a multiple of 16 bytes, and a function that takes no others."""
    run = compile(call({**FREE, "align": 16}, {**FREE, "align": 16}))
    return lambda x, y: run(x.clone(), y.clone())


@pytest.mark.parametrize(
    "compiled_by", [twice, without_a_run, run_with_others, at_another_address, lambda compile: lambda *given: None]
)
def test_what_no_right_answer_does_with_it_has_no_points(compiled_by):
    outcome = judged("17.5", answer_to("17.5"), forged(compiled_by))
    assert (outcome.status, outcome.points) == ("failed", 0), outcome.message


def test_a_call_that_serves_vectors_alone_is_right_in_their_case_alone():
    outcome = judged("17.5", answer_to("17.5"), forged(lambda compile: compile(call(FREE, FREE))))
    assert (outcome.points, outcome.message.count("1 of 3 cases right")) == (1, 1)


def test_the_host_functions_of_the_trials_are_all_different():
    assert len({trial.host for _, trial in for_torch.CALLS} | {for_torch.KERNEL}) == len(for_torch.CALLS) + 1
