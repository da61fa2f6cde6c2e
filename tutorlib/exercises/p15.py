"""Exercises of notebook 15: parts of the persistent kernel, and the reader's own."""

from functools import partial
from typing import Any

from tutorlib.checking.cute import CuteExercise
from tutorlib.checking.facts import at_most, groups
from tutorlib.checking.library_use import of_course
from tutorlib.checking.part import KernelSettings, Small, inside
from tutorlib.checking.randomness import beside
from tutorlib.exercises.judges import hopper as judge
from tutorlib.exercises.values import drawn, value_exercise
from tutorlib.machine.features import WGMMA
from tutorlib.problems.catalogue import gemm, gemm_shared
from tutorlib.problems.problem import Shape

# Exercises whose answers are the parts of the persistent kernel, and the one that puts them together.

course = partial(of_course, "hopper.parts")
SHAPES = ((512, 512, 512), (384, 1024, 840), (129, 200, 72))
BENCH = (4096, 4096, 4096)
RING: KernelSettings = {"tile": (64, 64, 64), "stages": 3} | judge.FEW_SMS
SPLIT: KernelSettings = {"persistent": False, "split_k": 2}
COUNTED = (136, 72, 136)
CONSUME: Small = dict.fromkeys([(200, 136, 264), COUNTED], RING | {"defer_stores": True})
FREE: Small = {(256, 136, 328): RING | {"cluster": (2, 2)}, (64, 136, 520): RING | SPLIT | {"cluster": (1, 2)}}
# One tile of 3 slices. The giver has 5 K tiles, the adder 4, as many as stages: so the adder is there first.
HAND_OVER: Small = {(64, 192, 520): {"tile": (64, 192, 64), "stages": 4, "stream_k": True} | judge.FEW_SMS}
WHOLE: dict[Shape, KernelSettings] = {
    (136, 72, 264): {"tile": (64, 64, 64), "stages": 3, "cluster": (2, 2), "defer_stores": True},
    # two blocks, since one cluster alone shares no tile; with two consumer warpgroups, registers must move
    (328, 64, 264): {"tile": (128, 64, 64), "stages": 3, "stream_k": True, "defer_stores": True},
}

TOLD: tuple[Shape, ...] = (  # the first six without stream-K
    (2048, 2048, 2048),
    (4096, 4096, 4096),
    (8192, 8192, 512),  # many waves
    (8448, 4096, 16384),  # long K, and whole waves
    (4352, 4096, 512),  # the last wave almost empty, and K short
    (1408, 5632, 8192),  # two waves of clusters, and 1.83 of blocks
    (2304, 2048, 8192),
    (4224, 4096, 8192),  # four waves of blocks, and 4.12 of clusters
    (5000, 5000, 8192),
)

SHARED = gemm_shared(judge.ACCUMULATORS, judge.FLAGS)
part: Any = partial(CuteExercise.of, needs=WGMMA, problem=gemm("bf16"), shapes=SHAPES)

EXERCISES = (
    value_exercise(
        ("15.1", "new_state_works", 3),
        lambda stages, k_tiles: all(count % (2 * stages) == 0 for count in k_tiles[:-1]),
        {
            "tiles of one size": beside(
                [(4, (64,) * 3), (4, (65,) * 3), (4, (4, 4)), (3, (9, 9, 9)), (3, (6, 6))],
                lambda rng: (stages := rng.randint(2, 6), (rng.choice((1, 2, 3, 4)) * stages,) * rng.randint(2, 4)),
            ),
            "tiles of several": drawn(
                53,
                lambda rng: (4, (*rng.choices((4, 8, 8, 16), k=rng.randint(0, 3)), rng.randint(1, 50))),
                known=[(4, (65,)), (4, (8, 5)), (4, (5, 8)), (2, (6, 2, 4))],
            ),
        },
        mistakes={
            "stages_only": lambda stages, k_tiles: all(count % stages == 0 for count in k_tiles[:-1]),
            "last_too": lambda stages, k_tiles: all(count % (2 * stages) == 0 for count in k_tiles),
            "together": lambda stages, k_tiles: sum(k_tiles[:-1]) % (2 * stages) == 0,
        },
    ),
    part(
        ("15.2", "consume_tiles", 4),
        part=inside(judge.persistent, "consume", small=CONSUME, defer_stores=True),
        faults=(judge.not_deferred,),
        counted=COUNTED,
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
        ("15.3", "free_stage", 2),
        part=inside(judge.persistent, "free", small=FREE, cluster=(2, 1)),
        library=course("free_stage"),
    ),
    part(
        ("15.4", "my_gemm", 4),
        problem=SHARED,
        part=judge.WholeKernel(small=WHOLE, own=("consume", "free"), told=TOLD),
        shapes=((512, 512, 512), (129, 200, 72), (768, 640, 4096)),
        bench_shape=BENCH,
        tiers=(0.98,),
        library=course("consume_tiles", "free_stage") | {"COURSE": "COURSE"},
    ),
    part(
        ("15.5", "hand_over", 4),
        problem=SHARED,
        part=inside(judge.persistent, "give", "add", small=HAND_OVER, stream_k=True),
        library=course("give_part", "add_part"),
    ),
)
