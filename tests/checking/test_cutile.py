"""cuTile exercises, interpreted: right in another way, wrong without looking so, and speed that cannot be measured."""

from dataclasses import replace

import cuda.tile as ct
import pytest

from tests.checking.cutile_kernels import Const, gathering_add, persistent_add, two_pass_softmax
from tutorlib.exercises import find
from tutorlib.notebook.check import check

pytestmark = pytest.mark.usefixtures("no_gpu")


@pytest.mark.parametrize(
    ("id", "answer"), [("06.1", persistent_add), ("06.1", gathering_add), ("06.5", two_pass_softmax)]
)
def test_right_in_another_way(id, answer, capsys):
    check(id, answer)
    assert capsys.readouterr().out == find(id).passed_line + "\n"


@ct.kernel
def unwritten(a, b, c, tile: Const[int]):
    raise ct.static_exception(NotImplementedError("Exercise 06.1"))


@ct.kernel
def with_a_tile_of_100(a, b, c, tile: Const[int]):
    ct.store(c, (ct.bid(0),), ct.load(a, (ct.bid(0),), (100,)))


@ct.kernel
def rounds_towards_zero(a, b, c, tile: Const[int]):
    i = (ct.bid(0),)
    ct.store(c, i, ct.add(ct.load(a, i, (tile,)), ct.load(b, i, (tile,)), rounding_mode=ct.RoundingMode.RZ))


@ct.kernel
def last_block_wins(a, b, c, tile: Const[int]):
    i = ct.bid(0)
    ct.store(c, (i,), ct.load(a, (i,), (tile,)) + ct.load(b, (i,), (tile,)))
    if i == 0:
        ct.store(c, (1,), ct.load(a, (0,), (tile,)))


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        (unwritten, "✗ 06.1 add: not written yet"),
        (with_a_tile_of_100, "Dimension #0 of shape (100,) is not a power of two"),
        (rounds_towards_zero, "rounding_mode=RoundingMode.RZ is not simulated"),
        (last_block_wins, "right by luck: block 1 stores c[128:256], where block 0 stored other values"),
        (print, "print is not a @ct.kernel function"),
    ],
)
def test_what_is_said(answer, says):
    outcome = find("06.1").grade(answer)
    assert outcome.status in ("failed", "partial")
    assert says in outcome.message


def test_speed_that_cannot_be_measured_is_not_run():
    add = find("06.1")
    outcome = replace(add, tiers=(0.9,), bench_shape=(2**20,)).grade(persistent_add)
    assert outcome.status == "not_run"
    assert outcome.points == add.points - 1
    assert "speed not run" in outcome.message
