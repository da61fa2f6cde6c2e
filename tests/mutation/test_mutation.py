"""The mutator: which changes it makes, and that the simulator tells those that matter from those that do not."""

from collections import Counter

import pytest

from tests.mutation import cpp, kinds, python
from tests.mutation.__main__ import chosen, judged, sizes
from tests.mutation.answers import value
from tests.mutation.judge import judge

LOOP = """
def loop(steps):
    for k in range(steps.k_tiles):
        if k + 1 < steps.k_tiles:
            steps.load(k + 1, 1)
        cp_async_commit_group()
        cp_async_wait_group(0)
"""


def test_every_order_is_left_out_and_moved():
    said = [mutant.what for mutant in python.mutants(LOOP, {"loop"})]
    assert "without `cp_async_commit_group()`" in said
    assert "`cp_async_commit_group()` inside the `if` before it" in said
    assert "`cp_async_wait_group(0)` one statement earlier" in said
    assert "one more in `cp_async_wait_group(0)`" in said
    assert "always, without `if k + 1 < steps.k_tiles`" in said


def test_a_mutant_has_one_change():
    without = next(m for m in python.mutants(LOOP, {"loop"}) if m.what == "without `cp_async_commit_group()`")
    assert without.line == 6
    assert without.source.count("commit_group") == 0
    assert without.source.count("wait_group(0)") == 1


def test_masks_and_bounds_of_cpp():
    said = [m.what for m in cpp.mutants("C.store_masked(A.load_masked(i), i);\nfor (int k = 0; k < n; ++k) {}")]
    assert any(what.startswith("a load without its mask") for what in said)
    assert any(what.startswith("< → <=") for what in said)


@pytest.mark.parametrize(
    ("id", "outcomes"),
    [("04.5", {"reported": 4, "same code": 1}), ("05.6", {"reported": 3, "same code": 2, "refused": 1})],
)
def test_what_matters_is_reported(id, outcomes):
    ((exercise, answer),) = chosen([id])
    right = judge(kinds.launcher(exercise, value(answer.source, answer.name, 0)), exercise.problem, sizes(exercise))
    assert right.found == ()
    found = Counter(judged(exercise, mutant, make, right).outcome for mutant, make in kinds.mutants(exercise, answer))
    assert found == outcomes
