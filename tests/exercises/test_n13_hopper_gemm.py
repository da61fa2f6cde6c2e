"""Notebook 13: its numbers are those of real CuTe and of tensor-layouts; right answers that are unusual pass."""

import cutlass
import pytest
import torch
from cutlass import BFloat16, cute
from cutlass.cute.nvgpu import cpasync, warpgroup
from cutlass.cute.runtime import from_dlpack
from cutlass.pipeline import PipelineUserType, make_pipeline_state
from tensor_layouts import Swizzle
from tensor_layouts.atoms_nv import SM90_64x256x16_F32BF16BF16_SS as MMA

from tests.wrong.n13_hopper_gemm import WRONG_WHEN_RUN
from tests.wrong.table import by_name
from tutorlib.checking.first_parts import place_by_tma
from tutorlib.checking.running import find_fault
from tutorlib.compiling.cute import compile_cute
from tutorlib.compiling.spec import TensorSpec
from tutorlib.exercises import find
from tutorlib.exercises.n13_hopper_gemm import holder, ring, tma_bytes
from tutorlib.kernels.hopper.first import Parts, make_first_gemm
from tutorlib.kernels.hopper.first_parts import boxes, fill_stage, main_loop, ring_layout, store_by_tma, wgmma_fragments
from tutorlib.kernels.hopper.first_share import Steps, Sums

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


@pytest.mark.parametrize(("width", "bits"), [(128, 3), (64, 2), (32, 1)])
def test_tmas_places_are_those_of_a_swizzle(width, bits):
    swizzle = Swizzle(bits, 4, 3)
    assert all(place_by_tma(byte, width) == swizzle(byte) for byte in range(0, 8192, 16))


@pytest.mark.parametrize("shape", [(300, 136), (1, 8), (128, 64)])
def test_what_tma_reads_is_what_lies_inside(shape):
    tile = (128, 64)
    inside = torch.zeros(512, 256)
    inside[: shape[0], : shape[1]] = 1
    for m in range(4):
        for k in range(4):
            box = inside[m * 128 : m * 128 + 128, k * 64 : k * 64 + 64]
            assert tma_bytes(shape, tile, (m, k)) == (2 * int(box.sum()), 2 * 128 * 64)


# The course's own parts, and unusual ones -----------------------------------------------------------------------


def swizzled_by_hand(rows, k, stages):
    """Without make_smem_layout_atom."""
    bits = {64: 3, 32: 2, 16: 1}[k]
    atom = cute.make_composed_layout(cute.make_swizzle(bits, 4, 3), 0, cute.make_layout((8, k), stride=(k, 1)))
    return cute.tile_to_shape(atom, (rows, k, stages), (0, 1, 2))


def in_one_piece(rows, k, stages):
    """No atom repeated: rows and stages simply follow each other."""
    plain = cute.make_layout((rows, k, stages), stride=(k, 1, rows * k))
    return cute.make_composed_layout(cute.make_swizzle({64: 3, 32: 2, 16: 1}[k], 4, 3), 0, plain)


def a_list_of_boxes(tma, s, g):
    both = [cute.group_modes(tensor, 0, cute.rank(tensor) - 1) for tensor in (s, g)]
    return list(cpasync.tma_partition(tma, 0, cute.make_layout((1, 1)), *both))


def sums_by_the_mma(tiled_mma, thread, sA, sB):
    """make_fragment_C, which takes the shape and makes fp32."""
    math = tiled_mma.get_slice(thread)
    tile = cute.size(sA, mode=[0]), cute.size(sB, mode=[0])
    a, b = tiled_mma.make_fragment_A(math.partition_A(sA)), tiled_mma.make_fragment_B(math.partition_B(sB))
    return [a, b, tiled_mma.make_fragment_C(tiled_mma.partition_shape_C(tile))]


@cute.jit
def counts_by_itself(steps: Steps):
    """No PipelineState: a step's stage is its remainder, its round the quotient."""
    if steps.loads_too:
        for k_tile in cutlass.range(cutlass.min(steps.stages, steps.k_tiles), unroll=1):
            fill_stage(steps, k_tile, k_tile)
    cute.arch.mbarrier_wait(steps.full, 0)
    warpgroup.fence()
    steps.multiply(0, True)
    warpgroup.commit_group()
    for k_tile in cutlass.range(1, steps.k_tiles, unroll=1):
        stage, phase = k_tile % steps.stages, k_tile // steps.stages % 2
        cute.arch.mbarrier_wait(steps.full + stage, phase)
        warpgroup.fence()
        steps.multiply(stage, False)
        warpgroup.commit_group()
        warpgroup.wait_group(1)
        last, over = (k_tile - 1) % steps.stages, (k_tile - 1) // steps.stages % 2
        with cute.arch.elect_one():
            cute.arch.mbarrier_arrive(steps.empty + last)
        if steps.loads_too and k_tile - 1 + steps.stages < steps.k_tiles:
            cute.arch.mbarrier_wait(steps.empty + last, over)
            fill_stage(steps, k_tile - 1 + steps.stages, last)
    warpgroup.wait_group(0)


@cute.jit
def box_by_box(sums: Sums):
    """Each box is sent as soon as it is written, and all warps meet where one would do."""
    sums.tRrC.store(sums.tCrC.load().to(BFloat16))
    cute.arch.sync_threads()
    for box in cutlass.range_constexpr(4):
        for part in cutlass.range_constexpr(4 * box, 4 * box + 4):
            one = ((None, part), None, None)
            cute.copy(sums.stmatrix, sums.tRrC[one], sums.tRsC[one])
        cute.arch.fence_proxy("async.shared", space="cta")
        cute.arch.sync_threads()
        cute.copy(sums.tma, sums.tSsC[None, box], sums.tSgC[None, box])
        cute.arch.cp_async_bulk_commit_group()
    cute.arch.cp_async_bulk_wait_group(0)


@cute.jit
def fence_after_the_meeting(sums: Sums):
    """The warp meets, and then the thread that sends fences."""
    sums.tRrC.store(sums.tCrC.load().to(BFloat16))
    cute.arch.sync_threads()
    cute.copy(sums.stmatrix, sums.tRrC, sums.tRsC)
    cute.arch.sync_warp()
    cute.arch.fence_proxy("async.shared", space="cta")
    cute.copy(sums.tma, sums.tSsC, sums.tSgC)
    cute.arch.cp_async_bulk_commit_group()
    cute.arch.cp_async_bulk_wait_group(0, read=True)


OWN = [
    ("13.1", ring_layout),
    ("13.3", boxes),
    ("13.5", wgmma_fragments),
    ("13.7", main_loop),
    ("13.8", store_by_tma),
    ("13.9", make_first_gemm()),
]
UNUSUAL = [
    ("13.1", swizzled_by_hand),
    ("13.1", in_one_piece),
    ("13.3", a_list_of_boxes),
    ("13.5", sums_by_the_mma),
    ("13.7", counts_by_itself),
    ("13.8", box_by_box),
    ("13.8", fence_after_the_meeting),
    ("13.9", make_first_gemm(stages=3)),
]


@pytest.mark.usefixtures("no_gpu")
@pytest.mark.sampled(1)
@pytest.mark.parametrize(("id", "answer"), OWN + UNUSUAL)
def test_right_parts_are_right_in_the_simulator(id, answer):
    exercise = find(id)
    outcome = exercise.grade(answer)
    assert outcome.points == exercise.correctness_points, outcome.message
    assert ("right, simulated; speed not run: " in outcome.message) == bool(exercise.tiers), outcome.message


@pytest.mark.gpu("90a")
@pytest.mark.parametrize(("id", "answer"), OWN)
def test_the_courses_own_parts_are_right_on_a_gpu(id, answer):
    assert find(id).grade(answer).status == "passed"


@pytest.mark.gpu("90a")
@pytest.mark.parametrize(("id", "answer"), UNUSUAL)
def test_unusual_parts_give_a_right_c(id, answer):
    exercise = find(id)
    launcher = exercise.accept(answer)
    assert [find_fault(exercise.problem, launcher, shape) for shape in exercise.shapes] == [None] * len(exercise.shapes)


@pytest.mark.gpu("90a")
@pytest.mark.parametrize(("id", "answer"), by_name(WRONG_WHEN_RUN))
def test_what_only_a_run_tells_fails_every_time(id, answer):
    exercise = find(id)
    launcher = exercise.accept(answer)
    for _ in range(TIMES):
        assert any(find_fault(exercise.problem, launcher, shape) for shape in exercise.shapes)
