"""What stands in for a GPU on a machine that has none: one by name, measurements made up, kernels that are torch's."""

from collections.abc import Callable, Sequence

from tutorlib.machine.device import GPU
from tutorlib.measuring.results import Point, SweepResults
from tutorlib.measuring.timing import Measurement, Times
from tutorlib.problems.catalogue import gemm
from tutorlib.problems.work import Call, Work

H200 = GPU("NVIDIA H200", "90", 132, 60 * 2**20, 140 * 2**30, "580.0")
MACHINE = {"gpu": "NVIDIA H200", "arch": "sm_90", "driver": "580.0", "packages": {"torch": "2.13.0"}}
UNKNOWN = {**MACHINE, "gpu": "NVIDIA Z9000"}


def copied(ratio: float, spread: float = 0.01, median_us: float = 500.0, **others: object) -> Measurement:
    """A copy of 1 GiB in fp32, timed beside torch's."""
    return Measurement(
        shape=(16384, 16384),
        dtype="fp32",
        median_us=median_us,
        lower_us=median_us * 0.99,
        upper_us=median_us * 1.01,
        baseline="torch copy_",
        baseline_us=median_us * ratio,
        ratio=ratio,
        spread=spread,
        n=40,
        clock_mhz=1980,
        gbps=2**31 / median_us / 1e3,
        **others,
    )


class OnTorch:
    """A launcher whose "kernel" is a function of torch tensors on the CPU."""

    def __init__(self, kernel: Callable[..., object]) -> None:
        self.kernel = kernel

    def on(self, work: Work) -> Call:
        return lambda: self.kernel(*work.tensors)


def led_in(
    kernels: Sequence[Call], baselines: Sequence[Call], refresh: Call, spoil: Call, verify: Call, pairs: int
) -> Times:
    """Stands in for bench.paired: each round leads in, spoils, then calls what would be timed."""
    for _ in range(3):
        refresh()
        for call in (*kernels, *baselines):
            call()
        spoil()
        for call in (*kernels, *baselines):
            call()
        verify()
    return Times((1.0,) * 4, (1.0,) * 4)


def multiplied(shape: tuple[int, ...], tflops: float, baseline_tflops: float = 800.0) -> Measurement:
    """A GEMM in bf16, timed beside cuBLAS."""
    microseconds = gemm("bf16").flops(shape) / 1e6
    return Measurement(
        shape=shape,
        dtype="bf16",
        median_us=microseconds / tflops,
        lower_us=0.0,
        upper_us=0.0,
        baseline="cuBLAS",
        baseline_us=microseconds / baseline_tflops,
        ratio=tflops / baseline_tflops,
        spread=0.01,
        n=40,
        tflops=tflops,
    )


def swept(*names: str, sizes: Sequence[int] = (512, 1024, 2048), **facts: object) -> SweepResults:
    """What a sweep found of these kernels: those called slow multiply at 100 TFLOP/s, others at 400, cuBLAS at 800."""
    points = tuple(
        Point(name, multiplied((size,) * 3, 100.0 if "slow" in name else 400.0), dict(facts))
        for size in sizes
        for name in names
    )
    return SweepResults(MACHINE, "2026-11-20", complete=True, points=points)
