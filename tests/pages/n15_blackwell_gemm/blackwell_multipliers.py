"""Wrong answers to notebook 15: the role that multiplies."""

from tests.pages.change import swap, without, without_first, without_last
from tests.pages.n15_blackwell_gemm.blackwell_loops import WAIT_FREE, WAIT_FULL, wrong
from tutorlib.kernels.blackwell.loops import multiply_tiles

MULTIPLY = [
    wrong(
        multiply_tiles,
        "no_wait_for_full",
        "Multiplies what may not be there.",
        swap(f"                {WAIT_FULL}\n", ""),
        "no wait for full[0] before it",
    ),
    wrong(
        multiply_tiles,
        "no_wait_for_free",
        "Overwrites accumulators that no warp has read.",
        swap(f"            {WAIT_FREE}\n", ""),
        "overwrites part 0 of tile 0",
        "no wait for free[0]",
    ),
    wrong(
        multiply_tiles,
        "consumer_of_sums",
        "Waits for the other phase of free.",
        swap("PipelineUserType.Producer", "PipelineUserType.Consumer"),
        "deadlock",
        "free[0]",
    ),
    wrong(
        multiply_tiles,
        "never_empty",
        "No commit to empty.",
        without_first("commit_to("),
        "deadlock",
        "empty[0]",
    ),
    wrong(multiply_tiles, "never_ready", "No commit to ready.", without_last("commit_to("), "deadlock", "ready[0]"),
    wrong(
        multiply_tiles,
        "arrives_itself",
        "An ordinary arrival in place of the commit.",
        swap(
            "commit_to(steps, steps.empty + stage.index, steps.whole_cluster)",
            "cute.arch.mbarrier_arrive(steps.empty + stage.index)",
        ),
        "inside elect_one()",
    ),
    wrong(
        multiply_tiles,
        "arrives_at_once",
        "One lane's ordinary arrival in place of the commit.",
        swap(
            "                commit_to(steps, steps.empty + stage.index, steps.whole_cluster)\n",
            "                with cute.arch.elect_one():\n"
            "                    cute.arch.mbarrier_arrive(steps.empty + stage.index)\n",
        ),
        "it is for tcgen05.commit",
    ),
    wrong(
        multiply_tiles,
        "commits_first",
        "The commit stands before what it should cover.",
        swap(
            "                steps.multiply(stage.index, acc.index, k_tile == 0)\n"
            "                commit_to(steps, steps.empty + stage.index, steps.whole_cluster)\n",
            "                commit_to(steps, steps.empty + stage.index, steps.whole_cluster)\n"
            "                steps.multiply(stage.index, acc.index, k_tile == 0)\n",
        ),
        "complete too early",
    ),
    wrong(
        multiply_tiles,
        "ready_every_step",
        "Tells the epilogue after the first K tile.",
        swap(
            "                stage.advance()\n            commit_to(steps, steps.ready + acc.index, steps.both)\n",
            "                commit_to(steps, steps.ready + acc.index, steps.both)\n                stage.advance()\n",
        ),
    ),
    wrong(
        multiply_tiles,
        "adds_to_garbage",
        "Never forgets what was there.",
        swap("k_tile == 0", "False"),
        "needs `first`",
    ),
    wrong(multiply_tiles, "forgets", "Every K tile is the first.", swap("k_tile == 0", "True"), "overwrites"),
    wrong(
        multiply_tiles,
        "one_accumulator",
        "Always the first one.",
        swap("steps.multiply(stage.index, acc.index,", "steps.multiply(stage.index, 0,"),
    ),
    wrong(
        multiply_tiles,
        "all_lanes_commit",
        "32 commits.",
        swap("with cute.arch.elect_one():", "if True:"),
        "all 32 lanes commit",
        within="commit_to",
    ),
    wrong(multiply_tiles, "same_sums", "Never goes on to the other accumulator.", without("acc.advance()")),
    wrong(
        multiply_tiles,
        "drains_each_step",
        "Waits for its own multiplications.",
        swap(
            "                stage.advance()",
            "                cute.arch.mbarrier_wait(steps.empty + stage.index, stage.phase)\n"
            "                stage.advance()",
        ),
        "waits for what the same warp has issued",
    ),
    wrong(
        multiply_tiles,
        "drains_each_tile",
        "Waits until the tile is complete.",
        swap(
            "            acc.advance()",
            "            cute.arch.mbarrier_wait(steps.ready + acc.index, acc.phase ^ 1)\n            acc.advance()",
        ),
        "waits for what the same warp has issued",
    ),
    wrong(
        multiply_tiles,
        "waits_until_all_is_read",
        "Waits until the epilogue has read before it goes on.",
        swap(
            "            acc.advance()",
            "            cute.arch.mbarrier_wait(steps.free + acc.index, acc.phase ^ 1)\n            acc.advance()",
        ),
    ),
    wrong(
        multiply_tiles,
        "accumulator_zero",
        "The accumulators' phase goes on and their index does not.",
        swap("steps.ready + acc.index", "steps.ready"),
        swap("steps.free + acc.index", "steps.free"),
    ),
    wrong(
        multiply_tiles,
        "phase_of_the_stage",
        "free is waited for with the stages' phase.",
        swap(
            "mbarrier_wait(steps.free + acc.index, acc.phase)",
            "mbarrier_wait(steps.free + acc.index, stage.phase ^ 1)",
        ),
    ),
    wrong(
        multiply_tiles,
        "first_of_all",
        "Only the first tile's first K tile forgets.",
        swap("for _ in cutlass.range(steps.tiles", "for number in cutlass.range(steps.tiles"),
        swap("k_tile == 0", "number + k_tile == 0"),
        "needs `first`",
    ),
    wrong(
        multiply_tiles,
        "one_k_tile_fewer",
        "The last K tile is left out.",
        swap("cutlass.range(steps.k_tiles, unroll=1)", "cutlass.range(steps.k_tiles - 1, unroll=1)"),
    ),
    wrong(
        multiply_tiles,
        "begins_anew_with_the_tile",
        "The stages start over with each tile.",
        swap(
            "            for k_tile",
            "            stage = make_pipeline_state(PipelineUserType.Consumer, steps.stages)\n            for k_tile",
        ),
    ),
    wrong(
        multiply_tiles,
        "two_accumulators",
        "Two accumulators, always.",
        swap("steps.multiply(stage.index, acc.index,", "steps.multiply(stage.index, acc.index % 2,"),
    ),
    wrong(
        multiply_tiles,
        "waits_for_free_again",
        "Waits for free before each K tile.",
        swap(f"                {WAIT_FULL}\n", f"                {WAIT_FREE}\n                {WAIT_FULL}\n"),
        "has already waited for",
    ),
    wrong(
        multiply_tiles,
        "waits_for_each_k_tile",
        "Waits until a stage has been read before the next is multiplied.",
        swap(
            "                stage.advance()",
            "                cute.arch.mbarrier_wait(steps.empty + stage.index, stage.phase)\n                stage.advance()",
        ),
        "waits for what the same warp has issued",
    ),
    wrong(
        multiply_tiles,
        "ready_for_each_k_tile",
        "Commits to ready after each K tile.",
        swap(
            "                stage.advance()",
            "                commit_to(steps, steps.ready + acc.index, steps.both)\n                stage.advance()",
        ),
    ),
    wrong(
        multiply_tiles,
        "commits_a_stage_late",
        "Each stage is free only when the next one has been multiplied, too.",
        swap(
            "                commit_to(steps, steps.empty + stage.index, steps.whole_cluster)\n",
            "                if k_tile > 0:\n"
            "                    commit_to(steps, steps.empty + before.index, steps.whole_cluster)\n"
            "                before = stage.clone()\n",
        ),
        swap(f"            {WAIT_FREE}\n", f"            {WAIT_FREE}\n            before = stage.clone()\n"),
        swap(
            "            commit_to(steps, steps.ready",
            "            commit_to(steps, steps.empty + before.index, steps.whole_cluster)\n"
            "            commit_to(steps, steps.ready",
        ),
        "comes after the next stage's multiplications",
    ),
]
# In a rehearsal a warp has one lane that is elected, and a barrier of one warp is none.
NOT_REHEARSED = [
    wrong(
        multiply_tiles,
        "drains_at_a_barrier",
        "The same; it is not rehearsed, for its barrier of one warp.",
        swap(
            "            acc.advance()",
            "            cute.arch.barrier(barrier_id=3, number_of_threads=32)\n"
            "            cute.arch.mbarrier_wait(steps.ready + acc.index, acc.phase ^ 1)\n            acc.advance()",
        ),
        "bar.sync/barrier instructions",
    ),
    wrong(
        multiply_tiles,
        "another_lane_commits",
        "Lane 5's commit tracks no multiplication.",
        swap("with cute.arch.elect_one():", "if cute.arch.lane_idx() == 5:"),
        "may still be adding to",
        within="commit_to",
    ),
]
