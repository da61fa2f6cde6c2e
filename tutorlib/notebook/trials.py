"""Run a kernel from a notebook, on the GPU if there is one, else simulated."""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, TypeVar

from tutorlib.checking.cpp import wrong_parameters
from tutorlib.compiling.compiled import LaunchGrid
from tutorlib.compiling.cpp import compile_cpp
from tutorlib.compiling.dsls import compile_cute, cute_arguments, refusals
from tutorlib.compiling.errors import CompileFailed
from tutorlib.compiling.spec import TensorSpec
from tutorlib.machine import device
from tutorlib.machine.features import MMA_SYNC, WGMMA, Feature
from tutorlib.measuring.driver import load
from tutorlib.measuring.launchers import CuteLauncher, HopperLauncher, HostLauncher
from tutorlib.measuring.timing import Measurement, measure, within_noise
from tutorlib.notebook.measured import explained, show_ratio
from tutorlib.problems.attention import attention_problem
from tutorlib.problems.catalogue import gemm
from tutorlib.problems.differences import by
from tutorlib.problems.problem import Shape

if TYPE_CHECKING:
    from pandas import DataFrame
    from torch import Tensor

    from tutorlib.kernels.hopper.config import HopperConfig
    from tutorlib.kernels.hopper.parts import Parts
    from tutorlib.simulate.ptx import Report

T = TypeVar("T")

ATTENTION_PAIRS = 10  # fewer than usual: a reference takes a hundred times as long as what it checks


def run_on_gpu(host: Callable[..., None], *tensors: "Tensor", dynamic: bool = False) -> bool:
    """Compile a @cute.jit host function for these contiguous tensors, call it, and wait for the GPU. Whether it ran.

    Without a GPU the tensors are in host memory and the kernel is simulated; a line says so, or why it cannot be.
    dynamic: the sizes of the tensors are run-time values, so that one compilation serves all sizes.
    Raises CompileFailed.
    """
    specs = [TensorSpec.like(tensor, dynamic) for tensor in tensors]
    if reason := device.why_not(MMA_SYNC):
        from tutorlib.simulate.ptx.languages.cute import compile_with_lines, simulate_host

        traced = compile_with_lines(host, specs)
        return simulated(
            f"{host.__name__}: ", reason, lambda: simulate_host(traced, by_position(tensors), dynamic=dynamic)
        )

    import torch

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


def by_position(args: Sequence[T]) -> dict[str, T]:
    """Arguments by the names that findings use."""
    return {f"argument {n}": arg for n, arg in enumerate(args)}


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
        from tutorlib.simulate.ptx.languages.cpp import simulate_tile_cpp

        return simulated("", reason, lambda: [simulate_tile_cpp(compiled, grid, by_position(args))])

    import torch

    load(compiled, grid, args)()
    torch.cuda.synchronize()
    return True


def run_host(host: Callable[..., None], *tensors: "Tensor") -> None:
    """Call a function that launches cuTile kernels on these tensors, and wait for the GPU.

    Without a GPU its launches are interpreted; lines say so and list the findings. Raises CompileFailed.
    """
    from tutorlib.checking.cutile_launches import launches_interpreted

    if not (reason := device.why_not(MMA_SYNC)):
        import torch

        host(*tensors)
        torch.cuda.synchronize()
        return
    print(f"{getattr(host, '__name__', 'its launches')}: interpreted: {reason}")
    with refusals(), launches_interpreted() as launched:
        host(*tensors)
    for finding in (finding for one in launched for finding in one.report.findings):
        print(finding.message)


def compare_on_gpu(kernels: Mapping[str, Callable[..., None]], sizes: Sequence[int], needs: Feature = MMA_SYNC) -> None:
    """Time two host functions gemm(a, b, c) at M = N = K = size, each in turn with cuBLAS; print a line for each size.

    If the GPU lacks a feature that they need, a line says so. Raises WrongWhenTimed if a result is wrong, and
    KernelFault.
    """
    first, second = kernels
    if reason := device.why_not(needs):
        print(f"{first} against {second}: not measured: {reason}")
        return
    problem = gemm("bf16")
    for size in sizes:
        a, b = (measure(problem, CuteLauncher(host, problem), (size,) * 3) for host in kernels.values())
        times = f"{first} {a.median_us:.1f} µs, {second} {b.median_us:.1f} µs"
        print(f"{size}: {times}; {first} is {show_faster(a, b)}")


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


def show_faster(one: Measurement, other: Measurement, beside: str = "") -> str:
    """ "1.024 × as fast", by what both are beside their baselines."""
    faster = one.ratio / other.ratio
    return f"{faster:.3f} × as fast{beside}{', within noise' if within_noise(faster - 1, one, other) else ''}"


def compare_parts(chosen: "Callable[[int, int, int], tuple[HopperConfig, Parts]]", shapes: Sequence[Shape]) -> None:
    """Time the Hopper GEMM at each shape with the chosen parts and with the course's, each in turn with cuBLAS.

    chosen: takes M, N and K. Prints a line for each shape. Raises WrongWhenTimed and KernelFault.
    """
    if reason := device.why_not(WGMMA):
        print(f"your parts against the course's: not measured: {reason}")
        return
    problem = gemm("bf16")
    for shape in shapes:
        config, parts = chosen(*shape)
        yours, course = (measure(problem, HopperLauncher(config, slots), shape) for slots in (parts, None))
        faster = show_faster(yours, course, " as with the course's parts")
        print(f"{by(shape)}: {show_ratio(yours)} of cuBLAS, {faster}")


def show_beside(kernels: Mapping[str, Callable[..., None]], sizes: Sequence[int]) -> "DataFrame | None":
    """Host functions gemm(a, b, c) at M = N = K = size: TFLOP/s, and speed beside cuBLAS and NVIDIA's own example.

    The table has the example if TUTORLIB_CUTLASS names a checkout of CUTLASS; without a GPU a line says so.
    Raises WrongWhenTimed and KernelFault.
    """
    import pandas

    from tutorlib.kernels.nvidia_example import NoExample, against_nvidia

    if reason := device.why_not(MMA_SYNC):
        print(f"{', '.join(kernels)}: not measured: {reason}")
        return None
    problems = [gemm("bf16")]
    try:
        problems.append(against_nvidia())
    except NoExample as error:
        print(f"beside cuBLAS only; NVIDIA's example: {error}")
    rows: dict[tuple[str, int], dict[str, str]] = {}
    for name, host in kernels.items():
        launchers = [CuteLauncher(host, problem) for problem in problems]
        for size in sizes:
            found = [measure(p, launch, (size,) * 3) for p, launch in zip(problems, launchers, strict=True)]
            beside = {f"of {one.baseline}": show_ratio(one) for one in found}
            rows[name, size] = {"µs": f"{found[0].median_us:,.1f}", "speed": found[0].rate, **beside}
    return explained(pandas.DataFrame.from_dict(rows, orient="index"))
