"""Faults planted in others' kernels: one statement of the PTX changed at a time, and the launch simulated again.

What the simulator reports of one comes from the accesses alone, and then from a comparison of the output with the
kernel's own. Whether it shows at all is for a GPU to say (`gpu_runs`).
"""

import base64
import random
import re
import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures.process import BrokenProcessPool, ProcessPoolExecutor
from dataclasses import asdict, dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np

from tests.outside.runs import kept_in, simulated
from tests.outside.table import Case
from tutorlib.simulate.kept import KeptLaunch, Memory, replay
from tutorlib.simulate.ptx.findings import CannotLaunch, NotSimulated
from tutorlib.simulate.ptx.launch import Piece

EACH = 3  # mutants of a kernel with the same fault
Change = Callable[[re.Match[str]], str]


def removed(statement: re.Match[str]) -> str:
    return "\n" * statement[0].count("\n")


def next_element(statement: re.Match[str]) -> str:
    """The same access, one element further on."""
    kind, base, offset = statement["kind"], statement["base"], int(statement["offset"] or 0)
    bytes_ = max(int(re.sub(r"\D", "", kind.split(".")[-1])) // 8, 1) * int((re.findall(r"\.v(\d)", kind) or [1])[0])
    return statement[0].replace(statement["address"], f"[{base}+{offset + bytes_}]")


def other_phase(statement: re.Match[str]) -> str:
    parity, at = statement["parity"], statement.start("parity") - statement.start()
    if parity.isdigit():
        return statement[0][:at] + str(1 - int(parity)) + statement[0][at + 1 :]
    flip = f"xor.b32 {parity}, {parity}, 1; "
    return f"{flip}{statement[0]} {flip}"


INDEX = "an index off by one"
FAULTS: dict[str, tuple[str, Change]] = {
    "a barrier removed": (r"\b(?:bar\.sync|barrier(?:\.cta)?\.sync)\b[^;]*;", removed),
    "a wait removed": (r"\b(?:cp\.async(?:\.bulk)?\.wait_\w+|wgmma\.wait_group|tcgen05\.wait)\b[^;]*;", removed),
    "a commit removed": (r"\b(?:cp\.async\.commit_group|cp\.async\.bulk\.commit_group)\b[^;]*;", removed),
    "a fence removed": (r"\b(?:fence\.proxy\.async|wgmma\.fence)\b[^;]*;", removed),
    "an arrival removed": (r"\bmbarrier\.arrive\.[^;]*;", removed),
    "a phase flipped": (r"\bmbarrier\.try_wait\.parity\.[^;]*\]\s*,\s*(?P<parity>%\w+|[01])\b[^;]*;", other_phase),
    INDEX: (
        r"\b(?:ld|st)\.(?:shared|global)(?P<kind>[\w.:]*)\s[^;]*?(?P<address>\[(?P<base>%\w+)(?:\+(?P<offset>\d+))?\])[^;]*;",
        next_element,
    ),
}


@dataclass(frozen=True)
class Mutant:
    """What came of one.

    line: of the PTX. changed: whether the output differs. findings: with their lines; compared: the first element that
    differs.
    """

    fault: str
    line: int
    statement: str
    changed: bool
    findings: list[str]
    why: str = ""
    compared: str = ""


def planted_in(case: Case) -> list[dict[str, Any]]:
    """The mutants of the kernels that a case launches, as plain data."""
    with tempfile.TemporaryDirectory() as folder:
        simulated(case, Path(folder))
        kept = kept_in(Path(folder))
    return [asdict(mutant) for launch in kept for mutant in mutants_tried(launch)]


def mutants_tried(kept: KeptLaunch, each: int = EACH) -> Iterator[Mutant]:
    for fault, found, changed in mutants_of(kept.ptx, kept.kernel, each):
        line, statement = kept.ptx.count("\n", 0, found.start()) + 1, " ".join(found[0].split())
        try:
            with ProcessPoolExecutor(1, get_context("fork")) as process:  # which a fault may crash
                findings, compared = process.submit(tried, kept, changed).result()
        except (NotSimulated, CannotLaunch, BrokenProcessPool) as error:
            yield Mutant(fault, line, statement, False, [], str(error))
        else:
            yield Mutant(fault, line, statement, bool(compared), findings, compared=compared)


def tried(kept: KeptLaunch, ptx: str) -> tuple[list[str], str]:
    """What is found in the launch with this PTX, and how its memory differs afterwards."""
    report, pieces = replay(kept, ptx)
    pairs = sorted(
        zip(kept.memory, pieces, strict=True), key=lambda pair: pair[1].pointers
    )  # results before workspaces
    compared = next(filter(None, (first_difference(want, got) for want, got in pairs)), "")
    return [f"{finding.kind}: {finding}" for finding in report.findings], compared


def first_difference(want: Memory, got: Piece) -> str:
    """Where a tensor differs from what is wanted, and the line that stored it; "" if it does not."""
    different = got.bytes != np.frombuffer(base64.b64decode(want.after), np.uint8)
    if not different.any():
        return ""
    return f"element {int(different.argmax()) // want.width} of {got.name} differs"


def mutants_of(text: str, kernel: str, each: int) -> Iterator[tuple[str, re.Match[str], str]]:
    """The fault, where it is planted, and the text with it: of each fault some, the same ones every time."""
    start = text.index(f".entry {kernel}")
    end = text.find(".entry", start + 1) % (len(text) + 1)
    draw = random.Random(0)
    for fault, (pattern, change) in FAULTS.items():
        places = list(re.compile(pattern).finditer(text, start, end))
        for found in draw.sample(places, min(each, len(places))):
            changed = change(found)
            if changed != found[0]:
                yield fault, found, text[: found.start()] + changed + text[found.end() :]


def summed(mutants: list[dict[str, Any]]) -> dict[str, dict[str, int]]:
    """By fault: how many mutants, how many of these are reported without and with a comparison."""
    table: dict[str, dict[str, int]] = {}
    for one in mutants:
        row = table.setdefault(one["fault"], {"mutants": 0, "reported": 0, "compared": 0})
        row["mutants"] += 1
        row["reported"] += bool(one["findings"])
        row["compared"] += bool(one["findings"] or one["changed"])
    return table
