"""Kinds of failure that messages report. Hints and tests name the kind; the wording may change at any time."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any


@dataclass(frozen=True)
class Fault:
    """A failure, as data.

    kind: a FailureKind's value. fields: names and texts, what is known of it besides: ("instruction", "cp.async").
    """

    kind: str
    fields: frozenset[tuple[str, str]] = frozenset()

    def covers(self, other: "Fault") -> bool:
        """Whether the other is of this kind and agrees with every field of this one."""
        return self.kind == other.kind and self.fields <= other.fields


class FailureKind(StrEnum):
    """A family of kinds. A member, called, is a Fault of that kind with these fields; numbers become texts."""

    def __call__(self, **fields: Any) -> Fault:
        return Fault(self.value, frozenset((name, str(value)) for name, value in fields.items()))


class Fail(FailureKind):
    """Failures of answers on more than one page; the fields in brackets. A page has kinds of its own.

    NOT_WRITTEN; WRONG_KIND: it is something else than is asked for; NOT_JIT: it is no @cute.jit function; LIBRARY: it
    calls what does the exercise's work. DOES_NOT_COMPILE; LAUNCHES_NOTHING: it has no kernel; PARAMETERS: a kernel's.
    CASE: a case of a function's is wrong [name]. GIVES: what a function returns is wrong [type; of: a tuple's
    first types]. RAISED: it raises [error].
    CONFIG: a configuration that the kernel cannot have; SLOW: a choice by which it would be far too slow.
    SIZE: the result at a size is wrong [shape]. NOT_LAUNCHED: no GPU takes the launch [grid]. INPUT_CHANGED [name].
    LACKS, USES: compiled, it lacks or has an instruction [instruction]. WASTE: its accesses move more than they must
    [space]. TOO_MANY, TOO_FEW: its warps issue an instruction too often or too rarely [instruction; "" for any; share:
    "all", where each thread does all of the work]. TOO_FEW_BLOCKS: share the work. SPILLS: it keeps registers in local
    memory. NO_OVERLAP: no copy is in flight while it computes, or too few [of: "stages", "registers", "wgmma"].
    """

    NOT_WRITTEN = "not written"
    WRONG_KIND = "wrong kind"
    LIBRARY = "library"
    DOES_NOT_COMPILE = "does not compile"
    LAUNCHES_NOTHING = "launches nothing"
    PARAMETERS = "parameters"
    NOT_JIT = "not jit"
    CASE = "case"
    GIVES = "gives"
    RAISED = "raised"
    CONFIG = "configuration"
    SLOW = "slow"
    SIZE = "size"
    NOT_LAUNCHED = "not launched"
    INPUT_CHANGED = "input changed"
    LACKS = "lacks"
    USES = "uses"
    WASTE = "waste"
    TOO_MANY = "too many"
    TOO_FEW = "too few"
    TOO_FEW_BLOCKS = "too few blocks"
    NO_OVERLAP = "no copies in flight"
    SPILLS = "spills"


class Hazard(FailureKind):
    """Hazards that a simulator finds while a kernel runs; `simulate/README.md` explains each.

    OUTSIDE [tensor]. OVERLAP [lacks: "fence"]. RACE [earlier: what the other thread did, "write", "read", "init",
    "launch", or "store" in the same instruction; or lacks: "wgmma.fence"]. UNWAITED [lacks: "commit", "wait",
    "mbarrier", "stored", "end", "wgmma"; does: "reads", "copies to"; of: whose copy it is]. MISALIGNED [does].
    MBARRIER [lacks: "init", "fence", "one thread", "bytes", "parity", "phase"].
    DEADLOCK [lacks: "arrivals", "bytes"]. DIVERGENT [lanes that a mask names: "elsewhere", or does not: "unnamed"].
    Those of shared memory also have by: "thread", "TMA", "wgmma" or "tcgen05".
    """

    UNWAITED = "unwaited"
    RACE = "race"
    UNWRITTEN = "unwritten"
    UNSET = "unset"
    BARRIER = "barrier"
    OUTSIDE = "outside"
    MISALIGNED = "misaligned"
    OVERLAP = "overlap"
    DIVERGENT = "divergent"
    ENDLESS = "endless"
    ASSERTION = "assertion"
    REPEAT = "repeat"
    ZEROS = "zeros"
    PROXY = "proxy"
    MBARRIER = "mbarrier"
    DEADLOCK = "deadlock"
    REGISTERS = "registers"


class Flaw(str):
    """A sentence for the reader that knows which failures it tells of. What is put before or after it joins it.

    Formatting and str.join make a plain string of it: `+` does not.
    """

    failures: tuple[Fault, ...]

    def __new__(cls, words: str, *failures: Fault | FailureKind) -> "Flaw":
        self = super().__new__(cls, words)
        self.failures = tuple(fault() if isinstance(fault, FailureKind) else fault for fault in failures)
        return self

    def __add__(self, after: str) -> "Flaw":
        return Flaw(str(self) + str(after), *failures_in((self, after)))

    def __radd__(self, before: str) -> "Flaw":
        return Flaw(str(before) + str(self), *failures_in((before, self)))


def failures_in(sentences: Iterable[object]) -> tuple[Fault, ...]:
    """The failures that these sentences tell of, in order."""
    return tuple(fault for sentence in sentences if isinstance(sentence, Flaw) for fault in sentence.failures)


def faults(row: str) -> Iterator[Fault]:
    """The kinds of failure that a row of words names, with their fields: "outside tensor=c | race" names two."""
    for name in row.split(" | "):
        kind, *fields = re.split(r" (\w+)=", name)
        yield Fault(kind, frozenset(zip(fields[::2], fields[1::2], strict=True)))


def remedies(rows: Mapping[str, str]) -> dict[Fault, str]:
    """What rows of words say, by each kind of failure that they name."""
    return {when: says for row, says in rows.items() for when in faults(row)}


def remedy(known: Mapping[Fault, str], told: Flaw) -> str:
    """The first remedy for a failure that the flaw tells of, or ""."""
    return next((says for when, says in known.items() if any(map(when.covers, told.failures))), "")
