"""Exercises of notebook 07: the ladder of cuTile GEMMs.

Kernels are interpreted on small matrices whose sizes are partly no multiples of the tile; a GPU times them beside
cuBLAS too.
"""

import math
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from tutorlib.checking.cutile import CutileExercise
from tutorlib.checking.cutile_host import HostExercise
from tutorlib.checking.drawn import beside
from tutorlib.checking.values import ValueExercise, law
from tutorlib.checking.work_limits import WorkLimits
from tutorlib.exercises.n07_cutile_gemm.choices import (
    PAIRS,
    REGISTERS,
    SHARED,
    SHARING,
    configs,
    fitting,
    no_spill,
)
from tutorlib.exercises.n07_cutile_gemm.judge.in_registers import InRegisters
from tutorlib.exercises.n07_cutile_gemm.judge.partial_products import parts_of_gemm
from tutorlib.exercises.n07_cutile_gemm.judge.through_tf32 import InTheirOwn
from tutorlib.exercises.n07_cutile_gemm.orders import (
    GRIDS,
    RAGGED_GRIDS,
    in_a_kernel,
    in_strips,
    ragged,
    strip_after_strip,
    whole,
)
from tutorlib.exercises.n07_cutile_gemm.shapes import (
    BENCH,
    BENCH_FP8,
    COURSE_GEMMS,
    SMALL,
    STEP,
    TILE_OF_PRODUCT,
    WHOLE,
    blocks_at_once,
    cut_otherwise,
    cut_short,
    factor_tiles,
    group_of,
    loads_of_tiles,
    padded,
    persistent_blocks,
    plain_tile,
    products_of_tiles,
    through,
    tiles,
)
from tutorlib.kernels.cutile.gemm import Config
from tutorlib.machine.features import FP8_MMA
from tutorlib.models.l2 import grouped
from tutorlib.problems.catalogue import gemm, gemm_fp8, gemm_tf32
from tutorlib.problems.problem import Shape
from tutorlib.problems.wrong import count

if TYPE_CHECKING:
    from tutorlib.checking.host_artifact import Planned


# 07.9 split_gemm ------------------------------------------------------------------------------------------------


def as_many_as_needed(shape: Shape, launched: "Sequence[Planned]", sms: int) -> str | None:
    """Whether K is cut where C has too few tiles, and only there; whether the sums have more blocks then; and whether
    each pass is launched once. Fewer parts are as good where each would have a single step.
    """
    if len(launched) > 2:
        return f"it launches {len(launched)} kernels, and two passes are enough"
    m, n, k = shape
    of_c, blocks = math.prod(tiles(shape, 128, 128)), math.prod(launched[0].grid)
    if blocks < (enough := of_c * (sms // of_c)) and k >= 128 * (sms // of_c):
        return (
            f"the GPU has {sms} SMs (torch.cuda.get_device_properties says so), and the launch has "
            f"{count(blocks, 'block')}: {enough} have a part of K each"
        )
    if of_c < sms < blocks:
        return f"the GPU has {sms} SMs, and of {blocks} blocks some wait for a second wave: round down"
    shared = [arg.shape for one in launched for arg in one.args if getattr(arg, "ndim", 0) == 3]
    if m * n >= 128 * 128 * sms and any(parts[0] > 1 for parts in shared):
        return f"C has tiles for all {sms} SMs already: {shared[0][0]} parts are extra work there"
    if any(parts[0] > tiles((k, 1), 64, 1)[0] for parts in shared):
        return f"{shared[0][0]} parts share {count(tiles((k, 1), 64, 1)[0], 'step')} of 64: some have nothing to do"
    adding = math.prod(launched[-1].grid)
    if shared and adding <= of_c < sms:
        return f"the second pass has {count(adding, 'block')} for {sms} SMs: give it tiles smaller than 128×128"
    return None


# 07.7 fp8 ---------------------------------------------------------------------------------------------------------


def skinny_tile(shape: Shape) -> tuple[int, int]:
    """tn and tk."""
    return (128, 128) if shape == BENCH_FP8 else (32, 16)


# The ladder -------------------------------------------------------------------------------------------------------

# 432 mma of 16×8×16 are all the work at 136×72×40, in tiles of 64×32 and steps of 16.
ON_TENSOR_CORES = WorkLimits(at_least=(("mma.sync", 216),))

tiled_gemm = partial(
    CutileExercise,
    shapes=SMALL,
    whole=WHOLE,
    simulated_shapes=SMALL[2:3],
    once=True,
    tiled=True,
    tiles=factor_tiles,
    loads=loads_of_tiles,
    products=products_of_tiles,
    bench_shape=BENCH,
)
EXERCISES = (
    tiled_gemm(
        id="07.1",
        title="gemm",
        points=4,
        problem=gemm("bf16"),
        library=COURSE_GEMMS | TILE_OF_PRODUCT,
        factors="bfloat16",
        limits=ON_TENSOR_CORES,
        mistakes=cut_short,
        grid=lambda shape: tiles(shape, *plain_tile(shape)[:2]),
        constants=plain_tile,
    ),
    ValueExercise(
        id="07.2",
        title="grouped",
        points=3,
        cases=(
            strip_after_strip("whole strips", GRIDS, whole),
            strip_after_strip("a lower last strip", RAGGED_GRIDS, ragged),
            in_a_kernel(10, 6, 4),
        ),
        library={"l2.grouped": grouped},
    ),
    ValueExercise(
        id="07.3",
        title="hints",
        points=3,
        cases=tuple(
            law(f"a tile of {tm}×{tn}", sorted({(tm, tn), (tn, tm)}), no_spill)
            for tm, tn in ((128, 128), (128, 256), (256, 256))
        ),
    ),
    tiled_gemm(
        id="07.4",
        title="persistent gemm",
        points=5,
        problem=gemm("bf16"),
        tiers=(0.7, 0.9),
        factors="bfloat16",
        limits=ON_TENSOR_CORES,
        mistakes=cut_short,
        placed=in_strips,
        grid=persistent_blocks,
        constants=lambda shape: (*plain_tile(shape), group_of(shape)),
        library=COURSE_GEMMS,
    ),
    ValueExercise(
        id="07.5",
        title="fits",
        points=3,
        cases=(
            fitting("registers", beside(REGISTERS, configs(ctas=(1, 2)), n=12)),
            fitting("shared memory", beside(SHARED, configs(tk=(64, 128, 256, 512)), n=12)),
            fitting("two CTAs", beside(PAIRS, configs(tk=(64, 128, 256), ctas=(2,)), n=12)),
            fitting("blocks that share an SM", beside(SHARING, configs(tk=(32, 64, 128), occupancy=(2, 3, 4)), n=12)),
        ),
        library={"Config.fits": Config.fits},
    ),
    tiled_gemm(
        id="07.6",
        title="gemm through tf32",
        points=3,
        problem=gemm_tf32(),
        factors="tfloat32",
        besides=InTheirOwn(problem=gemm("bf16"), shape=WHOLE[0]),
        mistakes=through,
        limits=WorkLimits(at_least=(("mma.sync", 432),)),  # 16×8×8 each; 864 are all the work
        tiers=(0.7,),
        requires=("mma.sync",),
        inspected=SMALL[2],
        grid=persistent_blocks,
        constants=lambda shape: (128, 128, 32, 8) if shape == BENCH else (*plain_tile(shape), 2),
        library=COURSE_GEMMS,
    ),
    CutileExercise(
        id="07.7",
        title="fp8, 320 rows",
        points=6,
        needs=FP8_MMA,
        problem=gemm_fp8(),
        once=True,
        factors="float8_e4m3fn",
        tiled=True,
        mistakes=cut_short,
        shapes=((320, 96, 64), (320, 68, 72), (257, 40, 56)),
        bench_shape=BENCH_FP8,
        tiers=(0.7, 0.9),
        requires=("wgmma",),
        arch="90",
        besides=InRegisters(problem=gemm_fp8(), shape=BENCH_FP8, arch="sm_90"),
        grid=lambda shape: blocks_at_once(shape, -(-shape[1] // skinny_tile(shape)[0])),
        constants=skinny_tile,
        loads=lambda shape: {  # a block has all rows of A, so B comes from memory once
            0: -(-shape[1] // skinny_tile(shape)[0]) * shape[0] * shape[2],
            1: shape[1] * shape[2],
        },
        products=lambda shape: 320 * padded(shape[1:], skinny_tile(shape)),
        library=COURSE_GEMMS,
    ),
    CutileExercise(
        id="07.8",
        title="partial_products",
        points=4,
        problem=parts_of_gemm(STEP),
        shapes=((2, 64, 64, 64), (3, 136, 72, 40), (4, 70, 104, 168), (5, 64, 40, 88)),  # 6 steps in 5 parts: runs of 2
        simulated_shapes=((3, 136, 72, 40),),
        once=True,
        factors="bfloat16",
        tiled=True,
        tiles=factor_tiles,
        loads=loads_of_tiles,
        products=products_of_tiles,
        limits=ON_TENSOR_CORES,
        grid=lambda shape: (*tiles(shape[1:3], 64, 32), shape[0]),
        constants=lambda shape: (64, 32, STEP),
        mistakes=cut_otherwise,
        library=COURSE_GEMMS,
    ),
    HostExercise(
        id="07.9",
        title="split_gemm",
        points=4,
        problem=gemm("bf16"),
        shapes=((128, 128, 512), (100, 72, 700), (384, 256, 128), (120, 90, 40), (200, 128, 256)),
        simulated_shapes=((128, 72, 192), (256, 128, 128)),  # three parts, and one; compiled once for both
        limits=WorkLimits(at_least=(("mma.sync", 1536),), at_most=(("mma.sync", 1536),)),
        bench_shape=(512, 512, 16384),
        unlike=as_many_as_needed,
        mistakes=cut_short,
        library=COURSE_GEMMS,
    ),
)
