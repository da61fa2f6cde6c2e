"""Right loops with one thing broken, and what the rehearsal must say of each."""

from typing import NamedTuple

from tests.pages.change import Change, swap, without, without_first, without_last


class Broken(NamedTuple):
    """name: what is broken. says: words of the message, in this order."""

    name: str
    says: tuple[str, ...]
    changes: tuple[Change, ...]


ELECT = "with cute.arch.elect_one():"
ANYBODY = "if True:"  # in its place: all lanes
ARM = "cute.arch.mbarrier_arrive_and_expect_tx(steps.full + state.index, steps.stage_bytes)"
ARM_ELECTED = f"        {ELECT}\n            {ARM}\n"
WAIT_EMPTY = "cute.arch.mbarrier_wait(steps.empty + state.index, state.phase)"
WAIT_FULL = "cute.arch.mbarrier_wait(steps.full + state.index, state.phase)"
FREE = "cute.arch.mbarrier_arrive(steps.empty + in_flight.index)"
FREE_ELECTED = f"        {ELECT}\n            {FREE}\n"
MULTIPLY = "        steps.multiply(state.index, False)"
FRESH = "a fresh mbarrier counts phase 1 as complete"

PRODUCE = (
    Broken(
        "does not wait for empty",
        ("K tile 0 in stage 0, which warpgroup 0 has not multiplied", "no wait for empty[0]"),
        (without("mbarrier_wait"),),
    ),
    Broken(
        "waits for empty as a consumer would",
        (
            "deadlock",
            "the producer waits for phase 0 of empty[0]",
            "lacks all 8 arrivals",
            "first round waits for phase 1",
        ),
        (swap("Type.Producer", "Type.Consumer"),),
    ),
    Broken(
        "the phase flips at every K tile",
        ("deadlock", "the producer waits for phase 0 of empty[1]", "Loaded: 1 of 2 K tiles"),
        (swap("state.phase)", "state.phase ^ (k_tile & 1))"),),
    ),
    Broken(
        "the phase never flips",
        ("overwrite K tile 0 in stage 0", "was for phase 1 and passed at once", FRESH, "when phase 0 is complete"),
        (swap("state.phase)", "1)"),),
    ),
    Broken(
        "waits for full in the place of empty",
        ("K tile 2 overwrites K tile 0 in stage 0", "no wait for empty[0]"),
        (swap("steps.empty", "steps.full"),),
    ),
    Broken(
        "waits for empty after the load",
        ("deadlock", "the producer waits for phase 1 of empty[0]"),
        (without("mbarrier_wait"), swap("        state.advance()", f"        {WAIT_EMPTY}\n        state.advance()")),
    ),
    Broken(
        "expects nothing",
        ("deadlock", "wait for phase 0 of full[0]", "lacks its arrival and an expect_tx of the 49,152 bytes"),
        (swap(ARM_ELECTED, ""),),
    ),
    Broken(
        "expects half of the bytes",
        (
            "expect_tx",
            "phase 0 of full[0] is complete too early",
            "24,576 bytes",
            "reads stage 0, where K tile 0 may not",
        ),
        (swap("steps.stage_bytes", "steps.stage_bytes // 2"),),
    ),
    Broken(
        "expects the bytes of A",
        (
            "phase 0 of full[0] is complete too early",
            "16,384 bytes are expected",
            "49,152",
            "reads stage 0, where K tile 0",
        ),
        (swap("steps.stage_bytes", "16_384"),),
    ),
    Broken(
        "expects too many bytes",
        ("deadlock", "full[0], which lacks 16 bytes (49,168 are expected, 49,152 have landed)"),
        (swap("steps.stage_bytes", "steps.stage_bytes + 16"),),
    ),
    Broken(
        "arrives and expects no bytes",
        (
            "mbarrier_arrive",
            "too early, when 0 bytes are expected",
            "reads stage 0, where K tile 0 may not have landed",
        ),
        (swap(ARM, "cute.arch.mbarrier_arrive(steps.full + state.index)"),),
    ),
    Broken(
        "arrives before it expects",
        ("mbarrier_arrive", "too early, when 0 bytes", "with expect_tx, or after it", "reads stage 0, where K tile 0"),
        (
            swap(
                ARM,
                "cute.arch.mbarrier_arrive(steps.full + state.index)\n            "
                "cute.arch.mbarrier_expect_tx(steps.full + state.index, steps.stage_bytes)",
            ),
        ),
    ),
    Broken(
        "expects and does not arrive",
        ("deadlock", "wait for phase 0 of full[0], which lacks its arrival"),
        (swap("mbarrier_arrive_and_expect_tx", "mbarrier_expect_tx"),),
    ),
    Broken(
        "expects on the empty barrier",
        ("deadlock", "of full[0]", "49,152 bytes that no expect-tx announced", "empty[0] expects 49,152 bytes"),
        (swap("expect_tx(steps.full", "expect_tx(steps.empty"),),
    ),
    Broken(
        "all lanes arrive",
        ("full[0] awaits 1 arrival", "all 32 lanes", "elect_one()"),
        (swap(ELECT, ANYBODY),),
    ),
    Broken(
        "the load inside elect_one",
        ("steps.load", "a TMA copy elects its thread itself"),
        (swap("        steps.load(k_tile", "            steps.load(k_tile"),),
    ),
    Broken(
        "loads into the stage after the one it arms",
        (
            "deadlock",
            "lacks 49,152 bytes (49,152 are expected, 0 have landed)",
            "no expect-tx announced have landed at full[1]",
        ),
        (swap("load(k_tile, state.index)", "load(k_tile, (state.index + 1) % steps.stages)"),),
    ),
    Broken(
        "never advances",
        ("overwrite K tile 0 in stage 0", "passed at once"),
        (without("advance"),),
    ),
    Broken(
        "a stage too many",
        ("empty + 2: of 2 stages, 0 to 1 exist",),
        (swap("steps.stages)", "steps.stages + 1)"),),
    ),
    Broken(
        "a stage too few",
        ("deadlock", "the producer waits for phase 0 of empty[0]"),
        (swap("steps.stages)", "steps.stages - 1)"),),
    ),
    Broken(
        "a K tile too few",
        ("deadlock", "of full[0], which lacks its arrival", "Loaded: 0 of 1 K tile."),
        (swap("steps.k_tiles", "steps.k_tiles - 1"),),
    ),
    Broken(
        "a K tile too many",
        ("load(1, 1): of 1 K tile, 0 to 0 exist",),
        (swap("steps.k_tiles", "steps.k_tiles + 1"),),
    ),
    Broken(
        "a K tile twice",
        ("K tile 0 is loaded twice, into stage 0 and stage 1",),
        (swap("load(k_tile,", "load(cutlass.max(k_tile - 1, 0),"),),
    ),
    Broken(
        "multiplies",
        ("the producer has no accumulators",),
        (swap("        state.advance()", f"{MULTIPLY}\n        state.advance()"),),
    ),
    Broken(
        "never ends",
        ("mbarrier_wait", "the loop does not end"),
        (
            swap(
                "for k_tile in cutlass.range(steps.k_tiles, unroll=1):",
                f"while True:\n        {WAIT_EMPTY}\n    while 1:",
            ),
        ),
    ),
)

CONSUME = (
    Broken(
        "does not wait for full",
        ("reads stage 1, where K tile 1 may not have landed", "no wait for full[1]"),
        (without_last(WAIT_FULL),),
    ),
    Broken(
        "does not wait for the first full stage",
        ("reads stage 0, where K tile 0 may not have landed", "no wait for full[0]"),
        (without_first(WAIT_FULL),),
    ),
    Broken(
        "waits for full as a producer would",
        ("reads stage 0", "was for phase 1 and passed at once", FRESH, "there when phase 0 is complete"),
        (swap("Type.Consumer", "Type.Producer"),),
    ),
    Broken(
        "the phase never flips",
        ("K tile 0, in stage 0, is multiplied twice", "the wait for phase 0 of full[0]", "passed at once"),
        (swap("state.phase)", "0)", times=2),),
    ),
    Broken(
        "the phase counts on",
        ("phase 2: a wait is for a parity, 0 or 1",),
        (swap("state.phase)", "state.count // steps.stages)", times=2),),
    ),
    Broken(
        "waits for empty in the place of full",
        ("deadlock", "warpgroup 0 and warpgroup 1 wait for phase 0 of empty[0], which lacks all 8 arrivals"),
        (swap("wait(steps.full", "wait(steps.empty", times=2),),
    ),
    Broken(
        "frees nothing",
        ("deadlock", "the producer waits for phase 0 of empty[0]", "Loaded: 2 of 3 K tiles"),
        (swap(FREE_ELECTED, ""),),
    ),
    Broken(
        "all lanes free",
        ("empty[0] awaits 8 arrivals", "128 threads of warpgroup 0", "elect_one()"),
        (swap(FREE_ELECTED, FREE_ELECTED.replace(ELECT, ANYBODY)),),
    ),
    Broken(
        "frees twice",
        ("mbarrier_arrive", "phase 0 of empty[0] is complete too early", "8 of warpgroup 0", "K tile 2 overwrites"),
        (swap(FREE_ELECTED, 2 * FREE_ELECTED),),
    ),
    Broken(
        "one warpgroup for both",
        ("is complete too early, with arrivals 8 of warpgroup 0",),
        (swap(FREE_ELECTED, FREE_ELECTED.replace("index)", "index, arrive_count=2)")),),
    ),
    Broken(
        "frees the stage it has just begun",
        (
            "deadlock",
            "the producer waits for phase 0 of empty[0]",
            "warpgroup 0 frees stage 1, where the wgmma of K tile 1 is in flight",
        ),
        (swap(FREE_ELECTED, FREE_ELECTED.replace("in_flight.", "state.")),),
    ),
    Broken(
        "frees before wait_group",
        ("mbarrier_arrive", "warpgroup 0 frees stage 0 while the wgmma of K tile 0 may still read it"),
        (
            without("wait_group(1)"),
            swap(FREE_ELECTED, f"{FREE_ELECTED}        warpgroup.wait_group(1)\n"),
        ),
    ),
    Broken(
        "leaves two groups in flight",
        ("warpgroup 0 frees stage 0 while the wgmma of K tile 0 may still read it", "leave fewer in flight"),
        (swap("wait_group(1)", "wait_group(2)"),),
    ),
    Broken(
        "no wait_group in the loop",
        ("warpgroup 0 frees stage 0 while the wgmma of K tile 0 may still read it",),
        (without("wait_group(1)"),),
    ),
    Broken(
        "no wait_group at the end",
        ("the loop ends while this wgmma, of K tile 0, may be in flight", "no wait_group(0)"),
        (without("wait_group(0)"),),
    ),
    Broken(
        "one group stays in flight at the end",
        ("the loop ends while this wgmma, of K tile 0, may be in flight", "no wait_group(0)"),
        (swap("wait_group(0)", "wait_group(1)"),),
    ),
    Broken(
        "does not commit",
        ("may be in flight: no commit_group()",),
        (without_last("commit_group"),),
    ),
    Broken(
        "does not commit the first tile",
        ("of K tile 0, may be in flight: no commit_group()",),
        (without_first("commit_group"),),
    ),
    Broken(
        "no fence",
        ("no warpgroup.fence() before the first wgmma",),
        (swap("warpgroup.fence()", "pass", times=2),),
    ),
    Broken(
        "never first",
        ("the first multiplication, of K tile 0, adds to old accumulators",),
        (swap("True)", "False)"),),
    ),
    Broken(
        "always first",
        ("`first` at K tile 1 discards the accumulators of K tile 0",),
        (swap("False)", "True)"),),
    ),
    Broken(
        "never advances",
        ("K tile 1, in stage 1, is multiplied twice",),
        (without_last("state.advance()"),),
    ),
    Broken(
        "multiplies twice",
        ("K tile 1, in stage 1, is multiplied twice",),
        (swap(MULTIPLY, f"{MULTIPLY}\n{MULTIPLY}"),),
    ),
    Broken(
        "a K tile too few",
        ("K tile 1 is never multiplied by warpgroup 0; all 2",),
        (swap("k_tiles - 1", "k_tiles - 2"),),
    ),
    Broken(
        "a K tile too many",
        ("deadlock", "of full[1], which lacks its arrival", "Loaded: 1 of 1 K tile."),
        (swap("k_tiles - 1", "k_tiles"),),
    ),
    Broken(
        "loads, too",
        ("steps.load", "warpgroup 0 loads, too"),
        (swap(FREE_ELECTED, f"{FREE_ELECTED}        steps.load(0, state.index)\n"),),
    ),
    Broken(
        "arrives at full in the place of empty",
        ("warpgroup 0 arrives at full[0], which is for loads",),
        (swap("mbarrier_arrive(steps.empty", "mbarrier_arrive(steps.full", times=2),),
    ),
    Broken(
        "wgmma inside elect_one",
        ("steps.multiply", "wgmma needs all threads of a warpgroup"),
        (swap(MULTIPLY, f"        {ELECT}\n    {MULTIPLY}"),),
    ),
)

MAIN = (
    Broken(
        "all warps load",
        ("warps 1 to 3 of warpgroup 0 load, too", "steps.loads_too"),
        (swap("steps.loads_too and ahead", "ahead"),),
    ),
    Broken(
        "does not wait for empty",
        ("steps.load", "K tile 2 overwrites K tile 0 in stage 0", "may still read", "no wait for empty[0]"),
        (without("mbarrier_wait(steps.empty"),),
    ),
    Broken(
        "waits for empty as a producer would",
        ("K tile 2 overwrites K tile 0 in stage 0", "was for phase 1 and passed at once", "when phase 0 is complete"),
        (swap("in_flight.phase)", "in_flight.phase ^ 1)"),),
    ),
    Broken(
        "fills all stages, whatever K is",
        ("load(1, 1): of 1 K tile, 0 to 0 exist",),
        (swap("cutlass.min(steps.stages, steps.k_tiles)", "steps.stages"),),
    ),
    Broken(
        "fills a stage too few",
        ("deadlock", "of full[1], which lacks its arrival", "Loaded: 1 of 2 K tiles"),
        (swap("cutlass.min(steps.stages, steps.k_tiles)", "cutlass.min(steps.stages - 1, steps.k_tiles)"),),
    ),
    Broken(
        "loads forever",
        ("load(2, 0): of 2 K tiles, 0 to 1 exist",),
        (swap(" and ahead < steps.k_tiles", ""),),
    ),
    Broken(
        "the loading warp alone frees",
        ("empty[0] awaits 8 arrivals", "all 32 lanes"),
        (swap(FREE_ELECTED, FREE_ELECTED.replace(ELECT, "if steps.loads_too:")),),
    ),
    Broken(
        "the loading warp alone waits for full",
        ("reads stage 1, where K tile 1 may not have landed", "no wait for full[1]"),
        (swap(f"        {WAIT_FULL}", f"        if steps.loads_too:\n            {WAIT_FULL}"),),
    ),
    Broken(
        "frees after the next load",
        ("deadlock", "empty[0], which lacks 1 of 8 arrivals (it has 3 of warps 1 to 3 of warpgroup 0"),
        (
            swap(FREE_ELECTED, ""),
            swap(
                "in_flight = state.clone()\n        state",
                f"\n{FREE_ELECTED}        in_flight = state.clone()\n        state",
            ),
        ),
    ),
    Broken(
        "waits for itself alone",
        ("K tile 2 overwrites K tile 0 in stage 0, which warpgroup 1 may still read", "no wait for empty[0]"),
        (swap("cute.arch.mbarrier_wait(steps.empty + in_flight.index, in_flight.phase)", "warpgroup.wait_group(0)"),),
    ),
)
