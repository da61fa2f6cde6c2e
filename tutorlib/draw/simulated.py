"""Pictures of what a simulated kernel's first block did: its warps over time, and its accesses to banks."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from tutorlib.draw.grid import CellGrid
from tutorlib.draw.palette import CATEGORIES, EMPTY, ramp
from tutorlib.models.banks import BANKS, WARP, WAVEFRONT, WORD
from tutorlib.simulate.ptx import Report
from tutorlib.simulate.ptx.access_log import NO_ACCESS
from tutorlib.simulate.ptx.trace import BlockTrace, Doing

LETTERS: dict[Doing, str] = {  # what stands in a cell of the picture over time
    "issue": "C",
    "commit": "c",
    "wait": "w",
    "barrier": "|",
    "read": "R",
    "write": "W",
    "math": "M",
    "load": "L",
    "store": "S",
}
WORDS: dict[Doing, str] = {
    "issue": "cp.async issued",
    "commit": "group committed",
    "wait": "wait for groups",
    "barrier": "barrier",
    "read": "shared memory read",
    "write": "shared memory written",
    "math": "arithmetic",
    "load": "global load",
    "store": "global store",
}
COLOURS = dict(zip(LETTERS, (*CATEGORIES, "#FFDDAA"), strict=True))
MOST_COLUMNS = 64


@dataclass(frozen=True)
class WarpStep:
    """Instructions of one kind that some warps ran one after another."""

    does: Doing
    warps: frozenset[int]
    count: int


def steps_of(trace: BlockTrace) -> list[WarpStep]:
    """What the block did, neighbouring instructions of a kind and of the same warps as one."""
    steps: list[WarpStep] = []
    for event in trace.events:
        warps = frozenset(event.warps)
        if steps and steps[-1].does == event.does and steps[-1].warps == warps:
            steps[-1] = WarpStep(event.does, warps, steps[-1].count + 1)
        else:
            steps.append(WarpStep(event.does, warps, 1))
    return steps


def timeline_of_warps(trace: BlockTrace) -> CellGrid:
    """A row for each warp, time from left to right; a cell is a run of instructions of one kind, with its length."""
    steps = steps_of(trace)
    shown = steps[:MOST_COLUMNS]
    labels = [["" for _ in shown] for _ in range(trace.warps)]
    colours: list[list[str | None]] = [[EMPTY for _ in shown] for _ in range(trace.warps)]
    for column, step in enumerate(shown):
        for warp in step.warps:
            labels[warp][column] = LETTERS[step.does] + (str(step.count) if step.count > 1 else "")
            colours[warp][column] = COLOURS[step.does]
    said = [f"{LETTERS[does]} {words}" for does, words in WORDS.items() if any(step.does == does for step in shown)]
    more = f"; the first {len(shown)} of {len(steps)} steps" if len(steps) > len(shown) else ""
    half = -(-len(said) // 2)
    legend = " · ".join(said[:half]) + ("\n" + " · ".join(said[half:]) if said[half:] else "")
    return CellGrid(
        f"what the warps of the first block did, in order{more}\n{legend}",
        labels,
        colours,
        [f"warp {n}" for n in range(trace.warps)],
        [str(n) if n % 8 == 0 else "" for n in range(len(shown))],
    )


def bank_accesses(report: Report) -> CellGrid | None:
    """A row for each line that reads or writes shared memory: how many different words an access of a warp wants from
    each bank, where that is worst; more than one is a conflict. None where no line does.
    """
    trace = report.trace
    assert trace is not None, "simulate with traced=True"
    rows: dict[str, np.ndarray] = {}
    for event in trace.events:
        if event.does in ("read", "write", "issue") and (event.addresses != NO_ACCESS).any():
            name, words = name_of_access(report, event.site), words_by_bank(event.addresses, event.width)
            rows[name] = max(rows.get(name, words), words, key=np.max)
    if not rows:
        return None
    most = max(int(row.max()) for row in rows.values())
    return CellGrid(
        "different words that the threads served together want from each bank: more than 1 is a conflict",
        [[str(int(n)) if n else "" for n in row] for row in rows.values()],
        [[ramp(int(n), 1, max(most, 4)) if n else EMPTY for n in row] for row in rows.values()],
        list(rows),
        [str(bank) if bank % 8 == 0 else "" for bank in range(BANKS)],
    )


def words_by_bank(addresses: np.ndarray, width: int) -> np.ndarray:
    """(32,): the different words of each bank, of those threads served together (`models.banks`) that want most."""
    together = min(WARP, WAVEFRONT // width)
    parts = [part for part in addresses.reshape(-1, together) if (part != NO_ACCESS).any()]
    return max((count_words(part[part != NO_ACCESS], width) for part in parts), key=np.max)


def count_words(starts: np.ndarray, width: int) -> np.ndarray:
    words = np.unique((starts[:, None] + np.arange(0, width, WORD)) // WORD)
    return np.bincount(words % BANKS, minlength=BANKS)


def name_of_access(report: Report, site: int) -> str:
    access = next(access for access in report.accesses if access.site == site and access.space == "shared")
    where = f"line {access.place.line}" if access.place else f"PTX {access.ptx_line}"
    return f"{where} {'.'.join(access.opcode.split('.')[:2])}"


def grids_of(reports: Sequence[Report]) -> list[CellGrid]:
    return [grid for report in reports if report.trace for grid in drawings(report, report.trace)]


def drawings(report: Report, trace: BlockTrace) -> Iterable[CellGrid]:
    yield timeline_of_warps(trace)
    if banks := bank_accesses(report):
        yield banks
