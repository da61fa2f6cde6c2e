"""Run in a process of its own: kernels that break the CUDA context, and what the checker says afterwards.

    python -m tests.gpu.child NAME

Prints one JSON line for each check: [status, message].
"""

import json
import os
import sys

import torch

from tests.gpu.right_kernels import one_thread_per_element
from tests.wrong.gpu_kernels import COPY, FATAL
from tutorlib import launch


def say(answer) -> None:
    outcome = COPY.grade(answer)
    print(json.dumps([outcome.status, outcome.message]), flush=True)


def fill_the_memory() -> list[torch.Tensor]:
    """All of the GPU's memory but half of what the check needs."""
    free, _ = torch.cuda.mem_get_info()
    hog = [torch.empty(free - 2**26, dtype=torch.uint8, device="cuda")]
    free, _ = torch.cuda.mem_get_info()
    return [*hog, *(torch.empty(2**20, dtype=torch.uint8, device="cuda") for _ in range(free // 2**21))]


if __name__ == "__main__":
    launch.TIME_LIMIT_S = 2.0
    name = sys.argv[1]
    if name == "out_of_memory":
        held = fill_the_memory()
        say(one_thread_per_element)
        del held
        torch.cuda.empty_cache()
    else:
        say(next(kernel for _, kernel, *_ in FATAL if kernel.__name__ == name))
    say(one_thread_per_element)
    os._exit(0)  # an endless kernel would hold up an orderly end
