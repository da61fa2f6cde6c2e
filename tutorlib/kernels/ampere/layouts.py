"""Layouts of the GEMM of notebooks 09 to 12: shared memory, and the order of C's columns."""

from cutlass import cute

from tutorlib.kernels.ampere.config import GemmConfig


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


def permuted(tensor: cute.Tensor, mode: int, config: GemmConfig) -> cute.Tensor:
    """The same memory with N, its mode number `mode`, in the order of the MMA's columns."""
    by_mode: list[cute.Layout | None] = [None] * cute.rank(tensor)
    by_mode[mode] = n_order(config)
    return cute.composition(tensor, tuple(by_mode))


def with_rest(share: cute.Tensor) -> cute.Tensor:
    """A thread's share of C as ((2 columns, 2 rows), M atoms, (4 N atoms, the rest)), also where the rest is 1.

    CuTe merges a mode of 1 into its neighbor, and what is written for the general shape would not fit.
    """
    if cute.rank(share, mode=[2]) > 1:
        return share
    return cute.group_modes(cute.append_ones(share, up_to_rank=4), 2, 4)
