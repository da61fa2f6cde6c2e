"""The times of a student's attempts, in the notebook, from which a class's report computes the time to solve.

The record of attempts stays on the student's machine; only the notebook is handed in. So a check adds an output without
data, which no front end shows, whose metadata hold the exercise and its attempts as text: "1767261600-1767262200+",
seconds since 1970, with + for an answer that was right as far as that machine could tell. nbval ignores metadata.
Without a record (TUTORLIB_PROGRESS="") a check adds nothing.
"""

import re
import sys
from typing import Any, TypeVar

from tutorlib.notebook import progress
from tutorlib.notebook.progress import NoRecord, Tried

KEY = "tutorlib"  # of the output's metadata
MOST = 12  # attempts kept up to the first right one, and as many after it: 264 characters
TRIES = re.compile(rf"(?:[0-9]{{9,10}}[+-]){{1,{2 * MOST}}}")  # [0-9]: int() accepts the digits of every script

T = TypeVar("T")


def leave(exercise: str) -> None:
    """Add the attempts at an exercise to the running cell's outputs; nothing outside IPython or without a record."""
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
    """At most 2·MOST attempts. Those after the first right one count too: the next exercise begins at one of them."""
    until = next((n for n, one in enumerate(tries, 1) if one.right), len(tries))
    kept = thinned(tries[:until]) + thinned(tries[until:])
    return "".join(f"{one.utc}{'+' if one.right else '-'}" for one in kept)


def thinned(tries: list[T]) -> list[T]:
    """At most MOST of them at even steps, with the first and the last."""
    if len(tries) <= MOST:
        return tries
    return [tries[n * (len(tries) - 1) // (MOST - 1)] for n in range(MOST)]


def tries_in(text: Any) -> list[Tried]:
    """The attempts in a text; none if the text as a whole has not this form."""
    if not (isinstance(text, str) and TRIES.fullmatch(text)):
        return []
    return [Tried(int(utc), sign == "+") for utc, sign in re.findall(r"(\d+)([+-])", text)]


def is_left(output: dict[str, Any]) -> bool:
    """Whether a check added this output."""
    return output.get("data") == {} and KEY in output.get("metadata", {})
