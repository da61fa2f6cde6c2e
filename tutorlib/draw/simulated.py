"""Pictures of a simulated kernel's first block: its warps and shared memory over time, and its bank accesses."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any

import numpy as np

from tutorlib.draw.grid import CellGrid, Picture, figure
from tutorlib.draw.palette import CATEGORIES, EMPTY, RAMP, category, ramp
from tutorlib.simulate.ptx import Report
from tutorlib.simulate.ptx.geometry import WARP
from tutorlib.simulate.ptx.ir import Instruction, Kernel
from tutorlib.simulate.ptx.meetings import Running
from tutorlib.simulate.ptx.memory import Access, AsyncCopies, Listener
from tutorlib.simulate.ptx.report import BANKS, NO_ACCESS, WAVEFRONT, WORD, wavefronts_of_warps

BLUE, YELLOW, ORANGE, SKY, GREEN, PINK, TEAL, GRAY = CATEGORIES
KINDS = {  # the letter of a warp's cell, its meaning, its color; the opcodes that it stands for
    "load": ("L", "load", GRAY, r"ld\..*\bglobal"),
    "issue": ("C", "cp.async", BLUE, r"cp\.async\.c[ag]"),
    "commit": ("c", "commit", YELLOW, r"cp\.async\.commit_group"),
    "wait": ("w", "wait for groups", ORANGE, r"(cp\.async|wgmma)\.wait_"),
    "write": ("W", "write shared memory", PINK, r"st\..*\bshared|stmatrix"),
    "barrier": ("|", "barrier", SKY, r"bar(rier)?\."),
    "read": ("R", "read shared memory", GREEN, r"ld\..*\bshared|ldmatrix"),
    "math": ("M", "arithmetic", TEAL, r"fma|mma|wmma\.mma|wgmma\.mma"),
    "store": ("S", "store", "#FFDDAA", r"(st|red|atom)\..*\bglobal|cp\.async\.bulk\.tensor\.2d\.global"),
    "bulk load": ("T", "TMA load", BLUE, r"cp\.async\.bulk\.tensor\.2d\.shared"),
    "phase": ("p", "wait for an mbarrier's phase", ORANGE, r"mbarrier\.try_wait"),
    "arrive": ("a", "arrive at an mbarrier", YELLOW, r"mbarrier\.arrive"),
}
IN_FLIGHT, ARRIVED = "#F1F3F5", RAMP[0]  # of a buffer: a copy into it is in flight; it has landed
CELL = 20  # pixels
KEYS = 6  # letters explained in a line of the title
STEPS_OF_BAND, BANDS = 64, 3  # steps in a row of the timeline, and the most such rows
MOST_ACCESSES, MOST_LINES = 3, 32  # drawn bank by bank
PIECE = 16  # bytes: shared memory is followed in pieces of the widest copy


# time -----------------------------------------------------------------------------------------------------------

MOST_EVENTS = 2**14  # far more than a picture shows


@dataclass(frozen=True)
class BlockEvent:
    """An instruction as some warps ran it together.

    warps: their numbers. open_groups: of a wait, how many groups may stay open.
    addresses: in shared memory, (threads of the block,), NO_ACCESS for threads that took no part; () where there are
        none. width: bytes of each.
    """

    site: int
    does: str
    warps: frozenset[int]
    addresses: np.ndarray
    width: int
    open_groups: int = 0


@cache
def doing(opcode: str) -> str:
    """The kind of an opcode; "" for those that no picture shows."""
    return next((kind for kind, (*_, opcodes) in KINDS.items() if re.match(opcodes, opcode)), "")


@dataclass
class WarpStep:
    """Instructions of one kind that some warps ran one after another.

    reads: the numbers of the contents of shared memory (`Contents`) that they read.
    """

    does: str
    warps: frozenset[int]
    reads: set[int] = field(default_factory=set)


@dataclass
class Contents:
    """The data that one group of copies, or the plain writes up to a barrier or a read, put into shared memory.

    first: the lowest byte. begun, arrived: the steps at which the copy is issued and has landed; replaced: the step
    at which other contents begin to overwrite it. None: not in this trace.
    """

    first: int
    begun: int
    arrived: int | None = None
    replaced: int | None = None


class Story(Listener):
    """The first block of a launch as steps, with the contents of its shared memory at each: `with listening(Story)`.

    Copies become contents when they are issued, and count as arrived when a wait covers the group that they are
    committed to. Groups are counted for all warps that commit together. TMA's are contents for each phase of an
    mbarrier, and are read from a wgmma's issue until its warps wait for it. events: the first MOST_EVENTS.
    """

    follows = True

    def __init__(self, running: Running, copies: AsyncCopies, piece: int, pieces: int) -> None:
        super().__init__(running, copies, piece, pieces)
        self.events: list[BlockEvent] = []
        self.steps: list[WarpStep] = []
        self.contents: list[Contents] = []
        self.owner = np.full(copies.shared.size // PIECE + 1, -1)  # of each piece, the number of its contents
        self.issuing: int | None = None  # the contents that copies are being issued into
        self.writing: int | None = None
        self.groups: list[int | None] = []  # committed and not yet waited for; None is an empty one
        self.loading: list[tuple[tuple[int, int], np.ndarray]] = []  # by TMA: mbarrier and phase, pieces
        self.by_phase: dict[tuple[int, int], int] = {}  # mbarrier and phase → contents
        self.stored: list[np.ndarray] = []  # pieces that the instruction lets TMA read
        self.products: dict[frozenset[int], dict[int, set[int]]] = {}  # warps → the step of each group → what it reads

    def on_bulk_load(self, slot: int, mbarrier: int, phase: int, starts: np.ndarray) -> None:
        if not slot and not self.geometry.first:
            self.loading.append(((mbarrier, phase), np.unique(starts // PIECE)))

    def on_bulk_arrival(self, slot: int, mbarrier: int, phase: int) -> None:
        if not self.geometry.first and not slot and (number := self.by_phase.get((mbarrier, phase))) is not None:
            self.contents[number].arrived = len(self.steps)

    def on_proxy_read(self, access: Access) -> None:
        pieces = np.unique(access.starts[access.slots == 0] // PIECE)
        if self.geometry.first or not len(pieces):
            return
        if access.agent != "wgmma":
            self.stored.append(pieces)
        elif self.steps:  # a wgmma reads when all warps of its warpgroup have come, after its event
            groups = self.products.setdefault(self.steps[-1].warps, {})
            groups.setdefault(len(self.steps), set()).update(self.held(pieces))
            self.steps[-1].reads |= self.held(pieces)

    def held(self, pieces: np.ndarray) -> set[int]:
        """The numbers of the contents of these pieces."""
        return {int(n) for n in self.owner[pieces]} - {-1}

    def on_instruction(
        self, site: int, instruction: Instruction, lanes: np.ndarray, latest: dict[Any, tuple[np.ndarray, int]]
    ) -> None:
        addresses, width = latest.pop("shared", (np.empty(0, np.int64), 0))
        does, first = doing(instruction.opcode), lanes[: self.geometry.of_block]
        if not does or self.geometry.first or not first.any() or len(self.events) == MOST_EVENTS:
            return
        if len(addresses):
            addresses = np.where(first, addresses[: len(first)], NO_ACCESS)
        still_open = getattr(instruction.operands[0], "text", "0") if does == "wait" and instruction.operands else "0"
        warps = frozenset(np.flatnonzero(first.reshape(-1, WARP).any(1)).tolist())
        self.events.append(BlockEvent(site, does, warps, addresses, width, int(still_open, 0)))
        self.tell(self.events[-1])

    def result(self, kernel: Kernel, runs: Sequence[int]) -> "Story":
        return self

    def tell(self, event: BlockEvent) -> None:
        step = self.step_of(event)
        pieces = np.unique(event.addresses[event.addresses != NO_ACCESS] // PIECE)
        if event.does in ("read", "barrier"):
            self.writing = None
        match event.does:
            case "store":
                step.reads |= self.held(np.concatenate([*self.stored, pieces]))
                self.stored.clear()
            case "bulk load":
                for key, loaded in self.loading:
                    self.by_phase[key] = self.fill(self.by_phase.get(key), loaded)
                self.loading.clear()
            case "issue" if len(pieces):
                self.issuing = self.fill(self.issuing, pieces)
            case "write" if len(pieces):
                self.writing = self.fill(self.writing, pieces)
                self.contents[self.writing].arrived = self.contents[self.writing].begun
            case "commit":
                self.groups.append(self.issuing)
                self.issuing = None
            case "wait":
                done = max(len(self.groups) - event.open_groups, 0)
                for number in self.groups[:done]:
                    if number is not None and self.contents[number].arrived is None:
                        self.contents[number].arrived = len(self.steps) - 1
                self.groups = self.groups[done:]
                for groups in (groups for warps, groups in self.products.items() if warps & event.warps):
                    for number in list(groups)[: max(len(groups) - event.open_groups, 0)]:
                        del groups[number]
            case "read":
                step.reads |= self.held(pieces)

    def step_of(self, event: BlockEvent) -> WarpStep:
        """The step that the event belongs to: neighbors of a kind, of the same warps, are one."""
        if not self.steps or (self.steps[-1].does, self.steps[-1].warps) != (event.does, event.warps):
            read = {n for groups in self.products.values() for group in groups.values() for n in group}
            self.steps.append(WarpStep(event.does, event.warps, read))
        return self.steps[-1]

    def fill(self, number: int | None, pieces: np.ndarray) -> int:
        """Pieces of shared memory get contents, new ones where there is no number."""
        now = len(self.steps) - 1
        if number is None:
            number = len(self.contents)
            self.contents.append(Contents(int(pieces[0]) * PIECE, now))
        for old in set(self.owner[pieces].tolist()) - {-1, number}:
            if self.contents[old].replaced is None:
                self.contents[old].replaced = now
        self.owner[pieces] = number
        self.contents[number].first = min(self.contents[number].first, int(pieces[0]) * PIECE)
        return number

    @property
    def buffers(self) -> dict[int, list[int]]:
        """First byte → the contents that it held, one after the other."""
        found: dict[int, list[int]] = {}
        for number, contents in enumerate(self.contents):
            found.setdefault(contents.first, []).append(number)
        return dict(sorted(found.items()))


def timelines_of(story: Story) -> list[CellGrid]:
    """Steps from left to right, in bands below each other: warps that do the same in a row, then a row for each buffer.

    Of a long trace the first bands, and the last: the one in which the block ends.
    """
    total = len(story.steps)
    starts = list(range(0, total, STEPS_OF_BAND)) or [0]
    if len(starts) > BANDS:
        starts = [*starts[: BANDS - 1], total - STEPS_OF_BAND]
    together = alike(story.steps, story.geometry.warps)
    return [band(story, together, range(at, min(at + STEPS_OF_BAND, total))) for at in starts]


def band(story: Story, together: list[list[int]], steps: range) -> CellGrid:
    """These steps of a block. together: the warps that share a row."""
    shown = [story.steps[n] for n in steps]
    rows: list[CellRow] = [
        [KINDS[step.does][:3:2] if step.warps & set(warps) else ("", EMPTY) for step in shown] for warps in together
    ]
    names = [span_of(warps) for warps in together]
    for number, contents in enumerate(story.buffers.values()):
        row = buffer_row(story, contents, steps)
        if any(color != EMPTY for _, color in row):
            rows.append(row)
            names.append(f"buffer {number}")
    span = f"steps {steps.start} to {steps.stop - 1}" if len(steps) > 1 else f"step {steps.start}"
    title = [f"{span} ({len(story.steps)} in all)"]
    if steps.start == 0:
        title = ["the first block, step by step", *key_of(story.steps)]
        if any(step.does in ("issue", "bulk load") for step in story.steps):
            title.append(
                "buffers of shared memory: gray: a copy is in flight · pale: it has landed · colored: being read"
            )
        elif story.contents:
            title.append("buffers of shared memory: pale: written · colored: being read")
    return CellGrid(
        "\n".join(title),
        [[label for label, _ in row] for row in rows],
        [[color for _, color in row] for row in rows],
        names,
        [str(n) if n % 8 == 0 else "" for n in steps],
        {len(together): 2.0} if len(rows) > len(together) else {},
    )


CellRow = list[tuple[str, str]]  # label and color of each cell


def alike(steps: Sequence[WarpStep], warps: int) -> list[list[int]]:
    """The warps, those together that take part in the same steps."""
    found: dict[tuple[bool, ...], list[int]] = {}
    for warp in range(warps):
        found.setdefault(tuple(warp in step.warps for step in steps), []).append(warp)
    return list(found.values())


def span_of(warps: Sequence[int]) -> str:
    """ "warp 3", "warps 0-3", "warps 0, 2"."""
    if len(warps) == 1:
        return f"warp {warps[0]}"
    if warps[-1] - warps[0] == len(warps) - 1:
        return f"warps {warps[0]}-{warps[-1]}"
    return f"warps {', '.join(map(str, warps[:3]))}{' …' if len(warps) > 3 else ''}"


def buffer_row(story: Story, numbers: Sequence[int], steps: range) -> CellRow:
    """A buffer in each of these steps. A number counts the block's copies into shared memory."""
    row: CellRow = [("", EMPTY)] * len(steps)
    for number in numbers:
        contents = story.contents[number]
        for n in range(max(contents.begun, steps.start), min(contents.replaced or steps.stop, steps.stop)):
            if number in story.steps[n].reads:
                cell = str(number), category(number)
            elif contents.arrived is not None and n >= contents.arrived:
                cell = "", ARRIVED
            else:
                cell = str(number) if n == contents.begun else "·", IN_FLIGHT
            row[n - steps.start] = cell
    return row


def key_of(steps: Sequence[WarpStep]) -> list[str]:
    """The meanings of the letters, in lines that are not too long."""
    used = {step.does for step in steps}
    said = [f"{letter} {words}" for does, (letter, words, *_) in KINDS.items() if does in used]
    return [" · ".join(said[n : n + KEYS]) for n in range(0, len(said), KEYS)]


# banks ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class WarpAccess:
    """One access of one warp to shared memory. addresses: (32,) in bytes, NO_ACCESS where a thread takes no part.

    where: its line. opcode: without types.
    """

    where: str
    opcode: str
    warp: int
    addresses: np.ndarray
    width: int

    @property
    def parts(self) -> list[np.ndarray]:
        """The threads that are served together (`models.memory`), by number."""
        together = min(WARP, WAVEFRONT // self.width)
        taking = np.flatnonzero(self.addresses != NO_ACCESS)
        return [part for n in range(0, WARP, together) if len(part := taking[taking // together == n // together])]

    def words(self, threads: np.ndarray) -> np.ndarray:
        """(threads, words of each)."""
        return (self.addresses[threads, None] + np.arange(0, self.width, WORD)) // WORD

    @property
    def wavefronts(self) -> int:
        return int(wavefronts_of_warps(self.addresses[None], self.width)[0][0])

    @property
    def wasted(self) -> int:
        return self.wavefronts - len(self.parts)


def worst_accesses(report: Report) -> list[WarpAccess]:
    """The first block's most expensive access of each line that uses shared memory, the most wasteful first."""
    sites = {access.site: access for access in report.accesses if access.space == "shared"}
    worst: dict[tuple[str, str], WarpAccess] = {}
    seen: set[tuple[tuple[str, str], bytes]] = set()
    for event in report.heard.events:
        if event.site not in sites or not len(event.addresses):
            continue
        at = sites[event.site]
        name = f"line {at.place.line}" if at.place else f"line {at.ptx_line} of the PTX", at.name
        for warp, addresses in enumerate(event.addresses.reshape(-1, WARP)):
            # accesses whose banks differ by a rotation alone cost the same
            key = name, np.where(addresses == NO_ACCESS, -1, addresses - addresses.max()).tobytes()
            if (addresses == NO_ACCESS).all() or key in seen:
                continue
            seen.add(key)
            access = WarpAccess(*name, warp, addresses, event.width)
            if name not in worst or access.wavefronts > worst[name].wavefronts:
                worst[name] = access
    return sorted(worst.values(), key=lambda access: -access.wasted)


def telling(accesses: Sequence[WarpAccess]) -> list[WarpAccess]:
    """Those that waste something; where none does, one of each opcode."""
    wasteful = [access for access in accesses if access.wasted]
    others = {access.opcode: access for access in reversed(accesses)}
    return wasteful[:MOST_ACCESSES] or list(others.values())[::-1][:MOST_ACCESSES]


def bank_grid_of(access: WarpAccess) -> CellGrid:
    """Which thread needs which word: a column for each bank, a row for each 128 bytes, a shade for each wavefront."""
    label: dict[tuple[int, int], str] = {}
    wavefront: dict[tuple[int, int], int] = {}
    before = 0
    for part in access.parts:
        words = access.words(part)
        queued = [0] * BANKS  # words of each bank that earlier wavefronts of this part serve
        for word in np.unique(words):
            at = int(word) // BANKS, int(word) % BANKS
            wavefront.setdefault(at, before + queued[at[1]])
            queued[at[1]] += 1
        before += max(queued)
        for thread, wanted in zip(part, words, strict=True):
            for word in wanted:
                at = int(word) // BANKS, int(word) % BANKS
                label[at] = f"{label[at]}+".replace("++", "+") if at in label else str(thread)
    lines = sorted({line for line, _ in label})
    shown = lines[:MOST_LINES]
    needed = len(access.parts)
    cost = f"{access.wavefronts} wavefront{'s' if access.wavefronts > 1 else ''}"
    title = f"{access.where}, {access.opcode}: an access of warp {access.warp} takes {cost}" + (
        f", {needed} would do" if access.wasted else ", the least possible"
    )
    shades = "; a shade is a wavefront, the first the palest" if access.wavefronts > 1 else ""
    hidden = f" (the first {len(shown)} of {len(lines)})" if len(lines) > len(shown) else ""
    return CellGrid(
        f"{title}\nthreads by bank (columns) and 128 bytes of shared memory (rows{hidden}){shades}",
        [[label.get((line, bank), "") for bank in range(BANKS)] for line in shown],
        [
            [
                ramp(wavefront[at], 0, before - 1) if (at := (line, bank)) in wavefront else EMPTY
                for bank in range(BANKS)
            ]
            for line in shown
        ],
        [f"byte {line * WAVEFRONT:,}" for line in shown],
        [str(bank) if bank % 4 == 0 else "" for bank in range(BANKS)],
    )


def picture_of(reports: Sequence[Report], banks: bool = True) -> Picture | None:
    """For each launch its first block's time, then the banks of the accesses that waste most; None without a launch."""
    grids = [grid for report in reports for grid in drawings(report, banks)]
    widest = max((len(name) for grid in grids for name in grid.down), default=0)
    aligned = [replace(grid, down=[name.rjust(widest) for name in grid.down]) for grid in grids]
    return figure(aligned, stacked=True, largest=CELL) if grids else None


def drawings(report: Report, banks: bool) -> Iterator[CellGrid]:
    """report: of a launch to which a `Story` listened."""
    yield from timelines_of(report.heard)
    yield from map(bank_grid_of, telling(worst_accesses(report)) if banks else ())
