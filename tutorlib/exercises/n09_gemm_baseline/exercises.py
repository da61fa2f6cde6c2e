"""Exercises of notebook 09: the first GEMM on tensor cores, part by part."""

from collections.abc import Callable
from functools import partial
from random import Random

from tensor_layouts import Layout, is_layout, size

from tutorlib.checking.ampere_loop import AMPERE_TIMED, COURSE_KERNEL, COURSE_LOOPS, AmpereLoop
from tutorlib.checking.cute import CuteExercise
from tutorlib.checking.drawn import Drawn, beside
from tutorlib.checking.library_use import InModule
from tutorlib.checking.values import Mistake, ValueExercise, equals, law, shorten
from tutorlib.checking.work_limits import WorkLimits
from tutorlib.exercises.n09_gemm_baseline.judge.made_parts import (
    SECTOR,
    VECTOR,
    GlobalCopy,
    GroupedEpilogue,
    OperandsPart,
    SmemLayout,
    WarpsOfMma,
)
from tutorlib.exercises.n09_gemm_baseline.judge.methods import Method
from tutorlib.exercises.n09_gemm_baseline.judge.traced import layout_returned
from tutorlib.exercises.n09_gemm_baseline.remedies import BASELINE_REMEDIES, ColumnFlaw
from tutorlib.failure import Flaw
from tutorlib.kernels.ampere.config import GemmConfig
from tutorlib.problems.catalogue import gemm

BENCH = (4096, 4096, 4096)
WHOLE_AND_RAGGED = ((256, 256, 256), (384, 128, 192), (129, 200, 72))
EDGES = ((256, 256, 256), (127, 65, 64), (129, 1000, 72))  # the last one's rows are aligned, its tiles not whole
TWO_VECTORS = GemmConfig((64, 64, 128), stages=2)  # of a row of 128 elements a thread copies two vectors
RAGGED = ((129, 200, 136),)  # several blocks and K tiles, and tiles that extend past every edge

PARTS = {  # of the course's kernel: the modules that define them
    **dict.fromkeys(("smem_layout", "n_order"), "layouts"),
    **dict.fromkeys(("make_copy_g2s", "make_mma"), "thread_share"),
    **dict.fromkeys(("load", "fetch", "multiply"), "moves"),
    "make_operands": "operands",
    "store": "epilogues",
}


def course(*names: str) -> dict[str, InModule]:
    """The course's own parts of the kernel."""
    return {f"{name} of the course": InModule(f"tutorlib.kernels.ampere.{PARTS[name]}", name) for name in names}


def no_other_waits(loop: int) -> tuple[tuple[str, int], ...]:
    """Limits: no barrier, commit or wait but the main loop's."""
    return ("bar.sync", loop), ("cp.async.commit", loop), ("cp.async.wait", loop)


# 09.1 loaded_bytes ----------------------------------------------------------------------------------------------


def loaded_bytes(m: int, n: int, k: int, tile_m: int, tile_n: int) -> int:
    blocks = -(-m // tile_m) * -(-n // tile_n)
    return blocks * (tile_m + tile_n) * k * 2


LOADING = (
    Mistake(
        "That is each matrix once. Every block loads its own rows of A and of B, even if others have loaded them.",
        lambda m, n, k, tile_m, tile_n: (m + n) * k * 2,
    ),
    Mistake("Elements are 2 bytes.", lambda m, n, k, tile_m, tile_n: loaded_bytes(m, n, k, tile_m, tile_n) // 2),
    Mistake(
        "A tile that is partly outside needs a block, too: round the number of blocks up.",
        lambda m, n, k, tile_m, tile_n: (m // tile_m) * (n // tile_n) * (tile_m + tile_n) * k * 2,
    ),
    Mistake(
        "Where the tiles fit exactly, that is one tile too many: divide and round up.",
        lambda m, n, k, tile_m, tile_n: (m // tile_m + 1) * (n // tile_n + 1) * (tile_m + tile_n) * k * 2,
    ),
    Mistake(
        "That is one block's load. How many blocks are there?",
        lambda m, n, k, tile_m, tile_n: (tile_m + tile_n) * k * 2,
    ),
    Mistake("bf16 has 2 bytes.", lambda m, n, k, tile_m, tile_n: 2 * loaded_bytes(m, n, k, tile_m, tile_n)),
    Mistake(
        "C is written, not loaded.", lambda m, n, k, tile_m, tile_n: loaded_bytes(m, n, k, tile_m, tile_n) + 2 * m * n
    ),
    Mistake(
        "A block loads B's rows, too.",
        lambda m, n, k, tile_m, tile_n: -(-m // tile_m) * -(-n // tile_n) * tile_m * k * 2,
    ),
    Mistake(
        "A tile that is partly outside counts as a whole one here.",
        lambda m, n, k, tile_m, tile_n: 2 * k * (-(-n // tile_n) * m + -(-m // tile_m) * n),
    ),
    Mistake(
        "A block loads tile_m rows of A and tile_n rows of B: their sum, not their product.",
        lambda m, n, k, tile_m, tile_n: -(-m // tile_m) * -(-n // tile_n) * tile_m * tile_n * k * 2,
    ),
)


def problems(seed: int, whole: bool, n: int = 20) -> list[tuple[int, ...]]:
    rng = Random(seed)
    sizes: list[tuple[int, ...]] = []
    for _ in range(n):
        tile = rng.choice((64, 128, 256)), rng.choice((32, 128, 256))
        m, n = (t * rng.randrange(1, 9) + (0 if whole else rng.randrange(1, t)) for t in tile)
        sizes.append((m, n, rng.randrange(8, 4096, 8), *tile))
    return sizes


# 09.2 smem_layout -----------------------------------------------------------------------------------------------

# 09.7 columns ---------------------------------------------------------------------------------------------------


def columns(warps: int, tile_n: int) -> Layout:
    return Layout((2, 4, warps, 4, tile_n // (32 * warps)), (1, 8, 32, 2, 32 * warps))


def mma_column(value: int, lane: int, warp: int, atom: int, warps: int) -> int:
    """The MMA's column of a thread's value: lanes 0 to 3 of a row, atoms of 8 columns."""
    return value + 2 * lane + 8 * warp + 8 * warps * atom


def wide(warps: int) -> Callable[[Random], tuple]:
    """Calls with tiles of any width."""
    return lambda rng: (warps, 32 * warps * rng.randint(1, 9))


def not_in_vectors(got: Layout, warps: int, tile_n: int) -> str | None:
    """Why a thread's accumulators of 4 neighboring atoms are not 8 neighbors in memory, or None."""
    if not is_layout(got):
        return Flaw("it should be a layout", ColumnFlaw.NO_LAYOUT)
    if size(got) != tile_n:
        return Flaw(f"it has {size(got)} columns, the tile has {tile_n}", ColumnFlaw.SIZE)
    places = [got(column) for column in range(tile_n)]
    if sorted(places) != list(range(tile_n)):
        return Flaw(f"the columns 0 to {tile_n - 1} should all be hit, each once", ColumnFlaw.NOT_ALL)
    for warp in range(warps):
        for lane in range(4):
            for four in range(0, tile_n // (8 * warps), 4):
                mine = [
                    places[mma_column(value, lane, warp, atom, warps)]
                    for atom in range(four, four + 4)
                    for value in range(2)
                ]
                if mine != list(range(mine[0], mine[0] + 8)) or mine[0] % 8:
                    return Flaw(
                        f"lane {lane} of warp {warp} has columns {shorten(mine)} in its atoms {four} to {four + 3}; "
                        "they should be 8 neighbors that begin at a multiple of 8",
                        ColumnFlaw.NO_VECTOR,
                    )
    return half_sectors(places, warps)


def half_sectors(places: list[int], warps: int) -> str | None:
    """Why a warp's stores, 8 columns in each lane, fill sectors by half only, or None."""
    for warp in range(warps):
        starts = [places[mma_column(0, lane, warp, 0, warps)] for lane in range(4)]
        if (sectors := len({start // SECTOR for start in starts})) > 4 * VECTOR // SECTOR:
            return Flaw(
                f"the lanes 0 to 3 of warp {warp} store 16 bytes each from the columns {shorten(starts)} on, which is "
                f"half of each of {sectors} sectors; neighboring lanes should be neighbors in memory",
                ColumnFlaw.HALF_SECTORS,
            )
    return None


PERMUTING = (
    Mistake(
        "That is the inverse: it takes a column of the tile to a column of the MMA.",
        lambda warps, tile_n: Layout((2, 4, 4, warps, tile_n // (32 * warps)), (1, 8 * warps, 2, 8, 32 * warps)),
    ),
    Mistake("That changes nothing: every column stays where it was.", lambda warps, tile_n: Layout(tile_n, 1)),
    Mistake(
        "Atoms run before values: a lane's two neighbors of an atom would be 4 columns apart.",
        lambda warps, tile_n: Layout((2, 4, warps, 4, tile_n // (32 * warps)), (4, 8, 32, 1, 32 * warps)),
    ),
)

# --------------------------------------------------------------------------------------------------------------


gemm_exercise = partial(
    CuteExercise, archs=AMPERE_TIMED, problem=gemm("bf16"), shapes=WHOLE_AND_RAGGED, simulated_shapes=RAGGED
)
EXERCISES = (
    ValueExercise(
        id="09.1",
        title="loaded_bytes",
        points=2,
        cases=(
            equals("whole tiles", Drawn(partial(problems, whole=True), 1), loaded_bytes, LOADING),
            equals("tiles partly outside", Drawn(partial(problems, whole=False), 2), loaded_bytes, LOADING),
        ),
        hints=(
            "How many blocks are there, and what does one of them load in all its steps along K?",
            "A block loads (tile_m + tile_n) rows of k elements.",
        ),
        remedies=BASELINE_REMEDIES["09.1"],
    ),
    gemm_exercise(
        id="09.2",
        title="swizzled shared memory",
        points=3,
        part=SmemLayout(),
        requires=("cp.async", "ldmatrix", "mma.sync"),
        library=course("smem_layout"),
        hints=(
            "A row of 64 elements is 8 vectors of 8: three bits each for the row, the vector and the element.",
            "cute.make_swizzle(3, 3, 3) for 64; rows of 32 have two bits of vectors, so cute.make_swizzle(2, 3, 3).",
            "cute.make_composed_layout(swizzle, 0, cute.make_layout((8, width), stride=(width, 1))) is the atom.",
        ),
        remedies=BASELINE_REMEDIES["09.2"],
    ),
    gemm_exercise(
        id="09.3",
        title="single buffer",
        points=4,
        part=AmpereLoop(stages=(1,), barriers=2, k_blocks=(4, 2)),
        # 4 blocks of 4 warps: two barriers for each of 3 K tiles, and one; all else once
        limits=WorkLimits(at_most=(("bar.sync", 112), ("cp.async.c", 1000), ("ldmatrix", 2000))),
        requires=("cp.async", "ldmatrix", "mma.sync", "bar.sync"),
        library=COURSE_LOOPS,
        hints=(
            "Notebook 05: issue, commit, wait, barrier. Then the four K blocks: fetch, multiply.",
            "Before the next tile may overwrite the buffer, every warp must have fetched from it.",
            "There are two barriers: one after the wait, one at the loop's end.",
        ),
        remedies=BASELINE_REMEDIES["09.3"],
    ),
    gemm_exercise(
        id="09.4",
        title="who copies what",
        points=3,
        part=GlobalCopy(),
        requires=("cp.async", "ldmatrix", "mma.sync"),
        library=course("make_copy_g2s"),
        hints=(
            "A row of the tile is bK elements, and a thread takes 8 of them: how many threads side by side fill a row?",
            "lanes = bK // VECTOR. The threads are a layout (threads // lanes, lanes) with the lanes running fastest.",
            "Threads: cute.make_layout((config.threads // lanes, lanes), stride=(lanes, 1)). Values: (1, VECTOR).",
        ),
        remedies=BASELINE_REMEDIES["09.4"],
    ),
    gemm_exercise(
        id="09.5",
        title="who multiplies what",
        points=2,
        part=WarpsOfMma(),
        requires=("cp.async", "ldmatrix", "mma.sync"),
        library=course("make_mma"),
        hints=(
            "warp.MmaF16BF16Op(dtype, cutlass.Float32, (16, 8, 16)) is the instruction.",
            "cute.make_tiled_mma(op, layout of warps, permutation_mnk=what they cover together).",
            "Warps: cute.make_layout((m, n, 1)). They cover (16 * m, 16 * n, 16), two atoms of 8 columns each.",
        ),
        remedies=BASELINE_REMEDIES["09.5"],
    ),
    gemm_exercise(
        id="09.6",
        title="operands",
        points=3,
        part=OperandsPart(),
        requires=("cp.async", "ldmatrix", "mma.sync"),
        library=course("make_operands"),
        hints=(
            "Registers: partition sA with the MMA's slice, pick buffer 0, make_fragment_A.",
            "cute.make_tiled_copy_A(ldmatrix, tiled_mma) knows the order in which the mma reads A. B has its own.",
            "Of the copy's slice: partition_S(sA) is what it reads, retile(tCrA) the registers as it fills them.",
        ),
        remedies=BASELINE_REMEDIES["09.6"],
    ),
    ValueExercise(
        id="09.7",
        title="columns",
        points=3,
        cases=(
            law("one warp across", beside([(1, 32), (1, 64), (1, 128)], wide(1)), not_in_vectors, PERMUTING),
            law("two warps across", beside([(2, 64), (2, 128), (2, 256)], wide(2)), not_in_vectors, PERMUTING),
            law("four warps across", beside([(4, 128), (4, 256)], wide(4)), not_in_vectors, PERMUTING),
        ),
        through=layout_returned,
        library=course("n_order"),
        hints=(
            "Write the MMA's column as digits: value (2), lane (4), warp (warps), atom in its four (4), the rest.",
            "In memory a thread's value runs fastest, then its atom, then the lane, then the warp.",
            "Strides: value 1, lane 8, warp 32, atom 2, the rest 32 * warps.",
        ),
        remedies=BASELINE_REMEDIES["09.7"],
    ),
    gemm_exercise(
        id="09.8",
        title="vectorized write-back",
        points=3,
        part=GroupedEpilogue(),
        shapes=EDGES,
        simulated_shapes=((129, 136, 72), (128, 128, 64), (127, 65, 64)),
        requires=("st.global.v4",),
        # a store right behind an equal one is left out by the compiler
        limits=WorkLimits(at_most=(("st.global", 128), ("bar.sync", 96))),
        library=course("store"),
        hints=(
            "`eight` picks 8 neighbors from the registers, from their places in C, and from the coordinates.",
            "One comparison serves all eight: that of acc.coordinates[(0, row), m, (0, n)].",
            "if cute.elem_less(that, acc.shape): cute.autovec_copy(registers[eight], acc.tCgC[eight])",
        ),
        remedies=BASELINE_REMEDIES["09.8"],
    ),
    gemm_exercise(
        id="09.9",
        title="your GEMM",
        points=6,
        requires=("cp.async", "ldmatrix", "mma.sync", "bar.sync", "st.global.v4"),
        lean=("cp.async", "ldmatrix", "st.global"),
        once=True,
        # 2 blocks of 4 warps: two barriers for each of 2 K tiles, and one; all else once
        limits=WorkLimits(
            at_most=(("bar.sync", 40), ("cp.async.c", 300), ("ldmatrix", 600), ("st.global", 160)), budget=45_000
        ),
        spills=False,
        simulated_shapes=((256, 128, 128), (129, 200, 72)),
        bench_shape=BENCH,
        tiers=(0.8, 0.95),
        library=COURSE_KERNEL | COURSE_LOOPS | course(*PARTS),
        hints=(
            "A's copies: copies = g2s.get_slice(thread); copies.partition_S(gA) in global memory, "
            "copies.partition_D(sA) in shared memory, copies.partition_S(cA) for the coordinates.",
            "C: math = tiled_mma.get_slice(thread), tCgC = math.partition_C(gC), tiled_mma.make_fragment_C(tCgC).",
            "The host: config.grid(*c.shape) returns the tiles in M and in N; grid=(their product, 1, 1), "
            "block=(config.threads, 1, 1).",
        ),
        remedies=BASELINE_REMEDIES["09.9"],
    ),
    gemm_exercise(
        id="09.10",
        title="load, with zeros at the edges",
        points=4,
        part=Method(name="copies", method="load", config=TWO_VECTORS),
        simulated_shapes=((65, 72, 136), (64, 64, 128)),
        requires=("cp.async",),
        # 4 blocks, 2 K tiles: 16 copies for each warp
        limits=WorkLimits(at_most=(("cp.async.cg", 512), ("st.shared", 0), *no_other_waits(48))),
        library=course("load"),
        hints=(
            "One K tile of the source, one buffer of the target: path.source[None, None, None, k_tile], and where "
            "path.places is None cute.copy(path.tiled_copy, source, target) is all.",
            "Otherwise one boolean for each vector: inside = cute.make_rmem_tensor((1, rows, vectors), "
            "cutlass.Boolean), where rows and vectors are the sizes of the target's modes 1 and 2.",
            "inside[0, row, vector] = cute.elem_less(path.places[0, row, vector, k_tile], path.limit), in two Python "
            "loops; then cute.copy(…, pred=inside).",
        ),
        remedies=BASELINE_REMEDIES["09.10"],
    ),
    gemm_exercise(
        id="09.11",
        title="fetch",
        points=2,
        part=Method(method="fetch"),
        requires=("ldmatrix",),
        limits=WorkLimits(at_most=(("ldmatrix", 2000), *no_other_waits(64))),
        library=course("fetch"),
        hints=(
            "r.s2r is the copy, r.tXsX its source in shared memory, r.tXrX its target: for r in (steps.rA, steps.rB).",
            "One K block of one buffer, with all its values and atoms: r.tXsX[None, None, k_block, buffer].",
        ),
        remedies=BASELINE_REMEDIES["09.11"],
    ),
    gemm_exercise(
        id="09.12",
        title="multiply",
        points=2,
        part=Method(method="multiply"),
        requires=("mma.sync",),
        limits=WorkLimits(at_most=(("mma", 6144), ("", 23_000), *no_other_waits(64))),  # no arithmetic but mma.sync
        library=course("multiply"),
        hints=(
            "cute.gemm(tiled_mma, D, A, B, C): D and C are the accumulators, steps.tCrC.",
            "A is one K block of the mma's view of the registers: steps.rA.tCrX[None, None, k_block].",
        ),
        remedies=BASELINE_REMEDIES["09.12"],
    ),
)
