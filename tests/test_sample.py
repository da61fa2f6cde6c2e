"""A commit's sample: cheap tests always, costly ones within the budget, and every case in some commit's."""

import json

from tests import sample
from tests.sample import BUDGET_S, CHEAP_S, costs_of, group_of, of_commit, write_costs

CHEAP = [f"a.py::test_cheap[{n}]" for n in range(5)]
COSTLY = [f"b.py::test_costly[{page:02d}.1-{n}]" for page in range(4) for n in range(10)]
ONE = ["c.py::test_long_one"]
KNOWN = {"a.py::test_cheap": CHEAP_S / 5, "b.py::test_costly[00.1]": BUDGET_S / 10, "b.py::test_costly[01.1]": 0.0}
KNOWN |= {"c.py::test_long_one": BUDGET_S / 10}
ALL = [*CHEAP, *COSTLY, *ONE]


def test_a_group_is_a_test_and_the_exercise_that_its_case_is_about():
    assert group_of("b.py::test_costly[00.1-rounds_down]") == "b.py::test_costly[00.1]"
    assert group_of("b.py::test_costly[fp32]") == group_of("b.py::test_costly") == "b.py::test_costly"


def test_cheap_tests_run_with_every_commit_and_the_others_within_the_budget():
    for commit in range(50):
        taken = of_commit(ALL, str(commit), KNOWN)
        assert taken >= set(CHEAP)
        costs = costs_of(ALL, KNOWN)
        assert sum(costs[one] for one in taken - set(CHEAP)) <= BUDGET_S


def test_a_commit_has_one_sample_and_all_commits_together_every_case():
    assert of_commit(ALL, "a", KNOWN) == of_commit(ALL, "a", KNOWN) != of_commit(ALL, "b", KNOWN)
    assert set().union(*(of_commit(ALL, str(commit), KNOWN) for commit in range(100))) == set(ALL)


def test_what_ran_has_a_new_line_and_the_rest_keeps_its_own(tmp_path, monkeypatch):
    monkeypatch.setattr(sample, "COSTS", tmp_path / "costs.json")
    write_costs({"a": [1.0, 2.0], "b": [3.0]})
    write_costs({"b": [0.001], "c": [0.5]})
    assert json.loads(sample.COSTS.read_text()) == {"a": 1.5, "c": 0.5}
