"""Remedies of notebook 13."""

from tutorlib.checking.exercise import Remedy
from tutorlib.checking.rehearsing.unsafe import LoopFlaw
from tutorlib.exercises.n13_hopper_gemm.judge.gemm_parts import InitFlaw
from tutorlib.failure import Difference, Fail, Hazard

REMEDIES: dict[str, tuple[Remedy, ...]] = {
    "13.10": (
        Remedy(
            Hazard.UNWRITTEN(by="wgmma"),
            "The first wgmma of a tile of C adds to nothing: ACCUMULATE is `adds` there, and True for the other K "
            "blocks.",
        ),
        Remedy(
            Hazard.RACE(by="TMA"),
            "wait_group waits for committed groups only: commit_group() comes after the last wgmma.",
        ),
        Remedy(Hazard.RACE(lacks="wgmma.fence"), "fence() comes before the first wgmma, not after it."),
        Remedy(
            Fail.TOO_MANY(instruction="wgmma.wait_group"),
            "multiply only issues. The loop waits, before it touches the accumulators or the stage, so that the next "
            "group can be issued while this one is in flight.",
        ),
        Remedy(
            (Fail.TOO_MANY(instruction="wgmma.commit_group"), Fail.TOO_MANY(instruction="wgmma.fence")),
            "One fence and one commit for all K blocks: wait_group counts groups, and a group is a K tile.",
        ),
        Remedy(
            Fail.TOO_MANY(instruction=""),
            "The first wgmma discards what was in the registers if ACCUMULATE is `adds`: nothing needs to set them to "
            "zero.",
        ),
        Remedy(
            Difference.WRONG,
            "Do all K blocks go in, each once? Does only the first one of the first K tile discard the accumulators?",
        ),
    ),
    "13.11": (
        Remedy(Hazard.MBARRIER(lacks="one thread"), "`if thread == 0:` encloses every mbarrier_init."),
        Remedy(
            Hazard.MBARRIER(lacks="init"), "Each of the `stages` stages has two mbarriers: full + stage, empty + stage."
        ),
        Remedy(
            Hazard.RACE(earlier="init"), "All threads meet after the initialization: sync_threads(), outside the `if`."
        ),
        Remedy(
            Hazard.DEADLOCK(lacks="arrivals"),
            "Compare each count with the table: one arrival completes a phase of full, one of each warp a phase of "
            "empty.",
        ),
        Remedy(
            (Hazard.MBARRIER(lacks="fence"), InitFlaw.LATE),
            "mbarrier_init_fence() is the last statement of the thread that initializes; the barrier follows.",
        ),
        Remedy(
            (Hazard.MBARRIER, InitFlaw.COUNT),
            "empty awaits an arrival of every warp that reads the stage, `warps` of them.",
        ),
    ),
    "13.12": (
        Remedy(
            LoopFlaw.OVERWRITTEN,
            "The load of the next K tile overwrites the stage that all eight warps read: wait_group(0), then "
            "sync_threads(), then the load.",
        ),
        Remedy(
            (LoopFlaw.NOT_LANDED, LoopFlaw.TWICE),
            "Wait for steps.full before multiply, each time for the next phase: parity 0, 1, 0, 1, …",
        ),
        Remedy(
            LoopFlaw.DEADLOCK,
            "Which phase completes, and which one is waited for? A phase of full needs its arrival with the bytes "
            "announced; a barrier of the block needs all threads.",
        ),
        Remedy(LoopFlaw.FIRST, "`first` is true for K tile 0 alone: k_tile == 0."),
        Remedy(LoopFlaw.UNWAITED, "wait_group(0) after the last multiply, too: the epilogue reads the accumulators."),
    ),
}
