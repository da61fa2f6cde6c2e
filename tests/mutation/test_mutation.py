"""The mutator: which changes it makes, and that the simulator tells those that matter from those that do not."""

import os
from collections import Counter
from functools import partial

import pytest

from tests.mutation import cpp, kinds, python, results
from tests.mutation.__main__ import Judged, chosen, in_a_process_of_its_own, mutate

LOOP = """
def loop(steps):
    for k in range(steps.k_tiles):
        if k + 1 < steps.k_tiles:
            steps.load(k + 1, 1)
        cp_async_commit_group()
        cp_async_wait_group(0)
"""

PRODUCER = """
def produce(steps):
    for k_tile in range(steps.k_tiles):
        mbarrier_wait(empty)
        with elect_one():
            mbarrier_arrive_and_expect_tx(full)
        load(k_tile)
        state.advance()
"""


def test_every_order_is_left_out_and_moved():
    said = [mutant.what for mutant in python.mutants(LOOP, {"loop"})]
    assert "without `cp_async_commit_group()`" in said
    assert "`cp_async_commit_group()` inside the `if` before it" in said
    assert "`cp_async_commit_group()` one statement later" in said
    assert "one more in `cp_async_wait_group(0)`" in said
    assert "always, without `if k + 1 < steps.k_tiles`" in said


def test_a_mutant_has_one_change():
    without = next(m for m in python.mutants(LOOP, {"loop"}) if m.what == "without `cp_async_commit_group()`")
    assert without.line == 6
    assert without.source.count("commit_group") == 0
    assert without.source.count("wait_group(0)") == 1


def test_what_one_thread_does_for_all_is_left_out_moved_and_done_by_all():
    said = [mutant.what for mutant in python.mutants(PRODUCER)]
    assert "without `mbarrier_arrive_and_expect_tx(full)`" in said
    assert "`mbarrier_arrive_and_expect_tx(full)` one statement later" in said
    assert "without `with elect_one():`" in said
    assert "without `state.advance()`" in said


def test_no_two_mutants_have_the_same_code():
    """A statement moved up is the one before it moved down."""
    sources = [mutant.source for mutant in python.mutants(PRODUCER)]
    assert len(set(sources)) == len(sources)


def test_a_fix_s_mutants_are_those_of_the_fixed_source():
    (fix,) = chosen(["18.18"])
    said = [mutant.what for mutant, _ in kinds.mutants(*fix)]
    assert sum(what.startswith("without __syncthreads()") for what in said) == fix[0].bug.source.count("__sync") + 1


def test_a_mutant_that_ends_its_process():
    mutant = next(python.mutants(LOOP))
    assert in_a_process_of_its_own(mutant, partial(os._exit, 6)) == Judged(mutant, "crashed", "its process ended by 6")


def test_masks_and_bounds_of_cpp():
    said = [m.what for m in cpp.mutants("C.store_masked(A.load_masked(i), i);\nfor (int k = 0; k < n; ++k) {}")]
    assert any(what.startswith("a load without its mask") for what in said)
    assert any(what.startswith("< → <=") for what in said)


@pytest.mark.parametrize("id", ["04.5", "15.5"])
def test_what_was_kept_is_what_the_command_finds(id):
    ((exercise, answer),) = chosen([id])
    found = list(mutate(exercise, answer))
    assert results.read()[id]["outcomes"] == Counter(judged.outcome for judged in found)
    assert results.read()[id]["survived"] == [judged.mutant.what for judged in found if judged.outcome == "survived"]


@pytest.mark.parametrize("id", results.read())
def test_what_was_kept_is_of_the_mutants_that_there_are(id):
    """Whoever changes a solution runs the command again."""
    ((exercise, answer),) = chosen([id])
    assert sum(results.read()[id]["outcomes"].values()) == len(list(kinds.mutants(exercise, answer)))


def test_of_each_survivor_it_is_known_why_it_may():
    assert [(id, what) for id, what, why in results.survivors() if not why] == []


def test_most_mutants_are_found_out_and_none_stops_the_simulator():
    totals = Counter()
    for found in results.read().values():
        totals += Counter(found["outcomes"])
    assert totals["crashed"] == 0
    assert totals["reported"] > totals.total() / 2


def test_every_harmless_mutant_did_survive():
    survived = {(id, what) for id, what, _ in results.survivors()}
    assert set(results.HARMLESS) <= survived
