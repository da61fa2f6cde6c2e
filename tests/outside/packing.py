"""Packing the launches of others' kernels for a machine that has a GPU but not their sources."""

import re
import tempfile
from dataclasses import replace
from pathlib import Path

from tests.outside.runs import kept_in, simulated
from tests.outside.table import Case
from tutorlib.simulate.kept import ENDING, KeptLaunch, replay
from tutorlib.simulate.ptx.report import Report

TARGETS = ("sm_80", "sm_90a")  # what Hopper GPUs run
MOST = 2**22  # bytes of the memory that a launch reaches
ISSUED = ("ldmatrix", "mma.sync", "wgmma.mma_async", "st.global", "ld.global", "st.shared", "ld.shared")


def pack(case: Case, folder: Path) -> list[str]:
    """Writes a file for each kernel that the case launches. Returns their names."""
    names = []
    with tempfile.TemporaryDirectory() as of_the_case:
        simulated(case, Path(of_the_case))
        for number, kept in enumerate(kept_in(Path(of_the_case))):
            if sum(len(one.piece.bytes) for one in kept.memory) <= MOST:
                names.append(re.sub(r"\W+", "-", f"{case} {number}"))
                with_counts(kept, str(case)).write(folder / f"{names[-1]}{ENDING}")
    return names


def with_counts(kept: KeptLaunch, case: str) -> KeptLaunch:
    return replace(kept, label=case, counts=counts_of(replay(kept)[0]))


def counts_of(report: Report) -> dict[str, int]:
    """Wavefronts and sectors, and how often warps issued the instructions whose names begin so, and all of them."""
    issued = {name: sum(one.warps for one in report.issued if one.opcode.startswith(name)) for name in ISSUED}
    kinds = [("shared", op) for op in ("ld.", "st.", "ldmatrix", "cp.async")]
    kinds += [("global", op) for op in ("ld.", "st.", "cp.async")]
    costs = {f"{space} {op.rstrip('.')}": report.total(space, op)[0] for space, op in kinds}
    return costs | {f"issued {name}": times for name, times in issued.items()} | {"issued": report.instructions}
