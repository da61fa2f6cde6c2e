"""The sweeps of notebooks 06 to 08: cuTile's softmax and GEMMs, Tile C++'s vector addition and GEMM."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import cuda.tile as ct

from tutorlib.course.answers import load_answers
from tutorlib.exercises.p06 import softmax
from tutorlib.instruments.sweeps.sweep import Candidate, Sweep
from tutorlib.kernels.cpp.gemm import BENCH, PROMISES, WAYS, Variant, blocks_of
from tutorlib.kernels.cpp.program import in_tiles
from tutorlib.kernels.cutile.fp8 import slabs, straight_slabs, tiled
from tutorlib.kernels.cutile.gemm import Config, persistent, plain, space
from tutorlib.machine import device
from tutorlib.measuring import counters
from tutorlib.measuring.launchers import CppLauncher, CutileLauncher
from tutorlib.problems.catalogue import gemm, gemm_fp8, vector_add
from tutorlib.problems.problem import Shape

GEMM = gemm("bf16")


def softmax_rows() -> Sweep:
    """Notebook 06's kernels, a row in one tile and online, by the row's length."""
    answers = load_answers("06_cutile_tiles")
    tiles = {"one tile a row": ("06.5", None), **{f"online, tiles of {t}": ("06.7", t) for t in (1024, 4096)}}

    def launcher(id: str, tile: int | None) -> CutileLauncher:
        return CutileLauncher(answers[id], lambda shape: (shape[0],), lambda shape: (tile or shape[1],))

    candidates = tuple(Candidate(name, launcher(*how)) for name, how in tiles.items())
    shapes = tuple((2**26 // n, n) for n in (1024, 4096, 16384, 65536))  # 256 MiB of fp32
    return Sweep(softmax("fp32"), candidates, shapes, pairs=10, seconds=40)


def configured(name: str, config: Config, one_tile_each: bool = False) -> Candidate:
    """The persistent kernel as configured, or with a block for each tile of C."""

    def grid(shape: Shape) -> tuple[int, ...]:
        return (config.tiles(shape[:2]), 1, 1) if one_tile_each else config.grid(shape[:2], device.need_gpu().sms)

    launcher = CutileLauncher(persistent.replace_hints(**config.hints), grid, lambda shape: config.constants)
    return Candidate(name, launcher, facts={"config": asdict(config)})


def tile_rungs() -> Sweep:
    """Notebook 07's ladder at three square sizes."""
    small, wide = Config(128, 128), Config(128, 256)
    first = CutileLauncher(
        plain,
        grid=lambda shape: (-(-shape[0] // small.tm), -(-shape[1] // small.tn), 1),
        constants=lambda shape: small.constants[:3],
    )
    rungs = (
        Candidate("a block for each tile", first),
        configured("in strips of 8 rows", small, one_tile_each=True),
        configured("tiles of 128×256, spilled", wide, one_tile_each=True),
        configured("128×256, 8 warps", Config(128, 256, num_worker_warps=8), one_tile_each=True),
        configured("persistent, 128×256, 8 warps", Config(128, 256, num_worker_warps=8)),
        configured("persistent, 256×256, 2 CTAs", Config(256, 256, num_ctas=2, num_worker_warps=8)),
        configured("persistent, 128×128", small),
    )
    return Sweep(GEMM, rungs, tuple((n, n, n) for n in (4096, 2048, 8192)))


def tile_space() -> Sweep:
    """Every configuration of `kernels.cutile.gemm.space` at 4096³."""
    return Sweep(GEMM, tuple(configured(str(config), config) for config in space()), ((4096, 4096, 4096),))


def tile_fp8() -> Sweep:
    """Attempts at notebook 07's last rung, 320×32576×7168, and ncu's counts of it and of cuBLASLt."""

    def on_every_sm(name: str, kernel: ct.kernel, *constants: Any, blocks: float = 1) -> Candidate:
        def grid(shape: Shape) -> tuple[int, ...]:
            return int(device.need_gpu().sms * blocks), 1, 1

        return Candidate(name, CutileLauncher(kernel, grid, lambda shape: constants))

    wide, pair = {"num_worker_warps": 8}, {"num_worker_warps": 8, "num_ctas": 2}
    two = tiled.replace_hints(occupancy=2)
    slab, straight, slab_of_two = (
        kernel.replace_hints(**hints) for kernel, hints in ((slabs, wide), (straight_slabs, wide), (slabs, pair))
    )
    candidates = (
        on_every_sm("64×128, 2 blocks per SM, no fast accumulation", two, 64, 128, 128, False, blocks=2),
        on_every_sm("64×256", tiled, 64, 256, 128, True),
        on_every_sm("128×256", tiled.replace_hints(**wide), 128, 256, 128, True),
        on_every_sm("slabs of 128", slab, 128, 128, False, 0, 0, True),
        on_every_sm("  latency 3, 6", slab, 128, 128, False, 3, 6, True),
        on_every_sm("  latency 7, 7", slab, 128, 128, False, 7, 7, False),
        on_every_sm("  run-time zero", slab, 128, 128, True, 0, 0, True),
        on_every_sm("  run-time zero, latency 3, 6", slab, 128, 128, True, 3, 6, True),
        on_every_sm("  run-time zero, stores without TMA", slab, 128, 128, True, 0, 0, False),
        on_every_sm("  run-time zero, A first, latency 3, 7", straight, 128, 128, 3, 7),
        on_every_sm(
            "  run-time zero, 256 for 2 CTAs, latency 3, 7", slab_of_two, 256, 128, True, 3, 7, True, blocks=0.5
        ),
    )
    counted = (counters.TENSOR_BUSY, counters.SM_CLOCK, counters.TO_SMS, counters.MEMORY_READ)
    return Sweep(gemm_fp8(), candidates, ((320, 32576, 7168),), counted)


# Tile C++ -------------------------------------------------------------------------------------------------------


def cpp_vectors() -> Sweep:
    """A vector addition in tiles of four sizes."""
    launchers = {f"tiles of {t}": CppLauncher(in_tiles(t), blocks_of(t)) for t in (8, 64, 1024, 8192)}
    candidates = tuple(Candidate(name, launcher) for name, launcher in launchers.items())
    return Sweep(vector_add("fp32"), candidates, ((2**27,),))


def variants(named: Mapping[str, Variant]) -> tuple[Candidate, ...]:
    return tuple(Candidate(name, CppLauncher(variant.source, variant.grid)) for name, variant in named.items())


def cpp_promises() -> Sweep:
    """The first GEMM with more and more promises, and what Nsight Compute counts of each."""
    counted = (counters.BLOCK_SIZE, counters.TENSOR_BUSY, counters.STALLED)
    return Sweep(GEMM, variants(PROMISES), (BENCH,), counted)


def cpp_ways() -> Sweep:
    """From the GEMM with all promises to cuBLAS, at two sizes."""
    return Sweep(GEMM, variants(WAYS), (BENCH, (8192, 8192, 8192)))
