"""Unusual right answers to notebook 15: who holds tensor memory."""

import cutlass
from cutlass import cute

from tutorlib.kernels.blackwell.holding import Holding


@cute.jit
def other_warps(holding: Holding):
    """Warp 0 allocates, and gives up the right to more; warp 5 frees; an extra meeting."""
    if holding.warp == 0:
        cute.arch.alloc_tmem(holding.columns, holding.address)
        cute.arch.relinquish_tmem_alloc_permit()
    holding.meet()
    holding.meet()
    acc = holding.pointer()
    holding.work(acc)
    holding.meet()
    if holding.warp == 5:
        cute.arch.dealloc_tmem(acc, holding.columns)


@cute.jit
def by_keywords(holding: Holding):
    """Arguments by their names; the pointer is taken by cute.arch itself."""
    if holding.warp == 4:
        cute.arch.alloc_tmem(num_columns=holding.columns, smem_ptr_to_write_address=holding.address)
    holding.meet()
    acc = cute.arch.retrieve_tmem_ptr(cutlass.Float32, alignment=16, ptr_to_buffer_holding_addr=holding.address)
    holding.work(acc)
    holding.meet()
    if holding.warp == 4:
        cute.arch.dealloc_tmem(tmem_ptr=acc, num_columns=holding.columns)


@cute.jit
def allocate(holding: Holding, warp: cutlass.Constexpr):
    if holding.warp == warp:
        cute.arch.alloc_tmem(holding.columns, holding.address)
    cute.arch.sync_threads()


@cute.jit
def in_helpers(holding: Holding):
    """A function that allocates and meets; the block's own barrier for `meet`."""
    allocate(holding, 4)
    holding.work(holding.pointer())
    cute.arch.barrier()
    if holding.warp == 4:
        cute.arch.dealloc_tmem(holding.pointer(), holding.columns)


@cute.jit
def asks_for_its_warp(holding: Holding):
    """The warp's number from the hardware; each warp asks for its pointer when it needs it."""
    warp = cute.arch.make_warp_uniform(cute.arch.warp_idx())
    if warp == 4:
        cute.arch.alloc_tmem(holding.columns, holding.address)
    holding.meet()
    holding.work(holding.pointer())
    holding.meet()
    if warp == 4:
        cute.arch.dealloc_tmem(holding.pointer(), holding.columns)
