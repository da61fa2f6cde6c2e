"""Which tests a commit's run takes: all that cost little, and of the costly ones others with each commit.

costs.json has the seconds of processor time that a case of each test takes, on average. `make test-all` writes it; a
run of some tests renews their lines (`pytest --write-costs`).
"""

import json
import resource
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from random import Random

import pytest

COSTS = Path(__file__).parent / "costs.json"
UNKNOWN_S = 0.02  # of a case that has no line: it costs less than KEPT_S, or nobody measured it
CHEAP_S = 1.0  # a test whose cases cost no more together runs with every commit
BUDGET_S = 60.0  # for cases of the others
KEPT_S = 0.05  # what costs less has no line


def test_of(nodeid: str) -> str:
    """ "tests/pages/test_wrong.py::test_a_wrong_answer_fails"."""
    return nodeid.partition("[")[0]


def read_costs() -> dict[str, float]:
    return json.loads(COSTS.read_text(encoding="utf-8")) if COSTS.exists() else {}


def write_costs(measured: Mapping[str, Sequence[float]]) -> None:
    """measured: test → seconds of each of its cases. Tests that did not run keep their lines."""
    known = read_costs()
    for test, seconds in measured.items():
        known.pop(test, None)
        if (mean := sum(seconds) / len(seconds)) >= KEPT_S:
            known[test] = round(mean, 2)
    lines = ",\n".join(f"{json.dumps(test)}: {known[test]}" for test in sorted(known))
    COSTS.write_text(f"{{\n{lines}\n}}\n", encoding="utf-8")


def costs_of(nodeids: Iterable[str], known: Mapping[str, float]) -> dict[str, float]:
    """Seconds of each case."""
    return {one: known.get(test_of(one), UNKNOWN_S) for one in nodeids}


def of_commit(nodeids: Sequence[str], commit: str, known: Mapping[str, float]) -> set[str]:
    """The cases that run with this commit: all of cheap tests, and of costly ones, in random order, up to BUDGET_S."""
    costs, of_test = costs_of(nodeids, known), defaultdict[str, float](float)
    for one, seconds in costs.items():
        of_test[test_of(one)] += seconds
    costly = sorted(one for one in nodeids if of_test[test_of(one)] > CHEAP_S)
    Random(commit).shuffle(costly)
    left_out, spent = set(), 0.0
    for one in costly:
        if spent + costs[one] > BUDGET_S:
            left_out.add(one)
        else:
            spent += costs[one]
    return set(nodeids) - left_out


def computed() -> float:
    """Seconds of processor time, of this process and of those that it waited for."""
    used = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(one.ru_utime + one.ru_stime for one in used)


class CostsPlugin:
    """Measures each test; workers hand what they measured to the process that started them."""

    def __init__(self) -> None:
        self.measured: dict[str, list[float]] = defaultdict(list)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> object:
        before = computed()
        done = yield
        self.measured[test_of(item.nodeid)].append(computed() - before)
        return done

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if hasattr(session.config, "workeroutput"):
            session.config.workeroutput["costs"] = dict(self.measured)
        else:
            write_costs(self.measured)

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: object) -> None:
        for test, seconds in getattr(node, "workeroutput", {}).get("costs", {}).items():
            self.measured[test] += seconds
