"""Run and compare kernels from a notebook, on the GPU if there is one, else simulated."""

import gzip
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from itertools import chain
from math import nan
from statistics import median
from typing import TYPE_CHECKING

from tutorlib.checking.cpp import wrong_parameters
from tutorlib.compiling.compiled import Compiled, LaunchGrid
from tutorlib.compiling.cpp import compile_cpp
from tutorlib.compiling.dsls import compile_cute, cute_arguments, refusals
from tutorlib.compiling.errors import CompileFailed
from tutorlib.compiling.spec import TensorSpec
from tutorlib.draw.grid import DPI, Picture
from tutorlib.draw.palette import INK, LINES, MARK
from tutorlib.exercises.judges.hopper import Estimate, modeled
from tutorlib.kernels.hopper.config import HopperConfig
from tutorlib.machine import device
from tutorlib.machine.features import MMA_SYNC
from tutorlib.measuring.driver import load
from tutorlib.measuring.launchers import HostLauncher
from tutorlib.measuring.results import SweepResults, all_sweep_results, stacks_of
from tutorlib.measuring.trusted import measure
from tutorlib.models.hopper_gemm import Sm, StepCycles, divide
from tutorlib.notebook.explain import simulate
from tutorlib.notebook.measured import Rows, show_ratio, size, table, tables
from tutorlib.paths import DATA
from tutorlib.problems.attention import attention_problem
from tutorlib.problems.catalogue import gemm
from tutorlib.problems.differences import by
from tutorlib.problems.problem import Shape

if TYPE_CHECKING:
    from pandas import DataFrame
    from torch import Tensor

    from tutorlib.simulate.ptx import Report

ATTENTION_PAIRS = 10  # fewer than usual: a reference takes a hundred times as long as what it checks


def run_on_gpu(host: Callable[..., None], *tensors: "Tensor", dynamic: bool = False) -> bool:
    """Compile a @cute.jit host function for these contiguous tensors, call it, and wait for the GPU. Whether it ran.

    Without a GPU the tensors are in host memory and the kernel is simulated; a line says so, or why it cannot be.
    dynamic: the sizes of the tensors are run-time values, so that one compilation serves all sizes.
    Raises CompileFailed.
    """
    if reason := device.why_not(MMA_SYNC):
        return simulated(f"{host.__name__}: ", reason, lambda: simulate(host, tensors, dynamic=dynamic))

    import torch

    specs = [TensorSpec.like(tensor, dynamic) for tensor in tensors]
    compiled = compile_cute(host, specs, device.compile_target())
    torch.cuda.synchronize()  # makes the context in which CuTe launches, where this is the first use of the GPU
    compiled.function(*cute_arguments(tensors, dynamic))
    torch.cuda.synchronize()
    return True


def simulated(name: str, reason: str, simulate: "Callable[[], Sequence[Report]]") -> bool:
    """Simulate a kernel, and print its output and findings. Returns whether the simulator can run it.

    name: printed before the reason why the kernel does not run on a GPU.
    """
    from tutorlib.simulate.ptx import NotSimulated

    try:
        reports = simulate()
    except NotSimulated as error:
        print(f"{name}compiled, not run: {reason}; {error}")
        return False
    print(f"{name}simulated: {reason}")
    for line in (line for report in reports for line in (*report.printed, *report.findings)):
        print(line)
    return True


def show_findings(kernels: Mapping[str, Callable[..., None]], *tensors: "Tensor", arch: str) -> None:
    """Simulate @cute.jit host functions, and print what is found first in each, or that nothing is.

    arch: that they are compiled for, which need not be this machine's. Raises CompileFailed and NotSimulated.
    """
    from tutorlib.simulate.ptx.languages.cute import compile_with_lines, simulate_host

    named = {f"argument {n}": tensor for n, tensor in enumerate(tensors)}
    for name, host in kernels.items():
        (report,) = simulate_host(compile_with_lines(host, [*map(TensorSpec.like, tensors)], arch), named)
        print(f"{name}: {report.findings[0] if report.findings else 'no finding'}")


def run_cpp(source: str, grid: LaunchGrid, *args: "Tensor | int") -> bool:
    """Compile a Tile C++ source, launch it on these tensors and integers, and wait for the GPU. Whether it ran.

    Without a GPU it is simulated, as `run_on_gpu` does. Raises as compile_cpp does.
    """
    reason = device.why_not(MMA_SYNC)
    compiled = compile_cpp(source, "sm_80" if reason else device.tile_target())
    integers = sum(isinstance(arg, int) for arg in args)
    if misfit := wrong_parameters(compiled, len(args) - integers, integers):
        raise CompileFailed(misfit)
    if reason:
        return simulated("", reason, lambda: simulate(source, args, grid))

    import torch

    load(compiled, grid, args)()
    torch.cuda.synchronize()
    return True


def run_host(host: Callable[..., None], *tensors: "Tensor") -> None:
    """Call a function that launches cuTile kernels on these tensors, and wait for the GPU.

    Without a GPU its launches are interpreted; lines say so and list the findings. Raises CompileFailed.
    """
    from tutorlib.simulate.stand_in.tiles import launches_interpreted

    if not (reason := device.why_not(MMA_SYNC)):
        import torch

        host(*tensors)
        torch.cuda.synchronize()
        return
    print(f"{getattr(host, '__name__', 'its launches')}: interpreted: {reason}")
    with refusals(), launches_interpreted() as reports:
        host(*tensors)
    for finding in (finding for report in reports for finding in report.findings):
        print(finding.message)


def compare_attention(kernels: "Mapping[str, Callable[..., None]]", shape: Shape) -> None:
    """Time causal host functions attention(q, k, v, o), each in turn with torch's; print a line for each.

    shape: (batch, heads, kv_heads, queries, keys, d). If there is no GPU that runs them, a line says so.
    Raises WrongWhenTimed if a result is wrong.
    """
    if reason := device.why_not(MMA_SYNC):
        print(f"{', '.join(kernels)}: not measured: {reason}")
        return
    problem = attention_problem(causal=True)
    print(f"{device.need_gpu().name}, {by(shape)}:")
    for name, host in kernels.items():
        timed = measure(problem, HostLauncher(host), shape, pairs=ATTENTION_PAIRS)
        print(f"{name}: {timed.median_us:,.0f} µs, {timed.rate}, {show_ratio(timed)} of {timed.baseline}")


# Tile C++ ------------------------------------------------------------------------------------------------------------


def fetching(compiled: Compiled) -> str:
    """The loop of the warps that fetch tiles by TMA: its waits and loads, in order."""
    _, *loops = compiled.ptx.split("setmaxnreg.dec")
    event = r"try_wait\S*\s+\S+ \[(\S+)\]|cp\.async\.bulk\.tensor\S*\.global\.tile.*?\}\], \[(\S+)\]"
    shown, loading = list[str](), ""
    for waits_at, completes in re.findall(event, loops[0] if loops else ""):
        shown.append("load" if completes else "wait for it" if waits_at == loading else "wait for a free buffer")
        loading = completes
    return " → ".join(shown) or "no producer warps: all threads load"


# Models of the Hopper GEMM's time beside measurements ---------------------------------------------------------------


def show_model(name: str, estimate: Estimate) -> "DataFrame | None":
    """A sweep's levers as a tree: measured µs, and the estimate over it, for each shape; or None."""

    def rows(swept: SweepResults) -> Rows:
        found: Rows = []
        for stack in stacks_of(swept):
            row = {}
            for point in swept.of_kernel(stack.name):
                ratio = f"×{modeled(point, estimate):.2f}"
                row[size(point.measurement.shape)] = f"{point.measurement.median_us:,.1f} µs, {ratio}"
            found.append((stack.label, row))
        return found

    return tables(name, rows)


AHEAD, TWO = "arithmetic, fetched ahead", "two buffers, fetched ahead"
BESIDE, NEEDED = f"{AHEAD}, and copies", "arithmetic, fetched as needed, and copies"
LOOPS = (  # loop, name in the sweep, blocks on an SM, stages, barriers, arithmetic, the part of it in a buffer's round
    ("10.2", "one buffer", 1, 1, 2, AHEAD, 1),  # nothing runs beside a lone block's arithmetic
    ("11.3", TWO, 1, 2, 1, BESIDE, 1 / 4),
    ("10.2", "one buffer", 2, 1, 2, BESIDE, 1),
    ("11.3", TWO, 2, 2, 1, BESIDE, 1 / 4),
    ("11.2", "two buffers, one barrier", 3, 2, 1, NEEDED, 0),
)


def cycles(swept: SweepResults, name: str, blocks: int) -> float:
    """Cycles for one more K tile on an SM, by the clock that it counted; K has 64 tiles or 192. nan if not timed."""
    timed = (p.measurement for p in swept.of_kernel(name) if p.measurement.shape[0] == 1408 * blocks)
    short, long = [one.median_us * (one.counted_mhz or nan) for one in timed] or (nan, nan)
    return (long - short) / 128 / blocks


def show_limits(period: Callable[..., float]) -> "DataFrame | None":
    """Cycles for one more K tile: a load, the three limits of each loop, `period`, and as measured; × over 10.2's."""

    def rows(swept: SweepResults) -> Rows:
        found: Rows = []
        before = nan, nan
        load, transfer = (cycles(swept, f"loads, {n} in flight", 1) for n in (1, 3))
        for loop, name, blocks, stages, barriers, arithmetic, held in LOOPS:
            compute, measured = cycles(swept, arithmetic, blocks), cycles(swept, name, blocks)
            share = (load + held * compute) / (stages - 2 + barriers) / blocks
            latency = load - transfer + (held * compute if barriers == 1 else 0)
            if share == share and measured == measured:  # all was timed
                took = period(blocks, stages, latency, transfer, compute, barriers), measured
                before = took if loop == "10.2" else before
                row = {"round": f"{share:,.0f}", "arithmetic": f"{compute:,.0f}", "transfer": f"{transfer:,.0f}"}
                for column, old, new in zip(("period", "measured"), before, took, strict=True):
                    row[column] = f"{new:,.0f} ×{old / new:.2f}"
                found.append(((loop, str(blocks)), row))
        return found

    return tables("gemm_parts", rows, ("loop", "blocks on an SM"))


def show_periods(period: Callable[[float, int, int, float], float]) -> "DataFrame":
    """Cycles for a K tile, one block of 128×128 on an SM, by a model and measured.

    period takes the cycles of a K block's arithmetic, the K blocks of a tile, the tiles in flight, and a load's delay:
    that of 64 columns, without the transfer of those that the tile lacks.
    """
    parts, depth = (all_sweep_results(name)[0] for name in ("gemm_parts", "gemm_depth"))

    def whole(swept: SweepResults, name: str, k: int) -> float:
        """Cycles of the kernel with one block on each SM."""
        timed = (point.measurement for point in swept.of_kernel(name))
        return next(m.median_us * (m.counted_mhz or nan) for m in timed if m.shape[0] < 1500 and m.shape[2] == k)

    delay, transfer = (cycles(parts, f"loads, {n} in flight", 1) for n in (1, 3))
    block, three = cycles(parts, BESIDE, 1) / 4, "three buffers, fetched ahead"
    once = whole(parts, three, 4096) - 64 * cycles(parts, three, 1)  # launch, prologue, epilogue
    rows: Rows = []
    for k in (64, 32):
        for ahead in (1, 2, 3, 4):
            took = (whole(depth, f"128×128×{k}, {ahead + 1} stages", 8192) - once) * k / 8192
            counted = period(block, k // 16, ahead, delay - transfer * (1 - k / 64))
            cells = {"counted": f"{counted:,.0f}", "measured": f"{took:,.0f}", "ratio": f"{counted / took:.2f}"}
            rows.append(((f"128×128×{k}", f"{ahead + 1} stages"), cells))
    return table(rows)


def explored(name: str) -> Iterator[tuple[HopperConfig, Shape, float]]:
    """(configuration, shape, µs) of what was timed to fit the chooser, or to try it."""
    with gzip.open(DATA / f"explored/{name}.jsonl.gz", "rt", encoding="utf-8") as lines:
        for row in map(json.loads, lines):
            yield HopperConfig(**row["config"]), tuple(row["shape"]), row["us"]


ROWS, LEAST_STEPS = 128, 128  # of the tiles, and of the kernels, whose step is drawn


@cache
def timed_steps() -> tuple[tuple[int, float], ...]:
    """(N, cycles of a step) of each kernel with tiles of ROWS × N × 64 and LEAST_STEPS or more.

    Without clusters, stream-K or split-K, in over twice what device memory needs.
    """
    sm, found = Sm(), list[tuple[int, float]]()
    for config, shape, us in chain(explored("h200"), explored("h200_unseen")):
        m, n, k = shape
        k_tiles, waves, _ = divide(config, m, n, k, sm)
        made = config.tile[::2], config.cluster_blocks, config.stream_k, config.schedule
        memory_us = gemm("bf16").bytes(shape) / sm.hbm_bytes
        if made == ((ROWS, 64), 1, False, "cooperative") and waves * k_tiles >= LEAST_STEPS and us > 2 * memory_us:
            found.append((config.tile[1], (us - sm.start) * sm.clock / (waves * k_tiles)))
    return tuple(found)


def show_steps(models: Mapping[str, StepCycles]) -> Picture:
    """Cycles of a step: a dot for each of `timed_steps`, a line for each model."""
    sm, columns, fig = Sm(), range(32, 257, 16), Picture(figsize=(9, 3.6), dpi=DPI, layout="constrained")
    axes = fig.subplots()
    for (name, step), color in zip(models.items(), (MARK, INK), strict=False):
        axes.plot(columns, [step((ROWS, n, 64), (1, 1), sm) for n in columns], color=color, label=name)
    axes.plot(*zip(*timed_steps(), strict=True), ".", color=LINES[1], alpha=0.6)
    axes.set(xlim=(28, 260), ylim=(0, 1500), xticks=columns[::2], xlabel=f"N of a tile of {ROWS}×N×64", ylabel="cycles")
    axes.legend(frameon=False)
    return fig


FEW = 10  # configurations of page 16 timed at a shape: with fewer, it ranks nothing


def in_space() -> dict[Shape, list[tuple[HopperConfig, float]]]:
    """Shapes of models of which no constant knows, where FEW of page 16's configurations were timed; their times."""
    timed: dict[Shape, list[tuple[HopperConfig, float]]] = {}
    for config, shape, us in explored("h200_unseen"):
        made = config.schedule, config.tile[2], config.cluster_size <= 2, config.split_k in (1, 2, 4)
        if made == ("cooperative", 64, True, True):
            timed.setdefault(shape, []).append((config, us))
    return {shape: found for shape, found in timed.items() if len(found) >= FEW}


def show_ranking(models: Mapping[str, Estimate], most: int = 4) -> "DataFrame":
    """How much slower a model's first configuration, and the best of its first `most`, is than the fastest one."""
    import pandas

    timed = in_space()
    rows: Rows = []
    for name, estimate in models.items():
        slower: dict[int, list[float]] = {1: [], most: []}
        for shape, found in timed.items():
            ranked = [us for _, us in sorted(found, key=lambda one: estimate(one[0], *shape))]
            for first, losses in slower.items():
                losses.append(min(ranked[:first]) / min(ranked) - 1)
        row = {"shapes": f"{len(timed)}", "first choice: median loss": f"{median(slower[1]):.1%}"}
        for first, losses in slower.items():
            title = f"{'first choice' if first == 1 else f'best of {first}'}: 90th percentile"
            row[title] = f"{sorted(losses)[int(0.9 * len(losses))]:.1%}"
        rows.append((name, row))
    return pandas.DataFrame.from_dict(dict(rows), orient="index")
