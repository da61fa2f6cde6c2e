"""CuTe layouts that answers make are seen as those of tensor_layouts."""

import pytest
from cutlass import cute

from tutorlib.exercises.judges.cute_host import seen_as_layout


def test_a_layout_of_cute_s_is_seen_as_one_of_tensor_layouts():
    seen = seen_as_layout(lambda n: cute.make_layout((n, (2, 3)), stride=(6, (3, 1))))
    assert (seen(4).shape, seen(4).stride) == ((4, (2, 3)), (6, (3, 1)))


def test_an_answers_own_error_comes_out_of_the_trace():
    def fails():
        raise LookupError("its own")

    with pytest.raises(LookupError, match="its own"):
        seen_as_layout(fails)()
