"""Times many configurations of the Hopper GEMM at many shapes, for kernels.hopper.fit:

    python -m tutorlib.instruments.exploring RESULTS.jsonl [--bands] [SECONDS [PROCESSES]]

--bands: only the choices without clusters, in bands of different widths (figures/data/explored/h100_bands.jsonl).
Compiling takes a second, timing a hundredth. So processes compile side by side, each its share of the configurations,
and a file's lock hands the GPU round: its holder times its candidates for a shape, beside cuBLAS. One that holds it for
too long is stuck in its kernel: it is killed, and a fresh process goes on after that shape.
"""

import sys
from collections.abc import Sequence
from pathlib import Path

from tutorlib.instruments.exploring.points import explored_shapes, in_bands, promising
from tutorlib.instruments.exploring.processes import Worker, explore

SECONDS, PROCESSES = 110, 15


def run(arguments: Sequence[str]) -> None:
    """Arguments: the module's; or, in a worker process, its folder, number and deadline."""
    if Path(arguments[0]).is_dir():
        folder, number, until = arguments
        Worker(Path(folder), int(number)).work(float(until))
        return
    if "--bands" in arguments:
        points = in_bands()
    else:
        points = [(shape, config) for shape in explored_shapes() for config in promising(shape)]
    given = [int(one) for one in arguments[1:] if one.isdigit()]
    seconds, processes = given + [SECONDS, PROCESSES][len(given) :]
    print(f"{len(points)} points, {len({config for _, config in points})} configurations")
    explore(points, Path(arguments[0]), seconds, processes)


if __name__ == "__main__":
    run(sys.argv[1:])
