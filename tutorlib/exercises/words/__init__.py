"""The words of each page's exercises, in `NN.toml` beside this module, one entry a line.

A table is for one exercise, or for several: `["05.2 05.3".remedies]`. Its parts:

- `hints`: from a nudge to nearly the answer.
- `remedies`: a kind of failure, with the fields that it must have, and the hint for it: `"race earlier=write" = "…"`.
  A row may name several, separated by " | ". Of an exercise's rows, the first that covers a failure is taken.
- `mistakes`: a wrong answer that people write, by its name in the page's code, and what `check` says of it.
"""

import tomllib
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path

from tutorlib.checking.exercise import Answer, Exercise
from tutorlib.checking.values import Mistake
from tutorlib.failure import Fault, remedies


@dataclass
class Words:
    """The words of one exercise, as `Exercise` and `Mistake` have them."""

    hints: tuple[str, ...] = ()
    remedies: dict[Fault, str] = field(default_factory=dict)
    mistakes: dict[str, str] = field(default_factory=dict)


@cache
def words_of(page: str) -> Mapping[str, Words]:
    """The words of a page's exercises by id; none of a page without a file. page: "05"."""
    file = Path(__file__).with_name(f"{page}.toml")
    words: dict[str, Words] = defaultdict(Words)
    for ids, table in tomllib.loads(file.read_text(encoding="utf-8") if file.exists() else "").items():
        for id in ids.split():
            words[id].hints += tuple(table.get("hints", ()))
            words[id].remedies |= remedies(table.get("remedies", {}))
            words[id].mistakes |= table.get("mistakes", {})
    return dict(words)


def with_words(exercise: Exercise) -> Exercise:
    """The exercise with the hints and remedies of its page's file, if it has any there."""
    words = words_of(exercise.id[:2]).get(exercise.id)
    return replace(exercise, hints=words.hints, remedies=words.remedies) if words else exercise


def mistakes(id: str, /, **answers: Answer) -> tuple[Mistake, ...]:
    """Known mistakes of an exercise. answers: functions that make them, by name."""
    says = words_of(id[:2])[id].mistakes
    return tuple(Mistake(says[name], answer) for name, answer in answers.items())
