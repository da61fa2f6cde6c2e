"""Rows become answers; a row, or a change, that no longer fits its page is an error; the oracle of their points."""

import os
import time
from collections import Counter

import pytest

from tests.pages import oracle
from tests.pages.change import DoesNotApply, swap, without
from tests.pages.table import base_of, build, kinds_of, read_rows
from tutorlib.kernels.ampere.main_loops import single_buffer
from tutorlib.kernels.ampere.thread_share import make_operands

TABLE = """\
01.5 an offset is a sum
  right | = sum(map(mul, shape, stride))
  * gives, case | = shape[0] * stride[0]

05.3 a swizzle
  wrong elements | make_swizzle(5, 0, 6) → make_swizzle(5, 0, 7)
"""


def answer(exercise, text, **names):
    return build(exercise, text, names)


def test_a_table_is_read(tmp_path):
    (tmp_path / "p01.txt").write_text(TABLE, encoding="utf-8")
    teaches, (right, wrong, change) = read_rows(tmp_path / "p01.txt", {"mul": lambda a, b: a * b})
    assert teaches == {"01.5": "an offset is a sum", "05.3": "a swizzle"}
    assert (right.exercise, right.kinds, right.lesson, right.function((1, 2), (3, 4))) == ("01.5", set(), False, 11)
    assert (wrong.kinds, wrong.lesson, wrong.function((1, 2), (3, 4))) == ({"gives", "case"}, True, 3)
    assert (change.exercise, change.name) == ("05.3", "make_swizzle_5_0_6_make_swizzle_5_0_7")


@pytest.mark.parametrize(
    ("text", "gives"),
    [
        ("sum(c * d → sum(c + d", 10),
        ("sum( → max( ;; c * d → c - d", -2),
        ("×2 shape → place", 11),
        ("= len(shape) + more", 9),
        ("is lambda c, d: more", 7),
        ("@product sum( → max(", 8),
    ],
)
def test_a_row_is_an_answer(text, gives, monkeypatch):
    page = "def offset_range(shape, stride):\n    return sum(c * d for c, d in zip(shape, stride, strict=True))"
    monkeypatch.setattr("tests.pages.table.cell", {"01.5": page}.__getitem__)
    monkeypatch.setattr("tests.pages.table.page", lambda number: page)
    assert answer("01.5", text, more=7, product=base_of(product))((1, 2), (3, 4)) == gives


def test_an_expression_may_call_a_helper_that_is_named_like_the_answer():
    assert answer("01.5", "= 1 + offset_range(shape, stride)", offset_range=product)((1, 2), (3, 4)) == 12


def product(shape, stride):
    return sum(c * d for c, d in zip(shape, stride, strict=True))


@pytest.mark.parametrize(
    "text",
    [
        "tile → tiles",  # not there
        "cute → cutlass",  # more than once
        "×2 make_swizzle → swizzle",  # once
        "- cute.copy(nothing",
        "- cute",
        "make_swizzle",
    ],
)
def test_a_row_that_does_not_fit_is_an_error(text):
    with pytest.raises(DoesNotApply):
        answer("05.3", text)


def test_a_change_belongs_to_the_one_function_that_it_fits():
    both = {"BASES": {"10.2": base_of(single_buffer, make_operands)}}
    loop, copy = answer("10.2", "- wait_group", **both)
    assert (loop.__name__, copy.__name__) == ("single_buffer", "make_operands")
    with pytest.raises(DoesNotApply, match="fits 2 functions of 2"):
        answer("10.2", "def → async def", **both)


def test_a_right_answer_has_no_kinds():
    assert kinds_of("right") == set()
    assert kinds_of("a view's place, gives") == {"a view's place", "gives"}


# Changes ------------------------------------------------------------------------------------------------------------

LINES = ["load", "wait(0)", "barrier", "fetch", "barrier"]


@pytest.mark.parametrize(
    ("change", "left"),
    [
        (swap("wait(0)", "wait(1)"), "load wait(1) barrier fetch barrier"),
        (swap("barrier", "sync", times=2), "load wait(0) sync fetch sync"),
        (without("wait", "fetch"), "load barrier barrier"),
    ],
)
def test_a_change(change, left):
    assert " ".join(change(LINES)) == left


@pytest.mark.parametrize(
    "change",
    [
        swap("commit", "wait"),
        swap("barrier", "sync"),
        without("barrier"),
        without("commit"),
    ],
)
def test_a_change_that_does_not_fit_is_an_error(change):
    with pytest.raises(DoesNotApply):
        change(LINES)


# The oracle loses no more than the answer that ends its process or does not end --------------------------------------

RIGHT = ("passed", "2", "2", "")
ANSWERS = {"right": lambda: RIGHT, "ends": lambda: os._exit(1), "hangs": lambda: time.sleep(600), "late": lambda: RIGHT}


def test_a_crash_and_a_hang_lose_one_answer_each(monkeypatch):
    monkeypatch.setattr(oracle, "grade", lambda exercise, answer, sender: sender.send(answer()))
    keyed = [(("00.1", "wrong", name), answer) for name, answer in ANSWERS.items()]
    rows = {key[2]: row for key, row in oracle.graded(keyed, jobs=2, limit=2)}
    assert Counter(row[0] for row in rows.values()) == {"passed": 2, "crash": 1, "timeout": 1}
    assert (rows["ends"][0], rows["hangs"][0], rows["late"]) == ("crash", "timeout", RIGHT)


def test_a_row_that_was_cut_off_is_computed_again(tmp_path):
    whole = oracle.line(("00.1", "wrong", "one"), RIGHT)
    (tmp_path / "rows.tsv").write_text(whole + whole[:12])
    assert oracle.read(tmp_path / "rows.tsv") == {("00.1", "wrong", "one"): RIGHT}
