"""Tuning and its winners beside QuACK's, on a Hopper GPU: python -m tests.chooser.beside_quack EVERY [SECONDS]

Of the shapes that no constant was fitted to, each EVERY-th: the seconds of a first call with tuned=True, whose kernels
are compiled then, QuACK's, and both winners' times in turn with cuBLAS'. To figures/data/sweeps/GPU_gemm_tuning.json.
"""

import sys
import time
from collections.abc import Callable
from datetime import date

import torch
from quack.gemm_interface import gemm as quack_gemm

from tests.chooser.explore import cublas
from tutorlib.instruments.table import unseen
from tutorlib.kernels.hopper.launch import launcher
from tutorlib.kernels.hopper.torch_gemm import gemm
from tutorlib.kernels.hopper.tune import Problem, folder, loaded, matrices, side_stream, times, winner
from tutorlib.machine.device import this_machine
from tutorlib.measuring.results import sweep_file, write_json


def quack(a: torch.Tensor, b: torch.Tensor, c: torch.Tensor) -> None:
    quack_gemm(a, b.T, out=c, tuned=True)


def seconds(call: Callable[[], object]) -> float:
    """Of the host, until the GPU is done."""
    start = time.perf_counter()
    call()
    torch.cuda.synchronize()
    return round(time.perf_counter() - start, 2)


def compared(problem: Problem) -> dict[str, object]:
    sets = matrices(problem)
    a, b, c = sets[0]
    taken = {"seconds": seconds(lambda: gemm(a, b, tuned=True)), "quack_seconds": seconds(lambda: quack(a, b, c))}
    torch.testing.assert_close(c, a @ b.mT, rtol=2e-2, atol=2e-2 * problem.k**0.5)
    with torch.cuda.stream(side_stream()):
        tuned = launcher(winner(problem), *problem[:3], compiled=loaded(winner(problem), folder()))
    names = ("cublas_us", "tuned_us", "quack_us")
    us = zip(names, times([cublas, tuned, quack], sets), strict=True)
    return {"shape": problem[:3], **taken, **{name: round(value, 3) for name, value in us}}


def main(every: str, most: str = "300") -> None:
    machine, points, end = this_machine(), [], time.monotonic() + float(most)
    gemm(*(torch.randn(256, 256, device="cuda").bfloat16() for _ in "ab"), tuned=True)  # starts the compiler
    for shape in list(unseen())[:: int(every)]:
        if time.monotonic() < end:
            points.append(compared(Problem(*shape)))
            print(points[-1], flush=True)
    data = {"machine": machine, "date": date.today().isoformat(), "shapes": points}
    write_json(sweep_file(machine["gpu"], "gemm_tuning"), data)


if __name__ == "__main__":
    main(*sys.argv[1:])
