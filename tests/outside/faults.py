"""Faults planted in others' kernels: one statement of the PTX changed at a time, and the launch simulated again.

A mutant shows if its output differs from the kernel's own, bit by bit, or if the simulator reports something of it.
What it reports comes from the accesses alone, and then from a comparison of the output with the kernel's own.
"""

import random
import re
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np
import torch

from tests.outside.pretended_gpu import Held, PretendedGPU
from tests.outside.runs import apart, run_on
from tests.outside.table import CAPABILITY, Case
from tutorlib.simulate.ptx.errors import CannotLaunch, NotSimulated
from tutorlib.simulate.ptx.parse import parse_ptx
from tutorlib.simulate.ptx.report import Report
from tutorlib.simulate.ptx.simulation import Launch

SECONDS = 1200  # of all mutants of a case
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
    differs, and the line that stored it last.
    """

    fault: str
    line: int
    statement: str
    changed: bool
    findings: list[str]
    why: str = ""
    compared: str = ""


@dataclass
class FaultyGPU(PretendedGPU):
    """A pretended GPU that runs mutants of each kernel before the kernel itself. each: at most so many of a fault."""

    each: int = 3
    mutants: list[Mutant] = field(default_factory=list)
    done: set[str] = field(default_factory=set)

    def launch(self, launch: Launch) -> None:
        text = self.texts[id(launch.module)]
        if launch.kernel.name in self.done or not self.simulates:
            return super().launch(launch)
        self.done.add(launch.kernel.name)
        with torch._C.DisableTorchFunction():
            parameters = np.frombuffer(bytearray(launch.parameters), np.uint8)
            held = self.reached_from(parameters)
            before = [one.bytes.copy() for one in held]
            super().launch(launch)
            after = [one.bytes.copy() for one in held]
            for fault, found, changed in mutants_of(text, launch.kernel.name, self.each):
                restore(held, before)
                self.mutants.append(self.tried(launch, changed, fault, text, found, held, after))
            restore(held, after)

    def tried(
        self,
        launch: Launch,
        changed: str,
        fault: str,
        text: str,
        found: re.Match[str],
        held: list[Held],
        after: list[np.ndarray],
    ) -> Mutant:
        line, statement = text.count("\n", 0, found.start()) + 1, " ".join(found[0].split())
        try:
            module = parse_ptx(changed)
            report = self.simulated(replace(launch, module=module, kernel=module.kernels[launch.kernel.name]))
        except (NotSimulated, CannotLaunch) as error:
            return Mutant(fault, line, statement, False, [], str(error))
        numbers = sorted(range(len(held)), key=lambda n: held[n].may_hold_pointers)  # results before workspaces
        compared = next(filter(None, (first_difference(report, n, held[n], after[n]) for n in numbers)), "")
        findings = [f"{finding.kind}: {finding}" for finding in report.findings]
        return Mutant(fault, line, statement, bool(compared), findings, compared=compared)


def planted_in(case: Case) -> list[dict[str, Any]]:
    """The mutants of the kernels that a case launches, as plain data."""

    def all_of_them() -> list[dict[str, Any]]:
        gpu = FaultyGPU(CAPABILITY[case.target])
        run_on(gpu, case, case.target)
        return [asdict(mutant) for mutant in gpu.mutants]

    return apart(all_of_them, SECONDS)


def first_difference(report: Report, number: int, one: Held, want: np.ndarray) -> str:
    """Where a tensor differs from what is wanted, and the line that stored it; "" if it does not."""
    different = one.bytes != want
    if not different.any():
        return ""
    element = int(different.argmax()) // one.tensor.element_size()
    store = report.last_store(f"tensor{number}", element)
    return f"element {element} of tensor{number} differs: {f'stored at {store}' if store else 'it is never stored'}"


def restore(held: list[Held], contents: list[np.ndarray]) -> None:
    for one, data in zip(held, contents, strict=True):
        one.bytes[:] = data


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
    """By fault: how many mutants, how many show, how many of these are reported without and with a comparison."""
    table: dict[str, dict[str, int]] = {}
    for one in mutants:
        row = table.setdefault(one["fault"], {"mutants": 0, "show": 0, "reported": 0, "compared": 0, "stop": 0})
        row["mutants"] += 1
        row["stop"] += bool(one["why"])
        row["show"] += one["changed"] or bool(one["findings"])
        row["reported"] += bool(one["findings"])
        row["compared"] += bool(one["findings"] or " at " in one["compared"])
    return table
