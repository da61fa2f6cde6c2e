"""Wrong loops for notebook 14: those that the rehearsal is tried with, and some that only exercises can tell."""

from re import sub

import cutlass
from cutlass import Int32, cute
from cutlass.cute.nvgpu import warpgroup

from tests.checking.rehearsing import broken, loops
from tests.pages.change import derive, swap, without_first, without_last
from tests.pages.table import says
from tutorlib.kernels.hopper.specialized import load_steps, multiply_steps

FREE = "cute.arch.mbarrier_arrive(steps.empty + before.index)"
FREE_ELECTED = f"        with cute.arch.elect_one():\n            {FREE}\n"
LAST_FREE = f"    with cute.arch.elect_one():\n        {FREE}"
MEET = "cute.arch.barrier(barrier_id=5, number_of_threads=256)"
WAIT_EMPTY = "cute.arch.mbarrier_wait(steps.empty + state.index, state.phase)"
MULTIPLY = "        steps.multiply(state.index, False)\n"


def all_of(right, cases):
    """A loop for each of the rehearsal's broken ones; its message must have the same words."""
    return [says(*case.says)(derive(right, sub(r"\W+", "_", case.name), case.name, *case.changes)) for case in cases]


# 14.1 produce ---------------------------------------------------------------------------------------------------


@cute.jit
def phase_of_two_rounds(steps):
    """The lowest lane arrives, which is simulated, not rehearsed; its phase is right for two rounds of the stages."""
    for k_tile in cutlass.range(steps.k_tiles, unroll=1):
        stage = k_tile % steps.stages
        phase = 0
        if k_tile < steps.stages:
            phase = 1
        cute.arch.mbarrier_wait(steps.empty + stage, phase)
        if Int32(cute.arch.lane_idx()) < 1:
            cute.arch.mbarrier_arrive_and_expect_tx(steps.full + stage, steps.stage_bytes)
        steps.load(k_tile, stage)


@cute.jit
def waits_for_all_stages(steps):
    """Waits until every stage is empty, fills them all, and waits again: the consumers stand still meanwhile."""
    for first in range(0, steps.k_tiles, steps.stages):
        for stage in range(steps.stages):
            cute.arch.mbarrier_wait(steps.empty + stage, (first // steps.stages & 1) ^ 1)
        for stage in range(steps.stages):
            if first + stage < steps.k_tiles:
                with cute.arch.elect_one():
                    cute.arch.mbarrier_arrive_and_expect_tx(steps.full + stage, steps.stage_bytes)
                steps.load(first + stage, stage)


@cute.jit
def once_for_all_stages(steps):
    """Announces the bytes of the first round of stages only."""
    for k_tile in cutlass.range(steps.k_tiles, unroll=1):
        stage = k_tile % steps.stages
        cute.arch.mbarrier_wait(steps.empty + stage, (k_tile // steps.stages & 1) ^ 1)
        if k_tile < steps.stages:
            with cute.arch.elect_one():
                cute.arch.mbarrier_arrive_and_expect_tx(steps.full + stage, steps.stage_bytes)
        steps.load(k_tile, stage)


def not_compiled(steps):
    """Plain Python."""


# 14.2 consume ---------------------------------------------------------------------------------------------------


@cute.jit
def first_is_compared(steps):
    """`first` is known when the kernel runs, and steps.multiply wants to know it before."""
    for k_tile in cutlass.range(steps.k_tiles, unroll=1):
        stage = k_tile % steps.stages
        cute.arch.mbarrier_wait(steps.full + stage, k_tile // steps.stages & 1)
        warpgroup.fence()
        steps.multiply(stage, k_tile == 0)
        warpgroup.commit_group()
        if k_tile > 0:
            warpgroup.wait_group(1)
            with cute.arch.elect_one():
                cute.arch.mbarrier_arrive(steps.empty + (k_tile - 1) % steps.stages)
    warpgroup.wait_group(0)


WRONG = {
    "14.1": [
        *all_of(loops.produce, broken.PRODUCE),
        says("expect_tx", "is complete too early")(
            derive(
                load_steps,
                "a_third_of_the_bytes",
                "A's bytes alone, counted from the tile: a phase ends before B is there.",
                swap("steps.stage_bytes)", "steps.stage_bytes // 3)"),
            )
        ),
        says("3 stages", "49,152 are expected, 40,960 have landed")(
            derive(
                load_steps,
                "bytes_as_a_number",
                "The bytes of 128×256 with 64 of K, whatever the tile is.",
                swap("steps.stage_bytes)", "49_152)"),
            )
        ),
        says("has already waited for")(
            derive(
                load_steps,
                "waits_twice",
                "One wait covers the phase.",
                swap(WAIT_EMPTY, f"{WAIT_EMPTY}\n        {WAIT_EMPTY}"),
            )
        ),
        derive(
            load_steps,
            "four_stages",
            "As many stages as one tile has room for.",
            swap("Producer, steps.stages)", "Producer, 4)"),
        ),
        derive(
            load_steps,
            "loads_into_the_first",
            "Loads into one stage, announces in another.",
            swap("steps.load(k_tile, state.index)", "steps.load(k_tile, 0)"),
        ),
        derive(
            load_steps,
            "the_tile_for_the_stage",
            "load's arguments exchanged.",
            swap("steps.load(k_tile, state.index)", "steps.load(state.index, k_tile)"),
        ),
        derive(
            load_steps,
            "waits_for_the_next_stage",
            "Waits for one stage, and fills another.",
            swap("wait(steps.empty + state.index,", "wait(steps.empty + (state.index + 1) % steps.stages,"),
        ),
        derive(
            load_steps,
            "leaves_the_first_out",
            "K tiles from 1 on.",
            swap("cutlass.range(steps.k_tiles,", "cutlass.range(1, steps.k_tiles,"),
        ),
        says("line", "the compiler unrolls range_constexpr")(
            derive(
                load_steps,
                "unrolled",
                "A loop over K tiles that the compiler unrolls.",
                swap("cutlass.range(steps.k_tiles, unroll=1)", "cutlass.range_constexpr(steps.k_tiles)"),
            )
        ),
        says("it would hang on a GPU", "Before that: TMA")(phase_of_two_rounds),
        waits_for_all_stages,
        says("while K tile 0 is multiplied, 1 of 4 stages are idle")(
            derive(
                load_steps,
                "waits_for_its_load_by_lane",
                "Waits for each load before the next; its lane is compared by <.",
                swap("with cute.arch.elect_one():", "if cute.arch.lane_idx() < 1:"),
                swap(
                    "        state.advance()",
                    "        cute.arch.mbarrier_wait(steps.full + state.index, state.phase ^ 1)\n        state.advance()",
                ),
            )
        ),
        once_for_all_stages,
        says("not a @cute.jit function")(not_compiled),
        says("calls load_steps, which does what you are asked to write")(load_steps),
    ],
    "14.2": [
        *all_of(loops.consume, broken.CONSUME),
        says("take 8: a warp frees a stage once")(
            derive(
                multiply_steps,
                "frees_the_last_twice",
                "Two arrivals of each warp for the last stage, for which no load waits.",
                swap(f"\n{LAST_FREE}", f"\n{LAST_FREE}\n        {FREE}"),
            )
        ),
        says("a relaxed arrival does not release what came before it")(
            derive(
                multiply_steps,
                "frees_relaxed",
                "An arrival that does not release.",
                swap(FREE, f"{FREE[:-1]}, relaxed=True)", 2),
            )
        ),
        says("is issued, all others are over")(
            derive(
                multiply_steps,
                "waits_for_all_by_thread",
                "Its tensor cores run dry; the first thread of each warp frees.",
                swap("with cute.arch.elect_one():", "if cute.arch.thread_idx()[0] % 32 == 0:", 2),
                swap("wait_group(1)", "wait_group(0)"),
            )
        ),
        says("is issued, all others are over", "wait_group(1)")(
            derive(
                multiply_steps,
                "waits_for_all",
                "Right, but the tensor cores run dry between two steps.",
                swap("wait_group(1)", "wait_group(0)"),
            )
        ),
        says("before the wgmma of K tile 1 is issued, all others are over")(
            derive(
                multiply_steps,
                "waits_before_it_multiplies",
                "One is in flight while it waits for the stage, and none when the next is issued.",
                swap(MULTIPLY, f"        warpgroup.wait_group(0)\n{FREE_ELECTED}{MULTIPLY}"),
                swap(f"        warpgroup.wait_group(1)\n{FREE_ELECTED}        before", "        before"),
            )
        ),
        says("frees stage 0 while the wgmma of K tile 0 may still read it")(
            derive(
                multiply_steps,
                "frees_before_the_last_wait",
                "Harmless in this kernel alone, where each tile has mbarriers of its own.",
                swap(f"    warpgroup.wait_group(0)\n{LAST_FREE}", f"{LAST_FREE}\n    warpgroup.wait_group(0)"),
            )
        ),
        derive(
            multiply_steps,
            "fences_twice",
            "One fence for a group.",
            swap(MULTIPLY, f"        warpgroup.fence()\n{MULTIPLY}"),
        ),
        derive(
            multiply_steps,
            "consumers_meet",
            "Both warpgroups wait for each other in each step.",
            swap("        warpgroup.wait_group(1)", f"        warpgroup.wait_group(1)\n        {MEET}"),
        ),
        derive(
            multiply_steps,
            "another_name_for_the_state",
            "before is no copy: it advances, too.",
            swap("before = state.clone()", "before = state", times=2),
        ),
        derive(
            multiply_steps,
            "the_step_before_last",
            "Frees the stage of two steps ago: with two stages the producer has none.",
            swap("        before = state.clone()\n        state.advance()\n    warp", "        before = older\n        older = state.clone()\n        state.advance()\n    warp"),
            swap("    before = state.clone()\n    state.advance()\n    for", "    before = state.clone()\n    older = state.clone()\n    state.advance()\n    for"),
        ),
        derive(
            multiply_steps,
            "one_lane_of_all",
            "One arrival for a whole warpgroup.",
            swap(FREE_ELECTED, f"        if cute.arch.warp_idx() % 4 == 0:\n            with cute.arch.elect_one():\n                {FREE}\n"),
        ),
        derive(
            multiply_steps,
            "two_stages",
            "Goes round two stages, however many there are.",
            swap("Consumer, steps.stages)", "Consumer, 2)"),
        ),
        derive(
            multiply_steps,
            "advances_twice",
            "Every other stage.",
            swap("        state.advance()\n    warp", "        state.advance()\n        state.advance()\n    warp"),
        ),
        derive(
            multiply_steps,
            "the_producers_barrier",
            "A barrier of the whole block, at which the producer does not come by.",
            swap(MULTIPLY, f"        cute.arch.sync_threads()\n{MULTIPLY}"),
        ),
        derive(multiply_steps, "fence_afterwards", "wgmma first, its fence behind it.", without_first("warpgroup.fence()"), without_last("warpgroup.fence()"), swap(MULTIPLY, f"{MULTIPLY}        warpgroup.fence()\n")),
        says("`first`", "True or False")(first_is_compared),
        says("calls multiply_steps, which does what you are asked to write")(multiply_steps),
    ],
}  # fmt: skip
