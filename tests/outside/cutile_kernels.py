"""cuTile's samples and TileGym's kernels of tests/cutile_samples."""

import sys
from collections.abc import Iterator
from types import ModuleType

import cuda.tile as ct
import torch

from tests.cutile_samples import SAMPLES, SOURCES, assert_close
from tests.outside.table import PYTHON, Case, Source

NAMES = {"NVIDIA/cutile-python": "cuTile's samples", "NVIDIA/TileGym": "TileGym"}
HERE = {s.repository: Source(NAMES[s.repository], s.repository, s.variable, "cuda-tile") for s in SOURCES}


def cases() -> Iterator[Case]:
    for sample in SAMPLES:
        source = HERE[sample.source.repository]
        if source.is_here:
            yield Case(source, sample.name, "sm_100a", (PYTHON, "-m", __name__, sample.name))


def run(name: str) -> None:
    sys.modules.setdefault("cupy", ModuleType("cupy"))  # which only a sample's host code needs
    case = next(sample for sample in SAMPLES if sample.name == name).case()
    ct.launch(torch.cuda.current_stream(), case.grid, case.kernel, tuple(case.args))
    for place, want in case.want.items():
        assert_close(case.args[place], want, case.tolerance)


if __name__ == "__main__":
    run(sys.argv[1])
