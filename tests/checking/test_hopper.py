"""Exercises on a Hopper GEMM's main loop: rehearsed first, then compiled; what is safe and weak is told."""

from dataclasses import replace

import pytest
from cutlass import cute
from cutlass.cute.nvgpu import warpgroup

from tests.checking.rehearsing import broken, loops, unusual
from tests.pages.change import derive, swap, without
from tutorlib.checking.cute import CuteExercise
from tutorlib.checking.hopper import HopperLoops, k_tiles_to_try
from tutorlib.checking.served import Served
from tutorlib.exercises import find
from tutorlib.kernels.ampere.config import GemmConfig
from tutorlib.machine.features import WGMMA
from tutorlib.problems.catalogue import gemm
from tutorlib.simulate.ptx import NotSimulated


def ampere(answer):
    """A kernel without any of Hopper's instructions, whatever the answer is."""
    from tutorlib.kernels.ampere.gemm import make_gemm
    from tutorlib.kernels.ampere.main_loops import single_buffer

    return make_gemm(GemmConfig(), main_loop=single_buffer)


MAIN = CuteExercise(
    id="13.1",
    title="main_loop",
    points=3,
    problem=gemm("bf16"),
    shapes=((128, 128, 128),),
    needs=WGMMA,
    archs=("90",),
    requires=("wgmma", "cp.async.bulk.tensor", "mbarrier"),
    part=HopperLoops(loops="main", build=ampere),
)


def asking(exercise, **asked):
    """The exercise, with these fields of its part."""
    return replace(exercise, part=replace(exercise.part, **asked))


def alone(exercise, answer):
    """What the rehearsal finds."""
    return exercise.part.look(answer, exercise.correctness_points)


PRODUCE = asking(MAIN, loops="produce", other=lambda: loops.consume)
CONSUME = asking(MAIN, loops="consume", other=lambda: loops.produce)
BOTH = asking(MAIN, loops="both")


def test_stages_come_round_twice():
    for stages in (2, 3, 4):
        tried = k_tiles_to_try(stages)
        assert tried[0] == 1
        assert {stages - 1, stages, stages + 1} <= set(tried)
        assert tried[-1] > 3 * stages


@pytest.mark.parametrize(
    ("exercise", "answer"),
    [
        (MAIN, loops.main_loop),
        (PRODUCE, loops.produce),
        (CONSUME, loops.consume),
        (BOTH, (loops.produce, loops.consume)),
        (asking(MAIN, overlapped=True), loops.main_loop),
        (asking(CONSUME, overlapped=True), loops.consume),
        (asking(CONSUME, overlapped=True), unusual.a_peeled_last_step),
    ],
)
def test_a_right_loop_is_safe_and_not_weak(exercise, answer):
    assert alone(exercise, answer) is None


def test_a_hazard_is_told_with_the_sizes_it_was_found_at():
    case = next(case for case in broken.PRODUCE if case.name == "a K tile too few")
    outcome = PRODUCE.grade(derive(loops.produce, "broken", case.name, *case.changes))
    first, second, third, *_ = outcome.message.split("\n")
    assert first.endswith("rehearsed with 1 K tile, 2 stages:")
    assert second == "  deadlock, no warp can go on:"
    assert third.startswith("  line ")
    assert outcome.status == "failed"


# Safe, and weak -------------------------------------------------------------------------------------------------

SMALLER = swap("steps.stages)", "steps.stages - 1)")


def test_a_stage_that_is_never_used_is_weak():
    pair = (
        derive(loops.produce, "produce_less", "leaves a stage out", SMALLER),
        derive(loops.consume, "consume_less", "leaves a stage out", SMALLER),
    )
    verdict = alone(asking(BOTH, stages=(3, 4)), pair)
    assert "it is safe, but while K tile 0 is multiplied, 1 of 3 stages are idle" in verdict.lines[1]
    assert alone(asking(BOTH, stages=(3, 4), deep=False), pair) is None


@cute.jit
def loads_after_it_has_waited(steps):
    """A stage less than there are is filled first, and the next load waits for this tile's wgmma."""
    if steps.loads_too:
        for k_tile in range(min(steps.stages - 1, steps.k_tiles)):
            unusual.load(steps, k_tile, k_tile)
    for k_tile in range(steps.k_tiles):
        stage, ahead = k_tile % steps.stages, k_tile + steps.stages - 1
        cute.arch.mbarrier_wait(steps.full + stage, k_tile // steps.stages & 1)
        warpgroup.fence()
        steps.multiply(stage, k_tile == 0)
        warpgroup.commit_group()
        warpgroup.wait_group(0)
        with cute.arch.elect_one():
            cute.arch.mbarrier_arrive(steps.empty + stage)
        if steps.loads_too and ahead < steps.k_tiles:
            if ahead >= steps.stages:
                cute.arch.mbarrier_wait(steps.empty + ahead % steps.stages, (ahead // steps.stages - 1) & 1)
            unusual.load(steps, ahead, ahead % steps.stages)


def test_a_load_that_waits_for_the_multiplication_is_weak():
    verdict = alone(MAIN, loads_after_it_has_waited)
    assert verdict.lines[0] == "rehearsed with 2 K tiles, 2 stages:"
    assert "while K tile 0 is multiplied, 1 of 2 stages are idle" in verdict.lines[1]
    assert alone(asking(MAIN, deep=False), loads_after_it_has_waited) is None


def test_tensor_cores_that_wait_are_weak_where_the_exercise_asks():
    assert alone(CONSUME, unusual.one_at_a_time) is None
    verdict = alone(asking(CONSUME, overlapped=True), unusual.one_at_a_time)
    assert "before the wgmma of K tile 1 is issued, all others are over" in verdict.lines[1]


# What is not rehearsed --------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("no_gpu")
class TestNotRehearsed:
    def test_what_only_a_compiler_understands_is_simulated(self):
        assert find("14.1").grade(unusual.by_converted_lane).message == "✓ 14.1 produce: 4 points"

    def test_what_is_wrong_with_it_is_found_there(self):
        without_wait = without("mbarrier_wait")
        overwrites = derive(unusual.by_converted_lane, "overwrites", "does not wait for an empty stage", without_wait)
        message = find("14.1").grade(overwrites).message
        assert "writes to shared memory into which the TMA copy" in message
        assert "`steps.load(k_tile, state.index)`" in message

    def test_where_it_can_be_neither_it_has_no_points(self, monkeypatch):
        def lacks(problem, launcher, shape, patterned, mistakes):
            raise NotSimulated("brkpt")

        monkeypatch.setattr("tutorlib.checking.kernel.find_simulated_fault", lacks)
        verdict = replace(PRODUCE, requires=()).judge(Served(unusual.by_converted_lane))
        assert (verdict.status, verdict.points) == ("not_run", 0)
        assert "compiled for sm_90a; not run: brkpt is not simulated" in verdict.lines[0]
        assert "; not rehearsed: " in verdict.lines[0]
        assert "PerThread" in verdict.lines[0]

    def test_a_loop_that_was_rehearsed_has_its_points_even_there(self, monkeypatch):
        def lacks(problem, launcher, shape, patterned, mistakes):
            raise NotSimulated("brkpt")

        monkeypatch.setattr("tutorlib.checking.kernel.find_simulated_fault", lacks)
        assert replace(PRODUCE, requires=()).judge(Served(loops.produce)).points == PRODUCE.points


def test_a_safe_loop_is_compiled_and_its_instructions_are_looked_at():
    assert "without wgmma and cp.async.bulk.tensor and mbarrier" in MAIN.judge(Served(loops.main_loop)).lines[0]


# Wrong kinds ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("exercise", "answer", "says"),
    [
        (MAIN, len, "len is not a @cute.jit function."),
        (BOTH, loops.produce, "is not a pair of functions, (produce, consume)."),
        (BOTH, (loops.produce, 3), "3 is not a @cute.jit function."),
    ],
)
def test_an_answer_of_the_wrong_kind(exercise, answer, says):
    assert says in exercise.grade(answer).message


def test_an_unwritten_loop():
    @cute.jit
    def unwritten(steps):
        raise NotImplementedError("Exercise 13.1")

    assert MAIN.grade(unwritten).message.endswith("not written yet")
