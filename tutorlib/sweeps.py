"""What takes more kernels and sizes than an exercise has: `tutor sweep` measures it, `tutor plots` draws it."""

import json
import sys
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from datetime import date
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

from tutorlib import counters, device, evidence
from tutorlib.bench import Measurement
from tutorlib.kernel import ATTEMPTS, KernelExercise
from tutorlib.launch import Launcher, Work, new_generator
from tutorlib.problem import Problem, Shape, gemm

DATA = evidence.DATA / "sweeps"

Point = dict[str, Any]  # a candidate's name and facts, and its Measurement at one shape


@dataclass(frozen=True)
class Candidate:
    """A kernel of a sweep.

    name: in the figure's legend. host: as an exercise's answer. smem_bytes: shared memory of a block.
    facts: what else a figure must know of it, as JSON has it.
    """

    name: str
    host: Callable[..., None]
    smem_bytes: int
    facts: dict[str, Any] = field(default_factory=dict)

    def launcher(self, exercise: KernelExercise, shape: Shape) -> Launcher:
        """What calls it on tensors of this shape, as `exercise` has them."""
        return Launcher(self.host, {shape: exercise.specs(shape)}, dynamic=False)


@dataclass(frozen=True)
class Sweep:
    """Kernels that solve the same problem, and the shapes at which they are timed beside its baseline.

    shapes: the most telling first, in case there is no time for all.
    counters: what ncu counts of the baseline and of each kernel at the first shape, where there is an ncu that may.
    """

    problem: Problem
    candidates: tuple[Candidate, ...]
    shapes: tuple[Shape, ...]
    counters: tuple[str, ...] = ()


def rungs() -> tuple[Candidate, ...]:
    """The ladder of notebooks 09 to 12; last its three stages' kernel in the tile that suits it."""
    from tutorlib.gemm import GemmConfig, in_eights, make_gemm, multistage, single_buffer

    def rung(name: str, config: GemmConfig, *parts: Any) -> Candidate:
        return Candidate(name, make_gemm(config, *parts), config.smem_bytes)

    return (
        rung("09 one buffer", GemmConfig(), single_buffer),
        rung("10 two buffers", GemmConfig(stages=2), multistage),
        rung("11 grid swizzle", GemmConfig(stages=2), multistage, in_eights),
        rung("12 three stages", GemmConfig(stages=3), multistage, in_eights),
        rung("12 tuned", GemmConfig((128, 256, 32), (2, 4), 4), multistage, in_eights),
    )


def gemm_rungs() -> Sweep:
    """The ladder over square sizes."""
    return Sweep(gemm("bf16"), rungs(), tuple((n, n, n) for n in (4096, 8192, 2048, 1024, 512, 3072, 6144, 1536, 768)))


def gemm_nvidia() -> Sweep:
    """The ladder beside NVIDIA's own CuTe GEMM for the same instructions. Raises NoExample."""
    from tutorlib.nvidia_example import against_nvidia

    return Sweep(against_nvidia(), rungs(), tuple((n, n, n) for n in (4096, 8192, 2048)))


def gemm_stages() -> Sweep:
    """Notebook 12's kernel at 4096³ for every number of stages and a choice of tiles."""
    from tutorlib.gemm import GemmConfig, in_eights, make_gemm, multistage

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
            f"{'×'.join(map(str, config.tile))}, {config.stages} stages",
            make_gemm(config, multistage, in_eights),
            config.smem_bytes,
            {"tile": list(config.tile), "stages": config.stages},
        )
        for config in configs
    )
    return Sweep(gemm("bf16"), candidates, ((4096, 4096, 4096),))


def gemm_orders() -> Sweep:
    """Notebook 11's question: the same kernel with its blocks in other orders, and what memory has to send."""
    from tutorlib.gemm import GemmConfig, grouped, make_gemm, multistage, raster

    config = GemmConfig(stages=3)
    orders = {"raster": raster} | {f"groups of {group}": partial(grouped, group=group) for group in (4, 8, 16)}
    candidates = tuple(
        Candidate(name, make_gemm(config, multistage, order), config.smem_bytes, {"tile": list(config.tile)})
        for name, order in orders.items()
    )
    shapes = tuple((n, n, n) for n in (8192, 4096, 2048))
    return Sweep(gemm("bf16"), candidates, shapes, (counters.MEMORY_READ, counters.L2_READ, counters.WAVES))


def in_tiles(name: str) -> Callable[[], Sweep]:
    """A sweep of notebook 07; its module, which needs cuTile, is imported when the sweep is asked for."""
    return lambda: getattr(import_module("tutorlib.tile_sweeps"), name)()


SWEEPS: dict[str, Callable[[], Sweep]] = {
    "gemm_rungs": gemm_rungs,
    "gemm_nvidia": gemm_nvidia,
    "gemm_stages": gemm_stages,
    "gemm_orders": gemm_orders,
    "tile_rungs": in_tiles("tile_rungs"),
    "tile_fp8": in_tiles("tile_fp8"),
    "tile_space": in_tiles("tile_space"),
}


def measure(name: str) -> Iterator[Point]:
    """Every candidate of a sweep that this GPU has the shared memory for, at every shape, one after the other.

    Raises WrongWhenTimed and KernelFault: a sweep of kernels that fail is none.
    """
    import torch

    sweep, gpu = SWEEPS[name](), device.gpu()
    room = torch.cuda.get_device_properties(torch.cuda.current_device()).shared_memory_per_block_optin
    for shape in sweep.shapes:
        for candidate in sweep.candidates:
            if candidate.smem_bytes <= room:
                measured = asdict(time(sweep.problem, candidate, shape, gpu))
                del measured["versions"], measured["gpu"]  # the file says them once
                kept = {key: value for key, value in measured.items() if value is not None}
                yield {"name": candidate.name, **candidate.facts, **kept}


def time(problem: Problem, candidate: Candidate, shape: Shape, gpu: device.GPU) -> Measurement:
    """As an exercise is timed, every output looked at; a noisy measurement is taken again."""
    exercise = KernelExercise("sweep", candidate.name, 0, problem=problem, shapes=(shape,))
    launcher = candidate.launcher(exercise, shape)
    for _ in range(ATTEMPTS):
        measured = exercise.measure(launcher, shape, gpu)
        if not measured.noisy:
            break
    return measured


def counted(name: str) -> dict[str, dict[str, float]]:
    """The sweep's counters of its baseline and of each kernel.

    {} where none are asked for, none come, or a baseline is more than one launch.
    """
    sweep = SWEEPS[name]()
    if not sweep.counters:
        return {}
    names = [sweep.problem.baseline_name, *(candidate.name for candidate in sweep.candidates)]
    try:
        launches = counters.count([sys.executable, "-m", "tutorlib.sweeps", name], sweep.counters, marked=True)
    except counters.NoCounters:
        return {}
    return dict(zip(names, launches, strict=True)) if len(launches) == len(names) else {}


def launch(name: str) -> None:
    """Call the baseline and each kernel of a sweep at its first shape, the second call of each for ncu to look at."""
    import torch

    sweep = SWEEPS[name]()
    work = Work(sweep.problem, sweep.shapes[0])
    work.refill(new_generator())
    calls = [partial(sweep.problem.baseline, work.output.tensor, *work.inputs)]
    for candidate in sweep.candidates:
        exercise = KernelExercise("sweep", candidate.name, 0, problem=sweep.problem, shapes=sweep.shapes)
        calls.append(candidate.launcher(exercise, sweep.shapes[0]).on(work))
    for call in calls:
        call()
    torch.cuda.synchronize()
    torch.cuda.profiler.start()
    for call in calls:
        call()
    torch.cuda.synchronize()
    torch.cuda.profiler.stop()


def write(name: str, points: list[Point], complete: bool, counts: dict[str, dict[str, float]]) -> Path:
    """figures/data/sweeps/h200_gemm_rungs.json, for an H200. complete: there was time for all that fits."""
    machine = device.this_machine()
    path = DATA / f"{evidence.file_of(machine['gpu']).stem}_{name}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    data = {
        "machine": machine,
        "date": date.today().isoformat(),
        "complete": complete,
        "counters": counts,
        "points": points,
    }
    path.write_text(json.dumps(data, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
    return path


def all_data(name: str) -> list[evidence.Data]:
    """What a sweep found on every GPU that it ran on, by file name."""
    return [json.loads(path.read_text(encoding="utf-8")) for path in sorted(DATA.glob(f"*_{name}.json"))]


if __name__ == "__main__":
    launch(sys.argv[1])
