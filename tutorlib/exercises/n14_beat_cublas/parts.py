"""Exercises whose answers are the parts of the persistent kernel, and the one that puts them together."""

from functools import partial
from typing import Any

from tutorlib.checking.cute import CuteExercise
from tutorlib.checking.library_use import InModule
from tutorlib.checking.work_limits import WorkLimits
from tutorlib.exercises.n14_beat_cublas.judge.slots import (
    ACCUMULATORS,
    FLAGS,
    ConsumeSlot,
    RolesSlot,
    Settings,
    Slot,
    StoreSlot,
    WholeKernel,
)
from tutorlib.machine.features import WGMMA
from tutorlib.problems.catalogue import gemm, gemm_shared
from tutorlib.problems.problem import Shape

PARTS = "tutorlib.kernels.hopper.parts"
NAMES = (
    *("take_roles", "produce_tiles", "consume_tiles", "store_pieces"),
    *("load_shared", "free_stage", "give_part", "add_part"),
)
SHAPES = ((512, 512, 512), (384, 1024, 840), (129, 200, 72))
RING = {"tile": (64, 64, 64), "stages": 3}
SPLIT = {"persistent": False, "split_k": 2}
BENCH = (4096, 4096, 4096)
# 2 blocks with 6 tiles of 5 K tiles: the producer waits for each stage, and for all 3 at the end; 4 warps multiply.
ARRIVALS = 2 * 6 * 5 * (1 + 4)
WAITS = ARRIVALS + 2 * 3
CONSUMED = 12 * 4 + 8  # 12 tiles of a piece in each of 4 warps, and the end of 2 blocks
STORED = 6 * 4 * 4  # 6 tiles, 4 warps: 4 pieces

SMALL: dict[str, tuple[tuple[Shape, Settings], ...]] = {
    "roles": (
        ((200, 136, 136), {"tile": (128, 64, 64), "stages": 2}),
        ((200, 72, 72), {"tile": (192, 192, 64), "warpgroups": 3, "stages": 2}),
    ),
    "produce": (
        ((200, 136, 264), RING | {"cluster": (2, 1)}),
        ((136, 72, 264), RING | SPLIT | {"cluster": (2, 1)}),
    ),
    "consume": (((200, 136, 264), RING | {"defer_stores": True}), ((136, 72, 136), RING)),
    "store": (
        ((136, 512, 72), {"tile": (64, 256, 64), "stages": 2, "store_stages": 2}),
        ((136, 128, 72), {"tile": (64, 128, 64), "stages": 2, "store_stages": 1}),
    ),
    "load": (((256, 136, 200), RING | {"cluster": (2, 2)}), ((64, 200, 136), RING | {"cluster": (1, 4)})),
    "free": (((256, 136, 328), RING | {"cluster": (2, 2)}), ((64, 136, 520), RING | SPLIT | {"cluster": (1, 2)})),
    # One tile of 3 slices. The giver has 5 K tiles, the adder 4, as many as stages: so the adder is there first.
    "hand over": (((64, 192, 520), {"tile": (64, 192, 64), "stages": 4, "stream_k": True}),),
}
WHOLE = (
    ((136, 72, 264), RING | {"cluster": (2, 2), "defer_stores": True}),
    # two blocks, since one cluster alone shares no tile; with two consumer warpgroups, registers must move
    ((328, 64, 264), {"tile": (128, 64, 64), "stages": 3, "stream_k": True, "defer_stores": True}),
    ((64, 72, 456), RING | SPLIT | {"cluster": (1, 2)}),
)


def sizes(small: tuple[tuple[Shape, Settings], ...]) -> tuple[Shape, ...]:
    return tuple(shape for shape, _ in small)


part: Any = partial(CuteExercise, needs=WGMMA, archs=("90",), shapes=SHAPES)

PART_EXERCISES = (
    part(
        id="14.5",
        title="load_shared",
        points=3,
        problem=gemm("bf16"),
        part=Slot(names=("load",), settings={"cluster": (2, 1)}, small=SMALL["load"]),
        simulated_shapes=sizes(SMALL["load"]),
        limits=WorkLimits(at_most=(("bar.sync|barrier", 64), ("fence", 136))),
        library={"load_shared": InModule(PARTS, "load_shared"), "make_layout_image_mask": "make_layout_image_mask"},
    ),
    part(
        id="14.7",
        title="produce_tiles",
        points=3,
        problem=gemm("bf16"),
        part=Slot(names=("produce",), small=SMALL["produce"]),
        simulated_shapes=sizes(SMALL["produce"]),
        limits=WorkLimits(at_most=(("mbarrier.try_wait", WAITS), ("bar.sync|barrier", 32), ("fence", 100))),
        library={"produce_tiles": InModule(PARTS, "produce_tiles")},
    ),
    part(
        id="14.13",
        title="take_roles",
        points=3,
        problem=gemm("bf16"),
        part=RolesSlot(names=("roles",), small=SMALL["roles"]),
        simulated_shapes=sizes(SMALL["roles"]),
        limits=WorkLimits(
            at_least=(("setmaxnreg.dec", 8), ("setmaxnreg.inc", 16)),
            at_most=(("setmaxnreg", 24), ("bar.sync|barrier", 24)),
        ),
        library={"take_roles": InModule(PARTS, "take_roles")},
    ),
    part(
        id="14.14",
        title="consume_tiles",
        points=4,
        problem=gemm("bf16"),
        part=ConsumeSlot(names=("consume",), settings={"defer_stores": True}, small=SMALL["consume"]),
        simulated_shapes=sizes(SMALL["consume"]),
        limits=WorkLimits(
            at_most=(
                ("bar.sync|barrier", 16),
                ("cp.async.bulk.wait_group", CONSUMED + 8),
                ("mbarrier.arrive", ARRIVALS),
            )
        ),
        bench_shape=BENCH,
        tiers=(0.95,),
        library={"consume_tiles": InModule(PARTS, "consume_tiles")},
    ),
    part(
        id="14.15",
        title="store_pieces",
        points=3,
        problem=gemm("bf16"),
        part=StoreSlot(names=("store",), settings={"defer_stores": True}, small=SMALL["store"]),
        simulated_shapes=sizes(SMALL["store"]),
        limits=WorkLimits(
            at_most=(
                ("bar.warp.sync", 2 * STORED),  # the first piece may wait for a buffer too
                ("bar.sync|barrier", 16),
                ("fence.proxy", STORED),
                ("stmatrix", 4 * STORED),
                ("cp.async.bulk.tensor.2d.global", STORED),
            ),
        ),
        library={"store_pieces": InModule(PARTS, "store_pieces")},
    ),
    part(
        id="14.16",
        title="free_stage",
        points=3,
        problem=gemm("bf16"),
        part=Slot(names=("free",), settings={"cluster": (2, 1)}, small=SMALL["free"]),
        simulated_shapes=sizes(SMALL["free"]),
        library={"free_stage": InModule(PARTS, "free_stage")},
    ),
    part(
        id="14.17",
        title="hand_over",
        points=4,
        problem=gemm_shared(ACCUMULATORS, FLAGS),
        part=Slot(names=("give", "add"), settings={"stream_k": True}, small=SMALL["hand over"]),
        simulated_shapes=sizes(SMALL["hand over"]),
        library={"give_part": InModule(PARTS, "give_part"), "add_part": InModule(PARTS, "add_part")},
    ),
    part(
        id="14.18",
        title="my_gemm",
        points=4,
        problem=gemm_shared(ACCUMULATORS, FLAGS),
        part=WholeKernel(small=WHOLE),
        shapes=((512, 512, 512), (129, 200, 72), (768, 640, 4096)),
        simulated_shapes=sizes(WHOLE),
        bench_shape=BENCH,
        tiers=(0.98,),
        library={name: InModule(PARTS, name) for name in NAMES} | {"COURSE": "COURSE"},
    ),
)
