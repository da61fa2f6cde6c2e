"""The SM clock as the SMs count it; a driver may report the clock that it allows while a power cap holds them back."""

from functools import cache
from pathlib import Path

from tutorlib.compiling.cpp import compile_cuda_kernel
from tutorlib.machine import device
from tutorlib.measuring.driver import load

SOURCE = Path(__file__).with_suffix(".cu")
SMS = 1024  # more than any GPU numbers


class SmClock:
    """`start` and `stop` note each SM's cycles and the time, in kernels on the current stream."""

    def __init__(self) -> None:
        import torch

        kernel = compile_cuda_kernel(SOURCE.read_text(encoding="utf-8"), device.tile_target())
        self.stamps = torch.zeros(2, SMS, 2, dtype=torch.int64, device="cuda")  # start and stop; SM; cycles and ns
        self.start, self.stop = (load(kernel, (device.need_gpu().sms,), (stamps,)) for stamps in self.stamps)

    def mhz(self) -> float:
        """Cycles per µs from `start` to `stop`, both of which have run: the median of the SMs that noted both."""
        noted = self.stamps[:, self.stamps.all(0).all(-1)]
        cycles, ns = (noted[1] - noted[0]).unbind(-1)
        return 1000 * (cycles / ns).median().item()


sm_clock = cache(SmClock)  # one for a process
