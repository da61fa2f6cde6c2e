"""The sweeps of the GEMM ladder: all of its rungs, and those of notebooks 09 to 12 from closer by."""

from collections.abc import Sequence
from functools import partial

from tutorlib.kernels.ampere.config import GemmConfig
from tutorlib.kernels.ampere.gemm import make_gemm
from tutorlib.kernels.ampere.main_loops import multistage
from tutorlib.kernels.hopper.config import HopperConfig
from tutorlib.kernels.ladder import AMPERE_RUNGS, LADDER, AmpereRung, HopperRung, Rung, in_eights
from tutorlib.kernels.nvidia_example import against_nvidia
from tutorlib.measuring import counters
from tutorlib.measuring.ceilings import mma_sync_tflops
from tutorlib.measuring.launchers import ChosenLauncher, CuteLauncher, HopperLauncher
from tutorlib.measuring.sweeps.sweep import Candidate, Sweep
from tutorlib.models.l2 import grouped, raster
from tutorlib.problems.catalogue import gemm
from tutorlib.problems.problem import Problem
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
            return ChosenLauncher()


def gemm_rungs() -> Sweep:
    """The ladder over square sizes, and what mma.sync reaches where nothing keeps it waiting."""
    problem = gemm("bf16")
    return Sweep(problem, rungs(problem), SQUARES, look=lambda: {"mma_sync_tflops": mma_sync_tflops()})


def gemm_nvidia() -> Sweep:
    """The rungs of mma.sync beside NVIDIA's own CuTe GEMM for the same instructions. Raises NoExample."""
    problem = against_nvidia()
    return Sweep(problem, rungs(problem, AMPERE_RUNGS), SQUARES[:3])


def gemm_stages() -> Sweep:
    """Notebook 12's kernel at 4096³ for every number of stages and a choice of tiles."""
    problem = gemm("bf16")
    tiles = (
        ((64, 64, 64), (2, 1)),
        ((128, 128, 32), (2, 2)),
        ((128, 128, 64), (2, 2)),
        ((128, 256, 32), (2, 4)),
        ((128, 256, 64), (2, 4)),
    )
    configs = [GemmConfig(tile, warps, stages) for tile, warps in tiles for stages in range(2, 6)]
    candidates = tuple(
        Candidate(
            f"{by(config.tile)}, {config.stages} stages",
            CuteLauncher(make_gemm(config, multistage, in_eights), problem),
            config.smem_bytes,
            {"tile": list(config.tile), "stages": config.stages},
        )
        for config in configs
    )
    return Sweep(problem, candidates, SQUARES[:1])


def gemm_orders() -> Sweep:
    """Notebook 11's question: the same kernel with its blocks in other orders, and what memory has to send."""
    problem, config = gemm("bf16"), GemmConfig(stages=3)
    orders = {"raster": raster} | {f"groups of {group}": partial(grouped, group=group) for group in (4, 8, 16)}
    candidates = tuple(
        Candidate(
            name,
            CuteLauncher(make_gemm(config, multistage, order), problem),
            config.smem_bytes,
            {"tile": list(config.tile)},
        )
        for name, order in orders.items()
    )
    shapes = tuple((n, n, n) for n in (8192, 4096, 2048))
    return Sweep(problem, candidates, shapes, (counters.MEMORY_READ, counters.L2_READ, counters.WAVES))
