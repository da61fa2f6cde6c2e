"""cuTile's samples and TileGym's kernels of tests/cutile_samples: interpreted, and compiled for their opcodes."""

import sys
from collections.abc import Iterator
from functools import partial
from io import BytesIO
from types import ModuleType

from cuda.tile.compilation import CallingConvention, KernelSignature, export_kernel

from tests.cutile_samples import SAMPLES, SOURCES, assert_close
from tests.cutile_samples.table import Sample
from tests.outside.pretended_gpu import PretendedGPU
from tests.outside.table import Case, Source
from tutorlib.compiling.tile_ir import ptx_of
from tutorlib.simulate.cutile.signature import constraint, parameters

NAMES = {"NVIDIA/cutile-python": "cuTile's samples", "NVIDIA/TileGym": "TileGym"}
HERE = {s.repository: Source(NAMES[s.repository], s.repository, s.variable, "cuda-tile") for s in SOURCES}
TARGETS = ("sm_80", "sm_90a", "sm_100a")


def cases() -> Iterator[Case]:
    seen: set[tuple[str, str]] = set()
    for sample in SAMPLES:
        source = HERE[sample.source.repository]
        if not source.is_here:
            continue
        first = (sample.module, sample.name.partition("-")[0]) not in seen
        seen.add((sample.module, sample.name.partition("-")[0]))
        yield Case(source, sample.name, TARGETS[0], partial(run, sample, first), TARGETS[1:] if first else ())


def run(sample: Sample, compiles: bool, gpu: PretendedGPU) -> None:
    """Interpreted where the GPU simulates; compiled for its target, if that has what the kernel needs."""
    sys.modules.setdefault("cupy", ModuleType("cupy"))  # which only a sample's host code needs
    case = sample.case()
    major, minor = gpu.capability
    if gpu.simulates:
        report = case.interpret()
        gpu.findings += [str(finding) for finding in report.findings if finding.kind not in case.finds]
        gpu.launches += 1
        for place, want in case.want.items():
            assert_close(case.args[place], want, case.tolerance)
    if compiles and 10 * major + minor >= case.needs:
        constraints = [constraint(p, arg) for p, arg in zip(parameters(case.kernel), case.args, strict=True)]
        signature = KernelSignature(constraints, CallingConvention.cutile_python_v2())
        file = BytesIO()
        export_kernel(case.kernel, [signature], file, gpu_code=f"sm_{10 * major + minor}", output_format="cubin")
        gpu.parse(ptx_of(file.getvalue()))
