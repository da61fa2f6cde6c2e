"""Wrong answers to notebook 10. A rehearsal tells nearly all of them, on any machine."""

from functools import partial

import cutlass
from cutlass import cute

from tests.pages.change import derive, move_last, swap, without, without_first, without_last
from tests.pages.table import answer
from tutorlib.course.answers import load_answers
from tutorlib.kernels.ampere.main_loops import single_buffer
from tutorlib.kernels.ampere.thread_share import Steps
from tutorlib.models.pipeline import Timeline

# 10.1 -----------------------------------------------------------------------------------------------------------

PERIODS = [
    answer(
        "one_buffers_round", "As if there were one buffer.", lambda s, w, t, c: float(w + t + c), "one buffer's round"
    ),
    answer(
        "buffers_alone",
        "Forgets that the arithmetic and the memory do one tile at a time.",
        lambda s, w, t, c: (w + t + c) / s,
        "arithmetic does one tile at a time",
    ),
    answer(
        "memory_sends_all_at_once",
        "Forgets the transfer.",
        lambda s, w, t, c: float(max(c, (w + t + c) / s)),
        "The memory delivers one tile at a time",
    ),
    answer("endless_buffers", "Forgets the buffers.", lambda s, w, t, c: max(c, t), "unlimited buffers"),
    answer("no_latency", "Leaves the latency out.", lambda s, w, t, c: max(c, t, (t + c) / s), "includes its latency"),
    answer(
        "freed_at_once",
        "A round ends when the tile is there.",
        lambda s, w, t, c: max(c, t, (w + t) / s),
        "compute is part",
    ),
    answer(
        "latency_blocks", "The memory waits for each tile.", lambda s, w, t, c: max(c, w + t), "latency side by side"
    ),
    answer(
        "one_stage_less",
        "stages - 1 go round.",
        lambda s, w, t, c: max(c, t, (w + t + c) / max(s - 1, 1)),
        "All `stages` buffers go round",
    ),
    answer("rounded_down", "Floor division.", lambda s, w, t, c: max(c, t, (w + t + c) // s), "do not round"),
    answer(
        "only_one_waits",
        "The stages share the transfer, and not the latency.",
        lambda s, w, t, c: max(c, t, w + (t + c) / s),
    ),
    answer("rounded_up", "Whole ticks.", lambda s, w, t, c: float(max(c, t, -(-(w + t + c) // s)))),
    answer("all_three_added", "A sum for a maximum.", lambda s, w, t, c: c + t + (w + t + c) / s),
    answer("the_fastest", "min for max.", lambda s, w, t, c: min(c, t, (w + t + c) / s)),
    answer(
        "by_the_share",
        "The course's share of busy time.",
        lambda s, w, t, c: c / Timeline(s, w, t, c, 1).busy,
        "it calls Timeline.busy",
    ),
    answer(
        "by_the_model",
        "Runs the course's timeline.",
        lambda s, w, t, c: (Timeline(s, w, t, c, 90 + s).total - Timeline(s, w, t, c, 90).total) / s,
        "it calls Timeline.total",
    ),
    answer("as_text", "A string.", lambda s, w, t, c: f"{max(c, t, (w + t + c) / s)}", "should be a number"),
]

# Loops ----------------------------------------------------------------------------------------------------------

SOLVED = load_answers("10_double_buffer")
DOUBLE, PIPELINE = SOLVED["10.2"], SOLVED["10.3"]


double = partial(derive, DOUBLE)
pipeline = partial(derive, PIPELINE)
LOAD_NEXT = "        if k_tile + 1 < steps.k_tiles:\n            steps.load(k_tile + 1, (k_tile + 1) % 2)\n"
BARRIER = "        cute.arch.sync_threads()\n"

DOUBLES = [
    double(
        "loads_before_the_wait",
        "Overwrites the buffer that a slower warp still reads.",
        move_last("sync_threads()", after="commit_group()"),
        move_last("wait_group(0)", after="commit_group()"),
        swap("wait_group(0)", "wait_group(1)"),
    ),
    double(
        "loads_first_and_waits_for_all",
        "Two K tiles never show that the buffer is not free: three do, and the loop is not called safe.",
        move_last("wait_group(0)", after="commit_group()"),
        move_last("sync_threads()", after="wait_group(0)"),
    ),
    double(
        "barrier_of_one_warp",
        "A barrier that only the first warp reaches.",
        swap(BARRIER, "        if cute.arch.thread_idx()[0] < 32:\n    " + BARRIER),
    ),
    double("waits_for_one_too_few", "wait_group off by one.", swap("wait_group(0)", "wait_group(1)")),
    double(
        "waits_at_once",
        "Right, but nothing is in flight while it computes.",
        swap("commit_group()\n        for", "commit_group()\n        cute.arch.cp_async_wait_group(0)\n        for"),
    ),
    double(
        "reads_always_the_first_buffer",
        "The stage index of the reads is not advanced.",
        swap("fetch(k_block, k_tile % 2)", "fetch(k_block, 0)"),
    ),
    double(
        "loads_a_tile_that_is_not_there",
        "No condition on the load.",
        swap("if k_tile + 1 < steps.k_tiles:\n            steps", "steps"),
    ),
    double(
        "a_second_barrier",
        "Safe, with a barrier more than necessary.",
        swap("            steps.multiply(k_block)", "            steps.multiply(k_block)\n" + BARRIER.rstrip()),
    ),
    double(
        "loads_behind_the_arithmetic",
        "The copy begins when the tile before is done with.",
        swap(LOAD_NEXT + "        cute.arch.cp_async_commit_group()\n", ""),
        swap(
            "            steps.multiply(k_block)",
            "            steps.multiply(k_block)\n" + LOAD_NEXT + "        cute.arch.cp_async_commit_group()",
        ),
    ),
    double(
        "waits_in_the_middle",
        "Waits for the next tile after the first K block of this one.",
        swap(
            "            steps.multiply(k_block)",
            "            if cutlass.const_expr(k_block == 1):\n                cute.arch.cp_async_wait_group(0)\n"
            "            steps.multiply(k_block)",
        ),
    ),
    double(
        "loads_before_the_last_block",
        "The copy begins when most of the tile before is multiplied.",
        swap(LOAD_NEXT + "        cute.arch.cp_async_commit_group()\n", ""),
        swap(
            "            steps.fetch(k_block, k_tile % 2)",
            "            if cutlass.const_expr(k_block + 1 == steps.k_blocks):\n"
            "                if k_tile + 1 < steps.k_tiles:\n"
            "                    steps.load(k_tile + 1, (k_tile + 1) % 2)\n"
            "                cute.arch.cp_async_commit_group()\n"
            "            steps.fetch(k_block, k_tile % 2)",
        ),
    ),
    double(
        "fetches_twice",
        "Two fetches of each K block.",
        swap("            steps.fetch(", "            steps.fetch(k_block, k_tile % 2)\n            steps.fetch("),
    ),
    double(
        "fetches_again",
        "A second fetch after the multiplication.",
        swap(
            "            steps.multiply(k_block)",
            "            steps.multiply(k_block)\n            steps.fetch(k_block, k_tile % 2)",
        ),
    ),
    double(
        "a_alone_ahead",
        "B's next tile is loaded after the arithmetic.",
        swap("steps.load(k_tile + 1,", "steps.a.load(k_tile + 1,"),
        swap("\n        cute.arch.cp_async_commit_group()\n        for", "\n        for"),
        swap(
            "            steps.multiply(k_block)",
            "            steps.multiply(k_block)\n"
            + LOAD_NEXT.replace(".load", ".b.load")
            + "        cute.arch.cp_async_commit_group()",
        ),
        words=("tile 1 of B is not in flight",),
    ),
    double("no_prologue", "Tile 0 is never loaded.", without_first("steps.load(0, 0)")),
    double(
        "one_buffer_for_both",
        "The next tile over the one that is read.",
        swap("steps.load(k_tile + 1, (k_tile + 1) % 2)", "steps.load(k_tile + 1, k_tile % 2)"),
    ),
    double("never_commits", "No groups.", without_first("commit_group()"), without_last("commit_group()")),
    double("no_barrier", "The wait alone.", without("sync_threads()")),
    double(
        "barrier_before_the_wait", "A barrier that says nothing.", move_last("wait_group(0)", after="sync_threads()")
    ),
    double(
        "unrolled", "The compiler writes every K tile out.", swap("in range(steps", "in cutlass.range_constexpr(steps")
    ),
    double("b_stays", "Only A's next tile is loaded.", swap("steps.load(k_tile + 1,", "steps.a.load(k_tile + 1,")),
    double(
        "a_tile_ahead_too_far",
        "Skips every second tile.",
        swap("steps.load(k_tile + 1,", "steps.load(k_tile + 2,"),
        swap("k_tile + 1 <", "k_tile + 2 <"),
    ),
    derive(single_buffer, "notebook_09_s", "One buffer of the two."),
]

PIPELINES = [
    derive(DOUBLE, "not_ahead", "Right, with two buffers, and each K block is fetched when it is needed."),
    pipeline(
        "fetches_before_the_wait",
        "Fetches the next tile's first block before the wait for that tile.",
        move_last("sync_threads()", after="fetch(0, read)"),
        move_last("wait_group(0)", after="fetch(0, read)"),
    ),
    pipeline("no_barrier", "The wait alone, without the barrier.", without_last("sync_threads()")),
    pipeline(
        "overtakes_itself",
        "Fetches a block ahead into the registers, and multiplies the one just fetched.",
        swap("multiply(k_block)", "multiply((k_block + 1) % steps.k_blocks)"),
    ),
    pipeline(
        "stale_fetch",
        "Turns over after the fetch: block 0 of the tile that is done with.",
        swap("                read = 1 - read\n", ""),
        swap(
            "                steps.fetch(0, read)",
            "                steps.fetch(0, read)\n                read = 1 - read",
        ),
    ),
    pipeline("never_turns_over", "Reads buffer 0 forever.", swap("                read = 1 - read\n", "")),
    pipeline("no_first_fetch", "The prologue stops too early.", without_first("steps.fetch(0, 0)")),
    pipeline("no_first_wait", "Fetches what has not arrived.", without_first("wait_group(0)")),
    pipeline("no_first_barrier", "Other threads' copies may be missing.", without_first("sync_threads()")),
    pipeline(
        "loads_into_what_is_read",
        "The next tile over this one.",
        swap("steps.load(k_tile + 1, 1 - read)", "steps.load(k_tile + 1, read)"),
    ),
    pipeline(
        "a_barrier_at_the_top",
        "Safe, and a barrier more than it needs.",
        swap("        if k_tile + 1 < steps", "        cute.arch.sync_threads()\n        if k_tile + 1 < steps"),
    ),
    pipeline(
        "the_block_itself",
        "Fetches the block that it multiplies.",
        swap("steps.fetch(k_block + 1, read)", "steps.fetch(k_block, read)"),
    ),
    pipeline(
        "waits_in_every_block",
        "Waits where there is nothing to wait for.",
        swap(
            "                steps.fetch(k_block + 1, read)",
            "                cute.arch.cp_async_wait_group(0)\n                steps.fetch(k_block + 1, read)",
        ),
    ),
    pipeline(
        "multiplies_first",
        "Multiplies, and then fetches ahead.",
        swap("            steps.multiply(k_block)", ""),
        swap(
            "        for k_block in cutlass.range_constexpr(steps.k_blocks):\n",
            "        for k_block in cutlass.range_constexpr(steps.k_blocks):\n            steps.multiply(k_block)\n",
        ),
    ),
    pipeline(
        "fetches_again",
        "Fetches ahead, and once more just before the multiplication.",
        swap(
            "steps.fetch(k_block + 1, read)",
            "steps.fetch(k_block + 1, read)\n                steps.fetch(k_block, read)",
        ),
    ),
    pipeline(
        "fetches_afterwards",
        "Fetches ahead, and once more after the multiplication.",
        swap(
            "            steps.multiply(k_block)",
            "            steps.multiply(k_block)\n            if cutlass.const_expr(k_block + 1 < steps.k_blocks):\n"
            "                steps.fetch(k_block, read)",
        ),
    ),
    pipeline(
        "all_four_at_once",
        "Fetches all of a tile's K blocks before it multiplies the first: the compiler spills.",
        swap(
            "        for k_block in cutlass.range_constexpr(steps.k_blocks):\n",
            "        for k_block in cutlass.range_constexpr(1, steps.k_blocks):\n            steps.fetch(k_block, read)\n"
            "        for k_block in cutlass.range_constexpr(steps.k_blocks):\n",
        ),
        swap(
            "            if cutlass.const_expr(k_block + 1 < steps.k_blocks):\n"
            "                steps.fetch(k_block + 1, read)\n            else:",
            "            if cutlass.const_expr(k_block + 1 == steps.k_blocks):",
        ),
    ),
    pipeline(
        "too_early_and_again",
        "Fetches the next tile's first block before its wait, which is useless, and again after it.",
        move_last("steps.multiply(k_block)", after="read = 1 - read"),
        swap(
            "                read = 1 - read\n            steps.multiply(k_block)\n",
            "                read = 1 - read\n                steps.fetch(0, read)\n            steps.multiply(k_block)\n"
            "            if cutlass.const_expr(k_block + 1 == steps.k_blocks):\n",
        ),
    ),
    pipeline(
        "loads_always", "No condition on the load.", swap("if k_tile + 1 < steps.k_tiles:\n            steps", "steps")
    ),
    pipeline(
        "unrolled", "The compiler writes every K tile out.", swap("in range(steps", "in cutlass.range_constexpr(steps")
    ),
    derive(single_buffer, "notebook_09_s", "One buffer of the two."),
]


@cute.jit
def unrehearsed(steps: Steps):
    """Waits at once; registers of its own keep the rehearsal from seeing it."""
    cute.make_rmem_tensor((1,), cutlass.Float32).fill(0.0)
    for k_tile in range(steps.k_tiles):
        buffer = k_tile % steps.stages
        steps.load(k_tile, buffer)
        cute.arch.cp_async_commit_group()
        cute.arch.cp_async_wait_group(0)
        cute.arch.sync_threads()
        for k_block in cutlass.range_constexpr(steps.k_blocks):
            steps.fetch(k_block, buffer)
            steps.multiply(k_block)


WRONG = {"10.1": PERIODS, "10.2": [*DOUBLES, unrehearsed], "10.3": [*PIPELINES, unrehearsed]}
