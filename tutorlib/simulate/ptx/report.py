"""The results of a simulated launch, with the cost of each instruction's accesses to memory.

Shared memory has 32 banks of 4 bytes. A wavefront serves each bank once, and threads that want the same word share it.
Threads that move 8 or 16 bytes each are served by halves and quarters of the warp; so are ldmatrix's rows, whose
addresses come from eight lanes for each matrix. Of global memory aligned sectors of 32 bytes come whole or not.

Addresses are kept as they come and counted many at a time: (accesses, 32) in bytes, negative for lanes that take no
part; multiples of `width`, the bytes of each.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from tutorlib.simulate.ptx.findings import Finding, SourceLine
from tutorlib.simulate.ptx.geometry import WARP
from tutorlib.simulate.ptx.ir import Operand

BANKS, WORD = 32, 4  # of shared memory, on every GPU since compute capability 5.0; bytes in a bank's word
WAVEFRONT = BANKS * WORD  # bytes that one wavefront can deliver
OUT = np.int64(2**40)  # the word of a lane that takes no part; above all others
SECTOR = 32  # bytes
LINE = 128  # bytes of a cache line, four sectors


def wavefronts_of_warps(addresses: np.ndarray, width: int) -> tuple[np.ndarray, np.ndarray]:
    """Wavefronts that each access takes, and how many it would take without a conflict."""
    together = min(WARP, WAVEFRONT // width)
    parts = addresses.reshape(-1, together)  # (accesses · parts, lanes)
    steps = np.arange(0, width, WORD)
    words = (parts[:, :, None] + steps) // WORD
    words = np.where(parts[:, :, None] < 0, OUT, words).reshape(len(parts), -1)
    ways = most_in_a_bank(words)
    served = (parts >= 0).any(1)
    count = len(addresses)
    return ways.reshape(count, -1).sum(1), served.reshape(count, -1).sum(1)


def most_in_a_bank(words: np.ndarray) -> np.ndarray:
    """For each row of words: the most different ones that lie in one bank."""
    words = np.sort(words, axis=1)
    different = np.ones(words.shape, bool)
    different[:, 1:] = words[:, 1:] != words[:, :-1]
    different &= words < OUT
    place = np.arange(len(words))[:, None] * BANKS + words % BANKS
    counts = np.bincount(place[different], minlength=len(words) * BANKS)
    return counts.reshape(-1, BANKS).max(1)


def sectors(addresses: np.ndarray, width: int) -> tuple[np.ndarray, np.ndarray]:
    """Sectors that each access moves, and the fewest that could hold as many different bytes."""
    moved = different(addresses // SECTOR, addresses >= 0)
    asked = different(addresses, addresses >= 0) * width
    return moved, -(-asked // SECTOR)


def lines(addresses: np.ndarray) -> np.ndarray:
    """Cache lines that each access touches."""
    return different(addresses // LINE, addresses >= 0)


def different(numbers: np.ndarray, counted: np.ndarray) -> np.ndarray:
    """How many different numbers each row has among those that count."""
    ordered = np.sort(np.where(counted, numbers, -1), axis=1)
    steps = (ordered[:, 1:] != ordered[:, :-1]) & (ordered[:, 1:] >= 0)
    return steps.sum(1) + (ordered[:, 0] >= 0)


Space = Literal["shared", "global"]
AT_ONCE = 2**13  # warps' addresses that are kept before they are counted

NO_ACCESS = np.int64(-1)


@dataclass
class AccessLog:
    """The accesses so far.

    tallies: by instruction and space, what `MemoryAccess` has: warps, taken, needed, lines.
    kept: (warps, 32) addresses, NO_ACCESS for lanes that take no part.
    latest: by space, the addresses and the width of the last access, for a listener.
    """

    tallies: dict[tuple[int, Space], np.ndarray] = field(default_factory=dict)
    kept: dict[tuple[int, Space, int], list[np.ndarray]] = field(default_factory=dict)
    waiting: int = 0
    latest: dict[Space, tuple[np.ndarray, int]] = field(default_factory=dict)

    def note(self, site: int, space: Space, width: int, addresses: np.ndarray) -> None:
        """addresses: (lanes,), in bytes. width: bytes of each access."""
        rows = addresses.reshape(-1, WARP)
        self.latest[space] = addresses, width
        self.kept.setdefault((site, space, width), []).append(rows)
        self.waiting += len(rows)
        if self.waiting > AT_ONCE:
            self.count()

    def count(self) -> None:
        for (site, space, width), rows in self.kept.items():
            addresses = np.concatenate(rows)
            addresses = addresses[(addresses != NO_ACCESS).any(1)]
            tally = self.tallies.setdefault((site, space), np.zeros(4, np.int64))
            if len(addresses):
                taken, needed = COST[space](addresses, width)
                touched = lines(addresses).sum() if space == "global" else 0
                tally += len(addresses), taken.sum(), needed.sum(), touched
        self.kept.clear()
        self.waiting = 0

    def __iter__(self) -> Iterator[tuple[int, Space, list[int]]]:
        """Each instruction, its space, and its tally, in the order of the program."""
        self.count()
        return ((site, space, tally.tolist()) for (site, space), tally in sorted(self.tallies.items()))


COST = {"shared": wavefronts_of_warps, "global": sectors}


@dataclass(frozen=True)
class MemoryAccess:
    """The cost of one instruction's accesses to one space, over the whole launch.

    site: the instruction's number.
    space: "shared", where `taken` and `needed` are wavefronts, or "global", where they are sectors of 32 bytes.
    warps: how often a warp ran it. lines: of 128 bytes, that it touched in global memory.
    """

    site: int
    opcode: str
    space: str
    place: SourceLine | None
    ptx_line: int
    warps: int
    taken: int
    needed: int
    lines: int = 0

    @property
    def name(self) -> str:
        """The opcode without its types: "ld.shared", "cp.async", "ldmatrix"."""
        parts = self.opcode.split(".")
        return ".".join(parts[: 1 if parts[0] in ("ldmatrix", "stmatrix") else 2])

    @property
    def wasted(self) -> int:
        return self.taken - self.needed


@dataclass(frozen=True)
class Issued:
    """One instruction of the program, and how often a warp issued it over the whole launch.

    ptx_line: in the PTX. operands: as the program has them.
    """

    opcode: str
    place: SourceLine | None
    warps: int
    ptx_line: int = 0
    operands: tuple[Operand, ...] = field(default=(), repr=False)

    def __str__(self) -> str:
        return str(self.place or f"line {self.ptx_line} of the PTX")


@dataclass(frozen=True)
class Report:
    """findings: in the order in which they were seen. accesses: in the order of the program.

    repeats: what several blocks store alike, which is work done twice. zeros: what TMA loads of nothing but zeros.
    issued: every instruction of the program, in its order. printed: what the kernel printed, line by line.
    storers: tensor → for each element, in memory's order, the number of the block that stored it last, -1 for none.
    heard: the result of the launch's listener (`memory.Listener`).
    kernel: its name. launched_at: the line of the script that launched it; test: the pytest test that did. stopped: why
        the launch was not simulated.
    """

    findings: tuple[Finding, ...]
    accesses: tuple[MemoryAccess, ...]
    blocks: int
    issued: tuple[Issued, ...] = field(repr=False)
    repeats: tuple[Finding, ...] = field(default=(), repr=False)
    zeros: tuple[Finding, ...] = field(default=(), repr=False)
    printed: tuple[str, ...] = field(default=(), repr=False)
    storers: Mapping[str, np.ndarray] = field(default_factory=dict, repr=False)
    heard: Any = field(default=None, repr=False)
    kernel: str = ""
    launched_at: SourceLine | None = None
    test: str = ""
    stopped: str = ""

    @property
    def instructions(self) -> int:
        """How many the warps issued."""
        return sum(one.warps for one in self.issued)

    @property
    def warps(self) -> int:
        """How many were launched: each issues the first instruction once."""
        return self.issued[0].warps if self.issued else 0

    def total(self, space: str, opcode: str = "") -> tuple[int, int]:
        """Taken and needed, over the accesses to a space by opcodes that begin so."""
        found = [a for a in self.accesses if a.space == space and a.opcode.startswith(opcode)]
        return sum(a.taken for a in found), sum(a.needed for a in found)
