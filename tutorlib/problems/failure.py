"""What kind of failure a sentence tells of. Hints and tests name the kind; the words may change at any time."""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any


@dataclass(frozen=True)
class Fault:
    """One thing that went wrong.

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
    """What can be wrong with answers of more than one page; the fields in brackets. A page has kinds of its own.

    NOT_WRITTEN; DOES_NOT_COMPILE.
    CASE: a case of a function's is wrong [name]. GIVES: what a function returns is wrong [type]. RAISED: it raises
    [error].
    """

    NOT_WRITTEN = "not written"
    DOES_NOT_COMPILE = "does not compile"
    CASE = "case"
    GIVES = "gives"
    RAISED = "raised"


class Flaw(str):
    """A sentence for the reader that knows which failures it tells of. What is put before or after it joins it.

    Formatting and str.join make a plain string of it: `+` does not.
    """

    failures: tuple[Fault, ...]

    def __new__(cls, words: str, *failures: Fault | FailureKind) -> "Flaw":
        self = super().__new__(cls, words)
        self.failures = tuple(one() if isinstance(one, FailureKind) else one for one in failures)
        return self

    def __add__(self, after: str) -> "Flaw":
        return Flaw(str(self) + str(after), *failures_in((self, after)))

    def __radd__(self, before: str) -> "Flaw":
        return Flaw(str(before) + str(self), *failures_in((before, self)))


def failures_in(sentences: Iterable[object]) -> tuple[Fault, ...]:
    """The failures that these sentences tell of, in order."""
    return tuple(failure for one in sentences if isinstance(one, Flaw) for failure in one.failures)
