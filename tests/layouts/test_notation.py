"""Layouts as text, and what tensor-layouts and CuTe answer to questions about them."""

import signal
import subprocess
import sys
import warnings
from types import SimpleNamespace

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from tensor_layouts import Layout, Swizzle, compose

from tutorlib.layouts.notation import NotationError, layout, text, tiler
from tutorlib.layouts.oracle import Refused, ask

SHAPES = st.recursive(st.integers(1, 9), lambda part: st.lists(part, min_size=1, max_size=3).map(tuple), max_leaves=6)


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("(4,3):(3,1)", Layout((4, 3), (3, 1))),
        ("((2,2), 3) : ((1, 2), 4)", Layout(((2, 2), 3), ((1, 2), 4))),
        ("8:2", Layout(8, 2)),
        ("(4,3)", Layout((4, 3), (1, 4))),
        ("(4,3):(-3,0)", Layout((4, 3), (-3, 0))),
        ((4, 3), Layout((4, 3), (1, 4))),
        (torch.empty(4, 3), Layout((4, 3), (3, 1))),
        (SimpleNamespace(shape=(4, [2, 2]), stride=(1, [4, 8])), Layout((4, (2, 2)), (1, (4, 8)))),
    ],
)
def test_layouts_are_read(written, meant):
    assert layout(written) == meant


@given(SHAPES)
def test_text_is_read_back(shape):
    compact = Layout(shape)
    assert layout(text(compact)) == compact


@pytest.mark.parametrize(
    ("written", "says"),
    [
        ("(4,3):(3,1", "The stride (3,1 lacks a )."),
        ("4,3):(3,1)", "The shape 4,3) lacks a (."),
        ("(4,3):3", "not nested alike"),
        ("((2,2),3):(1,2,4)", "not nested alike"),
        ("(4,0):(1,1)", "every extent is a whole number from 1 on"),
        ("(4,-3)", "every extent"),
        ("(4;3)", "';' in '(4;3)'"),
        ("__import__('os')", "none of digits"),
        ("(4)(3)", "not written like"),
        ("(4 3)", "not written like"),
        ("(04)", "not written like"),
        ("4:1:1", "one colon"),
        ("4:", "stride is missing"),
        ("", "shape is missing"),
        ("()", "holds no number"),
        ("(" * 300, "300 characters"),
        (None, "None is not a layout"),
        ("(" * 99 + ")" * 99, "holds no number"),
    ],
)
def test_what_is_no_layout_gets_one_line(written, says):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(NotationError, match=r"^[^\n]+$") as refused:
            layout(written)
    assert says in str(refused.value)


def test_tilers_cut_by_mode_or_by_a_layout():
    assert tiler("(4,2)") == tiler((4, 2)) == (4, 2)
    assert tiler("4:2") == tiler(Layout(4, 2)) == Layout(4, 2)
    assert tiler("4") == tiler(4) == Layout(4, 1)
    assert tiler(("4:2", 3)) == (Layout(4, 2), 3)
    with pytest.raises(NotationError, match="every extent"):
        tiler("(4,-2)")


def test_swizzled_layouts_have_a_text():
    assert text(compose(Swizzle(3, 3, 3), Layout((8, 64), (64, 1)))) == "S<3,3,3>∘(8,64):(64,1)"


ROW_MAJOR = Layout((8, 4), (4, 1))


def test_every_operation_of_the_course():
    questions = {
        ("coalesce", Layout((2, (1, 6)), (1, (6, 2)))): Layout(12, 1),
        ("composition", ROW_MAJOR, Layout((4, 8), (8, 1))): Layout((4, 8), (1, 4)),  # the transpose
        ("zipped_divide", ROW_MAJOR, (2, 2)): Layout(((2, 2), (4, 2)), ((4, 1), (8, 2))),
        ("tiled_divide", ROW_MAJOR, (2, 2)): Layout(((2, 2), 4, 2), ((4, 1), 8, 2)),
        ("logical_divide", ROW_MAJOR, (Layout(2, 4), 4)): Layout(((2, 4), (4, 1)), ((16, 4), (1, 0))),
        ("logical_product", Layout((2, 2), (4, 1)), Layout(6, 1)): Layout(((2, 2), (2, 3)), ((4, 1), (2, 8))),
        ("make_ordered_layout", (4, (2, 3)), (1, (0, 2))): Layout((4, (2, 3)), (2, (1, 8))),
        ("size", ROW_MAJOR): 32,
        ("crd2idx", (1, (2, 1)), Layout((4, (3, 2)), (1, (4, 20)))): 29,
    }
    assert dict(zip(questions, ask(questions), strict=True)) == questions


def test_a_refusal_costs_the_others_nothing():
    before, refused, after = ask(
        [("size", ROW_MAJOR), ("composition", Layout((4, 6), (1, 10)), Layout(5, 3)), ("cosize", ROW_MAJOR)]
    )
    assert (before, after) == (32, 32)
    assert isinstance(refused, Refused)
    assert refused.why.startswith("unable to compute the following composition")


def test_what_cute_does_not_have_is_refused():
    refused, after = ask([("no_such_operation", ROW_MAJOR), ("size", ROW_MAJOR)])
    assert "no_such_operation" in refused.why
    assert after == 32


INTERLOCKED = Layout((4, 2), (1, 2))


@pytest.mark.parametrize(
    "question",
    [
        ("logical_product", INTERLOCKED, Layout(4, 1)),
        ("logical_divide", ROW_MAJOR, INTERLOCKED),
        ("zipped_divide", ROW_MAJOR, (INTERLOCKED, 2)),
    ],
)
def test_what_would_end_the_process_is_not_asked(question):
    refused, after = ask([question, ("size", ROW_MAJOR)])
    assert "an extent of 0" in refused.why
    assert after == 32


def test_it_does_end_the_process():
    """Once CuTe refuses this by itself, `divides_by_zero` can go."""
    code = (
        "from tensor_layouts import Layout; import tutorlib.layouts.oracle as cute;"
        "cute.divides_by_zero = lambda complement: False;"
        "cute.ask([('logical_product', Layout((4, 2), (1, 2)), Layout(4, 1))])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False)
    assert done.returncode == -signal.SIGFPE
