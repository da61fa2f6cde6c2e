"""Two GEMM kernels against each other on a page, where there is a GPU."""

import statistics
from collections.abc import Callable, Mapping, Sequence

from tutorlib import bench, device
from tutorlib.compare import explain
from tutorlib.compile import TensorSpec
from tutorlib.launch import Launcher, Work, new_generator
from tutorlib.problem import gemm


def compare_on_gpu(kernels: Mapping[str, Callable[..., None]], sizes: Sequence[int]) -> None:
    """Time two host functions gemm(a, b, c) in turns at M = N = K = size, and print a line for each size.

    Without a GPU it says so. Raises RuntimeError where one of them is wrong.
    """
    (first, a), (second, b) = kernels.items()
    if reason := device.why_not("80"):
        print(f"{first} against {second}: not measured: {reason}")
        return
    problem = gemm("bf16")
    for size in sizes:
        shape = (size, size, size)
        works = [Work(problem, shape) for _ in range(bench.buffer_sets(problem.bytes(shape), device.gpu().l2))]
        for work in works:
            work.refill(new_generator())
        specs = {shape: [TensorSpec((size, size), "bf16")] * 3}
        calls = [[launcher.on(work) for work in works] for launcher in (Launcher(f, specs, False) for f in (a, b))]
        for name, (call, *_) in zip(kernels, calls, strict=True):
            works[0].output.poison()
            call()
            if wrong := explain("c", *works[0].output.as_it_is().seen, *works[0].expected()):
                raise RuntimeError(f"{name} at {size}: {wrong.what}")
        times = bench.paired(*calls, refresh=lambda: None, spoil=lambda: None, verify=lambda: None)
        faster = statistics.median(y / x for x, y in zip(times.kernel, times.baseline, strict=True))
        print(
            f"{size}: {first} {statistics.median(times.kernel):.1f} µs, "
            f"{second} {statistics.median(times.baseline):.1f} µs; the first is {faster:.3f} × as fast"
        )
