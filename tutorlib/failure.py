"""Kinds of failure of answers: those of compilers and of the simulator, and those of a kernel's result."""

from tutorlib.dsl.failure import Fail, FailureKind, Fault, Flaw, Hazard, failures_in, faults, remedies, remedy

__all__ = [
    "Difference",
    "Fail",
    "FailureKind",
    "Fault",
    "Flaw",
    "Hazard",
    "failures_in",
    "faults",
    "remedies",
    "remedy",
]


class Difference(FailureKind):
    """Errors in a kernel's result, found by `problems.differences`.

    WRONG, UNWRITTEN: the first such element [at: "c[0, 1]"; got, want: as the message has them; sign: of what is
    wanted, "-"], and all of them [elements: "all 4", "3 of 64"; share: "all" or "some"; along: "row", "column" or
    "element", where a rule covers them; rule: "columns ≥ 32"]. NEARLY: digits are lost.
    """

    WRONG = "wrong elements"
    UNWRITTEN = "unwritten elements"
    NEARLY = "nearly right"
