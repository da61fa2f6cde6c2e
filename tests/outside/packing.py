"""Packing the launches of others' kernels for a machine that has a GPU but not their sources."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from tests.outside.packed import Memory, Packed
from tests.outside.pretended_gpu import Held, PretendedGPU
from tests.outside.runs import apart, run_on
from tests.outside.table import CAPABILITY, Case
from tutorlib.compiling.driver import LaunchConfig
from tutorlib.instruments.accesses import costs_of
from tutorlib.simulate.ptx.report import Report
from tutorlib.simulate.ptx.simulation import Launch

TARGETS = ("sm_80", "sm_90a")  # what Hopper GPUs run
MOST = 2**22  # bytes of the memory that a launch reaches
ISSUED = ("ldmatrix", "mma.sync", "wgmma.mma_async", "st.global", "ld.global", "st.shared", "ld.shared")


@dataclass
class PackingGPU(PretendedGPU):
    """A pretended GPU that keeps the first launch of each kernel."""

    case: str = ""
    packed: dict[str, Packed] = field(default_factory=dict)

    def simulated(self, launch: Launch) -> Report:
        held = self.reached_from(np.frombuffer(launch.parameters, np.uint8))
        before = [one.bytes.tobytes() for one in held]
        report = super().simulated(launch)
        if sum(map(len, before)) <= MOST:
            memory = tuple(memory_of(one, data) for one, data in zip(held, before, strict=True))
            kept = Packed(
                self.case, launch.kernel.name, self.texts[id(launch.module)], config_of(launch), launch.parameters,
                tuple(one.offset for one in launch.kernel.parameters), memory, counts_of(report),
            )  # fmt: skip
            self.packed.setdefault(launch.kernel.name, kept)
        return report


def memory_of(one: Held, before: bytes) -> Memory:
    floats, element = one.tensor.dtype.is_floating_point, one.tensor.element_size()
    return Memory(one.start, element, floats, one.may_hold_pointers, before, one.bytes.tobytes())


def config_of(launch: Launch) -> LaunchConfig:
    return LaunchConfig(launch.grid, launch.block, launch.dynamic_smem, launch.cluster)


def counts_of(report: Report) -> dict[str, int]:
    """Wavefronts and sectors, and how often warps issued the instructions whose names begin so, and all of them."""
    issued = {name: sum(one.warps for one in report.issued if one.opcode.startswith(name)) for name in ISSUED}
    costs = {name: taken for name, (taken, _) in costs_of(report).items()}
    return costs | {f"issued {name}": times for name, times in issued.items()} | {"issued": report.instructions}


def pack(case: Case, folder: Path) -> list[str]:
    """Writes a file for each kernel that the case launches. Returns their names."""

    def written() -> list[str]:
        gpu = PackingGPU(CAPABILITY[case.target], case=str(case))
        run_on(gpu, case, case.target)
        return [*files_of(gpu.packed.values(), folder)]

    return apart(written)


def files_of(packed: Iterator[Packed], folder: Path) -> Iterator[str]:
    for number, one in enumerate(packed):
        name = re.sub(r"\W+", "-", f"{one.case} {number}")
        one.write(folder / f"{name}.json.xz")
        yield name
