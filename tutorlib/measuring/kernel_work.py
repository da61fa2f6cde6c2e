"""Counts of a launch on which no finding depends: repeated work, idle threads, and work that overlaps copies in flight.

`Report` defines each.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tutorlib.simulate.ptx.flow import read, written
from tutorlib.simulate.ptx.ir import Kernel
from tutorlib.simulate.ptx.meetings import Running
from tutorlib.simulate.ptx.memory import Access, AsyncCopies, Touched

BITS = 64


class KernelWork:
    """A listener (`simulate.ptx.memory.listening`).

    reads: pieces of shared memory that warps have read; reread: those of them that the same warp had read since they
    were written. while_copying: threads' reads since the first copy was issued; overlapped: those of them while a
    cp.async was in flight, or a bulk copy that the reader has not waited for. most_at_read: the most bytes of cp.async
    in flight during a read. bulk_phases: of each mbarrier, the latest that bulk copies fill.
    busy: (blocks, warps), which warps have loaded from global memory or stored to it.
    loaders: for each piece of it, a bit for each block that has loaded it, of up to BITS blocks. loads: pieces loaded;
    reloaded, restored: how many a block has loaded or stored again.
    """

    def __init__(self, running: Running, copies: AsyncCopies, piece: int, pieces: int) -> None:
        geometry, clocks = running.geometry, running.clocks
        self.geometry, self.clocks, self.copies, self.piece = geometry, clocks, copies, piece
        self.bulk_phases = np.zeros((geometry.batch, clocks.agents.mbarriers), np.int32)
        self.loaders = np.zeros(pieces if geometry.blocks <= BITS else 0, np.uint64)
        self.busy = np.zeros((geometry.blocks, geometry.warps), bool)
        self.bulk = False  # whether there was a bulk copy
        self.reads = self.reread = self.while_copying = self.overlapped = self.most_at_read = 0
        self.loads = self.reloaded = self.restored = 0

    def restart(self) -> None:
        """Another batch of blocks begins."""
        self.bulk_phases.fill(0)

    def on_bulk_load(self, slot: int, mbarrier: int, phase: int) -> None:
        """Bytes for a block's shared memory, which this phase of an mbarrier counts."""
        self.bulk = True
        self.bulk_phases[slot, mbarrier] = max(phase, self.bulk_phases[slot, mbarrier])

    def on_shared_read(self, access: Access, again: np.ndarray) -> None:
        """again: of each piece, whether the same warp has read it since it was written."""
        self.reads += len(again)
        self.reread += int(np.count_nonzero(again))
        if self.copies.bytes or self.bulk:
            self.while_copying += len(access.lanes)
            self.overlapped += len(access.lanes) if self.copies.bytes_in_flight else self.beside_bulk(access)
            self.most_at_read = max(self.most_at_read, self.copies.bytes_in_flight)

    def beside_bulk(self, access: Access) -> int:
        """How many of these reads are by a thread that has not waited for all bulk copies into its block."""
        if not self.bulk_phases.any():
            return 0
        first = self.clocks.base[access.slots] + self.clocks.agents.readers
        known = self.clocks.over(access.lanes[:, None], first[:, None] + np.arange(self.bulk_phases.shape[1]))
        return int((self.bulk_phases[access.slots] > known).any(1).sum())

    def on_load(self, touched: Touched, owners: np.ndarray) -> None:
        """owners: the number + 1 of each piece's block that accesses it."""
        self.busy[owners - 1, touched.warps % self.geometry.warps] = True
        if self.loaders.size:
            bits = np.uint64(1) << (owners - 1).astype(np.uint64)
            self.loads += len(touched.pieces)
            self.reloaded += int((self.loaders[touched.pieces] & bits != 0).sum())
            np.bitwise_or.at(self.loaders, touched.pieces, bits)

    def on_store(self, touched: Touched, owners: np.ndarray, again: np.ndarray) -> None:
        """again: of each piece, whether the same block stored it last."""
        self.busy[owners - 1, touched.warps % self.geometry.warps] = True
        self.restored += int(np.count_nonzero(again))

    def fields(self, kernel: Kernel, runs: Sequence[int], registers: Mapping[str, np.ndarray]) -> dict[str, Any]:
        """Of the report. runs: by how many warps each instruction was issued. registers: by name, after the launch."""
        meetings = sum(times for op, times in zip(kernel.instructions, runs, strict=True) if op.parts[0] == "bar")
        tile = self.copies.bytes * self.geometry.warps / max(meetings, 1)  # from one barrier of a block to the next
        return {
            "busy": int(self.busy.sum()),
            "reloaded": self.reloaded / max(self.loads, 1),
            "restored": self.restored * self.piece,
            "reread": self.reread / max(self.reads, 1),
            "overlap": self.overlapped / max(self.while_copying, 1),
            "ahead": self.most_at_read / min(self.geometry.batch, self.geometry.blocks) / max(tile, 1),
            "same": computed_twice(fp32_results(kernel, registers)),
        }


LANES = 64  # of the blocks that ran last, whose fp32 numbers are compared
NEAR = 1e-5  # of a number and of the spread over lanes: the same formula, rounded at other places
ARITHMETIC = frozenset({"add", "sub", "mul", "fma", "div", "rcp", "sqrt", "rsqrt", "ex2", "lg2", "tanh"})


@dataclass(frozen=True)
class Fp32Result:
    """site: the instruction's number. register: of its result. read: the registers that it reads. numbers: (LANES,)"""

    site: int
    register: str
    read: frozenset[str]
    numbers: np.ndarray


def fp32_results(kernel: Kernel, registers: Mapping[str, np.ndarray]) -> tuple[Fp32Result, ...]:
    """registers: by name, as they are after the launch."""
    return tuple(
        Fp32Result(site, register, frozenset(read(op)), registers[register][:LANES].view(np.float32).copy())
        for site, op in enumerate(kernel.instructions)
        if op.parts[0] in ARITHMETIC and op.parts[-1] == "f32"
        for register in written(op)
    )


def computed_twice(results: Sequence[Fp32Result]) -> tuple[int, ...]:
    """The sites of two instructions whose results are the same in every lane, or ().

    A result that corrects the other one, such as the second step of a range reduction, is not the same computation.
    """
    numbers = np.array([result.numbers for result in results], np.float64)
    for n, (result, mine) in enumerate(zip(results, numbers, strict=True)):
        finite = mine[np.isfinite(mine)]
        spread = float(np.std(finite)) if finite.size else 0.0
        if not spread:
            continue
        with np.errstate(invalid="ignore"):
            allowed = NEAR * np.minimum(np.maximum(abs(numbers[n + 1 :]), abs(mine)), spread)
            same = (numbers[n + 1 :] == mine) | (abs(numbers[n + 1 :] - mine) <= allowed)
        for other in np.array(results[n + 1 :], object)[same.all(1)]:
            if other.register != result.register and result.register not in other.read:
                return result.site, other.site
    return ()
