"""Answers of a class that are more alike than chance explains. The instructor reads them; no points depend on them.

Two answers share statements, without what disguises a copy: comments, layout, variable names, order. Those of the page
or its solution do not count, nor do those of an answer that gives up. Any other counts log2(answers to the exercise /
answers that have it) bits, so that a statement of the whole class counts nothing.

A pair of students is listed where they share at least LEAST_BITS in one exercise, and more than the median pair by
DEVIATIONS standard deviations. These are taken from the 95th percentile of the pairs: an approach that a quarter of the
class chose is no copy. The same holds for all exercises together, where of each that counts which is beyond this
percentile: so a few copies are found among many answers, and short ones where there are many of them.

MOSS and copydetect compare two files by the share of text that they have in common, however common it is. Three-line
answers have most of it in common in every class; therefore the class says here how rare a statement is.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from itertools import groupby, islice
from pathlib import Path
from typing import Any

import numpy as np
from pygments.lexers import CppLexer, PythonLexer
from pygments.token import Comment, Name, String

from tutorlib.classroom.files import write_whole
from tutorlib.classroom.grades import Classroom, Grade
from tutorlib.classroom.reports import render, state_of
from tutorlib.course.source import parse
from tutorlib.exercises import find
from tutorlib.grading.limited_process import Allowance, Exceeded, in_child
from tutorlib.paths import SOLUTIONS

LEAST_BITS = 20.0  # with 780 pairs of 40 students and 100 exercises, chance gives less than a pair in ten classes
DEVIATIONS = 5.0
LEXING = Allowance(computing_s=120, patience_s=600)  # of a whole class: 40 × 100 answers take 10 s at most
TAIL, TAIL_DEVIATIONS = 0.95, 1.645  # a quantile, and how many standard deviations of a normal distribution it is away
MOST = 500  # statements of one answer that are looked at
NAME = "·"  # stands for each name of a variable, a function or a class
GIVE_UP = re.compile(r"(def .* :)?( ?(pass|\. \. \.|raise .*|return( \S+)?))?")
OPEN, CLOSED = frozenset("(["), frozenset(")]")
MOST_PAIRS = 50  # on the page
MOST_SHOWN = 5  # exercises of a pair whose answers the page shows


@dataclass(frozen=True)
class Alike:
    """Two answers to an exercise. bits: what they share. likeness: that, of all that the smaller answer could share.

    texts: of both.
    """

    exercise: str
    bits: float
    likeness: float
    texts: tuple[str, str]

    @property
    def title(self) -> str:
        return f"{self.exercise} {find(self.exercise).title}"


@dataclass(frozen=True)
class SimilarPair:
    """Two students. bits: what they share in all exercises. alike: the exercises, the most alike first."""

    students: tuple[str, str]
    bits: float
    alike: tuple[Alike, ...]


def write_similar(classroom: Classroom, out: Path) -> Path:
    """Write OUT/similar.html, which says so if comparing the answers exceeds its limits. Raises OSError."""
    try:
        page = in_child(LEXING, similar_page, classroom)
    except Exceeded as error:
        page = render("similar.html", pairs=[], shown=0, most=0, failed=f"The answers are not compared: it {error}.")
    write_whole(out / "similar.html", page.encode())
    return out / "similar.html"


def similar_page(classroom: Classroom) -> str:
    return render("similar.html", pairs=similar(classroom), shown=MOST_PAIRS, most=MOST_SHOWN, failed="")


def similar(classroom: Classroom) -> list[SimilarPair]:
    """The pairs that stand out, those beyond the others by most first."""
    answers = [answers_of(grade) for grade in classroom.grades]
    shared = {id: shared_bits(id, [texts.get(id, "") for texts in answers]) for id in classroom.exercises}
    unusual = sum(
        ((bits - middle_and_tail(bits)[1]).clip(min=0) for bits in shared.values()), np.zeros((len(answers),) * 2)
    )
    apart = np.max([standing_out(bits) for bits in (*shared.values(), unusual)], axis=0)
    found = sorted(zip(*np.where(np.triu(apart >= 1, 1)), strict=True), key=lambda pair: -apart[pair])
    pairs = []
    for a, b in found:
        alike = [
            Alike(id, bits[a, b], bits[a, b] / min(bits[a, a], bits[b, b]), (answers[a][id], answers[b][id]))
            for id, bits in shared.items()
            if bits[a, b] > 0
        ]
        alike.sort(key=lambda exercise: -exercise.bits)
        students = classroom.grades[a].name, classroom.grades[b].name
        pairs.append(SimilarPair(students, sum(exercise.bits for exercise in alike), tuple(alike)))
    return pairs


def answers_of(grade: Grade) -> dict[str, str]:
    """Exercise → the text of an answer in which anything is written."""
    unwritten = {verdict.outcome.id for verdict in grade.judged if state_of(verdict) == "unwritten"}
    return {id: text for id, text in grade.submission.graded.answers if id not in unwritten}


def shared_bits(exercise: str, texts: list[str]) -> np.ndarray:
    """The bits that each pair of answers shares; on the diagonal those that each could share. texts: "" for none."""
    given = given_statements(exercise[:2]).get(exercise, frozenset())
    found = [statements(text) - given for text in texts]
    # an answer that only raises, returns at once or does nothing shares nothing
    own = [frozenset() if all(map(GIVE_UP.fullmatch, of_student)) else of_student for of_student in found]
    everything = sorted(set().union(*own))
    has = np.array([[statement in mine for statement in everything] for mine in own], dtype=float)
    bits = np.log2(max(1, sum(map(bool, texts))) / np.maximum(1, has.sum(axis=0)))
    return (has * bits) @ has.T


@cache
def given_statements(number: str) -> dict[str, frozenset[str]]:
    """Exercise → the statements of its answer cell as students get it, and of its solution."""
    (source,) = SOLUTIONS.glob(f"{number}_*.py")
    cells = (cell for cell in parse(source) if cell.role == "answer")
    return {cell.exercise: frozenset({*statements(cell.solved), *statements(cell.unsolved)}) for cell in cells}


def middle_and_tail(shared: np.ndarray) -> tuple[float, float]:
    """The bits that the median pair shares, and the quantile TAIL of all pairs."""
    pairs = shared[np.triu_indices_from(shared, 1)]
    middle, tail = np.quantile(pairs, (0.5, TAIL)) if pairs.size else (0.0, 0.0)
    return float(middle), float(tail)


def standing_out(shared: np.ndarray) -> np.ndarray:
    """Each pair's distance from the others; from 1 on it is listed."""
    middle, tail = middle_and_tail(shared)
    deviation = max((tail - middle) / TAIL_DEVIATIONS, 1e-9)
    return np.minimum(shared / LEAST_BITS, (shared - middle) / (DEVIATIONS * deviation))


# Statements -----------------------------------------------------------------------------------------------------------


def statements(text: str) -> frozenset[str]:
    """The statements of an answer, normalized. Two that differ in names, comments and order have the same.

    It takes nothing but the lexer's word: no text is parsed or compiled, and none is refused.
    """
    return frozenset(islice(read(PythonLexer(stripnl=False).get_tokens(text)), MOST))


def read(tokens: Any) -> Iterator[str]:
    """The statements of these tokens of Pygments'."""
    depth, parts = 0, list[str]()
    for is_string, group in groupby(tokens, key=lambda token: token[0] in String):
        if is_string:
            written = "".join(piece for kind, piece in group if kind not in String.Doc)
            if "\n" in written:  # a kernel's source
                yield from read(CppLexer(stripnl=False, ensurenl=False).get_tokens(written.strip("rR\"'")))
            elif written:
                parts.append(written)
            continue
        for kind, piece in group:
            if piece in OPEN:
                depth += 1
            elif piece in CLOSED:
                depth = max(0, depth - 1)
            if not depth and (piece in (";", "{", "}") or "\n" in piece):
                if parts:
                    yield " ".join(parts)
                parts = []
            elif (piece.strip() and kind not in Comment) or kind in Comment.Preproc:
                of_library = parts[-1:] == ["."] or parts[-2:] == [":", ":"]
                is_own = kind in Name and kind not in Name.Builtin and not of_library
                parts.append(NAME if is_own else piece.strip())
    if parts:
        yield " ".join(parts)
