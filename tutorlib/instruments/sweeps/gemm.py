"""The sweeps of the GEMM ladder: all of its rungs, and those of notebooks 09 to 12 from closer by."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from tutorlib.instruments.ceilings import mma_sync_tflops
from tutorlib.instruments.sweeps.sweep import Candidate, Sweep
from tutorlib.kernels.ampere.config import BYTES, MOST_SMEM, GemmConfig
from tutorlib.kernels.ampere.gemm import Order, make_gemm
from tutorlib.kernels.ampere.main_loops import multistage
from tutorlib.kernels.hopper import launch
from tutorlib.kernels.hopper.config import HopperConfig
from tutorlib.kernels.ladder import AMPERE_RUNGS, LADDER, AmpereRung, HopperRung, Rung, in_eights
from tutorlib.kernels.nvidia_example import against_nvidia
from tutorlib.machine import device
from tutorlib.measuring import counters
from tutorlib.measuring.launchers import CuteLauncher, HopperLauncher, HostLauncher
from tutorlib.models.l2 import grouped, raster
from tutorlib.problems.catalogue import gemm
from tutorlib.problems.problem import Problem, Shape
from tutorlib.problems.work import Launcher
from tutorlib.problems.wrong import by

SQUARES = tuple((n, n, n) for n in (4096, 8192, 2048, 1024, 512, 3072, 6144, 1536, 768))


def rungs(problem: Problem, ladder: Sequence[Rung] = LADDER) -> tuple[Candidate, ...]:
    """The ladder's kernels."""
    return tuple(
        Candidate(rung.title, rung_launcher(rung, problem), rung.smem_bytes, needs=rung.needs) for rung in ladder
    )


def rung_launcher(rung: Rung, problem: Problem) -> Launcher:
    """A rung, for the GPU at hand."""
    match rung:
        case AmpereRung():
            return CuteLauncher(rung.host, problem)
        case HopperRung(config=HopperConfig() as config):
            return HopperLauncher(config)
        case _:
            return HostLauncher(launch.gemm)


def gemm_rungs() -> Sweep:
    """The ladder over square sizes, and what mma.sync reaches where nothing keeps it waiting."""
    problem = gemm("bf16")
    return Sweep(problem, rungs(problem), SQUARES, look=find_roof)


def find_roof() -> dict[str, Any]:
    return {"mma_sync_tflops": mma_sync_tflops()}


def gemm_nvidia() -> Sweep:
    """The rungs of mma.sync beside NVIDIA's own CuTe GEMM for the same instructions. Raises NoExample."""
    problem = against_nvidia()
    return Sweep(problem, rungs(problem, AMPERE_RUNGS), SQUARES[:3])


def gemm_stages() -> Sweep:
    """Notebook 12's kernel at 4096³ for every number of stages and a choice of tiles."""
    tiles = (
        ((64, 64, 64), (2, 1)),
        ((128, 64, 64), (2, 2)),
        ((128, 128, 32), (2, 2)),
        ((128, 128, 64), (2, 2)),
        ((128, 256, 32), (2, 4)),
        ((128, 256, 64), (2, 4)),
    )
    return staged([GemmConfig(tile, warps, stages) for tile, warps in tiles for stages in deepest(tile)], SQUARES[:1])


def gemm_depth() -> Sweep:
    """Cases in which stages matter: a grid that leaves each SM one block, and a K of a few tiles."""
    tiles = ((128, 128, 32), (128, 128, 64))
    shapes = ((1024, 1024, 1024), (4096, 4096, 256))
    return staged([GemmConfig(tile, stages=stages) for tile in tiles for stages in deepest(tile)], shapes)


def deepest(tile: tuple[int, int, int]) -> range:
    """From two stages to five, or as many as any GPU has room for."""
    m, n, k = tile
    return range(2, min(5, MOST_SMEM // ((m + n) * k * BYTES)) + 1)


def staged(configs: Sequence[GemmConfig], shapes: Sequence[Shape]) -> Sweep:
    """Notebook 12's kernel in these configurations; each point knows the registers that it took."""
    problem = gemm("bf16")

    def candidate(config: GemmConfig) -> Candidate:
        launcher = CuteLauncher(make_gemm(config, multistage, in_eights), problem)
        return Candidate(
            f"{by(config.tile)}, {config.stages} stages",
            launcher,
            config.smem_bytes,
            {"tile": list(config.tile), "warps": list(config.warps), "stages": config.stages},
            inspect=lambda shape: {"registers": launcher.compiled(shape, device.need_gpu().arch).registers},
        )

    return Sweep(problem, tuple(map(candidate, configs)), tuple(shapes))


def ordered(orders: Mapping[str, Order], shapes: Sequence[Shape], *counted: str) -> Sweep:
    """Notebook 11's kernel, with two stages, its blocks in these orders."""
    problem, config = gemm("bf16"), GemmConfig(stages=2)
    candidates = tuple(
        Candidate(
            name,
            CuteLauncher(make_gemm(config, multistage, order), problem),
            config.smem_bytes,
            {"tile": list(config.tile)},
        )
        for name, order in orders.items()
    )
    return Sweep(problem, candidates, tuple(shapes), counted)


def gemm_orders() -> Sweep:
    """Notebook 11's question: the same kernel with its blocks in other orders, and what memory has to send."""
    orders = {"raster": raster} | {f"groups of {group}": partial(grouped, group=group) for group in (4, 8, 16)}
    shapes = [(n, n, n) for n in (8192, 4096, 2048)]
    return ordered(orders, shapes, counters.MEMORY_READ, counters.L2_READ, counters.WAVES)


def gemm_pitch() -> Sweep:
    """Notebook 11's other question: does it matter that rows begin at multiples of a power of two?

    The tall A is read by as many blocks as an H100 holds, all of which walk along their own rows: at every moment their
    addresses differ by multiples of a row's length. C is so narrow that memory is the limit.
    """
    lengths = (8192, 8128, 8256, 8064, 8320)
    shapes = [(33792, 128, k) for k in lengths] + [(8192, 8192, k) for k in lengths[:3]]
    return ordered({"raster": raster}, shapes)


def gemm_waves() -> Sweep:
    """The rungs of two and of three stages around 3072, where a third wave begins on an H200."""
    problem = gemm("bf16")
    ladder = [rung for rung in AMPERE_RUNGS if rung.name in ("grid swizzle", "three stages")]
    shapes = tuple((128 * n,) * 3 for n in (24, 22, 23, 28, 26, 20, 30))
    return Sweep(problem, rungs(problem, ladder), shapes)
