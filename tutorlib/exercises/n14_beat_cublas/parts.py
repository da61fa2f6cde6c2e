"""Exercises whose answers are the parts of the persistent kernel, and the one that puts them together."""

from functools import partial
from typing import Any

from tutorlib.checking.cute import CuteExercise
from tutorlib.checking.exercise import Remedy
from tutorlib.checking.library_use import InModule
from tutorlib.checking.work_limits import WorkLimits
from tutorlib.exercises.n14_beat_cublas.judge.slots import (
    ACCUMULATORS,
    FLAGS,
    ConsumeSlot,
    RolesSlot,
    Settings,
    Slot,
    SlotFlaw,
    StoreSlot,
    WholeKernel,
)
from tutorlib.failure import Difference, Fail, Hazard
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
        hints=(
            "The blocks that share A's tile have the same m, so they differ in n: cluster[1] of them, and this one is "
            "number block[1]. For B's tile exchange the two.",
            "tma_partition(operand.tma, block[1 - mode], cute.make_layout(cluster[1 - mode]), …) cuts this block's "
            "slice out of both tiles.",
            "Block (m, n) has rank m + n * cluster[0]. For A the mask has the bits n * cluster[0], for all n, shifted "
            "left by block[0]. For B it has cluster[0] neighboring bits, shifted left by block[1] * cluster[0].",
        ),
        remedies=(
            Remedy(
                Hazard.DEADLOCK,
                "Each block waits for the bytes of whole tiles. Which slices does it get, and from which blocks?",
            ),
            Remedy(Difference.WRONG, "Which slice of the tile does this block load, and for which row or column?"),
        ),
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
        hints=(
            "Two loops, one in the other: over tiles.items(), and over the item's k_tiles.",
            "The ring does not know where a tile ends. So make the state once, before both loops.",
            "item = tiles.take(number); then for each step loads.issue(item.tile, item.k_tile(step), state.index, "
            "state.phase) and state.advance(). After the last tile loads.finish(state).",
        ),
        remedies=(
            Remedy(
                (Hazard.DEADLOCK, Hazard.UNWAITED),
                "The state must say which stage comes next and how often the ring has gone round, over all tiles.",
            ),
            Remedy(
                Fail.TOO_MANY(instruction="mbarrier.try_wait"),
                "loads.finish(state) comes once, after the last tile. Within the loop it empties the ring after each "
                "tile, and the next tile's loads start late.",
            ),
        ),
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
        hints=(
            "The warpgroups 0 to consumers - 1 multiply; the last one is the producer.",
            "setmaxnreg is an instruction of a whole warpgroup: all four warps of the producer return registers, "
            "though only one of them goes on to load.",
            "if me.group == consumers: setmaxregister_decrease(registers[0]), and inside `if me.warp == 0:` produce(). "
            "else: setmaxregister_increase(registers[1]), then consume().",
        ),
        remedies=(
            Remedy(
                Hazard.REGISTERS,
                "Who returns registers, and do all four warps of that warpgroup? Who takes them, and how many?",
            ),
            Remedy(
                Hazard.DEADLOCK,
                "All four warps of the producer's warpgroup return registers before one of them calls produce(), and "
                "each role uses its own number of `registers`.",
            ),
            Remedy(SlotFlaw.REGISTERS_LATE, "Take the registers first, then call consume()."),
            Remedy(
                Fail.TOO_FEW,
                "Both instructions are needed: registers that no warp takes are wasted, and a consumer without them "
                "spills.",
            ),
        ),
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
        hints=(
            "It is 14.2's loop in a loop over tiles: multiply.step does its first four lines, multiply.retire does "
            "wait_group and the arrival.",
            "`if cutlass.const_expr(defer):` chooses at compile time. Deferred, tile number - 1 is stored after the "
            "first step of tile number; and the last tile after the loop.",
            "A clone keeps the stage that is in flight: before = state.clone(). retire(1, before) in the loop, "
            "retire(0, before) after it; only then round.",
        ),
        remedies=(
            Remedy(SlotFlaw.NOT_DEFERRED, "Where in the loop are wgmmas in flight that no warp waits for yet?"),
            Remedy(Fail.TOO_MANY(instruction="mbarrier.arrive"), "retire(…) once for each step: it frees the stage."),
            Remedy(Fail.TOO_MANY, "out.drain() once, after the last tile; no barrier of the warps in a step."),
            Remedy(SlotFlaw.ALWAYS_DEFERRED, "`if cutlass.const_expr(defer):`, and round_and_store in the other case."),
            Remedy(
                Difference.UNWRITTEN,
                "Is every tile stored, also the last one of each block? Deferred, it is stored after the loop.",
            ),
            Remedy(
                Hazard.DEADLOCK,
                "Count: each step needs one retire, of its own stage, and the state goes on from tile to tile.",
            ),
            Remedy(Hazard.UNWAITED(lacks="wgmma"), "retire(0, …) before you round: the accumulators must be complete."),
        ),
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
        hints=(
            "Piece p goes through buffer p % out.buffers. Before you write the buffer, its previous copy must have "
            "been read.",
            "cp_async_bulk_wait_group(n, read=True) returns when at most n groups of this thread have not been read "
            "yet. With b buffers, b - 1 newer copies may be in flight. The first piece must wait for the previous "
            "tile's copies: all of them.",
            "One lane issues the copies, and only that lane's wait means anything: after the wait sync_warp(), so that "
            "the others know. After out.write a fence_proxy and sync_warp(), so that TMA sees what all lanes wrote.",
        ),
        remedies=(
            Remedy(Hazard.PROXY, 'After out.write: fence_proxy("async.shared", space="cta"), then sync_warp().'),
            Remedy(
                Hazard.RACE,
                "Between the write of a lane and the copy, and between the copy's wait and the next write, the warp "
                "must meet: sync_warp().",
            ),
        ),
    ),
    part(
        id="14.16",
        title="free_stage",
        points=3,
        problem=gemm("bf16"),
        part=Slot(names=("free",), settings={"cluster": (2, 1)}, small=SMALL["free"]),
        simulated_shapes=sizes(SMALL["free"]),
        library={"free_stage": InModule(PARTS, "free_stage")},
        hints=(
            "This block's stage holds slices that other blocks loaded: those with its m loaded A's, those with its n "
            "loaded B's. Each of them must hear from every warp that reads the slice.",
            "Let lane r arrive at the block whose place is m = r % cluster[0], n = r // cluster[0].",
            "if n < ring.cluster[1] and (m == ring.block[0] or n == ring.block[1]): "
            "cute.arch.mbarrier_arrive(ring.empty + stage, ring.first + lane).",
        ),
        remedies=(
            Remedy(
                Hazard.DEADLOCK,
                "`empty` of a block completes with one arrival of each warp that reads something this block loads, on "
                "whatever SM that warp is.",
            ),
            Remedy(
                (Hazard.MBARRIER, Hazard.UNWAITED),
                "One arrival of each warp in each of cluster[0] + cluster[1] - 1 blocks: the own block is in both its "
                "row and its column, and counts once.",
            ),
        ),
    ),
    part(
        id="14.17",
        title="hand_over",
        points=4,
        problem=gemm_shared(ACCUMULATORS, FLAGS),
        part=Slot(names=("give", "add"), settings={"stream_k": True}, small=SMALL["hand over"]),
        simulated_shapes=sizes(SMALL["hand over"]),
        library={"give_part": InModule(PARTS, "give_part"), "add_part": InModule(PARTS, "add_part")},
        hints=(
            "All lanes write, one lane raises the flag. What makes sure that the others are done?",
            'cute.arch.store(part.flag, Int32(1), sem="release", scope="gpu") publishes what the warp wrote before; '
            'cute.arch.load(part.flag, Int32, sem="acquire", scope="gpu") makes it visible.',
            "The adder polls: given = Int32(0); while given == 0: given = cute.arch.make_warp_uniform(load of the "
            "flag). Then sync_warp, add every slice, and let one lane set the flag to 0 for the next launch.",
        ),
        remedies=(
            Remedy(
                Hazard.OVERLAP,
                "The order is: all lanes write, sync_warp, one lane stores the flag with release; and: load the flag "
                "with acquire until it is set, sync_warp, add. Both have the scope gpu.",
            ),
            Remedy(
                Fail.INPUT_CHANGED,
                "When the kernel ends, every flag must be zero again, for the next launch: the adder clears it, after "
                "it has waited until the giver raised it.",
            ),
            Remedy(Hazard.ENDLESS, "Does the giver raise the very flag that the adder waits for, and to that value?"),
            Remedy(Difference.WRONG, "Is every slice added, once?"),
        ),
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
        hints=(
            "Return two things: your choice for the shape, and Parts(…) with your eight functions.",
            "Parts has the slots roles, produce, consume, store, load, free, give and add: name them.",
        ),
    ),
)
