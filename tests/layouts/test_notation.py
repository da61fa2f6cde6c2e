"""layouts.notation: layouts as text."""

import warnings
from types import SimpleNamespace

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from tensor_layouts import Layout, Swizzle, compose

from tutorlib.layouts.notation import NotationError, layout, text, tiler

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
