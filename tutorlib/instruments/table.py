"""The sweeps of `tutor sweep`: each a name, the problem, its kernels and the shapes at which they are timed.

Importing this module imports CuTe, cuTile and torch.
"""

import math
import random
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from functools import cache, partial
from itertools import chain, product
from operator import mul
from pathlib import Path
from statistics import median
from typing import Any

import cuda.tile as ct
import cutlass
import torch
from cutlass import cute
from cutlass.cute.nvgpu import warpgroup
from cutlass.pipeline import PipelineUserType, make_pipeline_state
from torch import Tensor
from torch.nn.functional import silu

from tutorlib.compiling.dsls import compile_cutile
from tutorlib.compiling.spec import TensorSpec
from tutorlib.course.answers import load_answers
from tutorlib.instruments.sweep import Candidate, Sweep
from tutorlib.kernels import cutile, layers
from tutorlib.kernels.ampere.config import BYTES, MOST_SMEM, GemmConfig
from tutorlib.kernels.ampere.gemm import Order, in_eights, make_gemm
from tutorlib.kernels.ampere.main_loops import multistage, single_buffer
from tutorlib.kernels.ampere.thread_share import Steps
from tutorlib.kernels.attention import hopper_backward
from tutorlib.kernels.attention import launch as attention_launch
from tutorlib.kernels.attention.roles import COURSE, AttentionParts, step_together
from tutorlib.kernels.attention.schedule import AttentionConfig
from tutorlib.kernels.cpp import BENCH, PROMISES, WAYS, Variant
from tutorlib.kernels.hopper import first, torch_gemm
from tutorlib.kernels.hopper.choose import choose
from tutorlib.kernels.hopper.config import HopperConfig
from tutorlib.kernels.hopper.first import Parts, make_first_gemm
from tutorlib.kernels.hopper.fused import (
    ADD,
    ADD_BY_TMA,
    BIAS_GELU,
    PIECE,
    SWIGLU,
    Fusion,
    launch_fused,
    linear_swiglu,
)
from tutorlib.kernels.hopper.launch import launcher
from tutorlib.kernels.ladder import AMPERE_RUNGS, LADDER, Rung
from tutorlib.kernels.layers import LLAMA_8B, linear, separate, swiglu_linear
from tutorlib.machine import device
from tutorlib.machine.features import WGMMA
from tutorlib.measuring import counters
from tutorlib.measuring.launchers import CppLauncher, CuteLauncher, CutileLauncher, HopperLauncher, HostLauncher
from tutorlib.measuring.trusted import measure
from tutorlib.models.l2 import grouped, raster
from tutorlib.problems import fused as fused_problems
from tutorlib.problems.attention import against_torchs_best, attention_problem, decoding_problem, gradient_problem
from tutorlib.problems.catalogue import (
    UNIT_ROUNDOFF,
    accumulation,
    copy,
    gemm,
    gemm_fp8,
    gemm_m_major,
    gemm_tf32,
    softmax,
    transpose,
)
from tutorlib.problems.differences import by
from tutorlib.problems.problem import Operand, Problem, Shape
from tutorlib.problems.work import Call, Launcher, Work, new_generator

GEMM, FP8 = gemm("bf16"), gemm_fp8()
Levers = tuple[str, ...]
Launches = list[tuple[str, Callable[[], Any]]]


def cubes(*sizes: int) -> tuple[Shape, ...]:
    return tuple((n, n, n) for n in sizes)


SQUARES = cubes(4096, 8192, 2048, 1024, 512, 3072, 6144, 1536, 768)
LARGE = cubes(8192, 4096, 2048)


def by_host(name: str, host: Callable[..., Any], **others: Any) -> Candidate:
    """A function of torch tensors that launches kernels. others: as Candidate has them."""
    return Candidate(name, HostLauncher(host), **others)


# Notebook 02: coalescing ----------------------------------------------------------------------------------------------


@cute.kernel
def by_element(x: cute.Tensor, y: cute.Tensor) -> None:
    across, down, _ = cute.arch.thread_idx()
    block_across, block_down, _ = cute.arch.block_idx()
    at = block_down * 8 + down, block_across * 32 + across
    y[at] = x[at]


@cute.kernel
def by_four(x: cute.Tensor, y: cute.Tensor) -> None:
    across, down, _ = cute.arch.thread_idx()
    block_across, block_down, _ = cute.arch.block_idx()
    at = block_down * 8 + down, block_across * 32 + across
    cute.local_tile(y, (1, 4), at).store(cute.local_tile(x, (1, 4), at).load())


def in_directions(name: str, problem: Problem, x_modes: list[int], y_modes: list[int], each: int = 1) -> Candidate:
    """x_modes, y_modes: [0, 1] where warps run along the rows, [1, 0] where down the columns. each: 1 or 4 floats."""
    kernel = by_four if each == 4 else by_element

    @cute.jit
    def host(x: cute.Tensor, y: cute.Tensor) -> None:
        source = cute.make_tensor(x.iterator, cute.select(x.layout, mode=x_modes))
        target = cute.make_tensor(y.iterator, cute.select(y.layout, mode=y_modes))
        grid = target.shape[1] // (32 * each), target.shape[0] // 8, 1
        kernel(source, target).launch(grid=grid, block=(32, 8, 1))

    return Candidate(name, CuteLauncher(host, problem), problem=problem)


def coalescing() -> Sweep:
    """Notebook 02's copy of 1 GiB, and a transpose, which has its loads and its stores in two directions."""
    along, down, straight, turned = [0, 1], [1, 0], copy("fp32"), transpose("fp32")
    candidates = (
        in_directions("along rows", straight, along, along),
        in_directions("down columns", straight, down, down),
        in_directions("transpose, only loads down columns", turned, down, along),
        in_directions("transpose, only stores down columns", turned, along, down),
    )
    return Sweep(straight, candidates, ((2**14, 2**14),), pairs=10)


def wide_copy() -> Sweep:
    """The copy along rows of `coalescing`, with 4 and with 16 bytes for each thread."""
    straight, along = copy("fp32"), [0, 1]
    candidates = (
        in_directions("along rows, one float a thread", straight, along, along),
        in_directions("along rows, four floats a thread", straight, along, along, each=4),
    )
    return Sweep(straight, candidates, ((2**14, 2**14),), pairs=10)


def tile_layouts() -> Sweep:
    """Notebook 04's tiles, by the place of chunk c of row r: four blocks for each SM of an H200."""
    places = {
        "by rows": "r * 8 + c",
        "by rows, padded to 72": "r * 9 + c",
        "by columns": "r / 8 * 64 + c * 8 + r % 8",
        "by rows, swizzled": "r * 8 + (c ^ r % 8)",
        "by columns, swizzled": "r / 8 * 64 + c * 8 + (r % 8 ^ c)",
    }
    text = Path(cutile.__file__).with_name("tile_layout.cu").read_text(encoding="utf-8")
    sources = {name: f"__device__ int at(int r, int c) {{ return {place}; }}\n{text}" for name, place in places.items()}
    kernels = tuple(Candidate(n, CppLauncher(s, lambda _: (528,), lambda _: (256,))) for n, s in sources.items())
    return Sweep(copy("bf16"), kernels, ((528 * 128, 64),), (counters.SHARED_READ, counters.SHARED_WRITTEN), seconds=20)


def of_page_05(name: str) -> Sweep:
    from tutorlib.instruments import copies  # executes the page's answers

    return getattr(copies, name)()


# Notebooks 06 to 09: cuTile and Tile C++ ------------------------------------------------------------------------------


SOFTMAX = softmax("fp32")


def rows_of(n: int) -> Shape:
    """256 MiB of fp32 in rows of n."""
    return 2**26 // n, n


def short_softmax() -> Any:
    """The kernel that the answer of 06.3 launches."""
    return load_answers("06_cutile_tiles")["06.3"].__globals__["short_softmax"]


def softmax_rows() -> Sweep:
    """Notebook 06's kernels, rows in one tile and online, by a row's length."""
    online = load_answers("06_cutile_tiles")["06.2"]
    by_row = partial(CutileLauncher, grid=lambda shape: shape[:1])
    launchers = {
        "one tile a row": by_row(short_softmax(), constants=lambda shape: (1, shape[1])),
        "online, tiles of 1024": by_row(online, constants=lambda _: (1024,)),
        "online, tiles of 4096": by_row(online, constants=lambda _: (4096,)),
    }
    shapes = tuple(map(rows_of, (1024, 4096, 16384, 65536)))
    return Sweep(SOFTMAX, tuple(Candidate(*one) for one in launchers.items()), shapes, pairs=10, seconds=60)


def softmax_occupancy() -> Sweep:
    """Its last kernel, by the rows in a tile and the blocks on an SM that it asks for."""
    short = short_softmax()

    def candidate(height: int, blocks: int) -> Candidate:
        name = f"{height} row{'s' * (height > 1)} a tile" + f", occupancy={blocks}" * (blocks > 1)
        kernel = short.replace_hints(occupancy=blocks) if blocks > 1 else short
        launcher = CutileLauncher(kernel, lambda shape: (shape[0] // height,), lambda shape: (height, shape[1]))

        def inspect(shape: Shape) -> dict[str, Any]:
            made = compile_cutile(kernel, [*[TensorSpec(shape)] * 2, height, shape[1]], device.tile_target())
            return {"registers": made.registers, "stack_bytes": made.stack_bytes}

        return Candidate(name, launcher, inspect=inspect)

    candidates = tuple(candidate(height, blocks) for blocks in (1, 2, 4, 8) for height in (1, 2, 4, 8))
    return Sweep(SOFTMAX, candidates, tuple(map(rows_of, (1024, 4096))), pairs=6)


def configured(name: str, config: cutile.Config, one_tile_each: bool = False) -> Candidate:
    """cuTile's persistent GEMM as configured, or with a block for each tile of C."""

    def grid(shape: Shape) -> tuple[int, ...]:
        return (config.tiles(shape[:2]), 1, 1) if one_tile_each else config.grid(shape[:2], device.need_gpu().sms)

    launcher = CutileLauncher(cutile.persistent.replace_hints(**config.hints), grid, lambda shape: config.constants)
    return Candidate(name, launcher, facts={"config": asdict(config)})


def tile_rungs() -> Sweep:
    """Notebook 07's ladder at three square sizes."""
    small, wide, eight = cutile.Config(128, 128), cutile.Config(128, 256), {"num_worker_warps": 8}
    first = CutileLauncher(
        cutile.plain,
        grid=lambda shape: (-(-shape[0] // small.tm), -(-shape[1] // small.tn), 1),
        constants=lambda shape: small.constants[:3],
    )
    rungs = (
        Candidate("a block for each tile", first),
        configured("in strips of 8 rows", small, one_tile_each=True),
        configured("tiles of 128×256, spilled", wide, one_tile_each=True),
        configured("128×256, 8 warps", replace(wide, **eight), one_tile_each=True),
        configured("persistent, 128×256, 8 warps", replace(wide, **eight)),
        configured("persistent, 256×256, 2 CTAs", cutile.Config(256, 256, num_ctas=2, **eight)),
        configured("persistent, 128×128", small),
    )
    return Sweep(GEMM, rungs, cubes(4096, 2048, 8192))


def tile_space() -> Sweep:
    """Every configuration of `kernels.cutile.space` at 4096³."""
    return Sweep(GEMM, tuple(configured(str(config), config) for config in cutile.space()), cubes(4096))


def tile_orders() -> Sweep:
    """Notebook 12: 07's kernel, a block for each tile, and 14's, in their orders, and what memory has to send."""
    orders = {"raster": 64} | {f"groups of {group}": group for group in (4, 8, 16)}
    small = cutile.Config(128, 128)
    candidates = [configured(name, replace(small, group=n), one_tile_each=True) for name, n in orders.items()]
    for order in (raster, grouped):
        host = make_first_gemm(Parts(order=order))
        candidates.append(Candidate(f"page 14's kernel, {order.__name__}", CuteLauncher(host, GEMM), needs=WGMMA))
    return Sweep(GEMM, tuple(candidates), cubes(8192), (counters.MEMORY_READ, counters.WAVES))


def launch_us(call: Callable[[], Any], before: Callable[[], Any] = lambda: None, rounds: int = 30) -> float:
    """Its median time in µs, each after `before`, queued behind a pause of the GPU."""
    marks = [[torch.cuda.Event(enable_timing=True) for _ in range(2)] for _ in range(rounds)]
    before()
    call()
    torch.cuda._sleep(20_000_000)
    for start, end in marks:
        before()
        start.record()
        call()
        end.record()
    torch.cuda.synchronize()
    return round(1000 * median(start.elapsed_time(end) for start, end in marks), 1)


def split_k() -> Sweep:
    """Notebook 08's split-K, a small C with a long K, by the number of parts; first without a second pass.

    Facts: the times of its launches.
    """
    multiply = load_answers("08_cutile_fp8")["08.2"]

    def in_parts(parts: int, a: Tensor, b: Tensor, c: Tensor) -> Launches:
        room, (m, n) = torch.empty(parts, *c.shape, device=c.device), c.shape
        grids, stream = ((m // 128, n // 128, parts), (m // 32, n // 64)), torch.cuda.current_stream()
        first = partial(ct.launch, stream, grids[0], multiply, (a, b, room, 128, 128, 64))
        second = partial(ct.launch, stream, grids[1], cutile.add_parts, (room, c, 32, 64))
        return [("first_us", first), ("second_us", second)]

    def atomic(relaxed: bool, a: Tensor, b: Tensor, c: Tensor) -> Launches:
        sums, (m, n), stream = torch.empty(c.shape, device=c.device), c.shape, torch.cuda.current_stream()
        arguments = a, b, sums, 8, 128, 128, 64, relaxed
        add = partial(ct.launch, stream, (m // 128, n // 128, 8), cutile.atomic_products, arguments)
        return [("zeros_us", sums.zero_), ("atomic_us", add), ("convert_us", partial(c.copy_, sums))]

    def candidate(name: str, launches: Callable[..., Launches]) -> Candidate:
        def host(a: Tensor, b: Tensor, c: Tensor) -> None:
            for _, launch in launches(a, b, c):
                launch()

        def inspect(shape: Shape) -> dict[str, Any]:
            work = Work(GEMM, shape)
            work.refill(new_generator())
            calls = launches(*work.tensors)
            earlier = [lambda: None, *(one for _, one in calls)]
            return {name: launch_us(call, before) for (name, call), before in zip(calls, earlier, strict=False)}

        return by_host(name, host, inspect=inspect)

    ways = [candidate(f"{n} part{'s' * (n > 1)}", partial(in_parts, n)) for n in (1, 2, 4, 8, 16)]
    ways += [candidate("8 parts, atomic additions" + ", relaxed" * way, partial(atomic, way)) for way in (False, True)]
    return Sweep(GEMM, (tile_rungs().candidates[0], *ways), ((512, 512, 65536),), seconds=30)


def fp8_accumulation() -> Sweep:
    """Notebook 08's fp8, by tile, with and without fast accumulation. Facts: the error relative to the exact result."""

    def errors(multiply: Callable[[Tensor, Tensor, Tensor], Any], shape: Shape) -> dict[str, Any]:
        m, n, k = shape
        found = {}
        for name in ("randn", "rand"):
            wide = [getattr(torch, name)(rows, k, device="cuda", generator=new_generator()) for rows in (m, n)]
            a, b = (x.to(torch.float8_e4m3fn) for x in wide)
            exact, c = a.double() @ b.double().mT, torch.empty(m, n, device="cuda")
            multiply(a, b, c)
            found[name] = ((c - exact).norm() / exact.norm()).item()
            unrounded = wide[0].double() @ wide[1].double().mT
            found[f"{name}, A and B rounded"] = ((exact - unrounded).norm() / unrounded.norm()).item()
        return found

    def candidate(tm: int, tn: int, blocks: int, fast: bool) -> Candidate:
        kernel = cutile.fp8_tile.replace_hints(occupancy=blocks)
        constants = tm, tn, 128, fast

        def grid(shape: Shape) -> tuple[int, ...]:
            return -(-shape[0] // tm), -(-shape[1] // tn)

        def inspect(shape: Shape) -> dict[str, Any]:
            def multiply(*tensors: Tensor) -> None:
                ct.launch(torch.cuda.current_stream(), grid(shape), kernel, (*tensors, *constants))

            specs = [operand.spec(FP8.shape_of(operand, shape)) for operand in FP8.operands]
            made = compile_cutile(kernel, [*specs, *constants], device.tile_target())
            return errors(multiply, shape) | {"smem_bytes": made.smem_bytes, "stack_bytes": made.stack_bytes}

        name = f"{tm}×{tn}" + ", two on an SM" * (blocks == 2) + ", fast accumulation" * fast
        return Candidate(name, CutileLauncher(kernel, grid, lambda _: constants), inspect=inspect)

    tiles = ((128, 128, 1), (64, 128, 2), (64, 256, 1))
    return Sweep(FP8, tuple(candidate(*tile, fast) for tile in tiles for fast in (False, True)), ((320, 32576, 7168),))


def tile_fp8() -> Sweep:
    """Notebook 08's fp8 of 320 rows in eight warps: tiles, and slabs with named changes; the bytes that SMs get."""

    def tiles(tm: int, tn: int) -> Candidate:
        def grid(mnk: Shape) -> tuple[int, ...]:
            return -(-mnk[0] // tm), -(-mnk[1] // tn)

        kernel = cutile.fp8_tile.replace_hints(num_worker_warps=8)
        return Candidate(by((tm, tn)), CutileLauncher(kernel, grid, lambda _: (tm, tn, 128, True)))

    def slabs(name: str, *changes: Any) -> Candidate:
        def grid(mnk: Shape) -> tuple[int, ...]:
            return (min(-(-mnk[1] // 128), device.need_gpu().sms),)

        kernel = cutile.slabs.replace_hints(num_worker_warps=8)
        return Candidate(name, CutileLauncher(kernel, grid, lambda _: (128, 128, *changes)))

    ways = (
        tiles(64, 256),
        tiles(128, 256),
        slabs("slabs of 128", False, 0, 0, True),
        slabs("  run-time zero", True, 0, 0, True),
        slabs("  run-time zero, latency 3, 6", True, 3, 6, True),
        slabs("  run-time zero, stores without TMA", True, 0, 0, False),
    )
    return Sweep(FP8, ways, ((320, 32576, 7168),), (counters.TO_SMS,))


def tile_fp32() -> Sweep:
    """Notebook 08's GEMMs of fp32 matrices: on the fp32 units, and through tf32 once, and three times."""

    def walking(name: str, kernel: Any, *tile: int) -> Candidate:
        config = cutile.Config(*tile)

        def grid(shape: Shape) -> tuple[int, ...]:
            return config.grid(shape[:2], device.need_gpu().sms)

        return Candidate(name, CutileLauncher(kernel, grid, lambda shape: config.constants))

    def exactly(a: Tensor, b: Tensor, c: Tensor) -> None:
        torch.mm(a, b.mT, out=c)

    ways = (
        walking("notebook 07's kernel", cutile.persistent, 128, 128, 32),
        by_host("cuBLAS fp32", exactly),
        walking("three products of tf32", load_answers("08_cutile_fp8")["08.1"], 128, 64, 32),
        walking("one product of tf32", cutile.through_tf32, 128, 128, 32),
    )
    return Sweep(gemm_tf32(), ways, cubes(4096))


def cpp_gemms(named: Mapping[str, Variant], shapes: tuple[Shape, ...], *counted: str) -> Sweep:
    """Variants of notebook 09's GEMM, and what Nsight Compute counts of each."""
    candidates = (Candidate(name, CppLauncher(variant.source, variant.grid)) for name, variant in named.items())
    return Sweep(GEMM, tuple(candidates), shapes, counted)


# Notebooks 10 to 13: the ladder's GEMM --------------------------------------------------------------------------------


def rungs(problem: Problem, ladder: Iterable[Rung] = LADDER) -> tuple[Candidate, ...]:
    """The ladder's kernels, for the GPU at hand."""

    def launcher(rung: Rung) -> Launcher:
        if rung.host:
            return CuteLauncher(rung.host, problem)
        return HopperLauncher(rung.config) if isinstance(rung.config, HopperConfig) else HostLauncher(torch_gemm.gemm)

    return tuple(Candidate(rung.title, launcher(rung), rung.smem_bytes, needs=rung.needs) for rung in ladder)


@cute.jit
def load_first(steps: Steps) -> None:
    """The first K tile, and the fetch of its first K block."""
    steps.load(0, 0)
    cute.arch.cp_async_commit_group()
    cute.arch.cp_async_wait_group(0)
    cute.arch.sync_threads()
    steps.fetch(0, 0)


@cute.jit
def multiply_alone(steps: Steps) -> None:
    """A main loop that multiplies by the first K block at every step: mma.sync on registers, without copies."""
    load_first(steps)
    for _ in cutlass.range(steps.k_tiles, unroll=1):
        for _ in cutlass.range_constexpr(steps.k_blocks):
            steps.multiply(0)


def repeated(columns: int = 16, times: int = 0) -> Problem:
    """The product of the first columns of A and B, once for each that K has so many, or `times`."""

    def reference(a: Tensor, b: Tensor) -> Tensor:
        return (times or a.shape[1] // columns) * (a[:, :columns] @ b[:, :columns].mT)

    return replace(GEMM, reference=reference)


def mma_sync_alone() -> dict[str, Any]:
    """TFLOP/s of mma.sync alone, two blocks on each SM: a ceiling of its kernels that no datasheet gives."""
    problem, (m, n, _) = repeated(), GemmConfig().tile
    launcher = CuteLauncher(make_gemm(GemmConfig(), multiply_alone), problem)
    measured = measure(problem, launcher, (m * device.need_gpu().sms, 2 * n, 16384))
    return {"mma_sync_tflops": round(measured.tflops or 0, 1)}


def parts_of_a_tile() -> dict[str, tuple[int, Callable[[Steps], None], Problem]]:
    """Name → stages, a main loop with some of a tile's parts, and the product that it computes."""

    def arithmetic(copies: bool) -> Callable[[Steps], None]:
        @cute.jit
        def loop(steps: Steps) -> None:
            load_first(steps)
            for k_tile in cutlass.range(steps.k_tiles, unroll=1):
                if cutlass.const_expr(copies):
                    steps.load(k_tile, 1)
                    cute.arch.cp_async_commit_group()
                for k_block in cutlass.range_constexpr(steps.k_blocks):
                    if cutlass.const_expr(k_block + 1 == steps.k_blocks):
                        cute.arch.sync_threads()
                    steps.fetch((k_block + 1) % steps.k_blocks, 0)
                    steps.multiply(k_block)
            if cutlass.const_expr(copies):
                cute.arch.cp_async_wait_group(0)

        return loop

    @cute.jit
    def needed_beside_copies(steps: Steps) -> None:
        """11.2's loop, but it copies the same tile again and again, and never waits for the copies."""
        steps.load(0, 1)
        load_first(steps)
        for k_tile in range(steps.k_tiles):
            cute.arch.cp_async_wait_group(7)  # of none in flight; with it and the branch, no fetch is moved ahead
            cute.arch.sync_threads()
            if k_tile + 1 < steps.k_tiles:
                steps.load(0, (k_tile + 1) % 2)
            cute.arch.cp_async_commit_group()
            for k_block in cutlass.range_constexpr(steps.k_blocks):
                steps.fetch(k_block, k_tile % 2)
                steps.multiply(k_block)

    @cute.jit
    def loads(steps: Steps) -> None:
        for k_tile in cutlass.range(steps.k_tiles, unroll=1):
            steps.load(k_tile, k_tile % steps.stages)
            cute.arch.cp_async_commit_group()
            cute.arch.cp_async_wait_group(steps.stages - 1)
            cute.arch.sync_threads()

    nothing = replace(GEMM, reference=lambda a, b: torch.zeros(len(a), len(b), dtype=a.dtype, device=a.device))
    return {
        "arithmetic, fetched as needed, and copies": (2, needed_beside_copies, repeated(64)),
        "arithmetic, fetched ahead": (1, arithmetic(copies=False), repeated(64)),
        "arithmetic, fetched ahead, and copies": (2, arithmetic(copies=True), repeated(64)),
        **{f"loads, {n} in flight": (n, loads, nothing) for n in (1, 2, 3)},
    }


def gemm_parts() -> Sweep:
    """Notebook 11's model: a tile's parts, and whole main loops, with one to three blocks on each SM of an H200."""
    loops = {
        "one buffer": (1, single_buffer, GEMM),
        "two buffers, one barrier": (2, load_answers("11_double_buffer")["11.2"], GEMM),
        "two buffers, fetched ahead": (2, multistage, GEMM),
        "three buffers, fetched ahead": (3, multistage, GEMM),
    }
    candidates = []
    for name, (stages, loop, problem) in (parts_of_a_tile() | loops).items():
        config = GemmConfig(stages=stages)
        launcher = CuteLauncher(make_gemm(config, loop), problem)
        candidates.append(Candidate(name, launcher, config.smem_bytes, problem=problem))
    shapes = tuple((1408 * blocks, 1536, k) for blocks in (1, 2, 3) for k in (12288, 4096))
    return Sweep(GEMM, tuple(candidates), shapes, pairs=8)


def gemm_waves() -> Sweep:
    """The rungs of two and of three stages around 3072, where a third wave begins on an H200."""
    ladder = (rung for rung in AMPERE_RUNGS if rung.name in ("grid swizzle", "three stages"))
    return Sweep(GEMM, rungs(GEMM, ladder), cubes(*(128 * n for n in (24, 22, 23, 28, 26, 20, 30))))


def staged(tiles: Mapping[tuple[int, int, int], tuple[int, int]], shapes: tuple[Shape, ...]) -> Sweep:
    """Notebook 13's kernel by tile (and warps), from two stages to five, or as many as any GPU has room for."""
    most = {(m, n, k): min(5, MOST_SMEM // ((m + n) * k * BYTES)) for m, n, k in tiles}
    configs = [GemmConfig(tile, warps, stages) for tile, warps in tiles.items() for stages in range(2, most[tile] + 1)]
    named = [on_ampere(f"{by(config.tile)}, {config.stages} stages", config, in_eights) for config in configs]
    return Sweep(GEMM, tuple(named), shapes)


def gemm_majors() -> Sweep:
    """Notebook 13's kernel for an A whose K is contiguous and for one whose M is, each beside torch with the same A."""
    of_m = load_answers("13_three_stages")["13.3"]
    candidates = [
        Candidate(f"{by(tile)}, {name}", CuteLauncher(make_gemm(config, multistage, **part), problem), problem=problem)
        for tile, stages in (((128, 256, 32), 4), ((128, 256, 64), 3))
        for config in (GemmConfig(tile, (2, 4), stages),)
        for name, problem, part in (("K-major A", GEMM, {}), ("M-major A", gemm_m_major("bf16"), {"a": of_m}))
    ]
    return Sweep(GEMM, tuple(candidates), SQUARES[:1], (counters.MEMORY_READ, counters.TO_SMS))


def on_ampere(name: str, config: GemmConfig, order: Order) -> Candidate:
    """Notebook 13's kernel. Each point knows the registers that it took."""
    launcher = CuteLauncher(make_gemm(config, multistage, order), GEMM)
    facts = {"tile": list(config.tile), "warps": list(config.warps), "stages": config.stages}

    def inspect(shape: Shape) -> dict[str, Any]:
        return {"registers": launcher.compiled(shape, device.need_gpu().arch).registers}

    return Candidate(name, launcher, config.smem_bytes, facts, inspect=inspect)


STAGED = {
    (64, 64, 64): (2, 1),
    (128, 64, 64): (2, 2),
    (128, 128, 32): (2, 2),
    (128, 128, 64): (2, 2),
    (128, 256, 32): (2, 4),
    (128, 256, 64): (2, 4),
}
DEEP = {tile: warps for tile, warps in STAGED.items() if tile[:2] == (128, 128)}
DEPTHS = ((1024, 1024, 8192), (4096, 4096, 256))  # a grid that leaves each SM one block, and a K of a few tiles


def gemm_orders() -> Sweep:
    """Notebook 12's question: the same kernel with its blocks in other orders, and what memory has to send."""
    orders = {"raster": raster} | {f"groups of {group}": partial(grouped, group=group) for group in (4, 8, 16)}
    orders["groups of 16, there and back"] = load_answers("12_grid_swizzle")["12.1"]
    candidates = (on_ampere(name, GemmConfig(stages=2), order) for name, order in orders.items())
    return Sweep(GEMM, tuple(candidates), cubes(8192), (counters.MEMORY_READ, counters.WAVES))


# Notebooks 14 and 15: Hopper's GEMM -----------------------------------------------------------------------------------


@cute.jit
def wgmma_alone(steps: first.Steps) -> None:
    """A main loop that loads one K tile and multiplies it at every step."""
    if steps.loads_too:
        first.fill_stage(steps, 0, 0)
    cute.arch.mbarrier_wait(steps.full, 0)
    steps.multiply(0, True)
    for _ in cutlass.range(steps.k_tiles - 1, unroll=1):
        steps.multiply(0, False)
        warpgroup.wait_group(1)
    warpgroup.wait_group(0)


@cute.jit
def tma_alone(steps: first.Steps) -> None:
    """A main loop that loads every K tile and multiplies the first."""
    if steps.loads_too:
        for k_tile in cutlass.range(cutlass.min(steps.stages, steps.k_tiles), unroll=1):
            first.fill_stage(steps, k_tile, k_tile)
    state = make_pipeline_state(PipelineUserType.Consumer, steps.stages)
    for k_tile in cutlass.range(steps.k_tiles, unroll=1):
        cute.arch.mbarrier_wait(steps.full + state.index, state.phase)
        if k_tile == 0:
            steps.multiply(0, True)
            warpgroup.wait_group(0)
        with cute.arch.elect_one():
            cute.arch.mbarrier_arrive(steps.empty + state.index)
        ahead = k_tile + steps.stages
        if steps.loads_too and ahead < steps.k_tiles:
            cute.arch.mbarrier_wait(steps.empty + state.index, state.phase)
            first.fill_stage(steps, ahead, state.index)
        state.advance()


def hopper_account() -> Sweep:
    """Notebook 14's kernel by stages, and what it is made of alone."""

    def candidate(name: str, loop: Any, stages: int = first.STAGES, problem: Problem = GEMM) -> Candidate:
        host = make_first_gemm(first.Parts(main_loop=loop), stages)
        return Candidate(name, CuteLauncher(host, problem), needs=WGMMA, problem=problem)

    mma_sync = make_gemm(GemmConfig(), multiply_alone)
    candidates = (
        candidate("4 stages", first.main_loop),
        candidate("3 stages", first.main_loop, 3),
        candidate("2 stages", first.main_loop, 2),
        candidate("1 stage", first.one_stage, 2),
        candidate("wgmma alone", wgmma_alone, problem=repeated(64)),
        candidate("TMA alone", tma_alone, problem=repeated(64, 1)),
        Candidate("mma.sync alone", CuteLauncher(mma_sync, repeated()), problem=repeated()),
    )
    return Sweep(GEMM, candidates, cubes(4096))


HOPPER_LEVERS: dict[str, dict[str, Any]] = {  # what notebook 15 adds to notebook 14's kernel, one by one
    "warp-specialized": {"persistent": False},
    "persistent": {"persistent": True},
    "multicast": {"cluster": (2, 1)},
    "deferred stores": {"defer_stores": True},
    "zigzag K": {"zigzag": True},
    "polling": {"polls": True},
    "stream-K": {"stream_k": True},
    "tile order": {"raster": "m", "snake": True},
}
BEST = tuple(HOPPER_LEVERS)[:6]
HOPPER_STACKS: tuple[Levers, ...] = (  # a tree: each has one lever more than one above it
    *(BEST[:count] for count in range(1, 7)),
    (*BEST, "stream-K"),
    (*BEST[:5], "stream-K"),
    (*BEST[:5], "tile order"),
    (*BEST[:2], "deferred stores"),
)
OTHERS = {
    "128×192, ping-pong": HopperConfig((128, 192, 64), "pingpong", cluster=(2, 1)),
    "256×192, stream-K": HopperConfig((256, 192, 64), cluster=(2, 1), zigzag=True, polls=True, stream_k=True),
}


def changed(config: HopperConfig) -> dict[str, Any]:
    """The fields in which a configuration differs from the default one, as JSON has them."""
    default = asdict(HopperConfig())
    return {name: value for name, value in asdict(config).items() if value != default[name]}


def on_hopper(name: str, config: HopperConfig, **facts: Any) -> Candidate:
    """The kernel with this configuration, as a candidate."""
    facts = {"config": changed(config), **facts}
    return Candidate(name, HopperLauncher(config), config.smem_bytes, facts, needs=WGMMA)


def chosen() -> Candidate:
    """The kernel that chooses its configuration by itself. Points say which one."""

    def choice(shape: Shape) -> dict[str, Any]:
        m, n, k = shape
        return {"config": changed(choose(m, n, k, device.need_gpu().sms))}

    return by_host("chosen", torch_gemm.gemm, needs=WGMMA, inspect=choice)


def hopper_levers() -> Sweep:
    """Each lever on top of others, in both orders where two interact; then kernels of other tiles.

    A candidate's levers are a fact, so that gains are ratios of points: with a lever over without it.
    """
    facts = {"levers": [], "config": {"schedule": "plain", "persistent": False}}  # no configuration of notebook 15's
    candidates = [Candidate("plain", CuteLauncher(make_first_gemm(), GEMM), facts=facts, needs=WGMMA)]
    for levers in HOPPER_STACKS:
        settings = {name: on for lever in levers for name, on in HOPPER_LEVERS[lever].items()}
        candidates.append(on_hopper(" + ".join(levers), HopperConfig(**settings), levers=list(levers)))
    candidates += [on_hopper(name, config) for name, config in OTHERS.items()]
    return Sweep(GEMM, tuple(candidates), LARGE, seconds=62)


Pairs = dict[str, tuple[dict[str, Any], str, dict[str, Any]]]  # name → a configuration, a lever, what it changes
MULTICAST = "multicast", {"cluster": (2, 1)}
TILE_PAIRS: Pairs = {
    "128×128": ({"tile": (128, 128, 64)}, *MULTICAST),
    "128×192, multicast": ({"tile": (128, 192, 64), "cluster": (2, 1)}, "ping-pong", {"schedule": "pingpong"}),
    "256×192, stream-K": ({"tile": (256, 192, 64), "zigzag": True, "polls": True, "stream_k": True}, *MULTICAST),
}
SHORT_PAIRS: Pairs = {"128×256": ({}, "deferred stores", {"defer_stores": True})}


def in_pairs(pairs: Pairs, shapes: tuple[Shape, ...]) -> Sweep:
    """Each configuration without its lever, and with it."""
    candidates = [
        on_hopper(" + ".join(levers), HopperConfig(**config), levers=levers)
        for name, (settings, lever, change) in pairs.items()
        for levers, config in (([name], settings), ([name, lever], settings | change))
    ]
    return Sweep(GEMM, tuple(candidates), shapes)


def gemm_pdl() -> Sweep:
    """Notebook 20: GEMMs in a row, each of which starts after the one before it, or while that ends."""

    def launched(pdl: bool) -> Callable[..., None]:
        def host(a: torch.Tensor, b: torch.Tensor, c: torch.Tensor) -> None:
            (m, n), k = c.shape, a.shape[1]
            launcher(replace(choose(m, n, k, device.need_gpu().sms), pdl=pdl), m, n, k)(a, b, c)

        return host

    candidates = [by_host(f"{how} PDL", launched(how == "with"), needs=WGMMA) for how in ("without", "with")]
    shapes = ((16, 4096, 4096), (256, 768, 768), (4096, 4096, 4096))
    return Sweep(GEMM, tuple(candidates), shapes, in_a_row=True)


SEEDS = (2026, 1971)  # the chooser's constants were fitted to shapes of the first, and never saw the second's
LEAST, MOST, STEP = 128, 8192, 8


def random_shapes(seed: int, count: int = 40) -> tuple[Shape, ...]:
    """Shapes whose M, N and K are drawn from LEAST to MOST so that each doubling is as likely, multiples of STEP."""
    draw = random.Random(seed)

    def size() -> int:
        drawn = math.exp(draw.uniform(math.log(LEAST), math.log(MOST)))
        return min(max(STEP * round(drawn / STEP), LEAST), MOST)

    return tuple((size(), size(), size()) for _ in range(count))


def gemm_any() -> Sweep:
    """The self-configuring GEMM at random shapes."""
    drawn = {str(seed): random_shapes(seed) for seed in SEEDS}
    facts = {"random": {seed: [list(shape) for shape in shapes] for seed, shapes in drawn.items()}}
    return Sweep(GEMM, (chosen(),), (*chain.from_iterable(drawn.values()),), in_a_row=True, facts=facts)


UNSEEN: dict[str, tuple[tuple[int, ...], tuple[tuple[int, int], ...]]] = {  # rows M; N and K of each weight
    "gpt-oss 20B": ((1, 16, 128, 2048), ((5120, 2880), (2880, 4096), (5760, 2880), (2880, 2880))),
    "Qwen3 32B": ((8, 64, 512, 4096), ((10240, 5120), (5120, 8192), (51200, 5120), (5120, 25600))),
    "Llama 3.2 1B": ((1, 32, 256, 16384), ((3072, 2048), (2048, 2048), (16384, 2048), (2048, 8192))),
    "ViT-B": ((197, 200, 1576), ((2304, 768), (768, 768), (3072, 768), (768, 3072))),
    "SigLIP so400m": ((576, 729), ((3456, 1152), (4304, 1152), (1152, 4304))),
    "Whisper large": ((1500,), ((3840, 1280), (1280, 1280), (5120, 1280), (1280, 5120))),
    "BERT base": ((384, 4096), ((2304, 768), (3072, 768), (768, 3072))),
}


def unseen() -> Iterator[Shape]:
    """Weights of models that no constant was fitted to, at numbers of rows that the models use."""
    for rows, weights in UNSEEN.values():
        yield from ((m, *nk) for m, nk in product(rows, weights))


def gemm_unseen() -> Sweep:
    """The same at weights of models that no constant was fitted to, by the model alone and tuned."""
    tuned = by_host("tuned", partial(torch_gemm.gemm, tuned=True), needs=WGMMA)
    return Sweep(GEMM, (chosen(), tuned), tuple(unseen()), seconds=200, in_a_row=True)


TOKENS = (8, 16, 64, 128, 256, 512, 1024, 4096, 8192)
MODELS: dict[str, dict[str, tuple[int, int]]] = {  # rows N and columns K of each weight
    "Llama 3 8B": {"q, k, v": (6144, 4096), "o": (4096, 4096), "gate, up": (28672, 4096), "down": (4096, 14336)},
    "Llama 3 70B, an eighth of each weight": {
        "q, k, v": (1280, 8192), "o": (8192, 1024), "gate, up": (7168, 8192), "down": (8192, 3584)
    },
    "DeepSeek-V3": {
        "q, kv down": (2112, 7168), "q up": (24576, 1536), "o": (7168, 16384),
        "expert's gate, up": (4096, 7168), "expert's down": (7168, 2048),
    },
}  # fmt: skip


def gemm_models() -> Sweep:
    """Every weight at every number of tokens; `--resume` measures those for which there was no time."""
    facts = {model: {name: list(nk) for name, nk in weights.items()} for model, weights in MODELS.items()}
    weights = tuple(chain.from_iterable(model.values() for model in MODELS.values()))
    shapes = tuple((tokens, *weight) for tokens, weight in product(TOKENS, weights))
    return Sweep(GEMM, (chosen(),), shapes, seconds=150, in_a_row=True, facts={"models": facts})


# Notebook 18: epilogues and the MLP -----------------------------------------------------------------------------------

FEW_PAIRS = 12  # a reference takes twenty times as long as what it checks
HIDDEN, FEATURES = LLAMA_8B
FUSED = ((4096, FEATURES, HIDDEN), (8192, 8192, 8192))
PINGPONG = HopperConfig((128, 192, 64), "pingpong", cluster=(2, 1), zigzag=True, polls=True)
UNDER_LOOP = HopperConfig((128, 128, 64), "pingpong", cluster=(2, 2), stages=5, zigzag=True, polls=True)
COOPERATIVE = HopperConfig(cluster=(2, 1), defer_stores=True, stream_k=True, zigzag=True, polls=True)


def fused(
    name: str, fusion: Fusion, problem: Problem, config: HopperConfig | None = None, other: str = "", by: Any = None
) -> Candidate:
    """The kernel, with the chosen configuration or this one, beside `by(c, a, b, operand)`, or the problem's baseline.

    other: the name of `by`.
    """

    def host(a: Tensor, b: Tensor, *others: Tensor) -> None:
        *operand, c = others
        launch_fused(fusion, a, b, operand[0] if operand else None, c, config)

    beside = replace(problem, baseline=by, baseline_name=other) if by else problem
    return by_host(f"{name}, beside {beside.baseline_name}", host, needs=WGMMA, problem=beside)


def fused_epilogues() -> Sweep:
    """Each epilogue beside the plain GEMM in the same configuration, so that the ratio is what it costs."""
    gelu, add = fused_problems.linear_gelu(), fused_problems.linear_add()
    gated, ungated = fused_problems.linear_swiglu(PIECE), fused_problems.linear_swiglu(PIECE, activated=False)
    plain = cache(launcher)

    def plainly(config: HopperConfig, c: Tensor, a: Tensor, b: Tensor, *others: Tensor) -> None:
        (m, k), n = a.shape, b.shape[0]
        plain(config, m, n, k)(a, b, c if c.shape[1] == n else c.new_empty(m, n))

    def in_the_epilogue(c: Tensor, a: Tensor, b: Tensor, d: Tensor) -> None:
        launch_fused(ADD, a, b, d, c, UNDER_LOOP)

    kernels: tuple[tuple[str, Fusion, Problem, HopperConfig], ...] = (
        ("bias + GELU, cooperative", BIAS_GELU, gelu, COOPERATIVE),
        ("bias + GELU, ping-pong", BIAS_GELU, gelu, PINGPONG),
        ("residual, cooperative", ADD, add, COOPERATIVE),
        ("residual, ping-pong", ADD, add, UNDER_LOOP),
        ("residual by TMA, ping-pong", ADD_BY_TMA, add, UNDER_LOOP),
        ("SwiGLU, cooperative", SWIGLU, gated, COOPERATIVE),
        ("gate · up, cooperative", replace(SWIGLU, op=mul), ungated, COOPERATIVE),
    )
    candidates = [fused(*one, "the plain GEMM", partial(plainly, one[-1])) for one in kernels]
    candidates.append(fused(*kernels[4], "residual, ping-pong", in_the_epilogue))
    return Sweep(gelu, tuple(candidates), FUSED, pairs=FEW_PAIRS, seconds=45)


def fused_rivals() -> Sweep:
    """The chosen configurations beside torch's ways and cuBLAS'."""
    gelu, add = fused_problems.linear_gelu(), fused_problems.linear_add()
    sums = cache(lambda shape: torch.zeros(shape, dtype=torch.bfloat16, device="cuda"))

    def by_lt(c: Tensor, a: Tensor, b: Tensor, bias: Tensor) -> None:
        torch._addmm_activation(bias, a, b.mT, use_gelu=True, out=c)

    def in_place(c: Tensor, a: Tensor, b: Tensor, d: Tensor) -> None:
        sums(c.shape).addmm_(a, b.mT)

    candidates = (
        fused("bias + GELU", BIAS_GELU, gelu),
        fused("bias + GELU", BIAS_GELU, gelu, None, "cuBLASLt's epilogue", by_lt),
        fused("residual", ADD, add),
        fused("residual", ADD, add, None, "cuBLAS in place", in_place),
        fused("SwiGLU", SWIGLU, fused_problems.linear_swiglu(PIECE)),
    )
    return Sweep(gelu, candidates, FUSED, pairs=FEW_PAIRS, seconds=45)


def halves(gate_up: Tensor) -> Sequence[Tensor]:
    return gate_up.chunk(2)


def mlp(split: Callable[[Tensor], Sequence[Tensor]] = halves) -> Problem:
    """y (T, H) = (silu(x·gateᵀ) · (x·upᵀ)) · downᵀ: T tokens, H hidden, F features, all bf16. Shapes are (T, H, 2F).

    split: the rows of gate and of up in gate_up (2F, H). The baseline is torch's, one operator after the other, on the
    halves of gate_up, which is the same work in another order.

    What lies between the GEMMs is rounded to bf16: gate, up, silu(gate) and the product at most. With u of bf16 the
    product h is off by 3u·|h| + 1.13·u·|gate·up|, an error of either sign, so that F of them add up as √F does; six
    standard deviations are allowed.
    """

    def gate_and_up(x: Tensor, gate_up: Tensor, split: Callable[[Tensor], Sequence[Tensor]] = split) -> list[Tensor]:
        return [x @ weight.mT for weight in split(gate_up)]

    def reference(x: Tensor, gate_up: Tensor, down: Tensor) -> Tensor:
        gate, up = gate_and_up(x, gate_up)
        return (silu(gate) * up) @ down.mT

    def bound(result: Tensor, inputs: tuple[Tensor, ...], out: Any) -> Tensor:
        x, gate_up, down = inputs
        gate, up = gate_and_up(x, gate_up)
        h = silu(gate) * up
        off = UNIT_ROUNDOFF["bf16"] * (3 * h.abs() + fused_problems.STEEPEST * (gate * up).abs())
        return accumulation(result, (h, down), out) + 6 * (off.square() @ down.square().mT).sqrt()

    def baseline(y: Tensor, x: Tensor, gate_up: Tensor, down: Tensor) -> None:
        gate, up = gate_and_up(x, gate_up, halves)
        torch.mm(silu(gate) * up, down.mT, out=y)

    return Problem(
        name="mlp",
        dims="THG",
        inputs=(
            Operand("x", "TH", "bf16"),
            Operand("gate_up", "GH", "bf16", variance="H"),
            Operand("down", "HG", "bf16", variance="G", blocks=(1, 2)),
        ),
        output=Operand("y", "TH", "bf16"),
        reference=reference,
        bound=bound,
        baseline=baseline,
        baseline_name="torch",
        flops=lambda shape: 3 * math.prod(shape),
    )


def mlp_forward() -> Sweep:
    """A Llama 3 8B MLP beside torch's."""

    def two_gemms(x: Tensor, gate_up: Tensor, down: Tensor, y: Tensor) -> None:
        torch_gemm.gemm(linear_swiglu(x, gate_up), down, y)

    def with_linear(x: Tensor, gate_up: Tensor, down: Tensor, y: Tensor) -> None:
        gate, up = halves(gate_up)
        torch_gemm.gemm(silu(linear(x, gate)) * linear(x, up), down, y)

    def gated(x: Tensor, gate: Tensor, up: Tensor) -> Tensor:
        return silu(x @ gate.mT) * (x @ up.mT)

    def by_compiler(x: Tensor, gate_up: Tensor, down: Tensor, y: Tensor) -> None:
        # but for the last GEMM, which torch.compile would call as it is
        torch.mm(fused_problems.by_torch_compile(gated)(x, *halves(gate_up)), down.mT, out=y)

    in_pieces = mlp(partial(separate, width=PIECE))
    candidates = (
        by_host("two GEMMs, the first gated", two_gemms, needs=WGMMA, problem=in_pieces),
        by_host("nn.Linear swapped", with_linear, needs=WGMMA),
        by_host("torch.compile", by_compiler, needs=WGMMA),
    )
    shapes = tuple((count, HIDDEN, 2 * FEATURES) for count in (4096, 8192, 2048))
    return Sweep(mlp(), candidates, shapes, pairs=FEW_PAIRS, seconds=25)


def mlp_training() -> Sweep:
    """Forward and backward of that MLP, with the gradients of x and of all weights; y alone is checked."""

    def trained(layers: Callable[..., Tensor], split: Callable[..., Sequence[Tensor]] = halves) -> Callable[..., None]:
        def host(x: Tensor, gate_up: Tensor, down: Tensor, y: Tensor) -> None:
            leaves = [it.detach().requires_grad_() for it in (x, *split(gate_up), down)]
            result = layers(*leaves)
            torch.autograd.grad(result, leaves, result.detach())
            y.copy_(result.detach())

        return host

    def plain(layer: Callable[..., Tensor]) -> Callable[..., Tensor]:
        return lambda x, gate, up, down: layer(silu(layer(x, gate)) * layer(x, up), down)

    def gated(x: Tensor, gate_up: Tensor, down: Tensor) -> Tensor:
        return linear(swiglu_linear(x, gate_up), down)

    def in_triton(keeps: bool, x: Tensor, gate_up: Tensor, down: Tensor) -> Tensor:
        from tutorlib.instruments.gate import Gated

        return linear(Gated.apply(x, gate_up, keeps), down)

    whole = torch.nn.functional.linear
    torchs = trained(plain(whole))
    problem, in_pieces = (
        replace(mlp(split), baseline=lambda y, *given: torchs(*given, y), flops=lambda shape: 9 * math.prod(shape))
        for split in (halves, partial(separate, width=PIECE))
    )
    ways: dict[str, Callable[..., Tensor]] = {
        "two GEMMs, the first gated": gated,
        "two GEMMs, the first gated; ∂L/∂both in Triton": partial(in_triton, False),
        "both kept; ∂L/∂both in Triton": partial(in_triton, True),
    }
    candidates = (
        *(by_host(n, trained(way, lambda it: (it,)), needs=WGMMA, problem=in_pieces) for n, way in ways.items()),
        by_host("nn.Linear swapped", trained(plain(linear)), needs=WGMMA),
        by_host("torch.compile", trained(torch.compile(plain(whole))), needs=WGMMA),
    )
    return Sweep(problem, candidates, ((4096, HIDDEN, 2 * FEATURES),), pairs=FEW_PAIRS, seconds=20)


def mlp_parts() -> Sweep:
    """The parts of that step one by one, beside torch's; T tokens, H hidden, F features, G = 2F."""
    sizes = {"T": 4096, "H": HIDDEN, "G": 2 * FEATURES, "F": FEATURES}

    def product(name: str, first: str, second: str, torchs: Callable[..., Any]) -> Candidate:
        """Of matrices with these modes, over the one that both have, by notebook 15's kernel, which copies neither."""
        (over,) = {*first} & {*second}

        def along(a: Tensor, b: Tensor) -> tuple[Tensor, Tensor]:
            """(M, K) and (N, K)."""
            return a if first[1] == over else a.mT, b if second[1] == over else b.mT

        def by_kernel(a: Tensor, b: Tensor, out: Tensor) -> None:
            torch_gemm.gemm(*along(a, b), out)

        problem = Problem(
            name=name,
            dims="".join(sizes),
            inputs=(Operand("a", first, "bf16", pattern="identity"), Operand("b", second, "bf16", variance=over)),
            output=Operand("out", (first + second).replace(over, ""), "bf16"),
            reference=lambda a, b: GEMM.reference(*along(a, b)),
            bound=lambda result, inputs, out: accumulation(result, along(*inputs), out),
            baseline=lambda out, a, b: torchs(a, b, out),
            baseline_name="torch",
            flops=lambda shape: 2 * math.prod(sizes[mode] for mode in {*first, *second}),
        )
        return by_host(name, by_kernel, needs=WGMMA, problem=problem)

    def in_turn(a: Tensor, b: Tensor, out: Tensor) -> None:
        """gate's and up's product, each of a weight of its own."""
        for weight, one in zip(halves(b), out.view(2, len(a), -1), strict=True):
            torch.mm(a, weight.mT, out=one)

    def added(a: Tensor, b: Tensor, out: Tensor) -> None:
        of_gate, of_up = (torch.mm(grad, w) for grad, w in zip(a.view(2, len(a), -1), halves(b), strict=True))
        torch.add(of_gate, of_up, out=out)

    def of_weights(a: Tensor, b: Tensor, out: Tensor) -> None:
        for grad, one in zip(a.view(2, len(a), -1), halves(out), strict=True):
            torch.mm(grad.mT, b, out=one)

    def gradients() -> Iterator[Candidate]:
        kept: dict[int, tuple[Tensor, ...]] = {}

        def baseline(out: Tensor, grad: Tensor, both: Tensor) -> None:
            """gate, up and silu(gate) are in memory."""
            if both.data_ptr() not in kept:
                gate, up = (half.contiguous() for half in both.chunk(2, 1))
                kept[both.data_ptr()] = gate, up, silu(gate)
            gate, up, activated = kept[both.data_ptr()]
            torch.ops.aten.silu_backward(grad * up, gate), grad * activated

        def compiled(grad: Tensor, both: Tensor, out: Tensor) -> None:
            out.copy_(layers.gate_gradient(grad, both))

        def flattened(grad: Tensor, both: Tensor, out: Tensor) -> None:
            grad, gate, up = (one.float() for one in (grad, *separate(both, mode=-1)))
            s = gate.sigmoid()
            grads = (one.unflatten(-1, (-1, PIECE)) for one in (grad * up * s * (1 + gate * (1 - s)), grad * gate * s))
            out.copy_(torch.stack([*grads], -2).flatten(-3))

        def in_triton(grad: Tensor, both: Tensor, out: Tensor) -> None:
            from tutorlib.instruments.gate import by_triton

            by_triton(grad, both, out)

        problem = Problem(
            name="∂L/∂both",
            dims="".join(sizes),
            inputs=(Operand("grad", "TF", "bf16"), Operand("both", "TG", "bf16")),
            output=Operand("out", "TG", "bf16"),
            reference=layers.gate_gradient,
            bound=lambda result, inputs, out: UNIT_ROUNDOFF[out] * (2 * result.abs() + 0.5),
            baseline=baseline,
            baseline_name="torch",
        )
        yield by_host("∂L/∂both, compiled", torch.compile(compiled), problem=problem)
        yield by_host("∂L/∂both, compiled from flattened halves", torch.compile(flattened), problem=problem)
        yield by_host("∂L/∂both, in Triton", in_triton, problem=problem)

    def transposed(matrix: str, modes: str) -> Candidate:
        problem = replace(
            copy("bf16"),
            name=f"{matrix}, transposed",
            dims="".join(sizes),
            inputs=(Operand("a", modes, "bf16"),),
            output=Operand("out", modes[::-1], "bf16"),
            reference=lambda a: a.mT.contiguous(),
            baseline=lambda out, a: out.view(a.shape).copy_(a),
            baseline_name="copied as it is",
        )
        return by_host(problem.name, lambda a, out: out.copy_(a.mT), problem=problem)

    products = (
        product("∂L/∂h = ∂L/∂y · down", "TH", "HF", lambda a, b, out: torch.mm(a, b, out=out)),
        product("∂L/∂down = (∂L/∂y)ᵀ · h", "TH", "TF", lambda a, b, out: torch.mm(a.mT, b, out=out)),
        product("both = x · gate_upᵀ", "TH", "GH", in_turn),
        product("∂L/∂x = ∂L/∂both · gate_up", "TG", "GH", added),
        product("∂L/∂gate_up = (∂L/∂both)ᵀ · x", "TG", "TH", of_weights),
    )
    others = (
        *gradients(),
        *(transposed(*one) for one in (("gate_up", "GH"), ("∂L/∂both", "TG"), ("x", "TH"))),
    )
    return Sweep(GEMM, (*products, *others), (tuple(sizes.values()),), pairs=FEW_PAIRS, seconds=60)


# Notebooks 22 and 23: attention, beside torch's -----------------------------------------------------------------------

SIX_PAIRS = 6  # a reference takes a hundred times as long as what it checks
HEADS = ((16, 16, 128), (32, 32, 64), (16, 2, 128))  # heads, those of K and V, head_dim: eight share one in the last
FULL = tuple(  # (batch, heads, kv_heads, queries, keys, head_dim): 16384 tokens, as FlashAttention-3's paper has it
    (16384 // n, h, g, n, n, d) for n in (4096, 16384, 1024, 8192, 2048) for h, g, d in HEADS
)
OF_MODELS = (  # vision, BERT, Whisper, diffusion, odd lengths, and 1 to 8 queries of a language model
    (8, 12, 12, 197, 197, 64), (64, 12, 12, 197, 197, 64), (256, 12, 12, 197, 197, 64), (4, 16, 16, 577, 577, 64),
    (16, 16, 16, 577, 577, 64), (64, 16, 16, 577, 577, 64), (32, 16, 16, 257, 257, 80), (8, 16, 16, 729, 729, 72),
    (64, 12, 12, 128, 128, 64), (32, 16, 16, 384, 384, 64), (16, 12, 12, 512, 512, 64), (64, 12, 12, 512, 512, 64),
    (1, 20, 20, 1500, 1500, 64), (8, 20, 20, 1500, 1500, 64), (8, 20, 20, 448, 1500, 64), (1, 20, 20, 1, 1500, 64),
    (8, 20, 20, 1, 1500, 64), (1, 8, 8, 333, 4096, 64), (1, 16, 16, 333, 4096, 128), (4, 16, 4, 333, 4096, 128),
    (2, 16, 4, 64, 4096, 128), (2, 10, 10, 4096, 4096, 64), (2, 10, 10, 4096, 77, 64), (2, 20, 20, 1024, 77, 64),
    (1, 24, 24, 4608, 4608, 128), (2, 16, 16, 2048, 2048, 96), (2, 8, 1, 4096, 4096, 256), (1, 32, 8, 1, 1024, 128),
    (1, 32, 8, 1, 8192, 128), (1, 32, 8, 1, 32768, 128), (8, 32, 8, 1, 4096, 128), (16, 32, 8, 1, 8192, 128),
    (64, 32, 8, 1, 2048, 128), (64, 32, 8, 1, 1024, 128), (1, 64, 8, 1, 16384, 128), (32, 32, 32, 1, 2048, 128),
    (8, 16, 2, 1, 32768, 128), (8, 32, 8, 1, 4096, 64), (16, 32, 8, 2, 2048, 128), (4, 32, 8, 4, 8192, 128),
    (1, 32, 8, 8, 4096, 128), (1, 32, 32, 8, 32768, 128), (64, 32, 8, 8, 1024, 128), (3, 8, 1, 1000, 1500, 64),
    (2, 8, 8, 777, 777, 128), (4, 8, 8, 65, 1025, 128), (8, 16, 16, 2048, 2048, 128), (8, 32, 32, 2048, 2048, 64),
    (16, 32, 32, 1024, 1024, 64),
)  # fmt: skip
OF_PROMPTS = (  # of language models
    (1, 32, 8, 512, 512, 128), (1, 32, 8, 1024, 1024, 128), (8, 32, 8, 1024, 1024, 128), (1, 32, 8, 2048, 2048, 128),
    (4, 32, 8, 2048, 2048, 128), (1, 32, 8, 4096, 4096, 128), (1, 32, 8, 8192, 8192, 128), (1, 8, 1, 4096, 4096, 128),
    (2, 64, 8, 4096, 4096, 128), (1, 32, 8, 2048, 2048, 64), (4, 32, 8, 1024, 1024, 64), (1, 32, 8, 8192, 8192, 64),
    (1, 32, 32, 2048, 2048, 96), (4, 32, 32, 1024, 1024, 96), (1, 8, 4, 2048, 2048, 256), (4, 16, 8, 1024, 1024, 256),
    (2, 16, 16, 1023, 1023, 128), (1, 16, 2, 4097, 4097, 128), (2, 16, 16, 3001, 3001, 64),
    (8, 16, 16, 2048, 2048, 128),
)  # fmt: skip
SOME = tuple((4, heads, kv_heads, 4096, 4096, d) for heads, kv_heads, d in HEADS[:2])
ATTENTION_LEVERS = {  # hidden P V: a step that does not wait for its P V before its softmax
    "few masks": "few_masks",
    "longest first": "longest_first",
    "hidden P V": "",
    "turns for S": "pingpong",
    "turns for both": "overlap",
    "persistent": "persistent",
}
TWO_BLOCKS = {"num_worker_warps": 4, "occupancy": 2}  # on an SM: one's softmax beside the other's mma
TILES = {
    "128×128, 4 warps": attention_launch.Tile(128, 128, num_worker_warps=4),
    "128×128, 8 warps": attention_launch.Tile(128, 128),
    "256×128, a cluster of two": attention_launch.Tile(256, 128, num_ctas=2),
    "128×128, a cluster of two, two on an SM": attention_launch.Tile(128, 128, num_ctas=2, **TWO_BLOCKS),
    "64×128, two on an SM": attention_launch.Tile(64, 128, **TWO_BLOCKS),
    "64×64, two on an SM": attention_launch.Tile(64, 64, **TWO_BLOCKS),
}


def forward_by(name: str, into: Callable[..., None], causal: bool, **others: Any) -> Candidate:
    """A forward pass. into: takes o, lse, q, k, v, scale, causal."""

    def call(q: Tensor, k: Tensor, v: Tensor, o: Tensor) -> None:
        lse = torch.empty(q.shape[:3], device=q.device)
        into(o, lse, q, k, v, q.shape[3] ** -0.5, causal)

    return by_host(name, call, **others)


def attention(causal: bool) -> Sweep:
    """Both forward kernels."""
    candidates = (
        forward_by("CuTe", attention_launch.forward_into, causal, needs=WGMMA),
        forward_by("cuTile", attention_launch.forward_by_tiles, causal),
    )
    return Sweep(attention_problem(causal), candidates, FULL, pairs=SIX_PAIRS, seconds=150)


def attention_shapes(causal: bool) -> Sweep:
    """The operator at the shapes of models, beside the fastest of torch's backends."""
    operator = forward_by("CuTe", attention_launch.forward_into, causal, needs=WGMMA)
    shapes = OF_PROMPTS if causal else OF_MODELS
    return Sweep(against_torchs_best(causal), (operator,), shapes, pairs=SIX_PAIRS, seconds=60)


def attention_levers() -> Sweep:
    """Each lever on top of those before, causal. A candidate's levers are a fact, as in `hopper_levers`."""

    def candidate(levers: Levers) -> Candidate:
        switches = {field: lever in levers for lever, field in ATTENTION_LEVERS.items() if field}
        parts = COURSE if "hidden P V" in levers else AttentionParts(step=step_together)

        def into(o: Tensor, lse: Tensor, q: Tensor, k: Tensor, v: Tensor, scale: float, causal: bool) -> None:
            config = AttentionConfig(q.shape[3], 128, 128, causal=True, **switches)
            attention_launch.configured_into(config, o, lse, q, k, v, scale, parts)

        return forward_by(" + ".join(levers) or "together", into, True, facts={"levers": list(levers)}, needs=WGMMA)

    candidates = tuple(candidate(tuple(ATTENTION_LEVERS)[:count]) for count in range(7))
    return Sweep(attention_problem(True), candidates, SOME, pairs=SIX_PAIRS, seconds=170)


def attention_fusing() -> Sweep:
    """Notebook 22's opening: a GEMM, a softmax and a GEMM in torch, with S in bf16, and one kernel; no mask."""

    def apart(q: Tensor, k: Tensor, v: Tensor, o: Tensor) -> None:
        torch.matmul(torch.matmul(q * q.shape[3] ** -0.5, k.mT).softmax(-1), v, out=o)

    problem = attention_problem()
    bound = problem.bound or accumulation
    rounded = replace(problem, bound=lambda *sizes: 8 * bound(*sizes))  # S is bf16
    launches = by_host("GEMM, softmax, GEMM", apart, problem=rounded)
    fused = forward_by("one kernel", attention_launch.forward_by_tiles, False)
    return Sweep(problem, (launches, fused), SOME, pairs=SIX_PAIRS, seconds=40)


def attention_tuning() -> Sweep:
    """cuTile's forward kernel by tile and hints, causal."""
    candidates = (
        forward_by(name, partial(attention_launch.forward_by_tiles, tile=tile), True) for name, tile in TILES.items()
    )
    return Sweep(attention_problem(True), tuple(candidates), SOME, pairs=SIX_PAIRS, seconds=120)


def decode() -> Sweep:
    """One query for each sequence: cuTile's kernels by the number of blocks for each SM, and the operator."""

    def candidate(blocks: int) -> Candidate:
        def into(o: Tensor, lse: Tensor, q: Tensor, k: Tensor, v: Tensor, scale: float, causal: bool) -> None:
            tile = replace(attention_launch.tile_of("decode_parts", q.shape[3], causal), occupancy=blocks)
            sequences, sms = k.shape[0] * k.shape[1], device.need_gpu().sms
            choice = attention_launch.decode_choice(sequences, k.shape[2], sms, tile)
            attention_launch.forward_into(o, lse, q, k, v, scale, causal, choice)

        return forward_by(f"{blocks} block{'s' * (blocks > 1)} per SM", into, False)

    heads = ((16, 16, 128, 1), (64, 8, 128, 2), (64, 8, 64, 4))  # the last: times as many keys, for as many bytes
    shapes = tuple((more * 2**16 // n, h, g, 1, n, d) for n in (4096, 16384, 1024, 65536) for h, g, d, more in heads)
    operator = forward_by("CuTe", attention_launch.forward_into, False, needs=WGMMA)
    return Sweep(decoding_problem(), (*map(candidate, (2, 1, 4)), operator), shapes, pairs=SIX_PAIRS, seconds=150)


def attention_backward() -> Sweep:
    """The backward pass, causal and not."""

    def call(
        q: Tensor, k: Tensor, v: Tensor, do: Tensor, o: Tensor, lse: Tensor, dk: Tensor, dv: Tensor, dq: Tensor,
        causal: bool,
    ) -> None:  # fmt: skip
        hopper_backward.backward_into(dq, dk, dv, do, q, k, v, o, lse, q.shape[3] ** -0.5, causal)

    candidates = (
        by_host(name, partial(call, causal=causal), problem=gradient_problem(causal), needs=WGMMA)
        for name, causal in (("CuTe", False), ("CuTe, causal", True))
    )
    return Sweep(gradient_problem(), tuple(candidates), FULL, pairs=SIX_PAIRS, seconds=170)


# The table ------------------------------------------------------------------------------------------------------------

COUNTED = counters.BLOCK_SIZE, counters.TENSOR_BUSY, counters.STALLED
SWEEPS: dict[str, Callable[[], Sweep]] = {
    **{name: partial(of_page_05, name) for name in ("copy_rungs", "copy_in_flight", "transposes")},
    "coalescing": coalescing,
    "wide_copy": wide_copy,
    "tile_layouts": tile_layouts,
    "softmax_rows": softmax_rows,
    "softmax_occupancy": softmax_occupancy,
    "tile_rungs": tile_rungs,
    "tile_space": tile_space,
    "split_k": split_k,
    "tile_fp8": tile_fp8,
    "tile_fp32": tile_fp32,
    "fp8_accumulation": fp8_accumulation,
    "cpp_promises": lambda: cpp_gemms(PROMISES, (BENCH,), *COUNTED),
    "cpp_ways": lambda: cpp_gemms(WAYS, cubes(4096, 8192)),
    "gemm_rungs": lambda: Sweep(GEMM, rungs(GEMM), SQUARES, look=mma_sync_alone),
    "gemm_stages": lambda: staged(STAGED, SQUARES[:1]),
    "gemm_depth": lambda: staged(DEEP, DEPTHS),
    "gemm_parts": gemm_parts,
    "gemm_majors": gemm_majors,
    "gemm_orders": gemm_orders,
    "tile_orders": tile_orders,
    "gemm_waves": gemm_waves,
    "gemm_any": gemm_any,
    "gemm_pdl": gemm_pdl,
    "gemm_unseen": gemm_unseen,
    "hopper_account": hopper_account,
    "hopper_levers": hopper_levers,
    "hopper_tiles": lambda: in_pairs(TILE_PAIRS, LARGE[:2]),
    "hopper_short": lambda: in_pairs(SHORT_PAIRS, ((4096, 4096, 256), (8192, 8192, 256))),
    "gemm_models": gemm_models,
    "fused_epilogues": fused_epilogues,
    "fused_rivals": fused_rivals,
    "mlp_forward": mlp_forward,
    "mlp_training": mlp_training,
    "mlp_parts": mlp_parts,
    "attention_full": lambda: attention(causal=False),
    "attention_causal": lambda: attention(causal=True),
    "attention_shapes": lambda: attention_shapes(causal=False),
    "attention_prompts": lambda: attention_shapes(causal=True),
    "attention_levers": attention_levers,
    "attention_fusing": attention_fusing,
    "attention_tuning": attention_tuning,
    "attention_backward": attention_backward,
    "decode": decode,
}


def launch_for_profiler(name: str) -> None:
    """Call the baseline and each kernel of a sweep at its first shape, the second call of each for ncu to look at."""
    sweep = SWEEPS[name]()

    def work(problem: Problem) -> Work:
        made = Work(problem, sweep.shapes[0])
        made.refill(new_generator())
        return made

    first = work(sweep.problem)
    calls: list[Call] = [partial(sweep.problem.baseline, first.output.tensor, *first.inputs)]
    calls += [one.launcher.on(work(one.problem) if one.problem else first) for one in sweep.candidates]
    counters.launch_marked(calls)
