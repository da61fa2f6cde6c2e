"""Notebook 14: its numbers are those of real CuTe and of tensor-layouts; its answers, and unusual ones, on a GPU."""

import cutlass
import pytest
import torch
from cutlass import cute
from cutlass.cute.runtime import from_dlpack
from cutlass.pipeline import PipelineUserType, make_pipeline_state

from tests.pages.answers import RIGHT
from tests.pages.table import by_name
from tutorlib.checking.answer import Served
from tutorlib.checking.running import find_fault
from tutorlib.course.answers import load_answers
from tutorlib.exercises import find
from tutorlib.exercises.p14 import ring, tma_bytes

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
