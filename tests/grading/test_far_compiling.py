"""17.5 judged outside: of the student's process counts what it calls cute.compile with, and nothing that it says."""

import pytest

from tests.checking.elsewhere import Forging, answer_to
from tests.grading.test_far import judged
from tests.pages.answers import RIGHT, WRONG
from tutorlib.exercises import find
from tutorlib.exercises.n17_compile_once.judge import for_torch

pytestmark = pytest.mark.usefixtures("no_gpu")


@pytest.mark.parametrize("answer", [answer_to("17.5"), *RIGHT["17.5"]], ids=lambda answer: answer.__name__)
def test_right_answers_have_what_a_machine_without_a_gpu_can_give(tmp_path, answer):
    assert judged(tmp_path, "17.5", answer).points == find("17.5").points_anywhere


@pytest.mark.parametrize("answer", WRONG["17.5"], ids=lambda answer: answer.__name__)
def test_wrong_answers_get_what_they_get_in_a_notebook(tmp_path, answer):
    here, outside = find("17.5").grade(answer), judged(tmp_path, "17.5", answer)
    assert (outside.points, outside.message) == (here.points, here.message)


class Content(Forging):
    """Finds nothing wrong, and tells what cute.compile was really called with."""

    def told_of_compiling(self, host):
        return for_torch.told_of_compiling(self, host) | {"said": ""}


SEEN_INSIDE = ("compiles_when_called", "runs_on_the_examples", "runs_twice")  # when, and how often, something is called


@pytest.mark.parametrize("answer", WRONG["17.5"], ids=lambda answer: answer.__name__)
def test_a_process_that_finds_nothing_wrong_gains_nothing(tmp_path, answer, request):
    if answer.__name__ in SEEN_INSIDE:
        request.applymarker(pytest.mark.xfail(strict=True, reason="no one but the process sees its calls"))
    outcome = judged(tmp_path, "17.5", answer, Content)
    assert outcome.points <= find("17.5").grade(answer).points, outcome.message


def forged(told):
    return type("Forged", (Forging,), {"told_of_compiling": lambda self, host: told})


FIXED = {"dtype": "Float32", "memory": "generic", "align": 4, "shape": [6], "stride": [1]}
FREE = {**FIXED, "shape": [[32, 1, None]]}


def call(*arguments, **parts):
    return {"host": True, "tvm_ffi": True, "arguments": [*arguments], "named": {}} | parts


@pytest.mark.parametrize(
    "told",
    [
        "",
        {"said": "", "calls": []},
        {"said": "", "calls": [call(FREE, FREE)] * 2},
        {"said": "", "calls": [call(FREE, FREE, host=False)]},
        {"said": "", "calls": [call(FREE, FREE, tvm_ffi=False)]},
        {"said": "", "calls": [call(FIXED, FIXED)]},
        {"said": "", "calls": [call(FREE)]},
        {"said": "", "calls": [call({**FREE, "align": 3}, FREE)]},
        {"said": "", "calls": [call({**FREE, "dtype": "Numeric"}, FREE)]},
        {"said": "", "calls": [call({**FREE, "dtype": "cute"}, FREE)]},
        {"said": "", "calls": [call({**FREE, "memory": "smem"}, FREE)]},
        {"said": "", "calls": [call({**FREE, "shape": [[33, 1, None]]}, FREE)]},
        {"said": "", "calls": [call({**FREE, "shape": [1e9]}, FREE)]},
        {"said": "", "calls": [call({"unknown": "Tensor"}, FREE)]},
        {"said": "", "calls": [call(FREE, FREE, named={"options": "--dump-dir /"})]},
        {"said": "", "calls": [3]},
    ],
)
def test_what_no_right_answer_tells_has_no_points(tmp_path, told):
    outcome = judged(tmp_path, "17.5", answer_to("17.5"), forged(told))
    assert (outcome.status, outcome.points) == ("failed", 0), outcome.message


def test_a_call_that_serves_vectors_alone_is_right_in_their_case_alone(tmp_path):
    outcome = judged(tmp_path, "17.5", answer_to("17.5"), forged({"said": "", "calls": [call(FREE, FREE)]}))
    assert (outcome.points, outcome.message.count("1 of 3 cases right")) == (1, 1)


def test_the_host_functions_of_the_trials_are_all_different():
    assert len({trial.host for _, trial in for_torch.CALLS} | {for_torch.KERNEL}) == len(for_torch.CALLS) + 1
