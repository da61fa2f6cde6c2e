"""The epilogues of notebook 09: from the accumulators of each thread to C."""

import cutlass
from cutlass import cute
from cutlass.cute.nvgpu import CopyUniversalOp
from cutlass.memory import SmemAllocator

from tutorlib.kernels.ampere.config import VECTOR
from tutorlib.kernels.ampere.layouts import permuted, with_rest
from tutorlib.kernels.ampere.thread_share import Accumulators


@cute.jit
def store(acc: Accumulators) -> None:
    """Page 09: from registers to C, 8 neighbors as one store of 128 bits where C's rows are aligned."""
    registers = acc.rounded()
    if cutlass.const_expr(acc.whole):
        cute.autovec_copy(registers, acc.tCgC)
    else:
        (_, rows), atoms, (_, rest) = registers.shape
        for m in cutlass.range_constexpr(atoms):
            for row in cutlass.range_constexpr(rows):
                for n in cutlass.range_constexpr(rest):
                    eight = ((None, row), m, (None, n))
                    if cutlass.const_expr(not acc.aligned):
                        store_elements(registers[eight], acc.tCgC[eight], acc.coordinates[eight], acc.shape)
                    elif cute.elem_less(acc.coordinates[(0, row), m, (0, n)], acc.shape):
                        cute.autovec_copy(registers[eight], acc.tCgC[eight])


@cute.jit
def store_elements(
    registers: cute.Tensor, target: cute.Tensor, coordinates: cute.Tensor, shape: cutlass.Constexpr
) -> None:
    """Store the elements that are inside C, one at a time."""
    for n in cutlass.range_constexpr(cute.size(registers)):
        if cute.elem_less(coordinates[n], shape):
            target[n] = registers[n]


@cute.jit
def store_through_smem(acc: Accumulators) -> None:
    """Page 09's detour: to shared memory in the MMA's order, and from there to C in rows. Whole tiles only."""
    if cutlass.const_expr(not acc.whole):
        raise ValueError(f"C = {acc.shape} is not made of whole tiles")
    rows, columns, _ = acc.config.tile
    rows_of_128_bytes = cute.make_layout((8, 64), stride=(64, 1))
    atom = cute.make_composed_layout(cute.make_swizzle(3, 3, 3), 0, rows_of_128_bytes)
    tile = cute.tile_to_shape(atom, (rows, columns), (0, 1))
    sC = SmemAllocator().allocate_tensor(acc.gC.element_type, tile, byte_alignment=128)
    cute.autovec_copy(acc.rounded(), with_rest(acc.math.partition_C(permuted(sC, 1, acc.config))))
    cute.arch.sync_threads()
    atom = cute.make_copy_atom(CopyUniversalOp(), acc.gC.element_type, num_bits_per_copy=128)
    lanes = columns // VECTOR
    threads = cute.make_layout((acc.config.threads // lanes, lanes), stride=(lanes, 1))
    in_rows = cute.make_tiled_copy_tv(atom, threads, cute.make_layout((1, VECTOR)))
    thread, _, _ = cute.arch.thread_idx()
    mine = in_rows.get_slice(thread)
    from_smem = mine.partition_S(sC)
    registers = cute.make_fragment_like(from_smem)
    cute.copy(in_rows, from_smem, registers)
    cute.copy(in_rows, registers, mine.partition_D(acc.gC))
