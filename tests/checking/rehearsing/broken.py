"""Right loops with one thing broken, and what the rehearsal must say of it.

Each: (name, the changes of the producer's or only function, those of the consumer's, words of the message).
"""

from typing import NamedTuple

from tests.wrong.change import Change, swap, without, without_first, without_last


class Broken(NamedTuple):
    says: str
    changes: tuple[Change, ...]
    words: str


WAIT_FULL = "cute.arch.mbarrier_wait(steps.full + state.index, state.phase)"
WAIT_EMPTY = "cute.arch.mbarrier_wait(steps.empty + state.index, state.phase)"
EXPECT = "        with cute.arch.elect_one():\n            cute.arch.mbarrier_arrive_and_expect_tx(steps.full + state.index, steps.stage_bytes)\n"
RELEASE = "        with cute.arch.elect_one():\n            cute.arch.mbarrier_arrive(steps.empty + under_way.index)\n"

PRODUCE = [
    Broken("no wait for empty", (without("mbarrier_wait"),), "no wait for empty"),
    Broken("waits for empty with a consumer's phase", (swap("Type.Producer", "Type.Consumer"),), "X"),
    Broken("the phase is flipped at each wait", (swap("state.phase)", "state.phase ^ (k_tile & 1))"),), "X"),
    Broken("the phase never flips", (swap("state.phase)", "1)"),), "X"),
    Broken("waits for the stage's fullness", (swap("steps.empty + state.index", "steps.full + state.index"),), "X"),
    Broken("no expect", (swap(EXPECT, ""),), "X"),
    Broken("expects half", (swap("steps.stage_bytes", "steps.stage_bytes // 2"),), "X"),
    Broken("expects A's bytes", (swap("steps.stage_bytes", "16384"),), "X"),
    Broken("expects too much", (swap("steps.stage_bytes", "steps.stage_bytes + 16"),), "X"),
    Broken(
        "arrives without bytes",
        (
            swap(
                "mbarrier_arrive_and_expect_tx(steps.full + state.index, steps.stage_bytes)",
                "mbarrier_arrive(steps.full + state.index)",
            ),
        ),
        "X",
    ),
    Broken("expects without arriving", (swap("mbarrier_arrive_and_expect_tx", "mbarrier_expect_tx"),), "X"),
    Broken("all lanes arrive", (swap(EXPECT, EXPECT.replace("with cute.arch.elect_one():", "if True:")),), "X"),
    Broken(
        "load elected",
        (swap("        steps.load(k_tile, state.index)", "            steps.load(k_tile, state.index)"),),
        "X",
    ),
    Broken("state never advances", (without("advance"),), "X"),
    Broken("one tile too few", (swap("steps.k_tiles", "steps.k_tiles - 1"),), "X"),
    Broken("one tile too many", (swap("steps.k_tiles", "steps.k_tiles + 1"),), "X"),
    Broken("one tile twice", (swap("load(k_tile,", "load(cutlass.max(k_tile - 1, 0),"),), "X"),
    Broken("one stage too many", (swap("steps.stages)", "steps.stages + 1)"),), "X"),
    Broken("one stage fewer", (swap("steps.stages)", "steps.stages - 1)"),), "X"),
    Broken(
        "waits after the load",
        (without("mbarrier_wait"), swap("        state.advance()", f"        {WAIT_EMPTY}\n        state.advance()")),
        "X",
    ),
    Broken(
        "never ends",
        (
            swap(
                "for k_tile in cutlass.range(steps.k_tiles, unroll=1):", "k_tile = 0\n    while k_tile < steps.k_tiles:"
            )
        ),
        "X",
    ),
    Broken(
        "loads another stage",
        (swap("load(k_tile, state.index)", "load(k_tile, (state.index + 1) % steps.stages)"),),
        "X",
    ),
    Broken("expect on the empty barrier", (swap("expect_tx(steps.full", "expect_tx(steps.empty"),), "X"),
    Broken(
        "multiplies", (swap("state.advance()", "steps.multiply(state.index, False)\n        state.advance()"),), "X"
    ),
]
CONSUME = [
    Broken("no wait for full", (without_last(WAIT_FULL),), "X"),
    Broken("no first wait for full", (without_first(WAIT_FULL),), "X"),
    Broken("starts with a producer's phase", (swap("Type.Consumer", "Type.Producer"),), "X"),
    Broken("the phase never flips", (swap("state.phase)", "0)", times=2),), "X"),
    Broken("waits for the empty barrier", (swap("wait(steps.full", "wait(steps.empty", times=2),), "X"),
    Broken("no release", (swap(RELEASE, ""),), "X"),
    Broken("all lanes release", (swap(RELEASE, RELEASE.replace("with cute.arch.elect_one():", "if True:")),), "X"),
    Broken("releases twice", (swap(RELEASE, 2 * RELEASE),), "X"),
    Broken("releases the stage just begun", (swap(RELEASE, RELEASE.replace("under_way.", "state.")),), "X"),
    Broken(
        "releases before the wait",
        (without("wait_group(1)"), swap(RELEASE, RELEASE + "        warpgroup.wait_group(1)\n")),
        "X",
    ),
    Broken("wait_group(2)", (swap("wait_group(1)", "wait_group(2)"),), "X"),
    Broken("no wait_group in the loop", (without("wait_group(1)"),), "X"),
    Broken("no wait_group at the end", (without("wait_group(0)"),), "X"),
    Broken("no commit", (without_last("commit_group"),), "X"),
    Broken("no commit first", (without_first("commit_group"),), "X"),
    Broken("no fence", (swap("warpgroup.fence()\n", "pass\n", times=2),), "X"),
    Broken("first never", (swap("True)", "False)"),), "X"),
    Broken("first always", (swap("False)", "True)"),), "X"),
    Broken("never advances", (without_last("state.advance()"),), "X"),
    Broken("one too few", (swap("k_tiles - 1", "k_tiles - 2"),), "X"),
    Broken("one too many", (swap("k_tiles - 1", "k_tiles"),), "X"),
    Broken("loads too", (swap(RELEASE, RELEASE + "        steps.load(0, state.index)\n"),), "X"),
    Broken("phase from count", (swap("state.phase)", "state.count // steps.stages)", times=2),), "X"),
    Broken("arrives on full", (swap("mbarrier_arrive(steps.empty", "mbarrier_arrive(steps.full", times=2),), "X"),
    Broken(
        "multiplies twice",
        (
            swap(
                "steps.multiply(state.index, False)",
                "steps.multiply(state.index, False)\n        steps.multiply(state.index, False)",
            ),
        ),
        "X",
    ),
    Broken(
        "multiply elected",
        (
            swap(
                "        steps.multiply(state.index, False)",
                "        with cute.arch.elect_one():\n            steps.multiply(state.index, False)",
            ),
        ),
        "X",
    ),
]
MAIN = [
    Broken("all load", (swap("steps.loads_too and ahead", "ahead"),), "X"),
    Broken("no wait for empty", (without("mbarrier_wait(steps.empty"),), "X"),
    Broken("wrong empty phase", (swap("under_way.phase)", "under_way.phase ^ 1)"),), "X"),
    Broken("prologue loads all stages", (swap("cutlass.min(steps.stages, steps.k_tiles)", "steps.stages"),), "X"),
    Broken(
        "prologue one short",
        (swap("cutlass.min(steps.stages, steps.k_tiles)", "cutlass.min(steps.stages - 1, steps.k_tiles)"),),
        "X",
    ),
    Broken(
        "reload before the release",
        (
            swap("k_tile - 1 + steps.stages", "k_tile + steps.stages"),
            swap("under_way.index)\n            steps", "state.index)\n            steps")
            if False
            else swap("load(ahead, under_way.index)", "load(ahead, state.index)"),
        ),
        "X",
    ),
    Broken("no bound", (swap(" and ahead < steps.k_tiles", ""),), "X"),
    Broken(
        "loader alone releases",
        (swap(RELEASE, RELEASE.replace("with cute.arch.elect_one():", "if steps.loads_too:")),),
        "X",
    ),
    Broken(
        "only the loader waits for full",
        (
            swap(
                "        cute.arch.mbarrier_wait(steps.full",
                "        if steps.loads_too:\n            cute.arch.mbarrier_wait(steps.full",
            ),
        ),
        "X",
    ),
    Broken(
        "release after the reload",
        (
            swap(RELEASE, ""),
            swap(
                "        under_way = state.clone()\n        state.advance()\n    w",
                RELEASE + "        under_way = state.clone()\n        state.advance()\n    w",
            ),
        ),
        "X",
    ),
]
