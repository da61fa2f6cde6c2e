"""layouts.oracle: what the real CuTe DSL answers, on the CPU."""

import signal
import subprocess
import sys

import pytest
from tensor_layouts import Layout

from tutorlib.layouts.oracle import Refused, ask

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


@pytest.mark.parametrize(
    "question",
    [
        ("no_such_operation", ROW_MAJOR),
        ("printf", "%s", 0x41414141),
        ("size", "%n"),
        ("__setattr__", "coalesce", 7),
        ("crd2idx", (1, ("%s", 1)), ROW_MAJOR),
    ],
)
def test_only_operations_on_layouts_and_integers_are_asked(question):
    with pytest.raises(ValueError, match="operations on layouts and integers"):
        ask([question])


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
