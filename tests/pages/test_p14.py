"""Notebook 14: its numbers are those of real CuTe and of tensor-layouts; its answers, and unusual ones, on a GPU."""

import cutlass
import pytest
import torch
from cutlass import cute
from cutlass.cute.runtime import from_dlpack
from cutlass.pipeline import PipelineUserType, make_pipeline_state
from tensor_layouts.atoms_nv import SM90_64x256x16_F32BF16BF16_SS as MMA

from tests.pages.answers import RIGHT, WRONG
from tests.pages.table import by_name
from tutorlib.checking.answer import Served
from tutorlib.checking.running import find_fault
from tutorlib.compiling.dsls import compile_cute
from tutorlib.compiling.spec import TensorSpec
from tutorlib.course.answers import load_answers
from tutorlib.exercises import find
from tutorlib.exercises.p14 import holder, ring, tma_bytes
from tutorlib.kernels.hopper.first import Parts, make_first_gemm, wgmma_fragments

TIMES = 20
SMALL = [TensorSpec((256, 256), "bf16")] * 3

# The page's numbers ---------------------------------------------------------------------------------------------


@cute.jit
def walk(places: cute.Tensor, stages: cutlass.Constexpr, user: cutlass.Constexpr):
    """The (index, phase) of a PipelineState, step after step."""
    state = make_pipeline_state(user, stages)
    for step in cutlass.range(cute.size(places, mode=[0])):
        places[step, 0], places[step, 1] = state.index, state.phase
        state.advance()


@pytest.mark.parametrize("stages", [1, 2, 3, 4])
@pytest.mark.parametrize("producer", [True, False])
def test_a_ring_is_walked_as_cutes_pipeline_state_does(stages, producer):
    places = torch.zeros(30, 2, dtype=torch.int32)
    walk(from_dlpack(places), stages, PipelineUserType.Producer if producer else PipelineUserType.Consumer)
    assert [tuple(place) for place in places.tolist()] == [ring(step, stages, producer) for step in range(30)]


def test_the_sums_are_where_tensor_layouts_has_them():
    for m in range(64):
        for n in range(256):
            assert MMA.c_layout(*holder(m, n)) == m + 64 * n


def test_the_sums_are_where_cute_has_them():
    """In the TiledMma of the kernel the other warpgroup has the rows 64 and more."""
    seen = {}

    def note(tiled_mma, thread, sA, sB):
        layout = tiled_mma.tv_layout_C_tiled
        for m in range(0, 64, 5):
            for n in range(0, 256, 3):
                thread_of, register = holder(m, n)
                for group in range(2):
                    seen[group, m, n] = layout((thread_of + 128 * group, register))
        return wgmma_fragments(tiled_mma, thread, sA, sB)

    compile_cute(make_first_gemm(Parts(fragments=note)), SMALL, "sm_90a")
    assert seen == {(group, m, n): 64 * group + m + 128 * n for group, m, n in seen}
    assert len(seen) > 1000


@pytest.mark.parametrize("shape", [(300, 136), (1, 8), (128, 64)])
def test_what_tma_reads_is_what_lies_inside(shape):
    tile = (128, 64)
    inside = torch.zeros(512, 256)
    inside[: shape[0], : shape[1]] = 1
    for m in range(4):
        for k in range(4):
            box = inside[m * 128 : m * 128 + 128, k * 64 : k * 64 + 64]
            assert tma_bytes(shape, tile, (m, k)) == (2 * int(box.sum()), 2 * 128 * 64)


# The page's own answers, and others, on a GPU -------------------------------------------------------------------

OWN = [(id, answer) for id, answer in load_answers("14_hopper_gemm").items() if find(id).needs]
UNUSUAL = {id: answers for id, answers in RIGHT.items() if id[:2] == "14" and find(id).needs}
WRONG_C = {"14.4": [answer for answer in WRONG["14.4"] if answer.kinds == {"wrong elements"}]}


@pytest.mark.gpu("90a")
@pytest.mark.parametrize(("id", "answer"), OWN)
def test_the_pages_own_parts_are_right_on_a_gpu(id, answer):
    assert find(id).grade(answer).status == "passed"


@pytest.mark.gpu("90a")
@pytest.mark.parametrize("answer", by_name(UNUSUAL))
def test_unusual_parts_give_a_right_c(answer):
    exercise = find(answer.exercise)
    launcher = exercise.launcher(exercise.evidence(Served(answer.function)))
    assert [find_fault(exercise.problem, launcher, shape) for shape in exercise.shapes] == [None] * len(exercise.shapes)


@pytest.mark.gpu("90a")
@pytest.mark.parametrize("answer", by_name(WRONG_C))
def test_what_only_a_run_tells_fails_every_time(answer):
    exercise = find(answer.exercise)
    launcher = exercise.launcher(exercise.evidence(Served(answer.function)))
    for _ in range(TIMES):
        assert any(find_fault(exercise.problem, launcher, shape) for shape in exercise.shapes)
