"""What became of the mutants, exercise by exercise, as the command wrote it; and why those that survive may."""

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

FILE = Path(__file__).with_name("results.json")

EXPECTS_LATE = (
    "`cute.arch.mbarrier_arrive_and_expect_tx(steps.full + state.index, steps.stage_bytes)` one statement later"
)
EXPECTED_LATE = "until the thread arrives the phase cannot end, so bytes may land before they are expected"
NO_GROUP = "without a copy there is no group, and wait_group(0) waits for those that there are"
NUMBER = "the statement before it computes the number of a stage, which waits for nothing"
SAME_SUMS = "a wgmma that adds to the sums of the one before it needs no fence between (PTX ISA, wgmma.fence)"
WAITED_LATE = "wgmma.fence orders what a warpgroup has done to its own registers, and waiting does nothing to them"
NOT_FILLED_AGAIN = "in 14.2's kernel every tile has barriers of its own: nobody fills the last stage again"
HARMLESS: dict[tuple[str, str], str] = {  # exercise and mutant → why it is as right as the solution
    ("04.6", "`four > 0` off by one"): "0 times the slope is 0",
    ("04.8", "`cute.arch.sync_threads()` one statement earlier"): (
        "then a barrier comes before each step in place of after it, and thread 0 wrote what it reads last"
    ),
    ("04.8", "one more in `cutlass.range_constexpr(1, THREADS.bit_length())`"): "0 threads take part in the step more",
    ("05.5", "`cute.arch.sync_threads()` one statement later"): "partition_S reads no element",
    ("05.7", "5 → 6 in `cute.make_swizzle(5, 0, 6)`"): "Swizzle(6, 0, 6) is free of conflicts, too",
    (
        "05.8",
        "`cute.arch.sync_warp()` one statement earlier",
    ): "the barrier is ready by then, and who copies made it so",
    ("07.8", "one less in `ct.cdiv(a.shape[1], tk)`"): (
        "they differ where K is one more than a multiple of 16, and K is a multiple of 8"
    ),
    ("08.1", "a load without its mask: `C.store_masked(A.load_masked(i) + B.load_masked(i), i);`"): (
        "the compiler asks for the bounds all the same, and what it leaves unset beyond them is stored nowhere"
    ),
    ("08.4", "63 → 62 in `for (int step : ct::irange(0, (k + 63) / 64)) {`"): (
        "they differ where K is one more than a multiple of 64, and K is a multiple of 8"
    ),
    ("10.2", "`cute.arch.cp_async_commit_group()` inside the `if` before it"): NO_GROUP,
    ("10.2", "`cute.arch.cp_async_commit_group()` one statement later"): (
        "copies run from when they are issued; their group is closed before it is waited for"
    ),
    ("10.3", "`cute.arch.cp_async_commit_group()` inside the `if` before it"): NO_GROUP,
    ("10.3", "`cute.arch.cp_async_wait_group(0)` one statement earlier"): NUMBER,
    ("12.1", "`cute.arch.cp_async_wait_group(steps.stages - 2)` one statement earlier"): NUMBER,
    ("13.11", "`cute.arch.mbarrier_init(full + stage, 1)` one statement later"): "two mbarriers, in the other order",
    (
        "13.12",
        "`cute.arch.mbarrier_arrive_and_expect_tx(steps.full + stage, steps.stage_bytes)` one statement later",
    ): EXPECTED_LATE,
    ("13.8", "`cute.arch.sync_threads()` one statement earlier"): "what comes before it writes registers alone",
    ("13.8", "`cute.arch.fence_proxy('async.shared', space='cta')` one statement later"): (
        "the lane that copies fences after it has met the others: a fence still lies between each write and the copy"
    ),
    ("13.9", "always, without `if warp == 0`"): "a descriptor may be prefetched by every warp: it is a hint",
    ("13.9", "128 → 129 in `group * 128`"): (
        "a slice of wgmma's is the warpgroup's, and thread 129 is of the same one as thread 128"
    ),
    ("14.1", EXPECTS_LATE): EXPECTED_LATE,
    ("14.2", "`cute.arch.mbarrier_wait(steps.full + state.index, state.phase)` one statement later"): WAITED_LATE,
    ("14.2", "without `cute.arch.mbarrier_arrive(steps.empty + before.index)`"): NOT_FILLED_AGAIN,
    ("14.2", "without `warpgroup.fence()`"): SAME_SUMS,
    ("14.2", "`warpgroup.fence()` one statement later"): SAME_SUMS,
    ("15.4", EXPECTS_LATE): EXPECTED_LATE,
    ("16.5", "one more in `cutlass.range_constexpr(5)`"): "the lane 32 further on does not exist: a lane gets its own",
    ("16.5", "`values < 0.0` off by one"): "-0 is no smaller than 0",
}


def read() -> dict[str, Any]:
    """Exercise → {"outcomes": {outcome: how many}, "survived": [mutant, …]}."""
    found: dict[str, Any] = json.loads(FILE.read_text(encoding="utf-8")) if FILE.exists() else {}
    return found


def keep(exercise: str, outcomes: Mapping[str, int], survived: Sequence[str]) -> None:
    """Write down one exercise's; the others stay."""
    found = read() | {exercise: {"outcomes": dict(sorted(outcomes.items())), "survived": list(survived)}}
    ordered = dict(sorted(found.items(), key=lambda item: tuple(map(int, item[0].split(".")))))
    FILE.write_text(json.dumps(ordered, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")


def survivors() -> Iterator[tuple[str, str, str]]:
    """Exercise, mutant, and why it may survive, or ""."""
    for exercise, found in read().items():
        for what in found["survived"]:
            yield exercise, what, HARMLESS.get((exercise, what), "")
