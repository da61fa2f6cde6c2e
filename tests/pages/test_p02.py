"""Notebooks 00 and 02: what the pages show of checks and say of CuTe is so."""

import torch
from cutlass import cute
from cutlass.cute.runtime import from_dlpack
from cutlass.cutlass_dsl import CuTeDSL
from hypothesis import given, settings
from hypothesis import strategies as st

from tutorlib.dsl.functions import compilations
from tutorlib.exercises import find
from tutorlib.exercises import p02 as exercises
from tutorlib.paths import SOLUTIONS


@cute.jit
def first(a: cute.Tensor):
    a[(0,) * len(a.shape)] = 1.0


layouts = st.builds(
    lambda shape, fastest: (tuple(shape), strides(shape, fastest % len(shape))),
    st.lists(st.integers(2, 4), min_size=1, max_size=3),
    st.integers(0, 2),
)


def strides(shape, fastest):
    """Compact strides in which mode `fastest` has the 1."""
    order = [fastest, *(mode for mode in range(len(shape)) if mode != fastest)]
    steps, step = [0] * len(shape), 1
    for mode in order:
        steps[mode], step = step, step * shape[mode]
    return tuple(steps)


@settings(max_examples=20)
@given(st.lists(layouts, min_size=1, max_size=4), st.booleans())
def test_compilations_are_those_of_cute(tensors, dynamic):
    memory = torch.zeros(64)
    views = [from_dlpack(torch.as_strided(memory, *tensor)) for tensor in tensors]
    views = [view.mark_layout_dynamic() for view in views] if dynamic else views
    CuTeDSL._get_dsl().jit_cache.clear()
    for view in views:
        first(view)
    assert compilations() == exercises.compilations(tensors, dynamic)


def test_the_failure_that_the_page_shows_is_what_check_says():
    def ceil_div(n, tile):
        return n // tile

    text = (SOLUTIONS / "00_start.py").read_text(encoding="utf-8")
    for line in find("00.1").grade(ceil_div).message.splitlines():
        assert f"#     {line}\n" in text
