"""The sweeps of page 05: its copies and transposes with one thing changed at a time.

Importing this module executes the page's answers.
"""

from collections.abc import Callable, Iterable
from inspect import unwrap
from itertools import product
from typing import Any

import cutlass
from cutlass import const_expr, cute
from cutlass.cute.nvgpu import CopyUniversalOp, cpasync
from cutlass.memory import SmemAllocator

from tutorlib.course.answers import load_answers
from tutorlib.instruments.sweep import Candidate, Sweep
from tutorlib.machine import device
from tutorlib.measuring.launchers import CuteLauncher
from tutorlib.problems.catalogue import copy, transpose
from tutorlib.problems.problem import Problem, Shape

PAGE = unwrap(load_answers("05_copy_kernels")["05.3"]).__globals__
tile_of_block, grid_for, vectors_along_rows = (PAGE[n] for n in ("tile_of_block", "grid_for", "vectors_along_rows"))

Area = tuple[int, int]  # rows, columns
Host = Callable[[cute.Tensor, cute.Tensor], None]  # takes src and dst, matrices of whole tiles by rows
TILE, WIDE, TURN = (128, 64), (64, 128), (64, 64)


def tiled_copy(
    src: cute.Tensor, vector: int, area: Area, threads: int, operation: Any = None, words: bool = False
) -> cute.TiledCopy:
    """Threads, each with a vector of so many elements, along the rows of an area. words: copied by single elements."""
    bits = src.element_type.width * (1 if words else vector)
    atom = cute.make_copy_atom(operation or CopyUniversalOp(), src.element_type, num_bits_per_copy=bits)
    return vectors_along_rows(atom, vector, area, threads)


def pieces(part: Any, together: bool) -> Iterable[tuple[Any, ...]]:
    """Where the vectors of a partition (V, M, N) are: all of them, or one after the other."""
    return [(None, None, None)] if together else product([None], *map(range, part.shape[1:]))


def by_registers(tile: Area = TILE, threads: int = 128, vector: int = 8, loads_first: bool = True) -> Host:
    """A copy. loads_first: all loads of a thread before its first store."""

    @cute.kernel
    def kernel(src: cute.Tensor, dst: cute.Tensor, tiled: cute.TiledCopy) -> None:
        mine = tiled.get_slice(cute.arch.thread_idx()[0])
        from_src, to_dst = mine.partition_S(tile_of_block(src, tile)), mine.partition_D(tile_of_block(dst, tile))
        registers = cute.make_fragment_like(from_src)  # (V, M, N)
        for at in pieces(from_src, loads_first):
            cute.copy(tiled, from_src[at], registers[at])
            cute.copy(tiled, registers[at], to_dst[at])

    @cute.jit
    def host(src: cute.Tensor, dst: cute.Tensor) -> None:
        tiled = tiled_copy(src, vector, tile, threads)
        kernel(src, dst, tiled).launch(grid=grid_for(src, tile), block=(threads, 1, 1))

    return host


def one_block_an_sm(threads: int) -> Host:
    """A copy in steps of one block: each of its threads issues four loads of 16 bytes, then stores them."""
    blocks, width = (found.sms if (found := device.gpu()) else 3), 32 * threads

    @cute.kernel
    def kernel(src: cute.Tensor, dst: cute.Tensor, tiled: cute.TiledCopy) -> None:
        steps = cute.size(src) // width
        flat = cute.make_layout((1, width, steps), stride=(0, 1, width))
        mine = tiled.get_slice(cute.arch.thread_idx()[0])
        from_src = mine.partition_S(cute.make_tensor(src.iterator, flat))  # (V, M, N, steps)
        to_dst = mine.partition_D(cute.make_tensor(dst.iterator, flat))
        registers = cute.make_fragment_like(from_src[None, None, None, 0])
        for step in cutlass.range(cute.arch.block_idx()[0], steps, blocks):
            cute.copy(tiled, from_src[None, None, None, step], registers)
            cute.copy(tiled, registers, to_dst[None, None, None, step])

    @cute.jit
    def host(src: cute.Tensor, dst: cute.Tensor) -> None:
        tiled = tiled_copy(src, 8, (1, 8 * threads), threads)
        kernel(src, dst, tiled).launch(grid=(blocks, 1, 1), block=(threads, 1, 1))

    return host


def through(tiled: cute.TiledCopy, source: cute.Tensor, target: cute.Tensor, read: Any = None) -> None:
    """Through registers. read: copies to them where the same elements come in other vectors."""
    registers = cute.make_rmem_tensor(target.shape, target.element_type)
    cute.copy(read or tiled, source, cute.make_tensor(registers.iterator, cute.make_layout(source.shape)))
    cute.copy(tiled, registers, target)


def turned(registers: bool = False, swizzle: tuple[int, int, int] = (5, 0, 6), vector: int = 1) -> Host:
    """A transpose through shared memory. registers: on the way there, in place of cp.async."""
    threads, tile = 256, TURN

    @cute.kernel
    def kernel(src: Any, dst: cute.Tensor, load: cute.TiledCopy, read: cute.TiledCopy, store: cute.TiledCopy) -> None:
        across, down, _ = cute.arch.block_idx()
        memory = SmemAllocator().allocate_array(src.element_type, tile[0] * tile[1], byte_alignment=128)
        plain = cute.make_layout(tile, stride=(tile[1], 1)), cute.make_layout(tile, stride=(1, tile[1]))
        mixed = (cute.make_composed_layout(cute.make_swizzle(*swizzle), 0, one) for one in plain)
        by_rows, by_columns = (cute.make_tensor(memory, layout) for layout in mixed)
        loads, reads, stores = (each.get_slice(cute.arch.thread_idx()[0]) for each in (load, read, store))
        from_src, to_tile = loads.partition_S(cute.local_tile(src, tile, (down, across))), loads.partition_D(by_rows)
        if const_expr(registers):
            through(load, from_src, to_tile)
        else:
            cute.copy(load, from_src, to_tile)
            cute.arch.cp_async_commit_group()
            cute.arch.cp_async_wait_group(0)
        cute.arch.sync_threads()
        to_dst = stores.partition_D(cute.local_tile(dst, tile, (across, down)))
        through(store, reads.partition_S(by_columns), to_dst, read)

    @cute.jit
    def host(src: cute.Tensor, dst: cute.Tensor) -> None:
        mode = cpasync.LoadCacheMode.GLOBAL if vector == 4 else cpasync.LoadCacheMode.ALWAYS
        load = tiled_copy(src, vector, tile, threads, None if registers else cpasync.CopyG2SOp(cache_mode=mode))
        read, store = (tiled_copy(src, vector, tile, threads, words=words) for words in (True, False))
        kernel(src, dst, load, read, store).launch(grid=grid_for(src, tile), block=(threads, 1, 1))

    return host


def sweep_of(problem: Problem, shapes: tuple[Shape, ...], hosts: dict[str, Host], pairs: int = 10) -> Sweep:
    candidates = tuple(Candidate(name, CuteLauncher(host, problem)) for name, host in hosts.items())
    return Sweep(problem, candidates, shapes, pairs=pairs)


def copy_rungs() -> Sweep:
    """Rung 3's changes to rung 2, one at a time."""
    hosts = {
        "rung 2: one element at a time": by_registers(vector=1, loads_first=False),
        "+ all loads before the first store": by_registers(vector=1),
        "+ vectors of 16 bytes": by_registers(loads_first=False),
        "+ both": by_registers(),
        "+ both, tile 64×128": by_registers(WIDE),
        "+ both, tile 64×128, 256 threads": by_registers(WIDE, 256),
    }
    return sweep_of(copy("bf16"), ((32768, 16384),), hosts)


def copy_in_flight() -> Sweep:
    """One block on each SM, by its bytes in flight: 64 for each thread. At this shape, 132 blocks take equal parts."""
    sizes = (2, 4, 8, 12, 16, 24, 32, 64)
    return sweep_of(copy("bf16"), ((25344, 16384),), {f"{kib} KiB": one_block_an_sm(16 * kib) for kib in sizes})


def transposes() -> Sweep:
    """The answer of 05.3, which is the second, with one thing changed at a time."""
    hosts = {
        "plain layouts, through registers": turned(registers=True, swizzle=(0, 0, 6)),
        "swizzled, by cp.async": turned(),
        "swizzled, through registers": turned(registers=True),
        "16 bytes an access": turned(vector=4, swizzle=(3, 2, 6)),
    }
    return sweep_of(transpose("fp32"), ((16384, 16384),), hosts, pairs=8)
