"""Notebooks 10 to 13: the course's own parts are right, and no answers; counts of loops, columns and layouts."""

from dataclasses import replace
from functools import cache
from itertools import product

import cutlass
import pytest
from cutlass import BFloat16, Float32, cute
from tensor_layouts import Layout
from tensor_layouts.atoms_nv import SM75_U32x4_LDSM_N as LDMATRIX_X4
from tensor_layouts.atoms_nv import SM80_16x8x16_F32BF16BF16F32_TN as MMA

from tests.pages.answers import WRONG
from tests.pages.table import base_of, by_name, solved
from tutorlib.checking.answer import Served
from tutorlib.checking.facts import fetched_ahead
from tutorlib.checking.running import find_simulated_fault
from tutorlib.exercises import find
from tutorlib.exercises.judges.cute_host import seen_as_layout
from tutorlib.exercises.p10 import mma_column
from tutorlib.kernels.ampere import main_loops
from tutorlib.kernels.ampere.main_loops import multistage, single_buffer

TIMES = 3
LANES = range(32)
OWN = [
    ("10.2", main_loops.single_buffer),
    ("11.3", main_loops.multistage),
    ("13.1", main_loops.multistage),
]


def copied(part):
    """The same text in a file of its own, as somebody else would have written it."""
    return base_of(part)([], part.__name__)


@pytest.mark.usefixtures("no_gpu")
@pytest.mark.parametrize(("id", "part"), OWN)
def test_the_text_of_the_courses_own_parts_is_right_where_there_is_no_gpu(id, part):
    outcome = find(id).grade(copied(part))
    assert outcome.status in ("passed", "not_run"), outcome.message
    assert outcome.points == find(id).correctness_points


@pytest.mark.gpu("80")
@pytest.mark.parametrize(("id", "part"), OWN)
def test_the_text_of_the_courses_own_parts_is_right(id, part):
    assert find(id).grade(copied(part)).status == "passed"


@pytest.mark.parametrize(("id", "part"), OWN)
def test_the_courses_own_parts_are_no_answers(id, part):
    outcome = find(id).grade(part)
    assert (outcome.status, outcome.points) == ("failed", 0)
    assert "which does what you are asked to write" in outcome.message


@pytest.mark.gpu("80")
@pytest.mark.parametrize("answer", by_name({"10.4": WRONG["10.4"]}))
def test_a_wrong_part_fails_every_time(answer):
    exercise = find("10.4")
    assert all(exercise.grade(answer.function).points < exercise.points for _ in range(TIMES))


@pytest.mark.parametrize(
    ("loop", "share"), [(single_buffer, 0), (solved("11.2"), 0), (solved("11.3"), 1), (multistage, 1)]
)
def test_the_share_of_mma_that_was_fetched_ahead(loop, share):
    exercise = replace(find("11.3"), library={})  # the course's own loops are among them
    simulator = exercise.simulator(exercise.evidence(Served(loop)))
    find_simulated_fault(exercise.problem, simulator, exercise.size_counted, patterned=False)
    (report,) = simulator.reports
    assert fetched_ahead(report) == share


def test_the_page_counts_the_columns_of_an_mma_as_the_hardware_does():
    lanes = {(lane, value): MMA.c_layout(lane, value) // 16 for lane in range(4) for value in range(2)}
    assert lanes == {(lane, value): mma_column(value, lane, 0, 0, 1) for lane, value in lanes}


def test_a_layout_of_cute_s_is_seen_as_one_of_tensor_layouts():
    seen = seen_as_layout(lambda n: cute.make_layout((n, (2, 3)), stride=(6, (3, 1))))
    assert (seen(4).shape, seen(4).stride) == ((4, (2, 3)), (6, (3, 1)))


def test_an_answers_own_error_comes_out_of_the_trace():
    def fails():
        raise LookupError("its own")

    with pytest.raises(LookupError, match="its own"):
        seen_as_layout(fails)()


@cache
def real_cute():
    """The layouts of the real CuTe DSL, as it traces a function."""
    answers = {}

    @cute.jit
    def trace(answers: cutlass.Constexpr):
        mma = cute.make_mma_atom(cute.nvgpu.warp.MmaF16BF16Op(BFloat16, Float32, (16, 8, 16)))
        answers["A"], answers["B"], answers["C"] = (
            str(layout) for layout in (mma.tv_layout_A, mma.tv_layout_B, mma.tv_layout_C)
        )
        ldmatrix = cute.make_copy_atom(cute.nvgpu.warp.LdMatrix8x8x16bOp(False, 4), BFloat16)
        copy = cute.make_tiled_copy_B(ldmatrix, cute.make_tiled_mma(mma, permutation_mnk=(16, 16, 16)))
        source, target = copy.layout_src_tv_tiled, copy.layout_dst_tv_tiled
        answers["ldmatrix rows"] = [source((lane, 0)) for lane in LANES]
        answers["ldmatrix values"] = [[target((lane, value)) for value in range(8)] for lane in LANES]

    trace(answers)
    return answers


# Thread-value layouts


def ptx_a(lane, i):
    """PTX ISA, mma.m16n8k16 with .bf16: row and column of a_i."""
    group, within = lane >> 2, lane % 4
    row = group if i in (0, 1, 4, 5) else group + 8
    return row, within * 2 + (i & 1) + (8 if i >= 4 else 0)


def ptx_b(lane, i):
    """The same for b_i: row (k) and column (n)."""
    return lane % 4 * 2 + (i & 1) + (8 if i >= 2 else 0), lane >> 2


def ptx_c(lane, i):
    """The same for c_i."""
    return (lane >> 2) + (8 if i >= 2 else 0), lane % 4 * 2 + (i & 1)


def test_fragments_agree_with_the_ptx_isa():
    for lane in LANES:
        for i in range(8):
            row, k = ptx_a(lane, i)
            assert MMA.a_layout(lane, i) == row + 16 * k
        for i in range(4):
            k, n = ptx_b(lane, i)
            assert MMA.b_layout(lane, i) == n + 8 * k
            row, column = ptx_c(lane, i)
            assert MMA.c_layout(lane, i) == row + 16 * column


def test_fragments_agree_with_real_cute():
    cute = real_cute()
    assert [cute["A"], cute["B"], cute["C"]] == [
        str(layout).replace(" ", "") for layout in (MMA.a_layout, MMA.b_layout, MMA.c_layout)
    ]


def test_ldmatrix_fills_the_fragments_of_two_atoms():
    """Each of the four matrices: row r goes to lanes 4r to 4r + 3, two elements each; matrix j is register j."""
    rows = [*map(solved("10.1"), LANES)]
    for lane in LANES:
        for value in range(8):
            row, k = rows[value // 2 * 8 + lane // 4]
            assert ptx_b(lane, value % 4) == (k + lane % 4 * 2 + value % 2, row - value // 4 * 8)


def test_ldmatrix_agrees_with_real_cute():
    rows = [*map(solved("10.1"), LANES)]
    assert real_cute()["ldmatrix rows"] == [row + 16 * k for row, k in rows]
    both = [[ptx_b(lane, value % 4) for value in range(8)] for lane in LANES]
    assert real_cute()["ldmatrix values"] == [
        [n + value // 4 * 8 + 16 * k for value, (k, n) in enumerate(lane)] for lane in both
    ]


def test_the_drawn_matrix_is_what_ldmatrix_delivers():
    """The page's picture ((4,8),2):((16,1),8) against the copy atom, whose layouts count bits of rows in order."""
    drawn = Layout(((4, 8), 2), ((16, 1), 8))
    for lane, value in product(LANES, range(2)):
        column, row = divmod(drawn(lane, value), 8)
        assert LDMATRIX_X4.dst_layout_bits(lane, 16 * value) == 16 * (8 * row + column)
