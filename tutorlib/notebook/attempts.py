"""When an exercise was tried, left in the notebook by each check: a class's report tells the time to solve from it.

The record of attempts stays on the student's machine, the notebook is handed in. So a check leaves an output without
any data, which no front end shows, and in its metadata the exercise and its tries as text: "1767261600-1767262200+",
seconds since 1970, + where the answer was right as far as that machine could tell. nbval compares no metadata.
Where no record is kept nothing is left, and TUTORLIB_PROGRESS="" keeps none.
"""

import re
import sys
from typing import Any, TypeVar

from tutorlib.notebook import progress
from tutorlib.notebook.progress import NoRecord, Tried

KEY = "tutorlib"  # of the output's metadata
MOST = 12  # tries that are left of those up to the first right one, and of those after it: 264 characters
TRIES = re.compile(rf"(?:[0-9]{{9,10}}[+-]){{1,{2 * MOST}}}")  # [0-9]: int() takes every script's digits

T = TypeVar("T")


def leave(exercise: str) -> None:
    """Leave the tries at an exercise in the output of the cell that runs; nothing outside of IPython or a record."""
    shell = sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None
    if shell is None:
        return
    try:
        tries = progress.tries(exercise)
    except NoRecord as error:
        progress.complain(error)
        return
    if tries:
        shell.display_pub.publish(data={}, metadata={KEY: {"exercise": exercise, "tries": text_of_tries(tries)}})


def text_of_tries(tries: list[Tried]) -> str:
    """At most 2·MOST of them. Those after the first right one are kept too: the next exercise begins at one of them."""
    until = next((n for n, one in enumerate(tries, 1) if one.right), len(tries))
    kept = thinned(tries[:until]) + thinned(tries[until:])
    return "".join(f"{one.utc}{'+' if one.right else '-'}" for one in kept)


def thinned(tries: list[T]) -> list[T]:
    """MOST of them at even steps, the first and the last among them; all where they are no more."""
    if len(tries) <= MOST:
        return tries
    return [tries[n * (len(tries) - 1) // (MOST - 1)] for n in range(MOST)]


def tries_in(text: Any) -> list[Tried]:
    """The tries that a text tells; none where it is not one of these texts as a whole."""
    if not (isinstance(text, str) and TRIES.fullmatch(text)):
        return []
    return [Tried(int(utc), sign == "+") for utc, sign in re.findall(r"(\d+)([+-])", text)]


def is_left(output: dict[str, Any]) -> bool:
    """Whether a check left this output of a cell."""
    return output.get("data") == {} and KEY in output.get("metadata", {})
