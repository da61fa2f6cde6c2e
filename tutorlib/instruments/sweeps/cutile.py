"""The sweeps of notebooks 06 and 07: softmax by row length; the GEMM's ladder, fp8, tiles, hints."""

from dataclasses import asdict
from typing import Any

import cuda.tile as ct

from tutorlib.course.answers import load_answers
from tutorlib.exercises.n06_cutile_tiles.exercises import softmax
from tutorlib.instruments.sweeps.sweep import Candidate, Sweep
from tutorlib.kernels.cutile.fp8 import slabs, straight_slabs, tiled
from tutorlib.kernels.cutile.gemm import Config, persistent, plain, space
from tutorlib.machine import device
from tutorlib.measuring import counters
from tutorlib.measuring.launchers import CutileLauncher
from tutorlib.problems.catalogue import gemm, gemm_fp8
from tutorlib.problems.problem import Shape

SOFTMAX_SHAPES = tuple((2**26 // n, n) for n in (1024, 4096, 16384, 65536))  # 256 MiB of fp32


def configured(name: str, config: Config, one_tile_each: bool = False) -> Candidate:
    """The persistent kernel as configured, or with a block for each tile of C."""

    def grid(shape: Shape) -> tuple[int, ...]:
        return (config.tiles(shape[:2]), 1, 1) if one_tile_each else config.grid(shape[:2], device.need_gpu().sms)

    kernel = persistent.replace_hints(**config.hints)
    return Candidate(
        name, CutileLauncher(kernel, grid, lambda shape: config.constants), facts={"config": asdict(config)}
    )


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
    return Sweep(gemm("bf16"), rungs, tuple((n, n, n) for n in (4096, 2048, 8192)))


def softmax_rows() -> Sweep:
    """Notebook 06's kernels, a row in one tile and online, by the row's length."""
    answers = load_answers("06_cutile_tiles")
    tiles = {"one tile a row": ("06.5", None), **{f"online, tiles of {t}": ("06.7", t) for t in (1024, 4096)}}

    def launcher(id: str, tile: int | None) -> CutileLauncher:
        return CutileLauncher(answers[id], lambda shape: (shape[0],), lambda shape: (tile or shape[1],))

    candidates = tuple(Candidate(name, launcher(*how)) for name, how in tiles.items())
    return Sweep(softmax("fp32"), candidates, SOFTMAX_SHAPES, pairs=10, seconds=40)


def tile_space() -> Sweep:
    """Every configuration of `kernels.cutile.gemm.space` at 4096³."""
    candidates = tuple(configured(str(config), config) for config in space())
    return Sweep(gemm("bf16"), candidates, ((4096, 4096, 4096),))


def tile_fp8() -> Sweep:
    """Attempts at notebook 07's last rung, 320×32576×7168, and ncu's counts of it and of cuBLASLt."""

    def on_every_sm(name: str, kernel: ct.kernel, *constants: Any, blocks: float = 1) -> Candidate:
        launcher = CutileLauncher(
            kernel,
            grid=lambda shape: (int(device.need_gpu().sms * blocks), 1, 1),
            constants=lambda shape: constants,
        )
        return Candidate(name, launcher)

    wide, pair = {"num_worker_warps": 8}, {"num_worker_warps": 8, "num_ctas": 2}
    slab, straight, slab_of_two = (
        slabs.replace_hints(**wide),
        straight_slabs.replace_hints(**wide),
        slabs.replace_hints(**pair),
    )
    candidates = (
        on_every_sm(
            "64×128, 2 blocks per SM, no fast accumulation",
            tiled.replace_hints(occupancy=2),
            64,
            128,
            128,
            False,
            blocks=2,
        ),
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
    return Sweep(
        gemm_fp8(),
        candidates,
        ((320, 32576, 7168),),
        (counters.TENSOR_BUSY, counters.SM_CLOCK, counters.TO_SMS, counters.MEMORY_READ),
    )
