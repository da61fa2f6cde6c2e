"""The cartoon of a block: nobody does two things at once, and what it says of each schedule."""

from itertools import pairwise

import pytest

from tutorlib.models.roles import ROWS, Cartoon

KINDS = ("plain", "cooperative", "deferred stores", "ping-pong")


@pytest.mark.parametrize("roles", KINDS)
@pytest.mark.parametrize(("ahead", "multiply", "results"), [(3, 8, 3), (2, 8, 4), (4, 6, 1)])
def test_a_row_does_one_thing_at_a_time(roles, ahead, multiply, results):
    cartoon = Cartoon(roles, 3, ahead, multiply, results)
    for row in ROWS:
        spans = sorted((s.begin, s.end) for s in cartoon.spans if s.row == row)
        assert all(before[1] <= after[0] for before, after in pairwise(spans))


@pytest.mark.parametrize("roles", KINDS)
def test_all_do_the_same_work_and_nothing_is_used_before_it_comes(roles):
    cartoon = Cartoon(roles)
    spans = {(span.row, span.tile): span for span in cartoon.spans if not span.rounds}
    assert sum(span.end - span.begin for (row, _), span in spans.items() if row == "mma") == 3 * 8
    for (row, tile), span in spans.items():
        if row == "mma":
            assert span.begin == spans["load", tile].begin + cartoon.ahead
            assert spans["store", tile].begin >= span.end


def test_each_lever_keeps_the_tensor_cores_busier():
    busy = [Cartoon(roles).busy for roles in KINDS]
    assert busy == sorted(busy)
