"""The cost of memory accesses, counted twice for the same kernels: by a GPU's counters and by the simulator."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tutorlib.instruments.processes import command_of
from tutorlib.kernels.ladder import AMPERE_RUNGS
from tutorlib.kernels.transposes import TRANSPOSES
from tutorlib.measuring import counters
from tutorlib.measuring.launchers import CuteLauncher
from tutorlib.measuring.simulated_launchers import SimulatedCute
from tutorlib.problems.catalogue import gemm, transpose
from tutorlib.problems.problem import Problem, Shape
from tutorlib.problems.work import Work
from tutorlib.simulate.ptx.report import Report

SHARED, GLOBAL = "smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op", "l1tex__t_sectors_pipe_lsu_mem_global_op"
HARDWARE = (  # counters of the SMs' memory pipes: wavefronts by instruction, sectors
    *(f"{SHARED}_{op}.sum" for op in ("ld", "st", "ldsm", "ldgsts")),
    *(f"{GLOBAL}_{op}.sum" for op in ("ld", "st")),
)
BY_ADDRESS = (  # what ncu works out from the addresses of each instruction: taken, and the fewest possible
    "memory_l1_wavefronts_shared",
    "memory_l1_wavefronts_shared_ideal",
    "memory_l2_theoretical_sectors_global",
    "memory_l2_theoretical_sectors_global_ideal",
)


@dataclass(frozen=True)
class Counted:
    """A kernel whose accesses are counted, at one size. host: its @cute.jit host function."""

    problem: Problem
    host: Callable[..., None]
    shape: Shape


KERNELS = {
    **{name: Counted(transpose("fp32"), host, (256, 320)) for name, host in TRANSPOSES.items()},
    AMPERE_RUNGS[0].title: Counted(gemm("bf16"), AMPERE_RUNGS[0].host, (256, 384, 256)),
}


def count_on_gpu(metrics: Sequence[str]) -> dict[str, dict[str, float]]:
    """Kernel → metric → what ncu counted. Raises NoCounters."""
    return dict(zip(KERNELS, counters.count(command_of(launch_all), metrics, marked=True), strict=True))


def count_simulated(name: str) -> dict[str, tuple[int, int]]:
    """For "shared ld", "shared st", "shared ldmatrix", "shared cp.async", "global ld", "global st", "global cp.async":
    wavefronts or sectors, taken and needed.
    """
    counted = KERNELS[name]
    launcher, work = SimulatedCute(counted.host, counted.problem), Work(counted.problem, counted.shape, "cpu")
    launcher.on(work)()
    (report,) = launcher.reports
    return costs_of(report)


def costs_of(report: Report) -> dict[str, tuple[int, int]]:
    """As `count_simulated` gives them."""
    kinds = [("shared", op) for op in ("ld.", "st.", "ldmatrix", "cp.async")]
    kinds += [("global", op) for op in ("ld.", "st.", "cp.async")]
    return {f"{space} {op.rstrip('.')}": report.total(space, op) for space, op in kinds}


def launch_all() -> None:
    """For ncu to look at."""
    counters.launch_marked([CuteLauncher(k.host, k.problem).on(Work(k.problem, k.shape)) for k in KERNELS.values()])
