"""The leaderboard: a page with the timed kernels of a class, by GPU and exercise, the fastest first.

A rank stands for a difference that was measured: a kernel that is behind the first one of a rank by no more than the
larger of their two spreads shares it. A measurement that is too noisy has no rank.
"""

import hmac
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Literal

from tutorlib.checking.exercise import Exercise
from tutorlib.classroom.exports import write_whole
from tutorlib.classroom.grades import Classroom, Grade
from tutorlib.classroom.report_pages import render
from tutorlib.exercises import find
from tutorlib.measuring.measurement import Measurement

Naming = Literal["names", "pseudonyms"]
FILE = "leaderboard.html"
NOTHING = f"{FILE} is not written: no kernel of this class was timed, which takes a GPU."
FIRST = """
amber azure bold brave brisk calm clever cobalt copper coral crimson eager early fleet gentle golden grand indigo ivory
jade keen lively lucid mellow noble quick quiet scarlet silver steady swift violet
"""
SECOND = """
badger bison condor crane dolphin eagle falcon finch fox gecko hare heron ibex jaguar kestrel koala lark lynx marten
merlin moose newt orca osprey otter panther puffin raven seal stork tiger wren
"""


@dataclass(frozen=True)
class RankedKernel:
    """A student's kernel. rank: None where the measurement is too noisy for one."""

    name: str
    measured: Measurement
    rank: int | None

    @property
    def half(self) -> float:
        """Half the distance between the quartiles of the ratio."""
        return self.measured.ratio * self.measured.spread / 2


@dataclass(frozen=True)
class Board:
    """The kernels of one exercise on one GPU."""

    gpu: str
    exercise: Exercise
    entries: tuple[RankedKernel, ...]

    @property
    def scale(self) -> float:
        """The ratio at the right end of the axis: that of the fastest, or the library's own."""
        return max(1.0, *(one.measured.ratio + one.half for one in self.entries)) * 1.02


def write_leaderboard(classroom: Classroom, out: Path, names: Mapping[str, str]) -> list[Path]:
    """Write OUT/leaderboard.html, where any kernel was timed; else no earlier one stays. names: student → name shown.

    Raises OSError.
    """
    found = boards(classroom, names)
    if not found:
        (out / FILE).unlink(missing_ok=True)
        return []
    write_whole(out / FILE, render("leaderboard.html", boards=found))
    return [out / FILE]


def boards(classroom: Classroom, names: Mapping[str, str]) -> list[Board]:
    """By GPU, then in the course's order."""
    kernels: dict[tuple[str, str], list[tuple[str, Measurement]]] = {}
    for grade in classroom.grades:
        for id, measured in right_and_timed(grade):
            place = grade.submission.graded.gpu or "GPU not known", id
            kernels.setdefault(place, []).append((names[grade.name], measured))
    order = {id: n for n, id in enumerate(classroom.exercises)}
    places = sorted(kernels, key=lambda place: (place[0], order[place[1]]))
    return [Board(gpu, find(id), tuple(ranked(kernels[gpu, id]))) for gpu, id in places]


def right_and_timed(grade: Grade) -> Iterator[tuple[str, Measurement]]:
    """The student's right kernels that were timed."""
    for one in grade.judged:
        if one.outcome.measurement and one.outcome.status in ("passed", "partial"):
            yield one.outcome.id, Measurement.from_json(one.outcome.measurement)


def ranked(kernels: Iterable[tuple[str, Measurement]]) -> Iterator[RankedKernel]:
    """The fastest first, those that are too noisy last. Of equals, by name."""
    first: Measurement | None = None
    rank = 0
    ordered = sorted(kernels, key=lambda one: (bool(one[1].noisy), -one[1].ratio, one[0]))
    for n, (name, measured) in enumerate(ordered, 1):
        if not measured.noisy and (first is None or not within_spread(first, measured)):
            first, rank = measured, n
        yield RankedKernel(name, measured, None if measured.noisy else rank)


def within_spread(first: Measurement, other: Measurement) -> bool:
    """Whether two kernels differ by no more than the larger distance between the quartiles of their ratios."""
    return abs(first.ratio - other.ratio) <= max(one.ratio * one.spread for one in (first, other))


def pseudonyms(students: Iterable[str], secret: bytes) -> dict[str, str]:
    """Student → a name like "swift otter 42", which only the secret leads to; different for each."""
    found: dict[str, str] = {}
    for student in sorted(students):
        tries = (pseudonym(hmac.digest(secret, f"{n} {student}".encode("utf-8", "replace"), "sha256")) for n in count())
        found[student] = next(name for name in tries if name not in found.values())
    return found


def pseudonym(digest: bytes) -> str:
    first, second = FIRST.split(), SECOND.split()
    number = int.from_bytes(digest[2:4]) % 90 + 10
    return f"{first[digest[0] % len(first)]} {second[digest[1] % len(second)]} {number}"
