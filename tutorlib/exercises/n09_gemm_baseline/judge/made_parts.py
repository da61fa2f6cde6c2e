"""Answers that make a TiledCopy, a TiledMma, operands or a layout: examined in a CuTe trace, then used in the
kernel.
"""

from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from typing import Any

from tutorlib.checking.ampere import AmperePart, PartName
from tutorlib.checking.exercise import Answer, Verdict, WrongKind, wrong
from tutorlib.checking.part import HostFunction, need_callable
from tutorlib.checking.values import shorten
from tutorlib.compiling.errors import CompileFailed
from tutorlib.exercises.n09_gemm_baseline.judge.traced import in_cute
from tutorlib.failure import Fail, FailureKind, Flaw
from tutorlib.kernels.ampere.config import GemmConfig
from tutorlib.models import banks
from tutorlib.problems.wrong import count

VECTOR = 8  # bf16 elements in 16 bytes
WARP, SECTOR = 32, 16  # threads; bf16 elements in 32 bytes
Element = tuple[int, int]  # row and column in a tile
CONFIGS = (GemmConfig(), GemmConfig((128, 128, 32)), GemmConfig((128, 256, 32), (2, 4)))


class MadeFlaw(FailureKind):
    """Faults of an object that an answer makes."""

    NO_OBJECT = "not what is made"
    THREADS = "threads"
    NOT_ALONG_K = "values not along K"
    ATOM = "another atom"
    PARTS = "parts of an operand"
    TOO_WIDE = "too wide"
    COPIED_TWICE = "copied twice"
    SECTORS = "sectors of global memory"
    WAVEFRONTS = "wavefronts of shared memory"
    TILE = "tile of the warps"
    ATOMS = "atoms of a warp"
    MEMORY = "memory of an operand"
    SIZES = "sizes of an operand"
    RETILE = "not retiled"
    READ = "another thread's share"


class SmemFlaw(FailureKind):
    """Faults of a shared-memory layout."""

    SIZES = "sizes of a layout"
    SAME_PLACE = "same place"
    GAP = "gap"
    TORN = "torn vector"
    STAGES = "stages differ"
    LDMATRIX = "wavefronts of ldmatrix"


@dataclass(frozen=True, kw_only=True)
class MadePart(AmperePart):
    """An object made for a configuration; the answer must be right for several configurations."""

    def look(self, answer: Answer, points: float) -> Verdict | None:
        need_callable(answer)
        for config in CONFIGS:
            try:
                flaw = in_cute(lambda config=config: self.find_flaw(answer, config))  # type: ignore[misc]
            except CompileFailed as error:
                what = f"CuTe refuses it for {named_config(config)}."
                return wrong(Flaw(what, Fail.DOES_NOT_COMPILE), error.args[0])
            if flaw:
                return wrong(f"for {named_config(config)}: " + flaw)
        return None

    @abstractmethod
    def find_flaw(self, answer: Answer, config: GemmConfig) -> str:
        """A fault of the object that the answer makes, or "". Called in a CuTe trace."""


def named_config(config: GemmConfig) -> str:
    return f"GemmConfig({config.tile}, {config.warps})"


def places(tv_layout: Any, tile: Element) -> list[list[Element]]:
    """The (row, column) in the tile of each value of each thread, by a layout (thread, value) → column-major index."""
    from cutlass import cute

    threads, values = (cute.size(tv_layout, mode=[mode]) for mode in range(2))
    found = [[int(tv_layout((thread, value))) for value in range(values)] for thread in range(threads)]
    return [[(index % tile[0], index // tile[0]) for index in mine] for mine in found]


# 09.4 -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class GlobalCopy(MadePart):
    """A TiledCopy of cp.async: 16 bytes a thread, neighbors along K."""

    name: PartName = "g2s"

    def find_flaw(self, answer: Answer, config: GemmConfig) -> str:
        from cutlass import BFloat16, cute
        from cutlass.cute.nvgpu import cpasync

        copy = answer(config, BFloat16)
        if not isinstance(copy, cute.TiledCopy):
            return Flaw(
                f"it returns {shorten(copy)}, not a TiledCopy: cute.make_tiled_copy_tv makes one.", MadeFlaw.NO_OBJECT
            )
        if not isinstance(copy.op, cpasync.CopyG2SOp):
            return Flaw("its atom is not cp.async: CopyG2SOp is.", MadeFlaw.ATOM)
        if (elements := cute.size(copy.layout_dst_tv, mode=[1])) != VECTOR:
            what = f"one of its copies moves {16 * elements} bits; cp.async past L1 moves 128: num_bits_per_copy=128."
            return Flaw(what, MadeFlaw.ATOM)
        tile = tuple(map(cute.size, copy.tiler_mn))  # type: ignore[arg-type]
        held = places(copy.layout_dst_tv_tiled, tile)
        if flaw := self.find_bad_tile(tile, held, config) or self.find_bad_access(tile, held, config.tile[2]):
            return flaw
        for mode in (cpasync.LoadCacheMode.GLOBAL, cpasync.LoadCacheMode.ALWAYS):
            if str(cached := answer(config, BFloat16, mode).op.cache_mode) != str(mode):
                return Flaw(f"given {mode}, its atom has {cached}: CopyG2SOp(cache_mode=cache).", MadeFlaw.ATOM)
        return ""

    def find_bad_tile(self, tile: tuple[int, ...], held: list[list[Element]], config: GemmConfig) -> str:
        rows, k = min(config.tile[:2]), config.tile[2]
        if len(held) != config.threads:
            return Flaw(f"it is for {count(len(held), 'thread')}; the block has {config.threads}.", MadeFlaw.THREADS)
        if tile[1] > k or k % tile[1]:
            return Flaw(
                f"the threads of a row cover {tile[1]} elements along K; a row of the tile has {k}.",
                MadeFlaw.TOO_WIDE,
            )
        if tile[0] > rows or rows % tile[0]:
            return f"the threads cover {tile[0]} rows, and {rows} rows of a tile are not a multiple of that."
        if len({place for mine in held for place in mine}) < tile[0] * tile[1]:
            return Flaw(
                f"of the {tile[0]}×{tile[1]} elements that the threads cover, some are copied twice and some never.",
                MadeFlaw.COPIED_TWICE,
            )
        return ""

    def find_bad_access(self, tile: tuple[int, ...], held: list[list[Element]], k: int) -> str:
        for thread, mine in enumerate(held):
            for first, *others in (mine[n : n + VECTOR] for n in range(0, len(mine), VECTOR)):
                if others != [(first[0], first[1] + n) for n in range(1, VECTOR)] or first[1] % VECTOR:
                    return Flaw(
                        f"the 8 values of thread {thread} should be 8 neighbors along K; they are {[first, *others]}.",
                        MadeFlaw.NOT_ALONG_K,
                    )
        for start, value in product(range(0, len(held), WARP), range(0, len(held[0]), VECTOR)):
            access = [mine[value] for mine in held[start : start + WARP]]
            if (sectors := len({(row, column // SECTOR) for row, column in access})) > WARP // 2:
                return Flaw(
                    f"a warp's copy touches {sectors} sectors of 32 bytes where {WARP // 2} would do: thread "
                    f"{start + 1} is at {access[1]}, not beside thread {start} at {access[0]} along K.",
                    MadeFlaw.SECTORS,
                )
            for eight in range(0, WARP, 8):
                offsets = [smem_offset(row, column, k) for row, column in access[eight : eight + 8]]
                if (ways := banks.ways(offsets, 2, VECTOR)) > 1:
                    return Flaw(
                        f"threads {start + eight} to {start + eight + 7} write to shared memory in {ways} wavefronts: "
                        "consecutive threads should fill a row of the tile, then the next.",
                        MadeFlaw.WAVEFRONTS,
                    )
        return ""


def smem_offset(row: int, column: int, k: int) -> int:
    """The offset in shared memory as notebook 09 lays it out: the 16-byte vectors of 128 bytes are exchanged by row."""
    offset = row * k + column
    return offset ^ (offset // 64 % (k // VECTOR)) * VECTOR


# 09.5 -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class WarpsOfMma(MadePart):
    """A TiledMma of m16n8k16 on all warps, two atoms of 8 columns each."""

    name: PartName = "mma"

    def find_flaw(self, answer: Answer, config: GemmConfig) -> str:
        from cutlass import BFloat16, Float32, cute
        from cutlass.cute.nvgpu import warp

        mma = answer(config, BFloat16)
        if not isinstance(mma, cute.TiledMma):
            return Flaw(
                f"it returns {shorten(mma)}, not a TiledMma: cute.make_tiled_mma makes one.", MadeFlaw.NO_OBJECT
            )
        if not isinstance(mma.op, warp.MmaF16BF16Op) or mma.shape_mnk != (16, 8, 16):
            what = f"its instruction is {mma.shape_mnk}: warp.MmaF16BF16Op(dtype, Float32, (16, 8, 16)) is wanted."
            return Flaw(what, MadeFlaw.ATOM)
        if mma.op.ab_dtype is not BFloat16:
            return Flaw(f"its operands are {mma.op.ab_dtype}; they should be the dtype that it gets.", MadeFlaw.ATOM)
        if mma.op.acc_dtype is not Float32:
            return Flaw(f"it accumulates in {mma.op.acc_dtype}; accumulators are Float32.", MadeFlaw.ATOM)
        if mma.size != config.threads:
            return Flaw(f"it is for {count(mma.size, 'thread')}; the block has {config.threads}.", MadeFlaw.THREADS)
        m, n = config.warps
        tile = tuple(cute.size(mma.get_tile_size(mode)) for mode in range(3))
        if tile != (16 * m, 16 * n, 16):
            wanted = 16 * m, 16 * n, 16
            return Flaw(
                f"all warps together cover {tile}; {m}×{n} warps of 16 rows and twice 8 columns cover {wanted}.",
                MadeFlaw.TILE,
            )
        held = places(mma.tv_layout_C_tiled, (tile[0], tile[1]))
        warps = [shape_of(held[first : first + WARP]) for first in range(0, len(held), WARP)]
        parts = [shape_of(share(down, across, n)) for down in range(m) for across in range(n)]
        for number, mine in enumerate(warps):
            if mine not in parts:
                return Flaw(
                    f"warp {number} has {rows_and_columns(mine)}; its two atoms should be 16 rows, and 8 columns that "
                    f"begin at a multiple of 8 below {8 * n}, and the 8 columns {8 * n} further on.",
                    MadeFlaw.ATOMS,
                )
        if len(set(warps)) < len(warps):
            return Flaw("two warps have the same part of the tile.", MadeFlaw.ATOMS)
        return ""


def share(down: int, across: int, warps: int) -> list[list[Element]]:
    """C's elements in each lane: PTX ISA, fragments of mma.m16n8k16, for two atoms `warps` · 8 columns apart."""
    return [
        [
            (16 * down + lane // 4 + 8 * half, 8 * across + 8 * warps * atom + lane % 4 * 2 + value)
            for atom, half, value in product(range(2), repeat=3)
        ]
        for lane in range(WARP)
    ]


def shape_of(held: list[list[Element]]) -> tuple[frozenset[Element], ...]:
    return tuple(map(frozenset, held))


def rows_and_columns(held: tuple[frozenset[Element], ...]) -> str:
    rows, columns = (sorted({place[mode] for mine in held for place in mine}) for mode in range(2))
    return f"rows {', '.join(runs(rows))} and columns {', '.join(runs(columns))}"


def runs(numbers: list[int]) -> Iterator[str]:
    """Neighbors together: [0, 1, 2, 8, 9] → "0 to 2", "8 to 9"."""
    start = numbers[0]
    for number, after in zip(numbers, [*numbers[1:], None], strict=True):
        if after != number + 1:
            yield f"{start} to {number}" if number > start else str(start)
            start = after or 0


# 09.6 -----------------------------------------------------------------------------------------------------------

BUFFERS, THREAD = 2, 37


@dataclass(frozen=True, kw_only=True)
class OperandsPart(MadePart):
    """Registers for the operands of one buffer, and the ldmatrix copies that fill them."""

    name: PartName = "operands"

    def find_flaw(self, answer: Answer, config: GemmConfig) -> str:
        from cutlass import BFloat16, cute

        from tutorlib.kernels.ampere.layouts import smem_layout
        from tutorlib.kernels.ampere.operands import Operand
        from tutorlib.kernels.ampere.thread_share import make_mma

        mma = make_mma(config, BFloat16)
        bM, bN, bK = config.tile
        sA, sB = (
            cute.make_tensor(
                cute.make_ptr(BFloat16, 0, cute.AddressSpace.smem, assumed_align=128), smem_layout(rows, bK, BUFFERS)
            )
            for rows in (bM, bN)
        )
        m, n = bM // (16 * config.warps[0]), bN // (8 * config.warps[1])
        got = answer(mma, THREAD, sA, sB)
        if not (isinstance(got, tuple | list) and len(got) == 2):
            return Flaw(
                f"it returns {shorten(got)}; it should return two Operands, for A and for B.", MadeFlaw.NO_OBJECT
            )
        shapes = (8, m, bK // 16), (4, n, bK // 16)
        for name, operand, shape, s in zip("AB", got, shapes, (sA, sB), strict=True):
            if not all(hasattr(operand, field) for field in Operand._fields):
                what = f"for {name} it returns a {type(operand).__name__}; Operand(tCrX, s2r, tXsX, tXrX) is wanted."
                return Flaw(what, MadeFlaw.PARTS)
            if flaw := self.find_bad_operand(name, operand, shape, s, mma):
                return flaw
        return ""

    def find_bad_operand(self, name: str, operand: Any, shape: tuple[int, ...], s: Any, mma: Any) -> str:
        from cutlass import BFloat16, cute
        from cutlass.cute.nvgpu import warp

        tCrX, s2r, tXsX, tXrX = operand.tCrX, operand.s2r, operand.tXsX, operand.tXrX
        if not isinstance(s2r, cute.TiledCopy):
            what = f"s2r of {name} is {shorten(s2r)}: cute.make_tiled_copy_{name}(atom, tiled_mma) makes a TiledCopy."
            return Flaw(what, MadeFlaw.PARTS)
        for field, tensor, space in (("tCrX", tCrX, "rmem"), ("tXsX", tXsX, "smem"), ("tXrX", tXrX, "rmem")):
            if not isinstance(tensor, cute.Tensor):
                return Flaw(f"{field} of {name} is {shorten(tensor)}, not a tensor.", MadeFlaw.PARTS)
            if tensor.memspace != getattr(cute.AddressSpace, space):
                where = {"rmem": "registers", "smem": "shared memory"}
                return Flaw(
                    f"{field} of {name} should be in {where[space]}, and is in {tensor.memspace}.", MadeFlaw.MEMORY
                )
        if (got := mode_sizes(tCrX)) != shape:
            stages = f" Pick a buffer, [None, None, None, 0], before you make a fragment of a partition of s{name}."
            what = f"tCrX of {name} has the sizes {got}; {shape} is wanted." + (stages if len(got) > 3 else "")
            return Flaw(what, MadeFlaw.SIZES)
        if not isinstance(s2r.op, warp.LdMatrix8x8x16bOp):
            return Flaw(
                f"s2r of {name} is not ldmatrix: its atom's operation should be warp.LdMatrix8x8x16bOp.", MadeFlaw.ATOM
            )
        if s2r.op.transpose:
            what = f"s2r of {name} transposes; rows of {name} run along K already, as the mma reads them."
            return Flaw(what, MadeFlaw.ATOM)
        if s2r.op.num_matrices != 4:
            what = f"an ldmatrix of {name} brings {s2r.op.num_matrices} of 8×8 at once; it can bring 4: num_matrices=4."
            return Flaw(what, MadeFlaw.ATOM)
        ldmatrix = cute.make_copy_atom(warp.LdMatrix8x8x16bOp(transpose=False, num_matrices=4), BFloat16)
        wanted = (cute.make_tiled_copy_A if name == "A" else cute.make_tiled_copy_B)(ldmatrix, mma)
        if str(s2r.layout_dst_tv_tiled) != str(wanted.layout_dst_tv_tiled):
            what = f"s2r of {name} fills registers in another order than the mma reads {name}: make_tiled_copy_{name}."
            return Flaw(what, MadeFlaw.ATOM)
        mine = wanted.get_slice(THREAD)
        if str(tXrX.layout) != str((retiled := mine.retile(tCrX)).layout):
            return Flaw(
                f"tXrX of {name} is {tXrX.layout}. As ldmatrix fills tCr{name} it is {retiled.layout}: the slice's "
                f"retile(tCr{name}).",
                MadeFlaw.RETILE,
            )
        if str(tXsX.layout) != str((read := mine.partition_S(s)).layout):
            return Flaw(
                f"tXsX of {name} is {tXsX.layout}. This thread reads {read.layout}: partition_S(s{name}).",
                MadeFlaw.READ,
            )
        return ""


def mode_sizes(tensor: Any) -> tuple[int, ...]:
    from cutlass import cute

    return tuple(cute.size(mode) for mode in tensor.shape)


# 09.8 -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class GroupedEpilogue(AmperePart):
    """An epilogue, with page 11's order of blocks: with it the compiler does not merge stores of single elements."""

    name: PartName = "epilogue"

    def host(self, answer: Answer) -> HostFunction:
        from tutorlib.kernels.ampere.gemm import make_gemm
        from tutorlib.kernels.ampere.main_loops import single_buffer
        from tutorlib.models.l2 import grouped

        return make_gemm(self.config, single_buffer, grouped, epilogue=need_callable(answer))


# 09.2 -----------------------------------------------------------------------------------------------------------

ROWS, STAGES = 32, 2


@dataclass(frozen=True, kw_only=True)
class SmemLayout(AmperePart):
    """A layout (rows, K, stages) of shared memory: examined in a CuTe trace, then used in the kernel."""

    name: PartName = "smem"

    def look(self, answer: Answer, points: float) -> Verdict | None:
        need_callable(answer)
        try:
            for k in (64, 32):
                if broken := find_misplaced(answer, k):
                    return wrong(f"{answer.__name__}({ROWS}, {k}, {STAGES}): " + broken)
        except CompileFailed as error:
            return wrong(Flaw("CuTe refuses it.", Fail.DOES_NOT_COMPILE), error.args[0])
        return None


def find_misplaced(answer: Answer, k: int) -> str:
    """A fault of the layout for this K, or ""."""
    offsets, cosize, shape = look(answer, k)
    if shape != (ROWS, k, STAGES):
        return Flaw(f"its modes have the sizes {shape}; (rows, K, stages) is wanted.", SmemFlaw.SIZES)
    if len(set(offsets.values())) < len(offsets):
        (row, vector, stage), (again, beside, other) = same_place(offsets)
        return Flaw(
            f"row {row}, column {vector * VECTOR}, stage {stage} and row {again}, column {beside * VECTOR}, stage "
            f"{other} have the same offset.",
            SmemFlaw.SAME_PLACE,
        )
    if cosize != ROWS * k * STAGES:
        return Flaw(
            f"{ROWS * k * STAGES} elements need that many places, without a gap; its cosize is {cosize}.",
            SmemFlaw.GAP,
        )
    for (row, vector, stage), offset in offsets.items():
        if offset % VECTOR:
            return Flaw(
                f"the vector at row {row}, column {vector * VECTOR} starts at offset {offset}, inside another.",
                SmemFlaw.TORN,
            )
        if stage and offset - offsets[row, vector, 0] != ROWS * k:
            return Flaw(
                f"stage 1 should repeat stage 0 {ROWS * k} elements further on, so that all buffers behave alike.",
                SmemFlaw.STAGES,
            )
    for first in range(0, ROWS, 8):
        for vector in range(k // VECTOR):
            read = [offsets[first + row, vector, 0] for row in range(8)]
            if (ways := banks.ways(read, 2, VECTOR)) > 1:
                return Flaw(
                    f"ldmatrix reads column {vector * VECTOR} of rows {first} to {first + 7} in {ways} wavefronts.",
                    SmemFlaw.LDMATRIX,
                )
    order = [offsets[row, vector, 0] for row in range(ROWS) for vector in range(k // VECTOR)]
    for start in range(0, len(order), 8):
        if (ways := banks.ways(order[start : start + 8], 2, VECTOR)) > 1:
            return f"cp.async writes 8 neighboring vectors of row {start * VECTOR // k} in {ways} wavefronts."
    return ""


Vectors = dict[tuple[int, int, int], Any]  # (row, vector of the row, stage) → offset


def look(answer: Answer, k: int) -> tuple[Vectors, int, tuple[int, ...]]:
    """Offset of each vector, the cosize, and the sizes of the modes. Raises CompileFailed."""
    from cutlass import cute

    def note() -> tuple[Vectors, int, tuple[int, ...]]:
        layout = answer(ROWS, k, STAGES)
        if not isinstance(layout, cute.Layout | cute.ComposedLayout):
            raise WrongKind(f"it returns {shorten(layout)}, not a layout.")
        shape = tuple(map(cute.size, layout.shape)) if isinstance(layout.shape, tuple) else (cute.size(layout),)
        if shape != (ROWS, k, STAGES):
            return {}, 0, shape
        places = product(range(ROWS), range(k // VECTOR), range(STAGES))
        offsets = {(row, vector, stage): layout((row, vector * VECTOR, stage)) for row, vector, stage in places}
        return offsets, cute.cosize(layout), shape

    return in_cute(note)


def same_place(offsets: Vectors) -> list[tuple[int, int, int]]:
    """Two vectors that begin at one offset."""
    first: dict[int, tuple[int, int, int]] = {}
    for vector, offset in offsets.items():
        if offset in first:
            return [first[offset], vector]
        first[offset] = vector
    return []
