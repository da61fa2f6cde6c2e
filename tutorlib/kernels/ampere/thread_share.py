"""One thread's share of the GEMM of notebooks 10 to 13: layouts, its copies, its operands, its accumulators."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import cutlass
from cutlass import cute
from cutlass.cute.nvgpu import warp
from cutlass.cute.nvgpu.cpasync import CopyG2SOp, LoadCacheMode

from tutorlib.kernels.ampere.config import LINE, VECTOR, GemmConfig


def smem_layout(rows: int, k: int, stages: int) -> cute.ComposedLayout:
    """(rows, k, stages): K-contiguous rows, swizzled so that eight rows' vectors of 16 bytes fill all 32 banks.

    Rows of 64 elements are 128 bytes: Swizzle⟨3,3,3⟩. Two rows of 32 share 128 bytes: Swizzle⟨2,3,3⟩.
    """
    width = min(k, 64)
    swizzle = cute.make_swizzle(3 if width == 64 else 2, 3, 3)
    atom = cute.make_composed_layout(swizzle, 0, cute.make_layout((8, width), stride=(width, 1)))
    return cute.tile_to_shape(atom, (rows, k, stages), (0, 1, 2))


def n_order(config: GemmConfig) -> cute.Layout:
    """Column of the MMA → column of the tile, such that 4 neighboring atoms give a thread 8 neighbors in memory.

    The MMA's columns are (2 of a thread, 4 threads, warps, 4 atoms, the rest).
    """
    warps = config.warps[1]
    rest = config.tile[1] // (32 * warps)
    return cute.make_layout((2, 4, warps, 4, rest), stride=(1, 8, 32, 2, 32 * warps))


def with_rest(share: cute.Tensor) -> cute.Tensor:
    """A thread's share of C as ((2 columns, 2 rows), M atoms, (4 N atoms, the rest)), also where the rest is 1.

    CuTe merges a mode of 1 into its neighbor, and what is written for the general shape would not fit.
    """
    if cute.rank(share, mode=[2]) > 1:
        return share
    return cute.group_modes(cute.append_ones(share, up_to_rank=4), 2, 4)


# Copies and operands --------------------------------------------------------------------------------------------------


def make_copy_g2s(config: GemmConfig, dtype: type[cutlass.Numeric]) -> cute.TiledCopy:
    """cp.async of 128 bits, past the L1 cache; threads run along the rows of a K tile, then down."""
    lanes = min(config.tile[2], LINE) // VECTOR
    atom = cute.make_copy_atom(CopyG2SOp(cache_mode=LoadCacheMode.GLOBAL), dtype, num_bits_per_copy=128)
    threads = cute.make_layout((config.threads // lanes, lanes), stride=(lanes, 1))
    return cute.make_tiled_copy_tv(atom, threads, cute.make_layout((1, VECTOR)))


def make_mma(config: GemmConfig, dtype: type[cutlass.Numeric]) -> cute.TiledMma:
    """mma.sync.m16n8k16 on all warps: each has 16 rows and 2 atoms of 8 columns, what one ldmatrix.x4 loads of B."""
    op = warp.MmaF16BF16Op(dtype, cutlass.Float32, (16, 8, 16))
    m, n = config.warps
    return cute.make_tiled_mma(op, cute.make_layout((m, n, 1)), permutation_mnk=(16 * m, 16 * n, 16))


class Operand(NamedTuple):
    """One operand's path into the MMA's registers, for one thread.

    tCrX: the registers in the MMA's view: (8 of A or 4 of B, M or N atoms, K blocks).
    s2r: ldmatrix.x4, laid out as this MMA reads the operand: one instruction for an atom of A or for two atoms of B.
    tXsX: the source of s2r in shared memory: (8, instructions, K blocks, buffers).
    tXrX: the registers of tCrX in ldmatrix's view: (8, instructions, K blocks).
    """

    tCrX: cute.Tensor
    s2r: cute.TiledCopy
    tXsX: cute.Tensor
    tXrX: cute.Tensor


def make_operands(tiled_mma: cute.TiledMma, thread: Any, sA: cute.Tensor, sB: cute.Tensor) -> tuple[Operand, Operand]:
    """A thread's share of sA (M, K, buffers) and of sB (N, K, buffers); the registers hold one buffer's operands."""
    math = tiled_mma.get_slice(thread)
    tCrA = tiled_mma.make_fragment_A(math.partition_A(sA)[None, None, None, 0])
    tCrB = tiled_mma.make_fragment_B(math.partition_B(sB)[None, None, None, 0])
    ldmatrix = cute.make_copy_atom(warp.LdMatrix8x8x16bOp(transpose=False, num_matrices=4), sA.element_type)
    s2r_a = cute.make_tiled_copy_A(ldmatrix, tiled_mma)
    s2r_b = cute.make_tiled_copy_B(ldmatrix, tiled_mma)
    a, b = s2r_a.get_slice(thread), s2r_b.get_slice(thread)
    rA = Operand(tCrA, s2r_a, a.partition_S(sA), a.retile(tCrA))
    rB = Operand(tCrB, s2r_b, b.partition_S(sB), b.retile(tCrB))
    return rA, rB


# Methods of the classes below, outside of them: reports name these functions -----------------------------------------


def load(path: "GlobalToShared", k_tile: Any, buffer: Any) -> None:
    """Issue the copies of a K tile of one operand, global → shared memory; elements outside the matrix become zeros.

    Where `pred` is False, cp.async reads nothing and fills its 16 bytes with zeros.
    """
    source, target = path.source[None, None, None, k_tile], path.target[None, None, None, buffer]
    if path.places is None:
        cute.copy(path.tiled_copy, source, target)
        return
    rows, vectors = cute.size(target, mode=[1]), cute.size(target, mode=[2])
    inside = cute.make_rmem_tensor((1, rows, vectors), cutlass.Boolean)
    for row in range(rows):
        for vector in range(vectors):
            inside[0, row, vector] = cute.elem_less(path.places[0, row, vector, k_tile], path.limit)
    cute.copy(path.tiled_copy, source, target, pred=inside)


def fetch(steps: "Steps", k_block: int, buffer: Any) -> None:
    """ldmatrix: one K block of a buffer, shared memory → this K block's own registers."""
    for r in (steps.rA, steps.rB):
        cute.copy(r.s2r, r.tXsX[None, None, k_block, buffer], r.tXrX[None, None, k_block])


def multiply(steps: "Steps", k_block: int) -> None:
    """mma.sync: add the product of the fetched K block to the accumulators."""
    a, b = steps.rA.tCrX[None, None, k_block], steps.rB.tCrX[None, None, k_block]
    cute.gemm(steps.tiled_mma, steps.tCrC, a, b, steps.tCrC)


def need_parts(path: "GlobalToShared") -> None:
    """Raises ValueError where source or target is not a thread's part."""
    for name, tensor, last in (("source", path.source, "K tiles"), ("target", path.target, "buffers")):
        if cute.rank(tensor) != 4:
            part = f"(vector, rows, vectors of a row, {last})"
            raise ValueError(f"{name} has the shape {tensor.shape}; a thread's part of it is {part}")


def need_atoms(steps: "Steps") -> None:
    """Raises ValueError where the accumulators do not fit the operands."""
    atoms = tuple(cute.size(r.tCrX, mode=[1]) for r in (steps.rA, steps.rB))
    held = tuple(cute.size(steps.tCrC, mode=[mode]) for mode in range(1, cute.rank(steps.tCrC)))
    kind = steps.tCrC.element_type
    if held != atoms or kind is not cutlass.Float32:
        raise ValueError(f"tCrC has {held} atoms of {kind}; rA and rB have {atoms}, and accumulators are Float32")


def need_places(acc: "Accumulators") -> None:
    """Raises ValueError where tCgC and coordinates are not of one tile in one order.

    Page 18's reduction has one element for the whole tile, whose strides of 0 have no order.
    """
    one_element = cute.cosize(acc.tCgC.layout) == 1
    if not one_element and str(acc.coordinates.shape) != str(acc.tCgC.shape):
        raise ValueError(
            f"coordinates has the shape {acc.coordinates.shape} and tCgC {acc.tCgC.shape}: both must be this thread's "
            "part of the same tile, with its columns in the same order"
        )


@dataclass(frozen=True)
class GlobalToShared:
    """One operand's path into shared memory, for one thread.

    source: (vector, rows, vectors of a row, K tiles) in global memory. target: the same in shared memory, with
        buffers in place of K tiles.
    places: the coordinates of `source`, and `limit` the matrix's shape; both None where tiles divide it.

    Raises ValueError for tensors of other shapes.
    """

    tiled_copy: cute.TiledCopy
    source: cute.Tensor
    target: cute.Tensor
    places: cute.Tensor | None
    limit: tuple[int, int] | None

    __post_init__ = need_parts
    load = load


@dataclass(frozen=True)
class Steps:
    """The operations of a main loop, for one thread: load → (commit, wait, barrier) → fetch → multiply.

    k_tiles: the number of K tiles that cover the matrices' K.
    a, b: the operands' paths into shared memory. rA, rB: from there into registers.

    Raises ValueError where the accumulators do not fit the operands.
    """

    k_tiles: int
    a: GlobalToShared
    b: GlobalToShared
    rA: Operand
    rB: Operand
    tiled_mma: cute.TiledMma
    tCrC: cute.Tensor

    __post_init__ = need_atoms

    @property
    def k_blocks(self) -> int:
        """MMA steps of 16 in a tile."""
        return cute.size(self.rA.tCrX, mode=[2])

    @property
    def stages(self) -> int:
        """Buffers in shared memory."""
        return cute.size(self.rA.tXsX, mode=[3])

    def load(self, k_tile: Any, buffer: Any) -> None:
        """Issue the copies of a K tile of A and of B, global → shared memory, and go on."""
        self.a.load(k_tile, buffer)
        self.b.load(k_tile, buffer)

    fetch = fetch
    multiply = multiply


@dataclass(frozen=True)
class Accumulators:
    """One thread's accumulators and their places in C, for an epilogue.

    tCrC: the accumulators in fp32. tCgC: their places in C, bf16. coordinates: (row, column) of these places.
        All three have the shape ((2 columns, 2 rows), M atoms, (4 N atoms, the rest)).
    gC: the block's tile of C, (M, N), columns in the order of memory.
    shape: of C. config: the division of the work. math: this thread's slice of the TiledMma.
    tCgD: the places of tCgC in a second matrix of C's shape, which page 18's epilogues read; None elsewhere.

    Raises ValueError where tCgC and coordinates differ in shape.
    """

    tCrC: cute.Tensor
    tCgC: cute.Tensor
    coordinates: cute.Tensor
    gC: cute.Tensor
    shape: tuple[int, int]
    config: GemmConfig
    math: cute.ThrMma
    tCgD: cute.Tensor | None = None

    __post_init__ = need_places

    @property
    def whole(self) -> bool:
        """Whether tiles divide C."""
        return all(size % tile == 0 for size, tile in zip(self.shape, self.config.tile, strict=False))

    @property
    def aligned(self) -> bool:
        """Whether rows of C start at multiples of 16 bytes: then 8 neighbors are inside or outside together."""
        return self.shape[1] % VECTOR == 0

    def rounded(self) -> cute.Tensor:
        """The accumulators in bf16, in registers of the same shape; 8 neighbors in C are neighbors in them."""
        order = ((0, 3), 4, (1, 2))  # in the order of memory: columns of an atom, 4 N atoms, the rest, rows, M atoms
        registers = cute.make_rmem_tensor(cute.make_ordered_layout(self.tCrC.shape, order), self.tCgC.element_type)
        registers.store(self.tCrC.load().to(self.tCgC.element_type))
        return registers


MainLoop = Callable[[Steps], None]
Epilogue = Callable[[Accumulators], None]
