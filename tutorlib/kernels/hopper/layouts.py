"""Shared-memory layouts and the atoms that read and write them."""

import cutlass
from cutlass import BFloat16, Float8E4M3FN, Float16, Float32, cute
from cutlass.cute.nvgpu import OperandMajorMode, cpasync, warpgroup
from cutlass.cute.nvgpu.warpgroup import SmemLayoutAtomKind

from tutorlib.kernels.hopper.config import MMA_M, STORE_ROWS, HopperConfig, Major

DTYPES = {"bf16": BFloat16, "fp16": Float16, "e4m3": Float8E4M3FN}
Tma = tuple[cute.CopyAtom, cute.Tensor]  # how a matrix is copied, and its coordinates


def smem_layout(
    shape: tuple[int, ...], dtype: type[cutlass.Numeric], major: Major = "k", together: int | None = None
) -> cute.ComposedLayout:
    """(rows, columns, buffers, …), swizzled over as many bytes as TMA, wgmma and stmatrix can.

    major: "k": a row is contiguous; "mn": a column is. together: elements of it that are; None: all.
    """
    contiguous = (together or shape[1 if major == "k" else 0]) * dtype.width // 8
    width = next(width for width in (128, 64, 32) if contiguous % width == 0)
    atom = warpgroup.make_smem_layout_atom(SmemLayoutAtomKind[f"{major.upper()}_SW{width}"], dtype)
    order = (0, 1) if major == "k" else (1, 0)
    return cute.tile_to_shape(atom, shape, (*order, *range(2, len(shape))))


def stage_layout(mode: int, config: HopperConfig) -> cute.ComposedLayout:
    """(tile M or N, tile K, stages) of A, whose mode of C is 0, or of B, 1."""
    shape = (config.tile[mode], config.tile[2], config.ab_stages)
    return smem_layout(shape, DTYPES[config.dtype], config.majors[mode])


def store_layout(rows: int, *buffers: int, config: HopperConfig) -> cute.ComposedLayout:
    """(rows, store_columns, buffers, …) of C."""
    shape = (rows, config.store_columns, *buffers)
    dtype = DTYPES[config.c_dtype]
    return smem_layout(shape, dtype, "mn", STORE_ROWS) if config.transposed else smem_layout(shape, dtype)


def buffers_layout(config: HopperConfig) -> cute.ComposedLayout:
    """(64, store_columns, store_buffers, warpgroups) of C in the epilogue."""
    return store_layout(MMA_M, config.store_buffers, config.mma_warpgroups, config=config)


def make_mma(config: HopperConfig, columns: int, warpgroups: int) -> cute.TiledMma:
    """wgmma of 64 × `columns` on each warpgroup, both operands from shared memory."""
    shape, smem = (MMA_M, columns), warpgroup.OperandSource.SMEM
    majors = [OperandMajorMode[major.upper()] for major in config.majors]
    dtype = DTYPES[config.dtype]
    if config.dtype == "e4m3":
        op = warpgroup.MmaF8Op(dtype, dtype, Float32, shape, smem, *majors)
    else:
        op = warpgroup.MmaF16BF16Op(dtype, Float32, shape, smem, *majors)
    return cute.make_tiled_mma(cute.make_mma_atom(op), (warpgroups, 1, 1))


def make_load(matrix: cute.Tensor, layout: cute.ComposedLayout, blocks: int) -> cpasync.TmaInfo:
    """TMA of one stage's tile; where several blocks of a cluster want it, each loads its part for all of them."""
    op = cpasync.CopyBulkTensorTileG2SMulticastOp() if blocks > 1 else cpasync.CopyBulkTensorTileG2SOp()
    rows, columns, _ = cute.product_each(layout.shape)
    return cpasync.make_tiled_tma_atom(
        op, matrix, cute.slice_(layout, (None, None, 0)), (rows, columns), num_multicast=blocks
    )


def make_store(matrix: cute.Tensor, config: HopperConfig) -> cpasync.TmaInfo:
    """TMA of a warp's 16 rows × store_columns into C."""
    box = (STORE_ROWS, config.store_columns)
    return cpasync.make_tiled_tma_atom(
        cpasync.CopyBulkTensorTileS2GOp(), matrix, store_layout(STORE_ROWS, config=config), box
    )
