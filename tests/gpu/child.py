"""Run in a process of its own: kernels that break the CUDA context, and what the checker says afterwards.

    python -m tests.gpu.child NAME

Prints one JSON line for each check: [status, message].
"""

import json
import os
import sys

import torch

from tests.gpu.right_kernels import one_thread_per_element
from tests.gpu_kernels import COPY, COPY_TIMED, FATAL
from tutorlib.problems import work


def say(exercise, answer) -> None:
    outcome = exercise.grade(answer)
    print(json.dumps([outcome.status, outcome.message]), flush=True)


if __name__ == "__main__":
    work.TIME_LIMIT_S = 2.0
    name = sys.argv[1]
    if name == "out_of_memory":
        free, _ = torch.cuda.mem_get_info()
        held = torch.empty(free - 2**27, dtype=torch.uint8, device="cuda")
        say(COPY_TIMED, one_thread_per_element)
        del held
        torch.cuda.empty_cache()
    else:
        say(COPY, next(kernel for _, kernel, *_ in FATAL if kernel.__name__ == name))
    say(COPY, one_thread_per_element)
    os._exit(0)  # an endless kernel would hold up an orderly end
