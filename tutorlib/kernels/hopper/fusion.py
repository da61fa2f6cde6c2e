"""What becomes of a tile's sums before they are rounded: notebook 16's epilogues for notebook 14's GEMM."""

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import Any

import cutlass
from cutlass import Float32, Int32, cute

from tutorlib.kernels.hopper.config import MMA_M, STORE_ROWS, HopperConfig
from tutorlib.kernels.hopper.epilogue import Stores

PIECE = 8  # columns: a wgmma's results are pieces of 8×8, in each of which a thread has 2 neighbours


@dataclass(frozen=True)
class Fusion:
    """op: takes a thread's sums, and what lies beside them (gated: the other half of them), fp32; None: plain.

    gated: B's rows are pieces of 8 of gate's and of up's in turn; C is half as wide.
    """

    op: Callable[[Any, Any], Any] | None = None
    gated: bool = False

    def out(self, config: HopperConfig) -> HopperConfig:
        """How a tile of C is stored, with the stages and buffers of the whole kernel."""
        if not self.gated:
            return config
        m, n, k = config.tile
        return replace(config, tile=(m, n // 2, k), stages=config.ab_stages, store_stages=config.store_buffers)

    def stores(self, plain: Stores, operand: cute.Tensor | None) -> Stores:
        """The way out, with the op on it."""
        if self.op is None:
            return plain
        known = {field.name: getattr(plain, field.name) for field in fields(plain)}
        if self.gated:
            return GatedStores(**known, op=self.op)
        return FusedStores(**known, op=self.op, operand=operand)


UNFUSED = Fusion()


@dataclass(frozen=True)
class FusedStores(Stores):
    """operand: (M, N), in the layout that it has in memory; a bias is the same in every row, with stride 0."""

    op: Callable[[Any, Any], Any]
    operand: cute.Tensor

    def values(self, tCrC: cute.Tensor, scale: Float32 | None, first: int, tile: tuple[Int32, Int32]) -> Any:
        plain = super().values(tCrC, scale, first, tile)
        return self.op(plain, self.beside(first, tile).load())

    def beside(self, first: int, tile: tuple[Int32, Int32]) -> cute.Tensor:
        """What lies where the 8 results from this one on will; at a place that is outside, the edge's."""
        (bM, bN, _), lane = self.config.tile, self.me.thread % 32
        m_atom, register = divmod(first, bN // 2)
        block = m_atom * self.config.tile_warpgroups + self.me.in_tile
        row = tile[0] * bM + block * MMA_M + self.me.warp * STORE_ROWS + lane // 4
        column = tile[1] * bN + 2 * register + 2 * (lane % 4)
        registers = cute.make_rmem_tensor(cute.make_layout((2, 2, 2)), Float32)  # neighbours, rows, pieces
        rows, columns = self.operand.shape
        for piece in range(2):
            for half in range(2):
                place = (
                    cutlass.min(row + PIECE * half, rows - 1),
                    cutlass.min(column + PIECE * piece, columns - 2),
                )
                pair = cute.make_tensor(
                    self.operand.iterator + cute.crd2idx(place, self.operand.layout), cute.make_layout(2)
                )
                in_registers = cute.make_fragment_like(pair)
                cute.autovec_copy(pair, in_registers)
                registers[None, half, piece].store(in_registers.load().to(Float32))
        return cute.make_tensor(registers.iterator, cute.make_layout(8))


@dataclass(frozen=True)
class GatedStores(Stores):
    """`config` is that of C, half as wide as the sums: 16 of these become 8 results."""

    op: Callable[[Any, Any], Any]

    def values(self, tCrC: cute.Tensor, scale: Float32 | None, first: int, tile: tuple[Int32, Int32]) -> Any:
        pieces = cute.make_tensor(tCrC.iterator + 2 * first, cute.make_layout((4, 2, 2)))  # of a piece, gate or up, two
        gate, up = (cute.make_rmem_tensor(cute.make_layout((4, 2)), Float32) for _ in range(2))
        gate.store(pieces[None, 0, None].load())
        up.store(pieces[None, 1, None].load())
        flat = cute.make_layout(8)
        return self.op(cute.make_tensor(gate.iterator, flat).load(), cute.make_tensor(up.iterator, flat).load())
