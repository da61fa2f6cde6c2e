"""Which kinds of failure each wrong answer's message tells of; kinds.json has them.

`python -m tests.pages.kinds [ID …]` writes it. Read the difference before you commit it: a kind that is gone is a
failure that is not found any more.
"""

import json
import sys
from collections.abc import Callable, Iterable
from pathlib import Path

from tests.pages.answers import WHEN_RUN, WRONG
from tests.pages.brief import in_brief
from tutorlib.checking.exercise import Outcome
from tutorlib.failure import Difference, failures_in

KINDS = Path(__file__).parent / "kinds.json"
BY_CHANCE = {Difference.NEARLY}  # as the random inputs have it


def found(outcome: Outcome) -> set[str]:
    return {failure.kind for failure in failures_in((outcome.message,))} - BY_CHANCE


def read() -> dict[str, dict[str, list[str]]]:
    return json.loads(KINDS.read_text(encoding="utf-8")) if KINDS.exists() else {}


def of(id: str, answers: Iterable[Callable]) -> dict[str, list[str]]:
    """By the answer's name; of several of one name what all of them have."""
    kinds: dict[str, set[str]] = {}
    for answer in answers:
        mine = found(in_brief(id, answer))
        kinds[answer.__name__] = kinds.get(answer.__name__, mine) & mine
    return {name: sorted(kinds[name]) for name in sorted(kinds)}


def write(ids: Iterable[str]) -> None:
    table = read()
    for id in ids:
        table[id] = of(id, (*WRONG.get(id, ()), *WHEN_RUN.get(id, ())))
    ordered = sorted(table.items(), key=lambda one: tuple(map(int, one[0].split("."))))
    lines = [
        f"{json.dumps(id)}: {{\n"
        + ",\n".join(f"  {json.dumps(name)}: {json.dumps(kinds)}" for name, kinds in answers.items())
        + "\n}"
        for id, answers in ordered
    ]
    KINDS.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


if __name__ == "__main__":
    write(sys.argv[1:] or sorted({*WRONG, *WHEN_RUN}))
