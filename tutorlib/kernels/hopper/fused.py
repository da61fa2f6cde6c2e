"""Notebook 18's epilogues for notebook 15's GEMM, applied to accumulators before they are rounded, on torch tensors."""

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from functools import cache
from itertools import product
from typing import Any, ClassVar

import cutlass
import torch
from cutlass import Float32, Int32, Int64, cute
from cutlass.cute.nvgpu import cpasync
from cutlass.cute.runtime import make_fake_compact_tensor
from cutlass.memory import SmemAllocator

from tutorlib.kernels.ampere.fused import add, bias_gelu, swiglu
from tutorlib.kernels.hopper.choose import ShapeError, candidates, shape_problem
from tutorlib.kernels.hopper.config import (
    BYTES,
    MMA_M,
    REGISTERS_BESIDE_RESULTS,
    SMEM_ROOM,
    STORE_ROWS,
    ConfigError,
    HopperConfig,
)
from tutorlib.kernels.hopper.cost import NO_WORK, OpWork, cost
from tutorlib.kernels.hopper.epilogue import Stores
from tutorlib.kernels.hopper.gemm import make_gemm
from tutorlib.kernels.hopper.launch import compile_for_torch, fakes, max_clusters, scratch
from tutorlib.kernels.hopper.parts import COURSE
from tutorlib.kernels.hopper.pipeline import store_layout, wait

GROUP = 8  # columns or rows: in each 8×8 group of a wgmma's results a thread has two adjacent columns of a row


@dataclass(frozen=True)
class Fusion:
    """op: takes a thread's accumulators and the operand's elements (gated: the other half of them), fp32.

    gated: B's rows are groups of 8 of gate's and of up's in turn; C is half as wide.
    work: per accumulator, for the chooser. registers: that the op needs per thread, besides a tile's accumulators.
    """

    op: Callable[[Any, Any], Any]
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
        left = SMEM_ROOM - config.ab_stages * config.stage_room - config.other_bytes  # half may store wider rows
        return replace(half, store_stages=max(1, min(left // half.store_stage_bytes, half.store_steps)))

    def source(self, operand: cute.Tensor | None, config: HopperConfig) -> Any:
        """On the host: what the kernel gets of the operand."""
        return operand

    def stores(self, plain: Stores, operand: Any) -> Stores:
        """The way out, with the op on it."""
        known = {field.name: getattr(plain, field.name) for field in fields(plain)}
        if self.gated:
            return GatedStores(**known, op=self.op)
        return FusedStores(**known, op=self.op, operand=operand)


@dataclass(frozen=True)
class TmaFusion(Fusion):
    """The operand, (M, N), is loaded by TMA under a tile's main loop, into the buffers from which C leaves later."""

    def source(self, operand: cute.Tensor | None, config: HopperConfig) -> Any:
        """Raises ConfigError."""
        if config.schedule != "pingpong" or config.stream_k or config.store_buffers < config.store_steps:
            raise ConfigError("an operand by TMA takes ping-pong, whole tiles, and buffers for all of a tile")
        box, layout = (STORE_ROWS, config.store_columns), store_layout(STORE_ROWS, config=config)
        return cpasync.make_tiled_tma_atom(cpasync.CopyBulkTensorTileG2SOp(), operand, layout, box)

    def stores(self, plain: Stores, operand: Any) -> Stores:
        known = {field.name: getattr(plain, field.name) for field in fields(plain)}
        arrived = SmemAllocator().allocate_array(Int64, plain.config.threads // 32)
        mine = arrived + plain.me.group * 4 + plain.me.warp
        with cute.arch.elect_one():
            cute.arch.mbarrier_init(mine, 1)
            cute.arch.mbarrier_init_fence()
        cute.arch.sync_warp()
        return LoadedStores(**known, op=self.op, tma=operand[0], mD=operand[1], arrived=mine)


@dataclass(frozen=True)
class LoadedStores(Stores):
    """mD: (M, N), loaded by `tma` in boxes as C's. arrived: this warp's mbarrier, a phase for each of its tiles."""

    op: Callable[[Any, Any], Any]
    tma: cute.CopyAtom
    mD: cute.Tensor
    arrived: cute.Pointer
    asks: ClassVar[bool] = True

    def ask(self, tile: tuple[Int32, Int32]) -> None:
        """Load this warp's share of the tile, once the stores of the last one have read their buffers."""
        cute.arch.cp_async_bulk_wait_group(0, read=True)
        cute.arch.sync_warp()
        with cute.arch.elect_one():
            box = STORE_ROWS * self.config.store_columns * BYTES[self.config.c_dtype]
            cute.arch.mbarrier_arrive_and_expect_tx(self.arrived, self.config.store_steps * box)
        for buffer in self.steps:
            shared, of_d = self.box(self.tma, self.mD, tile, buffer)
            cute.copy(self.tma, of_d, shared[None, buffer], tma_bar_ptr=self.arrived)

    def wait(self, number: Int32) -> None:
        """Until that has arrived, for this block's number-th tile; two warpgroups take turns."""
        wait(self.arrived, number // 2 % 2, self.config)

    def values(self, tCrC: cute.Tensor, scale: Float32 | None, first: int, tile: tuple[Int32, Int32]) -> Any:
        m_atom, register = divmod(first, self.config.tile[1] // 2)
        column, lane = 2 * register, self.me.thread % 32
        places = enumerate(self.config.store_places)
        reach = self.config.store_columns - 2 * GROUP
        buffer, left = next((n, c) for n, (m, c) in places if m == m_atom and 0 <= column - c <= reach)
        registers = cute.make_rmem_tensor(cute.make_layout((2, 2, 2)), self.sC.element_type)  # (columns, rows, groups)
        for half, group in product(range(2), range(2)):
            place = lane // 4 + GROUP * half, (column - left + GROUP * group) // 2 + lane % 4
            pair = cute.local_tile(self.sC[None, None, buffer], (1, 2), place)
            cute.autovec_copy(cute.group_modes(pair, 0, 2), registers[None, half, group])
        return self.op(super().values(tCrC, scale, first, tile), registers.load().to(Float32).reshape((8,)))


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


# Launches -------------------------------------------------------------------------------------------------------------

PIECE = 8  # rows of gate's and of up's weights in turn, where both are one matrix
BIAS_GELU = Fusion(bias_gelu, work=OpWork(special=1, arithmetic=6), registers=48)
BIAS = Fusion(add, work=OpWork(arithmetic=1), registers=48)
ADD = Fusion(add, work=OpWork(arithmetic=1, fetched=1), registers=88)
ADD_BY_TMA = TmaFusion(add, work=OpWork(arithmetic=1), registers=48)
SWIGLU = Fusion(swiglu, gated=True, work=OpWork(special=0.5, arithmetic=1.5), registers=48)  # of each pair one result
WORTH = 0.015  # part of the time that an epilogue's work must take before it decides
DOUBT = 0.03  # by which two estimates must differ before the model can tell them apart


@cache
def fusable(fusion: Fusion) -> tuple[HopperConfig, ...]:
    """The candidates that the epilogue can be put on: rows of C stay rows, and a block has all of a tile's K.

    One that reads a matrix needs clusters: the model assumes that L2 serves neighbors without one together, as it does
    while they are in step, and each waits for its own rows.
    """
    plain = (config for config in candidates() if not config.transposed and config.split_k == 1)
    together = (config for config in plain if config.cluster_blocks > 1 or not fusion.work.fetched)
    return tuple(config for config in together if fusion.fits(config))


@cache
def choose_fused(m: int, n: int, k: int, sms: int, fusion: Fusion) -> HopperConfig:
    """The one of them that should be fastest, by notebook 15's model, which knows the epilogue's work.

    Work costs nothing under another tile's main loop. So where it is more than WORTH, ping-pong has the preference over
    what the model cannot tell from it; but for reading a matrix, which the model knows of cooperative tiles alone.
    Raises ShapeError.
    """
    if problem := shape_problem(m, n, k):
        raise ShapeError(problem)
    estimates = {config: cost(config, m, n, k, sms, work=fusion.work) for config in fusable(fusion)}
    fastest = min(estimates, key=estimates.__getitem__)
    least = estimates[fastest]
    if fusion.work.fetched or least - cost(fastest, m, n, k, sms) < WORTH * least:
        return fastest
    equals = [config for config in estimates if estimates[config] < (1 + DOUBT) * least]
    return min(equals, key=lambda config: (config.schedule != "pingpong", estimates[config]))


def fused_fakes(config: HopperConfig, fusion: Fusion, rank: int) -> tuple[Any, ...]:
    """As `fakes`, with an operand of this rank; none where gated, and C has a width of its own."""
    a, b, c, *others, _ = fakes(config)
    if fusion.gated:
        return a, b, fakes(config)[2], *others, None
    row = make_fake_compact_tensor(
        c.element_type, (cute.sym_int(divisibility=8),), memspace=cute.AddressSpace.gmem, assumed_align=16
    )
    return a, b, c, *others, c if rank == 2 else row


@cache
def compile_fused(config: HopperConfig, fusion: Fusion, rank: int = 1) -> Any:
    """make_gemm's host function, compiled for all shapes. rank: of the operand."""
    return compile_for_torch(make_gemm(config, COURSE, fusion), *fused_fakes(config, fusion, rank), Int32(1))


def launch_fused(
    fusion: Fusion,
    a: torch.Tensor,
    b: torch.Tensor,
    operand: torch.Tensor | None,
    c: torch.Tensor,
    config: HopperConfig | None = None,
) -> None:
    """C = op(A·Bᵀ, operand), all bf16 with contiguous rows, on a Hopper GPU. config: chosen where it is None.

    Raises ShapeError.
    """
    (m, k), n = a.shape, b.shape[0]
    config = config or choose_fused(m, n, k, max_clusters(1), fusion)
    clusters = max_clusters(config.cluster_size)
    compiled = compile_fused(config, fusion, 1 if operand is None else operand.ndim)
    compiled(a, b, c, None, None, *scratch(config, clusters), operand, clusters)


def linear_bias(a: torch.Tensor, b: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """A (M, K) · Bᵀ + bias (N,) in every row, (M, N)."""
    c = a.new_empty(a.shape[0], b.shape[0])
    launch_fused(BIAS, a, b, bias, c)
    return c


def linear_swiglu(a: torch.Tensor, gate_up: torch.Tensor) -> torch.Tensor:
    """silu(A·gateᵀ) · (A·upᵀ), (M, F), where gate_up (2F, K) has PIECE rows of gate and of up in turn."""
    c = a.new_empty(a.shape[0], gate_up.shape[0] // 2)
    launch_fused(SWIGLU, a, gate_up, None, c)
    return c


def of_halves(gated: Callable[[cute.Tensor], cute.Tensor]) -> Callable[[Any, Any], Any]:
    """The op of gate's and up's values, 8 of each, that `gated` computes in registers: gate in their first half."""

    def op(gate: Any, up: Any) -> Any:
        registers = cute.make_rmem_tensor(((2, 2), 2, (1, 2)), Float32)  # (values, pieces, (1, gate or up))
        for half, values in enumerate((gate, up)):
            cute.make_tensor(registers.iterator + 8 * half, cute.make_layout(8)).store(values)
        return gated(registers).load().reshape((8,))

    return op
