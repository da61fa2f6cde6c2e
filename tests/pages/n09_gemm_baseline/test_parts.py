"""What the parts of notebook 09 are compared with is what CuTe and the hardware have."""

from itertools import product

import cutlass
import pytest
from cutlass import cute
from tensor_layouts.atoms_nv import SM80_16x8x16_F32BF16BF16F32_TN as MMA

from tutorlib.exercises.n09_gemm_baseline.judge.made_parts import CONFIGS, WARP, places, runs, share, smem_offset
from tutorlib.exercises.n09_gemm_baseline.judge.traced import in_cute, seen_as_layout
from tutorlib.kernels.ampere.layouts import smem_layout
from tutorlib.kernels.ampere.thread_share import make_mma


@pytest.mark.parametrize("k", [64, 32])
def test_a_vector_lies_where_the_course_s_layout_has_it(k):
    def look():
        layout = smem_layout(32, k, 1)
        return {(row, column): layout((row, column, 0)) for row, column in product(range(32), range(0, k, 8))}

    assert all(smem_offset(*place, k) == offset for place, offset in in_cute(look).items())


def test_a_warps_share_is_the_hardwares():
    lanes = [{MMA.c_layout(lane, value) for value in range(4)} for lane in range(WARP)]
    first_atom = [{row + 16 * column for row, column in mine if column < 8} for mine in share(0, 0, 1)]
    assert lanes == first_atom


@pytest.mark.parametrize("config", CONFIGS)
def test_and_cute_s(config):
    m, n = config.warps
    held = in_cute(lambda: places(make_mma(config, cutlass.BFloat16).tv_layout_C_tiled, (16 * m, 16 * n)))
    for across, down in product(range(n), range(m)):
        first = WARP * (down + m * across)
        assert list(map(set, held[first : first + WARP])) == list(map(set, share(down, across, n)))


def test_neighbors_are_named_together():
    assert list(runs([0, 1, 2, 8, 9, 20])) == ["0 to 2", "8 to 9", "20"]


def test_a_layout_of_cute_s_is_seen_as_one_of_tensor_layouts():
    seen = seen_as_layout(lambda n: cute.make_layout((n, (2, 3)), stride=(6, (3, 1))))
    assert (seen(4).shape, seen(4).stride) == ((4, (2, 3)), (6, (3, 1)))


def test_an_answers_own_error_comes_out_of_the_trace():
    def fails():
        raise LookupError("its own")

    with pytest.raises(LookupError, match="its own"):
        seen_as_layout(fails)()
