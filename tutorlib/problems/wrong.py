"""Why an answer is wrong, in sentences for the reader."""

from dataclasses import dataclass

from tutorlib.failure import Fail, Flaw

BY_LUCK = "the result is right by luck: "


@dataclass(frozen=True)
class Wrong:
    """Why a case failed, in sentences for the reader.

    what: which call, what it should give and what it gave.
    mistake: the likely cause, where one is known.
    """

    what: str
    mistake: str = ""


def input_changed(name: str) -> Wrong:
    return Wrong(Flaw(f"the kernel changed its input {name}.", Fail.INPUT_CHANGED(name=name)))


def count(n: float, thing: str) -> str:
    """count(1, "point") is "1 point", count(0.5, "point") is "0.5 points"; past 2^62 it is "more than 2^62"."""
    number = f"{n:g}" if n <= 2**62 else "more than 2^62"
    return f"{number} {thing}{'' if n == 1 else 's'}"


def by(shape: tuple[int, ...]) -> str:
    """(512, 256) as people write it: 512×256."""
    return "×".join(map(str, shape))
