"""One thread's share of the GEMM of notebooks 09 to 12: its copies, its operands, its accumulators."""

from dataclasses import dataclass
from typing import Any

import cutlass
from cutlass import cute
from cutlass.cute.nvgpu import warp
from cutlass.cute.nvgpu.cpasync import CopyG2SOp, LoadCacheMode

from tutorlib.kernels.ampere.config import LINE, VECTOR, GemmConfig
from tutorlib.kernels.ampere.moves import fetch, load, multiply
from tutorlib.kernels.ampere.operands import Operand
from tutorlib.kernels.ampere.shapes import need_atoms, need_parts, need_places


def make_copy_g2s(
    config: GemmConfig, dtype: type[cutlass.Numeric], cache: LoadCacheMode = LoadCacheMode.GLOBAL
) -> cute.TiledCopy:
    """cp.async of 128 bits, by default past the L1 cache; threads run along the rows of a K tile, then down."""
    lanes = min(config.tile[2], LINE) // VECTOR
    atom = cute.make_copy_atom(CopyG2SOp(cache_mode=cache), dtype, num_bits_per_copy=128)
    threads = cute.make_layout((config.threads // lanes, lanes), stride=(lanes, 1))
    return cute.make_tiled_copy_tv(atom, threads, cute.make_layout((1, VECTOR)))


def make_mma(config: GemmConfig, dtype: type[cutlass.Numeric]) -> cute.TiledMma:
    """mma.sync.m16n8k16 on all warps: each has 16 rows and 2 atoms of 8 columns, what one ldmatrix.x4 loads of B."""
    m, n = config.warps
    op = warp.MmaF16BF16Op(dtype, cutlass.Float32, (16, 8, 16))
    return cute.make_tiled_mma(op, cute.make_layout((m, n, 1)), permutation_mnk=(16 * m, 16 * n, 16))


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
    tCgD: the places of tCgC in a second matrix of C's shape, which page 16's epilogues read; None elsewhere.

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
