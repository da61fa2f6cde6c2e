"""The steps of the Blackwell kernel's three loops: a block's loads, multiplications and stores."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from cutlass import BFloat16, Boolean, Int16, Int32, cute

from tutorlib.dsl.tracing import fence_after
from tutorlib.kernels.blackwell.config import BlackwellConfig
from tutorlib.models.l2 import grouped

GROUP = 8  # rows of tiles in a band


@dataclass(frozen=True)
class TileWalk:
    """Which of C's tiles a cluster computes: every `clusters`-th, in groups of rows.

    tiles_m, tiles_n: of C, the latter in units of `sharing` tiles. place: of this block or pair among those that share.
    """

    tiles_m: int
    tiles_n: int
    clusters: int
    sharing: int
    cluster: Int32
    place: Int32

    @property
    def count(self) -> Int32:
        return (self.tiles_m * self.tiles_n - self.cluster + self.clusters - 1) // self.clusters

    def tile(self, number: Any) -> tuple[Any, Any]:
        """(M, N) of the number-th."""
        m, n = grouped(self.cluster + number * self.clusters, self.tiles_m, self.tiles_n, GROUP)
        return m, n * self.sharing + self.place


@dataclass(frozen=True)
class Feed:
    """The load of A or B into shared memory. tXgX: (box, row tiles, K tiles) of the matrix; tXsX: (box, stages).

    mask: the blocks that receive it, or None for this one alone. rank: of this block in its pair, width: blocks there.
    """

    tma: cute.CopyAtom
    tXgX: cute.Tensor
    tXsX: cute.Tensor
    mask: Int16 | None

    def load(self, row: Any, k_tile: Any, stage: Any, full: cute.Pointer) -> None:
        source, target = self.tXgX[None, row, k_tile], self.tXsX[None, stage]
        cute.copy(self.tma, source, target, tma_bar_ptr=full, mcast_mask=self.mask)


@dataclass(frozen=True)
class Drain:
    """A warp's epilogue: tensor memory to registers to shared memory to C.

    tTtC: (values, 1, 1, parts, accumulators); tTrC: registers, fp32.
    tRrC: the same in bf16, as `r2s` takes them; tRsC: (values, 1, 1, buffers). tSsC: (box, buffers) of this warp;
    tSgC: (box, row boxes, column boxes) of C. row: the first row box of this warp in a tile's. rows: boxes in a tile.
    """

    t2r: cute.TiledCopy
    tTtC: cute.Tensor
    tTrC: cute.Tensor
    r2s: cute.TiledCopy
    tRrC: cute.Tensor
    tRsC: cute.Tensor
    tma: cute.CopyAtom
    tSsC: cute.Tensor
    tSgC: cute.Tensor
    row: Int32
    rows: int


@dataclass(frozen=True)
class TileSteps:
    """A block's steps, for a thread of any role.

    full, empty: mbarriers, one for each of `stages`. A phase of full[stage] ends with 1 arrival and the bytes that it
        announces, stage_bytes; one of empty[stage] when the multiplications that read it are committed to it.
    ready, free: one for each accumulator. A phase of ready ends when the multiplications of a tile are committed to it,
        one of free with an arrival of each warp that stores, `storers`.
    leads: whether this block issues the multiplications: with a pair the first one does. In a pair, full and free are
        the leader's, and both blocks have empty and ready of their own.
    issue: multiplies a stage, given the TiledMma, an accumulator, the operands, and whether it is the tile's first.
    """

    config: BlackwellConfig
    walk: TileWalk
    k_tiles: int
    full: cute.Pointer
    empty: cute.Pointer
    ready: cute.Pointer
    free: cute.Pointer
    leads: Boolean | bool
    rank: Int32
    feeds: tuple[Feed, ...]
    tiled_mma: cute.TiledMma
    tCrA: cute.Tensor
    tCrB: cute.Tensor
    issue: Callable[..., None]
    tCtC: Any  # a cute.Tensor and a Drain, as soon as there is tensor memory
    drain: Any

    @property
    def tiles(self) -> Int32:
        """Tiles that this block computes, one after the other."""
        return self.walk.count

    @property
    def stages(self) -> int:
        return self.config.stages

    @property
    def accumulators(self) -> int:
        return self.config.accumulators

    @property
    def stage_bytes(self) -> int:
        """Bytes that full[stage] counts, from both blocks of a pair."""
        return self.config.stage_bytes * self.config.width

    @property
    def parts(self) -> int:
        """Parts of 64 columns in which a warp reads an accumulator."""
        return cute.size(self.drain.tTtC, mode=[3])

    @property
    def both(self) -> Int16:
        """The mask of both blocks of a pair; without a pair, of this block."""
        width = self.config.width
        return Int16(((1 << width) - 1) << self.walk.place * width)

    @property
    def whole_cluster(self) -> int:
        """The mask of all blocks that wait for an empty stage together."""
        return (1 << self.config.blocks) - 1

    @property
    def leader(self) -> Int32:
        """The rank of the pair's first block in the cluster."""
        return self.walk.place * self.config.width

    def load(self, number: Any, k_tile: Any, stage: Any) -> None:
        """Start TMA's copies of a K tile of the number-th tile; their bytes count for full[stage], of the leader."""
        m, n = self.walk.tile(number)
        width = self.config.width
        for feed, row in zip(self.feeds, (m * width + self.rank, n * width + self.rank), strict=True):
            feed.load(row, k_tile, stage, self.full + stage)

    def multiply(self, stage: Any, accumulator: Any, first: Any) -> None:
        """Issue a stage's four tcgen05.mma; `first`: overwrite the accumulator."""
        fence_after()
        acc = self.tCtC[None, None, None, accumulator]
        tCrA, tCrB = (operand[None, None, None, stage] for operand in (self.tCrA, self.tCrB))
        self.issue(self.tiled_mma, acc, tCrA, tCrB, first)

    def read(self, accumulator: Any, part: Any) -> None:
        """Start tcgen05.ld of 64 columns of this warp's 32 lanes into registers."""
        fence_after()
        cute.copy(self.drain.t2r, self.drain.tTtC[None, None, None, part, accumulator], self.drain.tTrC)

    def write(self, number: Any, part: Any) -> None:
        """Round the registers, and let TMA store them as a part of the number-th tile."""
        drain, buffers = self.drain, self.config.store_buffers
        buffer = (number * self.parts + part) % buffers  # not the one that was written last
        m, n = self.walk.tile(number)
        cute.arch.cp_async_bulk_wait_group(buffers - 1, read=True)
        cute.arch.sync_warp()
        drain.tRrC.store(drain.r2s.retile(drain.tTrC).load().to(BFloat16))
        cute.copy(drain.r2s, drain.tRrC, drain.tRsC[None, None, None, buffer])
        cute.arch.fence_proxy("async.shared", space="cta")
        cute.arch.sync_warp()
        row = (m * self.config.width + self.rank) * drain.rows + drain.row
        cute.copy(drain.tma, drain.tSsC[None, buffer], drain.tSgC[None, row, n * self.parts + part])
        cute.arch.cp_async_bulk_commit_group()
