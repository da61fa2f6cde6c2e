"""One thread's share of notebook 13's kernel: the loads and wgmmas of its main loop, and its epilogue."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from cutlass import BFloat16, Boolean, cute

TILE = (128, 256, 64)  # of C along M and N, and one step along K
THREADS = 256  # two warpgroups: each has 64 rows of the tile
STAGES = 4
BOX = (16, 64)  # of C: a warp's rows, and the 128 bytes that a swizzle permutes
ALIGNMENT = 1024  # bytes after which a swizzle of 8 rows of 128 bytes begins again


@dataclass(frozen=True)
class BoxCopy:
    """An operand's TMA load. tma: its descriptor. tXsX: (box, stages); tXgX: (box, K tiles)."""

    tma: cute.CopyAtom
    tXsX: cute.Tensor
    tXgX: cute.Tensor

    @property
    def box_bytes(self) -> int:
        return cute.size(self.tXsX, mode=[0]) * BFloat16.width // 8

    def load(self, k_tile: Any, stage: Any, full: cute.Pointer) -> None:
        """Issue the TMA load; `full` counts its bytes. cute.copy elects the issuing thread by itself."""
        cute.copy(self.tma, self.tXgX[None, k_tile], self.tXsX[None, stage], tma_bar_ptr=full)


@dataclass(frozen=True)
class Steps:
    """The parts of a warp's main loop.

    k_tiles: steps along K. full, empty: the first of `stages` mbarriers each. full: 1 arrival, and the bytes that it
    announces; empty: `consumers` arrivals, one from each warp. loads_too: whether this warp also loads.
    tCrA, tCrB: (1, 1, K blocks, stages), descriptors of shared memory. tCrC: ((2, 2, N/8), 1, 1), the accumulators.
    math: issues the wgmmas of one stage as a group: (tiled_mma, its tCrA, its tCrB, tCrC, adds).
    """

    k_tiles: int
    full: cute.Pointer
    empty: cute.Pointer
    loads_too: Boolean
    a: BoxCopy
    b: BoxCopy
    tiled_mma: cute.TiledMma
    tCrA: cute.Tensor
    tCrB: cute.Tensor
    tCrC: cute.Tensor
    math: Callable[..., None]

    @property
    def stages(self) -> int:
        return cute.size(self.tCrA, mode=[3])

    @property
    def stage_bytes(self) -> int:
        """The bytes that TMA loads into one stage."""
        return self.a.box_bytes + self.b.box_bytes

    @property
    def consumers(self) -> int:
        return THREADS // 32

    def load(self, k_tile: Any, stage: Any) -> None:
        """Issue the loads of A's and B's K tile; full + stage counts their bytes."""
        self.a.load(k_tile, stage, self.full + stage)
        self.b.load(k_tile, stage, self.full + stage)

    def multiply(self, stage: Any, first: Any) -> None:
        """Issue a stage's wgmmas, from fence to commit. first: discard what was in the accumulators."""
        mma = self.tiled_mma.with_()  # a copy: `set` may be called in a run-time branch
        tCrA, tCrB = self.tCrA[None, None, None, stage], self.tCrB[None, None, None, stage]  # (1, 1, K blocks)
        self.math(mma, tCrA, tCrB, self.tCrC, Boolean(first) == Boolean(False))


@dataclass(frozen=True)
class Accumulators:
    """What an epilogue works on: one thread's accumulators, and the copies that store them.

    tCrC: the accumulators in fp32. stmatrix: the copy of a warp's accumulators into shared memory, as the MMA has them.
    tRsC: this thread's elements there; tRrC: bf16 registers in the same order, to be filled.
    tma: C's descriptor. tSsC, tSgC: (box, boxes of this warp) of 16 × 64, in shared memory and of C.
    """

    tCrC: cute.Tensor
    stmatrix: cute.TiledCopy
    tRrC: cute.Tensor
    tRsC: cute.Tensor
    tma: cute.CopyAtom
    tSsC: cute.Tensor
    tSgC: cute.Tensor
