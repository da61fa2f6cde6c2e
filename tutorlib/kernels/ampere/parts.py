"""The parts of a GEMM of notebooks 09 to 12: each may be the reader's."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import cutlass
from cutlass import cute

from tutorlib.kernels.ampere.config import GemmConfig
from tutorlib.kernels.ampere.epilogues import store
from tutorlib.kernels.ampere.layouts import n_order, smem_layout
from tutorlib.kernels.ampere.operands import Operand, make_operands
from tutorlib.kernels.ampere.thread_share import Accumulators, GlobalToShared, Steps, make_copy_g2s, make_mma
from tutorlib.models.l2 import raster

MainLoop = Callable[[Steps], None]
Order = Callable[[Any, int, int], tuple[Any, Any]]
Epilogue = Callable[[Accumulators], None]
SmemLayout = Callable[[int, int, int], cute.ComposedLayout]
Dtype = type[cutlass.Numeric]


@dataclass(frozen=True)
class GemmParts:
    """The functions that the kernel calls.

    smem: rows, K, stages → the layout of a tile's buffers. g2s, mma: who copies and who multiplies.
    operands: the views of the registers. copies, steps: the class whose method loads, and the one whose methods fetch
        and multiply. columns: the order in which the MMA takes the columns of C.
    order: a block's number, rows and columns of tiles → its tile.
    gated: the epilogue makes one column of C of two columns of accumulators; see notebook 16.
    """

    main_loop: MainLoop
    order: Order = raster
    epilogue: Epilogue = store
    smem: SmemLayout = smem_layout
    g2s: Callable[[GemmConfig, Dtype], cute.TiledCopy] = make_copy_g2s
    mma: Callable[[GemmConfig, Dtype], cute.TiledMma] = make_mma
    operands: Callable[..., tuple[Operand, Operand]] = make_operands
    copies: type[GlobalToShared] = GlobalToShared
    steps: type[Steps] = Steps
    columns: Callable[[GemmConfig], cute.Layout] = n_order
    gated: bool = False

    def out(self, config: GemmConfig) -> GemmConfig:
        """How a block's tile of C is cut."""
        m, n, k = config.tile
        return replace(config, tile=(m, n // 2, k)) if self.gated else config

    def accumulators(self, tiled_mma: cute.TiledMma, tCgC: cute.Tensor) -> cute.Tensor:
        """A thread's accumulators, in registers. Gated: those of the tile's left half, then those of its right half."""
        if not self.gated:
            return tiled_mma.make_fragment_C(tCgC)
        pairs, atoms, (neighbors, rest) = tCgC.shape
        return cute.make_rmem_tensor((pairs, atoms, (neighbors, 2 * rest)), cutlass.Float32)
