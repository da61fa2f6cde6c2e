"""Notebook 16's epilogues for notebook 14's GEMM, applied to accumulators before they are rounded."""

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import Any

import cutlass
from cutlass import Float32, Int32, Int64, cute

from tutorlib.kernels.hopper.choose import NO_WORK, OpWork
from tutorlib.kernels.hopper.config import MMA_M, REGISTERS_BESIDE_RESULTS, STORE_ROWS, ConfigError, HopperConfig
from tutorlib.kernels.hopper.epilogue import Stores

GROUP = 8  # columns or rows: in each 8×8 group of a wgmma's results a thread has two adjacent columns of a row


@dataclass(frozen=True)
class Fusion:
    """op: takes a thread's accumulators and the operand's elements (gated: the other half of them), fp32; None: plain.

    gated: B's rows are groups of 8 of gate's and of up's in turn; C is half as wide.
    work: per accumulator, for the chooser. registers: that the op needs per thread, besides a tile's accumulators.
    """

    op: Callable[[Any, Any], Any] | None = None
    gated: bool = False
    work: OpWork = NO_WORK
    registers: int = REGISTERS_BESIDE_RESULTS

    def fits(self, config: HopperConfig) -> bool:
        """Whether nothing is spilled, and C's tile, half as wide where gated, is one that can be stored."""
        if config.accumulators + self.registers > config.multiply_registers:
            return False
        try:
            self.out(config)
        except ConfigError:
            return False
        return True

    def out(self, config: HopperConfig) -> HopperConfig:
        """How a tile of C is stored, with the stages and buffers of the whole kernel."""
        if not self.gated:
            return config
        m, n, k = config.tile
        half = replace(config, tile=(m, n // 2, k), stages=config.ab_stages, store_stages=1)
        left = config.room - config.ab_stages * config.stage_room - config.other_bytes  # half may store wider rows
        return replace(half, store_stages=max(1, min(left // half.store_stage_bytes, half.store_steps)))

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
    """operand: (N,), the same for every row of C, or (M, N)."""

    op: Callable[[Any, Any], Any]
    operand: cute.Tensor

    def values(self, tCrC: cute.Tensor, scale: Float32 | None, first: int, tile: tuple[Int32, Int32]) -> Any:
        (bM, bN, _), lane = self.config.tile, self.me.thread % 32
        m_atom, register = divmod(first, bN // 2)
        block = m_atom * self.config.tile_warpgroups + self.me.in_tile
        row = tile[0] * bM + block * MMA_M + self.me.warp * STORE_ROWS + lane // 4
        column = tile[1] * bN + 2 * (lane % 4) + 2 * register
        operand = self.of_row(column) if cute.rank(self.operand) == 1 else self.of_rows(row, column)
        return self.op(super().values(tCrC, scale, first, tile), operand)

    @property
    def pairs(self) -> cute.Pointer:
        """Columns are even, and a pair of them is one load of 4 bytes."""
        return cute.recast_ptr(self.operand.iterator, dtype=Int32)

    def of_row(self, column: Int32) -> Any:
        """The operand's elements for 8 results; both rows share them, so their mode has the stride 0."""
        registers = cute.make_rmem_tensor(cute.make_layout((2, 2)), Float32)  # (columns, groups)
        for group in range(2):
            registers[None, group].store(self.pair(self.pairs, column + GROUP * group))
        return cute.make_tensor(registers.iterator, cute.make_layout((2, 2, 2), stride=(1, 0, 2))).load().reshape((8,))

    def of_rows(self, row: Int32, column: Int32) -> Any:
        """The operand's elements for 8 results: (columns, rows, groups)."""
        registers = cute.make_rmem_tensor(cute.make_layout((2, 2, 2)), Float32)
        rows, columns = self.operand.shape
        for half in range(2):
            start = self.pairs + Int64(cutlass.min(row + GROUP * half, rows - 1)) * (columns // 2)
            for group in range(2):
                registers[None, half, group].store(self.pair(start, column + GROUP * group))
        return registers.load().reshape((8,))

    def pair(self, start: cute.Pointer, column: Int32) -> Any:
        """Two adjacent columns of a row; past its end, its last two, for results that are not stored."""
        pair = cutlass.min(column, self.operand.shape[-1] - 2) // 2
        registers = cute.make_rmem_tensor(cute.make_layout(2), self.operand.element_type)
        cute.recast_tensor(registers, Int32)[0] = cute.make_tensor(start + pair, cute.make_layout(1))[0]
        return registers.load().to(Float32)


@dataclass(frozen=True)
class GatedStores(Stores):
    """`config` is for C, which is half as wide as the accumulators: 16 of these become 8 results."""

    op: Callable[[Any, Any], Any]

    def values(self, tCrC: cute.Tensor, scale: Float32 | None, first: int, tile: tuple[Int32, Int32]) -> Any:
        groups = cute.make_tensor(tCrC.iterator + 2 * first, cute.make_layout((4, 2, 2)))  # (values, gate or up, 2)
        gate, up = (cute.make_rmem_tensor(cute.make_layout((4, 2)), Float32) for _ in range(2))
        gate.store(groups[None, 0, None].load())
        up.store(groups[None, 1, None].load())
        return self.op(gate.load().reshape((8,)), up.load().reshape((8,)))
