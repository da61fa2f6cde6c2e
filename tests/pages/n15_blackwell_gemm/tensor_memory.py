"""Unusual right answers to notebook 15: who allocates and frees tensor memory."""

import cutlass
from cutlass import Float32, Int32, cute

from tests.pages.n15_blackwell_gemm.blackwell_loops import several


@cute.jit
def by_warp_0(warp: Int32, columns: cutlass.Constexpr, address: cute.Pointer):
    """Relinquishes after the barrier, which comes twice."""
    if warp == 0:
        cute.arch.alloc_tmem(columns, address)
    cute.arch.sync_threads()
    if warp == 0:
        cute.arch.relinquish_tmem_alloc_permit()
    cute.arch.sync_threads()
    return cute.arch.retrieve_tmem_ptr(Float32, 16, address)


@cute.jit
def by_warp_5(warp: Int32, columns: cutlass.Constexpr, acc: cute.Pointer):
    cute.arch.barrier()
    if warp == 5:
        cute.arch.dealloc_tmem(acc, columns)


@cute.jit
def by_keywords(warp: Int32, columns: cutlass.Constexpr, address: cute.Pointer):
    if warp == 4:
        cute.arch.alloc_tmem(num_columns=columns, smem_ptr_to_write_address=address, is_two_cta=False)
        cute.arch.relinquish_tmem_alloc_permit(is_two_cta=False)
    cute.arch.barrier()
    return cute.arch.retrieve_tmem_ptr(cutlass.Float32, alignment=16, ptr_to_buffer_holding_addr=address)


@cute.jit
def named_barrier(warp: Int32, columns: cutlass.Constexpr, address: cute.Pointer):
    """Another warp gives up the right to allocate."""
    if warp == 4:
        cute.arch.alloc_tmem(columns, address)
    cute.arch.barrier(barrier_id=1, number_of_threads=192)
    if warp == 5:
        cute.arch.relinquish_tmem_alloc_permit()
    return cute.arch.retrieve_tmem_ptr(Float32, 16, address)


@cute.jit
def frees_by_keywords(warp: Int32, columns: cutlass.Constexpr, acc: cute.Pointer):
    cute.arch.sync_threads()
    if warp == 4:
        cute.arch.dealloc_tmem(tmem_ptr=acc, num_columns=columns, is_two_cta=False)


@cute.jit
def take(warp: Int32, of: cutlass.Constexpr, columns: cutlass.Constexpr, address: cute.Pointer):
    if warp == of:
        cute.arch.alloc_tmem(columns, address)
        cute.arch.relinquish_tmem_alloc_permit()


@cute.jit
def in_helpers(warp: Int32, columns: cutlass.Constexpr, address: cute.Pointer):
    take(warp, 4, columns, address)
    cute.arch.sync_threads()
    acc = cute.arch.retrieve_tmem_ptr(Float32, 16, address)
    return acc


@cute.jit
def warp_from_the_hardware(warp: Int32, columns: cutlass.Constexpr, address: cute.Pointer):
    mine = cute.arch.make_warp_uniform(cute.arch.warp_idx())
    if mine == 4:
        cute.arch.alloc_tmem(columns, address)
        cute.arch.relinquish_tmem_alloc_permit()
    cute.arch.sync_threads()
    return cute.arch.retrieve_tmem_ptr(Float32, 16, address)


RIGHT = (
    several("other_warps", "Warp 0 allocates and warp 5 frees.", functions=(by_warp_0, by_warp_5)),
    several("keywords", "Arguments by their names.", functions=(by_keywords, frees_by_keywords)),
    several("helpers", "A function that allocates.", functions=(in_helpers, by_warp_5)),
    several(
        "asks_for_its_warp",
        "The warp's number from the hardware.",
        functions=(warp_from_the_hardware, frees_by_keywords),
    ),
    several("named", "A barrier with a number, for all of the block's threads.", functions=(named_barrier, by_warp_5)),
)
