"""Exercises of notebook 15: the two roles' loops, and the parts of the persistent kernel."""

from functools import partial
from typing import Any

from tutorlib.checking.cute import CuteExercise
from tutorlib.checking.facts import at_most, groups, issued, looped
from tutorlib.checking.library_use import of_course
from tutorlib.checking.part import KernelSettings, Small, inside
from tutorlib.exercises.judges import hopper as judge
from tutorlib.machine.features import WGMMA
from tutorlib.problems.catalogue import gemm, gemm_shared
from tutorlib.problems.problem import Shape

# The loops of the two roles.

LOOP_SHAPES = ((512, 512, 512), (384, 1024, 840), (129, 200, 72))  # 14 K tiles: 4 stages come round three times
STEPS: Small = {  # two tiles of nine K tiles, where work is counted; two stages; fewer K tiles than stages
    (129, 72, 520): {"tile": (128, 128, 64), "stages": 3},
    (64, 64, 200): {"tile": (128, 64, 64), "stages": 2},
    (64, 64, 72): {"tile": (128, 64, 64)},
}
# 2 tiles of 9 K tiles at the first one, 8 warps that multiply and one that loads: each waits once for a K tile, 162
# times, or polls somewhat more often.
LOOP_RULES = at_most({"bar.sync|barrier": 26, "fence": 132, "mbarrier.try_wait": 176})
A_GROUP_IN_EACH_STEP = (
    *LOOP_RULES,
    *(issued(f"wgmma.{does}") <= 144 for does in ("fence", "commit_group")),
    issued("mbarrier.arrive.shared") <= 144,
    looped("wgmma.mma_async") >= 2,
    groups >= 1,
)


# Exercises whose answers are the parts of the persistent kernel, and the one that puts them together.

course = partial(of_course, "hopper.parts")
SHAPES = ((512, 512, 512), (384, 1024, 840), (129, 200, 72))
# 2 blocks with 6 tiles of 5 K tiles: the producer waits for each stage, and for all 3 at the end; 4 warps multiply.
ARRIVALS = 2 * 6 * 5 * (1 + 4)
WAITS = ARRIVALS + 2 * 3
STORED = 6 * 4 * 4  # 6 tiles, 4 warps: 4 pieces

BENCH = (4096, 4096, 4096)
RING: KernelSettings = {"tile": (64, 64, 64), "stages": 3} | judge.FEW_SMS
SPLIT: KernelSettings = {"persistent": False, "split_k": 2}
PRODUCE: Small = {(200, 136, 264): RING | {"cluster": (2, 1)}, (136, 72, 264): RING | SPLIT | {"cluster": (2, 1)}}
IN_TURN = (136, 72, 136)  # where stores are not deferred
CONSUME: Small = {(200, 136, 264): RING | {"defer_stores": True}, IN_TURN: RING}
STORE: Small = {
    (136, 512, 72): {"tile": (64, 256, 64), "stages": 2, "store_stages": 2} | judge.FEW_SMS,
    (136, 128, 72): {"tile": (64, 128, 64), "stages": 2, "store_stages": 1} | judge.FEW_SMS,
}
LOAD: Small = {(256, 136, 200): RING | {"cluster": (2, 2)}, (64, 200, 136): RING | {"cluster": (1, 4)}}
FREE: Small = {(256, 136, 328): RING | {"cluster": (2, 2)}, (64, 136, 520): RING | SPLIT | {"cluster": (1, 2)}}
# One tile of 3 slices. The giver has 5 K tiles, the adder 4, as many as stages: so the adder is there first.
HAND_OVER: Small = {(64, 192, 520): {"tile": (64, 192, 64), "stages": 4, "stream_k": True} | judge.FEW_SMS}
SMALL_RING: KernelSettings = {"tile": (64, 64, 64), "stages": 3}
WHOLE: dict[Shape, KernelSettings] = {
    (136, 72, 264): SMALL_RING | {"cluster": (2, 2), "defer_stores": True},
    # two blocks, since one cluster alone shares no tile; with two consumer warpgroups, registers must move
    (328, 64, 264): {"tile": (128, 64, 64), "stages": 3, "stream_k": True, "defer_stores": True},
    (64, 72, 456): SMALL_RING | SPLIT | {"cluster": (1, 2)},
}


SHARED = gemm_shared(judge.ACCUMULATORS, judge.FLAGS)
part: Any = partial(CuteExercise.of, needs=WGMMA, problem=gemm("bf16"), shapes=SHAPES)
loop: Any = partial(part, shapes=LOOP_SHAPES, requires=("wgmma", "cp.async.bulk.tensor", "mbarrier"))

EXERCISES = (
    loop(
        ("15.1", "produce", 4),
        part=inside(judge.specialized, "produce", small=STEPS),
        rules=LOOP_RULES,
        library=of_course("hopper.specialized", "load_steps"),
    ),
    loop(
        ("15.2", "consume", 5),
        part=inside(judge.specialized, "consume", small=STEPS),
        rules=A_GROUP_IN_EACH_STEP,
        bench_shape=BENCH,
        tiers=(0.9,),
        library=of_course("hopper.specialized", "multiply_steps"),
    ),
    part(
        ("15.3", "produce_tiles", 3),
        part=inside(judge.persistent, "produce", small=PRODUCE),
        rules=at_most({"mbarrier.try_wait": WAITS, "bar.sync|barrier": 32, "fence": 100}),
        library=course("produce_tiles"),
    ),
    part(
        ("15.4", "consume_tiles", 4),
        part=inside(judge.persistent, "consume", small=CONSUME, defer_stores=True),
        faults=(judge.not_deferred,),
        counted=IN_TURN,
        shared_rules=(judge.always_deferred,),
        rules=(
            # 2 blocks with 3 tiles of 3 K tiles: 6 tiles of a piece in each of 4 warps, and the end of 2 blocks
            *at_most({"bar.sync|barrier": 16, "cp.async.bulk.wait_group": 6 * 4 + 16, "mbarrier.arrive": 2 * 9 * 5}),
            groups >= 1,
        ),
        bench_shape=BENCH,
        tiers=(0.95,),
        library=course("consume_tiles"),
    ),
    part(
        ("15.5", "store_pieces", 3),
        part=inside(judge.persistent, "store", small=STORE, defer_stores=True),
        faults=(judge.stores_in_turn,),
        rules=at_most(  # the first piece may wait for a buffer too
            {
                "bar.warp.sync": 2 * STORED,
                "bar.sync|barrier": 16,
                "fence.proxy": STORED,
                "stmatrix": 4 * STORED,
                "cp.async.bulk.tensor.2d.global": STORED,
            }
        ),
        library=course("store_pieces"),
    ),
    part(
        ("15.6", "load_shared", 3),
        part=inside(judge.persistent, "load", small=LOAD, cluster=(2, 1)),
        library=course("load_shared") | {"make_layout_image_mask": "make_layout_image_mask"},
    ),
    part(
        ("15.7", "free_stage", 2),
        part=inside(judge.persistent, "free", small=FREE, cluster=(2, 1)),
        library=course("free_stage"),
    ),
    part(
        ("15.8", "hand_over", 4),
        problem=SHARED,
        part=inside(judge.persistent, "give", "add", small=HAND_OVER, stream_k=True),
        library=course("give_part", "add_part"),
    ),
    part(
        ("15.9", "my_gemm", 4),
        problem=SHARED,
        part=judge.WholeKernel(small=WHOLE),
        shapes=((512, 512, 512), (129, 200, 72), (768, 640, 4096)),
        bench_shape=BENCH,
        tiers=(0.98,),
        library=course("produce_tiles", "consume_tiles", "store_pieces")
        | course("load_shared", "free_stage", "give_part", "add_part")
        | {"COURSE": "COURSE"},
    ),
)
